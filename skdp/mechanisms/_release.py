"""The noisy release: a clean sum and its noise, rounded apart to one grid, then added.

Floating-point noise has a different set of possible values at every sum it is added to, and the
low-order bits of the result can give the sum away (Mironov 2012, "On significance of the least
significant bits for differential privacy"; Jin, McMurtry, Rubinstein and Ohrimenko 2022, "Are we
there yet? Timing and floating-point attacks on differential privacy systems"). Here the sum is
first rounded to a grid, and so is the noise; adding them is exact. What is released is then a
point of the grid, whatever the sum was, and each point's probability depends on the rounded sum
alone. docs/privacy_model.md has the argument in full.
"""

import itertools
import math
from collections.abc import Iterator

import numpy as np

from skdp.mechanisms._noise import RandomSource

__all__ = [
    "LEAST_NOISE",
    "ROUNDING_SHARE",
    "NoisyReleases",
    "grid_spacing",
    "largest_exact_noise",
    "largest_noise",
    "largest_sum",
]

# Rounding to the grid moves a difference of two sums by at most sqrt(size) spacings in L2 norm,
# which is at most 2^-14 of the sensitivity. The rest of this share of the sensitivity, 3.8e-5, pays
# for the rounding of the norms and of the sums. Whoever accounts for a release adds it.
ROUNDING_SHARE = 1e-4
# The least noise multiplier: no draw of the system's source is longer than 13 standard deviations,
# and with less noise what one row adds could carry a release out of all other releases' reach.
LEAST_NOISE = 0.2
_SPACINGS_PER_SENSITIVITY = 2.0**14
# Below so many spacings, sums and noise are whole multiples of the spacing, and so is their sum.
_EXACT_SPACINGS = 2.0**51
# No draw of either source is longer than this, in standard deviations.
_LONGEST_DRAW = 16.0
_NUMBERS_PER_BLOCK = 1 << 14


def grid_spacing(sensitivity: float, size: int) -> float:
    """The largest power of two that is at most `sensitivity / (2^14 sqrt(size))`.

    Parameters
    ----------
    sensitivity : float
        L2 norm of what one row may add to the released vector.
    size : int
        Number of coordinates.

    Returns
    -------
    spacing : float
        In the units of the sensitivity; releases are multiples of it.
    """
    return 2.0 ** math.floor(math.log2(sensitivity / (_SPACINGS_PER_SENSITIVITY * math.sqrt(size))))


def largest_noise(size: int) -> float:
    """Largest noise multiplier at which the resolution of draws adds next to nothing to epsilon.

    With more, a cell of the grid is so much smaller than the noise that draws, which are doubles,
    do not fill the cells evenly.
    """
    return 2.0**21 / math.sqrt(size)


def largest_exact_noise(size: int) -> float:
    """Largest noise multiplier whose draws are certain to be exact on the grid.

    It is the limit for a single release that costs next to nothing.
    """
    return _EXACT_SPACINGS / (2.0 * _SPACINGS_PER_SENSITIVITY * math.sqrt(size) * _LONGEST_DRAW)


def largest_sum(size: int) -> float:
    """Largest coordinate of a clean sum, in units of the sensitivity, that is exact on the grid."""
    return _EXACT_SPACINGS / (2.0 * _SPACINGS_PER_SENSITIVITY * math.sqrt(size))


class NoisyReleases:
    """Turns clean vectors into releases, `n_releases` of them, each with noise of its own.

    Guarantee: each release is the Gaussian mechanism with noise `noise_scale` on a vector that one
    row moves by at most its own length plus `ROUNDING_SHARE * sensitivity`.

    - Every coordinate gets a fresh normal draw of standard deviation `noise_scale`.
    - A release is a multiple of the grid's spacing in every coordinate, whatever the sum.

    Parameters
    ----------
    size : int
        Coordinates of a release.
    sensitivity : float
        L2 norm of what one row may add to the clean vector; sets the grid.
    noise_scale : float
        Standard deviation of the noise; 0 for releases without noise, which are not rounded.
    n_releases : int
        How many there may be.
    source : RandomSource
        The stream of this noise.
    """

    def __init__(
        self,
        size: int,
        *,
        sensitivity: float,
        noise_scale: float,
        n_releases: int,
        source: RandomSource,
    ):
        if noise_scale == 0.0:
            self._anchor = 0.0
            self._shifted_noise: Iterator = itertools.repeat(0.0, n_releases)
            return
        # A number plus the anchor, one and a half times 2^52 spacings, is rounded to a multiple of
        # the spacing by the addition itself: doubles of that size are one spacing apart.
        self._anchor = 1.5 * 2.0**52 * grid_spacing(sensitivity, size)
        self._shifted_noise = _noise_on_grid((n_releases, size), noise_scale, self._anchor, source)

    def add_noise(self, total: np.ndarray) -> np.ndarray:
        """Release `total`, in place.

        Raises
        ------
        StopIteration
            When all releases have been made; then `total` has been left as it was.
        """
        noise = next(self._shifted_noise)
        total += self._anchor
        # The noise comes less the anchor, so that this sum is on the grid, and exact.
        total += noise
        return total


def _noise_on_grid(
    shape: tuple[int, int], scale: float, anchor: float, source: RandomSource
) -> Iterator[np.ndarray]:
    """Yield noise vectors on the grid, less the anchor, drawn for a block of releases at once."""
    n_releases, size = shape
    per_block = max(1, _NUMBERS_PER_BLOCK // size)
    for first in range(0, n_releases, per_block):
        block = (min(per_block, n_releases - first), size)
        # Each part is rounded on its own. With two of them, the rounding of the draws themselves,
        # which is visible on a fine grid, is averaged out: see the source.
        parts = [
            _on_grid(source.normal(block), scale / math.sqrt(source.n_parts), anchor)
            for _ in range(source.n_parts)
        ]
        noise = parts[0]
        for part in parts[1:]:
            noise += part
        noise -= anchor
        yield from noise


def _on_grid(draws: np.ndarray, scale: float, anchor: float) -> np.ndarray:
    """Scale and round, in place."""
    draws *= scale
    draws += anchor
    draws -= anchor
    return draws
