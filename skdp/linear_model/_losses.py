"""The losses of linear classifiers: residuals for training, probabilities for prediction.

A residual is the derivative of the loss in the logit. This file knows nothing about privacy.
"""

from typing import Protocol

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax

__all__ = ["Logistic", "Loss", "Softmax", "loss_for"]


class Loss(Protocol):
    """What training and prediction need of a loss."""

    n_outputs: int

    def targets(self, codes: np.ndarray) -> np.ndarray:
        """Places in the label set, in the form that `residual` takes."""

    def residual(self, scores: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Derivative of the loss in each logit, computed in place of `scores`."""

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Class probabilities, one column a class."""

    def log_probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Their logarithms, exact where the probability itself is too small for a double."""


class Logistic:
    """Logistic loss log(1 + exp(-z)) for the second class, log(1 + exp(z)) for the first.

    Its residual is P(second class) - y with y in {0, 1}, never longer than 1.
    """

    n_outputs = 1

    def targets(self, codes: np.ndarray) -> np.ndarray:
        """0.0 for the first class, 1.0 for the second."""
        return codes.astype(np.float64)

    def residual(self, scores: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Derivative in the logit, in place of `scores` of shape (n,)."""
        expit(scores, out=scores)
        scores -= targets
        return scores

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Probabilities of shape (n, 2) from logits of shape (n,)."""
        return expit(np.column_stack([-scores, scores]))

    def log_probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Logarithms of shape (n, 2) from logits of shape (n,)."""
        return log_expit(np.column_stack([-scores, scores]))


class Softmax:
    """Multinomial cross-entropy: log sum exp of the logits, less the logit of the true class.

    Its residual is the vector of probabilities minus the indicator of the true class, never
    longer than sqrt(2).
    """

    def __init__(self, n_classes: int):
        self.n_outputs = n_classes

    def targets(self, codes: np.ndarray) -> np.ndarray:
        """The number of each row's class."""
        return codes

    def residual(self, scores: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Derivative in each logit, in place of `scores` of shape (n, n_classes)."""
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=1, keepdims=True)
        scores[np.arange(len(targets)), targets] -= 1.0
        return scores

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Probabilities of shape (n, n_classes)."""
        return softmax(scores, axis=1)

    def log_probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Logarithms of shape (n, n_classes)."""
        return log_softmax(scores, axis=1)


def loss_for(n_classes: int) -> Logistic | Softmax:
    """One logit for two classes, else one logit a class."""
    return Logistic() if n_classes == 2 else Softmax(n_classes)
