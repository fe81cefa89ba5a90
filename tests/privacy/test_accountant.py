"""Reference values, cases that broke other accountants, and what must always hold."""

import dataclasses
import math
import pickle

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from skdp.privacy import (
    Gaussian,
    GroupedGaussian,
    SubsampledGaussian,
    explain_epsilon,
    get_delta,
    get_epsilon,
    get_renyi_divergence,
    textbook_epsilon,
)
from skdp.privacy._rdp import renyi_epsilon

# Nothing depends on luck: the examples are the same in every run.
property_test = settings(derandomize=True, deadline=None, max_examples=25, database=None)


def powers_of_ten(low, high):
    return st.floats(low, high).map(lambda exponent: 10.0**exponent)


noises = powers_of_ten(-2, 6)
rates = st.one_of(powers_of_ten(-7, 0), powers_of_ten(-6, -0.01).map(lambda x: 1 - x))
steps = powers_of_ten(0, 6).map(int)
deltas = powers_of_ten(-12, math.log10(0.5))


# -- Closed form, reference values, hard cases -----------------------------------------------------


@pytest.mark.parametrize("n_steps", [1, 10, 10**6])
@pytest.mark.parametrize("noise", [0.011, 0.7, 30.0, 1e3, 1e6])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.3])
def test_without_sampling_the_closed_form_answers(noise, n_steps, delta):
    """Compared with 60 digits; never below, and off by less than 1e-6."""
    mechanism = SubsampledGaussian(noise, 1.0, n_steps)
    cost = explain_epsilon(mechanism, delta)
    assert cost.method == "closed form"
    with mpmath.workdps(60):
        mu = mpmath.sqrt(n_steps) / mpmath.mpf(noise)

        def exact(e):
            e = mpmath.mpf(e)
            upper = mpmath.ncdf(mu / 2 - e / mu)
            return upper - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)

        assert exact(cost.epsilon) <= delta
        if cost.epsilon > 0:
            assert exact(cost.epsilon * (1 - 1e-6)) > delta * (1 - 1e-6)
            true_delta = exact(cost.epsilon)
            assert true_delta <= get_delta(mechanism, cost.epsilon) <= true_delta * (1 + 1e-6)


@pytest.mark.parametrize(
    ("noise", "rate", "n_steps", "delta", "expected"),
    [
        (1.0, 0.08, 375, 1e-5, 10.9065),
        (0.5, 0.08, 375, 1e-5, 52.8182),
        (2.0, 0.08, 375, 1e-5, 3.6721),
        (4.0, 0.08, 375, 1e-5, 1.5609),
        (1.1, 0.0042667, 14062, 1e-5, 2.3817),
        (0.8, 0.001, 10000, 1e-6, 0.9473),
        (0.3, 0.01, 1000, 1e-5, 69.816),
        (3.0, 0.2, 50, 1 / 48000, 1.9608),
        (1.54, 1024 / 50000, 1464, 1e-5, 2.3863),
        (0.8, 0.125, 1000, 1e-6, 56.726),
        (1.0, 0.2, 10, 1e-5, 4.9842),
        (1.0, 0.2, 500, 1e-5, 38.170),
        (1.1, 256 / 60000, 14063, 1e-7, 2.9844),
        (4.0, 0.01, 40000, 1e-5, 2.0334),
        (1.0, 0.01, 100, 1e-5, 0.7180),
        (2.0, 1.0, 10, 1e-5, 7.5113),
        (1.0, 1.0, 1, 1e-5, 4.3772),
        (5.0, 0.064, 300, 1e-5, 0.8381),
        (5.0, 0.064, 14700, 1e-5, 7.4547),
    ],
)
def test_reference_values(noise, rate, n_steps, delta, expected):
    """Computed with dp-accounting 0.6.0, add/remove neighbours, Poisson sampling."""
    epsilon = get_epsilon(SubsampledGaussian(noise, rate, n_steps), delta)
    assert epsilon == pytest.approx(expected, rel=2e-3)


def test_near_the_least_delta_rounding_is_bounded():
    """A Fourier transform without tilt falls 0.5 to 1.9 % below the truth here."""
    almost_one = 1 - 2.0**-40
    sampled = get_epsilon(SubsampledGaussian(1000, almost_one, 10**6), 1e-12)
    assert 7.2385 <= sampled <= 7.2385 * 1.001
    assert 11.939 <= get_epsilon(SubsampledGaussian(48.6, 0.118, 429_053), 1.8e-12) <= 11.951


def test_very_small_deltas_are_monotone():
    """Far below the resolution of doubles around 1, a slightly larger delta still costs less."""
    mechanism = SubsampledGaussian(4, 0.00033, 10_000)
    lower, higher = get_epsilon(mechanism, 1.1e-18), get_epsilon(mechanism, 1.13e-18)
    assert 0.067 < higher < lower <= 0.068


@pytest.mark.parametrize(
    ("noise", "rate", "n_steps", "delta"),
    [(100, 0.01, 1, 0.1), (1, 0.00105, 1, 1e-3), (0.5, 1e-6, 5, 1e-5), (20, 0.01, 1, 3e-4)],
)
def test_epsilon_is_exactly_0_where_delta_pays_for_everything(noise, rate, n_steps, delta):
    """Delta is at least the total variation distance between outputs with and without a row."""
    assert get_epsilon(SubsampledGaussian(noise, rate, n_steps), delta) == 0.0


def test_epsilon_above_700_is_read():
    """exp(-epsilon) underflows there; Renyi divergences say 66,417.

    The truth, 4248.119, is by inversion of the characteristic function with two node distances
    and by a Fourier transform on a mean-preserving grid, which agree to 2e-5.
    """
    epsilon = get_epsilon(SubsampledGaussian(0.1, 250 / 60000, 14400), 1e-5)
    assert 4248.118 <= epsilon <= 4248.119 * 1.001


def test_many_steps_of_tiny_noise():
    """The mean loss, about n q / (2 noise^2), is 2.5e9, which the grid still has to resolve."""
    cost = explain_epsilon(SubsampledGaussian(0.01, 0.5, 10**6), 1e-12)
    assert cost.method == "pld"
    assert 2.515e9 < cost.epsilon < 2.520e9


# -- What must always hold -------------------------------------------------------------------------


@pytest.mark.slow
@property_test
@given(noises, rates, steps, deltas)
def test_every_question_has_an_answer(noise, rate, n_steps, delta):
    """A finite epsilon for all valid settings, and the larger of the two directions."""
    mechanism = SubsampledGaussian(noise, rate, n_steps)
    cost = explain_epsilon(mechanism, delta)
    assert 0 <= cost.epsilon < math.inf
    assert cost.epsilon == max(cost.remove, cost.add) == get_epsilon(mechanism, delta)
    assert cost.method in {"pld", "closed form", "total variation"}


@pytest.mark.slow
@property_test
@given(noises, rates, steps, deltas, st.floats(1.001, 3))
def test_epsilon_is_monotone(noise, rate, n_steps, delta, factor):
    """In noise, rate, steps and delta, within the stated 0.1 %."""
    base = get_epsilon(SubsampledGaussian(noise, rate, n_steps), delta)
    tight = 1.001 * base * (1 + 1e-9)
    relaxed = delta / 0.999
    assert get_epsilon(SubsampledGaussian(noise * factor, rate, n_steps), relaxed) <= tight
    assert get_epsilon(SubsampledGaussian(noise, rate / factor, n_steps), relaxed) <= tight
    fewer = max(1, int(n_steps / factor))
    assert get_epsilon(SubsampledGaussian(noise, rate, fewer), relaxed) <= tight
    assert (
        get_epsilon(SubsampledGaussian(noise, rate, n_steps), min(relaxed * factor, 0.9)) <= tight
    )


@pytest.mark.slow
@property_test
@given(powers_of_ten(-1, 4), rates, powers_of_ten(0, 5).map(int), deltas)
def test_delta_inverts_epsilon(noise, rate, n_steps, delta):
    """Both read one curve, so there and back loses no more than the stated 0.1 % each way."""
    mechanism = SubsampledGaussian(noise, rate, n_steps)
    epsilon = get_epsilon(mechanism, delta)
    # For the epsilons of hundreds that only come without much protection, 0.1 % of epsilon is
    # more than 0.1 % of delta.
    assume(epsilon < 300)
    assert get_delta(mechanism, epsilon) <= 1.001 * delta
    if epsilon > 0:
        assert get_delta(mechanism, epsilon / 1.001) >= 0.998 * delta


@pytest.mark.slow
@property_test
@given(powers_of_ten(-1, 3), rates, st.integers(1, 400), st.integers(2, 9), deltas)
def test_a_mix_of_nearly_equal_parts_costs_what_equal_parts_cost(noise, rate, n_steps, k, delta):
    """Convolving k mechanisms equals k times the steps, within 0.1 %."""
    together = get_epsilon(SubsampledGaussian(noise, rate, k * n_steps), delta)
    nudged = [SubsampledGaussian(noise * (1 + 1e-9 * i), rate, n_steps) for i in range(k)]
    apart = get_epsilon(nudged, delta)
    assert apart <= 1.001 * get_epsilon(
        SubsampledGaussian(noise, rate, k * n_steps), 0.999 * delta
    ) * (1 + 1e-6)
    assert together <= 1.001 * get_epsilon(nudged, 0.999 * delta) * (1 + 1e-6)


@pytest.mark.slow
@property_test
@given(powers_of_ten(-0.5, 2), powers_of_ten(-4, -0.3), powers_of_ten(0, 4).map(int), deltas)
def test_renyi_is_never_below(noise, rate, n_steps, delta):
    """An independent upper bound; the tighter accountant must not exceed it."""
    epsilon = get_epsilon(SubsampledGaussian(noise, rate, n_steps), delta)
    assert epsilon <= 1.001 * renyi_epsilon((GroupedGaussian(noise, rate, n_steps, 1),), delta)


def test_the_renyi_accountant_takes_over_outside_of_the_grids():
    """Its bound is within a factor 2 of what ten sampled steps lose, 10 / (2 noise^2) = 5e12."""
    cost = explain_epsilon(SubsampledGaussian(1e-6, 0.5, 10), 1e-5)
    assert cost.method == "rdp"
    assert 5e12 / 2 < cost.epsilon < 1e13


# -- Renyi divergences -----------------------------------------------------------------------------


def exact_renyi(noise, rate, order, n_steps):
    with mpmath.workdps(25):
        s, q, a = mpmath.mpf(noise), mpmath.mpf(rate), mpmath.mpf(order)

        def integrand(x):
            ratio = 1 - q + q * mpmath.exp((2 * x - 1) / (2 * s * s))
            return mpmath.npdf(x, 0, s) * ratio**a

        knots = mpmath.linspace(-12 * s, order + 12 * s, 24)
        return n_steps * mpmath.log(mpmath.quad(integrand, knots)) / (a - 1)


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "rate"), [(0.8, 0.01), (2.0, 0.3), (10.0, 0.05)])
def test_renyi_divergence_is_exact_for_whole_orders_and_a_bound_between(noise, rate):
    """Against the integral of the ratio's power with 25 digits."""
    orders = [1.3, 2, 2.7, 5, 16]
    values = get_renyi_divergence(SubsampledGaussian(noise, rate, 10), orders)
    for order, value in zip(orders, values, strict=True):
        truth = float(exact_renyi(noise, rate, order, 10))
        assert value >= truth * (1 - 1e-12)
        if order == int(order):
            assert value == pytest.approx(truth, rel=1e-9)
        else:
            assert value <= 2 * truth


def test_renyi_divergence_of_mixes_groups_and_no_noise():
    """Divergences of independent releases add up; a group of k costs more than k times one row."""
    parts = [SubsampledGaussian(2.0, 0.1, 5), Gaussian(3.0)]
    apart = sum(get_renyi_divergence(part, [2, 8]) for part in parts)
    np.testing.assert_allclose(get_renyi_divergence(parts, [2, 8]), apart)
    one = get_renyi_divergence(GroupedGaussian(2.0, 0.1, 5, 1), 4)
    assert one.shape == ()
    assert get_renyi_divergence(GroupedGaussian(2.0, 0.1, 5, 3), 4) > 3 * one
    assert get_renyi_divergence(Gaussian(0), 2) == math.inf
    with pytest.raises(ValueError, match="orders must be above 1"):
        get_renyi_divergence(Gaussian(1), [2, 1])


# -- Mechanisms ------------------------------------------------------------------------------------


def test_mechanisms_are_frozen_hashable_and_plain():
    """They are keys of caches, so equal numbers of whatever type make one mechanism."""
    mechanism = SubsampledGaussian(np.float32(2), np.float64(0.5), np.int64(7))
    assert mechanism == SubsampledGaussian(2.0, 0.5, 7)
    assert {mechanism: 1}[SubsampledGaussian(2, 0.5, 7)] == 1
    assert type(mechanism.n_steps) is int
    assert type(mechanism.noise_multiplier) is float
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism
    with pytest.raises(dataclasses.FrozenInstanceError):
        mechanism.n_steps = 8


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ((-1, 0.5, 1), ValueError, "noise_multiplier must be finite and at least 0; got -1"),
        ((math.nan, 0.5, 1), ValueError, "noise_multiplier .* got nan"),
        ((math.inf, 0.5, 1), ValueError, "noise_multiplier .* got inf"),
        (("1", 0.5, 1), TypeError, "noise_multiplier must be a real number; got '1'"),
        ((True, 0.5, 1), TypeError, "noise_multiplier must be a real number; got True"),
        ((1, 0, 1), ValueError, "sample_rate must be above 0 and at most 1; got 0"),
        ((1, 1.01, 1), ValueError, "sample_rate .* got 1.01"),
        ((1, math.nan, 1), ValueError, "sample_rate .* got nan"),
        ((1, 0.5, 0), ValueError, "n_steps must be at least 1; got 0"),
        ((1, 0.5, 2.0), TypeError, "n_steps must be a whole number; got 2.0"),
        ((1, 0.5, True), TypeError, "n_steps must be a whole number; got True"),
    ],
)
def test_wrong_numbers_are_named(arguments, error, match):
    """What is no mechanism must not get a figure, so it is refused where it is made."""
    with pytest.raises(error, match=match):
        SubsampledGaussian(*arguments)
    with pytest.raises(error, match=match):
        GroupedGaussian(*arguments, group_size=2)


def test_wrong_questions_are_named():
    """A figure for a delta or a mechanism that does not exist would be read as a promise."""
    good = SubsampledGaussian(1, 0.5, 1)
    for delta in (0, 1, -1, math.nan):
        with pytest.raises(ValueError, match="delta must lie strictly between 0 and 1"):
            get_epsilon(good, delta)
    with pytest.raises(ValueError, match="epsilon must be at least 0; got -1"):
        get_delta(good, -1)
    with pytest.raises(ValueError, match="epsilon must be at least 0; got nan"):
        get_delta(good, math.nan)
    with pytest.raises(TypeError, match="mechanism must be a SubsampledGaussian"):
        get_epsilon(1.0, 1e-5)
    with pytest.raises(TypeError, match="mechanism must be a SubsampledGaussian"):
        get_epsilon([good, (1, 0.5, 1)], 1e-5)
    with pytest.raises(ValueError, match="at least one release"):
        get_epsilon([], 1e-5)
    with pytest.raises(ValueError, match="group_size must be at least 1"):
        GroupedGaussian(1, 0.5, 1, 0)


# -- The textbook ----------------------------------------------------------------------------------


def test_the_textbook_estimate_is_reproduced():
    """The tutorial's two figures."""
    epsilon, n_steps, rate = textbook_epsilon(800, 64, 0.5, 30)
    assert (round(epsilon, 2), n_steps, rate) == (21.23, 375, 0.08)
    assert round(textbook_epsilon(800, 64, 2.0, 30)[0], 2) == 5.31
    assert textbook_epsilon(800, 64, 0.0, 30)[0] == math.inf
    assert textbook_epsilon(50, 64, 1.0, 3)[1:] == (3, 1.0)


def test_the_textbook_estimate_bounds_nothing():
    """Too low at noise 0.5, too high at noise 2."""
    for noise, too_low in [(0.5, True), (2.0, False)]:
        epsilon, n_steps, rate = textbook_epsilon(800, 64, noise, 30)
        truth = get_epsilon(SubsampledGaussian(noise, rate, n_steps), 1e-5)
        assert (epsilon < truth) is too_low
