"""What a ledger says of itself, and what it does not take."""

import json
import math

import numpy as np
import pytest
from budget_stubs import DELTA, gaussian

from skdp import DPSGDClassifier, PrivacyBudget
from skdp.exceptions import BudgetExhaustedError
from skdp.privacy import Gaussian, get_epsilon
from skdp.privacy._promise import digits_down, digits_up, share_up


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, DELTA), "epsilon must be finite and above 0"),
        ((math.inf, DELTA), "epsilon must be finite and above 0"),
        ((1.0, 0.0), "delta must lie strictly between 0 and 1"),
        ((1.0, 1.0), "delta must lie strictly between 0 and 1"),
    ],
)
def test_budgets_that_are_none_are_refused_by_name(arguments, message):
    """A budget of nothing, or of everything, is a mistake."""
    with pytest.raises(ValueError, match=message):
        PrivacyBudget(*arguments)


def test_unknown_units_are_refused_by_name():
    """There are rows, and there are units of several rows."""
    with pytest.raises(ValueError, match="unit must be one of"):
        PrivacyBudget(1.0, DELTA, unit="person")


def test_the_texts_say_what_is_spent_and_what_is_left(tmp_path):
    """One line a fit, then the sums."""
    budget, model = PrivacyBudget(1.0, DELTA, path=tmp_path / "ledger.json"), gaussian(6.0)
    budget.reserve(model, 1000)
    cost = digits_up(get_epsilon(Gaussian(6.0), DELTA))
    assert f"- Releases, reserved: epsilon {cost} by itself" in str(budget).splitlines()
    budget.spend(model.fit())
    lines = str(budget).splitlines()
    assert lines[0] == "Privacy budget: epsilon 1 at delta 1e-05, for every single row."
    assert lines[1] == f"- Releases, fitted: epsilon {cost} by itself"
    assert lines[2].startswith(f"Spent: {share_up(budget.share_spent)}.")
    assert lines[2].endswith(f"epsilon {digits_down(budget.remaining())}.")
    assert repr(budget).startswith("PrivacyBudget(epsilon=1.0, delta=1e-05, unit='row', path=")


def test_a_printed_delta_is_never_below_the_true_one():
    """1 / 140000 is 7.142857e-06: seven figures would not say more, and 7.14e-06 is less."""
    assert "at delta 7.15e-06, for every" in str(PrivacyBudget(1.0, 1 / 140_000))
    with pytest.raises(BudgetExhaustedError, match=r"at delta=7\.15e-06"):
        PrivacyBudget(1.0, 1 / 140_000).reserve(gaussian(1.0), 1000)


def test_nothing_of_the_data_is_in_the_ledger(rng):
    """Two data sets of one size, two ledgers that differ in random marks alone."""
    texts = []
    for shift in (0.0, 1e6):
        X = rng.normal(size=(60, 3)) + shift
        model = DPSGDClassifier(epsilon=0.5, classes=[0, 1]).fit(X, np.arange(60) % 2)
        budget = PrivacyBudget(1.0, DELTA)
        budget.spend(model)
        content = json.loads(budget.to_json())
        del content["mark"]
        for record in content["records"]:
            del record["key"], record["hash"]
        lines = str(budget).splitlines()
        assert lines.pop().startswith("The hash of record 1, the last: ")
        texts.append((json.dumps(content), lines))
    assert texts[0] == texts[1]


def test_no_figure_of_a_text_flatters():
    """What is spent and the budget itself are rounded up, and what is left is rounded down."""
    budget = PrivacyBudget(1.2345671, DELTA)
    budget.reserve(gaussian(7.0), 1000)
    text = str(budget)
    assert "epsilon 1.23457 at" in text
    spent = float(text.split("Spent: ")[1].split("%")[0])
    left = float(text.split("fit on all rows: epsilon ")[1].splitlines()[0].rstrip("."))
    assert spent / 100 >= budget.share_spent >= (spent - 0.1) / 100
    assert left <= budget.remaining() <= left * 1.01
    with pytest.raises(BudgetExhaustedError) as refused:
        budget.reserve(gaussian(1.0), 1000)
    left = float(str(refused.value).split("(epsilon=")[1].split(" ")[0])
    assert left <= budget.remaining() <= left * 1.001


def test_an_overspent_ledger_says_so_of_a_fit_that_is_free():
    """Where nothing is promised any more, not even what costs nothing is let in."""
    budget = PrivacyBudget(1.0, DELTA)
    with pytest.raises(BudgetExhaustedError):
        budget.spend(gaussian(0.1).fit())
    with pytest.raises(BudgetExhaustedError, match="costs epsilon=0 at delta"):
        budget.enter("Free", (), fit_id="a mark")


@pytest.mark.parametrize("wrong", [np.full((50, 3), 7.25), ["7.25"] * 50, {"id": 7.25}])
@pytest.mark.parametrize("name", ["epsilon", "delta", "unit", "unit_name"])
def test_no_table_passed_by_mistake_stands_in_a_message(name, wrong):
    """Arguments change places, and messages end in logs: a value of a row has no place there."""
    with pytest.raises((TypeError, ValueError)) as refused:
        PrivacyBudget(**{"epsilon": 1.0, "delta": DELTA, name: wrong})
    assert name in str(refused.value)
    assert "7.25" not in str(refused.value)


@pytest.mark.parametrize("name", ["n_rows", "n_features", "n_classes"])
def test_no_table_in_the_place_of_a_size_stands_in_a_message(name):
    """`reserve(model, X)` is what somebody writes who thinks of `fit`."""
    sizes = {"n_rows": 50, "n_features": 3, name: np.full((50, 3), 7.25)}
    with pytest.raises(TypeError, match=f"{name} must be a whole number") as refused:
        PrivacyBudget(1.0, DELTA).reserve(DPSGDClassifier(), X_sample=[[0.0] * 3], **sizes)
    assert "7.25" not in str(refused.value)
