"""What "auto" means: public numbers alone, and what the user set is taken as given."""

import math

import pytest

from skdp.linear_model._recipe import (
    calibrated_hyperparameters,
    n_steps_of,
    slower_with_a_majority,
    textbook_hyperparameters,
)
from skdp.mechanisms._gradient_plan import MOST_ROWS_A_STEP
from skdp.privacy import calibrate_noise_multiplier

AUTO = {
    "batch_size": "auto",
    "n_epochs": "auto",
    "clip_threshold": "auto",
    "learning_rate": "auto",
}


def recipe(n_rows=1000, n_features=20, n_classes=2, mu=0.27, **given):
    return calibrated_hyperparameters(
        n_rows=n_rows,
        n_features=n_features,
        n_classes=n_classes,
        mu=mu,
        most_a_step=MOST_ROWS_A_STEP,
        **(AUTO | given),
    )


def time_of(settings):
    """Steps times rate, in units of the threshold."""
    return settings.n_steps * settings.learning_rate * settings.clip_threshold


def test_the_training_time_grows_with_what_the_data_and_the_budget_can_tell():
    """In proportion to n mu, and with the cube root of the columns; the shares left for steps
    differ a little."""
    base = time_of(recipe())
    assert time_of(recipe(n_rows=2000)) == pytest.approx(2 * base, rel=0.1)
    assert time_of(recipe(mu=0.54)) == pytest.approx(2 * base, rel=0.1)
    assert time_of(recipe(n_features=167)) == pytest.approx(base / 2, rel=1e-9)


def test_what_is_released_and_what_the_steps_get_add_up_to_the_budget():
    """In squares of mu."""
    settings = recipe()
    of_steps = settings.signal * 21 / 1000
    spent = settings.class_mu**2 + settings.norm_mu**2 + of_steps**2
    assert spent == pytest.approx(0.27**2)
    assert 0 < settings.class_mu**2 < 0.13 * 0.27**2
    assert 0 < settings.norm_mu**2 < 0.021 * 0.27**2


def test_steps_grow_from_30_to_300_and_then_the_rate_stays_at_3():
    """In units of the threshold."""
    assert recipe().n_steps == 30
    middle, large = recipe(n_rows=3000), recipe(n_rows=100_000)
    assert 30 < middle.n_steps < 300
    assert middle.learning_rate * middle.clip_threshold <= 3.0
    assert large.n_steps == 300
    assert large.learning_rate * large.clip_threshold == pytest.approx(3.0)


def test_the_threshold_grows_with_the_signal_within_bounds():
    """From 0.6 to the norm of a typical (row, 1), at which hardly anything is clipped."""
    assert recipe(n_rows=50).clip_threshold == 0.6
    assert recipe(n_rows=10**6).clip_threshold == pytest.approx(math.sqrt(21))
    assert 0.6 < recipe().clip_threshold < math.sqrt(21)
    assert recipe(n_classes=5).clip_threshold < recipe().clip_threshold


def test_a_given_threshold_is_kept_and_the_rate_is_in_its_units():
    """A threshold of 10 scales the sums by 10 at most, so the rate is a tenth of that of 1."""
    one, ten = recipe(clip_threshold=1.0), recipe(clip_threshold=10.0)
    assert ten.clip_threshold == 10.0
    assert ten.learning_rate == pytest.approx(one.learning_rate / 10)
    assert ten.norm_mu == 0.0


def test_a_given_threshold_or_rate_fixes_the_units():
    """So no histogram of norms is paid for."""
    assert not recipe().scale_is_given
    for given in ({"clip_threshold": 1.0}, {"learning_rate": 0.5}):
        assert recipe(**given).scale_is_given
        assert recipe(**given).norm_mu == 0.0


def test_a_given_rate_sets_the_number_of_steps():
    """The same training time in larger or smaller steps, within 300."""
    time = time_of(recipe())
    settings = recipe(learning_rate=2.0)
    assert settings.learning_rate == 2.0
    assert settings.n_steps == pytest.approx(time / (2.0 * settings.clip_threshold), abs=1.1)
    assert recipe(learning_rate=1e-9).n_steps == 300


def test_given_epochs_set_the_rate():
    """The same training time over as many steps as asked for."""
    settings = recipe(n_epochs=50, batch_size=100)
    assert settings.n_steps == 500
    assert time_of(settings) == pytest.approx(time_of(recipe()))


def test_small_batches_get_the_steps_that_keep_their_noise_moderate():
    """3 (mu / q)^2, and never more than 100 epochs."""
    assert recipe(batch_size=500).n_steps == 30
    settings = recipe(n_rows=10_000, batch_size=100)
    of_steps = settings.signal * 21 / 10_000
    assert settings.n_steps == math.ceil(3 * (of_steps * 100) ** 2)
    assert recipe(n_rows=200_000, batch_size=100).n_steps == 100 * 2000


@pytest.mark.parametrize("batch_size", [16, 64, 256])
def test_small_batches_at_these_steps_need_at_most_a_quarter_more_noise(batch_size):
    """Noise over batch size and square root of steps, by the exact accountant, against full
    batches of the same budget."""
    mu = 1 / calibrate_noise_multiplier(1.0, 1e-5, 1.0, 1)
    settings = recipe(n_rows=800, mu=mu, batch_size=batch_size)
    noise = calibrate_noise_multiplier(1.0, 1e-5, batch_size / 800, settings.n_steps)
    assert noise * 800 / batch_size <= 1.25 * math.sqrt(settings.n_steps) / mu


def test_batches_are_full_until_a_step_reads_a_million_numbers():
    """Then as many rows as that, at least a tenth, and no more than a sum may add up."""
    assert recipe(n_rows=10**4, n_features=100).batch_size == 10**4
    assert recipe(n_rows=10**5, n_features=50).batch_size == 2 * 10**4
    assert recipe(n_rows=10**5, n_features=1000).batch_size == 10**4
    assert recipe(n_rows=10**8, n_features=50).batch_size == MOST_ROWS_A_STEP
    assert recipe(batch_size=10**9).batch_size == 1000


@pytest.mark.parametrize("n_rows", [1, 2, 30, 10**4, 10**9])
@pytest.mark.parametrize("n_features", [1, 20, 10**5])
@pytest.mark.parametrize("n_classes", [2, 3, 100])
@pytest.mark.parametrize("mu", [1e-4, 0.27, 40.0])
def test_every_size_has_a_usable_recipe(n_rows, n_features, n_classes, mu):
    """Finite, positive, and within the budget."""
    settings = recipe(n_rows, n_features, n_classes, mu)
    assert 0 < settings.learning_rate < math.inf
    assert 0.6 <= settings.clip_threshold < math.inf
    assert 1 <= settings.batch_size <= n_rows
    assert settings.n_steps >= 30
    assert settings.class_mu**2 + settings.norm_mu**2 <= 0.15 * mu**2


def test_only_a_leading_class_and_little_signal_slow_the_rate():
    """Balanced classes never do, and plenty of signal makes it forget."""
    assert slower_with_a_majority(1.0, 0.0) == 1.0
    assert slower_with_a_majority(0.4, 0.4) == pytest.approx(1 / 3)
    assert slower_with_a_majority(1000.0, 0.4) > 0.999
    assert slower_with_a_majority(math.inf, 0.9) == 1.0


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
