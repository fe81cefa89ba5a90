"""What is known of the data in front of a part that is not fitted yet: public sizes alone."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin, clone

from skdp.statement._known import is_a, is_used, offers_releases

__all__ = ["Place", "after", "is_dropped", "n_columns", "with_columns"]


@dataclass(frozen=True)
class Place:
    """Where a fit would stand."""

    # Rows, or units where these are protected.
    n_rows: int
    n_features: int | None
    n_classes: int | None
    unit: str
    # Made-up rows as they arrive here, which tell what is not known.
    sample: Any = None
    # The step that changed the number of columns to one that is not known.
    behind: str | None = None

    def missing_columns(self, name: str) -> str:
        """What to say where a number of columns is needed."""
        needed = f"what {name} releases depends on its number of columns"
        if self.behind is None:
            return f'{needed}, since settings are left at "auto": give n_features'
        return (
            f"{needed}, which {self.behind} changes: give X_sample, a few made-up rows with the "
            "columns of the table"
        )


def after(step: Any, place: Place) -> Place:
    """The place behind a step."""
    if not is_used(step) or isinstance(step, OneToOneFeatureMixin):
        return place
    if place.sample is None:
        n_features = _n_features_after(step, place.n_features)
        return replace(place, n_features=n_features, behind=type(step).__name__)
    try:
        out = _without_private_parts(step).fit(place.sample).transform(place.sample)
    except Exception:
        # Made-up rows that a step cannot read tell nothing.
        return replace(place, n_features=None, sample=None, behind=type(step).__name__)
    return replace(place, n_features=n_columns(out), sample=out, behind=type(step).__name__)


def n_columns(rows: Any) -> int | None:
    """How many columns made-up rows have; None for texts, which have none."""
    is_list = isinstance(rows, list | tuple)
    shape: tuple[int, ...] = np.shape(rows) if is_list else getattr(rows, "shape", ())
    return int(shape[1]) if len(shape) == 2 else None


def with_columns(place: Place, columns: Any) -> Place:
    """The place of a part that gets a selection of columns."""
    return replace(place, n_features=_width(columns), sample=None, behind="its columns")


def is_dropped(part: Any) -> bool:
    """Whether columns end there."""
    return isinstance(part, str) and part == "drop"


def _without_private_parts(step: Any) -> Any:
    """An unfitted copy; private transformers keep the number of columns, and cost when fitted."""
    copy = clone(step)
    for name, part in copy.get_params(deep=True).items():
        if offers_releases(part):
            copy.set_params(**{name: "passthrough"})
    return copy


def _n_features_after(step: Any, n_features: int | None) -> int | None:
    """How many columns a step makes, where that needs no rows."""
    if not is_used(step) or isinstance(step, OneToOneFeatureMixin):
        return 0 if is_dropped(step) else n_features
    if is_a(step, "sklearn.pipeline.Pipeline"):
        for _, inner in step.steps:
            n_features = _n_features_after(inner, n_features)
        return n_features
    if is_a(step, "sklearn.pipeline.FeatureUnion"):
        widths = [_n_features_after(part, n_features) for _, part in step.transformer_list]
    elif is_a(step, "sklearn.compose.ColumnTransformer"):
        taken = [_width(columns) for _, _, columns in step.transformers]
        in_all = _sum(taken)
        rest = None if n_features is None or in_all is None else max(0, n_features - in_all)
        parts = [*(part for _, part, _ in step.transformers), step.remainder]
        widths = list(map(_n_features_after, parts, [*taken, rest]))
    else:
        return None
    return _sum(widths)


def _sum(widths: list[int | None]) -> int | None:
    """The sum of some numbers of columns; None where one of them is not known."""
    known = [width for width in widths if width is not None]
    return sum(known) if len(known) == len(widths) else None


def _width(columns: Any) -> int | None:
    """How many columns a selection has, where it says so by itself."""
    if callable(columns) or isinstance(columns, slice):
        return None
    values = np.atleast_1d(np.asarray(columns))
    return int(values.sum()) if values.dtype == bool else len(values)
