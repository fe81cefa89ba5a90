"""What can an attacker do? The whole privacy curve, in three currencies.

All of it follows from delta as a function of epsilon, the larger of both directions, which bounds
every attack that tries to tell whether a row took part.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from skdp.privacy._accountant import get_delta, get_epsilon
from skdp.privacy._mechanism import Mechanism

__all__ = ["membership_advantage", "privacy_profile", "trade_off_curve"]

# The curve is followed down to this delta, at this many epsilons of either spacing.
_LEAST_DELTA = 1e-12
_N_POINTS = 80


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
    values = np.asarray(epsilons, dtype=np.float64)
    deltas = [get_delta(mechanism, float(epsilon)) for epsilon in values.ravel()]
    return np.array(deltas, dtype=np.float64).reshape(values.shape)


def trade_off_curve(
    mechanism: Mechanism | Sequence[Mechanism], alphas: float | npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """Return the smallest miss rate of an attacker at each false-alarm rate.

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
        Miss rates, never above the true ones: the attacker is rated too strong rather than too
        weak.

    Examples
    --------
    >>> from skdp.privacy import SubsampledGaussian, trade_off_curve
    >>> training = SubsampledGaussian(noise_multiplier=2.0, sample_rate=0.08, n_steps=375)
    >>> trade_off_curve(training, [0.01, 0.1, 0.5]).round(2)
    array([0.93, 0.68, 0.21])
    """
    values = np.asarray(alphas, dtype=np.float64)
    if not np.all((values >= 0) & (values <= 1)):
        raise ValueError(f"alphas must lie in [0, 1]; got {alphas!r}.")
    farthest = min(get_epsilon(mechanism, _LEAST_DELTA), 1e300)
    even = np.linspace(0.0, farthest, _N_POINTS)
    epsilons = np.unique(np.append(even, even[1] * np.geomspace(1e-4, 1.0, _N_POINTS // 2)))
    deltas = privacy_profile(mechanism, epsilons)
    betas = np.zeros(values.shape)
    for epsilon, delta in zip(epsilons.tolist(), deltas.tolist(), strict=True):
        # Beyond 700 the slope is too steep for any false-alarm rate but 0.
        steep = 1 - delta - np.exp(min(epsilon, 700.0)) * values
        flat = np.exp(-epsilon) * (1 - delta - values)
        betas = np.maximum(betas, np.maximum(steep, flat))
    return betas


def membership_advantage(mechanism: Mechanism | Sequence[Mechanism]) -> float:
    """Return how much better than guessing an attacker can tell whether a row took part.

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
