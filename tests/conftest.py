"""Data that many tests share, and randomness that repeats."""

import os
import zlib

import numpy as np
import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Leave tests against an optional package out of every run that does not ask for them."""
    if "oracle" in config.option.markexpr:
        return
    asked, others = [], []
    for item in items:
        (others if item.get_closest_marker("oracle") else asked).append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = asked


@pytest.fixture(autouse=True)
def _repeatable_randomness(request, monkeypatch):
    """Make what a test leaves unseeded follow from the test's name and the run's seed.

    That is the system's generator and NumPy's generators without a seed, in this process. The
    runner itself seeds the global states of Python and NumPy, and shuffles the tests. So a run
    is luck only through its seed, and `python tests/many_runs.py` tries others.

    Tests that are about the system's generator, or about several processes, carry the marker
    `true_randomness`.
    """
    if request.node.get_closest_marker("true_randomness"):
        return
    seed = request.config.getoption("randomly_seed")
    draws = np.random.default_rng([seed, zlib.crc32(request.node.nodeid.encode())])
    default_rng = np.random.default_rng

    def seeded(seed=None):
        return default_rng(draws.integers(2**63) if seed is None else seed)

    monkeypatch.setattr(os, "urandom", draws.bytes)
    monkeypatch.setattr(np.random, "default_rng", seeded)


@pytest.fixture
def rng():
    """A generator of its own for every test."""
    return np.random.default_rng(20)


@pytest.fixture
def two_classes(rng):
    """200 rows, 3 columns, two classes that a line separates fairly well."""
    X = rng.normal(size=(200, 3))
    y = (X @ [1.0, -2.0, 0.5] + rng.logistic(size=200) > 0).astype(int)
    return X, y


@pytest.fixture
def three_classes(rng):
    """240 rows, 4 columns, three classes."""
    X = rng.normal(size=(240, 4))
    y = np.argmax(X[:, :3] + rng.gumbel(size=(240, 3)) / 2, axis=1)
    return X, y
