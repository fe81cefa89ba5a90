"""What noisy counts say before the first step: an intercept to start from, and the rows' scale.

Works on releases alone, so it costs nothing. Small counts drown in their noise; each reading then
falls back to what is plausible without data.
"""

import numpy as np

from skdp.mechanisms._counts import NORM_EXPONENTS
from skdp.mechanisms._sum_plan import SumPlan

__all__ = ["class_shares", "intercept_of", "majority_margin", "typical_norm"]

# The scale is read as about the upper quartile of the norms: this much above the mean log2.
_ABOVE_THE_MEAN = 0.3
# How fast norms other than sqrt(n_features) lose plausibility, in nats a factor of 2.
_PRIOR_SLOPE = 3.0
# Beyond a factor of 256 all norms are equally implausible: tables in nanoseconds or farads exist.
_MOST_IMPLAUSIBLE = 24.0


def class_shares(counts: np.ndarray, plan: SumPlan, n_rows: int) -> np.ndarray:
    """Shares of the classes, shrunk towards equal ones by what the noise explains.

    James and Stein (1961): a deviation from equal shares whose square is no larger than the
    noise's is none.

    Parameters
    ----------
    counts : ndarray of shape (n_classes,)
        Centred noisy counts.
    plan : SumPlan
        Says how large their noise is.
    n_rows : int
        Number of rows.

    Returns
    -------
    shares : ndarray of shape (n_classes,)
        Positive, with sum 1.
    """
    n_classes = plan.size
    noise = plan.noise_scale / n_rows
    deviation = counts / n_rows
    deviation = deviation - deviation.mean()
    explained = (n_classes - 1) * noise**2 / max(deviation @ deviation, 1e-300)
    trust = max(0.0, 1.0 - explained)
    # With several classes the intercepts also compete with each other; trust must be earned twice.
    deviation *= trust if n_classes == 2 else trust**2
    # No share below what the noise can tell from zero.
    least = min(1.0 / n_classes, plan.noise_multiplier / n_rows)
    shares = np.maximum(1.0 / n_classes + deviation, least)
    return shares / shares.sum()


def intercept_of(shares: np.ndarray) -> np.ndarray:
    """Intercepts of the model that predicts these shares for every row."""
    logs = np.log(shares)
    return logs[1:] - logs[:1] if len(shares) == 2 else logs - logs.mean()


def majority_margin(shares: np.ndarray) -> float:
    """Share of the largest class minus that of the second."""
    second, largest = np.sort(shares)[-2:]
    return float(largest - second)


def typical_norm(counts: np.ndarray, plan: SumPlan, n_rows: int, n_features: int) -> float:
    """A norm that about three quarters of the rows do not exceed, read from noisy counts.

    The most plausible pair of neighbouring bins, given the noise and a Laplace prior around
    sqrt(n_features), which standardised columns have; then the mean of log2 over these bins and
    their neighbours, with a little weight on the prior where it agrees.

    Parameters
    ----------
    counts : ndarray of shape (n_bins,)
        Noisy counts of `NORM_EXPONENTS`.
    plan : SumPlan
        Says how large their noise is.
    n_rows, n_features : int
        Size of the data.

    Returns
    -------
    norm : float
        L2 norm, in the units of the rows.
    """
    expected = 0.5 * np.log2(n_features)
    signal = counts / plan.noise_scale
    pairs = signal[:-1] + signal[1:]
    pair_centres = NORM_EXPONENTS[1:].astype(np.float64)
    # Log likelihood ratio of "all rows lie here": the product of the counts with that pattern.
    support = n_rows / plan.noise_scale
    prior = np.minimum(_PRIOR_SLOPE * np.abs(pair_centres - expected), _MOST_IMPLAUSIBLE)
    plausible = support * pairs / 2 - prior
    best = int(np.argmax(plausible))
    near = slice(max(0, best - 1), best + 3)
    weights = np.maximum(signal[near], 0.0)
    centres = NORM_EXPONENTS[near] + 0.5
    prior = 0.0
    if abs(pair_centres[best] - expected) <= 1.5:
        prior = 1.0 + 4.0 / support
    total = weights.sum() + prior
    if total == 0.0:
        return float(np.sqrt(n_features))
    mean = (weights @ centres + prior * (expected - _ABOVE_THE_MEAN)) / total
    return float(2.0 ** (mean + _ABOVE_THE_MEAN))
