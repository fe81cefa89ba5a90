"""The account of one private estimator's fit: its releases, its seed, its unit.

A private estimator is known by what it offers, not by name:

- `_privacy_releases()`: the frozen mechanisms of the last fit;
- `_planned_releases(n_rows, n_features, n_classes, unit)`: those that a fit on data of these public
  sizes would make. Sizes that are not known are None; the answer is None where it depends on one of
  them. It raises what `fit` would raise before it reads a row;
- `_n_privacy_units`: the n of its formulas, a public number;
- `unit_`, "row" or "unit", where it can protect more than rows; `delta_`; `skdp_version_`;
- `noise_source_`, "system" or "seeded";
- `n_steps_`, where a callback may end its noisy steps before the last release says.

It is the class itself that offers them, beside its `fit`; a subclass has to do so anew.
"""

from collections.abc import Iterable
from numbers import Integral
from typing import Any

from skdp._sklearn import InvalidParameterError
from skdp.privacy import Gap, NoisyPart
from skdp.privacy._mechanism import Mechanism
from skdp.privacy._promise import chosen_delta
from skdp.statement._account import NOTHING, Account, Seed, releases_of, together
from skdp.statement._free import label

__all__ = ["account_of_fit", "account_of_plan", "shared_seeds", "uncounted"]


def account_of_fit(estimator: Any, path: tuple[str, ...]) -> Account:
    """What the last fit of a private estimator did."""
    releases = tuple(estimator._privacy_releases())
    delta = getattr(estimator, "delta_", None)
    version = getattr(estimator, "skdp_version_", None)
    name = label(estimator, path)
    account = _account(
        estimator,
        name,
        releases,
        gap_name=name,
        unit=getattr(estimator, "unit_", "row"),
        deltas=frozenset() if delta is None else frozenset({float(delta)}),
        versions=frozenset() if version is None else frozenset({str(version)}),
    )
    return together(account, Account(gaps=_early_end(estimator, releases, name)))


def account_of_plan(
    estimator: Any,
    path: tuple[str, ...],
    *,
    n_rows: int | None,
    n_features: int | None,
    n_classes: int | None,
    twin: Any,
) -> Account:
    """What a fit of a private estimator on data of these sizes did, whose object was not kept.

    `twin` is the fitted estimator that was kept in the same place, or None.
    """
    name = label(estimator, path)
    if not hasattr(estimator, "_planned_releases"):
        return uncounted(name, "its fits on folds were not kept, and it cannot say what they cost")
    if n_rows is None:
        return uncounted(
            name,
            "the numbers of rows of its fits on folds are not known (nothing kept them, or they "
            "depend on groups)",
        )
    unit = getattr(twin, "unit_", "row")
    try:
        releases = estimator._planned_releases(
            n_rows=n_rows, n_features=n_features, n_classes=n_classes, unit=unit
        )
    except InvalidParameterError:
        return uncounted(name, "its settings are refused, unless validation was switched off")
    except ValueError:
        # The same refusal met the fit, which then read no row.
        return NOTHING
    if releases is None:
        return uncounted(
            name,
            "its fits on folds depend on numbers of columns or classes that "
            "the object does not keep",
        )
    return _account(
        estimator,
        f"{name}, fits on folds",
        tuple(releases),
        gap_name=name,
        unit=unit,
        # The parts that were kept decide; without any, the delta that was asked for.
        deltas=frozenset() if twin is not None else frozenset({_delta_asked(estimator, n_rows)}),
    )


def uncounted(name: str, reason: str) -> Account:
    """The account of noisy fits that took place and cannot be counted."""
    return Account(
        gaps=(
            Gap(
                name,
                f"{reason}, so that the releases have no total",
                "explicit settings, n_samples=..., or fitting the candidates one by one",
                has_no_total=True,
                voids_what_follows=False,
            ),
        )
    )


def shared_seeds(account: Account) -> Iterable[Gap]:
    """One entry for each seed that several fits used."""
    shared: dict[str, int] = {}
    for (name, _), n_fits in sorted(account.seeds, key=repr):
        if n_fits > 1:
            shared[name] = shared.get(name, 0) + n_fits
    for name, n_fits in shared.items():
        yield Gap(
            f"the noise of {name}",
            f"{n_fits} fits used one integer or RandomState as random_state (or one that an "
            "ensemble had set), so they share noise, which cancels between their results: no "
            "total holds",
            "random_state=None on every private part",
            has_no_total=True,
        )


def _account(
    estimator: Any,
    name: str,
    releases: tuple[Mechanism, ...],
    *,
    gap_name: str,
    unit: str,
    deltas: frozenset[float],
    versions: frozenset[str] = frozenset(),
) -> Account:
    if not releases:
        return NOTHING
    seed = _seed(estimator)
    gaps = []
    if any(mechanism.noise_multiplier == 0 for mechanism in releases):
        gaps.append(Gap(gap_name, "it was fitted without noise", "a noise_multiplier above 0"))
    if seed is not None:
        gaps.append(
            Gap(
                gap_name,
                "an integer or a RandomState as random_state stays on the object and regenerates "
                "the noise for anyone who has it",
                "random_state=None",
                voids_what_follows=False,
            )
        )
    multiset = releases_of(releases)
    return Account(
        patterns=frozenset({multiset}),
        everything=multiset,
        parts=(NoisyPart(name, 1, 1, (releases,)),),
        gaps=tuple(gaps),
        seeds=frozenset() if seed is None else frozenset({(seed, 1)}),
        deltas=deltas,
        units=frozenset({unit}),
        versions=versions,
    )


def _early_end(estimator: Any, releases: tuple[Mechanism, ...], name: str) -> tuple[Gap, ...]:
    """An entry where something ended the noisy steps before the last of them."""
    n_steps = getattr(estimator, "n_steps_", None)
    if n_steps is None or not releases or n_steps >= getattr(releases[-1], "n_steps", 1):
        return ()
    return (
        Gap(
            f"the number of steps of {name}",
            "a callback ended its training, and nothing says that it did so without looking at "
            "the rows",
            "n_epochs, settled before fit",
        ),
    )


def _seed(estimator: Any) -> Seed | None:
    """What identifies a seed that regenerates the noise; None for the system's source.

    Estimators of one class that share a seed share noise. Of two RandomState it cannot be told
    whether their draws were the same, since copies of one draw alike.
    """
    seed = getattr(estimator, "random_state", None)
    if seed is None:
        # A seed that was taken away after the fit is known to whoever set it.
        was_seeded = getattr(estimator, "noise_source_", "system") == "seeded"
        return (type(estimator).__name__, "RandomState") if was_seeded else None
    value = int(seed) if isinstance(seed, Integral) else "RandomState"
    return type(estimator).__name__, value


def _delta_asked(estimator: Any, n_rows: int) -> float:
    return chosen_delta(getattr(estimator, "delta", "auto"), n_rows)
