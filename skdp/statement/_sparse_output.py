"""Whether a `ColumnTransformer` chose the form of its output by counting entries of the rows.

It compares their density with `sparse_threshold` as soon as one of its branches is sparse. Without
sparse branches nothing is counted.
"""

from collections.abc import Iterable
from typing import Any

from sklearn.utils import get_tags

from skdp.privacy import Gap
from skdp.statement._known import is_a, is_used, label

__all__ = ["density_gaps"]

_SPARSE = (
    "sklearn.feature_extraction.FeatureHasher",
    "sklearn.feature_extraction.text.HashingVectorizer",
)


def density_gaps(
    transformer: Any, parts: list[Any], path: tuple[str, ...], *, of_frame: bool
) -> Iterable[Gap]:
    """An entry where rows may decide whether the output is sparse.

    All columns of an array have one form, which one part that refuses sparse rows shows to be
    dense; those of a frame may differ.
    """
    if not transformer.sparse_threshold:
        return
    rows_may_be_sparse = of_frame or all(map(_lets_sparse_in, parts))
    counted = any(
        _gives_sparse(part, rows_may_be_sparse and not (of_frame and _is_passthrough(part)))
        for part in parts
    )
    if counted or getattr(transformer, "sparse_output_", False):
        yield Gap(
            f"sparse_threshold of {label(transformer, path)}",
            "how many entries of the rows are not zero decides whether its output is sparse",
            "sparse_threshold=0, which makes it dense: with text or codes in many columns give "
            "HashingVectorizer or FeatureHasher a small n_features, or put such parts into a "
            "FeatureUnion, which counts nothing",
        )


def _steps(part: Any) -> list[Any]:
    return [step for _, step in part.steps] if is_a(part, "sklearn.pipeline.Pipeline") else [part]


def _branches(part: Any) -> list[Any] | None:
    """What stands side by side in a part; None for a single one."""
    if is_a(part, "sklearn.pipeline.FeatureUnion"):
        return [one for _, one in part.transformer_list if is_used(one)]
    if is_a(part, "sklearn.compose.ColumnTransformer"):
        return [*(one for _, one, _ in part.transformers), part.remainder]
    return None


def _lets_sparse_in(part: Any) -> bool:
    """Whether the rows may be sparse: not where a step that meets them as they are refuses that."""
    for step in _steps(part):
        branches = _branches(step)
        if branches is None and not _takes_sparse(step):
            return False
        if branches is not None and is_a(step, "sklearn.pipeline.FeatureUnion"):
            if not all(map(_lets_sparse_in, branches)):
                return False
        elif branches is not None or _makes_sparse(step) or _changes_form(step):
            return True
    return True


def _gives_sparse(part: Any, sparse_in: bool) -> bool:
    """Whether rows may decide how many entries of a sparse output are not zero."""
    for step in _steps(part):
        branches = _branches(step)
        if branches is None:
            sparse_in = _makes_sparse(step) or (sparse_in and _takes_sparse(step))
        else:
            # A threshold of its own that makes the inner output dense settles it.
            keeps = getattr(step, "sparse_threshold", 1)
            sparse_in = bool(keeps) and any(_gives_sparse(one, sparse_in) for one in branches)
    return sparse_in


def _makes_sparse(part: Any) -> bool:
    """Whether a part makes sparse rows of dense ones, with a number of entries that rows decide."""
    sparse_output = getattr(part, "sparse_output", getattr(part, "sparse", False))
    return is_a(part, *_SPARSE) or sparse_output is True


def _changes_form(part: Any) -> bool:
    """Whether a part may make dense rows of sparse ones, as a function may."""
    return is_a(part, "sklearn.preprocessing.FunctionTransformer") and part.func is not None


def _takes_sparse(part: Any) -> bool:
    """Whether a part may be given sparse rows, and pass them on."""
    if _is_passthrough(part):
        return True
    if isinstance(part, str):
        return False
    try:
        return bool(get_tags(part).input_tags.sparse)
    except Exception:
        # What says nothing about itself may take anything.
        return True


def _is_passthrough(part: Any) -> bool:
    if part is None or (isinstance(part, str) and part == "passthrough"):
        return True
    is_function = is_a(part, "sklearn.preprocessing.FunctionTransformer")
    return is_function and part.func is None and not part.validate
