r"""Compose the losses of rare steps on a lattice that is as fine as each loss is small.

A step that samples a row with probability q loses about ``log(1 - q)``, next to nothing, nearly
always, and several units when it does sample one. No evenly spaced lattice resolves both. Here
the loss of a step is a constant and a distance ``y >= 0`` from it,

- *remove*: ``loss = log(1 - q) + y``;
- *add*: ``loss = -log(1 - q) - y``,

so that the constants add up exactly, and the distances lie on ``0, y_1, y_1 r, y_1 r^2, ...``.
What makes the result an upper bound on delta:

- ``delta(epsilon) = E max(0, 1 - exp(epsilon) z)`` with ``z = exp(-loss)`` is convex in z, also
  with another, independent loss added. So mass may be moved to its two neighbours on the lattice
  such that both its probabilities, E 1 and E z, are kept ("connect the dots", Doroshenko et al.
  2022, arXiv:2207.04380), after one step as well as after every convolution. The excess is of
  second order in ``r - 1``;
- delta grows with every loss and with every mass, so distances beyond the lattice may count as
  infinite losses (remove). In the add direction they are left out: the lattice reaches to where
  the composed loss is negative, and the distances of further steps only lower it;
- convolutions are plain sums of positive terms, so rounding is relative to each mass however
  small, and one factor covers it. Shares of mass are rounded towards the higher loss.

The errors of the convolutions add up to a standard deviation of about ``(r - 1) / sqrt(3)`` times
the mean distance. So this is for laws with heavy tails, that is for little noise; where the sum
of many steps comes close to a normal law, an even lattice is tighter.

How two distances compare depends only on how many points they are apart, and so does the number
of points from the larger one to their sum: one pass over arrays for each such number convolves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from skdp.privacy._step import Floats, Step

__all__ = ["GeometricLoss", "suits_geometric"]

# Relative rounding of one floating-point operation.
_UNIT = 2.0**-53
# Points of the lattice. Errors of all convolutions add up, so that long runs need more of them:
# `_SHORT` steps or fewer do with the first size.
_SIZES = 2400, 4800
_SHORT = 300
# The least distance, against the least and the largest loss of a step that samples no row.
_LEAST_DISTANCE = 1e-3, 1e-9
# A loss this much above epsilon may count as infinite: exp(-14) is about 1e-6.
_ABOVE = 14.0
# Outcomes below this have hardly a probability that a float can hold.
_LOWEST_OUTCOME = -37.0
# What sums of products lose to underflow, and more; it counts as an infinite loss.
_UNDERFLOW = 1e-250
# Numbers of sampled rows that a step leaves out are less probable than this.
_RAREST = 1e-60
# How often rows are sampled at most, and how many convolutions it may take, all steps together.
_MOST_SAMPLED = 30.0
_MOST_CONVOLUTIONS = 100


def suits_geometric(steps: Sequence[Step]) -> bool:
    """Whether steps are so rare, and of so few kinds, that `GeometricLoss` serves."""
    n_convolutions = sum(2 * step.n_steps.bit_length() for step in steps)
    sampled = sum(step.n_steps * step.supremum for step in steps)
    return n_convolutions <= _MOST_CONVOLUTIONS and sampled <= _MOST_SAMPLED


# For each number of points that two distances are apart: the number of points that their sum
# rises above the larger, and the share of the mass that goes to the point after.
_Plan = list[tuple[int, Floats]]


class _Masses(NamedTuple):
    """Probabilities of the distances, and of an infinite loss."""

    finite: Floats
    infinite: float


class GeometricLoss:
    """Upper bound on delta for a composition of rare steps in one direction.

    Parameters
    ----------
    steps : sequence of Step
        They suit: see `suits_geometric`.
    removes : bool
        The direction.
    reach : float
        At epsilons from 0 to this one the bound is tight; above it is only valid.
    """

    def __init__(self, steps: Sequence[Step], removes: bool, reach: float) -> None:
        n_steps = sum(step.n_steps for step in steps)
        most = sum(step.n_steps * step.supremum for step in steps)
        # Exponents grow with the loss in one direction, and fall in the other.
        self._sign = -1.0 if removes else 1.0
        self._size = _SIZES[n_steps > _SHORT]
        idle = [step.supremum for step in steps]
        least = max(_LEAST_DISTANCE[0] * min(idle), _LEAST_DISTANCE[1] * max(idle))
        largest = most + reach + _ABOVE if removes else 1.001 * most
        self._ratio = math.exp(math.log(largest / least) / (self._size - 1))
        self._distances = np.append(0.0, least * self._ratio ** np.arange(float(self._size)))
        plan = self._plan()
        repeated = [self._repeat(self._one_step(step), step.n_steps, plan) for step in steps]
        composed = reduce(lambda a, b: self._convolve(a, b, plan), repeated)
        # A mass is a product of one mass of each step. Each of the less than n_steps convolutions
        # behind it adds up at most two terms for each point, one after the other.
        inflation = math.exp(n_steps * (1e-11 + 16 * self._size * _UNIT))
        self._masses = composed.finite * inflation
        self._infinite = composed.infinite * inflation
        # Rounded up: by more than the cuts of single steps, and these sums, are rounded.
        self._losses = self._sign * (most - self._distances) + 1e-14 * (most + self._distances)

    def delta(self, epsilon: float) -> float:
        """Bound delta at `epsilon`."""
        above = np.minimum(epsilon - self._losses, 0.0)
        return min(1.0, self._infinite + float(np.sum(self._masses * -np.expm1(above))))

    def epsilon(self, delta: float) -> float:
        """Bound epsilon at `delta`, from 0; inf where the lattice does not reach."""
        if self.delta(0.0) <= delta:
            return 0.0
        # The losses between which delta is passed; then a bisection between the two.
        points = np.append(0.0, np.sort(self._losses[self._losses > 0]))
        low, high = 0, points.size
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.delta(points[middle]) <= delta else (middle, high)
        if high == points.size:
            return math.inf
        short, enough = float(points[low]), float(points[high])
        while enough - short > 1e-9 * enough:
            between = (short + enough) / 2
            if self.delta(between) <= delta:
                enough = between
            else:
                short = between
        return enough

    def _plan(self) -> _Plan:
        """For each number of points that two distances are apart, where their sum goes.

        It lies so many points above the larger one, and this share of its mass goes to the next:
        with the cell's width w and the distance t from its lower end, ``expm1(-t) / expm1(-w)``
        in the remove direction, and ``expm1(t) / expm1(w)`` in the add direction.
        """
        distances = self._distances[1:]
        widths = np.expm1(self._sign * (self._ratio - 1) * distances)
        powers = self._ratio ** np.arange(float(self._size))
        plan = []
        for apart in range(self._size):
            smaller = 1 / powers[apart]
            rise = int(np.searchsorted(powers, 1 + smaller, side="right")) - 1
            # In the cell above the larger distance nothing cancels.
            into = smaller if rise == 0 else 1 + smaller - powers[rise]
            larger = distances[apart : self._size - rise]
            share = np.expm1(self._sign * into * larger)
            share /= widths[apart + rise :]
            # Rounding: a few units in `into`, over r - 1, which is 1e-3 or more.
            share *= 1 - self._sign * 1e-14
            share -= self._sign * 1e-12
            plan.append((rise, np.clip(share, 0.0, 1.0, out=share)))
        return plan

    def _convolve(self, a: _Masses, b: _Masses, plan: _Plan) -> _Masses:
        p, q, size = a.finite, b.finite, self._size
        # One point more, for what leaves the lattice.
        total = np.zeros(size + 2)
        total[:-1] = p[0] * q
        total[1:-1] += q[0] * p[1:]
        beyond = 0.0
        for apart, (rise, share) in enumerate(plan):
            pairs = p[1 + apart :] * q[1 : size + 1 - apart]
            if apart:
                pairs += q[1 + apart :] * p[1 : size + 1 - apart]
            if rise:
                beyond += float(np.sum(pairs[share.size :]))
                pairs = pairs[: share.size]
            farther = pairs * share
            pairs -= farther
            total[1 + apart + rise : -1] += pairs
            total[2 + apart + rise :] += farther
        infinite = a.infinite + b.infinite + _UNDERFLOW
        if self._sign < 0:
            infinite += beyond + float(total[-1])
        return _Masses(total[:-1], infinite)

    def _repeat(self, masses: _Masses, n_steps: int, plan: _Plan) -> _Masses:
        result = masses
        for digit in f"{n_steps:b}"[1:]:
            result = self._convolve(result, result, plan)
            if digit == "1":
                result = self._convolve(result, masses, plan)
        return result

    def _one_step(self, step: Step) -> _Masses:
        losses = self._distances - step.supremum  # log likelihood ratios
        low = _LOWEST_OUTCOME
        at_low = float(step.log_ratio(np.array([low]))[0])
        first = int(np.searchsorted(losses, at_low, side="right")) - 1
        first = min(max(first, 0), self._size - 1)
        losses = losses[first:]
        u = np.maximum(step.cuts(losses), low)
        u[0] = low
        finite = np.zeros(self._size + 1)
        widths = -np.expm1(-np.diff(self._distances[first:]))
        if self._sign < 0:
            mass, excess = step.remove_pieces(u, losses)
            # Weighed from its first outcome: its excess over the end of its cell is larger.
            excess[0] += mass[0] * (max(at_low - losses[0], 0.0) + 8 * _UNIT * step.supremum)
            raised = np.minimum(excess / widths, mass)
            finite[first:-1] = mass - raised
            finite[first + 1 :] += raised
            infinite = sum(step.mixture_beyond(low, float(u[-1])))
        else:
            mass, excess = step.add_pieces(u, losses)
            raised = np.minimum(excess / widths, mass)
            finite[first:-1] = raised
            finite[first + 1 :] += mass - raised
            infinite = float(ndtr(low))
        return _Masses(finite, infinite * (1 + 1e-9) + _RAREST)
