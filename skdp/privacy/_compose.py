r"""Compose privacy losses by a fast Fourier transform, and read delta or epsilon off.

The lattices of `_step` are composed by the transform of their tilted masses (see `_tilt`).
Undoing the tilt multiplies the result and its rounding errors alike, so that errors are relative
to the tail that is read, not to 1. What makes the result an upper bound on delta:

- wrapping around the window only adds mass to it; what may have left it at the top is bounded
  by Chernoff's inequality and counts as an infinite loss;
- rounding in the transforms is bounded in the L2 norm by Parseval's identity, and by the
  Cauchy-Schwarz inequality in the sum that is delta.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.fft import irfft, next_fast_len, rfft

from skdp.privacy._step import Floats, Lattice, dot
from skdp.privacy._tilt import Demand, Tilt, lattice_law, tilt

__all__ = ["ComposedLoss", "Reading", "Window"]

# Relative rounding of one floating-point operation.
_UNIT = 2.0**-53
# The least number to be added to sums of exponentials.
_TINIEST = 1e-300
# Less than this, as a logarithm, is left out of a spectrum.
_LEAST_LOG = -80.0
# Share of delta that may lie outside the window.
_OUTSIDE = 1e-6


class Reading(NamedTuple):
    """A point of the privacy curve, and how finely the losses around it had to be spaced."""

    epsilon: float
    delta: float
    demand: Demand
    spacing: float  # how finely they were spaced
    rounding: float  # share of delta that allows for rounding


class Window(NamedTuple):
    """The evenly spaced composed losses that are kept."""

    first: int  # number of the lowest, counted from the sum of the lattices' lowest losses
    lowest: float  # its loss
    size: int
    log_above: float  # log of a bound on the mass above the window

    @classmethod
    def around(cls, lattices: Sequence[Lattice], best: Tilt) -> Window:
        """The window that holds nearly all of what the tilt `best` serves to read.

        By Chernoff's inequality the tilted mass above `top` is at most
        ``exp(K(t + a) - K(t) - a top)`` for every a > 0, and likewise below `bottom`.
        """
        laws = [lattice_law(lattice) for lattice in lattices]
        drop = max(1.0, -math.log(_OUTSIDE) - best.log_read)
        scale = math.sqrt(2 * drop / (best.variance + 1e-6 / best.order**2))
        tops, bottoms = [], []
        for exponent in range(-3, 4):
            a = scale * 2.0**exponent
            above, below = tilt(laws, best.order + a), tilt(laws, best.order - a)
            tops.append((above.log_moment - best.log_moment + drop) / a)
            bottoms.append((best.log_moment - below.log_moment - drop) / a)
        spacing = lattices[0].spacing
        start = sum(lattice.n_steps * lattice.start for lattice in lattices)
        end = start + spacing * sum(x.n_steps * (x.log_mass.size - 1) for x in lattices)
        top = max(min(tops), best.epsilon + best.spread)
        bottom = min(max(start, *bottoms), best.epsilon - 2 * best.spread)
        log_above = best.log_moment - best.order * top - drop if top < end else -math.inf
        top = min(top, end)
        first = math.floor((bottom - start) / spacing) - 1
        size = math.ceil(min((top - bottom) / spacing, 2.0**40)) + 3
        size = next_fast_len(max(8, size), real=True)
        return cls(first, start + first * spacing, size, log_above)


class ComposedLoss:
    """Upper bound on delta near one epsilon, for a composition in one direction.

    Parameters
    ----------
    lattices : sequence of Lattice
        All with one spacing.
    best : Tilt
        A tilt of their composition; around its `epsilon` the bound is tight.
    window : Window
        The losses that are kept.
    """

    def __init__(self, lattices: Sequence[Lattice], best: Tilt, window: Window) -> None:
        self._spacing = lattices[0].spacing
        self._order = best.order
        self._lowest = window.lowest
        self._tilted, error = _compose(lattices, best.order, window)
        self._infinite = math.exp(min(window.log_above, 0.0))
        # One infinite loss is enough.
        finite = sum(lattice.n_steps * math.log1p(-lattice.infinite) for lattice in lattices)
        self._infinite -= math.expm1(finite)
        # Rounding of the logarithms, of which n_steps were added up.
        n_steps = sum(lattice.n_steps for lattice in lattices)
        magnitude = n_steps + abs(best.log_moment) + abs(best.order * best.mean)
        self._log_scale = best.log_moment + 1e-9 + 8 * _UNIT * magnitude
        # Losses m spacings above epsilon count exp(-t m h) (1 - exp(-m h)), tilt undone.
        length = min(window.size, math.ceil(750 / (self._order * self._spacing)) + 1)
        distance = np.arange(float(length))
        distance *= -self._spacing
        self._kernel = np.expm1(distance)
        distance *= self._order
        self._kernel *= np.exp(distance, out=distance)
        np.negative(self._kernel, out=self._kernel)
        self._error = error * math.sqrt(dot(self._kernel, self._kernel))

    def _loss(self, index: int) -> float:
        return self._lowest + index * self._spacing

    def _delta(self, index: int) -> float:
        tilted = self._tilted[index : index + self._kernel.size]
        total = max(dot(tilted, self._kernel[: tilted.size]) + self._error, 0.0)
        # Where the kernel underflows, it is below this, and the tilted masses add up to 1.
        total += _TINIEST
        log_delta = self._log_scale - self._order * self._loss(index) + math.log(total)
        return math.exp(min(log_delta, 0.0)) + self._infinite

    def delta(self, epsilon: float) -> Reading | None:
        """Bound delta at `epsilon`; None where the window does not reach."""
        index = math.floor((epsilon - self._lowest) / self._spacing)
        if not 0 <= index < self._tilted.size - 1:
            return None
        # Between two losses delta is linear in exp(epsilon).
        above = max(epsilon - self._loss(index), 0.0)
        share = math.exp(above - self._spacing) * math.expm1(-above) / math.expm1(-self._spacing)
        share = min(share, 1.0)
        delta = (1 - share) * self._delta(index) + share * self._delta(index + 1)
        return self._reading(epsilon, min(delta, 1.0), index, tolerated=0.0)

    def epsilon(self, delta: float) -> Reading | None:
        """Bound epsilon at `delta`; None where the window does not reach."""
        low, high = 0, self._tilted.size - 1
        at_low, at_high = self._delta(low), self._delta(high)
        if at_low <= delta and self._lowest <= 0:
            return self._reading(self._lowest, delta, low, tolerated=0.0)
        if not at_high <= delta < at_low:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            at_middle = self._delta(middle)
            if at_middle <= delta:
                high, at_high = middle, at_middle
            else:
                low, at_low = middle, at_middle
        share = (at_low - delta) / (at_low - at_high)
        if share >= 1:
            epsilon = self._loss(high)
        else:
            rise = np.logaddexp(math.log1p(-share), math.log(share) + self._spacing)
            epsilon = self._loss(low) + float(rise)
        return self._reading(epsilon, delta, low, tolerated=max(epsilon, 0.0))

    def _reading(self, epsilon: float, delta: float, index: int, tolerated: float) -> Reading:
        """Attach the slope of log delta, and the density of the loss over delta, at a point."""
        if delta <= self._infinite:
            return Reading(epsilon, delta, Demand(tolerated, 0.0, 0.0), self._spacing, 0.0)
        fall = (self._delta(index) - self._delta(index + 1)) / delta
        near = float(np.max(self._tilted[index + 1 : index + 4]))
        log_unit = self._log_scale - self._order * self._loss(index + 1) - math.log(delta)
        unit = math.exp(min(log_unit, 700.0))
        density = max(near, 0.0) * unit
        demand = Demand(tolerated, fall / self._spacing, density / self._spacing)
        return Reading(epsilon, delta, demand, self._spacing, self._error * unit)


def _compose(lattices: Sequence[Lattice], order: float, window: Window) -> tuple[Floats, float]:
    """Tilted masses of the composition in the window, and an L2 bound on their rounding."""
    size = window.size
    if len(lattices) == 1 and lattices[0].n_steps == 1:
        return np.roll(_wrapped(lattices[0], order, size), -(window.first % size)), 0.0
    rounding = 8 * math.log2(size) * _UNIT
    product, log_bound = _spectrum(lattices, order, size, rounding)
    # How far the true spectrum may be from the computed one, at each frequency.
    surplus = np.exp(log_bound, out=log_bound)
    modulus = np.abs(product)
    surplus -= modulus
    error = _l2(surplus, size) + rounding * _l2(modulus, size)
    del log_bound, surplus, modulus
    tilted = irfft(product, size, overwrite_x=True)
    del product
    return np.roll(tilted, -(window.first % size)), error


def _spectrum(
    lattices: Sequence[Lattice], order: float, size: int, rounding: float
) -> tuple[npt.NDArray[np.complex128], Floats]:
    """Transform of the composition, and logs of what its modulus is certainly below."""
    log_modulus = np.zeros(size // 2 + 1)
    log_bound = np.zeros(size // 2 + 1)
    angle = np.zeros(size // 2 + 1)
    # A few units a step, and pi for each rounded sum of angles, of which there is one a lattice.
    slack = (16 + 4 * len(lattices)) * _UNIT
    for lattice in lattices:
        spectrum = rfft(_wrapped(lattice, order, size), overwrite_x=True)
        angle += lattice.n_steps * np.angle(spectrum)
        modulus = np.abs(spectrum)
        del spectrum
        with np.errstate(divide="ignore"):
            log_modulus += lattice.n_steps * np.log(modulus)
        # A transform's errors are small against the sum of its inputs, which is 1.
        modulus += rounding
        log_bound += lattice.n_steps * (np.log(modulus, out=modulus) + slack)
    # Most of a long composition's spectrum is nearly zero; the bound covers what is left out.
    kept = np.flatnonzero(log_modulus > _LEAST_LOG)
    product = np.zeros(size // 2 + 1, dtype=np.complex128)
    product[kept] = np.exp(log_modulus[kept] + 1j * angle[kept])
    return product, log_bound


def _wrapped(lattice: Lattice, order: float, size: int) -> Floats:
    index = np.arange(lattice.log_mass.size)
    weights = lattice.log_mass + order * lattice.spacing * index
    weights = np.exp(weights - np.max(weights))
    weights /= np.sum(weights)
    return np.asarray(np.bincount(index % size, weights=weights, minlength=size), dtype=np.float64)


def _l2(half_modulus: Floats, size: int) -> float:
    """L2 norm of the sequence whose transform's non-redundant half has these moduli."""
    return math.sqrt(2 / size * dot(half_modulus, half_modulus))
