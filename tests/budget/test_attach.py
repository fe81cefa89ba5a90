"""`attach` finds every private part, however deep, and changes nothing but its own clone."""

import pytest
from budget_stubs import DELTA, entries, gaussian, small
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer

from skdp import PrivacyBudget
from skdp.preprocessing import BoundedScaler, DPMaxAbsScaler, DPStandardScaler
from skdp.statement._known import parts_inside


class Unheard(BaseEstimator):
    """A meta-estimator that nobody knows, with a list of models, and others under names."""

    def __init__(self, models=(), by_name=None, pair=None):
        self.models = models
        self.by_name = by_name
        self.pair = pair

    def fit(self, X, y):
        wanted = [*self.models, *(self.by_name or {}).values(), *(self.pair or ())]
        self.fitted_ = [clone(model).fit(X, y) for model in wanted]
        return self


def scaler(**settings):
    return DPStandardScaler(0.1, bounds=(-9, 9), **settings)


def deep():
    """A search over pipelines with private steps in columns, and candidates that are models."""
    columns = ColumnTransformer(
        [
            ("a", make_pipeline(BoundedScaler(bounds=(-9, 9)), scaler()), [0]),
            ("b", DPMaxAbsScaler(0.1), [1, 2]),
        ]
    )
    return GridSearchCV(
        Pipeline([("columns", columns), ("model", small())]),
        [
            {"model": [small(40.0), make_pipeline(Normalizer(), small(30.0))]},
            {"columns__b": ["passthrough", DPMaxAbsScaler(0.2)]},
        ],
        cv=KFold(2),
    )


def private_parts(model):
    return [part for part in parts_inside(model) if hasattr(type(part), "_privacy_releases")]


@pytest.mark.parametrize(
    ("model", "n_private"),
    [
        (small(), 1),
        (deep(), 6),
        (Unheard([small(), Normalizer(), small()], {"c": make_pipeline(small())}), 3),
        (Unheard(pair=(small(), [small()])), 2),
        (StackingClassifier([("a", small())], final_estimator=small()), 2),
        (GridSearchCV(Pipeline([("m", LogisticRegression())]), {"m": [small()]}), 1),
    ],
)
def test_every_private_part_gets_the_budget(model, n_private):
    """In a clone; the model that was passed has none afterwards."""
    budget = PrivacyBudget(5.0, DELTA)
    copy = budget.attach(model)
    assert len(private_parts(copy)) == len(private_parts(model)) == n_private
    assert all(part.budget is budget for part in private_parts(copy))
    assert all(part.budget is None for part in private_parts(model))
    assert {id(part) for part in private_parts(copy)}.isdisjoint(map(id, private_parts(model)))
    assert type(copy) is type(model)


def test_every_fit_of_a_deep_model_is_counted(rows, trained):
    """By hand: 4 candidates and 2 folds, and once more; scalers in front each time."""
    X, y = rows
    budget = PrivacyBudget(5.0, DELTA)
    search = budget.attach(deep()).fit(X, y)
    names = [entry["name"] for entry in entries(budget).values()]
    assert names.count("DPSGDClassifier") == len(trained) == 9
    assert names.count("DPStandardScaler") == 9
    # Half of the second grid goes without it.
    refitted_without = search.best_params_.get("columns__b") == "passthrough"
    assert names.count("DPMaxAbsScaler") == 6 + (not refitted_without)


def test_every_fit_of_a_class_that_nobody_knows_is_counted(rows, trained):
    """It has neither `estimator` nor anything else that tells what is in it."""
    X, y = rows
    budget = PrivacyBudget(5.0, DELTA)
    budget.attach(Unheard([small(), small()], {"c": small()}, (small(),))).fit(X, y)
    assert len(entries(budget)) == len(trained) == 4


def test_another_budget_is_replaced(rows):
    """A model counts on one ledger, the one that was attached last."""
    X, y = rows
    first, second = PrivacyBudget(5.0, DELTA), PrivacyBudget(5.0, DELTA)
    model = first.attach(small())
    second.attach(model).fit(X, y)
    assert (len(entries(first)), len(entries(second))) == (0, 1)
    assert model.budget is first


def test_what_is_frozen_stays_as_it_is(rows):
    """It is fitted and shared, so its budget is that of its own fit; what is beside it gets one."""
    X, y = rows
    own, budget = PrivacyBudget(5.0, DELTA), PrivacyBudget(5.0, DELTA)
    inner = make_pipeline(BoundedScaler(bounds=(-9, 9)), small(budget=own)).fit(X, y)
    vote = VotingClassifier([("old", FrozenEstimator(inner)), ("new", small())])
    copy = budget.attach(vote).fit(X, y)
    assert copy.estimators[0][1].estimator is inner
    assert inner[-1].budget is own
    assert copy.estimators[1][1].budget is budget
    assert (len(entries(own)), len(entries(budget))) == (1, 1)


@pytest.mark.parametrize("model", [LogisticRegression(), make_pipeline(Normalizer())])
def test_a_model_without_a_private_part_is_refused(model):
    """Nothing of it would be counted."""
    with pytest.raises(ValueError, match=f"{type(model).__name__} has no private part"):
        PrivacyBudget(1.0, DELTA).attach(model)


def test_a_model_whose_only_private_part_is_frozen_is_refused(rows):
    """Its fit is over."""
    frozen = FrozenEstimator(small().fit(*rows))
    with pytest.raises(ValueError, match="has no private part"):
        PrivacyBudget(1.0, DELTA).attach(make_pipeline(Normalizer(), frozen))


def test_a_private_class_that_enters_nothing_is_refused():
    """Its fits would not be counted, and those of the others would pass for all."""
    with pytest.raises(TypeError, match="Releases has no parameter budget"):
        PrivacyBudget(1.0, DELTA).attach(make_pipeline(small(), gaussian(9.0)))


def test_the_parameter_takes_nothing_but_a_budget(rows):
    """An epsilon in its place would count nothing."""
    for model in (small(budget=1.0), scaler(budget="ledger.json"), DPMaxAbsScaler(budget=3)):
        with pytest.raises(ValueError, match="'budget' parameter"):
            model.fit(*rows)
