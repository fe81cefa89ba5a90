"""
More noise, or fewer steps?
===========================

A budget can be spent in many ways: on few steps with little noise or on many with much, on small
batches or on large ones. Which combination gives the best model? This page tries 28 of them at
epsilon 1, shows where the default stands, and ends with a rule.
"""

# %%
# The data and the grid
# ---------------------
#
# The rows are those of the tutorial (`plot_dpsgd_tutorial.py`): 800 for training, 200 held out,
# standardised with exact statistics, which on data worth protecting would void the promise. The
# grid goes from 3 to 3,000 steps and from batches of 16 to all 800 rows. Each cell is a
# `DPSGDClassifier` that is told its budget, its batch size and its length, and finds the noise. The
# learning rate follows from the length, so that steps times rate, the *training time*, is about
# the same in all columns but the shortest ones, where the rate meets its upper limit.

import math

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LogNorm
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler

from skdp import DPSGDClassifier

EPSILON, DELTA = 1.0, 1e-5
STEPS = [3, 10, 30, 100, 300, 1000, 3000]
BATCHES = [16, 64, 256, 800]
SEEDS = range(10)

X, y = make_classification(
    n_samples=1000, n_features=20, n_informative=10, n_redundant=5, flip_y=0.05, random_state=42
)
scaler = StandardScaler().fit(X[:800])
X_train, X_test = scaler.transform(X[:800]), scaler.transform(X[800:])
y_train, y_test = y[:800], y[800:]


def fits(epsilon=EPSILON, **settings):
    """One model a seed. The same seed draws the same noise in every cell."""
    return [
        DPSGDClassifier(epsilon=epsilon, delta=DELTA, random_state=seed, **settings).fit(
            X_train, y_train
        )
        for seed in SEEDS
    ]


def mean_accuracy(models):
    """Share of the held-out rows that the models get right, and its standard error."""
    scores = [model.score(X_test, y_test) for model in models]
    return np.mean(scores), np.std(scores, ddof=1) / math.sqrt(len(scores))


accuracy = np.empty((len(BATCHES), len(STEPS)))
error, noise = np.empty_like(accuracy), np.empty_like(accuracy)
for row, batch in enumerate(BATCHES):
    for column, steps in enumerate(STEPS):
        models = fits(batch_size=batch, n_epochs=steps * batch / len(X_train))
        accuracy[row, column], error[row, column] = mean_accuracy(models)
        noise[row, column] = models[0].noise_multiplier_

# %%
# Accuracy, and the noise behind it
# ---------------------------------
#
# The frame is around the cell that is nearest to the default, `DPSGDClassifier(epsilon=1.0)`
# with nothing else set.

default = fits()
model = default[0]
nearest = (
    np.abs(np.log(np.array(BATCHES) / model.batch_size_)).argmin(),
    np.abs(np.log(np.array(STEPS) / model.n_steps_)).argmin(),
)
best = np.unravel_index(accuracy.argmax(), accuracy.shape)
print(
    f"default:   {model.n_steps_} steps of {model.batch_size_:.0f} rows, noise "
    f"{model.noise_multiplier_:.1f}: accuracy {mean_accuracy(default)[0]:.3f}"
)
print(
    f"best cell: {STEPS[best[1]]} steps of {BATCHES[best[0]]} rows, noise {noise[best]:.1f}: "
    f"accuracy {accuracy[best]:.3f} (standard error {error[best]:.3f})"
)


def heat_map(ax, values, form, **colours):
    """Numbers in boxes, dark on light and light on dark."""
    image = ax.imshow(values, cmap="cividis", aspect="auto", origin="lower", **colours)
    for (row, column), value in np.ndenumerate(values):
        ink = "white" if image.norm(value) < 0.5 else "black"
        ax.text(column, row, form.format(value), ha="center", va="center", color=ink, fontsize=9)
    ax.set_xticks(range(len(STEPS)), [f"{steps:,}" for steps in STEPS])
    ax.set_yticks(range(len(BATCHES)), [*BATCHES[:-1], "all 800"])
    corner = nearest[1] - 0.5, nearest[0] - 0.5
    ax.add_patch(plt.Rectangle(corner, 1, 1, fill=False, edgecolor="#d55e00", lw=3, clip_on=False))
    ax.set(xlabel="steps", ylabel="batch size")


figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.4), layout="constrained")
heat_map(left, accuracy, "{:.3f}")
left.set_title("Accuracy on held-out rows, mean of 10 seeds", fontsize=11)
heat_map(right, noise, "{:.3g}", norm=LogNorm())
right.set_title("Calibrated noise multiplier; every cell costs epsilon 1", fontsize=11)
plt.show()

# %%
# The noise multiplier grows from below 1 in one corner to more than 200 in the other, and the good
# models are not where it is small: the worst are. From about 100 steps on, the left map is a plain.
# Its cells differ by little more than chance lets them (the standard error of a cell is about half
# a point, and one of the 200 held-out rows is half a point too), except that batches of 16 reach it
# later. The default stands on the plain or at its edge.
#
# Two things make the low ground. To the left, training is too short to arrive: with 3 steps even
# all 800 rows leave the model some points below the plain. At the bottom, small batches add to
# that.

# %%
# What a small batch costs
# ------------------------
#
# A noise multiplier is relative to one row, so it does not say how much noise ends up in the
# model. In each step the mean gradient carries noise of `noise_multiplier / batch_size`, which is
# independent from step to step and averages out over them: the whole run carries
# `noise_multiplier / (batch_size * sqrt(steps))`. With full batches that is the same for any number
# of steps. With smaller ones it is more, and this is how much.

steps, batches = np.array(STEPS), np.array(BATCHES)[:, np.newaxis]
carried = noise / (batches * np.sqrt(steps))
excess = carried / carried[-1]
long_enough = steps >= 30
print("correlation with accuracy, over all cells:")
for name, values in {"noise multiplier": noise, "noise of the whole run": carried}.items():
    correlation = np.corrcoef(np.log(values).ravel(), accuracy.ravel())[0, 1]
    print(f"  logarithm of the {name:24}{correlation:+.2f}")

COLOURS = ["#d55e00", "#cc79a7", "#009e73", "#0072b2"]
MARKERS = ["o", "s", "^", "D"]
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for row, batch in enumerate(BATCHES):
    look = {"color": COLOURS[row], "marker": MARKERS[row], "ms": 5}
    left.plot(steps, excess[row], label=f"batch {batch}", **look)
    right.plot(excess[row, ~long_enough], accuracy[row, ~long_enough], ls="", mfc="white", **look)
    right.plot(excess[row, long_enough], accuracy[row, long_enough], ls="", **look)
right.plot([], [], "o", color="#666666", label="30 steps or more")
right.plot([], [], "o", color="#666666", mfc="white", label="3 and 10 steps")
left.set(
    xscale="log", yscale="log", xlabel="steps", ylabel="noise of the whole run\n(full batch = 1)"
)
right.set(xscale="log", xlabel="noise of the whole run (full batch = 1)", ylabel="test accuracy")
for axis in (left.yaxis, right.xaxis):
    axis.set_ticks([1, 1.5, 2, 3, 4, 6], ["1", "1.5", "2", "3", "4", "6"])
    axis.set_ticks([], minor=True)
left.set_title("Small batches need many steps", fontsize=11)
right.set_title("Accuracy follows the noise of the whole run", fontsize=11)
left.legend(frameon=False)
right.legend(frameon=False)
plt.show()

# %%
# Nothing is ever below 1. Sampling rows makes each step cheaper in privacy, but at a fixed budget a
# run can at best be as good as one that reads every row at every step. It comes within a tenth of
# that after 1,000 steps of 16 rows, or 100 of 64. The calibrated noise itself tells when: where it
# is above 3, no more than about a tenth is lost at this budget.
#
# The right panel also has hollow marks below the full ones: with 3 or 10 steps a model is worse
# than its noise explains.

# %%
# How long, then?
# ---------------
#
# Steps are only half of a length; the other half is the rate. Here the default keeps its batches,
# its steps and its clip threshold, and the rate is multiplied by 1/16 to 16. The dots are the
# default itself. They may lie a little off the lines, since the default may pay for finding its
# threshold and rate, which the fits on the lines are told.

FACTORS = 2.0 ** np.arange(-4, 5)
SHADES = {0.1: "#d55e00", 0.3: "#cc79a7", 1.0: "#0072b2", 3.0: "#009e73"}


def training_time(models):
    """Steps times rate, in units of the clip threshold."""
    return np.mean([m.n_steps_ * m.learning_rate_ * m.clip_threshold_ for m in models])


def with_rate_times(factor, models, epsilon):
    """Fits that differ from `models` in their rate alone."""
    return [
        DPSGDClassifier(
            epsilon=epsilon,
            delta=DELTA,
            batch_size=model.batch_size_,
            n_epochs=model.n_steps_ * model.sample_rate_,
            clip_threshold=model.clip_threshold_,
            learning_rate=factor * model.learning_rate_,
            random_state=model.random_state,
        ).fit(X_train, y_train)
        for model in models
    ]


def mean_log_loss(models):
    return np.mean([log_loss(y_test, model.predict_proba(X_test)) for model in models])


figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
print(f"{'epsilon':>7} {'training time of the default':>30} {'of the least log loss':>22}")
for epsilon, colour in SHADES.items():
    start = default if epsilon == EPSILON else fits(epsilon)
    runs = [with_rate_times(factor, start, epsilon) for factor in FACTORS]
    time, losses = training_time(start), [mean_log_loss(models) for models in runs]
    look = {"color": colour, "label": f"epsilon {epsilon:g}"}
    left.plot(time * FACTORS, [mean_accuracy(models)[0] for models in runs], **look)
    right.plot(time * FACTORS, losses, **look)
    left.plot(time, mean_accuracy(start)[0], "o", color=colour)
    right.plot(time, mean_log_loss(start), "o", color=colour)
    print(f"{epsilon:7g} {time:30.1f} {time * FACTORS[np.argmin(losses)]:22.1f}")
for ax in (left, right):
    ax.set(xscale="log", xlabel="training time: steps × rate × clip threshold")
left.set(ylabel="test accuracy", title="Accuracy (a dot: the default)")
right.set(ylabel="test log loss", title="Log loss", ylim=(0.38, 1.2))
left.legend(frameon=False, loc="lower right")
plt.show()

# %%
# Too short a time fits little, too long a time fits the noise, and what is too long depends on the
# budget: the valley of the log loss moves to the right as epsilon grows, about in proportion. The
# accuracy is more patient than the probabilities: at epsilon 3 even sixteen times the default's
# training time costs it about a point, and only the log loss says that such a model is too sure.

# %%
# The rule
# --------
#
# Choose the training time by the budget, and let the noise be what it must be. Give the time in
# proportion to epsilon times the number of rows; cut it into some tens of steps or more, so that
# no step is too long; and read all rows in each step while that is fast enough. Where it is not,
# take the largest batch you can wait for, and enough steps that the calibrated noise multiplier is
# above 3 or so. `DPSGDClassifier(epsilon=...)` follows this rule without looking at a held-out row,
# and no cell of the grid is more than about a point above it.
#
# Three common beliefs do not survive the maps. *Less noise makes a better model*: at a fixed budget
# the least noise multiplier makes the worst. *Small batches are good for privacy*: they make a step
# cheap, but never a run. *Every further step costs accuracy*: not where rate and noise are set for
# the number of steps; what it costs is computing time.
#
# And a caution. The maps come from one made-up data set, and they were drawn by looking at held-out
# rows. On private rows each of the 28 cells would have to be paid for, which is the reason to have
# a rule.
