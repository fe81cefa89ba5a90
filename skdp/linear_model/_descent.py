"""Gradient descent on sums that someone else made noisy.

Sees weights and releases, never a row: whatever is computed here costs nothing.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skdp.exceptions import DivergenceError
from skdp.linear_model._plan import TrainingPlan

__all__ = ["Descent", "average_of_last", "descend", "passes", "stage_ends"]


@dataclass(frozen=True)
class Descent:
    """What a run of noisy descent leaves.

    Parameters
    ----------
    weights : ndarray of shape (n_weights,)
        The returned model: the last iterate, or the mean of the last ones.
    clip_fraction : float
        Noisy share of the drawn rows whose gradient was clipped, held within [0, 1].
    path : ndarray of shape (n_steps, n_weights) or None
        Every iterate after its step, where it was asked for.
    """

    weights: np.ndarray
    clip_fraction: float
    path: np.ndarray | None


def descend(
    gradient: Callable[[np.ndarray], np.ndarray],
    plan: TrainingPlan,
    *,
    start: np.ndarray,
    n_coef: int,
    keep_path: bool,
) -> Descent:
    """Take all steps of the plan.

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
    unit = np.ones_like(start)
    unit[n_coef:] = plan.gradient.intercept_column
    weights = start / unit
    count = 0.0
    path = np.empty((n_steps, len(start))) if keep_path else None
    total = np.zeros_like(start)
    first_averaged = n_steps - plan.n_averaged(n_steps)
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
                path[step] = weights * unit
            if step >= first_averaged:
                total += weights * unit
        final = total / (n_steps - first_averaged)
    if not np.isfinite(final).all():
        raise DivergenceError(
            f"training diverged: the weights are no longer finite with learning_rate="
            f"{plan.learning_rate:g} and clip_threshold={plan.gradient.clip_threshold:g}; lower "
            "them. The steps taken are spent all the same"
        )
    drawn = plan.gradient.count_scale * plan.gradient.batch_size * n_steps
    return Descent(weights=final, clip_fraction=float(np.clip(count / drawn, 0.0, 1.0)), path=path)


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
