"""What DPStandardScaler and DPMaxAbsScaler promise alike: the budget, the noise, the errors."""

import os
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import skdp
from skdp import DPSGDClassifier, PrivacyWarning
from skdp.exceptions import CalibrationError
from skdp.mechanisms import _noise
from skdp.preprocessing import (
    DPMaxAbsScaler,
    DPStandardScaler,
    _dp_max_abs_scaler,
    _dp_standard_scaler,
)
from skdp.privacy import Gaussian, get_epsilon


def standard(**params):
    return DPStandardScaler(**({"bounds": (-4, 4), "random_state": 0} | params))


def max_abs(**params):
    return DPMaxAbsScaler(**({"random_state": 0} | params))


SCALERS = pytest.mark.parametrize("make", [standard, max_abs])
# The release of each, as its module calls it.
RELEASES = pytest.mark.parametrize(
    ("make", "module", "release"),
    [
        (standard, _dp_standard_scaler, "noisy_moments"),
        (max_abs, _dp_max_abs_scaler, "noisy_sizes"),
    ],
)


def state(scaler):
    return {name: value for name, value in vars(scaler).items() if name.endswith("_")}


def assert_same_state(one, other):
    """Every attribute equal, but for the mark that each fit has of its own."""
    one, other = dict(vars(one)), dict(vars(other))
    assert one.keys() == other.keys()
    assert one.pop("fit_id_") != other.pop("fit_id_")
    for name in one:
        np.testing.assert_equal(one[name], other[name])


# The budget


@SCALERS
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("n_rows", [40, 10**5])
def test_what_is_spent_is_the_budget_less_at_most_one_percent(make, epsilon, n_rows):
    """And the releases, composed again, give the same figure."""
    scaler = make(epsilon=epsilon).fit(np.zeros((n_rows, 2)))
    assert 0.99 * epsilon <= scaler.epsilon_ <= epsilon
    assert scaler.delta_ == min(1e-5, 1 / (2 * n_rows))
    (mechanism,) = scaler.mechanisms_
    assert isinstance(mechanism, Gaussian)
    assert get_epsilon(scaler.mechanisms_, scaler.delta_) == scaler.epsilon_
    assert scaler._privacy_releases() == [mechanism]
    assert scaler.skdp_version_ == skdp.__version__


@SCALERS
def test_a_given_delta_is_used(make):
    """A smaller one asks for more noise."""
    usual, strict = (make(delta=delta).fit(np.zeros((9, 2))) for delta in (1e-5, 1e-9))
    assert strict.delta_ == 1e-9
    assert strict.mechanisms_[0].noise_multiplier > usual.mechanisms_[0].noise_multiplier


@SCALERS
def test_a_pipeline_costs_less_than_the_sum_of_its_parts(make, two_classes):
    """The releases compose on the same rows."""
    X, y = two_classes
    pipeline = make_pipeline(
        make(epsilon=0.1, delta=1e-5), DPSGDClassifier(epsilon=0.9, delta=1e-5, random_state=0)
    ).fit(X, y)
    releases = [release for _, step in pipeline.steps for release in step._privacy_releases()]
    total = get_epsilon(releases, 1e-5)
    parts = [step.epsilon_ for _, step in pipeline.steps]
    assert max(parts) < total < 0.95 * sum(parts)
    assert total <= 1.0


@RELEASES
def test_behind_the_door_only_the_release_counts(make, module, release, rng, monkeypatch):
    """With the release replaced, two data sets of one shape leave the same object."""
    true_release = getattr(module, release)
    other = rng.normal(size=(50, 3))
    monkeypatch.setattr(module, release, lambda X, *rest, **rows: true_release(other, *rest))
    fits = [make().fit(X) for X in (rng.normal(size=(50, 3)), rng.uniform(0, 1e9, (50, 3)))]
    assert_same_state(*fits)


@RELEASES
def test_the_release_has_the_noise_that_was_calibrated(make, module, release, monkeypatch):
    """What ran and what was accounted for are one plan."""
    plans = []
    true_release = getattr(module, release)

    def spy(*args, usable):
        plans.append(args[-2])
        return true_release(*args, usable=usable)

    monkeypatch.setattr(module, release, spy)
    scaler = make(epsilon=0.3).fit(np.zeros((20, 3)))
    (plan,) = plans
    assert (plan.mechanism,) == scaler.mechanisms_
    assert plan.size in (2 * 3, 3 * 112)


@SCALERS
def test_no_training_row_stays_on_the_fitted_object(make):
    """A number that occurs in the data is nowhere in the pickle."""
    X = np.full((30, 2), 1.2345678901234567)
    text = pickle.dumps(make().fit(X))
    assert X[:1, 0].tobytes() not in text
    assert X[:1, 0].tobytes()[::-1] not in text


# The noise


@SCALERS
def test_seeded_fits_repeat_and_others_differ(make, rng):
    """An int repeats; a RandomState gives one draw a fit; None never repeats."""
    X = np.zeros((50, 3))

    def released(**params):
        return standard(**params) if make is standard else max_abs(epsilon=0.01, **params)

    one, same = released(random_state=3), released(random_state=3)
    assert_same_state(one.fit(X), same.fit(X))
    if make is standard:
        assert not np.array_equal(one.mean_, released(random_state=4).fit(X).mean_)
        unseeded = [released(random_state=None).fit(X).mean_ for _ in range(2)]
        assert not np.array_equal(*unseeded)
        shared = np.random.RandomState(0)
        assert not np.array_equal(*[released(random_state=shared).fit(X).mean_ for _ in range(2)])


@RELEASES
def test_the_stream_belongs_to_the_class_and_the_release(make, module, release, monkeypatch):
    """Two kinds of estimator with one seed share no noise, and a subclass shares none either."""
    names = []

    class Spy(_noise.Streams):
        def open(self, *purpose):
            names.append((self.owner, *purpose))
            return super().open(*purpose)

    monkeypatch.setattr(module, "Streams", Spy)
    make().fit(np.zeros((9, 1)))
    kind = type(make())
    subclass = type("Other" + kind.__name__, (kind,), {})
    subclass(**make().get_params()).fit(np.zeros((9, 1)))
    purpose = release.removeprefix("noisy_")
    assert names == [(name, purpose, "noise") for name in (kind.__name__, subclass.__name__)]


@SCALERS
def test_without_a_seed_the_noise_comes_from_the_operating_system(make, monkeypatch):
    """And NumPy's global state is never touched."""
    asked, true_source = [], os.urandom
    monkeypatch.setattr(_noise.os, "urandom", lambda n: asked.append(n) or true_source(n))
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    make(random_state=None).fit(np.zeros((9, 2)))
    assert sum(asked) >= 8 * 4
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


# What is refused, and what is warned of


@SCALERS
@pytest.mark.parametrize(
    "params",
    [
        {"epsilon": 0},
        {"epsilon": -1.0},
        {"epsilon": np.inf},
        {"epsilon": "auto"},
        {"delta": 0.0},
        {"delta": 1.0},
        {"delta": None},
        {"random_state": "seed"},
    ],
)
def test_bad_parameters_are_errors_that_name_them(make, params):
    """Before anything is spent."""
    with pytest.raises(ValueError, match=f"'{next(iter(params))}' parameter"):
        make(**params).fit([[1.0]])


@SCALERS
@pytest.mark.parametrize("epsilon", [1e-12, 1e9])
def test_noise_beyond_exact_arithmetic_is_refused(make, epsilon):
    """Too little would span few points of the grid; too much would leave it."""
    with pytest.raises(CalibrationError, match=f"epsilon={epsilon!r} .*towards 1"):
        make(epsilon=epsilon, delta=1e-13).fit(np.zeros((10, 2)))


@SCALERS
@pytest.mark.parametrize(
    ("params", "words"),
    [({"epsilon": 11.0}, "above 10"), ({"delta": 0.2}, "at least 1 / n_rows")],
)
def test_what_weakens_the_promise_is_warned_of(make, params, words):
    """Pointing at the line that called fit; and nothing else is."""
    X = np.zeros((5, 1))
    with pytest.warns(PrivacyWarning, match=words) as caught:
        make(**params).fit(X)
    assert [warning.filename for warning in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make().fit(X)


@SCALERS
@pytest.mark.parametrize("value", ["Alice", np.nan, np.inf, None, 1 + 2j])
def test_errors_show_no_value_of_the_data(make, value):
    """In fit and in transform; missing values are refused, since their number is private."""
    fitted = make().fit(np.zeros((3, 2)))
    rows = [[123.456, value], [1.0, 2.0]]
    for act in (make().fit, fitted.transform, fitted.inverse_transform):
        with pytest.raises((ValueError, TypeError)) as caught:
            act(np.array(rows, dtype=object) if value is None else rows)
        for secret in ("Alice", "123", "2j"):
            assert secret not in str(caught.value)


@SCALERS
def test_whether_numbers_overflow_is_never_told(make):
    """Rows at the ends of the number range, where the caller asked NumPy to raise."""
    X = np.array([[1.7e308, -1.7e308], [5e-324, 0.0], [1e-310, 1e300]])
    with np.errstate(all="raise"):
        scaler = make().fit(X)
    assert np.isfinite(scaler.transform(X)).all()


@RELEASES
def test_a_refused_or_interrupted_fit_leaves_the_last_one_whole(make, module, release, monkeypatch):
    """Old state or new state, never a mixture."""
    scaler = make().fit(np.zeros((9, 2)))
    before = dict(state(scaler))
    with pytest.raises(ValueError, match="could not convert"):
        scaler.fit([["Alice"]])

    def interrupt(*_, usable):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, release, interrupt)
    with pytest.raises(KeyboardInterrupt):
        scaler.fit(np.zeros((9, 3)))
    assert state(scaler) == before


@SCALERS
def test_a_second_fit_replaces_everything(make):
    """Names that the new data lack go too."""
    frame = pd.DataFrame({"age": [1.0, 2.0], "income": [3.0, 4.0]})
    scaler = make().fit(frame)
    scaler.fit(np.zeros((4, 3)))
    assert_same_state(scaler, make().fit(np.zeros((4, 3))))
    assert not hasattr(scaler, "feature_names_in_")


# What every transformer does


@SCALERS
def test_names_come_out_and_frames_too(make, rng):
    """set_output and get_feature_names_out."""
    X = pd.DataFrame(rng.normal(size=(20, 2)), columns=["age", "income"])
    scaler = make().set_output(transform="pandas")
    scaled = scaler.fit_transform(X)
    assert scaled.columns.tolist() == scaler.get_feature_names_out().tolist() == list(X)


@SCALERS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_dtype_is_kept_and_the_way_back_leads_into_the_bounds(make, dtype, rng):
    """Values that were not clipped come back."""
    X = rng.uniform(-0.1, 0.1, size=(500, 3)).astype(dtype)
    before = X.copy()
    scaler = make(epsilon=10.0).fit(X)
    scaled = scaler.transform(X)
    back = scaler.inverse_transform(scaled)
    assert scaled.dtype == back.dtype == dtype
    np.testing.assert_allclose(back, X, atol=1e-6)
    np.testing.assert_array_equal(X, before)


@SCALERS
def test_it_survives_clone_and_pickle(make, rng):
    """A clone is unfitted; a pickle scales alike."""
    X = rng.normal(size=(20, 2))
    scaler = make().fit(X)
    assert state(clone(scaler)) == {}
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(scaler)).transform(X), scaler.transform(X)
    )
