"""What the tests of the ledger share; its helpers lie beside it, in `budget_stubs`."""

import sys
from pathlib import Path

import pytest

from skdp.linear_model import _dpsgd

# With --import-mode=importlib the folder of a test is nowhere looked up.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def rows(rng):
    """60 rows, 3 columns, two classes."""
    X = rng.normal(size=(60, 3))
    return X, (X[:, 0] > 0).astype(int)


@pytest.fixture
def trained(monkeypatch):
    """The real trainings of classifiers in this process: one item each, whoever counts them."""
    done, train = [], _dpsgd.NoisyGradient

    def counted(*args, **settings):
        done.append(None)
        return train(*args, **settings)

    monkeypatch.setattr(_dpsgd, "NoisyGradient", counted)
    return done
