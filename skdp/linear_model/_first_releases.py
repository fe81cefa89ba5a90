"""The releases before the first step, and what they make of the plan.

They are noisy and in the plan; only threshold, rate, and the intercept's start and constant may
depend on them.
"""

import math
from typing import Any

import numpy as np

from skdp.linear_model._plan import TrainingPlan
from skdp.linear_model._start import class_shares, intercept_of, lead_of_largest, typical_norm
from skdp.mechanisms._counts import noisy_counts, norm_bins
from skdp.mechanisms._noise import Streams
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
    intercept, lead = 0.0, 0.0
    n_rows, n_features = plan.gradient.n_rows, X.shape[1]
    norm = math.sqrt(n_features)
    if plan.class_counts is not None:
        noise = streams.open("class counts", "noise")
        counts = noisy_counts(codes, plan.class_counts, noise, units=units)
        shares = class_shares(counts, plan.class_counts, n_rows)
        intercept, lead = intercept_of(shares), lead_of_largest(shares)
    if plan.norm_counts is not None:
        noise = streams.open("norm counts", "noise")
        counts = noisy_counts(norm_bins(X), plan.norm_counts, noise, units=units)
        norm = typical_norm(counts, plan.norm_counts, n_rows, n_features)
    if plan.gradient.max_row_norm is not None:
        norm = min(norm, plan.gradient.max_row_norm)
    scale = 1.0 if plan.units_are_given else norm / math.sqrt(n_features)
    return plan.adapted(scale=scale, lead=lead), intercept
