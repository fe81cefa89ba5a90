"""What a ledger says of itself, and what it does not take."""

import json
import math

import numpy as np
import pytest
from budget_stubs import DELTA, gaussian

from skdp import DPSGDClassifier, PrivacyBudget
from skdp.exceptions import BudgetExhaustedError
from skdp.privacy import Gaussian, get_epsilon
from skdp.privacy._promise import digits_up


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
    with pytest.raises(ValueError, match=message):
        PrivacyBudget(*arguments)


def test_unknown_units_are_refused_by_name():
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
    assert lines[2].startswith(f"Spent: {budget.share_spent:.1%}.")
    assert lines[2].endswith(f"epsilon {budget.remaining():.3g}.")
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
