"""Oracles for the accountant: the truth by other means than its own.

- one step: the formula with 60 digits (mpmath);
- many steps: Fourier inversion of the characteristic function on a contour through the saddle
  point, for the law itself or for the law merged in buckets, which bounds delta from below.
"""

import math

import mpmath
import numpy as np
import pytest
from scipy.special import log_ndtr

from skdp.privacy._mechanism import GroupedGaussian
from skdp.privacy._pld import add_direction, remove_direction

DIRECTIONS = {"remove": remove_direction, "add": add_direction}


def direction_of(side, noise, rate, n_steps, group_size=1):
    """The accountant's view of one direction."""
    return DIRECTIONS[side]([GroupedGaussian(noise, rate, n_steps, group_size)])


def exact_delta_of_one_step(side, noise, rate, epsilon):
    """Delta of one step with 60 digits; epsilon may be negative."""
    with mpmath.workdps(60):
        s, q, e = (mpmath.mpf(value) for value in (noise, rate, epsilon))

        def above(mean, x):
            return mpmath.erfc((x - mean) / (s * mpmath.sqrt(2))) / 2

        if side == "remove":
            ratio = (mpmath.exp(e) - 1 + q) / q
            if ratio <= 0:
                return 1 - mpmath.exp(e)
            x = s * s * mpmath.log(ratio) + mpmath.mpf(1) / 2
            return (1 - q) * above(0, x) + q * above(1, x) - mpmath.exp(e) * above(0, x)
        ratio = (mpmath.exp(-e) - 1 + q) / q
        if ratio <= 0:
            return mpmath.mpf(0)
        x = s * s * mpmath.log(ratio) + mpmath.mpf(1) / 2
        below_0, below_1 = 1 - above(0, x), 1 - above(1, x)
        return below_0 - mpmath.exp(e) * ((1 - q) * below_0 + q * below_1)


def merged_law(side, noise, rate, width=0.01):
    """One step's loss with outcomes merged in buckets: post-processing, so delta only falls."""
    u = np.arange(-13.0, 13.0 + 1 / noise, width)

    def log_mass(shift):
        tails = log_ndtr(-np.abs(u - shift))
        big, small = np.maximum(tails[1:], tails[:-1]), np.minimum(tails[1:], tails[:-1])
        straddles = (u[:-1] < shift) & (u[1:] > shift)
        inside = np.log1p(-np.exp(tails[1:]) - np.exp(tails[:-1]))
        return np.where(straddles, inside, big + np.log(-np.expm1(small - big)))

    log_null, log_shifted = log_mass(0.0), log_mass(1 / noise)
    ratio = log_shifted - log_null
    near = np.log1p(rate * np.expm1(np.clip(ratio, -30, 1)))
    loss = np.where(ratio < 1, near, np.logaddexp(math.log1p(-rate), math.log(rate) + ratio))
    return (loss, log_null + loss) if side == "remove" else (-loss, log_null)


def inverted_delta(side, parts, epsilon):
    """Lower bound on delta, tight to about 1e-5, for some twenty steps or more.

    `parts` is a list of ``(noise, rate, n_steps)``, all composed.
    """
    laws = [(*merged_law(side, noise, rate), n_steps) for noise, rate, n_steps in parts]

    def tilted(order):
        log_moment = mean = variance = 0.0
        for loss, log_mass, n_steps in laws:
            weights = log_mass + order * loss
            top = weights.max()
            weights = np.exp(weights - top)
            total = weights.sum()
            centre = (weights @ loss) / total
            log_moment += n_steps * (top + math.log(total))
            mean += n_steps * centre
            variance += n_steps * (weights @ (loss - centre) ** 2) / total
        return log_moment, mean, variance

    middle = -math.log(tilted(0.0)[2]) / 2
    low, high = middle - 15, middle + 10
    for _ in range(60):
        middle = (low + high) / 2
        order = math.exp(middle)
        low, high = (
            (middle, high)
            if tilted(order)[1] - 1 / order - 1 / (1 + order) < epsilon
            else (low, middle)
        )
    log_moment, mean, variance = tilted(order)
    step = 0.05 / math.sqrt(variance + order**-2 + (1 + order) ** -2)
    total = 0.0
    for index in range(20_000):
        frequency = index * step
        log_cf = 0.0
        for loss, log_mass, n_steps in laws:
            weights = log_mass + order * loss
            weights = np.exp(weights - weights.max())
            centre = (weights @ loss) / weights.sum()
            cf = (weights / weights.sum()) @ np.exp(1j * frequency * (loss - centre))
            log_cf = log_cf + n_steps * np.log(cf)
        point = order + 1j * frequency
        term = np.exp(log_cf + 1j * frequency * (mean - epsilon)) / (point * (point + 1))
        total += term.real if index else term.real / 2
        if abs(np.exp(log_cf)) < 1e-14:
            return math.exp(log_moment - order * epsilon) * total * step / math.pi
    raise ValueError("the characteristic function does not vanish: too few steps")


@pytest.fixture(scope="session")
def oracles():
    """The functions above, by name."""

    class Oracles:
        direction = staticmethod(direction_of)
        exact = staticmethod(exact_delta_of_one_step)
        inverted = staticmethod(inverted_delta)

    return Oracles
