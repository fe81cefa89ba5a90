"""What is free, and what to use instead of what is not.

Free is a written list: classes of which `fit` learns nothing from the values of the rows, and
`transform` handles each row by itself. A subclass may do otherwise, so classes must match exactly.
Settings may change after a fit, so what was fitted has to agree with them. Anything else that
offers no noisy releases is not covered.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from skdp.privacy import Gap
from skdp.statement._known import is_a, label, parts_inside

__all__ = ["gap_of", "holds_noisy_parts", "is_free", "left_by_free"]

_ALWAYS_FREE = (
    "sklearn.preprocessing.Normalizer",
    "sklearn.preprocessing.Binarizer",
    "sklearn.preprocessing.PolynomialFeatures",
    "sklearn.kernel_approximation.PolynomialCountSketch",
    "sklearn.kernel_approximation.SkewedChi2Sampler",
    "skdp.preprocessing.BoundedScaler",
    "skdp.preprocessing.PiecewiseLinearFeatures",
    "skdp.preprocessing.RowNormClipper",
)


def _has_written_categories(encoder: Any) -> bool:
    # Else it speaks of single rows: its error shows a value that is not among the categories.
    quiet = encoder.handle_unknown in ("ignore", "infrequent_if_exist", "use_encoded_value")
    if not quiet or getattr(encoder, "drop", None) is not None:
        return False
    # Rare categories are found by counting rows.
    counts = encoder.min_frequency is not None or encoder.max_categories is not None
    if isinstance(encoder.categories, str) or counts:
        return False
    counted = getattr(encoder, "_infrequent_enabled", False)
    fitted = getattr(encoder, "categories_", encoder.categories)
    same_number = len(fitted) == len(encoder.categories)
    return not counted and same_number and all(map(_same_values, fitted, encoder.categories))


def _fills_constants(imputer: Any) -> bool:
    # Whether a column is empty, or has gaps, is a fact about the rows.
    looks = imputer.add_indicator or not imputer.keep_empty_features
    if imputer.strategy != "constant" or looks or getattr(imputer, "indicator_", None) is not None:
        return False
    fitted = getattr(imputer, "statistics_", None)
    if fitted is None:
        return True
    constants = (0, "missing_value") if imputer.fill_value is None else (imputer.fill_value,)
    return any(_same_values(fitted, np.full(len(fitted), one, object)) for one in constants)


def _has_written_knots(splines: Any) -> bool:
    if isinstance(splines.knots, str) or splines.extrapolation == "error":
        return False
    knots = np.asarray(splines.knots, dtype=np.float64)
    fitted = getattr(splines, "bsplines_", None)
    if fitted is None:
        return True
    inside = [spline.t[spline.k : len(spline.t) - spline.k] for spline in fitted]
    return knots.shape[1:] == (len(inside),) and all(map(_same_values, inside, knots.T))


def _same_values(fitted: Any, setting: Any) -> bool:
    """Whether two columns hold the same values, missing ones included."""
    fitted, setting = list(np.asarray(fitted)), list(np.asarray(setting))
    return len(fitted) == len(setting) and all(
        one is other or one == other or (one != one and other != other)
        for one, other in zip(fitted, setting, strict=True)
    )


def _applies_row_by_row(transformer: Any) -> bool:
    func, inverse = transformer.func, transformer.inverse_func
    if transformer.inv_kw_args or not (inverse is None or _is_known_function(inverse)):
        return False
    if not (inverse is None or func is None) and transformer.check_inverse:
        # `fit` sends some rows through both, and warns where one of them does not come back.
        return False
    return func is None or _is_declared_row_wise(func) or _is_elementwise(transformer)


def _is_known_function(func: Any) -> bool:
    return isinstance(func, np.ufunc) or _is_declared_row_wise(func)


def _is_elementwise(transformer: Any) -> bool:
    func = transformer.func
    if not isinstance(func, np.ufunc) or transformer.kw_args:
        # `out` would keep the rows, and `where` leaves old memory between them.
        return False
    # With a signature it mixes entries; with objects alone it is a Python function, which may
    # remember what it saw.
    is_python = all("O" in kinds for kinds in func.types)
    if func.signature is not None or (func.nin, func.nout) != (1, 1) or is_python:
        return False
    # Functions that also take objects are handed sparse rows whole, and SciPy then sorts and adds
    # up the entries of all rows as soon as those of one are out of order.
    takes_sparse = any("O" in kinds for kinds in func.types)
    return not takes_sparse or (transformer.validate and not transformer.accept_sparse)


def _hashes_names_alone(hasher: Any) -> bool:
    # Numbers of one bucket are added up in an order that other rows decide; names count one each.
    return hasher.input_type == "string"


def _has_numeric_gamma(sampler: Any) -> bool:
    # "scale" is read off the rows.
    gamma = sampler.gamma
    return not isinstance(gamma, str) and getattr(sampler, "_gamma", gamma) == gamma


def _has_numeric_components(projection: Any) -> bool:
    # "auto" depends on the number of rows, which is private where units are protected.
    n_components = projection.n_components
    fitted = getattr(projection, "n_components_", n_components)
    return not isinstance(n_components, str) and fitted == n_components


def _marks_all_columns(indicator: Any) -> bool:
    # Which columns have gaps is a fact about the rows.
    fitted = getattr(indicator, "features_", None)
    if indicator.features != "all":
        return False
    return fitted is None or _same_values(fitted, range(indicator._n_features))


def _reads_texts_one_by_one(vectorizer: Any) -> bool:
    if vectorizer.input != "content":
        # It opens files, and its error names one that is not there.
        return False
    steps = (vectorizer.analyzer, vectorizer.tokenizer, vectorizer.preprocessor)
    return all(_is_declared_row_wise(step) for step in steps if callable(step))


def _is_declared_row_wise(func: Any) -> bool:
    return getattr(func, "row_wise", False) is True


_FREE_IF: dict[str, tuple[Callable[[Any], bool], str]] = {
    "sklearn.preprocessing.OneHotEncoder": (
        _has_written_categories,
        'OneHotEncoder(categories=[...], handle_unknown="ignore") with the categories written '
        "down, and without drop, min_frequency and max_categories",
    ),
    "sklearn.preprocessing.OrdinalEncoder": (
        _has_written_categories,
        'OrdinalEncoder(categories=[...], handle_unknown="use_encoded_value", unknown_value=-1) '
        "with the categories written down, and without min_frequency and max_categories",
    ),
    "sklearn.impute.SimpleImputer": (
        _fills_constants,
        'SimpleImputer(strategy="constant", fill_value=..., keep_empty_features=True), without '
        "add_indicator, which marks those columns alone that have gaps; beside it, in a "
        'FeatureUnion, MissingIndicator(features="all") marks all of them',
    ),
    "sklearn.preprocessing.SplineTransformer": (
        _has_written_knots,
        "SplineTransformer(knots=...) with the knots written down and another extrapolation than "
        '"error", or '
        "skdp.preprocessing.PiecewiseLinearFeatures",
    ),
    "sklearn.preprocessing.FunctionTransformer": (
        _applies_row_by_row,
        "a NumPy ufunc of one argument without kw_args, with validate=True, which refuses sparse "
        "rows, and check_inverse=False where it has an inverse; or a function that handles each "
        "row by itself and says so: `func.row_wise = True`",
    ),
    "sklearn.feature_extraction.FeatureHasher": (
        _hashes_names_alone,
        'FeatureHasher(input_type="string")',
    ),
    "sklearn.impute.MissingIndicator": (
        _marks_all_columns,
        'MissingIndicator(features="all")',
    ),
    "sklearn.kernel_approximation.RBFSampler": (
        _has_numeric_gamma,
        "RBFSampler with a number for gamma",
    ),
    "sklearn.random_projection.GaussianRandomProjection": (
        _has_numeric_components,
        "GaussianRandomProjection with a number for n_components",
    ),
    "sklearn.random_projection.SparseRandomProjection": (
        _has_numeric_components,
        "SparseRandomProjection with a number for n_components",
    ),
    "sklearn.feature_extraction.text.HashingVectorizer": (
        _reads_texts_one_by_one,
        'HashingVectorizer(input="content") with an analyzer, tokenizer and preprocessor of its '
        "own, or functions that handle each text by itself and say so: `func.row_wise = True`",
    ),
}

_RANDOM_FEATURES = ("random_weights_", "random_offset_", "_n_features_out")
_PROJECTION = ("n_components_", "components_", "inverse_components_", "_n_features_out")
# What `fit` leaves on a free part beside its parameters.
_LEFT = {
    "sklearn.preprocessing.PolynomialFeatures": (
        *("n_output_features_", "_n_out_full", "_min_degree", "_max_degree"),
    ),
    "sklearn.preprocessing.OneHotEncoder": (
        *("categories_", "drop_idx_", "_drop_idx_after_grouping", "_infrequent_enabled"),
        "_n_features_outs",
    ),
    "sklearn.preprocessing.OrdinalEncoder": (
        *("categories_", "_infrequent_enabled", "_missing_indices"),
    ),
    "sklearn.impute.SimpleImputer": ("statistics_", "indicator_", "_fit_dtype", "_fill_dtype"),
    "sklearn.preprocessing.SplineTransformer": ("bsplines_", "n_features_out_"),
    "sklearn.feature_extraction.text.HashingVectorizer": ("_stop_words_id",),
    "sklearn.impute.MissingIndicator": ("features_", "_n_features", "_precomputed"),
    "sklearn.kernel_approximation.RBFSampler": (*_RANDOM_FEATURES, "_gamma"),
    "sklearn.kernel_approximation.SkewedChi2Sampler": _RANDOM_FEATURES,
    "sklearn.kernel_approximation.PolynomialCountSketch": (
        *("indexHash_", "bitHash_", "_n_features_out"),
    ),
    "sklearn.random_projection.GaussianRandomProjection": _PROJECTION,
    "sklearn.random_projection.SparseRandomProjection": (*_PROJECTION, "density_"),
}

_SCALER = (
    "skdp.preprocessing.BoundedScaler with public bounds, or, for rows, DPStandardScaler or "
    "DPMaxAbsScaler"
)
_CURVES = "skdp.preprocessing.PiecewiseLinearFeatures with public knots"
_INSTEAD = {
    "StandardScaler": _SCALER,
    "MinMaxScaler": _SCALER,
    "MaxAbsScaler": _SCALER,
    "RobustScaler": _SCALER,
    "QuantileTransformer": _CURVES,
    "KBinsDiscretizer": _CURVES,
    "PowerTransformer": f"{_SCALER}, behind a fixed FunctionTransformer such as numpy.log1p",
    "TfidfVectorizer": "HashingVectorizer",
    "CountVectorizer": "HashingVectorizer",
    "DictVectorizer": "FeatureHasher",
}


def is_free(thing: Any) -> bool:
    """Whether an object learned nothing from rows and handles each row by itself."""
    if is_a(thing, *_ALWAYS_FREE):
        return True
    return any(is_a(thing, place) and holds(thing) for place, (holds, _) in _FREE_IF.items())


def left_by_free(thing: Any) -> tuple[str, ...]:
    """Attributes that `fit` leaves on a free part, beside its parameters."""
    listed = next((names for place, names in _LEFT.items() if is_a(thing, place)), ())
    return getattr(thing, "_left_by_fit", listed)


def gap_of(thing: Any, path: tuple[str, ...]) -> Gap:
    """The entry of something that looked at the rows, or may have."""
    for place, (_, instead) in _FREE_IF.items():
        if is_a(thing, place):
            return Gap(
                label(thing, path),
                "set as it is, or as it was when it was fitted, it may learn from the rows without "
                "noise",
                instead,
            )
    if hasattr(type(thing), "_privacy_releases"):
        reason = "it is a subclass, and what it says of its releases is about the class above it"
        instead = (
            "the private class itself, or a `fit` and a `_privacy_releases` in the subclass, which "
            "states all of its noisy releases"
        )
    elif type(thing).__name__ in _INSTEAD:
        reason = "it learns from the rows without noise, so that one row moves every other"
        instead = _INSTEAD[type(thing).__name__]
    elif hasattr(thing, "transform"):
        reason = "nothing says that it learns nothing from the rows"
        instead = "a transformer whose settings are public (skdp.preprocessing)"
    elif hasattr(thing, "predict"):
        reason = "it is fitted to the rows without noise, or nothing says otherwise"
        instead = "skdp.DPSGDClassifier"
    else:
        reason, instead = "nothing is known about it", "a part that is known, or none"
    return Gap(label(thing, path), reason, instead, has_no_total=_may_hold_noisy_parts(thing))


def holds_noisy_parts(*things: Any) -> bool:
    """Whether there is a private estimator anywhere in some objects."""
    return any(hasattr(type(part), "_privacy_releases") for part in parts_inside(list(things)))


def _may_hold_noisy_parts(thing: Any) -> bool:
    try:
        parameters = thing.get_params(deep=True)
    except Exception:
        # What cannot say what it is made of may hold anything.
        return True
    return holds_noisy_parts(thing, parameters)
