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
    plan: TrainingPlan,
    X: Any,
    codes: np.ndarray,
    streams: Streams,
    units: Units | None,
    usable: np.ndarray | None = None,
) -> tuple[TrainingPlan, np.ndarray | float]:
    """Make the releases that the plan has before its first step.

    Parameters
    ----------
    plan : TrainingPlan
        Says which releases to make, and with how much noise.
    X : ndarray or CSR of shape (n_rows, n_features)
        Rows.
    codes : ndarray of int of shape (n_rows,)
        Each row's class, as its place in the label set; -1 for a row that contributes nothing.
    streams : Streams
        Randomness of this fit.
    units : Units or None
        Which rows belong to one unit of privacy; None where each row is one.
    usable : ndarray of bool of shape (n_rows,) or None
        Which rows contribute; None for all.

    Returns
    -------
    plan : TrainingPlan
        With threshold and rate in the units of the rows; its cost is unchanged.
    intercept : ndarray of shape (n_outputs,), or 0.0
        Where to start.
    """
    intercept: np.ndarray | float = 0.0
    margin = 0.0
    if plan.class_counts is not None:
        noise = streams.open("class counts", "noise")
        counts = noisy_counts(codes, plan.class_counts, noise, units=units)
        shares = class_shares(counts, plan.class_counts, plan.gradient.n_rows)
        intercept, margin = intercept_of(shares), majority_margin(shares)
    if plan.scale_is_given:
        return plan.adapted(scale=1.0, unit_scale=1.0, margin=margin), intercept
    noise = streams.open("norm counts", "noise")
    norm = _typical_norm(plan, plan.norm_counts, X, noise, usable, counted=units)
    longest = plan.gradient.max_row_norm
    norm = norm if longest is None else min(norm, longest)
    unit_norm = norm
    if units is not None:
        noise = streams.open("unit norm counts", "noise")
        unit_norm = _typical_norm(plan, plan.unit_norm_counts, X, noise, usable, measured=units)
    root = math.sqrt(X.shape[1])
    return plan.adapted(scale=norm / root, unit_scale=unit_norm / root, margin=margin), intercept


def _typical_norm(
    plan: TrainingPlan,
    counts_plan: SumPlan | None,
    X: Any,
    noise: RandomSource,
    usable: np.ndarray | None,
    *,
    counted: Units | None = None,
    measured: Units | None = None,
) -> float:
    """A typical norm from a noisy histogram, where there is one.

    Of rows, of which those of a unit `counted` together count once; or of the units `measured`.
    """
    n_rows, n_features = plan.gradient.n_rows, X.shape[1]
    if counts_plan is None:
        return math.sqrt(n_features)
    bins = norm_bins(X, measured, usable=usable)
    counts = noisy_counts(bins, counts_plan, noise, units=counted)
    return typical_norm(counts, counts_plan, n_rows, n_features)
