"""What stands in a privacy ledger: an account of releases that never changes, only gives new ones.

Public numbers alone: names of classes, mechanisms, and random marks that tell fits apart. Records
are only ever added, each with a hash over itself and all before it, so that a text in which one was
lost or changed is not taken for a ledger. What counts under a key is its last record.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import secrets
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from skdp.exceptions import PrivacyError, shown
from skdp.privacy import Gaussian, GroupedGaussian, SubsampledGaussian, get_epsilon
from skdp.privacy._filter import PrivacyFilter
from skdp.privacy._mechanism import Mechanism
from skdp.statement._account import Fit

__all__ = ["Entry", "Ledger", "releases_of"]

_FORMAT = "skdp privacy ledger, version 2"
_KINDS = {kind.__name__: kind for kind in (Gaussian, GroupedGaussian, SubsampledGaussian)}
# Of more fits than this it is not counted one by one how many are admitted.
_MOST_COUNTED = 10**6


@dataclass(frozen=True)
class Entry:
    """One fit, or one that is about to be.

    Parameters
    ----------
    key : str
        Random, to find it again: the mark of a fit, or the name of a reservation.
    name : str
        Class of what was fitted.
    mechanisms : tuple of mechanisms, or None
        What it released; None for what nothing is promised about.
    state : {"reserved", "begun", "fitted", "settled"}
        A reservation, a fit that was begun and not seen since, one that ended well, or a
        reservation in whose place its fits stand.
    is_seeded : bool
        Whether a seed regenerates its noise.
    n : int or None
        Number of units of privacy of the fit.
    unit_name : str or None
        What a unit is.
    group : str or None
        The reservation in whose place it stands, if it is just what was reserved: such fits were
        chosen together, and count as one.
    """

    key: str
    name: str
    mechanisms: tuple[Mechanism, ...] | None
    state: str = "fitted"
    is_seeded: bool = False
    n: int | None = None
    unit_name: str | None = None
    group: str | None = None


@dataclass(frozen=True)
class Ledger:
    """Records, the rule that admits fits, and what their epsilon is about.

    Parameters
    ----------
    rule : PrivacyFilter
        Holds the budget; fixed when the ledger is created.
    unit : str
        What one of two neighbouring data sets lacks.
    mark : str
        Random, drawn when the ledger was created.
    unit_name : str or None
        What a unit is, where that was said when the ledger was created.
    records : tuple of Entry
        In the order of recording.
    """

    rule: PrivacyFilter
    unit: str
    mark: str
    unit_name: str | None = None
    records: tuple[Entry, ...] = ()

    def with_records(self, *new: Entry) -> Self:
        """The ledger with more records."""
        return dataclasses.replace(self, records=(*self.records, *new))

    @cached_property
    def entries(self) -> dict[str, Entry]:
        """The last record under each key, in the order of the first ones."""
        return {record.key: record for record in self.records}

    @cached_property
    def hashes(self) -> tuple[str, ...]:
        """Of each record, a hash over what the ledger is about and all records up to it."""
        chain = [_hash("", self._subject())]
        for record in self.records:
            chain.append(_hash(chain[-1], _as_dict(record)))
        return tuple(chain[1:])

    def _subject(self) -> dict[str, Any]:
        """What never changes."""
        return {
            "rule": dataclasses.asdict(self.rule),
            "unit": self.unit,
            "unit_name": self.unit_name,
            "mark": self.mark,
        }

    def continues(self, earlier: Self) -> bool:
        """Whether this is what became of an earlier ledger."""
        return (
            self._subject() == earlier._subject()
            and self.records[: len(earlier.records)] == earlier.records
        )

    def total(self) -> np.ndarray:
        """Sum of the charges, one number a way of counting; infinite where one has no promise."""
        start = np.zeros(1 + len(self.rule.orders))
        return sum((self._charge(entry) for entry in self.entries.values()), start=start)

    def is_within_budget(self) -> bool:
        """Whether all entries together cost at most the budget.

        The rule need not hold for a single entry, since nothing had been seen when it was chosen:
        its exact cost counts. Where the rule did not admit it, it admits no other one after it,
        so that which of the two cases it is was settled before anything was seen.
        """
        if self.rule.holds(self.total()):
            return True
        costly = self._costly()
        groups = {entry.group or entry.key for entry in costly}
        return len(groups) == 1 and _epsilon(costly, self.rule.delta) <= self.rule.epsilon

    def n_seeded(self) -> int:
        """How many fits used a seed."""
        return sum(entry.is_seeded for entry in self.entries.values())

    def new_entries(self, fit: Fit) -> list[Entry]:
        """What a fit adds, which may be known by its mark and by what was charged for it."""
        made = Entry(
            fit.fit_id or secrets.token_hex(8),
            fit.name.split()[0],
            fit.releases,
            n=fit.n,
            unit_name=fit.unit_name,
        )
        known = self.entries.get(made.key)
        if known is None:
            return [made]
        if known.mechanisms == made.mechanisms:
            changed = dataclasses.replace(known, state="fitted")
            return [] if changed == known else [changed]
        # One mark, and other releases than those that were charged: a fit of its own.
        return [dataclasses.replace(made, key=secrets.token_hex(8))]

    def name_of_units(self) -> str | None:
        """What a unit is, as was said when the ledger was created, or by the first fit."""
        names = (self.unit_name, *(entry.unit_name for entry in self.entries.values()))
        return next((name for name in names if name is not None), None)

    def why_not_of_one_kind(self, unit: str, unit_name: str | None, n: int | None) -> str | None:
        """Why a fit cannot be on this ledger, since it protects other units; None if it can."""
        if unit != self.unit:
            return f"it protects every single {unit}, and the ledger every single {self.unit}"
        fits = [entry for entry in self.entries.values() if entry.n is not None]
        ours = self.name_of_units()
        if unit_name is not None and ours is not None and unit_name != ours:
            return f"it protects every single {unit_name}, and the ledger every single {ours}"
        if unit == "row" or unit_name == ours is not None:
            return None
        remedy = "say what a unit is, unit_name=..., with one name in all fits of one ledger"
        if unit_name != ours and (fits or ours is not None):
            return (
                f"of the fits of one ledger some have units with a name and some without: {remedy}"
            )
        if any(entry.n != n for entry in fits):
            return (
                "a fit before had another number of units, and neither has a name, so that they "
                f"may be people and visits: {remedy}"
            )
        return None

    def share_spent(self) -> float:
        """Part of the budget that is gone: above 1 where it is overspent."""
        share = float(np.min(self.total()))
        return min(1.0, share) if self.is_within_budget() else share

    def epsilon_if_fixed(self) -> float:
        """What the releases would cost, had they all been chosen before the first was made."""
        return _epsilon(self._costly(), self.rule.delta)

    def largest_gaussian(self) -> float:
        """Epsilon of the largest release over all rows that is still admitted."""
        if not self._costly():
            return self.rule.epsilon
        return self.rule.largest_gaussian(self.total())

    def how_many(self, mechanisms: tuple[Mechanism, ...]) -> float:
        """How often these releases are still admitted; inf where they cost nothing.

        Counted by the sums that `total` would make, so that both agree to the last fit.
        """
        if not mechanisms:
            return math.inf
        charge = self.rule.charge(mechanisms)
        total = self.total()
        ways = np.isfinite(charge) & np.isfinite(total)
        most = int(((1.0 - total[ways]) / charge[ways]).max(initial=0.0))
        if most < _MOST_COUNTED:
            steps = np.cumsum(
                np.vstack([total[ways], np.tile(charge[ways], (most + 1, 1))]), axis=0
            )
            most = int((steps[1:] <= 1.0).sum(axis=0).max(initial=0))
        if most >= 1 or self._costly():
            return most
        return int(self.with_records(Entry("", "", mechanisms)).is_within_budget())

    def to_json(self) -> str:
        """Every number exactly, so that the text gives the same ledger again."""
        content = {
            "format": _FORMAT,
            **self._subject(),
            "records": [
                {**_as_dict(record), "hash": mark}
                for record, mark in zip(self.records, self.hashes, strict=True)
            ],
        }
        return json.dumps(content, indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote.

        Raises
        ------
        PrivacyError
            Where it is no such text, and where records were lost or changed.
        """
        try:
            content = json.loads(text)
            if content["format"] != _FORMAT:
                raise ValueError(f"its format is {shown(content['format'])}, not {_FORMAT!r}")
            hashes = [record.pop("hash") for record in content["records"]]
            ledger = cls(
                rule=PrivacyFilter(**_with_tuples(content["rule"])),
                unit=str(content["unit"]),
                mark=str(content["mark"]),
                unit_name=content["unit_name"],
                records=tuple(_entry(**record) for record in content["records"]),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise PrivacyError(
                f"this text is not a privacy ledger of this version of skdp: {error}"
            ) from error
        if list(ledger.hashes) != hashes:
            raise PrivacyError(
                "this ledger was changed by hand or damaged: its records do not fit the hashes "
                "beside them. Put back the newest copy that is whole, and spend() what was fitted "
                "since; without one, take everything as spent"
            )
        return ledger

    def _charge(self, entry: Entry) -> np.ndarray:
        if entry.mechanisms is None:
            return np.full(1 + len(self.rule.orders), math.inf)
        return self.rule.charge(entry.mechanisms)

    def _costly(self) -> list[Entry]:
        return [entry for entry in self.entries.values() if entry.mechanisms != ()]


def releases_of(entries: Iterable[Entry]) -> Counter[Mechanism]:
    """All releases of some entries, in no order."""
    return Counter(mechanism for entry in entries for mechanism in entry.mechanisms or ())


def _epsilon(entries: Iterable[Entry], delta: float) -> float:
    """Of all of them, composed; inf where one has no promise."""
    composed: list[Mechanism] = []
    for entry in entries:
        if entry.mechanisms is None:
            return math.inf
        composed += entry.mechanisms
    return get_epsilon(composed, delta) if composed else 0.0


def _hash(before: str, content: dict[str, Any]) -> str:
    text = before + json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _as_dict(entry: Entry) -> dict[str, Any]:
    releases = None
    if entry.mechanisms is not None:
        releases = [{"kind": type(one).__name__, **vars(one)} for one in entry.mechanisms]
    return {**vars(entry), "mechanisms": releases}


def _entry(mechanisms: list[dict[str, Any]] | None, **rest: Any) -> Entry:
    releases = None if mechanisms is None else tuple(_mechanism(**part) for part in mechanisms)
    return Entry(mechanisms=releases, **rest)


def _mechanism(kind: str, **numbers: Any) -> Mechanism:
    if kind not in _KINDS:
        raise ValueError(f"unknown mechanism {shown(kind)}")
    return _KINDS[kind](**numbers)


def _with_tuples(values: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
