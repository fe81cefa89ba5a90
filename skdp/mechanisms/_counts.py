"""Noisy counts of rows in public bins: one Gaussian release, each row in one bin at most."""

import math

import numpy as np

from skdp.mechanisms._noise import RandomSource
from skdp.mechanisms._rows import rows_of
from skdp.mechanisms._sum_plan import SumPlan, release_sum
from skdp.mechanisms._units import Units

__all__ = ["NORM_EXPONENTS", "count_plan", "noisy_counts", "norm_bins"]

# Public bins of row norms, by powers of two; the outer bins also hold what lies beyond them. They
# reach from picofarads to nanoseconds since 1970.
NORM_EXPONENTS = np.arange(-48, 64)
# Shares of units are whole multiples of one over this.
_WHOLE_SHARE = 1 << 20


def count_plan(n_bins: int, noise_multiplier: float, *, centred: bool = False) -> SumPlan:
    """What decides a release of counts of rows in public bins.

    A row adds 1 to its bin. Centred, it adds its bin's indicator minus `1 / n_bins` everywhere,
    which is a shorter vector, of length sqrt(1 - 1 / n_bins); the counts then come without their
    mean.
    """
    sensitivity = math.sqrt(1.0 - 1.0 / n_bins) if centred else 1.0
    return SumPlan(n_bins, sensitivity, noise_multiplier)


def noisy_counts(
    bins: np.ndarray, plan: SumPlan, source: RandomSource, *, units: Units | None = None
) -> np.ndarray:
    """Count the rows in each bin and add noise.

    Where rows are grouped into units, each unit counts once in all: a row of m counts 1 / m.

    Guarantee: one run of `plan.mechanism`, for neighbours that differ in one row which
    contributes nothing in one of them.

    Parameters
    ----------
    bins : ndarray of int of shape (n_rows,)
        Each row's bin; negative for a row that contributes nothing.
    plan : SumPlan
        Of `count_plan`; its sensitivity says whether the counts are centred.
    source : RandomSource
        The stream of this release.
    units : Units or None
        Which rows belong to one unit of privacy; None where each row is one.

    Returns
    -------
    counts : ndarray of shape (n_bins,)
        Noisy, so perhaps negative.
    """
    counts = _counts(bins, plan.size, units)
    # Uncentred, a row adds exactly 1; only centring makes it shorter.
    if plan.sensitivity < 1.0:
        counts -= counts.sum() / plan.size
    return release_sum(counts, plan, source)


def _counts(bins: np.ndarray, n_bins: int, units: Units | None) -> np.ndarray:
    """Rows in each bin, or the units' shares; both are sums of whole numbers, so exact."""
    counted = bins >= 0
    if units is None:
        return np.bincount(bins[counted], minlength=n_bins).astype(np.float64)
    shares = _WHOLE_SHARE // units.sizes_by_row()[counted]
    return np.bincount(bins[counted], weights=shares, minlength=n_bins) / _WHOLE_SHARE


def norm_bins(X, units: Units | None = None, *, usable: np.ndarray | None = None) -> np.ndarray:
    """Bin of each norm: which power of two it reaches, and -1 for zero.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_rows, n_features)
        Rows.
    units : Units or None
        None for the norm of each row. With units, the root of the sum of the squared norms of each
        unit's rows, which is how long the sum of their gradients is when they have different
        directions.
    usable : ndarray of bool of shape (n_rows,) or None
        Which rows count; the others have norm zero. None for all.

    Returns
    -------
    bins : ndarray of int of shape (n_rows,) or (n_units,)
        Positions in `NORM_EXPONENTS`; norms beyond its ends are in the first and the last bin.
    """
    norms = rows_of(X, usable=usable).norms()
    if units is not None:
        norms = units.root_sum_squares(norms)
    # frexp writes a number as m 2^e with m in [1/2, 1), so floor(log2) is e - 1, exactly.
    exponents = np.frexp(norms)[1] - 1
    exponents[np.isinf(norms)] = NORM_EXPONENTS[-1]
    bins = np.clip(exponents, NORM_EXPONENTS[0], NORM_EXPONENTS[-1]) - NORM_EXPONENTS[0]
    return np.where(norms > 0.0, bins, -1)
