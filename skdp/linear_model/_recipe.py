"""What "auto" means: public numbers in, hyper-parameters out.

Choosing hyper-parameters by looking at the rows costs budget that nobody counts, so the defaults
depend on numbers of rows, columns and classes and on the budget. What they cannot know, the scale
of the rows and the shares of the classes, is released first, with noise and in the plan.
"""

import math
from dataclasses import dataclass
from typing import Literal

__all__ = [
    "Hyperparameters",
    "calibrated_hyperparameters",
    "n_steps_of",
    "slower_with_a_majority",
    "textbook_hyperparameters",
    "within_penalty",
]

Auto = Literal["auto"]

_MOST_STEPS = 10**9
# Full batches up to so many numbers a step; larger data are sampled.
_NUMBERS_PER_STEP = 10**6
# A release whose counts would have more noise than ten times the number of rows says nothing.
_LEAST_SIGNAL = 0.1


@dataclass(frozen=True)
class Hyperparameters:
    """What a run needs besides its noise.

    Parameters
    ----------
    batch_size : float
        Expected rows a step, at most the number of rows.
    n_steps : int
        Steps to take.
    clip_threshold : float
        Largest norm of one row's gradient; in units of the rows' scale where that is estimated.
    learning_rate : float
        Factor on the mean of the clipped gradients; likewise.
    averaged_share : float
        Share of the iterates, the last ones, that are averaged where averaging is on.
    class_mu, norm_mu : float
        Gaussian-differential-privacy parameters of the releases before the first step, of class
        counts and of row norms; 0 for none.
    scale_is_given : bool
        Whether threshold and rate are in the units of the data as they are, rather than in units
        of the rows' typical size.
    signal : float
        Rows times the Gaussian-differential-privacy parameter over columns plus one: what one
        weight can be told from noise by.
    """

    batch_size: float
    n_steps: int
    clip_threshold: float
    learning_rate: float
    averaged_share: float
    class_mu: float = 0.0
    norm_mu: float = 0.0
    scale_is_given: bool = True
    signal: float = math.inf


def calibrated_hyperparameters(
    *,
    n_rows: int,
    n_features: int,
    n_classes: int,
    mu: float,
    batch_size: float | Auto,
    n_epochs: float | Auto,
    clip_threshold: float | Auto,
    learning_rate: float | Auto,
    alpha: float = 0.0,
    most_a_step: int,
) -> Hyperparameters:
    """Full-batch descent for a training time at which the noise of a logit stays moderate.

    With mu the Gaussian-differential-privacy parameter of the budget (Dong, Roth and Su 2019), the
    noise that a weight gathers in training time tau (steps times rate, in units of the threshold)
    is about tau / (n mu), and a logit sums sqrt(d + 1) of them, for rows of norm sqrt(d). All
    constants were measured on eight data sets and four budgets; docs/accuracy.md has the figures.

    - Time: `tau = 0.62 K^0.12 n mu / (d + 1)^(1/3)`, K logits. Longer fits noise, shorter fits
      nothing; the power 1/3 instead of 1/2 lets wide sparse rows, whose columns are seldom all
      in play, learn as well.
    - Steps: 30, and up to 300 where the rate would otherwise pass 3, which is where it stays.
    - Threshold: `sqrt(n mu / (2 K (d + 1)))`, between 0.6 and sqrt(d + 1). Clipping harder than
      the signal needs distorts probabilities; more softly than it allows adds noise.
    - The last twentieth of the iterates is averaged.
    - Before the first step, up to 12 % of mu^2 (two classes) buys class counts, for the
      intercept's start, and up to 2 % a histogram of row norms, for the rows' scale. Both get
      less where they need less, and nothing where they could not be read.
    - Batches: all rows while a step reads at most 10^6 numbers, else as many rows as that, but at
      least a tenth of them, which adds a few per cent to the noise, and at most `most_a_step`.
    - With a batch size below n, at least 3 (mu / q)^2 steps, q = batch_size / n: with fewer, the
      noise that small batches need is more than about a fifth above that of full batches. At
      most 100 epochs are spent on that.
    - The rate is at most `1 / alpha`, with which the penalty alone already sends the
      coefficients to zero in one step.

    What the user set is taken as given, and the rest follows from it: a rate, for example,
    sets the number of steps. A threshold or a rate also fixes the units, so the rows' scale is not
    estimated.

    Parameters
    ----------
    n_rows, n_features, n_classes : int
        Size of the data, public numbers.
    mu : float
        The budget.
    batch_size, n_epochs, clip_threshold, learning_rate : float or "auto"
        The user's choices.
    alpha : float
        Strength of the penalty.
    most_a_step : int
        Most rows that a step may add up.

    Returns
    -------
    hyperparameters : Hyperparameters
        All of them, those that the user set included.
    """
    n_logits = 1 if n_classes == 2 else n_classes
    class_share, norm_share = _shares_before_the_first_step(n_rows * mu, n_classes)
    scale_is_given = clip_threshold != "auto" or learning_rate != "auto"
    if scale_is_given:
        norm_share = 0.0
    mu_of_steps = mu * math.sqrt(1.0 - class_share - norm_share)
    signal = n_rows * mu_of_steps / (n_features + 1)
    batch = _batch_size(batch_size, n_rows, n_features, most_a_step)
    threshold = (
        min(max(math.sqrt(signal / (2 * n_logits)), 0.6), max(1.0, math.sqrt(n_features + 1)))
        if clip_threshold == "auto"
        else float(clip_threshold)
    )
    time = 0.62 * n_logits**0.12 * n_rows * mu_of_steps / (n_features + 1) ** (1 / 3)
    least_steps = _steps_for_batches(mu_of_steps, batch / n_rows)
    if n_epochs != "auto":
        n_steps = n_steps_of(n_epochs, n_rows, batch)
    elif learning_rate != "auto":
        pace = max(float(learning_rate) * threshold, time / 300)
        n_steps = max(math.ceil(time / pace), least_steps)
    else:
        n_steps = max(min(300, max(30, math.ceil(time / 3.0))), least_steps)
    if learning_rate == "auto":
        rate = min(time / n_steps, 3.0) / threshold
        if scale_is_given:
            rate = within_penalty(rate, alpha)
    else:
        rate = float(learning_rate)
    return Hyperparameters(
        batch_size=batch,
        n_steps=n_steps,
        clip_threshold=threshold,
        learning_rate=float(rate),
        averaged_share=0.05,
        class_mu=mu * math.sqrt(class_share),
        norm_mu=mu * math.sqrt(norm_share),
        scale_is_given=scale_is_given,
        signal=signal,
    )


def slower_with_a_majority(signal: float, margin: float) -> float:
    """Factor on the rate: below 1 only where one class dominates and the signal is small.

    There the weights carry little but noise, and predicting the larger class, which the
    intercept's start already does, is hard to beat.

    Parameters
    ----------
    signal : float
        As in `Hyperparameters`.
    margin : float
        Share of the largest class minus that of the second, as released.

    Returns
    -------
    factor : float
        Above 0 and at most 1.
    """
    return 1.0 if math.isinf(signal) else signal / (signal + 2.0 * margin)


def textbook_hyperparameters(
    *,
    n_rows: int,
    batch_size: float | Auto,
    n_epochs: float | Auto,
    clip_threshold: float | Auto,
    learning_rate: float | Auto,
    alpha: float = 0.0,
) -> Hyperparameters:
    """Batch 64, 30 epochs, rate 0.1, threshold 1: what tutorials on DP-SGD use.

    They stand where the user gives the noise, and with it asks for a run whose cost is an
    answer, not a target.
    """
    batch = min(64.0 if batch_size == "auto" else float(batch_size), float(n_rows))
    return Hyperparameters(
        batch_size=batch,
        averaged_share=0.25,
        n_steps=n_steps_of(30.0 if n_epochs == "auto" else n_epochs, n_rows, batch),
        clip_threshold=1.0 if clip_threshold == "auto" else float(clip_threshold),
        learning_rate=within_penalty(0.1, alpha)
        if learning_rate == "auto"
        else float(learning_rate),
    )


def within_penalty(rate: float, alpha: float) -> float:
    """The rate, or the largest at which the penalty alone does not overshoot zero."""
    return min(rate, 1.0 / alpha) if alpha else rate


def n_steps_of(n_epochs: float, n_rows: int, batch_size: float) -> int:
    """Steps in `n_epochs` expected passes over the data, at least one.

    Raises
    ------
    ValueError
        Above a thousand million steps.
    """
    steps = n_epochs * n_rows / batch_size
    if not steps <= _MOST_STEPS:
        raise ValueError(
            f"n_epochs={n_epochs!r} asks for more than {_MOST_STEPS:,} steps of batch_size="
            f"{batch_size:g}; lower n_epochs or raise batch_size"
        )
    # The guard keeps n_epochs = k * batch_size / n_rows at k steps when the product rounds up.
    return max(1, math.ceil(steps - 1e-9))


def _shares_before_the_first_step(signal: float, n_classes: int) -> tuple[float, float]:
    """Shares of mu^2 for class counts and for row norms, given n mu.

    A constant n mu is enough for either, so the share falls where there is plenty; and it is not
    worth paying where the counts would drown.
    """

    def worth_paying(share: float) -> float:
        return share if signal * math.sqrt(share) >= _LEAST_SIGNAL else 0.0

    classes = 0.24 / n_classes * min(1.0, (signal / 25) ** 2, (50 / signal) ** 2)
    norms = 0.02 * min(1.0, (signal / 80) ** 2, (100 / signal) ** 2)
    return worth_paying(classes), worth_paying(norms)


def _batch_size(batch_size: float | Auto, n_rows: int, n_features: int, most_a_step: int) -> float:
    if batch_size == "auto":
        batch_size = max(_NUMBERS_PER_STEP // n_features, math.ceil(n_rows / 10))
        batch_size = min(batch_size, most_a_step)
    return min(float(batch_size), float(n_rows))


def _steps_for_batches(mu: float, sample_rate: float) -> int:
    """Fewest steps at which small batches cost at most about a fifth more noise than full ones.

    The central limit of the subsampled Gaussian (Dong, Roth and Su 2019) has this at
    q sqrt(T) / mu = 1; at the few steps in question the exact noise is larger, and three times as
    many steps are what it takes.
    """
    if sample_rate == 1.0:
        return 1
    return math.ceil(min(3.0 * (mu / sample_rate) ** 2, 100.0 / sample_rate))
