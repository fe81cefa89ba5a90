"""One step, each direction by itself, against 60 digits: a maximum of both hides a swapped one."""

import math

import numpy as np
import pytest

from skdp.privacy._mechanism import GroupedGaussian
from skdp.privacy._pld import add_direction, remove_direction

POINTS = [
    (0.011, 0.5, 1e-6),
    (0.02, 1e-4, 2e-5),
    (0.05, 0.93, 1e-12),
    (0.1, 1e-3, 1e-5),
    (0.1, 0.9999, 0.1),
    (0.2, 0.3, 1e-9),
    (0.3, 1e-6, 3e-7),
    (0.5, 0.08, 1e-5),
    (0.5, 6e-4, 1.4e-7),
    (0.7, 0.01, 1e-8),
    (1.0, 0.2, 1e-3),
    (1.0, 1e-8, 1e-12),
    (1.4, 0.999999, 0.3),
    (2.0, 0.08, 1e-5),
    (5.0, 0.5, 1e-2),
    (20.0, 1e-3, 1e-6),
    (300.0, 0.03, 3e-5),
    (1e4, 0.7, 1e-9),
    (1e5, 0.99, 1e-12),
    (1e6, 0.4, 1e-9),
]


def check_against_exact(oracles, side, noise, rate, delta, direction):
    epsilon = direction.epsilon(delta)
    assert oracles.exact(side, noise, rate, max(epsilon, 0.0)) <= delta
    if epsilon > 0:
        assert oracles.exact(side, noise, rate, epsilon / 1.001) >= 0.999 * delta
        true_delta = float(oracles.exact(side, noise, rate, epsilon))
        if true_delta > 1e-30:
            bound = direction.delta(epsilon)
            assert true_delta <= bound
            if epsilon < 0.99 * -math.log1p(-rate) or side == "remove":
                assert bound <= 1.001 * true_delta


@pytest.mark.parametrize("side", ["remove", "add"])
@pytest.mark.parametrize(("noise", "rate", "delta"), POINTS)
def test_epsilon_of_one_step_brackets_the_truth(oracles, side, noise, rate, delta):
    """Never below the truth at delta, at most 0.1 % above it at 0.999 delta."""
    direction = oracles.direction(side, noise, rate, 1)
    check_against_exact(oracles, side, noise, rate, delta, direction)


@pytest.mark.parametrize("side", ["remove", "add"])
def test_epsilon_of_one_step_brackets_the_truth_at_random_points(oracles, side):
    """Against the closed form with 60 digits, away from the points that were chosen by hand."""
    rng = np.random.default_rng(7)
    checked = 0
    while checked < 60:
        noise, rate = 10 ** rng.uniform(-2, 6), 10 ** rng.uniform(-9, -1e-4)
        delta = 10 ** rng.uniform(-12, math.log10(0.5))
        if oracles.exact("remove", noise, rate, 0.0) > delta:
            direction = oracles.direction(side, noise, rate, 1)
            epsilon = direction.epsilon(delta)
            assert oracles.exact(side, noise, rate, max(epsilon, 0.0)) <= delta
            if epsilon > 0:
                assert oracles.exact(side, noise, rate, epsilon / 1.001) >= 0.999 * delta
            checked += 1


PLANTED = {
    "twice the sensitivity": lambda noise, rate: (noise / 2, rate),
    "half the sensitivity": lambda noise, rate: (noise * 2, rate),
    "q in place of 1 - q": lambda noise, rate: (noise, 1 - rate),
}


@pytest.mark.parametrize("side", ["remove", "add"])
@pytest.mark.parametrize("error", PLANTED.values(), ids=PLANTED)
def test_the_check_notices_a_wrong_mechanism(oracles, side, error):
    """The comparison with the truth fails for each error that is easily made in a formula."""
    wrong = oracles.direction(side, *error(2.0, 0.08), 1)
    with pytest.raises(AssertionError):
        check_against_exact(oracles, side, 2.0, 0.08, 1e-5, wrong)


def test_the_check_notices_swapped_directions(oracles):
    """The comparison tells remove from add, which the larger of both would not."""
    for side, other in [("remove", "add"), ("add", "remove")]:
        wrong = oracles.direction(other, 2.0, 0.08, 1)
        with pytest.raises(AssertionError):
            check_against_exact(oracles, side, 2.0, 0.08, 1e-5, wrong)


def test_a_group_of_several_rows_is_a_mixture_of_shifts():
    """One step of two rows: the mixture's tails at the cut, integrated directly."""
    noise, rate, epsilon = 1.3, 0.2, 0.7
    x = np.linspace(-30, 40, 2_000_001)
    null = np.exp(-x * x / (2 * noise**2))
    weights = [(1 - rate) ** 2, 2 * rate * (1 - rate), rate**2]
    shifted = [np.exp(-((x - j) ** 2) / (2 * noise**2)) for j in range(3)]
    mixture = sum(w * density for w, density in zip(weights, shifted, strict=True))
    scale = (x[1] - x[0]) / (noise * math.sqrt(2 * math.pi))
    remove = np.sum(np.maximum(mixture - math.exp(epsilon) * null, 0)) * scale
    add = np.sum(np.maximum(null - math.exp(epsilon) * mixture, 0)) * scale
    parts = [GroupedGaussian(noise, rate, 1, 2)]
    assert remove * (1 - 1e-6) <= remove_direction(parts).delta(epsilon) <= 1.001 * remove
    assert add * (1 - 1e-6) <= add_direction(parts).delta(epsilon) <= 1.001 * add
