"""The privacy filter: its limits against brute force, and what no order of choices can exceed."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp.privacy import (
    Gaussian,
    GroupedGaussian,
    SubsampledGaussian,
    get_epsilon,
    get_renyi_divergence,
)
from skdp.privacy._filter import PrivacyFilter, make_filter

BUDGETS = [(0.1, 1e-5), (1.0, 1e-5), (3.0, 1e-8), (10.0, 1e-6), (50.0, 1e-5)]


def one_way(epsilon, delta, order):
    """A filter that counts at one order with almost all of delta."""
    return PrivacyFilter(epsilon, delta, 1e-9, (order,), (1 - 1e-9,))


def limit_of_mu_squared(privacy_filter):
    return 1 / privacy_filter.charge([Gaussian(1.0)])[0]


def limits_of_divergences(privacy_filter):
    orders = np.array(privacy_filter.orders)
    return orders / 2 / privacy_filter.charge([Gaussian(1.0)])[1:]


def exact_gaussian_delta(mu, epsilon):
    with mpmath.workdps(40):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        above = mpmath.ncdf(mu / 2 - epsilon / mu)
        return float(above - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu))


# -- Limits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_mu_squared_may_reach_what_its_share_of_delta_pays_for(epsilon, delta):
    """With 40 digits, never above and at most a millionth below."""
    privacy_filter = make_filter(epsilon, delta)
    mu = math.sqrt(limit_of_mu_squared(privacy_filter))
    share = privacy_filter.gaussian_share * delta
    assert exact_gaussian_delta(mu, epsilon) <= share
    assert exact_gaussian_delta(mu * (1 + 1e-6), epsilon) > share


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_a_divergence_may_reach_what_its_share_of_delta_pays_for(epsilon, delta):
    """The constant is the largest value of (1 - exp(-x)) exp(-(a - 1) x), found on a fine grid."""
    privacy_filter = make_filter(epsilon, delta)
    x = np.geomspace(1e-7, 30.0, 400_001)
    ways = zip(
        privacy_filter.orders,
        privacy_filter.order_shares,
        limits_of_divergences(privacy_filter),
        strict=True,
    )
    for order, share, limit in ways:
        constant = np.max(-np.expm1(-x) * np.exp(-(order - 1) * x))
        start = constant * math.exp((order - 1) * (limit - epsilon))
        assert start == pytest.approx(share * delta, rel=1e-4)


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_the_shares_of_delta_add_up_to_at_most_one(epsilon, delta):
    """The proof adds up what the ways start at."""
    privacy_filter = make_filter(epsilon, delta)
    assert privacy_filter.gaussian_share + sum(privacy_filter.order_shares) <= 1 + 1e-12


@pytest.mark.parametrize("shares", [(0.5, 0.6), (1.0, 0.1), (0.5, 0.0), (0.5, -0.1)])
def test_shares_that_pay_for_more_than_delta_are_refused(shares):
    """Whatever a ledger's file says."""
    with pytest.raises(ValueError, match="shares of delta"):
        PrivacyFilter(1.0, 1e-5, shares[0], (18.0,), shares[1:])


@pytest.mark.parametrize("orders", [(1.0,), (0.5,), (2.0, 3.0), ()])
def test_orders_that_are_none_are_refused(orders):
    """One share each, all above 1."""
    with pytest.raises(ValueError, match="orders"):
        PrivacyFilter(1.0, 1e-5, 0.5, orders, (0.5,))


# -- Charges ---------------------------------------------------------------------------------------


def test_charges_of_full_batches_are_their_mu_squared_by_hand():
    """A Gaussian, twelve full-batch steps, and three rows of one person: 1/16 + 12/100 + 9/400."""
    privacy_filter = make_filter(1.0, 1e-5)
    mechanisms = [
        Gaussian(4.0),
        SubsampledGaussian(10.0, 1.0, 12),
        GroupedGaussian(20.0, 1.0, 1, 3),
    ]
    total = 1 / 16 + 12 / 100 + 9 / 400
    charge = privacy_filter.charge(mechanisms)
    assert charge[0] == pytest.approx(total / limit_of_mu_squared(privacy_filter), rel=1e-12)
    divergences = np.array(privacy_filter.orders) * total / 2
    assert charge[1:] == pytest.approx(
        divergences / limits_of_divergences(privacy_filter), rel=1e-12
    )


def test_charges_of_sampled_steps_are_their_divergences_and_no_mu_squared():
    """An exact divergence at each order; mu^2 cannot count them at all."""
    privacy_filter = make_filter(3.0, 1e-5)
    steps = SubsampledGaussian(2.0, 0.05, 100)
    charge = privacy_filter.charge([steps])
    assert charge[0] == math.inf
    expected = get_renyi_divergence(steps, privacy_filter.orders)
    assert charge[1:] == pytest.approx(expected / limits_of_divergences(privacy_filter), rel=1e-12)


def test_charges_add_up():
    """Together or one after the other is the same."""
    privacy_filter = make_filter(3.0, 1e-5)
    first, second = [Gaussian(4.0), SubsampledGaussian(2.0, 0.05, 10)], [Gaussian(3.0)]
    apart = privacy_filter.charge(first) + privacy_filter.charge(second)
    assert privacy_filter.charge([*first, *second]) == pytest.approx(apart, rel=1e-12)
    assert np.all(privacy_filter.charge([]) == 0)


@pytest.mark.parametrize("rate", [0.1, 1.0])
def test_no_noise_is_never_admitted(rate):
    """Nor anything after it."""
    privacy_filter = make_filter(50.0, 1e-5)
    charge = privacy_filter.charge([SubsampledGaussian(0.0, rate, 1)])
    assert not privacy_filter.holds(charge)
    assert privacy_filter.largest_gaussian(charge) == 0.0


# -- What the filter promises ----------------------------------------------------------------------


def powers_of_ten(low, high):
    return st.floats(low, high).map(lambda exponent: 10.0**exponent)


def mechanisms():
    full = st.builds(Gaussian, powers_of_ten(-0.5, 2))
    sampled = st.builds(
        SubsampledGaussian,
        powers_of_ten(-0.4, 1),
        powers_of_ten(-4, 0),
        powers_of_ten(0, 3).map(int),
    )
    return st.one_of(full, sampled)


@settings(derandomize=True, deadline=None, max_examples=60, database=None)
@given(
    powers_of_ten(-1, 1.3),
    powers_of_ten(-9, -3),
    st.lists(st.lists(mechanisms(), min_size=1, max_size=3), min_size=1, max_size=12),
)
def test_what_is_admitted_costs_at_most_the_budget_by_the_exact_accountant(epsilon, delta, wanted):
    """Whatever is asked for, in whatever order, full batches and others mixed."""
    privacy_filter = make_filter(epsilon, delta)
    total, admitted = privacy_filter.charge([]), []
    for releases in wanted:
        longer = total + privacy_filter.charge(releases)
        if privacy_filter.holds(longer):
            total = longer
            admitted.extend(releases)
    assert privacy_filter.holds(total)
    if admitted:
        assert get_epsilon(admitted, delta) <= epsilon


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=60, database=None)
@given(powers_of_ten(-1, 1.3), powers_of_ten(-9, -3), st.lists(mechanisms(), max_size=4))
def test_what_remains_is_admitted_and_hardly_more_is(epsilon, delta, before):
    """The largest Gaussian fits; one with a hundredth less noise does not."""
    privacy_filter = make_filter(epsilon, delta)
    total = privacy_filter.charge(before)
    left = privacy_filter.largest_gaussian(total)
    if not privacy_filter.holds(total):
        assert left == 0.0
        return
    low, high = 1e-3, 1e9
    for _ in range(200):
        noise = math.sqrt(low * high)
        low, high = (low, noise) if get_epsilon(Gaussian(noise), delta) <= left else (noise, high)
    if left > 0:
        assert privacy_filter.holds(total + privacy_filter.charge([Gaussian(high)]))
        assert not privacy_filter.holds(total + privacy_filter.charge([Gaussian(high / 1.01)]))


def worst_delta(oracles, epsilon, mu_limit, admits, part, rate):
    """Delta of somebody who picks the second release by the first one's privacy loss.

    The first is a full batch that takes a part of the limit of mu^2, so its loss is normal. For
    every value of it they take the worse of two: the largest Gaussian that the limit leaves, and
    one sampled step with the least noise that `admits` allows. Their deltas are exact, at what is
    left of epsilon.
    """
    first = part * mu_limit
    rest = math.sqrt(mu_limit - first)
    low, high = 1e-2, 1e4
    for _ in range(60):
        noise = math.sqrt(low * high)
        admitted = admits([Gaussian(1 / math.sqrt(first)), SubsampledGaussian(noise, rate, 1)])
        low, high = (low, noise) if admitted else (noise, high)
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    total = 0.0
    for node, weight in zip(nodes, weights / math.sqrt(2 * math.pi), strict=True):
        left = epsilon - (first / 2 + math.sqrt(first) * node)
        sides = (float(oracles.exact(side, high, rate, left)) for side in ("remove", "add"))
        total += weight * max(exact_gaussian_delta(rest, left), *sides)
    return total


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-3), (1.0, 1e-5), (4.0, 1e-5)])
@pytest.mark.parametrize("part", [0.2, 0.5])
@pytest.mark.parametrize("rate", [1e-3, 0.03, 0.3])
def test_changing_the_way_by_what_was_seen_gains_nothing_beyond_delta(
    oracles, epsilon, delta, part, rate
):
    """The adversary for whom delta is shared out."""
    privacy_filter = make_filter(epsilon, delta)

    def admits(mechanisms):
        return privacy_filter.holds(privacy_filter.charge(mechanisms))

    limit = limit_of_mu_squared(privacy_filter)
    assert worst_delta(oracles, epsilon, limit, admits, part, rate) <= delta


@pytest.mark.slow
def test_ways_that_own_all_of_delta_each_would_not_hold_together(oracles):
    """So the shares are needed: the same adversary then gets more than delta."""
    epsilon, delta = 4.0, 1e-5
    by_mu = PrivacyFilter(epsilon, delta, 1.0, (), ())
    by_order = [one_way(epsilon, delta, float(order)) for order in range(3, 30)]

    def admits(mechanisms):
        return any(np.min(way.charge(mechanisms)[1:]) <= 1 for way in by_order)

    limit = limit_of_mu_squared(by_mu)
    alone = worst_delta(oracles, epsilon, limit, lambda _: False, 0.2, 0.03)
    assert alone == pytest.approx(delta, rel=1e-4)
    assert worst_delta(oracles, epsilon, limit, admits, 0.2, 0.03) > 1.001 * delta
