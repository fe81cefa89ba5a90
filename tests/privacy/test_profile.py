"""The whole privacy curve: deltas, errors of an adversary, advantage."""

import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from skdp.privacy import (
    Gaussian,
    SubsampledGaussian,
    get_delta,
    get_epsilon,
    membership_advantage,
    privacy_profile,
    trade_off_curve,
)

ALPHAS = np.concatenate([[0.0], np.geomspace(1e-6, 1.0, 40)])


def test_the_profile_is_delta_at_each_epsilon():
    """In the shape that was asked for, equal to single answers, and falling with epsilon."""
    mechanism = SubsampledGaussian(1.0, 0.05, 100)
    epsilons = np.linspace(0, 6, 25).reshape(5, 5)
    deltas = privacy_profile(mechanism, epsilons)
    assert deltas.shape == (5, 5)
    assert deltas[1, 2] == get_delta(mechanism, epsilons[1, 2])
    assert np.all(np.diff(deltas.ravel()) < 0)


def test_the_profile_reaches_far_on_either_side():
    """Delta from 1 down to below 1e-12, without a NaN between."""
    mechanism = SubsampledGaussian(0.5, 0.2, 1000)
    deltas = privacy_profile(mechanism, [0, 1, 50, 200, 400, 600, 900, 1e4, 1e9, math.inf])
    assert np.all(np.diff(deltas) <= 0)
    assert deltas[0] > 0.999
    assert deltas[-3] < 1e-25


@pytest.mark.parametrize("noise", [0.4, 1.0, 5.0])
def test_the_trade_off_of_a_gaussian_is_its_formula(noise):
    """Phi(Phi^-1(1 - alpha) - mu): never above it, and close."""
    betas = trade_off_curve(Gaussian(noise), ALPHAS)
    truth = ndtr(ndtri(1 - ALPHAS) - 1 / noise)
    assert np.all(betas <= truth + 1e-12)
    np.testing.assert_allclose(betas, truth, atol=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    [
        SubsampledGaussian(0.7, 0.1, 1),
        SubsampledGaussian(2.0, 0.4, 1),
        SubsampledGaussian(9, 0.9, 1),
    ],
)
def test_the_trade_off_of_one_step_is_the_envelope_of_both_directions(mechanism):
    """Both tests of thresholds are at least as good as the curve, and nothing is much better."""
    noise, rate = mechanism.noise_multiplier, mechanism.sample_rate
    x = np.linspace(-10 * noise, 1 + 10 * noise, 4001)
    null = ndtr(-x / noise)
    mixture = (1 - rate) * null + rate * ndtr((1 - x) / noise)
    # N against M, rejecting above a threshold, and the reverse, rejecting below one.
    alphas = np.concatenate([null, 1 - mixture])
    betas = np.concatenate([1 - mixture, null])
    curve = trade_off_curve(mechanism, alphas)
    assert np.all(curve <= betas + 1e-9)
    # The lower convex envelope of all these points touches the curve.
    order = np.argsort(alphas)
    hull = []
    for point in zip(alphas[order], betas[order], strict=True):
        while len(hull) > 1 and (hull[-1][0] - hull[-2][0]) * (point[1] - hull[-2][1]) <= (
            hull[-1][1] - hull[-2][1]
        ) * (point[0] - hull[-2][0]):
            hull.pop()
        hull.append(point)
    hull = np.array(hull)
    envelope = np.interp(ALPHAS, hull[:, 0], hull[:, 1])
    np.testing.assert_allclose(trade_off_curve(mechanism, ALPHAS), envelope, atol=2e-3)


@pytest.mark.slow
def test_the_trade_off_curve_is_a_trade_off_curve():
    """It falls, is convex and never above 1 - alpha, as Dong et al. (2019) define it."""
    betas = trade_off_curve(SubsampledGaussian(1.0, 0.05, 200), ALPHAS)
    assert np.all(np.diff(betas) <= 0)
    assert np.all((betas >= 0) & (betas <= 1 - ALPHAS))
    slopes = np.diff(betas) / np.diff(ALPHAS)
    assert np.all(np.diff(slopes) >= -1e-9)
    np.testing.assert_array_equal(trade_off_curve(Gaussian(0), [0, 0.5, 1]), 0)
    with pytest.raises(ValueError, match=r"alphas must lie in \[0, 1\]"):
        trade_off_curve(Gaussian(1), [0.5, 1.5])


@pytest.mark.parametrize("noise", [0.2, 1.0, 40.0])
@pytest.mark.parametrize("rate", [0.01, 0.5, 1.0])
def test_the_advantage_of_one_step_is_its_total_variation(noise, rate):
    """Closed form: the rate times the total variation distance of two normal laws 1 apart."""
    truth = rate * (2 * ndtr(1 / (2 * noise)) - 1)
    advantage = membership_advantage(SubsampledGaussian(noise, rate, 1))
    assert truth * (1 - 1e-12) <= advantage <= 1.001 * truth


def test_advantage_and_epsilon_fit_together():
    """At delta equal to the advantage, epsilon is 0."""
    mechanism = SubsampledGaussian(2.0, 0.08, 375)
    advantage = membership_advantage(mechanism)
    assert get_epsilon(mechanism, advantage) < 1e-3
    assert get_epsilon(mechanism, 0.99 * advantage) > 1e-3
    assert membership_advantage(Gaussian(0)) == 1.0


@pytest.mark.slow
def test_the_trade_off_at_tiny_false_alarms_is_not_above_the_truth():
    """Losses of thousands leave no miss rate even at the smallest double."""
    weak = SubsampledGaussian(0.1, 250 / 60000, 14400)
    betas = trade_off_curve(weak, [5e-324, 1e-310, 1e-300, 1e-100])
    assert np.all(betas < 1e-3)


@pytest.mark.parametrize("question", [trade_off_curve, privacy_profile])
def test_wrong_numbers_are_named(question):
    """By the name of the parameter that holds them."""
    for wrong in (-1.0, [0.5, -0.5], [np.nan]):
        with pytest.raises(ValueError, match=r"(alphas|epsilons) must"):
            question(Gaussian(1.0), wrong)
    with pytest.raises(TypeError, match=r"(alphas|epsilons) must be numbers"):
        question(Gaussian(1.0), "half")
