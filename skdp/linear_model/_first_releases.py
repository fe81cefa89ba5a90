"""The releases before the first step, and what they make of the plan.

They are noisy and in the plan; only threshold, rate, and the intercept's start and constant may
depend on them.
"""

import math
from typing import Any

import numpy as np

from skdp.linear_model._start import class_shares, intercept_of, majority_margin, typical_norm
from skdp.linear_model._training_plan import TrainingPlan
from skdp.mechanisms._counts import noisy_counts, norm_bins
from skdp.mechanisms._noise import RandomSource, Streams
from skdp.mechanisms._sum_plan import SumPlan
from skdp.mechanisms._units import Units

__all__ = ["first_releases"]


def first_releases(
    plan: TrainingPlan, X: Any, codes: np.ndarray, streams: Streams, units: Units | None
) -> tuple[TrainingPlan, np.ndarray | float]:
    """Make the releases that the plan has before its first step.

    Parameters
    ----------
    plan : TrainingPlan
        Says which releases to make, and with how much noise.
    X : ndarray or CSR of shape (n_rows, n_features)
        Rows.
    codes : ndarray of int of shape (n_rows,)
        Each row's class, as its place in the label set.
    streams : Streams
        Randomness of this fit.
    units : Units or None
        Which rows belong to one unit of privacy; None where each row is one.

    Returns
    -------
    plan : TrainingPlan
        With threshold and rate in the units of the rows; its cost is unchanged.
    intercept : ndarray of shape (n_outputs,), or 0.0
        Where to start.
    """
    intercept, margin = 0.0, 0.0
    if plan.class_counts is not None:
        noise = streams.open("class counts", "noise")
        counts = noisy_counts(codes, plan.class_counts, noise, units=units)
        shares = class_shares(counts, plan.class_counts, plan.gradient.n_rows)
        intercept, margin = intercept_of(shares), majority_margin(shares)
    if plan.scale_is_given:
        return plan.adapted(scale=1.0, unit_scale=1.0, margin=margin), intercept
    norm = _released_norm(plan, plan.norm_counts, X, streams.open("norm counts", "noise"), units)
    unit_norm = norm
    if units is not None:
        noise = streams.open("unit norm counts", "noise")
        unit_norm = _released_norm(plan, plan.unit_norm_counts, X, noise, units, of_units=True)
    root = math.sqrt(X.shape[1])
    return plan.adapted(scale=norm / root, unit_scale=unit_norm / root, margin=margin), intercept


def _released_norm(
    plan: TrainingPlan,
    counts_plan: SumPlan | None,
    X: Any,
    noise: RandomSource,
    units: Units | None,
    *,
    of_units: bool = False,
) -> float:
    """A typical norm of rows, or of units, from a noisy histogram where there is one."""
    n_rows, n_features = plan.gradient.n_rows, X.shape[1]
    norm = math.sqrt(n_features)
    if counts_plan is not None:
        if of_units:
            counts = noisy_counts(norm_bins(X, units), counts_plan, noise)
        else:
            counts = noisy_counts(norm_bins(X), counts_plan, noise, units=units)
        norm = typical_norm(counts, counts_plan, n_rows, n_features)
    longest = plan.gradient.max_row_norm
    return norm if longest is None or of_units else min(norm, longest)
