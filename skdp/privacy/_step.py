r"""The privacy loss of one step, and its law moved onto evenly spaced losses.

With noise multiplier ``s``, one step compares the mixture ``M = sum_j w_j N(j, s^2)``, where
``w_j`` is the probability that ``j`` rows of the person are drawn, with ``N = N(0, s^2)``. For one
row it is ``(1 - q) N(0, s^2) + q N(1, s^2)``. Outcomes are in units of ``s``: ``u = x / s``. The
log likelihood ratio ``l(u) = log(M / N)`` increases with ``u``, so the two directions are

- *remove*: the loss is ``l(u)`` with ``u`` drawn from M, against N;
- *add*: the loss is ``-l(u)`` with ``u`` drawn from N, against M.

(Zhu, Dong and Wang 2022, arXiv:2106.08567; for several rows Ganesh 2024, arXiv:2401.10294.)

`discretize` cuts the outcomes where ``l`` crosses evenly spaced values and moves the mass of each
piece to its two ends such that both its probabilities, under M and under N, are kept ("connect
the dots", Doroshenko et al. 2022, arXiv:2207.04380). No hockey-stick divergence becomes smaller
by this, of one step or of any composition, and the excess is of second order in the spacing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, log_ndtr, ndtr, ndtri, xlog1py, xlogy

from skdp.privacy._mechanism import GroupedGaussian

__all__ = ["Floats", "Lattice", "Step", "discretize_add", "discretize_remove", "dot", "log_sum_exp"]

Floats = npt.NDArray[np.float64]

# Relative rounding of one floating-point operation.
_UNIT = 2.0**-53
# Participation counts with less probability than this count as an infinite loss instead.
_RAREST_COUNT = 1e-60
# Pieces that are weighed at once.
_BLOCK = 2**14


class Lattice(NamedTuple):
    """Law of one step's privacy loss in one direction, on evenly spaced losses."""

    start: float  # the lowest loss
    spacing: float  # distance from one loss to the next
    log_mass: Floats  # log of the probability of each loss
    infinite: float  # probability of an infinite loss
    n_steps: int  # how often the step is repeated


class _Pieces(NamedTuple):
    """What lies between neighbouring cuts, in one direction, rounded up."""

    mass: Floats  # probability under the first of the two distributions
    excess: Floats  # mass less exp(lower loss) times mass under the second distribution


class Step:
    """The pair of outcome distributions that one step compares.

    Parameters
    ----------
    mechanism : GroupedGaussian
        Its noise multiplier is above 0.
    """

    def __init__(self, mechanism: GroupedGaussian) -> None:
        rate, group_size = mechanism.sample_rate, mechanism.group_size
        self.n_steps = mechanism.n_steps
        # Logs of the probabilities that no row takes part, and that any does.
        self._log_idle = group_size * math.log1p(-rate) if rate < 1 else -math.inf
        self._active = -math.expm1(self._log_idle)
        self._log_active = math.log(self._active)
        rows, log_share = _participation(rate, group_size, self._log_active)
        self._shifts = rows / mechanism.noise_multiplier
        self._log_share = log_share

    @property
    def supremum(self) -> float:
        """What the privacy loss in the add direction never exceeds."""
        return -self._log_idle

    def outcome_range(self, tail: float) -> tuple[float, float]:
        """Outcomes beyond which neither distribution has more mass than `tail`."""
        reach = -float(ndtri(tail))
        log_tail = math.log(tail) - math.log(self._shifts.size) - self._log_active - self._log_share
        beyond = -ndtri(np.exp(np.minimum(log_tail, -math.log(2))))
        return -reach, max(reach, float(np.max(self._shifts + beyond)))

    def log_ratio(self, u: Floats) -> Floats:
        """Log likelihood ratio ``l(u)`` of M against N."""
        ratio = self._log_ratio_when_active(u)
        # Near 0 the first form keeps the relative precision of a loss that is itself tiny.
        small = np.log1p(self._active * np.expm1(np.clip(ratio, -36.0, 1.0)))
        near = (ratio < 1) if self._active < 0.5 else (np.abs(ratio) < 1)
        return np.where(near, small, np.logaddexp(self._log_idle, self._log_active + ratio))

    def cuts(self, losses: Floats) -> Floats:
        """Outcomes at which ``l`` takes the values `losses`."""
        near = np.expm1(np.clip(losses, -1.0, 1.0)) / self._active
        far = np.exp(np.minimum(self._log_idle - losses, -2 * _UNIT))
        target = np.where(
            np.abs(losses) < 1,
            np.log1p(np.maximum(near, _UNIT - 1)),
            losses - self._log_active + np.log1p(-far),
        )
        # Each component of the mixture alone bounds the outcome from above; for one component
        # the bound is the answer.
        u = np.full_like(losses, math.inf)
        for shift, log_share in self._components():
            u = np.minimum(u, (target - log_share) / shift + shift / 2)
        return u if self._shifts.size == 1 else self._descend(u, target)

    def _descend(self, u: Floats, target: Floats) -> Floats:
        # A log-sum-exp of lines is convex and increasing, so Newton's method falls to the
        # solution from above without passing it.
        for _ in range(60):
            terms = self._terms(u)
            value = log_sum_exp(terms)
            slope = np.sum(np.exp(terms - value) * self._shifts[:, np.newaxis], axis=0)
            fall = (value - target) / slope
            u = u - fall
            if np.all(np.abs(fall) <= 4 * _UNIT * (1 + np.abs(u))):
                break
        return u

    def _log_ratio_when_active(self, u: Floats) -> Floats:
        return log_sum_exp(self._terms(u))

    def _terms(self, u: Floats) -> Floats:
        shifts = self._shifts[:, np.newaxis]
        return self._log_share[:, np.newaxis] + shifts * u - shifts * shifts / 2

    def _components(self) -> zip[tuple[float, float]]:
        return zip(self._shifts.tolist(), self._log_share.tolist(), strict=True)

    def mixture_beyond(self, low: float, high: float) -> tuple[float, float]:
        """Mass of M below `low` and above `high`, rounded up."""
        weights = np.exp(self._log_active + self._log_share)
        idle = math.exp(self._log_idle)
        below = idle * float(ndtr(low)) + float(weights @ ndtr(low - self._shifts))
        above = idle * float(ndtr(-high)) + float(weights @ ndtr(self._shifts - high))
        return below * (1 + 1e-12), above * (1 + 1e-12)

    def remove_tail(self, loss: float) -> float:
        """Bound on the probability of a higher loss than `loss` >= 0 when a row is removed."""
        return self.mixture_beyond(-math.inf, float(self.cuts(np.array([loss]))[0]))[1]

    def add_tail(self, loss: float) -> float:
        """Bound on the probability of a higher loss than `loss` >= 0 when a row is added."""
        if loss >= self.supremum:
            return 0.0
        return float(ndtr(self.cuts(np.array([-loss]))[0])) * (1 + 1e-12)

    def remove_pieces(self, u: Floats, losses: Floats) -> _Pieces:
        """Weigh what lies between the cuts `u`, at which ``l`` is `losses`, under M.

        The likelihood ratio at a cut is the idle weight plus the sum over the shifts of weight
        times exp(line). Taken shift by shift, the excess leaves out what is equal on both
        sides, so that nothing cancels when a step is rare.
        """
        log_null, error = _log_interval(u)
        mass = np.exp(self._log_idle + log_null)
        misplaced = self._misplacement(u[:-1], losses[:-1])
        excess = misplaced * mass
        for shift, log_share in self._components():
            log_shifted, rounding = _log_interval(u - shift)
            line = shift * u[:-1] - shift * shift / 2
            rounding = 2 * (np.maximum(rounding, error) + 8 * _UNIT * np.abs(line))
            part = np.exp(self._log_active + log_share + log_shifted)
            share = -np.expm1(np.minimum(log_null + line - log_shifted, 0.0)) + rounding
            mass += part * (1 + rounding)
            excess += part * (share + misplaced)
        return _Pieces(mass * (1 + 2 * error), excess)

    def add_pieces(self, u: Floats, losses: Floats) -> _Pieces:
        """Weigh what lies between the cuts `u`, at which ``l`` is `losses`, under N.

        The lower loss of a piece is minus ``l`` at its right end.
        """
        log_null, error = _log_interval(u)
        mass = np.exp(log_null) * (1 + 2 * error)
        excess = self._misplacement(u[1:], losses[1:]) * mass
        for shift, log_share in self._components():
            log_shifted, rounding = _log_interval(u - shift)
            line = shift * u[1:] - shift * shift / 2
            rounding = 2 * (np.maximum(rounding, error) + 8 * _UNIT * np.abs(line))
            part = np.exp(self._log_active + log_share + log_null + line - losses[1:])
            share = -np.expm1(np.minimum(log_shifted - log_null - line, 0.0)) + rounding
            excess += part * share
        return _Pieces(mass, excess)

    def _misplacement(self, u: Floats, losses: Floats) -> Floats:
        """How far rounding may have put ``l`` at a cut from the loss it stands for."""
        ratio = self._log_ratio_when_active(u)
        largest = float(np.max(self._shifts))
        share = np.exp(np.minimum(self._log_active + ratio - losses, 0.0))
        scale = np.abs(ratio) + largest * np.abs(u) + largest * largest
        return 16 * _UNIT * (np.abs(losses) + share * scale)


def discretize_remove(step: Step, low: float, high: float, spacing: float) -> Lattice:
    """Move the loss of removing a row onto evenly spaced losses.

    Parameters
    ----------
    step : Step
        What is moved.
    low, high : float
        Outcomes in units of the noise. Those below `low` get the lowest loss of the lattice,
        which is higher than theirs; those above `high` an infinite loss.
    spacing : float
        Distance between neighbouring losses.

    Returns
    -------
    lattice : Lattice
        At least as bad as the step.
    """
    u, losses = _cuts(step, low, high, spacing)
    mass, excess = _in_blocks(step.remove_pieces, u, losses)
    # Mass moves to the end with the higher loss, as much as keeps both masses of the piece.
    raised = np.minimum(excess / -math.expm1(-spacing), mass)
    masses = np.append(mass - raised, 0.0)
    masses[1:] += raised
    below, above = step.mixture_beyond(low, float(u[-1]))
    masses[0] += below
    return _lattice(step, float(losses[0]), spacing, masses, above)


def discretize_add(step: Step, low: float, high: float, spacing: float) -> Lattice:
    """Move the loss of adding a row onto evenly spaced losses.

    As `discretize_remove`, with the roles of the ends exchanged: outcomes below `low` get an
    infinite loss, those above `high` the lowest of the lattice.
    """
    u, losses = _cuts(step, low, high, spacing)
    mass, excess = _in_blocks(step.add_pieces, u, losses)
    raised = np.minimum(excess / -math.expm1(-spacing), mass)
    masses = np.append(raised, 0.0)
    masses[1:] += mass - raised
    masses[-1] += float(ndtr(-u[-1])) * (1 + 1e-12)
    return _lattice(step, -float(losses[-1]), spacing, masses[::-1], float(ndtr(low)))


def _cuts(step: Step, low: float, high: float, spacing: float) -> tuple[Floats, Floats]:
    # Both directions are anchored at the low end, where the likelihood ratio is flat when a step
    # is rare, so that the bulk of the mass lies next to a point of the lattice.
    lowest, highest = step.log_ratio(np.array([low, high])).tolist()
    losses = lowest + spacing * np.arange(max(1, math.ceil((highest - lowest) / spacing)) + 1)
    u = np.maximum(step.cuts(losses), low)
    u[0] = low
    return u, losses


def _in_blocks(
    weigh: Callable[[Floats, Floats], _Pieces], u: Floats, losses: Floats
) -> tuple[Floats, Floats]:
    """Weigh many pieces without many large intermediate arrays."""
    starts = range(0, u.size - 1, _BLOCK)
    parts = [weigh(u[i : i + _BLOCK + 1], losses[i : i + _BLOCK + 1]) for i in starts]
    return np.concatenate([x.mass for x in parts]), np.concatenate([x.excess for x in parts])


def _lattice(step: Step, start: float, spacing: float, masses: Floats, infinite: float) -> Lattice:
    with np.errstate(divide="ignore"):
        log_mass = np.log(masses)
    infinite = infinite * (1 + 1e-9) + _RAREST_COUNT
    return Lattice(start, spacing, log_mass, infinite, step.n_steps)


def dot(a: Floats, b: Floats) -> float:
    """Sum of products, on one core: threads cost more than they save, and grids run in parallel."""
    return float(np.einsum("i,i->", a, b))


def log_sum_exp(terms: Floats) -> Floats:
    """Log of the sum of exponentials along the first axis."""
    if len(terms) == 1:
        return np.asarray(terms[0])
    top = np.max(terms, axis=0)
    return np.asarray(top + np.log(np.sum(np.exp(terms - top), axis=0)))


def _participation(rate: float, group_size: int, log_active: float) -> tuple[Floats, Floats]:
    """Numbers of rows that may be drawn, and logs of their probabilities given that any is."""
    rows = np.arange(1.0, group_size + 1)
    if group_size == 1:
        return rows, np.zeros(1)
    log_mass = gammaln(group_size + 1) - gammaln(rows + 1) - gammaln(group_size - rows + 1)
    log_mass += xlogy(rows, rate) + xlog1py(group_size - rows, -rate)
    # Those left out are counted as infinite losses.
    kept = log_mass > math.log(_RAREST_COUNT / group_size)
    kept[0] |= not np.any(kept)
    return rows[kept], log_mass[kept] - log_active


def _log_interval(u: Floats) -> tuple[Floats, Floats]:
    """Logs of the normal masses between neighbouring cuts, and their rounding errors."""
    # Always from the nearer tail, so that nothing is lost to a difference of ones.
    tails = log_ndtr(-np.abs(u))
    larger = np.maximum(tails[:-1], tails[1:])
    smaller = np.minimum(tails[:-1], tails[1:])
    straddles = (u[:-1] < 0) & (u[1:] > 0)
    difference = np.where(
        straddles, 1 - np.exp(tails[:-1]) - np.exp(tails[1:]), -np.expm1(smaller - larger)
    )
    scale = 8 * _UNIT * (2 - larger + np.exp(smaller - larger) * -smaller)
    with np.errstate(divide="ignore"):
        log_mass = np.log(difference) + np.where(straddles, 0.0, larger)
    return log_mass, np.minimum(scale / np.maximum(difference, _UNIT), 1.0)
