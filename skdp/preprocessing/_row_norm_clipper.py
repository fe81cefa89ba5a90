"""RowNormClipper: scale long rows into a ball, looking at one row at a time."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin

from skdp._estimator import ON_INVALID, ParametersWithoutValues, read_rows, replace_fitted
from skdp._sklearn import Interval, fit_context
from skdp.exceptions import shown
from skdp.mechanisms._clipping import row_scale
from skdp.mechanisms._rows import rows_of, usable_rows
from skdp.reading._table import read_table

__all__ = ["RowNormClipper"]

_DATA_CHECKS: dict[str, Any] = {"accept_sparse": True, "dtype": [np.float64, np.float32]}


class RowNormClipper(
    OneToOneFeatureMixin, TransformerMixin, ParametersWithoutValues, BaseEstimator
):
    """Scale rows that are longer than a public bound down to it.

    - Each row's output depends on that row and on `max_norm` alone, so it costs no budget, and
      `fit` learns nothing; `transform` works without it.
    - A row keeps its direction; rows within the bound stay as they are.

    A few rows of huge values then no longer decide in which units a classifier behind trains. It
    does nothing about columns of very different sizes: the largest column still decides a row's
    norm, for which `BoundedScaler` or `DPMaxAbsScaler` in front are the remedy.

    Parameters
    ----------
    max_norm : float, default=1.0
        Largest L2 norm of a row. Choose it from what is known without the data; after
        `BoundedScaler`, `sqrt(n_features)` is never exceeded.
    on_invalid : {"raise", "drop"}, default="raise"
        What becomes of rows with missing or infinite values. "raise" refuses the table, which tells
        that there is one. "drop" leaves them as they are, for a private estimator with the same
        setting to leave out.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where `X` had names that are all text.

    See Also
    --------
    sklearn.preprocessing.Normalizer : Brings every row to one norm, short ones too.

    Examples
    --------
    >>> from skdp.preprocessing import RowNormClipper
    >>> RowNormClipper(max_norm=5.0).fit_transform([[3.0, 4.0], [30.0, 40.0], [0.0, 1.0]])
    array([[3., 4.],
           [3., 4.],
           [0., 1.]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_norm": [Interval(Real, 0, None, closed="neither")],
        "on_invalid": ON_INVALID,
    }

    # Where it is imported from: what is stored of a clipper names no place that may change.
    __module__ = "skdp.preprocessing"

    n_features_in_: int
    feature_names_in_: np.ndarray

    def __init__(self, max_norm: float = 1.0, *, on_invalid: Literal["raise", "drop"] = "raise"):
        self.max_norm = max_norm
        self.on_invalid = on_invalid

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Note the number and the names of the columns.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows; their values are checked as `on_invalid` says, and not used.
        y : None
            Ignored.

        Returns
        -------
        self : RowNormClipper
            The transformer.
        """
        _, names = read_rows(self, X, **self._data_checks())
        replace_fitted(self, names)
        return self

    def transform(self, X: ArrayLike) -> np.ndarray | sparse.csr_matrix | sparse.csr_array:
        """Scale long rows down.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows; not modified.

        Returns
        -------
        X_clipped : ndarray or CSR of shape (n_samples, n_features)
            Rows of norm `max_norm` at most, to rounding; CSR where `X` was sparse. Rows that
            are left as they are may hold NaN.
        """
        # `fit` checks it too, but is not needed.
        if not (isinstance(self.max_norm, Real) and 0.0 < self.max_norm < np.inf):
            raise ValueError(
                f"max_norm must be a finite number above 0, got {shown(self.max_norm)}"
            )
        if hasattr(self, "n_features_in_"):
            rows = read_table(self, X, reset=False, **self._data_checks())
        else:
            rows, _ = read_rows(self, X, **self._data_checks())
        # Whether a square overflows may depend on a single row, so it stays silent.
        with np.errstate(all="ignore"):
            return self._clip(rows)

    def _data_checks(self) -> dict[str, Any]:
        return {**_DATA_CHECKS, "ensure_all_finite": self.on_invalid != "drop"}

    def _clip(
        self, X: np.ndarray | sparse.csr_matrix | sparse.csr_array
    ) -> np.ndarray | sparse.csr_matrix | sparse.csr_array:
        scale = _shrink_factors(X, float(self.max_norm))
        if isinstance(X, np.ndarray):
            return (X * scale[:, np.newaxis]).astype(X.dtype, copy=False)
        clipped = X.copy()
        factors = np.repeat(scale, np.diff(clipped.indptr))
        clipped.data = (clipped.data * factors).astype(X.dtype, copy=False)
        return clipped

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.on_invalid == "drop"
        tags.requires_fit = False
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _shrink_factors(
    X: np.ndarray | sparse.csr_matrix | sparse.csr_array, max_norm: float
) -> np.ndarray:
    """One factor a row; entries near the largest double are measured at a smaller scale."""
    norms = rows_of(X, usable=usable_rows(X)).norms()
    scale = row_scale(norms, max_norm)
    beyond = np.isinf(norms)
    if beyond.any():
        # Finite entries whose norm is beyond the doubles: at most sqrt(n_features) times too long.
        shorter = rows_of(X[beyond] * 2.0**-600).norms()
        scale[beyond] = row_scale(shorter, max_norm * 2.0**-600)
    return scale
