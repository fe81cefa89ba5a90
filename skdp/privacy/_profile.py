"""What can an adversary do? The whole privacy curve, in three currencies.

All of it follows from delta as a function of epsilon, the larger of both directions, which bounds
every attack that tries to tell whether a row took part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from skdp.exceptions import shown
from skdp.privacy._accountant import get_delta, get_epsilon
from skdp.privacy._mechanism import Mechanism

__all__ = ["membership_advantage", "privacy_profile", "trade_off_curve"]

# The curve is followed down to this delta, at this many epsilons of either spacing.
_LEAST_DELTA = 1e-12
# The trade-off curve starts from so many points of the privacy curve, and takes at most so many.
_N_STARTS = 9
_MOST_POINTS = 120
# How much higher a line must be for its point to be added.
_GAIN = 5e-4


def privacy_profile(
    mechanism: Mechanism | Sequence[Mechanism], epsilons: float | npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """Return delta at each epsilon.

    Parameters
    ----------
    mechanism : SubsampledGaussian, Gaussian, GroupedGaussian, or a sequence of them
        What runs on the same rows.
    epsilons : float or array-like of float
        At least 0.

    Returns
    -------
    deltas : ndarray with the shape of `epsilons`
        Never below the true deltas.

    Examples
    --------
    >>> from skdp.privacy import SubsampledGaussian, privacy_profile
    >>> training = SubsampledGaussian(noise_multiplier=2.0, sample_rate=0.08, n_steps=375)
    >>> privacy_profile(training, [0, 1, 2]).round(3)
    array([0.315, 0.07 , 0.006])
    """
    values = _numbers("epsilons", epsilons)
    if not np.all(values >= 0):
        raise ValueError(f"epsilons must be at least 0; got {shown(epsilons)}.")
    deltas = [get_delta(mechanism, float(epsilon)) for epsilon in values.ravel()]
    return np.array(deltas, dtype=np.float64).reshape(values.shape)


def trade_off_curve(
    mechanism: Mechanism | Sequence[Mechanism], alphas: float | npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """Return the smallest miss rate of an adversary at each false-alarm rate.

    No test that tells from everything released whether a row took part, and raises a false alarm
    with probability `alpha`, misses less often. The curve is the lower convex envelope of both
    directions, ``max(0, 1 - delta - exp(epsilon) alpha, exp(-epsilon) (1 - delta - alpha))`` over
    the points of the privacy curve (Dong, Roth and Su 2022, arXiv:1905.02383, Proposition 6).

    Parameters
    ----------
    mechanism : SubsampledGaussian, Gaussian, GroupedGaussian, or a sequence of them
        What runs on the same rows.
    alphas : float or array-like of float
        False-alarm rates in [0, 1].

    Returns
    -------
    betas : ndarray with the shape of `alphas`
        Miss rates, never above the true ones: the adversary is rated too strong rather than too
        weak.

    Examples
    --------
    >>> from skdp.privacy import SubsampledGaussian, trade_off_curve
    >>> training = SubsampledGaussian(noise_multiplier=2.0, sample_rate=0.08, n_steps=375)
    >>> trade_off_curve(training, [0.01, 0.1, 0.5]).round(2)
    array([0.93, 0.68, 0.21])
    """
    values = _numbers("alphas", alphas)
    if not np.all((values >= 0) & (values <= 1)):
        raise ValueError(f"alphas must lie in [0, 1]; got {shown(alphas)}.")
    betas = np.zeros(values.shape)
    with np.errstate(divide="ignore"):
        log_alphas = np.log(values)
    for epsilon, delta in _corners(mechanism):
        # From exp(0) = 1 on the line is below 0 anyway, so nothing larger need be computed.
        steep = 1 - delta - np.exp(np.minimum(epsilon + log_alphas, 0.0))
        flat = np.exp(-epsilon) * (1 - delta - values)
        betas = np.maximum(betas, np.maximum(steep, flat))
    return betas


def _corners(mechanism: Mechanism | Sequence[Mechanism]) -> list[tuple[float, float]]:
    """Points of the privacy curve whose lines leave little of the trade-off curve uncovered.

    Each point gives a line below the curve. A point between two others is added where its line
    is noticeably higher than both at the place where these cross.
    """
    farthest = min(get_epsilon(mechanism, _LEAST_DELTA), 1e300)
    starts = farthest * np.linspace(0.0, 1.0, _N_STARTS) ** 2
    points = [(float(e), get_delta(mechanism, float(e))) for e in np.unique(starts)]
    found = points[:1]
    waiting = points[:0:-1]
    while waiting:
        (low, at_low), (high, at_high) = found[-1], waiting[-1]
        middle = (low + high) / 2
        if len(found) + len(waiting) < _MOST_POINTS and low < middle < high:
            at_middle = get_delta(mechanism, middle)
            # The lines cross at log alpha, where 1 - delta - exp(epsilon) alpha agree.
            log_crossing = math.log(max(at_low - at_high, 1e-300)) - high - _log1mexp(low - high)
            lowered = at_low + math.exp(min(low + log_crossing, 0.0))
            if lowered - at_middle - math.exp(min(middle + log_crossing, 0.0)) > _GAIN:
                waiting.append((middle, at_middle))
                continue
        found.append(waiting.pop())
    return found


def _log1mexp(x: float) -> float:
    """log(1 - exp(x)) for x below 0."""
    return math.log(-math.expm1(x))


def _numbers(name: str, values: float | npt.ArrayLike) -> npt.NDArray[np.float64]:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be numbers; got {shown(values)}.") from None


def membership_advantage(mechanism: Mechanism | Sequence[Mechanism]) -> float:
    """Return how much better than guessing an adversary can tell whether a row took part.

    The largest difference between the rates of true and of false alarms; the best accuracy on
    even odds is ``(1 + advantage) / 2``. It is delta at epsilon 0, the total variation distance.

    Parameters
    ----------
    mechanism : SubsampledGaussian, Gaussian, GroupedGaussian, or a sequence of them
        What runs on the same rows.

    Returns
    -------
    advantage : float
        In [0, 1], never below the true one; 1 without noise.

    Examples
    --------
    >>> from skdp.privacy import Gaussian, membership_advantage
    >>> print(f"{membership_advantage(Gaussian(noise_multiplier=2.0)):.3f}")
    0.197
    """
    return get_delta(mechanism, 0.0)
