"""Every public name has a place in the reference."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import skdp

REFERENCE = Path(__file__).parents[2] / "docs" / "reference.md"
AUTOSUMMARY = re.compile(
    r"\.\. currentmodule:: (\S+)\n\n\.\. autosummary::\n   :toctree: api/\n\n((?:   \w+\n)+)"
)


def public_packages():
    """Dotted names of skdp and of what users may import from below it."""
    below = (module.name for module in pkgutil.walk_packages(skdp.__path__, "skdp."))
    return ["skdp", *(name for name in below if "._" not in name and name != "skdp.mechanisms")]


def public_objects():
    """Classes, functions and warnings that are offered, each with one of its public places."""
    for package in public_packages():
        module = importlib.import_module(package)
        for name in module.__all__:
            offered = getattr(module, name)
            if not inspect.ismodule(offered) and not isinstance(offered, str):
                yield f"{package}.{name}", offered


def names_in_reference():
    """Dotted names that the reference makes a page for."""
    for package, names in AUTOSUMMARY.findall(REFERENCE.read_text(encoding="utf-8")):
        yield from (f"{package}.{name}" for name in names.split())


def test_every_public_name_has_a_page_in_the_reference():
    """A name that users may import, and that nobody finds, might as well not be there."""
    shown = {id(getattr(importlib.import_module(package), name)) for package, name in split_names()}
    missing = [place for place, offered in public_objects() if id(offered) not in shown]
    assert not missing, f"add to docs/reference.md: {missing}"


def split_names():
    """Package and name of each entry."""
    return [tuple(name.rsplit(".", 1)) for name in names_in_reference()]


def test_the_reference_shows_each_name_once_and_nothing_else():
    """A name that has gone from the package goes from the reference, too."""
    names = list(names_in_reference())
    assert len(names) == len(set(names))
    assert set(names) <= {place for place, _ in public_objects()}
