"""CSR: no row is stored or added up otherwise because of another one."""

import numpy as np
import pytest
from scipy import sparse

from skdp import DPSGDClassifier
from skdp.mechanisms._csr import as_csr, one_entry_a_place
from skdp.preprocessing import DPMaxAbsScaler, RowNormClipper

# In this order they add up to -8 in single precision, in others to 16.
M = 20
VALUES = np.zeros(M, np.float32)
VALUES[[5, 9, 13, 16]] = 16, -1e9, 1e9, -8


def table(n, *, with_row):
    """Rows of many entries for one place, and perhaps one that is out of order."""
    row, col = np.repeat(np.arange(n - 1), M), np.zeros((n - 1) * M, int)
    data = np.tile(VALUES, n - 1)
    if with_row:
        row, col, data = np.r_[row, n - 1, n - 1], np.r_[col, 1, 0], np.r_[data, 1, 1]
    return sparse.coo_matrix((data.astype(np.float32), (row, col)), shape=(n, 2))


def as_stored(coo):
    """CSR with the entries in the order of the coordinates."""
    ends = np.concatenate([[0], np.cumsum(np.bincount(coo.row, minlength=coo.shape[0]))])
    return sparse.csr_matrix((coo.data, coo.col, ends), shape=coo.shape)


@pytest.mark.parametrize("form", [lambda coo: coo, as_stored])
@pytest.mark.parametrize(
    "read",
    [
        lambda X: one_entry_a_place(as_csr(X)).toarray(),
        lambda X: DPMaxAbsScaler(random_state=0).fit(X).transform(X).toarray(),
        lambda X: RowNormClipper(5.0).transform(X).toarray(),
    ],
    ids=["reading", "max_abs", "clipper"],
)
def test_a_row_out_of_order_moves_no_other_row(form, read):
    """SciPy sorts all rows then, and its sort keeps no order within a place."""
    n = 40
    with_row, without = (read(form(table(n, with_row=w))) for w in (True, False))
    np.testing.assert_array_equal(with_row[:-1], without[:-1])
    assert without[:-1].any()


@pytest.mark.parametrize("form", [lambda coo: coo, as_stored])
def test_a_row_out_of_order_does_not_decide_the_sign_of_a_coefficient(form):
    """A model with epsilon 0.1 would tell it in every fit."""
    n = 300
    y = np.arange(n) % 2
    signs = []
    for with_row in (True, False):
        coo = table(n, with_row=with_row)
        coo.data *= np.where(y[coo.row] == 1, 1, -1)
        model = DPSGDClassifier(0.1, classes=[0, 1], random_state=0).fit(form(coo), y)
        signs.append(model.coef_[0, 0])
    assert signs[0] == pytest.approx(signs[1], rel=0.1)


@pytest.mark.parametrize("kind", ["csc", "coo", "bsr", "dia", "lil", "dok", "csr"])
@pytest.mark.parametrize("are_arrays", [True, False])
def test_every_format_holds_the_same_table(kind, are_arrays, rng):
    """And comes out as an array where it was one."""
    table = np.where(rng.random((30, 7)) < 0.3, rng.normal(size=(30, 7)), 0.0)
    X = getattr(sparse, f"{kind}_{'array' if are_arrays else 'matrix'}")(table)
    rows = as_csr(X)
    assert rows.format == "csr"
    assert isinstance(rows, sparse.csr_array) == are_arrays
    np.testing.assert_array_equal(rows.toarray(), X.toarray())


def test_entries_are_added_up_in_their_stored_order():
    """In double precision, whatever stands between them."""
    X = sparse.csr_array(
        (np.array([1.0, 2.0, 1e17, -1e17, 3.0]), [1, 0, 1, 1, 0], [0, 5]), shape=(1, 2)
    )
    before = X.data.copy()
    merged = one_entry_a_place(X)
    assert merged.toarray().tolist() == [[5.0, (1.0 + 1e17) - 1e17]]
    assert merged.has_canonical_format
    np.testing.assert_array_equal(X.data, before)
    assert X.nnz == 5


def test_rows_in_order_share_their_memory():
    """Nothing is copied where nothing is to be mended."""
    X = sparse.csr_array(np.eye(3))
    assert np.shares_memory(one_entry_a_place(X).data, X.data)


def test_entries_of_a_row_keep_their_order_wherever_they_stand_among_others(rng):
    """Those of a row that is scattered over the coordinates too, and of one place."""
    rows = rng.permutation(np.repeat(np.arange(9), 50))
    columns, values = rng.integers(3, size=len(rows)), rng.normal(size=len(rows))
    csr = as_csr(sparse.coo_matrix((values, (rows, columns)), shape=(9, 3)))
    for row in range(9):
        entries = slice(csr.indptr[row], csr.indptr[row + 1])
        np.testing.assert_array_equal(csr.indices[entries], columns[rows == row])
        np.testing.assert_array_equal(csr.data[entries], values[rows == row])
