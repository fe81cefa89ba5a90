"""DPSGDClassifier: check, plan, descend, report."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone

from skdp._estimator import (
    BUDGET,
    ON_INVALID,
    PrivateEstimator,
    hide_row_count,
    kept_releases,
    missed_units,
    public_columns,
    read_usable_rows,
    replace_fitted,
    warn_of,
)
from skdp._sklearn import (
    CallbackSupport,
    Interval,
    StrOptions,
    epoch_callback,
    fit_context,
    validate_without_leaks,
    with_callbacks,
)
from skdp.budget import PrivacyBudget
from skdp.linear_model._descent import (
    Descent,
    as_model,
    descend,
    passes,
    stage_ends,
)
from skdp.linear_model._first_releases import first_releases
from skdp.linear_model._labels import declared_labels, encode_labels, read_labels
from skdp.linear_model._linear_predictor import DATA_CHECKS as _DATA_CHECKS
from skdp.linear_model._linear_predictor import LinearPredictor
from skdp.linear_model._losses import loss_for
from skdp.linear_model._privacy_unit import unit_name_of, units_of
from skdp.linear_model._training_plan import (
    TrainingPlan,
    make_plan,
    weaknesses_of,
)
from skdp.mechanisms._gradient import NoisyGradient
from skdp.mechanisms._noise import Streams, draw_seed
from skdp.mechanisms._rows import in_row_order
from skdp.mechanisms._units import Units
from skdp.privacy import Gaussian, SubsampledGaussian
from skdp.reading._column import check_one_each, check_same_rows, other_order

__all__ = ["DPSGDClassifier"]

_AUTO = StrOptions({"auto"})


class DPSGDClassifier(LinearPredictor, CallbackSupport, PrivateEstimator, BaseEstimator):
    """Linear classifier trained by differentially private stochastic gradient descent.

    Logistic regression (two classes) or multinomial softmax regression, fitted by DP-SGD: every
    step draws a Poisson sample of the rows, clips each row's gradient, and adds Gaussian noise
    to the sum (Abadi et al. 2016, "Deep learning with differential privacy", arXiv:1607.00133).

    The promise:

    - `fit` never spends more than `epsilon` at `delta`; what it spent is `epsilon_`.
    - Everything on the fitted estimator is covered by `epsilon_`, or is public: the coefficients,
      every iterate of the path, and `clip_fraction_`. No row, loss or count stays on it.
    - Neighbours are data sets with the same number of rows that differ in one row, which
      contributes nothing in one of them ("zero-out"). With `privacy_unit`, a unit with all its
      rows takes the place of the row.
    - Public are the number of rows, the number and names of the columns, and the label set.
    - The promise is for tables that `fit` takes: of finite numbers, with every label in `classes`,
      and an id in every row. That it refuses one is an exact fact about a row, so whether a table
      is such a one must be public, or else `on_invalid="drop"`, with which every table is taken.
    - Settings left at "auto" come from public numbers, and from noisy counts of the classes and
      of the rows' norms, which `epsilon_` pays for.

    What it does not cover: choices made by looking at scores on the same rows, a scaler fitted to
    them in front (use `skdp.preprocessing.BoundedScaler`), and an integer `random_state`, which
    regenerates the noise.

    Parameters
    ----------
    epsilon : float, "auto" or None, default="auto"
        The budget. "auto" is 1.0 where the noise is calibrated, and no budget where
        `noise_multiplier` is given; None is no budget.
    delta : float or "auto", default="auto"
        What may be added to a probability beyond the factor exp(epsilon). "auto" is
        `min(1e-5, 1 / (2 * n_rows))`.
    noise_multiplier : float or "auto", default="auto"
        Standard deviation of the noise over `clip_threshold`, before any division. "auto"
        calibrates it so that the whole run spends at most `epsilon`. Giving it switches the other
        "auto" settings from the calibrated recipe to the textbook values; given together with
        `epsilon`, training stops before the step that would exceed `epsilon`. 0 is no privacy.
    clip_threshold : float or "auto", default="auto"
        Largest L2 norm of one row's whole gradient, intercept included; longer ones are scaled
        down to it. "auto" follows from rows, columns and budget, in units of the rows' norms, of
        which a noisy histogram is released first; it is 1.0 where `noise_multiplier` is given.
        Infinite only with `noise_multiplier=0`.
    learning_rate : float or "auto", default="auto"
        One step is `w -= learning_rate * (clipped sum + noise) / batch_size`. "auto" follows from
        rows, columns and budget, in units of the rows' norms, or is 0.1 where
        `noise_multiplier` is given. Giving it, or `clip_threshold`, takes the columns in the units
        that they have: scale them first.
    n_epochs : float or "auto", default="auto"
        Expected passes over the data. "auto" follows from rows, columns and budget, or is 30
        where `noise_multiplier` is given.
    batch_size : float or "auto", default="auto"
        Expected rows a step, and the constant that the noisy sum is divided by; more than the
        number of rows means all of them. "auto" is all of them while a step reads at most 10^6
        numbers, else as many rows as that or a tenth of them (with `privacy_unit`, as if each
        unit had one row); 64 where `noise_multiplier` is given.
    max_row_norm : float or None, default=None
        Public bound on the L2 norm of a row: longer rows are scaled down to it, in `fit` and in
        `predict` alike. With it, logits are not linear in long rows: what reads `coef_` alone
        (explainers, exports) is wrong about them, unless a `RowNormClipper` in front bounds the
        rows instead. None is no bound.
    average : bool, default=True
        Whether to return a mean of the last iterates instead of the last one: of the last
        twentieth, or of the last quarter where `noise_multiplier` is given. It costs nothing:
        the iterates are already paid for.
    alpha : float, default=0.0
        Strength of the L2 penalty `alpha / 2 * ||coef||^2` on the mean loss; the intercept is
        not penalised.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    classes : array-like of shape (n_classes,) or None, default=None
        The label set, declared without reading `y`. None takes it from `y`, which makes it
        public.
    store_path : bool, default=False
        Whether to keep every iterate, for `staged_predict` and `staged_predict_proba`.
    random_state : int, RandomState or None, default=None
        None draws noise and sampling from the operating system's cryptographic source. An
        integer makes fits repeatable, for tests: it stays on the object and regenerates the
        noise, so `epsilon_` then holds only against readers who have neither, and who never see
        a second model trained with the same seed, since the noise cancels in the difference of
        the two. A `RandomState` gives one draw a fit; `clone` copies it, so folds and candidates
        of a search share its draws. `BaggingClassifier` sets an integer where this is None.
    unit_name : str or None, default=None
        What a unit of privacy is, such as "patient", for statements and ledgers: costs to
        different units are not added up. None takes the name of `privacy_unit`, where it has one.
    on_invalid : {"raise", "drop"}, default="raise"
        What happens to rows that hold a missing or infinite value, whose label is missing or not
        in `classes`, or that have no id in `privacy_unit`. "drop" lets them contribute nothing to
        any release, so that no one learns whether there are any; they still count in the public
        number of rows. "raise" refuses the whole table, which tells that there is one.
    budget : PrivacyBudget or None, default=None
        Counts the fits of this estimator and of all its clones as they happen: `fit` enters its
        whole plan before it reads a row, and is refused where the budget does not pay for it. A
        fit that fails after that, for a missing value in `X` for example, stays entered.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The label set, sorted.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients. Logits are `X @ coef_.T + intercept_`, but for rows longer than
        `max_row_norm_`.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts; zero without `fit_intercept`.
    epsilon_, delta_ : float
        What the fit cost. Infinite epsilon without noise.
    mechanisms_ : tuple of skdp.privacy.Gaussian and skdp.privacy.SubsampledGaussian
        The noisy releases: class counts and norm counts where they were made (with
        `privacy_unit`, of rows and of units), and the steps.
        `skdp.privacy.get_epsilon(mechanisms_, delta_)` is `epsilon_`.
    noise_multiplier_ : float
        What scaled the noise of the gradient. The accountant's multiplier is 1 % smaller, since
        the same releases carry `clip_fraction_`.
    clip_threshold_, learning_rate_, batch_size_, sample_rate_ : float
        The settings that ran; `sample_rate_` is each row's chance to be in a step. Threshold and
        rate are in the units of the rows. Where the norms were estimated, the intercept is learned
        as the weight of a constant of the rows' size instead of 1, so that training does not
        depend on the unit.
    max_row_norm_ : float or None
        The bound on the rows, in `fit` and in `predict`.
    averaged_share_ : float
        Share of the iterates, the last ones, whose mean is the model; 0 for the last one alone.
    n_steps_ : int
        Noisy steps taken; fewer than planned where a callback ended training. `epsilon_` is that
        of the whole plan all the same: a stopping time chosen by looking is no smaller release.
    n_iter_ : int
        Expected passes over the data, rounded up.
    clip_fraction_ : float
        Noisy estimate of the share of drawn rows that were clipped, held within [0, 1]. Its noise
        has standard deviation `7.05 * noise_multiplier_ / (sqrt(n_steps_) * batch_size_)`: on
        small data at small epsilon it is mostly noise. Exact without noise.
    coef_path_ : ndarray of shape (n_steps_, n_outputs, n_features)
        Coefficients after every step; with `store_path=True`.
    intercept_path_ : ndarray of shape (n_steps_, n_outputs)
        Intercepts after every step; with `store_path=True`.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where `X` had names that are all text.
    unit_ : {"row", "unit"}
        Whom the promise is for: each row, or each unit of `privacy_unit`.
    unit_name_ : str or None
        What a unit is.
    noise_source_ : {"system", "seeded"}
        Where noise and sampling came from; see `random_state`.
    skdp_version_ : str
        The version that trained the model.
    fit_id_ : str
        Random mark of this fit, independent of data and seed; copies share it, so that a budget
        counts one fit once.

    See Also
    --------
    skdp.preprocessing.BoundedScaler : Scales columns by public bounds, at no cost.
    skdp.privacy.get_epsilon : What a release costs.

    Notes
    -----
    Rows whose norm or logit is not a finite number contribute nothing to any step. An empty batch
    takes a normal noisy step. `sample_weight` is not accepted: a weight taken from the data would
    be one more thing to protect.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from skdp import DPSGDClassifier
    >>> from skdp.preprocessing import BoundedScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = X[:, :10]
    >>> low = [6, 9, 43, 143, 0.05, 0.01, 0, 0, 0.1, 0.04]
    >>> high = [29, 40, 189, 2501, 0.17, 0.35, 0.43, 0.21, 0.31, 0.1]
    >>> model = make_pipeline(
    ...     BoundedScaler(bounds=(low, high)), DPSGDClassifier(epsilon=1.0, random_state=0)
    ... ).fit(X, y)
    >>> model[-1].epsilon_ <= 1.0
    True
    >>> model.score(X, y) > 0.8
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "epsilon": [Interval(Real, 0, None, closed="right"), _AUTO, None],
        "delta": [Interval(Real, 0, 1, closed="neither"), _AUTO],
        "noise_multiplier": [Interval(Real, 0, None, closed="left"), _AUTO],
        "clip_threshold": [Interval(Real, 0, None, closed="right"), _AUTO],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), _AUTO],
        "n_epochs": [Interval(Real, 0, None, closed="neither"), _AUTO],
        "batch_size": [Interval(Real, 1, None, closed="left"), _AUTO],
        "max_row_norm": [Interval(Real, 0, None, closed="neither"), None],
        "average": ["boolean"],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "classes": ["array-like", None],
        "store_path": ["boolean"],
        "random_state": ["random_state"],
        "unit_name": [str, None],
        "on_invalid": ON_INVALID,
        "budget": BUDGET,
    }

    # Where it is imported from: what is stored of a model names no place that may change.
    __module__ = "skdp"

    classes_: np.ndarray
    coef_: np.ndarray
    intercept_: np.ndarray
    epsilon_: float
    delta_: float
    mechanisms_: tuple[Gaussian | SubsampledGaussian, ...]
    noise_multiplier_: float
    clip_threshold_: float
    learning_rate_: float
    batch_size_: float
    sample_rate_: float
    max_row_norm_: float | None
    averaged_share_: float
    n_steps_: int
    n_iter_: int
    clip_fraction_: float
    coef_path_: np.ndarray
    intercept_path_: np.ndarray
    n_features_in_: int
    feature_names_in_: np.ndarray
    unit_: Literal["row", "unit"]
    unit_name_: str | None
    noise_source_: Literal["system", "seeded"]
    skdp_version_: str
    fit_id_: str

    def __init__(
        self,
        epsilon: float | Literal["auto"] | None = "auto",
        *,
        delta: float | Literal["auto"] = "auto",
        noise_multiplier: float | Literal["auto"] = "auto",
        clip_threshold: float | Literal["auto"] = "auto",
        learning_rate: float | Literal["auto"] = "auto",
        n_epochs: float | Literal["auto"] = "auto",
        batch_size: float | Literal["auto"] = "auto",
        max_row_norm: float | None = None,
        average: bool = True,
        alpha: float = 0.0,
        fit_intercept: bool = True,
        classes: ArrayLike | None = None,
        store_path: bool = False,
        random_state: int | np.random.RandomState | None = None,
        unit_name: str | None = None,
        on_invalid: Literal["raise", "drop"] = "raise",
        budget: PrivacyBudget | None = None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.noise_multiplier = noise_multiplier
        self.clip_threshold = clip_threshold
        self.learning_rate = learning_rate
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.max_row_norm = max_row_norm
        self.average = average
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.classes = classes
        self.store_path = store_path
        self.random_state = random_state
        self.unit_name = unit_name
        self.on_invalid = on_invalid
        self.budget = budget

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, privacy_unit: ArrayLike | None = None) -> Self:
        """Fit by noisy gradient descent, and state what it cost.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Finite rows. Never modified; arrays, memory maps and CSR in float32 or float64 are
            not copied, but for arrays of at most 48 MiB whose rows are not contiguous. Masked
            entries count as missing; dates and text are refused.
        y : array-like of shape (n_samples,)
            Labels, matched with the rows by position.
        privacy_unit : array-like of shape (n_samples,) or None, default=None
            The person, or other unit, that each row belongs to: integers or text, matched with
            the rows by position; refused where its index says otherwise. The promise is
            then for the unit with all its rows: units are drawn with chance `sample_rate_`, the
            sum of a unit's row gradients is clipped as one vector, `batch_size` and every n count
            units. The number of units is public, the number of rows is not. None makes each row
            a unit.

        Returns
        -------
        self : DPSGDClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            Where a parameter, or the data, cannot be used; before anything is spent, and without
            showing a value of the data.
        skdp.exceptions.PrivacyError
            A `ValueError`: the budget is exhausted by the first step, or the combination of
            parameters says nothing about how much noise to add.
        skdp.exceptions.BudgetExhaustedError
            A `PrivacyError`: what is left of `budget` does not pay for the fit. No row was read.
        skdp.exceptions.DivergenceError
            When the weights left the range of finite numbers.

        Warns
        -----
        skdp.exceptions.PrivacyWarning
            When there is no noise, `epsilon_` is above 10, delta is at least one over the number
            of rows, or the budget ends training early; or when the rows were split by units and
            none are given.
        UserWarning
            When X and y label their rows alike, but in different orders.
        """
        # With units the number of rows is private, so no error may show it.
        hiding = nullcontext if privacy_unit is None else hide_row_count
        with hiding():
            if y is None:
                validate_without_leaks(clone(self), X, y, **_DATA_CHECKS)
            check_same_rows(privacy_unit, "privacy_unit", X=X, y=y)
            in_other_order = other_order(y, X)
            rows, shape, names = public_columns(self, X, **_DATA_CHECKS)
            check_one_each(y, "y", rows)
            # Labels are read before the fit is entered only where they say which there are.
            labels = self._read_labels(y) if self.classes is None else None
            label_set = labels[0] if labels else declared_labels(self.classes)
            units, has_id = None, None
            if privacy_unit is not None:
                drops = self.on_invalid == "drop"
                units, has_id = units_of(privacy_unit, shape[0], drops_missing=drops)

        # The promise is built from constructor arguments and public sizes, never from values.
        plan = make_plan(
            self,
            n_rows=shape[0] if units is None else len(units),
            n_features=shape[1],
            n_classes=len(label_set),
            unit="row" if units is None else "unit",
        )
        warn_of([*weaknesses_of(plan), *missed_units(units is not None)])
        warn_of(in_other_order, UserWarning)
        name = self.unit_name or unit_name_of(privacy_unit)
        n = plan.gradient.n_rows
        with self._counted(plan.mechanisms, n=n, unit=plan.unit, name=name) as marks, hiding():
            rows, usable = read_usable_rows(self, rows, **_DATA_CHECKS)
            if rows.shape != shape:
                raise ValueError("X has another shape than it said before it was read")
            classes, codes = labels or self._read_labels(y)
            contributes = codes >= 0 if usable is None else usable & (codes >= 0)
            if has_id is not None:
                rows, codes, contributes = rows[has_id], codes[has_id], contributes[has_id]
            known = {**marks, **names, "unit_name_": name, "classes_": classes}
            fitted = self._train(rows, codes, contributes, plan, units, known)
            replace_fitted(self, fitted)
        return self

    def _read_labels(self, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """The label set, and the place in it of each row's label."""
        drops = self.on_invalid == "drop"
        y, missing = read_labels(clone(self), y, drops_missing=drops)
        return encode_labels(y, self.classes, without=missing, drops_others=drops)

    def _train(
        self,
        X: Any,
        codes: np.ndarray,
        contributes: np.ndarray,
        plan: TrainingPlan,
        units: Units | None,
        known: dict[str, Any],
    ) -> dict[str, Any]:
        """All fitted attributes, of which `known` are settled; from rows to a model."""
        loss = loss_for(len(known["classes_"]))
        streams = Streams(draw_seed(self.random_state), type(self).__name__)
        usable = None
        if not contributes.all():
            usable, codes = contributes, np.where(contributes, codes, -1)
        # Whether arithmetic over- or underflows may depend on a single row, so it stays silent also
        # where the caller asked NumPy to raise.
        with np.errstate(all="ignore"):
            X = in_row_order(X)
            plan, intercept = first_releases(plan, X, codes, streams, units, usable)
            gradient = NoisyGradient(
                X,
                loss.targets(codes),
                loss,
                plan.gradient,
                sampling=streams.open("gradient", "sampling"),
                noise=streams.open("gradient", "noise"),
                fit_intercept=self.fit_intercept,
                units=units,
                usable=usable,
            )
        # From here on, only noisy numbers: nothing below can cost privacy.
        n_coef = X.shape[1] * loss.n_outputs
        start = np.zeros(gradient.n_weights)
        start[n_coef:] = intercept
        fitted = partial(self._fitted, plan, known, streams.source)
        n_epochs = len(stage_ends(plan.gradient.n_steps, plan.gradient.sample_rate))
        descent = descend(
            gradient,
            plan,
            start=start,
            n_coef=n_coef,
            keep_path=self.store_path,
            after_epoch=epoch_callback(self, n_epochs, fitted),
        )
        return fitted(descent)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    _privacy_releases = kept_releases

    def _planned_releases(
        self,
        *,
        n_rows: int,
        n_features: int | None,
        n_classes: int | None,
        unit: str = "row",
    ) -> list[Gaussian | SubsampledGaussian] | None:
        """The noisy releases that a fit on data of these public sizes makes.

        None where they depend on a size that is None; an error where `fit` refuses.
        """
        self._validate_params()
        if self.classes is not None:
            n_classes = len(np.asarray(self.classes))
        if self.noise_multiplier == "auto" and None in (n_features, n_classes):
            return None
        # Where the noise is given, these sizes decide only whether `fit` refuses.
        plan = make_plan(
            self,
            n_rows=n_rows,
            n_features=n_features or 1,
            n_classes=n_classes or 2,
            unit=unit,
        )
        return list(plan.mechanisms)

    def _fitted(
        self,
        plan: TrainingPlan,
        known: dict[str, Any],
        noise_source: str,
        descent: Descent,
    ) -> dict[str, Any]:
        """All fitted attributes."""
        gradient = plan.gradient
        sizes = (loss_for(len(known["classes_"])).n_outputs, known["n_features_in_"])
        coef, intercept = as_model(descent.weights, *sizes, self.fit_intercept)
        fitted = {
            **known,
            "coef_": coef,
            "intercept_": intercept,
            "epsilon_": plan.epsilon,
            "delta_": plan.delta,
            "mechanisms_": plan.mechanisms,
            "noise_multiplier_": gradient.noise_multiplier,
            "clip_threshold_": gradient.clip_threshold,
            "learning_rate_": plan.learning_rate,
            "batch_size_": gradient.batch_size,
            "sample_rate_": gradient.sample_rate,
            "n_steps_": descent.n_steps,
            "n_iter_": passes(descent.n_steps, gradient.sample_rate),
            "clip_fraction_": descent.clip_fraction,
            "unit_": plan.unit,
            "noise_source_": noise_source,
            "max_row_norm_": gradient.max_row_norm,
            "averaged_share_": plan.averaged_share,
        }
        if descent.path is not None:
            path = as_model(descent.path, *sizes, self.fit_intercept)
            fitted["coef_path_"], fitted["intercept_path_"] = path
        return fitted
