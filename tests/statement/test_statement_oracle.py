"""Totals of heterogeneous parts against dp-accounting, in an environment that has it."""

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.model_selection import GridSearchCV, KFold

from skdp import DPSGDClassifier, privacy_statement
from skdp.privacy import GroupedGaussian

pytestmark = pytest.mark.oracle


@pytest.fixture(scope="module")
def pld():
    pytest.importorskip("dp_accounting")
    from dp_accounting.pld import privacy_loss_distribution

    return privacy_loss_distribution


def clf(noise=4.0, batch=12, epochs=3):
    return DPSGDClassifier(noise_multiplier=noise, batch_size=batch, n_epochs=epochs)


MODELS = [
    VotingClassifier([("a", clf()), ("b", clf(2.0, 40, 5)), ("c", DPSGDClassifier(epsilon=0.5))]),
    StackingClassifier([("a", clf()), ("b", clf(3.0))], final_estimator=clf(2.5, 30), cv=KFold(3)),
    GridSearchCV(clf(), {"noise_multiplier": [3.0, 5.0, 9.0]}, cv=KFold(4)),
    GridSearchCV(DPSGDClassifier(), {"epsilon": [0.3, 1.0]}, cv=KFold(3)),
    BaggingClassifier(clf(12.0), n_estimators=3, random_state=1),
]


def their_loss(pld, mechanism, interval=1e-4):
    noise, rate = mechanism.noise_multiplier, getattr(mechanism, "sample_rate", 1.0)
    if isinstance(mechanism, GroupedGaussian):
        counts = np.arange(mechanism.group_size + 1)
        one = pld.from_mixture_gaussian_mechanism(
            noise,
            counts,
            binom.pmf(counts, counts[-1], rate),
            value_discretization_interval=interval,
        )
    else:
        one = pld.from_gaussian_mechanism(
            noise,
            sampling_prob=rate,
            value_discretization_interval=interval,
            use_connect_dots=True,
        )
    return one.self_compose(getattr(mechanism, "n_steps", 1))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_the_total_agrees_with_dp_accounting(pld, rng, model):
    """To 0.2 %, whatever is composed: counts, rates, noises, group sizes."""
    X = rng.normal(size=(120, 3))
    made = privacy_statement(model.fit(X, (X[:, 0] > 0).astype(int)))
    assert len({repr(mechanism) for mechanism in made.mechanisms}) > 1
    total = None
    for mechanism in made.mechanisms:
        loss = their_loss(pld, mechanism)
        total = loss if total is None else total.compose(loss)
    theirs = total.get_epsilon_for_delta(made.delta)
    assert made.epsilon_of_releases == pytest.approx(theirs, rel=2e-3)
