"""Private scalers: one row moves their one release by its sensitivity, and nothing else."""

import numpy as np
import pytest
from claims import CONTAINERS, ROWS, neighbours_of, table_with
from neighbours import (
    assert_equal_to_everyone,
    assert_moved_within_sensitivity,
    assert_noise_as_priced,
    record,
)

from skdp.preprocessing import DPMaxAbsScaler, DPStandardScaler

SCALERS = {
    "standard": DPStandardScaler(epsilon=0.3, bounds=(-2.0, 3.0), random_state=0),
    "max abs": DPMaxAbsScaler(epsilon=0.3, random_state=0),
}
# What a row adds to a sum is rounded to steps of 2^-20, in each coordinate.
ARITHMETIC = 1e-6


def fit_of(name, X, container):
    return lambda: type(SCALERS[name])(**SCALERS[name].get_params()).fit(container(X))


@pytest.mark.slow
@pytest.mark.parametrize("rows", [[7], [3, 7, 11]], ids=["one row", "a person's rows"])
@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize(
    ("name", "container"),
    [("standard", "dense"), ("standard", "float32"), ("max abs", "dense"), ("max abs", "csr")],
)
def test_rows_move_the_release_within_their_sensitivity_and_nothing_else(
    name, container, row, rows
):
    """Long and huge rows, zeros and duplicates; what stands in their place does not matter."""
    container = CONTAINERS[container]
    table = table_with(row)._replace(rows=rows)
    first = record(fit_of(name, table.X, container))
    assert_noise_as_priced(first)
    for other in neighbours_of(table):
        run = record(fit_of(name, other.X, container), left_out=rows, play=first)
        assert_moved_within_sensitivity(first, run, arithmetic=ARITHMETIC)
        assert_equal_to_everyone(first, run)


@pytest.mark.parametrize("name", SCALERS)
def test_the_release_alone_rebuilds_the_scaler(name):
    """A table of zeros, none of which is read, leaves the very same scaler."""
    table = table_with("long")
    first = record(fit_of(name, table.X, CONTAINERS["dense"]))
    everyone = range(len(table.X))
    blank = fit_of(name, np.zeros_like(table.X), CONTAINERS["dense"])
    assert_equal_to_everyone(first, record(blank, left_out=everyone, play=first))


@pytest.mark.parametrize("name", SCALERS)
def test_the_sensitivity_is_reached(name):
    """By a row at the bounds, and by a row without zeros: no smaller one would do."""
    table = table_with("long")
    first = record(fit_of(name, table.X, CONTAINERS["dense"]))
    other = record(fit_of(name, table.X, CONTAINERS["dense"]), left_out=[7], play=first)
    (series,), (neighbour,) = first.series, other.series
    moved = np.linalg.norm(series.releases[0].clean - neighbour.releases[0].clean)
    assert moved == pytest.approx(series.sensitivity, rel=ARITHMETIC)
