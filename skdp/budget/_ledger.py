"""What stands in a privacy ledger: an account of releases that never changes, only gives new ones.

Public numbers alone: names of classes, mechanisms, and random marks that tell fits apart.
"""

import dataclasses
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from skdp.exceptions import PrivacyError
from skdp.privacy import Gaussian, GroupedGaussian, SubsampledGaussian, get_epsilon
from skdp.privacy._filter import PrivacyFilter
from skdp.privacy._mechanism import Mechanism, merge_mechanisms

__all__ = ["Entry", "Ledger", "dearest_of_all"]

_FORMAT = "skdp privacy ledger, version 1"
_KINDS = {kind.__name__: kind for kind in (Gaussian, GroupedGaussian, SubsampledGaussian)}


@dataclass(frozen=True)
class Entry:
    """One fit, or one that is about to be.

    Parameters
    ----------
    key : str
        Random, to find it again.
    name : str
        Class of what was fitted.
    mechanisms : tuple of mechanisms, or None
        What it released; None for what nothing is promised about.
    reserved : bool
        Whether it was recorded before the fit and not seen since.
    fit_ids : tuple of str
        Marks of the fitted parts, where they carry any.
    """

    key: str
    name: str
    mechanisms: tuple[Mechanism, ...] | None
    reserved: bool = False
    fit_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ledger:
    """Entries, the rule that admits them, and what their epsilon is about.

    Parameters
    ----------
    rule : PrivacyFilter
        Holds the budget; fixed when the ledger is created.
    unit : str
        What one of two neighbouring data sets lacks.
    entries : tuple of Entry
        In the order of recording.
    """

    rule: PrivacyFilter
    unit: str
    entries: tuple[Entry, ...] = ()

    def with_entry(self, entry: Entry) -> Self:
        """The ledger with one more entry, or with another one under an old key."""
        known = any(old.key == entry.key for old in self.entries)
        entries = [entry if old.key == entry.key else old for old in self.entries]
        return dataclasses.replace(self, entries=(*entries, *(() if known else (entry,))))

    def entry(self, key: str) -> Entry | None:
        """The entry with this key, if there is one."""
        return next((entry for entry in self.entries if entry.key == key), None)

    def contains(self, entry: Entry) -> bool:
        """Whether this very fit is recorded: its marks are there, and so is its cost.

        A search carries the mark of its last fit alone, so marks are not enough.
        """
        if not entry.fit_ids:
            return False
        return any(
            set(entry.fit_ids) <= set(old.fit_ids)
            and np.all(self._charge(entry) <= self._charge(old) * (1 + 1e-9))
            for old in self.entries
        )

    def total(self) -> np.ndarray:
        """Sum of the charges, one number a way of counting; infinite where one has no promise."""
        start = np.zeros(1 + len(self.rule.orders))
        return sum((self._charge(entry) for entry in self.entries), start=start)

    def is_within_budget(self) -> bool:
        """Whether all entries together cost at most the budget.

        The rule need not hold for a single entry, since nothing had been seen when it was chosen:
        its exact cost counts. Where the rule did not admit it, it admits no other one after it,
        so that which of the two cases it is was settled before anything was seen.
        """
        if self.rule.holds(self.total()):
            return True
        costly = self._costly()
        return len(costly) == 1 and _epsilon(costly, self.rule.delta) <= self.rule.epsilon

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
        """How often these releases are still admitted; inf where they cost nothing."""
        if not mechanisms:
            return math.inf
        charge = self.rule.charge(mechanisms)
        ways = np.isfinite(charge)
        left = (1.0 - self.total()[ways]) / charge[ways]
        most = int(left.max(initial=0.0))
        if most >= 1 or self._costly():
            return most
        return int(self.with_entry(Entry("", "", mechanisms)).is_within_budget())

    def to_json(self) -> str:
        """Every number exactly, so that the text gives the same ledger again."""
        rule = dataclasses.asdict(self.rule)
        entries = [
            {**vars(entry), "mechanisms": _described(entry.mechanisms)} for entry in self.entries
        ]
        content = {"format": _FORMAT, "rule": rule, "unit": self.unit, "entries": entries}
        return json.dumps(content, indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote."""
        try:
            content = json.loads(text)
            if content["format"] != _FORMAT:
                raise ValueError(f"its format is {content['format']!r}, not {_FORMAT!r}")
            return cls(
                rule=PrivacyFilter(**_with_tuples(content["rule"])),
                unit=str(content["unit"]),
                entries=tuple(_entry(**entry) for entry in content["entries"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise PrivacyError(
                f"this text is not a privacy ledger of this version of skdp: {error}"
            ) from error

    def _charge(self, entry: Entry) -> np.ndarray:
        if entry.mechanisms is None:
            return np.full(1 + len(self.rule.orders), math.inf)
        return self.rule.charge(entry.mechanisms)

    def _costly(self) -> list[Entry]:
        return [entry for entry in self.entries if entry.mechanisms != ()]


def dearest_of_all(patterns: Iterable[tuple[Mechanism, ...]]) -> tuple[Mechanism, ...]:
    """Releases that cost at least as much as each of several, in every way of counting.

    Which rows took part in which releases may differ, and which of them is the dearest depends on
    what they took part in before: so each release counts as often as it does for any of them.
    """
    patterns = [pattern for pattern in patterns if pattern]
    if len(patterns) <= 1:
        return patterns[0] if patterns else ()
    most: dict[tuple[float, ...], GroupedGaussian] = {}
    for part in (part for pattern in patterns for part in merge_mechanisms(pattern)):
        # Of what uses all rows there is one part a pattern: the one with the least noise counts.
        all_rows = part.sample_rate == 1
        kind = () if all_rows else (part.noise_multiplier, part.sample_rate, part.group_size)
        old = most.get(kind, part)
        keeps_old = (
            old.noise_multiplier < part.noise_multiplier if all_rows else old.n_steps > part.n_steps
        )
        most[kind] = old if keeps_old else part
    return tuple(most.values())


def _epsilon(entries: Iterable[Entry], delta: float) -> float:
    """Of all of them, composed; inf where one has no promise."""
    mechanisms = [entry.mechanisms for entry in entries]
    if None in mechanisms:
        return math.inf
    together = [mechanism for part in mechanisms for mechanism in part]
    return get_epsilon(together, delta) if together else 0.0


def _described(mechanisms: tuple[Mechanism, ...] | None) -> list[dict[str, Any]] | None:
    if mechanisms is None:
        return None
    return [{"kind": type(part).__name__, **dataclasses.asdict(part)} for part in mechanisms]


def _entry(mechanisms: list[dict[str, Any]] | None, **rest: Any) -> Entry:
    if mechanisms is not None:
        mechanisms = tuple(_mechanism(**part) for part in mechanisms)
    return Entry(mechanisms=mechanisms, **_with_tuples(rest))


def _mechanism(kind: str, **numbers: float) -> Mechanism:
    if kind not in _KINDS:
        raise ValueError(f"unknown mechanism {kind!r}")
    return _KINDS[kind](**numbers)


def _with_tuples(values: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
