"""What "auto" means: public numbers alone, and what the user set is taken as given."""

import math

import pytest

from skdp.linear_model._recipe import (
    calibrated_hyperparameters,
    n_steps_of,
    textbook_hyperparameters,
)

AUTO = {
    "batch_size": "auto",
    "n_epochs": "auto",
    "clip_threshold": "auto",
    "learning_rate": "auto",
}


def recipe(n_rows=1000, n_features=20, epsilon=1.0, **given):
    return calibrated_hyperparameters(
        n_rows=n_rows, n_features=n_features, epsilon=epsilon, delta=1e-5, **(AUTO | given)
    )


def training_time(n_rows, n_features):
    """2 n mu / sqrt(d + 1); mu of (1, 1e-5) is 0.268, from its own closed form elsewhere."""
    return 2 * n_rows * 0.26805 / math.sqrt(n_features + 1)


def test_the_default_is_a_hundred_full_batch_steps_at_the_recipes_rate():
    """Where the rate stays at or below 3."""
    settings = recipe()
    assert (settings.batch_size, settings.n_steps, settings.clip_threshold) == (1000, 100, 1.0)
    assert settings.learning_rate == pytest.approx(training_time(1000, 20) / 100, rel=1e-3)


def test_the_number_of_steps_grows_to_300_where_the_rate_would_pass_3():
    """And the rate stays there."""
    middle, large = recipe(n_rows=3000), recipe(n_rows=30_000)
    assert middle.n_steps == math.ceil(training_time(3000, 20) / 3)
    assert 100 < middle.n_steps < 300
    assert middle.learning_rate <= 3.0
    assert (large.n_steps, large.learning_rate) == (300, 3.0)


def test_the_rate_is_in_units_of_the_threshold():
    """A threshold of 10 scales the sums by 10 at most, so the rate is a tenth."""
    assert recipe(clip_threshold=10.0).learning_rate == pytest.approx(recipe().learning_rate / 10)


def test_a_given_rate_sets_the_number_of_steps():
    """The same training time in larger or smaller steps, within 300."""
    time = training_time(1000, 20)
    assert recipe(learning_rate=2.0).n_steps == pytest.approx(time / 2, abs=1)
    assert recipe(learning_rate=2.0).learning_rate == 2.0
    assert recipe(learning_rate=1e-9).n_steps == 300


def test_given_epochs_set_the_rate():
    """The same training time over as many steps as asked for."""
    settings = recipe(n_epochs=50, batch_size=100)
    assert settings.n_steps == 500
    assert settings.learning_rate == pytest.approx(training_time(1000, 20) / 500, rel=1e-3)


def test_small_batches_get_the_steps_that_keep_their_noise_moderate():
    """(mu / q)^2, and never more than 100 epochs."""
    assert recipe(batch_size=64).n_steps == 100
    assert recipe(n_rows=10_000, batch_size=100).n_steps == math.ceil((0.26805 * 100) ** 2)
    assert recipe(n_rows=200_000, batch_size=100).n_steps == 100 * 2000


def test_a_batch_larger_than_the_data_is_the_data():
    """The divisor is what can be drawn."""
    assert recipe(batch_size=10**9).batch_size == 1000


def test_the_textbook_values():
    """Batch 64, 30 epochs, rate 0.1, threshold 1; and what is given instead."""
    settings = textbook_hyperparameters(n_rows=800, **AUTO)
    assert (settings.batch_size, settings.n_steps) == (64, 375)
    assert (settings.learning_rate, settings.clip_threshold) == (0.1, 1.0)
    given = textbook_hyperparameters(
        n_rows=800, batch_size=80, n_epochs=2, clip_threshold=3, learning_rate=4
    )
    assert (given.batch_size, given.n_steps) == (80, 20)
    assert (given.learning_rate, given.clip_threshold) == (4, 3)


@pytest.mark.parametrize("n_rows", [7, 100, 569, 1250, 36_177])
@pytest.mark.parametrize("batch_size", [1.0, 7.0, 64.0, 100.5])
def test_k_batches_worth_of_epochs_are_k_steps(n_rows, batch_size):
    """The product n_epochs * n / B may round up; a step must not be added by it."""
    for k in (1, 3, 375, 9999):
        assert n_steps_of(k * batch_size / n_rows, n_rows, batch_size) == k
    assert n_steps_of(1e-9, n_rows, batch_size) == 1


def test_absurd_numbers_of_steps_are_refused_by_name():
    """Rather than never ending."""
    with pytest.raises(ValueError, match="n_epochs=1e"):
        n_steps_of(1e300, 100, 1.0)
