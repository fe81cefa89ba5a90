"""The examples in the docstrings run and print what they say."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import skdp

MODULES = sorted(module.name for module in pkgutil.walk_packages(skdp.__path__, "skdp."))


@pytest.mark.slow
@pytest.mark.parametrize("name", MODULES)
def test_examples_print_what_they_say(name):
    """A reader may copy any of them."""
    failed, _ = doctest.testmod(
        importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert failed == 0


@pytest.mark.slow
def test_examples_of_classes_print_what_they_say():
    """Those of methods too: a class that names its public place is passed over above."""
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(verbose=False)
    for name in MODULES:
        module = importlib.import_module(name)
        for kind in vars(module).values():
            # A class that stands in this file, wherever it says that it is imported from.
            first = (
                next((value for value in vars(kind).values() if inspect.isfunction(value)), None)
                if isinstance(kind, type)
                else None
            )
            if first is not None and first.__globals__ is vars(module):
                for example in finder.find(kind, module=False, globs={**vars(module)}):
                    runner.run(example)
    assert runner.tries > 50
    assert runner.failures == 0


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
