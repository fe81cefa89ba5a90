"""No test is luck: what is left unseeded follows from the test and from the seed of the run."""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent

DRAWS = """
import os, pathlib, random
import numpy as np, pytest

def draw(name):
    # What the noise, the splitters and scikit-learn's defaults draw from.
    numbers = [
        os.urandom(8),
        np.random.default_rng().random(),
        np.random.mtrand._rand.random_sample(),
        random.random(),
    ]
    pathlib.Path(__file__).with_name(name).write_text(repr(numbers))

def test_one():
    draw("one")

def test_other():
    draw("other")

@pytest.mark.true_randomness
def test_true():
    draw("true")
"""


def drawn(folder, *arguments):
    """What the tests in `DRAWS` drew in a run of their own."""
    folder.mkdir()
    (folder / "conftest.py").write_bytes((TESTS / "conftest.py").read_bytes())
    (folder / "pyproject.toml").write_bytes((TESTS.parent / "pyproject.toml").read_bytes())
    (folder / "test_draws.py").write_text(DRAWS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:hypothesispytest"]
    command += [
        "--rootdir",
        folder,
        "-c",
        folder / "pyproject.toml",
        *arguments,
        folder / "test_draws.py",
    ]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return {name: (folder / name).read_text() for name in ("one", "other", "true")}


@pytest.mark.slow
def test_a_run_repeats_but_for_its_seed(tmp_path):
    """Each test draws its own numbers, whatever ran before it; a marked one draws fresh ones."""
    first = drawn(tmp_path / "first", "--randomly-seed=1")
    again = drawn(tmp_path / "again", "--randomly-seed=1", "-p", "no:xdist")
    other = drawn(tmp_path / "other_seed", "--randomly-seed=2")
    assert again["one"] == first["one"]
    assert again["other"] == first["other"]
    assert len({first["one"], first["other"], other["one"], other["other"]}) == 4
    assert again["true"] != first["true"]
