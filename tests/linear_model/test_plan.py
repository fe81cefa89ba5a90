"""The budget table, and all rules between parameters: before a row is read, or never."""

import math

import numpy as np
import pytest

from skdp import DPSGDClassifier, PrivacyWarning
from skdp.exceptions import BudgetExhaustedError, CalibrationError, PrivacyError
from skdp.linear_model import _training_plan
from skdp.linear_model._training_plan import make_plan, weaknesses_of
from skdp.mechanisms._counts import NORM_EXPONENTS, count_plan
from skdp.mechanisms._gradient_plan import SENSITIVITY_FACTOR
from skdp.privacy import SubsampledGaussian, get_epsilon


def plan_of(n_rows=800, n_features=20, n_classes=2, **params):
    return make_plan(
        DPSGDClassifier(**params), n_rows=n_rows, n_features=n_features, n_classes=n_classes
    )


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1, 10])
@pytest.mark.parametrize("batch_size", [1, 64, "n"])
@pytest.mark.parametrize("n_epochs", [1, 30])
@pytest.mark.parametrize("n_rows", [100, 3000])
def test_calibrated_runs_spend_between_99_percent_and_all_of_the_budget(
    epsilon, batch_size, n_epochs, n_rows
):
    """For every budget, batch and length; what was asked for is what ran."""
    batch_size = n_rows if batch_size == "n" else batch_size
    plan = plan_of(n_rows, epsilon=epsilon, batch_size=batch_size, n_epochs=n_epochs)
    assert 0.99 * epsilon <= plan.epsilon <= epsilon
    mechanism = plan.gradient.mechanism
    assert mechanism.sample_rate == min(batch_size, n_rows) / n_rows
    assert mechanism.n_steps == math.ceil(n_epochs * n_rows / min(batch_size, n_rows) - 1e-9)
    assert plan.epsilon == get_epsilon(plan.mechanisms, plan.delta)


@pytest.mark.parametrize("epsilon", ["auto", 1.0])
def test_the_default_budget_is_one(epsilon):
    """With nothing set, or epsilon alone."""
    plan = plan_of(epsilon=epsilon)
    assert 0.99 <= plan.epsilon <= 1.0
    assert plan.gradient.noise_multiplier > 0


def test_counts_are_released_before_the_first_step_where_noise_is_calibrated():
    """Class counts for the intercept, a histogram of norms for the scale; both in the plan."""
    plan = plan_of(n_classes=3)
    classes, norms, steps = plan.mechanisms
    assert plan.class_counts == count_plan(3, plan.class_counts.noise_multiplier, centred=True)
    assert plan.norm_counts.size == len(NORM_EXPONENTS)
    assert (classes, norms) == (plan.class_counts.mechanism, plan.norm_counts.mechanism)
    assert steps == plan.gradient.mechanism
    assert get_epsilon(steps, plan.delta) < plan.epsilon


@pytest.mark.parametrize(
    ("params", "classes", "norms"),
    [
        ({"fit_intercept": False}, False, True),
        ({"clip_threshold": 2.0}, True, False),
        ({"max_row_norm": 3.0}, True, True),
        ({"noise_multiplier": 2.0}, False, False),
        ({"learning_rate": 0.1}, True, False),
    ],
)
def test_what_is_known_is_not_estimated(params, classes, norms):
    """A release that nothing would read is not paid for."""
    plan = plan_of(**params)
    assert (plan.class_counts is not None) == classes
    assert (plan.norm_counts is not None) == norms


def test_nothing_is_paid_for_counts_that_would_drown():
    """With a handful of rows the whole budget goes to the steps."""
    assert len(plan_of(n_rows=5).mechanisms) == 1


def test_releases_adapt_threshold_and_rate_and_nothing_that_costs():
    """Sample rate, noise multiplier and steps are fixed before the first release."""
    plan = plan_of()
    adapted = plan.adapted(scale=100.0, unit_scale=100.0, margin=0.5)
    assert adapted.mechanisms == plan.mechanisms
    assert adapted.epsilon == plan.epsilon
    assert adapted.gradient.clip_threshold == 100 * plan.gradient.clip_threshold
    assert adapted.gradient.intercept_column == 100.0
    assert adapted.learning_rate < plan.learning_rate / 100**2
    given = plan_of(learning_rate=0.25).adapted(scale=1.0, unit_scale=1.0, margin=0.5)
    assert given.learning_rate == 0.25


@pytest.mark.parametrize("epsilon", ["auto", None])
def test_given_noise_without_a_budget_runs_as_configured(epsilon):
    """epsilon_ then says what it cost, the count of clipped rows included."""
    plan = plan_of(epsilon=epsilon, noise_multiplier=2.0, delta=1e-5)
    ran = SubsampledGaussian(2.0 / SENSITIVITY_FACTOR, 64 / 800, 375)
    assert plan.gradient.mechanism == ran
    assert plan.epsilon == get_epsilon(ran, 1e-5)
    assert plan.gradient.noise_multiplier == 2.0
    assert plan.n_steps_asked == 375


def test_given_noise_and_a_budget_stop_before_the_step_that_would_exceed_it():
    """The steps taken fit, and one more would not."""
    plan = plan_of(epsilon=2.0, noise_multiplier=2.0, delta=1e-5)
    ran = plan.gradient.mechanism
    assert plan.epsilon <= 2.0
    assert ran.n_steps < 375
    one_more = SubsampledGaussian(ran.noise_multiplier, ran.sample_rate, ran.n_steps + 1)
    assert get_epsilon(one_more, 1e-5) > 2.0


def test_a_generous_budget_does_not_lengthen_the_run():
    """n_epochs is what was asked for."""
    plan = plan_of(epsilon=9.0, noise_multiplier=2.0, delta=1e-5)
    assert plan.gradient.n_steps == 375
    assert plan.epsilon < 4


def test_no_noise_costs_everything():
    """And the infinite threshold goes with it: plain minibatch descent."""
    plan = plan_of(noise_multiplier=0, clip_threshold=math.inf)
    assert plan.epsilon == math.inf
    assert plan.gradient.noise_scale == 0.0


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"epsilon": math.inf}, PrivacyError, "noise_multiplier=0"),
        ({"epsilon": math.inf, "noise_multiplier": 1.0}, PrivacyError, "noise_multiplier=0"),
        ({"epsilon": None}, PrivacyError, "epsilon=None"),
        ({"epsilon": 1.0, "noise_multiplier": 0}, BudgetExhaustedError, "raise noise_multiplier"),
        ({"epsilon": 0.1, "noise_multiplier": 0.5}, BudgetExhaustedError, "first step"),
        ({"clip_threshold": math.inf}, PrivacyError, "clip_threshold=inf"),
        (
            {"clip_threshold": math.inf, "noise_multiplier": 1.0},
            PrivacyError,
            "clip_threshold=inf",
        ),
        ({"noise_multiplier": 1.0, "n_epochs": 1e300}, ValueError, "n_epochs=1e"),
    ],
)
def test_combinations_that_promise_nothing_are_refused(params, error, message):
    """Each names the parameter and says what to do."""
    with pytest.raises(error, match=message):
        plan_of(**params)


def test_calibration_refuses_runs_that_delta_alone_pays_for():
    """A row published with a chance below delta would pass as private without noise."""
    with pytest.raises(CalibrationError):
        plan_of(n_rows=10_000, epsilon=1.0, delta=0.01, batch_size=1, n_epochs=0.001)


@pytest.mark.parametrize(("n_rows", "delta"), [(100, 1e-5), (100_000, 5e-6)])
def test_the_default_delta_is_below_one_over_the_rows(n_rows, delta):
    """And never above 1e-5."""
    assert plan_of(n_rows).delta == delta


@pytest.mark.slow
@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({}, []),
        ({"epsilon": 10.0}, []),
        ({"noise_multiplier": 2.0, "delta": 1e-5}, []),
        ({"delta": 1 / 800}, ["delta=0.00125 is at least 1 / n_rows"]),
        ({"epsilon": 10.5}, ["epsilon_ is 10."]),
        ({"noise_multiplier": 0}, ["without noise"]),
        ({"epsilon": 2.0, "noise_multiplier": 2.0}, ["the budget ends training after"]),
        ({"noise_multiplier": 0, "delta": 0.5}, ["without noise", "delta=0.5"]),
    ],
)
def test_warnings_name_what_weakens_the_promise_and_nothing_else_warns(params, words):
    """A delta of one over the rows, an epsilon above 10, no noise, a cut run."""
    messages = weaknesses_of(plan_of(**params))
    assert len(messages) == len(words)
    for message, word in zip(messages, words, strict=True):
        assert word in message


@pytest.mark.oracle
@pytest.mark.parametrize(
    "params",
    [{"epsilon": 0.1}, {"epsilon": 3.0}, {"batch_size": 64}, {"epsilon": 3.0, "batch_size": 100}],
)
def test_an_independent_accountant_finds_the_same_cost(params):
    """dp-accounting prices what stands on the fitted object, every release before the first step
    included."""
    import dp_accounting
    from dp_accounting.pld.pld_privacy_accountant import PLDAccountant

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(800, 20)), np.arange(800) % 2
    model = DPSGDClassifier(random_state=0, **params).fit(X, y)
    assert len(model.mechanisms_) == 3
    accountant = PLDAccountant()
    for release in model.mechanisms_:
        event = dp_accounting.GaussianDpEvent(release.noise_multiplier)
        if isinstance(release, SubsampledGaussian):
            if release.sample_rate < 1:
                event = dp_accounting.PoissonSampledDpEvent(release.sample_rate, event)
            accountant.compose(event, release.n_steps)
        else:
            accountant.compose(event)
    assert model.epsilon_ == pytest.approx(accountant.get_epsilon(model.delta_), rel=2e-3)


def test_warnings_point_at_whoever_called_fit():
    """Not at a wrapper around it, whichever scikit-learn brings."""
    rows = np.eye(4)
    with pytest.warns(PrivacyWarning) as caught:
        DPSGDClassifier(noise_multiplier=0).fit(rows, [0, 1, 0, 1])
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize(
    ("sizes", "params", "words"),
    [
        ({"n_rows": 10**7}, {"noise_multiplier": 2.0, "batch_size": 4e6}, "above 3,000,000"),
        ({"n_rows": 10**7, "unit": "unit"}, {"batch_size": 5e5}, "above 400,000, .*units"),
        (
            {"n_rows": 10**10, "n_features": 10**4},
            {"noise_multiplier": 2.0, "batch_size": 2e6, "n_epochs": 1},
            "too many for a sum",
        ),
    ],
)
def test_sizes_at_which_rounding_could_show_are_refused(sizes, params, words):
    """In public numbers, before a row is read."""
    with pytest.raises(ValueError, match=words):
        make_plan(DPSGDClassifier(**params), **({"n_features": 20, "n_classes": 2} | sizes))


@pytest.mark.parametrize(
    ("epsilon", "n_rows", "words"),
    [(500.0, 2, "on so few rows has counts"), (1e-3, 10**10, "on so many rows needs counts")],
)
def test_counts_whose_noise_is_out_of_range_are_refused_too(epsilon, n_rows, words, monkeypatch):
    """The steps of these plans are within their own limits."""
    with monkeypatch.context() as patch:
        patch.setattr(_training_plan, "check_arithmetic", lambda *args, **kwargs: None)
        with pytest.raises(CalibrationError, match=words):
            make_plan(
                DPSGDClassifier(epsilon=epsilon, delta=1e-9),
                n_rows=n_rows,
                n_features=2,
                n_classes=2,
            )


@pytest.mark.parametrize(("unit", "most"), [("row", 3_000_000), ("unit", 400_000)])
def test_automatic_batches_stay_within_what_a_sum_may_hold(unit, most):
    """A hundred million rows or people can be fitted without setting anything."""
    plan = make_plan(DPSGDClassifier(), n_rows=10**8, n_features=2, n_classes=2, unit=unit)
    assert plan.gradient.batch_size == most
