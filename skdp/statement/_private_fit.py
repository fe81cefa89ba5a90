"""The account of one private estimator's fit, made or planned.

A private estimator is known by what it offers, not by name:

- `_privacy_releases()`: the frozen mechanisms of the last fit;
- `_planned_releases(n_rows, n_features, n_classes, unit)`: those that a fit on data of these public
  sizes would make; None where it depends on one that is None. It raises what `fit` would raise
  before it reads a row;
- `fit_id_`, a random mark of the fit; `_n_privacy_units`, the n of its formulas;
- `unit_`, "row" or "unit", and `unit_name_`; `delta_`; `skdp_version_`;
- `noise_source_`, "system" or "seeded";
- `n_steps_`, where a callback may end its noisy steps before the last release says;
- `_upstream_fit_ids`, the marks of private transformers that had changed rows before its fit.

It is the class itself that offers them, beside its `fit`; a subclass has to do so anew.
"""

from numbers import Integral
from typing import Any

from sklearn.utils.validation import has_fit_parameter

from skdp.privacy import Gap
from skdp.privacy._promise import chosen_delta
from skdp.statement._account import NOTHING, Account, Fit
from skdp.statement._known import label
from skdp.statement._place import Place

__all__ = ["account_of_fit", "account_of_plan"]


def account_of_fit(estimator: Any, path: tuple[str, ...], *, place: str = "") -> Account:
    """What the last fit of a private estimator did."""
    fit = Fit(
        label(estimator, path) + place,
        tuple(estimator._privacy_releases()),
        fit_id=getattr(estimator, "fit_id_", None),
        n=getattr(estimator, "_n_privacy_units", None),
        unit=getattr(estimator, "unit_", "row"),
        unit_name=getattr(estimator, "unit_name_", None),
        delta=getattr(estimator, "delta_", None),
        version=getattr(estimator, "skdp_version_", None),
        seed=_seed(estimator),
        upstream=getattr(estimator, "_upstream_fit_ids", None),
        marks_rows=hasattr(estimator, "_upstream_fit_ids") and hasattr(estimator, "transform"),
    )
    if not fit.releases:
        return NOTHING
    return Account((fit,), (*_gaps(fit), *_early_end(estimator, fit)))


def account_of_plan(estimator: Any, path: tuple[str, ...], place: Place) -> Account:
    """What a fit of a private estimator on data of these sizes would do.

    Raises
    ------
    ValueError
        Where a size is needed and missing, and where `fit` itself would refuse.
    """
    name = label(estimator, path)
    if place.unit == "unit" and not has_fit_parameter(estimator, "privacy_unit"):
        return Account(
            gaps=(
                Gap(
                    name,
                    "it protects rows, since its fit has no privacy_unit",
                    "skdp.preprocessing.BoundedScaler with public bounds",
                    has_no_total=True,
                ),
            )
        )
    if not hasattr(estimator, "_planned_releases"):
        reason = "what it will release is known only after a fit"
        return Account(gaps=(Gap(name, reason, "fitting it, then spend", has_no_total=True),))
    releases = estimator._planned_releases(
        n_rows=place.n_rows,
        n_features=place.n_features,
        n_classes=place.n_classes or 2,
        unit=place.unit,
    )
    if releases is None:
        raise ValueError(place.missing_columns(name))
    seed = getattr(estimator, "random_state", None)
    fit = Fit(
        name,
        tuple(releases),
        n=place.n_rows,
        unit=place.unit,
        unit_name=getattr(estimator, "unit_name", None),
        delta=chosen_delta(getattr(estimator, "delta", "auto"), place.n_rows),
        seed=None if seed is None else _seed_of(estimator, seed),
    )
    return Account((fit,), _gaps(fit)) if releases else NOTHING


def _gaps(fit: Fit) -> tuple[Gap, ...]:
    gaps = []
    if any(mechanism.noise_multiplier == 0 for mechanism in fit.releases):
        gaps.append(Gap(fit.name, "it is fitted without noise", "a noise_multiplier above 0"))
    if fit.seed is not None:
        gaps.append(
            Gap(
                fit.name,
                "an integer or a RandomState as random_state stays on the object and regenerates "
                "the noise for anyone who has it",
                "random_state=None",
                voids_what_follows=False,
                is_seed=True,
            )
        )
    return tuple(gaps)


def _early_end(estimator: Any, fit: Fit) -> tuple[Gap, ...]:
    """An entry where something ended the noisy steps before the last of them."""
    n_steps = getattr(estimator, "n_steps_", None)
    if n_steps is None or n_steps >= getattr(fit.releases[-1], "n_steps", 1):
        return ()
    return (
        Gap(
            f"the number of steps of {fit.name}",
            "a callback ended its training, and nothing says that it did so without looking at "
            "the rows",
            "n_epochs, settled before fit",
        ),
    )


def _seed(estimator: Any) -> tuple[str, object] | None:
    """What identifies a seed that regenerates the noise of the last fit; None without one."""
    seed = getattr(estimator, "random_state", None)
    source = getattr(estimator, "noise_source_", "system" if seed is None else "seeded")
    return None if source == "system" else _seed_of(estimator, seed)


def _seed_of(estimator: Any, seed: Any) -> tuple[str, object]:
    """Estimators of one class that share a seed share noise.

    Of two RandomState it cannot be told whether their draws were the same, since copies of one
    draw alike; and a seed that was taken away after the fit is known to whoever set it.
    """
    value = int(seed) if isinstance(seed, Integral) else "RandomState"
    return type(estimator).__name__, value
