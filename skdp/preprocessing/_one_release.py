"""The noise of one Gaussian release, settled from public numbers before a single row is read."""

from typing import NamedTuple

from skdp.exceptions import CalibrationError
from skdp.mechanisms._columns import MOST_ROWS
from skdp.mechanisms._release import LEAST_NOISE, largest_noise
from skdp.privacy import Gaussian, calibrate_noise_multiplier, get_epsilon
from skdp.privacy._promise import chosen_delta, weaknesses

__all__ = ["OneRelease", "plan_one_release"]


class OneRelease(NamedTuple):
    """What the noise is, and what it costs.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the noise over the sensitivity.
    epsilon, delta : float
        What a release with it costs.
    weaknesses : list of str
        What weakens that promise, in public numbers.
    """

    noise_multiplier: float
    epsilon: float
    delta: float
    weaknesses: list[str]


def plan_one_release(epsilon: float, delta: float | str, *, n_rows: int, size: int) -> OneRelease:
    """Find the least noise that `epsilon` allows.

    Parameters
    ----------
    epsilon : float
        The budget.
    delta : float or "auto"
        "auto" is `min(1e-5, 1 / (2 * n_rows))`.
    n_rows : int
        Number of rows, a public number.
    size : int
        Number of released coordinates.

    Returns
    -------
    release : OneRelease
        The noise, and the epsilon it costs, which is at most `epsilon`.

    Raises
    ------
    CalibrationError
        Where the noise would be too small or too large for arithmetic that is exact.
    ValueError
        Where there are more rows than can be added up exactly.
    """
    if n_rows > MOST_ROWS:
        raise ValueError(
            f"{n_rows:,} rows are too many for a sum that is exact to the last bit; at most "
            f"{MOST_ROWS:,} are"
        )
    delta = chosen_delta(delta, n_rows)
    noise = calibrate_noise_multiplier(float(epsilon), delta, 1.0, 1)
    if not LEAST_NOISE <= noise <= largest_noise(size):
        raise CalibrationError(
            f"epsilon={epsilon!r} has noise of {noise:.3g} times what one row adds. For {size} "
            f"sums it must be between {LEAST_NOISE:g} and {largest_noise(size):.3g} times, so that "
            "no release is out of another's reach and draws are fine enough: move epsilon towards 1"
        )
    spent = get_epsilon(Gaussian(noise), delta)
    return OneRelease(noise, spent, delta, weaknesses(spent, delta, n_rows))
