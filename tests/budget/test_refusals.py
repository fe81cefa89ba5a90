"""A fit that is not paid for is refused before it reads a row, and the ledger stays as it was."""

import math

import numpy as np
import pytest
from budget_stubs import DELTA, Unreadable, entries, gaussian, small, states
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from skdp import DPSGDClassifier, PrivacyBudget
from skdp.exceptions import BudgetExhaustedError
from skdp.linear_model import _dpsgd
from skdp.preprocessing import DPMaxAbsScaler, DPStandardScaler
from skdp.privacy import get_epsilon
from skdp.privacy._promise import digits_down

PRIVATE = [
    DPSGDClassifier(1.0, classes=[0, 1]),
    DPSGDClassifier(noise_multiplier=5.0, batch_size=2000, n_epochs=1, classes=[0, 1]),
    DPStandardScaler(1.0, bounds=(-1, 1)),
    DPMaxAbsScaler(1.0),
]


@pytest.fixture(params=["memory", "file"])
def nearly_spent(request, tmp_path):
    """Something is left, and not enough for an epsilon of 1."""
    path = tmp_path / "ledger.json" if request.param == "file" else None
    budget = PrivacyBudget(1.0, DELTA, path=path)
    budget.reserve(gaussian(6.0), 1000)
    return budget


@pytest.mark.parametrize("model", PRIVATE)
def test_a_refused_fit_reads_no_row(nearly_spent, model):
    """The table says its size and nothing else; the error says what is left."""
    before = nearly_spent.to_json()
    model = nearly_spent.attach(model)
    left = f"epsilon={digits_down(nearly_spent.remaining(), 4)} is left"
    with pytest.raises(BudgetExhaustedError, match=left):
        model.fit(Unreadable(2000, 4), Unreadable(2000))
    assert nearly_spent.to_json() == before
    assert [name for name in vars(model) if name.endswith("_")] == []


@pytest.mark.parametrize("model", PRIVATE)
def test_a_fit_that_is_paid_for_is_entered_before_it_reads_a_row(model):
    """The same table fails on its first reading, and then the fit is on the ledger."""
    budget = PrivacyBudget(3.0, DELTA)
    with pytest.raises(ValueError, match="could not be read"):
        budget.attach(model).fit(Unreadable(2000, 4), Unreadable(2000))
    (entry,) = entries(budget).values()
    assert (entry["name"], entry["state"]) == (type(model).__name__, "begun")
    assert entry["n"] == 2000
    assert budget.share_spent > 0


@pytest.mark.parametrize("model", PRIVATE)
def test_a_fit_that_fails_on_a_row_stays_charged(model):
    """Whether it failed tells of the rows. The error says that it is counted, and shows no row."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 4)), np.arange(2000) % 2
    X[3, 1] = np.nan
    budget = PrivacyBudget(3.0, DELTA)
    model = budget.attach(model)
    with pytest.raises(ValueError, match="NaN") as caught:
        model.fit(X, y)
    assert any("stays entered in its budget" in note for note in caught.value.__notes__)
    assert states(budget) == ["begun"]
    share = budget.share_spent
    assert share > 0
    X[3, 1] = 0.0
    model.fit(X, y)
    assert states(budget) == ["begun", "fitted"]
    assert budget.share_spent == pytest.approx(2 * share) or not budget.overspent


@pytest.mark.parametrize("model", PRIVATE)
def test_an_interrupted_fit_stays_charged(model):
    """At its first row."""
    budget = PrivacyBudget(3.0, DELTA)
    with pytest.raises(KeyboardInterrupt):
        budget.attach(model).fit(Unreadable(2000, 4, error=KeyboardInterrupt), np.arange(2000) % 2)
    assert states(budget) == ["begun"]
    assert budget.epsilon_if_fixed > 0


def test_a_training_that_is_interrupted_stays_charged_in_full(rows, monkeypatch):
    """Its plan counts, not the steps that were made, and its model is as it was before."""
    X, y = rows
    budget = PrivacyBudget(3.0, DELTA)
    model = small(budget=budget).fit(X, y)
    coef, mark = model.coef_, model.fit_id_

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(_dpsgd, "descend", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert states(budget) == ["fitted", "begun"]
    assert budget.epsilon_if_fixed == get_epsilon([*model.mechanisms_] * 2, DELTA)
    assert (model.coef_ is coef, model.fit_id_) == (True, mark)


def test_what_fit_refuses_by_public_numbers_is_not_charged(rows):
    """A wrong parameter, or a label set that does not fit: nothing ran, and nothing is entered."""
    X, y = rows
    budget = PrivacyBudget(3.0, DELTA)
    for model in (small(-1.0), small(clip_threshold=math.inf), DPStandardScaler(bounds=None)):
        with pytest.raises(ValueError, match=r"."):
            budget.attach(model).fit(X, y)
    assert entries(budget) == {}


@pytest.fixture
def three_fits():
    """A budget for three fits of a classifier, on up to 2000 rows."""
    budget = PrivacyBudget(1.0, DELTA)
    noise = 5.0 * math.sqrt(3.02 * share_of(small(5.0)))
    model = small(noise)
    assert budget.remaining_fits(model, n_rows=60) == 3
    return budget, model


def share_of(model):
    """Of a budget of 1."""
    budget = PrivacyBudget(1.0, DELTA)
    budget.reserve(model, 60)
    return budget.share_spent


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cv", [2, 4])
def test_a_search_that_runs_out_trains_nothing_more(rows, three_fits, trained, cv):
    """Where failed fits are scored as NaN, the refit is refused as well: three trainings in all."""
    X, y = rows
    budget, model = three_fits
    search = GridSearchCV(
        budget.attach(model), {"alpha": [0.0, 0.1, 0.2]}, cv=KFold(cv), error_score=np.nan
    )
    with pytest.raises(BudgetExhaustedError):
        search.fit(X, y)
    assert len(trained) == 3
    assert states(budget) == ["fitted"] * 3
    assert not budget.overspent
    assert not hasattr(search.best_estimator_, "coef_")


@pytest.mark.filterwarnings("ignore")
def test_scores_of_fits_that_were_refused_are_missing(rows, three_fits, trained):
    """Three folds have a score; the others were never trained."""
    X, y = rows
    budget, model = three_fits
    model = budget.attach(model)
    scores = cross_val_score(model, X, y, cv=KFold(5), error_score=np.nan)
    assert np.isfinite(scores).tolist() == [True] * 3 + [False] * 2
    assert len(trained) == len(entries(budget)) == 3


@pytest.mark.filterwarnings("ignore")
def test_fits_of_a_search_that_fail_on_a_row_stay_charged(rows, trained):
    """Scored as NaN, but begun: a missing value is in all folds but one, and in the refit."""
    X, y = rows
    X[0, 0] = np.nan
    budget = PrivacyBudget(3.0, DELTA)
    search = GridSearchCV(
        small(budget=budget), {"alpha": [0.0, 0.1]}, cv=KFold(3), error_score=np.nan
    )
    with pytest.raises(ValueError, match="NaN") as caught:
        search.fit(X, y)
    assert any("stays entered in its budget" in note for note in caught.value.__notes__)
    assert sorted(states(budget)) == ["begun"] * 5 + ["fitted"] * 2
    assert len(trained) == 2
