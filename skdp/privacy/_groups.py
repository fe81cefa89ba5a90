"""What does it cost a person who owns several rows?

Every mechanism here bounds what one row adds to a sum. A person with k rows adds at most k bounds
to a sum over all rows, and a binomial number of bounds to one over sampled rows (Ganesh 2024,
arXiv:2401.10294).
"""

from __future__ import annotations

from collections.abc import Sequence

from skdp.privacy._accountant import get_epsilon
from skdp.privacy._mechanism import (
    Gaussian,
    GroupedGaussian,
    Mechanism,
    check_count,
    merge_mechanisms,
)

__all__ = ["group_epsilon", "group_mechanism"]


def group_epsilon(mechanism: Mechanism | Sequence[Mechanism], delta: float, k: int) -> float:
    """Return the epsilon that a mechanism spends at `delta` of a person who owns `k` rows.

    It is computed from what k rows add to each sum, and not by multiplying: k times the epsilon of
    one row would promise too much, since delta has to grow as well.

    Parameters
    ----------
    mechanism : SubsampledGaussian, Gaussian, GroupedGaussian, or a sequence of them
        What runs on the same rows; a sequence is composed, not added up.
    delta : float
        Strictly between 0 and 1.
    k : int
        Number of rows that one person owns, at least 1. Of a `GroupedGaussian`, number of its
        groups.

    Returns
    -------
    epsilon : float
        Never below the true epsilon of all data sets that differ in at most k rows, each of which
        contributes nothing in one of them.

    See Also
    --------
    get_epsilon : The same for one row.
    skdp.privacy_statement : Its `mechanisms` are all noisy releases of a fitted object.

    Examples
    --------
    >>> from skdp.privacy import SubsampledGaussian, group_epsilon
    >>> training = SubsampledGaussian(noise_multiplier=2.0, sample_rate=0.08, n_steps=375)
    >>> for k in (1, 2, 3):
    ...     print(f"{group_epsilon(training, delta=1e-5, k=k):.2f}")
    3.67
    8.30
    13.72
    """
    return get_epsilon([group_mechanism(one, k) for one in merge_mechanisms(mechanism)], delta)


def group_mechanism(mechanism: Mechanism, k: int) -> Mechanism:
    """Return a mechanism as it looks to a person who owns `k` rows.

    Parameters
    ----------
    mechanism : SubsampledGaussian, Gaussian or GroupedGaussian
        As it looks to a person who owns one row.
    k : int
        Number of rows, at least 1.

    Returns
    -------
    grouped : SubsampledGaussian, Gaussian or GroupedGaussian
        `mechanism` itself for one row.
    """
    k = check_count("k", k)
    if k == 1:
        return mechanism
    if isinstance(mechanism, Gaussian):
        return Gaussian(mechanism.noise_multiplier / k)
    rows = mechanism.group_size if isinstance(mechanism, GroupedGaussian) else 1
    return GroupedGaussian(
        mechanism.noise_multiplier, mechanism.sample_rate, mechanism.n_steps, rows * k
    )
