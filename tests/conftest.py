"""Data that many tests share."""

import numpy as np
import pytest


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
