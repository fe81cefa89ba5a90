"""What is free, and what to use instead of what is not.

Free is a written list: classes of which `fit` learns nothing from the values of the rows, and
`transform` handles each row by itself. A subclass may do otherwise, so classes must match exactly.
Anything else that offers no noisy releases is not covered.

Classes are named by their public place and looked up among the modules that are loaded: an object
of a class exists only where its module does, so nothing need be imported here.
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from skdp.privacy import Gap

__all__ = ["gap_of", "is_a", "is_free", "is_used", "label", "offers_releases"]

_ALWAYS_FREE = (
    "sklearn.preprocessing.Normalizer",
    "sklearn.preprocessing.Binarizer",
    "sklearn.preprocessing.PolynomialFeatures",
    "sklearn.feature_extraction.FeatureHasher",
    "sklearn.feature_extraction.text.HashingVectorizer",
    "skdp.preprocessing.BoundedScaler",
    "skdp.preprocessing.PiecewiseLinearFeatures",
    "skdp.preprocessing.RowNormClipper",
)


def _has_written_categories(encoder: Any) -> bool:
    # Rare categories are found by counting rows.
    counts = encoder.min_frequency is not None or encoder.max_categories is not None
    return not isinstance(encoder.categories, str) and not counts


def _fills_constants(imputer: Any) -> bool:
    # Whether a column is empty, or has gaps, is a fact about the rows.
    looks = imputer.add_indicator or not imputer.keep_empty_features
    return imputer.strategy == "constant" and not looks


def _has_written_knots(splines: Any) -> bool:
    return not isinstance(splines.knots, str)


def _is_declared_row_wise(transformer: Any) -> bool:
    func = transformer.func
    return func is None or isinstance(func, np.ufunc) or getattr(func, "row_wise", False) is True


_FREE_IF: dict[str, tuple[Callable[[Any], bool], str]] = {
    "sklearn.preprocessing.OneHotEncoder": (
        _has_written_categories,
        "OneHotEncoder(categories=[...]) with the categories written down, and without "
        "min_frequency and max_categories",
    ),
    "sklearn.preprocessing.OrdinalEncoder": (
        _has_written_categories,
        "OrdinalEncoder(categories=[...]) with the categories written down, and without "
        "min_frequency and max_categories",
    ),
    "sklearn.impute.SimpleImputer": (
        _fills_constants,
        'SimpleImputer(strategy="constant", fill_value=..., keep_empty_features=True), without '
        "add_indicator",
    ),
    "sklearn.preprocessing.SplineTransformer": (
        _has_written_knots,
        "SplineTransformer(knots=...) with the knots written down, or "
        "skdp.preprocessing.PiecewiseLinearFeatures",
    ),
    "sklearn.preprocessing.FunctionTransformer": (
        _is_declared_row_wise,
        "a NumPy ufunc, or a function that handles each row by itself and says so: "
        "`func.row_wise = True`",
    ),
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


def is_a(thing: Any, *places: str) -> bool:
    """Whether an object's class is one of these, named by their public places, exactly."""
    return any(type(thing) is _class_at(place) for place in places)


def is_free(thing: Any) -> bool:
    """Whether an object learned nothing from rows and handles each row by itself."""
    if is_a(thing, *_ALWAYS_FREE):
        return True
    return any(is_a(thing, place) and holds(thing) for place, (holds, _) in _FREE_IF.items())


def is_used(step: Any) -> bool:
    """Whether a step does anything at all."""
    return step is not None and not (isinstance(step, str) and step in ("passthrough", "drop"))


def offers_releases(thing: Any) -> bool:
    """Whether an object says what its own `fit` released.

    A subclass with another `fit` has to say it anew.
    """
    return _owner(thing, "_privacy_releases") is not None and _owner(thing, "fit") is _owner(
        thing, "_privacy_releases"
    )


def label(thing: Any, path: tuple[str, ...]) -> str:
    """What a part is and where it stands."""
    name = type(thing).__name__
    return f"{name} '{' > '.join(path)}'" if path else name


def gap_of(thing: Any, path: tuple[str, ...]) -> Gap:
    """The entry of something that looked at the rows, or may have."""
    for place, (_, instead) in _FREE_IF.items():
        if is_a(thing, place):
            return Gap(
                label(thing, path),
                "set as it is, it may learn from the rows without noise",
                instead,
            )
    if hasattr(type(thing), "_privacy_releases"):
        reason = "its fit is not the one that its releases are known of"
        instead = "a `_privacy_releases` beside that fit, which states all of its noisy releases"
    elif type(thing).__name__ in _INSTEAD:
        reason = "it learned from the rows without noise, so that one row moves every other"
        instead = _INSTEAD[type(thing).__name__]
    elif hasattr(thing, "transform"):
        reason = "nothing says that it learned nothing from the rows"
        instead = "a transformer whose settings are public (skdp.preprocessing)"
    elif hasattr(thing, "predict"):
        reason = "it was fitted to the rows without noise, or nothing says otherwise"
        instead = "skdp.DPSGDClassifier"
    else:
        reason, instead = "nothing is known about it", "a part that is known, or none"
    return Gap(label(thing, path), reason, instead, has_no_total=_holds_noisy_parts(thing))


def _holds_noisy_parts(thing: Any) -> bool:
    """Whether an object that cannot be walked has a private estimator among its parameters."""
    if hasattr(type(thing), "_privacy_releases"):
        return True
    try:
        parameters = thing.get_params(deep=True)
    except Exception:
        # What cannot say what it is made of may hold anything.
        return True
    return any(hasattr(type(value), "_privacy_releases") for value in parameters.values())


def _class_at(place: str) -> Any:
    module, _, name = place.rpartition(".")
    try:
        return getattr(sys.modules[module], name)
    except (AttributeError, ImportError, KeyError):
        # Experimental classes raise ImportError until they are asked for.
        return None


def _owner(thing: Any, method: str) -> type | None:
    """The class that defines the method an object has."""
    return next((kind for kind in type(thing).__mro__ if method in vars(kind)), None)
