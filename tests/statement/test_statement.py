"""privacy_statement: what is free, what is not covered, and the traps."""

import json
import math
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import PolynomialCountSketch, RBFSampler, SkewedChi2Sampler
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    KFold,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
)
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection

from skdp import DPSGDClassifier, PrivacyBudget, privacy_statement
from skdp.preprocessing import BoundedScaler, DPMaxAbsScaler, PiecewiseLinearFeatures
from skdp.privacy import Gaussian, SubsampledGaussian, get_epsilon
from skdp.statement._free import gap_of, is_free

N = 120


def clf(noise=4.0, **rest):
    return DPSGDClassifier(noise_multiplier=noise, batch_size=12, n_epochs=1, **rest)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(N, 3))
    return X, (X[:, 0] > 0).astype(int)


@pytest.fixture
def integers(rng):
    X = rng.integers(0, 3, size=(N, 2))
    return X, np.arange(N) % 2


def statement(model, data, **fit):
    return privacy_statement(model.fit(*data, **fit))


def names(made):
    return [gap.name for gap in made.not_covered]


def half_of(X):
    return X / 2


def centred(X):
    return X - X.mean(axis=0)


def letters(text):
    return list(text)


def densely(X):
    return X.toarray() if sparse.issparse(X) else X


half_of.row_wise = densely.row_wise = letters.row_wise = True


# What stands before, after and beside a private part


def test_a_scaler_in_front_voids_the_private_figure(data):
    """One row moves the scaler, and the scaler moves every other row's gradient."""
    made = statement(make_pipeline(StandardScaler(), clf()), data)
    assert names(made) == ["StandardScaler 'standardscaler'"]
    assert not made.covers_everything
    assert made.epsilon == math.inf
    assert made.epsilon_of_releases < 1
    assert str(made).startswith("No promise for Pipeline(StandardScaler, DPSGDClassifier)")
    (part,) = made.parts
    assert part.void_because_of == ("StandardScaler 'standardscaler'",)
    assert "BoundedScaler" in made.not_covered[0].instead


def test_what_stands_behind_or_beside_voids_nothing_but_is_not_covered(data):
    """The private part never saw its output."""
    voters = VotingClassifier([("noisy", clf()), ("plain", LogisticRegression())])
    made = statement(voters, data)
    assert names(made) == ["LogisticRegression 'plain'"]
    assert made.epsilon == math.inf
    assert made.parts[0].void_because_of == ()
    assert made.not_covered[0].instead == "skdp.DPSGDClassifier"


def test_a_gap_deep_inside_a_branch_voids_what_follows(data):
    """Its columns reach the classifier, so one row moves the gradients of all others."""
    columns = ColumnTransformer(
        [("a", make_pipeline(BoundedScaler(bounds=(-3, 3)), MinMaxScaler()), [0])],
        remainder="passthrough",
    )
    made = statement(make_pipeline(columns, clf()), data)
    (gap,) = names(made)
    assert gap == "MinMaxScaler 'columntransformer > a > minmaxscaler'"
    assert made.parts[0].void_because_of == (gap,)


def test_models_without_any_noise_have_no_promise_and_no_releases(data):
    """Nothing noisy is not the same as nothing to protect: epsilon is infinite, not 0."""
    made = statement(make_pipeline(StandardScaler(), LogisticRegression()), data)
    assert made.epsilon == math.inf
    assert made.mechanisms == ()
    assert made.delta is None
    assert made.epsilon_of_releases == 0.0
    assert len(names(made)) == 2


def test_training_without_noise_is_not_covered(data):
    """The class is a private one, but its weights are an exact function of the rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = statement(clf(0.0), data)
    assert made.epsilon == made.epsilon_of_releases == math.inf
    assert "without noise" in made.not_covered[0].reason


# The written list


@pytest.mark.parametrize(
    "step",
    [
        BoundedScaler(bounds=(-3, 3)),
        PiecewiseLinearFeatures(),
        Normalizer(),
        Binarizer(),
        PolynomialFeatures(),
        SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True),
        SplineTransformer(knots=np.array([[-2.0] * 3, [0.0] * 3, [2.0] * 3])),
        FunctionTransformer(),
        FunctionTransformer(np.tanh, validate=True),
        FunctionTransformer(np.isnan),
        FunctionTransformer(half_of),
        RBFSampler(gamma=0.5, n_components=7, random_state=0),
        SkewedChi2Sampler(skewedness=9.0, n_components=7, random_state=0),
        PolynomialCountSketch(n_components=7, random_state=0),
        GaussianRandomProjection(2, random_state=0),
        SparseRandomProjection(2, random_state=0),
        MissingIndicator(features="all"),
        "passthrough",
    ],
)
def test_what_learns_nothing_is_free(data, step):
    """Each row is changed by itself alone, so the classifier's epsilon is that of the whole."""
    model = make_pipeline(step, clf()).fit(*data)
    made = privacy_statement(model)
    assert made.covers_everything
    assert made.epsilon == model[-1].epsilon_


@pytest.mark.parametrize(
    ("learned", "settings"),
    [
        (RBFSampler(gamma="scale", random_state=0), {"gamma": 0.5}),
        (GaussianRandomProjection(eps=0.99, random_state=0), {"n_components": 2}),
        (MissingIndicator(), {"features": "all"}),
    ],
)
def test_what_reads_a_parameter_off_the_rows_is_not_free(learned, settings):
    """Nor does it become so by settings that are changed after the fit."""
    X = np.random.default_rng(0).normal(size=(N, 200))
    X[::3, 0] = np.nan if "features" in settings else 0.0
    model = make_pipeline(learned, clf()).fit(X, np.arange(N) % 2)
    assert privacy_statement(model).epsilon == math.inf
    model[0].set_params(**settings)
    assert privacy_statement(model).epsilon == math.inf


def test_gaps_are_marked_in_all_columns_beside_a_constant_that_fills_them(data):
    """An imputer marks those columns alone that have gaps, which one row decides."""
    X, y = data[0].copy(), data[1]
    X[::7, 1] = np.nan
    filled = SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True)
    model = make_pipeline(make_union(filled, MissingIndicator(features="all")), clf()).fit(X, y)
    assert privacy_statement(model).covers_everything
    assert model[:-1].transform(X).shape == (N, 6)
    marking = make_pipeline(filled.set_params(add_indicator=True), clf()).fit(X, y)
    (gap,) = privacy_statement(marking).not_covered
    assert 'MissingIndicator(features="all")' in gap.instead


@pytest.mark.parametrize("kind", [OneHotEncoder, OrdinalEncoder])
def test_categories_that_are_written_down_are_free(integers, kind):
    """With quiet handling of what is unknown: an error would show a value of one row."""
    quiet = {"handle_unknown": "ignore"}
    if kind is OrdinalEncoder:
        quiet = {"handle_unknown": "use_encoded_value", "unknown_value": -1}
    model = make_pipeline(kind(categories=[[0, 1, 2]] * 2, **quiet), clf()).fit(*integers)
    assert privacy_statement(model).epsilon == model[-1].epsilon_
    loud = make_pipeline(kind(categories=[[0, 1, 2]] * 2), clf()).fit(*integers)
    assert privacy_statement(loud).epsilon == math.inf


def test_hashing_is_free():
    """Buckets are fixed beforehand; only sums of numbers in one of them depend on other rows."""
    texts = ["one two", "two three"] * 60
    labels = np.arange(N) % 2
    for settings in ({}, {"analyzer": letters}, {"tokenizer": letters, "token_pattern": None}):
        hashing = HashingVectorizer(n_features=16, **settings)
        model = make_pipeline(hashing, clf()).fit(texts, labels)
        assert privacy_statement(model).covers_everything
    hasher = FeatureHasher(8, input_type="string")
    model = make_pipeline(hasher, clf()).fit([["a"], ["b", "a"]] * 60, labels)
    assert privacy_statement(model).covers_everything
    model = make_pipeline(FeatureHasher(8), clf()).fit([{"a": 1}, {"b": 2}] * 60, labels)
    assert privacy_statement(model).epsilon == math.inf


def test_free_parts_alone_cost_nothing(data):
    """Without a fit that looks at rows there is nothing to hide, so epsilon is 0."""
    made = statement(make_pipeline(BoundedScaler(bounds=(-3, 3)), Normalizer()), data)
    assert made.epsilon == 0.0
    assert made.covers_everything


@pytest.mark.parametrize(
    "step",
    [
        SimpleImputer(),
        SimpleImputer(strategy="constant", fill_value=0.0),
        SimpleImputer(strategy="constant", keep_empty_features=True, add_indicator=True),
        SplineTransformer(n_knots=3),
        FunctionTransformer(centred),
        FunctionTransformer(lambda X: X),
        QuantileTransformer(n_quantiles=10),
        KBinsDiscretizer(3, encode="ordinal", strategy="uniform"),
    ],
)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_what_learns_or_may_learn_is_not_covered(data, step):
    """A constant imputer looks too: for columns that are empty, or have gaps."""
    made = statement(make_pipeline(step, clf()), data)
    assert names(made) == [f"{type(step).__name__} '{type(step).__name__.lower()}'"]
    assert made.epsilon == math.inf
    assert made.parts[0].void_because_of


@pytest.mark.parametrize(
    "encoder",
    [
        OneHotEncoder(),
        OneHotEncoder(categories=[[0, 1, 2]] * 2, min_frequency=10),
        OneHotEncoder(categories=[[0, 1, 2]] * 2, max_categories=2),
        OrdinalEncoder(),
        OrdinalEncoder(categories=[[0, 1, 2]] * 2, min_frequency=10),
    ],
)
def test_categories_that_are_found_or_counted_are_not_covered(integers, encoder):
    """A column exists, or is merged, because of the rows that hold a category."""
    made = statement(make_pipeline(encoder, clf()), integers)
    assert made.epsilon == math.inf
    assert "categories written down" in made.not_covered[0].instead


class Unknown(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return X


class MeanScaler(BoundedScaler):
    """A subclass of a free class may do anything."""


class Sneaky(DPSGDClassifier):
    """A private classifier with a fit of its own, which says nothing of it."""

    def fit(self, X, y):
        return super().fit(X / np.abs(X).max(), y)


def test_anything_unknown_is_not_covered(data):
    """What a class does with rows is not seen from outside; a free one's subclass may learn."""
    assert not statement(make_pipeline(Unknown(), clf()), data).covers_everything
    assert not statement(make_pipeline(MeanScaler(bounds=(-3, 3)), clf()), data).covers_everything


def test_a_private_subclass_with_its_own_fit_must_say_what_it_releases(data):
    """The inherited answer is about the inherited fit."""
    made = statement(Sneaky(noise_multiplier=4.0), data)
    assert made.epsilon == made.epsilon_of_releases == math.inf
    assert "_privacy_releases" in made.not_covered[0].instead


class Centred(DPMaxAbsScaler):
    """Its fit is the private one, its transform mixes rows."""

    def transform(self, X):
        return centred(super().transform(X))


class Keeping(DPSGDClassifier):
    """Learns more than its fit says."""

    def keep(self, X):
        self.rows_ = X
        return self


class Claiming(DPSGDClassifier):
    """Says what another class's fit releases."""

    def _privacy_releases(self):
        return []


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(Centred(), clf()),
        Keeping(noise_multiplier=4.0),
        Claiming(noise_multiplier=4.0),
    ],
)
def test_a_subclass_that_inherits_a_private_fit_is_unknown_all_the_same(data, model):
    """It may do anything with the rows in the methods that it overrides or adds."""
    made = statement(model, data)
    assert made.epsilon == made.epsilon_of_releases == math.inf
    assert "it is a subclass" in made.not_covered[0].reason


class Models(ClassifierMixin, BaseEstimator):
    """A meta-estimator that nobody knows, with a list of models, or one that it makes in fit."""

    def __init__(self, models=()):
        self.models = models

    def fit(self, X, y):
        self.fitted_ = {"all": [model.fit(X, y) for model in self.models or [clf()]]}
        self.classes_ = self.fitted_["all"][0].classes_
        return self

    def predict(self, X):
        return self.fitted_["all"][0].predict(X)


@pytest.mark.parametrize("model", [Models([clf(), clf()]), Models()])
def test_noisy_parts_that_are_no_parameters_have_no_total_either(data, model):
    """In a list, or made in fit: nobody counted them."""
    assert statement(model, data).epsilon_of_releases == math.inf
    votes = VotingClassifier([("a", model), ("b", clf())])
    assert statement(votes, data).epsilon_of_releases == math.inf


@pytest.mark.parametrize(
    "step",
    [
        FunctionTransformer(np.frompyfunc(lambda value: value, 1, 1)),
        # Functions that also take objects are handed sparse rows whole, which SciPy then sorts.
        FunctionTransformer(np.sqrt),
        FunctionTransformer(np.sqrt, validate=True, accept_sparse=True),
        HashingVectorizer(input="filename"),
        HashingVectorizer(input="file"),
        FunctionTransformer(np.linalg._umath_linalg.det),
        FunctionTransformer(np.tanh, kw_args={"out": np.empty((N, 3))}),
        FunctionTransformer(np.modf),
        FunctionTransformer(np.cumsum),
        HashingVectorizer(analyzer=lambda text: text.split()),
        HashingVectorizer(tokenizer=str.split, token_pattern=None),
        HashingVectorizer(preprocessor=str.lower),
    ],
)
def test_functions_that_may_remember_or_mix_rows_are_not_free(step):
    """A ufunc of Python, one with a signature, and one that writes into an array that it keeps."""
    assert not is_free(step)
    assert "row_wise" in gap_of(step, ()).instead


@pytest.mark.parametrize(
    "settings", [{"inverse_func": lambda X: X}, {"inv_kw_args": {"out": np.empty((N, 3))}}]
)
def test_an_inverse_that_was_not_declared_is_not_free(data, settings):
    """`fit` sends rows through it, to see whether it is an inverse."""
    step = FunctionTransformer(np.tanh, check_inverse=False, validate=True, **settings)
    assert statement(make_pipeline(step, clf()), data).epsilon == math.inf
    inverse = {"inverse_func": np.sinh, "validate": True}
    known = FunctionTransformer(np.arcsinh, check_inverse=False, **inverse)
    assert statement(make_pipeline(known, clf()), data).covers_everything
    checked = FunctionTransformer(np.arcsinh, **inverse)
    assert statement(make_pipeline(checked, clf()), data).epsilon == math.inf


def test_noisy_parts_inside_something_unknown_have_no_total(data):
    """They cannot be counted, so no sum is given of the others either."""

    class Wrapper(BaseEstimator):
        def __init__(self, estimator=None):
            self.estimator = estimator

        def fit(self, X, y):
            self.model_ = self.estimator.fit(X, y)
            return self

        def predict(self, X):
            return self.model_.predict(X)

    made = statement(Wrapper(clf()), data)
    assert made.epsilon_of_releases == math.inf
    assert privacy_statement(AdaBoostClassifier(n_estimators=2).fit(*data)).mechanisms == ()


def test_columns_that_a_function_chose_are_not_covered(data):
    """It may have looked at the rows, as may one that selects by type; names are public."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(data[0], columns=["a", "b", "c"])

    def of(columns):
        step = ColumnTransformer(
            [("some", Normalizer(), columns)], remainder="passthrough", sparse_threshold=0
        )
        return statement(make_pipeline(step, clf()), (frame, data[1]))

    assert of(["a", "b"]).covers_everything
    assert of(make_column_selector(pattern="a|b")).covers_everything
    for columns in (lambda X: ["a"], make_column_selector(dtype_include=float)):
        made = of(columns)
        assert names(made) == ["the columns of 'columntransformer > some'"]
        assert made.parts[0].void_because_of


@pytest.mark.parametrize("density", [0.1, 1.0])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("parts", "settings", "covered"),
    [
        ([("a", Normalizer(), [0])], {}, False),
        ([("a", DPMaxAbsScaler(epsilon=1.0), [0])], {"sparse_threshold": 1.0}, False),
        ([("a", Normalizer(), [0])], {"sparse_threshold": 0.0}, True),
        ([("a", make_pipeline(Normalizer(), Normalizer()), [0])], {}, False),
        ([("none", BoundedScaler(bounds=(0, 1)), [])], {}, False),
        (
            [("a", make_pipeline(FunctionTransformer(densely), BoundedScaler((0, 1))), [0])],
            {},
            False,
        ),
    ],
)
def test_sparse_rows_are_counted_whichever_way_the_count_went(
    rng, density, form, parts, settings, covered
):
    """Nothing on the object says whether the rows were sparse."""
    X = rng.uniform(0.1, 1, size=(N, 3)) * (rng.uniform(size=(N, 3)) <= density)
    columns = ColumnTransformer(parts, remainder="passthrough", **settings)
    made = statement(make_pipeline(columns, clf()), (form(X), np.arange(N) % 2))
    assert made.covers_everything == covered
    assert covered or names(made) == ["sparse_threshold of ColumnTransformer 'columntransformer'"]


def test_a_part_that_refuses_sparse_rows_shows_that_they_were_dense(data):
    """Of an array, all columns have one form; those of a frame may differ."""
    pandas = pytest.importorskip("pandas")
    parts = [("a", BoundedScaler(bounds=(-3, 3)), [0]), ("b", Normalizer(), [1])]
    model = make_pipeline(ColumnTransformer(parts, remainder="passthrough"), clf())
    assert statement(model, data).covers_everything
    frame = pandas.DataFrame(data[0], columns=["a", "b", "c"])
    assert not statement(model, (frame, data[1])).covers_everything
    bounded = ColumnTransformer(parts[:1], remainder="passthrough")
    assert statement(make_pipeline(bounded, clf()), (frame, data[1])).covers_everything


@pytest.mark.parametrize(
    ("encoder", "settings", "covered"),
    [
        ({}, {}, False),
        ({"sparse_output": False}, {}, True),
        ({}, {"sparse_threshold": 0}, True),
    ],
)
def test_a_form_of_the_output_that_depends_on_the_rows_is_not_covered(
    integers, encoder, settings, covered
):
    """ColumnTransformer counts entries to choose between dense and sparse, and keeps the answer."""
    encoder = OneHotEncoder(categories=[[0, 1, 2]], handle_unknown="ignore", **encoder)
    columns = ColumnTransformer([("one", encoder, [0])], remainder="passthrough", **settings)
    made = statement(make_pipeline(columns, clf()), integers)
    assert made.covers_everything == covered
    assert covered or names(made) == ["sparse_threshold of ColumnTransformer 'columntransformer'"]


# What callbacks see


class TenSteps(ClassifierMixin, BaseEstimator):
    """A private estimator of ten noisy steps, of which it took `n_steps_`."""

    def __init__(self, n_steps=10):
        self.n_steps = n_steps

    def fit(self, X, y):
        self.n_steps_ = self.n_steps
        self.classes_ = np.unique(y)
        self.delta_ = 1e-5
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def _privacy_releases(self):
        return [Gaussian(9.0), SubsampledGaussian(4.0, 0.1, 10)]


def test_a_number_of_steps_that_a_callback_chose_is_not_covered(data):
    """It may have looked at one row, and what it chose moves all that the model says."""
    assert statement(TenSteps(), data).covers_everything
    assert not statement(TenSteps(9), data).covers_everything
    made = statement(TenSteps(7), data)
    assert names(made) == ["the number of steps of TenSteps"]
    assert made.not_covered[0].voids_what_follows
    assert math.isfinite(made.epsilon_of_releases)


def test_callbacks_that_stay_on_any_part_are_not_covered(data):
    """They hold what they were given; what follows them is as private as before."""
    model = VotingClassifier([("a", make_pipeline(Normalizer(), TenSteps())), ("b", clf())])
    model.fit(*data)
    assert privacy_statement(model).covers_everything
    model.estimators_[0]._skl_callbacks = [object()]
    made = privacy_statement(model)
    assert names(made) == ["the callbacks of Pipeline 'a'"]
    assert not made.not_covered[0].voids_what_follows
    model.estimators_[0]._skl_callbacks = []
    assert privacy_statement(model).covers_everything


def test_a_progress_bar_is_covered(data):
    """It is given neither rows nor models, and never asks to stop."""
    callback = pytest.importorskip("sklearn.callback", reason="came with scikit-learn 1.9")
    model = DPSGDClassifier().fit(*data)
    model.set_callbacks(callback.ProgressBar())
    assert privacy_statement(model).covers_everything
    model.set_callbacks(callback.ProgressBar(), callback.ScoringMonitor(scoring="accuracy"))
    assert not privacy_statement(model).covers_everything


def test_a_callback_that_stops_by_a_row_leaves_no_promise(data):
    """Whether it stays on the model or not."""
    pytest.importorskip("sklearn.callback")
    X, y = data

    class StopsByARow:
        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context, *, fitted_estimator):
            return bool(X[0, 0] != 0)

    model = clf().set_params(n_epochs=3).set_callbacks(StopsByARow()).fit(X, y)
    assert names(privacy_statement(model)) == [
        "the number of steps of DPSGDClassifier",
        "the callbacks of DPSGDClassifier",
    ]
    assert privacy_statement(model.set_callbacks()).epsilon == math.inf


# Seeds


def test_a_seed_that_was_taken_away_after_the_fit_is_not_covered(data):
    """Whoever set it knows it still."""
    model = clf(random_state=3).fit(*data)
    model.set_params(random_state=None)
    made = privacy_statement(model)
    assert names(made) == ["DPSGDClassifier"]
    assert made.epsilon == math.inf


@pytest.mark.parametrize("seed", [0, np.int64(7), np.random.RandomState(1)])
def test_a_seed_on_the_object_is_not_covered(data, seed):
    """It regenerates the noise; without it, the releases cost what they cost."""
    model = clf(random_state=seed).fit(*data)
    made = privacy_statement(model)
    assert names(made) == ["DPSGDClassifier"]
    assert made.epsilon == math.inf
    assert made.epsilon_of_releases == model.epsilon_
    assert "random_state=None" in made.not_covered[0].instead


def test_the_statement_does_not_pass_the_seed_on(data):
    """It is made to be shared, and whoever has the seed can subtract the noise."""
    made = statement(clf(random_state=918273645), data)
    assert "918273645" not in str(made) + made._repr_html_() + json.dumps(made.to_dict())


def test_a_seed_in_front_does_not_void_what_follows(data):
    """For readers without the seed the scaler's release is noisy, so later figures hold."""
    made = statement(make_pipeline(DPMaxAbsScaler(epsilon=1.0, random_state=0), clf()), data)
    assert names(made) == ["DPMaxAbsScaler 'dpmaxabsscaler'"]
    assert all(part.void_because_of == () for part in made.parts)


@pytest.mark.parametrize("seed", [0, np.random.RandomState(1)])
def test_fits_that_share_a_seed_have_no_total(data, rng, seed):
    """Their noise cancels in differences: members of OneVsRest, voters with one integer."""
    X = rng.normal(size=(N, 3))
    three = X, np.argmax(X, axis=1)
    models = [
        (OneVsRestClassifier(clf(random_state=seed)), three),
        (VotingClassifier([(name, clf(random_state=seed)) for name in "ab"]), data),
    ]
    for model, rows in models:
        made = statement(model, rows)
        assert made.epsilon_of_releases == math.inf
        assert "the noise of DPSGDClassifier" in names(made)
        assert any("share noise" in gap.reason for gap in made.not_covered)


def test_fits_with_different_seeds_have_a_total(data):
    """For readers who have no seed, noise from different integers is independent."""
    made = statement(
        VotingClassifier([("a", clf(random_state=1)), ("b", clf(random_state=2))]), data
    )
    assert made.epsilon == math.inf
    assert made.epsilon_of_releases == get_epsilon(clf().fit(*data).mechanisms_ * 2, 1e-5)


# Parts that were changed


def test_members_that_were_dropped_after_the_fit_leave_no_promise(data):
    """The settings do not say any more what was fitted, though the fitted members stay."""
    model = VotingClassifier([("a", clf()), ("b", clf())]).fit(*data)
    made = privacy_statement(model.set_params(a="drop"))
    assert names(made) == ["the parts of VotingClassifier"]
    assert made.epsilon == made.epsilon_of_releases == math.inf


def test_what_a_frozen_part_leaves_uncovered_voids_what_follows_it(data):
    """It was fitted on the rows before, and moves them now."""
    frozen = FrozenEstimator(StandardScaler().fit(data[0]))
    made = statement(make_pipeline(frozen, clf()), data)
    (gap,) = names(made)
    assert gap == "StandardScaler 'frozenestimator > estimator'"
    assert made.parts[0].void_because_of == (gap,)


# Searches and splitters


def test_a_threshold_is_free_where_it_is_given_and_not_covered_where_it_is_tuned(data):
    """Tuning looks at exact scores."""
    model = FixedThresholdClassifier(make_pipeline(Normalizer(), clf()), threshold=0.1)
    made = statement(model, data)
    assert made.covers_everything
    assert made.epsilon == model.estimator_[-1].epsilon_
    assert made.parts[0].name == "DPSGDClassifier 'estimator > dpsgdclassifier'"
    assert str(made).startswith("Privacy statement for FixedThresholdClassifier(Pipeline(")
    plain = FixedThresholdClassifier(LogisticRegression()).fit(*data)
    assert names(privacy_statement(plain)) == ["LogisticRegression 'estimator'"]
    tuned = TunedThresholdClassifierCV(clf(), cv=KFold(2))
    made = statement(tuned, data)
    assert made.epsilon == made.epsilon_of_releases == math.inf


# Fits that nobody kept


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        GridSearchCV(clf(), {"alpha": [0.0, 0.1]}, cv=KFold(3)),
        GridSearchCV(clf(), {}, cv=[(np.arange(60), np.arange(60, N))]),
        StackingClassifier([("a", clf())], final_estimator=clf(), cv=KFold(2)),
        CalibratedClassifierCV(clf(), cv=KFold(2)),
        BaggingClassifier(clf(), n_estimators=2),
        TunedThresholdClassifierCV(clf(), cv=KFold(2)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_fits_that_nobody_kept_leave_no_total(data, model):
    """What they cost is not on the object, alone or inside another one."""
    for outer in (model, VotingClassifier([("a", model), ("b", clf())])):
        made = statement(outer, data)
        assert made.epsilon == made.epsilon_of_releases == math.inf


def test_a_search_says_how_many_fits_nobody_kept_and_what_counts_them(data):
    """With a budget, its ledger is named with what it holds; without, the remedy is."""
    search = GridSearchCV(clf(), {"alpha": [0.0, 0.1]}, cv=KFold(3))
    made = statement(search, data)
    assert names(made) == [
        "the choice of GridSearchCV",
        "the scores of GridSearchCV",
        "the fits of GridSearchCV",
    ]
    assert "made 6 fits that nobody kept" in made.not_covered[2].reason
    assert "budget=" in made.not_covered[2].instead
    assert made.ledgers == ()
    budget = PrivacyBudget(9.0, 1e-5)
    counted = privacy_statement(budget.attach(search).fit(*data))
    assert counted.epsilon == math.inf
    assert "ledger" in counted.not_covered[2].instead
    assert counted.ledgers == (budget.in_short(),)
    late = clf().fit(*data).set_params(budget=budget)
    assert "Fits on the object that are not in it: 1." in privacy_statement(late).ledgers[0]
    assert "7 fits" in budget.in_short()
    assert budget.in_short() in str(counted)


# Units


class OfUnits(DPSGDClassifier):
    """Stands for a fit that protected units of `privacy_unit`."""

    def fit(self, X, y):
        super().fit(X, y)
        self.unit_ = "unit"
        return self

    def _privacy_releases(self):
        return list(self.mechanisms_)


def of_units():
    return OfUnits(noise_multiplier=4.0, batch_size=12, n_epochs=1)


def test_the_statement_names_the_unit(data):
    """It is the estimator's own, and rows where the fit knew of no unit."""
    made = statement(of_units(), data)
    assert made.unit == "unit"
    assert "one unit" in made.neighbours
    assert privacy_statement(clf().fit(*data)).unit == "row"


def test_parts_with_different_units_are_not_covered_together(data):
    """Composition adds up promises about the same neighbours only."""
    made = statement(VotingClassifier([("a", clf()), ("b", of_units())]), data)
    assert names(made) == ["the unit of privacy"]
    assert made.epsilon == math.inf


def test_units_that_are_not_as_many_or_not_called_alike_are_not_added_up(data):
    """People and visits are both units; twenty visits of one person are twenty units."""
    X, y = data
    person, visit = np.arange(N) // 20, np.arange(N)

    def of(ids, name=None):
        model = DPSGDClassifier(noise_multiplier=4.0, classes=[0, 1], unit_name=name)
        return FrozenEstimator(model.fit(X, y, privacy_unit=ids))

    def total(one, other):
        return statement(VotingClassifier([("a", one), ("b", other)]), data)

    assert names(total(of(person), of(visit))) == ["the unit of privacy"]
    assert total(of(person), of(visit)).epsilon_of_releases == math.inf
    assert names(total(of(person, "person"), of(person, "group"))) == ["the unit of privacy"]
    assert names(total(of(person, "person"), of(person))) == ["the unit of privacy"]
    made = total(of(person, "patient"), of(person, "patient"))
    assert made.covers_everything
    assert "every single patient, with all its rows" in str(made)
    assert total(of(person), of(person)).covers_everything
    rows = FrozenEstimator(clf().fit(X[:100], y[:100]))
    assert names(total(rows, clf())) == ["the unit of privacy"]


def test_a_named_column_of_ids_names_the_unit(data):
    """A data frame's column knows what it holds."""
    pandas = pytest.importorskip("pandas")
    ids = pandas.Series(np.arange(N) // 3, name="patient_id")
    model = clf(classes=[0, 1]).fit(*data, privacy_unit=ids)
    assert model.unit_name_ == "patient_id"
    assert privacy_statement(model).unit_name == "patient_id"


# Forms and errors


def test_a_statement_of_anything_is_ready_for_json(data):
    """Strict JSON has no infinity, and a statement over a gap has an infinite epsilon."""
    made = statement(make_pipeline(StandardScaler(), clf()), data)
    values = json.loads(json.dumps(made.to_dict(), allow_nan=False))
    assert values["epsilon"] == "inf"
    assert values["versions"] == [values["version"]]
    assert "No promise" in made._repr_html_()


def test_what_is_not_fitted_has_no_statement():
    """There are no releases to count yet, nor sizes to plan them from."""
    with pytest.raises(NotFittedError):
        privacy_statement(clf())
    with pytest.raises(NotFittedError, match="give n_rows"):
        privacy_statement("a model")


def test_settings_are_checked_by_name(data):
    """Sizes are those of a plan: a fitted model knows its own, and others would be ignored."""
    model = clf().fit(*data)
    with pytest.raises(ValueError, match="delta must lie"):
        privacy_statement(model, delta=0)
    with pytest.raises(ValueError, match="n_rows is needed beside them"):
        privacy_statement(model, n_features=3)
    with pytest.raises(ValueError, match="leave n_rows out"):
        privacy_statement(model, n_rows=N)


def test_a_statement_reads_no_row_and_changes_nothing(data):
    """It is made from public numbers, whoever makes it and however often."""
    search = GridSearchCV(clf(), {"alpha": [0.0, 0.1]}, cv=KFold(3, shuffle=True)).fit(*data)
    first = privacy_statement(search)
    assert privacy_statement(search) == first


@pytest.mark.parametrize("form", ["default", "pandas"])
@pytest.mark.parametrize("n_jobs", [None, pytest.param(2, marks=pytest.mark.slow)])
def test_a_table_of_mixed_columns_is_covered_in_every_form_of_output(rng, form, n_jobs):
    """As people write it; fits leave other attributes behind for frames and worker processes."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": rng.normal(size=N), "fee": rng.normal(size=N)})
    frame["region"] = rng.choice(["n", "s"], N)
    filled = SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True)
    codes = OneHotEncoder(categories=[["n", "s"]], handle_unknown="ignore", sparse_output=False)
    columns = ColumnTransformer(
        [
            ("numbers", make_pipeline(BoundedScaler((-9, 9)), filled), ["age"]),
            ("sizes", make_pipeline(BoundedScaler((-9, 9)), DPMaxAbsScaler(0.3)), ["fee"]),
            ("codes", codes, ["region"]),
        ],
        n_jobs=n_jobs,
    ).set_output(transform=form)
    model = make_pipeline(columns, clf()).fit(frame, np.arange(N) % 2)
    assert names(privacy_statement(model)) == []
    assert [part.n_fits for part in privacy_statement(model).parts] == [1, 1]
