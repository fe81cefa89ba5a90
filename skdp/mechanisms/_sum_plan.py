"""One noisy sum: what decides it, for trainer and accountant alike, and the one way to its noise.

A sum goes over all rows and is released once. How far one row moves it stands beside the function
that adds it up.
"""

from dataclasses import dataclass

import numpy as np

from skdp.mechanisms._noise import RandomSource
from skdp.mechanisms._release import ROUNDING_SHARE, NoisyReleases
from skdp.privacy import Gaussian

__all__ = ["SumPlan", "release_sum"]


@dataclass(frozen=True)
class SumPlan:
    """What decides the release of a sum over all rows.

    Parameters
    ----------
    size : int
        Number of released coordinates.
    sensitivity : float
        L2 norm of what one row adds at most.
    noise_multiplier : float
        Standard deviation of the noise over the sensitivity.
    """

    size: int
    sensitivity: float
    noise_multiplier: float

    @property
    def noise_scale(self) -> float:
        """Standard deviation of the noise on every coordinate, for the sensitivity as rounded."""
        return self.noise_multiplier * self.sensitivity * (1.0 + ROUNDING_SHARE)

    @property
    def mechanism(self) -> Gaussian:
        """The release as the accountant sees it."""
        return Gaussian(self.noise_multiplier)


def release_sum(total: np.ndarray, plan: SumPlan, source: RandomSource) -> np.ndarray:
    """Add noise to a sum, in place.

    Guarantee: one run of `plan.mechanism`, if one row moves `total` by at most `plan.sensitivity`.
    """
    releases = NoisyReleases(
        plan.size,
        sensitivity=plan.sensitivity,
        noise_scale=plan.noise_scale,
        n_releases=1,
        source=source,
    )
    return releases.add_noise(total)
