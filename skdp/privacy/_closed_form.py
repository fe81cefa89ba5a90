"""The Gaussian mechanism without sampling, whose privacy curve has a formula.

Any number of Gaussian releases over all rows composes to one whose privacy loss is normal with
mean `mu**2 / 2` and variance `mu**2`, `mu` being sensitivity over noise, and then::

    delta(epsilon) = Phi(mu / 2 - epsilon / mu) - exp(epsilon) * Phi(-mu / 2 - epsilon / mu)

(Balle and Wang 2018, arXiv:1805.06530, Theorem 8).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy.special import erf, erfcx, ndtr, ndtri

from skdp.privacy._mechanism import GroupedGaussian

__all__ = ["gaussian_delta", "gaussian_epsilon", "gaussian_mu", "total_variation_bound"]

# Relative rounding of one floating-point operation.
_UNIT = 2.0**-53


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Delta at `epsilon`, rounded up by the rounding errors of the formula."""
    a = mu / 2 - epsilon / mu
    t = mu / 2 + epsilon / mu
    upper = float(ndtr(a))
    if upper == 0:
        # Too small for a double. The rest of the formula may be infinity times nothing by now.
        return 0.0
    # exp(epsilon) * Phi(-t) written with Mills' ratio: neither factor can overflow, and the
    # density at `a` is the density at `t` times exp(epsilon).
    density = math.exp(-a * a / 2) / math.sqrt(2 * math.pi)
    lower = density * math.sqrt(math.pi / 2) * float(erfcx(t / math.sqrt(2)))
    rounding = 8 * _UNIT * (1 + abs(a) * (1 + mu / 2 + abs(epsilon) / mu)) * upper
    return min(1.0, max(0.0, upper - lower) + rounding)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Least epsilon, at least 0, at which `gaussian_delta` is at most `delta`."""
    if gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    # Leaving out the second term of delta gives an epsilon that is surely enough.
    enough = max(mu * (mu / 2 - float(ndtri(delta / 2))), 0.0)
    while gaussian_delta(mu, enough) > delta:
        enough = 2 * enough + mu
        if not math.isfinite(enough):
            return math.inf
    return _bisect_epsilon(mu, delta, 0.0, enough)


def _bisect_epsilon(mu: float, delta: float, short: float, enough: float) -> float:
    while enough - short > 1e-13 * enough:
        middle = short + (enough - short) / 2
        if not short < middle < enough:
            break
        if gaussian_delta(mu, middle) <= delta:
            enough = middle
        else:
            short = middle
    return enough


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Largest `mu` whose epsilon at `delta` is at most `epsilon`, to six digits: a first guess."""
    low, high = -600.0, 300.0
    for _ in range(45):
        middle = (low + high) / 2
        if gaussian_delta(math.exp(middle), epsilon) <= delta:
            low = middle
        else:
            high = middle
    return math.exp(low)


def total_variation_bound(parts: Sequence[GroupedGaussian]) -> float:
    """Bound on delta at every epsilon from 0: total variation distances add up.

    A step's is at most the probability of taking part times the distance of normal laws that all
    rows of the person together are apart.
    """
    total = 0.0
    for part in parts:
        idle = (
            part.group_size * math.log1p(-part.sample_rate) if part.sample_rate < 1 else -math.inf
        )
        apart = float(erf(part.group_size / part.noise_multiplier / math.sqrt(8)))
        total += part.n_steps * -math.expm1(idle) * apart
    return min(1.0, total * (1 + 1e-12))
