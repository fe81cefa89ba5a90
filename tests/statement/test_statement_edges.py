"""Where a finite figure could be too small: settings changed since, odd folds, trusted classes."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import StackingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skdp import DPSGDClassifier, privacy_statement
from skdp.model_selection import UnitKFold
from skdp.privacy import get_epsilon

N = 120


def clf(noise=6.0, **rest):
    return DPSGDClassifier(noise_multiplier=noise, batch_size=12, n_epochs=2, **rest)


def stack(member, folds=2):
    return StackingClassifier([("a", member)], final_estimator=clf(), cv=KFold(folds))


@pytest.fixture
def data(rng):
    X = rng.normal(size=(N, 3))
    return X, (X[:, 0] > 0).astype(int)


def test_fits_whose_settings_are_refused_only_now_are_not_free(data):
    """With validation switched off they ran, whatever they cost."""
    with config_context(skip_parameter_validation=True):
        model = stack(clf(average=1)).fit(*data)
    assert privacy_statement(model).epsilon == np.inf
    assert privacy_statement(model).epsilon_of_releases == np.inf


def test_settings_changed_after_the_fit_do_not_lower_what_folds_cost(data):
    """The members that were kept have the settings of the fit."""
    model = stack(clf(1.0)).fit(*data)
    before = privacy_statement(model).epsilon
    model.set_params(a__noise_multiplier=1000.0)
    assert privacy_statement(model).epsilon >= before * (1 - 1e-9)
    model.set_params(cv="prefit")
    assert privacy_statement(model).epsilon == np.inf


@pytest.mark.filterwarnings("ignore:Number of classes in training fold")
def test_a_fold_may_lack_a_class_and_then_costs_something_else(data):
    """Sorted labels and folds in a row: each of the fits on folds saw two classes of three."""
    X = data[0]
    y = np.sort(np.arange(N) % 3)
    seen = []

    class Seen(DPSGDClassifier):
        def fit(self, X, y):
            super().fit(X, y)
            seen.append(self)
            return self

    settings = {"epsilon": 0.5}
    for folds in (3, 4):
        model = stack(DPSGDClassifier(**settings), folds).fit(X, y)
        said = privacy_statement(model).epsilon
        seen.clear()
        stack(Seen(**settings), folds).fit(X, y)
        on_all, *on_folds = seen
        costs = [
            get_epsilon(
                [m for fit in (on_all, *on_folds[:left], *on_folds[left + 1 :])
                 for m in fit.mechanisms_] + list(model.final_estimator_.mechanisms_),
                1e-5,
            )
            for left in range(folds)
        ]  # fmt: skip
        assert said >= max(costs) * (1 - 1e-6)


def test_a_splitter_that_only_says_it_splits_units_is_not_trusted(data):
    """A subclass may split by what is in the rows."""

    class ByValue(UnitKFold):
        def split(self, X, y=None, groups=None):
            order = np.argsort(X[:, 1])
            yield order[: N // 2], order[N // 2 :]
            yield order[N // 2 :], order[: N // 2]

    person = np.arange(N) // 2
    search = GridSearchCV(clf(), {"alpha": [0.0]}, cv=ByValue(2))
    search.fit(*data, groups=person, privacy_unit=person)
    made = privacy_statement(search)
    assert made.epsilon == made.epsilon_of_releases == np.inf


def test_units_without_rows_leave_the_sizes_of_folds_unknown(data):
    """They are dealt out like the others, so folds need not be even."""
    person = np.arange(N) // 2
    for units, known in ((None, True), (np.arange(60), True), (np.arange(200), False)):
        cv = UnitKFold(3, units=units, random_state=0)
        search = GridSearchCV(clf(), {"alpha": [0.0]}, cv=cv)
        search.fit(*data, groups=person, privacy_unit=person)
        assert np.isfinite(privacy_statement(search).epsilon_of_releases) == known


@pytest.mark.parametrize(
    "settings", [{"inverse_func": lambda X: X}, {"inv_kw_args": {"out": np.empty((N, 3))}}]
)
def test_an_inverse_that_was_not_declared_is_not_free(data, settings):
    """`fit` sends rows through it, to see whether it is an inverse."""
    step = FunctionTransformer(np.tanh, check_inverse=False, **settings)
    model = make_pipeline(step, clf()).fit(*data)
    assert privacy_statement(model).epsilon == np.inf
    known = FunctionTransformer(np.arcsinh, inverse_func=np.sinh, check_inverse=False)
    assert privacy_statement(make_pipeline(known, clf()).fit(*data)).covers_everything


def test_a_sample_of_a_folds_rows_tears_units_apart(data):
    """A halving search fits on some rows of a fold, and how many units these hold is private."""
    person = np.arange(N) // 2
    search = HalvingGridSearchCV(
        clf(),
        {"alpha": [0.0, 0.1]},
        cv=UnitKFold(2, random_state=0),
        factor=2,
        min_resources=60,
        random_state=0,
    )
    search.fit(*data, groups=person, privacy_unit=person)
    assert privacy_statement(search).epsilon_of_releases == np.inf


def test_candidates_that_change_the_columns_leave_automatic_noise_unknown(data):
    """What "auto" makes of a fold depends on how many columns its candidate had."""
    columns = ColumnTransformer([("kept", "passthrough", [0, 1, 2])], sparse_threshold=0)
    grid = {"columns__transformers": [columns.transformers, [("kept", "passthrough", [0])]]}
    for member, known in ((clf(), True), (DPSGDClassifier(epsilon=1.0), False)):
        pipeline = Pipeline([("columns", columns), ("member", member)])
        search = GridSearchCV(pipeline, grid, cv=KFold(2)).fit(*data)
        assert np.isfinite(privacy_statement(search).epsilon_of_releases) == known
