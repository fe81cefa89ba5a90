"""Under the notebook's view of a fitted estimator stands what it promises."""

import numpy as np
import pytest
from sklearn import config_context

from skdp import DPSGDClassifier, PrivacyWarning
from skdp.preprocessing import DPMaxAbsScaler, DPStandardScaler
from skdp.privacy._promise import summary

X = np.arange(40.0).reshape(20, 2) / 40
Y = np.arange(20) % 2

ESTIMATORS = [DPSGDClassifier(), DPStandardScaler(bounds=(0, 1)), DPMaxAbsScaler()]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_a_fitted_estimator_shows_its_promise_and_an_unfitted_one_does_not(estimator):
    """In both of the ways in which notebooks ask."""
    for shown in (estimator._repr_html_(), estimator._repr_mimebundle_()["text/html"]):
        assert "for every single row" not in shown
    estimator.fit(X, Y)
    for shown in (estimator._repr_html_(), estimator._repr_mimebundle_()["text/html"]):
        assert type(estimator).__name__ in shown
        assert "Epsilon 1 at delta 1e-05, for every single row." in shown
        assert "operating system&#x27;s random numbers" in shown
    with config_context(display="text"):
        assert "text/html" not in estimator._repr_mimebundle_()


def test_the_summary_says_what_weakens_it():
    """Units, seeds and no noise."""
    seeded = DPSGDClassifier(random_state=0).fit(X, Y, privacy_unit=np.arange(20) // 2)
    assert "for every single unit" in seeded._repr_html_()
    assert "no promise holds against whoever has the seed" in seeded._repr_html_()
    with pytest.warns(PrivacyWarning, match="without noise"):
        bare = DPSGDClassifier(noise_multiplier=0).fit(X, Y)
    assert "No promise: fitted without noise." in bare._repr_html_()


@pytest.mark.parametrize("epsilon", [1e-5, 0.0123456, 0.99951, 1.0, 3.14159, 12345.678])
def test_a_shown_epsilon_is_never_below_the_true_one(epsilon):
    """To the digits that are shown."""
    line = summary(epsilon, 1e-6, unit="row", noise_source="system")[0]
    assert float(line.split()[1]) >= epsilon * (1 - 1e-6)
