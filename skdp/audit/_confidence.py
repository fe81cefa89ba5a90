"""Lower bounds on epsilon from what an adversary guessed: numbers in, numbers out.

Two readings of one observation. The first assumes nothing: it refutes (epsilon, delta) for every
mechanism. The second is tighter and assumes that what ran is the claimed mechanism with its noise
multiplied by an unknown factor; it refutes factors, and so members of that family. Both refute
more the better the guesses were, so that the larger of the two, taken from one observation, is
wrong no more often than the more often wrong of them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import beta, binom

from skdp.privacy import get_epsilon, privacy_profile
from skdp.privacy._mechanism import Mechanism

__all__ = [
    "ClaimFamily",
    "epsilon_of_accuracy",
    "epsilon_of_guesses",
    "gaussian_miss_rate",
    "guesses_refute",
    "largest_refuted",
    "lower_accuracy",
    "p_value_of_guesses",
]

# Smallest miss rate at each rate of false alarms.
MissRate = Callable[[float], float]

# Searches end at this relative width, on the side that was refuted.
_TOLERANCE = 1e-3
# No observation that a computer can make tells epsilons above this apart.
_LARGEST_EPSILON = 500.0
# Noise beyond these factors of the claim's hides everything, or nothing.
_LEAST_FACTOR, _MOST_FACTOR = 2.0**-10, 2.0**6
_N_LINES = 33
_LOG_OF_LEAST_DELTA = 18.0


def lower_accuracy(n_correct: int, n_guesses: int, error: float) -> float:
    """Lower end of the exact one-sided interval for the mean chance that a guess is right.

    The guesses are independent; their chances may differ, as those about runs with a canary and
    without it do. Beyond its mean, the number of successes has its heaviest tail where all chances
    are equal (Hoeffding 1956, "On the distribution of the number of successes in independent
    trials", Theorem 4), so the interval of a binomial (Clopper and Pearson 1934) holds: for mean
    chances of at least 1/2, which alone refute anything, and errors of at most 1/4.

    Parameters
    ----------
    n_correct, n_guesses : int
        How many were right, of how many.
    error : float
        Probability that the true mean chance is below what is returned, at most.

    Returns
    -------
    accuracy : float
        In [0, 1].
    """
    if n_correct == 0:
        return 0.0
    return float(beta.ppf(error, n_correct, n_guesses - n_correct + 1))


def epsilon_of_accuracy(accuracy: float, delta: float) -> float:
    """Least epsilon at which guesses on even odds may be right so often, whatever the mechanism.

    Adding up the two inequalities of the definition, `1 - misses <= exp(epsilon) false_alarms +
    delta` and the same with the two exchanged, gives `accuracy <= (exp(epsilon) + delta) /
    (exp(epsilon) + 1)`; randomised response attains it (Kairouz, Oh and Viswanath 2015, "The
    composition theorem for differential privacy").

    Parameters
    ----------
    accuracy : float
        Mean chance of a right guess, over runs with the row and as many without.
    delta : float
        Of the claim.

    Returns
    -------
    epsilon : float
        At least 0.
    """
    if accuracy <= (1.0 + delta) / 2.0:
        return 0.0
    return math.log((accuracy - delta) / (1.0 - accuracy))


def p_value_of_guesses(
    n_canaries: int, n_guesses: int, n_correct: int, epsilon: float, delta: float
) -> float:
    """Bound the chance of so many correct guesses under (epsilon, delta)-differential privacy.

    Each canary is in or out by a fair coin of its own; the adversary guesses some and abstains on
    the rest. Without delta, correct guesses are at most as many as those about randomised response
    (a binomial with chance `1 / (1 + exp(-epsilon))`); delta adds
    `2 m delta max_i P[v - i <= binomial < v] / i` (Steinke, Nasr and Jagielski 2023, "Privacy
    auditing with one (1) training run", arXiv:2305.08846, Theorem 5.2).

    Parameters
    ----------
    n_canaries, n_guesses, n_correct : int
        m, of which so many were guessed, of which v guesses or more were right.
    epsilon, delta : float
        The hypothesis.

    Returns
    -------
    p_value : float
        At most 1; never below the true chance.
    """
    accuracy = 1.0 / (1.0 + math.exp(-epsilon))
    tail = float(binom.sf(n_correct - 1, n_guesses, accuracy))
    if n_correct == 0 or delta == 0.0:
        return tail
    below = np.cumsum(binom.pmf(np.arange(n_correct - 1, -1, -1), n_guesses, accuracy))
    slope = float((below / np.arange(1, n_correct + 1)).max())
    return min(1.0, tail + 2.0 * n_canaries * delta * slope)


def epsilon_of_guesses(
    n_canaries: int, n_guesses: int, n_correct: int, delta: float, error: float
) -> float:
    """Largest epsilon that so many correct guesses refute, whatever the mechanism.

    Parameters
    ----------
    n_canaries, n_guesses, n_correct : int
        As in `p_value_of_guesses`.
    delta, error : float
        Delta of the claim, and how often the bound may be wrong.

    Returns
    -------
    epsilon : float
        0 where nothing is refuted.
    """

    def refuted(epsilon: float) -> bool:
        return p_value_of_guesses(n_canaries, n_guesses, n_correct, epsilon, delta) <= error

    return largest_refuted(refuted, _LARGEST_EPSILON)


def guesses_refute(
    miss_rate: MissRate, n_canaries: int, n_guesses: int, n_correct: int, error: float
) -> bool:
    """Whether so many correct guesses have at most the chance `error` under a trade-off curve.

    With p_j the chance of j correct guesses out of c, m canaries, and f the trade-off curve,
    exchanging one canary's coin shows for every i that `R_i <= 1 - f(H_(i-1))`, where
    `R_i = sum_(j >= i) j p_j / m` and `H_i = sum_(j >= i) (c - j) p_j / m`. From a chance of
    `error` for `n_correct` or more, these force more and more chance upon the smaller counts; it
    is refuted where the sum passes 1 (Mahloujifar, Melis and Chaudhuri 2024, "Auditing
    f-differential privacy in one run", arXiv:2410.22235, Theorem 3.2 and Algorithm 3).

    Parameters
    ----------
    miss_rate : callable
        The trade-off curve f, equal to its own inverse.
    n_canaries, n_guesses, n_correct : int
        As in `p_value_of_guesses`.
    error : float
        The chance.

    Returns
    -------
    refuted : bool
        Whether the curve is not that of what was attacked.
    """
    right = error * n_correct / n_canaries
    wrong = error * (n_guesses - n_correct) / n_canaries
    for count in range(n_correct - 1, -1, -1):
        if right + wrong > n_guesses / n_canaries:
            return True
        # The inverse of 1 - f is f(1 - .), since f is its own inverse.
        least_wrong = max(wrong, miss_rate(1.0 - right))
        right += count / (n_guesses - count) * (least_wrong - wrong)
        wrong = least_wrong
    return right + wrong > n_guesses / n_canaries


def gaussian_miss_rate(mu: float) -> MissRate:
    """Trade-off curve of two normal distributions `mu` standard deviations apart.

    Dong, Roth and Su 2022, "Gaussian differential privacy", Definition 2.6.
    """
    return lambda false_alarms: float(ndtr(-ndtri(false_alarms) - mu))


def largest_refuted(refuted: Callable[[float], bool], most: float) -> float:
    """Largest number between 0 and `most` that is refuted, 0 where none is; rounded down.

    Parameters
    ----------
    refuted : callable
        True below some number and False above it.
    most : float
        Where to stop looking.

    Returns
    -------
    number : float
        At most `most`.
    """
    if not refuted(0.0):
        return 0.0
    low, high = 0.0, 1e-3
    while high < most and refuted(high):
        low, high = high, 2.0 * high
    if high >= most:
        return min(low, most)
    while high - low > _TOLERANCE * high and high > 1e-6:
        middle = (low + high) / 2.0
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


class ClaimFamily:
    """The claimed mechanisms with all their noise multiplied by one factor.

    Parameters
    ----------
    mechanisms : sequence of mechanisms
        The claim.
    delta : float
        At which epsilons are read.
    """

    def __init__(self, mechanisms: Sequence[Mechanism], delta: float):
        self._mechanisms = tuple(mechanisms)
        self._delta = delta

    def epsilon(self, factor: float) -> float:
        """Epsilon of one member, as the accountant has it."""
        return get_epsilon(self._scaled(factor), self._delta)

    def miss_rate(self, factor: float) -> MissRate:
        """Trade-off curve of one member, or lines just below it, in both directions at once."""
        scaled = self._scaled(factor)
        if all(getattr(mechanism, "sample_rate", 1.0) == 1.0 for mechanism in scaled):
            return gaussian_miss_rate(_mu(scaled))
        # Each point of the privacy curve gives two lines below the trade-off curve: Dong, Roth and
        # Su 2022, Proposition 6. Fewer lines than there might be only make the adversary stronger.
        advantage = self.advantage(factor)
        deltas = advantage * np.exp(-(np.linspace(0.0, 1.0, _N_LINES) ** 2) * _LOG_OF_LEAST_DELTA)
        epsilons = [0.0, *(get_epsilon(scaled, float(delta)) for delta in deltas[1:])]
        kept, slopes = 1.0 - deltas, np.exp(np.minimum(epsilons, _LARGEST_EPSILON))

        def of(false_alarms: float) -> float:
            steep = kept - slopes * false_alarms
            flat = (kept - false_alarms) / slopes
            return max(0.0, float(steep.max()), float(flat.max()))

        return of

    def advantage(self, factor: float) -> float:
        """Largest excess of true over false alarms for one member: delta at epsilon 0."""
        return float(privacy_profile(self._scaled(factor), 0.0))

    def least_epsilon(self, refutes: Callable[[float], bool]) -> float:
        """Epsilon that the member must at least have: the largest that is refuted.

        Parameters
        ----------
        refutes : callable
            Whether the observation refutes a factor; if one, then all larger ones.

        Returns
        -------
        epsilon : float
            0 where no factor is refuted.
        """
        # Find a factor that is refuted, and a smaller one that is not.
        high = 1.0
        while not refutes(high):
            high *= 2.0
            if high > _MOST_FACTOR:
                return 0.0
        low = high / 2.0
        while low > _LEAST_FACTOR and refutes(low):
            low, high = low / 2.0, low
        while high - low > _TOLERANCE * high:
            middle = math.sqrt(low * high)
            low, high = (low, middle) if refutes(middle) else (middle, high)
        return self.epsilon(high)

    def _scaled(self, factor: float) -> tuple[Mechanism, ...]:
        return tuple(
            dataclasses.replace(mechanism, noise_multiplier=mechanism.noise_multiplier * factor)
            for mechanism in self._mechanisms
        )


def _mu(mechanisms: Sequence[Mechanism]) -> float:
    """Distance in standard deviations of full-batch releases together: squares add up."""
    return math.sqrt(
        sum(getattr(part, "n_steps", 1) / part.noise_multiplier**2 for part in mechanisms)
    )
