"""Entries for what the known meta-estimators do with rows, whatever their parts are."""

from typing import Any

from skdp.inspection._walk._rules import is_a, label
from skdp.privacy import Gap

__all__ = [
    "calibrator_gap",
    "columns_gaps",
    "default_gap",
    "ensemble_seed_gap",
    "out_of_bag_gap",
    "search_gaps",
    "unit_gap",
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


def columns_gaps(transformer: Any, path: tuple[str, ...]) -> tuple[Gap, ...]:
    """Columns chosen by a function, and a form of the output chosen by counting entries."""
    chosen = tuple(
        Gap(
            f"the columns of '{' > '.join((*path, name))}'",
            "a function chose them, which may have looked at the rows",
            "names or numbers of columns, or make_column_selector(pattern=...)",
        )
        for name, _, columns in transformer.transformers
        if callable(columns) and not _reads_names_alone(columns)
    )
    if not transformer.sparse_threshold or not _counts_entries(transformer):
        return chosen
    density = Gap(
        f"sparse_threshold of {label(transformer, path)}",
        "how many entries of the rows are not zero decides whether its output is sparse",
        "sparse_threshold=0, or encoders with sparse_output=False",
    )
    return (*chosen, density)


def _counts_entries(transformer: Any) -> bool:
    """Whether rows may decide the density of what is put side by side.

    Without sparse parts no entries are counted, and one-hot columns of known categories have one
    entry a row.
    """
    parts = _last_steps(transformer)
    encoders = [part for part in parts if is_a(part, "sklearn.preprocessing.OneHotEncoder")]
    if any(is_a(part, *_SPARSE) for part in parts) or any(map(_leaves_blanks, encoders)):
        return True
    return bool(getattr(transformer, "sparse_output_", False)) and not encoders


def _last_steps(part: Any) -> list[Any]:
    """What makes the output of a part, or of the parts of a `ColumnTransformer`."""
    if is_a(part, "sklearn.pipeline.Pipeline"):
        return _last_steps(part.steps[-1][1])
    if is_a(part, "sklearn.pipeline.FeatureUnion"):
        return [step for _, inner in part.transformer_list for step in _last_steps(inner)]
    if is_a(part, "sklearn.compose.ColumnTransformer"):
        inside = [inner for _, inner, *_ in part.transformers]
        return [step for inner in (*inside, part.remainder) for step in _last_steps(inner)]
    return [part]


def _leaves_blanks(encoder: Any) -> bool:
    return encoder.sparse_output and (encoder.handle_unknown != "error" or encoder.drop is not None)


def _reads_names_alone(columns: Any) -> bool:
    # Types of columns may change with one row, from numbers to text for example.
    return is_a(columns, "sklearn.compose.make_column_selector") and (
        columns.dtype_include is None and columns.dtype_exclude is None
    )
