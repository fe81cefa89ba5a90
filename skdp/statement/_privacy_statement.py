"""privacy_statement: walk the parts of a fitted object, and say what they cost together.

Each part is noisy (it says which releases its fit made), free (a written list) or not covered,
whatever else it is. Meta-estimators that are known are walked; fits whose objects they did not keep
are planned again (`_planned`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from skdp.privacy import Gap, PrivacyStatement
from skdp.privacy._mechanism import check_count, check_delta
from skdp.statement._account import (
    NOTHING,
    Account,
    copied,
    expand,
    in_sequence,
    one_left_out,
    together,
    voided,
)
from skdp.statement._bags import bag_patterns
from skdp.statement._free import gap_of, is_a, is_free, is_used, label, offers_releases
from skdp.statement._gaps import (
    calibrator_gap,
    callback_gaps,
    changed_parts_gap,
    columns_gaps,
    ensemble_seed_gap,
    out_of_bag_gap,
    search_gaps,
    selects_any,
    unit_gap,
    weighted_bags_gap,
)
from skdp.statement._noise import account_of_fit, shared_seeds, uncounted
from skdp.statement._planned import (
    Place,
    changing,
    on_folds,
    plan,
    units_differ,
    with_parameters,
)
from skdp.statement._splits import Splits, read_splits

__all__ = ["privacy_statement"]


def privacy_statement(
    fitted: Any, *, delta: float | None = None, n_samples: int | None = None
) -> PrivacyStatement:
    """State what a fitted object promises about the rows that it was fitted on.

    Walks an estimator, a `Pipeline`, `ColumnTransformer`, `FeatureUnion`, `GridSearchCV`,
    `RandomizedSearchCV`, a halving search, `CalibratedClassifierCV`, `VotingClassifier`,
    `StackingClassifier`, `BaggingClassifier`, `OneVsRestClassifier`, `FixedThresholdClassifier` or
    `FrozenEstimator`, nested in each other. It collects every noisy release, counts how often one
    row took part in the worst case (folds, refits, repeats), and composes them on one grid, which
    is tighter than adding epsilons up.

    - A finite `epsilon` is never given over a gap: parts that looked at the rows without noise are
      listed as not covered, with what to use instead. Behind such a part a private one's own figure
      is void too, since one row then moves every other row.
    - What a search chose by exact scores is not covered, and neither are its scores.
    - Anything unknown is not covered. Free are `Normalizer`, `Binarizer`, `PolynomialFeatures`,
      `FeatureHasher`, `HashingVectorizer`, the transformers of `skdp.preprocessing` that take
      public bounds or knots, encoders with categories written down, `SimpleImputer` with a constant
      and `keep_empty_features=True`, `SplineTransformer` with knots written down, and
      `FunctionTransformer` with a NumPy ufunc. Functions of your own, in `FunctionTransformer` or
      `HashingVectorizer`, must have ``func.row_wise = True``, which says that they handle each row
      by itself. A subclass of any of them, or of a private class, is another class.
    - Callbacks that stay on the object are not covered, and neither is a number of steps that a
      callback chose.
    - An integer or a `RandomState` as `random_state` is not covered: it regenerates the noise.

    Parameters
    ----------
    fitted : estimator
        Any fitted object.
    delta : float, default=None
        What may be added to a probability beyond the factor exp(epsilon). None is the largest
        `delta_` of the noisy parts; where the object kept none of them, the largest that they asked
        for.
    n_samples : int, default=None
        Number of rows (or of units of `privacy_unit`) that `fitted` was fitted on, a public number,
        where a search kept no size: with `refit=False`, or around bagged or calibrated models. With
        `refit=False` nothing says whether fits had a `privacy_unit`: figures are then about rows.

    Returns
    -------
    statement : skdp.privacy.PrivacyStatement
        Prints as text, shows in a notebook, and has `to_dict()`.

    Raises
    ------
    ValueError
        Where `delta` or `n_samples` cannot be.
    sklearn.exceptions.NotFittedError
        Where `fitted` is not fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skdp import DPSGDClassifier, privacy_statement
    >>> from skdp.preprocessing import BoundedScaler
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> y = X[:, 0] > 0
    >>> model = make_pipeline(BoundedScaler(bounds=(-3, 3)), DPSGDClassifier(epsilon=1.0))
    >>> statement = privacy_statement(model.fit(X, y))
    >>> print(statement.covers_everything, f"{statement.epsilon:.1f}")
    True 1.0

    A scaler that learns from the rows leaves no promise:

    >>> model = make_pipeline(StandardScaler(), DPSGDClassifier(epsilon=1.0)).fit(X, y)
    >>> statement = privacy_statement(model)
    >>> print(statement.epsilon, f"{statement.epsilon_of_releases:.1f}")
    inf 1.0
    >>> print(str(statement).splitlines()[0])
    No promise for Pipeline(StandardScaler, DPSGDClassifier): epsilon is inf.
    """
    if delta is not None:
        delta = check_delta(delta)
    if n_samples is not None:
        n_samples = _checked_size(fitted, check_count("n_samples", n_samples))
    check_is_fitted(fitted)
    walk = _Walk()
    account = walk.account(fitted, (), n_samples)
    account = together(account, *walk.frozen.values())
    gaps = (*account.gaps, *shared_seeds(account))
    if len(account.units) > 1:
        gaps += (_MIXED_UNITS,)
    return PrivacyStatement(
        subject=_subject(fitted),
        row_patterns=tuple(sorted((expand(way) for way in account.patterns), key=repr)),
        delta=max(account.deltas, default=None) if delta is None else delta,
        not_covered=tuple(dict.fromkeys(gaps)),
        parts=account.parts,
        unit="unit" if account.units == {"unit"} else "row",
        versions=tuple(sorted(account.versions)),
    )


_MIXED_UNITS = Gap(
    "the unit of privacy",
    "some parts protect rows and others units of privacy_unit, so that nothing is said of either",
    "skdp.preprocessing.BoundedScaler in front and privacy_unit for the classifier, or rows "
    "throughout",
    has_no_total=True,
)


def _subject(fitted: Any) -> str:
    """The classes that an object is made of, outermost first."""
    name = type(fitted).__name__
    if is_a(fitted, "sklearn.pipeline.Pipeline"):
        return f"{name}({', '.join(_subject(step) for _, step in _used(fitted.steps))})"
    inner = getattr(fitted, "estimator", None)
    return name if inner is None else f"{name}({_subject(inner)})"


def _checked_size(fitted: Any, n_samples: int) -> int:
    seen = _rows_seen(fitted)
    if seen is not None and seen != n_samples:
        raise ValueError(
            f"n_samples={n_samples} differs from the number of rows (or units) that the private "
            f"parts of {type(fitted).__name__} were fitted on, {seen}: leave n_samples out."
        )
    return n_samples


@dataclass
class _Walk:
    """One walk. It keeps the accounts of frozen estimators, each of which was fitted once."""

    frozen: dict[int, Account] = field(default_factory=dict)

    def account(self, fitted: Any, path: tuple[str, ...], n_rows: int | None) -> Account:
        """What the fit of an object did, which saw so many rows (None if that is not known)."""
        if not is_used(fitted):
            return NOTHING
        return together(
            self._account(fitted, path, n_rows), Account(gaps=callback_gaps(fitted, path))
        )

    def _account(self, fitted: Any, path: tuple[str, ...], n_rows: int | None) -> Account:
        for place, rule in _RULES.items():
            if is_a(fitted, place):
                return rule(self, fitted, path, n_rows)
        if offers_releases(fitted):
            return account_of_fit(fitted, path)
        if is_free(fitted):
            return NOTHING
        return Account(gaps=(gap_of(fitted, path),))

    def frozen_account(self, fitted: Any, path: tuple[str, ...]) -> Account:
        """What an object that was fitted before did to the rows, counted once in a walk.

        What it leaves uncovered counts wherever it stands.
        """
        if id(fitted) not in self.frozen:
            self.frozen[id(fitted)] = self.account(fitted, path, None)
        return Account(gaps=self.frozen[id(fitted)].gaps)

    def side_by_side(self, parts: Any, path: tuple[str, ...], n_rows: int | None) -> Account:
        """Parts that all saw the same rows."""
        return together(*(self.account(part, (*path, name), n_rows) for name, part in parts))


def _pipeline(walk: _Walk, pipeline: Any, path: tuple[str, ...], n_rows: int | None) -> Account:
    return in_sequence(
        *(walk.account(step, (*path, name), n_rows) for name, step in pipeline.steps)
    )


def _side_by_side(walk: _Walk, meta: Any, path: tuple[str, ...], n_rows: int | None) -> Account:
    return walk.side_by_side(_parts_on_all_rows(meta), path, n_rows)


def _columns(walk: _Walk, transformer: Any, path: tuple[str, ...], n_rows: int | None) -> Account:
    return in_sequence(
        Account(gaps=columns_gaps(transformer, transformer, path)),
        _side_by_side(walk, transformer, path, n_rows),
    )


def _voting(walk: _Walk, voting: Any, path: tuple[str, ...], n_rows: int | None) -> Account:
    gaps = (changed_parts_gap(label(voting, path)),) if _has_other_parts(voting) else ()
    return together(_side_by_side(walk, voting, path, n_rows), Account(gaps=gaps))


def _has_other_parts(meta: Any) -> bool:
    """Whether the settings of an ensemble name other members than those that were fitted."""
    fitted = [name for name, _ in _parts_on_all_rows(meta)]
    return fitted != [name for name, _ in _used(meta.estimators)]


def _stacking(walk: _Walk, stacking: Any, path: tuple[str, ...], n_rows: int | None) -> Account:
    if _has_other_parts(stacking) or _is_prefit_since(stacking):
        return Account(gaps=(changed_parts_gap(label(stacking, path)),))
    members = _used(stacking.estimators)
    kept = _parts_on_all_rows(stacking)
    if isinstance(stacking.cv, str):
        # Members that were fitted before.
        fits = together(*(walk.frozen_account(part, (*path, name)) for name, part in kept))
    else:
        owner = label(stacking, path)
        n_rows = _known(_rows_seen(stacking), n_rows)

        def fit_on(size: int | None) -> Account:
            place = Place(path, size, None, walk.frozen_account)
            twins = dict(kept)
            templates = (plan(part, place.inside(name, twins[name])) for name, part in members)
            return together(
                # What was kept has the settings of the fit, whatever was set since.
                *(plan(part, place.inside(name, part)) for name, part in kept),
                *(Account(gaps=template.gaps) for template in templates),
            )

        splits = read_splits(stacking.cv, n_rows, stratifies=True, owner=owner)
        fits = together(on_folds(splits, fit_on, owner), walk.side_by_side(kept, path, n_rows))
    final = walk.account(stacking.final_estimator_, (*path, "final_estimator"), n_rows)
    return in_sequence(fits, final)


def _is_prefit_since(stacking: Any) -> bool:
    """Whether `cv` says that members were fitted before, and they are not the members."""
    members = [part for _, part in _used(stacking.estimators)]
    return isinstance(stacking.cv, str) and any(
        one is not other for one, other in zip(members, stacking.estimators_, strict=True)
    )


def _calibrated(walk: _Walk, calibrated: Any, path: tuple[str, ...], n_rows: int | None) -> Account:
    owner = label(calibrated, path)
    inside = (*path, "estimator")
    models = [model.estimator for model in calibrated.calibrated_classifiers_]
    calibrators = Account(gaps=(calibrator_gap(owner),))
    if isinstance(calibrated.cv, str):
        return in_sequence(walk.frozen_account(models[0], inside), calibrators)
    if _is_one_model(calibrated):
        n_rows = _known(_rows_seen(models[0]), n_rows)
        splits = read_splits(calibrated.cv, n_rows, stratifies=True, owner=owner)
        place = Place(inside, None, models[0], walk.frozen_account)
        folds = on_folds(
            splits, lambda size: plan(calibrated.estimator, replace(place, n_rows=size)), owner
        )
        return in_sequence(folds, walk.account(models[0], inside, n_rows), calibrators)
    splits = read_splits(calibrated.cv, n_rows, stratifies=True, owner=owner)
    fits = [walk.account(model, inside, None) for model in models]
    return in_sequence(_kept_folds(fits, splits, owner), calibrators)


def _is_one_model(calibrated: Any) -> bool:
    if calibrated.ensemble == "auto":
        return is_a(calibrated.estimator, "sklearn.frozen.FrozenEstimator")
    return not calibrated.ensemble


def _kept_folds(fits: list[Account], splits: Splits, owner: str) -> Account:
    """Fits on folds whose objects were kept, in the order of the folds."""
    if splits.leaves_out:
        remaining = iter(fits)
        rounds = [[next(remaining) for _ in sizes] for sizes in splits.rounds]
        folds = together(*(one_left_out(one_round) for one_round in rounds))
    else:
        folds = together(*fits)
    if not splits.holds_once:
        folds = together(folds, uncounted(owner, "a row may stand in a fold more than once"))
    return together(
        Account(gaps=splits.gaps),
        voided(folds, (gap.name for gap in splits.gaps)),
        Account(gaps=(unit_gap(owner),) if units_differ(folds, splits) else ()),
    )


def _bagging(walk: _Walk, bagging: Any, path: tuple[str, ...], n_rows: int | None) -> Account:
    inside = (*path, "estimators_")
    owner = label(bagging, path)
    drawn = [np.asarray(rows) for rows in bagging.estimators_samples_]
    if len(drawn) != len(bagging.estimators_):
        members = (walk.account(member, inside, None).gaps for member in bagging.estimators_)
        return together(
            *(Account(gaps=gaps) for gaps in members),
            uncounted(owner, "with warm_start=True it keeps the samples of its last fit alone"),
        )
    fits = [
        walk.account(member, inside, len(rows))
        for member, rows in zip(bagging.estimators_, drawn, strict=True)
    ]
    everyone = together(
        *(copied(fit, _most_copies(rows)) for fit, rows in zip(fits, drawn, strict=True))
    )
    members = replace(everyone, patterns=bag_patterns(fits, drawn))
    gaps = [*members.gaps]
    if getattr(bagging, "_sample_weight", None) is not None:
        gaps.append(weighted_bags_gap(owner))
    if "unit" in members.units:
        # Samples of rows hold parts of units, and how many units they hold is private.
        gaps.append(unit_gap(owner))
    if members.seeds:
        gaps.append(ensemble_seed_gap(owner))
    if bagging.oob_score:
        gaps.append(out_of_bag_gap(owner))
    return replace(members, gaps=tuple(gaps))


def _most_copies(rows: np.ndarray) -> int:
    return int(np.bincount(rows).max(initial=0))


def _frozen(walk: _Walk, frozen: Any, path: tuple[str, ...], n_rows: int | None) -> Account:
    return walk.frozen_account(frozen.estimator, (*path, "estimator"))


def _search(walk: _Walk, search: Any, path: tuple[str, ...], n_rows: int | None) -> Account:
    owner = label(search, path)
    inside = (*path, "estimator")
    best = getattr(search, "best_estimator_", None)
    n_rows = _known(_rows_seen(best), n_rows)
    candidates = list(search.cv_results_["params"])
    shares = _shares_of_rows(search, n_rows)
    templates = [with_parameters(search.estimator, candidate) for candidate in candidates]
    place = Place(inside, None, best, walk.frozen_account, changing(candidates))

    def fit_all(n_train: int | None) -> Account:
        sizes = (None if n_train is None else int(share * n_train) for share in shares)
        return together(
            *(
                plan(template, replace(place, n_rows=size))
                for template, size in zip(templates, sizes, strict=True)
            )
        )

    stratifies = is_classifier(search.estimator)
    splits = read_splits(search.cv, n_rows, stratifies=stratifies, owner=owner)
    folds = on_folds(splits, fit_all, owner)
    # A sample of a fold's rows holds parts of units, and how many units it holds is private. How
    # many rows a fold has is private too, so it cannot be told whether the sample was all of it.
    torn = _samples_rows(search) and "unit" in folds.units
    return together(
        Account(gaps=search_gaps(search, path)),
        walk.account(best, inside, n_rows),
        folds,
        Account(gaps=(unit_gap(owner),) if torn else ()),
    )


def _shares_of_rows(search: Any, n_rows: int | None) -> list[float]:
    """Of each fit of a search on a fold, the share of the fold's rows that it got."""
    results = search.cv_results_
    if not _samples_rows(search) or n_rows is None:
        return [1.0] * len(results["params"])
    return [n_resources / n_rows for n_resources in results["n_resources"]]


def _samples_rows(search: Any) -> bool:
    """Whether a search fits on samples of a fold's rows, as halving searches do by default."""
    by_rows = getattr(search, "resource", None) == "n_samples"
    return by_rows and "n_resources" in search.cv_results_


def _known(first: int | None, second: int | None) -> int | None:
    return second if first is None else first


def _used(parts: Any) -> list[tuple[str, Any]]:
    return [(name, part) for name, part in parts if is_used(part)]


def _parts_on_all_rows(meta: Any) -> list[tuple[str, Any]]:
    """The fitted parts of an object that saw all its rows, with their names."""
    if is_a(meta, "sklearn.pipeline.Pipeline"):
        return _used(meta.steps)
    if is_a(meta, "sklearn.pipeline.FeatureUnion"):
        return _used(meta.transformer_list)
    if is_a(meta, "sklearn.compose.ColumnTransformer"):
        return _used(
            (name, part) for name, part, columns in meta.transformers_ if selects_any(columns)
        )
    if is_a(meta, "sklearn.ensemble.VotingClassifier", "sklearn.ensemble.StackingClassifier"):
        return _used(meta.named_estimators_.items())
    if is_a(meta, _FIXED_THRESHOLD):
        return [("estimator", meta.estimator_)]
    if is_a(meta, "sklearn.multiclass.OneVsRestClassifier"):
        return [("estimators_", part) for part in meta.estimators_]
    return []


def _rows_seen(fitted: Any) -> int | None:
    """The number of rows, or units, that a private part says all parts saw; None if none does."""
    if fitted is None:
        return None
    if offers_releases(fitted):
        return getattr(fitted, "_n_privacy_units", None)
    if is_a(fitted, *_SEARCHES):
        return _rows_seen(getattr(fitted, "best_estimator_", None))
    if is_a(fitted, "sklearn.calibration.CalibratedClassifierCV"):
        return _rows_behind_folds(fitted)
    if is_a(fitted, "sklearn.ensemble.BaggingClassifier"):
        share = fitted.max_samples
        whole = share is None or (isinstance(share, float) and share == 1.0)
        return _rows_seen(fitted.estimators_[0]) if whole else None
    if isinstance(getattr(fitted, "cv", None), str):
        # Its parts were fitted before, perhaps on other rows.
        return None
    return next(
        (seen for _, part in _parts_on_all_rows(fitted) if (seen := _rows_seen(part)) is not None),
        None,
    )


def _rows_behind_folds(calibrated: Any) -> int | None:
    """Each row is in the training rows of all folds of a round but one."""
    seen = [_rows_seen(model.estimator) for model in calibrated.calibrated_classifiers_]
    if _is_one_model(calibrated) or None in seen:
        return seen[0]
    splits = read_splits(calibrated.cv, None, stratifies=True, owner="")
    if not splits.leaves_out:
        return None
    return sum(seen) // sum(len(sizes) - 1 for sizes in splits.rounds)


_SEARCHES = (
    "sklearn.model_selection.GridSearchCV",
    "sklearn.model_selection.RandomizedSearchCV",
    "sklearn.model_selection.HalvingGridSearchCV",
    "sklearn.model_selection.HalvingRandomSearchCV",
)
# Its threshold is a setting; the one that is tuned is chosen by exact scores.
_FIXED_THRESHOLD = "sklearn.model_selection.FixedThresholdClassifier"
_RULES: dict[str, Callable[[_Walk, Any, tuple[str, ...], int | None], Account]] = {
    "sklearn.pipeline.Pipeline": _pipeline,
    "sklearn.pipeline.FeatureUnion": _side_by_side,
    "sklearn.compose.ColumnTransformer": _columns,
    "sklearn.ensemble.VotingClassifier": _voting,
    "sklearn.ensemble.StackingClassifier": _stacking,
    "sklearn.ensemble.BaggingClassifier": _bagging,
    "sklearn.multiclass.OneVsRestClassifier": _side_by_side,
    _FIXED_THRESHOLD: _side_by_side,
    "sklearn.calibration.CalibratedClassifierCV": _calibrated,
    "sklearn.frozen.FrozenEstimator": _frozen,
    **dict.fromkeys(_SEARCHES, _search),
}
