"""Gradient descent on sums that someone else made noisy.

Sees weights and releases, never a row: whatever is computed here costs nothing.
"""

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skdp.exceptions import DivergenceError
from skdp.linear_model._training_plan import TrainingPlan

__all__ = ["Descent", "as_model", "average_of_last", "descend", "passes", "stage_ends"]

AfterEpoch = Callable[["Descent"], bool]


@dataclass(frozen=True)
class Descent:
    """What a run of noisy descent leaves.

    Parameters
    ----------
    weights : ndarray of shape (n_weights,)
        The returned model: the last iterate, or the mean of the last ones.
    clip_fraction : float
        Noisy share of the drawn rows whose gradient was clipped, held within [0, 1].
    n_steps : int
        Steps taken.
    path : ndarray of shape (n_steps, n_weights) or None
        Every iterate after its step, where it was asked for.
    """

    weights: np.ndarray
    clip_fraction: float
    n_steps: int
    path: np.ndarray | None


def descend(
    gradient: Callable[[np.ndarray], np.ndarray],
    plan: TrainingPlan,
    *,
    start: np.ndarray,
    n_coef: int,
    keep_path: bool,
    after_epoch: AfterEpoch | None = None,
) -> Descent:
    """Take all steps of the plan, or as many as `after_epoch` lets it.

    One step is `w -= learning_rate * noisy_sum / batch_size`; the penalty moves the first
    `n_coef` weights by `-learning_rate * alpha * w`, from the same w.

    Parameters
    ----------
    gradient : callable
        Takes weights and returns the noisy sum, then the noisy count of clipped rows.
    plan : TrainingPlan
        Steps, rate, divisor, penalty, averaging, and the unit of the intercept.
    start : ndarray of shape (n_weights,)
        Where to begin, as a model: coefficients, then intercepts.
    n_coef : int
        How many of the weights are coefficients.
    keep_path : bool
        Whether to keep every iterate.
    after_epoch : callable or None
        Called with what the descent would leave if it ended after this epoch; True ends it.

    Returns
    -------
    descent : Descent
        The model, how often gradients were clipped, the steps taken and the path.

    Raises
    ------
    DivergenceError
        When the weights are no longer finite; judged from the weights alone.
    """
    n_steps = plan.gradient.n_steps
    rate = plan.learning_rate / plan.gradient.batch_size
    keep = 1.0 - plan.learning_rate * plan.alpha
    # The gradient is taken in the weights of (row, constant): a model's intercept is the constant
    # times its weight. Iterates are kept as models.
    scale = np.ones_like(start)
    scale[n_coef:] = plan.gradient.intercept_column
    weights = start / scale
    count = 0.0
    path = np.empty((n_steps, len(start))) if keep_path else None
    total = np.zeros_like(start)
    first_averaged = n_steps - plan.n_averaged(n_steps)
    epochs = None if after_epoch is None else _EpochAverages(plan, len(start))
    # Overflow is found in the weights below; a NumPy warning would only say it less clearly.
    with np.errstate(all="ignore"):
        for step in range(n_steps):
            release = gradient(weights)
            count += release[-1]
            if plan.alpha:
                weights[:n_coef] *= keep
            release *= rate
            weights -= release[:-1]
            if path is not None:
                path[step] = weights * scale
            if step >= first_averaged:
                total += weights * scale
            if after_epoch is not None and epochs is not None and epochs.end_with(weights * scale):
                stage = _descent(epochs.average(), count, step + 1, plan, path)
                if after_epoch(stage) and step + 1 < n_steps:
                    return _finite(stage, plan)
        final = total / (n_steps - first_averaged)
    return _finite(_descent(final, count, n_steps, plan, path), plan)


def _descent(
    weights: np.ndarray, count: float, n_steps: int, plan: TrainingPlan, path: np.ndarray | None
) -> Descent:
    """What is left after so many steps; the model is the path's own average where there is one."""
    if path is not None and n_steps < len(path):
        # A copy, since the rest of the block was never written and may hold anything.
        path = path[:n_steps].copy()
        weights = average_of_last(path, n_steps, plan.n_averaged(n_steps))
    drawn = plan.gradient.count_scale * plan.gradient.batch_size * n_steps
    share = float(np.clip(count / drawn, 0.0, 1.0))
    return Descent(weights=weights, clip_fraction=share, n_steps=n_steps, path=path)


def _finite(descent: Descent, plan: TrainingPlan) -> Descent:
    if not np.isfinite(descent.weights).all():
        raise DivergenceError(
            f"training diverged: the weights are no longer finite with learning_rate="
            f"{plan.learning_rate:g} and clip_threshold={plan.gradient.clip_threshold:g}; lower "
            "them. The steps taken are spent all the same"
        )
    return descent


class _EpochAverages:
    """The averages of the last iterates at the end of each epoch, without keeping the path.

    Keeps the sum of all iterates, and what it was where the average of a coming epoch begins.
    """

    def __init__(self, plan: TrainingPlan, size: int):
        ends = stage_ends(plan.gradient.n_steps, plan.gradient.sample_rate)
        self._spans = deque((end - plan.n_averaged(end), end) for end in ends)
        self._begins = deque(begin for begin, _ in self._spans)
        self._sums_before: deque[np.ndarray] = deque()
        self._sum = np.zeros(size)
        self._n_steps = 0

    def end_with(self, model: np.ndarray) -> bool:
        """Take in one more iterate; True where it ends an epoch."""
        while self._begins and self._begins[0] == self._n_steps:
            self._begins.popleft()
            self._sums_before.append(self._sum.copy())
        self._sum += model
        self._n_steps += 1
        return self._n_steps == self._spans[0][1]

    def average(self) -> np.ndarray:
        """Of the epoch that has just ended; once for each."""
        begin, end = self._spans.popleft()
        return (self._sum - self._sums_before.popleft()) / (end - begin)


def as_model(
    weights: np.ndarray, n_outputs: int, n_features: int, fit_intercept: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Flat weights, one model or a stack of them, as coefficients and intercepts."""
    n_coef = n_features * n_outputs
    stack = weights.shape[:-1]
    coef = weights[..., :n_coef].reshape(*stack, n_features, n_outputs)
    intercept = weights[..., n_coef:] if fit_intercept else np.zeros((*stack, n_outputs))
    return np.ascontiguousarray(np.swapaxes(coef, -1, -2)), intercept.copy()


def average_of_last(path: np.ndarray, n_steps: int, n_averaged: int) -> np.ndarray:
    """Mean of the `n_averaged` iterates that end with step `n_steps`, added in their order.

    The order is that of `descend`, so that the last stage of a stored path is the fitted model to
    the last bit.
    """
    total = np.zeros(path.shape[1:])
    for weights in path[n_steps - n_averaged : n_steps]:
        total += weights
    return total / n_averaged


def stage_ends(n_steps: int, sample_rate: float) -> list[int]:
    """Number of steps taken at the end of every epoch; a last partial epoch counts as one."""
    ends = [0]
    while ends[-1] < n_steps:
        # The guard keeps whole epochs whole where the quotient rounds up.
        ends.append(min(n_steps, math.ceil(len(ends) / sample_rate - 1e-9)))
    return ends[1:]


def passes(n_steps: int, sample_rate: float) -> int:
    """Expected passes over the data, rounded up."""
    return max(1, math.ceil(n_steps * sample_rate - 1e-9))
