"""Reading `privacy_unit`: which rows belong to one person.

No message shows an id or a number of rows: both are private where a unit has several rows.
"""

from typing import Any

import numpy as np

from skdp.mechanisms._units import Units

__all__ = ["unit_name_of", "units_of"]


def units_of(privacy_unit: Any, n_rows: int) -> Units:
    """Group rows by their unit.

    Parameters
    ----------
    privacy_unit : array-like of shape (n_rows,)
        Each row's unit: integers or text, all of one kind.
    n_rows : int
        Number of rows of the data.

    Raises
    ------
    ValueError
        Where it is no such array, or an entry is missing.
    """
    try:
        ids = np.asarray(privacy_unit)
    except (TypeError, ValueError):
        # Its message shows how many there are.
        ids = np.empty(())
    if ids.ndim != 1 or len(ids) != n_rows:
        raise ValueError(
            "privacy_unit must be a one-dimensional array with one entry for every row of X: the "
            "person, or other unit, that the row belongs to"
        )
    whole = ids.dtype.kind in "biu" or (ids.dtype.kind == "f" and _are_whole(ids))
    text = ids.dtype.kind in "US" or (
        ids.dtype.kind == "O" and all(isinstance(name, str) for name in ids)
    )
    if ids.dtype.kind == "O" and not text:
        whole = all(isinstance(name, (int, np.integer)) for name in ids)
    if not (whole or text):
        raise ValueError(
            "privacy_unit must hold integers or text, all of one kind and none missing; number the "
            "units with pandas.factorize, for example"
        )
    _, codes = np.unique(ids, return_inverse=True)
    return Units(codes)


def unit_name_of(privacy_unit: Any) -> str | None:
    """The name of a column of ids, which says what a unit is; None where it has none."""
    name = getattr(privacy_unit, "name", None)
    return name if isinstance(name, str) and name else None


def _are_whole(ids: np.ndarray) -> bool:
    """Whether floats are finite and without fraction; too large ones may stand for several ids."""
    return bool(np.all(np.abs(ids) < 2.0**53) and np.array_equal(ids, np.floor(ids)))
