"""The clipped sum: equal to brute force, and never moved by a row beyond the threshold."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from skdp.linear_model._losses import Logistic, Softmax
from skdp.mechanisms import _rows
from skdp.mechanisms._clipping import ClippedGradient, row_scale
from skdp.mechanisms._gradient_plan import GradientPlan
from skdp.mechanisms._sampling import EVERY_ROW, Block

HUGE = np.finfo(np.float64).max
CONTAINERS = {
    "dense": lambda X: X,
    "fortran": np.asfortranarray,
    "csr_matrix": sparse.csr_matrix,
    "csr_array": sparse.csr_array,
    "csr_64_bit": lambda X: with_long_indices(sparse.csr_matrix(X)),
}


def with_long_indices(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def plan_for(n_rows, threshold, max_row_norm=None):
    return GradientPlan(
        n_rows=n_rows,
        batch_size=n_rows,
        n_steps=1,
        clip_threshold=threshold,
        noise_multiplier=1.0 if np.isfinite(threshold) else 0.0,
        max_row_norm=max_row_norm,
    )


def clipped_sum(X, targets, loss, weights, threshold, *, batch=EVERY_ROW, intercept=True, **bound):
    """Flat clipped sum and the number of clipped rows, by the code under test."""
    clipped = ClippedGradient(
        X, targets, loss, plan_for(X.shape[0], threshold, **bound), fit_intercept=intercept
    )
    total = np.zeros(weights.size)
    with np.errstate(all="ignore"):
        n_drawn = X.shape[0] if batch is EVERY_ROW else len(batch)
        (pieces,) = clipped.fetch([Block(batch, [n_drawn])])
        n_clipped = clipped.add_to(total, pieces, weights.ravel())
    return total, n_clipped


def brute_force(X, targets, n_outputs, weights, threshold, *, intercept=True):
    """Every gradient by itself, by the textbook formula, in extended precision."""
    X = np.asarray(X, dtype=np.longdouble)
    if intercept:
        X = np.hstack([X, np.ones((len(X), 1), dtype=np.longdouble)])
    total = np.zeros(weights.shape, dtype=np.longdouble)
    n_clipped = 0
    for row, target in zip(X, targets, strict=True):
        logits = row @ weights
        if n_outputs == 1:
            residual = 1 / (1 + np.exp(-logits)) - target
        else:
            shares = np.exp(logits - logits.max())
            residual = shares / shares.sum() - (np.arange(n_outputs) == target)
        gradient = np.outer(row, residual)
        norm = np.sqrt((gradient**2).sum())
        n_clipped += bool(norm > threshold)
        total += gradient * min(1, threshold / max(norm, np.longdouble(1e-4000)))
    return total.astype(float).ravel(), n_clipped


def problem(rng, n_outputs, n_rows=40, n_features=6):
    loss = Logistic() if n_outputs == 1 else Softmax(n_outputs)
    X = rng.normal(size=(n_rows, n_features)) * rng.exponential(2, size=(n_rows, 1))
    X[rng.random(X.shape) < 0.3] = 0.0
    targets = rng.integers(0, max(2, n_outputs), n_rows)
    weights = rng.normal(size=(n_features + 1, n_outputs))
    return X, targets, loss, weights


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("threshold", [0.1, 1.0, 10.0, np.inf])
@pytest.mark.parametrize("n_outputs", [1, 4])
@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
def test_the_sum_is_that_of_gradients_clipped_one_by_one(
    container, n_outputs, threshold, intercept, rng
):
    """The factored form is only an economy: weights and intercept are one vector, and only its
    whole length counts."""
    X, targets, loss, weights = problem(rng, n_outputs)
    weights = weights if intercept else weights[:-1]
    ours, ours_clipped = clipped_sum(
        container(X), targets, loss, weights, threshold, intercept=intercept
    )
    theirs, theirs_clipped = brute_force(
        X, targets, n_outputs, weights, threshold, intercept=intercept
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-12)
    assert ours_clipped == theirs_clipped


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("threshold", [1e-6, 1.0, 100.0])
def test_removing_any_row_moves_the_sum_by_at_most_the_threshold(
    threshold, container, n_outputs, dtype, rng
):
    """The accountant's sensitivity holds for every row, and is reached by the clipped ones."""
    X, targets, loss, weights = problem(rng, n_outputs, n_rows=12)
    X[0] *= 1e9
    X[1] = 0.0
    X = X.astype(dtype)
    everyone = np.arange(len(X))
    whole, _ = clipped_sum(container(X), targets, loss, weights, threshold, batch=everyone)
    moved = []
    for row in everyone:
        others = np.delete(everyone, row)
        rest, _ = clipped_sum(container(X), targets, loss, weights, threshold, batch=others)
        moved.append(np.linalg.norm(whole - rest))
    assert max(moved) <= threshold * (1 + 1e-9)
    if threshold < 1:
        assert max(moved) >= threshold * (1 - 1e-6)


ADVERSARIAL_ROWS = {
    "huge": [HUGE, HUGE, HUGE],
    "huge, mixed signs": [HUGE, -HUGE, HUGE],
    "one huge": [HUGE, 0.0, 0.0],
    "squares overflow": [1e200, -1e200, 1e199],
    "squares vanish": [1e-170, 1e-170, 0.0],
    "subnormal": [5e-324, 0.0, 5e-324],
    "huge beside subnormal": [1e308, 5e-324, 0.0],
    "just short of too long": [9e306, 0.0, 0.0],
    "at the end of exact shrinking": [9e299, 0.0, 0.0],
    "zero": [0.0, 0.0, 0.0],
}


@pytest.mark.slow
@pytest.mark.parametrize("row", ADVERSARIAL_ROWS.values(), ids=ADVERSARIAL_ROWS)
@pytest.mark.parametrize("threshold", [1e-100, 3e-24, 1e-15, 1.0, 1e10])
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("container", [CONTAINERS["dense"], CONTAINERS["csr_array"]])
@pytest.mark.parametrize("bound", [None, 1.0, 1e8])
def test_no_finite_row_slips_past_the_clip(row, threshold, n_outputs, intercept, container, bound):
    """Every finite double: no NaN, no infinity, and a contribution of at most the threshold."""
    loss = Logistic() if n_outputs == 1 else Softmax(n_outputs)
    X = container(np.array([row]))
    signs = np.where(np.arange((3 + intercept) * n_outputs) % 2, -1.0, 1.0)
    signs = signs.reshape(3 + intercept, n_outputs)
    for target, weight in itertools.product((0, 1), (0.0, 1.0, 1e-180, 1e250)):
        total, _ = clipped_sum(
            X,
            np.array([target]),
            loss,
            weight * signs,
            threshold,
            intercept=intercept,
            max_row_norm=bound,
        )
        assert np.isfinite(total).all()
        # Scaled first: the square of a sum this small or large would itself over- or underflow.
        assert np.linalg.norm(total / threshold) <= 1 + 1e-9


@pytest.mark.parametrize("container", [CONTAINERS["dense"], CONTAINERS["csr_matrix"]])
def test_a_row_without_a_finite_logit_contributes_zero_and_spares_the_others(container):
    """Infinity minus infinity is NaN in one row's logit, and must stay there."""
    # The first rows have norms that could be clipped; at these weights their logits are inf,
    # -inf and NaN.
    X = np.array([[1e200, 0.0], [0.0, 1e200], [1e200, 1e200], [1e-199, 0.0], [HUGE, HUGE]])
    targets = np.array([0, 1, 0, 1, 1])
    for loss in (Logistic(), Softmax(3)):
        by_output = np.ones(1) if loss.n_outputs == 1 else np.array([1.0, 0.5, -1.0])
        weights = np.outer([1e200, -1e200, 0.0], by_output)
        whole, n_clipped = clipped_sum(container(X), targets, loss, weights, 1e-3)
        alone, n_alone = clipped_sum(container(X[3:4]), targets[3:4], loss, weights, 1e-3)
        np.testing.assert_allclose(whole, alone, rtol=1e-12)
        assert np.linalg.norm(alone) > 0
        assert n_clipped == n_alone


@pytest.mark.parametrize("threshold", [1e-3, 1.0, np.inf])
def test_a_zero_gradient_stays_zero(threshold):
    """No row and no residual: nothing to divide by, nothing added."""
    X = np.array([[0.0, 0.0], [3.0, 4.0]])
    weights = np.array([[1e4], [0.0], [0.0]])
    # The second row's probability rounds to 1, so its residual is exactly zero.
    total, n_clipped = clipped_sum(
        X[1:], np.array([1]), Logistic(), weights, threshold, intercept=True
    )
    assert not total.any()
    assert n_clipped == 0
    total, _ = clipped_sum(
        X[:1], np.array([1]), Logistic(), weights[:2], threshold, intercept=False
    )
    assert not total.any()


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("flag", [None, True])
def test_duplicate_entries_are_one_number_before_the_clip(kind, flag):
    """Ten entries of 1 in one place are a 10; measured one by one they would slip past the clip.

    A stale flag on the caller's matrix that denies the duplicates must not be believed, and the
    caller's matrix keeps its entries.
    """
    data, columns = np.ones(10), np.zeros(10, dtype=np.int32)
    X = kind((data, columns, np.array([0, 10])), shape=(1, 2))
    if flag is not None:
        X.has_canonical_format = flag
    total, n_clipped = clipped_sum(X, np.array([0]), Logistic(), np.zeros((3, 1)), 1.0)
    dense, _ = clipped_sum(
        np.array([[10.0, 0.0]]), np.array([0]), Logistic(), np.zeros((3, 1)), 1.0
    )
    np.testing.assert_allclose(total, dense, rtol=1e-12)
    assert np.linalg.norm(total) <= 1 + 1e-12
    assert n_clipped == 1
    assert X.nnz == 10


def test_csr_data_that_no_table_can_hold_is_refused():
    """Indices outside the shape would read other memory; sums beyond the doubles have no clip."""
    outside = sparse.csr_matrix(np.ones((2, 2)))
    outside.indices[0] = 5
    with pytest.raises(ValueError, match="no valid CSR"):
        clipped_sum(outside, np.array([0, 1]), Logistic(), np.zeros((3, 1)), 1.0)
    for dtype, entry in ((np.float32, 3e38), (np.float64, 1.7e308)):
        data = np.array([entry, entry, 1.0], dtype=dtype)
        doubled = sparse.csr_matrix((data, [0, 0, 1], [0, 2, 3]), shape=(2, 2))
        with pytest.raises(ValueError, match="contains infinity"):
            clipped_sum(doubled, np.array([0, 1]), Logistic(), np.zeros((3, 1)), 1.0)


@pytest.mark.parametrize("container", [CONTAINERS["dense"], CONTAINERS["csr_matrix"]])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_the_size_of_a_piece_does_not_change_the_sum(container, n_outputs, rng, monkeypatch):
    """Pieces are an economy of memory; the result agrees to rounding."""
    X, targets, loss, weights = problem(rng, n_outputs, n_rows=500)
    whole, n_whole = clipped_sum(container(X), targets, loss, weights, 1.0)
    monkeypatch.setattr(_rows, "_LEAST_ROWS_PER_PIECE", 7)
    monkeypatch.setattr(_rows, "_BYTES_PER_PIECE", 1)
    for batch in (EVERY_ROW, np.arange(500)):
        pieces, n_pieces = clipped_sum(container(X), targets, loss, weights, 1.0, batch=batch)
        np.testing.assert_allclose(pieces, whole, rtol=1e-12, atol=1e-12)
        assert n_pieces == n_whole


@pytest.mark.parametrize("container", [CONTAINERS["dense"], CONTAINERS["csr_matrix"]])
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("intercept", [True, False])
def test_a_bound_on_the_rows_equals_rows_scaled_beforehand(container, n_outputs, intercept, rng):
    """max_row_norm shrinks the long rows and leaves the intercept's 1 alone."""
    X, targets, loss, weights = problem(rng, n_outputs)
    weights = weights if intercept else weights[:-1]
    norms = np.linalg.norm(X, axis=1)
    shrunk = X * np.minimum(1.0, 2.0 / np.maximum(norms, 1e-9))[:, np.newaxis]
    ours, n_ours = clipped_sum(
        container(X), targets, loss, weights, 1.5, intercept=intercept, max_row_norm=2.0
    )
    theirs, n_theirs = clipped_sum(
        container(shrunk), targets, loss, weights, 1.5, intercept=intercept
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)
    assert n_ours == n_theirs


def test_row_scale_is_one_for_short_rows_and_needs_no_division_by_zero():
    """Zero rows and infinite norms included."""
    scale = row_scale(np.array([0.0, 1.0, 2.0, 8.0, np.inf]), 2.0)
    np.testing.assert_array_equal(scale, [1.0, 1.0, 1.0, 0.25, 0.0])


def test_an_empty_batch_adds_nothing(rng):
    """And is no special case for the caller."""
    X, targets, loss, weights = problem(rng, 1)
    total, n_clipped = clipped_sum(
        X, targets, loss, weights, 1.0, batch=np.array([], dtype=np.int64)
    )
    assert not total.any()
    assert n_clipped == 0


def test_a_residual_whose_square_underflows_is_clipped_all_the_same():
    """A row of 1e200 beside probabilities of 1e-174: by its square it would have no length."""
    X = np.array([[1e200, 0.0]])
    weights = np.zeros(9)
    weights[:3] = [4e-198, 0.0, -1e-198]
    total, n_clipped = clipped_sum(X, np.array([0]), Softmax(3), weights, 1.0)
    assert np.linalg.norm(total) <= 1 + 1e-9
    assert n_clipped == 1
