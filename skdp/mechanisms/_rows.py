"""Fetching batches of rows in pieces that fit the cache, from dense and from CSR data alike.

A piece is an array in float64 or a CSR matrix, on which `piece @ weights` and `piece.T @ residual`
mean the same thing; the clip needs no more than that. Small batches are gathered several at a
time, since they are drawn without looking at the weights. Large ones are cut up, so that a row
that was read for its logit is still in the cache for its gradient.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from skdp.mechanisms._csr import one_entry_a_place
from skdp.mechanisms._sampling import Block

__all__ = [
    "DenseRows",
    "Pieces",
    "SparseRows",
    "every_row",
    "fetch",
    "in_row_order",
    "rows_of",
    "usable_rows",
]

# The size of a second-level cache. With fewer rows than these, calls cost more than arithmetic.
_BYTES_PER_PIECE = 1 << 19
_LEAST_ROWS_PER_PIECE = 64
# With more, a sum of so many rows could be off by more than the accountant allows.
_MOST_ROWS_PER_PIECE = 1 << 15
# Gathering several batches at once saves calls, which count only where batches are far smaller.
_GROUPS_PER_PIECE = 4
# In batches of at most so many numbers, copying them once more into an array with one more column
# costs less than the calls for the intercept that it saves.
_NUMBERS_WHERE_IT_PAYS = 1 << 12

# Arrays of at most so many bytes are copied where their rows are not stored one after another.
_BYTES_TO_REORDER = 48 << 20

# Pairs of which rows (indices or a slice) and their values (an array or a CSR matrix).
Pieces = Iterable[tuple[np.ndarray | slice, np.ndarray | sparse.csr_matrix]]


def in_row_order(
    X: np.ndarray | sparse.csr_matrix | sparse.csr_array,
) -> np.ndarray | sparse.csr_matrix | sparse.csr_array:
    """The same data with each row in one place, copied for that where it is small; else `X` itself.

    Data frames give arrays whose columns are in one place instead, and gathering their rows takes
    three times as long.
    """
    if sparse.issparse(X) or X.flags.c_contiguous or X.nbytes > _BYTES_TO_REORDER:
        return X
    return np.ascontiguousarray(X)


def rows_of(
    X: np.ndarray | sparse.csr_matrix | sparse.csr_array,
    *,
    last_column: float | None = None,
    usable: np.ndarray | None = None,
) -> "DenseRows | SparseRows":
    """Wrap validated data; nothing is copied, and `X` is never modified.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_rows, n_features)
        The data.
    last_column : float or None
        A constant that gathered pieces may get as a last column, where that pays: then the
        intercept is one more weight of the same matrix products.
    usable : ndarray of bool of shape (n_rows,) or None
        Which rows are read; the others, whatever they hold, are rows of zeros. None reads all.

    Returns
    -------
    rows : DenseRows or SparseRows
        What gives norms and pieces of the data.

    Raises
    ------
    ValueError
        Where `X` is CSR whose indices lie outside the table, or whose entries for one place add up
        to infinity in a row that is read.
    """
    if isinstance(X, np.ndarray):
        return DenseRows(X, last_column=last_column, usable=usable)
    one_each = one_entry_a_place(X)
    if usable is not None:
        data = np.where(np.repeat(usable, np.diff(one_each.indptr)), one_each.data, 0.0)
        parts = (data.astype(one_each.dtype), one_each.indices, one_each.indptr)
        one_each = sparse.csr_matrix(parts, shape=X.shape, copy=False)
    if one_each.nnz < X.nnz and not np.isfinite(one_each.data).all():
        raise ValueError(
            "Input X contains infinity: it has several entries for one place, and their sum is "
            "beyond the range of numbers"
        )
    return SparseRows(sparse.csr_matrix(one_each, copy=False))


def usable_rows(X: np.ndarray | sparse.csr_matrix | sparse.csr_array) -> np.ndarray | None:
    """Which rows are made of finite numbers; None where all are.

    Entries of CSR for one place are added up first.
    """
    if sparse.issparse(X):
        X = one_entry_a_place(X)
        usable = np.ones(X.shape[0], dtype=bool)
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        usable[rows[~np.isfinite(X.data)]] = False
    else:
        usable = np.empty(X.shape[0], dtype=bool)
        for selection, piece in every_row(DenseRows(X)):
            usable[selection] = np.isfinite(piece).all(axis=1)
    return None if usable.all() else usable


def fetch(rows: "DenseRows | SparseRows", blocks: Iterable[Block]) -> Iterator[Pieces]:
    """Yield the pieces of each batch in turn, as (selection, piece); none for an empty batch.

    Parameters
    ----------
    rows : DenseRows or SparseRows
        Where they come from.
    blocks : iterable of Block
        The batches to fetch, a block at a time ahead of what is yielded.
    """
    for drawn, stops in blocks:
        if isinstance(drawn, slice):
            for _ in stops:
                yield every_row(rows)
            continue
        first = 0
        while first < len(stops):
            start = stops[first - 1] if first else 0
            last = bisect_right(stops, start + rows.rows_per_piece // _GROUPS_PER_PIECE)
            if last > first + 1:
                ends = [stop - start for stop in stops[first:last]]
                yield from _gather(rows, drawn[start : stops[last - 1]], ends)
            else:
                last = first + 1
                yield _cut_up(rows, drawn[start : stops[first]])
            first = last


class DenseRows:
    """Rows of an array in float32 or float64, memory maps included."""

    def __init__(
        self,
        X: np.ndarray,
        *,
        last_column: float | None = None,
        usable: np.ndarray | None = None,
    ):
        self._X = X
        self._last_column = last_column
        self._usable = usable
        self.shape = X.shape
        self.rows_per_piece = _rows_per_piece(8 * X.shape[1])
        self._buffer: np.ndarray | None = None

    def take(self, rows: np.ndarray, *, n_batches: int = 1) -> np.ndarray:
        """Gather the rows of some batches by index, in float64; with the last column where it pays.

        What is returned may be overwritten by the next call.
        """
        if not self._X.flags.c_contiguous:
            # `take` would first copy the whole array.
            return self._read(_in_double(self._X[rows]), rows)
        if self._buffer is None:
            self._buffer = np.empty((self.rows_per_piece, self.shape[1]), self._X.dtype)
        gathered = self._buffer[: len(rows)]
        # All indices are in range; this mode alone writes to `out` without a copy in between.
        self._X.take(rows, axis=0, out=gathered, mode="clip")
        gathered = self._read(gathered, rows)
        if self._last_column is None or gathered.size > n_batches * _NUMBERS_WHERE_IT_PAYS:
            return _in_double(gathered)
        piece = np.empty((len(rows), self.shape[1] + 1))
        piece[:, :-1] = gathered
        piece[:, -1] = self._last_column
        return piece

    def adjacent(self, start: int, stop: int) -> np.ndarray:
        """Rows start to stop in float64; a view where they are stored so that one will do."""
        piece = _in_double(self._X[start:stop])
        if min(piece.strides) <= 0 or piece.itemsize not in piece.strides:
            # NumPy itself multiplies such views, and adds up in another order than with a copy.
            piece = np.ascontiguousarray(piece)
        if self._usable is None:
            return piece
        # In the same layout, in which products of the other rows are the same to the last bit.
        return self._read(piece.copy(order="K"), slice(start, stop))

    def norms(self) -> np.ndarray:
        """L2 norm of every row; infinite only where it exceeds the largest double."""
        return _norms_by_piece(self, _dense_norms)

    def _read(self, piece: np.ndarray, rows: np.ndarray | slice) -> np.ndarray:
        """Put zeros into the rows of a fresh piece that are not to be read."""
        if self._usable is not None:
            piece[~self._usable[rows]] = 0.0
        return piece


class SparseRows:
    """Rows of a CSR matrix that has one entry a place."""

    def __init__(self, X: sparse.csr_matrix):
        self._X = X
        self.shape = X.shape
        entries_per_row = max(1, X.nnz // max(1, X.shape[0]))
        self.rows_per_piece = _rows_per_piece(12 * entries_per_row)

    def take(self, rows: np.ndarray, *, n_batches: int = 1) -> sparse.csr_matrix:
        """Gather rows by index; one more column would cost more than it saves."""
        return self._X[rows]

    def adjacent(self, start: int, stop: int) -> sparse.csr_matrix:
        """Rows start to stop as a matrix on the same memory."""
        X = self._X
        if start == 0 and stop == X.shape[0]:
            return X
        first, last = X.indptr[start], X.indptr[stop]
        return sparse.csr_matrix(
            (X.data[first:last], X.indices[first:last], X.indptr[start : stop + 1] - first),
            shape=(stop - start, X.shape[1]),
            copy=False,
        )

    def norms(self) -> np.ndarray:
        """L2 norm of every row; infinite only where it exceeds the largest double."""
        return _norms_by_piece(self, _sparse_norms)


def _rows_per_piece(bytes_per_row: int) -> int:
    wanted = _BYTES_PER_PIECE // bytes_per_row
    return min(max(_LEAST_ROWS_PER_PIECE, wanted), _MOST_ROWS_PER_PIECE)


def _in_double(piece: np.ndarray) -> np.ndarray:
    return piece if piece.dtype == np.float64 else piece.astype(np.float64)


def _gather(rows: DenseRows | SparseRows, group: np.ndarray, ends: list[int]) -> Iterator[Pieces]:
    """Fetch several small batches at once, then yield each as a single piece."""
    gathered: DenseRows | SparseRows
    if isinstance(rows, DenseRows):
        gathered = DenseRows(rows.take(group, n_batches=len(ends)))
    else:
        gathered = SparseRows(rows.take(group))
    start = 0
    for end in ends:
        yield [(group[start:end], gathered.adjacent(start, end))] if end > start else []
        start = end


def _cut_up(rows: DenseRows | SparseRows, batch: np.ndarray) -> Pieces:
    """Fetch one batch, piece by piece where it is large."""
    for start in range(0, len(batch), rows.rows_per_piece):
        selection = batch[start : start + rows.rows_per_piece]
        yield selection, rows.take(selection)


def every_row(rows: DenseRows | SparseRows) -> Iterator[tuple[slice, Any]]:
    """View the whole table piece by piece, without gathering anything."""
    for start in range(0, rows.shape[0], rows.rows_per_piece):
        stop = min(start + rows.rows_per_piece, rows.shape[0])
        yield slice(start, stop), rows.adjacent(start, stop)


def _norms_by_piece(
    rows: DenseRows | SparseRows, norms_of: Callable[[Any], np.ndarray]
) -> np.ndarray:
    norms = np.empty(rows.shape[0])
    for selection, piece in every_row(rows):
        norms[selection] = norms_of(piece)
    return norms


# Outside this range a sum of squares may have lost digits to overflow or to underflow.
_LEAST_TRUSTED, _MOST_TRUSTED = 1e-250, 1e300


def _dense_norms(piece: np.ndarray) -> np.ndarray:
    """Row norms; rows whose squares overflow or vanish are divided by their largest entry.

    The order of each sum depends on the number of columns alone, neither on how the array is laid
    out nor on the other rows: the clip and the bins of a histogram depend on the last bit.
    """
    piece = np.ascontiguousarray(piece)
    with np.errstate(over="ignore", under="ignore"):
        squares = np.einsum("ij,ij->i", piece, piece)
        norms = np.sqrt(squares)
        odd = np.flatnonzero((squares < _LEAST_TRUSTED) | (squares > _MOST_TRUSTED))
        if odd.size:
            largest = np.abs(piece[odd]).max(axis=1)
            scaled = piece[odd] / np.where(largest == 0.0, 1.0, largest)[:, np.newaxis]
            norms[odd] = largest * np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
    return norms


def _sparse_norms(piece: sparse.csr_matrix) -> np.ndarray:
    """Row norms of CSR data, with the same care for the ends of the number range."""
    n_rows = piece.shape[0]
    entries = piece.data.astype(np.float64, copy=False)
    row_of_entry = np.repeat(np.arange(n_rows), np.diff(piece.indptr))
    with np.errstate(over="ignore", under="ignore"):
        squares = np.bincount(row_of_entry, weights=np.square(entries), minlength=n_rows)
        norms = np.sqrt(squares)
        odd = (squares < _LEAST_TRUSTED) | (squares > _MOST_TRUSTED)
        if odd.any():
            largest = np.zeros(n_rows)
            np.maximum.at(largest, row_of_entry, np.abs(entries))
            divisor = np.where(largest == 0.0, 1.0, largest)
            scaled = np.square(entries / divisor[row_of_entry])
            squares = np.bincount(row_of_entry, weights=scaled, minlength=n_rows)
            norms[odd] = (largest * np.sqrt(squares))[odd]
    return norms
