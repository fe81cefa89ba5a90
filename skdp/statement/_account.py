"""What fitted parts did to the rows, and how such records add up.

An account holds every way in which rows took part in noisy releases, since a row that a fold left
out took part in fewer of them than others: the dearest way counts, and which one that is can only
be said of the total. Where the ways become too many, one that has as much of each release as any
of them takes their place, which can only cost more.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_

from skdp.privacy import Gap, Gaussian, NoisyPart, SubsampledGaussian
from skdp.privacy._groups import group_mechanism
from skdp.privacy._mechanism import Mechanism

__all__ = [
    "NOTHING",
    "Account",
    "any_of",
    "copied",
    "expand",
    "in_sequence",
    "one_left_out",
    "releases_of",
    "repeated",
    "together",
    "voided",
]

# More ways than this are replaced by one that is at least as dear.
_MOST_PATTERNS = 64

# A multiset of mechanisms, and what identifies a seed.
Releases = frozenset[tuple[Mechanism, int]]
Seed = tuple[str, object]


def releases_of(mechanisms: Iterable[Mechanism]) -> Releases:
    """Return the multiset of some mechanisms."""
    return frozenset(Counter(mechanisms).items())


@dataclass(frozen=True)
class Account:
    """What one or several fits did to the rows.

    Parameters
    ----------
    patterns : frozenset of multisets of mechanisms
        The ways in which a row, standing once in the data, took part in releases.
    everything : multiset of mechanisms
        All releases, whichever rows they used.
    parts : tuple of NoisyPart
    gaps : tuple of Gap
        In the order in which they were met.
    seeds : multiset of seeds
        How many fits used each seed that stays on an object.
    deltas : frozenset of float
    units : frozenset of str
        The units of privacy of the noisy fits.
    versions : frozenset of str
        The versions of skdp that made them.
    """

    patterns: frozenset[Releases] = frozenset({frozenset()})
    everything: Releases = frozenset()
    parts: tuple[NoisyPart, ...] = ()
    gaps: tuple[Gap, ...] = ()
    seeds: frozenset[tuple[Seed, int]] = frozenset()
    deltas: frozenset[float] = frozenset()
    units: frozenset[str] = frozenset()
    versions: frozenset[str] = frozenset()


NOTHING = Account()


def together(*accounts: Account) -> Account:
    """Everything, where each row was in the data of all of them."""
    return reduce(_both, accounts, NOTHING)


def in_sequence(*accounts: Account) -> Account:
    """Everything, where each looked at the rows as those before it had changed them."""
    total = NOTHING
    for account in accounts:
        movers = (gap.name for gap in total.gaps if gap.voids_what_follows)
        total = together(total, voided(account, movers))
    return total


def repeated(account: Account, times: int) -> Account:
    """The same, `times` times, with each row in the data every time."""
    if times == 0:
        return replace(NOTHING, gaps=account.gaps)
    if len(account.patterns) > 1:
        # By doubling, so that a thousand folds take ten steps.
        half = repeated(account, times // 2)
        return together(half, half, *([account] if times % 2 else []))
    return replace(
        account,
        patterns=frozenset(_scaled(pattern, times) for pattern in account.patterns),
        everything=_scaled(account.everything, times),
        parts=tuple(
            replace(
                part, n_fits=part.n_fits * times, n_fits_of_one_row=part.n_fits_of_one_row * times
            )
            for part in account.parts
        ),
        seeds=_scaled(account.seeds, times),
    )


def one_left_out(accounts: Iterable[Account]) -> Account:
    """Everything, where each row was in the data of all but one of them."""
    counts = Counter(accounts)
    all_fits = together(*(repeated(account, times) for account, times in counts.items()))
    ways = []
    for left_out in counts:
        rest = (
            repeated(account, times - (account == left_out)) for account, times in counts.items()
        )
        ways.append(together(*rest))
    return replace(
        all_fits,
        patterns=_few(frozenset().union(*(way.patterns for way in ways))),
        parts=tuple(_most_of(part, ways) for part in all_fits.parts),
    )


def any_of(accounts: Iterable[Account]) -> Account:
    """One of them, nobody knows which."""
    accounts = list(accounts)
    if not accounts:
        return NOTHING
    all_fits = together(*accounts)
    return replace(
        all_fits,
        patterns=_few(frozenset().union(*(account.patterns for account in accounts))),
        everything=_union(account.everything for account in accounts),
        parts=tuple(_most_of(part, accounts, with_fits=True) for part in all_fits.parts),
        seeds=_union(account.seeds for account in accounts),
    )


def copied(account: Account, copies: int) -> Account:
    """The same, of a row that stood in the data `copies` times, or not at all for 0."""
    if copies == 1:
        return account
    if copies == 0:
        return replace(account, patterns=NOTHING.patterns)
    # The copies need not be left out of the same fold, so no release is without any of them.
    dear = frozenset((group_mechanism(one, copies), times) for one, times in account.everything)
    return replace(
        account,
        patterns=frozenset({dear}),
        everything=dear,
        parts=tuple(replace(part, copies=part.copies * copies) for part in account.parts),
    )


def voided(account: Account, because_of: Iterable[str]) -> Account:
    """The same behind something that lets one row move all others."""
    names = tuple(because_of)
    if not names:
        return account
    parts = tuple(
        replace(part, void_because_of=tuple(dict.fromkeys((*part.void_because_of, *names))))
        for part in account.parts
    )
    return replace(account, parts=parts)


def expand(releases: Releases) -> tuple[Mechanism, ...]:
    """Write a multiset of mechanisms as a sequence, in a fixed order, repeats as steps."""
    mechanisms: list[Mechanism] = []
    for mechanism, times in sorted(releases, key=repr):
        if times == 1:
            mechanisms.append(mechanism)
        elif isinstance(mechanism, Gaussian):
            mechanisms.append(SubsampledGaussian(mechanism.noise_multiplier, 1.0, times))
        else:
            mechanisms.append(replace(mechanism, n_steps=mechanism.n_steps * times))
    return tuple(mechanisms)


def _both(one: Account, other: Account) -> Account:
    return Account(
        patterns=_few(frozenset(_sum(a, b) for a in one.patterns for b in other.patterns)),
        everything=_sum(one.everything, other.everything),
        parts=_merged_parts((*one.parts, *other.parts)),
        gaps=tuple(dict.fromkeys((*one.gaps, *other.gaps))),
        seeds=_sum(one.seeds, other.seeds),
        deltas=one.deltas | other.deltas,
        units=one.units | other.units,
        versions=one.versions | other.versions,
    )


def _sum(one: frozenset, other: frozenset) -> frozenset:
    return frozenset((Counter(dict(one)) + Counter(dict(other))).items())


def _union(multisets: Iterable[frozenset]) -> frozenset:
    """Of each element, as many as the multiset has that holds most of them."""
    return frozenset(reduce(or_, (Counter(dict(one)) for one in multisets)).items())


def _scaled(multiset: frozenset, times: int) -> frozenset:
    return frozenset((element, count * times) for element, count in multiset)


def _few(patterns: frozenset[Releases]) -> frozenset[Releases]:
    if len(patterns) <= _MOST_PATTERNS:
        return patterns
    return frozenset({_union(patterns)})


def _merged_parts(parts: Iterable[NoisyPart]) -> tuple[NoisyPart, ...]:
    """One part a name, with the fits of all that carry it."""
    merged: dict[str, NoisyPart] = {}
    for part in parts:
        same = merged.get(part.name)
        merged[part.name] = part if same is None else _one_part(same, part)
    return tuple(merged.values())


def _one_part(one: NoisyPart, other: NoisyPart) -> NoisyPart:
    return NoisyPart(
        one.name,
        one.n_fits + other.n_fits,
        one.n_fits_of_one_row + other.n_fits_of_one_row,
        tuple(dict.fromkeys((*one.releases, *other.releases))),
        max(one.copies, other.copies),
        tuple(dict.fromkeys((*one.void_because_of, *other.void_because_of))),
    )


def _most_of(part: NoisyPart, ways: Iterable[Account], *, with_fits: bool = False) -> NoisyPart:
    """The part with as many fits of one row as the way that has most of them."""
    same = [other for way in ways for other in way.parts if other.name == part.name]
    part = replace(part, n_fits_of_one_row=max(other.n_fits_of_one_row for other in same))
    return replace(part, n_fits=max(other.n_fits for other in same)) if with_fits else part
