"""Public bounds of columns and of scaled values, in the one form that all here take."""

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from skdp._sklearn import Interval
from skdp.exceptions import shown
from skdp.reading._column import index_of, numbers

__all__ = ["CLIP", "resolve_bounds", "resolve_clip"]

# What the parameter `clip` may be.
CLIP = [Interval(Real, 0, None, closed="neither"), None]


def resolve_bounds(
    bounds: Any,
    n_features: int,
    feature_names: np.ndarray | None,
    labels: list[Any] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Turn `bounds` into one low and one high number a column.

    Parameters
    ----------
    bounds : tuple (low, high), or mapping from column name to such a pair
        `low` and `high` are each a number for all columns or one number a column: all low ends
        come first, then all high ends. A mapping names every column. Ends that are labelled by
        the names of the columns, as pandas Series may be, are read by name.
    n_features : int
        Number of columns.
    feature_names : ndarray of shape (n_features,) or None
        Names of the columns; a mapping needs them.
    labels : list or None, default=None
        What a data frame calls its columns, text or not.

    Returns
    -------
    low, high : ndarray of shape (n_features,)
        Finite, low below high, and their difference finite.

    Raises
    ------
    ValueError
        Where bounds are missing or cannot be used; names the parameter, and the columns.
    """
    if bounds is None:
        raise ValueError(
            "bounds=None: no range is ever taken from the rows, so it needs public bounds; pass "
            "bounds=(low, high), each a number or one number a column, or a mapping from column "
            "name to (low, high)"
        )
    if isinstance(bounds, Mapping):
        low, high = _from_mapping(bounds, feature_names)
    else:
        low, high = _pair(bounds, "bounds")
    low = _per_column(low, "low in bounds", n_features, labels)
    high = _per_column(high, "high in bounds", n_features, labels)
    with np.errstate(over="ignore"):
        usable = np.isfinite(low) & np.isfinite(high) & (low < high) & np.isfinite(high - low)
    if not usable.all():
        column = int(np.argmin(usable))
        name = column if feature_names is None else repr(str(feature_names[column]))
        raise ValueError(
            f"bounds must be finite, with low below high in every column; column {name} has "
            f"low={low[column]:g} and high={high[column]:g}"
        )
    return low, high


def resolve_clip(clip: float | None) -> float | None:
    """Any real number as a float; None, for no bound, as it is."""
    return None if clip is None else float(clip)


def _from_mapping(
    bounds: Mapping[str, Any], feature_names: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    if feature_names is None:
        raise ValueError(
            "bounds is a mapping, which needs columns named by text: pass a DataFrame with "
            "such names, or bounds=(low, high) with one number a column"
        )
    missing = [str(name) for name in feature_names if name not in bounds]
    unknown = [str(name) for name in bounds if name not in set(feature_names)]
    if missing or unknown:
        raise ValueError(
            "bounds must name every column once: "
            + "; ".join(
                f"{what} {names}"
                for what, names in (("missing", missing), ("not in X", unknown))
                if names
            )
        )
    low, high = np.empty(len(feature_names)), np.empty(len(feature_names))
    for column, name in enumerate(feature_names):
        place = f"bounds[{str(name)!r}]"
        for ends, end in zip((low, high), _pair(bounds[name], place), strict=True):
            ends[column] = _per_column(end, f"each end of {place}", 1, None)[0]
    return low, high


def _pair(value: Any, name: str) -> tuple[Any, Any]:
    is_labelled = index_of(value) is not None
    if not (isinstance(value, str) or is_labelled):
        try:
            low, high = value
        except (TypeError, ValueError):
            pass
        else:
            return low, high
    raise ValueError(
        f"{name} must be a pair (low, high), got {shown(value)}; for one pair a column, pass "
        "(lows, highs) = zip(*pairs), a mapping from names to pairs, or two columns of a codebook, "
        "(codebook['low'], codebook['high'])"
    )


def _per_column(value: Any, name: str, n_features: int, labels: list[Any] | None) -> np.ndarray:
    ends = numbers(value, name)
    if ends.shape not in ((), (n_features,)):
        raise ValueError(
            f"{name} must be one number, or one a column ({n_features}); got shape {ends.shape}"
        )
    if ends.shape and index_of(value) is not None:
        ends = ends[_order_by_name(list(index_of(value)), name, labels)]
    return np.broadcast_to(ends, (n_features,)).copy()


def _order_by_name(ours: list[Any], name: str, labels: list[Any] | None) -> np.ndarray:
    """Where each column's number stands among numbers that carry labels."""
    places = {label: place for place, label in enumerate(ours)}
    if labels is not None and len(places) == len(ours) and places.keys() == set(labels):
        return np.array([places[label] for label in labels])
    if ours == list(range(len(ours))):
        # Numbered as pandas numbers what has no labels.
        return np.arange(len(ours))
    raise ValueError(
        f"{name} carries labels that are not the names of the columns: pass a DataFrame with these "
        "columns, or, where the numbers are in the order of the columns, their values alone, as "
        "with .to_numpy()"
    )
