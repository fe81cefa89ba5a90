"""Many steps and mixed mechanisms, bracketed by Fourier inversion; memory."""

import json
import math
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from skdp.privacy import (
    Gaussian,
    GroupedGaussian,
    SubsampledGaussian,
    explain_epsilon,
    get_delta,
    get_epsilon,
)
from skdp.privacy._mechanism import merge_mechanisms
from skdp.privacy._pld import add_direction, remove_direction

POINTS = [
    (1.0, 0.08, 375, 1e-5),
    (0.5, 0.08, 375, 1e-5),
    (2.0, 0.08, 375, 1e-5),
    (4.0, 0.08, 375, 1e-5),
    (1.1, 0.0042667, 14062, 1e-5),
    (0.3, 0.01, 1000, 1e-5),
    (0.8, 0.125, 1000, 1e-6),
    (1.2723, 0.474884, 9695, 1.15471e-4),
    (48.6, 0.118, 429_053, 1.8e-12),
    (1e6, 1e-3, 10**6, 1e-8),
    (1e5, 0.9, 10**6, 1e-12),
    (30.0, 1e-4, 10**6, 1e-10),
    (8.0, 0.9999, 50, 0.4),
]


@pytest.mark.slow
@pytest.mark.parametrize("side", ["remove", "add"])
@pytest.mark.parametrize(("noise", "rate", "n_steps", "delta"), POINTS)
def test_epsilon_is_bracketed(oracles, side, noise, rate, n_steps, delta):
    """Merging outcomes bounds delta from below, so each answer is certified on both sides."""
    epsilon = oracles.direction(side, noise, rate, n_steps).epsilon(delta)
    parts = [(noise, rate, n_steps)]
    assert oracles.inverted(side, parts, epsilon) <= delta
    assert oracles.inverted(side, parts, epsilon / 1.001) >= 0.999 * delta


@pytest.mark.parametrize("side", ["remove", "add"])
def test_different_mechanisms_are_convolved(oracles, side):
    """A mix costs what the convolution says, not what its parts add up to."""
    mix = [SubsampledGaussian(1.2, 0.01, 900), SubsampledGaussian(3.0, 0.2, 60)]
    parts = merge_mechanisms(mix)
    epsilon = (remove_direction if side == "remove" else add_direction)(parts).epsilon(1e-6)
    triples = [(m.noise_multiplier, m.sample_rate, m.n_steps) for m in mix]
    assert oracles.inverted(side, triples, epsilon) <= 1e-6
    assert oracles.inverted(side, triples, epsilon / 1.001) >= 0.999e-6
    assert epsilon < sum(get_epsilon(mechanism, 5e-7) for mechanism in mix)


def test_a_gaussian_among_the_steps_is_composed_too():
    """The total lies above the training alone and below the sum of the epsilons of both."""
    training = SubsampledGaussian(2.0, 0.08, 375)
    alone, both = get_epsilon(training, 1e-5), get_epsilon([training, Gaussian(2.0)], 1e-5)
    assert alone < both < alone + get_epsilon(Gaussian(2.0), 1e-5)
    # Noise so large that it adds nothing visible, and so small that it decides alone.
    assert get_epsilon([training, Gaussian(1e6)], 1e-5) == pytest.approx(alone, rel=1e-3)
    assert get_epsilon([training, Gaussian(0.1)], 1e-5) >= get_epsilon(Gaussian(0.1), 1e-5)


def test_the_form_of_the_question_does_not_matter():
    """Bare or in a sequence, split or not, in any order: the same number to the last bit."""
    one = SubsampledGaussian(2.0, 0.08, 375)
    expected = get_epsilon(one, 1e-5)
    assert get_epsilon([one], 1e-5) == expected
    assert get_epsilon((SubsampledGaussian(2.0, 0.08, 75),) * 5, 1e-5) == expected
    assert get_epsilon(GroupedGaussian(2.0, 0.08, 375, 1), 1e-5) == expected
    mix = [one, SubsampledGaussian(1.0, 0.01, 10), Gaussian(30.0)]
    assert get_epsilon(mix, 1e-5) == get_epsilon(mix[::-1], 1e-5)


def test_rows_of_one_person_cost_more_than_a_multiple():
    """Reference figures: 3.67 for one row, 8.30 for two, at most 10.9 by shrinking the noise."""
    one = get_epsilon(SubsampledGaussian(2.0, 0.08, 375), 1e-5)
    two = get_epsilon(GroupedGaussian(2.0, 0.08, 375, 2), 1e-5)
    worst = get_epsilon(SubsampledGaussian(1.0, 0.08, 375), 1e-5)
    assert two == pytest.approx(8.30, abs=0.01)
    assert 2 * one < two < worst
    costs = [get_epsilon(GroupedGaussian(2.0, 0.08, 375, k), 1e-5) for k in (1, 2, 3, 5, 8)]
    assert costs == sorted(costs)
    everyone = GroupedGaussian(10.0, 1.0, 20, 4)
    assert get_epsilon(everyone, 1e-5) == pytest.approx(get_epsilon(Gaussian(2.5 / 20**0.5), 1e-5))


def test_a_large_group_has_an_answer():
    """About 20 of 200 rows are drawn a step, so it costs more than 20 full rows, less than 200."""
    cost = explain_epsilon(GroupedGaussian(50.0, 0.1, 40, 200), 1e-5)
    assert cost.method == "pld"
    smaller = get_epsilon(SubsampledGaussian(50.0 / 20, 1.0, 40), 1e-5)
    larger = get_epsilon(SubsampledGaussian(50.0 / 200, 1.0, 40), 1e-5)
    assert smaller < cost.epsilon < larger


ROWS = json.loads((Path(__file__).parent / "vectors" / "dp_accounting.json").read_text())


@pytest.mark.slow
@pytest.mark.parametrize("side", ["remove", "add"])
def test_agrees_with_dp_accounting(oracles, side):
    """Stored values of an independent accountant (see make_oracle_values.py), 90 points.

    They round up too: within 0.05 % for the grid, and some 0.1 % more for tails in long runs.
    In the add direction no answer exceeds ``-n_steps log(1 - rate)``, which theirs may.
    """
    assert len(ROWS) >= 60
    for row in ROWS:
        point = row["noise_multiplier"], row["sample_rate"], row["n_steps"]
        epsilon = max(0.0, oracles.direction(side, *point).epsilon(row["delta"]))
        theirs = row["epsilon"][side]
        supremum = -row["n_steps"] * math.log1p(-row["sample_rate"])
        assert epsilon <= 1.001 * row["epsilon_at_0.999_delta"][side], row
        if side == "remove" or theirs < 0.95 * supremum:
            assert epsilon >= theirs * (1 - 2e-3), row


def test_the_stored_values_are_compared_side_by_side(oracles):
    """Swapping the directions, or dropping one, would be seen at most points."""
    apart = [r for r in ROWS if r["epsilon"]["add"] < 0.97 * r["epsilon"]["remove"]]
    assert len(apart) > 30


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    [
        SubsampledGaussian(0.01, 0.5, 10**6),
        SubsampledGaussian(0.3052378064272902, 3.696625177925881e-08, 6634),
    ],
)
@pytest.mark.parametrize("delta", [1e-12, 2.2585594017460866e-05])
def test_the_worst_corners_stay_small(mechanism, delta):
    """Largest windows and finest lattices that a search of the domain found."""
    tracemalloc.start()
    epsilon = get_epsilon(mechanism, delta)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 0 <= epsilon < math.inf
    assert peak < 200e6


def test_infinite_and_zero_losses_are_told_apart():
    """No noise is inf at any delta; noise beyond all measure is 0."""
    assert get_epsilon(SubsampledGaussian(0, 0.1, 1), 0.5) == math.inf
    assert get_epsilon([SubsampledGaussian(0, 0.1, 1), Gaussian(1)], 0.5) == math.inf
    assert get_delta(SubsampledGaussian(0, 0.1, 1), 100.0) == 1.0
    assert get_epsilon(SubsampledGaussian(1e300, 0.1, 1), 1e-12) == 0.0
    assert get_epsilon(Gaussian(1e300), 1e-12) == 0.0


@pytest.mark.slow
def test_wild_numbers_have_an_answer():
    """Far outside of what anyone trains with: no exception, no NaN, and no warning."""
    with np.errstate(all="raise"):
        for noise in (1e-120, 1e-3, 0.3, 1e300):
            for rate in (1e-300, 1e-12, 1 - 2**-53, 1.0):
                for delta in (1e-300, 0.999999):
                    mechanism = SubsampledGaussian(noise, rate, 10**9)
                    assert get_epsilon(mechanism, delta) >= 0
                    assert 0 <= get_delta(mechanism, 3.0) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_delta_and_epsilon_of_a_mixed_composition_invert_each_other(seed):
    """Full-batch releases beside sampled steps, at epsilons from small to far out of reach.

    Without the full batches the losses of one direction are bounded; with them nearly so.
    """
    rng = np.random.default_rng(seed)
    parts = [Gaussian(10 ** rng.uniform(-0.5, 2.5)) for _ in range(rng.integers(1, 3))]
    parts.append(
        SubsampledGaussian(
            10 ** rng.uniform(-0.3, 1.5), 10 ** rng.uniform(-3, 0), int(10 ** rng.uniform(0, 3))
        )
    )
    before = 1.0
    for epsilon in np.geomspace(0.01, 200.0, 12):
        delta = get_delta(parts, epsilon)
        assert delta <= before * (1 + 1e-6)
        before = delta
        if 1e-12 < delta < 0.4:
            assert get_epsilon(parts, delta) <= epsilon * 1.002 + 1e-4
            assert get_epsilon(parts, 0.995 * delta) >= epsilon * 0.998 - 1e-3


def test_delta_beyond_the_reach_of_bounded_losses_is_that_of_the_unbounded_direction():
    """Two small full-batch releases hardly move what the sampled steps spend far out."""
    steps = SubsampledGaussian(1.1923, 0.1125, 45)
    parts = (Gaussian(32.85), Gaussian(40.23), steps)
    for epsilon in (5.0, 5.9, 6.2, 8.0):
        alone = get_delta(steps, epsilon)
        assert alone < get_delta(parts, epsilon) < 1.05 * alone
