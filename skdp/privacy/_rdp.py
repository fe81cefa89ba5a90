r"""The Renyi accountant: looser than the privacy loss distribution, and never without an answer.

For whole orders a, with one row a person, the Renyi divergence of a step is exactly
``log(sum_k binom(a, k) (1 - q)^(a - k) q^k exp((k^2 - k) / (2 s^2))) / (a - 1)``
in the remove direction, which is the larger of the two (Mironov, Talwar and Zhang 2019,
arXiv:1908.10530, equation 5 and Theorem 5). ``(a - 1)`` times the divergence is convex in a and 0
at a = 1, so that a chord between whole orders bounds the orders between them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, logsumexp

from skdp.exceptions import shown
from skdp.privacy._mechanism import GroupedGaussian, Mechanism, merge_mechanisms

__all__ = ["get_renyi_divergence", "renyi_delta", "renyi_epsilon"]

# The orders that are tried for an epsilon; whole ones above 2, where the bound is exact.
_ORDERS = np.concatenate(
    [1 + np.geomspace(1e-9, 0.5, 30), np.arange(2.0, 64.0), np.round(np.geomspace(64, 8192, 60))]
)
_LARGEST_ORDER = 10**6


def get_renyi_divergence(
    mechanism: Mechanism | Sequence[Mechanism], orders: float | npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """Bound the Renyi divergence between neighbours, in both directions.

    Exact for whole orders and one row a person; an upper bound otherwise. Several rows are
    bounded by a step in which all of them take part whenever any does.

    Parameters
    ----------
    mechanism : SubsampledGaussian, Gaussian, GroupedGaussian, or a sequence of them
        What runs on the same rows.
    orders : float or array-like of float
        Orders above 1 and at most 1,000,000.

    Returns
    -------
    divergence : ndarray with the shape of `orders`
        Non-negative; inf without noise.

    Examples
    --------
    >>> from skdp.privacy import Gaussian, get_renyi_divergence
    >>> get_renyi_divergence(Gaussian(noise_multiplier=2.0), orders=[2, 8])
    array([0.25, 1.  ])
    """
    values = np.asarray(orders, dtype=np.float64)
    if not np.all((values > 1) & (values <= _LARGEST_ORDER)):
        raise ValueError(
            f"orders must be above 1 and at most {_LARGEST_ORDER}; got {shown(orders)}."
        )
    with np.errstate(all="ignore"):
        return _divergence(merge_mechanisms(mechanism), values)


def renyi_epsilon(parts: Sequence[GroupedGaussian], delta: float) -> float:
    """Bound on epsilon (Canonne, Kamath and Steinke 2020, arXiv:2004.00010, Proposition 12)."""
    a = _ORDERS
    bounds = _divergence(parts, a) + np.log1p(-1 / a) - (math.log(delta) + np.log(a)) / (a - 1)
    return _at_least_zero(bounds)


def renyi_delta(parts: Sequence[GroupedGaussian], epsilon: float) -> float:
    """Bound on delta at `epsilon`, by the same proposition."""
    a = _ORDERS
    exponent = (a - 1) * (_divergence(parts, a) + np.log1p(-1 / a) - epsilon) - np.log(a)
    finite = exponent[~np.isnan(exponent)]
    return float(np.exp(min(0.0, np.min(finite, initial=0.0))))


def _at_least_zero(bounds: npt.NDArray[np.float64]) -> float:
    finite = bounds[~np.isnan(bounds)]
    return max(0.0, float(np.min(finite, initial=math.inf)))


def _divergence(
    parts: Sequence[GroupedGaussian], orders: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    total = np.zeros(orders.shape)
    for part in parts:
        total += part.n_steps * _one_step(part, orders)
    return total


def _one_step(part: GroupedGaussian, orders: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    if part.noise_multiplier == 0:
        return np.full(orders.shape, math.inf)
    # All rows at once whenever any takes part is the worst that a group can do.
    noise = part.noise_multiplier / part.group_size
    if part.sample_rate == 1:
        return orders / noise / noise / 2
    log_idle = part.group_size * math.log1p(-part.sample_rate)
    below, above = np.floor(orders), np.ceil(orders)
    low = _log_moments(noise, log_idle, below)
    high = _log_moments(noise, log_idle, above)
    share = orders - below
    return ((1 - share) * low + share * high) / (orders - 1)


def _log_moments(
    noise: float, log_idle: float, orders: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    distinct, where = np.unique(orders, return_inverse=True)
    values = np.array([_log_moment(noise, log_idle, int(order)) for order in distinct])
    return np.asarray(values[where].reshape(orders.shape))


def _log_moment(noise: float, log_idle: float, order: int) -> float:
    """``(order - 1)`` times the divergence at a whole order."""
    if order == 1:
        return 0.0
    k = np.arange(order + 1.0)
    log_active = math.log(-math.expm1(log_idle))
    terms = gammaln(order + 1) - gammaln(k + 1) - gammaln(order - k + 1)
    terms += (order - k) * log_idle + k * log_active + (k * (k - 1) / noise) / noise / 2
    # Rounding must not take away from the bound: a few units of the largest of the parts.
    largest = (order * (order - 1) / noise) / noise / 2
    rounding = 1e-15 * float(gammaln(order + 1) - order * min(log_idle, log_active) + largest + 8)
    return max(0.0, float(logsumexp(terms))) + rounding
