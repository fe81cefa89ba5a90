"""Noisy counts of rows in public bins: one Gaussian release, each row in one bin at most."""

import math
from dataclasses import dataclass

import numpy as np

from skdp.mechanisms._noise import RandomSource
from skdp.mechanisms._release import ROUNDING_SHARE, NoisyReleases
from skdp.mechanisms._rows import rows_of
from skdp.mechanisms._units import Units
from skdp.privacy import Gaussian

__all__ = ["NORM_EXPONENTS", "CountPlan", "noisy_counts", "norm_bins"]

# Public bins of row norms, by powers of two; the outer bins also hold what lies beyond them.
NORM_EXPONENTS = np.arange(-24, 40)
# Shares of units are whole multiples of one over this.
_WHOLE_SHARE = 1 << 20


@dataclass(frozen=True)
class CountPlan:
    """What decides a release of counts.

    Parameters
    ----------
    n_bins : int
        Number of public bins.
    noise_multiplier : float
        Standard deviation of the noise over the sensitivity.
    centred : bool
        Whether each row adds its bin's indicator minus `1 / n_bins` everywhere, which is a shorter
        vector; the counts then come without their mean.
    """

    n_bins: int
    noise_multiplier: float
    centred: bool = False

    @property
    def sensitivity(self) -> float:
        """L2 norm of what one row adds: 1, or sqrt(1 - 1 / n_bins) where it is centred."""
        return math.sqrt(1.0 - 1.0 / self.n_bins) if self.centred else 1.0

    @property
    def noise_scale(self) -> float:
        """Standard deviation of the noise on every count, for the sensitivity after rounding."""
        return self.noise_multiplier * self.sensitivity * (1.0 + ROUNDING_SHARE)

    @property
    def mechanism(self) -> Gaussian:
        """The release as the accountant sees it."""
        return Gaussian(self.noise_multiplier)


def noisy_counts(
    bins: np.ndarray, plan: CountPlan, source: RandomSource, *, units: Units | None = None
) -> np.ndarray:
    """Count the rows in each bin and add noise.

    Where rows are grouped into units, each unit counts once in all: a row of m counts 1 / m.

    Guarantee: one run of `plan.mechanism`, for neighbours that differ in one row which
    contributes nothing in one of them.

    Parameters
    ----------
    bins : ndarray of int of shape (n_rows,)
        Each row's bin; negative for a row that contributes nothing.
    plan : CountPlan
        Bins and noise.
    source : RandomSource
        The stream of this release.
    units : Units or None
        Which rows belong to one unit of privacy; None where each row is one.

    Returns
    -------
    counts : ndarray of shape (n_bins,)
        Noisy, so perhaps negative.
    """
    counts = _counts(bins, plan.n_bins, units)
    if plan.centred:
        counts -= counts.sum() / plan.n_bins
    releases = NoisyReleases(
        plan.n_bins,
        sensitivity=plan.sensitivity,
        noise_scale=plan.noise_scale,
        n_releases=1,
        source=source,
    )
    return releases.add_noise(counts)


def _counts(bins: np.ndarray, n_bins: int, units: Units | None) -> np.ndarray:
    """Rows in each bin, or the units' shares; both are sums of whole numbers, so exact."""
    counted = bins >= 0
    if units is None:
        return np.bincount(bins[counted], minlength=n_bins).astype(np.float64)
    shares = _WHOLE_SHARE // units.sizes_by_row()[counted]
    return np.bincount(bins[counted], weights=shares, minlength=n_bins) / _WHOLE_SHARE


def norm_bins(X, units: Units | None = None) -> np.ndarray:
    """Bin of each norm: which power of two it reaches, and -1 for zero.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_rows, n_features)
        Rows.
    units : Units or None
        None for the norm of each row. With units, the root of the sum of the squared norms of each
        unit's rows, which is how long the sum of their gradients is when they have different
        directions.
    """
    norms = rows_of(X).norms()
    if units is not None:
        norms = units.root_sum_squares(norms)
    # frexp writes a number as m 2^e with m in [1/2, 1), so floor(log2) is e - 1, exactly.
    exponents = np.frexp(norms)[1] - 1
    exponents[np.isinf(norms)] = NORM_EXPONENTS[-1]
    bins = np.clip(exponents, NORM_EXPONENTS[0], NORM_EXPONENTS[-1]) - NORM_EXPONENTS[0]
    return np.where(norms > 0.0, bins, -1)
