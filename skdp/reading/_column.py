"""One value a row, or a few public numbers: labels, ids, bounds and knots, of one kind each.

No message shows a value or a number of rows: both may be private.
"""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_consistent_length

from skdp.reading._kinds import as_double, is_missing, kinds_of

__all__ = [
    "are_whole_objects",
    "check_one_each",
    "check_same_rows",
    "index_of",
    "numbers",
    "other_order",
    "read_column",
    "without_namespace",
]


def read_column(values: Any, name: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Read a column of one kind, and note what is missing in it.

    Parameters
    ----------
    values : array-like of shape (n_rows,)
        Numbers, text or bytes: a list, an array, a masked array, a column of a data frame.
    name : str
        Of the parameter, for messages.

    Returns
    -------
    column : ndarray
        Of one kind; what stands in missing places says nothing. What is not one-dimensional comes
        back as NumPy reads it, for whoever judges shapes.
    missing : ndarray of bool of shape (n_rows,) or None
        Where a value is missing: None, NaN, NaT, NA, or masked; None where none is.

    Raises
    ------
    ValueError
        Where numbers and text are mixed, or there are dates.
    """
    masked = None
    if isinstance(values, np.ma.MaskedArray):
        masked, values = np.ma.getmaskarray(values), values.data
    column = _elements(values)
    shape = column.shape
    if column.ndim == 2 and shape[1] == 1:
        column = column.ravel()
    if column.ndim != 1:
        return np.asarray(without_namespace(values, name)), None
    if column.dtype.kind in "mM":
        raise ValueError(_no_dates(name))
    missing = _missing(column)
    if masked is not None:
        missing = masked.reshape(column.shape) | (False if missing is None else missing)
    if missing is not None and not missing.any():
        missing = None
    if missing is not None and column.dtype.kind == "f":
        column = np.where(missing, column.dtype.type(0), column)
    if column.dtype == object:
        was_listed = isinstance(values, list | tuple)
        column = _of_one_kind(column, missing, name, keeps_objects=not was_listed)
    return column.reshape(shape), missing


def are_whole_objects(column: np.ndarray) -> bool:
    """Whether a column holds whole numbers as objects, of which some have more than 64 bits."""
    return column.dtype == object and kinds_of(column.tolist()) == {"whole"}


def numbers(value: Any, name: str) -> np.ndarray:
    """Read public numbers; what hides some of them, or is no number, is refused.

    Parameters
    ----------
    value : number or array-like
        A bound, or several; knots.
    name : str
        Of the parameter, for messages.

    Returns
    -------
    numbers : ndarray of float64
        Of the shape of `value`.

    Raises
    ------
    ValueError
        Where it holds text, dates or holes, or is ragged. Nothing of it is shown.
    """
    if isinstance(value, np.ma.MaskedArray) and np.ma.getmaskarray(value).any():
        raise ValueError(f"{name} has masked entries: give all numbers")
    elements = _elements(value)
    kinds = {_KIND_OF_ARRAY.get(elements.dtype.kind, "other")}
    if elements.dtype == object:
        kinds = kinds_of(elements.ravel().tolist())
    if "date" in kinds:
        raise ValueError(
            f"{name} holds dates or durations: convert them to numbers first, such as the number "
            "of days since a public day"
        )
    if not kinds <= {"whole", "real"}:
        raise ValueError(f"{name} must be numbers, without text or gaps")
    try:
        return elements.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(f"{name} must be numbers within the range of doubles")


_KIND_OF_ARRAY = dict.fromkeys("biu", "whole") | {"f": "real"} | dict.fromkeys("mM", "date")


def index_of(container: Any) -> Any:
    """The labels of a container's rows, as pandas has them; None for others."""
    index = getattr(container, "index", None)
    if hasattr(container, "indexes") and hasattr(container, "dims"):
        # An array with labelled dimensions, as those of xarray.
        index = container.indexes.get(container.dims[0]) if container.dims else None
    return index if hasattr(index, "equals") else None


def check_one_each(column: Any, name: str, X: Any) -> None:
    """Refuse a column that has not one entry for each row of a table, by its shape alone."""
    if getattr(column, "shape", None) == () or sparse.issparse(column):
        raise ValueError(
            f"{name} must be a one-dimensional array with one entry for every row of X; of a "
            f"sparse table pass {name}.toarray().ravel()"
        )
    check_consistent_length(X, column)


def _are_alike(one: Any, other: Any) -> bool:
    """Whether two indices hold the same labels in one order, whatever their types are called."""
    return one.equals(other) or (len(one) == len(other) and list(one) == list(other))


def check_same_rows(ids: Any, name: str, **beside: Any) -> None:
    """Refuse ids whose rows are labelled otherwise than those of the data beside them.

    Ids are matched with rows by position. Labels in another order, after a merge or a sort, say
    that the positions are wrong; rows of one person would then be spread over several units.

    Parameters
    ----------
    ids : array-like
        The unit of each row.
    name : str
        Of the parameter, for messages.
    **beside : array-likes
        What the ids are matched with, by the names of the parameters.
    """
    index = index_of(ids)
    for other, container in beside.items():
        its_index = index_of(container)
        if index is not None and its_index is not None and not _are_alike(index, its_index):
            raise ValueError(
                f"{name} and {other} have different indices, and rows are matched by position: put "
                f"the ids in the order of the rows, as with ids.loc[{other}.index], or, where they "
                f"are in that order already, pass {name}=ids.to_numpy()"
            )


def other_order(y: Any, X: Any) -> list[str]:
    """What to warn of where labels and rows have the same index in different orders."""
    one, other = index_of(y), index_of(X)
    if one is None or other is None or _are_alike(one, other):
        return []
    if len(one) != len(other) or set(one) != set(other):
        return []
    return [
        "X and y have the same index labels in different orders, and rows are matched by position: "
        "put y in the order of the rows with y.loc[X.index], or pass y.to_numpy() where it is in "
        "that order already"
    ]


def without_namespace(values: Any, name: str) -> Any:
    """Turn an array of another library into NumPy's; anything else is returned as it is."""
    if isinstance(values, np.ndarray) or not hasattr(values, "__dlpack__"):
        return values
    try:
        return np.asarray(values)
    except Exception:
        # Its message is about a device or a gradient, in the words of that library.
        pass
    raise ValueError(
        f"{name} is an array of another library, which does not give it to NumPy: copy it to the "
        f"CPU and pass a NumPy array, as with {name}.detach().cpu().numpy()"
    )


def _elements(values: Any) -> np.ndarray:
    """An array in which each element still has the kind that it had."""
    if not hasattr(values, "to_pylist"):
        values = without_namespace(values, "the values")
    if isinstance(values, np.ndarray):
        # Not a subclass, whose operations may be others.
        array = np.asarray(values)
        return array.astype(object) if array.dtype.kind == "T" else array
    if isinstance(values, list | tuple):
        try:
            return np.array(values, dtype=object)
        except (TypeError, ValueError):
            return np.empty((0, 0, 0))
    try:
        array = np.asarray(_as_listed(values))
    except (TypeError, ValueError):
        # Its message may show how many there are.
        return np.empty((0, 0, 0))
    return array.astype(object) if array.dtype.kind == "T" else array


def _as_listed(values: Any) -> Any:
    """Objects, where a column that has gaps would become doubles, in which large ids are one."""
    kind = getattr(values, "dtype", getattr(values, "type", None))
    if kind is None or isinstance(kind, np.dtype):
        return values
    # The same method by the names of pandas, polars and Arrow.
    for name in ("tolist", "to_list", "to_pylist"):
        if hasattr(values, name):
            return np.fromiter(getattr(values, name)(), dtype=object)
    return values


def _missing(column: np.ndarray) -> np.ndarray | None:
    if column.dtype.kind == "f":
        return np.isnan(column)
    if column.dtype != object:
        return None
    return np.fromiter(map(is_missing, column), dtype=bool, count=len(column))


def _of_one_kind(
    column: np.ndarray, missing: np.ndarray | None, name: str, *, keeps_objects: bool
) -> np.ndarray:
    """Objects as an array of their kind; text that came as objects stays so."""
    present = column if missing is None else column[~missing]
    kinds = kinds_of(present.tolist())
    if "date" in kinds:
        raise ValueError(_no_dates(name))
    if "interval" in kinds:
        raise ValueError(
            f"{name} holds intervals: give each a number or a name first, as pandas.cut does with "
            "labels=, or take .cat.codes"
        )
    if len(kinds) > 1 and kinds != {"whole", "real"}:
        raise ValueError(
            f"{name} holds several kinds of values, such as numbers and text: convert it to one "
            "kind with astype"
        )
    if missing is not None and len(present):
        column = column.copy()
        column[missing] = present[0]
    if not len(present) or "other" in kinds or (keeps_objects and kinds == {"text"}):
        return column
    if "real" in kinds:
        return np.array([as_double(element) for element in column])
    listed = np.array(column.tolist())
    # Whole numbers beyond 64 bits stay as they are; as doubles several of them would be one.
    return column if kinds == {"whole"} and listed.dtype.kind not in "biu" else listed


def _no_dates(name: str) -> str:
    return (
        f"{name} holds dates or durations: convert them to whole numbers or text first, such as "
        "the number of days since a public day"
    )
