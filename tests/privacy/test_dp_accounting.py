"""Live comparison with dp-accounting, in an environment that has it."""

import math

import numpy as np
import pytest

from skdp.privacy import SubsampledGaussian, calibrate_noise_multiplier, get_epsilon

pytestmark = pytest.mark.oracle

TABLE = [
    (1.0, 0.08, 375, 1e-5),
    (0.5, 0.08, 375, 1e-5),
    (2.0, 0.08, 375, 1e-5),
    (4.0, 0.08, 375, 1e-5),
    (1.1, 0.0042667, 14062, 1e-5),
    (0.8, 0.001, 10000, 1e-6),
]


@pytest.fixture(scope="module")
def pld():
    pytest.importorskip("dp_accounting")
    from dp_accounting.pld import privacy_loss_distribution

    return privacy_loss_distribution


def their_loss(pld, noise, rate, n_steps, interval):
    one = pld.from_gaussian_mechanism(
        noise, sampling_prob=rate, value_discretization_interval=interval, use_connect_dots=True
    )
    return one.self_compose(n_steps)


@pytest.mark.parametrize(("noise", "rate", "n_steps", "delta"), TABLE)
def test_each_direction_agrees(oracles, pld, noise, rate, n_steps, delta):
    """Between 0.1 % below and 0.2 % above their pessimistic value."""
    theirs = their_loss(pld, noise, rate, n_steps, 1e-4)
    for side, pmf in [("remove", theirs._pmf_remove), ("add", theirs._pmf_add)]:
        ours = oracles.direction(side, noise, rate, n_steps).epsilon(delta)
        value = pmf.get_epsilon_for_delta(delta)
        assert value * 0.999 <= ours <= value * 1.002


def test_random_points_agree(oracles, pld):
    """Within 0.2 % of an independent accountant, away from the points that were chosen by hand."""
    rng = np.random.default_rng(3)
    for _ in range(12):
        noise, rate = 10 ** rng.uniform(-0.3, 1), 10 ** rng.uniform(-3, -0.1)
        n_steps, delta = int(10 ** rng.uniform(0, 3.5)), 10 ** rng.uniform(-9, -3)
        ours = get_epsilon(SubsampledGaussian(noise, rate, n_steps), delta)
        # A grid that theirs can resolve the losses with.
        interval = max(ours, 1e-3) / 3000 / math.sqrt(n_steps)
        theirs = their_loss(pld, noise, rate, n_steps, max(interval, 1e-6))
        value = theirs.get_epsilon_for_delta(delta)
        assert value * 0.998 - 1e-6 <= ours <= value * 1.002 + 1e-6


def test_calibration_agrees():
    """An independent search over an independent accountant finds the same noise within 0.1 %."""
    accounting = pytest.importorskip("dp_accounting")
    from dp_accounting.pld import pld_privacy_accountant

    def event(noise):
        step = accounting.PoissonSampledDpEvent(0.08, accounting.GaussianDpEvent(noise))
        return accounting.SelfComposedDpEvent(step, 375)

    theirs = accounting.calibrate_dp_mechanism(
        pld_privacy_accountant.PLDAccountant, event, 1.0, 1e-5
    )
    ours = calibrate_noise_multiplier(1.0, 1e-5, 0.08, 375)
    assert ours == pytest.approx(theirs, rel=1e-3)
