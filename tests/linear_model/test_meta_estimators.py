"""It works wherever a scikit-learn classifier works; warnings are errors here."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline

from skdp import DPSGDClassifier
from skdp.preprocessing import BoundedScaler


@pytest.fixture
def cancer_frame():
    data = load_breast_cancer(as_frame=True)
    X = data.data
    return X, data.target, (X.min().to_numpy() - 1, X.max().to_numpy() + 1)


def pipeline(bounds, **params):
    return make_pipeline(BoundedScaler(bounds=bounds), DPSGDClassifier(random_state=0, **params))


def test_a_pipeline_takes_a_frame_and_keeps_its_names(cancer_frame):
    """Scaler by public bounds, then the classifier."""
    X, y, bounds = cancer_frame
    model = pipeline(bounds).set_output(transform="pandas").fit(X, y)
    assert model.score(X, y) > 0.85
    assert model[0].feature_names_in_.tolist() == X.columns.tolist()
    assert model[-1].feature_names_in_.tolist() == X.columns.tolist()


@pytest.mark.parametrize(
    "grid",
    [
        {"dpsgdclassifier__epsilon": [0.3, 3.0]},
        {"dpsgdclassifier__clip_threshold": [0.5, 1.0, 2.0]},
    ],
    ids=["epsilon", "clip_threshold"],
)
def test_grid_search(grid, cancer_frame):
    """Each candidate is fitted, and the best one again."""
    X, y, bounds = cancer_frame
    search = GridSearchCV(pipeline(bounds), grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.8
    assert set(search.best_params_) == set(grid)


def test_a_larger_budget_scores_better_in_a_grid_search(cancer_frame):
    """The budget reaches the fits."""
    X, y, bounds = cancer_frame
    grid = {"dpsgdclassifier__epsilon": [0.01, 5.0]}
    search = GridSearchCV(pipeline(bounds), grid, cv=3).fit(X, y)
    assert search.best_params_ == {"dpsgdclassifier__epsilon": 5.0}


def test_cross_validation(cancer_frame):
    """Scores and predictions."""
    X, y, bounds = cancer_frame
    folds = KFold(5, shuffle=True, random_state=0)
    assert cross_val_score(pipeline(bounds), X, y, cv=folds).mean() > 0.85
    assert cross_val_predict(pipeline(bounds), X, y, method="predict_proba").shape == (569, 2)


def test_clone_set_params_and_pickle(two_classes):
    """A clone is unfitted and equal in its parameters; a pickle predicts the same."""
    X, y = two_classes
    model = DPSGDClassifier(0.7, batch_size=50, random_state=0, store_path=True).fit(X, y)
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert not hasattr(fresh, "coef_")
    assert fresh.set_params(epsilon=2.0).epsilon == 2.0
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.mechanisms_ == model.mechanisms_


def test_frames_with_text_labels_and_changed_columns(two_classes):
    """Names are checked in prediction, as everywhere in scikit-learn."""
    X, y = two_classes
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    labels = pd.Series(np.where(y == 1, "yes", "no"))
    model = DPSGDClassifier(random_state=0).fit(frame, labels)
    assert set(model.predict(frame)) == {"yes", "no"}
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["b", "a", "c"]])


@pytest.mark.parametrize(
    "wrap",
    [
        lambda model: VotingClassifier([("one", model), ("two", clone(model))], voting="soft"),
        lambda model: BaggingClassifier(model, n_estimators=3, random_state=0),
        lambda model: OneVsRestClassifier(model),
        lambda model: CalibratedClassifierCV(model, cv=3),
        lambda model: StackingClassifier([("one", model)], final_estimator=model, cv=3),
    ],
    ids=["voting", "bagging", "one versus rest", "calibrated", "stacking"],
)
def test_it_fits_inside_ensembles(wrap, three_classes):
    """Text labels included, which most of them number."""
    X, y = three_classes
    labels = np.array(["red", "green", "blue"])[y]
    ensemble = wrap(DPSGDClassifier(3.0, random_state=0)).fit(X, labels)
    assert ensemble.score(X, labels) > 0.5


def test_declared_text_classes_fail_clearly_where_labels_are_numbered(three_classes):
    """The message names the reason, since it is not the user's code that numbered them."""
    X, y = three_classes
    labels = np.array(["red", "green", "blue"])[y]
    model = DPSGDClassifier(classes=["red", "green", "blue"], random_state=0)
    with pytest.raises(ValueError, match="numbers the labels before fit"):
        VotingClassifier([("one", model)]).fit(X, labels)
