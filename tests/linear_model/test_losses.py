"""Residuals are derivatives of the losses, and probabilities are what they say."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

from skdp.linear_model._losses import Logistic, Softmax, loss_for


def mean_loss(loss, scores, codes):
    n_classes = 2 if loss.n_outputs == 1 else loss.n_outputs
    return log_loss(codes, loss.probabilities(scores), labels=np.arange(n_classes))


@pytest.mark.parametrize("loss", [Logistic(), Softmax(3), Softmax(5)], ids=["2", "3", "5"])
def test_the_residual_is_the_derivative_of_the_loss(loss, rng):
    """Central differences of scikit-learn's log loss, one logit at a time; a sign error shows."""
    shape = (7,) if loss.n_outputs == 1 else (7, loss.n_outputs)
    scores = rng.normal(size=shape)
    codes = rng.integers(0, max(2, loss.n_outputs), 7)
    residual = loss.residual(scores.copy(), loss.targets(codes))
    for place in np.ndindex(shape):
        nudge = np.zeros(shape)
        nudge[place] = 1e-5
        rise = mean_loss(loss, scores + nudge, codes) - mean_loss(loss, scores - nudge, codes)
        assert residual[place] == pytest.approx(7 * rise / 2e-5, abs=1e-8)


@pytest.mark.parametrize("loss", [Logistic(), Softmax(3)], ids=["2", "3"])
def test_log_probabilities_are_logarithms_and_stay_finite(loss):
    """Also where the probability itself underflows."""
    scores = np.array([0.0, 3.0, -800.0])
    scores = scores if loss.n_outputs == 1 else np.outer(scores, [1.0, 0.0, -1.0])
    logs = loss.log_probabilities(scores)
    np.testing.assert_allclose(np.exp(logs), loss.probabilities(scores), rtol=1e-12)
    np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1.0, rtol=1e-12)
    assert np.isfinite(logs).all()


def test_softmax_of_two_logits_is_the_logistic_of_their_difference(rng):
    """The two losses are one family."""
    pair = rng.normal(size=(9, 2))
    np.testing.assert_allclose(
        Softmax(2).probabilities(pair), Logistic().probabilities(pair[:, 1] - pair[:, 0])
    )


def test_two_classes_have_one_logit():
    """More have one a class."""
    assert loss_for(2).n_outputs == 1
    assert loss_for(4).n_outputs == 4
