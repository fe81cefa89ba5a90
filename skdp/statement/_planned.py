"""Fits whose objects were not kept: those of a search's candidates on folds.

What they released is planned again from the template, the candidate's parameters and the public
sizes of the folds, by the same function that planned the fits themselves.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from numbers import Integral
from typing import Any

from sklearn.base import OneToOneFeatureMixin, clone, is_classifier

from skdp.statement._account import (
    NOTHING,
    Account,
    any_of,
    in_sequence,
    one_left_out,
    repeated,
    together,
    voided,
)
from skdp.statement._free import gap_of, is_a, is_free, is_used, label, offers_releases
from skdp.statement._gaps import (
    calibrator_gap,
    callback_gaps,
    columns_gaps,
    default_gap,
    ensemble_seed_gap,
    search_gaps,
    unit_gap,
)
from skdp.statement._noise import account_of_plan, uncounted
from skdp.statement._splits import Splits, read_splits

__all__ = [
    "Place",
    "changing",
    "on_folds",
    "plan",
    "units_differ",
    "with_parameters",
]


@dataclass(frozen=True)
class Place:
    """Where in a template a fit stands, and what is known of the data there.

    Parameters
    ----------
    path : tuple of str
        Names of the parts around it.
    n_rows : int or None
        Rows, or units, of the data of the fit; None where that is not known.
    twin : object or None
        The fitted object that was kept in the same place.
    frozen : callable
        Gives the account of a `FrozenEstimator`, whose fit happened before.
    changing : frozenset of str
        Parameters that differ between the fits.
    columns_known : bool
        Whether the data have as many columns here as those of the twin.
    """

    path: tuple[str, ...]
    n_rows: int | None
    twin: Any
    frozen: Callable[[Any, tuple[str, ...]], Account]
    changing: frozenset[str] = frozenset()
    columns_known: bool = True

    def inside(self, step: str, twin: Any, *, parameter: str | None = None) -> "Place":
        """The place of a part, which `parameter` sets (its step's name, if not said)."""
        own = parameter or step
        names = {
            name.removeprefix(f"{own}__") for name in self.changing if name.startswith(f"{own}__")
        }
        if own in self.changing:
            # Another part altogether, whose settings have no names in common.
            names.add("")
        return replace(self, path=(*self.path, step), twin=twin, changing=frozenset(names))

    def around(self, *parts: str) -> "Place":
        """The same; columns are unknown where a setting changes that is none of its parts'."""
        known = all(name.partition("__")[0] in parts for name in self.changing)
        return replace(self, columns_known=self.columns_known and known)


def plan(template: Any, place: Place) -> Account:
    """What a fit of `template` did there."""
    if not is_used(template):
        return NOTHING
    return together(_plan(template, place), Account(gaps=callback_gaps(template, place.path)))


def _plan(template: Any, place: Place) -> Account:
    for kind, rule in _RULES.items():
        if is_a(template, kind):
            return rule(template, place)
    if offers_releases(template):
        twin = place.twin
        accounts = {
            account_of_plan(
                template,
                place.path,
                n_rows=place.n_rows,
                n_features=getattr(twin, "n_features_in_", None) if place.columns_known else None,
                n_classes=n_classes,
                twin=twin,
            ): None
            for n_classes in _numbers_of_classes(template, twin)
        }
        return any_of(accounts) if len(accounts) > 1 else next(iter(accounts))
    if is_free(template):
        return NOTHING
    return Account(gaps=(gap_of(template, place.path),))


def _numbers_of_classes(template: Any, twin: Any) -> Iterable[int | None]:
    """How many classes the rows of a fold may have: it may lack some that all rows have."""
    classes = getattr(twin, "classes_", None)
    if classes is None:
        return [None]
    if getattr(template, "classes", None) is not None:
        return [len(classes)]
    return range(2, len(classes) + 1)


def on_folds(splits: Splits, fit_on: Callable[[int | None], Account], owner: str) -> Account:
    """What fits on folds did, where `fit_on` gives the account of one on so many rows.

    The number is None where it is not known.
    """
    fit_on = cache(fit_on)
    folds = together(*(_one_round(sizes, splits, fit_on) for sizes in splits.rounds))
    return together(
        Account(gaps=splits.gaps),
        voided(folds, (gap.name for gap in splits.gaps)),
        Account(gaps=(unit_gap(owner),) if units_differ(folds, splits) else ()),
    )


def units_differ(folds: Account, splits: Splits) -> bool:
    """Whether rows go into folds where fits are about units, or the other way round."""
    return bool(folds.units) and splits.by_unit != ("unit" in folds.units)


def changing(candidates: list[dict[str, Any]]) -> frozenset[str]:
    """Names of the parameters whose values differ between candidates."""
    names = {name for candidate in candidates for name in candidate}
    return frozenset(name for name in names if not _all_same(name, candidates))


def with_parameters(template: Any, parameters: dict[str, Any]) -> Any:
    """An unfitted copy with a candidate's parameters, as a search makes it."""
    return clone(template).set_params(**clone(parameters, safe=False))


def _one_round(
    sizes: tuple[int | None, ...], splits: Splits, fit_on: Callable[[int | None], Account]
) -> Account:
    if splits.leaves_out:
        return one_left_out(fit_on(size) for size in sizes)
    counts = Counter(sizes)
    return together(*(repeated(fit_on(size), times) for size, times in counts.items()))


def _all_same(name: str, candidates: list[dict[str, Any]]) -> bool:
    missing = object()
    first = candidates[0].get(name, missing)
    for candidate in candidates[1:]:
        value = candidate.get(name, missing)
        try:
            if value is not first and not bool(value == first):
                return False
        except (TypeError, ValueError):
            # Arrays do not say in one word whether they are equal.
            return False
    return True


def _plan_pipeline(pipeline: Any, place: Place) -> Account:
    twins = dict(getattr(place.twin, "steps", ()))
    accounts = []
    known = place.around(*(name for name, _ in pipeline.steps)).columns_known
    for name, step in pipeline.steps:
        inside = replace(place.inside(name, twins.get(name)), columns_known=known)
        accounts.append(plan(step, inside))
        touched = name in place.changing or inside.changing
        if touched and not (_keeps_columns(step) and _keeps_columns(twins.get(name))):
            known = False
    return in_sequence(*accounts)


def _keeps_columns(step: Any) -> bool:
    return not is_used(step) or isinstance(step, OneToOneFeatureMixin)


def _plan_side_by_side(parts: Iterable[tuple[str, Any]], twins: dict, place: Place) -> Account:
    parts = [(name, part) for name, part in parts if is_used(part)]
    place = place.around(*(name for name, _ in parts))
    return together(*(plan(part, place.inside(name, twins.get(name))) for name, part in parts))


def _plan_union(union: Any, place: Place) -> Account:
    twins = dict(getattr(place.twin, "transformer_list", ()))
    return _plan_side_by_side(union.transformer_list, twins, place)


def _plan_columns(transformer: Any, place: Place) -> Account:
    twins = dict(getattr(place.twin, "named_transformers_", {}))
    parts = [(name, part) for name, part, _ in transformer.transformers]
    parts.append(("remainder", transformer.remainder))
    return in_sequence(
        Account(gaps=columns_gaps(transformer, place.twin, place.path)),
        _plan_side_by_side(parts, twins, place),
    )


def _plan_voting(voting: Any, place: Place) -> Account:
    twins = dict(getattr(place.twin, "named_estimators_", {}))
    return _plan_side_by_side(voting.estimators, twins, place)


def _plan_fixed_threshold(fixed: Any, place: Place) -> Account:
    twin = getattr(place.twin, "estimator_", None)
    return plan(fixed.estimator, place.around("estimator").inside("estimator", twin))


def _plan_one_vs_rest(one_vs_rest: Any, place: Place) -> Account:
    twins = getattr(place.twin, "estimators_", None)
    if twins is None:
        return uncounted(label(one_vs_rest, place.path), "it keeps no number of classes")
    place = place.around("estimator")
    member = plan(one_vs_rest.estimator, place.inside("estimator", twins[0]))
    return repeated(member, len(twins))


def _plan_bagging(bagging: Any, place: Place) -> Account:
    name = label(bagging, place.path)
    if bagging.bootstrap:
        return uncounted(name, "nobody knows how often its fits on folds drew one row")
    size = bagging.max_samples
    if size is None:
        size = place.n_rows
    elif not isinstance(size, Integral):
        size = None if place.n_rows is None else max(1, int(size * place.n_rows))
    twins = getattr(place.twin, "estimators_", (None,))
    place = replace(place.around("estimator"), n_rows=size)
    member = plan(bagging.estimator, place.inside("estimator", twins[0]))
    members = repeated(replace(member, seeds=_set_seeds(member, bagging)), bagging.n_estimators)
    if member.parts:
        members = together(members, Account(gaps=(ensemble_seed_gap(name),)))
    return members


def _set_seeds(member: Account, bagging: Any) -> frozenset:
    """The seeds that the ensemble sets: new ones in each fit, unless it has one itself.

    A member that fits one part several times does so with one seed.
    """
    n_fits = max((part.n_fits for part in member.parts), default=0)
    if n_fits == 0 or (bagging.random_state is None and n_fits == 1):
        return frozenset()
    # Counted twice at least, since the fit whose object was kept used the same ones.
    return frozenset({((type(bagging).__name__, "seeds that it sets"), max(n_fits, 2))})


def _plan_stacking(stacking: Any, place: Place) -> Account:
    members = [(name, part) for name, part in stacking.estimators if is_used(part)]
    inner = place.around("final_estimator", *(name for name, _ in members))
    twins = dict(getattr(place.twin, "named_estimators_", {}))

    def fit_members(n_rows: int | None) -> Account:
        there = replace(inner, n_rows=n_rows)
        return _plan_side_by_side(members, twins, there)

    final_twin = getattr(place.twin, "final_estimator_", None)
    final_place = inner.inside("final_estimator", final_twin)
    if stacking.cv == "prefit":
        # The members were fitted before, and are the same in every fold.
        fits = together(*(place.frozen(part, (*place.path, name)) for name, part in members))
    else:
        owner = label(stacking, place.path)
        splits = read_splits(stacking.cv, place.n_rows, stratifies=True, owner=owner)
        fits = together(on_folds(splits, fit_members, owner), fit_members(place.n_rows))
    if stacking.final_estimator is None:
        final = Account(gaps=(default_gap(stacking, place.path, "final_estimator"),))
    else:
        final = plan(stacking.final_estimator, final_place)
    return in_sequence(fits, final)


def _plan_calibrated(calibrated: Any, place: Place) -> Account:
    owner = label(calibrated, place.path)
    gap = Account(gaps=(calibrator_gap(owner),))
    if calibrated.estimator is None:
        return Account(gaps=(default_gap(calibrated, place.path, "estimator"), *gap.gaps))
    frozen = is_a(calibrated.estimator, "sklearn.frozen.FrozenEstimator")
    if calibrated.cv == "prefit":
        return together(place.frozen(calibrated.estimator, (*place.path, "estimator")), gap)
    twins = getattr(place.twin, "calibrated_classifiers_", ())
    twin = twins[0].estimator if twins else None
    inner = place.around("estimator").inside("estimator", twin)

    def fit_on(n_rows: int | None) -> Account:
        return plan(calibrated.estimator, replace(inner, n_rows=n_rows))

    splits = read_splits(calibrated.cv, place.n_rows, stratifies=True, owner=owner)
    fits = on_folds(splits, fit_on, owner)
    one_model = calibrated.ensemble is False or (calibrated.ensemble == "auto" and frozen)
    if one_model:
        fits = together(fits, fit_on(place.n_rows))
    return in_sequence(fits, gap)


def _plan_frozen(frozen: Any, place: Place) -> Account:
    return place.frozen(frozen.estimator, (*place.path, "estimator"))


def _plan_grid_search(search: Any, place: Place) -> Account:
    from sklearn.model_selection import ParameterGrid

    return plan_search(search, place, list(ParameterGrid(search.param_grid)))


def _plan_drawn_search(search: Any, place: Place) -> Account:
    owner = label(search, place.path)
    return uncounted(owner, "nobody knows which candidates it drew or kept on folds")


def plan_search(search: Any, place: Place, candidates: list[dict[str, Any]]) -> Account:
    """A search inside a fold: all candidates on its own folds, and any of them on all rows."""
    owner = label(search, place.path)
    twin = getattr(place.twin, "best_estimator_", None)
    changes = {f"estimator__{name}" for name in changing(candidates)}
    wide = replace(place, changing=place.changing | changes).around("estimator")
    inner = wide.inside("estimator", twin)
    templates = [with_parameters(search.estimator, candidate) for candidate in candidates]

    def fit_all(n_rows: int | None) -> Account:
        return together(*(plan(one, replace(inner, n_rows=n_rows)) for one in templates))

    stratifies = is_classifier(search.estimator)
    splits = read_splits(search.cv, place.n_rows, stratifies=stratifies, owner=owner)
    refits = [plan(one, inner) for one in templates] if search.refit else []
    return together(
        Account(gaps=search_gaps(search, place.path)),
        on_folds(splits, fit_all, owner),
        any_of(refits),
    )


_RULES: dict[str, Callable[[Any, Place], Account]] = {
    "sklearn.pipeline.Pipeline": _plan_pipeline,
    "sklearn.pipeline.FeatureUnion": _plan_union,
    "sklearn.compose.ColumnTransformer": _plan_columns,
    "sklearn.ensemble.VotingClassifier": _plan_voting,
    "sklearn.ensemble.StackingClassifier": _plan_stacking,
    "sklearn.ensemble.BaggingClassifier": _plan_bagging,
    "sklearn.multiclass.OneVsRestClassifier": _plan_one_vs_rest,
    "sklearn.model_selection.FixedThresholdClassifier": _plan_fixed_threshold,
    "sklearn.calibration.CalibratedClassifierCV": _plan_calibrated,
    "sklearn.frozen.FrozenEstimator": _plan_frozen,
    "sklearn.model_selection.GridSearchCV": _plan_grid_search,
    "sklearn.model_selection.RandomizedSearchCV": _plan_drawn_search,
    "sklearn.model_selection.HalvingGridSearchCV": _plan_drawn_search,
    "sklearn.model_selection.HalvingRandomSearchCV": _plan_drawn_search,
}
