"""Privacy loss distributions: choose the grid, compose, read, and refine where it was too coarse.

Everything that is chosen here (range, spacing, tilt) decides how tight an answer is. That it is an
upper bound follows from `_step` and `_compose` for any choice, and from `_geometric` where its
lattice is tried as well: of two upper bounds the smaller one counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from skdp.privacy._compose import ComposedLoss, Reading, Window
from skdp.privacy._geometric import GeometricLoss, suits_geometric
from skdp.privacy._mechanism import GroupedGaussian
from skdp.privacy._step import Lattice, Step, discretize_add, discretize_remove
from skdp.privacy._tilt import (
    TOLERANCE,
    Demand,
    Law,
    Tilt,
    add_law,
    cut_high_losses,
    cut_low_losses,
    lattice_law,
    remove_law,
    spacing_for,
    tilt,
    tilt_for,
)

__all__ = ["Direction", "add_direction", "remove_direction"]

# Share of delta that one step's infinite losses may take.
_TAIL = 5e-5
# Smaller deltas are not told apart.
_LEAST_DELTA = 1e-30
# Most points of one step's lattice and of the window of the composition.
_MAX_PIECES = 2**19
_MAX_WINDOW = 2_700_000
# How often a grid that was too coarse, or cut too early, is replaced.
_MAX_ROUNDS = 6

Excess = Callable[[Tilt], float]


class _Side(NamedTuple):
    """What differs between the two directions."""

    law: Callable[[Step, float], Law]  # one step's loss, approximately
    lattice: Callable[[Step, float, float, float], Lattice]  # one step's loss, bounded
    exceeds: Callable[[Step, float], float]  # probability that it is higher than a loss
    anchor: int  # the end of a law next to which rare steps leave the bulk of the mass

    @property
    def removes(self) -> bool:
        return self.anchor == 0


class _Question(NamedTuple):
    """Where to read a composed loss, and what."""

    excess: Excess  # vanishes at the tilt for reading there
    read: Callable[[ComposedLoss], Reading | None]
    asks_epsilon: bool  # so that a fraction of epsilon is as good as a fraction of delta

    def demand(self, best: Tilt) -> Demand:
        return best.demand if self.asks_epsilon else best.demand._replace(tolerated=0.0)


def remove_direction(parts: Sequence[GroupedGaussian]) -> Direction:
    """The direction in which a person is taken away."""
    side = _Side(remove_law, discretize_remove, Step.remove_tail, anchor=0)
    return Direction(parts, side)


def add_direction(parts: Sequence[GroupedGaussian]) -> Direction:
    """The direction in which a person comes in; its loss is bounded where steps are sampled."""
    return Direction(parts, _Side(add_law, discretize_add, Step.add_tail, anchor=-1))


class Direction:
    """One direction of a composition: what is asked of it, and upper bounds as answers.

    Parameters
    ----------
    parts : sequence of GroupedGaussian
        What is composed.
    side : _Side
        Whether a row is removed or added.
    """

    def __init__(self, parts: Sequence[GroupedGaussian], side: _Side) -> None:
        self._parts = tuple(parts)
        self._steps = [Step(part) for part in parts]
        self._side = side
        self._n_steps = sum(step.n_steps for step in self._steps)
        # A bound on the composed loss, rounded up.
        self._supremum = math.inf
        if not side.removes:
            most = sum(step.n_steps * step.supremum for step in self._steps)
            self._supremum = most * (1 + 1e-13)

    def epsilon(self, delta: float) -> float:
        """Bound on epsilon at `delta`; negative where delta exceeds the total variation.

        It is inf where the grids cannot answer.
        """
        goal = math.log(delta)

        def excess(tilted: Tilt) -> float:
            # Where delta exceeds the total variation distance, look at epsilon 0.
            return max(tilted.log_delta - goal, -tilted.epsilon * tilted.order)

        laws = self._laws(self._tail(delta))
        best = tilt_for(laws, excess)
        if best.epsilon > (1 - TOLERANCE) * self._supremum:
            return self._supremum
        question = _Question(excess, lambda composed: composed.epsilon(delta), asks_epsilon=True)
        reading = self._answer(question, best, laws)
        epsilon = self._supremum if reading is None else min(reading.epsilon, self._supremum)
        if epsilon > 0 and self._is_coarse(reading, best, laws):
            reach = best.epsilon if reading is None else reading.epsilon
            epsilon = min(epsilon, self._geometric(reach).epsilon(delta))
        return epsilon

    def delta(self, epsilon: float) -> float:
        """Bound on delta at `epsilon`; 1 where the grids cannot answer."""
        if epsilon >= self._supremum:
            return 0.0
        if self._is_out_of_reach(epsilon):
            return _LEAST_DELTA
        if self._supremum < math.inf:
            # Delta falls with epsilon; closer to the supremum the lattice would be too fine.
            epsilon = min(epsilon, (1 - TOLERANCE) * self._supremum)
        best, excess = _aim(self._laws(self._tail(_LEAST_DELTA)), epsilon)
        if best.mean - epsilon > 40 and best.variance * best.order**2 < 1e-4:
            # All but a trifle of the loss is far above.
            return 1.0
        # Delta falls with epsilon, so an epsilon that has the least delta bounds all beyond it. No
        # tilt reaches far beyond it where the losses are bounded, or nearly so.
        is_reached = best.log_delta > math.log(_LEAST_DELTA) and best.epsilon > 0.999 * epsilon
        if not is_reached and epsilon >= self.epsilon(_LEAST_DELTA):
            return _LEAST_DELTA
        question = _Question(excess, lambda composed: composed.delta(epsilon), asks_epsilon=False)
        tail = self._tail(math.exp(min(best.log_delta, 0.0)))
        for _ in range(_MAX_ROUNDS):
            laws = self._laws(tail)
            best, _ = _aim(laws, epsilon, best.order)
            reading = self._answer(question, best, laws)
            # Without a reading, the tails may have been cut below epsilon.
            enough = self._tail(tail if reading is None else reading.delta)
            if reading is not None and tail <= 2 * enough:
                break
            tail = enough
        bound = 1.0 if reading is None else reading.delta
        if epsilon >= 0 and self._is_coarse(reading, best, laws):
            bound = min(bound, self._geometric(epsilon).delta(epsilon))
        return min(max(bound, _LEAST_DELTA), 1.0)

    def _is_out_of_reach(self, epsilon: float) -> bool:
        # For the composed loss to exceed epsilon, one step has to exceed its share of it.
        share = max(epsilon, 0.0) / self._n_steps
        tails = (step.n_steps * self._side.exceeds(step, share) for step in self._steps)
        return sum(tails) <= _LEAST_DELTA

    def _tail(self, delta: float) -> float:
        return max(_TAIL * delta / self._n_steps, 1e-300)

    def _laws(self, tail: float) -> list[Law]:
        return [self._side.law(step, tail) for step in self._steps]

    def _answer(self, question: _Question, best: Tilt, laws: Sequence[Law]) -> Reading | None:
        spacing = self._spacing(laws, best, question.demand(best))
        previous = None
        for _ in range(_MAX_ROUNDS):
            reading = self._read(question, laws, best, spacing)
            if reading is None or (question.asks_epsilon and reading.epsilon <= 0):
                return reading or previous
            # A law with a heavy tail can mislead the saddle point, which describes only the
            # tail then. What was read says what it takes to read there.
            if abs(reading.epsilon - best.epsilon) > 0.02 * reading.epsilon:
                best, excess = _aim(laws, reading.epsilon, best.order)
                question = question._replace(excess=excess)
            needed = self._spacing(laws, best, reading.demand)
            if needed > 0.7 * spacing:
                return reading
            previous, spacing = reading, needed
            laws = [cut_high_losses(law, reading.epsilon, reading.delta) for law in laws]
        return previous

    def _geometric(self, epsilon: float) -> GeometricLoss:
        # A reach in whole powers lets a whole privacy curve be read off one composition.
        reach = 2.0 ** math.ceil(math.log2(min(max(1.0, epsilon), 1e12)))
        return _geometric_loss(self._parts, self._side.removes, reach)

    def _is_coarse(self, reading: Reading | None, best: Tilt, laws: Sequence[Law]) -> bool:
        """Whether an even lattice falls short where a geometric one can be had."""
        if not suits_geometric(self._steps):
            return False
        if reading is None:
            return True
        demand = reading.demand
        if reading.rounding > TOLERANCE * (1 + demand.slope * demand.tolerated):
            return True
        best, _ = _aim(laws, reading.epsilon, best.order)
        return self._wanted_spacing(laws, best, demand) < 0.7 * reading.spacing

    def _spacing(self, laws: Sequence[Law], best: Tilt, demand: Demand) -> float:
        widest = max(float(np.ptp(cut_low_losses(law, best).losses)) for law in laws)
        return max(self._wanted_spacing(laws, best, demand), widest / _MAX_PIECES)

    def _wanted_spacing(self, laws: Sequence[Law], best: Tilt, demand: Demand) -> float:
        anchors = [float(law.losses[self._side.anchor]) for law in laws]
        return spacing_for(laws, anchors, best, demand)

    def _read(
        self,
        question: _Question,
        laws: Sequence[Law],
        best: Tilt,
        spacing: float,
        tries: int = _MAX_ROUNDS,
    ) -> Reading | None:
        lattices = []
        for step, law in zip(self._steps, laws, strict=True):
            outcomes = cut_low_losses(law, best).outcomes
            low, high = sorted((float(outcomes[0]), float(outcomes[-1])))
            lattices.append(self._side.lattice(step, low, high, spacing))
        bounds = [lattice_law(lattice) for lattice in lattices]
        # A lattice is a little wider than the law it stands for, and so is its best tilt.
        order = tilt_for(bounds, question.excess, best.order).order
        for factor in (1.0, 0.7, 1.4, 0.3, 3.0):
            tilted = tilt(bounds, factor * order)
            window = Window.around(lattices, tilted)
            if window.size > _MAX_WINDOW:
                coarser = 1.1 * spacing * window.size / _MAX_WINDOW
                if tries == 1:
                    return None
                return self._read(question, laws, best, coarser, tries - 1)
            reading = question.read(ComposedLoss(lattices, tilted, window))
            if reading is not None:
                return reading
        return None


@lru_cache(maxsize=16)
def _geometric_loss(
    parts: tuple[GroupedGaussian, ...], removes: bool, reach: float
) -> GeometricLoss:
    return GeometricLoss([Step(part) for part in parts], removes, reach)


def _aim(laws: Sequence[Law], epsilon: float, guess: float | None = None) -> tuple[Tilt, Excess]:
    """The tilt to read at `epsilon` with, and the excess that vanishes at it."""

    def excess(tilted: Tilt) -> float:
        return epsilon - tilted.epsilon

    return tilt_for(laws, excess, guess), excess
