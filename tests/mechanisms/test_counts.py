"""Noisy counts: each row in one bin at most, and noise for the sensitivity that this gives."""

import math

import numpy as np
import pytest
from scipy import sparse, stats

from skdp.mechanisms._counts import NORM_EXPONENTS, count_plan, noisy_counts, norm_bins
from skdp.mechanisms._noise import SeededSource
from skdp.mechanisms._release import ROUNDING_SHARE
from skdp.privacy import Gaussian


class Silence:
    """A source without noise: what is released is then the count, rounded to the grid."""

    n_parts = 1

    def normal(self, shape):
        return np.zeros(shape)


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("n_bins", [2, 3, 7])
def test_leaving_out_any_row_moves_the_counts_by_the_sensitivity(centred, n_bins, rng):
    """1, or sqrt(1 - 1 / n_bins) for centred counts; and by no more than rounding adds to it."""
    plan = count_plan(n_bins, 1.0, centred=centred)
    bins = rng.integers(0, n_bins, 30)
    whole = noisy_counts(bins, plan, Silence())
    for row in range(30):
        masked = bins.copy()
        masked[row] = -1
        moved = np.linalg.norm(whole - noisy_counts(masked, plan, Silence()))
        assert moved <= plan.sensitivity * (1.0 + ROUNDING_SHARE)
        assert moved == pytest.approx(plan.sensitivity, rel=ROUNDING_SHARE)


@pytest.mark.parametrize("centred", [False, True])
def test_the_noise_is_the_multiplier_times_the_sensitivity(centred):
    """Kolmogorov-Smirnov on 20,000 draws, false alarm 1e-6; and the accountant's multiplier."""
    plan = count_plan(4, 3.0, centred=centred)
    source = SeededSource(1)
    empty = np.full(10, -1)
    draws = np.concatenate([noisy_counts(empty, plan, source) for _ in range(5000)])
    scale = 3.0 * (math.sqrt(0.75) if centred else 1.0)
    assert stats.kstest(draws / scale, "norm").pvalue > 1e-6
    assert plan.mechanism == Gaussian(3.0)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_norms_fall_into_bins_by_powers_of_two(container):
    """Exactly at the edges, and at both ends of the number range; rows of zeros into none."""
    norms = [0.0, 1.0, 1.999, 2.0, 0.5, 5e-324, 1.7e308, 3e-19, 2.0**-48, 2.0**63]
    X = np.zeros((len(norms), 3))
    X[:, 1] = norms
    bins = norm_bins(container(X))
    first, last = NORM_EXPONENTS[0], NORM_EXPONENTS[-1]
    exponents = [0, 0, 1, -1, first, last, first, -48, 63]
    assert bins[0] == -1
    assert (bins[1:] + first).tolist() == exponents


def test_a_norm_beyond_the_doubles_is_in_the_last_bin():
    """Infinite, though every entry is finite."""
    assert norm_bins(np.full((1, 4), 1.7e308)).tolist() == [len(NORM_EXPONENTS) - 1]
