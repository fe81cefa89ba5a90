"""Units of several rows: drawn, clipped and counted as a whole, each by its own rows alone."""

import math

import numpy as np
import pytest
from scipy import sparse

from skdp.linear_model._losses import Logistic, Softmax
from skdp.mechanisms import _unit_clipping
from skdp.mechanisms._counts import count_plan, noisy_counts, norm_bins
from skdp.mechanisms._gradient_plan import COUNT_WEIGHT, SENSITIVITY_FACTOR, GradientPlan
from skdp.mechanisms._release import ROUNDING_SHARE
from skdp.mechanisms._sampling import EVERY_ROW, Block
from skdp.mechanisms._unit_clipping import UnitGradient
from skdp.mechanisms._units import Units

SIZES = [1, 3, 7, 1, 12, 2, 5, 1, 40, 4]
CODES = np.random.default_rng(3).permutation(np.repeat(np.arange(len(SIZES)), SIZES))
EVERYONE = np.arange(len(SIZES))


class Silence:
    """A source without noise."""

    n_parts = 1

    def normal(self, shape):
        return np.zeros(shape)


LAYOUTS = [
    np.ascontiguousarray,
    np.asfortranarray,
    sparse.csr_matrix,
    lambda X: X.astype(np.float32),
    lambda X: np.repeat(X, 2, axis=0)[::2],
]


def loss_of(n_outputs):
    return Logistic() if n_outputs == 1 else Softmax(n_outputs)


def plan_with(**changes):
    plan = {
        "n_rows": len(SIZES),
        "batch_size": 4.0,
        "n_steps": 5,
        "clip_threshold": 2.0,
        "noise_multiplier": 3.0,
    }
    return GradientPlan(**(plan | changes))


def data(rng, n_outputs=1, n_features=4):
    X = rng.normal(size=(len(CODES), n_features)) * 2
    loss = loss_of(n_outputs)
    return X, loss.targets(rng.integers(0, max(2, n_outputs), len(CODES)))


def sum_over(units, X, targets, weights, plan, *, n_outputs=1, fit_intercept=True, codes=CODES):
    """The clipped sum over these units, and how many were clipped."""
    gradient = UnitGradient(
        X, targets, loss_of(n_outputs), plan, Units(codes), fit_intercept=fit_intercept
    )
    (pieces,) = gradient.fetch([Block(np.asarray(units), [len(units)])])
    total = np.zeros((X.shape[1] + fit_intercept) * n_outputs)
    return total, gradient.add_to(total, pieces, weights)


def unit_gradients(X, targets, weights, *, n_outputs, fit_intercept, scale=1.0, constant=1.0):
    """Each unit's whole gradient by definition, unclipped."""
    X = X * np.reshape(scale, (-1, 1))
    if fit_intercept:
        X = np.hstack([X, np.full((len(X), 1), constant)])
    scores = X @ weights.reshape(-1, n_outputs)
    loss = loss_of(n_outputs)
    residual = loss.residual(scores[:, 0] if n_outputs == 1 else scores, targets)
    each = np.einsum("ni,nk->nik", X, residual.reshape(len(X), n_outputs))
    return np.array([each[unit == CODES].sum(axis=0).ravel() for unit in EVERYONE])


@pytest.mark.parametrize("container", [np.asarray, np.asfortranarray, sparse.csr_array])
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("max_row_norm", [None, 1.5])
@pytest.mark.parametrize("rows_per_piece", [2, 16, 10_000])
def test_a_units_gradients_are_added_up_and_clipped_as_one_vector(
    container, n_outputs, fit_intercept, max_row_norm, rows_per_piece, rng, monkeypatch
):
    """By definition: sum, norm, shrink, sum; units longer than a piece included."""
    monkeypatch.setattr(_unit_clipping, "_SPARSE_ROWS_PER_PIECE", rows_per_piece)
    X, targets = data(rng, n_outputs)
    plan = plan_with(max_row_norm=max_row_norm, intercept_column=0.7)
    weights = rng.normal(size=(4 + fit_intercept) * n_outputs)
    scale = 1.0
    if max_row_norm is not None:
        scale = np.minimum(1.0, max_row_norm / np.linalg.norm(X, axis=1))
    expected = unit_gradients(
        X,
        targets,
        weights,
        n_outputs=n_outputs,
        fit_intercept=fit_intercept,
        scale=scale,
        constant=0.7,
    )
    norms = np.linalg.norm(expected, axis=1)
    assert (norms > 2.0).any()
    batch = [1, 2, 4, 8, 9]
    clipped = expected * np.minimum(1.0, 2.0 / norms)[:, np.newaxis]
    total, n_clipped = sum_over(
        batch,
        container(X),
        targets,
        weights,
        plan,
        n_outputs=n_outputs,
        fit_intercept=fit_intercept,
    )
    np.testing.assert_allclose(total, clipped[batch].sum(axis=0), atol=1e-12)
    assert n_clipped == np.count_nonzero(norms[batch] > 2.0)


ADVERSARIES = {
    "zero": lambda rows: rows * 0.0,
    "huge": lambda rows: rows * 1e200,
    "beyond the range of squares": lambda rows: rows * 1e305,
    "tiny": lambda rows: rows * 1e-300,
    "one row again and again": lambda rows: np.repeat(rows[:1], len(rows), axis=0),
    "rows that cancel": lambda rows: (
        rows * np.where(np.arange(len(rows)) % 2, 1e12, -1e12)[:, None]
    ),
}


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("adversary", ADVERSARIES.values(), ids=ADVERSARIES.keys())
def test_a_unit_that_leaves_moves_sum_and_count_by_at_most_their_sensitivity(
    container, n_outputs, adversary, rng
):
    """Whatever its rows are, and whatever all the others' rows are."""
    X, targets = data(rng, n_outputs)
    X[CODES == 8] = adversary(X[CODES == 8])
    X[CODES == 4] = adversary(X[CODES == 4])
    plan = plan_with()
    weights = rng.normal(size=5 * n_outputs)
    with np.errstate(all="ignore"):
        total, n_clipped = sum_over(
            EVERYONE, container(X), targets, weights, plan, n_outputs=n_outputs
        )
        for unit in EVERYONE:
            rest, n_rest = sum_over(
                np.delete(EVERYONE, unit),
                container(X),
                targets,
                weights,
                plan,
                n_outputs=n_outputs,
            )
            moved = math.hypot(
                np.linalg.norm(total - rest), (n_clipped - n_rest) * plan.count_scale
            )
            assert moved <= 2.0 * math.hypot(1.0, COUNT_WEIGHT) * (1 + 1e-9)
            assert moved <= 2.0 * (SENSITIVITY_FACTOR - ROUNDING_SHARE) * (1 + 1e-9)
    assert np.isfinite(total).all()


@pytest.mark.parametrize("container", [np.asarray, np.asfortranarray, sparse.csr_array])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_what_a_unit_adds_does_not_depend_on_the_others_to_the_last_bit(container, n_outputs, rng):
    """Alone or among others: else one unit's leaving would move what others add.

    Rows that cancel on a large scale make a different order of summation show.
    """
    X, targets = data(rng, n_outputs, n_features=37)
    X *= np.where(np.arange(len(X)) % 2, 1e9, -1e9)[:, np.newaxis]
    weights = rng.normal(size=38 * n_outputs) * 1e-9
    gradient = UnitGradient(
        container(X), targets, loss_of(n_outputs), plan_with(), Units(CODES), fit_intercept=True
    )
    ((parts, starts),) = gradient._units.pieces(EVERYONE, 10_000)
    together, intercepts = gradient._unit_sums(parts, starts, weights.reshape(-1, n_outputs))
    for unit in EVERYONE:
        ((parts, starts),) = gradient._units.pieces(np.array([unit]), 10_000)
        alone, intercept = gradient._unit_sums(parts, starts, weights.reshape(-1, n_outputs))
        np.testing.assert_array_equal(intercepts[:, unit], intercept[:, 0])
        for output in range(n_outputs):
            kept, own = together[output][[unit]], alone[output]
            if sparse.issparse(kept):
                kept, own = kept.toarray(), own.toarray()
            np.testing.assert_array_equal(kept, own)


@pytest.mark.parametrize("seed", range(30))
def test_how_long_a_unit_is_depends_on_its_own_rows_to_the_last_bit(seed):
    """Alone, among others, beside a unit that was replaced, and in any layout of the array.

    A unit whose length sits at the threshold would else be clipped or not by who else is there.
    """
    rng = np.random.default_rng(seed)
    n_features, n_classes = int(rng.choice([1, 2, 3, 7, 30, 200])), int(rng.choice([2, 3, 4, 9]))
    loss = Logistic() if n_classes == 2 else Softmax(n_classes)
    codes = rng.permutation(np.repeat(np.arange(6), rng.choice([1, 2, 5, 40, 90], size=6)))
    X, y = rng.normal(size=(len(codes), n_features)), rng.integers(0, n_classes, len(codes))
    layout = LAYOUTS[seed % len(LAYOUTS)]
    plan = plan_with(n_rows=6, max_row_norm=[None, 1.0][seed % 2])
    weights = rng.normal(size=(n_features + 1) * loss.n_outputs)

    def lengths(X, y, codes, batch):
        gradient = UnitGradient(
            layout(X), loss.targets(y), loss, plan, Units(codes), fit_intercept=True
        )
        found = []
        for parts, starts in gradient._units.pieces(batch, gradient._rows_per_piece):
            sums = gradient._unit_sums(parts, starts, weights.reshape(-1, loss.n_outputs))
            found.append(_unit_clipping._lengths(*sums))
        return np.concatenate(found)

    together = lengths(X, y, codes, EVERY_ROW)
    alone = [lengths(X, y, codes, np.array([unit]))[0] for unit in range(6)]
    np.testing.assert_array_equal(alone, together)
    kept, more = codes != 0, int(rng.choice([1, 3, 60]))
    X = np.vstack([rng.normal(size=(more, n_features)), X[kept]])
    y = np.append(np.zeros(more, dtype=int), y[kept])
    codes = np.append(np.zeros(more, dtype=int), codes[kept])
    np.testing.assert_array_equal(lengths(X, y, codes, EVERY_ROW)[1:], together[1:])


@pytest.mark.parametrize("threshold", [1e-100, 1e-9, 1.0, 1e100])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_no_unit_adds_more_than_the_threshold_at_the_ends_of_the_number_range(
    threshold, n_outputs, rng
):
    """Rows up to the largest double, thresholds from tiny to huge, a large constant."""
    X, targets = data(rng, n_outputs)
    X *= 10.0 ** rng.uniform(-300, 307, size=(len(X), 1))
    for constant in (1e-100, 1.0, 1e100):
        plan = plan_with(clip_threshold=threshold, intercept_column=constant)
        with np.errstate(all="ignore"):
            for unit in EVERYONE:
                total, _ = sum_over(
                    [unit], X, targets, np.zeros(5 * n_outputs), plan, n_outputs=n_outputs
                )
                assert np.linalg.norm(total / threshold) <= 1 + 1e-9


def test_rows_without_a_finite_logit_add_nothing_to_their_unit(rng):
    """The rest of the unit counts as if they were not there."""
    X, targets = data(rng)
    weights = np.full(5, 1e10)
    broken = X.copy()
    row = np.flatnonzero(CODES == 8)[0]
    broken[row] = [1.7e308, -1.7e308, 1.7e308, 1.7e308]
    codes = np.delete(CODES, row)
    with np.errstate(all="ignore"):
        total, _ = sum_over([8], broken, targets, weights, plan_with())
        rest, _ = sum_over(
            [8], np.delete(X, row, axis=0), np.delete(targets, row), weights, plan_with(),
            codes=codes,
        )  # fmt: skip
    np.testing.assert_array_equal(total, rest)


@pytest.mark.parametrize("drawn", [np.array([0, 4, 8, 9]), EVERYONE, EVERY_ROW, np.array([], int)])
@pytest.mark.parametrize("rows_per_piece", [1, 5, 13, 1000])
def test_pieces_hold_whole_units_and_every_drawn_row_once(drawn, rows_per_piece):
    """A unit longer than a piece stands alone, cut from its own first row on."""
    units = EVERYONE[drawn]
    seen = []
    for parts, starts in Units(CODES).pieces(drawn, rows_per_piece):
        rows = np.concatenate(parts)
        assert all(len(part) <= rows_per_piece for part in parts)
        assert len(parts) == 1 or len(starts) == 1
        for start, stop in zip(starts, [*starts[1:], len(rows)], strict=True):
            unit = units[len(seen)]
            np.testing.assert_array_equal(rows[start:stop], np.flatnonzero(unit == CODES))
            seen.append(unit)
    assert seen == list(units)


@pytest.mark.parametrize("centred", [False, True])
def test_a_unit_counts_once_however_many_rows_it_has(centred, rng):
    """Leaving moves the counts by at most the sensitivity of one row's count."""
    bins = rng.integers(-1 + centred, 3, len(CODES))
    bins[CODES == 8] = 1
    plan = count_plan(3, 1.0, centred=centred)
    whole = noisy_counts(bins, plan, Silence(), units=Units(CODES))
    moved = []
    for unit in EVERYONE:
        masked = np.where(unit == CODES, -1, bins)
        rest = noisy_counts(masked, plan, Silence(), units=Units(CODES))
        moved.append(np.linalg.norm(whole - rest))
    assert max(moved) <= plan.sensitivity * (1 + ROUNDING_SHARE)
    assert moved[8] == pytest.approx(plan.sensitivity, rel=1e-3)
    if not centred:
        shares = np.array([(bins[unit == CODES] == 2).mean() for unit in EVERYONE])
        assert whole[2] == pytest.approx(shares.sum(), abs=1e-3)


@pytest.mark.parametrize("scale", [1.0, 1e-300, 1e300])
def test_a_units_norm_is_the_root_of_its_rows_squared_norms(scale, rng):
    """By its own rows alone, and at both ends of the number range; one bin a unit."""
    X = rng.normal(size=(len(CODES), 4)) * scale
    bins = norm_bins(X, Units(CODES))
    assert bins.shape == (len(SIZES),)
    for unit in EVERYONE:
        own = X[unit == CODES]
        norm = np.linalg.norm(own / scale)
        assert bins[unit] == np.clip(math.floor(math.log2(norm * scale)) + 48, 0, 111)
