"""Whatever fitted thing can be reached from an object counts, or leaves it without a promise."""

import math
import pickle
import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import FixedThresholdClassifier, KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    SplineTransformer,
    StandardScaler,
)

from skdp import DPSGDClassifier, privacy_statement
from skdp.preprocessing import BoundedScaler, DPMaxAbsScaler, DPStandardScaler
from skdp.privacy import get_epsilon

N = 200
DELTA = 1e-5
PASS = {"remainder": "passthrough", "sparse_threshold": 0}


def clf(noise=6.0, **rest):
    return DPSGDClassifier(noise_multiplier=noise, batch_size=20, n_epochs=1, **rest)


def epsilon(fitted):
    return privacy_statement(fitted, delta=DELTA).epsilon


def names(fitted):
    return [gap.name for gap in privacy_statement(fitted).not_covered]


def cost(*fits):
    return get_epsilon([mechanism for fit in fits for mechanism in fit.mechanisms_], DELTA)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(N, 3))
    return X, (X[:, 0] > 0).astype(int)


@pytest.fixture
def codes(rng):
    return rng.integers(0, 3, size=(N, 2)), np.arange(N) % 2


# Fitted before it was passed to an object that cloned it

AROUND = [
    lambda template: FixedThresholdClassifier(template, threshold=0.3),
    lambda template: VotingClassifier([("a", template)]),
    lambda template: OneVsRestClassifier(template),
    lambda template: make_pipeline(BoundedScaler((-9, 9)), VotingClassifier([("a", template)])),
]


@pytest.mark.parametrize("around", AROUND)
def test_a_template_fitted_without_noise_leaves_no_promise(data, around):
    """Its exact coefficients are in the pickle."""
    template = clf(0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        template.fit(*data)
    model = around(template.set_params(noise_multiplier=6.0)).fit(*data)
    for copy in (model, pickle.loads(pickle.dumps(model))):
        assert epsilon(copy) == math.inf
        assert any("fitted before" in name for name in names(copy))


def test_the_fits_of_a_stack_leave_no_total(data):
    """It drops the members that it fits on folds, so nothing counts them."""
    stack = StackingClassifier([("a", clf())], final_estimator=clf(), cv=KFold(5)).fit(*data)
    assert epsilon(stack) == math.inf
    assert any("the fits of" in name for name in names(stack))


@pytest.mark.parametrize("around", AROUND)
def test_a_template_fitted_before_is_one_more_fit(data, around):
    """Both fits are on the object; copies of one of them are one."""
    template = clf().fit(*data)
    model = around(template).fit(*data)
    assert epsilon(model) == epsilon(pickle.loads(pickle.dumps(model)))
    assert epsilon(model) == pytest.approx(cost(template, template), rel=1e-9)
    assert epsilon(around(clone(template)).fit(*data)) == template.epsilon_


def test_a_scaler_fitted_before_counts_beside_its_clone(data):
    """`ColumnTransformer` keeps what it was given."""
    scaler = DPStandardScaler(1.0, bounds=(-4, 4)).fit(data[0][:, :2])
    for columns in ([0, 1], []):
        table = ColumnTransformer([("i", scaler, columns)], **PASS)
        model = make_pipeline(table, clf()).fit(*data)
        fits = [scaler, model[-1]] + ([scaler] if columns else [])
        assert epsilon(model) == pytest.approx(cost(*fits), rel=1e-9)


def test_a_free_part_fitted_before_with_other_settings_leaves_no_promise(data):
    """Its exact means are in the pickle, though its clone learned nothing."""
    imputer = SimpleImputer(strategy="mean").fit(data[0][:, :2])
    imputer.set_params(strategy="constant", fill_value=0.0, keep_empty_features=True)
    model = make_pipeline(ColumnTransformer([("i", imputer, [0, 1])], **PASS), clf()).fit(*data)
    assert names(model) == ["SimpleImputer 'Pipeline', fitted before"]
    fresh = make_pipeline(ColumnTransformer([("i", clone(imputer), [0])], **PASS), clf())
    assert privacy_statement(fresh.fit(*data)).covers_everything


def test_a_template_of_no_private_kind_fitted_before_leaves_no_promise(data):
    """Even where nothing was fitted from it, as with no columns."""
    table = ColumnTransformer([("i", StandardScaler().fit(data[0]), [])], **PASS)
    model = make_pipeline(table, clf()).fit(*data)
    assert names(model) == ["StandardScaler 'Pipeline', fitted before"]


# Steps fitted again, or in two places


def test_a_step_fitted_again_in_another_pipeline_leaves_no_promise(data):
    """The classifier was trained on rows that the first fit scaled, and that fit is gone."""
    scaler = DPMaxAbsScaler(3.0)
    first = make_pipeline(scaler, clf()).fit(*data)
    assert epsilon(first) == pytest.approx(cost(scaler, first[-1]), rel=1e-9)
    second = make_pipeline(scaler.set_params(epsilon=0.1), clf()).fit(*data)
    assert epsilon(first) == math.inf
    assert names(first) == ["an earlier fit of DPMaxAbsScaler 'dpmaxabsscaler'"]
    assert epsilon(second) == pytest.approx(cost(scaler, second[-1]), rel=1e-9)


@pytest.mark.parametrize("again", ["fitted", "replaced", "loaded and fitted"])
def test_a_step_that_is_not_the_one_of_the_fit_leaves_no_promise(data, again):
    """Within one pipeline, and also when it has been pickled since."""
    model = make_pipeline(DPMaxAbsScaler(3.0), Normalizer(), clf()).fit(*data)
    assert math.isfinite(epsilon(model))
    if again == "replaced":
        model.set_params(dpmaxabsscaler=DPMaxAbsScaler(0.01).fit(data[0]))
    elif again == "fitted":
        model[0].set_params(epsilon=0.01).fit(data[0])
    else:
        model = pickle.loads(pickle.dumps(model))
        assert math.isfinite(epsilon(model))
        model[0].set_params(epsilon=0.01).fit(data[0])
    assert epsilon(model) == math.inf
    assert epsilon(pickle.loads(pickle.dumps(model))) == math.inf


@pytest.mark.slow
def test_scalers_fitted_by_worker_processes_are_recognised(data):
    """They come back pickled, and the classifier behind knows their marks."""
    parts = [(name, DPMaxAbsScaler(1.0), [column]) for column, name in enumerate("ab")]
    table = ColumnTransformer(parts, n_jobs=2, **PASS)
    model = make_pipeline(table, clf()).fit(*data)
    scalers = [part for _, part, _ in table.transformers_[:2]]
    assert epsilon(model) == pytest.approx(cost(*scalers, model[-1]), rel=1e-9)


def test_a_frozen_scaler_that_was_fitted_again_leaves_no_promise(data):
    """A frozen part is shared, and may change under whatever was fitted behind it."""
    scaler = DPMaxAbsScaler(3.0).fit(data[0])
    model = make_pipeline(FrozenEstimator(scaler), clf()).fit(*data)
    assert epsilon(model) == pytest.approx(cost(scaler, model[-1]), rel=1e-9)
    scaler.set_params(epsilon=0.1).fit(data[0])
    assert epsilon(model) == math.inf


@pytest.mark.parametrize(
    "make",
    [
        lambda one: make_pipeline(one, one, clf()),
        lambda one: make_pipeline(FeatureUnion([("a", one), ("b", one)]), clf()),
    ],
)
def test_one_object_in_two_places_that_fit_it_leaves_no_promise(data, make):
    """The second fit takes the place of the first, which nobody kept."""
    assert epsilon(make(DPMaxAbsScaler(1.0)).fit(*data)) == math.inf


@pytest.mark.parametrize(
    "around",
    [
        lambda frozen, scaler: make_pipeline(frozen, scaler, clf()),
        lambda frozen, scaler: make_pipeline(frozen, make_pipeline(scaler, clf())),
        lambda frozen, scaler: make_pipeline(FeatureUnion([("f", frozen), ("s", scaler)]), clf()),
    ],
)
def test_a_frozen_object_that_is_fitted_beside_leaves_no_promise(data, around):
    """Rows had come through its earlier fit, which the later one overwrote; a plan says so too."""
    scaler = DPMaxAbsScaler(1.0).fit(data[0])
    model = around(FrozenEstimator(scaler), scaler)
    assert privacy_statement(clone(model), n_rows=N, n_features=3).epsilon < math.inf
    assert privacy_statement(model, n_rows=N, n_features=3).epsilon == math.inf
    assert epsilon(model.fit(*data)) == math.inf


def test_one_frozen_object_in_two_places_was_fitted_once(data):
    """Its releases were made once, so they are counted once however often the object is found."""
    frozen = FrozenEstimator(clf().fit(*data))
    model = VotingClassifier([("a", frozen), ("b", frozen)]).fit(*data)
    assert epsilon(model) == frozen.estimator.epsilon_


# Settings changed after the fit


def test_an_imputer_is_free_by_what_it_learned(data):
    """Settings can be changed, means stay."""
    X, y = data
    model = make_pipeline(SimpleImputer(strategy="mean"), clf()).fit(X, y)
    constant = {"strategy": "constant", "fill_value": 0.0, "keep_empty_features": True}
    model[0].set_params(**constant)
    assert epsilon(model) == math.inf
    model = make_pipeline(SimpleImputer(**constant), clf()).fit(X, y)
    assert math.isfinite(epsilon(model))
    model = make_pipeline(SimpleImputer(add_indicator=True, **constant), clf()).fit(X, y)
    model[0].set_params(add_indicator=False)
    assert epsilon(model) == math.inf


QUIET = {
    OneHotEncoder: {"handle_unknown": "ignore"},
    OrdinalEncoder: {"handle_unknown": "use_encoded_value", "unknown_value": -1},
}


@pytest.mark.parametrize("kind", [OneHotEncoder, OrdinalEncoder])
def test_an_encoder_is_free_by_the_categories_that_it_holds(codes, kind):
    """Settings that were changed after the fit make nothing free that was learned."""
    kind = partial(kind, **QUIET[kind])
    model = make_pipeline(kind(), clf()).fit(*codes)
    model[0].set_params(categories=[[0, 1]] * 2)
    assert epsilon(model) == math.inf
    counted = make_pipeline(kind(categories=[[0, 1, 2]] * 2, min_frequency=2), clf()).fit(*codes)
    counted[0].set_params(min_frequency=None)
    assert epsilon(counted) == math.inf
    model = make_pipeline(kind(categories=[[0, 1, 2]] * 2), clf()).fit(*codes)
    assert math.isfinite(epsilon(model))


@pytest.mark.parametrize("degree", [0, 1, 3])
def test_splines_are_free_by_the_knots_that_they_hold(data, degree):
    """Knots found in the rows stay in the fitted splines after the setting is overwritten."""
    knots = np.array([[-5.0] * 3, [0.5] * 3, [5.0] * 3])
    model = make_pipeline(SplineTransformer(n_knots=3, degree=degree), clf()).fit(*data)
    model[0].set_params(knots=knots)
    assert epsilon(model) == math.inf
    model = make_pipeline(SplineTransformer(knots=knots, degree=degree), clf()).fit(*data)
    assert math.isfinite(epsilon(model))


def widest(X):
    return [1, 2]


@pytest.mark.parametrize(
    "settings",
    [
        [("a", "passthrough", [0])],
        [("b", "passthrough", [1, 2])],
        [("a", "passthrough", slice(1, 3))],
    ],
)
def test_a_column_transformer_is_read_by_the_columns_that_it_took(data, settings):
    """Those of the settings may have been written down since."""
    table = ColumnTransformer([("a", "passthrough", widest)], sparse_threshold=0)
    model = make_pipeline(table, clf()).fit(*data)
    assert epsilon(model) == math.inf
    table.set_params(transformers=settings)
    assert epsilon(model) == math.inf


def test_settings_of_a_private_part_do_not_change_what_its_fit_cost(data):
    """What was released counts, not what the next fit would release."""
    model = VotingClassifier([("a", clf())]).fit(*data)
    before = epsilon(model)
    model.estimators_[0].set_params(noise_multiplier=1000.0, random_state=0)
    model.set_params(a__noise_multiplier=1000.0)
    assert epsilon(model) == before


def test_a_copy_whose_releases_were_changed_counts_beside_the_fit(data):
    """One mark and other releases are two fits, as far as anyone can tell."""
    fit = clf().fit(*data)
    other = pickle.loads(pickle.dumps(fit))
    other.mechanisms_ = clf(3.0).fit(*data).mechanisms_
    model = VotingClassifier([("a", FrozenEstimator(fit)), ("b", FrozenEstimator(other))])
    assert epsilon(model.fit(*data)) == pytest.approx(cost(fit, other), rel=1e-9)


class Holder:
    def __init__(self, scaler):
        self.scaler = scaler

    def scaled(self, X):
        return self.scaler.transform(X)

    scaled.row_wise = True


def test_what_a_function_remembers_is_found(data):
    """A closure or a bound method may hold a scaler that was fitted without noise."""
    scaler = StandardScaler().fit(data[0])

    def scaled(X):
        return scaler.transform(X)

    scaled.row_wise = True
    for func in (scaled, Holder(scaler).scaled):
        model = make_pipeline(FunctionTransformer(func), clf()).fit(*data)
        assert epsilon(model) == math.inf


# Attributes that no fit left


@pytest.mark.parametrize("value", [np.zeros((2, 2)), [1.0], "a note", 0.93])
@pytest.mark.parametrize("name", ["rows", "rows_", "_rows"])
def test_an_attribute_that_no_fit_left_leaves_no_promise(data, name, value):
    """Wherever it stands, whatever it is called: it goes into the pickle."""
    model = make_pipeline(
        ColumnTransformer([("a", Normalizer(), [0])], **PASS), BoundedScaler((-9, 9)), clf()
    ).fit(*data)
    assert privacy_statement(model).covers_everything
    for thing in (model, model[0], model[0].transformers_[0][1], model[1], model[2]):
        setattr(thing, name, value)
        assert epsilon(model) == math.inf
        assert name in names(model)[0]
        delattr(thing, name)
    assert privacy_statement(model).covers_everything


def test_an_attribute_set_before_the_fit_is_no_part_of_it(data):
    """Only what a fit leaves is known to be private; the fit drops what ends in an underscore."""
    model = clf()
    model.rows = data[0]
    assert epsilon(model.fit(*data)) == math.inf
    model.rows_ = data[0]
    del model.rows
    assert epsilon(model.fit(*data)) < math.inf
    assert not hasattr(model, "rows_")
