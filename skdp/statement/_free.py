"""What is free, and what to use instead of what is not.

Free is a written list: classes of which `fit` learns nothing from the values of the rows, and
`transform` handles each row by itself. A subclass may do otherwise, so classes must match exactly.
Anything else that offers no noisy releases is not covered.

Classes are named by their public place and looked up among the modules that are loaded: an object
of a class exists only where its module does, so nothing need be imported here.
"""

import sys
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from skdp.privacy import Gap

__all__ = ["gap_of", "is_a", "is_free", "is_used", "label", "offers_releases", "parts_inside"]

_ALWAYS_FREE = (
    "sklearn.preprocessing.Normalizer",
    "sklearn.preprocessing.Binarizer",
    "sklearn.preprocessing.PolynomialFeatures",
    "sklearn.feature_extraction.FeatureHasher",
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


def _applies_row_by_row(transformer: Any) -> bool:
    func, inverse = transformer.func, transformer.inverse_func
    if transformer.inv_kw_args or not (inverse is None or _is_known_function(inverse)):
        # `fit` sends rows through the inverse as well.
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
    return func.signature is None and (func.nin, func.nout) == (1, 1) and not is_python


def _reads_texts_one_by_one(vectorizer: Any) -> bool:
    steps = (vectorizer.analyzer, vectorizer.tokenizer, vectorizer.preprocessor)
    return all(_is_declared_row_wise(step) for step in steps if callable(step))


def _is_declared_row_wise(func: Any) -> bool:
    return getattr(func, "row_wise", False) is True


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
        _applies_row_by_row,
        "a NumPy ufunc of one argument without kw_args, or a function that handles each row by "
        "itself and says so: `func.row_wise = True`",
    ),
    "sklearn.feature_extraction.text.HashingVectorizer": (
        _reads_texts_one_by_one,
        "HashingVectorizer with an analyzer, tokenizer and preprocessor of its own, or functions "
        "that handle each text by itself and say so: `func.row_wise = True`",
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
    """Whether an object's class has a `fit` and says what that releases, both by itself.

    A subclass may do something else with the rows in any method that it overrides, so it has to
    bring both anew.
    """
    own = vars(type(thing))
    return "_privacy_releases" in own and "fit" in own


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
        reason = "it is a subclass, and what it says of its releases is about the class above it"
        instead = (
            "the private class itself, or a `fit` and a `_privacy_releases` in the subclass, which "
            "states all of its noisy releases"
        )
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


def parts_inside(thing: Any) -> Iterator[Any]:
    """All that an object is made of, itself first, whatever holds it: attributes or containers."""
    seen: set[int] = set()
    waiting = [thing]
    while waiting:
        part = waiting.pop()
        if id(part) in seen or isinstance(part, _WITHOUT_PARTS):
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, list | tuple | set | frozenset):
            waiting.extend(part)
        elif isinstance(part, np.ndarray):
            waiting.extend(part.ravel().tolist() if part.dtype == object else ())
        waiting.extend(getattr(part, "__dict__", {}).values())


_WITHOUT_PARTS = (str, bytes, int, float, complex, np.generic, type, FunctionType, ModuleType)


def _holds_noisy_parts(thing: Any) -> bool:
    """Whether an object that cannot be walked has a private estimator anywhere in it."""
    try:
        parameters = thing.get_params(deep=True)
    except Exception:
        # What cannot say what it is made of may hold anything.
        return True
    inside = parts_inside([thing, parameters])
    return any(hasattr(type(part), "_privacy_releases") for part in inside)


def _class_at(place: str) -> Any:
    module, _, name = place.rpartition(".")
    try:
        return getattr(sys.modules[module], name)
    except (AttributeError, ImportError, KeyError):
        # Experimental classes raise ImportError until they are asked for.
        return None
