"""Canaries: rows whose gradients are known, and the evidence that a run leaves of them.

A released sum, less what all other rows added, is noise plus the clipped gradients of the canaries
that were drawn. The weights at which they were taken are released too, so an adversary knows these
gradients, and what they observe is a linear model with normal noise.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from skdp.linear_model._losses import Loss
from skdp.mechanisms._gradient_plan import GradientPlan

__all__ = ["Evidence", "orthogonal_rows", "wrong_rows"]

# Numbers that are kept before they are digested together.
_NUMBERS_PER_BLOCK = 1 << 18
# Random directions in more dimensions than this are nearly orthogonal as they are.
_MOST_ORTHOGONALISED = 1000


def orthogonal_rows(
    n_rows: int, n_features: int, length: float, rng: np.random.Generator
) -> np.ndarray:
    """Rows of one length in random directions, orthogonal in groups of `n_features`.

    Returns
    -------
    rows : ndarray of shape (n_rows, n_features)
        Their gradients are orthogonal but for the intercept's coordinate.
    """
    groups = []
    for first in range(0, n_rows, n_features):
        group = rng.normal(size=(n_features, min(n_features, n_rows - first)))
        if n_features <= _MOST_ORTHOGONALISED:
            group = np.linalg.qr(group)[0]
        groups.append((group / np.linalg.norm(group, axis=0)).T)
    return length * np.concatenate(groups)


def wrong_rows(X: Any, codes: np.ndarray, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows deep in one of the two largest classes, labelled as the other.

    The model contradicts such a row at every step, so its gradient keeps its full length. A row
    that is merely huge is, half of the time, classified as labelled by the noise in the weights,
    and then has no gradient at all.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_rows, n_features)
        Rows.
    codes : ndarray of int of shape (n_rows,)
        Their classes.
    n_classes : int
        Size of the label set; a class may have no rows.

    Returns
    -------
    rows : ndarray of shape (n_candidates, n_features)
        Candidates: multiples of a class's mean, and of its distance from the other one.
    labels : ndarray of int of shape (n_candidates,)
        The other class.
    """
    sizes = np.bincount(codes, minlength=n_classes)
    second, largest = np.argsort(sizes, kind="stable")[-2:]
    means = {code: _mean(X, codes == code) for code in (second, largest)}
    rows, labels = [], []
    for own, other in ((second, largest), (largest, second)):
        apart = means[other] - means[own]
        for multiple in (1.0, 3.0, 10.0):
            rows += [multiple * means[other], means[other] + multiple * apart]
            labels += [own, own]
    return np.array(rows), np.array(labels)


def _mean(X: Any, selected: np.ndarray) -> np.ndarray:
    if not selected.any():
        return np.zeros(X.shape[1])
    total = X[selected].sum(axis=0, dtype=np.float64)
    return np.asarray(total).ravel() / np.count_nonzero(selected)


class Evidence:
    """Gathers, over the steps of a run, how likely it is that each canary takes part.

    Parameters
    ----------
    rows : ndarray of shape (n_canaries, n_features)
        The canaries.
    codes : ndarray of int of shape (n_canaries,)
        Their labels, as places in the label set.
    loss : Loss
        Of the model.
    plan : GradientPlan
        What runs, as claimed.
    fit_intercept : bool
        Whether the model has an intercept.
    """

    def __init__(
        self,
        rows: np.ndarray,
        codes: np.ndarray,
        loss: Loss,
        plan: GradientPlan,
        *,
        fit_intercept: bool,
    ):
        rows = np.asarray(rows, dtype=np.float64)
        if plan.max_row_norm is not None:
            norms = np.linalg.norm(rows, axis=1, keepdims=True)
            rows = rows * np.minimum(1.0, plan.max_row_norm / np.maximum(norms, 1e-300))
        if fit_intercept:
            rows = np.column_stack([rows, np.full(len(rows), plan.intercept_column)])
        self._rows = rows
        self._norms = np.linalg.norm(rows, axis=1)
        self._products = rows @ rows.T
        self._targets = loss.targets(codes)
        self._loss = loss
        self._threshold = plan.clip_threshold
        self._variance = (plan.noise_multiplier * plan.clip_threshold) ** 2
        self._rate = plan.sample_rate
        self._n_steps = plan.n_steps
        m = len(rows)
        n_numbers = rows.shape[1] * loss.n_outputs + m * loss.n_outputs
        self._shape = (rows.shape[1], loss.n_outputs)
        self._capacity = max(1, min(plan.n_steps, _NUMBERS_PER_BLOCK // n_numbers))
        self._weights = np.empty((self._capacity, *self._shape))
        self._changes = np.empty_like(self._weights)
        self._n_waiting = 0
        self._exponents: list[np.ndarray] = []
        self._across = 0.0
        self._correlation = np.zeros(m)
        self._gram = np.zeros((m, m))
        self._squares = np.zeros(m)

    def observe(self, weights: np.ndarray, change: np.ndarray) -> None:
        """Take in one step: the weights, and the release less what the other rows added."""
        self._weights[self._n_waiting] = weights.reshape(self._shape)
        self._changes[self._n_waiting] = change.reshape(self._shape)
        self._n_waiting += 1
        if self._n_waiting == self._capacity:
            self._digest()

    def log_ratios(self) -> np.ndarray:
        """Logarithm of how much likelier the run is with each canary than without it.

        Exact for one canary: a mixture of two normal distributions a step, which is one normal
        distribution where every row is in every step. For several, the best linear estimate of
        all memberships at once, read as if its errors were normal: a mixture for each would take
        the others for noise that is new at every step, and is easily wrong where they overlap.

        Returns
        -------
        log_ratios : ndarray of shape (n_canaries,)
            Positive where it is likelier that the canary takes part.
        """
        self._digest()
        if len(self._rows) == 1:
            exponents = np.concatenate(self._exponents) / self._noise_variance()
            return np.array([_log_mixture(exponents, self._rate)])
        # Memberships b less 1/2 have variance 1/4, and their sufficient statistics are
        # z = G b + noise with noise of covariance G, the inner products of the mean gradients over
        # the noise. The gain is the share of a membership that its estimate keeps on average.
        inverse = np.linalg.inv(self._gram + 4.0 * np.eye(len(self._rows)))
        estimate = inverse @ (self._correlation - self._gram.sum(axis=1) / 2.0)
        gain = np.einsum("ij,ji->i", inverse, self._gram)
        return 4.0 * estimate / np.maximum(1.0 - gain, 1e-12)

    def budget_used(self) -> np.ndarray:
        """Length of each canary's gradients over the most that the clip allows, mean square root.

        Returns
        -------
        shares : ndarray of shape (n_canaries,)
            In [0, 1]; 1 for a row whose gradient was clipped at every step.
        """
        self._digest()
        return np.sqrt(self._squares) / self._threshold

    def _digest(self) -> None:
        n_steps, self._n_waiting = self._n_waiting, 0
        if n_steps == 0:
            return
        weights, changes = self._weights[:n_steps], self._changes[:n_steps]
        residual = self._residuals(weights)
        along = np.einsum("tmk,tmk->tm", residual, self._rows @ changes)
        lengths = np.einsum("tmk,tmk->tm", residual, residual) * self._norms**2
        self._squares += lengths.sum(axis=0) / self._n_steps
        if len(self._rows) == 1:
            self._exponents.append(along[:, 0] - lengths[:, 0] / 2.0)
            parallel = np.square(along) / np.maximum(lengths, 1e-300)
            self._across += float(np.square(changes).sum() - parallel.sum())
            return
        flat = residual.swapaxes(0, 1).reshape(len(self._rows), -1)
        self._gram += (self._rate**2 / self._variance) * (flat @ flat.T) * self._products
        self._correlation += (self._rate / self._variance) * along.sum(axis=0)

    def _noise_variance(self) -> float:
        """The claimed variance of the noise, unless there is clearly less of it.

        Across the canary's gradient there is nothing but noise. Where its mean square lies six
        standard deviations below the claim, the noise is what it looks like.
        """
        freedom = self._n_steps * (math.prod(self._shape) - 1)
        if freedom == 0:
            return self._variance
        seen = self._across / freedom
        surely_less = seen < self._variance * (1.0 - 6.0 * math.sqrt(2.0 / freedom))
        return max(seen, 1e-9 * self._variance) if surely_less else self._variance

    def _residuals(self, weights: np.ndarray) -> np.ndarray:
        """Clipped residuals, of shape (n_steps, n_canaries, n_outputs)."""
        n_steps, m, n_outputs = len(weights), len(self._rows), self._loss.n_outputs
        scores = (self._rows @ weights).reshape(n_steps * m, n_outputs)
        targets = np.tile(self._targets, n_steps)
        if n_outputs == 1:
            scores = scores[:, 0]
        residual = self._loss.residual(scores, targets).reshape(n_steps, m, n_outputs)
        lengths = np.linalg.norm(residual, axis=2) * self._norms
        shrink = self._threshold / np.maximum(lengths, self._threshold)
        return residual * shrink[:, :, np.newaxis]


def _log_mixture(exponents: np.ndarray, rate: float) -> float:
    """Sum of `log(1 - rate + rate exp(x))`."""
    if rate == 1.0:
        return float(exponents.sum())
    return float(np.logaddexp(math.log1p(-rate), math.log(rate) + exponents).sum())
