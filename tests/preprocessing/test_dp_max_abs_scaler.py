"""DPMaxAbsScaler: the size of columns whose range nobody knows."""

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
