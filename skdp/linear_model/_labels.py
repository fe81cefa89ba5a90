"""The label set: declared by the user, or read from y and then public.

No message shows a label of y: with a declared label set, y is as private as X.
"""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from skdp._sklearn import validate_without_leaks
from skdp.reading._column import are_whole_objects, read_column

__all__ = ["declared_labels", "encode_labels", "read_labels", "same_kind"]


def read_labels(
    estimator: BaseEstimator, y: Any, *, drops_missing: bool = False
) -> tuple[np.ndarray, np.ndarray | None]:
    """Read the labels of the rows, whatever holds them.

    Parameters
    ----------
    estimator : estimator
        Whose `fit` asks.
    y : array-like of shape (n_rows,)
        As it was passed.
    drops_missing : bool, default=False
        Whether rows may lack a label.

    Returns
    -------
    labels : ndarray of shape (n_rows,)
        Of one kind; what stands in missing places says nothing.
    missing : ndarray of bool of shape (n_rows,) or None
        Which rows lack a label; None where none does.

    Raises
    ------
    ValueError
        Where they cannot be read, or a label is missing.
    """
    labels, missing = read_column(y, "y")
    if drops_missing and labels.dtype.kind == "f" and labels.ndim == 1 and np.isinf(labels).any():
        # No label is infinite.
        missing = np.isinf(labels) | (False if missing is None else missing)
        labels = np.where(missing, 0.0, labels)
    if missing is not None and not drops_missing:
        raise ValueError(
            "y has missing labels (Input y contains NaN, None or another such mark, or is masked): "
            "give them a label of their own by a rule for each row by itself, or let such rows "
            'contribute nothing with on_invalid="drop"'
        )
    return validate_without_leaks(estimator, y=labels), missing


def encode_labels(
    y: np.ndarray, classes: Any, *, without: np.ndarray | None = None, drops_others: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Number the labels by their place in the sorted label set.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        Labels: integers, booleans, whole floats or text.
    classes : array-like of shape (n_classes,) or None
        The label set; None takes the labels that y holds.
    without : ndarray of bool of shape (n_rows,) or None
        Rows without a label, whatever y holds there.
    drops_others : bool, default=False
        Whether labels outside `classes` count as none.

    Returns
    -------
    label_set : ndarray of shape (n_classes,)
        Sorted and unique.
    codes : ndarray of shape (n_rows,)
        Positions in the label set; -1 for rows without a label.

    Raises
    ------
    ValueError
        Where y holds no class labels, or the label set is no set of two or more of y's kind.
    """
    present = y if without is None else y[~without]
    # A fraction is one more label outside `classes`.
    kind = _kind_of(present, "y", takes_fractions=classes is not None and drops_others)
    label_set = np.unique(present) if classes is None else declared_labels(classes)
    declared = _kind_of(label_set, "classes")
    if declared != kind:
        raise ValueError(
            f"classes holds {declared} but y holds {kind}: name the labels as they stand in y"
            + _REENCODING
        )
    if len(label_set) < 2:
        raise ValueError(
            "y holds one class, and a classifier needs two or more: name them all with classes=, "
            "or pass rows of several classes"
        )
    codes = np.full(len(y), -1)
    here = slice(None) if without is None else ~without
    codes[here] = np.searchsorted(label_set, present)
    inside = np.zeros(len(y), dtype=bool)
    inside[here] = label_set[np.minimum(codes[here], len(label_set) - 1)] == present
    if not (drops_others or np.all(inside[here])):
        raise ValueError(
            "y holds labels outside classes: name every label in classes=, or pass classes=None "
            "to take the label set from y, which makes it public" + _REENCODING
        )
    codes[~inside] = -1
    return label_set, codes


_REENCODING = (
    ". What numbers the labels before fit (VotingClassifier, BaggingClassifier, "
    "StackingClassifier, OneVsRestClassifier, and cross_val_predict with any method but predict) "
    "needs classes= in those numbers, as in classes=range(k)"
)


def declared_labels(classes: Any) -> np.ndarray:
    """The label set that the user declared, sorted; `y` is not needed for it.

    Raises
    ------
    ValueError
        Where it is no set of two or more labels of one kind.
    """
    declared, missing = read_column(classes, "classes")
    if missing is not None:
        raise ValueError("classes has missing entries: name labels alone, each once")
    if declared.ndim != 1:
        raise ValueError(
            "classes must be a one-dimensional list or array of labels, got "
            f"{type(classes).__name__} with {declared.ndim} dimensions"
        )
    _kind_of(declared, "classes")
    if declared.dtype.kind == "f" and not np.isfinite(declared).all():
        raise ValueError("classes has an infinite entry: name labels alone, each once")
    label_set = np.unique(declared)
    if len(label_set) != len(declared):
        # Not shown: what is passed may be y itself.
        raise ValueError(
            "classes names a label twice: name each label once, as in classes=[0, 1], which is not "
            "y itself"
        )
    if len(label_set) < 2:
        raise ValueError(f"classes must name two or more labels, got {len(label_set)}")
    return label_set


def same_kind(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays of labels may hold the same ones: both numbers, both text, both bytes."""
    return _kind_of(one, "classes") == _kind_of(other, "y")


def _kind_of(labels: np.ndarray, name: str, *, takes_fractions: bool = False) -> str:
    """Numbers or text; anything else is not a label."""
    if labels.dtype.kind in "biu" or are_whole_objects(labels):
        return "numbers"
    if labels.dtype.kind == "f":
        if not (takes_fractions or np.array_equal(labels, np.floor(labels))):
            raise ValueError(
                f"Unknown label type: {name} holds fractions, which are no class labels; bin them "
                "into classes first, or use a regressor"
            )
        return "numbers"
    if labels.dtype.kind == "S":
        return "bytes"
    if labels.dtype.kind == "U" or (
        labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels)
    ):
        return "text"
    raise ValueError(
        f"Unknown label type: {name} must hold integers or text, all of one kind; convert it "
        "with astype"
    )
