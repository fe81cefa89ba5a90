"""Ids of units of privacy: whole numbers or text, by which rows of one unit are found."""

from typing import Any

import numpy as np

from skdp.reading._column import are_whole_objects, read_column

__all__ = ["read_ids"]


def read_ids(
    ids: Any, name: str, *, drops_others: bool = False
) -> tuple[np.ndarray, np.ndarray | None]:
    """Read the unit of each row, and note where there is none.

    Parameters
    ----------
    ids : array-like of shape (n_rows,)
        As it was passed.
    name : str
        Of the parameter, for messages.
    drops_others : bool, default=False
        Whether numbers that are no ids count as missing: fractions, infinite ones, and doubles
        that are too large to tell two ids apart.

    Returns
    -------
    ids : ndarray
        Whole numbers or text. What is not one-dimensional comes back as NumPy reads it, for whoever
        judges shapes.
    missing : ndarray of bool of shape (n_rows,) or None
        Which rows have no id; None where all do.

    Raises
    ------
    ValueError
        Where they are of another kind. No id is shown.
    """
    column, missing = read_column(ids, name)
    if column.ndim != 1:
        return column, missing
    if column.dtype.kind == "f":
        others = ~_are_whole(column)
        if drops_others and others.any():
            missing = others if missing is None else missing | others
            column = np.where(others, 0.0, column)
        is_usable = not others.any() or drops_others
    else:
        is_text = column.dtype.kind in "US" or (
            column.dtype == object and all(isinstance(one, str) for one in column)
        )
        is_usable = is_text or column.dtype.kind in "biu" or are_whole_objects(column)
    # Of a column in which all is missing, nothing is known.
    if not (is_usable or (missing is not None and missing.all())):
        raise ValueError(
            f"{name} must hold integers or text, all of one kind; number the units first, for "
            "example with numpy.unique(ids, return_inverse=True)"
        )
    return column, missing


def _are_whole(ids: np.ndarray) -> np.ndarray:
    """Which floats are finite and without fraction; too large ones may stand for several ids."""
    with np.errstate(invalid="ignore"):
        return (np.abs(ids) < 2.0**53) & (ids == np.floor(ids))
