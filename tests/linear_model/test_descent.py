"""Descent on given releases: exact arithmetic, averaging, stages, divergence."""

import math

import numpy as np
import pytest

from skdp.exceptions import DivergenceError
from skdp.linear_model._descent import average_of_last, descend, passes, stage_ends
from skdp.linear_model._training_plan import TrainingPlan
from skdp.mechanisms._gradient_plan import COUNT_WEIGHT, GradientPlan


def plan_with(n_steps=8, *, average=False, rate=0.5, alpha=0.0, noise=1.0, column=1.0):
    gradient = GradientPlan(
        n_rows=10,
        batch_size=5.0,
        n_steps=n_steps,
        clip_threshold=2.0,
        noise_multiplier=noise,
        intercept_column=column,
    )
    return TrainingPlan(
        gradient=gradient,
        class_counts=None,
        norm_counts=None,
        epsilon=1.0,
        delta=1e-5,
        n_steps_asked=n_steps,
        learning_rate=rate,
        rate_is_given=True,
        alpha=alpha,
        averaged_share=0.25 if average else 0.0,
        scale_is_given=True,
        signal=math.inf,
    )


def replay(releases):
    """A gradient that returns recorded releases whatever the weights."""
    recorded = iter(np.array(releases, dtype=float))
    return lambda weights: next(recorded)


def run(releases, plan, *, n_coef=2, keep_path=False):
    return descend(replay(releases), plan, start=np.zeros(3), n_coef=n_coef, keep_path=keep_path)


def test_a_step_subtracts_the_rate_times_the_sum_over_the_batch_size(rng):
    """Divided once by the expected batch size, and by nothing that was counted."""
    releases = rng.normal(size=(8, 4))
    descent = run(releases, plan_with(rate=0.3), keep_path=True)
    np.testing.assert_allclose(descent.path, np.cumsum(-0.3 * releases[:, :3] / 5.0, axis=0))
    np.testing.assert_array_equal(descent.weights, descent.path[-1])


def test_the_penalty_shrinks_coefficients_from_the_same_iterate_and_spares_the_intercept(rng):
    """coef -= rate * alpha * coef, with the coefficients before the step."""
    releases = rng.normal(size=(8, 4))
    weights = np.zeros(3)
    for release in releases:
        decay = 0.3 * 0.2 * weights * [1, 1, 0]
        weights = weights - 0.3 * release[:3] / 5.0 - decay
    descent = run(releases, plan_with(rate=0.3, alpha=0.2))
    np.testing.assert_allclose(descent.weights, weights)


def test_an_iterate_starts_as_a_model_and_is_kept_as_one(rng):
    """With a constant of 4 beside each row, the intercept is 4 times its weight."""
    releases = rng.normal(size=(3, 4))
    start = np.array([0.5, -0.5, 2.0])
    seen = []

    def gradient(weights):
        seen.append(weights.copy())
        return releases[len(seen) - 1].copy()

    plan = plan_with(3, rate=0.3, column=4.0)
    descent = descend(gradient, plan, start=start, n_coef=2, keep_path=True)
    np.testing.assert_allclose(seen[0], [0.5, -0.5, 0.5])
    steps = np.cumsum(-0.3 * releases[:, :3] / 5.0, axis=0)
    np.testing.assert_allclose(descent.path, start + steps * [1, 1, 4])
    np.testing.assert_array_equal(descent.weights, descent.path[-1])


@pytest.mark.parametrize(("n_steps", "n_averaged"), [(1, 1), (4, 1), (5, 2), (8, 2), (100, 25)])
def test_averaging_returns_the_mean_of_the_last_quarter(n_steps, n_averaged, rng):
    """Rounded up, so that there is always one to average."""
    releases = rng.normal(size=(n_steps, 4))
    plan = plan_with(n_steps, average=True)
    descent = run(releases, plan, keep_path=True)
    np.testing.assert_allclose(descent.weights, descent.path[-n_averaged:].mean(axis=0))
    stage = average_of_last(descent.path, n_steps, plan.n_averaged(n_steps))
    np.testing.assert_array_equal(stage, descent.weights)


def test_the_clip_fraction_is_the_mean_count_over_the_expected_draws():
    """Held within [0, 1], since noise may carry it outside."""
    counts = np.array([3.0, 1.0, 2.0, 2.0])
    releases = np.zeros((4, 4))
    releases[:, -1] = counts * COUNT_WEIGHT * 2.0
    assert run(releases, plan_with(4)).clip_fraction == pytest.approx(8 / (4 * 5))
    assert run(100 * releases, plan_with(4)).clip_fraction == 1.0
    assert run(-releases, plan_with(4)).clip_fraction == 0.0


def test_weights_that_are_not_finite_are_an_error_that_names_the_rate():
    """Judged from the weights, which are already private."""
    with pytest.raises(DivergenceError, match="learning_rate=1e"):
        run(np.full((8, 4), 1e300), plan_with(rate=1e300))


@pytest.mark.parametrize(
    ("n_steps", "sample_rate", "ends"),
    [
        (3, 1.0, [1, 2, 3]),
        (10, 0.25, [4, 8, 10]),
        (7, 0.3, [4, 7]),
        (8, 0.3, [4, 7, 8]),
        (1, 0.01, [1]),
    ],
)
def test_stages_end_with_the_epochs_and_a_last_partial_one_counts(n_steps, sample_rate, ends):
    """Stage k ends with the step at which k epochs of rows have been drawn in expectation."""
    assert stage_ends(n_steps, sample_rate) == ends


def test_whole_epochs_stay_whole():
    """30 epochs of 800 rows in batches of 64 are 30 stages, not 31 by a rounding."""
    for k in range(1, 200):
        for batch_size in (7, 64, 100):
            rate = batch_size / 800
            n_steps = int(np.ceil(k / rate - 1e-9))
            assert len(stage_ends(n_steps, rate)) == k
            assert passes(n_steps, rate) == np.ceil(n_steps * rate - 1e-9)
