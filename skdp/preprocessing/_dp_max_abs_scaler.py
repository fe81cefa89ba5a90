"""DPMaxAbsScaler: the size of each column without bounds, by one noisy release."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
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
from skdp.mechanisms._columns import SIZE_EXPONENTS, noisy_sizes, size_plan
from skdp.mechanisms._csr import one_entry_a_place
from skdp.mechanisms._noise import Streams, draw_seed
from skdp.preprocessing._bounds import CLIP, resolve_clip
from skdp.preprocessing._one_release import plan_one_release
from skdp.privacy import Gaussian
from skdp.reading._table import read_table

__all__ = ["DPMaxAbsScaler"]

_DATA_CHECKS: dict[str, Any] = {"accept_sparse": True, "dtype": [np.float64, np.float32]}

# How many standard deviations of their noise the entries of a column must stand out by: with 112
# bins, three widths and a hundred columns, noise alone does so with a chance of a few per cent.
_STANDS_OUT = 4.5
# The columns that do not are read together, once.
_STANDS_OUT_TOGETHER = 3.5
# The share of the entries seen that a scale reaches.
_SHARE_WITHIN = 0.9


class DPMaxAbsScaler(OneToOneFeatureMixin, TransformerMixin, PrivateEstimator, BaseEstimator):
    """Scale columns to [-1, 1] by sizes that were released with noise; no bounds are needed.

    For columns whose range nobody knows in advance. One Gaussian release tells how many entries of
    each column lie between neighbouring powers of two, from 2^-49 to 2^63. A column's scale is
    the power of two that nine in ten entries of its usual size, within a factor of 16 of each
    other, do not exceed; what exceeds it is clipped. So it is no maximum, which one row could
    set: heavy tails are cut, which helps linear models.

    The promise:

    - `fit` never spends more than `epsilon` at `delta`; what it spent is `epsilon_`.
    - Everything on the fitted scaler is covered by `epsilon_`, or is public: the number of rows,
      and the number and names of the columns.
    - Neighbours are data sets with the same number of rows that differ in one row, which
      contributes nothing in one of them ("zero-out").
    - The promise is for tables that `fit` takes, those of finite numbers: a refusal is an exact
      fact about a row, unless whether there is such a row is public. With `on_invalid="drop"`
      every table of numbers is taken.
    - A private classifier behind it is paid for apart. Their costs compose to less than their sum:
      `skdp.privacy.get_epsilon([*scaler.mechanisms_, *classifier.mechanisms_], delta)`.

    About a tenth of the whole budget is enough on tables of thousands of rows. Where bounds *are*
    known and narrow, `BoundedScaler` costs nothing.

    Parameters
    ----------
    epsilon : float, default=1.0
        The budget.
    delta : float or "auto", default="auto"
        What may be added to a probability beyond the factor exp(epsilon). "auto" is
        `min(1e-5, 1 / (2 * n_samples))`.
    power : float, default=1.0
        Power in (0, 1] that the magnitudes of scaled values are raised to; signs stay, and zeros
        stay zeros. 1 leaves the values as they are; 0.5, the signed root, moves the many small
        values of skewed columns away from zero. It works on each value by itself and costs
        nothing; see the notes.
    clip : float or None, default=None
        Largest magnitude of a scaled value: `transform` holds what it returns within
        `[-clip, clip]`, after the power. Values are within [-1, 1] already, so that only a clip
        below 1 changes any. A public number, which costs nothing.
    random_state : int, RandomState or None, default=None
        None draws the noise from the operating system's cryptographic source. An integer makes
        fits repeatable, for tests: it stays on the object and regenerates the noise, so `epsilon_`
        then holds only against readers who have neither. A `RandomState` gives one draw a fit.
    on_invalid : {"raise", "drop"}, default="raise"
        What happens to rows that hold a missing or infinite value: "drop" lets the whole row
        contribute nothing to the release, so that no one learns whether there is any, and
        `transform` leaves missing values missing; "raise" refuses the table, which tells that
        there is one. Where many values are missing, fill them with a constant instead: rows that
        are dropped still count in the public number of rows.
    budget : PrivacyBudget or None, default=None
        Counts the fits of this scaler and of all its clones as they happen: `fit` enters its
        release before it reads a row, and is refused where the budget does not pay for it. A fit
        that fails after that, for a missing value in `X` for example, stays entered.

    Attributes
    ----------
    scale_ : ndarray of shape (n_features_in_,)
        What each column is divided by, a power of two.
    readable_ : ndarray of bool of shape (n_features_in_,)
        Whether the column's own entries stood out from the noise. The others share one scale,
        that of all their entries together, or 1 where even these do not stand out.
    power_ : float
        The power of magnitudes in `transform` and `inverse_transform`.
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
    DPStandardScaler : Shifts and scales, within bounds: (-1, 1) behind this scaler.
    sklearn.preprocessing.MaxAbsScaler : The same idea without privacy, and without the clip.

    Notes
    -----
    A row adds one to a count of each column in which it is not zero, so with d columns and noise
    multiplier z a count has noise of standard deviation `z * sqrt(d)`. A column is readable where
    its entries within one bin, or two or four neighbouring ones, exceed 4.5 standard deviations of
    their noise: where more than about `5 * z * sqrt(d)` rows have like values in it. Very wide
    tables are therefore not read; rows of one norm, as text has them, need no scaling.

    What `power` is worth depends on the columns. With 0.5, a tenth of the budget here and the rest
    for the classifier behind, spambase (frequencies of words, mostly zero) gains a point of
    accuracy and half a point of AUC or more at every epsilon from 0.1 to 1; credit_default gains
    half a point of AUC at 1 and none at 0.1, and loses half a point of accuracy or more.

    Zeros stay zeros, and CSR stays CSR. Missing values are refused, unless `on_invalid="drop"`.
    `SimpleImputer(strategy="constant", fill_value=0, keep_empty_features=True)` in front fills them
    without learning from the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.preprocessing import DPMaxAbsScaler
    >>> X = np.random.default_rng(0).uniform(0, [1000.0, 0.25], size=(5000, 2))
    >>> scaler = DPMaxAbsScaler(epsilon=0.5, random_state=0).fit(X)
    >>> scaler.scale_
    array([1.024e+03, 2.500e-01])
    >>> scaler.transform([[512.0, 0.5]])
    array([[0.5, 1. ]])
    >>> scaler.epsilon_ <= 0.5
    True

    The signed root of the same:

    >>> root = DPMaxAbsScaler(epsilon=0.5, power=0.5, random_state=0).fit(X)
    >>> root.transform([[256.0, -0.0625]])
    array([[ 0.5, -0.5]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "epsilon": [Interval(Real, 0, None, closed="neither")],
        "delta": [Interval(Real, 0, 1, closed="neither"), StrOptions({"auto"})],
        "power": [Interval(Real, 0, 1, closed="right")],
        "clip": CLIP,
        "random_state": ["random_state"],
        "on_invalid": ON_INVALID,
        "budget": BUDGET,
    }

    # Where it is imported from: what is stored of a scaler names no place that may change.
    __module__ = "skdp.preprocessing"

    scale_: np.ndarray
    readable_: np.ndarray
    power_: float
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
        power: float = 1.0,
        clip: float | None = None,
        random_state: int | np.random.RandomState | None = None,
        on_invalid: Literal["raise", "drop"] = "raise",
        budget: PrivacyBudget | None = None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.power = power
        self.clip = clip
        self.random_state = random_state
        self.on_invalid = on_invalid
        self.budget = budget

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Release the sizes of the columns with noise, and state what that cost.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Finite rows; never modified.
        y : None
            Ignored.

        Returns
        -------
        self : DPMaxAbsScaler
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
        size = n_columns * len(SIZE_EXPONENTS)
        release = plan_one_release(self.epsilon, self.delta, n_rows=n_rows, size=size)
        warn_of(release.weaknesses)
        plan = size_plan(n_columns, release.noise_multiplier)
        with self._counted([plan.mechanism], n=n_rows) as marks:
            rows, usable = read_usable_rows(self, rows, **_DATA_CHECKS)
            streams = Streams(draw_seed(self.random_state), type(self).__name__)
            counts = noisy_sizes(rows, plan, streams.open("sizes", "noise"), usable=usable)
            # From here on, only noisy numbers: nothing below can cost privacy.
            scale, readable = _scales(counts, plan.noise_scale)
            replace_fitted(
                self,
                {**names, **marks},
                scale_=scale,
                readable_=readable,
                power_=float(self.power),
                clip_=resolve_clip(self.clip),
                epsilon_=release.epsilon,
                delta_=release.delta,
                mechanisms_=(plan.mechanism,),
                noise_source_=streams.source,
            )
        return self

    def transform(self, X: ArrayLike) -> np.ndarray | sparse.csr_matrix | sparse.csr_array:
        """Scale, clip to [-1, 1], raise to `power`, and hold within `clip`.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Finite rows, not modified; with `on_invalid="drop"`, NaN stays NaN.

        Returns
        -------
        X_scaled : ndarray or CSR of shape (n_samples, n_features)
            Values within [-1, 1], and within `[-clip, clip]`; CSR where `X` was sparse.
        """
        rows = self._check_rows(X)
        self._note_rows_passed()
        if isinstance(rows, np.ndarray):
            return self._scaled(rows, self.scale_)
        # Each of several entries for one place would be clipped by itself.
        scaled = one_entry_a_place(rows).copy()
        scaled.data = self._scaled(scaled.data, self.scale_[scaled.indices])
        return scaled

    def inverse_transform(self, X: ArrayLike) -> np.ndarray | sparse.csr_matrix | sparse.csr_array:
        """Undo power and scaling; what was clipped or held comes back as what it was held at.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Scaled rows.

        Returns
        -------
        X_original : ndarray or CSR of shape (n_samples, n_features)
            Rows in the original units.
        """
        rows = self._check_rows(X)
        if isinstance(rows, np.ndarray):
            return self._unscaled(rows, self.scale_)
        # The power of a sum is not the sum of the powers of several entries for one place.
        original = one_entry_a_place(rows).copy()
        original.data = self._unscaled(original.data, self.scale_[original.indices])
        return original

    def _scaled(self, values: np.ndarray, scale: np.ndarray) -> np.ndarray:
        # In double precision, like the scales, and in one array. Clipped first, since dividing by
        # a small scale may leave the range of numbers.
        scaled = np.clip(values, -scale, scale)
        scaled /= scale
        if self.power_ != 1.0:
            _raise_magnitudes(scaled, self.power_)
        if self.clip_ is not None:
            np.clip(scaled, -self.clip_, self.clip_, out=scaled)
        return scaled.astype(values.dtype, copy=False)

    def _unscaled(self, values: np.ndarray, scale: np.ndarray) -> np.ndarray:
        original = values.astype(np.float64)
        # Whether a value leaves the range of numbers tells of its row, so it stays silent.
        with np.errstate(over="ignore", under="ignore"):
            if self.power_ != 1.0:
                _raise_magnitudes(original, 1.0 / self.power_)
            original *= scale
            return original.astype(values.dtype, copy=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.on_invalid == "drop"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _check_rows(self, X: ArrayLike) -> np.ndarray | sparse.csr_matrix | sparse.csr_array:
        check_is_fitted(self)
        finite = self.on_invalid == "raise"
        return read_table(self, X, reset=False, ensure_all_finite=finite, **_DATA_CHECKS)

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
        release = plan_one_release(
            self.epsilon, self.delta, n_rows=n_rows, size=n_columns * len(SIZE_EXPONENTS)
        )
        return [size_plan(n_columns, release.noise_multiplier).mechanism]


def _raise_magnitudes(values: np.ndarray, power: float) -> None:
    """In place; every value keeps its sign, a zero too."""
    is_negative = np.signbit(values)
    np.abs(values, out=values)
    values **= power
    np.negative(values, out=values, where=is_negative)


def _scales(counts: np.ndarray, noise_scale: float) -> tuple[np.ndarray, np.ndarray]:
    """One power of two a column, and which columns could be read by themselves."""
    found = [_bin_reached(column, noise_scale, (1, 2, 4), _STANDS_OUT) for column in counts]
    readable = np.array([place is not None for place in found])
    together = None
    if not readable.all():
        hidden = counts[~readable]
        noise_of_sum = noise_scale * np.sqrt(len(hidden))
        # Many columns together spread over several bins, whatever each of them does.
        together = _bin_reached(hidden.sum(axis=0), noise_of_sum, (4,), _STANDS_OUT_TOGETHER)
    fallback = 1.0 if together is None else 2.0 ** SIZE_EXPONENTS[together]
    scale = [fallback if place is None else 2.0 ** SIZE_EXPONENTS[place] for place in found]
    return np.array(scale), readable


def _bin_reached(
    counts: np.ndarray, noise_scale: float, widths: tuple[int, ...], stands_out: float
) -> int | None:
    """The bin that most entries do not exceed, within the window of bins that stands out most.

    A window of w counts has sqrt(w) times the noise of one, so narrow windows find values that
    are all alike, and wide ones find values that are spread out.
    """
    most, window = stands_out, None
    below = np.concatenate([[0.0], np.cumsum(counts)])
    for width in widths:
        signal = (below[width:] - below[:-width]) / (noise_scale * np.sqrt(width))
        start = int(np.argmax(signal))
        if signal[start] > most:
            most, window = signal[start], slice(start, start + width)
    if window is None:
        return None
    within = np.cumsum(counts[window])
    return window.start + int(np.argmax(within >= _SHARE_WITHIN * within[-1]))
