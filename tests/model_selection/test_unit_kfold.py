"""UnitKFold: people stay together, and one person's leaving moves nobody else."""

import numpy as np
import pytest
import sklearn
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skdp import DPSGDClassifier
from skdp.model_selection import UnitKFold

PERSON = np.random.default_rng(5).permutation(np.repeat(np.arange(60), np.arange(60) % 5 + 1))


def folds_by_unit(splitter, groups):
    """Each unit's test fold."""
    found = {}
    for fold, (train, test) in enumerate(splitter.split(np.zeros(len(groups)), groups=groups)):
        assert not set(groups[train]) & set(groups[test])
        assert len(train) + len(test) == len(groups)
        found.update(dict.fromkeys(groups[test], fold))
    return found


@pytest.mark.parametrize("n_splits", [2, 5, 60])
def test_each_unit_is_whole_in_one_fold_and_folds_have_equally_many(n_splits):
    """To one unit."""
    folds = folds_by_unit(UnitKFold(n_splits, random_state=0), PERSON)
    assert set(folds) == set(PERSON)
    sizes = np.bincount(list(folds.values()), minlength=n_splits)
    assert sizes.max() - sizes.min() <= 1


def test_rows_move_no_other_unit():
    """Neither more rows of a unit, nor another order, nor a declared unit that has none."""
    splitter = UnitKFold(5, units=np.arange(60), random_state=0)
    folds = folds_by_unit(splitter, PERSON)
    assert folds_by_unit(splitter, np.append(PERSON, [7] * 100)) == folds
    assert folds_by_unit(splitter, PERSON[::-1]) == folds
    without = folds_by_unit(splitter, PERSON[PERSON != 7])
    assert without == {unit: fold for unit, fold in folds.items() if unit != 7}


def test_a_seed_repeats_the_folds_and_none_does_not():
    """Without a seed each split draws anew; the chance of equal folds is below 60^-30."""
    assert folds_by_unit(UnitKFold(random_state=3), PERSON) == folds_by_unit(
        UnitKFold(random_state=3), PERSON
    )
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    assert folds_by_unit(UnitKFold(), PERSON) != folds_by_unit(UnitKFold(), PERSON)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


@pytest.mark.parametrize(
    ("splitter", "groups", "words"),
    [
        (UnitKFold(), None, "needs groups="),
        (UnitKFold(61), PERSON, "n_splits=61 must be"),
        (UnitKFold(1), PERSON, "n_splits=1 must be"),
        (UnitKFold(2.5), PERSON, r"n_splits=2\.5 must be"),
        (UnitKFold(units=np.arange(30)), PERSON, "declare every unit"),
    ],
)
def test_wrong_calls_say_what_to_do(splitter, groups, words):
    """Before any fold is made."""
    with pytest.raises(ValueError, match=words):
        next(splitter.split(np.zeros(len(PERSON)), groups=groups))


@pytest.fixture
def people():
    """600 rows of 150 people."""
    X, y = make_classification(n_samples=600, random_state=0)
    person = np.random.default_rng(1).integers(0, 150, 600)
    return X, y, person


def units_seen(model):
    return model.batch_size_ / model.sample_rate_


def test_each_folds_fit_sees_its_units_without_routing(people):
    """cross_validate cuts privacy_unit as it cuts the rows."""
    X, y, person = people
    cv = UnitKFold(3, random_state=0)
    found = cross_validate(
        DPSGDClassifier(),
        X,
        y,
        cv=cv,
        groups=person,
        params={"privacy_unit": person},
        return_estimator=True,
    )
    n_units = [len(np.unique(person[train])) for train, _ in cv.split(X, groups=person)]
    assert [m.unit_ for m in found["estimator"]] == ["unit"] * 3
    np.testing.assert_allclose([units_seen(m) for m in found["estimator"]], n_units)


def test_a_search_hands_units_to_folds_and_refit(people):
    """As `GridSearchCV(...).fit(X, y, groups=g, privacy_unit=g)`, in a Pipeline too."""
    X, y, person = people
    seen = []

    class Watched(DPSGDClassifier):
        def fit(self, X, y, privacy_unit=None):
            seen.append(len(np.unique(privacy_unit)))
            return super().fit(X, y, privacy_unit)

    cv = UnitKFold(3, random_state=0)
    search = GridSearchCV(Watched(), {"epsilon": [1.0]}, cv=cv)
    search.fit(X, y, groups=person, privacy_unit=person)
    n_units = len(np.unique(person))
    assert seen == [
        *(len(np.unique(person[train])) for train, _ in cv.split(X, groups=person)),
        n_units,
    ]
    assert units_seen(search.best_estimator_) == pytest.approx(n_units)

    pipeline = make_pipeline(FunctionTransformer(), DPSGDClassifier())
    search = GridSearchCV(pipeline, {"dpsgdclassifier__epsilon": [1.0]}, cv=cv)
    search.fit(X, y, groups=person, dpsgdclassifier__privacy_unit=person)
    assert units_seen(search.best_estimator_[-1]) == pytest.approx(n_units)


def test_routing_hands_units_to_the_fits_that_ask_for_them(people):
    """One name for the splitter, one for the classifier, through a Pipeline and a search."""
    X, y, person = people
    with sklearn.config_context(enable_metadata_routing=True):
        model = DPSGDClassifier().set_fit_request(privacy_unit=True)
        pipeline = make_pipeline(FunctionTransformer(), model)
        search = GridSearchCV(
            pipeline, {"dpsgdclassifier__epsilon": [1.0]}, cv=UnitKFold(3, random_state=0)
        )
        search.fit(X, y, groups=person, privacy_unit=person)
        fitted = search.best_estimator_[-1]
        assert fitted.unit_ == "unit"
        assert units_seen(fitted) == pytest.approx(len(np.unique(person)))
        scores = cross_val_score(
            model,
            X,
            y,
            cv=UnitKFold(3),
            params={"groups": person, "privacy_unit": person},
        )
        assert len(scores) == 3


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_row_without_a_unit_is_an_error_that_names_groups(missing):
    """Such rows would all be one person."""
    groups = np.array([missing, 1, 1, 2, 2, 3])
    with pytest.raises(ValueError, match="groups must hold"):
        list(UnitKFold(2).split(np.zeros((6, 1)), groups=groups))
