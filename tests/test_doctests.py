"""The examples in the docstrings run and print what they say."""

import doctest
import importlib
import pkgutil

import pytest

import skdp

MODULES = sorted(module.name for module in pkgutil.walk_packages(skdp.__path__, "skdp."))


@pytest.mark.parametrize("name", MODULES)
def test_examples_print_what_they_say(name):
    """A reader may copy any of them."""
    failed, _ = doctest.testmod(
        importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert failed == 0


def test_every_public_name_has_an_example():
    """Classes and functions that users import; errors and warnings need none."""
    packages = ["skdp", *(name for name in MODULES if not name.split(".")[-1].startswith("_"))]
    for package in packages:
        module = importlib.import_module(package)
        for name in module.__all__:
            public = getattr(module, name)
            is_error = isinstance(public, type) and issubclass(public, Exception)
            if is_error or not callable(public):
                continue
            assert ">>>" in (public.__doc__ or ""), f"{package}.{name} has no example"
