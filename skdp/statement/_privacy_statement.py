"""privacy_statement: what one object promises, or would promise once it is fitted."""

from __future__ import annotations

from typing import Any

from sklearn.exceptions import NotFittedError

from skdp.privacy import NoisyPart, PrivacyStatement
from skdp.privacy._mechanism import check_count, check_delta
from skdp.statement._account import Account, Fit, totals_that_do_not_hold
from skdp.statement._known import is_a, is_fitted, is_used, parts_inside
from skdp.statement._place import Place, n_columns
from skdp.statement._walk import Walk

__all__ = ["fits_of", "planned_fits", "privacy_statement"]


def privacy_statement(
    estimator: Any,
    *,
    delta: float | None = None,
    n_rows: int | None = None,
    n_features: int | None = None,
    n_classes: int | None = None,
    unit: str = "row",
    X_sample: Any = None,
) -> PrivacyStatement:
    """State what an object promises about the rows that it was fitted on, or is to be fitted on.

    Of a fitted object, it walks all that is fitted on it: private estimators, `Pipeline`,
    `ColumnTransformer`, `FeatureUnion`, `VotingClassifier`, `OneVsRestClassifier`,
    `FixedThresholdClassifier` and `FrozenEstimator`, nested in each other. Their noisy releases are
    composed on one grid, which is tighter than adding epsilons up. Given `n_rows`, it says the same
    of a fit that has not been made, and reads no row.

    - A finite `epsilon` is never given over a gap: parts that look at the rows without noise are
      listed, with what to use instead. Behind them a private part's own figure is void too.
    - Fits that the object did not keep, as searches, folds, stacks, bags and calibrators make them,
      are not covered: a `skdp.PrivacyBudget` in the parameter `budget` of the private parts counts
      them as they happen, and the statement names its total.
    - Whatever fitted thing can be reached from the object counts, such as an estimator that was
      fitted before another one cloned it.
    - The steps of a `Pipeline` and the parts of a `FeatureUnion` are taken as they are:
      scikit-learn keeps no record by which one that was taken out after the fit would be missed.
    - Anything unknown is not covered. Free are `Normalizer`, `Binarizer`, `PolynomialFeatures`,
      `FeatureHasher`, `HashingVectorizer`, the transformers of `skdp.preprocessing` that take
      public bounds or knots, encoders with categories written down, `SimpleImputer` with a constant
      and `keep_empty_features=True`, `SplineTransformer` with knots written down, and
      `FunctionTransformer` with a NumPy ufunc. Functions of your own, in `FunctionTransformer` or
      `HashingVectorizer`, must have ``func.row_wise = True``, which says that they handle each row
      by itself. A subclass of any of them, or of a private class, is another class.
    - Not covered are also attributes that no fit left, callbacks that stay on the object, a number
      of steps that a callback chose, and an integer or a `RandomState` as `random_state`.

    Parameters
    ----------
    estimator : estimator
        Any object; fitted, or together with `n_rows` not fitted.
    delta : float, default=None
        What may be added to a probability beyond the factor exp(epsilon). None is the largest
        delta of the noisy parts.
    n_rows : int, default=None
        For an object that is not fitted: number of rows of the fit that is planned, or of units,
        with `unit="unit"`. A public number.
    n_features : int, default=None
        Number of columns of the planned fit; needed where settings left at "auto" depend on it.
    n_classes : int, default=None
        Number of classes of the planned fit, where the estimator's `classes` does not declare them.
        None is two; an `OneVsRestClassifier`, which fits one model a class, needs it. Rows with
        several labels each (multilabel) cannot be planned.
    unit : {"row", "unit"}, default="row"
        Whether the planned fit is given a `privacy_unit`.
    X_sample : array-like or frame, default=None
        A few made-up rows, with the columns of the table, or made-up texts. They tell how many
        columns an encoder makes; no private row is needed for that.

    Returns
    -------
    statement : skdp.privacy.PrivacyStatement
        Prints as text, shows in a notebook, and has `to_dict()`.

    Raises
    ------
    ValueError
        Where a size is needed and missing, which is named, or cannot be; and where `fit` itself
        would refuse.
    sklearn.exceptions.NotFittedError
        Where `estimator` is not fitted, and `n_rows` is not given.

    See Also
    --------
    skdp.PrivacyBudget : Counts all fits on the same rows, as they happen.
    skdp.PrivacyBudget.reserve : Sets aside what a planned fit will cost.
    skdp.privacy.group_epsilon : What its `mechanisms` cost somebody who has several rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skdp import DPSGDClassifier, privacy_statement
    >>> from skdp.preprocessing import BoundedScaler

    Before the fit, a scaler that would learn from the rows is found:

    >>> model = make_pipeline(StandardScaler(), DPSGDClassifier(epsilon=1.0))
    >>> statement = privacy_statement(model, n_rows=500, n_features=2)
    >>> print(statement.epsilon, statement.not_covered[0].name)
    inf StandardScaler 'standardscaler'

    After it, the statement is about what was fitted:

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> model = make_pipeline(BoundedScaler(bounds=(-3, 3)), DPSGDClassifier(epsilon=1.0))
    >>> statement = privacy_statement(model.fit(X, X[:, 0] > 0))
    >>> print(statement.covers_everything, f"{statement.epsilon:.1f}")
    True 1.0
    """
    if delta is not None:
        delta = check_delta(delta)
    if n_rows is None:
        if n_features is not None or X_sample is not None:
            raise ValueError(
                "n_features and X_sample are about a fit that is planned, so n_rows is needed "
                "beside them; a fitted object knows its own sizes"
            )
        account = fits_of(estimator)
    else:
        if is_fitted(estimator) and not _is_stateless(estimator):
            raise ValueError(
                f"n_rows is for an object that is not fitted, and this {type(estimator).__name__} "
                "is: leave n_rows out for what its fit promises, or pass sklearn.base.clone of it "
                "for what another fit would"
            )
        account = planned_fits(
            estimator,
            n_rows=n_rows,
            n_features=n_features,
            n_classes=n_classes,
            unit=unit,
            X_sample=X_sample,
        )
    return _stated(estimator, account, delta, is_planned=n_rows is not None)


def fits_of(fitted: Any) -> Account:
    """The noisy fits of a fitted object, and its gaps.

    Raises
    ------
    NotFittedError
    """
    if not is_fitted(fitted):
        raise NotFittedError(
            f"this {type(fitted).__name__} is not fitted: fit it first, or give n_rows for what a "
            "fit on so many rows would promise"
        )
    return _with_totals(Walk(fitted).account(None))


def planned_fits(
    estimator: Any,
    *,
    n_rows: int,
    n_features: int | None = None,
    n_classes: int | None = None,
    unit: str = "row",
    X_sample: Any = None,
) -> Account:
    """The noisy fits that `estimator.fit` would make, and its gaps; see `privacy_statement`."""
    check_count("n_rows", n_rows)
    if n_classes is not None:
        check_count("n_classes", n_classes)
    if not isinstance(unit, str) or unit not in ("row", "unit"):
        # Not shown: what is passed may be a column of ids.
        raise ValueError('unit must be "row" or "unit"; ids go to fit, as privacy_unit')
    if n_features is not None:
        check_count("n_features", n_features)
    if X_sample is not None:
        if not hasattr(X_sample, "__len__") or isinstance(X_sample, str):
            raise ValueError(
                "X_sample must be a frame, an array or a list, with a few made-up rows; got "
                f"{type(X_sample).__name__}"
            )
        columns = n_columns(X_sample)
        if None not in (n_features, columns) and n_features != columns:
            raise ValueError(
                f"n_features={n_features} differs from the columns of X_sample, {columns}: give "
                "one of them"
            )
        n_features = n_features if columns is None else columns
        if n_features is not None:
            check_count("n_features", n_features)
    place = Place(n_rows, n_features, n_classes, unit, X_sample)
    return _with_totals(Walk(estimator).account(place))


def _with_totals(account: Account) -> Account:
    # Copies of one fit are one fit.
    fits: dict[object, Fit] = {}
    for number, fit in enumerate(account.fits):
        mark = number if fit.fit_id is None else (fit.fit_id, fit.releases)
        fits.setdefault(mark, fit)
    kept = tuple(fits.values())
    return Account(kept, (*account.gaps, *totals_that_do_not_hold(kept)))


def _is_stateless(estimator: Any) -> bool:
    """Whether an object counts as fitted though nothing was learned, as `Normalizer` does."""
    return not any(name.endswith("_") for part in parts_inside(estimator) for name in _names(part))


def _names(part: Any) -> Any:
    return vars(part) if hasattr(part, "fit") and hasattr(part, "__dict__") else ()


def _stated(
    estimator: Any, account: Account, delta: float | None, *, is_planned: bool
) -> PrivacyStatement:
    deltas = [fit.delta for fit in account.fits if fit.delta is not None]
    names = {fit.unit_name for fit in account.fits}
    return PrivacyStatement(
        subject=_subject(estimator),
        mechanisms=tuple(release for fit in account.fits for release in fit.releases),
        delta=max(deltas, default=None) if delta is None else delta,
        not_covered=account.gaps,
        parts=_parts(account.fits),
        unit="unit" if {fit.unit for fit in account.fits} == {"unit"} else "row",
        unit_name=names.pop() if len(names) == 1 else None,
        versions=tuple(sorted({fit.version for fit in account.fits if fit.version is not None})),
        ledgers=_ledgers(estimator),
        is_planned=is_planned,
    )


def _parts(fits: tuple[Fit, ...]) -> tuple[NoisyPart, ...]:
    """One part a name, with the fits of all that carry it."""
    by_name: dict[str, list[Fit]] = {}
    for fit in fits:
        by_name.setdefault(fit.name, []).append(fit)
    return tuple(
        NoisyPart(
            name,
            tuple(fit.releases for fit in same),
            tuple(dict.fromkeys(gap for fit in same for gap in fit.void_because_of)),
        )
        for name, same in by_name.items()
    )


def _ledgers(estimator: Any) -> tuple[str, ...]:
    """What the budgets of the private parts say, each once."""
    private = [part for part in parts_inside(estimator) if hasattr(type(part), "_privacy_releases")]
    fit_ids = [part.fit_id_ for part in private if hasattr(part, "fit_id_")]
    budgets = (part.budget for part in private if getattr(part, "budget", None) is not None)
    return tuple(dict.fromkeys(budget.in_short(fit_ids) for budget in budgets))


def _subject(thing: Any) -> str:
    """The classes that an object is made of, outermost first."""
    name = type(thing).__name__
    if is_a(thing, "sklearn.pipeline.Pipeline"):
        return f"{name}({', '.join(_subject(step) for _, step in thing.steps if is_used(step))})"
    inner = getattr(thing, "estimator", None)
    return name if inner is None else f"{name}({_subject(inner)})"
