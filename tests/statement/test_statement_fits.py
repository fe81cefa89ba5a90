"""privacy_statement against the fits that really ran: which rows were in each, and how often.

Every row carries its number in its last column, and every fit of a private classifier writes down
which rows it was given and what it released.
"""

import functools
from collections import Counter

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    KFold,
    LeaveOneOut,
    RandomizedSearchCV,
    RepeatedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline

from skdp import DPSGDClassifier, privacy_statement
from skdp.privacy import get_epsilon
from skdp.privacy._groups import group_mechanism

N = 47
DELTA = 1e-5


def clf(noise=6.0, **rest):
    return DPSGDClassifier(noise_multiplier=noise, batch_size=6, n_epochs=1, **rest)


def grid(model=None, cv=None, **parameters):
    if model is None:
        model, parameters = clf(), {"noise_multiplier": [6.0, 9.0]}
    return GridSearchCV(model, parameters, cv=cv or KFold(3))


def stack(cv):
    return StackingClassifier(
        [("a", clf()), ("b", clf(8.0))], final_estimator=clf(7.0), cv=cv, passthrough=True
    )


def columns():
    return ColumnTransformer([("none", "drop", [])], remainder="passthrough")


EXACT = {
    "one": clf,
    "pipeline": lambda: make_pipeline(columns(), clf()),
    "votes": lambda: VotingClassifier([("a", clf()), ("b", clf(9.0))]),
    "one vs rest": lambda: OneVsRestClassifier(clf()),
    "stack": lambda: stack(KFold(4)),
    "calibrated": lambda: CalibratedClassifierCV(clf(), cv=KFold(4, shuffle=True), ensemble=True),
    "calibrated repeatedly": lambda: CalibratedClassifierCV(
        clf(), cv=RepeatedKFold(n_splits=3, n_repeats=2), ensemble=True
    ),
    "calibrated once": lambda: CalibratedClassifierCV(clf(), cv=KFold(4), ensemble=False),
    "bootstrap": lambda: BaggingClassifier(clf(), n_estimators=3, random_state=5),
    "half bags": lambda: BaggingClassifier(
        clf(), n_estimators=3, max_samples=0.5, bootstrap=False, random_state=5
    ),
    "bags of votes": lambda: BaggingClassifier(
        make_pipeline(columns(), VotingClassifier([("a", clf()), ("b", clf(9.0))])),
        n_estimators=2,
        random_state=5,
    ),
    "search": grid,
    "shuffled search": lambda: grid(cv=KFold(5, shuffle=True)),
    "repeated search": lambda: grid(cv=RepeatedKFold(n_splits=4, n_repeats=2, random_state=0)),
    "growing search": lambda: grid(cv=TimeSeriesSplit(3)),
    "leave one out": lambda: grid(cv=LeaveOneOut()),
    "search of a pipeline": lambda: grid(
        make_pipeline(columns(), clf()), dpsgdclassifier__n_epochs=[1, 2]
    ),
    "search of votes": lambda: grid(
        VotingClassifier([("a", clf()), ("b", clf(9.0))]), a__noise_multiplier=[5.0, 6.0]
    ),
    "search of one vs rest": lambda: grid(
        OneVsRestClassifier(clf()), estimator__noise_multiplier=[5.0, 6.0]
    ),
    "search of stacks": lambda: grid(
        stack(KFold(3)), KFold(2), final_estimator__noise_multiplier=[5.0, 6.0]
    ),
    "search of calibrated": lambda: grid(
        CalibratedClassifierCV(clf(), cv=KFold(3), ensemble=False), KFold(2)
    ),
    "halving": lambda: HalvingGridSearchCV(
        clf(), {"noise_multiplier": [5.0, 6.0, 7.0]}, cv=KFold(2), factor=2, min_resources=24
    ),
    "votes of searches": lambda: VotingClassifier([("a", grid()), ("b", grid(cv=KFold(2)))]),
    "stack with a search": lambda: StackingClassifier(
        [("a", clf()), ("b", clf(8.0))], final_estimator=grid(), cv=KFold(3), passthrough=True
    ),
}
# Bounds only: rows of random splits and samples need not be in all of them, a choice inside a fold
# is not kept, and rows that are in most outer fits need not be in most inner ones.
BOUNDED = {
    "random splits": lambda: grid(cv=ShuffleSplit(3, test_size=0.3)),
    "search in a search": lambda: grid(grid(), KFold(2)),
    "calibrated searches": lambda: CalibratedClassifierCV(grid(), cv=KFold(3), ensemble=True),
    "stack of searches": lambda: StackingClassifier(
        [("a", grid())], final_estimator=clf(7.0), cv=KFold(3), passthrough=True
    ),
    "random search": lambda: RandomizedSearchCV(
        clf(), {"noise_multiplier": [5.0, 6.0, 7.0]}, n_iter=2, cv=ShuffleSplit(2)
    ),
    "search of half bags": lambda: grid(
        BaggingClassifier(clf(), n_estimators=2, max_samples=0.5, bootstrap=False), KFold(3)
    ),
    "many searches": lambda: VotingClassifier(
        [(name, GridSearchCV(clf(20.0 + ord(name) % 7), {}, cv=KFold(3))) for name in "abcdefg"]
    ),
    "many bags": lambda: BaggingClassifier(clf(), n_estimators=9, random_state=5),
}


@pytest.fixture
def fits(monkeypatch):
    """Every fit of a private classifier: its releases, and how often each row was in its data."""
    written = []
    fit = DPSGDClassifier.fit

    @functools.wraps(fit)
    def writing(self, X, y):
        fit(self, X, y)
        rows = np.bincount(np.rint(np.asarray(X)[:, -1] * N).astype(int), minlength=N)
        written.append((self.mechanisms_, rows))
        return self

    monkeypatch.setattr(DPSGDClassifier, "fit", writing)
    return written


@pytest.fixture
def data(rng):
    X = rng.normal(size=(N, 3))
    X[:, -1] = np.arange(N) / N
    return X, rng.permutation(N) % 3


def dearest_row(fits):
    """What the worst-off row's releases cost together."""
    ways = set()
    for row in range(N):
        releases = Counter()
        for mechanisms, rows in fits:
            if rows[row]:
                releases.update(group_mechanism(one, int(rows[row])) for one in mechanisms)
        ways.add(frozenset(releases.items()))
    return max(
        get_epsilon([one for one, times in way for _ in range(times)], DELTA) if way else 0.0
        for way in ways
    )


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_total_is_what_the_fits_cost_the_worst_off_row(name, data, fits):
    model = EXACT[name]().fit(*data)
    made = privacy_statement(model)
    assert made.epsilon_of_releases == pytest.approx(dearest_row(fits), rel=1e-9)
    assert sum(part.n_fits for part in made.parts) == len(fits)


@pytest.mark.slow
@pytest.mark.parametrize("name", BOUNDED)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_total_is_never_below_what_the_fits_cost(name, data, fits):
    """And not far above it."""
    model = BOUNDED[name]().fit(*data)
    made = privacy_statement(model, n_samples=N)
    truth = dearest_row(fits)
    assert truth * (1 - 1e-9) <= made.epsilon_of_releases <= truth * 1.6
    assert sum(part.n_fits for part in made.parts) == len(fits)


def test_a_frozen_fit_is_counted_once(data, fits):
    """Its clone is the same object, in every fold and voter."""
    frozen = FrozenEstimator(clf(5.0).fit(*data))
    votes = VotingClassifier([("a", frozen), ("b", clf())])
    made = privacy_statement(GridSearchCV(votes, {}, cv=KFold(3)).fit(*data))
    assert made.epsilon_of_releases == pytest.approx(dearest_row(fits), rel=1e-9)
    assert sum(part.n_fits for part in made.parts) == len(fits) == 1 + 3 + 1
