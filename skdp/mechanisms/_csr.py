"""Rows as CSR, each row stored and added up by itself.

SciPy sorts all rows as soon as one of them is out of order, and its sort keeps no order among the
entries of one place. How a row with several entries for a place adds up would then depend on what
another row looks like: one row could move all others. So rows are converted and sorted here, by
stable sorts, and entries of one place are added up in the order in which they are stored.
"""

from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["as_csr", "one_entry_a_place"]


def as_csr(X: Any) -> sparse.csr_matrix | sparse.csr_array:
    """Convert a sparse table to CSR; CSR itself is returned as it is.

    Entries of a row keep their order, and those of one place are kept apart.

    Parameters
    ----------
    X : sparse matrix or sparse array of shape (n_rows, n_features)
        In any of SciPy's formats.

    Returns
    -------
    csr : CSR of shape (n_rows, n_features)
        A matrix for a matrix, an array for an array.
    """
    if X.format == "csr":
        return X
    entries = X.tocoo(copy=False)
    rows, columns = entries.row, entries.col
    order = np.argsort(rows, kind="stable")
    ends = np.cumsum(np.bincount(rows, minlength=X.shape[0]))
    kind = _csr_like(X)
    parts = (entries.data[order], columns[order], np.concatenate([[0], ends]))
    return kind(parts, shape=X.shape)


def one_entry_a_place(
    X: sparse.csr_matrix | sparse.csr_array,
) -> sparse.csr_matrix | sparse.csr_array:
    """Wrap CSR data whose places are within the table and stored once; else copy and mend.

    Parameters
    ----------
    X : CSR of shape (n_rows, n_features)
        Never modified; what is returned may share its memory.

    Returns
    -------
    csr : CSR of shape (n_rows, n_features)
        With one entry a place: the sum of those that `X` has for it.

    Raises
    ------
    ValueError
        Where indices lie outside the table.
    """
    # A fresh wrapper around the same memory: flags that were cached on the caller's object
    # may be out of date, and looking them up must not change that object either.
    kind = _csr_like(X)
    own = kind((X.data, X.indices, X.indptr), shape=X.shape, copy=False)
    try:
        own.check_format(full_check=True)
        well_formed = True
    except ValueError:
        well_formed = False
    if not well_formed:
        raise ValueError("X is no valid CSR matrix: some of its indices lie outside its shape")
    if own.has_canonical_format:
        return own
    rows = np.repeat(np.arange(own.shape[0]), np.diff(own.indptr))
    order = np.lexsort((own.indices, rows))
    rows, columns, values = rows[order], own.indices[order], own.data[order]
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    place = np.cumsum(is_first) - 1
    merged = values[is_first]
    several = np.flatnonzero(np.bincount(place, minlength=len(merged)) > 1)
    with np.errstate(all="ignore"):
        # One entry after the other, unlike sums whose order depends on how many there are.
        merged[several] = np.bincount(place, weights=values, minlength=len(merged))[several]
    ends = np.cumsum(np.bincount(rows[is_first], minlength=own.shape[0]))
    parts = (merged, columns[is_first], np.concatenate([[0], ends]))
    return kind(parts, shape=own.shape)


def _csr_like(X: Any) -> Any:
    """The class of CSR arrays for an array, and that of matrices for a matrix.

    The class of all arrays had an underscore before SciPy 1.11.
    """
    kinds = {kind.__name__ for kind in type(X).__mro__}
    return sparse.csr_array if kinds & {"sparray", "_sparray"} else sparse.csr_matrix
