"""Reservations: what is set aside counts once, and what cannot be planned is refused."""

import pickle

import numpy as np
import pytest
from budget_stubs import (
    DELTA,
    NeedsColumns,
    OfUnits,
    Releases,
    Unplanned,
    entries,
    gaussian,
    mu_squared_limit,
    small,
    states,
)
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import Normalizer, OneHotEncoder, PolynomialFeatures, StandardScaler

from skdp import DPSGDClassifier, PrivacyBudget, privacy_statement
from skdp.exceptions import BudgetExhaustedError, PrivacyError, PrivacyWarning
from skdp.preprocessing import BoundedScaler, DPMaxAbsScaler, DPStandardScaler
from skdp.privacy import Gaussian


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


def test_a_key_settles_the_reservation_from_another_object(tmp_path):
    """As a clone, or a model that came back from another process, needs it."""
    budget = PrivacyBudget(2.0, DELTA, path=tmp_path / "ledger.json")
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
        with pytest.raises(
            PrivacyError, match=r"regenerates the noise.*Instead: random_state=None"
        ):
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
    with pytest.raises(PrivacyError, match="StandardScaler 'standardscaler'"):
        budget.reserve(make_pipeline(StandardScaler(), gaussian(9.0)), 1000)
    assert budget.share_spent == 0


@pytest.mark.parametrize(
    "estimator",
    [
        GridSearchCV(small(), {"alpha": [0.0]}),
        StackingClassifier([("m", small())], final_estimator=small()),
        BaggingClassifier(small()),
        Unplanned(),
        make_pipeline(Unplanned(), gaussian(9.0)),
    ],
)
def test_what_cannot_be_planned_is_refused(estimator):
    """A search fits who knows what; and a fit that was made can still be recorded."""
    budget = PrivacyBudget(1.0, DELTA)
    with pytest.raises(PrivacyError, match=f"{type(estimator).__name__} would have no promise"):
        budget.reserve(estimator, 1000)
    assert budget.share_spent == 0
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
    with pytest.raises(PrivacyError, match="TunedThresholdClassifierCV would have no promise"):
        budget.reserve(TunedThresholdClassifierCV(inside), 1000)


def test_columns_are_asked_for_where_they_are_needed():
    """Rather than guessed; and behind a step that changes their number, they are unknown."""
    budget = PrivacyBudget(1.0, DELTA)
    with pytest.raises(ValueError, match="give n_features"):
        budget.reserve(NeedsColumns(), 1000)
    with pytest.raises(ValueError, match="PolynomialFeatures changes: give X_sample"):
        budget.reserve(make_pipeline(PolynomialFeatures(), NeedsColumns()), 1000, n_features=10)
    pipeline = make_pipeline(BoundedScaler(bounds=(0, 1)), NeedsColumns())
    budget.reserve(pipeline, 1000, n_features=10)
    assert budget.share_spent == pytest.approx(0.01 / mu_squared_limit(1.0), rel=1e-6)


@pytest.mark.parametrize("sizes", [{"n_rows": 0}, {"n_rows": 10, "n_features": 0}])
def test_sizes_below_one_are_refused_by_name(sizes):
    """No rate of sampling and no calibration exists for an empty table."""
    with pytest.raises(ValueError, match=f"{list(sizes)[-1]} must be at least 1"):
        PrivacyBudget(1.0, DELTA).reserve(gaussian(9.0), **sizes)


def test_a_delta_that_would_publish_a_row_is_warned_of():
    """At least one over the number of rows."""
    with pytest.warns(PrivacyWarning, match="delta=1e-05 is at least 1 / n_rows"):
        PrivacyBudget(1.0, DELTA).reserve(gaussian(9.0), 100_000)


def test_made_up_rows_tell_the_columns_behind_an_encoder():
    """Ten columns out of two, as three and six categories and a constant make them."""
    budget = PrivacyBudget(1.0, DELTA)
    model = make_pipeline(PolynomialFeatures(3), NeedsColumns())
    budget.reserve(model, 1000, X_sample=np.zeros((2, 2)))
    assert budget.share_spent == pytest.approx(0.01 / mu_squared_limit(1.0), rel=1e-6)
    encoder = OneHotEncoder(categories=[["a", "b", "c"], list("uvwxyz")], handle_unknown="ignore")
    sample = np.array([["a", "u"], ["b", "v"]], dtype=object)
    budget.reserve(make_pipeline(encoder, NeedsColumns()), 1000, X_sample=sample)
    expected = (1 / 100 + 1 / 81) / mu_squared_limit(1.0)
    assert budget.share_spent == pytest.approx(expected, rel=1e-6)


def private_columns():
    """Two releases side by side, on columns of their own."""
    bounds = {"bounds": (-1, 1)}
    return [("a", DPStandardScaler(0.2, **bounds), [0]), ("b", DPMaxAbsScaler(0.1), [1, 2])]


@pytest.mark.parametrize(
    ("model", "parts"),
    [
        (ColumnTransformer(private_columns()), [part for _, part, _ in private_columns()]),
        (
            FeatureUnion([(name, part) for name, part, _ in private_columns()]),
            [part for _, part, _ in private_columns()],
        ),
        (VotingClassifier([("a", small(9.0)), ("b", small(7.0))]), [small(9.0), small(7.0)]),
        (OneVsRestClassifier(small(9.0)), [small(9.0)] * 3),
    ],
)
def test_what_fits_several_parts_is_reserved_as_all_of_them(model, parts):
    """Each of the parts reserved by itself gives the same total; the numbers of columns differ."""
    whole, apart = PrivacyBudget(3.0, DELTA), PrivacyBudget(3.0, DELTA)
    sizes = {"n_rows": 1000, "n_classes": 3}
    whole.reserve(model, n_features=3, **sizes)
    for part in parts:
        apart.reserve(part, n_features=3, **sizes)
    assert whole.share_spent == pytest.approx(apart.share_spent, rel=1e-9) != 0
    assert whole.epsilon_if_fixed == pytest.approx(apart.epsilon_if_fixed, rel=1e-9)


@pytest.mark.parametrize(
    "around",
    [
        lambda model: model,
        lambda model: make_pipeline(BoundedScaler(bounds=(0, 1)), model),
        lambda model: FixedThresholdClassifier(model),
    ],
)
def test_a_model_that_enters_itself_cannot_be_reserved(around):
    """It would be counted twice, on this ledger, or as well on another one."""
    budget = PrivacyBudget(1.0, DELTA)
    for own in (budget, PrivacyBudget(1.0, DELTA)):
        with pytest.raises(ValueError, match="DPSGDClassifier carries a budget"):
            budget.reserve(around(small(budget=own)), 1000)
    assert budget.share_spent == 0


def test_a_fit_that_is_reserved_and_made_elsewhere_with_its_key_counts_once(rows, tmp_path):
    """A worker gets an unfitted model and the key; its fit stands in the place of the key."""
    X, y = rows
    budget = PrivacyBudget(2.0, DELTA, path=tmp_path / "ledger.json")
    model = small()
    key = budget.reserve(model, len(X))
    share = budget.share_spent
    there, fitted = pickle.loads(pickle.dumps((budget, model)))
    there.spend(fitted.fit(X, y), reservation=key)
    assert budget.share_spent == share > 0
    assert sorted(states(budget)) == ["fitted", "settled"]


def test_a_part_that_is_recorded_already_is_not_reserved_again(rows):
    """A vote with a frozen member costs its new member alone."""
    X, y = rows
    budget, old = PrivacyBudget(3.0, DELTA), small(9.0).fit(X, y)
    budget.spend(old)
    vote = VotingClassifier([("old", FrozenEstimator(old)), ("new", small(7.0))])
    before = budget.share_spent
    budget.reserve(vote, len(X))
    both = (1 / 81 + 1 / 49) / mu_squared_limit(3.0)
    # The noise of the gradient pays for the clipped fraction as well, within 1 %.
    assert budget.share_spent == pytest.approx(both, rel=0.03) != before
    share = budget.share_spent
    budget.spend(vote.fit(X, y))
    assert budget.share_spent == pytest.approx(share, rel=1e-9)
    assert [entry["name"] for entry in entries(budget).values()] == [
        "DPSGDClassifier",
        "VotingClassifier",
        "DPSGDClassifier",
    ]


def test_what_was_reserved_as_a_whole_may_take_the_whole_budget(rows):
    """Its fits were chosen together, so they are priced together, before the fit and after it."""
    pipeline = make_pipeline(DPMaxAbsScaler(0.2), DPSGDClassifier(noise_multiplier=6, n_epochs=1))
    sizes = {"n_rows": len(rows[0]), "n_features": 3}
    total = privacy_statement(pipeline, delta=DELTA, **sizes).epsilon
    budget = PrivacyBudget(total * 1.001, DELTA)
    budget.reserve(pipeline, **sizes)
    budget.spend(pipeline.fit(*rows))
    assert not budget.overspent
    assert budget.share_spent == 1.0
    with pytest.raises(BudgetExhaustedError):
        budget.reserve(pipeline, **sizes)
    other = PrivacyBudget(total * 1.001, DELTA)
    with pytest.raises(BudgetExhaustedError):
        other.spend(pipeline)
