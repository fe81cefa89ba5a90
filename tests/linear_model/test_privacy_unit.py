"""privacy_unit: the promise is for the person, and the number of rows is private."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from skdp import DPSGDClassifier, PrivacyWarning
from skdp._estimator import hide_row_count
from skdp.linear_model import _dpsgd
from skdp.linear_model._privacy_unit import units_of
from skdp.privacy import get_epsilon


@pytest.fixture
def people():
    """1,000 people with 1 to 20 rows each."""
    sizes = np.random.default_rng(0).integers(1, 21, 1000)
    person = np.random.default_rng(1).permutation(np.repeat(np.arange(1000), sizes))
    X, y = make_classification(
        n_samples=len(person), n_features=6, n_informative=4, class_sep=1.5, random_state=0
    )
    return X, y, person


def public(model):
    """All that may leave besides noisy numbers."""
    names = ["epsilon_", "delta_", "mechanisms_", "noise_multiplier_", "batch_size_"]
    names += ["sample_rate_", "n_steps_", "n_iter_", "unit_", "n_features_in_"]
    return {name: getattr(model, name) for name in names}


@pytest.mark.parametrize(
    "params", [{"noise_multiplier": 4.0}, {"learning_rate": 0.1, "batch_size": 30}]
)
def test_units_of_one_row_are_rows(people, params):
    """The same draws and the same sums, to the spacing of the grid they are rounded to.

    Where the threshold is estimated, units need one more histogram, at the same cost together.
    """
    X, y = people[0][:500], people[1][:500]
    rows = DPSGDClassifier(random_state=0, **params).fit(X, y)
    units = DPSGDClassifier(random_state=0, **params).fit(X, y, privacy_unit=np.arange(500))
    np.testing.assert_allclose(units.coef_, rows.coef_, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(units.intercept_, rows.intercept_, rtol=1e-4, atol=1e-4)
    assert (rows.unit_, units.unit_) == ("row", "unit")
    assert public(units) == public(rows) | {"unit_": "unit"}


def test_threshold_and_rate_follow_rows_and_units_by_two_histograms(people):
    """For 16 rows a person of like norm, a unit is 4 times as long as a row.

    Then the threshold is about 4 times that of rows and the rate a quarter; both histograms
    together cost what one does, and the whole is within the budget.
    """
    X, y = people[0][:4800], people[1][:4800]
    # Far from the norm that is plausible without data, which pulls on what is near it.
    X = X / np.linalg.norm(X, axis=1, keepdims=True) * 45.0
    settings = {"epsilon": 20.0, "random_state": 0, "batch_size": 300, "n_epochs": 30}
    units, rows = DPSGDClassifier(**settings), DPSGDClassifier(**settings)
    with pytest.warns(PrivacyWarning, match="above 10"):
        units.fit(X, y, privacy_unit=np.arange(4800) // 16)
    with pytest.warns(PrivacyWarning, match="above 10"):
        rows.fit(X[::16], y[::16])
    assert units.clip_threshold_ / rows.clip_threshold_ == pytest.approx(4.0, rel=0.25)
    assert rows.learning_rate_ / units.learning_rate_ == pytest.approx(4.0, rel=0.25)
    counts, norms, unit_norms, _ = units.mechanisms_
    assert norms == unit_norms
    assert counts == rows.mechanisms_[0]
    alone = rows.mechanisms_[1].noise_multiplier
    assert norms.noise_multiplier == pytest.approx(np.sqrt(2) * alone)
    assert 0.99 * 20 <= units.epsilon_ <= 20


def test_every_number_of_the_plan_counts_units(people):
    """n is 1,000 people, not 10,000 rows."""
    X, y, person = people
    model = DPSGDClassifier(epsilon=1.0, random_state=0).fit(X, y, privacy_unit=person)
    assert model.batch_size_ / model.sample_rate_ == pytest.approx(1000)
    assert model.delta_ == 1e-5
    assert 0.99 <= model.epsilon_ <= 1.0
    assert get_epsilon(model.mechanisms_, model.delta_) == model.epsilon_
    textbook = DPSGDClassifier(noise_multiplier=4.0).fit(X, y, privacy_unit=person)
    assert textbook.sample_rate_ == 64 / 1000
    assert textbook.n_steps_ == np.ceil(30 * 1000 / 64)


@pytest.mark.slow
@pytest.mark.parametrize("params", [{}, {"noise_multiplier": 4.0}, {"delta": 0.01}])
def test_nothing_public_tells_how_many_rows_there_are(people, params):
    """One person with a thousand more rows: same plan, same warnings."""
    X, y, person = people
    more = np.concatenate([np.arange(len(person)), np.repeat(np.flatnonzero(person == 3), 1000)])
    texts, models = [], []
    for rows in (np.arange(len(person)), more):
        with pytest.warns(PrivacyWarning) if "delta" in params else _no_warning() as caught:
            model = DPSGDClassifier(random_state=0, **params)
            models.append(model.fit(X[rows], y[rows], privacy_unit=person[rows]))
        texts.append([str(warning.message) for warning in caught or []])
    assert public(models[0]) == public(models[1])
    assert texts[0] == texts[1]


class _no_warning:  # noqa: N801
    """Warnings are errors here, so nothing needs to be caught."""

    def __enter__(self):
        return None

    def __exit__(self, *error):
        return False


def test_people_learn_as_well_as_the_budget_allows(people):
    """Seeded; the majority class is half of the rows."""
    X, y, person = people
    model = DPSGDClassifier(epsilon=1.0, random_state=0).fit(X, y, privacy_unit=person)
    assert model.score(X, y) > 0.75


@pytest.mark.parametrize(
    "unit",
    [
        lambda person: person.astype(str),
        lambda person: person.astype(object),
        lambda person: person.astype(float),
        lambda person: person.tolist(),
        lambda person: person + 2**40,
    ],
    ids=["text", "objects", "whole floats", "list", "large"],
)
def test_ids_of_any_kind_group_the_same_rows(people, unit):
    """Only which ids are equal counts; noise and sums agree to the grid's spacing."""
    X, y, person = people
    one = DPSGDClassifier(random_state=0).fit(X, y, privacy_unit=person)
    other = DPSGDClassifier(random_state=0).fit(X, y, privacy_unit=unit(person))
    assert public(one) == public(other)


@pytest.mark.parametrize(
    "unit",
    [
        np.arange(1234),
        np.zeros((8, 2)),
        "person",
        [1.5] * 8,
        [np.nan] * 8,
        [None] * 8,
        np.array([1, "Alice"] * 4, dtype=object),
        [2.0**53] * 8,
    ],
)
def test_wrong_units_are_errors_that_show_neither_ids_nor_numbers_of_rows(unit):
    """Both are private."""
    X, y = np.arange(16.0).reshape(8, 2), np.arange(8) % 2
    with pytest.raises(ValueError, match=r"privacy_unit (must|has|holds)") as caught:
        DPSGDClassifier().fit(X, y, privacy_unit=unit)
    text = str(caught.value)
    assert not any(word in text for word in ("1234", "8", "Alice", "1.5"))


def test_errors_about_the_data_show_no_number_of_rows_either():
    """Without units the number of rows is public and scikit-learn names it."""
    X, y = np.arange(2468.0).reshape(1234, 2), np.arange(1235) % 2
    with pytest.raises(ValueError, match="1234"):
        DPSGDClassifier().fit(X, y)
    for labels in (y, np.zeros((1234, 2))):
        with pytest.raises(ValueError, match=r"\.\.\.") as caught:
            DPSGDClassifier().fit(X, labels, privacy_unit=np.arange(1234))
        assert "123" not in str(caught.value)
    with pytest.raises(ValueError, match="0 feature") as caught:
        DPSGDClassifier().fit(X[:, :0], y[:1234], privacy_unit=np.arange(1234))
    assert "123" not in str(caught.value)


def test_units_are_numbered_by_their_ids():
    """Rows of one id share a number; every number has a row."""
    units, has_id = units_of(["b", "a", "b", "c"], 4)
    assert has_id is None
    assert len(units) == 3
    np.testing.assert_array_equal(units.sizes_by_row(), [2, 1, 2, 1])


def test_running_out_of_memory_shows_no_number_of_rows(people, monkeypatch):
    """NumPy's message holds the shape of what it could not store."""
    X, y, person = people

    def refuse(*args):
        raise MemoryError("Unable to allocate an array with shape (10432,)")

    for name in ("read_usable_rows", "first_releases", "descend"):
        with monkeypatch.context() as patch:
            patch.setattr(_dpsgd, name, lambda *args, **kwargs: refuse())
            with pytest.raises(MemoryError, match=r"^not enough memory for these data$"):
                DPSGDClassifier().fit(X, y, privacy_unit=person)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda X, y, unit: (X, y[:-1], unit),
        lambda X, y, unit: (X, np.column_stack([y, y]), unit),
        lambda X, y, unit: (X[:, :, np.newaxis], y, unit),
        lambda X, y, unit: (X[:, :0], y, unit),
        lambda X, y, unit: (X, y, unit[:-1]),
        lambda X, y, unit: (X, y, [[1]] * 136 + [[1, 2]]),
        lambda X, y, unit: (X, np.full(137, 0.5), unit),
    ],
)
def test_no_error_and_nothing_behind_it_shows_the_number_of_rows(spoil):
    """A traceback prints the errors that an error was raised from, too."""
    X, unit = np.arange(411.0).reshape(137, 3) / 411, np.arange(137) // 2
    X, y, unit = spoil(X, np.arange(137) % 2, unit)
    with pytest.raises((TypeError, ValueError)) as caught:
        DPSGDClassifier().fit(X, y, privacy_unit=unit)
    error = caught.value
    while error is not None:
        assert "137" not in str(error)
        assert "136" not in str(error)
        error = error.__cause__ or error.__context__


def test_lengths_are_cut_out_of_messages():
    """Every form in which scikit-learn and NumPy name them."""
    for message in (
        "Found array with 137 sample(s) (shape=(137, 0)) while a minimum of 1 is required.",
        "Found input variables with inconsistent numbers of samples: [137, 136]",
        "The detected shape was (137,) + inhomogeneous part.",
        "y should be a 1d array, got an array of shape (137, 2) instead.",
    ):
        with pytest.raises(ValueError, match=r"\.\.\.") as caught, hide_row_count():
            raise ValueError(message)
        assert "137" not in str(caught.value)
