"""Every public name has a place in the reference."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import skdp

REFERENCE = Path(__file__).parents[2] / "docs" / "reference.md"
TEMPLATE = REFERENCE.parent / "_templates" / "autosummary" / "class.rst"
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


def methods_from_elsewhere(kind):
    """Names that a class inherits, but for what sets requests, each with the class it stands in."""
    for name in dir(kind):
        owner = next(base for base in kind.__mro__ if name in vars(base))
        makes_request = name.startswith("set_") and name.endswith("_request")
        if owner is not kind and not name.startswith("_") and not makes_request:
            yield name, owner


def test_a_page_shows_what_a_class_inherits_from_skdp_and_nothing_else():
    """Where a method stands is no matter for readers; scikit-learn explains its own."""
    left_out = set(
        re.search(r":inherited-members: (.*)", TEMPLATE.read_text("utf-8"))[1].split(", ")
    )
    inherited = {
        (name, owner)
        for package, public in split_names()
        if inspect.isclass(kind := getattr(importlib.import_module(package), public))
        for name, owner in methods_from_elsewhere(kind)
    }
    assert "predict" in {name for name, _ in inherited}
    for name, owner in inherited:
        is_ours = owner.__module__.startswith("skdp.") and owner.__module__ != "skdp._sklearn"
        assert (owner.__name__ not in left_out) == is_ours, (name, owner)
