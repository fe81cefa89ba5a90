"""LinearPredictor: what a fitted linear classifier says of rows: labels, probabilities, stages.

Everything here computes with coefficients that are released already, so it costs nothing; what it
says of a row is as private as the row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skdp._estimator import warn_of
from skdp.linear_model._descent import average_of_last, stage_ends
from skdp.linear_model._labels import same_kind
from skdp.linear_model._losses import Loss, loss_for
from skdp.linear_model._training_plan import n_averaged_of
from skdp.mechanisms._clipping import row_scale
from skdp.mechanisms._rows import rows_of
from skdp.reading._column import numbers, other_order, read_column
from skdp.reading._table import read_table

__all__ = ["DATA_CHECKS", "LinearPredictor"]

# Which tables training and prediction take alike.
DATA_CHECKS: dict[str, Any] = {"accept_sparse": True, "dtype": [np.float64, np.float32]}


def _path_is_stored(estimator: Any) -> bool:
    fitted = hasattr(estimator, "coef_")
    if hasattr(estimator, "coef_path_") or (estimator.store_path and not fitted):
        return True
    raise AttributeError(
        "the stages of training are available after fit with store_path=True, which keeps "
        "every iterate; they are covered by epsilon_ and cost nothing more"
    )


class LinearPredictor(ClassifierMixin):
    """The methods of a linear classifier that need its fitted attributes alone.

    Whoever inherits from it sets them in `fit`.
    """

    classes_: np.ndarray
    coef_: np.ndarray
    intercept_: np.ndarray
    max_row_norm_: float | None

    # What the stages of training need besides.
    coef_path_: np.ndarray
    intercept_path_: np.ndarray
    n_steps_: int
    sample_rate_: float
    averaged_share_: float

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Logits.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, the log odds of `classes_[1]`; else one logit a class.
        """
        return self._scores(self._check_rows(X), self.coef_, self.intercept_)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Most probable class of each row.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Labels out of `classes_`.
        """
        return self._labels(self.decision_function(X))

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Class probabilities.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            One column a class, in the order of `classes_`.
        """
        scores = self.decision_function(X)
        with np.errstate(under="ignore"):
            return self._loss.probabilities(scores)

    def predict_log_proba(self, X: ArrayLike) -> np.ndarray:
        """Logarithms of the class probabilities, finite also where these underflow.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            One column a class, in the order of `classes_`.
        """
        scores = self.decision_function(X)
        with np.errstate(under="ignore"):
            return self._loss.log_probabilities(scores)

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Mean accuracy on some rows: no promise covers it, unless these rows are public.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows.

        Returns
        -------
        score : float
            Share of the rows whose label is predicted.

        Raises
        ------
        ValueError
            Where labels are missing, or of another kind than `classes_`; none of them is shown.
        """
        check_is_fitted(self)
        warn_of(other_order(y, X), UserWarning)
        labels, missing = read_column(y, "y")
        if missing is not None:
            raise ValueError(
                "y has missing labels (None, NaN or another such mark, or masked): no prediction "
                "is right or wrong there, so score the rows that have one"
            )
        if not same_kind(self.classes_, labels):
            raise ValueError(
                "y holds labels of another kind than classes_ (numbers, text and bytes are three), "
                "so no prediction can be right: name the labels as fit was given them"
            )
        weights = None if sample_weight is None else numbers(sample_weight, "sample_weight")
        return super().score(X, labels, weights)

    @available_if(_path_is_stored)
    def staged_predict(self, X: ArrayLike) -> Iterator[np.ndarray]:
        """Predictions after each epoch, at no cost: the iterates are already paid for.

        Stage k is the model that `fit` would have returned after epoch k, averaging included; a
        last partial epoch is a stage, and the last stage equals `predict`. Choosing a stage by
        looking at its score on private rows is not covered by `epsilon_`.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows.

        Yields
        ------
        labels : ndarray of shape (n_samples,)
            Labels out of `classes_`.
        """
        for scores in self._staged_scores(X):
            yield self._labels(scores)

    @available_if(_path_is_stored)
    def staged_predict_proba(self, X: ArrayLike) -> Iterator[np.ndarray]:
        """Class probabilities after each epoch; see `staged_predict`.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows.

        Yields
        ------
        probabilities : ndarray of shape (n_samples, n_classes)
            One column a class, in the order of `classes_`.
        """
        for scores in self._staged_scores(X):
            yield self._loss.probabilities(scores)

    @property
    def _loss(self) -> Loss:
        return loss_for(len(self.classes_))

    def _check_rows(self, X: ArrayLike) -> Any:
        check_is_fitted(self)
        return read_table(self, X, reset=False, **DATA_CHECKS)

    def _scores(self, X: Any, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """Logits of one model: (n_samples,) for two classes, else (n_samples, n_classes)."""
        # Rows near the largest double may have no finite logit. Infinite ones become merely
        # huge, and NaN says nothing for either class, so that probabilities are always finite.
        with np.errstate(all="ignore"):
            scores = X @ coef.T
            if self.max_row_norm_ is not None:
                scores *= row_scale(rows_of(X).norms(), self.max_row_norm_)[:, np.newaxis]
            scores += intercept
        scores[np.isnan(scores)] = 0.0
        np.clip(scores, -1e300, 1e300, out=scores)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _labels(self, scores: np.ndarray) -> np.ndarray:
        if scores.ndim == 1:
            return self.classes_[(scores > 0).astype(np.intp)]
        return self.classes_[scores.argmax(axis=1)]

    def _staged_scores(self, X: ArrayLike) -> Iterator[np.ndarray]:
        check_is_fitted(self, "coef_path_")
        rows = self._check_rows(X)
        for n_steps in stage_ends(self.n_steps_, self.sample_rate_):
            n_averaged = n_averaged_of(n_steps, self.averaged_share_)
            coef = average_of_last(self.coef_path_, n_steps, n_averaged)
            intercept = average_of_last(self.intercept_path_, n_steps, n_averaged)
            yield self._scores(rows, coef, intercept)
