"""Clipped gradient sums of linear models, without per-example gradients.

A linear model's gradient for one row is the outer product of (row, constant) and the row's
residual, where the constant stands for the intercept. So its norm is the product of their norms:
the clip is a factor on the residual, and the sum of the clipped gradients is one matrix product.
Sums are in float64.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from skdp.mechanisms._gradient_plan import GradientPlan
from skdp.mechanisms._rows import Pieces, fetch, rows_of
from skdp.mechanisms._sampling import Block

__all__ = ["ClippedGradient", "clip_residuals", "residual_limits", "row_scale"]

# A shrink factor below 1e-300 would lose digits to underflow, and what is lost could pass the
# clip. Rows longer than this, in units of what they are shrunk to, contribute nothing instead.
_LONGEST_SHRINK = 1e300
# Longer gradients than this are left out also where there is no clip, before they overflow.
_LONGEST_GRADIENT = 1e307
# Absorbs squares of residuals that underflow, so a measured length is never below the true one.
_SMALLEST_SQUARE = 1e-290


class ClippedGradient:
    """The clipped gradient sum over any batch of rows.

    A row whose norm or logit is not a finite number that can be clipped exactly contributes zero
    to every coordinate of the sum, and so does one that is not usable; a row whose gradient is
    zero contributes zero.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_rows, n_features), float32 or float64
        Finite where rows are usable; never copied (CSR with duplicate entries excepted), never
        modified.
    targets : ndarray of shape (n_rows,)
        As the loss wants them.
    loss : object
        Turns logits, of shape (n,) or (n, n_outputs), and targets into residuals, in place.
    plan : GradientPlan
        Holds the threshold and the bound on the rows.
    fit_intercept : bool
        Whether the gradient has a coordinate for the intercept.
    usable : ndarray of bool of shape (n_rows,) or None
        Which rows contribute; None for all.
    """

    def __init__(
        self,
        X,
        targets,
        loss,
        plan: GradientPlan,
        *,
        fit_intercept: bool,
        usable: np.ndarray | None = None,
    ):
        self._targets = targets
        self._loss = loss
        self._n_outputs = loss.n_outputs
        # A bound on the rows scales each row and leaves the intercept's constant alone.
        bound = plan.max_row_norm
        self._intercept_column = plan.intercept_column
        column = plan.intercept_column if fit_intercept and bound is None else None
        self._rows = rows_of(X, last_column=column, usable=usable)
        norms = self._rows.norms()
        if usable is not None:
            norms[~usable] = np.inf
        self._finite_below = _squared_weights_with_finite_logits(norms, plan.intercept_column)
        self._row_scale = None
        if bound is not None:
            self._row_scale = row_scale(norms, bound)
            shortest = min(bound, plan.finite_threshold)
            norms[norms > _LONGEST_SHRINK * shortest] = np.inf
            np.minimum(norms, bound, out=norms, where=np.isfinite(norms))
        if fit_intercept:
            np.hypot(norms, plan.intercept_column, out=norms)
        self._limits = residual_limits(norms, plan.finite_threshold)
        if not self._limits.all():
            self._finite_below = 0.0

    def fetch(self, blocks: Iterable[Block]) -> Iterator[Pieces]:
        """Yield the pieces of each batch, for `add_to`."""
        return fetch(self._rows, blocks)

    def add_to(self, total: np.ndarray, pieces: Pieces, weights: np.ndarray) -> int:
        """Add the clipped gradients of one batch to `total`, in place.

        Parameters
        ----------
        total : ndarray of shape (n_weights,)
            Laid out as `weights`; the gradients are added to it.
        pieces : iterable
            One item of what `fetch` yields.
        weights : ndarray of shape (n_weights,)
            Coefficients, (n_features, n_outputs) in C order, then intercepts.

        Returns
        -------
        n_clipped : int
            Rows whose gradient was longer than the threshold. Not noisy: it never leaves here.
        """
        all_finite = weights.dot(weights) < self._finite_below
        weights, total = self._by_output(weights), self._by_output(total)
        n_columns = len(weights)
        n_clipped = 0
        for selection, piece in pieces:
            # A gathered piece may have a last column for the intercept; a view has none.
            apart = piece.shape[1] < n_columns
            coef, coef_sum = (weights[:-1], total[:-1]) if apart else (weights, total)
            scores = piece.dot(coef)
            if self._row_scale is not None:
                scores = (scores.T * self._row_scale[selection]).T
            if apart:
                scores += self._intercept_column * weights[-1]
            limits = self._limits[selection]
            unusable = None if all_finite else _unusable(scores, limits)
            residual = self._loss.residual(scores, self._targets[selection])
            if unusable is not None:
                residual[unusable] = 0.0
                limits = np.where(unusable, np.inf, limits)
            residual, n_shrunk = clip_residuals(residual, limits)
            n_clipped += n_shrunk
            if apart:
                total[-1] += self._intercept_column * residual.sum(axis=0)
            if self._row_scale is not None:
                residual = (residual.T * self._row_scale[selection]).T
            coef_sum += piece.T.dot(residual)
        return n_clipped

    def _by_output(self, weights: np.ndarray) -> np.ndarray:
        """View flat weights as a vector for one output, else as a column an output."""
        return weights.reshape(-1, self._n_outputs) if self._n_outputs > 1 else weights


def residual_limits(norms: np.ndarray, threshold: float) -> np.ndarray:
    """Longest residual that each row may have, for a gradient of at most `threshold`.

    Parameters
    ----------
    norms : ndarray of shape (n,)
        Norm of each (row, constant), or of each row where there is no intercept.
    threshold : float
        Largest norm of a gradient, finite.

    Returns
    -------
    limits : ndarray of shape (n,)
        `threshold / norms`; 0 for rows too long to be clipped exactly, which leaves them out.
    """
    limits = np.full_like(norms, np.inf)
    with np.errstate(over="ignore", under="ignore"):
        np.divide(threshold, norms, out=limits, where=norms > 0)
    limits[norms > min(_LONGEST_SHRINK * threshold, _LONGEST_GRADIENT)] = 0.0
    return limits


def clip_residuals(residual: np.ndarray, limits: np.ndarray) -> tuple[np.ndarray, int]:
    """Shrink residuals to the longest that their rows may have.

    Parameters
    ----------
    residual : ndarray of shape (n,) or (n, n_outputs)
        Derivative of the loss in each logit; finite.
    limits : ndarray of shape (n,)
        As from `residual_limits`.

    Returns
    -------
    clipped : ndarray of the shape of `residual`
        The residuals, each at most as long as its limit; `residual` itself is scratch space.
    n_clipped : int
        How many were shrunk.
    """
    if residual.ndim == 1:
        clipped = np.minimum(np.maximum(residual, -limits), limits)
        return clipped, int(np.count_nonzero(clipped != residual))
    lengths = np.einsum("ij,ij->i", residual, residual)
    lengths += _SMALLEST_SQUARE
    np.sqrt(lengths, out=lengths)
    n_clipped = np.count_nonzero(lengths > limits)
    shrink = np.divide(limits, lengths, out=lengths)
    np.minimum(shrink, 1.0, out=shrink)
    residual *= shrink[:, np.newaxis]
    return residual, int(n_clipped)


def row_scale(norms: np.ndarray, max_norm: float) -> np.ndarray:
    """Factor for each row that brings its norm down to `max_norm`, 1 where it is not longer."""
    scale = np.ones_like(norms)
    with np.errstate(under="ignore"):
        return np.divide(max_norm, norms, out=scale, where=norms > max_norm)


def _squared_weights_with_finite_logits(norms: np.ndarray, intercept_column: float) -> float:
    """Squared norm of the weights below which no logit of these rows can overflow.

    A logit and every partial sum of it are at most the product of the norms of the weights and of
    (row, constant). Zero, for "always look", where a row is too long to say.
    """
    # At least 1, so that the square below stays within the range of numbers.
    longest = max(1.0, intercept_column, float(norms.max(initial=0.0)))
    return (1e150 / longest) ** 2 / 2 if longest < 1e140 else 0.0


def _unusable(scores: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """Mask of the rows to leave out of the sum."""
    finite = np.isfinite(scores)
    return ~(finite if scores.ndim == 1 else finite.all(axis=1)) | (limits == 0.0)
