"""Reading `privacy_unit`: which rows belong to one person.

No message shows an id or a number of rows: both are private where a unit has several rows.
"""

from typing import Any

import numpy as np

from skdp.mechanisms._units import Units
from skdp.reading._ids import read_ids

__all__ = ["unit_name_of", "units_of"]


def units_of(
    privacy_unit: Any, n_rows: int, *, drops_missing: bool = False
) -> tuple[Units, np.ndarray | None]:
    """Group rows by their unit.

    Parameters
    ----------
    privacy_unit : array-like of shape (n_rows,)
        Each row's unit: integers or text, all of one kind.
    n_rows : int
        Number of rows of the data.
    drops_missing : bool, default=False
        Whether rows without an id are left out.

    Returns
    -------
    units : Units
        Of the rows that have an id.
    has_id : ndarray of bool of shape (n_rows,) or None
        Which rows have one; None where all do.

    Raises
    ------
    ValueError
        Where it is no such array, or an entry is missing.
    """
    ids, missing = read_ids(privacy_unit, "privacy_unit", drops_others=drops_missing)
    if ids.ndim != 1 or len(ids) != n_rows:
        raise ValueError(
            "privacy_unit must be a one-dimensional array with one entry for every row of X: the "
            "person, or other unit, that the row belongs to"
        )
    has_id = None if missing is None else ~missing
    if has_id is not None:
        ids = ids[has_id]
        if not (drops_missing and len(ids)):
            raise ValueError(
                "privacy_unit has missing entries: every row needs the id of its unit. Give each "
                'row without one an id of its own, or leave such rows out by on_invalid="drop"; '
                "one id for all of them would make one unit of many people"
            )
    _, codes = np.unique(ids, return_inverse=True)
    return Units(codes), has_id


def unit_name_of(privacy_unit: Any) -> str | None:
    """The name of a column of ids, which says what a unit is; None where it has none."""
    name = getattr(privacy_unit, "name", None)
    return name if isinstance(name, str) and name else None
