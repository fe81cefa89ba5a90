"""What fits did to the rows, and how such records add up: every row was in every fit."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce

from skdp.privacy import Gap
from skdp.privacy._mechanism import Mechanism

__all__ = ["NOTHING", "Account", "Fit", "in_sequence", "side_by_side", "totals_that_do_not_hold"]


@dataclass(frozen=True)
class Fit:
    """One fit of a private estimator, made or planned, and what is known of it."""

    name: str
    releases: tuple[Mechanism, ...]
    # Of a planned fit, and of one that carries no mark, there is none.
    fit_id: str | None = None
    # Number of units of privacy, what they are ("row" or "unit"), and what they are called.
    n: int | None = None
    unit: str = "row"
    unit_name: str | None = None
    delta: float | None = None
    version: str | None = None
    # What identifies a seed that regenerates the noise.
    seed: tuple[str, object] | None = None
    # Marks of the private transformers that may have changed its rows; None if nobody knows.
    upstream: tuple[str, ...] | None = None
    # Whether it is a transformer that leaves its mark on what is fitted behind it.
    marks_rows: bool = False
    # What stood before it and let one row move others.
    void_because_of: tuple[str, ...] = ()


@dataclass(frozen=True)
class Account:
    """Noisy fits, and what no promise covers, in the order in which they were met."""

    fits: tuple[Fit, ...] = ()
    gaps: tuple[Gap, ...] = ()


NOTHING = Account()


def side_by_side(*accounts: Account) -> Account:
    """Everything, where nothing stood in front of anything else."""
    return Account(
        tuple(fit for account in accounts for fit in account.fits),
        tuple(dict.fromkeys(gap for account in accounts for gap in account.gaps)),
    )


def in_sequence(*accounts: Account) -> Account:
    """Everything, where each looked at the rows as those before it had changed them."""
    return reduce(_behind, accounts, NOTHING)


def _behind(before: Account, after: Account) -> Account:
    names = tuple(gap.name for gap in before.gaps if gap.voids_what_follows)
    fits = tuple(
        replace(fit, void_because_of=tuple(dict.fromkeys((*fit.void_because_of, *names))))
        for fit in after.fits
    )
    refitted = Account(gaps=tuple(_fitted_again(before.fits, after.fits)))
    return side_by_side(before, replace(after, fits=fits), refitted)


def _fitted_again(before: Iterable[Fit], after: Iterable[Fit]) -> Iterator[Gap]:
    """Parts in front whose present fit is not the one that stood before what follows."""
    for fit in before:
        behind = [late.upstream for late in after if late.upstream is not None]
        if fit.marks_rows and any(fit.fit_id not in upstream for upstream in behind):
            yield Gap(
                f"an earlier fit of {fit.name}",
                "it was fitted again, or replaced, after what stands behind it was fitted to its "
                "rows, and nothing on the object says what that earlier fit released",
                "fitting the whole object again, with clones in the other places",
                has_no_total=True,
            )


def totals_that_do_not_hold(fits: Iterable[Fit]) -> Iterator[Gap]:
    """Entries for costs that cannot be added up: other units, or one noise for several fits."""
    fits = list(fits)
    kinds = {(fit.unit, fit.n) for fit in fits if fit.n is not None}
    # Of rows, those that have no name may be the others' rows; of units, nothing says so.
    names = {fit.unit_name for fit in fits if fit.unit_name is not None or fit.unit == "unit"}
    if len(kinds) > 1 or len({fit.unit for fit in fits}) > 1 or len(names) > 1:
        yield Gap(
            "the unit of privacy",
            "the noisy parts protect different units (rows, people, visits), or were fitted to "
            "different numbers of them, so that nothing is said of any",
            "one privacy_unit for all of them, with skdp.preprocessing.BoundedScaler in front; or "
            "rows throughout",
            has_no_total=True,
        )
    for seed in dict.fromkeys(fit.seed for fit in fits if fit.seed is not None):
        n_fits = sum(fit.seed == seed for fit in fits)
        if n_fits > 1:
            yield Gap(
                f"the noise of {seed[0]}",
                f"{n_fits} fits used one integer or RandomState as random_state (or one that an "
                "ensemble had set), so they share noise, which cancels between their results: no "
                "total holds",
                "random_state=None on every private part",
                has_no_total=True,
            )
