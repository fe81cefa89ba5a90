"""DPSGDClassifier: what it learns, what it reports, what it refuses."""

import importlib.util
import math
import os
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skdp
from skdp import DPSGDClassifier, PrivacyWarning
from skdp.exceptions import DivergenceError
from skdp.linear_model import _dpsgd
from skdp.mechanisms import _noise
from skdp.preprocessing import DPMaxAbsScaler, DPStandardScaler, RowNormClipper
from skdp.privacy import Gaussian, SubsampledGaussian, get_epsilon

FALSE_ALARM = 1e-6


def noiseless(**params):
    """Plain clipped descent, whose missing promise is not the subject."""
    return DPSGDClassifier(noise_multiplier=0, random_state=0, **params)


def fit_quietly(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        return model.fit(X, y)


# What it learns


@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_noise_and_clip_it_finds_the_maximum_likelihood_model(n_classes, rng):
    """The step, the residual and the divisor are right: coefficients agree with scikit-learn's.

    A softmax model is known up to a shift of all classes, so these are compared centred.
    """
    X = rng.normal(size=(2000, 5))
    logits = X @ rng.normal(size=(5, n_classes)) + rng.normal(size=n_classes)
    y = np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)
    ours = fit_quietly(
        noiseless(
            clip_threshold=math.inf,
            batch_size=2000,
            n_epochs=600,
            learning_rate=4.0,
            average=False,
        ),
        X,
        y,
    )
    theirs = LogisticRegression(C=math.inf, tol=1e-10, max_iter=1000).fit(X, y)
    assert ours.coef_.shape == theirs.coef_.shape
    for mine, reference in [(ours.coef_, theirs.coef_), (ours.intercept_, theirs.intercept_)]:
        if n_classes > 2:
            mine, reference = mine - mine.mean(axis=0), reference - reference.mean(axis=0)
        np.testing.assert_allclose(mine, reference, atol=1e-3)


def test_without_noise_minibatches_find_it_too(two_classes):
    """The divisor is the expected batch size, so the mean step is that of the full batch."""
    X, y = two_classes
    params = {"clip_threshold": math.inf, "n_epochs": 300, "learning_rate": 0.5}
    full = fit_quietly(noiseless(batch_size=200, **params), X, y)
    mini = fit_quietly(noiseless(batch_size=20, **params), X, y)
    np.testing.assert_allclose(mini.coef_, full.coef_, atol=0.15)


def test_breast_cancer_at_epsilon_one_reaches_95_percent():
    """The recipe needs no tuning; mean of ten seeds on a held-out fifth."""
    X, y = load_breast_cancer(return_X_y=True)
    rows, held_out, labels, truth = train_test_split(
        X, y, test_size=0.2, random_state=0, stratify=y
    )
    scores = [
        make_pipeline(StandardScaler(), DPSGDClassifier(epsilon=1.0, random_state=seed))
        .fit(rows, labels)
        .score(held_out, truth)
        for seed in range(10)
    ]
    assert np.mean(scores) >= 0.950


@pytest.mark.parametrize(
    "container",
    [
        np.asfortranarray,
        sparse.csr_matrix,
        sparse.csr_array,
        sparse.csc_matrix,
        pd.DataFrame,
        lambda X: X.tolist(),
    ],
    ids=["fortran", "csr_matrix", "csr_array", "csc", "frame", "list"],
)
@pytest.mark.parametrize("batch_size", [20, 240])
def test_every_container_gives_the_same_model(container, batch_size, three_classes):
    """One seed, one table, whatever it is stored in."""
    X, y = three_classes
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    model = DPSGDClassifier(batch_size=batch_size, random_state=0)
    reference = clone(model).fit(X, y)
    other = clone(model).fit(container(X), y)
    np.testing.assert_allclose(other.coef_, reference.coef_, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(
        other.predict_proba(container(X)), reference.predict_proba(X), atol=1e-10
    )


def test_single_precision_rows_are_summed_in_double(two_classes):
    """The same rows in float32 give the model of those rows in float64."""
    X, y = two_classes
    X = X.astype(np.float32)
    model = DPSGDClassifier(random_state=0)
    single, double = clone(model).fit(X, y), clone(model).fit(X.astype(np.float64), y)
    np.testing.assert_allclose(single.coef_, double.coef_, rtol=1e-12)
    assert single.coef_.dtype == np.float64


@pytest.mark.parametrize("params", [{}, {"noise_multiplier": 3.0}])
@pytest.mark.parametrize("alpha", [0.01, 1.0, 30.0])
def test_a_strong_penalty_shrinks_and_never_explodes(alpha, params, rng):
    """The automatic rate stays where the penalty alone cannot overshoot zero."""
    X = rng.normal(size=(3000, 4))
    y = (X[:, 0] + rng.logistic(size=3000) > 0).astype(int)
    model = DPSGDClassifier(alpha=alpha, random_state=0, **params).fit(X, y)
    free = DPSGDClassifier(random_state=0, **params).fit(X, y)
    assert model.learning_rate_ * alpha <= 1.0
    assert np.linalg.norm(model.coef_) < np.linalg.norm(free.coef_)


def test_a_bound_on_the_rows_holds_in_fit_and_in_predict(two_classes):
    """A long row is the same as the row scaled down to the bound."""
    X, y = two_classes
    X = 5 * X
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    shrunk = X * np.minimum(1.0, 2.0 / norms)
    bounded = DPSGDClassifier(max_row_norm=2.0, clip_threshold=1.0, random_state=0).fit(X, y)
    plain = DPSGDClassifier(clip_threshold=1.0, random_state=0).fit(shrunk, y)
    np.testing.assert_allclose(bounded.coef_, plain.coef_, rtol=1e-9)
    np.testing.assert_allclose(bounded.predict_proba(X), plain.predict_proba(shrunk), rtol=1e-9)


def test_without_an_intercept_there_is_none(two_classes):
    """Zero, as in scikit-learn."""
    X, y = two_classes
    model = DPSGDClassifier(fit_intercept=False, random_state=0, store_path=True).fit(X, y)
    np.testing.assert_array_equal(model.intercept_, [0.0])
    assert not model.intercept_path_.any()


@pytest.mark.parametrize("factor", [2.0**-7, 2.0**7])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_in_other_units_give_the_same_model(factor, n_classes, rng):
    """With one seed and a power of two, to rounding: bins, threshold and rate move along."""
    X = rng.normal(size=(1000, 5))
    y = np.argmax(X[:, :n_classes] + rng.gumbel(size=(1000, n_classes)) / 2, axis=1)
    model = DPSGDClassifier(epsilon=3.0, random_state=0)
    plain, scaled = clone(model).fit(X, y), clone(model).fit(X * factor, y)
    np.testing.assert_allclose(scaled.coef_ * factor, plain.coef_, rtol=0.2, atol=0.1)
    assert abs(scaled.score(X * factor, y) - plain.score(X, y)) < 0.01


def test_a_leading_class_is_predicted_where_nothing_else_can_be_told(rng):
    """90 % of one class, pure noise in the columns, a small budget: guessing is not undercut."""
    X = rng.normal(size=(400, 30))
    y = (np.arange(400) % 10 == 0).astype(int)
    scores = [DPSGDClassifier(0.3, random_state=s).fit(X, y).score(X, y) for s in range(10)]
    assert np.mean(scores) > 0.85


@pytest.mark.parametrize("bound", [5.0, 20.0, 1e4])
def test_a_loose_bound_on_the_rows_costs_nothing(bound, rng):
    """The scale is read from the rows' norms, and the bound only caps it."""
    X = rng.normal(size=(500, 4))
    y = (X[:, 0] > 0).astype(int)
    model = DPSGDClassifier(max_row_norm=bound, random_state=0).fit(X, y)
    assert len(model.mechanisms_) == 3
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("factor", [1e-300, 1e-8, 1e-5, 1e5])
@pytest.mark.parametrize("last", [1.0, 0.0])
def test_rows_of_any_size_train_whatever_one_of_them_does(factor, last, rng):
    """Whether the fit succeeds must not hang on the longest row."""
    X = factor * rng.normal(size=(500, 4))
    X[-1] = last
    for seed in range(3):
        model = DPSGDClassifier(random_state=seed).fit(X, np.arange(500) % 2)
        assert np.isfinite(model.coef_).all()


# Its noise


@pytest.mark.slow
def test_the_spread_of_the_trained_coordinates_is_the_planned_noise():
    """Zero gradients, one step at rate 1: noise 3 on a threshold of 2, over a batch of 64.

    The standard deviation of 15,000 draws is known to 0.6 %, and 4 % is seven of those; that of the
    500 draws of one coordinate to 3.2 %, and 22 % is seven of those (false alarm 1e-10).
    """
    X, y = np.zeros((128, 30)), np.arange(128) % 2
    model = DPSGDClassifier(
        noise_multiplier=3.0,
        clip_threshold=2.0,
        batch_size=64,
        n_epochs=0.5,
        learning_rate=1.0,
        fit_intercept=False,
        average=False,
    )
    coefs = np.array([model.set_params(random_state=s).fit(X, y).coef_[0] for s in range(500)])
    assert model.n_steps_ == 1
    assert coefs.std() == pytest.approx(3.0 * 2.0 / 64, rel=0.04)
    np.testing.assert_allclose(coefs.std(axis=0), 3.0 * 2.0 / 64, rtol=0.22)


def noise_of(n_classes, seed, n_steps=400):
    """The noise of every step, coordinate and class of a fit whose gradients are zero."""
    X, y = np.zeros((100, 4)), np.arange(100) % n_classes
    model = DPSGDClassifier(
        noise_multiplier=100.0,
        batch_size=100,
        n_epochs=n_steps,
        learning_rate=1.0,
        fit_intercept=False,
        store_path=True,
        random_state=seed,
    ).fit(X, y)
    path = model.coef_path_.reshape(n_steps, -1)
    # The noise has standard deviation noise_multiplier * clip_threshold / batch_size = 1.
    return np.diff(path, axis=0, prepend=0.0)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", [0, None], ids=["seeded", "system"])
def test_noise_is_normal_and_uncorrelated(n_classes, seed):
    """Across coordinates, classes, steps and fits; uniform noise of this spread would fail.

    Pooled Kolmogorov-Smirnov, and counts beyond 4 standard deviations, at 1e-6 each; the largest
    of at most 1,200 correlations of 400 steps stays within 6.5 standard errors (1e-7).
    """
    fits = np.hstack([noise_of(n_classes, seed if seed is None else k) for k in range(3)])
    pooled = fits.ravel()
    # The zero rows of a softmax model have no gradient in any coefficient either.
    assert stats.kstest(pooled, "norm").pvalue > FALSE_ALARM
    far = int(np.count_nonzero(np.abs(pooled) > 4))
    assert stats.binomtest(far, pooled.size, 2 * stats.norm.sf(4)).pvalue > FALSE_ALARM
    uniform = np.random.default_rng(0).uniform(-math.sqrt(3), math.sqrt(3), pooled.size)
    assert stats.kstest(uniform, "norm").pvalue < FALSE_ALARM
    together = np.hstack([fits[:-1], fits[1:]])
    correlations = np.corrcoef(together.T) - np.eye(together.shape[1])
    assert np.abs(correlations).max() < 6.5 / math.sqrt(len(together))


def test_fits_without_a_seed_differ_and_seeded_fits_repeat(two_classes):
    """A RandomState gives each fit its own noise, and a rerun the same sequence."""
    X, y = two_classes

    def coef(random_state):
        return DPSGDClassifier(random_state=random_state).fit(X, y).coef_

    assert not np.array_equal(coef(None), coef(None))
    np.testing.assert_array_equal(coef(3), coef(3))
    assert not np.array_equal(coef(3), coef(4))
    state, again = np.random.RandomState(0), np.random.RandomState(0)
    first, second = coef(state), coef(state)
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(first, coef(again))
    np.testing.assert_array_equal(second, coef(again))


def test_sampling_and_noise_are_separate_streams_of_the_class_and_the_release(
    two_classes, monkeypatch
):
    """Shared, the batches would tell something about the noise."""
    opened = []
    original = _noise.random_source

    def spy(seed, *names):
        opened.append(names)
        return original(seed, *names)

    monkeypatch.setattr(_noise, "random_source", spy)
    DPSGDClassifier(random_state=0).fit(*two_classes)
    assert sorted(opened) == [
        ("DPSGDClassifier", "class counts", "noise"),
        ("DPSGDClassifier", "gradient", "noise"),
        ("DPSGDClassifier", "gradient", "sampling"),
        ("DPSGDClassifier", "norm counts", "noise"),
    ]


def test_without_a_seed_sampling_and_noise_come_from_the_operating_system(two_classes, monkeypatch):
    """Neither may fall back to a generator."""
    asked = []
    original = os.urandom

    def urandom(size):
        asked.append(size)
        return original(size)

    monkeypatch.setattr(_noise, "SeededSource", None)
    monkeypatch.setattr(_noise.os, "urandom", urandom)
    DPSGDClassifier(batch_size=20, n_epochs=2).fit(*two_classes)
    # 8 bytes each, twice for noise: 2 classes, 112 bins, 20 steps of 5 coordinates; and once for
    # the gaps of one block of 400 expected draws.
    noise = [2 * 8, 112 * 8, 20 * 5 * 8]
    assert sorted(asked) == sorted(2 * noise + [8 * (400 + 6 * 20 + 16)])


def test_subclasses_share_no_noise_with_their_parent(two_classes):
    """One seed used for two kinds of estimator must not give them the same noise."""

    class Other(DPSGDClassifier):
        pass

    X, y = two_classes
    one = DPSGDClassifier(random_state=0).fit(X, y)
    assert not np.array_equal(one.coef_, Other(random_state=0).fit(X, y).coef_)


def test_numpys_global_state_is_never_touched(two_classes):
    """Neither read nor written."""
    X, y = two_classes
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    DPSGDClassifier().fit(X, y)
    DPSGDClassifier(random_state=0).fit(X, y)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


# What it reports


def test_the_fitted_attributes_say_what_ran_and_what_it_cost(two_classes):
    """The mechanisms on the object are what the accountant prices."""
    X, y = two_classes
    model = DPSGDClassifier(epsilon=0.5, delta=1e-6, batch_size=50, n_epochs=3.1, random_state=0)
    model.fit(X, y)
    assert 0.99 * 0.5 <= model.epsilon_ <= 0.5
    assert model.delta_ == 1e-6
    assert get_epsilon(model.mechanisms_, model.delta_) == model.epsilon_
    *counts, mechanism = model.mechanisms_
    assert [type(release) for release in counts] == [Gaussian, Gaussian]
    assert isinstance(mechanism, SubsampledGaussian)
    assert model._privacy_releases() == list(model.mechanisms_)
    assert (mechanism.sample_rate, mechanism.n_steps) == (model.sample_rate_, model.n_steps_)
    assert (model.batch_size_, model.sample_rate_, model.n_steps_) == (50, 0.25, 13)
    assert model.n_iter_ == math.ceil(13 * 0.25)
    assert model.noise_multiplier_ == pytest.approx(1.01 * mechanism.noise_multiplier)
    assert model.clip_threshold_ > 0
    assert model.n_features_in_ == 3
    assert model.skdp_version_ == skdp.__version__
    for value in (model.epsilon_, model.delta_, model.noise_multiplier_, model.clip_fraction_):
        assert type(value) is float
    assert (model.coef_.shape, model.intercept_.shape) == ((1, 3), (1,))
    assert (model.coef_.dtype, model.intercept_.dtype) == (np.float64, np.float64)
    assert is_classifier(model)
    assert is_classifier(DPSGDClassifier())


PUBLIC_OR_NOISY = {
    "classes_", "coef_", "intercept_", "epsilon_", "delta_", "mechanisms_", "noise_multiplier_",
    "clip_threshold_", "learning_rate_", "batch_size_", "sample_rate_", "n_steps_", "n_iter_",
    "clip_fraction_", "n_features_in_", "feature_names_in_", "skdp_version_", "coef_path_",
    "intercept_path_", "max_row_norm_", "averaged_share_", "fit_id_", "unit_", "unit_name_",
    "noise_source_",
    "_upstream_fit_ids", "_n_privacy_units", "_left_by_fit",
}  # fmt: skip


def test_callbacks_are_there_where_scikit_learn_has_them():
    """Before 1.9 the methods are absent."""
    has_callbacks = importlib.util.find_spec("sklearn.callback") is not None
    assert hasattr(DPSGDClassifier, "set_callbacks") == has_callbacks


def test_nothing_else_stays_on_the_fitted_object(two_classes):
    """Each of these is in the promise or public; a new one must be thought about first."""
    X, y = two_classes
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = DPSGDClassifier(store_path=True, random_state=0).fit(frame, y)
    assert set(vars(model)) - set(model.get_params()) == PUBLIC_OR_NOISY


def test_a_batch_larger_than_the_data_is_a_full_batch(two_classes):
    """Sample rate 1, and the divisor is the number of rows."""
    X, y = two_classes
    model = DPSGDClassifier(batch_size=10**6, random_state=0).fit(X, y)
    assert (model.batch_size_, model.sample_rate_) == (200, 1.0)


@pytest.mark.slow
def test_a_budget_that_ends_training_says_where(two_classes):
    """n_steps_ is what was taken, n_iter_ follows, and the path has as many iterates."""
    X, y = two_classes
    model = DPSGDClassifier(
        epsilon=1.0, noise_multiplier=3.0, n_epochs=100, store_path=True, random_state=0
    )
    with pytest.warns(PrivacyWarning, match="budget ends training after"):
        model.fit(X, y)
    assert model.epsilon_ <= 1.0
    assert len(model.coef_path_) == model.n_steps_ < 100 * 200 / 64
    assert model.n_iter_ == math.ceil(model.n_steps_ * model.sample_rate_)


def test_without_noise_the_clip_fraction_is_the_share_of_clipped_rows(two_classes):
    """Counted by hand for one full-batch step from zero weights, where residuals are 1/2."""
    X, y = two_classes
    model = noiseless(clip_threshold=0.9, batch_size=200, n_epochs=1)
    with pytest.warns(PrivacyWarning, match="no privacy"):
        model.fit(X, y)
    lengths = 0.5 * np.sqrt((X**2).sum(axis=1) + 1)
    assert model.clip_fraction_ == np.mean(lengths > 0.9)
    assert model.epsilon_ == math.inf


@pytest.mark.slow
def test_the_clip_fraction_has_the_noise_that_its_docstring_says():
    """7.05 s / (sqrt(T) B): 300 fits of zero rows know it to 4 %, and 20 % is five of those."""
    X, y = np.zeros((100, 2)), np.arange(100) % 2
    model = DPSGDClassifier(
        noise_multiplier=20.0, batch_size=100, n_epochs=50, fit_intercept=False, clip_threshold=9.0
    )
    # The raw mean may be negative and is held at 0, so the upper half is what shows the spread.
    fractions = [model.set_params(random_state=s).fit(X, y).clip_fraction_ for s in range(600)]
    upper = np.sort(fractions)[300:]
    expected = 7.05 * 20.0 / (math.sqrt(50) * 100)
    assert math.sqrt(np.mean(np.square(upper))) == pytest.approx(expected, rel=0.2)


def test_a_noisy_clip_fraction_is_near_the_true_one(rng):
    """With plenty of rows its noise is small."""
    X, y = rng.normal(size=(20_000, 5)), np.arange(20_000) % 2
    model = DPSGDClassifier(epsilon=1.0, clip_threshold=1.0, random_state=0).fit(X, y)
    exact = fit_quietly(
        noiseless(batch_size=20_000, n_epochs=model.n_steps_, learning_rate=model.learning_rate_),
        X,
        y,
    )
    assert model.clip_fraction_ == pytest.approx(exact.clip_fraction_, abs=0.03)


def test_a_second_fit_replaces_everything(two_classes, three_classes):
    """Also what only the first one had."""
    frame = pd.DataFrame(two_classes[0], columns=["a", "b", "c"])
    model = DPSGDClassifier(store_path=True, random_state=0).fit(frame, two_classes[1])
    assert hasattr(model, "feature_names_in_")
    model.set_params(store_path=False).fit(*three_classes)
    assert not hasattr(model, "coef_path_")
    assert not hasattr(model, "feature_names_in_")
    assert model.coef_.shape == (3, 4)


def test_a_refused_or_interrupted_fit_leaves_the_last_model_whole(two_classes, monkeypatch):
    """n_features_in_ included."""
    X, y = two_classes
    model = DPSGDClassifier(random_state=0).fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="one class"):
        model.fit(X[:, :2], np.zeros(200, dtype=int))

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(_dpsgd, "descend", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :2], y)
    assert vars(model) == before


def test_no_training_row_stays_on_the_fitted_object(rng):
    """A pickle holds none of a marker's bytes."""
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    marker = 1234.567890123
    X[7] = marker
    model = DPSGDClassifier(store_path=True).fit(X, y)
    assert np.float64(marker).tobytes() not in pickle.dumps(model)


# Stages


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("batch_size", [30, 240])
def test_stages_are_the_models_of_shorter_fits(average, batch_size, three_classes):
    """Stage k is the model after epoch k, averaging included, and the last one is the model."""
    X, y = three_classes
    params = {
        "noise_multiplier": 5.0,
        "batch_size": batch_size,
        "average": average,
        "random_state": 0,
    }
    model = DPSGDClassifier(n_epochs=6.3, store_path=True, **params).fit(X, y)
    stages = list(model.staged_predict_proba(X))
    assert len(stages) == 7 == model.n_iter_
    np.testing.assert_array_equal(stages[-1], model.predict_proba(X))
    for epoch in (1, 4):
        short = DPSGDClassifier(n_epochs=epoch, **params).fit(X, y)
        np.testing.assert_allclose(stages[epoch - 1], short.predict_proba(X), rtol=1e-12)
    labels = list(model.staged_predict(X))
    np.testing.assert_array_equal(labels[-1], model.predict(X))
    assert set(np.unique(labels)) <= set(model.classes_)


def test_stages_need_the_stored_path(two_classes):
    """Absent without it, and the message says how to get it."""
    X, y = two_classes
    model = DPSGDClassifier(random_state=0).fit(X, y)
    assert not hasattr(model, "staged_predict")
    with pytest.raises(AttributeError) as caught:
        model.set_params(store_path=True).staged_predict_proba(X)
    assert "store_path=True" in str(caught.value.__cause__ or caught.value)
    with pytest.raises(NotFittedError):
        next(DPSGDClassifier(store_path=True).staged_predict(X))
    stored = DPSGDClassifier(random_state=0, store_path=True).fit(X, y)
    assert stored.coef_path_.shape == (stored.n_steps_, 1, 3)
    assert stored.intercept_path_.shape == (stored.n_steps_, 1)
    np.testing.assert_allclose(
        stored.coef_, stored.coef_path_[-math.ceil(stored.n_steps_ / 20) :].mean(axis=0)
    )


# What it refuses


BAD_PARAMETERS = [
    ({"epsilon": 0}, "epsilon"),
    ({"epsilon": -1.0}, "epsilon"),
    ({"epsilon": math.nan}, "epsilon"),
    ({"epsilon": "one"}, "epsilon"),
    ({"delta": 0}, "delta"),
    ({"delta": 1}, "delta"),
    ({"delta": math.nan}, "delta"),
    ({"noise_multiplier": -0.1}, "noise_multiplier"),
    ({"noise_multiplier": math.nan}, "noise_multiplier"),
    ({"noise_multiplier": math.inf}, "noise_multiplier"),
    ({"clip_threshold": 0}, "clip_threshold"),
    ({"clip_threshold": -1}, "clip_threshold"),
    ({"clip_threshold": math.inf}, "clip_threshold"),
    ({"batch_size": 0.5}, "batch_size"),
    ({"batch_size": 0}, "batch_size"),
    ({"n_epochs": 0}, "n_epochs"),
    ({"n_epochs": -3}, "n_epochs"),
    ({"n_epochs": math.inf}, "n_epochs"),
    ({"learning_rate": 0}, "learning_rate"),
    ({"max_row_norm": 0}, "max_row_norm"),
    ({"alpha": -1}, "alpha"),
    ({"epsilon": math.inf}, "noise_multiplier=0"),
    ({"epsilon": None}, "noise_multiplier"),
    ({"epsilon": 1, "noise_multiplier": 0}, "noise_multiplier=0"),
    ({"epsilon": 0.01, "noise_multiplier": 0.3}, "first step"),
    ({"random_state": "seed"}, "random_state"),
    ({"alpha": 2.0, "learning_rate": 1.0}, "learning_rate=1 times alpha=2"),
    ({"clip_threshold": 1e308}, "clip_threshold=1e"),
    ({"noise_multiplier": 0.45, "clip_threshold": 5e-324}, "clip_threshold=5e-324"),
    ({"noise_multiplier": 1e10}, "noise_multiplier=1"),
    ({"noise_multiplier": 1e300}, "noise_multiplier=1e"),
    ({"epsilon": 1e-12, "delta": 1e-12}, "epsilon=1e-12 has noise of"),
    ({"epsilon": 1e9}, "epsilon=1000000000.0 has noise of"),
    ({"max_row_norm": 1e-200}, "max_row_norm=1e-200"),
    ({"max_row_norm": 1e160}, "max_row_norm=1e"),
    ({"noise_multiplier": 1e-300}, "noise_multiplier=1e"),
]


@pytest.mark.parametrize(("params", "words"), BAD_PARAMETERS)
def test_bad_parameters_are_errors_that_name_them_before_anything_is_spent(
    params, words, two_classes, monkeypatch
):
    """Nothing is drawn: neither noise nor a batch."""

    def spend(*args, **kwargs):
        raise AssertionError("a release was prepared")

    monkeypatch.setattr(_dpsgd, "NoisyGradient", spend)
    with pytest.raises(ValueError, match=words):
        DPSGDClassifier(**params).fit(*two_classes)


SECRET = 41972.625


def bad_data():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2
    spoiled = X.copy()
    spoiled[3, 1] = SECRET
    nan, infinite = spoiled.copy(), spoiled.copy()
    nan[0, 0], infinite[0, 0] = math.nan, math.inf
    text = spoiled.astype(object)
    text[5, 0] = "Alice"
    fractions = y.astype(float)
    fractions[2] = SECRET
    strings = np.where(y == 1, "Alice", "Bob")
    return {
        "nan": (nan, y, "NaN"),
        "infinite": (infinite, y, "infinity"),
        "both infinities": (np.where(spoiled > 0, infinite, -math.inf), y, "infinity"),
        "an integer beyond doubles": ([[10**400, 1.0]] * 30, y, "infinity"),
        "sparse nan": (sparse.csr_matrix(nan), y, "NaN"),
        "complex": (spoiled.astype(complex), y, "Complex data not supported"),
        "text": (text, y, "could not convert string to float"),
        "frame of text": (pd.DataFrame(text), y, "could not convert string to float"),
        "one-dimensional": (spoiled[:, 1], y, "Reshape your data"),
        "scalar": (SECRET, y, "Reshape your data"),
        "three-dimensional": (spoiled[:, :, None], y, "Found array with dim 3"),
        "a dict inside": ([[{"Alice": 1}, 2.0]] * 30, y, "argument must be"),
        "lengths": (spoiled, y[:-1], "inconsistent numbers of samples"),
        "fractions in y": (spoiled, fractions, "Unknown label type"),
        "nan in y": (spoiled, np.where(y == 1, math.nan, SECRET), "NaN"),
        "one class": (spoiled, np.full(30, "Alice"), "one class"),
        "two columns of y": (spoiled, np.c_[y, y], "1d array"),
        "mixed labels": (spoiled, np.array(["Alice", 2] * 15, dtype=object), "one kind"),
        "no rows": (spoiled[:0], y[:0], "0 sample"),
        "no y": (spoiled, None, "y"),
        "outside classes": (spoiled, strings, "outside classes"),
    }


@pytest.mark.parametrize("case", bad_data())
def test_bad_data_is_an_error_that_shows_no_value_of_it(case):
    """Scikit-learn's own messages included, in the text and in what the error drags along."""
    X, y, words = bad_data()[case]
    classes = ["Bob", "Carol"] if case == "outside classes" else None
    with pytest.raises((ValueError, TypeError), match=words) as caught:
        DPSGDClassifier(classes=classes).fit(X, y)
    error = caught.value
    while error is not None:
        assert "Alice" not in str(error)
        assert "41972" not in str(error)
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize(
    "phrase", ["Input X contains NaN", "Found array with ", "X has 3 features, but "]
)
def test_a_value_that_reads_like_a_harmless_message_is_no_way_out(phrase):
    """Text of a cell stands inside scikit-learn's message, behind other words."""
    X = np.full((30, 2), f"Alice. {phrase}", dtype=object)
    with pytest.raises(ValueError, match="could not convert") as caught:
        DPSGDClassifier().fit(X, np.arange(30) % 2)
    assert "Alice" not in str(caught.value)
    labels = np.array([f"Bob. {phrase}", 3] * 15, dtype=object)
    with pytest.raises(ValueError, match=r"y must|y holds|Unknown label|could not") as caught:
        DPSGDClassifier().fit(np.zeros((30, 2)), labels)
    assert "Bob" not in str(caught.value)


@pytest.mark.parametrize("value", ["Alice", SECRET + 1j, {"Alice": SECRET}])
def test_prediction_errors_show_no_value_either(value, two_classes):
    """The rows to predict are as sensitive as those to train on."""
    model = DPSGDClassifier(random_state=0).fit(*two_classes)
    with pytest.raises((TypeError, ValueError)) as caught:
        model.predict(np.array([[value, 1.0, 2.0]]))
    assert "Alice" not in str(caught.value)
    assert "41972" not in str(caught.value)


def test_sample_weight_is_not_accepted(two_classes):
    """A weight taken from the data would be one more thing to protect."""
    with pytest.raises(TypeError, match="sample_weight"):
        DPSGDClassifier().fit(*two_classes, sample_weight=np.ones(200))


def test_declared_classes_need_not_occur(two_classes):
    """A class that no row has keeps its column; the label set says nothing about y."""
    X, y = two_classes
    model = DPSGDClassifier(classes=[2, 0, 1], random_state=0).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.predict_proba(X).shape == (200, 3)
    alone = DPSGDClassifier(classes=[0, 1], random_state=0).fit(X, np.zeros(200, dtype=int))
    assert alone.classes_.tolist() == [0, 1]


def test_divergence_is_an_error_without_a_numpy_warning(two_classes):
    """It names the parameter to lower."""
    X, y = two_classes
    with pytest.raises(DivergenceError, match="learning_rate"):
        DPSGDClassifier(learning_rate=1e307, clip_threshold=1e99, random_state=0).fit(X, y)


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_finite_double_trains_a_finite_model_without_a_warning(dense, n_classes, rng):
    """Rows up to the largest double, with mixed signs; prediction does not warn either."""
    X = rng.normal(size=(60, 4)) * np.exp(rng.uniform(-700, 700, size=(60, 1)))
    X[0], X[1] = np.finfo(float).max, [1e308, -1e308, 1e308, -1e308]
    X[2], X[3] = 5e-324, 0.0
    y = np.arange(60) % n_classes
    X = X if dense else sparse.csr_array(X)
    for batch_size in (10, 60):
        model = DPSGDClassifier(batch_size=batch_size, random_state=0).fit(X, y)
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.intercept_).all()
        assert set(model.predict(X)) <= set(model.classes_)
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
        assert not np.isnan(model.predict_log_proba(X)).any()


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_whether_numbers_overflow_is_never_told(container):
    """Opposite huge values make scikit-learn's own look for infinities overflow.

    Silent also where the caller asked NumPy to raise: one row would decide whether it does.
    """
    X = np.full((2000, 1), 1.7e308)
    X[1000:] *= -1
    X[0] = 1e-308
    X, y = container(X), np.arange(2000) % 2
    with np.errstate(all="raise"):
        model = DPSGDClassifier(random_state=0, max_row_norm=1e3).fit(X, y)
        model = DPSGDClassifier(random_state=0).fit(X, y)
        assert np.isfinite(model.predict_proba(X)).all()
        assert not np.isnan(model.predict_log_proba(X)).any()
        model.predict(X)


def test_x_is_never_modified(two_classes):
    """Read-only arrays and memory maps train."""
    X, y = two_classes
    X.flags.writeable = False
    before = X.copy()
    DPSGDClassifier(max_row_norm=1.0).fit(X, y)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (DPSGDClassifier, "epsilon"),
        (DPSGDClassifier, "clip_threshold"),
        (DPStandardScaler, "epsilon"),
        (DPMaxAbsScaler, "epsilon"),
        (RowNormClipper, "max_norm"),
    ],
)
def test_a_table_passed_as_a_parameter_is_not_printed(estimator, name):
    """`DPSGDClassifier(X)` for `DPSGDClassifier().fit(X, y)` is an easy slip."""
    X = np.full((3, 2), 41972.625)
    with pytest.raises((TypeError, ValueError), match=name) as caught:
        estimator(**{name: X}).fit(X, [0, 1, 0])
    assert "41972" not in str(caught.value)
    with pytest.raises(ValueError, match=r"Got -1"):
        DPSGDClassifier(epsilon=-1).fit(X, [0, 1, 0])
