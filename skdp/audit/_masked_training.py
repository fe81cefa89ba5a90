"""Training as `DPSGDClassifier.fit` trains, on rows of which some contribute nothing.

An audit compares two worlds: one row takes part, or it is masked. `fit` has no masked rows, so the
same parts are put together here, and the audit checks once that the outcome is that of `fit`, to
the last bit. Beside each release stands what the rows other than the canaries added to it: the
promise holds against an adversary who knows all of that, batches included.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from skdp.audit._canaries import Evidence
from skdp.linear_model._descent import Descent, descend
from skdp.linear_model._first_releases import first_releases
from skdp.linear_model._losses import Loss
from skdp.linear_model._training_plan import TrainingPlan
from skdp.mechanisms._gradient import NoisyGradient
from skdp.mechanisms._gradient_plan import GradientPlan
from skdp.mechanisms._noise import RandomSource, Streams

__all__ = ["Table", "World", "number_from", "stack_rows"]

_Rows: TypeAlias = np.ndarray | sparse.csr_matrix


class Table(NamedTuple):
    """Rows with the canaries last.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_rows, n_features)
        Rows.
    codes : ndarray of int of shape (n_rows,)
        Their classes, as places in the label set.
    n_canaries : int
        How many of the last rows are canaries.
    """

    X: _Rows
    codes: np.ndarray
    n_canaries: int


class World:
    """One data set of an audit, in which some of the canaries contribute nothing.

    Parameters
    ----------
    table : Table
        All rows, canaries included.
    present : ndarray of bool of shape (n_canaries,)
        Which canaries take part; the others are masked.
    plan : TrainingPlan
        What runs.
    loss : Loss
        Of the model.
    fit_intercept : bool
        Whether the model has an intercept.
    """

    def __init__(
        self,
        table: Table,
        present: np.ndarray,
        plan: TrainingPlan,
        loss: Loss,
        *,
        fit_intercept: bool,
    ):
        n_others = len(table.codes) - table.n_canaries
        taking_part = np.concatenate([np.ones(n_others, dtype=bool), present])
        self._X = table.X
        self._plan = plan
        self._loss = loss
        self._fit_intercept = fit_intercept
        # In counts, a class of -1 and a row of zeros are no row at all.
        self._codes = np.where(taking_part, table.codes, -1)
        self._counted_rows = _zeroed(table.X, ~taking_part)
        targets = loss.targets(table.codes)
        self._targets = np.where(taking_part, targets, -1)
        self._targets_of_others = np.where(np.arange(len(targets)) < n_others, targets, -1)

    def path(self, streams: Streams) -> np.ndarray:
        """Train once with this randomness; return the iterates, of shape (n_steps, n_weights)."""
        plan, intercept = self._first_releases(streams)
        sampling, noise = streams.open("gradient", "sampling"), streams.open("gradient", "noise")
        gradient = self._gradient(self._targets, plan.gradient, sampling, noise)
        path = self._descend(gradient, plan, intercept, keep_path=True).path
        assert path is not None
        return path

    def evidence(self, streams: Streams, rows: np.ndarray, codes: np.ndarray) -> Evidence:
        """Train once with this randomness; return what it shows of these canaries.

        They may be others than those of the table. Shown are, at every step, the weights and the
        released gradient sum less what the rows other than the table's canaries added to it.
        """
        plan, intercept = self._first_releases(streams)
        sampling = _Recorded(streams.open("gradient", "sampling"))
        noise = streams.open("gradient", "noise")
        gradient = self._gradient(self._targets, plan.gradient, sampling, noise)
        # The same release without noise, with all canaries masked, fed the same batches.
        silent = dataclasses.replace(plan.gradient, noise_multiplier=0.0)
        others = self._gradient(self._targets_of_others, silent, _Replay(sampling.draws), noise)
        evidence = Evidence(
            rows, codes, self._loss, plan.gradient, fit_intercept=self._fit_intercept
        )

        def release_at(weights: np.ndarray) -> np.ndarray:
            release = gradient(weights)
            # The last coordinate, the count of clipped rows, is released as a sum over all steps.
            evidence.observe(weights, release[:-1] - others(weights)[:-1])
            return release

        self._descend(release_at, plan, intercept, keep_path=False)
        return evidence

    @np.errstate(all="ignore")
    def _first_releases(self, streams: Streams) -> tuple[TrainingPlan, np.ndarray | float]:
        return first_releases(self._plan, self._counted_rows, self._codes, streams, units=None)

    def _descend(
        self,
        gradient: Callable[[np.ndarray], np.ndarray],
        plan: TrainingPlan,
        intercept: np.ndarray | float,
        *,
        keep_path: bool,
    ) -> Descent:
        n_coef = self._X.shape[1] * self._loss.n_outputs
        start = np.zeros((self._X.shape[1] + self._fit_intercept) * self._loss.n_outputs)
        start[n_coef:] = intercept
        return descend(gradient, plan, start=start, n_coef=n_coef, keep_path=keep_path)

    @np.errstate(all="ignore")
    def _gradient(
        self, targets: np.ndarray, plan: GradientPlan, sampling: RandomSource, noise: RandomSource
    ) -> NoisyGradient:
        return NoisyGradient(
            self._X,
            targets,
            _MaskedLoss(self._loss),
            plan,
            sampling=sampling,
            noise=noise,
            fit_intercept=self._fit_intercept,
        )


class _MaskedLoss:
    """A loss under which rows with a target of -1 have no gradient."""

    def __init__(self, loss: Loss):
        self._loss = loss
        self.n_outputs = loss.n_outputs

    def residual(self, scores: np.ndarray, targets: np.ndarray) -> np.ndarray:
        residual = self._loss.residual(scores, targets)
        residual[targets < 0] = 0.0
        return residual


class _Recorded:
    """A source for the sampler that keeps its draws."""

    def __init__(self, source: RandomSource):
        self._source = source
        self.n_parts = source.n_parts
        self.draws: deque[np.ndarray] = deque()

    def exponential(self, size: int) -> np.ndarray:
        draws = self._source.exponential(size)
        # The sampler works in place.
        self.draws.append(draws.copy())
        return draws

    def normal(self, shape: tuple[int, ...]) -> np.ndarray:
        return self._source.normal(shape)


class _Replay:
    """Hands out recorded draws in their order."""

    def __init__(self, draws: deque[np.ndarray]):
        self._draws = draws
        self.n_parts = 0

    def exponential(self, size: int) -> np.ndarray:
        return self._draws.popleft()

    def normal(self, shape: tuple[int, ...]) -> np.ndarray:
        # Part of the interface of a source. Only batches are replayed, so a call is a mistake.
        raise NotImplementedError("the draws of a sampler were recorded, which are exponential")


def _zeroed(X: _Rows, rows: np.ndarray) -> _Rows:
    """The table with zeros in some rows."""
    if not rows.any():
        return X
    if sparse.issparse(X):
        return sparse.csr_matrix(sparse.diags(np.where(rows, 0.0, 1.0)) @ X)
    X = X.copy()
    X[rows] = 0.0
    return X


def stack_rows(X: _Rows, rows: np.ndarray) -> _Rows:
    """Put dense rows below a table, in its own format and precision."""
    if sparse.issparse(X):
        return sparse.csr_matrix(sparse.vstack([X, sparse.csr_matrix(rows, dtype=X.dtype)]))
    return np.concatenate([X, rows.astype(X.dtype)])


def number_from(seed: int | None, *names: str) -> int | None:
    """A seed of its own for each purpose; None, for fresh entropy, stays None."""
    if seed is None:
        return None
    digest = hashlib.sha256("/".join([str(seed), *names]).encode()).digest()
    return int.from_bytes(digest[:8], "little")
