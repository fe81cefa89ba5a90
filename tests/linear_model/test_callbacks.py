"""scikit-learn's callbacks see epochs and noisy models, never rows; stopping is no discount."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skdp import DPSGDClassifier

callbacks = pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")


class Witness:
    """Records what each hook is given; asks to stop after so many epochs."""

    def __init__(self, stop_after=None):
        self.stop_after = stop_after
        self.tasks, self.given, self.models = [], [], []
        self.n_open = 0

    def setup(self, estimator, context):
        self.n_open += 1

    def teardown(self, estimator, context):
        self.n_open -= 1

    def on_fit_task_begin(self, estimator, context, *, X, y, metadata):
        self.given += [X, y, metadata]

    def on_fit_task_end(self, estimator, context, *, X, y, metadata, fitted_estimator):
        self.given += [X, y, metadata]
        self.tasks.append(context.task_name)
        self.models.append(fitted_estimator)
        return self.tasks.count("epoch") == self.stop_after


@pytest.fixture
def data():
    return make_classification(n_samples=300, n_features=5, random_state=0)


def model_with(witness=None, **params):
    settings = {"noise_multiplier": 4.0, "n_epochs": 6, "batch_size": 40, "random_state": 0}
    model = DPSGDClassifier(**(settings | params))
    return model.set_callbacks(witness) if witness else model


def assert_same_model(one, other):
    names = ["coef_", "intercept_", "epsilon_", "n_steps_", "clip_fraction_", "mechanisms_"]
    for name in names:
        np.testing.assert_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("batch_size", [40, 300, 7])
def test_each_epoch_is_a_task_and_watching_changes_nothing(data, average, batch_size):
    """The model is the one without callbacks, to the last bit."""
    witness = Witness()
    watched = model_with(witness, average=average, batch_size=batch_size).fit(*data)
    alone = model_with(average=average, batch_size=batch_size).fit(*data)
    assert witness.tasks == ["epoch"] * 6 + ["fit"]
    assert witness.n_open == 0
    assert_same_model(watched, alone)


@pytest.mark.parametrize("average", [True, False])
def test_each_epochs_model_is_the_stage_after_it(data, average):
    """As staged_predict_proba has it, without the path being kept."""
    witness = Witness()
    model_with(witness, average=average).fit(*data)
    reference = model_with(average=average, store_path=True).fit(*data)
    stages = list(reference.staged_predict_proba(data[0]))
    assert len(stages) == 6
    for model, stage in zip(witness.models[:6], stages, strict=True):
        np.testing.assert_allclose(model.predict_proba(data[0]), stage, rtol=1e-12)


def test_no_hook_is_given_rows_or_labels(data):
    """What a callback computes of training rows would not be private."""
    witness = Witness()
    model_with(witness).fit(*data, privacy_unit=np.arange(300) // 3)
    assert witness.given
    assert all(given is None for given in witness.given)


def test_a_scoring_monitor_has_nothing_to_score(data):
    """Scores on training rows are not private, so none is logged."""
    monitor = callbacks.ScoringMonitor(scoring="accuracy")
    model_with(monitor).fit(*data)
    logged = monitor.get_logs()
    rows = [row for log in (logged if isinstance(logged, list) else [logged]) for row in log.data]
    assert not any("accuracy" in row for row in rows)


@pytest.mark.parametrize("store_path", [True, False])
def test_stopping_early_takes_fewer_steps_at_the_cost_of_all(data, store_path):
    """A stopping time chosen by looking is no smaller release."""
    witness = Witness(stop_after=3)
    stopped = model_with(witness, store_path=store_path).fit(*data)
    whole = model_with(store_path=True).fit(*data)
    assert witness.tasks == ["epoch"] * 3 + ["fit"]
    assert stopped.n_steps_ == 23 < whole.n_steps_ == 45
    assert stopped.n_iter_ == 4
    assert stopped.epsilon_ == whole.epsilon_
    assert stopped.mechanisms_ == whole.mechanisms_
    stage = list(whole.staged_predict_proba(data[0]))[2]
    np.testing.assert_allclose(stopped.predict_proba(data[0]), stage, rtol=1e-12)
    if store_path:
        assert len(stopped.coef_path_) == 23
        last = list(stopped.staged_predict_proba(data[0]))
        assert len(last) == 3
        np.testing.assert_array_equal(last[-1], stopped.predict_proba(data[0]))


def test_callbacks_are_not_part_of_the_model(data):
    """A pickle of the fitted model without them predicts alike."""
    model = model_with(Witness()).fit(*data)
    again = pickle.loads(pickle.dumps(model.set_callbacks()))
    np.testing.assert_array_equal(again.predict_proba(data[0]), model.predict_proba(data[0]))


@pytest.mark.slow
def test_a_bar_on_a_search_counts_epochs_inside(data, capsys):
    """In two processes; every fit has its bar."""
    search = GridSearchCV(model_with(n_epochs=10), {"alpha": [0.0, 0.1]}, cv=2, n_jobs=2)
    search.set_callbacks(callbacks.ProgressBar()).fit(*data)
    shown = capsys.readouterr().out
    assert "GridSearchCV - fit" in shown
    assert "DPSGDClassifier - fit" in shown
    assert search.best_estimator_.n_steps_ == 75


def test_a_bar_reaches_through_a_pipeline_where_it_may_go_deep(data, capsys):
    """scikit-learn's default depth ends at the steps of the outermost object."""
    pipeline = make_pipeline("passthrough", model_with(n_epochs=10))
    search = GridSearchCV(pipeline, {"dpsgdclassifier__alpha": [0.0]}, cv=2)
    search.set_callbacks(callbacks.ProgressBar(max_propagation_depth=None)).fit(*data)
    assert "DPSGDClassifier - fit" in capsys.readouterr().out


def test_a_bar_on_the_classifier_inside_a_search_is_refused_by_scikit_learn(data):
    """So callbacks go on the outermost object; the docs say it too."""
    model = model_with(callbacks.ProgressBar())
    search = GridSearchCV(model, {"noise_multiplier": [3.0]}, cv=2)
    with pytest.raises((TypeError, ValueError), match=r"meta-estimator|fits failed"):
        search.fit(*data)
