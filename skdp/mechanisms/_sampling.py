"""Poisson sampling: which rows take part in which step.

Every row is drawn into every batch independently with probability `sample_rate`. The draws of a
block of steps are one sequence of `n_rows * steps` coin flips, and the wait between two heads is
geometric, so rows that are not drawn cost nothing.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from skdp.mechanisms._noise import RandomSource

__all__ = ["EVERY_ROW", "Block", "poisson_blocks"]

# What a full-batch step draws: a slice selects without a gather and without an index array.
EVERY_ROW = slice(None)

_DRAWS_PER_BLOCK = 1 << 16


class Block(NamedTuple):
    """The batches of some consecutive steps.

    Parameters
    ----------
    rows : ndarray of int64, or `EVERY_ROW`
        Row indices, batch after batch; increasing within a batch.
    stops : list of int
        Where each batch ends in `rows`; equal to the stop before it for an empty batch.
    """

    rows: np.ndarray | slice
    stops: list[int]


def poisson_blocks(
    n_rows: int, sample_rate: float, n_steps: int, source: RandomSource
) -> Iterator[Block]:
    """Yield blocks with `n_steps` batches in all.

    Guarantee, which the accountant relies on:

    - every row is in every batch with probability `sample_rate`, independently of all other rows
      and of all other batches;
    - a row is in one batch at most once;
    - after `n_steps` batches there is no further one.

    The batches are `EVERY_ROW` where the sample rate is 1.
    """
    if sample_rate == 1.0:
        yield Block(EVERY_ROW, [n_rows] * n_steps)
        return
    steps_per_block = max(1, int(_DRAWS_PER_BLOCK / max(1.0, n_rows * sample_rate)))
    for first in range(0, n_steps, steps_per_block):
        n_block = min(steps_per_block, n_steps - first)
        heads = _bernoulli_heads(n_rows * n_block, sample_rate, source)
        starts_of_steps = n_rows * np.arange(n_block + 1, dtype=np.int64)
        bounds = np.searchsorted(heads, starts_of_steps)
        heads -= np.repeat(starts_of_steps[:-1], np.diff(bounds))
        yield Block(heads, bounds[1:].tolist())


def _bernoulli_heads(n_flips: int, rate: float, source: RandomSource) -> np.ndarray:
    """Positions of the heads among `n_flips` independent coins, each head with chance `rate`.

    With E exponential, E / -log(1 - rate) rounded down is at least g with probability
    (1 - rate)^g: it is the number of tails before the next head. What reaches beyond the last
    coin is dropped, which loses nothing, since the geometric distribution has no memory.
    """
    tails_scale = -1.0 / math.log1p(-rate)
    expected = n_flips * rate
    n_draws = int(expected + 6.0 * math.sqrt(expected) + 16.0)
    last = -1
    pieces = []
    while last < n_flips:
        waits = source.exponential(n_draws)
        waits *= tails_scale
        # A wait past the end is as good as one that just reaches it, and stays an exact integer.
        np.minimum(waits, n_flips, out=waits)
        positions = waits.astype(np.int64)
        positions += 1
        positions[0] += last
        np.cumsum(positions, out=positions)
        pieces.append(positions)
        last = int(positions[-1])
    heads = np.concatenate(pieces) if len(pieces) > 1 else pieces[0]
    return heads[: np.searchsorted(heads, n_flips)]
