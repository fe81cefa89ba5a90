"""The least noise and the most steps within a budget."""

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from skdp.exceptions import CalibrationError
from skdp.privacy import (
    Gaussian,
    GroupedGaussian,
    SubsampledGaussian,
    calibrate_n_steps,
    calibrate_noise_multiplier,
    get_epsilon,
)
from skdp.privacy._accountant import _cost
from skdp.privacy._calibration import MOST_STEPS, most_steps

property_test = settings(derandomize=True, deadline=None, max_examples=40, database=None)


def powers_of_ten(low, high):
    return st.floats(low, high).map(lambda exponent: 10.0**exponent)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1, 10])
@pytest.mark.parametrize("batch_size", [1, 64, 569])
@pytest.mark.parametrize("n_epochs", [1, 30])
def test_noise_is_calibrated_within_a_thousandth(epsilon, batch_size, n_epochs):
    """Never over the budget, and at most 0.1 % below: more noise would be accuracy given away."""
    rate, n_steps = batch_size / 569, math.ceil(n_epochs * 569 / batch_size)
    noise = calibrate_noise_multiplier(epsilon, 1e-5, rate, n_steps)
    spent = get_epsilon(SubsampledGaussian(noise, rate, n_steps), 1e-5)
    assert 0.999 * epsilon <= spent <= epsilon


@pytest.mark.slow
@property_test
@given(powers_of_ten(-2, 3), powers_of_ten(-12, -0.5), powers_of_ten(-6, 0), powers_of_ten(0, 6))
def test_noise_is_calibrated_everywhere(epsilon, delta, rate, n_steps):
    """Over all magnitudes, wherever delta alone does not pay for publishing the sampled rows."""
    n_steps = int(n_steps)
    assume(rate * n_steps > 1.01 * delta / (1 - delta))
    noise = calibrate_noise_multiplier(epsilon, delta, rate, n_steps)
    spent = get_epsilon(SubsampledGaussian(noise, rate, n_steps), delta)
    assert 0.99 * epsilon <= spent <= epsilon


@pytest.mark.parametrize(
    ("epsilon", "delta", "rate", "n_steps", "expected"),
    [
        (10, 1e-5, 0.2, 500, 2.3705),
        (100, 1e-5, 0.05, 200, 0.2942),
        (0.01, 1e-5, 1, 1, 243.79),
        (0.1, 1e-9, 0.1, 128, 57.024),
        (1, 1e-5, 0.08, 375, 5.9005),
        (1000, 1e-5, 0.1, 100, 0.1092),
    ],
)
def test_reference_values_are_found(epsilon, delta, rate, n_steps, expected):
    """Cases that took others minutes, or that they gave no answer to."""
    noise = calibrate_noise_multiplier(epsilon, delta, rate, n_steps)
    assert noise == pytest.approx(expected, rel=1e-3)
    assert get_epsilon(SubsampledGaussian(noise, rate, n_steps), delta) <= epsilon


@pytest.mark.parametrize(
    ("delta", "rate", "n_steps"), [(1e-3, 1e-3, 1), (1e-2, 1e-4, 100), (0.5, 0.01, 60)]
)
def test_no_noise_is_never_the_answer(delta, rate, n_steps):
    """Delta alone would pay for publishing the rows."""
    with pytest.raises(CalibrationError, match="delta alone pays"):
        calibrate_noise_multiplier(1.0, delta, rate, n_steps)


def test_just_above_that_noise_exists():
    """Delta does not pay for a sample rate slightly above it, so some noise is needed."""
    noise = calibrate_noise_multiplier(1.0, 1e-3, 1.1e-3, 1)
    spent = get_epsilon(SubsampledGaussian(noise, 1.1e-3, 1), 1e-3)
    assert noise > 0
    assert 0.99 <= spent <= 1.0


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.5, 1.0, 2.0, 4.0, 30.0])
@pytest.mark.parametrize("epsilon", [0.5, 5.0, 40.0])
def test_one_step_more_would_exceed_the_budget(epsilon, noise):
    """The largest number within the budget, so that no step that was paid for is left out."""

    def spent(n_steps):
        return get_epsilon(SubsampledGaussian(noise, 0.08, n_steps), 1e-5)

    n_steps = calibrate_n_steps(epsilon, 1e-5, noise, 0.08)
    assert n_steps == 0 or spent(n_steps) <= epsilon
    assert spent(n_steps + 1) > epsilon


def test_the_number_of_steps_has_a_floor_and_a_ceiling():
    """Too little noise allows no step, and the search ends where steps are nearly free."""
    assert calibrate_n_steps(5.0, 1e-5, 0.0, 0.08) == 0
    assert calibrate_n_steps(5.0, 1e-5, 0.1, 0.08) == 0
    assert calibrate_n_steps(5.0, 1e-5, 1e6, 0.08) == MOST_STEPS
    assert calibrate_n_steps(5.0, 1e-5, 2.0, 1.0) == 5


ALONGSIDE = {
    "nothing": (),
    "counts": (Gaussian(8.0), Gaussian(12.0)),
    "other steps": (SubsampledGaussian(3.0, 0.01, 100),),
    "most of the budget": (Gaussian(2.2),),
    "more than the budget": (Gaussian(0.5),),
}


def counted_up(epsilon, cost):
    """The largest number of steps within the budget, by trying all from 1 on."""
    n_steps = 0
    while cost(n_steps + 1) <= epsilon:
        n_steps += 1
    return n_steps


@pytest.mark.slow
@pytest.mark.parametrize("alongside", ALONGSIDE.values(), ids=ALONGSIDE)
@pytest.mark.parametrize(("noise", "rate"), [(2.0, 0.1), (4.0, 1.0)])
def test_steps_share_the_budget_with_what_runs_alongside(noise, rate, alongside):
    """As many as brute force counts, for rows and for groups of them."""

    def cost(n_steps):
        return get_epsilon((*alongside, SubsampledGaussian(noise, rate, n_steps)), 1e-5)

    def cost_of_groups(n_steps):
        return get_epsilon((*alongside, GroupedGaussian(noise, rate, n_steps, 2)), 1e-5)

    n_steps = calibrate_n_steps(2.0, 1e-5, noise, rate, alongside=alongside)
    assert n_steps == counted_up(2.0, cost)
    of_groups = most_steps(2.0, 1e-5, GroupedGaussian(noise, rate, 7, 2), alongside=alongside)
    assert of_groups == counted_up(2.0, cost_of_groups) <= n_steps


@pytest.mark.slow
@settings(property_test, max_examples=15)
@given(powers_of_ten(-1, 1.5), powers_of_ten(-8, -3), powers_of_ten(-3, 0), st.integers(1, 3000))
def test_steps_invert_noise(epsilon, delta, rate, n_steps):
    """Noise that was found for n steps lets at least n of them be taken at the same budget."""
    assume(rate * n_steps > 2 * delta)
    noise = calibrate_noise_multiplier(epsilon, delta, rate, n_steps)
    assert calibrate_n_steps(epsilon, delta, noise, rate) >= n_steps


def test_equal_questions_are_answered_from_the_cache():
    """Folds of a search ask the same again and again, and an answer takes many transforms."""
    calibrate_noise_multiplier(1.25, 1e-5, 0.08, 375)
    before = _cost.cache_info()
    for _ in range(1000):
        calibrate_noise_multiplier(1.25, 1e-5, 0.08, 375)
    assert _cost.cache_info() == before


def test_few_evaluations_are_needed():
    """Each composes all steps anew, so their number is what a calibration takes."""
    before = _cost.cache_info().misses
    calibrate_noise_multiplier(1.7, 1e-5, 0.08, 375)
    assert _cost.cache_info().misses - before <= 8


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ((0, 1e-5, 0.1, 10), "epsilon must be finite and above 0; got 0"),
        ((math.inf, 1e-5, 0.1, 10), "epsilon .* got inf"),
        ((1, 0, 0.1, 10), "delta must lie strictly between 0 and 1; got 0"),
        ((1, 1e-5, 0, 10), "sample_rate must be above 0"),
        ((1, 1e-5, 0.1, 0), "n_steps must be at least 1"),
    ],
)
def test_wrong_numbers_are_named(arguments, match):
    """A search for noise under an impossible budget or rate would end in a meaningless number."""
    with pytest.raises(ValueError, match=match):
        calibrate_noise_multiplier(*arguments)


def test_wrong_numbers_are_named_for_steps_too():
    """The search over steps has a parameter that the one over noise lacks."""
    with pytest.raises(ValueError, match="noise_multiplier must be finite"):
        calibrate_n_steps(1, 1e-5, -1, 0.1)


@pytest.mark.slow
def test_steps_that_delta_alone_pays_for_are_refused():
    """Noise of 0.001 hides nothing; only the chance never to be drawn would."""
    for rate in (1e-5, 1e-6):
        with pytest.raises(CalibrationError, match="delta alone pays"):
            calibrate_n_steps(1.0, 1e-3, 1e-3, rate)


@pytest.mark.slow
def test_extreme_budgets_are_calibrated_or_refused_without_a_bare_error():
    """The first guess stays within the range of numbers."""
    for epsilon, delta, rate, n_steps in [(1e-200, 1e-300, 1.0, 1), (1e200, 1e-5, 1e-3, 10**5)]:
        noise = calibrate_noise_multiplier(epsilon, delta, rate, n_steps)
        assert get_epsilon(SubsampledGaussian(noise, rate, n_steps), delta) <= epsilon


def test_releases_alongside_share_the_budget():
    """Together they spend it, and what leaves nothing is refused."""
    alongside = (Gaussian(20.0), SubsampledGaussian(3.0, 0.01, 100))
    noise = calibrate_noise_multiplier(1.0, 1e-5, 0.1, 50, alongside=alongside)
    spent = get_epsilon((*alongside, SubsampledGaussian(noise, 0.1, 50)), 1e-5)
    assert 0.999 <= spent <= 1.0
    assert noise > calibrate_noise_multiplier(1.0, 1e-5, 0.1, 50)
    with pytest.raises(CalibrationError, match="alongside"):
        calibrate_noise_multiplier(1.0, 1e-5, 0.1, 50, alongside=[Gaussian(1.0)])
