"""DPMaxAbsScaler: the size of columns whose range nobody knows."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from skdp.preprocessing import DPMaxAbsScaler
from skdp.preprocessing._dp_max_abs_scaler import _scales

CONTAINERS = {"dense": np.asarray, "csr": sparse.csr_array, "csr matrix": sparse.csr_matrix}


def as_array(X):
    return X.toarray() if sparse.issparse(X) else X


def fit(X, **params):
    return DPMaxAbsScaler(**({"random_state": 0} | params)).fit(X)


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
def test_each_column_is_divided_by_its_own_size_and_clipped(container, rng):
    """Whatever the unit, and zeros stay zeros; a single outlier changes nothing."""
    X = rng.uniform(0.5, 1.0, size=(4000, 5)) * [1.0, 1e-5, 3e9, 100.0, 1.0]
    X[rng.random(X.shape) < 0.3] = 0.0
    X[7, 0] = 1e300
    scaler = fit(container(X))
    assert scaler.readable_.all()
    np.testing.assert_array_equal(scaler.scale_, 2.0 ** np.array([0, -16, 32, 7, 0]))
    scaled = scaler.transform(container(X))
    assert sparse.issparse(scaled) == (container is not np.asarray)
    expected = np.clip(X / scaler.scale_, -1, 1)
    np.testing.assert_array_equal(as_array(scaled), expected)
    back = scaler.inverse_transform(scaled)
    np.testing.assert_array_equal(as_array(back), expected * scaler.scale_)


def test_heavy_tails_are_cut_above_nine_in_ten():
    """Log-normal incomes: a scale near the upper values, far below the largest."""
    incomes = np.exp(np.random.default_rng(1).normal(8.0, 1.0, size=(20_000, 1)))
    (scale,) = fit(incomes).scale_
    assert 0.8 < np.mean(incomes <= scale) < 0.995
    assert scale < incomes.max() / 5


@pytest.mark.parametrize("value", [1.0, -1.0, 0.25, 3.0])
def test_one_hot_columns_keep_their_ones(value):
    """A power of two is its own scale; other constants get the next one."""
    X = np.where(np.random.default_rng(0).random((3000, 2)) < 0.5, value, 0.0)
    np.testing.assert_array_equal(fit(X).scale_, 2.0 ** np.ceil(np.log2(abs(value))))


def test_columns_that_drown_alone_are_read_together(rng):
    """60 columns of one size, each too rare to be told from its noise.

    Within the window that is found, noise may move the scale by a factor of 2 or 4.
    """
    X = np.where(rng.random((4000, 60)) < 0.2, rng.uniform(20.0, 30.0, (4000, 60)), 0.0)
    for seed in range(5):
        scaler = fit(X, epsilon=0.05, random_state=seed)
        assert scaler.readable_.sum() <= 3
        assert set(scaler.scale_[~scaler.readable_]) <= {32.0, 64.0, 128.0}


def test_where_nothing_can_be_read_columns_keep_their_unit():
    """A few rows at a small budget; noise stands out by chance in hardly any column.

    60 x 10 columns at a chance of 2e-3 each (112 bins in windows of 1, 2 and 4, 4.5 standard
    deviations): above 8 by chance in less than one of 10^6.
    """
    scalers = [fit(np.full((3, 10), 9.0), epsilon=0.1, random_state=seed) for seed in range(60)]
    assert sum(scaler.readable_.sum() for scaler in scalers) <= 8
    together = [set(scaler.scale_[~scaler.readable_]) for scaler in scalers]
    assert all(len(scales) == 1 for scales in together)
    # Read together they stand out by chance in 1.4 % of fits (61 windows, 3.5 standard deviations):
    # in more than ten of 60 with a chance of less than 10^-6.
    assert sum(scales == {1.0} for scales in together) >= 50


def test_the_window_that_stands_out_most_decides():
    """By hand: one bin, two bins, a wide spread with a tail, and nothing."""
    counts = np.zeros((4, 112))
    counts[0, 54] = 100.0
    counts[1, [34, 35]] = [60.0, 60.0]
    counts[2, 64:68] = [40.0, 40.0, 40.0, 5.0]
    scale, readable = _scales(counts, 10.0)
    np.testing.assert_array_equal(readable, [True, True, True, False])
    np.testing.assert_array_equal(scale, 2.0 ** np.array([6, -13, 18, 0]))


def test_entries_for_one_place_are_clipped_together():
    """Each alone would stay within."""
    scaler = fit(np.ones((2000, 1)))
    X = sparse.csr_array(([0.75, 0.75], [0, 0], [0, 2]), shape=(1, 1))
    assert scaler.transform(X).toarray() == 1.0
    assert X.nnz == 2


# The power


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("power", [0.5, 0.3, 1e-3])
@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
def test_magnitudes_are_raised_and_signs_and_zeros_stay(container, power, dtype, rng):
    """sign(x) |x|**power of what comes out without it; the same places are stored."""
    X = (rng.normal(size=(3000, 3)) * [1.0, 1e-5, 100.0]).astype(dtype)
    X[rng.random(X.shape) < 0.5] = 0.0
    usual = as_array(fit(container(X)).transform(container(X)))
    scaler = fit(container(X), power=power)
    raised = scaler.transform(container(X))
    assert raised.dtype == dtype
    if sparse.issparse(raised):
        assert raised.nnz == np.count_nonzero(X)
    expected = np.sign(usual) * np.abs(usual) ** power
    np.testing.assert_allclose(as_array(raised), expected, rtol=np.finfo(dtype).eps * 4)
    np.testing.assert_array_equal(np.sign(as_array(raised)), np.sign(X))
    assert np.abs(as_array(raised)).max() == 1.0


def test_a_power_of_one_is_the_default_and_changes_no_bit(rng):
    """Values near zero included."""
    X = rng.normal(size=(1000, 2)) * 10.0 ** rng.integers(-300, 0, (1000, 2))
    assert DPMaxAbsScaler().power == 1
    scaler = fit(X, power=1)
    np.testing.assert_array_equal(scaler.transform(X), np.clip(X / scaler.scale_, -1, 1))


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
def test_the_way_back_undoes_the_power(container, rng):
    """Values that were not clipped come back, with their signs; the input is left alone."""
    X = rng.uniform(-1.0, 1.0, size=(2000, 2)) * [0.3, 60.0]
    scaler = fit(container(X), power=0.3)
    assert (scaler.scale_ >= [0.3, 60.0]).all()
    scaled = scaler.transform(container(X))
    before = as_array(scaled).copy()
    back = scaler.inverse_transform(scaled)
    np.testing.assert_allclose(as_array(back), X, rtol=1e-12)
    if sparse.issparse(back):
        assert not np.shares_memory(back.indices, scaled.indices)
    np.testing.assert_array_equal(as_array(scaled), before)


def test_the_power_of_entries_for_one_place_is_that_of_their_sum():
    """There and back: 0.25 and 0.25 are a half, of which the root is taken, or the square."""
    scaler = fit(np.ones((2000, 1)), power=0.5)
    X = sparse.csr_array(([0.25, 0.25], [0, 0], [0, 2]), shape=(1, 1))
    assert scaler.transform(X).toarray() == np.sqrt(0.5)
    assert scaler.inverse_transform(X).toarray() == 0.25
    assert X.nnz == 2


def test_the_power_comes_before_the_clip():
    """Of 0.25 the root is 0.5, which the clip then holds; the other way round it would be 0.55."""
    scaler = fit(np.ones((2000, 1)), power=0.5, clip=0.3)
    np.testing.assert_array_equal(scaler.transform([[0.25], [0.04]]), [[0.3], [0.2]])


def test_what_leaves_the_range_of_numbers_on_the_way_back_is_silent():
    """A warning would tell that there is such a value; tests turn warnings into errors."""
    scaler = fit(np.ones((2000, 1)), power=0.1)
    np.testing.assert_array_equal(
        scaler.inverse_transform([[1e200], [-1e200]]), [[np.inf], [-np.inf]]
    )


def test_the_power_takes_little_memory():
    """A bit more than one byte a value, which its sign needs."""
    X = np.ones((20_000, 10))
    peaks = []
    for power in (1.0, 0.5, 0.3):
        scaler = fit(X, power=power)
        tracemalloc.start()
        scaler.transform(X)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert max(peaks) - peaks[0] < 2 * X.size


@pytest.mark.parametrize("power", [0, 0.0, -0.5, 1.5, 2, np.nan, np.inf, "0.5", None])
def test_a_power_out_of_range_is_an_error_that_names_it(power):
    """Before anything is spent; above 1 it would hide small values further."""
    with pytest.raises(ValueError, match="'power' parameter"):
        fit([[1.0]], power=power)


def test_the_power_is_free_and_waits_for_a_fit(rng):
    """The plan, the release and all that was read from it are those of the scaler without it."""
    X = rng.normal(size=(2000, 3))
    usual, root = fit(X), fit(X, power=0.5)
    plans = [one._planned_releases(n_rows=9, n_features=3, n_classes=2) for one in (usual, root)]
    assert plans[0] == plans[1]
    assert root.mechanisms_ == usual.mechanisms_
    assert root.epsilon_ == usual.epsilon_
    np.testing.assert_array_equal(root.scale_, usual.scale_)
    before = usual.transform(X)
    np.testing.assert_array_equal(usual.set_params(power=0.5).transform(X), before)
    assert (usual.power_, root.power_) == (1.0, 0.5)
