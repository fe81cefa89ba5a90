"""What does it cost? The questions to ask, and which method answers them.

Without sampling there is a closed form. Otherwise privacy loss distributions answer, separately
for the two directions (one row more, one row less), and the larger answer counts. Should their
grids not suffice, the Renyi accountant takes over. Every answer is an upper bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from skdp.exceptions import shown
from skdp.privacy._closed_form import (
    gaussian_delta,
    gaussian_epsilon,
    total_variation_bound,
)
from skdp.privacy._mechanism import (
    GroupedGaussian,
    Mechanism,
    check_delta,
    check_real,
    merge_mechanisms,
)
from skdp.privacy._pld import add_direction, remove_direction
from skdp.privacy._rdp import renyi_delta, renyi_epsilon

__all__ = ["PrivacyCost", "explain_epsilon", "get_delta", "get_epsilon"]

# More than any estimator or search asks; a fine privacy curve keeps its points as well.
_CACHE_SIZE = 2**14
# Noise below this makes the squares in every formula overflow, and hides nothing.
_LEAST_NOISE = 1e-100
# What the grids are made for, with a wide margin around what anyone trains with. Outside, the
# Renyi accountant answers.
_NOISE_RANGE = (1e-4, 1e9)
_LEAST_RATE = 1e-15
_MOST_STEPS = 10**9
_LARGEST_GROUP = 10**4
_LEAST_DELTA = 1e-100


@dataclass(frozen=True)
class PrivacyCost:
    """An epsilon with how it was found.

    Parameters
    ----------
    epsilon : float
        The larger of the two directions; at least 0.
    delta : float
        At which it holds.
    method : {"pld", "closed form", "total variation", "rdp", "no noise"}
        What answered: a privacy loss distribution, the formula of the Gaussian mechanism, the
        fact that delta alone pays for everything, the Renyi accountant as the last resort, or the
        absence of noise.
    remove, add : float
        Epsilon for neighbours with one row less, and with one row more.

    Examples
    --------
    >>> from skdp.privacy import SubsampledGaussian, explain_epsilon
    >>> explain_epsilon(SubsampledGaussian(2.0, 0.08, 375), delta=1e-5).method
    'pld'
    """

    __module__ = "skdp.privacy"

    epsilon: float
    delta: float
    method: str
    remove: float
    add: float


def get_epsilon(mechanism: Mechanism | Sequence[Mechanism], delta: float) -> float:
    """Return the epsilon that a mechanism, or several on the same rows, spends at `delta`.

    - Never below the true epsilon at `delta`.
    - At most 0.1 % above the true epsilon at 0.999 times `delta`, for noise in [0.01, 1e6], up to
      a million steps and deltas from 1e-12. An exception are long runs in which hardly any row is
      ever drawn (a sample rate below about 1e-6, noise of about 0.5 to 0.9, thousands of steps)
      at deltas far below their chance: there the bound may be up to a few per cent high.

    Parameters
    ----------
    mechanism : SubsampledGaussian, Gaussian, GroupedGaussian, or a sequence of them
        What runs on the same rows; a sequence is composed, not added up.
    delta : float
        Strictly between 0 and 1.

    Returns
    -------
    epsilon : float
        At least 0; exactly 0 where `delta` alone pays for everything; inf without noise.

    See Also
    --------
    explain_epsilon : The same with the method and both directions.
    group_epsilon : The same for somebody who owns several rows.
    skdp.PrivacyBudget : For releases that are chosen one after the other.

    Examples
    --------
    >>> from skdp.privacy import Gaussian, SubsampledGaussian, get_epsilon
    >>> training = SubsampledGaussian(noise_multiplier=2.0, sample_rate=0.08, n_steps=375)
    >>> print(f"{get_epsilon(training, delta=1e-5):.2f}")
    3.67
    >>> print(f"{get_epsilon([training, Gaussian(10.0)], delta=1e-5):.2f}")
    3.70
    """
    return _cost(merge_mechanisms(mechanism), check_delta(delta)).epsilon


def explain_epsilon(mechanism: Mechanism | Sequence[Mechanism], delta: float) -> PrivacyCost:
    """Return the epsilon of `get_epsilon` with the method that found it and both directions.

    Parameters
    ----------
    mechanism : SubsampledGaussian, Gaussian, GroupedGaussian, or a sequence of them
        What runs on the same rows; a sequence is composed, not added up.
    delta : float
        Strictly between 0 and 1.

    Returns
    -------
    cost : PrivacyCost
        Its `epsilon` is that of `get_epsilon`.

    See Also
    --------
    get_epsilon : The figure alone, and how near it is to the true one.

    Examples
    --------
    >>> from skdp.privacy import SubsampledGaussian, explain_epsilon
    >>> cost = explain_epsilon(SubsampledGaussian(2.0, 0.08, 375), delta=1e-5)
    >>> print(f"{cost.method}: {cost.remove:.2f} to remove, {cost.add:.2f} to add")
    pld: 3.67 to remove, 3.24 to add
    """
    return _cost(merge_mechanisms(mechanism), check_delta(delta))


def get_delta(mechanism: Mechanism | Sequence[Mechanism], epsilon: float) -> float:
    """Return the delta that a mechanism, or several on the same rows, spends at `epsilon`.

    Parameters
    ----------
    mechanism : SubsampledGaussian, Gaussian, GroupedGaussian, or a sequence of them
        What runs on the same rows; a sequence is composed, not added up.
    epsilon : float
        At least 0.

    Returns
    -------
    delta : float
        Never below the true delta, but for deltas too small for a double; 1 without noise.

    Examples
    --------
    >>> from skdp.privacy import SubsampledGaussian, get_delta
    >>> training = SubsampledGaussian(noise_multiplier=2.0, sample_rate=0.08, n_steps=375)
    >>> print(f"{get_delta(training, epsilon=3.0):.1e}")
    1.8e-04
    """
    number = check_real("epsilon", epsilon)
    if not number >= 0:
        raise ValueError(f"epsilon must be at least 0; got {shown(epsilon)}.")
    return _delta(merge_mechanisms(mechanism), number)


@lru_cache(maxsize=_CACHE_SIZE)
def _cost(parts: tuple[GroupedGaussian, ...], delta: float) -> PrivacyCost:
    if _has_no_noise(parts):
        return PrivacyCost(math.inf, delta, "no noise", math.inf, math.inf)
    # Underflow is part of the method: masses far in the tails are zeros.
    with np.errstate(all="ignore"):
        if _is_gaussian(parts):
            epsilon = gaussian_epsilon(1 / parts[0].noise_multiplier, delta)
            return PrivacyCost(epsilon, delta, "closed form", epsilon, epsilon)
        if total_variation_bound(parts) <= delta:
            return PrivacyCost(0.0, delta, "total variation", 0.0, 0.0)
        remove = add = math.inf
        if _suits_grids(parts) and delta >= _LEAST_DELTA:
            remove = max(0.0, remove_direction(parts).epsilon(delta))
            add = max(0.0, add_direction(parts).epsilon(delta))
        if max(remove, add) < math.inf:
            return PrivacyCost(max(remove, add), delta, "pld", remove, add)
        bound = renyi_epsilon(parts, delta)
    return PrivacyCost(bound, delta, "rdp", min(remove, bound), min(add, bound))


@lru_cache(maxsize=_CACHE_SIZE)
def _delta(parts: tuple[GroupedGaussian, ...], epsilon: float) -> float:
    if _has_no_noise(parts):
        return 1.0
    if epsilon == math.inf:
        return 0.0
    with np.errstate(all="ignore"):
        if _is_gaussian(parts):
            return gaussian_delta(1 / parts[0].noise_multiplier, epsilon)
        bound = total_variation_bound(parts)
        if bound <= _LEAST_DELTA:
            return bound
        if _suits_grids(parts):
            directions = remove_direction(parts), add_direction(parts)
            bound = min(bound, max(direction.delta(epsilon) for direction in directions))
        return bound if bound < 1 else renyi_delta(parts, epsilon)


def _has_no_noise(parts: tuple[GroupedGaussian, ...]) -> bool:
    return any(part.noise_multiplier < _LEAST_NOISE * part.group_size for part in parts)


def _is_gaussian(parts: tuple[GroupedGaussian, ...]) -> bool:
    return len(parts) == 1 and parts[0].sample_rate == 1


def _suits_grids(parts: tuple[GroupedGaussian, ...]) -> bool:
    low, high = _NOISE_RANGE
    return all(
        low <= part.noise_multiplier / part.group_size
        and part.noise_multiplier <= high
        and part.sample_rate >= _LEAST_RATE
        and part.n_steps <= _MOST_STEPS
        and part.group_size <= _LARGEST_GROUP
        for part in parts
    )
