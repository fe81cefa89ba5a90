"""What must hold of every fit of `DPSGDClassifier`, as functions that raise where it does not.

The tests call them on the code as it is; the mutants are planted one at a time, and then one of
these must fail.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from neighbours import (
    assert_equal_to_everyone,
    assert_moved_within_sensitivity,
    assert_noise_as_priced,
    record,
)
from scipy import sparse, stats
from sklearn.base import clone

from skdp import DPSGDClassifier
from skdp.mechanisms._release import ROUNDING_SHARE
from skdp.privacy import get_epsilon

__all__ = [
    "CONTAINERS",
    "PARAMETERS",
    "ROWS",
    "Table",
    "clones_share_no_noise",
    "every_release_is_paid_for",
    "every_row_is_drawn_as_priced",
    "fit_of",
    "neighbours_of",
    "nothing_else_depends_on_a_row",
    "nothing_else_depends_on_a_unit",
    "one_row_moves_no_release_beyond_its_sensitivity",
    "one_unit_moves_no_release_beyond_its_sensitivity",
    "only_priced_releases_are_made_with_fresh_noise",
    "rows_without_numbers_are_refused_alike",
    "runs_by_unit",
    "runs_of",
    "sums_over_many_rows_are_exact",
    "table_with",
    "the_fit_can_be_replayed_without_data",
]

N_ROWS, N_FEATURES = 40, 4
HUGE = float(np.finfo(np.float64).max)
# Chance that a statistical claim fails on code for which it holds; they are seeded besides.
FALSE_ALARM = 1e-6

PARAMETERS = {
    "a budget": {"epsilon": 1.0},
    "a large budget": {"epsilon": 8.0, "batch_size": 20, "learning_rate": 40.0},
    "a budget and small batches": {"epsilon": 3.0, "batch_size": 10, "n_epochs": 3},
    "given noise": {"noise_multiplier": 2.0, "batch_size": 8, "n_epochs": 4},
    "a budget and given noise": {"epsilon": 4.0, "noise_multiplier": 2.0, "batch_size": 8},
    "empty batches": {"noise_multiplier": 2.0, "batch_size": 1, "n_epochs": 0.6},
    "a low threshold": {"noise_multiplier": 2.0, "clip_threshold": 0.1, "batch_size": 40},
    "bounded rows": {"epsilon": 2.0, "max_row_norm": 1.5, "n_epochs": 6},
    "no intercept": {"epsilon": 1.0, "fit_intercept": False, "batch_size": 15, "n_epochs": 3.1},
    "a penalty": {"epsilon": 1.0, "alpha": 0.3, "n_epochs": 6},
    "the last iterate": {"epsilon": 1.0, "average": False, "n_epochs": 6},
    "no seed": {"epsilon": 1.0, "batch_size": 10, "n_epochs": 2, "random_state": None},
}

# What stands in the row that one neighbour has and the other leaves out.
ROWS = {
    "random": lambda rng: rng.normal(size=N_FEATURES),
    "zero": lambda rng: np.zeros(N_FEATURES),
    "tiny": lambda rng: np.full(N_FEATURES, 1e-170),
    "long": lambda rng: 1e4 * rng.normal(size=N_FEATURES),
    "huge, mixed signs": lambda rng: np.array([HUGE, -HUGE, HUGE, HUGE]),
    "a duplicate": None,
    "the only one of its class": lambda rng: rng.normal(size=N_FEATURES),
}

CONTAINERS = {
    "dense": lambda X: X,
    # Single precision cannot hold the largest double.
    "float32": lambda X: np.where(np.abs(X) == HUGE, X / 1e270, X).astype(np.float32),
    "csr": sparse.csr_array,
}


class Table(NamedTuple):
    """Rows, labels, and which of them a neighbour leaves out."""

    X: Any
    y: np.ndarray
    rows: list[int]


def table_with(row: str, n_classes: int = 2, *, at: int = 7) -> Table:
    """A table of random rows, with one of the rows of `ROWS` in it.

    That row alone has a number in the last column, which other rows leave untouched.
    """
    rng = np.random.default_rng(20)
    X = rng.normal(size=(N_ROWS, N_FEATURES))
    X[:, -1] = 0.0
    y = rng.permutation(np.arange(N_ROWS) % n_classes)
    X[at] = X[at + 1] if row == "a duplicate" else ROWS[row](rng)
    y[at] = n_classes - 1
    if row == "the only one of its class":
        others = np.delete(np.arange(N_ROWS), at)
        y[others] = others % (n_classes - 1)
    return Table(X, y, [at])


def neighbours_of(table: Table) -> list[Table]:
    """The table itself, and tables with other contents in the rows that are left out.

    Left out, they contribute nothing whatever they hold: zeros, or a long row with another label.
    """
    tables = [table]
    for content in (0.0, -300.0):
        X, y = table.X.copy(), table.y.copy()
        X[table.rows] = content
        y[table.rows] = 0
        tables.append(Table(X, y, table.rows))
    return tables


def fit_of(
    table: Table,
    params: dict[str, Any],
    n_classes: int = 2,
    container=CONTAINERS["dense"],
    **fit_params,
):
    """A fit to record: everything on it is kept, and the label set is declared."""
    params = {"random_state": 0, "store_path": True, "classes": list(range(n_classes))} | params
    return lambda: DPSGDClassifier(**params).fit(container(table.X), table.y, **fit_params)


def runs_of(row: str, params: dict[str, Any], n_classes: int = 2, container=CONTAINERS["dense"]):
    """The first run and its neighbours, which play what it released."""
    table = table_with(row, n_classes)
    first = record(fit_of(table, params, n_classes, container))
    assert not first.error, f"the fit failed: {first.error}"
    others = [
        record(fit_of(other, params, n_classes, container), left_out=other.rows, play=first)
        for other in neighbours_of(table)
    ]
    return first, others


def tables_by_unit(n_classes: int) -> list[tuple[Table, np.ndarray]]:
    """Tables of 20 units of rows, of which the last one is to be left out.

    In the first table it has a long row and a copy of it among five. In the others something else
    stands in its place: other rows, other labels, and another number of rows.
    """
    table = table_with("long", n_classes)
    units = np.arange(N_ROWS) % 20
    units[[3, 7, 11, 30]] = 19
    table.X[30] = table.X[7]
    tables = [(table._replace(rows=[19]), units)]
    kept = units != 19
    for content, n_rows in ((0.0, 1), (-300.0, 3), (1e-3, 60)):
        X = np.vstack([np.full((n_rows, N_FEATURES), content), table.X[kept]])
        y = np.append(np.zeros(n_rows, dtype=int), table.y[kept])
        tables.append((Table(X, y, [19]), np.append(np.full(n_rows, 19), units[kept])))
    return tables


def runs_by_unit(params: dict[str, Any], n_classes: int = 2, container=CONTAINERS["dense"]):
    """The first run, with `privacy_unit`, and those in which the unit is left out."""
    tables = tables_by_unit(n_classes)
    first = record(fit_of(tables[0][0], params, n_classes, container, privacy_unit=tables[0][1]))
    assert not first.error, f"the fit failed: {first.error}"
    others = [
        record(
            fit_of(table, params, n_classes, container, privacy_unit=units),
            left_out=table.rows,
            play=first,
        )
        for table, units in tables
    ]
    return first, others


def every_run():
    """Each row with each setting, two classes or three, as the settings are numbered."""
    for row in ROWS:
        for number, params in enumerate(PARAMETERS.values()):
            yield runs_of(row, params, 2 + number % 2)


def one_row_moves_no_release_beyond_its_sensitivity() -> None:
    """Over adversarial rows, nothing left out of a run moves a release further than is priced."""
    for first, others in every_run():
        for other in others:
            assert_moved_within_sensitivity(first, other)


def one_unit_moves_no_release_beyond_its_sensitivity() -> None:
    """However many rows it has: they are drawn, clipped and counted as one."""
    for number, params in enumerate(PARAMETERS.values()):
        first, others = runs_by_unit(params, 2 + number % 2)
        for other in others:
            assert_moved_within_sensitivity(first, other)


def nothing_else_depends_on_a_unit() -> None:
    """Nor on how many rows it has, which is as private as what they hold."""
    for number, params in enumerate(PARAMETERS.values()):
        first, others = runs_by_unit(params, 2 + number % 2)
        for other in others:
            assert_equal_to_everyone(first, other)


def nothing_else_depends_on_a_row() -> None:
    """Attributes, warnings, shapes and randomness are those of the neighbour, to the last bit."""
    for first, others in every_run():
        for other in others:
            assert_equal_to_everyone(first, other)


def only_priced_releases_are_made_with_fresh_noise() -> None:
    """As many releases as `mechanisms_` says, each coordinate with noise of the scale that ran."""
    for n_classes in (2, 3):
        for params in PARAMETERS.values():
            table = table_with("long", n_classes)
            assert_noise_as_priced(record(fit_of(table, params, n_classes)))


def every_release_is_paid_for() -> None:
    """`epsilon_` is the cost of all that the estimator states, and within the budget."""
    for n_classes in (2, 3):
        for params in PARAMETERS.values():
            table = table_with("long", n_classes)
            model = record(fit_of(table, params, n_classes)).state
            spent = model["epsilon_"]
            cost = get_epsilon(model["mechanisms_"], model["delta_"])
            assert spent == cost, f"epsilon_ is {spent} and the releases cost {cost}"
            assert cost <= params.get("epsilon", math.inf), "a fit spent more than its budget"


def the_fit_can_be_replayed_without_data() -> None:
    """A table of zeros, of which no row is drawn or counted, leaves the very same estimator when it
    is fed the releases."""
    for n_classes in (2, 3):
        table = table_with("long", n_classes)
        blank = Table(np.zeros_like(table.X), np.zeros_like(table.y), list(range(N_ROWS)))
        for params in PARAMETERS.values():
            first = record(fit_of(table, params, n_classes))
            assert not first.error, f"the fit failed: {first.error}"
            replay = record(fit_of(blank, params, n_classes), left_out=blank.rows, play=first)
            assert_equal_to_everyone(first, replay)


def every_row_is_drawn_as_priced() -> None:
    """Independent coins of the priced sample rate: rows, pairs, steps, and the sizes of batches.

    With one column a row, the coordinates of a clean sum tell who took part. Each of the
    comparisons below fails by chance with probability 1e-6 / 200 at most; there are fewer than 200.
    """
    n_rows, batch_size = 40, 16
    model = {
        "noise_multiplier": 1.0,
        "batch_size": batch_size,
        "n_epochs": 600,
        "learning_rate": 1e-6,
        "fit_intercept": False,
        "classes": [0, 1],
        "random_state": 0,
    }
    labels = np.arange(n_rows) % 2
    run = record(lambda: DPSGDClassifier(**model).fit(np.eye(n_rows), labels))
    (series,), (mechanism,) = run.series, run.mechanisms
    took_part = np.array([release.clean[:n_rows] != 0.0 for release in series.releases])
    n_steps, rate = len(took_part), mechanism.sample_rate
    following = np.roll(took_part, -1, axis=0)
    for row in range(n_rows):
        other = (row + 1) % n_rows
        _assert_frequency(took_part[:, row], rate, "a row is drawn")
        _assert_frequency(took_part[:, row] & took_part[:, other], rate**2, "two rows are drawn")
        for first in (0, 1):
            again = (took_part & following)[first : n_steps - 1 : 2, row]
            _assert_frequency(again, rate**2, "a row is drawn in two steps")
    # The relative standard error of a variance is about sqrt(2 / n); seven of those are 1e-11.
    spread = took_part.sum(axis=1).var() / (n_rows * rate * (1 - rate))
    assert abs(spread - 1) < 7 * math.sqrt(2 / n_steps), (
        f"the sizes of batches have {spread:.3g} times the variance of coins"
    )
    assert rate == run.state["sample_rate_"] == batch_size / n_rows, "the rate is not b / n"
    assert n_steps == math.ceil(600 / rate), "the steps are not n_epochs n / b"


def sums_over_many_rows_are_exact() -> None:
    """Clipped one by one, whole, and added up without loss: as exact sums say, in float32 data.

    Most rows point one way, so that the sum is large and a lost digit of it shows.
    """
    rng = np.random.default_rng(3)
    n_rows = 20_000
    X = rng.normal(loc=(3.0, 0.5), size=(n_rows, 2)).astype(np.float32)
    X[:100] *= 1e-3
    y = (rng.random(n_rows) < 0.1).astype(int)
    for threshold in (0.3, 1.0, 4.0):
        run = record(
            lambda threshold=threshold: DPSGDClassifier(
                noise_multiplier=1.0, batch_size=n_rows, n_epochs=1, clip_threshold=threshold
            ).fit(X, y)
        )
        assert not run.error, f"the fit failed: {run.error}"
        clean = run.series[-1].releases[0].clean[:3]
        gradients = np.column_stack([X.astype(np.float64), np.ones(n_rows)]) * (0.5 - y)[:, None]
        gradients *= np.minimum(1.0, threshold / np.linalg.norm(gradients, axis=1))[:, None]
        exact = [math.fsum(column) for column in gradients.T]
        off = np.linalg.norm(clean - exact)
        assert off <= ROUNDING_SHARE * threshold / 10, (
            f"the sum of the clipped gradients is off by {off / threshold:.3g} thresholds"
        )


def rows_without_numbers_are_refused_alike() -> None:
    """Whichever row it is in, left out or not: one error of one text, before anything is spent."""
    for value in (math.nan, math.inf):
        for container in CONTAINERS.values():
            seen = []
            for at in (7, 30):
                table = table_with("random", at=at)
                table.X[at, 1] = value
                for rows in ([], [at]):
                    run = record(
                        fit_of(table, PARAMETERS["a budget"], container=container), left_out=rows
                    )
                    assert run.error, f"a row that holds {value} was let in"
                    assert not run.sources, "randomness was spent on a table that is refused"
                    seen.append(run)
            for other in seen[1:]:
                assert_equal_to_everyone(seen[0], other)


def clones_share_no_noise() -> None:
    """Without a seed, fits in a row and fits of clones add noise that has nothing in common.

    Of 600 pairs of draws the correlation stays within 6 standard errors, a chance of 2e-9 for each
    of six pairs of fits.
    """
    X, y = np.zeros((N_ROWS, 600)), np.arange(N_ROWS) % 2
    model = DPSGDClassifier(noise_multiplier=3.0, batch_size=N_ROWS, n_epochs=1)
    fits = [model, model, clone(model), clone(clone(model))]
    noise = np.array([fit.fit(X, y).coef_[0] for fit in fits])
    correlation = np.corrcoef(noise) - np.eye(len(noise))
    assert np.abs(correlation).max() < 6 / math.sqrt(600), "two fits share their noise"


def _assert_frequency(events: np.ndarray, probability: float, words: str) -> None:
    happened = int(np.count_nonzero(events))
    chance = stats.binomtest(happened, events.size, probability).pvalue
    assert chance > FALSE_ALARM / 200, (
        f"{words} {happened} times in {events.size}, and with chance {probability:.3g} as priced"
    )
