"""Readings of noisy counts: right where they can be, harmless where they drown."""

import numpy as np
import pytest

from skdp.linear_model._start import class_shares, intercept_of, majority_margin, typical_norm
from skdp.mechanisms._counts import NORM_EXPONENTS, count_plan


def centred(counts):
    return counts - np.mean(counts)


@pytest.mark.parametrize("counts", [[700, 300], [500, 300, 200], [10, 10, 10, 970]])
def test_clear_counts_give_the_shares(counts):
    """With little noise, nothing is shrunk."""
    plan = count_plan(len(counts), 0.1, centred=True)
    shares = class_shares(centred(np.array(counts, float)), plan, 1000)
    np.testing.assert_allclose(shares, np.array(counts) / 1000, atol=1e-3)
    assert majority_margin(shares) == pytest.approx(
        (sorted(counts)[-1] - sorted(counts)[-2]) / 1000, abs=2e-3
    )


@pytest.mark.parametrize("n_classes", [2, 5])
def test_counts_within_their_noise_give_equal_shares(n_classes, rng):
    """What noise explains is not believed."""
    plan = count_plan(n_classes, 300.0, centred=True)
    counts = np.zeros(n_classes)
    counts[0], counts[1] = 100.0, -100.0
    np.testing.assert_allclose(class_shares(counts, plan, 1000), 1 / n_classes)


def test_shares_are_positive_and_sum_to_one_whatever_the_noise(rng):
    """Also for counts far outside the possible."""
    for n_classes in (2, 4):
        plan = count_plan(n_classes, 5.0, centred=True)
        for _ in range(100):
            shares = class_shares(rng.normal(size=n_classes) * 1e4, plan, 100)
            assert (shares > 0).all()
            assert shares.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("shares", [[0.7, 0.3], [0.5, 0.3, 0.2]])
def test_the_intercept_predicts_the_shares(shares):
    """Its softmax, or its logistic, is what it came from."""
    intercept = intercept_of(np.array(shares))
    if len(shares) == 2:
        assert 1 / (1 + np.exp(-intercept)) == pytest.approx(shares[1])
    else:
        odds = np.exp(intercept)
        np.testing.assert_allclose(odds / odds.sum(), shares)


def histogram_of(norms):
    exponents = np.floor(np.log2(norms)).astype(int)
    return np.bincount(exponents - NORM_EXPONENTS[0], minlength=len(NORM_EXPONENTS)).astype(float)


@pytest.mark.parametrize("factor", [2.0**-10, 0.01, 1.0, 100.0, 2.0**12])
def test_the_typical_norm_follows_the_scale_of_the_rows(factor, rng):
    """Within a factor of 1.5 of the upper quartile, for a clear histogram; exact in scale but
    for where bins begin."""
    norms = factor * np.sqrt((rng.normal(size=(2000, 30)) ** 2).sum(axis=1))
    plan = count_plan(len(NORM_EXPONENTS), 5.0)
    found = typical_norm(histogram_of(norms), plan, 2000, 30)
    assert 1 / 1.5 < found / np.quantile(norms, 0.75) < 1.5


def test_a_histogram_that_drowns_gives_the_norm_of_standardised_columns(rng):
    """Noise of ten times the number of rows."""
    plan = count_plan(len(NORM_EXPONENTS), 1000.0)
    for _ in range(20):
        counts = 1000 * rng.normal(size=len(NORM_EXPONENTS))
        assert 2**-3.0 < typical_norm(counts, plan, 100, 30) / np.sqrt(30) < 2**3.0


def test_rows_of_zeros_leave_the_prior():
    """No count, no noise: nothing contradicts sqrt(n_features)."""
    plan = count_plan(len(NORM_EXPONENTS), 1.0)
    zeros = np.zeros(len(NORM_EXPONENTS))
    assert typical_norm(zeros, plan, 100, 16) == pytest.approx(4.0)
