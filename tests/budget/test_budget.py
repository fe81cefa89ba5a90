"""The ledger: totals by hand, refusals that change nothing, and a promise that always holds."""

import copy
import json
import math
import os
import pickle
import secrets
import subprocess
import sys
import threading
import time
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    KFold,
    TunedThresholdClassifierCV,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, PolynomialFeatures, StandardScaler

from skdp import DPSGDClassifier, PrivacyBudget
from skdp.budget import _ledger_file as _ledger_file
from skdp.budget._ledger import dearest_of_all
from skdp.budget._ledger_file import LockedFile
from skdp.exceptions import BudgetExhaustedError, PrivacyError, PrivacyWarning
from skdp.preprocessing import BoundedScaler, DPMaxAbsScaler, DPStandardScaler
from skdp.privacy import (
    Gaussian,
    GroupedGaussian,
    SubsampledGaussian,
    calibrate_noise_multiplier,
    get_epsilon,
    get_renyi_divergence,
)
from skdp.privacy._filter import make_filter
from skdp.privacy._promise import digits_up

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


class Unmarked(ClassifierMixin, BaseEstimator):
    """A private estimator whose fits carry no mark."""

    def fit(self, X, y=None):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def _privacy_releases(self):
        return [Gaussian(9.0)]


class NeedsColumns(Releases):
    """Its noise follows from the number of columns."""

    def fit(self, X, y=None):
        return super().fit(X, y)

    def _privacy_releases(self):
        return [Gaussian(float(self.n_features_in_))]

    def _planned_releases(self, n_rows, n_features, n_classes, unit="row"):
        return None if n_features is None else [Gaussian(float(n_features))]


class Unplanned(BaseEstimator):
    """Its releases are known only after a fit."""

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        return X

    def _privacy_releases(self):
        return [Gaussian(9.0)]


def gaussian(noise):
    return Releases((Gaussian(noise),))


def sampled(noise=2.0, rate=0.05, n_steps=20):
    return Releases((SubsampledGaussian(noise, rate, n_steps),))


def mu_squared_limit(epsilon):
    return 1 / make_filter(epsilon, DELTA).charge([Gaussian(1.0)])[0]


def admitted(budget, estimator):
    """How many fits of a kind are admitted until one is refused."""
    for count in range(10_000):
        try:
            budget.reserve(estimator, 1000)
        except BudgetExhaustedError:
            return count
    raise AssertionError("no end")


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(60, 3))
    return X, (X[:, 0] > 0).astype(int)


# -- Totals ----------------------------------------------------------------------------------------


def test_full_batches_add_up_by_mu_squared():
    """By hand: fits of noise 10 are 1/100 each."""
    budget = PrivacyBudget(1.0, DELTA)
    expected = int(mu_squared_limit(1.0) * 100)
    assert expected >= 5
    assert admitted(budget, gaussian(10.0)) == expected
    assert budget.share_spent == pytest.approx(expected / 100 / mu_squared_limit(1.0), rel=1e-6)
    assert not budget.overspent


def test_sampled_steps_add_up_by_their_divergences():
    """By hand: the best of the orders says how many fit, each cost taken from the accountant."""
    budget, model = PrivacyBudget(3.0, DELTA), sampled()
    rule = make_filter(3.0, DELTA)
    limits = np.array(rule.orders) / 2 / rule.charge([Gaussian(1.0)])[1:]
    expected = int(np.max(limits / get_renyi_divergence(model.mechanisms, rule.orders)))
    assert expected >= 5
    assert budget.remaining_fits(model, 1000) == expected
    assert admitted(budget, model) == expected
    assert not budget.overspent


def test_a_mixture_falls_back_to_the_divergences_of_all():
    """A sampled fit after full batches makes these count by their divergences, too."""
    budget = PrivacyBudget(3.0, DELTA)
    budget.reserve(gaussian(5.0), 1000)
    by_mu = budget.share_spent
    budget.reserve(sampled(), 1000)
    rule = make_filter(3.0, DELTA)
    total = rule.charge([Gaussian(5.0), *sampled().mechanisms])
    assert total[0] == math.inf
    assert budget.share_spent == pytest.approx(np.min(total), rel=1e-9)
    assert by_mu == pytest.approx(1 / 25 / mu_squared_limit(3.0), rel=1e-6)


@pytest.mark.parametrize("rate", [1.0, 0.05])
def test_one_fit_may_take_the_whole_budget(rate):
    """By its exact cost, since nothing was seen when it was chosen; and nothing comes after it."""
    noise = calibrate_noise_multiplier(1.0, DELTA, rate, 100)
    budget, model = PrivacyBudget(1.0, DELTA), sampled(noise, rate, 100)
    assert budget.remaining() == 1.0
    assert budget.remaining_fits(model, 1000) == 1
    budget.reserve(model, 1000)
    assert budget.share_spent == 1.0
    assert budget.remaining() == 0.0
    assert budget.remaining_fits(model, 1000) == 0
    with pytest.raises(BudgetExhaustedError):
        budget.reserve(gaussian(1e4), 1000)
    budget.spend(model.fit())
    assert not budget.overspent


def test_a_single_fit_beyond_the_budget_is_refused():
    """Also as the first one."""
    noise = calibrate_noise_multiplier(1.01, DELTA, 0.05, 100)
    with pytest.raises(BudgetExhaustedError):
        PrivacyBudget(1.0, DELTA).reserve(sampled(noise, 0.05, 100), 1000)


def test_what_would_have_been_cheaper_in_advance_is_shown():
    """The exact cost of the same fits as one composition."""
    budget = PrivacyBudget(3.0, DELTA)
    for _ in range(4):
        budget.reserve(sampled(), 1000)
    budget.reserve(gaussian(8.0), 1000)
    parts = [SubsampledGaussian(2.0, 0.05, 80), Gaussian(8.0)]
    assert budget.epsilon_if_fixed == get_epsilon(parts, DELTA) < 3.0
    assert f"epsilon {digits_up(budget.epsilon_if_fixed)}." in str(budget)
    assert PrivacyBudget(3.0, DELTA).epsilon_if_fixed == 0.0


def test_the_epsilon_that_remains_is_admitted_and_no_more():
    """A classifier that asks for just that much on full batches gets it."""
    budget = PrivacyBudget(2.0, DELTA)
    budget.reserve(gaussian(6.0), 1000)
    left = budget.remaining()
    enough = calibrate_noise_multiplier(left, DELTA, 1.0, 50)
    too_little = calibrate_noise_multiplier(left * 1.003, DELTA, 1.0, 50)
    with pytest.raises(BudgetExhaustedError):
        budget.reserve(sampled(too_little, 1.0, 50), 1000)
    budget.reserve(sampled(enough, 1.0, 50), 1000)
    assert not budget.overspent


def test_no_noise_is_refused():
    """Its divergence is infinite."""
    with pytest.raises(BudgetExhaustedError):
        PrivacyBudget(100.0, DELTA).reserve(gaussian(0.0), 1000)


noises = st.floats(-0.3, 1.5).map(lambda exponent: 10.0**exponent)
full_batches = st.builds(Gaussian, noises)
sampled_steps = st.builds(SubsampledGaussian, noises, st.floats(0.001, 1.0), st.integers(1, 200))
plans = st.lists(st.one_of(full_batches, sampled_steps), min_size=1, max_size=3)


@settings(derandomize=True, deadline=None, max_examples=60, database=None)
@given(st.sampled_from([0.3, 1.0, 5.0]), st.lists(plans, min_size=1, max_size=10))
def test_no_sequence_of_reservations_exceeds_the_budget(epsilon, wanted):
    """All that was accepted, as one composition by the exact accountant; the rest left no trace."""
    budget, accepted = PrivacyBudget(epsilon, DELTA), []
    for mechanisms in wanted:
        before = budget.to_json()
        try:
            budget.reserve(Releases(tuple(mechanisms)), 1000)
            accepted.extend(mechanisms)
        except BudgetExhaustedError:
            assert budget.to_json() == before
    assert not budget.overspent
    assert budget.share_spent <= 1.0
    assert budget.epsilon_if_fixed <= epsilon
    if accepted:
        assert budget.epsilon_if_fixed == pytest.approx(get_epsilon(accepted, DELTA), rel=1e-9)


# -- Reservations ----------------------------------------------------------------------------------


def test_a_refused_reservation_leaves_the_ledger_as_it_was(tmp_path):
    """Byte by byte, in memory and on disk, and the file is not written again."""
    path = tmp_path / "ledger.json"
    budget = PrivacyBudget(1.0, DELTA, path=path)
    budget.reserve(gaussian(6.0), 1000)
    before, changed = path.read_bytes(), path.stat().st_mtime_ns
    with pytest.raises(BudgetExhaustedError, match="Nothing was recorded"):
        budget.reserve(gaussian(2.0), 1000)
    assert path.read_bytes() == before == budget.to_json().encode()
    assert path.stat().st_mtime_ns == changed


def test_a_reserved_fit_counts_once():
    """Before the fit, after it, and however often it is recorded."""
    budget, model = PrivacyBudget(1.0, DELTA), gaussian(6.0)
    budget.reserve(model, 1000)
    share = budget.share_spent
    assert share > 0
    model.fit()
    for _ in range(2):
        budget.spend(model)
        assert budget.share_spent == share


def test_a_reservation_is_for_one_fit():
    """The same object fitted again is another fit, reserved or not."""
    budget, model = PrivacyBudget(2.0, DELTA), gaussian(6.0)
    budget.reserve(model, 1000)
    one = budget.share_spent
    budget.spend(model.fit())
    budget.spend(model.fit())
    assert budget.share_spent == pytest.approx(2 * one)
    budget.reserve(model, 1000)
    budget.reserve(model, 1000)
    assert budget.share_spent == pytest.approx(4 * one)
    budget.spend(model.fit())
    budget.spend(model.fit())
    assert budget.share_spent == pytest.approx(4 * one)


def test_a_reservation_without_a_record_of_its_fit_still_counts():
    """Nobody else's fit takes its place, not even one of the same cost."""
    budget, model = PrivacyBudget(2.0, DELTA), gaussian(6.0)
    budget.reserve(model, 1000)
    one = budget.share_spent
    budget.spend(gaussian(6.0).fit())
    assert budget.share_spent == pytest.approx(2 * one)


@pytest.mark.parametrize("noise", [12.0, 4.0])
def test_a_fit_that_differs_is_recorded_at_what_it_really_cost(noise):
    """Cheaper or dearer than what was reserved."""
    budget, model = PrivacyBudget(2.0, DELTA), gaussian(6.0)
    budget.reserve(model, 1000)
    budget.spend(model.set_params(mechanisms=(Gaussian(noise),)).fit())
    assert budget.share_spent == pytest.approx(noise**-2 / mu_squared_limit(2.0), rel=1e-6)
    assert not budget.overspent


def test_a_fit_that_outgrows_its_reservation_and_the_budget_is_overspending():
    """The truth is recorded, then the call raises."""
    budget, model = PrivacyBudget(1.0, DELTA), gaussian(6.0)
    budget.reserve(model, 1000)
    with pytest.raises(BudgetExhaustedError, match="is recorded"):
        budget.spend(model.set_params(mechanisms=(Gaussian(1.0),)).fit())
    assert budget.overspent


def test_a_key_settles_the_reservation_from_another_object():
    """As a clone, or a model that came back from another process, needs it."""
    budget = PrivacyBudget(2.0, DELTA)
    key = budget.reserve(gaussian(6.0), 1000)
    one = budget.share_spent
    elsewhere = pickle.loads(pickle.dumps(budget))
    elsewhere.spend(gaussian(6.0).fit(), reservation=key)
    assert elsewhere.share_spent == one
    before = elsewhere.to_json()
    with pytest.raises(ValueError, match="no open reservation"):
        elsewhere.spend(gaussian(6.0).fit(), reservation=key)
    with pytest.raises(ValueError, match="no open reservation"):
        elsewhere.spend(gaussian(6.0).fit(), reservation="another")
    assert elsewhere.to_json() == before


def test_a_key_settles_no_fit_of_another_class():
    """Else a dear reservation would be settled by a cheap scaler, and its fit forgotten."""
    budget = PrivacyBudget(2.0, DELTA)
    key = budget.reserve(gaussian(6.0), 1000)
    before = budget.to_json()
    with pytest.raises(ValueError, match="was made for Releases, and this is OfUnits"):
        budget.spend(OfUnits((Gaussian(90.0),)).fit(), reservation=key)
    assert budget.to_json() == before


def test_a_seed_cannot_be_reserved():
    """It regenerates the noise, also where a part of a pipeline has it."""
    budget = PrivacyBudget(1.0, DELTA)
    before = budget.to_json()
    seeded = Releases((Gaussian(9.0),), random_state=0)
    for estimator in (seeded, make_pipeline(BoundedScaler(bounds=(0, 1)), seeded)):
        with pytest.raises(PrivacyError, match="random_state=0"):
            budget.reserve(estimator, 1000)
    assert budget.to_json() == before


def test_pipelines_of_known_parts_are_reserved_as_a_whole():
    """Private steps add up, free ones cost nothing, and "passthrough" is none."""
    budget = PrivacyBudget(1.0, DELTA)
    pipeline = make_pipeline(BoundedScaler(bounds=(0, 1)), "passthrough", Normalizer())
    pipeline.steps += [("first", gaussian(9.0)), ("last", gaussian(7.0))]
    budget.reserve(pipeline, 1000)
    expected = (1 / 81 + 1 / 49) / mu_squared_limit(1.0)
    assert budget.share_spent == pytest.approx(expected, rel=1e-6)


def test_a_step_that_looks_at_the_rows_is_refused_before_it_does():
    """Named, with what to use instead."""
    budget = PrivacyBudget(1.0, DELTA)
    with pytest.raises(PrivacyError, match="StandardScaler in front"):
        budget.reserve(make_pipeline(StandardScaler(), gaussian(9.0)), 1000)
    assert budget.share_spent == 0


@pytest.mark.parametrize(
    "estimator",
    [
        GridSearchCV(gaussian(9.0), {"unit": ["row"]}),
        Unplanned(),
        make_pipeline(Unplanned(), gaussian(9.0)),
    ],
)
def test_what_cannot_be_planned_is_refused(estimator):
    """A search fits who knows what; and a fit that was made can still be recorded."""
    budget = PrivacyBudget(1.0, DELTA)
    with pytest.raises(TypeError, match="will release cannot be known"):
        budget.reserve(estimator, 1000)
    budget.spend(Unplanned().fit([[0.0]]))
    assert budget.share_spent > 0


def test_a_step_that_protects_rows_cannot_be_reserved_for_units():
    """Its fit has no privacy_unit, so what it costs a person is unknown before and after."""
    budget = PrivacyBudget(1.0, DELTA, unit="unit")
    for scaler in (DPStandardScaler(bounds=(0, 1)), DPMaxAbsScaler()):
        for estimator in (scaler, make_pipeline(scaler, OfUnits())):
            with pytest.raises(PrivacyError, match=f"{type(scaler).__name__}.*BoundedScaler"):
                budget.reserve(estimator, 1000)
            with pytest.raises(PrivacyError, match="privacy_unit"):
                budget.remaining_fits(estimator, 1000)
    assert budget.share_spent == 0


@pytest.mark.parametrize(("unit", "noise"), [("row", 4.0), ("unit", 9.0)])
def test_a_fit_is_planned_for_the_unit_of_the_ledger(unit, noise):
    """What "auto" means depends on it."""
    budget = PrivacyBudget(1.0, DELTA, unit=unit)
    budget.reserve(make_pipeline(BoundedScaler(bounds=(0, 1)), OfUnits()), 1000)
    assert budget.share_spent == pytest.approx(noise**-2 / mu_squared_limit(1.0), rel=1e-6)


def test_a_fixed_threshold_is_reserved_as_what_is_behind_it():
    """It chooses nothing. A tuned one cannot be planned."""
    budget = PrivacyBudget(1.0, DELTA)
    inside = make_pipeline(BoundedScaler(bounds=(0, 1)), gaussian(9.0))
    budget.reserve(FixedThresholdClassifier(inside, threshold=0.1), 1000)
    assert budget.share_spent == pytest.approx(1 / 81 / mu_squared_limit(1.0), rel=1e-6)
    with pytest.raises(TypeError, match="cannot be known"):
        budget.reserve(TunedThresholdClassifierCV(inside), 1000)


def test_columns_are_asked_for_where_they_are_needed():
    """Rather than guessed; and behind a step that changes their number, they are unknown."""
    budget = PrivacyBudget(1.0, DELTA)
    with pytest.raises(ValueError, match="give n_features"):
        budget.reserve(NeedsColumns(), 1000)
    with pytest.raises(ValueError, match="reserve the estimator by itself"):
        budget.reserve(make_pipeline(PolynomialFeatures(), NeedsColumns()), 1000, n_features=10)
    pipeline = make_pipeline(BoundedScaler(bounds=(0, 1)), NeedsColumns())
    budget.reserve(pipeline, 1000, n_features=10)
    assert budget.share_spent == pytest.approx(0.01 / mu_squared_limit(1.0), rel=1e-6)


@pytest.mark.parametrize("sizes", [{"n_rows": 0}, {"n_rows": 10, "n_features": 0}])
def test_sizes_below_one_are_refused_by_name(sizes):
    with pytest.raises(ValueError, match=f"{list(sizes)[-1]} must be at least 1"):
        PrivacyBudget(1.0, DELTA).reserve(gaussian(9.0), **sizes)


def test_a_delta_that_would_publish_a_row_is_warned_of():
    """At least one over the number of rows."""
    with pytest.warns(PrivacyWarning, match="delta=1e-05 is at least 1 / n_rows"):
        PrivacyBudget(1.0, DELTA).reserve(gaussian(9.0), 100_000)


# -- Fits without a reservation --------------------------------------------------------------------


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
    """Nothing tells it from another fit, so each record counts."""
    X, y = rows
    frozen = FrozenEstimator(DPSGDClassifier(noise_multiplier=9, batch_size=60).fit(X, y))
    budget, shares = PrivacyBudget(5.0, DELTA), []
    for _ in range(2):
        budget.spend(VotingClassifier([("a", frozen), ("b", Unmarked())]).fit(X, y))
        shares.append(budget.share_spent)
    assert shares[1] == pytest.approx(2 * shares[0])


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


@pytest.mark.parametrize(("unit", "other"), [("row", "unit"), ("unit", "row")])
def test_units_are_not_mixed(unit, other):
    """A row's promise says nothing about a person, nor the other way round."""
    budget = PrivacyBudget(1.0, DELTA, unit=unit)
    budget.spend(Releases((Gaussian(9.0),), unit=unit).fit())
    assert not budget.overspent
    with pytest.raises(PrivacyError, match=f"every single {other}, and the ledger every single"):
        budget.spend(Releases((Gaussian(9.0),), unit=other).fit())
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


def test_rows_in_different_releases_count_as_the_dearest_everywhere():
    """Which one is the dearest depends on what came before, so each release counts in full."""
    patterns = [
        (Gaussian(4.0), SubsampledGaussian(2.0, 0.1, 30)),
        (Gaussian(3.0), SubsampledGaussian(2.0, 0.1, 10), SubsampledGaussian(1.0, 0.1, 5)),
        (),
    ]
    dearest = set(dearest_of_all(patterns))
    steps = {GroupedGaussian(2.0, 0.1, 30, 1), GroupedGaussian(1.0, 0.1, 5, 1)}
    assert dearest == {GroupedGaussian(3.0, 1.0, 1, 1), *steps}
    assert dearest_of_all(patterns[:1]) == patterns[0]
    assert dearest_of_all([()]) == dearest_of_all([]) == ()


# -- The classifier --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings_", [{"epsilon": 0.8}, {"noise_multiplier": 5, "batch_size": 20, "n_epochs": 2}]
)
def test_a_classifier_is_reserved_at_exactly_what_its_fit_costs(two_classes, settings_):
    """One plan answers both, so that settling changes no number."""
    X, y = two_classes
    budget, model = PrivacyBudget(2.0, DELTA), DPSGDClassifier(**settings_)
    budget.reserve(model, len(X), n_features=X.shape[1])
    before = json.loads(budget.to_json())["entries"]
    budget.spend(model.fit(X, y))
    (after,) = json.loads(budget.to_json())["entries"]
    assert after["mechanisms"] == before[0]["mechanisms"]
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


# -- Pickle, JSON, file ----------------------------------------------------------------------------


@pytest.fixture
def used():
    """A ledger with every kind of entry."""
    budget = PrivacyBudget(7.0, 1e-6)
    budget.spend(gaussian(4 / 3).fit())
    budget.reserve(
        Releases((SubsampledGaussian(1.7, 1 / 7, 3), GroupedGaussian(9.0, 0.1, 2, 4))), 9
    )
    budget.spend(Releases().fit())
    return budget


@pytest.mark.filterwarnings("ignore:delta")
def test_pickle_and_json_give_the_same_ledger_back(used):
    """To the last bit, and it goes on from there."""
    for again in (pickle.loads(pickle.dumps(used)), PrivacyBudget.from_json(used.to_json())):
        assert again.to_json() == used.to_json()
        assert (again.epsilon, again.delta, again.unit) == (7.0, 1e-6, "row")
        assert again.share_spent == used.share_spent
        again.reserve(gaussian(30.0), 100)
        assert again.share_spent > used.share_spent


def test_a_text_that_is_no_ledger_is_refused(used):
    """Rather than read as an empty one."""
    content = json.loads(used.to_json())
    for change in (
        {"format": "another"},
        {"entries": [{"kind": "unknown"}]},
        {"entries": [{**content["entries"][0], "mechanisms": [{"kind": "Free"}]}]},
        {"rule": {**content["rule"], "gaussian_share": 2.0}},
    ):
        with pytest.raises(PrivacyError, match="not a privacy ledger"):
            PrivacyBudget.from_json(json.dumps({**content, **change}))
    for text in ("", "{}", "[]", used.to_json()[:-20]):
        with pytest.raises(PrivacyError, match="not a privacy ledger"):
            PrivacyBudget.from_json(text)


def test_orders_and_shares_stay_what_they_were_when_the_ledger_was_made(used):
    """Another choice of theirs in a later release must not change a ledger that exists."""
    content = json.loads(used.to_json())
    content["rule"].update(gaussian_share=0.25, orders=[4.0], order_shares=[0.75])
    again = PrivacyBudget.from_json(json.dumps(content))
    assert json.loads(again.to_json())["rule"] == content["rule"]
    assert again.share_spent != used.share_spent


def test_processes_share_one_file(tmp_path):
    """Each sees what the others recorded, and the budget must be the same for all."""
    path = tmp_path / "ledger.json"
    first = PrivacyBudget(1.0, DELTA, path=path)
    second = PrivacyBudget(1.0, DELTA, path=path)
    key = first.reserve(gaussian(6.0), 1000)
    assert second.share_spent == first.share_spent > 0
    second.spend(gaussian(6.0).fit(), reservation=key)
    assert "fitted" in str(first)
    third = pickle.loads(pickle.dumps(first))
    third.reserve(gaussian(20.0), 1000)
    assert first.share_spent == second.share_spent == third.share_spent
    for other in ({"epsilon": 2.0}, {"delta": 1e-6}, {"unit": "unit"}):
        with pytest.raises(PrivacyError, match="is about"):
            PrivacyBudget(**{"epsilon": 1.0, "delta": DELTA, "path": path, **other})


def test_a_foreign_file_is_left_alone(tmp_path):
    """Whatever it is, it is not overwritten."""
    path = tmp_path / "notes.txt"
    path.write_text("my notes")
    with pytest.raises(PrivacyError, match="not a privacy ledger"):
        PrivacyBudget(1.0, DELTA, path=path)
    assert path.read_text() == "my notes"


def test_a_lost_file_is_not_begun_again(tmp_path):
    """An empty ledger in its place would forget what was spent."""
    budget = PrivacyBudget(1.0, DELTA, path=tmp_path / "ledger.json")
    (tmp_path / "ledger.json").unlink()
    with pytest.raises(FileNotFoundError):
        budget.reserve(gaussian(9.0), 1000)
    assert not (tmp_path / "ledger.json").exists()


RACER = """
import os, sys, time
from skdp import DPSGDClassifier, PrivacyBudget
from skdp.exceptions import BudgetExhaustedError

folder = sys.argv[1]
budget = PrivacyBudget(1.0, 1e-5, path=os.path.join(folder, "ledger.json"))
model = DPSGDClassifier(noise_multiplier=20, batch_size=100, n_epochs=1)
open(os.path.join(folder, f"ready{os.getpid()}"), "w").close()
while not os.path.exists(os.path.join(folder, "go")):
    time.sleep(0.001)
done = 0
try:
    while True:
        budget.reserve(model, n_rows=100)
        done += 1
except BudgetExhaustedError:
    print(done)
"""


@pytest.mark.slow
def test_racing_processes_cannot_overspend_one_file(tmp_path):
    """Three at once, and exactly as many reservations in all as one alone would get."""
    budget = PrivacyBudget(1.0, DELTA, path=tmp_path / "ledger.json")
    model = DPSGDClassifier(noise_multiplier=20, batch_size=100, n_epochs=1)
    expected = budget.remaining_fits(model, n_rows=100)
    assert expected >= 20
    command = [sys.executable, "-c", RACER, str(tmp_path)]
    racers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    while len(list(tmp_path.glob("ready*"))) < 3:
        assert all(racer.poll() is None for racer in racers)
        time.sleep(0.01)
    (tmp_path / "go").touch()
    done = [int(racer.communicate(timeout=120)[0]) for racer in racers]
    assert sum(done) == len(json.loads(budget.to_json())["entries"]) == expected
    assert not budget.overspent


def test_racing_threads_cannot_overspend_one_ledger():
    """The check and the record are one step."""
    budget, refused = PrivacyBudget(1.0, DELTA), []

    def reserve_until_refused():
        try:
            while True:
                budget.reserve(gaussian(20.0), 1000)
        except BudgetExhaustedError:
            refused.append(1)

    threads = [threading.Thread(target=reserve_until_refused) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(refused) == 4
    assert len(json.loads(budget.to_json())["entries"]) == int(mu_squared_limit(1.0) * 400)


@pytest.mark.parametrize("dies_at", ["fsync", "replace"])
def test_a_crash_while_writing_leaves_a_whole_ledger(tmp_path, monkeypatch, dies_at):
    """The old one, and the lock is free again."""
    path = tmp_path / "ledger.json"
    budget = PrivacyBudget(1.0, DELTA, path=path)
    budget.reserve(gaussian(9.0), 1000)
    before = path.read_bytes()

    def die(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_ledger_file.os, dies_at, die)
        with pytest.raises(KeyboardInterrupt):
            budget.reserve(gaussian(9.0), 1000)
    assert path.read_bytes() == before
    budget.reserve(gaussian(9.0), 1000)
    assert path.read_bytes() != before


@pytest.mark.slow
def test_a_killed_process_leaves_no_lock_behind(tmp_path):
    """It held the lock when it died without a word."""
    path = tmp_path / "ledger.json"
    PrivacyBudget(1.0, DELTA, path=path)
    code = (
        "import os, sys; from skdp.budget._ledger_file import LockedFile\n"
        "with LockedFile(sys.argv[1]).locked(): os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == 9
    PrivacyBudget(1.0, DELTA, path=path).reserve(gaussian(9.0), 1000)


def test_waiting_for_a_lock_ends(tmp_path):
    """With an error that says who is in the way."""
    file = LockedFile(tmp_path / "ledger.json")
    with file.locked(), pytest.raises(TimeoutError, match="kept"), file.locked(patience=0.05):
        pass
    with file.locked(patience=0.05):
        pass


def test_where_locks_are_those_of_windows_they_are_used(tmp_path, monkeypatch):
    """One byte from the start of the lock file, taken without waiting, and given back."""
    calls, holders = [], []

    def locking(descriptor, mode, n_bytes):
        calls.append((mode, n_bytes, os.lseek(descriptor, 0, os.SEEK_CUR)))
        if mode == "take" and holders:
            raise PermissionError
        holders.append(descriptor) if mode == "take" else holders.clear()

    windows = types.SimpleNamespace(LK_NBLCK="take", LK_UNLCK="give", locking=locking)
    monkeypatch.setattr(_ledger_file, "fcntl", None)
    monkeypatch.setattr(_ledger_file, "msvcrt", windows)
    file = LockedFile(tmp_path / "ledger.json")
    with file.locked(), pytest.raises(TimeoutError), file.locked(patience=0.02):
        pass
    assert not holders
    assert {(n_bytes, position) for _, n_bytes, position in calls} == {(1, 0)}
    assert calls[-1][0] == "give"


def test_where_there_are_no_locks_no_file_is_shared(tmp_path, monkeypatch):
    """Refused, rather than hoped for the best; in memory all works."""
    monkeypatch.setattr(_ledger_file, "fcntl", None)
    monkeypatch.setattr(_ledger_file, "msvcrt", None)
    with pytest.raises(OSError, match="no locks for files"):
        PrivacyBudget(1.0, DELTA, path=tmp_path / "ledger.json")
    PrivacyBudget(1.0, DELTA).reserve(gaussian(9.0), 1000)


def test_a_link_stays_a_link_and_permissions_stay(tmp_path):
    """The new text takes the place of the file, not of what points to it."""
    (tmp_path / "shared").mkdir()
    real, link = tmp_path / "shared" / "ledger.json", tmp_path / "ledger.json"
    PrivacyBudget(1.0, DELTA, path=real)
    os.chmod(real, 0o640)
    link.symlink_to(real)
    PrivacyBudget(1.0, DELTA, path=link).reserve(gaussian(9.0), 1000)
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert PrivacyBudget(1.0, DELTA, path=real).share_spent > 0


# -- Manners ---------------------------------------------------------------------------------------


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
    """Two data sets of one size, two fits that differ in their marks alone."""
    texts = []
    for shift in (0.0, 1e6):
        X = rng.normal(size=(60, 3)) + shift
        model = DPSGDClassifier(epsilon=0.5, classes=[0, 1]).fit(X, np.arange(60) % 2)
        budget = PrivacyBudget(1.0, DELTA)
        budget.spend(model)
        content = json.loads(budget.to_json())
        for entry in content["entries"]:
            del entry["key"], entry["fit_ids"]
        texts.append((json.dumps(content), str(budget)))
    assert texts[0] == texts[1]
