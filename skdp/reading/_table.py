"""A table of rows: frames, lists, masked, sparse and foreign arrays, as one plain array.

What would be dropped on the way is looked at first: masks and gaps become NaN, dates and text are
refused by the name of their column, and sparse rows keep the order of their entries.
"""

import contextlib
import copy
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from skdp._sklearn import validate_without_leaks
from skdp.mechanisms._csr import as_csr
from skdp.reading._column import without_namespace
from skdp.reading._kinds import as_double, is_missing, kinds_of

__all__ = ["labels_of_columns", "read_table"]

# How pandas, polars and Arrow write kinds of columns. Of objects and categories, what they hold
# is looked at; what is in none of these lists is refused.
_TEMPORAL = re.compile(r"(datetime|timestamp|date|time|duration|period|month_day)", re.IGNORECASE)
_TEXT = re.compile(r"(str\b|string|large_string|utf8|categorical|enum)", re.IGNORECASE)
_NUMBERS = re.compile(
    r"(u?int\d|float|double|half|bool|decimal|complex|null|sparse)", re.IGNORECASE
)
# Arrow's categories: the kind of their values.
_DICTIONARY = re.compile(r"dictionary<values=([^,]+)")


def read_table(
    estimator: BaseEstimator, X: Any, *, accept_sparse: bool = False, **checks: Any
) -> Any:
    """Validate a table as scikit-learn does, after looking at what NumPy would not keep.

    Parameters
    ----------
    estimator : estimator
        Receives `n_features_in_` and `feature_names_in_`, unless `reset=False`.
    X : array-like, data frame or sparse table of shape (n_rows, n_features)
        As it was passed.
    accept_sparse : bool, default=False
        Whether sparse rows are taken, as CSR.
    **checks : dict
        As for `sklearn.utils.validation.validate_data`.

    Returns
    -------
    X : ndarray or CSR of shape (n_rows, n_features)
        Copied only where conversion needs it.

    Raises
    ------
    ValueError, TypeError
        Where it cannot be read, without showing a value of it.
    """
    checks["accept_sparse"] = "csr" if accept_sparse else False
    plain = _plain(X, accept_sparse=accept_sparse)
    if plain is X:
        return validate_without_leaks(estimator, X, **checks)
    # Number and names of the columns are those of what was passed.
    reset = checks.pop("reset", True)
    validate_without_leaks(estimator, X, reset=reset, skip_check_array=True)
    return validate_without_leaks(copy.copy(estimator), plain, reset=True, **checks)


def labels_of_columns(X: Any) -> list[Any] | None:
    """What a data frame calls its columns, whether text or not; None for other containers."""
    return [label for label, _ in _columns_of(X)] or None


def _plain(X: Any, *, accept_sparse: bool) -> Any:
    """The same table without what scikit-learn would drop; `X` itself where there is no such."""
    is_sparse: bool = sparse.issparse(X)
    if is_sparse:
        return as_csr(X) if accept_sparse and X.ndim == 2 else X
    if type(X).__name__ == "LazyFrame":
        raise TypeError("X is a LazyFrame, of which no row is there yet: pass X.collect()")
    columns = list(_columns_of(X))
    if columns:
        return _plain_frame(X, columns, accept_sparse=accept_sparse)
    X = without_namespace(X, "X")
    if isinstance(X, list | tuple) and any(isinstance(row, np.ma.MaskedArray) for row in X):
        X = np.ma.vstack(X)
    if isinstance(X, np.ma.MaskedArray):
        return _filled(X)
    if isinstance(X, list | tuple):
        return _plain_objects(X, _as_objects(X))
    if hasattr(X, "__array__") and not isinstance(X, np.ndarray):
        # If that fails, scikit-learn will read it again, and what is said then is withheld.
        with contextlib.suppress(Exception):
            X = np.asarray(X)
    if not isinstance(X, np.ndarray):
        return X
    if X.dtype.kind in "mM":
        raise ValueError(_no_dates("X"))
    if X.dtype.kind in "UST":
        raise ValueError(_no_text("X"))
    return _plain_objects(X, X) if X.dtype == object else X


def _filled(X: np.ma.MaskedArray) -> np.ndarray:
    """NaN in the place of what is masked, whatever lies behind the mask."""
    plain = _plain(np.asarray(X.data), accept_sparse=False)
    hidden = np.ma.getmaskarray(X)
    if plain.dtype.kind in "biu" and hidden.any():
        plain = plain.astype(np.float64)
    return np.where(hidden, np.nan, plain) if hidden.any() else plain


def _columns_of(X: Any) -> Iterator[tuple[Any, Any]]:
    """Name and kind of each column of a data frame; nothing for other containers."""
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        yield from zip(X.columns, X.dtypes, strict=True)
    elif hasattr(X, "column_names") and hasattr(X, "schema"):
        yield from zip(X.column_names, X.schema.types, strict=True)


def _plain_frame(X: Any, columns: list[tuple[Any, Any]], *, accept_sparse: bool) -> Any:
    has_objects, n_sparse = False, 0
    # Kinds are few, and columns may be many.
    first_of = {str(kind): (name, kind) for name, kind in reversed(columns)}
    for text, (name, kind) in first_of.items():
        if text.startswith("Sparse"):
            _check_fill_value(kind.fill_value, f"column {str(name)!r} of X")
            n_sparse += sum(str(other) == text for _, other in columns)
        has_objects |= text.lower() == "object"
    for name, kind in columns:
        _check_kind(kind, f"column {str(name)!r} of X")
    if n_sparse == len(columns) and accept_sparse:
        return as_csr(X.sparse.to_coo())
    if has_objects:
        return _plain_objects(X, np.asarray(X, dtype=object), [name for name, _ in columns])
    return X


def _check_kind(kind: Any, place: str) -> None:
    """Refuse columns of which no numbers can be made, or none that mean something."""
    levels = getattr(getattr(kind, "categories", None), "dtype", None)
    if str(kind) == "category" and levels is not None:
        if str(levels) == "object":
            raise ValueError(_no_text(place))
        kind = levels
    text = str(kind)
    in_dictionary = _DICTIONARY.match(text)
    text = in_dictionary[1] if in_dictionary else text
    if _TEMPORAL.match(text):
        raise ValueError(_no_dates(place))
    if _TEXT.match(text):
        raise ValueError(_no_text(place))
    if not (_NUMBERS.match(text) or text.lower() == "object"):
        kinds = text.partition("[")[0].partition("<")[0].partition("(")[0]
        raise ValueError(f"{place} holds {kinds}, not numbers: make numbers of it first")


def _as_objects(rows: list | tuple) -> np.ndarray:
    try:
        objects = np.array(rows, dtype=object)
    except ValueError:
        objects = np.empty(0, dtype=object)
    if objects.ndim == 1 and rows and all(isinstance(row, list | tuple) for row in rows):
        raise ValueError("X holds rows of different lengths: give each as many numbers")
    return objects


def _plain_objects(X: Any, objects: np.ndarray, names: list[Any] | None = None) -> Any:
    """Numbers out of objects, NaN for what is missing; `X` itself where nothing is to be done."""
    if objects.ndim != 2:
        return X
    kinds = kinds_of(objects.ravel().tolist())
    for kind, message in (("date", _no_dates), ("text", _no_text), ("bytes", _no_text)):
        if kind in kinds:
            column = next(j for j, c in enumerate(objects.T) if kind in kinds_of(c.tolist()))
            place = f"column {column}" if names is None else f"column {str(names[column])!r}"
            raise ValueError(message(f"{place} of X"))
    if not kinds <= {"whole", "real", "missing"}:
        return X
    # Gaps are NaN, and what is beyond the range of doubles is infinite.
    return np.vectorize(as_double, otypes=[np.float64])(objects)


def _check_fill_value(fill_value: Any, place: str) -> None:
    if is_missing(fill_value) or fill_value != 0:
        raise ValueError(
            f"{place} is sparse with another fill value than 0: convert it first, as with "
            "X.astype(pandas.SparseDtype(float, 0)), or to dense columns"
        )


def _no_dates(place: str) -> str:
    return (
        f"{place} holds dates or durations, which as numbers would be nanoseconds: convert them to "
        "a unit with a public range first, such as the number of days since a public day"
    )


def _no_text(place: str) -> str:
    return (
        f"could not convert string to float: {place} holds text where numbers are needed; encode "
        "it first, for example with OneHotEncoder, or convert text that spells numbers with astype"
    )
