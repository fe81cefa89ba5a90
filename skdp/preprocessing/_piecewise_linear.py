"""PiecewiseLinearFeatures: columns as piecewise-linear features on public knots.

A linear model on these features is an additive model: a sum of one curve a column, each linear
from knot to knot (Eilers and Marx 1996, "Flexible smoothing with B-splines and penalties", with
degree 1). The curves cost no budget, since nothing about them but their heights is learned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skdp._estimator import ParametersWithoutValues, read_rows, replace_fitted
from skdp._sklearn import fit_context
from skdp.exceptions import shown
from skdp.reading._column import numbers
from skdp.reading._table import labels_of_columns, read_table

__all__ = ["PiecewiseLinearFeatures"]

_DATA_CHECKS: dict[str, Any] = {
    "dtype": [np.float64, np.float32],
    # Missing values pass through, as in BoundedScaler: a constant may replace them after. Infinite
    # ones are beyond the last knot.
    "ensure_all_finite": False,
}


class PiecewiseLinearFeatures(TransformerMixin, ParametersWithoutValues, BaseEstimator):
    """Replace columns by piecewise-linear features on public knots.

    A linear classifier behind this transformer draws a curve for each column instead of a line:
    it becomes an additive model. Knots learned from the rows, such as quantiles, would let one
    row move the features of all others. This transformer looks at no data:

    - `fit` reads the shape and the column names, and nothing else;
    - each row's output depends on that row and on the knots alone, so it costs no budget.

    A value is shared between the two knots beside it: the nearer a knot, the larger its share.
    All other knots of the column get none, and beyond the first and the last knot that knot gets
    all. Of k knots come k features, the shares less 1 / k, times `k * sqrt(3 / (2 * k - 3))`.
    That gives the features a mean square of one, as standardised columns have, where values are
    spread evenly over the intervals. Their norm is nearly the same wherever a value lies, so that
    clipping treats all rows alike.

    Choose the knots from what is known without the data, closer together where the curve may
    bend or where many values are expected, and the outer ones where some still are: seven to
    nine served well on tables of ten thousands of rows. Give columns of zeros and ones, such as
    one-hot columns, no knots, by a mapping that leaves them out: a weight says all there is to
    say of them. Missing values stay missing, in every feature of the column;
    `SimpleImputer(strategy="constant", fill_value=0, keep_empty_features=True)` after this
    transformer gives them no effect, which is the mean height of the curve at the knots.

    Parameters
    ----------
    knots : sequence of floats, or mapping, default=(-1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1)
        At least two increasing numbers, in the units of the columns, for every column; the
        default spans what `BoundedScaler` returns. Or a mapping from column name, or from
        position, to such a sequence: columns that it does not name pass through unchanged.

    Attributes
    ----------
    knots_ : dict of int to ndarray
        The knots of each replaced column, by the column's position.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where `X` had names that are all text.

    See Also
    --------
    sklearn.preprocessing.SplineTransformer : The same curves, for `degree=1`, given knots and
        `extrapolation="constant"`, on another scale and with as many knots in every column;
        knots that it places itself depend on the rows.

    Examples
    --------
    Half way between two knots, a value is shared evenly:

    >>> import numpy as np
    >>> from skdp.preprocessing import PiecewiseLinearFeatures
    >>> features = PiecewiseLinearFeatures(knots=[0, 10, 20]).fit([[5.0]])
    >>> features.transform([[0.0], [5.0], [10.0], [99.0]])
    array([[ 2. , -1. , -1. ],
           [ 0.5,  0.5, -1. ],
           [-1. ,  2. , -1. ],
           [-1. , -1. ,  2. ]])

    A column without knots passes through:

    >>> features = PiecewiseLinearFeatures(knots={0: [18, 40, 90]}).fit([[30, 1]])
    >>> features.get_feature_names_out(["age", "smoker"]).tolist()
    ['age_at_18', 'age_at_40', 'age_at_90', 'smoker']
    """

    # Checked where they are used, with messages that say more than a type would.
    _parameter_constraints: ClassVar[dict[str, Any]] = {"knots": "no_validation"}

    # Where it is imported from: what is stored of it names no place that may change.
    __module__ = "skdp.preprocessing"

    knots_: dict[int, np.ndarray]
    n_features_in_: int
    feature_names_in_: np.ndarray

    def __init__(self, knots: Any = (-1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1)):
        self.knots = knots

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Check the knots against the number and names of the columns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; their values are checked for being numbers, and not used.
        y : None
            Ignored.

        Returns
        -------
        self : PiecewiseLinearFeatures
            The fitted transformer.

        Raises
        ------
        ValueError
            Where `knots` cannot be used, or a feature would get the name of another one.
        """
        _, names = read_rows(self, X, **_DATA_CHECKS)
        knots = _knots_by_position(self.knots, names["n_features_in_"], labels_of_columns(X))
        if "feature_names_in_" in names:
            _check_unique(_feature_names(names["feature_names_in_"], knots))
        replace_fitted(self, names, knots_=knots)
        return self

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Replace each column that has knots by its features, in its place.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN becomes NaN in every feature of its column.

        Returns
        -------
        X_features : ndarray of shape (n_samples, n_features_out)
            One feature a knot; columns without knots as they were.
        """
        check_is_fitted(self)
        rows = read_table(self, X, reset=False, **_DATA_CHECKS)
        widths = [len(self.knots_.get(column, [0])) for column in range(rows.shape[1])]
        ends = np.cumsum(widths)
        features = np.empty((rows.shape[0], ends[-1]), dtype=rows.dtype)
        for column, (width, end) in enumerate(zip(widths, ends, strict=True)):
            values = rows[:, column]
            knots = self.knots_.get(column)
            features[:, end - width : end] = (
                values[:, np.newaxis] if knots is None else _scaled_shares(values, knots)
            )
        return features

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Name the features: the column's name, `_at_`, and the knot.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns, where `X` had none.

        Returns
        -------
        feature_names_out : ndarray of str objects
            Names of what `transform` returns, in its order.
        """
        # Only to check input_features: features and columns are not one to one here.
        columns = OneToOneFeatureMixin.get_feature_names_out(self, input_features)
        return np.asarray(_feature_names(columns, self.knots_), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _scaled_shares(values: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """Shares of the values between their knots, centred and scaled.

    With u uniform on an interval, the shares u and 1 - u have squares of mean 2 / 3 together, and
    less their mean 1 / k the k shares have squares of 2 / 3 - 1 / k. The factor makes that k.
    """
    k = len(knots)
    # Values and knots of opposite signs may be further apart than the largest double.
    with np.errstate(over="ignore"):
        passed = (values[:, np.newaxis] - knots[:-1]) / np.diff(knots)
    # How much of each interval lies below the value: ones, then a share, then zeros.
    passed = np.clip(passed, 0, 1)
    shares = -np.diff(passed, axis=1, prepend=1, append=0)
    return (shares - 1 / k) * (k * np.sqrt(3 / (2 * k - 3)))


def _feature_names(columns: Iterable[str], knots: Mapping[int, np.ndarray]) -> list[str]:
    return [
        name
        for column, prefix in enumerate(columns)
        for name in (
            [f"{prefix}_at_{_short(knot)}" for knot in knots[column]]
            if column in knots
            else [prefix]
        )
    ]


def _check_unique(names: list[str]) -> None:
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise ValueError(
            f"two features would be called {twice[0]!r}: one is a column of X, another a knot of a "
            "column. Rename the column"
        )


def _short(knot: float) -> str:
    """The shortest text that gives the number back, without a trailing `.0`."""
    return repr(float(knot)).removesuffix(".0")


def _knots_by_position(
    knots: Any, n_features: int, labels: list[Any] | None
) -> dict[int, np.ndarray]:
    if not isinstance(knots, Mapping):
        same = _checked_knots(knots, "knots")
        return {column: same.copy() for column in range(n_features)}
    by_position: dict[int, np.ndarray] = {}
    for key, value in knots.items():
        column = _position(key, n_features, labels)
        if column in by_position:
            raise ValueError(f"knots names column {column} twice, once by {shown(key)}")
        by_position[column] = _checked_knots(value, f"knots[{shown(key)}]")
    return dict(sorted(by_position.items()))


def _position(key: Any, n_features: int, labels: list[Any] | None) -> int:
    are_numbers = labels is not None and all(isinstance(one, Integral) for one in labels)
    if isinstance(key, str) or are_numbers:
        if labels is None or (are_numbers and isinstance(key, str)):
            raise ValueError(
                f"knots names column {key!r}, which needs columns named by text: pass a DataFrame "
                "with such names, or a mapping from positions"
            )
        if key not in labels:
            raise ValueError(f"knots names column {shown(key)}, which is not in X")
        return labels.index(key)
    if not isinstance(key, Integral) or isinstance(key, bool) or not 0 <= int(key) < n_features:
        raise ValueError(
            f"a mapping in knots goes from column names, or positions from 0 to {n_features - 1}, "
            f"got {shown(key)}"
        )
    return int(key)


def _checked_knots(value: Any, name: str) -> np.ndarray:
    knots = numbers(value, name)
    with np.errstate(over="ignore", invalid="ignore"):
        usable = (
            knots.ndim == 1
            and knots.size >= 2
            and np.isfinite(knots[-1] - knots[0])
            and bool(np.all(np.diff(knots) > 0))
        )
    if not usable:
        raise ValueError(
            f"{name} must be at least two increasing, finite numbers, chosen without looking at "
            f"the data, got {shown(value)}"
        )
    return knots
