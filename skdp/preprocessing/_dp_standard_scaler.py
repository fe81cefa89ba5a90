"""DPStandardScaler: means and standard deviations of bounded columns, by one noisy release."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skdp._estimator import (
    BUDGET,
    ON_INVALID,
    PrivateEstimator,
    kept_releases,
    public_columns,
    read_usable_rows,
    replace_fitted,
    warn_of,
)
from skdp._sklearn import Interval, StrOptions, fit_context
from skdp.budget import PrivacyBudget
from skdp.mechanisms._columns import SQUARE_CENTRE, SQUARE_WEIGHT, moment_plan, noisy_moments
from skdp.mechanisms._noise import Streams, draw_seed
from skdp.mechanisms._sum_plan import SumPlan
from skdp.preprocessing._bounds import CLIP, resolve_bounds, resolve_clip
from skdp.preprocessing._one_release import plan_one_release
from skdp.privacy import Gaussian
from skdp.reading._table import labels_of_columns, read_table

__all__ = ["DPStandardScaler"]

_DATA_CHECKS: dict[str, Any] = {"dtype": [np.float64, np.float32]}


class DPStandardScaler(OneToOneFeatureMixin, TransformerMixin, PrivateEstimator, BaseEstimator):
    """Standardise columns by means and standard deviations that were released with noise.

    scikit-learn's `StandardScaler` in front of a private classifier voids its promise, since each
    row moves the scaled values of all others. Here one Gaussian release tells the means and
    variances of all columns, each clipped to public bounds first.

    The promise:

    - `fit` never spends more than `epsilon` at `delta`; what it spent is `epsilon_`.
    - Everything on the fitted scaler is covered by `epsilon_`, or is public: the number of rows,
      the number and names of the columns, and `bounds`.
    - Neighbours are data sets with the same number of rows that differ in one row, which
      contributes nothing in one of them ("zero-out").
    - The promise is for tables that `fit` takes, those of finite numbers: a refusal is an exact
      fact about a row, unless whether there is such a row is public. With `on_invalid="drop"`
      every table of numbers is taken.
    - A private classifier behind it is paid for apart. Their costs compose to less than their sum:
      `skdp.privacy.get_epsilon([*scaler.mechanisms_, *classifier.mechanisms_], delta)`.

    About a tenth of the whole budget is enough on tables of thousands of rows. Bounds much wider
    than the values leave the variance within its noise; where nothing is known about a column, see
    `DPMaxAbsScaler`.

    Parameters
    ----------
    epsilon : float, default=1.0
        The budget.
    delta : float or "auto", default="auto"
        What may be added to a probability beyond the factor exp(epsilon). "auto" is
        `min(1e-5, 1 / (2 * n_samples))`.
    bounds : tuple (low, high) or mapping, default=None
        As in `BoundedScaler`: `low` and `high` are each a number, or one number a column; or a
        mapping from column name to a pair of numbers. Values outside are clipped, in `fit` and in
        `transform`. Known without the data; None is an error in `fit`.
    clip : float or None, default=None
        Largest magnitude of a scaled value: `transform` holds what it returns within
        `[-clip, clip]`, in units of `scale_` from `mean_`. A public number, which works on each
        value by itself and costs nothing. With bounds that are wide, or on columns that are nearly
        always one value, a far entry would else decide how long its row is; see the notes.
    random_state : int, RandomState or None, default=None
        None draws the noise from the operating system's cryptographic source. An integer makes
        fits repeatable, for tests: it stays on the object and regenerates the noise, so `epsilon_`
        then holds only against readers who have neither. A `RandomState` gives one draw a fit.
    on_invalid : {"raise", "drop"}, default="raise"
        What happens to rows that hold a missing or infinite value: "drop" lets the whole row
        contribute nothing to the release, so that no one learns whether there is any, and
        `transform` leaves missing values missing; "raise" refuses the table, which tells that
        there is one. Where many values are missing, fill them with a constant instead: rows that
        are dropped still count in the public number of rows, so means move towards the middle of
        the bounds.
    budget : PrivacyBudget or None, default=None
        Counts the fits of this scaler and of all its clones as they happen: `fit` enters its
        release before it reads a row, and is refused where the budget does not pay for it. A fit
        that fails after that, for a missing value in `X` for example, stays entered.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features_in_,)
        Noisy means, within the bounds.
    scale_ : ndarray of shape (n_features_in_,)
        Noisy standard deviations, and at least what noise alone may look like; see the notes.
    lower_, upper_ : ndarray of shape (n_features_in_,)
        The bounds of each column.
    clip_ : float or None
        The largest magnitude of what `transform` returns.
    epsilon_, delta_ : float
        What the fit cost.
    mechanisms_ : tuple of skdp.privacy.Gaussian
        The one release. `skdp.privacy.get_epsilon(mechanisms_, delta_)` is `epsilon_`.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where `X` had names that are all text.
    noise_source_ : {"system", "seeded"}
        Where the noise came from; see `random_state`.
    skdp_version_ : str
        The version that fitted the scaler.
    fit_id_ : str
        Random mark of this fit, independent of data and seed; copies share it, so that a budget
        counts one fit once.

    See Also
    --------
    BoundedScaler : Scales by public bounds alone, at no cost.
    DPMaxAbsScaler : Needs no bounds.

    Notes
    -----
    In half widths of the bounds from their middle, a value is t in [-1, 1], and its row adds
    `(t, w * (t**2 - c))` to the sums of its column, and nothing in the neighbour. The squared
    length of that, `s + w**2 * (s - c)**2` with s = t^2 in [0, 1], is convex in s and so largest
    at an end: w^2 c^2 at s = 0, and 1 + w^2 (1 - c)^2 at s = 1. With w^2 = 3 / 2 and c = 5 / 6
    both are 25 / 24, so the L2 sensitivity of the sums of d columns is `sqrt(25 / 24 * d)`. Sums
    alone would have `sqrt(d)`: for 2 % more noise on the means the variances come along. The
    centre makes the two ends equal, which is best; the weight is a compromise between the means
    and the variances, whatever the mean (`skdp.mechanisms._columns.moment_plan` compares).

    With noise multiplier z and n rows, the noise on a mean has standard deviation
    `tau = z * sqrt(25 / 24 * d) / n`, and that on the variance about a mean m has
    `v = tau * sqrt(2 / 3 + 4 * m**2)`. Then::

        variance = mean square - m**2
        scale_   = half width * sqrt(max(variance, 2 * v))

    A scale that is mostly noise could be near zero by chance, and would blow its column up until
    it hides all others. With the floor, a column that hardly varies stays small instead, which a
    linear model can make up for. On the Adult data, with epsilon 0.1 here and 0.9 for the
    classifier behind, the floor is worth eight points of accuracy.

    Rows outside the bounds are clipped in `transform` as well: it moves no promise, and keeps a
    single outlier from being clipped away whole by the classifier behind. `clip` does the same
    within bounds: a column that is 1 in a share q of the rows and else 0 has its ones at about
    `1 / sqrt(q)`, so that a level of one row in 1,000 lands at 32, and a classifier that clips
    gradients keeps next to nothing of the other columns of such rows. Leave rare one-hot columns
    as they are, or clip them.

    CSR is refused, since shifting its columns would fill it; `DPMaxAbsScaler` takes it. So are
    missing values, unless `on_invalid="drop"`.
    `SimpleImputer(strategy="constant", fill_value=0, keep_empty_features=True)` in front fills them
    without learning from the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.preprocessing import DPStandardScaler
    >>> X = np.random.default_rng(0).normal([40.0, 2.0], [12.0, 0.5], size=(50_000, 2))
    >>> scaler = DPStandardScaler(epsilon=0.5, bounds=([0, 0], [100, 5]), random_state=0).fit(X)
    >>> scaler.mean_.round(1), scaler.scale_.round(1)
    (array([40.,  2.]), array([12. ,  0.5]))
    >>> scaler.epsilon_ <= 0.5
    True

    Values that lie far away are held where `clip` says:

    >>> scaler = DPStandardScaler(bounds=([0, 0], [100, 5]), clip=2.0, random_state=0).fit(X)
    >>> scaler.transform([[100.0, 4.0], [28.0, 0.0]]).round(1)
    array([[ 2.,  2.],
           [-1., -2.]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "epsilon": [Interval(Real, 0, None, closed="neither")],
        "delta": [Interval(Real, 0, 1, closed="neither"), StrOptions({"auto"})],
        # Checked where they are used, with messages that say more than a type would.
        "bounds": "no_validation",
        "clip": CLIP,
        "random_state": ["random_state"],
        "on_invalid": ON_INVALID,
        "budget": BUDGET,
    }

    # Where it is imported from: what is stored of a scaler names no place that may change.
    __module__ = "skdp.preprocessing"

    mean_: np.ndarray
    scale_: np.ndarray
    lower_: np.ndarray
    upper_: np.ndarray
    clip_: float | None
    epsilon_: float
    delta_: float
    mechanisms_: tuple[Gaussian, ...]
    n_features_in_: int
    feature_names_in_: np.ndarray
    noise_source_: Literal["system", "seeded"]
    skdp_version_: str
    fit_id_: str

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        delta: float | Literal["auto"] = "auto",
        bounds: Any = None,
        clip: float | None = None,
        random_state: int | np.random.RandomState | None = None,
        on_invalid: Literal["raise", "drop"] = "raise",
        budget: PrivacyBudget | None = None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.clip = clip
        self.random_state = random_state
        self.on_invalid = on_invalid
        self.budget = budget

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Release means and standard deviations with noise, and state what that cost.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite rows; never modified.
        y : None
            Ignored.

        Returns
        -------
        self : DPStandardScaler
            The fitted scaler.

        Raises
        ------
        ValueError
            Where a parameter, or the data, cannot be used; before anything is spent, and without
            showing a value of the data.
        skdp.exceptions.CalibrationError
            A `ValueError`: epsilon is too small or too large for exact arithmetic.
        skdp.exceptions.BudgetExhaustedError
            A `ValueError`: what is left of `budget` does not pay for the fit. No row was read.

        Warns
        -----
        skdp.exceptions.PrivacyWarning
            When `epsilon_` is above 10, or delta is at least one over the number of rows.
        """
        rows, (n_rows, n_columns), names = public_columns(self, X, **_DATA_CHECKS)
        lower, upper = resolve_bounds(
            self.bounds, n_columns, names.get("feature_names_in_"), labels_of_columns(X)
        )
        release = plan_one_release(self.epsilon, self.delta, n_rows=n_rows, size=2 * n_columns)
        warn_of(release.weaknesses)
        plan = moment_plan(n_columns, release.noise_multiplier)
        # Whether arithmetic underflows may depend on a single row, so it stays silent.
        with self._counted([plan.mechanism], n=n_rows) as marks, np.errstate(all="ignore"):
            rows, usable = read_usable_rows(self, rows, **_DATA_CHECKS)
            streams = Streams(draw_seed(self.random_state), type(self).__name__)
            noise = streams.open("moments", "noise")
            sums, squares = noisy_moments(rows, lower, upper, plan, noise, usable=usable)
            # From here on, only noisy numbers: nothing below can cost privacy.
            mean, scale = _mean_and_scale(sums, squares, plan, n_rows)
            width = upper - lower
            replace_fitted(
                self,
                {**names, **marks},
                mean_=np.clip(lower + width * ((mean + 1.0) / 2.0), lower, upper),
                # Never zero, even where half of the width is below the least double.
                scale_=np.maximum(width / 2.0 * scale, np.finfo(np.float64).tiny),
                lower_=lower,
                upper_=upper,
                clip_=resolve_clip(self.clip),
                epsilon_=release.epsilon,
                delta_=release.delta,
                mechanisms_=(plan.mechanism,),
                noise_source_=streams.source,
            )
        return self

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Clip to the bounds, shift, scale, and hold within `clip`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite rows; with `on_invalid="drop"`, NaN stays NaN.

        Returns
        -------
        X_scaled : ndarray of shape (n_samples, n_features)
            Rows in units of `scale_` from `mean_`, within `[-clip, clip]`.
        """
        rows = self._check_rows(X)
        self._note_rows_passed()
        # In double precision, like the bounds, and in one array.
        scaled = np.clip(rows, self.lower_, self.upper_)
        scaled -= self.mean_
        scaled /= self.scale_
        if self.clip_ is not None:
            np.clip(scaled, -self.clip_, self.clip_, out=scaled)
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
        rows = self._check_rows(X)
        return (rows * self.scale_ + self.mean_).astype(rows.dtype, copy=False)

    def _check_rows(self, X: ArrayLike) -> np.ndarray:
        check_is_fitted(self)
        finite = self.on_invalid == "raise"
        return read_table(self, X, reset=False, ensure_all_finite=finite, **_DATA_CHECKS)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.on_invalid == "drop"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    _privacy_releases = kept_releases

    def _planned_releases(
        self,
        *,
        n_rows: int,
        n_features: int | None,
        n_classes: int | None,
        unit: str = "row",
    ) -> list[Gaussian]:
        """The noisy release that a fit on data of these public sizes makes."""
        self._validate_params()
        # Columns decide only whether `fit` refuses.
        n_columns = n_features or 1
        release = plan_one_release(self.epsilon, self.delta, n_rows=n_rows, size=2 * n_columns)
        return [moment_plan(n_columns, release.noise_multiplier).mechanism]


def _mean_and_scale(
    sums: np.ndarray, squares: np.ndarray, plan: SumPlan, n_rows: int
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation in half widths of the bounds, read from the noisy sums."""
    noise = plan.noise_scale / n_rows
    mean = np.clip(sums / n_rows, -1.0, 1.0)
    mean_square = squares / (n_rows * SQUARE_WEIGHT) + SQUARE_CENTRE
    variance = mean_square - mean**2
    # Of the two noises, that of the mean enters twice the mean times.
    noise_of_variance = noise * np.sqrt(1.0 / SQUARE_WEIGHT**2 + 4.0 * mean**2)
    # No values within the bounds vary more than those at its ends (Bhatia and Davis 2000).
    variance = np.minimum(variance, 1.0 - mean**2)
    return mean, np.sqrt(np.maximum(variance, 2.0 * noise_of_variance))
