"""The house: which layer may import which, and what every module and every test declares."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import skdp

ROOT = Path(skdp.__file__).parent
TESTS = Path(__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))
# Which layer may import which. A folder may import itself, and everything the first two files.
MAY_IMPORT = {
    "exceptions": set(),
    "_version": set(),
    "_sklearn": set(),
    "privacy": set(),
    "mechanisms": {"privacy"},
    "reading": {"mechanisms"},
    "statement": {"privacy"},
    "budget": {"statement", "privacy"},
    "_estimator": {"reading", "budget", "statement", "mechanisms", "privacy"},
    "linear_model": {"_estimator", "reading", "budget", "mechanisms", "privacy"},
    "preprocessing": {"_estimator", "reading", "budget", "mechanisms", "privacy"},
    "model_selection": {"_estimator", "reading", "linear_model", "preprocessing", "statement"}
    | {"budget", "privacy"},
    "audit": {"reading", "linear_model", "preprocessing", "statement", "budget", "mechanisms"}
    | {"privacy"},
    "inspection": {"audit", "linear_model", "preprocessing", "statement", "budget", "privacy"},
    "__init__": {"linear_model", "preprocessing", "privacy", "statement", "budget", "audit"}
    | {"inspection", "model_selection"},
}
GROUND = {"exceptions", "_version", "_sklearn"}


def place_of(path):
    """The layer's name: the folder below skdp, or the file's name at the top."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[0]


def imported_modules(path):
    """Dotted names of skdp that the file imports, wherever the statement stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            yield node.module


def imported_names(path):
    """Dotted names of what is imported, the names inside modules included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down_only(path):
    """A reviewer of the promise may stop at the trusted code: it depends on nothing above it."""
    here = place_of(path)
    for module in imported_modules(path):
        if module.split(".")[0] != "skdp":
            continue
        there = module.split(".")[1] if "." in module else "__init__"
        allowed = there == here or there in MAY_IMPORT[here] | GROUND
        assert allowed, f"{path.relative_to(ROOT)} imports {module}"


def test_only_one_file_touches_scikit_learns_private_names():
    """What may move between releases stands in one place."""
    for path in MODULES:
        for name in imported_names(path):
            private = name.startswith("sklearn.") and any(
                part.startswith("_") for part in name.split(".")
            )
            assert not private or path.name == "_sklearn.py", f"{path} imports {name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_module_says_what_it_is_and_what_it_offers(path):
    """A docstring first, and an __all__ whose names exist."""
    dotted = ".".join(("skdp", *path.relative_to(ROOT).with_suffix("").parts))
    module = importlib.import_module(dotted.removesuffix(".__init__"))
    assert module.__doc__
    assert all(hasattr(module, name) for name in module.__all__)


@pytest.mark.slow
def test_importing_skdp_brings_nothing_optional():
    """No more than scikit-learn itself brings: an import works without the extras, and is quick."""
    optional = ["matplotlib", "pandas", "rich", "dp_accounting", "hypothesis"]
    code = f"import sys, skdp; print([m for m in {optional} if m in sys.modules])"
    plain = f"import sys, sklearn; print([m for m in {optional} if m in sys.modules])"
    ours, theirs = (
        subprocess.run([sys.executable, "-c", c], capture_output=True, text=True, check=True).stdout
        for c in (code, plain)
    )
    assert ours == theirs


def code_lines(path):
    """Lines of a file without its docstrings."""
    text = path.read_text(encoding="utf-8")
    with_docstrings = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = sum(
        node.body[0].end_lineno - node.body[0].lineno + 1
        for node in ast.walk(ast.parse(text))
        if isinstance(node, with_docstrings) and ast.get_docstring(node) is not None
    )
    return len(text.splitlines()) - docstrings


def test_no_file_is_long_and_no_two_have_one_name():
    """A file is one idea, and its name says which."""
    longest = max(MODULES, key=code_lines)
    assert code_lines(longest) <= 400, longest
    names = [path.name for path in MODULES if path.name != "__init__.py"]
    assert len(names) == len(set(names))


def records_of(path):
    """Public dataclasses and named tuples of a file whose docstring lists parameters."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
            continue
        above = [ast.unparse(above) for above in node.decorator_list + node.bases]
        is_record = any(name.startswith("dataclass") or name == "NamedTuple" for name in above)
        if is_record and "\nParameters\n---" in (ast.get_docstring(node) or ""):
            yield node


def listed_parameters(docstring):
    """Names and types below the heading Parameters, in order."""
    section = docstring.split("\nParameters\n")[1].split("\n\n")[0]
    for line in section.splitlines()[1:]:
        if line and not line.startswith(" "):
            names, _, kind = line.partition(" : ")
            yield from ((name.strip(), kind) for name in names.split(","))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_records_document_their_fields_in_order_and_with_types(path):
    """Other classes are checked by their `__init__`, which these do not write down."""
    for node in records_of(path):
        documented = list(listed_parameters(ast.get_docstring(node)))
        fields = [
            part.target.id
            for part in node.body
            if isinstance(part, ast.AnnAssign) and not part.target.id.startswith("_")
        ]
        assert [name for name, _ in documented] == fields, node.name
        assert all(kind for _, kind in documented), node.name


def silent_tests(path):
    """Where in a file of tests a test stands that has no docstring."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if is_function and node.name.startswith("test_") and not ast.get_docstring(node):
            yield f"{path.relative_to(TESTS)}:{node.lineno} {node.name}"


def test_every_test_says_what_it_claims():
    """A test that fails for a reader who did not write it has to say why the claim must hold."""
    silent = [test for path in sorted(TESTS.rglob("test_*.py")) for test in silent_tests(path)]
    assert not silent, "\n".join(silent)
