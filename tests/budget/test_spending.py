"""What was fitted without the budget is recorded: every fit once, whatever object shows it."""

import copy
import math
import pickle

import pytest
from budget_stubs import (
    DELTA,
    Releases,
    Unmarked,
    entries,
    gaussian,
    mu_squared_limit,
    small,
    states,
)
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skdp import DPSGDClassifier, PrivacyBudget
from skdp.exceptions import BudgetExhaustedError, PrivacyError
from skdp.preprocessing import BoundedScaler, DPStandardScaler
from skdp.privacy import Gaussian, SubsampledGaussian, calibrate_noise_multiplier, get_epsilon


def test_an_unreserved_overspend_is_recorded_and_raises():
    """What happened does not go away, and nothing more is admitted."""
    budget = PrivacyBudget(1.0, DELTA)
    budget.spend(gaussian(6.0).fit())
    assert not budget.overspent
    with pytest.raises(BudgetExhaustedError, match="is recorded"):
        budget.spend(gaussian(2.0).fit())
    assert budget.overspent
    assert budget.share_spent == pytest.approx((1 / 36 + 1 / 4) / mu_squared_limit(1.0), rel=1e-6)
    assert budget.epsilon_if_fixed == get_epsilon([Gaussian(6.0), Gaussian(2.0)], DELTA) > 1.0
    assert budget.remaining() == 0.0
    assert budget.remaining_fits(gaussian(1e3), 1000) == 0
    with pytest.raises(BudgetExhaustedError):
        budget.reserve(gaussian(1e3), 1000)
    assert "Overspent" in str(budget)


def test_one_fit_counts_once_whatever_copy_is_recorded():
    """The object, a deep copy and a pickled one; another fit of the same cost is another one."""
    budget, model = PrivacyBudget(2.0, DELTA), gaussian(6.0).fit()
    budget.spend(model)
    share = budget.share_spent
    for same in (model, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        budget.spend(same)
    assert budget.share_spent == share
    budget.spend(gaussian(6.0).fit())
    assert budget.share_spent == pytest.approx(2 * share)


def test_a_part_of_what_is_recorded_costs_nothing_more(rows):
    """The classifier out of a pipeline that was recorded."""
    X, y = rows
    pipeline = make_pipeline(BoundedScaler(bounds=(-9, 9)), gaussian(6.0)).fit(X, y)
    budget = PrivacyBudget(2.0, DELTA)
    budget.spend(pipeline)
    share = budget.share_spent
    budget.spend(pipeline[-1])
    assert budget.share_spent == share


def test_a_fit_without_a_mark_is_new_beside_a_part_that_is_recorded(rows):
    """Nothing tells it from another fit, so each record counts; the part with a mark does once."""
    X, y = rows
    frozen = FrozenEstimator(small().fit(X, y))
    budget = PrivacyBudget(5.0, DELTA)
    for n_records in (1, 2, 3):
        budget.spend(VotingClassifier([("a", frozen), ("b", Unmarked())]).fit(X, y))
        names = sorted(entry["name"] for entry in entries(budget).values())
        assert names == ["DPSGDClassifier", *["Unmarked"] * n_records]


def test_the_mark_of_a_part_does_not_hide_the_whole(rows):
    """A search carries the mark of its last fit alone, and costs more than that."""
    X, y = rows
    search = GridSearchCV(gaussian(6.0), {"unit": ["row"]}, cv=KFold(2), scoring=lambda *_: 0.0)
    search.fit(X, y)
    budget = PrivacyBudget(5.0, DELTA)
    budget.spend(search.best_estimator_)
    with pytest.raises(PrivacyError):
        budget.spend(search)
    assert budget.overspent


def test_a_fit_without_a_mark_counts_every_time():
    """Counting twice is safe; taking two fits for one would not be."""
    budget, model = PrivacyBudget(2.0, DELTA), gaussian(6.0).fit()
    del model.fit_id_
    budget.spend(model)
    share = budget.share_spent
    budget.spend(model)
    assert budget.share_spent == pytest.approx(2 * share)


def test_what_has_no_promise_is_recorded_and_voids_the_ledger(rows):
    """A finite figure is never printed over a gap."""
    X, _ = rows
    budget = PrivacyBudget(1.0, DELTA)
    with pytest.raises(PrivacyError, match="StandardScaler has no promise"):
        budget.spend(StandardScaler().fit(X))
    assert budget.overspent
    assert budget.share_spent == budget.epsilon_if_fixed == math.inf
    assert budget.remaining() == 0.0
    with pytest.raises(BudgetExhaustedError):
        budget.reserve(gaussian(1e3), 1000)
    again = PrivacyBudget.from_json(budget.to_json())
    assert again.overspent
    assert "no promise" in str(again)


def test_a_seeded_fit_voids_the_ledger():
    """The seed on the object regenerates the noise."""
    budget = PrivacyBudget(1.0, DELTA)
    with pytest.raises(PrivacyError, match="has no promise"):
        budget.spend(Releases((Gaussian(9.0),), random_state=3).fit())
    assert budget.overspent


@pytest.mark.parametrize("unit", ["row", "unit"])
def test_what_learned_nothing_is_free(rows, unit):
    """Whatever the unit is, and also as the second entry of a ledger that one fit filled."""
    X, _ = rows
    budget = PrivacyBudget(1.0, DELTA, unit=unit)
    noise = calibrate_noise_multiplier(1.0, DELTA, 0.05, 100)
    budget.spend(Releases((SubsampledGaussian(noise, 0.05, 100),), unit=unit).fit())
    budget.spend(BoundedScaler(bounds=(-9, 9)).fit(X))
    assert not budget.overspent


# -- The classifier --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings_", [{"epsilon": 0.8}, {"noise_multiplier": 5, "batch_size": 20, "n_epochs": 2}]
)
def test_a_classifier_is_reserved_at_exactly_what_its_fit_costs(two_classes, settings_):
    """One plan answers both, so that settling changes no number."""
    X, y = two_classes
    budget, model = PrivacyBudget(2.0, DELTA), DPSGDClassifier(**settings_)
    budget.reserve(model, len(X), n_features=X.shape[1])
    (reserved,) = entries(budget).values()
    budget.spend(model.fit(X, y))
    settled, fitted = entries(budget).values()
    assert (settled["state"], settled["mechanisms"]) == ("settled", [])
    assert fitted["mechanisms"] == reserved["mechanisms"]
    assert budget.epsilon_if_fixed == get_epsilon(model.mechanisms_, DELTA)


def test_a_classifier_left_at_auto_asks_for_its_columns():
    """Its recipe reads their number; settings that are given do not."""
    budget = PrivacyBudget(2.0, DELTA)
    with pytest.raises(ValueError, match="give n_features"):
        budget.reserve(DPSGDClassifier(epsilon=0.5), 1000)
    budget.reserve(DPSGDClassifier(noise_multiplier=5), 1000)


def test_one_fit_of_a_classifier_counts_once(two_classes):
    """A copy is the same fit, a second fit is not."""
    X, y = two_classes
    budget, model = PrivacyBudget(3.0, DELTA), DPSGDClassifier(epsilon=0.5).fit(X, y)
    budget.spend(model)
    share = budget.share_spent
    budget.spend(pickle.loads(pickle.dumps(model)))
    assert budget.share_spent == share
    budget.spend(model.fit(X, y))
    assert budget.share_spent == pytest.approx(2 * share)


# -- Templates and copies --------------------------------------------------------------------------

AROUND = [
    lambda inner: FixedThresholdClassifier(inner, threshold=0.4),
    lambda inner: VotingClassifier([("a", inner), ("b", FrozenEstimator(inner))]),
    lambda inner: OneVsRestClassifier(inner),
]


@pytest.mark.parametrize("around", AROUND)
def test_a_fitted_template_and_the_clone_that_was_fitted_are_two_fits(rows, around, trained):
    """Whichever of them is recorded first, again and again, until the budget is gone."""
    X, y = rows
    budget, releases = PrivacyBudget(1.0, DELTA), []
    for turn in range(8):
        inner = small(20.0).fit(X, y)
        outer = around(inner).fit(X, y)
        for fitted in (outer, inner) if turn % 2 else (inner, outer):
            budget.spend(fitted)
        releases += [*inner.mechanisms_] * 2
    assert len(entries(budget)) == len(trained) == 16
    assert budget.epsilon_if_fixed == pytest.approx(get_epsilon(releases, DELTA), rel=1e-9)


@pytest.mark.parametrize("around", AROUND)
def test_templates_end_a_budget_as_soon_as_their_fits_do(rows, around):
    """The loop that stops by what the ledger says never gets more than the ledger's epsilon."""
    X, y = rows
    budget, releases = PrivacyBudget(1.0, DELTA), []

    def go_on_while_it_is_paid_for():
        while True:
            inner = small(12.0).fit(X, y)
            outer = around(inner).fit(X, y)
            releases.extend([*inner.mechanisms_] * 2)
            budget.spend(outer)
            budget.spend(inner)

    with pytest.raises(BudgetExhaustedError):
        go_on_while_it_is_paid_for()
    assert budget.overspent
    assert len(entries(budget)) == len(releases)
    assert budget.epsilon_if_fixed == pytest.approx(get_epsilon(releases, DELTA), rel=1e-9)


def test_parts_of_a_stack_that_are_recorded_do_not_hide_its_fold_fits(rows):
    """A stack keeps no fold fit, so no total is given to it, known parts or not."""
    X, y = rows
    stack = StackingClassifier([("m", small())], final_estimator=small(), cv=KFold(5)).fit(X, y)
    kept = [stack.estimators_[0], stack.final_estimator_, small(30.0).fit(X, y)]
    budget = PrivacyBudget(5.0, DELTA)
    budget.spend(
        VotingClassifier([(str(i), FrozenEstimator(m)) for i, m in enumerate(kept)]).fit(X, y)
    )
    assert len(entries(budget)) == 3
    assert not budget.overspent
    with pytest.raises(PrivacyError, match="StackingClassifier has no promise"):
        budget.spend(stack)
    assert budget.overspent
    assert budget.epsilon_if_fixed == math.inf


def test_a_fit_that_entered_itself_is_not_counted_again(rows, trained):
    """Nor is the pipeline around it, nor a copy from elsewhere."""
    X, y = rows
    budget = PrivacyBudget(5.0, DELTA)
    pipeline = make_pipeline(
        DPStandardScaler(0.1, bounds=(-9, 9), budget=budget), small(budget=budget)
    ).fit(X, y)
    before = budget.to_json()
    for fitted in (pipeline, pipeline[0], pipeline[-1], copy.deepcopy(pipeline)):
        budget.spend(fitted)
    budget.spend(pickle.loads(pickle.dumps(pipeline[-1].set_params(budget=None))))
    assert budget.to_json() == before
    assert states(budget) == ["fitted"] * 2
    assert len(trained) == 1


def test_a_copy_that_is_recorded_beside_its_original_in_one_object_counts_once(rows):
    """Two members of a vote with one mark and one release are one fit."""
    X, y = rows
    model = small().fit(X, y)
    pair = [("a", FrozenEstimator(model)), ("b", FrozenEstimator(copy.deepcopy(model)))]
    budget = PrivacyBudget(5.0, DELTA)
    budget.spend(VotingClassifier(pair).fit(X, y))
    assert len(entries(budget)) == 1


@pytest.mark.parametrize("with_budget", [False, True])
def test_a_fit_whose_releases_were_changed_by_hand_is_charged_anew(rows, with_budget):
    """Its mark says that it is known, and its releases that it is another one."""
    X, y = rows
    budget = PrivacyBudget(5.0, DELTA)
    model = small(50.0, budget=budget if with_budget else None).fit(X, y)
    budget.spend(model)
    assert len(entries(budget)) == 1
    model.mechanisms_ = (Gaussian(3.0),)
    budget.spend(model)
    assert len(entries(budget)) == 2
    assert budget.epsilon_if_fixed >= get_epsilon(Gaussian(3.0), DELTA)
