"""Poisson sampling: independent coins for every row and step."""

import math

import numpy as np
import pytest

from skdp.mechanisms import _sampling
from skdp.mechanisms._noise import SeededSource, SystemSource
from skdp.mechanisms._sampling import EVERY_ROW, poisson_blocks

N_ROWS = 5
N_STEPS = 40_000


def poisson_batches(n_rows, rate, n_steps, source):
    """The batches one by one."""
    for rows, stops in poisson_blocks(n_rows, rate, n_steps, source):
        for start, stop in zip([0, *stops], stops, strict=False):
            yield rows if rows is EVERY_ROW else rows[start:stop]


def membership(rate, *, n_rows=N_ROWS, n_steps=N_STEPS, source=None):
    """Boolean table (steps, rows): who took part when."""
    table = np.zeros((n_steps, n_rows), dtype=bool)
    batches = poisson_batches(n_rows, rate, n_steps, source or SeededSource(11))
    for step, batch in enumerate(batches):
        table[step, batch] = True
    assert step == n_steps - 1
    return table


def assert_frequency(events, probability):
    """A mean of independent events lies within 5 standard errors (false alarm 6e-7)."""
    spread = math.sqrt(probability * (1 - probability) / events.size)
    assert abs(events.mean() - probability) <= 5 * spread


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.02, 0.5, 0.99, 1.0])
@pytest.mark.parametrize("source", [SeededSource(3), SystemSource()], ids=["seeded", "system"])
def test_every_row_is_drawn_with_the_sample_rate(rate, source):
    """First and last rows included, whatever the source."""
    table = membership(rate, source=source)
    for row in range(N_ROWS):
        assert_frequency(table[:, row], rate)


@pytest.mark.parametrize("rate", [0.02, 0.5, 0.99, 1.0])
def test_pairs_of_rows_are_drawn_together_with_the_squared_rate(rate):
    """Independence within a step: neighbours, and the first with the last."""
    table = membership(rate)
    for one, other in [(0, 1), (0, N_ROWS - 1), (2, 3)]:
        assert_frequency(table[:, one] & table[:, other], rate**2)


@pytest.mark.parametrize("rate", [0.02, 0.5, 0.99, 1.0])
def test_consecutive_steps_are_independent(rate):
    """The same row again, and the last row of a step with the first row of the next.

    Every second pair is used, so that the events are independent of each other.
    """
    table = membership(rate)
    now, following = table[::2], table[1::2]
    assert_frequency(now[:, 2] & following[:, 2], rate**2)
    assert_frequency(now[:, -1] & following[:, 0], rate**2)


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.02, 0.5, 0.99])
def test_steps_on_both_sides_of_a_block_boundary_are_independent(rate, monkeypatch):
    """Blocks are an economy of the code; no row may notice them."""
    steps_per_block = 2
    monkeypatch.setattr(
        _sampling, "_DRAWS_PER_BLOCK", steps_per_block * max(1.0, N_ROWS * rate) + 1e-6
    )
    table = membership(rate)
    last, first = table[1:-1:2], table[2::2]
    # Every second boundary, for independent events.
    assert_frequency((last[:, -1] & first[:, 0])[::2], rate**2)
    assert_frequency((last[:, 1] & first[:, 1])[::2], rate**2)
    for row in range(N_ROWS):
        assert_frequency(table[:, row], rate)


def test_the_batch_size_is_binomial():
    """Not fixed: its variance is n q (1 - q), which a shuffled split would not have.

    The variance of a sample variance is about 2 / n relative, so 5 standard errors are used.
    """
    sizes = membership(0.3, n_rows=50, n_steps=20_000).sum(axis=1)
    assert abs(sizes.var() / (50 * 0.3 * 0.7) - 1) < 5 * math.sqrt(2 / 20_000)


def test_batches_are_sorted_without_repeats_and_within_the_table():
    """A row is in a batch at most once: the sensitivity counts it once."""
    for batch in poisson_batches(1000, 0.2, 200, SeededSource(1)):
        assert (np.diff(batch) > 0).all()
        assert batch[0] >= 0
        assert batch[-1] < 1000


def test_empty_batches_happen_at_their_rate():
    """(1 - q)^n of them, and they are yielded like any other."""
    batches = list(poisson_batches(3, 0.1, 20_000, SeededSource(2)))
    assert len(batches) == 20_000
    assert_frequency(np.array([len(batch) == 0 for batch in batches]), 0.9**3)


def test_a_sample_rate_of_one_selects_every_row_without_an_index():
    """Full batches need no gather."""
    assert list(poisson_batches(10, 1.0, 3, SeededSource(0))) == [EVERY_ROW] * 3


@pytest.mark.parametrize("rate", [1e-300, 1e-12, 1 - 2**-53])
def test_rates_at_the_ends_of_the_range_work(rate):
    """Waits far past the end and waits of zero are both exact."""
    table = membership(rate, n_steps=100)
    assert table.all() == (rate > 0.5)
    assert table.any() == (rate > 0.5)
