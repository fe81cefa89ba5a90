"""Releases about columns: what one row can move them by, and the noise that this asks for."""

import math

import numpy as np
import pytest
from scipy import sparse, stats
from scipy.optimize import minimize_scalar

from skdp.mechanisms import _columns
from skdp.mechanisms._columns import (
    MOST_ROWS,
    SIZE_EXPONENTS,
    SQUARE_CENTRE,
    SQUARE_WEIGHT,
    moment_plan,
    noisy_moments,
    noisy_sizes,
    size_plan,
)
from skdp.mechanisms._noise import SeededSource
from skdp.mechanisms._release import ROUNDING_SHARE, grid_spacing
from skdp.privacy import Gaussian

FALSE_ALARM = 1e-6
LOWER, UPPER = np.array([-3.0, 0.0, 5.0]), np.array([1.0, 1e6, 5.5])
MIDDLE = (LOWER + UPPER) / 2


class Silence:
    """A source without noise: what is released is then the sum, rounded to the grid."""

    n_parts = 1

    def normal(self, shape):
        return np.zeros(shape)


def moments(X, lower=LOWER, upper=UPPER, source=None, usable=None):
    plan = moment_plan(X.shape[1], 1.0)
    source = source or Silence()
    return np.concatenate(noisy_moments(X, lower, upper, plan, source, usable=usable))


def sizes(X, source=None, usable=None):
    return noisy_sizes(X, size_plan(X.shape[1], 1.0), source or Silence(), usable=usable)


def without(row, n_rows):
    return np.arange(n_rows) != row


ROWS = {
    "inside": lambda rng: rng.uniform(LOWER, UPPER, size=(40, 3)),
    "at the ends": lambda rng: np.where(rng.random((40, 3)) < 0.5, LOWER, UPPER),
    "at ends and middle": lambda rng: np.choose(
        rng.integers(0, 3, (40, 3)), [LOWER, MIDDLE, UPPER]
    ),
    "far outside": lambda rng: rng.choice([-1.7e308, 1.7e308, 5e-324, 0.0], size=(40, 3)),
    "single precision": lambda rng: rng.normal(size=(40, 3)).astype(np.float32) * 1e3,
}


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_leaving_out_any_row_moves_the_moments_by_at_most_the_sensitivity(rows, rng):
    """The accountant's bound on one row's contribution, rounding to the grid included."""
    X = rows(rng)
    bound = moment_plan(3, 1.0).sensitivity * (1 + ROUNDING_SHARE)
    whole = moments(X)
    for row in range(len(X)):
        assert np.linalg.norm(whole - moments(X[without(row, len(X))])) <= bound


@pytest.mark.parametrize("row", [MIDDLE, LOWER, UPPER], ids=["middle", "low", "high"])
def test_rows_at_the_ends_and_in_the_middle_reach_the_sensitivity_of_the_moments(row):
    """The bound is tight: less noise would break the promise for these rows."""
    moved = np.linalg.norm(moments(np.stack([row, row])) - moments(row[np.newaxis]))
    assert moved == pytest.approx(moment_plan(3, 1.0).sensitivity, rel=1e-3)
    assert moved == pytest.approx(math.sqrt(3 * 25 / 24), rel=1e-3)


def test_no_other_centre_of_the_square_has_a_smaller_sensitivity():
    """By brute force over values and centres, at the weight in use."""
    squares = np.linspace(0, 1, 2001)

    def longest(centre):
        return np.max(squares + SQUARE_WEIGHT**2 * (squares - centre) ** 2)

    best = minimize_scalar(longest, bounds=(0, 2), method="bounded")
    assert longest(SQUARE_CENTRE) == pytest.approx(best.fun, rel=1e-6)
    assert longest(SQUARE_CENTRE) == pytest.approx(25 / 24, rel=1e-12)


@pytest.mark.parametrize(("mean", "gain"), [(0.0, 0.17), (0.5, 0.07), (1.0, 0.01)])
def test_the_weight_of_the_square_lowers_the_noise_of_the_variance(mean, gain):
    """By as much as the docstring says, for means 2 % noisier than sums alone would be."""

    def noise(weight):
        sensitivity = (1 + weight**2) / (2 * weight)
        return sensitivity * math.sqrt(weight**-2 + 4 * mean**2)

    assert 1 - noise(SQUARE_WEIGHT) / noise(1.0) == pytest.approx(gain, abs=0.005)
    assert pytest.approx(1.02, abs=0.005) == (1 + SQUARE_WEIGHT**2) / (2 * SQUARE_WEIGHT)


def test_the_moments_are_the_sums_over_clipped_columns(rng):
    """Values as half widths from the middle; beside them the weighted, centred squares."""
    X = rng.normal(MIDDLE, UPPER - LOWER, size=(500, 3))
    t = np.clip((X - MIDDLE) / ((UPPER - LOWER) / 2), -1, 1)
    sums, squares = np.split(moments(X), 2)
    np.testing.assert_allclose(sums, t.sum(axis=0), atol=2e-3)
    expected = SQUARE_WEIGHT * (t**2 - SQUARE_CENTRE).sum(axis=0)
    np.testing.assert_allclose(squares, expected, atol=2e-3)


def test_sums_are_exact_in_any_order(rng, monkeypatch):
    """So the rounding of long sums costs no sensitivity: seen before the grid, to the last bit."""
    monkeypatch.setattr(_columns, "release_sum", lambda total, plan, source: total.copy())
    X = rng.normal(MIDDLE, UPPER - LOWER, size=(30_000, 3))
    clean = moments(X)
    np.testing.assert_array_equal(clean, moments(X[rng.permutation(30_000)]))
    np.testing.assert_array_equal(clean, moments(X[:9999]) + moments(X[9999:]))
    # The most rows times the most that a row adds, in steps of 2^-20, is exact in a double.
    np.testing.assert_array_equal(clean * 2**20, np.rint(clean * 2**20))
    assert MOST_ROWS * SQUARE_WEIGHT * SQUARE_CENTRE * 2**20 < 2**53


def test_no_value_within_or_beyond_any_bounds_leaves_the_unit_interval(rng, monkeypatch):
    """Ends whose difference is rounded up or down included: then no row weighs more than it may."""
    monkeypatch.setattr(_columns, "release_sum", lambda total, plan, source: total.copy())
    lower = rng.normal(size=1000) * 10.0 ** rng.integers(-300, 300, 1000)
    upper = lower + np.abs(rng.normal(size=1000)) * 10.0 ** rng.integers(-300, 300, 1000)
    upper = np.maximum(upper, np.nextafter(lower, np.inf))
    for row in (lower, upper, np.full(1000, 1.7e308), np.full(1000, -1.7e308)):
        with np.errstate(all="ignore"):
            sums, squares = np.split(moments(row[np.newaxis], lower, upper), 2)
        np.testing.assert_array_equal(np.abs(sums), 1.0)
        np.testing.assert_allclose(squares, SQUARE_WEIGHT / 6, atol=1e-6)


@pytest.mark.parametrize("width", [5e-324, 1e-300, 1e308])
def test_bounds_of_any_width_give_finite_moments(width):
    """Also where half of the width is no number any more."""
    X = np.array([[0.0], [width], [-1e308]])
    with np.errstate(all="ignore"):
        released = moments(X, np.zeros(1), np.array([width]))
    np.testing.assert_allclose(released, [-1.0, 3 * SQUARE_WEIGHT / 6], atol=1e-3)


CONTAINERS = {"dense": np.asarray, "csr": sparse.csr_array, "csr matrix": sparse.csr_matrix}


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
def test_leaving_out_any_row_moves_the_sizes_by_at_most_the_sensitivity(container, rng):
    """A row counts once in each column where it is not zero; a full row reaches the bound."""
    X = rng.choice([0.0, 1e-9, 3.0, -1.7e308], size=(30, 5))
    X[7] = 1.0
    plan = size_plan(5, 1.0)
    whole = sizes(container(X))
    for row in range(len(X)):
        moved = np.linalg.norm(whole - sizes(container(X[without(row, 30)])))
        assert moved <= plan.sensitivity * (1 + ROUNDING_SHARE)
        assert moved == pytest.approx(math.sqrt(np.count_nonzero(X[row])), rel=1e-3)
    assert plan.sensitivity == math.sqrt(5)


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
def test_sizes_fall_into_bins_that_end_at_powers_of_two(container):
    """The upper end belongs to the bin; both ends of the number range too; zeros to none."""
    values = [1.0, -1.0, 1.0001, 2.0, 0.5, 0.50001, 5e-324, -1.7e308, 2.0**-48, 2.0**63, 0.0]
    exponents = [0, 0, 1, 1, -1, 0, -48, 63, -48, 63]
    counts = sizes(container(np.array(values)[:, np.newaxis]))[0]
    expected = np.bincount(np.array(exponents) - SIZE_EXPONENTS[0], minlength=112)
    np.testing.assert_allclose(counts, expected, atol=1e-3)


def test_several_entries_for_one_place_count_as_their_sum():
    """Each by itself would let one row count more than once in a column."""
    data, columns, starts = [3.0, 5.0, 1.0], [0, 0, 1], [0, 3]
    counts = sizes(sparse.csr_array((data, columns, starts), shape=(1, 2)))
    seen = {(0, 3): 1.0, (1, 0): 1.0}
    for (column, exponent), count in seen.items():
        assert counts[column, exponent - SIZE_EXPONENTS[0]] == pytest.approx(count, abs=1e-3)
    assert counts.sum() == pytest.approx(2.0, abs=1e-2)


@pytest.mark.parametrize("n_rows", [1, 63, 64, 65, 20_000])
@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
def test_every_row_is_counted_however_the_table_is_cut_up(container, n_rows, rng):
    """Pieces meet without a gap and without an overlap."""
    X = rng.uniform(1.1, 1.9, size=(n_rows, 7))
    assert sizes(container(X))[:, 1 - SIZE_EXPONENTS[0]] == pytest.approx(n_rows, abs=1e-3)
    if container is np.asarray:
        t = X - 2.0
        np.testing.assert_allclose(moments(X, np.ones(7), np.full(7, 3.0))[:7], t.sum(0), atol=0.05)


@pytest.mark.parametrize("n_columns", [1, 6])
@pytest.mark.parametrize("kind", ["moments", "sizes"])
def test_the_noise_is_the_multiplier_times_the_sensitivity_after_rounding(kind, n_columns):
    """Kolmogorov-Smirnov, false alarm 1e-6; every coordinate has noise, touched or not."""
    source, n_rows = SeededSource(1), 0
    if kind == "moments":
        plan = moment_plan(n_columns, 3.0)
        sensitivity = math.sqrt(n_columns * 25 / 24)
        X, ends = np.zeros((n_rows, n_columns)), (np.zeros(n_columns), np.ones(n_columns))
        draws = [noisy_moments(X, *ends, plan, source) for _ in range(3000)]
    else:
        plan = size_plan(n_columns, 3.0)
        sensitivity = math.sqrt(n_columns)
        draws = [noisy_sizes(np.zeros((9, n_columns)), plan, source) for _ in range(50)]
    draws = np.ravel(draws)
    assert len(draws) >= 3000
    scaled = draws / (3.0 * sensitivity * (1 + ROUNDING_SHARE))
    assert stats.kstest(scaled, "norm").pvalue > FALSE_ALARM
    assert abs(scaled @ scaled / len(scaled) - 1) < 5 * math.sqrt(2 / len(scaled))
    assert plan.noise_scale == pytest.approx(3.0 * sensitivity * (1 + ROUNDING_SHARE), rel=1e-12)
    assert plan.mechanism == Gaussian(3.0)
    steps = draws / grid_spacing(plan.sensitivity, plan.size)
    np.testing.assert_array_equal(steps, np.rint(steps))


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300, 0.0])
def test_rows_that_are_not_used_add_nothing(value, rng):
    """Not even what a row of zeros adds: the sums are those of the table without them."""
    X = 3.0 * rng.normal(size=(500, 3))
    usable = rng.random(500) < 0.7
    spoiled = np.where(usable[:, np.newaxis], X, value)
    for kind in (moments, sizes):
        np.testing.assert_array_equal(kind(spoiled, usable=usable), kind(X[usable]))
