r"""A privacy filter: may one more release, chosen after looking at the last ones, still be made?

Composition theorems price releases that were all chosen in advance. Somebody who works with data
chooses each release after seeing the last, and stops at will; a rule must then hold at every
step, and not every bound survives that. This filter counts in several ways side by side. Each way
charges a release a number that is known before it is made, has a limit, and owns a share of
delta; orders, limits and shares are fixed before the first release, and the shares add up to one.
The filter holds as long as the charges of *one* of the ways are within its limit. Then everything
together is (epsilon, delta)-differentially private.

Proof. Let L be the privacy loss of all that was released so far, for one pair of neighbours in one
direction, so that delta is the expectation of ``(1 - exp(epsilon - L))_+``. Each way has a process
that is never negative, starts at its share of delta, grows in expectation with no release whatever
came before, and is at least ``(1 - exp(epsilon - L))_+`` while the way is within its limit. When
all ends, some way is within its limit, so delta is at most the expected sum of the processes,
hence at most the sum of their starts. Which way it is may depend on what was seen: that is what
the shares pay for. (Trying all orders with the whole of delta each would not do.) The processes:

- Renyi divergence of order a, with charges S and limit B: ``k exp((a - 1) (L - S + B - epsilon))``
  with ``k = (1 - 1/a)^(a - 1) / a``, the least k with ``(1 - exp(-x))_+ <= k exp((a - 1) x)`` for
  all x. A release of divergence r multiplies ``exp((a - 1) L)`` by at most ``exp((a - 1) r)`` in
  expectation (Feldman and Zrnic 2021, arXiv:2008.11193; Lecuyer 2021, arXiv:2103.01379). Its start
  gives ``B = epsilon - log(1 - 1/a) + (log(share * delta) + log(a)) / (a - 1)``.
- mu^2 of Gaussian differential privacy, while every release uses all rows: the expectation of
  ``(1 - exp(epsilon - L - N))_+`` over a normal N of mean v / 2 and variance v, where v is what is
  left of the limit. A Gaussian release leaves it as it is, and whatever is as private as that one
  makes it no larger (Smith and Thakurta 2022, arXiv:2210.17520). A release of another kind, or
  beyond the limit, ends this way for good: the process is 0 from there on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from skdp.privacy._closed_form import gaussian_epsilon, gaussian_mu
from skdp.privacy._mechanism import (
    Gaussian,
    GroupedGaussian,
    Mechanism,
    check_budget,
    check_delta,
    check_real,
    merge_mechanisms,
)
from skdp.privacy._rdp import get_renyi_divergence

__all__ = ["PrivacyFilter", "make_filter"]

_CACHE_SIZE = 2**12
# Of the orders, most of delta is for the one that suits Gaussians best, and something for lower
# ones, which suit rare sampling with little noise; the rest, half of delta as a rule, is for mu^2.
# A share w costs its way about log(1 / w) / (order - 1) of epsilon, so halving is cheap.
_MAIN_SHARE, _LOWER_SHARE = 0.35, 0.05
# Where the lower orders lie, between the lowest one with any room and the main one.
_LOWER = (2 / 3, 1 / 3, 0.0)
_CANDIDATES = np.unique(
    np.concatenate(
        [1 + np.geomspace(1e-3, 0.9, 60), np.arange(2.0, 64.0), np.round(np.geomspace(64, 1e5, 80))]
    )
)
# Limits are lowered by more than sums of a million charges can lose to rounding.
_ROUNDING = 1 - 1e-9


@dataclass(frozen=True)
class PrivacyFilter:
    """The rule by which releases are admitted; `make_filter` chooses its orders and shares.

    Parameters
    ----------
    epsilon, delta : float
        The budget of everything together.
    gaussian_share : float
        Share of delta of the way that counts mu^2.
    orders : tuple of float
        Orders of the ways that count Renyi divergences.
    order_shares : tuple of float
        Their shares of delta.
    """

    epsilon: float
    delta: float
    gaussian_share: float
    orders: tuple[float, ...]
    order_shares: tuple[float, ...]

    def __post_init__(self) -> None:
        check_budget(self.epsilon)
        check_delta(self.delta)
        shares = [check_real("share", share) for share in (self.gaussian_share, *self.order_shares)]
        if not all(share > 0 for share in shares) or math.fsum(shares) > 1 + 1e-12:
            raise ValueError(f"shares of delta must be above 0 and add up to 1; got {shares!r}.")
        if len(self.orders) != len(self.order_shares) or not all(a > 1 for a in self.orders):
            raise ValueError(f"orders must be above 1, one a share; got {self.orders!r}.")

    def charge(self, mechanisms: Sequence[Mechanism]) -> npt.NDArray[np.float64]:
        """What releases cost: one number a way, as a part of the way's limit.

        Parameters
        ----------
        mechanisms : sequence of mechanisms
            May be empty, which costs nothing.

        Returns
        -------
        charge : ndarray of shape (1 + n_orders,)
            At least 0, and inf for a way that cannot count these. Charges add up.
        """
        if not mechanisms:
            return np.zeros(1 + len(self.orders))
        return np.array(_charge(self, merge_mechanisms(mechanisms)))

    def holds(self, total: npt.NDArray[np.float64]) -> bool:
        """Whether everything together is (epsilon, delta)-differentially private.

        Parameters
        ----------
        total : ndarray of shape (1 + n_orders,)
            Sum of all charges.

        Returns
        -------
        holds : bool
            Whether one of the ways counts at most its limit.
        """
        return bool(np.min(total) <= 1.0)

    def largest_gaussian(self, total: npt.NDArray[np.float64]) -> float:
        """Epsilon, at delta, of the largest release over all rows that still fits.

        Parameters
        ----------
        total : ndarray of shape (1 + n_orders,)
            Sum of all charges so far.

        Returns
        -------
        epsilon : float
            0 where nothing is left.
        """
        left = (1.0 - total) / self.charge([Gaussian(1.0)])
        # A charge of a Gaussian is proportional to mu^2 in every way.
        mu_squared = float(np.max(left)) * _ROUNDING
        return gaussian_epsilon(math.sqrt(mu_squared), self.delta) if mu_squared > 0 else 0.0


def make_filter(epsilon: float, delta: float) -> PrivacyFilter:
    """Fix orders and shares of delta for a budget, looking at the budget alone.

    Parameters
    ----------
    epsilon : float
        The budget, above 0.
    delta : float
        Strictly between 0 and 1.

    Returns
    -------
    privacy_filter : PrivacyFilter
        Admits releases one after the other for as long as the budget pays for them.
    """
    epsilon, delta = check_budget(epsilon), check_delta(delta)
    main = _best_order_for_gaussians(epsilon, delta)
    ways = {main: _MAIN_SHARE} if _renyi_limit(epsilon, _MAIN_SHARE * delta, main) > 0 else {}
    for order in _lower_orders(epsilon, delta, main):
        ways.setdefault(order, _LOWER_SHARE)
    rest = 1.0 - math.fsum(ways.values())
    return PrivacyFilter(epsilon, delta, rest, tuple(ways), tuple(ways.values()))


def _best_order_for_gaussians(epsilon: float, delta: float) -> float:
    """Where the limit pays for the largest mu^2; a Gaussian's divergence is order * mu^2 / 2."""
    limits = [_renyi_limit(epsilon, _MAIN_SHARE * delta, order) for order in _CANDIDATES]
    return float(_CANDIDATES[int(np.argmax(np.array(limits) / _CANDIDATES))])


def _lower_orders(epsilon: float, delta: float, main: float) -> list[float]:
    usable = [
        float(order)
        for order in _CANDIDATES
        if order < main and _renyi_limit(epsilon, _LOWER_SHARE * delta, order) > 0
    ]
    if not usable:
        return []
    orders = [usable[0] + part * (main - usable[0]) for part in _LOWER]
    # Divergences are exact at whole orders.
    return [float(round(order)) if order > 2 else order for order in orders]


def _renyi_limit(epsilon: float, delta: float, order: float) -> float:
    return float(
        epsilon - math.log1p(-1 / order) + (math.log(delta) + math.log(order)) / (order - 1)
    )


@lru_cache(maxsize=_CACHE_SIZE)
def _limits(rule: PrivacyFilter) -> tuple[float, ...]:
    """Limits of mu^2 and of the divergence at each order; 0 for a way without any room."""
    ways = zip(rule.orders, rule.order_shares, strict=True)
    renyi = [_renyi_limit(rule.epsilon, share * rule.delta, order) for order, share in ways]
    mu = gaussian_mu(rule.epsilon, rule.gaussian_share * rule.delta)
    return tuple(max(0.0, limit) * _ROUNDING for limit in (mu * mu, *renyi))


@lru_cache(maxsize=_CACHE_SIZE)
def _charge(rule: PrivacyFilter, parts: tuple[GroupedGaussian, ...]) -> tuple[float, ...]:
    costs = np.array([_mu_squared(parts), *_divergences(parts, rule.orders)])
    with np.errstate(all="ignore"):
        charges = costs / np.array(_limits(rule))
    return tuple(float(charge) for charge in charges)


def _divergences(
    parts: tuple[GroupedGaussian, ...], orders: tuple[float, ...]
) -> npt.NDArray[np.float64]:
    return get_renyi_divergence(parts, orders) if orders else np.zeros(0)


def _mu_squared(parts: tuple[GroupedGaussian, ...]) -> float:
    """Of releases that all use every row; merged, they are one. Infinite for others."""
    if len(parts) > 1 or parts[0].sample_rate < 1 or parts[0].noise_multiplier < 1e-150:
        return math.inf
    scale = parts[0].group_size / parts[0].noise_multiplier
    return parts[0].n_steps * scale * scale
