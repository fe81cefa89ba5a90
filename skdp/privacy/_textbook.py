"""The estimate of epsilon that tutorials print, kept so that their figures can be reproduced."""

from __future__ import annotations

import math

from skdp.exceptions import shown
from skdp.privacy._mechanism import check_count, check_delta, check_noise_multiplier, check_real

__all__ = ["textbook_epsilon"]


def textbook_epsilon(
    n_train: int,
    batch_size: int,
    noise_multiplier: float,
    n_epochs: float,
    delta: float = 1e-5,
) -> tuple[float, int, float]:
    r"""Estimate epsilon by the formula of many DP-SGD tutorials; it bounds nothing.

    The estimate is ``sqrt(2 T) * q / s * sqrt(2 * log(1.25 / delta))`` with ``T`` steps, sampling
    rate ``q`` and noise multiplier ``s``. It may be far below the truth or above it: with 800
    rows, batches of 64 and 30 epochs, it says 21.2 at noise 0.5, where the true value is 52.8,
    and 5.3 at noise 2, where the true value is 3.7. Use `get_epsilon` for a bound.

    Parameters
    ----------
    n_train : int
        Number of training rows.
    batch_size : int
        Rows a step; more than `n_train` counts as all.
    noise_multiplier : float
        Standard deviation of the noise over the clipping threshold.
    n_epochs : float
        Passes over the data, above 0.
    delta : float, default=1e-5
        Strictly between 0 and 1.

    Returns
    -------
    epsilon : float
        The estimate; inf without noise.
    n_steps : int
        ``ceil(n_epochs / sampling_rate)``.
    sampling_rate : float
        ``batch_size / n_train``, at most 1.

    Examples
    --------
    >>> from skdp.privacy import textbook_epsilon
    >>> epsilon, n_steps, sampling_rate = textbook_epsilon(800, 64, 0.5, 30)
    >>> print(f"{epsilon:.2f} {n_steps} {sampling_rate}")
    21.23 375 0.08
    """
    n_train = check_count("n_train", n_train)
    batch_size = min(check_count("batch_size", batch_size), n_train)
    noise_multiplier = check_noise_multiplier(noise_multiplier)
    delta = check_delta(delta)
    passes = check_real("n_epochs", n_epochs)
    if not 0 < passes < math.inf:
        raise ValueError(f"n_epochs must be finite and above 0; got {shown(n_epochs)}.")
    sampling_rate = batch_size / n_train
    # The guard keeps a whole number of steps whole when the division is inexact.
    n_steps = max(1, math.ceil(passes * n_train / batch_size - 1e-9))
    if noise_multiplier == 0:
        return math.inf, n_steps, sampling_rate
    spread = math.sqrt(2 * n_steps) * sampling_rate / noise_multiplier
    return spread * math.sqrt(2 * math.log(1.25 / delta)), n_steps, sampling_rate
