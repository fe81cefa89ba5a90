"""Clipped gradient sums where a unit of privacy has several rows.

The gradients of a unit's rows are added up, and the sum is clipped as one vector: what a person
adds to a step is bounded however many rows they have (McMahan, Ramage, Talwar and Zhang 2018,
"Learning differentially private recurrent language models"). The sum of a unit is no outer product,
so it is formed, a piece of units at a time.

The number of rows is as private as the rows. So when a unit leaves, other rows move to other
places in memory, and what is computed for them must not change in the last bit: each logit and
each unit's sum is computed by operations whose order depends on the row or the unit alone, which
a matrix product of the linear algebra library does not promise.
"""

from collections.abc import Iterable, Iterator

import numpy as np
from scipy import sparse

from skdp.mechanisms._clipping import clip_residuals, residual_limits, row_scale
from skdp.mechanisms._gradient_plan import GradientPlan
from skdp.mechanisms._rows import rows_of
from skdp.mechanisms._sampling import Block
from skdp.mechanisms._units import Units

__all__ = ["UnitGradient"]

# A row's gradient is at most so many thresholds long before it is added to its unit's, so that no
# sum overflows; a unit that holds such a row is clipped in any case.
_LONGEST_ROW = 1e100
_BYTES_PER_PIECE = 1 << 19
# Rows of a piece of CSR data: a public number, unlike the number of entries.
_SPARSE_ROWS_PER_PIECE = 1 << 10


class UnitGradient:
    """The sum, over any batch of units, of each unit's clipped gradient.

    A row whose norm or logit is not a finite number contributes zero to its unit, and so does one
    that is not usable.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_rows, n_features), float32 or float64
        Finite where rows are usable; never modified.
    targets : ndarray of shape (n_rows,)
        As the loss wants them.
    loss : object
        Turns logits and targets into residuals, in place.
    plan : GradientPlan
        Holds the threshold and the bound on the rows; counts units.
    units : Units
        Which rows belong together.
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
        units: Units,
        *,
        fit_intercept: bool,
        usable: np.ndarray | None = None,
    ):
        self._rows = rows_of(X, usable=usable)
        self._targets = targets
        self._loss = loss
        self._units = units
        self._threshold = plan.finite_threshold
        self._constant = plan.intercept_column if fit_intercept else None
        n_features = X.shape[1]
        self._rows_per_piece = (
            _SPARSE_ROWS_PER_PIECE
            if sparse.issparse(X)
            else min(self._rows.rows_per_piece, max(64, _BYTES_PER_PIECE // (8 * n_features)))
        )
        norms = self._rows.norms()
        if usable is not None:
            norms[~usable] = np.inf
        self._scale = np.ones_like(norms)
        if plan.max_row_norm is not None:
            self._scale = row_scale(norms, plan.max_row_norm)
            np.minimum(norms, plan.max_row_norm, out=norms, where=np.isfinite(norms))
        if fit_intercept:
            np.hypot(norms, plan.intercept_column, out=norms)
        # Residuals are divided by the threshold, so that a unit is clipped to a length of 1.
        self._limits = residual_limits(norms, _LONGEST_ROW)

    def fetch(self, blocks: Iterable[Block]) -> Iterator[list]:
        """Yield the pieces of each batch, for `add_to`."""
        for drawn, stops in blocks:
            for start, stop in zip([0, *stops], stops, strict=False):
                batch = drawn if isinstance(drawn, slice) else drawn[start:stop]
                yield self._units.pieces(batch, self._rows_per_piece)

    def add_to(self, total: np.ndarray, pieces: list, weights: np.ndarray) -> int:
        """Add the clipped gradients of one batch of units to `total`, in place.

        Parameters
        ----------
        total : ndarray of shape (n_weights,)
            Laid out as `weights`; the gradients are added to it.
        pieces : list
            One item of what `fetch` yields.
        weights : ndarray of shape (n_weights,)
            Coefficients, (n_features, n_outputs) in C order, then intercepts.

        Returns
        -------
        n_clipped : int
            Units whose gradient was longer than the threshold. Not noisy: it never leaves here.
        """
        n_outputs = self._loss.n_outputs
        weights, total = weights.reshape(-1, n_outputs), total.reshape(-1, n_outputs)
        n_features = self._rows.shape[1]
        coef_sum, intercept_sum = total[:n_features], total[n_features:]
        n_clipped = 0
        for parts, starts in pieces:
            coefs, intercepts = self._unit_sums(parts, starts, weights)
            lengths = _lengths(coefs, intercepts)
            n_clipped += int(np.count_nonzero(lengths > 1.0))
            shrink = self._threshold / np.maximum(lengths, 1.0)
            for output, coef in enumerate(coefs):
                coef_sum[:, output] += coef.T @ shrink
            if self._constant is not None:
                intercept_sum += (intercepts @ shrink)[np.newaxis]
        return n_clipped

    def _unit_sums(
        self, parts: list[np.ndarray], starts: np.ndarray, weights: np.ndarray
    ) -> tuple[list, np.ndarray]:
        """Each unit's gradient, in thresholds.

        Coefficients by output, each (units, n_features); intercepts as (n_outputs, units).
        """
        coefs: list = []
        intercepts = np.zeros((self._loss.n_outputs, len(starts)))
        for rows in parts:
            piece = self._rows.take(rows)
            residual = self._residual(rows, piece, weights)
            ends = np.append(starts, len(rows)) if len(parts) == 1 else np.array([0, len(rows)])
            for output, column in enumerate(residual.T):
                column = np.ascontiguousarray(column)
                if self._constant is not None:
                    intercepts[output] += self._constant * np.add.reduceat(column, ends[:-1])
                by_unit = sparse.csr_matrix(
                    (column * self._scale[rows], np.arange(len(rows)), ends),
                    shape=(len(ends) - 1, len(rows)),
                )
                # One row of this product after the other, each added up in the order of its unit.
                sums = by_unit @ piece
                if output < len(coefs):
                    coefs[output] = coefs[output] + sums
                else:
                    coefs.append(sums)
        return coefs, intercepts

    def _residual(self, rows: np.ndarray, piece, weights: np.ndarray) -> np.ndarray:
        """Residuals over the threshold, (n, n_outputs); zero for rows that cannot be used."""
        n_features = piece.shape[1]
        scores = _logits(piece, weights[:n_features]) * self._scale[rows, np.newaxis]
        if self._constant is not None:
            scores += self._constant * weights[n_features:]
        limits = self._limits[rows]
        unusable = ~np.isfinite(scores).all(axis=1) | (limits == 0.0)
        logits = scores[:, 0].copy() if scores.shape[1] == 1 else scores
        residual = self._loss.residual(logits, self._targets[rows])
        residual[unusable] = 0.0
        residual /= self._threshold
        clipped, _ = clip_residuals(residual, np.where(unusable, np.inf, limits))
        return clipped.reshape(len(rows), -1)


def _lengths(coefs: list, intercepts: np.ndarray) -> np.ndarray:
    """L2 norm of each unit's gradient.

    Added up output by output, in an order that does not depend on how many units there are: whether
    a unit is clipped depends on the last bit.
    """
    squares = np.zeros(intercepts.shape[1])
    for intercept in intercepts:
        squares += intercept * intercept
    for coef in coefs:
        squares += _squares(coef)
    return np.sqrt(squares)


def _logits(piece, coef: np.ndarray) -> np.ndarray:
    """`piece @ coef`, each row by itself, whatever stands beside it."""
    if sparse.issparse(piece):
        return piece @ np.ascontiguousarray(coef)
    piece = np.ascontiguousarray(piece)
    return np.column_stack(
        [np.einsum("ij,j->i", piece, np.ascontiguousarray(column)) for column in coef.T]
    )


def _squares(sums: np.ndarray | sparse.csr_matrix) -> np.ndarray:
    """Squared norm of each row."""
    if isinstance(sums, np.ndarray):
        return np.einsum("ij,ij->i", sums, sums)
    row_of_entry = np.repeat(np.arange(sums.shape[0]), np.diff(sums.indptr))
    return np.bincount(row_of_entry, weights=sums.data**2, minlength=sums.shape[0])
