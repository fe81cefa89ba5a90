"""Noise is normal, fresh, and of streams that share nothing."""

import numpy as np
import pytest
from scipy import stats

from skdp.mechanisms import _noise
from skdp.mechanisms._noise import SeededSource, SystemSource, draw_seed, random_source

SOURCES = [SystemSource(), SeededSource(7)]
IDS = ["system", "seeded"]
# Each statistical claim below fails by chance with probability 1e-6 at most.
FALSE_ALARM = 1e-6


def beyond(draws, bound):
    return int(np.count_nonzero(np.abs(draws) > bound))


@pytest.mark.parametrize("source", SOURCES, ids=IDS)
def test_noise_is_normal(source):
    """Kolmogorov-Smirnov on 200,000 pooled draws; uniform noise of the same spread fails it."""
    draws = source.normal((1000, 200)).ravel()
    assert stats.kstest(draws, "norm").pvalue > FALSE_ALARM
    uniform = np.random.default_rng(0).uniform(-np.sqrt(3), np.sqrt(3), draws.size)
    assert stats.kstest(uniform, "norm").pvalue < FALSE_ALARM


@pytest.mark.parametrize("source", SOURCES, ids=IDS)
def test_both_tails_have_the_normal_weight(source):
    """Counts beyond 4 standard deviations on each side are binomial with the normal's tail."""
    draws = source.normal((2_000_000,))
    tail = stats.norm.sf(4.0)
    for side in (draws, -draws):
        count = int(np.count_nonzero(side > 4.0))
        assert stats.binomtest(count, side.size, tail).pvalue > FALSE_ALARM


@pytest.mark.parametrize("source", SOURCES, ids=IDS)
def test_exponential_draws_are_exponential(source):
    """The sampler's waits rest on them."""
    draws = source.exponential(200_000)
    assert draws.min() >= 0.0
    assert np.isfinite(draws).all()
    assert stats.kstest(draws, "expon").pvalue > FALSE_ALARM


def test_the_far_tail_of_the_system_source_is_the_normals(monkeypatch):
    """The smallest words give the far tail in full resolution, on both sides, and finite."""
    words = np.array([0, 1, 2, 3, 4, 5, 2**64 - 2, 2**64 - 1], dtype=np.uint64)
    monkeypatch.setattr(_noise.os, "urandom", lambda size: words.tobytes()[:size])
    draws = SystemSource().normal((8,))
    tails = np.maximum((words >> np.uint64(1)).astype(float) * 2.0**-64, 2.0**-65)
    signs = np.where(words % 2 == 1, 1.0, -1.0)
    np.testing.assert_allclose(draws, signs * stats.norm.isf(tails), atol=1e-12)
    assert draws[0] < -9.0
    assert draws[1] > 9.0


def test_exponential_draws_use_all_64_bits(monkeypatch):
    """The smallest and the largest words, and two that differ in their lowest bits alone."""
    words = np.array([0, 1, 2, 3, 2**63, 2**64 - 1], dtype=np.uint64)
    monkeypatch.setattr(_noise.os, "urandom", lambda size: words.tobytes()[:size])
    uniform = np.maximum(words.astype(float) * 2.0**-64, 2.0**-65)
    np.testing.assert_allclose(SystemSource().exponential(6), -np.log(uniform), rtol=1e-14)


def test_without_a_seed_the_source_is_the_operating_systems():
    """Not a generator that was merely seeded by it: its state could be recovered."""
    assert type(random_source(None, "A", "noise")) is SystemSource
    assert type(random_source(0, "A", "noise")) is SeededSource


def test_the_system_source_reads_the_operating_system(monkeypatch):
    """Nothing else may feed noise when no seed is given: 8 bytes a draw, no state in between."""
    asked = []

    def urandom(size):
        asked.append(size)
        return bytes(range(256)) * (size // 256) + bytes(size % 256)

    monkeypatch.setattr(_noise.os, "urandom", urandom)
    SystemSource().normal((4, 64))
    SystemSource().exponential(32)
    assert asked == [2048, 256]


@pytest.mark.parametrize("other", [(1, "A", "noise"), (0, "B", "noise"), (0, "A", "sampling")])
def test_streams_of_other_seeds_classes_and_purposes_are_independent(other):
    """Correlation of 100,000 pairs stays within 5 standard errors (false alarm 6e-7)."""
    first = random_source(0, "A", "noise").normal((100_000,))
    second = random_source(*other).normal((100_000,))
    assert abs(np.corrcoef(first, second)[0, 1]) < 5 / np.sqrt(100_000)


def test_one_seed_and_name_repeat_and_none_does_not():
    """Seeded runs are repeatable; unseeded ones never are."""
    draw = lambda seed: random_source(seed, "A", "noise").normal((8,))  # noqa: E731
    np.testing.assert_array_equal(draw(3), draw(3))
    assert not np.array_equal(draw(None), draw(None))


def test_a_random_state_gives_one_draw_a_fit():
    """Fits in a row differ, a rerun repeats them, and the global state is left alone."""
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    state = np.random.RandomState(5)
    seeds = [draw_seed(state), draw_seed(state)]
    again = np.random.RandomState(5)
    assert seeds == [draw_seed(again), draw_seed(again)]
    assert seeds[0] != seeds[1]
    # 128 bits: the chance that both seeds begin with 32 zeros is 2^-64.
    assert max(seeds).bit_length() > 96
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002
    assert draw_seed(None) is None
    assert draw_seed(np.int64(4)) == 4
