"""The least that private estimators are, and what the tests of the ledger ask of one."""

import json
import secrets

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from skdp import DPSGDClassifier
from skdp.exceptions import BudgetExhaustedError
from skdp.privacy import Gaussian, SubsampledGaussian
from skdp.privacy._filter import make_filter

DELTA = 1e-5


class Releases(BaseEstimator):
    """The least that a private estimator is: it releases what it is told to."""

    def __init__(self, mechanisms=(), unit="row", random_state=None):
        self.mechanisms = mechanisms
        self.unit = unit
        self.random_state = random_state

    def fit(self, X=None, y=None):
        self.mechanisms_ = tuple(self.mechanisms)
        self.unit_ = self.unit
        self.fit_id_ = secrets.token_hex(8)
        return self

    def predict(self, X):
        return np.zeros(len(X))

    def _privacy_releases(self):
        return list(self.mechanisms_)

    def _planned_releases(self, n_rows, n_features, n_classes, unit="row"):
        return list(self.mechanisms)


class OfUnits(Releases):
    """Its fit takes units, and its releases depend on whether it is asked for them."""

    def fit(self, X=None, y=None, privacy_unit=None):
        return super().fit(X, y)

    def _privacy_releases(self):
        return list(self.mechanisms_)

    def _planned_releases(self, n_rows, n_features, n_classes, unit):
        return [Gaussian(9.0 if unit == "unit" else 4.0)]


class NeedsColumns(Releases):
    """Its noise follows from the number of columns."""

    def fit(self, X, y=None):
        return super().fit(X, y)

    def _privacy_releases(self):
        return [Gaussian(float(self.n_features_in_))]

    def _planned_releases(self, n_rows, n_features, n_classes, unit="row"):
        return None if n_features is None else [Gaussian(float(n_features))]


class Unmarked(ClassifierMixin, BaseEstimator):
    """A private estimator whose fits carry no mark."""

    def fit(self, X, y=None):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def _privacy_releases(self):
        return [Gaussian(9.0)]


class Unplanned(BaseEstimator):
    """Its releases are known only after a fit."""

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        return X

    def _privacy_releases(self):
        return [Gaussian(9.0)]


class Unreadable:
    """A table, or a column, that says how large it is, and fails whoever reads it."""

    def __init__(self, *shape, error=AssertionError):
        self.shape = shape
        self.error = error

    def __len__(self):
        return self.shape[0]

    def __array__(self, *args, **settings):
        raise self.error("a row was read")

    def __getitem__(self, key):
        raise self.error("a row was read")


def gaussian(noise):
    """A fit of one release over all rows."""
    return Releases((Gaussian(noise),))


def sampled(noise=2.0, rate=0.05, n_steps=20):
    """A fit on small batches."""
    return Releases((SubsampledGaussian(noise, rate, n_steps),))


def small(noise=50.0, **settings):
    """A classifier of one noisy step over all of up to 2000 rows."""
    return DPSGDClassifier(noise_multiplier=noise, batch_size=2000, n_epochs=1, **settings)


def mu_squared_limit(epsilon):
    """Of how much mu^2 a budget admits."""
    return 1 / make_filter(epsilon, DELTA).charge([Gaussian(1.0)])[0]


def admitted(budget, estimator, n_rows=1000):
    """How many fits of a kind are admitted until one is refused."""
    for count in range(10_000):
        try:
            budget.reserve(estimator, n_rows)
        except BudgetExhaustedError:
            return count
    raise AssertionError("no end")


def entries(budget):
    """The last record under each key, from the text of a ledger."""
    return {record["key"]: record for record in json.loads(budget.to_json())["records"]}


def states(budget):
    """The state of each entry, in order."""
    return [entry["state"] for entry in entries(budget).values()]
