"""Frozen descriptions of what runs, read by the accountant and by the trainer alike.

A mechanism is a handful of public numbers. The trainer takes its noise and its sampling rate from
the same object that the accountant prices, so that the two cannot drift apart.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real

from skdp.exceptions import shown

__all__ = [
    "Gaussian",
    "GroupedGaussian",
    "Mechanism",
    "SubsampledGaussian",
    "merge_mechanisms",
]


@dataclass(frozen=True)
class SubsampledGaussian:
    """Noisy sums over Poisson-sampled rows, repeated: what DP-SGD releases.

    Each step draws every row independently with probability `sample_rate`, adds up one bounded
    contribution a row, and adds Gaussian noise of standard deviation `noise_multiplier` times
    that bound. Neighbours differ in one row that contributes nothing in one of them.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the noise over the bound on one row's contribution; 0 is no noise.
    sample_rate : float
        Probability that a row takes part in a step, in (0, 1].
    n_steps : int
        Number of steps, at least 1.

    Examples
    --------
    >>> SubsampledGaussian(noise_multiplier=2.0, sample_rate=0.08, n_steps=375)
    SubsampledGaussian(noise_multiplier=2.0, sample_rate=0.08, n_steps=375)
    """

    __module__ = "skdp.privacy"

    noise_multiplier: float
    sample_rate: float
    n_steps: int

    def __post_init__(self) -> None:
        _store(self, noise_multiplier=check_noise_multiplier(self.noise_multiplier))
        _store(self, sample_rate=check_sample_rate(self.sample_rate))
        _store(self, n_steps=check_count("n_steps", self.n_steps))


@dataclass(frozen=True)
class Gaussian:
    """One noisy sum over all rows.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the noise over the bound on one row's contribution; 0 is no noise.

    Examples
    --------
    >>> Gaussian(noise_multiplier=5)
    Gaussian(noise_multiplier=5.0)
    """

    __module__ = "skdp.privacy"

    noise_multiplier: float

    def __post_init__(self) -> None:
        _store(self, noise_multiplier=check_noise_multiplier(self.noise_multiplier))


@dataclass(frozen=True)
class GroupedGaussian:
    """`SubsampledGaussian` seen by a person who owns several rows.

    The rows are drawn independently of each other, so a step contains a binomial number of
    them, and its sum moves by at most that number of bounds [1]_.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the noise over the bound on one row's contribution; 0 is no noise.
    sample_rate : float
        Probability that a row takes part in a step, in (0, 1].
    n_steps : int
        Number of steps, at least 1.
    group_size : int
        Number of rows that one person owns, at least 1.

    References
    ----------
    .. [1] Ganesh (2024), "Tight Group-Level DP Guarantees for DP-SGD with Sampling via Mixture of
       Gaussians Mechanisms", arXiv:2401.10294.

    Examples
    --------
    Two rows cost more than twice what one row costs:

    >>> from skdp.privacy import GroupedGaussian, SubsampledGaussian, get_epsilon
    >>> one = get_epsilon(SubsampledGaussian(2.0, 0.08, 375), delta=1e-5)
    >>> two = get_epsilon(GroupedGaussian(2.0, 0.08, 375, group_size=2), delta=1e-5)
    >>> print(f"{one:.2f} {two:.2f}")
    3.67 8.30
    """

    __module__ = "skdp.privacy"

    noise_multiplier: float
    sample_rate: float
    n_steps: int
    group_size: int

    def __post_init__(self) -> None:
        _store(self, noise_multiplier=check_noise_multiplier(self.noise_multiplier))
        _store(self, sample_rate=check_sample_rate(self.sample_rate))
        _store(self, n_steps=check_count("n_steps", self.n_steps))
        _store(self, group_size=check_count("group_size", self.group_size))


Mechanism = SubsampledGaussian | Gaussian | GroupedGaussian

# More than all rounding errors of a few operations.
_ROUNDED_DOWN = 1 - 2.0**-50


def merge_mechanisms(mechanisms: Mechanism | Sequence[Mechanism]) -> tuple[GroupedGaussian, ...]:
    """Write a mechanism or a sequence of them in one canonical, sorted form.

    Composition does not depend on the order, steps of one kind add up, and everything that uses
    all rows is one Gaussian: precisions (inverse variances) add. So equal questions become equal
    keys of a cache, and a bare mechanism is the same question as a sequence that holds it alone.
    """
    steps: dict[tuple[float, float, int], int] = {}
    over_all_rows: list[GroupedGaussian] = []
    for mechanism in _as_sequence(mechanisms):
        part = _as_grouped(mechanism)
        if part.noise_multiplier == 0:
            return (part,)
        if part.sample_rate == 1:
            over_all_rows.append(part)
        else:
            kind = (part.noise_multiplier, part.sample_rate, part.group_size)
            steps[kind] = steps.get(kind, 0) + part.n_steps
    parts = [GroupedGaussian(s, q, steps[s, q, k], k) for s, q, k in sorted(steps)]
    if over_all_rows:
        parts.append(GroupedGaussian(_merged_noise(over_all_rows), 1.0, 1, 1))
    return tuple(parts)


def _merged_noise(parts: Sequence[GroupedGaussian]) -> float:
    """Noise multiplier of the one release over all rows that these are together.

    Never above the true one, and 0 where noise is too small to count as any.
    """
    (first, *others) = parts
    if not others and first.n_steps == first.group_size == 1:
        return first.noise_multiplier
    # The root of the sum of squares without the squares, which would overflow, or vanish and take
    # the release with them; sorted, so that the order of the releases does not move the last bit.
    scales = sorted(part.group_size / part.noise_multiplier * part.n_steps**0.5 for part in parts)
    total = math.hypot(*scales)
    return min(1 / total * _ROUNDED_DOWN, sys.float_info.max)


def _as_sequence(mechanisms: Mechanism | Sequence[Mechanism]) -> Sequence[Mechanism]:
    if isinstance(mechanisms, Mechanism) or not isinstance(mechanisms, Iterable):
        mechanisms = (mechanisms,)
    sequence = tuple(mechanisms)
    for mechanism in sequence:
        if not isinstance(mechanism, Mechanism):
            raise TypeError(
                "mechanism must be a SubsampledGaussian, a Gaussian, a GroupedGaussian, or a "
                f"sequence of them; got {shown(mechanism)}."
            )
    if not sequence:
        raise ValueError("mechanism must name at least one release; got an empty sequence.")
    return sequence


def _as_grouped(mechanism: Mechanism) -> GroupedGaussian:
    if isinstance(mechanism, Gaussian):
        return GroupedGaussian(mechanism.noise_multiplier, 1.0, 1, 1)
    if isinstance(mechanism, SubsampledGaussian):
        return GroupedGaussian(
            mechanism.noise_multiplier, mechanism.sample_rate, mechanism.n_steps, 1
        )
    return mechanism


def check_noise_multiplier(value: float) -> float:
    """Return a noise multiplier as a float, or say what is wrong with it."""
    number = check_real("noise_multiplier", value)
    if not 0 <= number < math.inf:
        raise ValueError(f"noise_multiplier must be finite and at least 0; got {shown(value)}.")
    return number


def check_sample_rate(value: float) -> float:
    """Return a sampling rate as a float, or say what is wrong with it."""
    number = check_real("sample_rate", value)
    if not 0 < number <= 1:
        raise ValueError(f"sample_rate must be above 0 and at most 1; got {shown(value)}.")
    return number


def check_delta(value: float) -> float:
    """Return a delta as a float, or say what is wrong with it."""
    number = check_real("delta", value)
    if not 0 < number < 1:
        raise ValueError(f"delta must lie strictly between 0 and 1; got {shown(value)}.")
    return number


def check_budget(value: float) -> float:
    """Return an epsilon to calibrate for as a float, or say what is wrong with it."""
    number = check_real("epsilon", value)
    if not 0 < number < math.inf:
        raise ValueError(f"epsilon must be finite and above 0; got {shown(value)}.")
    return number


def check_real(name: str, value: float) -> float:
    """Return a real number as a float; flags and text are not numbers."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a real number; got {shown(value)}.")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name} must be within the range of doubles.") from None


# Counts up to here are exact as doubles.
_LARGEST_COUNT = 2**53


def check_count(name: str, value: int) -> int:
    """Return a positive whole number as an int."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number; got {shown(value)}.")
    if value < 1:
        raise ValueError(f"{name} must be at least 1; got {shown(value)}.")
    if value > _LARGEST_COUNT:
        raise ValueError(f"{name} must be at most {_LARGEST_COUNT:,}.")
    return int(value)


def _store(mechanism: object, **values: float) -> None:
    for name, value in values.items():
        # The dataclass is frozen for everyone but its own __post_init__.
        object.__setattr__(mechanism, name, value)
