"""What one run of noisy gradient steps is: read by the trainer and by the accountant alike.

A frozen object of public numbers. The sampler, the clip, the noise and the cost are all read off
it, so what ran and what was accounted for cannot drift apart.
"""

import math
from dataclasses import dataclass

import numpy as np

from skdp.mechanisms._release import ROUNDING_SHARE
from skdp.privacy import SubsampledGaussian

__all__ = [
    "COUNT_WEIGHT",
    "MOST_ROWS_A_STEP",
    "MOST_UNITS_A_STEP",
    "SENSITIVITY_FACTOR",
    "GradientPlan",
    "multiplier_for_gradient",
]

# The number of clipped rows rides along as one more coordinate of the noisy sum, scaled by
# COUNT_WEIGHT * clip_threshold. One row then moves the sum by at most
# clip_threshold * sqrt(1 + COUNT_WEIGHT^2), and rounding moves it by ROUNDING_SHARE at most;
# together they are the factor that the accountant divides by.
SENSITIVITY_FACTOR = 1.01
COUNT_WEIGHT = math.sqrt((SENSITIVITY_FACTOR - ROUNDING_SHARE) ** 2 - 1.0)

# Expected rows in a step, at most. A sum over B rows in pieces of m is off by at most
# (m + B / m) 2^-53 times the sum of their lengths, in whatever order a piece is added up (Higham
# 2002, "Accuracy and stability of numerical algorithms", section 4.2). For pieces of 64 to 32,768
# rows, two sums of clipped gradients are then at most 3.2e-5 thresholds further apart than exact
# ones, within what ROUNDING_SHARE leaves beside the grid.
MOST_ROWS_A_STEP = 3_000_000
# Likewise where a unit of privacy has several rows: then a piece may hold one unit alone.
MOST_UNITS_A_STEP = 400_000


@dataclass(frozen=True)
class GradientPlan:
    """Everything that decides what a run of noisy gradient steps releases.

    Parameters
    ----------
    n_rows : int
        Rows of the data set, or units where rows are grouped into units; a public number.
    batch_size : float
        Expected rows, or units, a step, at most `n_rows`; the divisor of the noisy sum.
    n_steps : int
        Noisy steps.
    clip_threshold : float
        Largest L2 norm of one row's gradient, intercept included; infinite for no clip.
    noise_multiplier : float
        Standard deviation of the gradient's noise over `clip_threshold`.
    max_row_norm : float or None
        Public bound that longer rows are scaled down to, before anything else.
    intercept_column : float
        The constant that stands beside each row for the intercept, in the units of the rows; a
        row's gradient is taken in the weights of (row, constant).
    """

    n_rows: int
    batch_size: float
    n_steps: int
    clip_threshold: float
    noise_multiplier: float
    max_row_norm: float | None = None
    intercept_column: float = 1.0

    @property
    def sample_rate(self) -> float:
        """Probability that a row takes part in a step."""
        return self.batch_size / self.n_rows

    @property
    def finite_threshold(self) -> float:
        """The clip threshold as arithmetic can use it: the largest double stands for no clip."""
        return min(self.clip_threshold, float(np.finfo(np.float64).max))

    @property
    def noise_scale(self) -> float:
        """Standard deviation of the noise on every coordinate of the sum."""
        if self.noise_multiplier == 0.0:
            return 0.0
        return self.noise_multiplier * self.clip_threshold

    @property
    def count_scale(self) -> float:
        """What one clipped row adds to the last coordinate of the sum."""
        # Without noise there is no sensitivity to respect, and the threshold may be infinite.
        return 1.0 if self.noise_multiplier == 0.0 else COUNT_WEIGHT * self.clip_threshold

    @property
    def mechanism(self) -> SubsampledGaussian:
        """The whole run as the accountant sees it.

        The multiplier is the noise over the sensitivity of the whole sum, count included, so it
        is smaller than `noise_multiplier` by the factor 1.01.
        """
        return SubsampledGaussian(
            noise_multiplier=self.noise_multiplier / SENSITIVITY_FACTOR,
            sample_rate=self.sample_rate,
            n_steps=self.n_steps,
        )


def multiplier_for_gradient(multiplier_of_sum: float) -> float:
    """Noise multiplier of the gradient at which the whole sum has at least `multiplier_of_sum`.

    The product may round down; then the next double is taken, since a rounding must not lower
    the noise that was calibrated.
    """
    multiplier = multiplier_of_sum * SENSITIVITY_FACTOR
    while multiplier / SENSITIVITY_FACTOR < multiplier_of_sum:
        multiplier = math.nextafter(multiplier, math.inf)
    return multiplier
