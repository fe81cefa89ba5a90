"""One ledger is about one kind of unit: costs to people and costs to visits are never added up."""

import numpy as np
import pytest
from budget_stubs import DELTA, Releases, Unreadable, entries, small
from sklearn.ensemble import VotingClassifier
from sklearn.frozen import FrozenEstimator

from skdp import PrivacyBudget
from skdp.exceptions import PrivacyError
from skdp.preprocessing import DPMaxAbsScaler
from skdp.privacy import Gaussian

PERSON, VISIT = np.arange(60) // 5, np.arange(60)


class Column(np.ndarray):
    """A named column of ids, as a pandas Series is one."""

    name = "patient"


def fit(rows, ids, budget=None, **settings):
    """A classifier with units; it declares its classes."""
    return small(classes=[0, 1], budget=budget, **settings).fit(*rows, privacy_unit=ids)


def refused_unread(budget, message, ids=VISIT, **settings):
    """A fit that must not read a row."""
    model = small(classes=[0, 1], budget=budget, **settings)
    with pytest.raises(PrivacyError, match=message):
        model.fit(Unreadable(60, 3), Unreadable(60), privacy_unit=ids)


def test_unnamed_units_must_be_as_many_in_all_fits(rows):
    """Twelve people and sixty visits have no name to tell them apart."""
    budget = PrivacyBudget(3.0, DELTA, unit="unit")
    fit(rows, PERSON, budget)
    fit(rows, PERSON + 100, budget)
    before = budget.to_json()
    refused_unread(budget, "another number of units.*unit_name=")
    assert budget.to_json() == before
    assert [entry["n"] for entry in entries(budget).values()] == [12, 12]


@pytest.mark.parametrize("said_by", ["ledger", "first fit"])
def test_units_of_one_name_may_be_any_number(rows, said_by):
    """Folds hold some of the patients each; who is called what is for the analyst to say."""
    budget = PrivacyBudget(
        3.0, DELTA, unit="unit", unit_name="patient" if said_by == "ledger" else None
    )
    X, y = rows
    fit(rows, PERSON, budget, unit_name="patient")
    fit((X[:30], y[:30]), PERSON[:30], budget, unit_name="patient")
    fit(rows, PERSON.view(Column), budget)
    assert [entry["n"] for entry in entries(budget).values()] == [12, 6, 12]
    refused_unread(
        budget, "every single visit, and the ledger every single patient", unit_name="visit"
    )
    refused_unread(budget, "some have units with a name and some without", ids=PERSON)
    assert len(entries(budget)) == 3


@pytest.mark.parametrize("first", ["visit", None])
def test_a_named_ledger_takes_no_other_units_from_the_start(first):
    """Else its first fit may be about visits, and the next about patients, on one ledger."""
    budget = PrivacyBudget(3.0, DELTA, unit="unit", unit_name="patient")
    message = "single patient" if first else "some have units with a name and some without"
    refused_unread(budget, message, unit_name=first)
    assert entries(budget) == {}


def test_unnamed_units_and_then_named_ones_are_refused(rows):
    """The first were visits, perhaps."""
    budget = PrivacyBudget(3.0, DELTA, unit="unit")
    fit(rows, VISIT, budget)
    refused_unread(budget, "with a name and some without", ids=PERSON, unit_name="patient")
    assert not budget.overspent


def test_rows_and_units_are_refused_on_each_others_ledger(rows):
    """Before a row is read, also where a scaler knows rows alone."""
    of_units, of_rows = PrivacyBudget(3.0, DELTA, unit="unit"), PrivacyBudget(3.0, DELTA)
    refused_unread(of_rows, "every single unit, and the ledger every single row", ids=PERSON)
    for model in (small(classes=[0, 1], budget=of_units), DPMaxAbsScaler(budget=of_units)):
        with pytest.raises(PrivacyError, match="every single row, and the ledger every single"):
            model.fit(Unreadable(2000, 4), Unreadable(2000))
    assert entries(of_units) == entries(of_rows) == {}


def test_rows_may_be_any_number(rows):
    """The folds of a search are of many sizes."""
    X, y = rows
    budget = PrivacyBudget(3.0, DELTA)
    for n_rows in (60, 40):
        small(budget=budget).fit(X[:n_rows], y[:n_rows])
    assert len(entries(budget)) == 2


@pytest.mark.parametrize("names", [(None, None), ("patient", "visit"), ("patient", None)])
def test_units_of_two_kinds_void_a_ledger_that_they_are_recorded_on(rows, names):
    """What was fitted without it, one after the other, or in one object."""
    models = [
        fit(rows, ids, unit_name=name) for ids, name in zip((PERSON, VISIT), names, strict=True)
    ]
    budget = PrivacyBudget(3.0, DELTA, unit="unit")
    budget.spend(models[0])
    assert not budget.overspent
    with pytest.raises(PrivacyError, match="DPSGDClassifier has no promise"):
        budget.spend(models[1])
    assert budget.overspent
    vote = VotingClassifier([(str(i), FrozenEstimator(model)) for i, model in enumerate(models)])
    budget = PrivacyBudget(3.0, DELTA, unit="unit")
    with pytest.raises(PrivacyError, match="VotingClassifier has no promise"):
        budget.spend(vote.fit(*rows))
    assert budget.overspent


@pytest.mark.parametrize(("unit", "other"), [("row", "unit"), ("unit", "row")])
def test_units_are_not_mixed(unit, other):
    """A row's promise says nothing about a person, nor the other way round."""
    budget = PrivacyBudget(1.0, DELTA, unit=unit)
    budget.spend(Releases((Gaussian(9.0),), unit=unit).fit())
    assert not budget.overspent
    with pytest.raises(PrivacyError, match=f"every single {other}, and the ledger every single"):
        budget.spend(Releases((Gaussian(9.0),), unit=other).fit())
    assert budget.overspent


def test_the_name_of_a_unit_stays_with_a_file(tmp_path):
    """Another name asks for another ledger; without one, the file's holds."""
    path = tmp_path / "ledger.json"
    budget = PrivacyBudget(1.0, DELTA, unit="unit", unit_name="patient", path=path)
    assert "for every single patient" in str(budget)
    with pytest.raises(PrivacyError, match="is about"):
        PrivacyBudget(1.0, DELTA, unit="unit", unit_name="visit", path=path)
    refused_unread(
        PrivacyBudget(1.0, DELTA, unit="unit", path=path), "single visit", unit_name="visit"
    )
