"""What "auto" means: public numbers in, hyper-parameters out.

Choosing hyper-parameters by looking at the rows costs budget that nobody counts, so the defaults
depend on numbers of rows, columns and the budget alone.
"""

import math
from dataclasses import dataclass
from typing import Literal

from skdp.privacy import calibrate_noise_multiplier

__all__ = [
    "Hyperparameters",
    "calibrated_hyperparameters",
    "n_steps_of",
    "textbook_hyperparameters",
]

Auto = Literal["auto"]

_MOST_STEPS = 10**9


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
        Largest norm of one row's gradient.
    learning_rate : float
        Factor on the mean of the clipped gradients.
    """

    batch_size: float
    n_steps: int
    clip_threshold: float
    learning_rate: float


def calibrated_hyperparameters(
    *,
    n_rows: int,
    n_features: int,
    epsilon: float,
    delta: float,
    batch_size: float | Auto,
    n_epochs: float | Auto,
    clip_threshold: float | Auto,
    learning_rate: float | Auto,
    alpha: float = 0.0,
) -> Hyperparameters:
    """Full-batch descent for a training time at which the noise of a logit stays moderate.

    With mu the Gaussian-differential-privacy parameter of (epsilon, delta), the noise that a
    coordinate gathers in training time tau (steps times rate, the rate in units of the
    threshold) is about tau / (n mu), and a logit sums sqrt(d + 1) of them for standardised
    features. So `tau = 2 n mu / sqrt(d + 1)` keeps the noise of a logit near one or two units
    whatever n, d and epsilon are: longer fits noise, shorter fits nothing.

    - Steps: 100, and up to 300 where the rate would otherwise pass 3, which is where it stays.
    - Threshold: 1. The rate is `tau / steps / threshold`, and at most `1 / alpha`, with which
      the penalty alone already sends the coefficients to zero in one step.
    - With a batch size below n, at least (mu / q)^2 steps, q = batch_size / n: with fewer, the
      noise that small batches need is more than a fifth above that of full batches. At most
      100 epochs are spent on that.

    What the user set is taken as given, and the rest follows from it: a rate, for example,
    sets the number of steps.

    Parameters
    ----------
    n_rows, n_features : int
        Size of the data, public numbers.
    epsilon, delta : float
        The budget.
    batch_size, n_epochs, clip_threshold, learning_rate : float or "auto"
        The user's choices.
    alpha : float
        Strength of the penalty.
    """
    batch = float(n_rows) if batch_size == "auto" else min(float(batch_size), float(n_rows))
    threshold = 1.0 if clip_threshold == "auto" else float(clip_threshold)
    # A single full-batch step with noise multiplier s is mu-GDP with mu = 1 / s.
    mu = 1.0 / calibrate_noise_multiplier(epsilon, delta, 1.0, 1)
    time = 2.0 * n_rows * mu / math.sqrt(n_features + 1)
    if n_epochs != "auto":
        n_steps = n_steps_of(n_epochs, n_rows, batch)
    elif learning_rate != "auto":
        rate = max(float(learning_rate) * threshold, time / 300)
        n_steps = max(math.ceil(time / rate), _steps_for_batches(mu, batch / n_rows))
    else:
        n_steps = min(300, max(100, math.ceil(time / 3.0)))
        n_steps = max(n_steps, _steps_for_batches(mu, batch / n_rows))
    if learning_rate == "auto":
        learning_rate = _within_penalty(min(time / n_steps, 3.0) / threshold, alpha)
    return Hyperparameters(batch, n_steps, threshold, float(learning_rate))


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
        n_steps=n_steps_of(30.0 if n_epochs == "auto" else n_epochs, n_rows, batch),
        clip_threshold=1.0 if clip_threshold == "auto" else float(clip_threshold),
        learning_rate=_within_penalty(0.1, alpha)
        if learning_rate == "auto"
        else float(learning_rate),
    )


def _within_penalty(rate: float, alpha: float) -> float:
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


def _steps_for_batches(mu: float, sample_rate: float) -> int:
    """Fewest steps at which small batches cost at most a fifth more noise than full ones.

    From the central limit of the subsampled Gaussian (Dong, Roth and Su 2019): with a = q
    sqrt(T) / mu, the noise is 1 / (a sqrt(log(1 + 1 / a^2))) times that of full batches, which
    is 1.20 at a = 1.
    """
    if sample_rate == 1.0:
        return 1
    return math.ceil(min((mu / sample_rate) ** 2, 100.0 / sample_rate))
