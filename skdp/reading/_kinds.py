"""Kinds of elements, told from their types before they become an array of one kind.

NumPy makes text of numbers that stand beside text, and a label "nan" of a hole; dates become
nanoseconds. So what a container holds is looked at first.
"""

import math
from collections.abc import Iterable
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np

__all__ = ["as_double", "is_missing", "kinds_of"]

# Marks of pandas for what is missing; NaT passes for a date otherwise.
_MARKS = ("NAType", "NaTType", "MaskedConstant")
_TEMPORAL = (date, time, timedelta, np.datetime64, np.timedelta64)


def kinds_of(elements: Iterable) -> set[str]:
    """The kinds of some objects, by their types.

    They are "missing", "text", "bytes", "whole", "real", "date", "interval" and "other".

    NaN is a real number here; `is_missing` knows it.
    """
    return {_kind_of(kind) for kind in set(map(type, elements))}


def is_missing(element: object) -> bool:
    """Whether an object stands for a value that is missing: None, NaN, NaT, NA, or masked."""
    if isinstance(element, float | np.floating):
        return bool(np.isnan(element))
    if isinstance(element, Decimal):
        return element.is_nan()
    if isinstance(element, np.datetime64 | np.timedelta64):
        return bool(np.isnat(element))
    return element is None or type(element).__name__ in _MARKS


def as_double(element: Any) -> float:
    """A number as a double: NaN where it is missing, infinite where it is beyond the range."""
    if is_missing(element):
        return math.nan
    try:
        return float(element)
    except OverflowError:
        return math.inf if element > 0 else -math.inf


def _kind_of(kind: type) -> str:
    if kind is type(None) or kind.__name__ in _MARKS:
        return "missing"
    # Before numbers, since NumPy counts durations among the integers.
    if issubclass(kind, _TEMPORAL) or kind.__name__ == "Period":
        return "date"
    if kind.__name__ == "Interval":
        return "interval"
    for name, kinds in (("text", str), ("bytes", bytes), ("whole", Integral | np.bool_)):
        if issubclass(kind, kinds):
            return name
    return "real" if issubclass(kind, Real | Decimal) else "other"
