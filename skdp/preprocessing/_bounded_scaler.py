"""BoundedScaler: clip columns to public bounds and scale them, looking at no data."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skdp._estimator import ParametersWithoutValues, read_rows, replace_fitted
from skdp._sklearn import fit_context
from skdp.exceptions import shown
from skdp.preprocessing._bounds import CLIP, resolve_bounds, resolve_clip
from skdp.reading._column import numbers
from skdp.reading._table import labels_of_columns, read_table

__all__ = ["BoundedScaler"]

_DATA_CHECKS: dict[str, Any] = {
    "dtype": [np.float64, np.float32],
    # Missing values pass through, as in scikit-learn's scalers: a constant may replace them after.
    # Infinite ones are clipped like all others that are out of bounds.
    "ensure_all_finite": False,
}


class BoundedScaler(OneToOneFeatureMixin, TransformerMixin, ParametersWithoutValues, BaseEstimator):
    """Scale columns from public bounds to a common range.

    A scaler that learns means or ranges from the rows lets one row move every other row, so no
    promise of a private classifier behind it holds. This one looks at no data:

    - `fit` reads the shape and the column names, and nothing else;
    - each row's output depends on that row and on the bounds alone, so it costs no budget.

    Choose the bounds from what is known without the data: units, the range of a sensor or of a
    questionnaire, a published description. The smallest and the largest value of your own rows
    would give these two rows away. Missing values stay missing;
    `SimpleImputer(strategy="constant", fill_value=0, keep_empty_features=True)` after this scaler
    fills them without learning anything from the rows.

    Parameters
    ----------
    bounds : tuple (low, high) or mapping, default=None
        `low` and `high` are each a number, or one number a column: all low ends come first, then
        all high ends; pandas Series that carry names are read by name. Or a mapping from column
        name to a pair of numbers. Values outside are clipped. None is an error in `fit`.
    feature_range : tuple (min, max), default=(-1, 1)
        Where `low` and `high` land.
    clip : float or None, default=None
        Largest magnitude of a scaled value: `transform` holds what it returns within
        `[-clip, clip]`, beside `feature_range`. With the default range a clip of 1 or more changes
        nothing, and a smaller one holds both ends back alike. The bound is around 0, whatever the
        range: (0, 1) has its middle elsewhere and is cut at its upper end alone, where
        `feature_range=(-1, 1)` would be cut at both. A range of which a single value would be left
        is an error in `fit`.

    Attributes
    ----------
    lower_, upper_ : ndarray of shape (n_features_in_,)
        The bounds of each column.
    feature_range_ : tuple of float
        Where they land.
    clip_ : float or None
        The largest magnitude that they keep.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where `X` had names that are all text.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.preprocessing import BoundedScaler
    >>> scaler = BoundedScaler(bounds=([0, 100], [100, 200])).fit([[50, 150]])
    >>> scaler.transform([[0, 200], [50, 150], [999, 150]])
    array([[-1.,  1.],
           [ 0.,  0.],
           [ 1.,  0.]])

    Held within half of the range:

    >>> scaler = BoundedScaler(bounds=(0, 100), clip=0.5).fit([[50]])
    >>> scaler.transform([[0], [40], [60], [100]]).ravel()
    array([-0.5, -0.2,  0.2,  0.5])
    """

    # Checked where they are used, with messages that say more than a type would.
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "bounds": "no_validation",
        "feature_range": "no_validation",
        "clip": CLIP,
    }

    # Where it is imported from: what is stored of a scaler names no place that may change.
    __module__ = "skdp.preprocessing"

    lower_: np.ndarray
    upper_: np.ndarray
    feature_range_: tuple[float, float]
    clip_: float | None
    n_features_in_: int
    feature_names_in_: np.ndarray

    def __init__(
        self,
        bounds: Any = None,
        *,
        feature_range: tuple[float, float] = (-1, 1),
        clip: float | None = None,
    ):
        self.bounds = bounds
        self.feature_range = feature_range
        self.clip = clip

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Check the bounds against the number and names of the columns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; their values are checked for being numbers, and not used.
        y : None
            Ignored.

        Returns
        -------
        self : BoundedScaler
            The fitted scaler.

        Raises
        ------
        ValueError
            Where `bounds`, `feature_range` or `clip` cannot be used, alone or together.
        """
        _, names = read_rows(self, X, **_DATA_CHECKS)
        lower, upper = resolve_bounds(
            self.bounds,
            names["n_features_in_"],
            names.get("feature_names_in_"),
            labels_of_columns(X),
        )
        feature_range = _checked_range(self.feature_range)
        clip = resolve_clip(self.clip)
        if clip is not None:
            _check_values_left(feature_range, clip)
        replace_fitted(
            self, names, lower_=lower, upper_=upper, feature_range_=feature_range, clip_=clip
        )
        return self

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Clip to the bounds, scale, and hold within `clip`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN stays NaN, and infinite values land on the bounds.

        Returns
        -------
        X_scaled : ndarray of shape (n_samples, n_features)
            Values within `feature_range`, and within `[-clip, clip]`.
        """
        check_is_fitted(self)
        rows = read_table(self, X, reset=False, **_DATA_CHECKS)
        start, end = self.feature_range_
        # In double precision, like the bounds, and in one array.
        scaled = np.clip(rows, self.lower_, self.upper_)
        scaled -= self.lower_
        scaled /= self.upper_ - self.lower_
        scaled *= end - start
        scaled += start
        if self.clip_ is not None:
            start, end = max(start, -self.clip_), min(end, self.clip_)
        # Where there is no such bound, this takes back what rounding may add at the upper end.
        np.clip(scaled, start, end, out=scaled)
        return scaled.astype(rows.dtype, copy=False)

    def inverse_transform(self, X: ArrayLike) -> np.ndarray:
        """Undo the scaling; what was clipped or held comes back as the bound it was held at.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Scaled rows.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            Rows in the units of the bounds.
        """
        check_is_fitted(self)
        rows = read_table(self, X, reset=False, **_DATA_CHECKS)
        start, end = self.feature_range_
        share = (rows - start) / (end - start)
        # Bounds may lie beyond the range of single precision.
        with np.errstate(over="ignore"):
            return (share * (self.upper_ - self.lower_) + self.lower_).astype(
                rows.dtype, copy=False
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _checked_range(feature_range: Any) -> tuple[float, float]:
    ends = numbers(feature_range, "feature_range")
    if ends.shape != (2,) or not (np.isfinite(ends[1] - ends[0]) and ends[0] < ends[1]):
        raise ValueError(
            f"feature_range must be (min, max) with min < max, got {shown(feature_range)}"
        )
    return float(ends[0]), float(ends[1])


def _check_values_left(feature_range: tuple[float, float], clip: float) -> None:
    start, end = feature_range
    if start >= clip or end <= -clip:
        raise ValueError(
            f"clip={clip!r} would make one value of all that lands in feature_range="
            f"{feature_range!r}: it holds values within [-clip, clip], so choose a range that "
            "reaches into that, such as (-1, 1), or clip=None"
        )
