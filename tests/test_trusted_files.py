"""The reading list of a reviewer: which files are handed rows, and which price the noise.

It is found by running every private estimator and watching which functions get rows, so a file that
begins to see rows appears on it by itself; the documentation prints the same list.
"""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline

import skdp
from skdp import DPSGDClassifier, PrivacyBudget, privacy_statement
from skdp.preprocessing import DPMaxAbsScaler, DPStandardScaler

PACKAGE = Path(skdp.__file__).parent
PAGE = PACKAGE.parent / "docs" / "privacy_model.md"
# No other array of a fit is as long.
N = 61


def holds_rows(value, depth=2):
    """Whether something is as long as the table, or has a part that is."""
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return shape[:1] == (N,)
    if isinstance(value, tuple):
        return any(holds_rows(part, depth) for part in value)
    if depth and type(value).__module__.startswith("skdp"):
        inside = getattr(value, "__dict__", {})
        return any(holds_rows(part, depth - 1) for part in inside.values())
    return False


def files_that_are_handed_rows():
    """Of the package, by running fits: a function whose arguments hold rows is trusted."""
    found = set()

    def watch(frame, event, _):
        path = frame.f_code.co_filename
        if event != "call" or not path.startswith(str(PACKAGE)):
            return
        code = frame.f_code
        # Those that gather further arguments come after the named ones.
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + 2]
        if any(holds_rows(frame.f_locals.get(name)) for name in names):
            found.add(str(Path(path).relative_to(PACKAGE)))

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(N, 3)), np.arange(N) % 2
    person = np.repeat(np.arange(N), 2)[:N]
    fits = [
        lambda: DPSGDClassifier().fit(X, y),
        lambda: DPSGDClassifier().fit(sparse.csr_array(X), np.arange(N) % 3),
        lambda: DPSGDClassifier(classes=[0, 1]).fit(X, y, privacy_unit=person),
        lambda: DPMaxAbsScaler().fit(X),
        lambda: DPStandardScaler(bounds=(-9, 9)).fit(X),
        lambda: counted_and_stated(X, y),
    ]
    for fit in fits:
        sys.setprofile(watch)
        try:
            fit()
        finally:
            sys.setprofile(None)
    return found


def counted_and_stated(X, y):
    """A fit with all that is told about it."""
    budget = PrivacyBudget(50.0, 1e-5)
    pipeline = budget.attach(make_pipeline(DPMaxAbsScaler(), DPSGDClassifier()))
    privacy_statement(pipeline, n_rows=N, n_features=3)
    print(privacy_statement(pipeline.fit(X, y)), budget, budget.to_json())


def files_of(folder, *, but=()):
    names = (path.name for path in (PACKAGE / folder).glob("_*.py"))
    return {f"{folder}/{name}" for name in names if name not in ("__init__.py", *but)}


def reading_list():
    """Files that see rows or make noise, then those that say what a release costs."""
    rows = files_that_are_handed_rows() | files_of("mechanisms")
    prices = files_of("privacy", but=("_statement.py", "_textbook.py", "_profile.py"))
    return sorted(rows), sorted(prices)


@pytest.mark.skipif(not PAGE.exists(), reason="an installed package has no documentation beside it")
def test_the_documentation_prints_the_reading_list_of_a_reviewer():
    """No file of it is missing, and none is on it for nothing."""
    rows, prices = reading_list()
    print("handed rows, or making noise:", *rows, "\npriced by:", *prices, sep="\n  ")
    section = PAGE.read_text(encoding="utf-8").partition("## What a reviewer reads")[2]
    printed = re.findall(r"^- `(\S+\.py)`", section, flags=re.MULTILINE)
    assert printed == [*rows, *prices]


def test_nothing_above_the_estimators_is_handed_rows():
    """Statements, budgets and displays work on released numbers alone."""
    rows, _ = reading_list()
    places = {name.split("/")[0] for name in rows}
    folders = {"linear_model", "mechanisms", "preprocessing", "reading"}
    assert places == {"_estimator.py", "_sklearn.py", *folders}
