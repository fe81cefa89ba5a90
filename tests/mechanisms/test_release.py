"""What is released is on the grid, and its noise is the source's, whatever the sum."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr

from skdp.mechanisms import _noise, _rows
from skdp.mechanisms._gradient_plan import (
    COUNT_WEIGHT,
    MOST_ROWS_A_STEP,
    MOST_UNITS_A_STEP,
    SENSITIVITY_FACTOR,
)
from skdp.mechanisms._noise import SeededSource, SystemSource
from skdp.mechanisms._release import (
    LEAST_NOISE,
    ROUNDING_SHARE,
    NoisyReleases,
    grid_spacing,
    largest_exact_noise,
    largest_noise,
    largest_sum,
)

FALSE_ALARM = 1e-6


class Constant:
    """A source whose every draw is one number."""

    def __init__(self, value, n_parts=1):
        self.value = value
        self.n_parts = n_parts

    def normal(self, shape):
        return np.full(shape, self.value)


class Replayed:
    """A seeded source that adds up two draws, as the system's does."""

    n_parts = 2

    def __init__(self, seed):
        self._source = SeededSource(seed)

    def normal(self, shape):
        return self._source.normal(shape)


def releases_with(source, *, size=3, sensitivity=1.0, noise_scale=1.0, n_releases=100_000):
    return NoisyReleases(
        size,
        sensitivity=sensitivity,
        noise_scale=noise_scale,
        n_releases=n_releases,
        source=source,
    )


@pytest.mark.parametrize("sensitivity", [1e-100, 0.3, 1.0, math.pi, 1e100])
@pytest.mark.parametrize("size", [1, 2, 106, 10**6])
def test_the_spacing_is_the_largest_power_of_two_that_rounding_can_afford(sensitivity, size):
    """Rounding moves a difference by sqrt(size) spacings; the share has room for sums beside it."""
    spacing = grid_spacing(sensitivity, size)
    assert math.frexp(spacing)[0] == 0.5
    most = sensitivity / (2**14 * math.sqrt(size))
    assert most / 2 < spacing <= most * (1 + 1e-15)
    assert spacing * math.sqrt(size) <= (ROUNDING_SHARE - 3.8e-5) * sensitivity


def test_what_the_grid_leaves_pays_for_the_sums_and_the_norms():
    """Two sums over the most rows, in the least favourable pieces, and a part in 10^9 for norms."""
    n_additions = max(m + MOST_ROWS_A_STEP / m for m in (64, _rows._MOST_ROWS_PER_PIECE))
    per_row = math.hypot(1.0, COUNT_WEIGHT) * (1 + 1e-9)
    sums = 2 * n_additions * 2.0**-53 * MOST_ROWS_A_STEP * per_row
    assert 2.0**-14 + sums + 1e-9 <= ROUNDING_SHARE
    # A piece may hold one unit alone.
    units = 2 * (1 + MOST_UNITS_A_STEP) * 2.0**-53 * MOST_UNITS_A_STEP * per_row
    assert 2.0**-14 + units + 1e-9 <= ROUNDING_SHARE
    assert per_row + ROUNDING_SHARE <= SENSITIVITY_FACTOR * (1 + 1e-8)


@pytest.mark.parametrize("source", [SeededSource(0), SystemSource()], ids=["seeded", "system"])
@pytest.mark.parametrize("sensitivity", [1e-100, 0.3, 1e100])
def test_every_release_is_on_the_grid(source, sensitivity, rng):
    """Whatever the sum; then no low-order bit of it is left."""
    releases = releases_with(source, size=7, sensitivity=sensitivity, noise_scale=5 * sensitivity)
    spacing = grid_spacing(sensitivity, 7)
    for _ in range(200):
        total = rng.normal(size=7) * 100 * sensitivity
        steps = releases.add_noise(total) / spacing
        np.testing.assert_array_equal(steps, np.rint(steps))


def test_the_sum_is_rounded_to_the_nearest_grid_point_before_the_noise():
    """Silent noise shows the rounded sum alone."""
    releases = releases_with(Constant(0.0))
    spacing = grid_spacing(1.0, 3)
    sums = np.array([3.4999, -3.4999, 10.5001]) * spacing
    np.testing.assert_array_equal(releases.add_noise(sums) / spacing, [3.0, -3.0, 11.0])


@pytest.mark.parametrize("n_parts", [1, 2])
def test_noise_is_rounded_by_itself(n_parts):
    """The same noise is added to every sum: rounding them together would depend on the sum."""
    spacing = grid_spacing(1.0, 3)
    added = set()
    for fraction in np.linspace(-0.49, 0.49, 21):
        sums = np.full(3, (7.0 + fraction) * spacing)
        releases = releases_with(Constant(0.123456789, n_parts))
        added.update(releases.add_noise(sums) - 7.0 * spacing)
    assert len(added) == 1
    per_part = round(0.123456789 / math.sqrt(n_parts) / spacing) * spacing
    assert added == {n_parts * per_part}


@pytest.mark.slow
@pytest.mark.parametrize("source", [SeededSource(1), Replayed(1), SystemSource()])
def test_the_noise_is_normal_of_the_asked_size(source):
    """Kolmogorov-Smirnov and the variance of 300,000 draws, false alarm 1e-6 each."""
    releases = releases_with(source, noise_scale=2.5, n_releases=100_000)
    draws = np.array([releases.add_noise(np.zeros(3)) for _ in range(100_000)]).ravel() / 2.5
    assert stats.kstest(draws, "norm").pvalue > FALSE_ALARM
    squares = draws @ draws
    assert FALSE_ALARM / 2 < stats.chi2.cdf(squares, draws.size) < 1 - FALSE_ALARM / 2
    # Neighbours in a vector, and vectors in turn: 5 standard errors have a chance of 6e-7.
    for lag in (1, 3):
        assert abs(draws[lag:] @ draws[:-lag]) / math.sqrt(draws.size) < 5.0


@pytest.mark.slow
@pytest.mark.parametrize("source", [SeededSource, Replayed])
def test_sums_on_either_side_of_a_grid_point_have_the_same_cells(source):
    """The attack: tell two sums apart by which values occur. One cell each at a wide noise.

    Both sums round to one grid point, so counts of cells differ by chance alone; false alarm 1e-6.
    """
    spacing = grid_spacing(1.0, 1)
    counts = []
    for seed, offset in ((2, -1e-9), (3, 1e-9)):
        releases = releases_with(
            source(seed), size=1, noise_scale=3.0 * spacing, n_releases=200_000
        )
        total = (5.0 + offset) * spacing
        draws = np.array([releases.add_noise(np.array([total]))[0] for _ in range(200_000)])
        cells = draws / spacing - 5.0
        np.testing.assert_array_equal(cells, np.rint(cells))
        counts.append(np.bincount((cells + 100).astype(int), minlength=200))
    below, above = (np.array(count) for count in counts)
    common = below + above >= 20
    statistic = ((below - above)[common] ** 2 / (below + above)[common]).sum()
    assert stats.chi2.sf(statistic, common.sum()) > FALSE_ALARM
    # No cell is open to one sum alone: what is rare is rare for both.
    assert (below + above)[~common].sum() < 200


@pytest.mark.parametrize("noise_in_spacings", [20.0, 300.0])
def test_two_rounded_draws_are_as_likely_as_one_rounded_gaussian(noise_in_spacings):
    """Cell by cell, by exact convolution: to (x^2 + 1) / 24 spacings squared over the variance."""
    part = noise_in_spacings / math.sqrt(2)
    reach = int(8 * noise_in_spacings)
    edges = np.arange(-reach, reach + 2) - 0.5
    one_part = np.diff(ndtr(edges / part))
    both = np.convolve(one_part, one_part, mode="same")
    single = np.diff(ndtr(edges / noise_in_spacings))
    x = np.arange(-reach, reach + 1) / noise_in_spacings
    near = np.abs(x) < 4
    allowed = (x[near] ** 2 + 1) / 24 / noise_in_spacings**2 * 1.01 + 1e-11
    assert (np.abs(both[near] / single[near] - 1) <= allowed).all()


@pytest.mark.parametrize("size", [2, 106, 10**6])
def test_the_largest_noise_and_sum_are_exact(size):
    """At the limits a release is still a whole number of spacings, and nothing is lost."""
    spacing = grid_spacing(1.0, size)
    noise = largest_exact_noise(size)
    assert largest_noise(size) < noise
    releases = NoisyReleases(
        3, sensitivity=math.sqrt(3 / size), noise_scale=noise, n_releases=2, source=Constant(16.0)
    )
    most = math.floor(largest_sum(size) / spacing) * spacing
    longest = round(16.0 * noise / spacing) * spacing
    np.testing.assert_array_equal(
        releases.add_noise(np.array([most, -most, spacing])) - longest,
        [most, -most, spacing],
    )


def test_the_least_noise_reaches_what_one_row_can_add_and_far_beyond(monkeypatch):
    """The longest draw, less one sensitivity, is one that a Gaussian exceeds once in 10^14."""
    monkeypatch.setattr(
        _noise.os, "urandom", lambda size: b"\xff" * (size - 8) + b"\x01" + bytes(7)
    )
    spacing = grid_spacing(1.0, 1)
    longest = abs(
        releases_with(SystemSource(), size=1, noise_scale=LEAST_NOISE, n_releases=1).add_noise(
            np.zeros(1)
        )[0]
    )
    assert longest == pytest.approx(12.95 * LEAST_NOISE, rel=1e-3)
    assert stats.norm.sf((longest - 1.0) / LEAST_NOISE) < 1e-14
    assert LEAST_NOISE / spacing > 20


def test_without_noise_nothing_is_rounded():
    """Plain clipped descent promises nothing, so it owes nothing to a grid."""
    releases = releases_with(Constant(1.0), noise_scale=0.0, n_releases=1)
    total = np.array([1e-30, math.pi, 1e30])
    np.testing.assert_array_equal(releases.add_noise(total.copy()), total)


def test_no_release_is_made_beyond_the_planned_ones():
    """Noise for them was not accounted for."""
    for noise_scale in (0.0, 1.0):
        releases = releases_with(SeededSource(0), noise_scale=noise_scale, n_releases=2)
        releases.add_noise(np.zeros(3))
        releases.add_noise(np.zeros(3))
        with pytest.raises(StopIteration):
            releases.add_noise(np.zeros(3))
