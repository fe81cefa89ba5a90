"""Every fit of a model with a budget is one entry, whoever makes it, also where that is killed."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from budget_stubs import DELTA, entries, gaussian, small, states
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, StackingClassifier
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline

from skdp import DPSGDClassifier, PrivacyBudget
from skdp.exceptions import BudgetExhaustedError, PrivacyError
from skdp.preprocessing import DPMaxAbsScaler, DPStandardScaler
from skdp.privacy import Gaussian, get_epsilon


class Halving(BaseEstimator):
    """A search that the package has never heard of: half of the candidates go on, on more rows."""

    def __init__(self, model, noises):
        self.model = model
        self.noises = noises

    def fit(self, X, y):
        noises, n_rows = list(self.noises), len(X) // 2
        while len(noises) > 1:
            scores = {}
            for noise in noises:
                model = clone(self.model).set_params(noise_multiplier=noise)
                scores[noise] = model.fit(X[:n_rows], y[:n_rows]).score(X, y)
            noises = sorted(noises, key=scores.get)[len(noises) // 2 :]
            n_rows = len(X)
        self.best_ = clone(self.model).set_params(noise_multiplier=noises[0]).fit(X, y)
        return self


def nested(model, X, y):
    cross_val_score(GridSearchCV(model, {"alpha": [0.0, 0.1]}, cv=KFold(2)), X, y, cv=KFold(3))


def by_hand(model, X, y):
    for alpha in (0.0, 0.1, 0.2):
        model.set_params(alpha=alpha).fit(X, y)
    clone(model).fit(X[::2], y[::2])


WAYS = [
    (nested, 3 * (2 * 2 + 1)),
    (by_hand, 4),
    (lambda model, X, y: Halving(model, [40.0, 50.0, 60.0, 70.0]).fit(X, y), 4 + 2 + 1),
    (lambda model, X, y: BaggingClassifier(model, 3).fit(X, y), 3),
    (lambda model, X, y: StackingClassifier([("m", model)], model, cv=KFold(3)).fit(X, y), 5),
    (lambda model, X, y: CalibratedClassifierCV(model, cv=3).fit(X, y), 3),
    (lambda model, X, y: CalibratedClassifierCV(model, cv=3, ensemble=False).fit(X, y), 4),
    (lambda model, X, y: OneVsRestClassifier(model).fit(X, np.arange(len(y)) % 3), 3),
]


@pytest.mark.parametrize(("way", "n_fits"), WAYS)
def test_entries_are_as_many_as_trainings(rows, trained, way, n_fits):
    """Known to the package or not; none of the trainings is counted by hand or by class."""
    budget = PrivacyBudget(5.0, DELTA)
    way(small(budget=budget), *rows)
    assert len(entries(budget)) == len(trained) == n_fits
    assert states(budget) == ["fitted"] * n_fits
    assert budget.share_spent < 1


def test_entries_cost_what_the_models_say(rows):
    """One composition of all that the fits released, each priced from its own plan."""
    X, y = rows
    budget = PrivacyBudget(5.0, DELTA)
    models = [
        small(budget=budget).fit(X, y),
        small(30.0, budget=budget).fit(X[:40], y[:40]),
        DPMaxAbsScaler(0.1, budget=budget).fit(X),
        DPStandardScaler(0.1, bounds=(-9, 9), budget=budget).fit(X),
    ]
    releases = [release for model in models for release in model.mechanisms_]
    assert list(entries(budget)) == [model.fit_id_ for model in models]
    assert [entry["n"] for entry in entries(budget).values()] == [60, 40, 60, 60]
    assert budget.epsilon_if_fixed == pytest.approx(get_epsilon(releases, DELTA), rel=1e-9)


def test_a_pipeline_enters_each_of_its_private_steps(rows):
    """In a search, each in every fold; a scaler in front costs there as well."""
    X, y = rows
    budget = PrivacyBudget(5.0, DELTA)
    model = budget.attach(make_pipeline(DPMaxAbsScaler(0.1), small()))
    cross_val_score(model, X, y, cv=KFold(3))
    names = [entry["name"] for entry in entries(budget).values()]
    assert names == ["DPMaxAbsScaler", "DPSGDClassifier"] * 3


# -- Seeds -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, np.random.RandomState(0)])
def test_seeded_fits_are_counted_and_no_promise_holds(rows, seed):
    """The seed on the object regenerates the noise, so what is spent is not what is protected."""
    budget = PrivacyBudget(5.0, DELTA)
    small(budget=budget).fit(*rows)
    assert not budget.overspent
    small(budget=budget, random_state=seed).fit(*rows)
    assert budget.overspent
    assert 0 < budget.share_spent < 1
    assert [entry["is_seeded"] for entry in entries(budget).values()] == [False, True]
    assert "A seed regenerates the noise of 1 of the fits" in str(budget)
    assert "with a seed" in str(budget)
    small(budget=budget).fit(*rows)
    assert budget.overspent


def test_a_bag_seeds_its_members_and_the_ledger_says_so(rows):
    """scikit-learn sets an integer on each member."""
    budget = PrivacyBudget(5.0, DELTA)
    BaggingClassifier(small(budget=budget), 3).fit(*rows)
    assert budget.overspent
    assert "A seed regenerates the noise of 3 of the fits" in str(budget)


def test_a_seeded_fit_is_refused_where_it_is_not_paid_for(rows, trained):
    """A seed is no way around the budget."""
    budget = PrivacyBudget(0.1, DELTA)
    with pytest.raises(PrivacyError, match="does not fit"):
        small(3.0, budget=budget, random_state=0).fit(*rows)
    assert not trained


def test_a_seeded_model_cannot_be_reserved():
    """A plan with a seed has no promise."""
    with pytest.raises(PrivacyError, match="random_state=None"):
        PrivacyBudget(5.0, DELTA).reserve(small(random_state=0), 60)


# -- Several processes -----------------------------------------------------------------------------

CANDIDATES = {"alpha": [0.0, 0.1, 0.2], "learning_rate": [0.1, 0.2, 0.3, 0.4]}


@pytest.mark.slow
def test_a_search_in_two_processes_enters_every_fit(rows, tmp_path):
    """12 candidates, 5 folds, one refit: 61, of which the statement of the search knows none."""
    budget = PrivacyBudget(5.0, DELTA, path=tmp_path / "ledger.json")
    search = GridSearchCV(small(400.0, budget=budget), CANDIDATES, cv=KFold(5), n_jobs=2)
    search.fit(*rows)
    assert states(budget) == ["fitted"] * 61
    assert search.best_estimator_.fit_id_ in entries(budget)
    ns = [entry["n"] for entry in entries(budget).values()]
    assert (ns.count(48), ns.count(60)) == (60, 1)
    assert not budget.overspent


@pytest.mark.slow
def test_a_ledger_in_memory_stops_a_search_in_two_processes_before_its_first_fit(rows):
    """Each process would have had a budget of its own."""
    budget = PrivacyBudget(5.0, DELTA)
    search = GridSearchCV(small(budget=budget), {"alpha": [0.0, 0.1]}, cv=KFold(2), n_jobs=2)
    with pytest.raises(Exception, match=r"path=\.\.\.|pickle"):
        search.fit(*rows)
    assert entries(budget) == {}


KILLED = """
import os, signal, sys
import joblib, numpy as np
from sklearn.model_selection import GridSearchCV, KFold
from skdp import DPSGDClassifier, PrivacyBudget

folder, train = sys.argv[1], DPSGDClassifier._train

def traced(self, *rows_and_plan):
    known = rows_and_plan[-1]
    open(os.path.join(folder, known["fit_id_"]), "w").close()
    if len(os.listdir(folder)) >= 30:
        os.kill(os.getpid(), signal.SIGKILL)
    return train(self, *rows_and_plan)

DPSGDClassifier._train = traced
X = np.random.default_rng(0).normal(size=(60, 3))
budget = PrivacyBudget(5.0, 1e-5, path=sys.argv[2])
model = DPSGDClassifier(noise_multiplier=400.0, batch_size=2000, n_epochs=1, budget=budget)
grid = {"alpha": [0.0, 0.1, 0.2], "learning_rate": [0.1, 0.2, 0.3, 0.4]}
with joblib.parallel_config("threading"):
    GridSearchCV(model, grid, cv=KFold(5), n_jobs=2).fit(X, np.arange(60) % 2)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_a_search_that_is_killed_half_way_has_entered_every_fit_that_had_begun(tmp_path):
    """Each leaves a trace with its mark before it reads a row; at the thirtieth all is killed."""
    traces, path = tmp_path / "traces", tmp_path / "ledger.json"
    traces.mkdir()
    command = [sys.executable, "-c", KILLED, str(traces), str(path)]
    done = subprocess.run(command, check=False, capture_output=True, timeout=120)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()[-2000:]
    budget = PrivacyBudget(5.0, DELTA, path=path)
    begun = {trace.name for trace in traces.iterdir()}
    assert len(begun) >= 30
    assert begun <= set(entries(budget))
    # At most the other thread's next one was entered without a trace.
    assert len(entries(budget)) <= len(begun) + 1
    assert {"begun", "fitted"} == set(states(budget))
    share = budget.share_spent
    budget.reserve(gaussian(400.0), 1000)
    assert budget.share_spent > share > 0
    assert json.loads(path.read_text())["records"][0]["state"] == "begun"


# -- The protocol of an estimator ------------------------------------------------------------------


def test_a_mark_enters_once():
    """Under one mark, a cheap fit would take the place of a dear one, and its cost be forgotten."""
    budget = PrivacyBudget(1.0, DELTA)
    budget.enter("Releases", [Gaussian(6.0)], fit_id="one")
    key = budget.reserve(gaussian(9.0), 1000)
    before = budget.share_spent
    for mark in ("one", key):
        with pytest.raises(ValueError, match=mark):
            budget.enter("Releases", [Gaussian(90.0)], fit_id=mark)
    assert budget.share_spent == before


def test_a_fit_from_within_a_change_of_its_ledger_is_refused(rows):
    """A signal handler or a finalizer may begin one; its entry would be lost with the change."""
    budget = PrivacyBudget(5.0, DELTA)
    model = DPSGDClassifier(noise_multiplier=9, n_epochs=1, budget=budget)

    def fit_inside(ledger):
        with pytest.raises(PrivacyError, match="while it was being changed"):
            model.fit(*rows)
        return ledger

    budget._change(fit_inside)
    assert not hasattr(model, "coef_")
    model.fit(*rows)
    assert " 1 fit," in budget.in_short()


def test_a_list_is_not_read_before_its_fit_is_entered(rows):
    """Its lengths are known without its values, so a refusal for a value is counted too."""
    X, y = rows
    table = [[float("inf")] * 3, *X[1:].tolist()]
    small, large = PrivacyBudget(1e-3, DELTA), PrivacyBudget(5.0, DELTA)
    for estimator in (
        DPSGDClassifier(classes=[0, 1]),
        DPMaxAbsScaler(),
        DPStandardScaler(bounds=(0, 1)),
    ):
        with pytest.raises(BudgetExhaustedError):
            estimator.set_params(budget=small).fit(table, y)
        with pytest.raises(ValueError, match="infinity"):
            estimator.set_params(budget=large).fit(table, y)
    assert " 3 fits," in large.in_short()


def test_no_message_shows_a_column_that_was_passed_in_place_of_its_name():
    """Messages end up in logs, and a column of ids holds the data that the budget protects."""
    patients = np.array(["Alice", "Bob"])
    for wrong in ({"unit_name": patients}, {"unit": patients}, {"unit": ["Alice"]}):
        with pytest.raises(ValueError, match="unit") as caught:
            PrivacyBudget(1.0, DELTA, **wrong)
        assert "Alice" not in str(caught.value)
