"""Rows are fetched alike however an array is laid out, and without copying it."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from skdp.mechanisms import _rows
from skdp.mechanisms._rows import every_row, fetch, in_row_order, rows_of
from skdp.mechanisms._sampling import EVERY_ROW, Block

LAYOUTS = {
    "rows together": np.ascontiguousarray,
    "columns together": np.asfortranarray,
    "every second row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "every second column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": lambda X: np.ascontiguousarray(X[::-1])[::-1],
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("drawn", [np.array([0, 3, 4, 9, 11]), EVERY_ROW], ids=["some", "all"])
def test_pieces_hold_the_drawn_rows_in_any_layout(layout, dtype, drawn, rng):
    """In double precision, whatever the array's strides."""
    X = rng.normal(size=(12, 3)).astype(dtype)
    stops = [len(X[drawn])]
    for _, piece in next(fetch(rows_of(layout(X)), [Block(drawn, stops)])):
        np.testing.assert_array_equal(piece[:, :3], X[drawn])
        assert piece.dtype == np.float64


@pytest.mark.parametrize("scale", [1.0, 1e160, 1e-160])
def test_norms_are_equal_to_the_last_bit_in_any_layout(scale, rng):
    """How an array lies in memory may depend on its size, and a norm decides about a clip."""
    for n_features in (1, 2, 3, 17, 48, 300):
        X = rng.normal(size=(40, n_features)) * scale
        expected = rows_of(X).norms()
        for layout in LAYOUTS.values():
            np.testing.assert_array_equal(rows_of(layout(X)).norms(), expected)
        alone = [rows_of(np.asfortranarray(row[np.newaxis])).norms()[0] for row in X]
        np.testing.assert_array_equal(alone, expected)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_gathering_never_copies_the_array(layout, rng):
    """NumPy's own gather does, where rows are not contiguous, at every call."""
    rows = rows_of(layout(rng.normal(size=(200_000, 8))))
    rows.take(np.arange(10))
    tracemalloc.start()
    rows.take(np.arange(10))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200_000


def test_small_arrays_are_put_in_row_order_and_large_ones_left_alone(rng, monkeypatch):
    """The copy stays within the memory that a fit may take."""
    X = np.asfortranarray(rng.normal(size=(50, 4)))
    assert in_row_order(X).flags.c_contiguous
    np.testing.assert_array_equal(in_row_order(X), X)
    in_order = np.ascontiguousarray(X)
    assert in_row_order(in_order) is in_order
    csr = sparse.csr_array(X)
    assert in_row_order(csr) is csr
    monkeypatch.setattr(_rows, "_BYTES_TO_REORDER", X.nbytes - 1)
    assert in_row_order(X) is X


@pytest.mark.parametrize("seed", range(20))
def test_a_rows_sum_does_not_hang_on_how_another_row_is_stored(seed):
    """CSR with many entries for one place: their order decides what cancels."""
    rng = np.random.default_rng(seed)
    places, values = np.sort(rng.integers(0, 2, 40)), rng.choice([1e17, -1e17, 1.0], 40)
    first = []
    for order in ([0, 1], [1, 0]):
        indices, starts = np.append(places, order), [0, 40, 42]
        X = sparse.csr_matrix((np.append(values, [0.5, 0.5]), indices, starts), shape=(2, 3))
        first.append(rows_of(X).adjacent(0, 1).toarray())
    np.testing.assert_array_equal(*first)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_row_that_is_not_read_moves_no_bit_of_a_product_with_another(layout, dtype, rng):
    """A linear algebra library adds up the same numbers in another order in another layout."""
    X = LAYOUTS[layout](rng.normal(size=(4001, 50)).astype(dtype))
    usable = np.arange(4001) != 7
    for weights in (rng.normal(size=50), rng.normal(size=(50, 3))):
        products, others = (
            np.concatenate([piece @ weights for _, piece in every_row(rows)])
            for rows in (rows_of(X), rows_of(X, usable=usable))
        )
        np.testing.assert_array_equal(others[usable], products[usable])
        assert not others[7].any()
