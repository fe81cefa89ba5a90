"""DPStandardScaler: noisy means and standard deviations of bounded columns."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats

from skdp.mechanisms._release import ROUNDING_SHARE
from skdp.preprocessing import DPStandardScaler

FALSE_ALARM = 1e-6


def fit(X, bounds, **params):
    return DPStandardScaler(**({"epsilon": 1.0, "random_state": 0} | params), bounds=bounds).fit(X)


def noise_of(scaler, n_rows):
    """Of a mean and of a variance, in half widths of the bounds, from the docstring's formulas."""
    half = (scaler.upper_ - scaler.lower_) / 2
    mean = (scaler.mean_ - scaler.lower_ - half) / half
    multiplier = scaler.mechanisms_[0].noise_multiplier * (1 + ROUNDING_SHARE)
    tau = multiplier * math.sqrt(len(mean) * 25 / 24) / n_rows
    return tau, tau * np.sqrt(2 / 3 + 4 * mean**2)


def test_with_much_data_it_is_the_standard_scaler(rng):
    """Mean and standard deviation of the clipped columns, in the columns' own units."""
    lower, upper = np.array([0.0, -1e-3, 1e6]), np.array([100.0, 1e-3, 3e6])
    X = rng.normal([30.0, 1e-4, 2.9e6], [15.0, 4e-4, 5e5], size=(200_000, 3))
    clipped = np.clip(X, lower, upper)
    scaler = fit(X, (lower, upper), epsilon=5.0)
    width = upper - lower
    np.testing.assert_allclose(scaler.mean_ / width, clipped.mean(axis=0) / width, atol=1e-4)
    np.testing.assert_allclose(scaler.scale_, clipped.std(axis=0), rtol=2e-3)
    scaled = scaler.transform(X)
    np.testing.assert_allclose(scaled, (clipped - scaler.mean_) / scaler.scale_)
    np.testing.assert_allclose(scaled.std(axis=0), 1.0, rtol=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("mean", [-0.8, 0.0, 0.5])
def test_means_and_variances_have_the_noise_of_the_docstring_and_no_bias(mean):
    """Both over 1,500 seeds: normal of the stated size; Kolmogorov-Smirnov, false alarm 1e-6.

    The variance is read where the floor does not bind.
    """
    X = np.tile([mean - 0.19, mean + 0.19], (500, 4)).T.copy()
    X = np.concatenate([X, X], axis=1).reshape(-1, 1)
    n_rows = len(X)
    fits = [fit(X, (-1, 1), epsilon=8.0, random_state=seed) for seed in range(1500)]
    tau, v = noise_of(fits[0], n_rows)
    errors = (np.array([one.mean_[0] for one in fits]) - mean) / tau
    assert stats.kstest(errors, "norm").pvalue > FALSE_ALARM
    variance = 0.19**2
    assert variance > 10 * v
    v = tau * math.sqrt(2 / 3 + 4 * mean**2)
    errors = (np.array([one.scale_[0] ** 2 for one in fits]) - variance) / v
    assert stats.kstest(errors, "norm").pvalue > FALSE_ALARM


@pytest.mark.parametrize("n_rows", [20, 1000, 50_000])
@pytest.mark.parametrize("epsilon", [0.05, 1.0])
def test_a_scale_is_never_below_two_standard_deviations_of_the_variances_noise(n_rows, epsilon):
    """Constant columns, and those that hardly vary, would else be blown up by chance."""
    X = np.full((n_rows, 30), 0.3)
    X[:, :10] += np.linspace(-1e-3, 1e-3, n_rows)[:, np.newaxis]
    X[0, 20:] = 1.0
    for seed in range(5):
        scaler = fit(X, (-1, 1), epsilon=epsilon, random_state=seed)
        _, v = noise_of(scaler, n_rows)
        assert (scaler.scale_ >= np.sqrt(2 * v) * (1 - 1e-9)).all()
        # Most are at the floor: variance and noise together seldom exceed two of it.
        assert np.mean(scaler.scale_ <= np.sqrt(2 * v) * (1 + 1e-9)) > 0.8


def test_means_stay_within_the_bounds_however_large_the_noise():
    """Where a few rows say nothing, at least the bounds hold."""
    for seed in range(20):
        scaler = fit(np.zeros((5, 8)), (-1, 3), epsilon=0.01, random_state=seed)
        assert scaler.mean_.min() >= -1
        assert scaler.mean_.max() <= 3
        assert np.isfinite(scaler.scale_).all()


def test_values_outside_the_bounds_are_clipped_in_transform_too(rng):
    """One outlier could else be clipped away whole by the classifier behind."""
    scaler = fit(rng.uniform(0, 10, size=(1000, 1)), (0, 10))
    ends = scaler.transform([[0.0], [10.0]])
    np.testing.assert_array_equal(scaler.transform([[-99.0], [1e300]]), ends)
    np.testing.assert_allclose(scaler.inverse_transform(ends), [[0.0], [10.0]], atol=1e-12)


@pytest.mark.parametrize(
    "bounds",
    [(0, 10), ([0, 0], [10, 10]), (0, [10, 10]), {"income": (0, 10), "age": (0, 10)}],
)
def test_bounds_take_the_forms_of_the_bounded_scaler(bounds, rng):
    """One meaning of the word in the package."""
    X = pd.DataFrame(rng.uniform(0, 10, size=(50, 2)), columns=["age", "income"])
    scaler = fit(X, bounds)
    np.testing.assert_array_equal(scaler.lower_, [0, 0])
    np.testing.assert_array_equal(scaler.upper_, [10, 10])
    np.testing.assert_array_equal(scaler.mean_, fit(X, (0, 10)).mean_)


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        (None, "bounds=None.*needs public bounds"),
        ((3, 3), "low below high"),
        ((0, np.inf), "finite"),
        (([0, 0, 0], 10), "one a column"),
        ({"age": (0, 1)}, "columns named by text"),
    ],
)
def test_bounds_that_cannot_be_used_are_named(bounds, words):
    """Before anything is spent."""
    with pytest.raises(ValueError, match=words):
        fit(np.zeros((3, 2)), bounds)


@pytest.mark.parametrize("bounds", [(0, 5e-324), (-8e307, 8e307), (1e-300, 2e-300), (1e9, 1e9 + 1)])
def test_bounds_of_any_width_scale_to_finite_numbers(bounds):
    """Whatever half of the width rounds to."""
    X = np.array([[bounds[0]], [bounds[1]], [0.0]])
    with np.errstate(all="raise"):
        scaler = fit(X, bounds)
    assert (scaler.scale_ > 0).all()
    assert np.isfinite(scaler.transform(X)).all()


def test_sparse_rows_are_refused():
    """Shifting a column would fill it."""
    with pytest.raises(TypeError, match="Sparse data was passed"):
        fit(sparse.csr_array(np.eye(3)), (-1, 1))
