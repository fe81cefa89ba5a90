"""Several rows of one person: binomial shifts, in both directions, against direct integration."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp, ndtr
from scipy.stats import binom

from skdp.privacy import Gaussian, GroupedGaussian, get_delta, get_epsilon, get_renyi_divergence
from skdp.privacy._accountant import explain_epsilon
from skdp.privacy._mechanism import merge_mechanisms
from skdp.privacy._rdp import renyi_delta, renyi_epsilon


def exact_delta_of_one_step(side, noise, rate, group_size, epsilon):
    """Delta from the place where the likelihood ratio of mixture and noise crosses."""
    counts = np.arange(group_size + 1)
    weights = binom.pmf(counts, group_size, rate)

    def log_ratio(x):
        return logsumexp((counts * x - counts**2 / 2) / noise**2, b=weights)

    goal = epsilon if side == "remove" else -epsilon
    low, high = -100.0 * noise, group_size + 100.0 * noise
    if log_ratio(low) > goal:
        return 0.0 if side == "add" else None
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if log_ratio(middle) < goal else (low, middle)
    mixture_above = float(weights @ ndtr((counts - low) / noise))
    null_above = float(ndtr(-low / noise))
    if side == "remove":
        return mixture_above - math.exp(epsilon) * null_above
    mixture_below = float(weights @ ndtr((low - counts) / noise))
    return float(ndtr(low / noise)) - math.exp(epsilon) * mixture_below


@pytest.mark.slow
@pytest.mark.parametrize("side", ["remove", "add"])
@pytest.mark.parametrize("group_size", [2, 5])
@pytest.mark.parametrize(
    ("noise", "rate", "delta"),
    [(1.0, 0.3, 1e-3), (2.0, 0.05, 1e-6), (1.0, 1e-3, 1e-9), (0.5, 1e-4, 1e-9), (5.0, 0.9, 1e-9)],
)
def test_one_step_of_a_group_brackets_the_truth(oracles, side, group_size, noise, rate, delta):
    """Never below at delta, and at most 0.1 % above at 0.999 delta."""
    epsilon = oracles.direction(side, noise, rate, 1, group_size).epsilon(delta)
    if epsilon <= 0:
        assert exact_delta_of_one_step(side, noise, rate, group_size, 0.0) <= delta
        return
    assert exact_delta_of_one_step(side, noise, rate, group_size, epsilon) <= delta * (1 + 1e-6)
    tighter = exact_delta_of_one_step(side, noise, rate, group_size, epsilon / 1.001)
    assert tighter >= 0.999 * delta * (1 - 1e-6)


@pytest.mark.parametrize("group_size", [2, 5, 50])
def test_nothing_is_free_just_because_one_row_would_be(group_size):
    """Delta above one row's total variation and below the group's is not enough."""
    noise, rate, n_steps = 1.0, 1e-4, 10
    one = get_delta(GroupedGaussian(noise, rate, n_steps, 1), 0.0)
    group = get_delta(GroupedGaussian(noise, rate, n_steps, group_size), 0.0)
    delta = math.sqrt(one * group)
    assert one < delta < group
    assert get_epsilon(GroupedGaussian(noise, rate, n_steps, 1), delta) == 0.0
    cost = explain_epsilon(GroupedGaussian(noise, rate, n_steps, group_size), delta)
    assert cost.epsilon > 0.0
    assert cost.method == "pld"


@pytest.mark.parametrize("order", [2, 3, 8])
@pytest.mark.parametrize(("noise", "rate", "group_size"), [(2.0, 0.1, 3), (1.0, 0.01, 5)])
def test_the_renyi_bound_of_a_group_is_above_its_divergence(order, noise, rate, group_size):
    """Integrated directly, both directions; and not above k rows that always come together."""
    counts = np.arange(group_size + 1)
    log_weights = binom.logpmf(counts, group_size, rate)

    def log_mixture(x):
        return logsumexp(log_weights - (x - counts) ** 2 / (2 * noise**2))

    def divergence(above, below):
        def density(x):
            return math.exp(order * above(x) - (order - 1) * below(x))

        scale = noise * math.sqrt(2 * math.pi)
        total = quad(density, -40 * noise, group_size * order + 40 * noise, limit=500)[0] / scale
        return math.log(total) / (order - 1)

    def log_null(x):
        return -(x**2) / (2 * noise**2)

    bound = float(get_renyi_divergence(GroupedGaussian(noise, rate, 1, group_size), order))
    assert bound >= divergence(log_mixture, log_null) * (1 - 1e-9)
    assert bound >= divergence(log_null, log_mixture) * (1 - 1e-9)
    ever = -math.expm1(group_size * math.log1p(-rate))
    together = GroupedGaussian(noise / group_size, ever, 1, 1)
    assert bound == pytest.approx(float(get_renyi_divergence(together, order)), rel=1e-9)


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
def test_the_two_renyi_conversions_undo_each_other(delta):
    """At one order they are the same line, so the best of each meets the other."""
    parts = merge_mechanisms([GroupedGaussian(2.0, 0.1, 100, 1), Gaussian(5.0)])
    epsilon = renyi_epsilon(parts, delta)
    assert renyi_delta(parts, epsilon) == pytest.approx(delta, rel=1e-6)


def test_a_huge_group_has_an_answer_without_a_huge_table():
    """By the Renyi accountant, and above what a smaller group costs."""
    cost = explain_epsilon(GroupedGaussian(1e7, 0.001, 1, 10**6), 1e-5)
    assert cost.method == "rdp"
    assert math.isfinite(cost.epsilon)
    assert cost.epsilon >= get_epsilon(GroupedGaussian(1e7, 0.001, 1, 10**4), 1e-5)


def test_counts_beyond_exact_doubles_are_refused_by_name():
    """Rather than by an overflow somewhere inside."""
    with pytest.raises(ValueError, match="n_steps must be at most"):
        GroupedGaussian(1.0, 0.5, 10**400, 1)
    with pytest.raises(ValueError, match="noise_multiplier must be within"):
        Gaussian(10**400)
