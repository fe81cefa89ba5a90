"""How a splitter sends rows into fits: what it looks at, and the sizes of its folds.

Folds made from positions alone are the same whatever the rows say. Splitters that look at labels or
at the sizes of groups are not: one row more or less moves others between the folds, so that fits
on folds differ in many rows.
"""

from copy import deepcopy
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from skdp.privacy import Gap
from skdp.statement._free import is_a

__all__ = ["Splits", "read_splits"]

_PLACE = "sklearn.model_selection."
_BY_LABELS = ("StratifiedKFold", "StratifiedShuffleSplit", "RepeatedStratifiedKFold")
_BY_GROUPS = (
    "GroupKFold",
    "GroupShuffleSplit",
    "LeaveOneGroupOut",
    "LeavePGroupsOut",
    "StratifiedGroupKFold",
)
_REPEATED = ("RepeatedKFold", "RepeatedStratifiedKFold")
_SHUFFLES = ("ShuffleSplit", "StratifiedShuffleSplit")
_DEFAULT_FOLDS = 5
# Stands for any number of folds, since no fit on it can be counted.
_UNKNOWN_SIZES = ((None,),)


@dataclass(frozen=True)
class Splits:
    """The fits on folds, round by round.

    Parameters
    ----------
    rounds : tuple of tuples of int or None
        Number of training rows of each fold, or of units where the splitter deals out units.
        None where it is not known.
    leaves_out : bool
        Whether each row is left out of exactly one fold a round. If not, it may be in all.
    by_unit : bool
        Whether whole units go into folds.
    holds_once : bool
        Whether each row is known to stand once in a fold's training rows, or not at all.
    gaps : tuple of Gap
        What the splitter looked at.
    """

    rounds: tuple[tuple[int | None, ...], ...]
    leaves_out: bool
    by_unit: bool = False
    holds_once: bool = True
    gaps: tuple[Gap, ...] = ()


def read_splits(cv: Any, n_rows: int | None, *, stratifies: bool, owner: str) -> Splits:
    """Say how the splits of `cv` use rows.

    Parameters
    ----------
    cv : int, splitter, iterable or None
        As scikit-learn takes it.
    n_rows : int or None
        Number of rows, or of units; None where it is not known.
    stratifies : bool
        Whether a number of folds stands for stratified ones.
    owner : str
        Whose splits they are.

    Returns
    -------
    splits : Splits
    """
    if cv is None or isinstance(cv, Integral):
        n_folds = _DEFAULT_FOLDS if cv is None else int(cv)
        gaps = (_looks_at(f"StratifiedKFold of {owner}", "labels", n_folds),) if stratifies else ()
        return Splits((_fold_sizes(n_rows, n_folds),), leaves_out=True, gaps=gaps)
    if vars(type(cv)).get("_splits_units", False):
        n_folds = cv.get_n_splits()
        # Units without rows are dealt out too, and nothing kept which fold they are in.
        declared = getattr(cv, "units", None)
        if declared is not None and len(np.unique(declared)) != n_rows:
            n_rows = None
        return Splits((_fold_sizes(n_rows, n_folds),), leaves_out=True, by_unit=True)
    name = f"{type(cv).__name__} of {owner}"
    if _is(cv, *_BY_LABELS, *_BY_GROUPS):
        what = "labels" if _is(cv, *_BY_LABELS) else "sizes of the groups"
        gaps = (_looks_at(name, what, getattr(cv, "n_splits", _DEFAULT_FOLDS)),)
    elif _is(cv, "KFold", "RepeatedKFold", "LeaveOneOut", "ShuffleSplit", "TimeSeriesSplit"):
        gaps = ()
    else:
        gaps = (_may_look(name),)
    return _sized(cv, n_rows, gaps)


def _sized(cv: Any, n_rows: int | None, gaps: tuple[Gap, ...]) -> Splits:
    if _is(cv, "LeaveOneOut") and n_rows is not None:
        return Splits((_fold_sizes(n_rows, n_rows),), leaves_out=True, gaps=gaps)
    if _is(cv, "GroupKFold", "StratifiedGroupKFold"):
        return Splits(((None,) * cv.n_splits,), leaves_out=True, gaps=gaps)
    if _is(cv, "KFold", "StratifiedKFold"):
        return Splits((_fold_sizes(n_rows, cv.n_splits),), leaves_out=True, gaps=gaps)
    if _is(cv, *_REPEATED):
        n_folds = cv.get_n_splits() // cv.n_repeats
        rounds = (_fold_sizes(n_rows, n_folds),) * cv.n_repeats
        return Splits(rounds, leaves_out=True, gaps=gaps)
    if _is(cv, "LeaveOneOut", *_BY_GROUPS):
        return Splits(_UNKNOWN_SIZES, leaves_out=False, gaps=gaps)
    if _is(cv, *_SHUFFLES):
        return Splits((_shuffle_sizes(cv, n_rows),), leaves_out=False, gaps=gaps)
    if _is(cv, "TimeSeriesSplit"):
        return Splits((_time_sizes(cv, n_rows),), leaves_out=False, gaps=gaps)
    sizes = _listed_sizes(cv, n_rows)
    if sizes is None:
        return Splits(_UNKNOWN_SIZES, leaves_out=False, holds_once=False, gaps=gaps)
    return Splits((sizes,), leaves_out=False, gaps=gaps)


def _is(cv: Any, *names: str) -> bool:
    return is_a(cv, *(_PLACE + name for name in names))


def _fold_sizes(n_rows: int | None, n_folds: int) -> tuple[int | None, ...]:
    """Training rows of each of `n_folds` folds that deal out the rows as evenly as can be."""
    if n_rows is None:
        return (None,) * n_folds
    held_out, larger = divmod(n_rows, n_folds)
    return tuple(n_rows - held_out - (fold < larger) for fold in range(n_folds))


def _shuffle_sizes(cv: Any, n_rows: int | None) -> tuple[int | None, ...]:
    if n_rows is None:
        return (None,) * cv.n_splits
    from sklearn.model_selection import ShuffleSplit

    # All splits have one size, and that of stratified ones is the same.
    plain = ShuffleSplit(1, test_size=cv.test_size, train_size=cv.train_size, random_state=0)
    train, _ = next(plain.split(np.empty((n_rows, 0))))
    return (len(train),) * cv.n_splits


def _time_sizes(cv: Any, n_rows: int | None) -> tuple[int | None, ...]:
    if n_rows is None:
        return (None,) * cv.n_splits
    return tuple(len(train) for train, _ in cv.split(np.empty((n_rows, 0))))


def _listed_sizes(cv: Any, n_rows: int | None) -> tuple[int | None, ...] | None:
    """Training rows of splits that were listed one by one; None where they are no list."""
    try:
        if _is(cv, "PredefinedSplit"):
            return tuple(len(train) for train, _ in deepcopy(cv).split())
        if isinstance(cv, list | tuple):
            return tuple(_n_distinct(train, n_rows) for train, _ in cv)
    except (TypeError, ValueError):
        return None
    # A generator is used up; a splitter of another kind may do anything.
    return None


def _n_distinct(train: Any, n_rows: int | None) -> int:
    indices = np.asarray(train)
    if indices.dtype == bool:
        return int(indices.sum())
    if len(np.unique(indices % n_rows if n_rows else indices)) < len(indices):
        raise ValueError("a row that stands twice in one fold counts as two rows of one person")
    return len(indices)


def _looks_at(name: str, what: str, n_folds: int) -> Gap:
    return Gap(
        name,
        f"looking at the {what}, so that one row more or less moves other rows between folds",
        f"cv=KFold({n_folds}, shuffle=True), or skdp.model_selection.UnitKFold for people with "
        "many rows",
    )


def _may_look(name: str) -> Gap:
    return Gap(
        name,
        "nothing says that the splits were made without looking at the rows",
        "cv=KFold(..., shuffle=True)",
    )
