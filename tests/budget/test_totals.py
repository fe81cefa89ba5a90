"""Totals by hand, and a promise that no sequence of fits outgrows."""

import math

import numpy as np
import pytest
from budget_stubs import DELTA, Releases, admitted, gaussian, mu_squared_limit, sampled
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp import DPSGDClassifier, PrivacyBudget
from skdp.exceptions import BudgetExhaustedError, PrivacyError
from skdp.privacy import (
    Gaussian,
    SubsampledGaussian,
    calibrate_noise_multiplier,
    get_epsilon,
    get_renyi_divergence,
)
from skdp.privacy._filter import make_filter
from skdp.privacy._promise import digits_up


def test_full_batches_add_up_by_mu_squared():
    """By hand: fits of noise 10 are 1/100 each."""
    budget = PrivacyBudget(1.0, DELTA)
    expected = int(mu_squared_limit(1.0) * 100)
    assert expected >= 5
    assert admitted(budget, gaussian(10.0)) == expected
    assert budget.share_spent == pytest.approx(expected / 100 / mu_squared_limit(1.0), rel=1e-6)
    assert not budget.overspent


def test_sampled_steps_add_up_by_their_divergences():
    """By hand: the best of the orders says how many fit, each cost taken from the accountant."""
    budget, model = PrivacyBudget(3.0, DELTA), sampled()
    rule = make_filter(3.0, DELTA)
    limits = np.array(rule.orders) / 2 / rule.charge([Gaussian(1.0)])[1:]
    expected = int(np.max(limits / get_renyi_divergence(model.mechanisms, rule.orders)))
    assert expected >= 5
    assert budget.remaining_fits(model, 1000) == expected
    assert admitted(budget, model) == expected
    assert not budget.overspent


def test_a_mixture_falls_back_to_the_divergences_of_all():
    """A sampled fit after full batches makes these count by their divergences, too."""
    budget = PrivacyBudget(3.0, DELTA)
    budget.reserve(gaussian(5.0), 1000)
    by_mu = budget.share_spent
    budget.reserve(sampled(), 1000)
    rule = make_filter(3.0, DELTA)
    total = rule.charge([Gaussian(5.0), *sampled().mechanisms])
    assert total[0] == math.inf
    assert budget.share_spent == pytest.approx(np.min(total), rel=1e-9)
    assert by_mu == pytest.approx(1 / 25 / mu_squared_limit(3.0), rel=1e-6)


@pytest.mark.parametrize("rate", [1.0, 0.05])
def test_one_fit_may_take_the_whole_budget(rate):
    """By its exact cost, since nothing was seen when it was chosen; and nothing comes after it."""
    noise = calibrate_noise_multiplier(1.0, DELTA, rate, 100)
    budget, model = PrivacyBudget(1.0, DELTA), sampled(noise, rate, 100)
    assert budget.remaining() == 1.0
    assert budget.remaining_fits(model, 1000) == 1
    budget.reserve(model, 1000)
    assert budget.share_spent == 1.0
    assert budget.remaining() == 0.0
    assert budget.remaining_fits(model, 1000) == 0
    with pytest.raises(BudgetExhaustedError):
        budget.reserve(gaussian(1e4), 1000)
    budget.spend(model.fit())
    assert not budget.overspent


def test_a_single_fit_beyond_the_budget_is_refused():
    """Also as the first one."""
    noise = calibrate_noise_multiplier(1.01, DELTA, 0.05, 100)
    with pytest.raises(BudgetExhaustedError):
        PrivacyBudget(1.0, DELTA).reserve(sampled(noise, 0.05, 100), 1000)


def test_what_would_have_been_cheaper_in_advance_is_shown():
    """The exact cost of the same fits as one composition."""
    budget = PrivacyBudget(3.0, DELTA)
    for _ in range(4):
        budget.reserve(sampled(), 1000)
    budget.reserve(gaussian(8.0), 1000)
    parts = [SubsampledGaussian(2.0, 0.05, 80), Gaussian(8.0)]
    assert budget.epsilon_if_fixed == get_epsilon(parts, DELTA) < 3.0
    assert f"epsilon {digits_up(budget.epsilon_if_fixed)}." in str(budget)
    assert PrivacyBudget(3.0, DELTA).epsilon_if_fixed == 0.0


def test_the_epsilon_that_remains_is_admitted_and_no_more():
    """A classifier that asks for just that much on full batches gets it."""
    budget = PrivacyBudget(2.0, DELTA)
    budget.reserve(gaussian(6.0), 1000)
    left = budget.remaining()
    enough = calibrate_noise_multiplier(left, DELTA, 1.0, 50)
    too_little = calibrate_noise_multiplier(left * 1.003, DELTA, 1.0, 50)
    with pytest.raises(BudgetExhaustedError):
        budget.reserve(sampled(too_little, 1.0, 50), 1000)
    budget.reserve(sampled(enough, 1.0, 50), 1000)
    assert not budget.overspent


def test_no_noise_is_refused():
    """Its divergence is infinite, so no plan has a promise and no fit is paid for."""
    budget = PrivacyBudget(100.0, DELTA)
    with pytest.raises(PrivacyError, match="without noise"):
        budget.reserve(gaussian(0.0), 1000)
    with pytest.raises(BudgetExhaustedError):
        budget.enter("Releases", [Gaussian(0.0)], fit_id="one")
    assert budget.share_spent == 0


noises = st.floats(-0.3, 1.5).map(lambda exponent: 10.0**exponent)
full_batches = st.builds(Gaussian, noises)
sampled_steps = st.builds(SubsampledGaussian, noises, st.floats(0.001, 1.0), st.integers(1, 200))
plans = st.lists(st.one_of(full_batches, sampled_steps), min_size=1, max_size=3)


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=60, database=None)
@given(st.sampled_from([0.3, 1.0, 5.0]), st.lists(plans, min_size=1, max_size=10))
def test_no_sequence_of_reservations_exceeds_the_budget(epsilon, wanted):
    """All that was accepted, as one composition by the exact accountant; the rest left no trace."""
    budget, accepted = PrivacyBudget(epsilon, DELTA), []
    for mechanisms in wanted:
        before = budget.to_json()
        try:
            budget.reserve(Releases(tuple(mechanisms)), 1000)
            accepted.extend(mechanisms)
        except BudgetExhaustedError:
            assert budget.to_json() == before
    assert not budget.overspent
    assert budget.share_spent <= 1.0
    assert budget.epsilon_if_fixed <= epsilon
    if accepted:
        assert budget.epsilon_if_fixed == pytest.approx(get_epsilon(accepted, DELTA), rel=1e-9)


# -- To the last fit -------------------------------------------------------------------------------


@pytest.mark.parametrize("total", [0.5, 1.0, 3.0, 8.0])
@pytest.mark.parametrize("k", [2, 3, 7, 11, 20])
def test_a_budget_in_equal_parts_pays_for_as_many_as_it_says(total, k):
    """Rounding refuses no last part that was announced, and admits none beyond the budget."""
    probe = PrivacyBudget(total, 1e-6)
    probe.reserve(DPSGDClassifier(noise_multiplier=50.0, batch_size=1000, n_epochs=1), n_rows=1000)
    # Noise of which exactly k fits fill the ledger, up to rounding.
    noise = 50.0 * math.sqrt(k * probe.share_spent)
    model = DPSGDClassifier(noise_multiplier=noise, batch_size=1000, n_epochs=1)
    budget = PrivacyBudget(total, 1e-6)
    said = budget.remaining_fits(model, n_rows=1000)
    assert said == admitted(budget, model) in (k - 1, k)
    assert not budget.overspent
    assert budget.epsilon_if_fixed <= total * (1 + 1e-9)


@settings(derandomize=True, deadline=None, max_examples=40, database=None)
@given(st.lists(plans, max_size=4), plans, st.sampled_from([1.0, 5.0]))
def test_whatever_was_spent_before_as_many_fits_are_announced_as_admitted(spent, plan, epsilon):
    """On all rows or on batches, after fits of any other kind."""
    budget, model = PrivacyBudget(epsilon, DELTA), Releases(tuple(plan))
    for mechanisms in spent:
        try:
            budget.reserve(Releases(tuple(mechanisms)), 1000)
        except BudgetExhaustedError:
            break
    said = budget.remaining_fits(model, 1000)
    if said <= 60:
        assert admitted(budget, model) == said


def test_what_costs_nothing_fits_without_end():
    """Also where nothing is left."""
    budget = PrivacyBudget(1.0, DELTA)
    assert budget.remaining_fits(Releases(), 1000) == math.inf
    budget.reserve(gaussian(calibrate_noise_multiplier(1.0, DELTA, 1.0, 1)), 1000)
    assert budget.remaining_fits(Releases(), 1000) == math.inf
    budget.reserve(Releases(), 1000)
    assert not budget.overspent
