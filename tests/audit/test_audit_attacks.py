"""What the attack sees is what ran, and its statistic is the likelihood ratio that it claims."""

import dataclasses

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import norm

from skdp import DPSGDClassifier
from skdp.audit._attacks import Subject
from skdp.audit._canaries import Evidence, orthogonal_rows, wrong_rows
from skdp.audit._masked_training import Table, World, stack_rows
from skdp.linear_model._losses import Softmax, loss_for
from skdp.linear_model._training_plan import make_plan
from skdp.mechanisms._gradient_plan import GradientPlan
from skdp.mechanisms._noise import SeededSource, Streams

ESTIMATORS = {
    "calibrated": {"epsilon": 2.0},
    "sampled": {"epsilon": 2.0, "batch_size": 32, "n_epochs": 3},
    "textbook": {"noise_multiplier": 2.0, "n_epochs": 8, "alpha": 0.1},
    "no intercept": {"epsilon": 2.0, "fit_intercept": False},
    "bounded rows": {"epsilon": 2.0, "max_row_norm": 1.0, "batch_size": 50},
}


@pytest.mark.parametrize("settings", ESTIMATORS.values(), ids=ESTIMATORS)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("data", ["two_classes", "three_classes"])
def test_worlds_train_as_fit_does_to_the_last_bit(settings, container, data, request):
    """What is attacked is what users run. `Subject` refuses what differs."""
    X, y = request.getfixturevalue(data)
    X = container(X)
    model = DPSGDClassifier(**settings, random_state=3, store_path=True).fit(X, y)
    plan = make_plan(model, n_rows=len(y), n_features=X.shape[1], n_classes=len(set(y)))
    loss = loss_for(len(set(y)))
    everyone = Table(X, y, 2)
    path = World(
        everyone, np.array([True, True]), plan, loss, fit_intercept=model.fit_intercept
    ).path(Streams(3, "DPSGDClassifier"))
    coef = np.swapaxes(model.coef_path_, 1, 2).reshape(len(path), -1)
    n_coef = coef.shape[1]
    np.testing.assert_array_equal(path[:, :n_coef], coef)
    if model.fit_intercept:
        np.testing.assert_array_equal(path[:, n_coef:], model.intercept_path_)
    Subject(DPSGDClassifier(**settings), X, y, 3)


@pytest.mark.parametrize("settings", ESTIMATORS.values(), ids=ESTIMATORS)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("data", ["two_classes", "three_classes"])
def test_a_masked_canary_contributes_nothing(settings, container, data, request):
    """Neither to counts nor to any step: what stands in its row and its label changes no bit."""
    X, y = request.getfixturevalue(data)
    loss = loss_for(len(set(y)))
    plan = make_plan(
        DPSGDClassifier(**settings), n_rows=len(y), n_features=X.shape[1], n_classes=len(set(y))
    )

    def path(row, code, present):
        table = Table(stack_rows(container(X[:-1]), row), np.append(y[:-1], code), 1)
        fit_intercept = settings.get("fit_intercept", True)
        world = World(table, np.array([present]), plan, loss, fit_intercept=fit_intercept)
        return world.path(Streams(5, "test"))

    small, huge = np.zeros((1, X.shape[1])), np.full((1, X.shape[1]), 1e6)
    np.testing.assert_array_equal(path(small, 0, False), path(huge, 1, False))
    assert not np.array_equal(path(huge, 1, True), path(huge, 1, False))


def plan_for(rate, n_steps=6, noise=1.5, **settings):
    return GradientPlan(
        n_rows=100,
        batch_size=100 * rate,
        n_steps=n_steps,
        clip_threshold=0.8,
        noise_multiplier=noise,
        **settings,
    )


def clipped_gradient(row, code, weights, plan, n_classes):
    """By the definition: outer product of (row, constant) and residual, shrunk as a whole."""
    row = np.append(row, plan.intercept_column)
    if n_classes == 2:
        residual = np.array([1 / (1 + np.exp(-row @ weights)) - code])
    else:
        scores = row @ weights.reshape(len(row), n_classes)
        residual = np.exp(scores) / np.exp(scores).sum() - np.eye(n_classes)[code]
    gradient = np.outer(row, residual)
    return (gradient * min(1.0, plan.clip_threshold / np.linalg.norm(gradient))).ravel()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("rate", [1.0, 0.3])
def test_the_statistic_of_one_canary_is_the_log_likelihood_ratio(n_classes, rate, rng):
    """Of a mixture of two normal distributions a step, which densities give directly."""
    plan = plan_for(rate, intercept_column=0.7)
    loss = loss_for(n_classes)
    row, code = rng.normal(size=4), 1
    size = 5 * loss.n_outputs
    evidence = Evidence(row[np.newaxis], np.array([code]), loss, plan, fit_intercept=True)
    expected = 0.0
    for _ in range(plan.n_steps):
        weights, change = rng.normal(size=size), rng.normal(size=size)
        evidence.observe(weights, change)
        gradient = clipped_gradient(row, code, weights, plan, n_classes)
        without = norm.pdf(change, scale=1.5 * 0.8).prod()
        drawn = norm.pdf(change, loc=gradient, scale=1.5 * 0.8).prod()
        expected += np.log(((1 - rate) * without + rate * drawn) / without)
    assert evidence.log_ratios() == pytest.approx([expected], rel=1e-9)
    assert 0.0 < evidence.budget_used()[0] <= 1.0


def test_many_steps_are_digested_as_few_are(monkeypatch, rng):
    """Steps wait in blocks; where a block ends must not show."""
    rows, codes = rng.normal(size=(3, 4)), np.array([0, 1, 0])
    plan = plan_for(1.0, n_steps=7)
    steps = [(rng.normal(size=5), rng.normal(size=5)) for _ in range(7)]

    def ratios():
        evidence = Evidence(rows, codes, loss_for(2), plan, fit_intercept=True)
        for step in steps:
            evidence.observe(*step)
        return evidence.log_ratios()

    at_once = ratios()
    monkeypatch.setattr("skdp.audit._canaries._NUMBERS_PER_BLOCK", 24)
    np.testing.assert_allclose(ratios(), at_once, rtol=1e-12)


def test_canaries_with_orthogonal_gradients_are_judged_one_by_one(rng):
    """The joint estimate falls apart into the likelihood ratios of the single canaries."""
    plan = plan_for(1.0)
    rows, codes = orthogonal_rows(4, 6, 5.0, rng), np.array([0, 1, 1, 0])
    together = Evidence(rows, codes, loss_for(2), plan, fit_intercept=False)
    alone = [
        Evidence(rows[[i]], codes[[i]], loss_for(2), plan, fit_intercept=False) for i in range(4)
    ]
    for _ in range(plan.n_steps):
        step = rng.normal(size=6), rng.normal(size=6)
        for evidence in (together, *alone):
            evidence.observe(*step)
    single = [evidence.log_ratios()[0] for evidence in alone]
    np.testing.assert_allclose(together.log_ratios(), single, rtol=1e-9)


class Silence(SeededSource):
    """A source whose noise is zero."""

    def normal(self, shape):
        return np.zeros(shape)


@pytest.mark.parametrize("rate", [1.0, 0.4])
def test_what_is_observed_is_the_noise_and_the_canary_where_it_was_drawn(
    rate, two_classes, monkeypatch
):
    """With the noise silenced, each step shows the canary's clipped gradient, or nothing.

    The weights start where they stay small, so that the gradients are known; and rounding to the
    grid is far below the tolerance.
    """
    monkeypatch.setattr("skdp.mechanisms._noise.SeededSource", Silence)
    X, y = two_classes
    model = DPSGDClassifier(noise_multiplier=1.0, batch_size=200 * rate, n_epochs=20)
    plan = make_plan(model, n_rows=200, n_features=3, n_classes=2)
    row, code = np.array([[3.0, -1.0, 2.0]]), np.array([0])
    table = Table(stack_rows(X[1:], row), np.append(y[1:], code), 1)
    seen = []

    class Record:
        def __init__(self, rows, codes, loss, plan, *, fit_intercept):
            self.plan = plan

        def observe(self, weights, change):
            gradient = clipped_gradient(row[0], code[0], weights, self.plan, 2)
            seen.append((change.copy(), gradient))

    monkeypatch.setattr("skdp.audit._masked_training.Evidence", Record)
    for present in (True, False):
        seen.clear()
        world = World(table, np.array([present]), plan, loss_for(2), fit_intercept=True)
        world.evidence(Streams(1, "test"), row, code)
        shown = [np.abs(change).max() > 1e-3 for change, _ in seen]
        for (change, gradient), is_shown in zip(seen, shown, strict=True):
            np.testing.assert_allclose(change, gradient * is_shown, atol=2e-4)
        assert len(seen) == plan.gradient.n_steps
        assert any(shown) == present
        assert all(shown) == (present and rate == 1.0)


def test_the_wrong_rows_stand_in_the_other_class(two_classes):
    """Each candidate has the label of the class whose mean it is farther from."""
    X, y = two_classes
    means = np.array([X[y == code].mean(axis=0) for code in (0, 1)])
    for container in (np.asarray, sparse.csr_matrix):
        rows, codes = wrong_rows(container(X), y, 2)
        far = np.linalg.norm(rows[:, np.newaxis] - means, axis=2).argmax(axis=1)
        np.testing.assert_array_equal(codes, far)


def test_a_class_without_rows_is_no_obstacle(two_classes):
    """The label set may be declared, and be larger than what the rows show."""
    X, y = two_classes
    rows, codes = wrong_rows(X, np.zeros_like(y), 2)
    assert np.isfinite(rows).all()
    assert set(codes) == {0, 1}


def test_canary_rows_are_orthogonal_in_groups(rng):
    """As many at a time as there are columns, all of one length."""
    rows = orthogonal_rows(7, 3, 2.0, rng)
    for group in (rows[:3], rows[3:6]):
        np.testing.assert_allclose(group @ group.T, 4.0 * np.eye(3), atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 2.0)


@pytest.mark.parametrize(("ran", "taken"), [(1.5, 1.5), (1.45, 1.5), (0.4, 0.4), (3.0, 1.5)])
def test_the_adversary_takes_the_claimed_noise_unless_there_is_clearly_less(ran, taken, rng):
    """A fault that makes the attack easier is used; one that makes it harder is not excused.

    The noise across the canary's gradient is known to 1.6 % here, and 0.4 is far off.
    """
    row, code = rng.normal(size=(1, 10)), np.array([0])
    plan = plan_for(0.3, n_steps=200)
    evidence = Evidence(row, code, loss_for(2), plan, fit_intercept=False)
    expected = 0.0
    for _ in range(plan.n_steps):
        weights, change = rng.normal(size=10), ran * 0.8 * rng.normal(size=10)
        evidence.observe(weights, change)
        gradient = row[0] / (1 + np.exp(-row[0] @ weights))
        gradient *= min(1.0, 0.8 / np.linalg.norm(gradient))
        exponent = (gradient @ change - gradient @ gradient / 2) / (taken * 0.8) ** 2
        expected += np.log(0.7 + 0.3 * np.exp(exponent))
    exact = 1e-9 if taken == 1.5 else 0.1
    assert evidence.log_ratios()[0] == pytest.approx(expected, rel=exact)


def test_bounded_rows_are_shortened_as_in_training(rng):
    """A canary longer than `max_row_norm` has the gradient of the shortened row."""
    rows, codes = np.array([[3.0, 4.0]]), np.array([2])
    plan = dataclasses.replace(plan_for(1.0, n_steps=1), clip_threshold=1e3)
    step = rng.normal(size=9), rng.normal(size=9)
    ratios = []
    for row, bound in ((rows, 1.0), (rows / 5.0, None)):
        bounded = dataclasses.replace(plan, max_row_norm=bound)
        evidence = Evidence(row, codes, Softmax(3), bounded, fit_intercept=True)
        evidence.observe(*step)
        ratios.append(evidence.log_ratios()[0])
    assert ratios[0] == pytest.approx(ratios[1])
