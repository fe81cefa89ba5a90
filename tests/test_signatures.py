"""Signatures are what help and editors show first: short, and in words that users write."""

import inspect

import pytest

import skdp
from skdp import inspection, model_selection, preprocessing, privacy

LONGEST_METHOD, LONGEST_FUNCTION = 200, 300


def public_calls():
    """Functions, and methods of classes, that users call, by name."""
    for module in (skdp, inspection, model_selection, preprocessing, privacy):
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isfunction(thing):
                yield name, thing
            elif inspect.isclass(thing) and not issubclass(thing, Exception):
                methods = inspect.getmembers(thing, inspect.isfunction)
                yield from ((f"{name}.{m}", call) for m, call in methods if m[0] != "_")


CALLS = dict(public_calls())


@pytest.mark.parametrize("name", CALLS)
def test_a_signature_is_short_enough_to_read(name):
    """An array-like spelt out as the union that it is takes 700 characters."""
    longest = LONGEST_METHOD if "." in name else LONGEST_FUNCTION
    assert len(str(inspect.signature(CALLS[name]))) < longest


def test_the_calls_are_those_of_users():
    """The list above is not empty by a slip."""
    assert {"DPSGDClassifier.fit", "DPStandardScaler.fit_transform", "get_epsilon"} <= set(CALLS)
    assert "ArrayLike" in str(inspect.signature(skdp.DPSGDClassifier.fit))
