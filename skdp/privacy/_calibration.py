"""The least noise, or the most steps, within a budget.

Epsilon is a smooth function of the noise and of the number of steps, nearly a power of either, so
a secant in logarithms needs few evaluations. Every answer lies on the private side: it has been
evaluated, and its epsilon is at most the budget.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

from skdp.exceptions import CalibrationError
from skdp.privacy._accountant import get_epsilon
from skdp.privacy._closed_form import gaussian_mu
from skdp.privacy._mechanism import (
    GroupedGaussian,
    Mechanism,
    SubsampledGaussian,
    check_budget,
    check_count,
    check_delta,
    check_sample_rate,
    merge_mechanisms,
)
from skdp.privacy._promise import digits_up

__all__ = ["MOST_STEPS", "calibrate_n_steps", "calibrate_noise_multiplier", "most_steps"]

_CACHE_SIZE = 2**14
# `calibrate_n_steps` answers at most this.
MOST_STEPS = 10**7
# The share of the budget that is aimed at, and the least that ends a search.
_AIM, _ENOUGH = 0.9997, 0.9994


def calibrate_noise_multiplier(
    epsilon: float,
    delta: float,
    sample_rate: float,
    n_steps: int,
    *,
    alongside: Sequence[Mechanism] = (),
) -> float:
    """Return the least noise multiplier for a budget, to 0.1 % of epsilon.

    - ``get_epsilon`` at the answer lies between 0.999 `epsilon` and `epsilon`.
    - Answers are cached: a search over hyper-parameters pays once for each question.

    Parameters
    ----------
    epsilon : float
        The budget, above 0.
    delta : float
        Strictly between 0 and 1.
    sample_rate : float
        Probability that a row takes part in a step, in (0, 1].
    n_steps : int
        Number of steps.
    alongside : sequence of mechanisms, default=()
        Other releases from the same rows that share the budget.

    Returns
    -------
    noise_multiplier : float
        Standard deviation of the noise over the bound on one row's contribution.

    Raises
    ------
    CalibrationError
        If a row takes part with probability at most `delta`: delta would pay for publishing it
        as it is, and no noise would be the answer. Or if `alongside` leaves nothing.

    Examples
    --------
    >>> from skdp.privacy import calibrate_noise_multiplier
    >>> noise = calibrate_noise_multiplier(1.0, 1e-5, sample_rate=0.08, n_steps=375)
    >>> print(f"{noise:.2f}")
    5.90
    """
    return _noise_multiplier(
        check_budget(epsilon),
        check_delta(delta),
        check_sample_rate(sample_rate),
        check_count("n_steps", n_steps),
        merge_mechanisms(alongside) if alongside else (),
    )


def calibrate_n_steps(
    epsilon: float,
    delta: float,
    noise_multiplier: float,
    sample_rate: float,
    *,
    alongside: Sequence[Mechanism] = (),
) -> int:
    """Return the largest number of steps within a budget.

    Parameters
    ----------
    epsilon : float
        The budget, above 0.
    delta : float
        Strictly between 0 and 1.
    noise_multiplier : float
        Standard deviation of the noise over the bound on one row's contribution.
    sample_rate : float
        Probability that a row takes part in a step, in (0, 1].
    alongside : sequence of mechanisms, default=()
        Other releases from the same rows that share the budget.

    Returns
    -------
    n_steps : int
        0 if one step is already too much; at most 10,000,000, also where more would fit.

    Raises
    ------
    CalibrationError
        If a row takes part in that many steps with probability at most `delta`: delta would pay
        for publishing it as it is, and noise would have no part in the answer.

    Examples
    --------
    >>> from skdp.privacy import calibrate_n_steps
    >>> calibrate_n_steps(5.0, 1e-5, noise_multiplier=2.0, sample_rate=0.08)
    654
    """
    step = SubsampledGaussian(noise_multiplier, sample_rate, 1)
    return most_steps(epsilon, delta, step, alongside=alongside)


def most_steps(
    epsilon: float,
    delta: float,
    steps: SubsampledGaussian | GroupedGaussian,
    *,
    alongside: Sequence[Mechanism] = (),
) -> int:
    """Return `calibrate_n_steps` of a mechanism, whatever its own number of steps."""
    delta = check_delta(delta)
    (step,) = merge_mechanisms(replace(steps, n_steps=1))
    others = merge_mechanisms(alongside) if alongside else ()
    n_steps = _n_steps(check_budget(epsilon), delta, step, others)
    taking_part = n_steps * steps.sample_rate * getattr(steps, "group_size", 1)
    if 0 < taking_part <= delta:
        raise _delta_pays(taking_part, delta)
    return n_steps


@lru_cache(maxsize=_CACHE_SIZE)
def _noise_multiplier(
    epsilon: float,
    delta: float,
    sample_rate: float,
    n_steps: int,
    alongside: tuple[GroupedGaussian, ...],
) -> float:
    # The probability of ever taking part, and a bound on it: either says that delta pays.
    ever = -math.expm1(n_steps * math.log1p(-sample_rate)) if sample_rate < 1 else 1.0
    if sample_rate * n_steps <= delta or ever <= delta:
        raise _delta_pays(sample_rate * n_steps, delta)

    def spent(log_noise: float) -> float:
        mechanism = SubsampledGaussian(math.exp(log_noise), sample_rate, n_steps)
        return get_epsilon((*alongside, mechanism), delta)

    if alongside and get_epsilon(alongside, delta) >= _ENOUGH * epsilon:
        raise CalibrationError(
            f"what runs alongside leaves nothing of epsilon={digits_up(epsilon, 6)} for these "
            "steps: give it more noise, or raise epsilon"
        )

    # By the central limit theorem a run is about one Gaussian release.
    ratio = min(max(gaussian_mu(epsilon, delta) / sample_rate, 1e-150), 1e150) ** 2 / n_steps
    guess = -math.log(ratio if sample_rate == 1 else math.log1p(ratio)) / 2
    return math.exp(_fall_to(spent, epsilon, guess))


def _delta_pays(taking_part: float, delta: float) -> CalibrationError:
    return CalibrationError(
        f"sample_rate * n_steps = {digits_up(taking_part)} against delta = "
        f"{digits_up(delta)}: a row takes part so rarely that delta alone pays for such a "
        "run, even without any noise. Use a smaller delta (below 1 / n_samples), a "
        "larger batch or more steps."
    )


def _fall_to(spent: Callable[[float], float], budget: float, guess: float) -> float:
    """Find a point at which `spent`, which falls, is just below `budget`."""
    low, high = -math.inf, math.inf  # over the budget; within it
    at_low = at_high = math.nan
    point, reach = guess, 0.3
    while True:
        value = spent(point)
        if value > budget:
            low, at_low = point, value
        else:
            high, at_high = point, value
            if value >= _ENOUGH * budget:
                return high
        if math.isinf(high - low):
            # Epsilon is nearly a power of the noise, with exponent -1 or below: a step with
            # exponent -1 and a little more passes the solution, or ends close to it.
            step = math.log(value / budget) if 0 < value < math.inf else math.copysign(9, value - 1)
            step += math.copysign(0.01, step)
            point += min(max(step, -reach), reach)
            reach *= 2
        elif not low < (low + high) / 2 < high:
            return high
        else:
            point = _between(low, at_low, high, at_high, _AIM * budget)


def _between(low: float, at_low: float, high: float, at_high: float, goal: float) -> float:
    """Where a power law through both ends meets `goal`, but not next to an end; else the middle."""
    middle = (low + high) / 2
    if at_high <= 0 or at_low == math.inf or at_high >= goal:
        return middle
    share = math.log(at_low / goal) / math.log(at_low / at_high)
    # A root that is hardly off an end leaves the other end where it is for long.
    point = low + min(max(share, 0.01), 0.99) * (high - low)
    return point if low < point < high else middle


@lru_cache(maxsize=_CACHE_SIZE)
def _n_steps(
    epsilon: float, delta: float, step: GroupedGaussian, alongside: tuple[GroupedGaussian, ...]
) -> int:
    def spent(n_steps: int) -> float:
        return get_epsilon((*alongside, replace(step, n_steps=n_steps)), delta)

    if spent(1) > epsilon:
        return 0
    if spent(MOST_STEPS) <= epsilon:
        return MOST_STEPS
    # The squared ratio of sensitivity to noise that one step adds in the central limit.
    precision = min(step.group_size / step.noise_multiplier, 26.0) ** 2
    rate = step.sample_rate
    per_step = rate**2 * math.expm1(precision) if rate < 1 else precision
    left = gaussian_mu(epsilon, delta) ** 2
    if alongside:
        left -= gaussian_mu(get_epsilon(alongside, delta), delta) ** 2
    guess = left / per_step
    low, high = _bracket(spent, epsilon, int(min(max(guess, 2.0), MOST_STEPS - 1.0)))
    at_low, at_high = spent(low), spent(high)
    while high - low > 1:
        middle = (low + high) // 2
        if 0 < at_low < at_high < math.inf:
            share = math.log(epsilon / at_low) / math.log(at_high / at_low)
            middle = round(low * (high / low) ** share)
            # Steps of at least a hundredth, so that both ends move.
            edge = max(1, (high - low) // 100)
            middle = min(max(middle, low + edge), high - edge)
        value = spent(middle)
        if value <= epsilon:
            low, at_low = middle, value
        else:
            high, at_high = middle, value
    return low


def _bracket(spent: Callable[[int], float], budget: float, guess: int) -> tuple[int, int]:
    """Numbers of steps within the budget and over it; 1 and the most are known to be such."""
    low, high, reach = guess, guess, 1.02
    if spent(guess) <= budget:
        while high < MOST_STEPS and spent(high) <= budget:
            low, high, reach = high, min(math.ceil(high * reach) + 1, MOST_STEPS), reach**2
    else:
        while low > 1 and spent(low) > budget:
            low, high, reach = max(math.floor(low / reach) - 1, 1), low, reach**2
    return low, high
