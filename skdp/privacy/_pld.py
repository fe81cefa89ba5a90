"""Privacy loss distributions: choose the grid, compose, read, and refine where it was too coarse.

Everything that is chosen here (range, spacing, tilt) decides how tight an answer is. That it is an
upper bound follows from `_step` and `_compose` for any choice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from skdp.privacy._compose import ComposedLoss, Reading, Window
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
# Most points of one step's lattice and of the window of the composition.
_MAX_PIECES = 2**19
_MAX_WINDOW = 2_700_000
# How often a spacing that was too coarse is refined.
_MAX_ROUNDS = 6

Gap = Callable[[Tilt], float]
Read = Callable[[ComposedLoss], Reading | None]


class Direction:
    """One direction of a composition: what is asked of it, and upper bounds as answers.

    Parameters
    ----------
    steps : sequence of Step
    law : callable
        Approximates the law of one step's loss: `remove_law` or `add_law`.
    lattice : callable
        Bounds it on a lattice: `discretize_remove` or `discretize_add`.
    supremum : float
        A bound on the composed loss.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        law: Callable[[Step, float], Law],
        lattice: Callable[[Step, float, float, float], Lattice],
        supremum: float,
    ) -> None:
        self._steps = steps
        self._law = law
        self._lattice = lattice
        # Rounded up.
        self._supremum = supremum * (1 + 1e-13)

    def epsilon(self, delta: float) -> float:
        """Bound on epsilon at `delta`; negative where delta exceeds the total variation.

        It is inf where the grids cannot answer.
        """
        goal = math.log(delta)

        def gap(tilted: Tilt) -> float:
            # Where delta exceeds the total variation distance, look at epsilon 0.
            return max(tilted.log_delta - goal, -tilted.epsilon * tilted.order)

        tail = self._tail(delta)
        best = tilt_for(self._laws(tail), gap)
        if best.epsilon > (1 - TOLERANCE) * self._supremum:
            return self._supremum
        reading = self._answer(best, best.demand, tail, gap, lambda x: x.epsilon(delta))
        return self._supremum if reading is None else min(reading.epsilon, self._supremum)

    def delta(self, epsilon: float) -> float:
        """Bound on delta at `epsilon`; 1 where the grids cannot answer."""
        if epsilon >= self._supremum:
            return 0.0
        # Delta falls with epsilon; closer to the supremum the lattice would be too fine.
        if self._supremum < math.inf:
            epsilon = min(epsilon, (1 - TOLERANCE) * self._supremum)

        rough, _ = _aim(self._laws(self._tail(1e-30)), epsilon)
        tail = self._tail(math.exp(min(rough.log_delta, 0.0)))
        bound = 1.0
        for _ in range(_MAX_ROUNDS):
            best, gap = _aim(self._laws(tail), epsilon)
            demand = best.demand._replace(tolerated=0.0)
            reading = self._answer(best, demand, tail, gap, lambda x: x.delta(epsilon))
            # Without a reading, the tails may be cut where epsilon lies.
            bound = tail if reading is None else min(bound, reading.delta)
            enough = self._tail(bound)
            if reading is not None and tail <= 2 * enough:
                break
            tail = enough
        return 1.0 if reading is None else bound

    def _tail(self, delta: float) -> float:
        return max(_TAIL * delta / sum(step.n_steps for step in self._steps), 1e-300)

    def _laws(self, tail: float) -> list[Law]:
        return [self._law(step, tail) for step in self._steps]

    def _answer(
        self, best: Tilt, demand: Demand, tail: float, gap: Gap, read: Read
    ) -> Reading | None:
        laws = self._laws(tail)
        spacing = self._spacing(laws, best, demand)
        previous = None
        for _ in range(_MAX_ROUNDS):
            reading = self._read(laws, spacing, best, gap, read)
            if reading is None or reading.epsilon <= 0:
                return reading or previous
            previous = reading
            # A law with a heavy tail can mislead the saddle point, which describes only the
            # tail then. What was read says what it takes to read there.
            best, gap = _aim(laws, reading.epsilon)
            needed = self._spacing(laws, best, reading.demand)
            if needed > 0.7 * spacing:
                return reading
            spacing = needed
            laws = [cut_high_losses(law, reading.epsilon, reading.delta) for law in laws]
        return reading

    def _spacing(self, laws: Sequence[Law], best: Tilt, demand: Demand) -> float:
        # Each lattice is anchored at the outcome that makes a row's absence most likely.
        end = 0 if self._law is remove_law else -1
        anchors = [float(law.losses[end]) for law in laws]
        widest = max(float(np.ptp(cut_low_losses(law, best).losses)) for law in laws)
        return max(spacing_for(laws, anchors, best, demand), widest / _MAX_PIECES)

    def _read(
        self, laws: Sequence[Law], spacing: float, best: Tilt, gap: Gap, read: Read
    ) -> Reading | None:
        lattices = []
        for step, law in zip(self._steps, laws, strict=True):
            outcomes = cut_low_losses(law, best).outcomes
            low, high = sorted((float(outcomes[0]), float(outcomes[-1])))
            lattices.append(self._lattice(step, low, high, spacing))
        bounds = [lattice_law(lattice) for lattice in lattices]
        # A lattice is a little wider than the law it stands for, and so is its best tilt.
        order = tilt_for(bounds, gap, best.order).order
        for factor in (1.0, 0.7, 1.4, 0.3, 3.0):
            tilted = tilt(bounds, factor * order)
            window = Window.around(lattices, tilted)
            if window.size > _MAX_WINDOW:
                coarser = 1.1 * spacing * window.size / _MAX_WINDOW
                return self._read(laws, coarser, best, gap, read)
            reading = read(ComposedLoss(lattices, tilted, window))
            if reading is not None:
                return reading
        return None


def _aim(laws: Sequence[Law], epsilon: float) -> tuple[Tilt, Gap]:
    """The tilt to read at `epsilon` with, and the gap that vanishes at it."""

    def gap(tilted: Tilt) -> float:
        return epsilon - tilted.epsilon

    return tilt_for(laws, gap), gap


def remove_direction(parts: Sequence[GroupedGaussian]) -> Direction:
    """The direction in which a person is taken away."""
    return Direction([Step(part) for part in parts], remove_law, discretize_remove, math.inf)


def add_direction(parts: Sequence[GroupedGaussian]) -> Direction:
    """The direction in which a person comes in."""
    steps = [Step(part) for part in parts]
    supremum = sum(step.n_steps * step.supremum for step in steps)
    return Direction(steps, add_law, discretize_add, supremum)
