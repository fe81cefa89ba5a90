"""Entries for what the known meta-estimators do with rows, whatever their parts are."""

from collections import UserList
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from skdp.privacy import Gap
from skdp.statement._free import is_a, is_used, label

__all__ = [
    "calibrator_gap",
    "callback_gaps",
    "changed_parts_gap",
    "columns_gaps",
    "default_gap",
    "ensemble_seed_gap",
    "out_of_bag_gap",
    "search_gaps",
    "selects_any",
    "unit_gap",
    "weighted_bags_gap",
]

_SPARSE = (
    "sklearn.feature_extraction.FeatureHasher",
    "sklearn.feature_extraction.text.HashingVectorizer",
)


def search_gaps(search: Any, path: tuple[str, ...]) -> tuple[Gap, ...]:
    """What every search gives away: its choice, and its scores."""
    owner = label(search, path)
    return (
        Gap(
            f"the choice of {owner}",
            "best_params_, best_index_, best_estimator_ and all that it predicts were chosen by "
            "exact scores of private rows",
            'settings chosen on public data or left at "auto", or a private selection',
            voids_what_follows=True,
        ),
        Gap(
            f"the scores of {owner}",
            "cv_results_ and best_score_ are exact functions of private rows",
            "an object without them: the estimator fitted alone",
            voids_what_follows=False,
        ),
    )


def calibrator_gap(owner: str) -> Gap:
    """Calibrators are fitted to scores as they are."""
    return Gap(
        owner,
        "its calibrators were fitted to exact scores of the rows, without noise",
        "the classifier's own predict_proba",
    )


def default_gap(thing: Any, path: tuple[str, ...], parameter: str) -> Gap:
    """A part that scikit-learn chooses, none of which is private."""
    return Gap(
        label(thing, (*path, parameter)),
        f"{parameter}=None is a model without noise",
        f"{parameter}=skdp.DPSGDClassifier(...)",
    )


def ensemble_seed_gap(name: str) -> Gap:
    """An ensemble that writes seeds into its members."""
    return Gap(
        name,
        "it sets an integer random_state on every private member, which regenerates its noise",
        "VotingClassifier over members with random_state=None",
        voids_what_follows=False,
    )


def out_of_bag_gap(owner: str) -> Gap:
    """Scores of rows on the members that did not see them."""
    return Gap(
        owner,
        "with oob_score=True it keeps exact scores, and predictions, of the training rows",
        "oob_score=False",
        voids_what_follows=False,
    )


def unit_gap(owner: str) -> Gap:
    """Folds and fits that are not about the same unit."""
    return Gap(
        f"the folds of {owner}",
        "its splits and its fits are not about the same unit of privacy, so that one unit's "
        "leaving moves rows in many folds",
        "skdp.model_selection.UnitKFold together with privacy_unit",
        has_no_total=True,
    )


def callback_gaps(thing: Any, path: tuple[str, ...]) -> tuple[Gap, ...]:
    """Callbacks stay on the object with whatever they saw; a progress bar sees nothing."""
    callbacks = getattr(thing, "_skl_callbacks", None) or []
    if all(is_a(callback, "sklearn.callback.ProgressBar") for callback in callbacks):
        return ()
    return (
        Gap(
            f"the callbacks of {label(thing, path)}",
            "they stay on the object and may hold rows, or scores of rows",
            "set_callbacks() after fit, which takes them off",
            voids_what_follows=False,
        ),
    )


def changed_parts_gap(owner: str) -> Gap:
    """Settings that name other parts than those that were fitted."""
    return Gap(
        f"the parts of {owner}",
        "they were changed after it was fitted, so that its settings do not say any more what was "
        "fitted",
        "the object as fit left it",
        has_no_total=True,
    )


def weighted_bags_gap(owner: str) -> Gap:
    """Draws that depend on weights, which stay on the object."""
    return Gap(
        f"sample_weight of {owner}",
        "it stays on the object, and one row's weight moves which other rows are drawn",
        "fit without sample_weight",
        has_no_total=True,
    )


def columns_gaps(transformer: Any, fitted: Any, path: tuple[str, ...]) -> tuple[Gap, ...]:
    """Columns chosen by a function, and a form of the output chosen by counting entries.

    `fitted` is the transformer after a fit, or None where no fitted one was kept.
    """
    chosen = tuple(
        Gap(
            f"the columns of '{' > '.join((*path, name))}'",
            "a function chose them, which may have looked at the rows",
            "names or numbers of columns, or make_column_selector(pattern=...)",
        )
        for name, _, columns in transformer.transformers
        if callable(columns) and not _reads_names_alone(columns)
    )
    if not transformer.sparse_threshold or not _counts_entries(transformer, fitted):
        return chosen
    density = Gap(
        f"sparse_threshold of {label(transformer, path)}",
        "how many entries of the rows are not zero decides whether its output is sparse",
        "sparse_threshold=0",
    )
    return (*chosen, density)


def _counts_entries(transformer: Any, fitted: Any) -> bool:
    """Whether rows may decide the density of what is put side by side.

    Without sparse parts no entries are counted, and one-hot columns of known categories have one
    entry a row. Whether the rows themselves were sparse is written nowhere, so they may have been,
    unless a part refuses such rows.
    """
    parts = _used_parts(transformer if fitted is None else fitted)
    in_frames = hasattr(fitted, "feature_names_in_")
    # Columns of one frame may be sparse and dense, so there a part speaks for itself alone.
    all_dense = not in_frames and not all(map(_takes_sparse, _ends(parts, 0)))
    ends = _ends(parts, -1)
    encoders = [part for part in ends if is_a(part, "sklearn.preprocessing.OneHotEncoder")]
    if any(_makes_sparse(part) for part in ends):
        return True
    if not all_dense and any(
        _takes_sparse(part) and not (in_frames and _is_passthrough(part)) for part in ends
    ):
        return True
    return bool(getattr(fitted, "sparse_output_", False)) and not encoders


def _used_parts(transformer: Any) -> list[Any]:
    """Parts of a `ColumnTransformer` with at least one column, where that is known."""
    if hasattr(transformer, "transformers_"):
        parts = [part for _, part, columns in transformer.transformers_ if selects_any(columns)]
    else:
        parts = [*(part for _, part, _ in transformer.transformers), transformer.remainder]
    return [part for part in parts if part is not None and not _is_text(part, "drop")]


def _ends(parts: list[Any], end: int) -> list[Any]:
    """What meets the rows first (`end` 0), or makes the output (-1), in each of some parts."""
    return [inner for part in parts for inner in _end(part, end)]


def _end(part: Any, end: int) -> list[Any]:
    if is_a(part, "sklearn.pipeline.Pipeline"):
        return _end(part.steps[end][1], end)
    if is_a(part, "sklearn.pipeline.FeatureUnion"):
        return _ends([inner for _, inner in part.transformer_list if is_used(inner)], end)
    if is_a(part, "sklearn.compose.ColumnTransformer"):
        if end == -1 and not part.sparse_threshold:
            return []
        return _ends(_used_parts(part), end)
    return [part]


def _makes_sparse(part: Any) -> bool:
    """Whether a part makes sparse rows of dense ones, with a number of entries that rows decide."""
    if is_a(part, "sklearn.preprocessing.OneHotEncoder"):
        leaves_blanks = part.handle_unknown != "error" or part.drop is not None
        return bool(part.sparse_output) and leaves_blanks
    return is_a(part, *_SPARSE) or bool(getattr(part, "sparse_output", False))


def _takes_sparse(part: Any) -> bool:
    """Whether a part may be given sparse rows, and pass them on."""
    if _is_passthrough(part):
        return True
    try:
        return bool(get_tags(part).input_tags.sparse)
    except Exception:
        # What says nothing about itself may take anything.
        return True


def _is_passthrough(part: Any) -> bool:
    if part is None or _is_text(part, "passthrough"):
        return True
    is_function = is_a(part, "sklearn.preprocessing.FunctionTransformer")
    return is_function and part.func is None and not part.validate


def _is_text(part: Any, text: str) -> bool:
    return isinstance(part, str) and part == text


def selects_any(columns: Any) -> bool:
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
