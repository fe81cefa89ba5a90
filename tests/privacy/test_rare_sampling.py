"""Steps that hardly ever sample a row: losses span eight decades and more.

The truth for two steps is an integral over the loss of the first: delta of the second at what
is left of epsilon.
"""

import math

import mpmath
import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss
from scipy.special import ndtr

from skdp.privacy import (
    Gaussian,
    GroupedGaussian,
    SubsampledGaussian,
    get_delta,
    get_epsilon,
    privacy_profile,
)
from skdp.privacy import _pld as pld
from skdp.privacy._geometric import GeometricLoss, suits_geometric
from skdp.privacy._step import Step

# Noise, sample rate and delta of two steps.
POINTS = [
    (0.29133028024630975, 2.0157353613103365e-07, 3.3019525185131847e-07),
    (0.335168, 6.03646e-7, 8.09317e-7),
    (0.40219, 1.7645e-7, 2.3345e-7),
    (0.36881, 3.729e-6, 4.9036e-6),
    (0.23035, 2.99e-7, 4.957e-7),
]
# Long runs at small deltas.
LONG = [(0.4911, 1.734e-8), (0.3, 1e-9), (0.35, 2e-7)]
SIDES = ["remove", "add"]
NODES, WEIGHTS = leggauss(20)


def delta_of_one(side, noise, rate, epsilons):
    """Delta of one step at many epsilons; they may be negative."""
    sign = 1 if side == "remove" else -1
    ratio = 1 + np.expm1(sign * epsilons) / rate
    crossed = ratio > 0
    x = noise * np.log(np.where(crossed, ratio, 1)) + 0.5 / noise
    if side == "remove":
        delta = rate * (ndtr(1 / noise - x) - ndtr(-x)) - np.expm1(epsilons) * ndtr(-x)
        return np.where(crossed, delta, -np.expm1(epsilons))
    delta = np.exp(epsilons) * rate * (ndtr(x) - ndtr(x - 1 / noise))
    return np.where(crossed, delta - np.expm1(epsilons) * ndtr(x), 0.0)


def kink_of_two(side, first, second, epsilon):
    """Outcome of the first step after which the second has no outcome to lose epsilon at.

    The integrand is not analytic there.
    """
    (noise, rate), (_, other_rate) = first, second
    sign = 1 if side == "remove" else -1
    ratio = 1 + math.expm1(sign * epsilon - math.log1p(-other_rate)) / rate
    return noise * math.log(max(ratio, 1e-9)) + 0.5 / noise


def delta_of_two(side, first, second, epsilon):
    """Delta of two steps, each ``(noise, rate)``."""
    noise, rate = first
    kink = kink_of_two(side, first, second, epsilon)
    around = np.geomspace(1e-12, 1.0, 200)
    cuts = np.linspace(-12, 12 + 1 / noise, 1501)
    cuts = np.unique(np.concatenate([cuts, [kink], kink - around, kink + around]))
    half = np.diff(cuts)[:, np.newaxis] / 2
    u = (cuts[:-1, np.newaxis] + half * (1 + NODES)).ravel()
    loss = np.log1p(rate * np.expm1(u / noise - 0.5 / noise**2))
    density = (WEIGHTS * half).ravel() * np.exp(-u * u / 2) / math.sqrt(2 * math.pi)
    if side == "remove":
        density *= np.exp(loss)
    else:
        loss = -loss
    return float(np.sum(density * delta_of_one(side, *second, epsilon - loss)))


def check_two_steps(oracles, side, noise, rate, delta):
    """Never below the truth at delta, at most 0.1 % above it at 0.999 delta."""
    step = noise, rate
    direction = oracles.direction(side, noise, rate, 2)
    epsilon = direction.epsilon(delta)
    assert epsilon > 0
    assert delta_of_two(side, step, step, epsilon) <= delta
    assert delta_of_two(side, step, step, epsilon / 1.001) >= 0.999 * delta
    if side == "remove" or epsilon < 0.99 * -2 * math.log1p(-rate):
        truth = delta_of_two(side, step, step, epsilon)
        assert truth <= direction.delta(epsilon) <= 1.002 * truth


def geometric(side, mechanisms, reach=1.0):
    return GeometricLoss([Step(part) for part in mechanisms], side == "remove", reach)


@pytest.fixture
def even_only(monkeypatch):
    """Turn the geometric lattice off."""
    monkeypatch.setattr(pld, "suits_geometric", lambda steps: False)


@pytest.mark.slow
@pytest.mark.parametrize("side", SIDES)
def test_the_truth_agrees_with_more_digits(oracles, side):
    """The integral with mpmath, for one point of each direction."""
    noise, rate, _ = POINTS[0]
    epsilon = 3 * rate if side == "remove" else 0.3 * rate
    sign = 1 if side == "remove" else -1

    def integrand(u):
        ratio = 1 + rate * mpmath.expm1(u / noise - 0.5 / noise**2)
        left = epsilon - sign * mpmath.log(ratio)
        weight = ratio if side == "remove" else 1
        return weight * mpmath.npdf(u) * oracles.exact(side, noise, rate, left)

    with mpmath.workdps(30):
        kink = kink_of_two(side, (noise, rate), (noise, rate), epsilon)
        cuts = sorted([*np.linspace(-12, 12 + 1 / noise, 25).tolist(), kink])
        exact = float(mpmath.quad(integrand, cuts))
    ours = delta_of_two(side, (noise, rate), (noise, rate), epsilon)
    assert ours == pytest.approx(exact, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(("noise", "rate", "delta"), POINTS)
def test_two_steps_are_bracketed(oracles, side, noise, rate, delta):
    """Against the integral over the first step's loss, in each direction by itself."""
    check_two_steps(oracles, side, noise, rate, delta)


@pytest.mark.slow
@pytest.mark.parametrize("side", SIDES)
def test_two_steps_are_bracketed_at_random_points(oracles, side):
    """The same integral, away from the points that were chosen by hand."""
    rng = np.random.default_rng(11)
    checked = 0
    while checked < 6:
        noise, rate = rng.uniform(0.2, 0.6), 10 ** rng.uniform(-8, -5.3)
        delta = 2 * rate * 10 ** -rng.uniform(0.01, 0.4)
        if delta_of_two(side, (noise, rate), (noise, rate), 0.0) > 1.01 * delta:
            check_two_steps(oracles, side, noise, rate, delta)
            checked += 1


@pytest.mark.parametrize("side", SIDES)
def test_the_check_notices_the_even_lattice(oracles, side, even_only):
    """Without the geometric lattice the remove direction fails, so it is what is tested."""
    noise, rate, delta = POINTS[0]
    if side == "remove":
        with pytest.raises(AssertionError):
            check_two_steps(oracles, side, noise, rate, delta)
    else:
        check_two_steps(oracles, side, noise, rate, delta)


@pytest.mark.slow
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("fraction", [0.02, 0.3, 0.9])
def test_unlike_steps_are_convolved(side, fraction):
    """Noise and rate of the two differ; against the integral over the first step's loss."""
    first, second = (0.3, 2e-7), (0.5, 7e-7)
    composed = geometric(side, [GroupedGaussian(*first, 1, 1), GroupedGaussian(*second, 1, 1)])
    total = delta_of_two(side, first, second, 0.0)
    epsilon = composed.epsilon(fraction * total)
    assert delta_of_two(side, first, second, epsilon) <= fraction * total
    assert delta_of_two(side, first, second, epsilon / 1.001) >= 0.999 * fraction * total
    truth = delta_of_two(side, first, second, epsilon)
    assert truth <= composed.delta(epsilon) <= 1.001 * truth


@pytest.mark.slow
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("n_steps", [1, 2, 3, 37, 1000])
def test_both_masses_are_kept(side, n_steps):
    """The law of the losses adds up to 1, and so does the other law."""
    composed = geometric(side, [GroupedGaussian(0.4, 1e-6, n_steps, 1)], reach=60.0)
    assert np.all(composed._masses >= 0)
    total = np.sum(composed._masses) + composed._infinite
    other = np.sum(composed._masses * np.exp(-composed._losses))
    assert total <= 1 + 1e-7
    assert other <= 1 + 1e-7
    # In the add direction negative losses are left out.
    assert side == "add" or min(total, other) >= 1 - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(
    ("noise", "rate", "n_steps", "delta", "group_size"),
    [
        (0.3275, 1.506e-5, 80, 1.76e-7, 1),
        (0.647, 1.583e-5, 100, 7.68e-8, 1),
        (0.6098, 5.647e-6, 79, 5.82e-10, 1),
        (0.8825, 2.346e-8, 2, 2.25e-12, 1),
        (1.335, 1.433e-5, 4, 5.91e-6, 1),
        (0.9, 3e-6, 10, 1e-6, 3),
        (0.2781, 3.623e-7, 521_967, 3.84e-7, 1),
    ],
)
def test_agrees_with_the_even_lattice(
    oracles, even_only, side, noise, rate, n_steps, delta, group_size
):
    """Where both serve; either is within about 0.1 % of the truth."""
    even = oracles.direction(side, noise, rate, n_steps, group_size)
    epsilon = even.epsilon(delta)
    assert 0 < epsilon < math.inf
    other = geometric(side, [GroupedGaussian(noise, rate, n_steps, group_size)], max(epsilon, 1.0))
    assert other.epsilon(delta) == pytest.approx(epsilon, rel=1.5e-3)
    # Close to the largest loss the even lattice gives a looser delta.
    if side == "remove" or epsilon < -0.9 * n_steps * group_size * math.log1p(-rate):
        assert other.delta(epsilon) == pytest.approx(even.delta(epsilon), rel=1e-2)


@pytest.mark.slow
def test_a_short_run_costs_no_more_than_a_long_one():
    """Also where one lattice takes over from the other."""
    for noise, rate in LONG:
        runs = [int(n) for n in np.geomspace(1000, 10**6, 4)]
        costs = [get_epsilon(SubsampledGaussian(noise, rate, n), 1e-12) for n in runs]
        assert np.all(np.diff(costs) >= -1e-3 * np.array(costs[1:])), (noise, rate)


@pytest.mark.slow
@pytest.mark.parametrize("n_steps", [1000, 798_913])
@pytest.mark.parametrize(("noise", "rate"), LONG)
def test_epsilon_of_a_long_run_falls_with_delta(noise, rate, n_steps):
    """Within the stated 0.1 %, also where another lattice answers for the larger delta."""
    mechanism = SubsampledGaussian(noise, rate, n_steps)
    costs = [get_epsilon(mechanism, delta) for delta in (1e-12, 1.3e-12, 1e-10)]
    assert np.all(np.diff(costs) <= 1e-3 * np.array(costs[1:]))


@pytest.mark.slow
def test_rounding_does_not_cost_more_than_the_geometric_lattice(monkeypatch):
    """At the smallest deltas the allowance for a transform's rounding exceeded delta's share."""
    point = 0.4911, 1.734e-8, 798_913
    ours = pld.remove_direction([GroupedGaussian(*point, 1)]).epsilon(1.08e-12)
    monkeypatch.setattr(pld, "suits_geometric", lambda steps: False)
    even = pld.remove_direction([GroupedGaussian(*point, 1)]).epsilon(1.08e-12)
    # The limit of ever finer geometric lattices is 0.039281.
    assert 0.03928 < ours < 0.03928 * 1.001
    assert even > 2 * ours


@pytest.mark.slow
def test_delta_is_no_looser_than_epsilon():
    """Back from epsilon, delta is 0.1 % too large at most: both are read off a fine lattice."""
    for noise, rate, delta in POINTS[:2]:
        mechanism = SubsampledGaussian(noise, rate, 2)
        assert get_delta(mechanism, get_epsilon(mechanism, delta)) <= 1.001 * delta


@pytest.mark.slow
def test_a_whole_curve_is_read_off_one_lattice():
    """Also between epsilons for which the composition has been made."""
    noise, rate, _ = POINTS[0]
    mechanism = SubsampledGaussian(noise, rate, 2)
    pld._geometric_loss.cache_clear()
    epsilons = rate * np.linspace(2.0, 6.0, 4)
    deltas = privacy_profile(mechanism, epsilons)
    assert pld._geometric_loss.cache_info().misses <= 2
    truth = [delta_of_two("remove", (noise, rate), (noise, rate), e) for e in epsilons]
    assert np.all(deltas >= truth)
    assert np.all(deltas <= 1.001 * np.array(truth))


def test_only_rare_steps_of_few_kinds_suit():
    """Frequent sampling and many kinds would take too many convolutions or lose accuracy here."""

    def suits(*parts):
        return suits_geometric([Step(part) for part in parts])

    assert suits(GroupedGaussian(0.3, 1e-6, 10**6, 1))
    assert not suits(GroupedGaussian(0.3, 1e-3, 10**6, 1))
    assert not suits(GroupedGaussian(0.3, 1.0, 1, 1))
    assert not suits(*(GroupedGaussian(s, 1e-9, 1000, 1) for s in np.linspace(0.3, 0.5, 20)))
    mix = [SubsampledGaussian(0.3, 1e-7, 2), Gaussian(50.0)]
    assert 0 < get_epsilon(mix, 1e-6) < math.inf


def test_the_lattice_says_when_it_does_not_reach():
    """Losses beyond it count as infinite, so that small deltas have no epsilon."""
    composed = geometric("remove", [GroupedGaussian(0.2, 1e-6, 2, 1)], reach=0.001)
    assert composed.epsilon(1e-30) == math.inf
    assert composed.epsilon(0.5) == 0.0
    assert composed.delta(0.0) <= 2e-6
