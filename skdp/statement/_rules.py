"""One rule for each meta-estimator: what it fits, and what it looks at by itself.

The same rule serves a fitted object, whose parts it kept, and a plan, in which the parts are still
to be fitted. Meta-estimators that do not keep every fit have no parts here, only entries of what is
not covered: the object does not tell what they cost, and a budget counts fits as they happen.
"""

from collections import UserList
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skdp.privacy import Gap
from skdp.statement._known import is_a, is_used, label, parts_inside
from skdp.statement._place import Place, after, is_dropped, with_columns
from skdp.statement._sparse_output import density_gaps

__all__ = ["Part", "Rule", "no_parts", "rule_of"]


@dataclass(frozen=True)
class Part:
    """One part of a meta-estimator: fitted, or with the place where it is to be fitted."""

    name: str
    thing: Any
    place: Place | None = None
    # Whether its fit happened before that of the meta-estimator, and may be shared.
    was_fitted: bool = False
    # Whether a clone of it is to be fitted, so that the thing itself stays as it is.
    is_cloned: bool = False


@dataclass(frozen=True)
class Rule:
    """What is known of one meta-estimator."""

    # From the object, and a place or None for a fitted one, to its parts.
    parts: Callable[[Any, Place | None], Iterable[Part]]
    # Whether each part looks at the rows as those before it changed them.
    in_sequence: bool = False
    # Attributes that its fit leaves beside its parameters.
    left: tuple[str, ...] = ()
    # From the object, its path and the place, to what it looks at by itself, before its parts do.
    gaps: Callable[[Any, tuple[str, ...], Place | None], Iterable[Gap]] | None = None


def rule_of(thing: Any) -> Rule | None:
    """The rule of an object's class, if there is one."""
    return next((rule for place, rule in _RULES.items() if is_a(thing, place)), None)


def _pipeline(pipeline: Any, place: Place | None) -> Iterable[Part]:
    for name, step in pipeline.steps:
        yield Part(name, step, place)
        place = None if place is None else after(step, place)


def _union(union: Any, place: Place | None) -> Iterable[Part]:
    return (Part(name, part, place) for name, part in union.transformer_list)


def _columns(transformer: Any, place: Place | None) -> Iterable[Part]:
    if place is None:
        listed = transformer.transformers_
        return (Part(name, part) for name, part, columns in listed if _selects_any(columns))
    listed = [*transformer.transformers, ("remainder", transformer.remainder, slice(None))]
    return (
        Part(name, part, with_columns(place, columns), is_cloned=True)
        for name, part, columns in listed
    )


def _columns_gaps(transformer: Any, path: tuple[str, ...], place: Place | None) -> Iterable[Gap]:
    for name, _, columns in transformer.transformers:
        if callable(columns) and not _reads_names_alone(columns):
            yield Gap(
                f"the columns of '{' > '.join((*path, name))}'",
                "a function chooses them, which may look at the rows",
                "names or numbers of columns, or make_column_selector(pattern=...)",
            )
    if place is None:
        if _has_other_columns(transformer):
            yield _changed_parts_gap(label(transformer, path))
        parts = [part.thing for part in _columns(transformer, None)]
        of_frame = hasattr(transformer, "feature_names_in_")
    else:
        parts = [*(part for _, part, _ in transformer.transformers), transformer.remainder]
        of_frame = hasattr(place.sample, "columns") or any(
            map(_are_names, transformer.transformers)
        )
    parts = [part for part in parts if not is_dropped(part)]
    yield from density_gaps(transformer, parts, path, of_frame=of_frame)


def _are_names(entry: tuple[str, Any, Any]) -> bool:
    columns = entry[2]
    return any(isinstance(one, str) for one in ([columns] if np.ndim(columns) == 0 else columns))


def _has_other_columns(transformer: Any) -> bool:
    """Whether the settings name other columns or parts than those that were fitted."""
    fitted = {name: columns for name, _, columns in transformer.transformers_}
    fitted.pop("remainder", None)
    settings = {name: columns for name, _, columns in transformer.transformers}
    if list(fitted) != list(settings):
        return True
    return any(
        not callable(columns) and not _same_columns(columns, fitted[name])
        for name, columns in settings.items()
    )


def _same_columns(one: Any, other: Any) -> bool:
    if isinstance(one, slice) or isinstance(other, slice):
        return isinstance(one, slice) and isinstance(other, slice) and one == other
    return np.array_equal(np.atleast_1d(np.asarray(one)), np.atleast_1d(np.asarray(other)))


def _selects_any(columns: Any) -> bool:
    """Whether a selection of columns selects any; the rest is left unfitted."""
    if isinstance(columns, UserList):
        # scikit-learn's own list of the remaining columns, which warns when it is read.
        return len(columns) > 0
    if isinstance(columns, str | slice) or np.ndim(columns) == 0:
        return True
    values = np.asarray(columns)
    return bool(values.any()) if values.dtype == bool else values.size > 0


def _reads_names_alone(columns: Any) -> bool:
    # Types of columns may change with one row, from numbers to text for example.
    return is_a(columns, "sklearn.compose.make_column_selector") and (
        columns.dtype_include is None and columns.dtype_exclude is None
    )


def _members(meta: Any, place: Place | None) -> Iterable[Part]:
    pairs = meta.named_estimators_.items() if place is None else meta.estimators
    return (Part(name, part, place, is_cloned=place is not None) for name, part in pairs)


def _changed_members(meta: Any, path: tuple[str, ...], place: Place | None) -> Iterable[Gap]:
    if place is None:
        settings = [name for name, part in meta.estimators if is_used(part)]
        if list(_names_used(meta)) != settings:
            yield _changed_parts_gap(label(meta, path))


def _names_used(meta: Any) -> Iterable[str]:
    return (name for name, part in meta.named_estimators_.items() if is_used(part))


def _one_vs_rest(meta: Any, place: Place | None) -> Iterable[Part]:
    if place is None:
        return (Part("estimators_", part) for part in meta.estimators_)
    if place.n_classes is None:
        raise ValueError(f"{type(meta).__name__} fits one model a class: give n_classes")
    n_members = 1 if place.n_classes == 2 else place.n_classes
    inside = replace(place, n_classes=2)
    return (Part("estimators_", meta.estimator, inside, is_cloned=True) for _ in range(n_members))


def _threshold(meta: Any, place: Place | None) -> Iterable[Part]:
    if place is None:
        yield Part("estimator", meta.estimator_)
    else:
        yield Part("estimator", meta.estimator, place, is_cloned=True)


def _frozen(frozen: Any, place: Place | None) -> Iterable[Part]:
    yield Part("estimator", frozen.estimator, was_fitted=True)


def _search_gaps(search: Any, path: tuple[str, ...], place: Place | None) -> Iterable[Gap]:
    owner = label(search, path)
    yield Gap(
        f"the choice of {owner}",
        "best_params_, best_index_, best_estimator_ and all that it predicts are chosen by exact "
        "scores of private rows",
        'settings chosen on public data or left at "auto", or a private selection',
    )
    yield Gap(
        f"the scores of {owner}",
        "cv_results_ and best_score_ are exact functions of private rows",
        "an object without them: the estimator fitted alone",
        voids_what_follows=False,
    )
    if place is None and hasattr(search, "n_splits_"):
        n_fits = len(search.cv_results_["params"]) * search.n_splits_
        yield from _unkept_fits(search, path, f"made {n_fits} fits")
    else:
        yield from _unkept_fits(search, path)


def _stacking_gaps(stacking: Any, path: tuple[str, ...], place: Place | None) -> Iterable[Gap]:
    yield from _unkept_fits(stacking, path)
    yield Gap(
        label(stacking, path),
        "what is fitted on top sees the rows through splits and models that it does not keep",
        "VotingClassifier over private members",
    )


def _calibrated_gaps(calibrated: Any, path: tuple[str, ...], place: Place | None) -> Iterable[Gap]:
    yield from _unkept_fits(calibrated, path)
    yield Gap(
        label(calibrated, path),
        "its calibrators are fitted to exact scores of the rows, without noise",
        "the classifier's own predict_proba",
    )


def _bagging_gaps(bagging: Any, path: tuple[str, ...], place: Place | None) -> Iterable[Gap]:
    yield from _unkept_fits(bagging, path, "makes fits on samples in which a row may stand twice")
    yield Gap(
        label(bagging, path),
        "its members are fitted without noise, or with an integer random_state that it sets on "
        "them and that regenerates the noise; with oob_score=True it keeps exact scores as well",
        "VotingClassifier over private members with random_state=None",
    )


def _unkept_fits(
    thing: Any, path: tuple[str, ...], made: str = "makes fits on folds"
) -> Iterable[Gap]:
    """An entry for private fits whose objects nobody keeps."""
    private = [one for one in parts_inside(thing) if hasattr(type(one), "_privacy_releases")]
    if not private:
        return
    counted = all(getattr(one, "budget", None) is not None for one in private)
    yield Gap(
        f"the fits of {label(thing, path)}",
        f"it {made} that nobody kept, so that the object does not tell what they cost",
        "the total of its ledger, in which each fit that was made with it is entered"
        if counted
        else "budget=PrivacyBudget(...) on the private parts, which budget.attach(...) sets: it "
        "counts fits as they happen",
        has_no_total=True,
        voids_what_follows=False,
    )


def no_parts(meta: Any, place: Place | None) -> Iterable[Part]:
    """Of what promises nothing, whatever it consists of."""
    return ()


def _changed_parts_gap(owner: str) -> Gap:
    return Gap(
        f"the parts of {owner}",
        "they were changed after it was fitted, so that its settings do not say any more what was "
        "fitted",
        "the object as fit left it",
        has_no_total=True,
    )


_SEARCHES = (
    "sklearn.model_selection.GridSearchCV",
    "sklearn.model_selection.RandomizedSearchCV",
    "sklearn.model_selection.HalvingGridSearchCV",
    "sklearn.model_selection.HalvingRandomSearchCV",
)
_RULES = {
    "sklearn.pipeline.Pipeline": Rule(_pipeline, in_sequence=True),
    "sklearn.pipeline.FeatureUnion": Rule(_union),
    "sklearn.compose.ColumnTransformer": Rule(
        _columns,
        gaps=_columns_gaps,
        left=(
            *("transformers_", "sparse_output_", "output_indices_", "_columns", "_remainder"),
            *("_transformer_to_input_indices", "_n_features", "_name_to_fitted_passthrough"),
            "_transformers_feature_names_out",
        ),
    ),
    "sklearn.ensemble.VotingClassifier": Rule(
        _members,
        gaps=_changed_members,
        left=("estimators_", "named_estimators_", "le_", "classes_"),
    ),
    "sklearn.multiclass.OneVsRestClassifier": Rule(
        _one_vs_rest, left=("estimators_", "label_binarizer_", "classes_")
    ),
    "sklearn.model_selection.FixedThresholdClassifier": Rule(
        _threshold, left=("estimator_", "classes_", "_curve_scorer")
    ),
    "sklearn.frozen.FrozenEstimator": Rule(_frozen),
    "sklearn.ensemble.StackingClassifier": Rule(no_parts, gaps=_stacking_gaps),
    "sklearn.calibration.CalibratedClassifierCV": Rule(no_parts, gaps=_calibrated_gaps),
    "sklearn.ensemble.BaggingClassifier": Rule(no_parts, gaps=_bagging_gaps),
    **dict.fromkeys(_SEARCHES, Rule(no_parts, gaps=_search_gaps)),
}
