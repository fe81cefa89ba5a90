r"""Where a composed privacy loss has to be looked at, and how finely.

For losses with law p, ``K(t) = log E exp(t * loss)`` adds up over steps. Multiplying p by
``exp(t * loss) / exp(K(t))`` ("tilting") moves its bulk to the losses that decide about delta at
one epsilon, and composition commutes with it. The right ``t`` is the saddle point of the integral
``delta(epsilon) = 1 / (2 pi i) int exp(K(z) - z epsilon) / (z (z + 1)) dz`` (Alghamdi et al. 2022,
arXiv:2208.09595). Nothing here bounds anything: a poor choice costs tightness, never validity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from skdp.privacy._step import Floats, Lattice, Step, dot

__all__ = [
    "TOLERANCE",
    "Demand",
    "Law",
    "Tilt",
    "add_law",
    "cut_high_losses",
    "cut_low_losses",
    "lattice_law",
    "remove_law",
    "spacing_for",
    "tilt",
    "tilt_for",
]

# What the spacing may add: to log(delta), and to epsilon as a fraction of it.
TOLERANCE = 3e-4
# The most that the second may come to in the scale of the first, as a multiple of it.
_MOST_SLACK = 6.0
# How far from the first guess a tilt is looked for, as a logarithm.
_FARTHEST = 30.0
# Distance between the outcomes at which one step's loss is sampled, in standard deviations.
_NODE_DISTANCE = 0.15
# What leaving out losses at either end may add to delta, relatively.
_NEGLIGIBLE = 1e-5


class Law(NamedTuple):
    """A discrete law of one step's loss, the outcomes behind it, and how often it is repeated."""

    losses: Floats
    log_mass: Floats
    n_steps: int
    outcomes: Floats


class Demand(NamedTuple):
    """What decides how finely losses have to be spaced for reading at a point."""

    tolerated: float  # epsilon where a fraction of it may be added, 0 where delta is asked for
    slope: float  # how fast log(delta) falls with epsilon
    curvature: float  # density of the composed loss at epsilon, over delta


class Tilt(NamedTuple):
    """The composed loss under a tilt."""

    order: float  # the exponent t
    log_moment: float  # K(t)
    mean: float
    variance: float

    @property
    def epsilon(self) -> float:
        """The epsilon that this tilt is the right one for."""
        return self.mean - 1 / self.order - 1 / (1 + self.order)

    @property
    def demand(self) -> Demand:
        """What it takes to read epsilon with this tilt."""
        return Demand(max(self.epsilon, 0.0), self.order, self.order * (1 + self.order))

    @property
    def spread(self) -> float:
        """Standard deviation of the tilted loss, widened by the kernel of the integral."""
        return math.sqrt(self.variance + self.order**-2 + (1 + self.order) ** -2)

    @property
    def log_delta(self) -> float:
        """Log of delta at that epsilon, by the saddle-point approximation."""
        peak = self.log_moment - self.order * self.epsilon
        return peak + self.log_read - math.log(2 * math.pi) / 2

    @property
    def log_read(self) -> float:
        """Log of the share of tilted mass that delta consists of, up to a small factor."""
        return -math.log(self.order) - math.log1p(self.order) - math.log(self.spread)


def remove_law(step: Step, tail: float) -> Law:
    """Approximate law of one step's loss when a row is removed."""
    u, losses, null = _nodes(step, tail)
    return Law(losses, null + losses, step.n_steps, u)


def add_law(step: Step, tail: float) -> Law:
    """Approximate law of one step's loss when a row is added; losses ascend."""
    u, losses, null = _nodes(step, tail)
    return Law(-losses[::-1], null[::-1], step.n_steps, u[::-1])


def _nodes(step: Step, tail: float) -> tuple[Floats, Floats, Floats]:
    low, high = step.outcome_range(tail)
    n_nodes = math.ceil((high - low) / _NODE_DISTANCE) + 1
    u = np.linspace(low, high, n_nodes)
    log_null = -u * u / 2
    return u, step.log_ratio(u), log_null - math.log(np.sum(np.exp(log_null)))


def lattice_law(lattice: Lattice) -> Law:
    """A lattice as the law that it stands for."""
    losses = lattice.start + lattice.spacing * np.arange(float(lattice.log_mass.size))
    return Law(losses, lattice.log_mass, lattice.n_steps, losses)


def tilt(laws: Sequence[Law], order: float) -> Tilt:
    """Tilt the composition of `laws` by `order`."""
    log_moment = mean = variance = 0.0
    for losses, log_mass, n_steps, _ in laws:
        weights = log_mass + order * losses
        top = float(weights.max())
        weights = np.exp(weights - top)
        total = float(weights.sum())
        centre = dot(weights, losses) / total
        variance += n_steps * dot(weights, (losses - centre) ** 2) / total
        log_moment += n_steps * (top + math.log(total))
        mean += n_steps * centre
    return Tilt(order, log_moment, mean, variance)


def tilt_for(
    laws: Sequence[Law], excess: Callable[[Tilt], float], guess: float | None = None
) -> Tilt:
    """The tilt at which `excess`, which falls as the order grows, vanishes."""

    def excess_at(log_order: float) -> float:
        return excess(tilt(laws, math.exp(log_order)))

    reach = 0.1
    if guess is None:
        untilted = tilt(laws, 0.0)
        # Small deltas lie a few standard deviations out.
        guess, reach = 3 / (math.sqrt(untilted.variance) + abs(untilted.mean) + 1e-300), 0.8
    low, high = _bracket(excess_at, math.log(guess), reach)
    if low < high:
        low = brentq(excess_at, low, high, xtol=1e-2, rtol=1e-12)
    return tilt(laws, math.exp(low))


def _bracket(
    excess_at: Callable[[float], float], centre: float, reach: float
) -> tuple[float, float]:
    """Ends between which `excess_at` changes its sign, or one end twice if it does not."""
    low, high = centre, centre
    if excess_at(centre) < 0:
        low -= reach
        while excess_at(low) < 0:
            reach *= 2
            high, low = low, low - reach
            if centre - low > _FARTHEST:
                return low, low
    else:
        high += reach
        while excess_at(high) > 0:
            reach *= 2
            low, high = high, high + reach
            if high - centre > _FARTHEST:
                return high, high
    return low, high


def cut_low_losses(law: Law, best: Tilt) -> Law:
    """Leave out the low losses that can be moved up to the lowest one kept at nearly no cost.

    The mass below a loss, moved up to it, weighs ``P(below) exp(t * loss)`` in ``exp(K(t))``.
    """
    log_below = np.logaddexp.accumulate(law.log_mass) + best.order * law.losses
    log_moment = tilt([law], best.order).log_moment / law.n_steps
    limit = log_moment + math.log(_NEGLIGIBLE / law.n_steps)
    first = int(np.searchsorted(log_below, limit)) - 1
    return _part(law, slice(min(max(first, 0), law.losses.size - 2), None))


def cut_high_losses(law: Law, epsilon: float, delta: float) -> Law:
    """Leave out the high losses that can be counted as infinite at nearly no cost.

    Doing so with all losses above one adds at most ``n_steps exp(epsilon) Q(above)`` to delta.
    """
    log_above = np.logaddexp.accumulate((law.log_mass - law.losses)[::-1])
    limit = math.log(_NEGLIGIBLE / law.n_steps) + math.log(delta) - epsilon
    left_out = int(np.searchsorted(log_above, limit)) - 1
    return _part(law, slice(None, max(law.losses.size - max(left_out, 0), 2)))


def _part(law: Law, kept: slice) -> Law:
    return Law(law.losses[kept], law.log_mass[kept], law.n_steps, law.outcomes[kept])


def spacing_for(laws: Sequence[Law], anchors: Sequence[float], best: Tilt, demand: Demand) -> float:
    """The largest spacing of losses that adds little to delta or to epsilon.

    Splitting a loss between two points a < loss < b adds about ``(loss - a) (b - loss) / 2`` times
    the density at epsilon to delta. For a smooth law the product is a sixth of the squared
    spacing on average; for a loss near an anchor, which is a point of the lattice, it is at most
    the distance from there times the spacing.
    """
    allowed = 2 * TOLERANCE * (1 + min(demand.slope * demand.tolerated, _MOST_SLACK))
    parts = []
    for law, anchor in zip(laws, anchors, strict=True):
        weights = law.log_mass + best.order * law.losses
        weights = np.exp(weights - np.max(weights))
        weights *= law.n_steps * demand.curvature / np.sum(weights)
        parts.append((weights, np.abs(law.losses - anchor)))

    def excess(spacing: float) -> float:
        # For wide spacings the mean grows only linearly: mass moves up by less than a spacing.
        inside = spacing * spacing / (6 + spacing)
        added = sum(dot(w, np.minimum(spacing * d, inside)) for w, d in parts)
        # A composed loss at epsilon contains at least one step that is not at its anchor.
        return max(added, demand.curvature * inside) - allowed

    low = high = 1e-3 / best.order
    while excess(low) > 0:
        low /= 4
    while excess(high) < 0 and high * best.order < 0.5:
        high *= 4
    while high > 1.05 * low:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    return min(low, 0.5 / best.order)
