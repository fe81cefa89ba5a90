"""Kinds of elements, told from their types before they become an array of one kind.

NumPy makes text of numbers that stand beside text, and a label "nan" of a hole; dates become
nanoseconds. So what a container holds is looked at first.
"""

from collections.abc import Iterable
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Integral, Real

import numpy as np

__all__ = ["is_missing", "kinds_of"]

# Marks of pandas for what is missing; NaT passes for a date otherwise.
_MARKS = ("NAType", "NaTType", "MaskedConstant")
_TEMPORAL = (date, time, timedelta, np.datetime64, np.timedelta64)


def kinds_of(elements: Iterable) -> set[str]:
    """The kinds of some objects: of "missing", "text", "bytes", "whole", "real", "date", "other".

    NaN is a real number here; `is_missing` knows it.
    """
    return {_kind_of(kind) for kind in set(map(type, elements))}


def is_missing(element: object) -> bool:
    """Whether an object stands for a value that is missing: None, NaN, NaT, NA, or masked."""
    if isinstance(element, float | np.floating):
        return bool(np.isnan(element))
    if isinstance(element, np.datetime64 | np.timedelta64):
        return bool(np.isnat(element))
    return element is None or type(element).__name__ in _MARKS


def _kind_of(kind: type) -> str:
    if kind is type(None) or kind.__name__ in _MARKS:
        return "missing"
    # Before numbers, since NumPy counts durations among the integers.
    if issubclass(kind, _TEMPORAL) or kind.__name__ in ("Period", "Interval"):
        return "date"
    for name, kinds in (("text", str), ("bytes", bytes), ("whole", Integral | np.bool_)):
        if issubclass(kind, kinds):
            return name
    return "real" if issubclass(kind, Real | Decimal) else "other"
