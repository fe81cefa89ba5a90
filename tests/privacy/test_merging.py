"""Releases over all rows are one release: at any magnitude, in any order, never less costly."""

import itertools
import math
import sys
from fractions import Fraction

import pytest

from skdp.privacy import Gaussian, GroupedGaussian, SubsampledGaussian, get_delta, get_epsilon
from skdp.privacy._mechanism import merge_mechanisms


def merged_noise(*mechanisms):
    (part,) = merge_mechanisms(mechanisms)
    assert (part.sample_rate, part.n_steps, part.group_size) == (1.0, 1, 1)
    return part.noise_multiplier


def true_precision(*mechanisms):
    """Of all of them, exactly."""
    return sum(
        getattr(one, "n_steps", 1)
        * (getattr(one, "group_size", 1) / Fraction(one.noise_multiplier)) ** 2
        for one in mechanisms
    )


@pytest.mark.parametrize("noise", [1e-99, 1e-3, 0.3, 1.0, 7.0, 1e9, 1e153, 1e170, 1e300, 1.7e308])
@pytest.mark.parametrize("n_releases", [1, 2, 7])
def test_merged_noise_is_the_true_one_or_a_little_less(noise, n_releases):
    """Squares of such scales would be nothing, or infinite, long before the scales are."""
    releases = [Gaussian(noise * (1 - index / 10)) for index in range(n_releases)]
    merged = Fraction(merged_noise(*releases)) ** 2 * true_precision(*releases)
    assert 1 - Fraction(1, 10**13) < merged <= 1


def test_one_release_alone_keeps_its_noise_to_the_last_bit():
    """There is nothing to round."""
    for noise in (0.1, 3.0, 1e-90, sys.float_info.max):
        assert merged_noise(Gaussian(noise)) == noise


def test_the_order_does_not_move_the_last_bit():
    """Equal questions are equal keys of the cache."""
    releases = [
        Gaussian(0.7),
        Gaussian(3.1),
        SubsampledGaussian(11.0, 1.0, 7),
        GroupedGaussian(5.0, 1.0, 3, group_size=2),
        Gaussian(1e170),
    ]
    assert len({merged_noise(*order) for order in itertools.permutations(releases)}) == 1


def test_noise_beyond_the_range_of_doubles_stays_finite():
    """The largest double is less noise than was added, so it costs no less."""
    assert merged_noise(Gaussian(sys.float_info.max)) == sys.float_info.max
    assert merged_noise(GroupedGaussian(sys.float_info.max, 1.0, 1, 1)) <= sys.float_info.max
    assert get_epsilon([Gaussian(sys.float_info.max)] * 2, 1e-5) == 0.0


def test_noise_too_small_to_count_is_none():
    """It hides nothing, and divides by nothing."""
    assert get_epsilon([Gaussian(5e-324), Gaussian(1e-200)], 1e-5) == math.inf


@pytest.mark.parametrize("noise", [1e150, 1e162, 1e170, 1e300])
def test_a_release_with_much_noise_is_not_forgotten(noise):
    """Its total variation is 1 / (noise sqrt(2 pi)), which is little and not nothing."""
    assert get_delta(Gaussian(noise), 0.0) >= 1 / noise / math.sqrt(2 * math.pi)
    assert 0.0 <= get_delta(Gaussian(noise), 1.0) <= 1e-300
    other = get_epsilon(Gaussian(2.0), 1e-5)
    assert other <= get_epsilon([Gaussian(2.0), Gaussian(noise)], 1e-5) <= other * (1 + 1e-12)
