"""The pages of the documentation: their code runs, and prints what stands below it.

Blocks marked `python` run from top to bottom, each page in a namespace of its own. A block marked
`text` right below is what they print. Blocks with prompts are doctests. Blocks marked `py` show
other libraries and are not run.
"""

import contextlib
import doctest
import io
import math
import re
from pathlib import Path

import numpy as np
import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(DOCS.glob("*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n\n?^```text\n(.*?)^```$)?", re.DOTALL | re.M)
NUMBER = re.compile(r"(?<![\w.])-?(?:\d+\.?\d*(?:e[+-]?\d+)?|inf)(?![\w.])")


def shape_and_numbers(text):
    """The words of a text, with every number taken out, and the numbers."""
    numbers = [float(number) for number in NUMBER.findall(text)]
    return NUMBER.sub("#", text).split(), numbers


def prints_the_same(printed, expected):
    """Whether the words agree and the numbers do, to 0.05 or to one part in 20.

    Pages are not seeded, so a score differs a little each time that they are run; an epsilon, a
    delta or a number of steps hardly does.
    """
    words, numbers = shape_and_numbers(printed)
    expected_words, expected_numbers = shape_and_numbers(expected)
    return (
        words == expected_words
        and len(numbers) == len(expected_numbers)
        and all(map(close, numbers, expected_numbers))
    )


def close(number, expected):
    """Small numbers, such as deltas, are compared by their ratio alone."""
    within = 0.05 if abs(expected) >= 0.01 else 0.0
    return math.isclose(number, expected, rel_tol=0.05, abs_tol=within)


def run_doctest(code, namespace, name):
    """Run prompts and compare, as `tests/test_doctests.py` does for docstrings."""
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    test = doctest.DocTestParser().get_doctest(code, namespace, name, None, 0)
    report = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=flags)
    runner.run(test, out=report.write, clear_globs=False)
    namespace.update(test.globs)
    assert runner.failures == 0, report.getvalue()


@pytest.fixture
def repeatable_system_noise(monkeypatch):
    """Fits without a seed, as the pages show them, draw the same noise whenever the test runs."""
    words = np.random.default_rng(0)
    monkeypatch.setattr(
        "skdp.mechanisms._noise._random_words",
        lambda size: words.integers(0, 2**64, size=size, dtype=np.uint64),
    )


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
@pytest.mark.usefixtures("repeatable_system_noise")
def test_the_code_of_a_page_prints_what_stands_below_it(page, tmp_path, monkeypatch):
    """A reader may copy any page from the top, as it stands."""
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for code, expected in BLOCK.findall(page.read_text(encoding="utf-8")):
        if code.startswith(">>>"):
            run_doctest(code, namespace, page.stem)
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(page), "exec"), namespace)
        if expected:
            assert prints_the_same(printed.getvalue(), expected), printed.getvalue()


LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize(
    "page", [DOCS.parent / "README.md", *PAGES], ids=lambda page: page.name.removesuffix(".md")
)
def test_every_link_to_a_file_of_the_project_leads_to_one(page):
    """Pages of the gallery are made when the site is built, each from a script."""
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        source = re.sub(r"^gallery/(plot_\w+)\.rst$", r"examples/\1.py", link)
        source = source.replace("gallery/index.rst", "examples/GALLERY_HEADER.rst")
        assert (page.parent / source).exists(), link


def test_the_start_page_has_code_that_is_run():
    """The test above would pass on a page whose blocks it does not find."""
    blocks = BLOCK.findall((DOCS / "start.md").read_text(encoding="utf-8"))
    assert len(blocks) >= 3
    assert any(expected for _, expected in blocks)


@pytest.mark.parametrize(
    ("printed", "same"),
    [
        ("accuracy 0.93, epsilon 1.000", True),
        ("accuracy 0.87, epsilon 1.000", False),
        ("accuracy 0.93, epsilon 1.2", False),
        ("precision 0.93, epsilon 1.000", False),
        ("accuracy 0.93", False),
    ],
)
def test_a_page_that_prints_something_else_is_noticed(printed, same):
    """Words must agree, figures nearly."""
    assert prints_the_same(printed, "accuracy 0.95,   epsilon 1.000\n") is same


def test_the_numbers_of_a_page_are_read_as_numbers():
    """Powers of ten and infinities count; digits within names do not."""
    words, numbers = shape_and_numbers("x1 costs 1e-05 or inf, -2.5 at k2")
    assert words == ["x1", "costs", "#", "or", "#,", "#", "at", "k2"]
    np.testing.assert_equal(numbers, [1e-5, math.inf, -2.5])
