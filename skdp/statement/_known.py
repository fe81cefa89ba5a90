"""How objects are told apart: by class, by what they offer, and by what they are made of.

Classes are named by their public place and looked up among the modules that are loaded: an object
of a class exists only where its module does, so nothing need be imported here.
"""

import inspect
import sys
from collections import deque
from collections.abc import Iterator
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

__all__ = ["is_a", "is_fitted", "is_used", "label", "offers_releases", "parts_inside"]

_WITHOUT_PARTS = (str, bytes, int, float, complex, np.generic, type, FunctionType, ModuleType)


def is_a(thing: Any, *places: str) -> bool:
    """Whether an object's class is one of these, named by their public places, exactly."""
    return any(type(thing) is _class_at(place) for place in places)


def is_used(step: Any) -> bool:
    """Whether a step does anything at all."""
    return step is not None and not (isinstance(step, str) and step in ("passthrough", "drop"))


def is_fitted(thing: Any) -> bool:
    """Whether an object was fitted; what is no estimator was not."""
    try:
        check_is_fitted(thing)
    except (AttributeError, TypeError):
        # NotFittedError is an AttributeError, which foreign objects may raise as well.
        return False
    return True


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


def parts_inside(thing: Any, *, functions: bool = False) -> Iterator[Any]:
    """All that an object is made of, itself first, whatever holds it: attributes or containers.

    With `functions`, also what functions remember: their closures and defaults.
    """
    seen: dict[int, Any] = {}
    waiting = [thing]
    while waiting:
        part = waiting.pop()
        if functions and isinstance(part, FunctionType):
            waiting.append(part.__defaults__)
            waiting.extend(inspect.getclosurevars(part).nonlocals.values())
        if id(part) in seen or isinstance(part, _WITHOUT_PARTS):
            continue
        # Kept alive, so that no other object gets its id.
        seen[id(part)] = part
        yield part
        if getattr(type(part), "_holds_no_parts", False):
            continue
        if isinstance(part, dict):
            waiting.extend((*part.keys(), *part.values()))
        elif isinstance(part, list | tuple | set | frozenset | deque):
            waiting.extend(part)
        elif isinstance(part, np.ndarray):
            waiting.extend(part.ravel().tolist() if part.dtype == object else ())
        elif isinstance(part, MethodType):
            waiting.extend((part.__self__, part.__func__))
        elif isinstance(part, partial):
            waiting.extend((part.func, part.args, part.keywords))
        waiting.extend(getattr(part, "__dict__", {}).values())
        slots = (name for kind in type(part).__mro__ for name in vars(kind).get("__slots__", ()))
        waiting.extend(getattr(part, name, None) for name in slots if isinstance(name, str))


def _class_at(place: str) -> Any:
    module, _, name = place.rpartition(".")
    try:
        return getattr(sys.modules[module], name)
    except (AttributeError, ImportError, KeyError):
        # Experimental classes raise ImportError until they are asked for.
        return None
