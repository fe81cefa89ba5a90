"""The drawings show the figures that the package computes, whole and legible."""

import builtins
import math
from inspect import signature
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from skdp import DPSGDClassifier, inspection, privacy_statement
from skdp.exceptions import PrivacyError
from skdp.inspection import (
    BudgetCurveDisplay,
    PrivacyAccuracyDisplay,
    PrivacyProfileDisplay,
    TrainingPathDisplay,
)
from skdp.preprocessing import BoundedScaler, DPStandardScaler
from skdp.privacy import (
    Gaussian,
    GroupedGaussian,
    SubsampledGaussian,
    get_epsilon,
    privacy_profile,
    textbook_epsilon,
    trade_off_curve,
)

matplotlib = pytest.importorskip("matplotlib")

DELTA = 1e-5
SIZES = {"notebook": (6.4, 4.8), "paper": (3.3, 2.5)}
# A floating-point path of its own may end a bit elsewhere.
CLOSE = {"rtol": 1e-12}


@pytest.fixture
def pyplot():
    """Draws to memory; finds no figure open, and leaves none."""
    matplotlib.use("agg")
    from matplotlib import pyplot

    pyplot.close("all")
    yield pyplot
    pyplot.close("all")


@pytest.fixture
def fits(two_classes):
    """Three fits that differ in their noise only, of two batches an epoch."""
    return [
        DPSGDClassifier(
            noise_multiplier=2.0, batch_size=100, n_epochs=6, store_path=True, random_state=seed
        ).fit(*two_classes)
        for seed in range(3)
    ]


def draw_budget(data, **options):
    return BudgetCurveDisplay.from_noise_multipliers(
        [0.5, 1.0, 2.0, 4.0], sample_rate=0.08, n_steps=375, budget=5.0, **options
    )


def draw_profile(data, kind="profile", **options):
    runs = {f"noise {s}": Gaussian(s) for s in (1.0, 2.0, 4.0)}
    return PrivacyProfileDisplay.from_mechanisms(runs, delta=DELTA, kind=kind, **options)


def draw_trade_off(data, **options):
    return draw_profile(data, kind="trade_off", **options)


def draw_path(data, **options):
    fitted = {
        f"noise {s}": [
            DPSGDClassifier(
                noise_multiplier=s, n_epochs=8, store_path=True, delta=DELTA, random_state=seed
            ).fit(*data)
            for seed in range(2)
        ]
        for s in (2.0, 4.0)
    }
    return TrainingPathDisplay.from_estimator(fitted, *data, against="epsilon", **options)


def draw_accuracy(data, **options):
    both = {
        "bounds": make_pipeline(BoundedScaler(bounds=(-4, 4)), DPSGDClassifier()),
        "rows": make_pipeline(StandardScaler(), DPSGDClassifier()),
    }
    return PrivacyAccuracyDisplay.from_estimator(
        both, *data, epsilons=[0.3, 1.0], n_repeats=2, cv=2, random_state=0, **options
    )


EVERY = [draw_budget, draw_profile, draw_trade_off, draw_path, draw_accuracy]


@pytest.mark.slow
@pytest.mark.parametrize("draw", EVERY)
def test_a_display_draws_where_it_is_told_and_again_elsewhere(draw, two_classes, pyplot):
    """By the way in and by `plot`; without axes, on a figure of its own."""
    _, (left, right) = pyplot.subplots(1, 2)
    display = draw(two_classes, ax=left)
    assert display.ax_ is left
    assert display.figure_ is left.figure
    first = display.lines_
    assert display.plot(ax=right) is display
    assert display.ax_ is right
    assert all(line.axes is right for line in display.lines_.values())
    assert all(line.axes is left for line in first.values())
    assert display.plot().figure_ is not left.figure
    assert len(pyplot.get_fignums()) == 2


@pytest.mark.slow
@pytest.mark.parametrize("draw", EVERY)
@pytest.mark.parametrize("size", SIZES)
def test_every_axis_and_line_is_explained_and_no_text_is_cut_off(draw, size, two_classes, pyplot):
    """On paper and in a notebook."""
    _, ax = pyplot.subplots(figsize=SIZES[size], layout="constrained")
    display = draw(two_classes, ax=ax)
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    explained = [text.get_text() for text in ax.get_legend().get_texts()]
    for name in display.lines_:
        assert any(name in text for text in explained)
    display.figure_.canvas.draw()
    page = display.figure_.bbox
    texts = [ax.xaxis.label, ax.yaxis.label, *ax.texts, *ax.get_legend().get_texts()]
    for text in texts:
        box = text.get_window_extent()
        assert box.x0 >= page.x0 - 1, text.get_text()
        assert box.x1 <= page.x1 + 1, text.get_text()
        assert box.y0 >= page.y0 - 1, text.get_text()
        assert box.y1 <= page.y1 + 1, text.get_text()


@pytest.mark.slow
@pytest.mark.parametrize("draw", EVERY)
@pytest.mark.parametrize("size", SIZES)
def test_no_curve_runs_through_the_legend(draw, size, two_classes, pyplot):
    """At either size; the bands may."""
    _, ax = pyplot.subplots(figsize=SIZES[size], layout="constrained")
    display = draw(two_classes, ax=ax)
    display.figure_.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    for line in display.lines_.values():
        path = line.get_path().transformed(line.get_transform())
        assert not path.intersects_bbox(legend, filled=False)


@pytest.mark.parametrize("draw", EVERY)
def test_curves_differ_in_colour_and_in_mark(draw, two_classes, pyplot):
    """A print in grey can be read."""
    lines = draw(two_classes).lines_.values()
    assert len({line.get_color() for line in lines}) == len(lines)
    assert len({line.get_marker() for line in lines}) == len(lines)


@pytest.mark.parametrize("draw", EVERY)
def test_arguments_for_the_lines_reach_them(draw, two_classes, pyplot):
    """As `line_kw` does elsewhere in scikit-learn."""
    display = draw(two_classes, line_kw={"linewidth": 0.25})
    assert {line.get_linewidth() for line in display.lines_.values()} == {0.25}


@pytest.mark.parametrize("draw", EVERY)
def test_without_matplotlib_the_error_has_the_command(draw, two_classes, monkeypatch):
    """Before anything is computed, and from `plot` too."""
    display = draw(two_classes)
    matplotlib.pyplot.close("all")
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match="Display draws with matplotlib: python3 -m pip install"):
        draw(two_classes)
    with pytest.raises(ImportError, match="python3 -m pip install"):
        display.plot()


def test_an_empty_dict_has_nothing_to_draw(pyplot):
    """An error rather than an empty figure."""
    with pytest.raises(ValueError, match="nothing to draw"):
        BudgetCurveDisplay.from_mechanisms({})


# Budget curves


@pytest.mark.slow
def test_budget_curves_are_what_get_epsilon_says(pyplot):
    """At every number of steps drawn, and the dashed ones what the textbook says."""
    display = BudgetCurveDisplay.from_noise_multipliers(
        [1.0, 3.0], sample_rate=1 / 8, n_steps=40, delta=DELTA
    )
    for noise in (1.0, 3.0):
        steps, epsilons = display.lines_[f"noise {noise:g}"].get_data()
        assert (steps[0], steps[-1]) == (1, 400)
        truth = [get_epsilon(SubsampledGaussian(noise, 1 / 8, int(n)), DELTA) for n in steps]
        np.testing.assert_array_equal(epsilons, truth)
        steps, estimates = display.estimate_lines_[f"noise {noise:g}"].get_data()
        # n steps of an eighth of the rows each.
        textbook = [textbook_epsilon(800, 100, noise, n / 8, DELTA)[0] for n in steps]
        np.testing.assert_allclose(estimates, textbook, **CLOSE)
        (crossed,), (epsilon,) = display.planned_[f"noise {noise:g}"].get_data()
        assert (crossed, epsilon) == (
            40,
            get_epsilon(SubsampledGaussian(noise, 1 / 8, 40), DELTA),
        )
    assert display.ax_.get_ylabel() == "Epsilon at delta 1e-05"
    assert display.budget_line_ is None
    assert display.crossings_ == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    "before", [(), (Gaussian(8.0), Gaussian(12.0))], ids=["alone", "after counts"]
)
@pytest.mark.parametrize(
    "steps",
    [SubsampledGaussian(2.0, 0.1, 50), GroupedGaussian(8.0, 0.1, 50, 3)],
    ids=["rows", "groups"],
)
def test_a_dot_marks_the_last_step_within_the_budget(before, steps, pyplot):
    """One step more would exceed it, with everything released before the steps."""
    display = BudgetCurveDisplay.from_mechanisms({"run": (*before, steps)}, budget=4.0)
    (n_steps,), (epsilon,) = display.crossings_["run"].get_data()
    assert epsilon == 4.0
    assert display.n_steps_within_budget == {"run": n_steps}

    def cost(n):
        return get_epsilon((*before, type(steps)(**{**vars(steps), "n_steps": int(n)})), DELTA)

    assert cost(n_steps) <= 4.0 < cost(n_steps + 1)
    assert f"{n_steps:,} steps" in [text.get_text() for text in display.ax_.texts]
    assert list(display.budget_line_.get_ydata()) == [4.0, 4.0]


@pytest.mark.slow
def test_the_textbooks_number_of_steps_is_where_its_curve_meets_the_budget(pyplot):
    """It bounds nothing, and shows by how much it errs."""
    display = draw_budget(None)
    for noise, n_steps in ((0.5, 20), (2.0, 332)):
        assert display.n_steps_by_textbook[f"noise {noise:g}"] == n_steps
        within, beyond = (
            textbook_epsilon(800, 64, noise, n * 64 / 800, DELTA)[0] for n in (n_steps, n_steps + 1)
        )
        assert within <= 5.0 < beyond


def test_a_run_whose_first_step_is_too_costly_says_so(pyplot):
    """It meets the budget nowhere."""
    display = draw_budget(None)
    assert display.n_steps_within_budget["noise 0.5"] == 0
    assert "noise 0.5" not in display.crossings_
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert "noise 0.5 (no step fits)" in texts


@pytest.mark.slow
def test_runs_without_noise_have_no_curve_and_no_estimate(pyplot):
    """Infinity cannot be drawn."""
    display = BudgetCurveDisplay.from_noise_multipliers(
        [0.0, 2.0], sample_rate=0.1, n_steps=10, budget=3.0
    )
    assert len(display.lines_["noise 0"].get_xdata()) == 0
    assert set(display.estimates) == {"noise 2"}


def test_the_curve_of_a_fit_passes_through_what_it_cost(two_classes, pyplot):
    """What was released before the steps is part of the price."""
    fitted = DPSGDClassifier(epsilon=1.0).fit(*two_classes)
    display = BudgetCurveDisplay.from_estimator(fitted, budget=fitted.epsilon_)
    (n_steps,), (epsilon,) = display.planned_["DPSGDClassifier"].get_data()
    assert (n_steps, epsilon) == (fitted.n_steps_, fitted.epsilon_)
    assert display.n_steps_within_budget["DPSGDClassifier"] == fitted.n_steps_


@pytest.mark.slow
def test_an_axis_ends_where_it_is_told_and_the_textbook_can_be_left_out(pyplot):
    """Crossings beyond the end are counted, not drawn."""
    display = draw_budget(None, max_steps=300, textbook=False)
    assert display.steps[-1] == 300
    assert display.estimate_lines_ == {}
    assert set(display.crossings_) == {"noise 1"}
    assert display.planned_ == {}
    assert display.n_steps_within_budget["noise 4"] > 300


@pytest.mark.slow
def test_the_textbook_knows_no_groups(pyplot):
    """Its formula is for one row a person."""
    display = BudgetCurveDisplay.from_mechanisms(GroupedGaussian(4.0, 0.1, 20, 3))
    assert display.estimates == {}


@pytest.mark.parametrize(
    "run",
    [Gaussian(2.0), [SubsampledGaussian(2.0, 0.1, 9), SubsampledGaussian(3.0, 0.1, 9)], []],
    ids=["no steps", "two kinds of steps", "nothing"],
)
def test_a_run_has_one_kind_of_steps(run, pyplot):
    """Otherwise it is not clear which of them are counted."""
    with pytest.raises(ValueError, match=r"exactly one SubsampledGaussian.*Several runs go into"):
        BudgetCurveDisplay.from_mechanisms(run)


def test_one_axis_has_one_delta(two_classes, fits, pyplot):
    """Epsilons at different deltas cannot be compared."""
    one, other = (
        DPSGDClassifier(store_path=True, delta=delta).fit(*two_classes) for delta in (1e-5, 1e-6)
    )
    with pytest.raises(ValueError, match="different deltas"):
        BudgetCurveDisplay.from_estimator({"one": one, "other": other})
    display = TrainingPathDisplay.from_estimator({"one": one, "other": other}, *two_classes)
    with pytest.raises(ValueError, match="different deltas"):
        display.plot(against="epsilon")


# Privacy profiles


def test_profiles_and_trade_offs_are_those_of_the_releases(pyplot):
    """Both kinds from one display, several releases composed."""
    run = (Gaussian(2.0), Gaussian(5.0))
    display = PrivacyProfileDisplay.from_mechanisms({"run": run}, delta=DELTA)
    epsilons, deltas = display.lines_["run"].get_data()
    np.testing.assert_array_equal(deltas, privacy_profile(run, epsilons))
    assert epsilons[0] == 0.0
    assert deltas[-1] <= 1e-7
    (epsilon,), (delta,) = display.promises_["run"].get_data()
    assert (epsilon, delta) == (get_epsilon(run, DELTA), DELTA)
    assert display.guess_line_ is None
    assert display.ax_.get_yscale() == "log"

    display.plot(kind="trade_off")
    alphas, betas = display.lines_["run"].get_data()
    np.testing.assert_array_equal(betas, trade_off_curve(run, alphas))
    np.testing.assert_array_equal(np.sum(display.guess_line_.get_data(), axis=0), [1.0, 1.0])
    assert display.promises_ == {}
    assert display.ax_.get_xlabel() == "False alarm rate"


def test_the_profile_of_a_fit_passes_through_its_promise(two_classes, pyplot):
    """A seed is no obstacle to drawing what the noise is worth."""
    fitted = {
        "alone": DPSGDClassifier(epsilon=1.0, random_state=0).fit(*two_classes),
        "scaled": make_pipeline(
            BoundedScaler(bounds=(-4, 4)), DPSGDClassifier(epsilon=2.0, random_state=0)
        ).fit(*two_classes),
    }
    display = PrivacyProfileDisplay.from_estimator(fitted)
    for name, model in (("alone", fitted["alone"]), ("scaled", fitted["scaled"][-1])):
        (epsilon,), (delta,) = display.promises_[name].get_data()
        assert (epsilon, delta) == (model.epsilon_, model.delta_)


def test_profiles_are_evaluated_where_they_are_asked_for(pyplot):
    """A promise beyond is not drawn."""
    display = PrivacyProfileDisplay.from_mechanisms(
        Gaussian(1.0), delta=DELTA, epsilons=[0.0, 0.5, 1.0]
    )
    np.testing.assert_array_equal(display.lines_["mechanism"].get_xdata(), [0.0, 0.5, 1.0])
    assert display.promises_ == {}


def test_no_noise_is_no_protection(pyplot):
    """Delta is 1 everywhere, and the adversary never misses."""
    display = PrivacyProfileDisplay.from_mechanisms(SubsampledGaussian(0.0, 0.1, 5), delta=DELTA)
    assert set(display.lines_["mechanism"].get_ydata()) == {1.0}
    display.plot(kind="trade_off")
    assert not np.any(display.lines_["mechanism"].get_ydata())


def test_a_kind_that_is_not_known_is_refused(pyplot):
    """With those that are."""
    with pytest.raises(ValueError, match='kind must be "profile" or "trade_off", got'):
        PrivacyProfileDisplay.from_mechanisms(Gaussian(1.0), kind="roc")


@pytest.mark.parametrize("display", [BudgetCurveDisplay, PrivacyProfileDisplay])
def test_what_looked_at_the_rows_without_noise_has_no_curve(display, two_classes, pyplot):
    """A finite figure is never drawn over a gap."""
    fitted = make_pipeline(StandardScaler(), DPSGDClassifier()).fit(*two_classes)
    with pytest.raises(PrivacyError, match=r"no epsilon to draw.*StandardScaler.*BoundedScaler"):
        display.from_estimator(fitted)


def test_what_released_nothing_noisy_has_no_profile(two_classes, pyplot):
    """There is nothing to draw."""
    fitted = BoundedScaler(bounds=(-4, 4)).fit(*two_classes)
    with pytest.raises(ValueError, match="nothing noisy"):
        PrivacyProfileDisplay.from_estimator(fitted)


@pytest.mark.parametrize("spoil", ["kept callback", "ended early"])
def test_what_a_callback_touched_has_no_finite_epsilon_in_any_drawing(
    spoil, fits, two_classes, pyplot
):
    """The statement says that no promise covers it, and no drawing says otherwise."""
    fitted = fits[0]
    if spoil == "kept callback":
        fitted._skl_callbacks = [object()]
    else:
        fitted.n_steps_ -= 2
    assert privacy_statement(fitted).epsilon == math.inf
    for display in (BudgetCurveDisplay, PrivacyProfileDisplay):
        with pytest.raises(PrivacyError, match=r"no epsilon to draw.*callback"):
            display.from_estimator(fitted)
    path = TrainingPathDisplay.from_estimator({"spoilt": fitted}, *two_classes)
    labels = [text.get_text() for text in path.ax_.get_legend().get_texts()]
    assert labels == ["spoilt (no promise)"]
    with pytest.raises(PrivacyError, match=r"no epsilon to draw.*callback"):
        path.plot(against="epsilon")


@pytest.mark.parametrize("spoil", ["kept callback", "ended early"])
def test_accuracies_of_what_a_callback_touched_stand_at_no_promise(
    spoil, two_classes, monkeypatch, pyplot
):
    """Though each fit of the private class alone has a finite `epsilon_`."""
    fit = DPSGDClassifier.fit

    def spoilt(self, X, y):
        fit(self, X, y)
        if spoil == "kept callback":
            self._skl_callbacks = [object()]
        else:
            self.n_steps_ -= 1
        return self

    monkeypatch.setattr(DPSGDClassifier, "fit", spoilt)
    display = PrivacyAccuracyDisplay.from_estimator(
        DPSGDClassifier(), *two_classes, epsilons=[1.0], n_repeats=1, cv=2, non_private=None
    )
    assert set(display.not_covered) == {"DPSGDClassifier"}
    assert "No promise holds for DPSGDClassifier" in display.note_.get_text()
    assert display.ax_.get_xlabel().startswith("Epsilon asked for")


# Training paths


def test_paths_show_mean_and_spread_of_the_stages_of_several_fits(fits, two_classes, pyplot):
    """Against epochs, with a stage at the end of each."""
    X, y = two_classes
    display = TrainingPathDisplay.from_estimator({"noise 2": fits}, X, y)
    scores = [[np.mean(labels == y) for labels in fitted.staged_predict(X)] for fitted in fits]
    epochs, accuracies = display.lines_["noise 2"].get_data()
    np.testing.assert_allclose(epochs, [1, 2, 3, 4, 5, 6], **CLOSE)
    np.testing.assert_allclose(accuracies, np.mean(scores, axis=0), **CLOSE)
    edges = display.bands_["noise 2"].get_paths()[0].vertices[:, 1]
    assert edges.max() == pytest.approx(np.max(np.mean(scores, axis=0) + np.std(scores, axis=0)))
    assert edges.min() == pytest.approx(np.min(np.mean(scores, axis=0) - np.std(scores, axis=0)))
    assert display.ax_.get_ylabel() == "Accuracy"
    assert "3 fits" in display.ax_.get_legend().get_title().get_text()


def test_a_stage_costs_what_a_training_that_ends_there_costs(fits, two_classes, pyplot):
    """The oracle is a training that was planned to be so short."""
    display = TrainingPathDisplay.from_estimator(fits[0], *two_classes, against="epsilon")
    drawn = display.lines_["DPSGDClassifier"].get_xdata()
    for n_epochs, epsilon in enumerate(drawn, start=1):
        short = clone(fits[0]).set_params(n_epochs=n_epochs).fit(*two_classes)
        assert epsilon == short.epsilon_
    assert drawn[-1] == fits[0].epsilon_
    assert display.bands_ == {"DPSGDClassifier": None}


def test_every_stage_pays_for_what_was_released_before_the_first_step(two_classes, pyplot):
    """The counts of the recipe, and the scaler of a pipeline."""
    X, y = two_classes
    fitted = make_pipeline(
        DPStandardScaler(epsilon=0.5, bounds=(-4, 4), random_state=1),
        DPSGDClassifier(epsilon=1.0, store_path=True, random_state=2),
    ).fit(X, y)
    display = TrainingPathDisplay.from_estimator({"both": fitted}, X, y, against="epsilon")
    scaler, model = fitted
    before = (*scaler._privacy_releases(), *model.mechanisms_[:-1])
    assert len(before) >= 2
    steps = model.mechanisms_[-1]
    epsilons, accuracies = display.lines_["both"].get_data()
    first = SubsampledGaussian(
        steps.noise_multiplier, steps.sample_rate, int(display.paths["both"].n_steps[0])
    )
    assert epsilons[0] == get_epsilon((*before, first), model.delta_)
    assert epsilons[-1] == get_epsilon((*before, steps), model.delta_) > model.epsilon_
    np.testing.assert_allclose(accuracies[-1], fitted.score(X, y), **CLOSE)
    assert f"both (epsilon {epsilons[-1]:.3g})" in [
        text.get_text() for text in display.ax_.get_legend().get_texts()
    ]


def test_the_loss_is_scikit_learns(three_classes, pyplot):
    """Also on rows that lack a class."""
    X, y = three_classes
    fitted = DPSGDClassifier(epsilon=2.0, store_path=True, random_state=0).fit(X, y)
    X, y = X[y != 2], y[y != 2]
    display = TrainingPathDisplay.from_estimator({"one": fitted}, X, y, metric="log_loss")
    losses = [log_loss(y, p, labels=[0, 1, 2]) for p in fitted.staged_predict_proba(X)]
    drawn = display.lines_["one"].get_ydata()
    assert drawn[-1] == pytest.approx(losses[-1])
    assert drawn[0] == pytest.approx(losses[0])
    assert display.ax_.get_ylabel() == "Log loss"


def test_long_paths_are_drawn_at_some_of_their_stages_the_last_included(two_classes, pyplot):
    """Each stage on the epsilon axis takes a price of its own."""
    X, y = two_classes
    fitted = DPSGDClassifier(
        noise_multiplier=20.0, batch_size=200, n_epochs=333, store_path=True, random_state=0
    ).fit(X, y)
    display = TrainingPathDisplay.from_estimator({"one": fitted}, X, y)
    epochs, accuracies = display.lines_["one"].get_data()
    assert len(epochs) == 100
    assert (epochs[0], epochs[-1]) == (1.0, 333.0)
    stages = list(fitted.staged_predict(X))
    expected = [np.mean(stages[round(epoch) - 1] == y) for epoch in epochs]
    np.testing.assert_allclose(accuracies, expected, **CLOSE)


@pytest.mark.parametrize("against", ["epoch", "epsilon"])
def test_the_note_says_what_a_choice_by_looking_costs(against, fits, two_classes, pyplot):
    """The axis alone would promise too much."""
    display = TrainingPathDisplay.from_estimator(fits, *two_classes, against=against)
    note = " ".join(display.note_.get_text().split())
    assert "A stage fixed in advance costs" in note
    assert "Choosing one by looking costs the whole path." in note


@pytest.mark.filterwarnings("ignore::skdp.PrivacyWarning")
def test_training_without_noise_is_a_level_line_against_epsilon(fits, two_classes, pyplot):
    """Its epsilon is infinite, and its last stage is what the others are compared with."""
    X, y = two_classes
    plain = DPSGDClassifier(noise_multiplier=0, store_path=True).fit(X, y)
    display = TrainingPathDisplay.from_estimator(
        {"plain": plain, "noisy": fits}, X, y, against="epsilon"
    )
    assert set(display.lines_["plain"].get_ydata()) == {plain.score(X, y)}
    assert TrainingPathDisplay.from_estimator(plain, X, y).note_ is None


def test_a_path_behind_exact_statistics_has_epochs_and_no_epsilon(two_classes, pyplot):
    """A finite figure is never drawn over a gap."""
    fitted = make_pipeline(StandardScaler(), DPSGDClassifier(store_path=True)).fit(*two_classes)
    display = TrainingPathDisplay.from_estimator({"scaled": fitted}, *two_classes)
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["scaled (no promise)"]
    assert display.note_ is None
    with pytest.raises(PrivacyError, match="StandardScaler"):
        display.plot(against="epsilon")


def test_fits_of_one_curve_differ_in_their_noise_only(fits, two_classes, pyplot):
    """A mean over different plans would be at no epsilon."""
    other = clone(fits[0]).set_params(n_epochs=7).fit(*two_classes)
    with pytest.raises(ValueError, match="mixed: fits of one curve may differ in their noise only"):
        TrainingPathDisplay.from_estimator({"mixed": [*fits, other]}, *two_classes)


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (DPSGDClassifier(), "kept no path; fit a DPSGDClassifier with store_path=True"),
        (LogisticRegression(), "LogisticRegression kept no path"),
        ([], "empty list"),
    ],
)
def test_what_kept_no_path_cannot_be_drawn(estimator, words, two_classes, pyplot):
    """With what to do instead."""
    if estimator:
        estimator.fit(*two_classes)
    with pytest.raises(ValueError, match=words):
        TrainingPathDisplay.from_estimator(estimator, *two_classes)


@pytest.mark.parametrize("option", ["metric", "against"])
def test_choices_that_are_not_known_are_refused(option, fits, two_classes, pyplot):
    """With those that are."""
    with pytest.raises(ValueError, match=f"{option} must be .* or .*, got 'auc'"):
        TrainingPathDisplay.from_estimator(fits, *two_classes, **{option: "auc"})


# Accuracy against epsilon


class Echo(ClassifierMixin, BaseEstimator):
    """Notes what it was told: parameters to be read back by a scorer."""

    def __init__(self, epsilon=1.0, random_state=7):
        self.epsilon = epsilon
        self.random_state = random_state

    def fit(self, X, y):
        """Note the sizes."""
        self.classes_ = np.unique(y)
        self.n_rows_ = len(X)
        return self


def echoed(name):
    """A scorer that reads a parameter or attribute of the fit."""
    return lambda fitted, X, y: getattr(fitted, name, 0) or 0


def draw_echo(data, read, estimator=None, **options):
    return PrivacyAccuracyDisplay.from_estimator(
        Echo() if estimator is None else estimator,
        *data,
        scoring=echoed(read),
        non_private=None,
        **options,
    )


def test_every_point_is_a_fit_at_its_epsilon(two_classes, pyplot):
    """In order, wherever the caller put them."""
    display = draw_echo(two_classes, "epsilon", epsilons=[3.0, 0.1, 1.0], n_repeats=2, cv=2)
    epsilons, scores = display.lines_["Echo"].get_data()
    np.testing.assert_array_equal(epsilons, [0.1, 1.0, 3.0])
    np.testing.assert_allclose(scores, [0.1, 1.0, 3.0], **CLOSE)
    assert display.scores["Echo"].shape == (3, 2, 2)


def test_every_fit_has_a_seed_of_its_own_derived_from_the_one_given(two_classes, pyplot):
    """Shared noise would hide the spread."""
    options = {"epsilons": [1.0, 2.0], "n_repeats": 3, "cv": 2}
    first, again, other = (
        draw_echo(two_classes, "random_state", random_state=seed, **options).scores["Echo"]
        for seed in (0, 0, 1)
    )
    assert len(np.unique(first)) == first.size == 12
    np.testing.assert_array_equal(first, again)
    assert not np.isin(first, other).any()


def test_without_a_seed_the_noise_is_the_systems(two_classes, pyplot):
    """Also where the estimator had one; it stays as it was."""
    estimator = Echo(random_state=7)
    display = draw_echo(two_classes, "random_state", estimator, epsilons=[1.0], n_repeats=2, cv=2)
    assert not display.scores["Echo"].any()
    assert estimator.get_params() == {"epsilon": 1.0, "random_state": 7}
    assert not hasattr(estimator, "classes_")


def test_rows_are_held_out_or_split(two_classes, pyplot):
    """By the caller, by a splitter, or into five folds."""
    X, y = two_classes
    held_out = draw_echo((X[:150], y[:150]), "n_rows_", X_test=X[150:], y_test=y[150:])
    assert set(held_out.scores["Echo"].ravel()) == {150}
    assert held_out.scores["Echo"].shape == (5, 5, 1)
    assert set(draw_echo((X, y), "n_rows_", n_repeats=1).scores["Echo"].ravel()) == {160}
    splits = list(StratifiedKFold(4).split(X, y))
    by_hand = draw_echo((X.tolist(), y.tolist()), "n_rows_", n_repeats=1, cv=splits)
    assert set(by_hand.scores["Echo"].ravel()) == {150}


def test_the_spread_is_over_repeats_not_over_folds(two_classes, pyplot):
    """Hard and easy folds are no noise."""
    scores = np.array([[[0.5, 0.9], [0.7, 0.9]]])
    display = PrivacyAccuracyDisplay(
        epsilons={"one": np.array([1.0])}, scores={"one": scores}, score_name="Accuracy"
    ).plot()
    assert display.lines_["one"].get_ydata() == pytest.approx([0.75])
    edges = display.bands_["one"].get_paths()[0].vertices[:, 1]
    # Within the folds the variances are 0.01 and 0.
    half = math.sqrt(0.005)
    assert (edges.min(), edges.max()) == pytest.approx((0.75 - half, 0.75 + half))


def test_accuracy_stands_between_no_privacy_and_no_model(two_classes, pyplot):
    """The levels are scikit-learn's regression and the larger class."""
    X, y = two_classes
    train, test = slice(0, 150), slice(150, None)
    display = PrivacyAccuracyDisplay.from_estimator(
        DPSGDClassifier(),
        X[train],
        y[train],
        X_test=X[test],
        y_test=y[test],
        epsilons=[1.0, 8.0],
        n_repeats=2,
        random_state=0,
    )
    plain = LogisticRegression().fit(X[train], y[train]).score(X[test], y[test])
    majority = np.mean(y[test] == np.bincount(y[train]).argmax())
    assert list(display.non_private_line_.get_ydata()) == pytest.approx([plain, plain])
    assert list(display.majority_line_.get_ydata()) == pytest.approx([majority, majority])
    assert display.note_ is None
    assert display.ax_.get_xlabel() == "Epsilon at delta 1e-05"
    assert display.ax_.get_ylabel() == "Accuracy"
    assert [tick.get_text() for tick in display.ax_.get_xticklabels()] == ["1", "8"]
    np.testing.assert_array_equal(display.lines_["DPSGDClassifier"].get_xdata(), [1.0, 8.0])


def test_the_level_without_privacy_keeps_the_steps_in_front(two_classes, pyplot):
    """The classifier alone is exchanged; an estimator of the caller's is taken as it is."""
    X, y = two_classes
    pipeline = make_pipeline(BoundedScaler(bounds=(-1, 1)), DPSGDClassifier())
    options = {"X_test": X, "y_test": y, "epsilons": [1.0], "n_repeats": 1}
    display = PrivacyAccuracyDisplay.from_estimator(pipeline, X, y, **options)
    behind = make_pipeline(BoundedScaler(bounds=(-1, 1)), LogisticRegression(max_iter=1000))
    assert display.non_private_score == pytest.approx(behind.fit(X, y).score(X, y))
    weak = LogisticRegression(C=1e-6)
    display = PrivacyAccuracyDisplay.from_estimator(pipeline, X, y, non_private=weak, **options)
    assert display.non_private_score == pytest.approx(clone(weak).fit(X, y).score(X, y))
    assert display.bands_ == {"Pipeline": None}


@pytest.mark.parametrize("param_name", ["auto", "outer__inner__epsilon"])
def test_epsilon_reaches_the_last_step_of_a_pipeline(param_name, two_classes, pyplot):
    """However deep, and by name where "auto" does not find it."""
    inner = Pipeline([("scale", BoundedScaler(bounds=(-4, 4))), ("inner", Echo())])
    outer = Pipeline([("scale", BoundedScaler(bounds=(-4, 4))), ("outer", inner)])
    display = PrivacyAccuracyDisplay.from_estimator(
        outer,
        *two_classes,
        epsilons=[0.5, 2.0],
        n_repeats=1,
        cv=2,
        param_name=param_name,
        scoring=lambda fitted, X, y: (
            fitted[-1][-1].epsilon if isinstance(fitted, Pipeline) else 0.0
        ),
        non_private=None,
    )
    np.testing.assert_allclose(display.lines_["Pipeline"].get_ydata(), [0.5, 2.0], **CLOSE)


def test_what_a_pipeline_spends_beside_its_classifier_is_on_the_axis(two_classes, pyplot):
    """A noisy scaler costs as well."""
    X, y = two_classes
    pipeline = make_pipeline(DPStandardScaler(epsilon=0.7, bounds=(-4, 4)), DPSGDClassifier())
    display = PrivacyAccuracyDisplay.from_estimator(
        pipeline, X, y, X_test=X, y_test=y, epsilons=[0.5, 1.0], n_repeats=2, random_state=0
    )
    stated = privacy_statement(pipeline.set_params(dpsgdclassifier__epsilon=1.0).fit(X, y))
    assert display.epsilons["Pipeline"][1] == pytest.approx(stated.epsilon)
    assert display.epsilons["Pipeline"][0] > 0.7
    assert display.note_ is None


def test_estimators_without_a_promise_are_named(two_classes, pyplot):
    """Their epsilon is only what was asked for."""
    display = draw_accuracy(two_classes)
    assert set(display.not_covered) == {"rows"}
    assert "StandardScaler" in display.note_.get_text()
    assert display.ax_.get_xlabel() == "Epsilon asked for at delta 1e-05"
    np.testing.assert_array_equal(display.lines_["rows"].get_xdata(), [0.3, 1.0])


@pytest.mark.parametrize(
    ("estimator", "options", "words"),
    [
        (LogisticRegression(), {}, "LogisticRegression has no parameter 'epsilon'"),
        (Echo(), {"param_name": "budget"}, "no parameter 'budget'"),
        (Echo(), {"X_test": [[0.0]]}, "X_test and y_test go together"),
        (Echo(), {"X_test": [[0.0]], "y_test": [0], "cv": 3}, "cv=3 splits X"),
        (Echo(), {"random_state": 0.5}, "random_state must be None or a whole number, got 0.5"),
        (Echo(), {"n_repeats": 0}, "n_repeats must be at least 1"),
        (Echo(), {"epsilons": [0.0]}, "epsilon must be finite and above 0"),
        (Echo(), {"non_private": "logistic"}, 'must be an estimator, "auto" or None, got'),
    ],
)
def test_parameters_that_cannot_be_used_are_named(estimator, options, words, two_classes, pyplot):
    """With their value."""
    with pytest.raises(ValueError, match=words):
        PrivacyAccuracyDisplay.from_estimator(estimator, *two_classes, **options)


def test_many_or_near_epsilons_keep_the_ticks_of_a_logarithmic_axis(two_classes, pyplot):
    """Labels would run into each other."""
    near = draw_echo(two_classes, "epsilon", epsilons=[1.0, 1.1], n_repeats=1, cv=2)
    assert list(near.ax_.get_xticks()) != [1.0, 1.1]


def test_data_frames_are_split_by_rows(two_classes, pyplot):
    """Columns keep their names on the way."""
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(two_classes[0], columns=["a", "b", "c"]).iloc[::-1]
    y = pandas.Series(two_classes[1], index=X.index)
    columns = SimpleNamespace(seen=set())

    def note(fitted, X_test, y_test):
        columns.seen |= {tuple(X_test.columns)}
        return len(X_test) - len(y_test)

    display = PrivacyAccuracyDisplay.from_estimator(
        Echo(), X, y, epsilons=[1.0], n_repeats=1, cv=2, scoring=note, non_private=None
    )
    assert columns.seen == {("a", "b", "c")}
    assert not display.scores["Echo"].any()


@pytest.mark.parametrize("display", inspection.__all__)
def test_signatures_are_read_as_they_are_written(display):
    """An alias that NumPy spells out takes a page of a notebook's help."""
    thing = getattr(inspection, display)
    methods = [getattr(thing, name) for name in dir(thing) if not name.startswith("_")]
    for one in filter(callable, [thing, *methods]):
        text = str(signature(one))
        assert "numpy._typing" not in text
        assert len(text) < 600


@pytest.mark.parametrize(
    "ask",
    [
        lambda X: PrivacyAccuracyDisplay.from_estimator(
            DPSGDClassifier(), X, X[:, 0], X_test=X, y_test=X[:, 0], cv=X
        ),
        lambda X: PrivacyAccuracyDisplay.from_estimator(
            DPSGDClassifier(), X, X[:, 0], random_state=X
        ),
        lambda X: PrivacyProfileDisplay.from_mechanisms(Gaussian(1.0), kind=X),
        lambda X: PrivacyProfileDisplay.from_mechanisms(Gaussian(1.0), delta=X),
        lambda X: BudgetCurveDisplay.from_mechanisms(list(X)),
        lambda X: inspection.audit_privacy(DPSGDClassifier(), X, X[:, 0], method=X),
        lambda X: inspection.audit_privacy(DPSGDClassifier(), X, X[:, 0], confidence=X),
        lambda X: inspection.audit_privacy(DPSGDClassifier(), X, X[:, 0], n_runs=X),
        lambda X: inspection.audit_privacy(DPSGDClassifier(), X, X[:, 0], random_state=X),
        lambda X: inspection.privacy_statement(DPSGDClassifier(), n_rows=X),
        lambda X: inspection.privacy_statement(
            DPSGDClassifier(), n_rows=50, n_features=X, X_sample=[[0.0]]
        ),
        lambda X: inspection.privacy_statement(DPSGDClassifier(), n_rows=50, unit=X),
        lambda X: inspection.privacy_statement(DPSGDClassifier(), delta=X, n_rows=50),
    ],
)
def test_no_message_shows_a_table_that_was_passed_by_mistake(ask, pyplot):
    """Arguments change places, and messages end in logs: a value of a row has no place there."""
    with pytest.raises((TypeError, ValueError)) as refused:
        ask(np.full((50, 2), 7.25))
    assert "7.25" not in str(refused.value)
