"""What a fit would promise, before a row is read: the same gaps and figures as after it."""

import math

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

from skdp import DPSGDClassifier, PrivacyBudget, privacy_statement
from skdp.preprocessing import BoundedScaler, DPMaxAbsScaler, DPStandardScaler
from skdp.privacy import get_epsilon

N = 200
SIZES = {"n_rows": N, "n_features": 3, "n_classes": 3}


def clf(epsilon=0.5, **rest):
    return DPSGDClassifier(epsilon, n_epochs=2, **rest)


def bounded():
    return BoundedScaler((-9, 9))


def table(*parts, **settings):
    settings = {"remainder": "passthrough", "sparse_threshold": 0, **settings}
    return ColumnTransformer([(name, part, columns) for name, part, columns in parts], **settings)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(N, 3))
    return X, np.argmax(X, axis=1)


def names(statement):
    return [gap.name for gap in statement.not_covered]


MODELS = [
    clf(),
    make_pipeline(bounded(), clf()),
    make_pipeline(DPMaxAbsScaler(0.2), "passthrough", clf()),
    make_pipeline(table(("a", DPMaxAbsScaler(0.2), [0]), ("b", bounded(), [1])), clf()),
    make_pipeline(table(("a", make_pipeline(bounded(), DPMaxAbsScaler(0.2)), [0, 1])), clf()),
    make_pipeline(FeatureUnion([("a", DPMaxAbsScaler(0.2)), ("b", bounded())]), clf()),
    VotingClassifier([("a", clf()), ("b", make_pipeline(DPMaxAbsScaler(0.2), clf(0.3)))]),
    OneVsRestClassifier(clf()),
    OneVsRestClassifier(make_pipeline(DPMaxAbsScaler(0.2), clf())),
    make_pipeline(StandardScaler(), clf()),
    VotingClassifier([("a", clf()), ("b", make_pipeline(StandardScaler(), clf()))]),
    make_pipeline(table(("a", StandardScaler(), [0])), clf()),
    clf(random_state=0),
    VotingClassifier([("a", clf(random_state=0)), ("b", clf(random_state=0))]),
    GridSearchCV(clf(), {"alpha": [0.0, 0.1]}, cv=KFold(2)),
    StackingClassifier([("a", clf())], final_estimator=clf(), cv=KFold(2)),
    CalibratedClassifierCV(clf(), cv=KFold(2)),
    BaggingClassifier(clf(), n_estimators=2),
]


@pytest.mark.parametrize("model", MODELS, ids=range(len(MODELS)))
def test_a_plan_says_what_the_fit_then_says(data, model):
    """The same gaps, and the same figure to the last digit: one walk makes both."""
    model = clone(model)
    planned = privacy_statement(model, **SIZES)
    made = privacy_statement(model.fit(*data))
    assert names(planned) == names(made)
    assert planned.epsilon == made.epsilon
    assert planned.epsilon_of_releases == made.epsilon_of_releases
    assert planned.is_planned
    assert not made.is_planned
    assert "a fit of" in str(planned).splitlines()[0]


@pytest.mark.parametrize("model", MODELS[:9], ids=range(9))
def test_what_is_covered_can_be_reserved_at_the_figure_of_the_plan(data, model):
    """And settled by the fit, at the same cost."""
    model, budget = clone(model), PrivacyBudget(9.0, 1e-5)
    budget.reserve(model, **SIZES)
    reserved = budget.epsilon_if_fixed
    assert reserved == privacy_statement(model, delta=1e-5, **SIZES).epsilon
    budget.spend(model.fit(*data))
    assert budget.epsilon_if_fixed == pytest.approx(reserved, rel=1e-9)
    assert not budget.overspent


def test_two_classes_make_one_against_the_rest():
    """scikit-learn fits a single member then."""
    planned = privacy_statement(OneVsRestClassifier(clf()), **{**SIZES, "n_classes": 2})
    assert planned.parts[0].n_fits == 1
    assert privacy_statement(OneVsRestClassifier(clf()), **SIZES).parts[0].n_fits == 3


def test_a_size_that_is_needed_is_asked_for_by_name():
    """A guess would plan another fit; noise given by hand needs no number of columns."""
    with pytest.raises(ValueError, match="give n_features"):
        privacy_statement(clf(), n_rows=N)
    assert privacy_statement(DPSGDClassifier(noise_multiplier=5), n_rows=N).covers_everything
    for step in (
        PolynomialFeatures(),
        table(("a", OneHotEncoder(categories=[["x", "y"]]), [0])),
        FeatureUnion([("a", PolynomialFeatures())]),
    ):
        with pytest.raises(ValueError, match=f"which {type(step).__name__} changes: give X_sample"):
            privacy_statement(make_pipeline(step, clf()), n_rows=N, n_features=3)
    with pytest.raises(ValueError, match="give n_classes"):
        privacy_statement(OneVsRestClassifier(clf()), n_rows=N, n_features=3)
    with pytest.raises(ValueError, match="n_rows is needed beside them"):
        privacy_statement(clf(), n_features=3)


def test_made_up_rows_tell_the_columns_behind_an_encoder(rng):
    """Without a private row, as many as the fit then finds."""
    pandas = pytest.importorskip("pandas")
    encoder = OneHotEncoder(categories=[["n", "s", "w"]], handle_unknown="ignore")
    columns = table(
        ("codes", encoder, ["region"]),
        ("curves", make_pipeline(BoundedScaler((0, 9)), PolynomialFeatures(3)), ["age"]),
        ("sizes", DPMaxAbsScaler(0.2), ["fee"]),
        remainder="drop",
    )
    model = make_pipeline(columns, clf())
    made_up = pandas.DataFrame({"region": ["n"], "age": [1.0], "fee": [2.0]})
    planned = privacy_statement(model, n_rows=N, X_sample=made_up)
    frame = pandas.DataFrame(
        {
            "region": rng.choice(["n", "s"], N),
            "age": rng.uniform(0, 9, N),
            "fee": rng.exponential(size=N),
        }
    )
    made = privacy_statement(model.fit(frame, np.arange(N) % 2))
    assert planned.mechanisms == made.mechanisms


def test_made_up_texts_tell_the_columns_behind_a_vectorizer():
    """In a list, an array or a series, as the vectorizer takes them."""
    pandas = pytest.importorskip("pandas")
    text = make_pipeline(HashingVectorizer(n_features=32), clf())
    alone = privacy_statement(clf(), n_rows=N, n_features=32)
    for texts in (["two words"], np.array(["two words"]), pandas.Series(["two words"])):
        assert privacy_statement(text, n_rows=N, X_sample=texts).epsilon == alone.epsilon
    with pytest.raises(ValueError, match="X_sample"):
        privacy_statement(text, n_rows=N, X_sample=np.array([[1.0]]))


def test_made_up_rows_enter_no_budget_and_fit_nothing():
    """Steps are copied, and private ones left out."""
    budget = PrivacyBudget(1.0, 1e-5)
    model = make_pipeline(
        table(("a", make_pipeline(DPMaxAbsScaler(0.2, budget=budget), PolynomialFeatures()), [0])),
        clf(budget=budget),
    )
    made = privacy_statement(model, n_rows=N, X_sample=np.ones((2, 3)))
    assert made.covers_everything
    assert made.ledgers == (budget.in_short(),)
    assert "0 fits" in budget.in_short()
    assert not hasattr(model[0], "transformers_")


def test_what_protects_rows_cannot_be_planned_for_units():
    """Several rows of a unit move a release further than the noise for one row covers."""
    planned = privacy_statement(
        make_pipeline(DPStandardScaler(0.2, bounds=(0, 1)), clf()), unit="unit", **SIZES
    )
    assert names(planned) == ["DPStandardScaler 'dpstandardscaler'"]
    assert "protects rows" in planned.not_covered[0].reason
    alone = privacy_statement(clf(), unit="unit", **SIZES)
    assert alone.unit == "unit"
    named = privacy_statement(clf(unit_name="patient"), unit="unit", **SIZES)
    assert "for every single patient" in str(named)
    assert math.isfinite(alone.epsilon)


def test_fits_that_are_there_already_count_in_a_plan(data):
    """A frozen one, and a template that its clone will not replace."""
    fitted = clf().fit(*data)
    frozen = VotingClassifier([("a", FrozenEstimator(fitted)), ("b", clf())])
    template = FixedThresholdClassifier(DPSGDClassifier(0.5, n_epochs=2).fit(data[0], data[1] > 0))
    for model, fits in ((frozen, [fitted, fitted]), (template, [template.estimator] * 2)):
        n_classes = len(fits[0].classes_)
        planned = privacy_statement(model, n_rows=N, n_features=3, n_classes=n_classes)
        assert planned.epsilon == pytest.approx(
            get_epsilon([one for fit in fits for one in fit.mechanisms_], planned.delta), rel=1e-9
        )


def test_wrong_sizes_are_refused_by_name():
    """A plan for sizes that no data can have would state a figure that no fit keeps."""
    for wrong in ({"n_rows": 0}, {"n_classes": 0}, {"n_features": -1}, {"unit": "person"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            privacy_statement(clf(), **{**SIZES, **wrong})
    with pytest.raises(ValueError, match="differs from the columns of X_sample"):
        privacy_statement(clf(), X_sample=np.ones((1, 2)), **SIZES)
    for wrong in (3, "a text"):
        with pytest.raises(ValueError, match="X_sample must be a frame, an array or a list"):
            privacy_statement(clf(), n_rows=N, X_sample=wrong)
