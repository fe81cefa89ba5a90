"""Lower bounds from guesses: exact where the truth is known, and never above it too often."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import ndtr
from scipy.stats import binom, norm

from skdp.audit._confidence import (
    ClaimFamily,
    epsilon_of_accuracy,
    epsilon_of_guesses,
    gaussian_miss_rate,
    guesses_refute,
    lower_accuracy,
    p_value_of_guesses,
)
from skdp.privacy import Gaussian, SubsampledGaussian, get_epsilon, trade_off_curve


def test_the_interval_for_unequal_chances_misses_no_more_often_than_it_says():
    """Guesses about the two worlds are right with chances of their own; convolution is exact."""
    n, error = 12, 0.05
    bounds = np.array([lower_accuracy(k, 2 * n, error) for k in range(2 * n + 1)])
    for first, second in itertools.product(np.linspace(0.0, 1.0, 21), repeat=2):
        mean = (first + second) / 2
        if mean < 0.5:
            continue
        k = np.arange(n + 1)
        chances = np.convolve(binom.pmf(k, n, first), binom.pmf(k, n, second))
        assert chances[bounds > mean + 1e-12].sum() <= error


def test_the_interval_is_the_binomial_one_for_equal_chances():
    """At its lower end, so many successes have just the chance `error`."""
    low = lower_accuracy(70, 100, 0.01)
    assert binom.sf(69, 100, low) == pytest.approx(0.01, rel=1e-9)
    assert lower_accuracy(0, 100, 0.01) == 0.0


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_epsilon_of_accuracy_is_exact_for_randomised_response(epsilon, delta):
    """With chance delta it reveals the bit, else it tells the truth with odds exp(epsilon)."""
    accuracy = delta + (1 - delta) / (1 + math.exp(-epsilon))
    assert epsilon_of_accuracy(accuracy, delta) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("threshold", [-1.0, 0.0, 0.5, 3.0])
def test_epsilon_of_accuracy_is_no_more_than_a_gaussian_spends(threshold):
    """Whatever the test, its accuracy cannot prove more than is spent."""
    noise, delta = 0.7, 1e-5
    accuracy = (norm.cdf(threshold, scale=noise) + norm.sf(threshold, loc=1, scale=noise)) / 2
    assert epsilon_of_accuracy(accuracy, delta) <= get_epsilon(Gaussian(noise), delta)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_p_values_without_delta_are_the_tail_of_randomised_response(epsilon):
    """By enumeration of all patterns of truths and lies about eight coins."""
    truth = 1 / (1 + math.exp(-epsilon))
    chances = np.zeros(9)
    for pattern in itertools.product([0, 1], repeat=8):
        chances[sum(pattern)] += truth ** sum(pattern) * (1 - truth) ** (8 - sum(pattern))
    for n_correct in range(9):
        p_value = p_value_of_guesses(8, 8, n_correct, epsilon, 0.0)
        assert p_value == pytest.approx(chances[n_correct:].sum(), rel=1e-9)


@pytest.mark.parametrize("delta", [1e-4, 1e-2])
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_p_values_cover_mechanisms_that_use_their_delta(epsilon, delta):
    """Two of them: one may reveal each coin on its own, the other all coins at once."""
    m = 20
    truth = 1 / (1 + math.exp(-epsilon))
    for n_correct in range(m + 1):
        p_value = p_value_of_guesses(m, m, n_correct, epsilon, delta)
        each = binom.sf(n_correct - 1, m, delta + (1 - delta) * truth)
        at_once = delta + (1 - delta) * binom.sf(n_correct - 1, m, truth)
        assert p_value >= max(each, at_once) * (1 - 1e-9)


@pytest.mark.parametrize("delta", [0.0, 1e-3])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_bounds_from_guesses_exceed_the_truth_no_more_often_than_they_say(epsilon, delta):
    """Exactly, for randomised response that reveals each coin with chance delta."""
    m, error = 60, 0.05
    accuracy = delta + (1 - delta) / (1 + math.exp(-epsilon))
    bounds = [epsilon_of_guesses(m, m, v, delta, error) for v in range(m + 1)]
    chances = binom.pmf(np.arange(m + 1), m, accuracy)
    assert chances[np.array(bounds) > epsilon].sum() <= error
    assert all(low <= high for low, high in itertools.pairwise(bounds))
    # And they are no empty promise: all right guesses prove a good deal.
    assert bounds[-1] > 2.5


def largest_tail(lines, m, n_guesses, n_correct):
    """Largest chance of `n_correct` right guesses that the inequalities of the theorem allow.

    A linear programme in the chances p_j of j right guesses, for 1 - f the least of some lines:
    `sum_(j >= i) j p_j / m <= a + b sum_(j >= i - 1) (c - j) p_j / m` for every i and line.
    """
    counts = np.arange(n_guesses + 1)
    rows, bounds = [], []
    for i in range(1, n_guesses + 1):
        right = np.where(counts >= i, counts, 0) / m
        wrong = np.where(counts >= i - 1, n_guesses - counts, 0) / m
        for intercept, slope in lines:
            rows.append(right - slope * wrong)
            bounds.append(intercept)
    solution = linprog(
        -(counts >= n_correct).astype(float),
        A_ub=np.array(rows),
        b_ub=bounds,
        A_eq=np.ones((1, n_guesses + 1)),
        b_eq=[1.0],
    )
    return -solution.fun


@pytest.mark.parametrize(("m", "n_guesses"), [(6, 6), (10, 6), (12, 12)])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.0), (1.5, 1e-2)])
def test_refuted_guesses_are_those_that_no_distribution_allows(m, n_guesses, epsilon, delta):
    """The recursion against a linear programme over all distributions of right guesses."""
    slope = math.exp(epsilon)
    lines = [(delta, slope), (1 - (1 - delta) / slope, 1 / slope)]

    def miss_rate(false_alarms):
        return 1 - min(1.0, *(a + b * false_alarms for a, b in lines))

    for n_correct in range(n_guesses // 2 + 1, n_guesses + 1):
        largest = largest_tail([*lines, (1.0, 0.0)], m, n_guesses, n_correct)
        assert not guesses_refute(miss_rate, m, n_guesses, n_correct, largest * (1 - 1e-4))
        assert guesses_refute(miss_rate, m, n_guesses, n_correct, largest * 1.02)


@pytest.mark.parametrize("mu", [0.3, 1.0, 2.5])
def test_a_true_gaussian_curve_is_refuted_no_more_often_than_it_says(mu):
    """Exactly, for canaries with noise of their own: a guess is right with chance Phi(mu / 2)."""
    m, error = 80, 0.05
    refuted = [guesses_refute(gaussian_miss_rate(mu), m, m, v, error) for v in range(m + 1)]
    chances = binom.pmf(np.arange(m + 1), m, ndtr(mu / 2))
    assert chances[refuted].sum() <= error
    assert refuted[-1] or mu == 2.5


def test_curves_tell_more_than_epsilon_and_delta():
    """Where canaries have normal noise, the f-DP reading of the same guesses is the tighter."""
    family = ClaimFamily([Gaussian(1.0)], 1e-5)
    by_curve = family.least_epsilon(
        lambda factor: guesses_refute(family.miss_rate(factor), 500, 100, 90, 0.01)
    )
    assert by_curve > 1.4 * epsilon_of_guesses(500, 100, 90, 1e-5, 0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    "claim",
    [
        [SubsampledGaussian(6.4, 1.0, 35), Gaussian(33.0)],
        [SubsampledGaussian(1.4, 0.11, 90), Gaussian(33.0)],
    ],
)
def test_the_familys_curve_is_the_accountants_and_never_above_it(claim):
    """Below it the adversary is rated too strong, which costs power and no truth."""
    miss_rate = ClaimFamily(claim, 1e-5).miss_rate(1.0)
    alphas = np.linspace(0.02, 0.98, 25)
    ours = np.array([miss_rate(alpha) for alpha in alphas])
    theirs = trade_off_curve(claim, alphas)
    np.testing.assert_allclose(ours, theirs, atol=3e-3)
    if claim[0].sample_rate < 1:
        assert np.all(ours <= theirs + 1e-3)


@pytest.mark.parametrize("factor", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("claim", [[SubsampledGaussian(6.4, 1.0, 35)], [Gaussian(2.0)]])
def test_the_family_is_searched_to_where_the_refuted_members_begin(claim, factor):
    """An advantage that a member just reaches gives that member's epsilon, rounded down."""
    family = ClaimFamily(claim, 1e-5)
    reached = family.advantage(factor)
    found = family.least_epsilon(lambda other: family.advantage(other) < reached)
    noise = factor * claim[0].noise_multiplier
    truth = get_epsilon(SubsampledGaussian(noise, 1.0, getattr(claim[0], "n_steps", 1)), 1e-5)
    assert 0.995 * truth <= found <= truth


def test_nothing_is_proved_by_guesses_that_are_no_better_than_coins():
    """The bound is 0 rather than small."""
    family = ClaimFamily([Gaussian(1.0)], 1e-5)
    assert family.least_epsilon(lambda factor: family.advantage(factor) < 0.0) == 0.0
    assert epsilon_of_guesses(100, 100, 50, 1e-5, 0.01) == 0.0
    assert epsilon_of_accuracy(0.5, 1e-5) == 0.0
