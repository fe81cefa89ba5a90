"""RowNormClipper: long rows come down to the bound, one row at a time."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skdp.preprocessing import RowNormClipper

CONTAINERS = {"dense": np.asarray, "csr": sparse.csr_array, "csr matrix": sparse.csr_matrix}


def as_array(X):
    return X.toarray() if sparse.issparse(X) else X


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("max_norm", [1e-3, 1.0, 7.5])
def test_long_rows_keep_their_direction_and_short_rows_their_values(container, max_norm, rng):
    """Against the definition, row by row."""
    X = rng.normal(size=(50, 4)) * rng.choice([1e-4, 1.0, 1e4], size=(50, 1))
    X[3] = 0.0
    norms = np.linalg.norm(X, axis=1)
    clipped = RowNormClipper(max_norm).fit_transform(container(X))
    assert sparse.issparse(clipped) == (container is not np.asarray)
    expected = X * np.minimum(1.0, max_norm / np.maximum(norms, 1e-300))[:, np.newaxis]
    np.testing.assert_allclose(as_array(clipped), expected, rtol=1e-14)
    short = norms <= max_norm
    np.testing.assert_array_equal(as_array(clipped)[short], X[short])


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
def test_the_bound_holds_at_the_ends_of_the_number_range(container):
    """Rows whose norm, or whose square, is no double."""
    X = np.array([[1.7e308, -1.7e308, 1.7e308], [5e-324, 0, 0], [1e200, 1e200, 0], [1e-200, 0, 0]])
    clipped = as_array(RowNormClipper(3.0).fit_transform(container(X)))
    np.testing.assert_allclose(clipped[0], 3.0 / np.sqrt(3) * np.array([1, -1, 1]), rtol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(clipped[2]), 3.0, rtol=1e-12)
    np.testing.assert_array_equal(clipped[[1, 3]], X[[1, 3]])


def test_entries_for_one_place_are_measured_together():
    """Each alone would slip past the bound."""
    X = sparse.csr_array(([3.0, 5.0], [0, 0], [0, 2]), shape=(1, 1))
    assert RowNormClipper(4.0).fit_transform(X).toarray() == 4.0


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_dtype_is_kept_and_the_input_stays_as_it_is(container, dtype, rng):
    """As in scikit-learn's transformers."""
    X = container(rng.normal(size=(20, 3)).astype(dtype) * 100)
    before = as_array(X).copy()
    clipped = RowNormClipper(2.0).fit_transform(X)
    assert clipped.dtype == dtype
    assert np.linalg.norm(as_array(clipped), axis=1).max() <= 2.0 * (1 + 1e-6)
    np.testing.assert_array_equal(as_array(X), before)


def test_nothing_is_learned_and_no_fit_is_needed(rng):
    """Each row is scaled by itself, whatever the others are."""
    X = rng.normal(size=(9, 3))
    whole = RowNormClipper().fit(100 * X[:2]).transform(X)
    for row, clipped in zip(X, whole, strict=True):
        np.testing.assert_array_equal(RowNormClipper().transform([row])[0], clipped)


@pytest.mark.parametrize("max_norm", [0, -1.0, np.inf, np.nan, "long"])
def test_a_bound_that_cannot_be_used_is_named(max_norm):
    """In fit, and in a transform without one."""
    for act in (RowNormClipper(max_norm).fit, RowNormClipper(max_norm).transform):
        with pytest.raises(ValueError, match="max_norm"):
            act([[1.0]])


def test_names_come_out_and_frames_too():
    """set_output and get_feature_names_out."""
    X = pd.DataFrame([[3.0, 4.0]], columns=["age", "income"])
    clipper = RowNormClipper().set_output(transform="pandas")
    clipped = clipper.fit_transform(X)
    assert clipped.columns.tolist() == clipper.get_feature_names_out().tolist() == list(X)
    np.testing.assert_allclose(clipped, [[0.6, 0.8]])


@pytest.mark.parametrize("value", ["Alice", np.nan, np.inf])
def test_errors_show_no_value_of_the_data(value):
    """Text, missing and infinite values are refused."""
    with pytest.raises(ValueError, match=r"could not convert|NaN|infinity") as caught:
        RowNormClipper().fit([[123.456, value]])
    assert "Alice" not in str(caught.value)
    assert "123" not in str(caught.value)


def test_a_frame_needs_no_fit():
    """Nothing was fitted without names, so nothing is said of them."""
    frame = pd.DataFrame([[3.0, 4.0]], columns=["age", "income"])
    np.testing.assert_allclose(RowNormClipper().transform(frame), [[0.6, 0.8]])
