"""NoisyGradient: what it releases is the noisy sum that the plan describes."""

import math

import numpy as np
import pytest
from scipy import sparse, stats

from skdp.linear_model._losses import Logistic, Softmax
from skdp.mechanisms import _rows
from skdp.mechanisms._gradient import NoisyGradient
from skdp.mechanisms._gradient_plan import (
    COUNT_WEIGHT,
    SENSITIVITY_FACTOR,
    GradientPlan,
    multiplier_for_gradient,
)
from skdp.mechanisms._noise import SeededSource
from skdp.mechanisms._release import ROUNDING_SHARE, grid_spacing
from skdp.mechanisms._sampling import poisson_blocks

FALSE_ALARM = 1e-6


class Silence:
    """A source without noise: what is released is then the sum, rounded to the grid."""

    n_parts = 1

    def normal(self, shape):
        return np.zeros(shape)


def half_a_spacing(plan, size):
    """How far rounding to the grid moves a coordinate, at most, and a little for the sum's own."""
    return grid_spacing(plan.clip_threshold, size) * (0.5 + 1e-6)


def plan_with(**changes):
    plan = {
        "n_rows": 60,
        "batch_size": 12.0,
        "n_steps": 5,
        "clip_threshold": 2.0,
        "noise_multiplier": 3.0,
    }
    return GradientPlan(**(plan | changes))


def open_door(X, targets, plan, *, loss=None, sampling=None, noise=None, fit_intercept=True):
    return NoisyGradient(
        X,
        targets,
        loss or Logistic(),
        plan,
        sampling=sampling or SeededSource(1),
        noise=noise or SeededSource(2),
        fit_intercept=fit_intercept,
    )


@pytest.mark.slow
def test_without_rows_every_coordinate_is_noise_of_the_planned_size():
    """All-zero rows and no intercept leave noise alone: weights, and the count beside them.

    Kolmogorov-Smirnov for the shape, counts beyond 4 standard deviations for the tails, one
    covariance matrix for independence; false alarms at most 1e-6 each.
    """
    plan = plan_with(n_steps=40_000)
    gradient = open_door(np.zeros((60, 3)), np.zeros(60), plan, fit_intercept=False)
    releases = np.array([gradient(np.zeros(3)) for _ in range(plan.n_steps)])
    assert releases.shape == (40_000, 4)
    scaled = releases / (3.0 * 2.0)
    assert stats.kstest(scaled.ravel(), "norm").pvalue > FALSE_ALARM
    far = int(np.count_nonzero(np.abs(scaled) > 4))
    tail = 2 * stats.norm.sf(4)
    assert stats.binomtest(far, scaled.size, tail).pvalue > FALSE_ALARM
    # Coordinates among each other, and each step with the next: 5.5 standard errors for 32 pairs.
    together = np.hstack([scaled[:-1], scaled[1:]])
    correlation = np.corrcoef(together.T) - np.eye(8)
    assert np.abs(correlation).max() < 5.5 / math.sqrt(40_000)


def test_columns_that_no_drawn_row_touches_get_their_noise():
    """Noise on touched columns alone would tell which columns a batch touched."""
    X = sparse.csr_matrix(([1.0], ([0], [0])), shape=(60, 50))
    plan = plan_with(batch_size=1.0, n_steps=50)
    gradient = open_door(X, np.zeros(60), plan)
    for _ in range(plan.n_steps):
        assert np.count_nonzero(gradient(np.zeros(51))) == 52


def test_an_empty_batch_takes_a_normal_noisy_step():
    """Skipping it would tell that nobody was drawn."""
    plan = plan_with(batch_size=1.0, n_rows=10**6, n_steps=200)
    gradient = open_door(np.zeros((10**6, 1)), np.zeros(10**6), plan)
    # The chance that all of 200 steps of expected size 1 draw somebody is (1 - 1/e)^200 < 1e-39.
    for _ in range(plan.n_steps):
        assert np.count_nonzero(gradient(np.zeros(2))) == 3


def test_noise_is_drawn_once_a_step_and_never_reused():
    """Two steps, or two coordinates, that share noise would cancel it."""
    plan = plan_with(n_steps=3000)
    gradient = open_door(np.zeros((60, 3)), np.zeros(60), plan, fit_intercept=False)
    releases = np.array([gradient(np.zeros(3)) for _ in range(plan.n_steps)])
    assert len(np.unique(releases, axis=0)) == plan.n_steps
    # On a grid of 6e5 points a standard deviation, two draws agree with a chance below 1e-6.
    for shift in range(1, 4):
        same = np.count_nonzero(releases == np.roll(releases, shift, axis=1))
        assert same <= 3
    assert np.count_nonzero(releases[1:] == releases[:-1]) <= 3


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_the_release_is_the_clipped_sum_and_the_scaled_count(n_outputs, rng):
    """Layout: coefficients, intercepts, count of clipped rows."""
    loss = Logistic() if n_outputs == 1 else Softmax(n_outputs)
    X, targets = rng.normal(size=(60, 4)) * 5, rng.integers(0, max(n_outputs, 2), 60)
    plan = plan_with(batch_size=60.0, n_steps=1)
    gradient = open_door(X, targets, plan, loss=loss, noise=Silence())
    release = gradient(np.zeros(5 * n_outputs))
    shares = np.full((60, n_outputs), 0.5 if n_outputs == 1 else 1 / n_outputs)
    hit = targets[:, None] if n_outputs == 1 else targets[:, None] == np.arange(n_outputs)
    gradients = np.einsum("ni,nk->nik", np.hstack([X, np.ones((60, 1))]), shares - hit)
    norms = np.sqrt((gradients**2).sum(axis=(1, 2)))
    expected = (gradients * np.minimum(1, 2.0 / norms)[:, None, None]).sum(axis=0)
    rounding = half_a_spacing(plan, len(release))
    np.testing.assert_allclose(release[:-1], expected.ravel(), rtol=0, atol=rounding)
    clipped = (norms > 2.0).sum() * COUNT_WEIGHT * 2.0
    np.testing.assert_allclose(release[-1], clipped, rtol=0, atol=rounding)


@pytest.mark.parametrize("batch_size", [14.0, 25.5])
def test_the_release_of_a_small_batch_is_the_sum_over_exactly_the_rows_drawn(batch_size, rng):
    """Drawn at the plan's own rate, and neither divided by their number nor scaled to it."""
    X, targets = rng.normal(size=(60, 4)), rng.integers(0, 2, 60)
    plan = plan_with(batch_size=batch_size, n_steps=40, clip_threshold=0.8)
    gradient = open_door(X, targets, plan, noise=Silence(), sampling=SeededSource(5))
    blocks = poisson_blocks(60, batch_size / 60, 40, SeededSource(5))
    batches = [
        block.rows[start:stop]
        for block in blocks
        for start, stop in zip([0, *block.stops], block.stops, strict=False)
    ]
    assert len(batches) == 40
    for batch in batches:
        gradients = np.hstack([X, np.ones((60, 1))])[batch] * (0.5 - targets[batch, None])
        norms = np.linalg.norm(gradients, axis=1)
        expected = (gradients * np.minimum(1, 0.8 / norms)[:, None]).sum(axis=0)
        release = gradient(np.zeros(5))
        rounding = half_a_spacing(plan, len(release))
        np.testing.assert_allclose(release[:-1], expected, rtol=0, atol=rounding)
        clipped = (norms > 0.8).sum() * plan.count_scale
        np.testing.assert_allclose(release[-1], clipped, rtol=0, atol=rounding)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("least_rows", "groups"), [(7, 1), (60, 1), (60, 1000), (10_000, 1)])
def test_releases_do_not_depend_on_how_batches_are_fetched(
    least_rows, groups, container, rng, monkeypatch
):
    """Cut up, alone, or several at a time: the same releases, to rounding."""
    X, targets = container(rng.normal(size=(60, 4))), rng.integers(0, 2, 60)

    def releases():
        gradient = open_door(X, targets, plan_with(n_steps=40))
        return np.array([gradient(np.full(5, 0.1 * step)) for step in range(40)])

    usual = releases()
    monkeypatch.setattr(_rows, "_BYTES_PER_PIECE", 1)
    monkeypatch.setattr(_rows, "_LEAST_ROWS_PER_PIECE", least_rows)
    monkeypatch.setattr(_rows, "_GROUPS_PER_PIECE", groups)
    np.testing.assert_allclose(releases(), usual, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("column", [1e-3, 1.0, 300.0])
def test_the_constant_of_the_intercept_is_part_of_what_is_clipped(column, rng):
    """A single row's whole release, whatever stands beside it for the intercept."""
    plan = plan_with(n_rows=1, batch_size=1.0, n_steps=1, intercept_column=column)
    for row in rng.normal(size=(20, 1, 3)):
        release = open_door(row, np.zeros(1), plan, noise=Silence())(rng.normal(size=4))
        assert np.linalg.norm(release) <= 2.0 * SENSITIVITY_FACTOR
        residual = release[-2] / column
        rounding = half_a_spacing(plan, 5) * (1.0 + np.abs(row[0]) / column)
        assert (np.abs(release[:3] - row[0] * residual) <= rounding).all()


def test_the_accountant_sees_noise_over_the_sensitivity_of_the_whole_sum():
    """The count costs at most 1 % of the multiplier, and is not forgotten."""
    plan = plan_with()
    assert plan.mechanism.noise_multiplier == pytest.approx(
        plan.noise_scale / (plan.clip_threshold * (math.hypot(1, COUNT_WEIGHT) + ROUNDING_SHARE)),
        rel=1e-12,
    )
    assert 0.99 <= plan.mechanism.noise_multiplier / plan.noise_multiplier < 1
    assert plan.mechanism.sample_rate == 12 / 60
    assert plan.mechanism.n_steps == 5


def test_no_more_steps_than_planned_can_be_taken(rng):
    """The accountant was told of n_steps of them."""
    plan = plan_with()
    gradient = open_door(rng.normal(size=(60, 2)), np.zeros(60), plan)
    for _ in range(5):
        gradient(np.zeros(3))
    with pytest.raises(RuntimeError, match="have been taken"):
        gradient(np.zeros(3))


@pytest.mark.parametrize("multiplier", [0.01, 0.1, 1 / 3, 1.0, 2.37, 57.024, 1e5])
def test_rounding_never_lowers_calibrated_noise(multiplier):
    """Scaling up for the count and down again keeps at least what was calibrated."""
    there = multiplier_for_gradient(multiplier)
    assert there / SENSITIVITY_FACTOR >= multiplier
    assert there <= multiplier * SENSITIVITY_FACTOR * (1 + 1e-15)


def test_x_is_never_modified(rng):
    """Callers may pass read-only memory maps."""
    X = rng.normal(size=(60, 3))
    X.flags.writeable = False
    before = X.copy()
    open_door(X, np.zeros(60), plan_with(max_row_norm=0.5))(np.zeros(4))
    np.testing.assert_array_equal(X, before)
