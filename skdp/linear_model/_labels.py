"""The label set: declared by the user, or read from y and then public.

No message shows a label of y: with a declared label set, y is as private as X.
"""

from typing import Any

import numpy as np

__all__ = ["declared_labels", "encode_labels"]


def encode_labels(y: np.ndarray, classes: Any) -> tuple[np.ndarray, np.ndarray]:
    """Number the labels by their place in the sorted label set.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        Labels: integers, booleans, whole floats or text.
    classes : array-like of shape (n_classes,) or None
        The label set; None takes the labels that y holds.

    Returns
    -------
    label_set : ndarray of shape (n_classes,)
        Sorted and unique.
    codes : ndarray of shape (n_rows,)
        Positions in the label set.

    Raises
    ------
    ValueError
        Where y holds no class labels, or the label set is no set of two or more of y's kind.
    """
    kind = _kind_of(y, "y")
    label_set = np.unique(y) if classes is None else declared_labels(classes)
    if classes is not None and _kind_of(label_set, "classes") != kind:
        raise ValueError(
            f"classes holds {_kind_of(label_set, 'classes')} but y holds {kind}: name the labels "
            "as they stand in y" + _REENCODING
        )
    if len(label_set) < 2:
        raise ValueError(
            "y holds one class, and a classifier needs two or more: name them all with classes=, "
            "or pass rows of several classes"
        )
    codes = np.searchsorted(label_set, y)
    inside = label_set[np.minimum(codes, len(label_set) - 1)] == y
    if not np.all(inside):
        raise ValueError(
            "y holds labels outside classes: name every label in classes=, or pass classes=None "
            "to take the label set from y, which makes it public" + _REENCODING
        )
    return label_set, codes


_REENCODING = (
    ". Meta-estimators that number the labels before fit (VotingClassifier, BaggingClassifier, "
    "StackingClassifier, OneVsRestClassifier) need classes= in those numbers"
)


def declared_labels(classes: Any) -> np.ndarray:
    """The label set that the user declared, sorted; `y` is not needed for it.

    Raises
    ------
    ValueError
        Where it is no set of two or more labels of one kind.
    """
    declared = np.asarray(classes)
    if declared.ndim != 1:
        raise ValueError(
            "classes must be a one-dimensional list or array of labels, got "
            f"{type(classes).__name__} with {declared.ndim} dimensions"
        )
    _kind_of(declared, "classes")
    label_set = np.unique(declared)
    if len(label_set) != len(declared):
        # Not shown: what is passed may be y itself.
        raise ValueError(
            "classes names a label twice: name each label once, as in classes=[0, 1], which is not "
            "y itself"
        )
    if len(label_set) < 2:
        raise ValueError(f"classes must name two or more labels, got {declared.tolist()!r}")
    return label_set


def _kind_of(labels: np.ndarray, name: str) -> str:
    """Numbers or text; anything else is not a label."""
    if labels.dtype.kind in "biu":
        return "numbers"
    if labels.dtype.kind == "f":
        if not np.array_equal(labels, np.floor(labels)):
            raise ValueError(
                f"Unknown label type: {name} holds fractions, which are no class labels; bin them "
                "into classes first, or use a regressor"
            )
        return "numbers"
    if labels.dtype.kind == "S":
        return "bytes"
    if labels.dtype.kind == "U" or all(isinstance(label, str) for label in labels):
        return "text"
    raise ValueError(
        f"Unknown label type: {name} must hold integers or text, all of one kind; convert it "
        "with astype"
    )
