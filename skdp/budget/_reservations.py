"""Reservations: what a fit that is yet to be made will release, and which one a fit settles.

They stand in the ledger as entries like others. For which object each was made is kept beside it,
for this process alone.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

from skdp.budget._ledger import Ledger
from skdp.budget._ledger_text import unplanned
from skdp.exceptions import PrivacyError, shown
from skdp.privacy._mechanism import Mechanism
from skdp.statement._account import Fit
from skdp.statement._known import parts_inside
from skdp.statement._privacy_statement import planned_fits

__all__ = [
    "Reservations",
    "check_enters_nothing_itself",
    "fits_to_reserve",
    "releases_without_entry",
]


def check_enters_nothing_itself(estimator: Any) -> None:
    """Refuse a model with a part that carries a budget: its fit would count twice."""
    for part in parts_inside(estimator):
        if hasattr(type(part), "_privacy_releases") and getattr(part, "budget", None):
            raise ValueError(
                f"{type(part).__name__} carries a budget, in which its fit enters itself: "
                "reserve models without one, or fit this one as it is"
            )


def fits_to_reserve(estimator: Any, **sizes: Any) -> tuple[Fit, ...]:
    """The noisy fits that a model would make on data of these sizes, each with a promise.

    Parameters
    ----------
    estimator : estimator
        Not looked at as a fitted one, but for its frozen parts.
    **sizes : dict
        As for `planned_fits`.

    Returns
    -------
    fits : tuple of Fit
        As they are planned.

    Raises
    ------
    PrivacyError
        Where one of them would have no promise.
    """
    account = planned_fits(estimator, **sizes)
    if account.gaps:
        raise PrivacyError(unplanned(type(estimator).__name__, account.gaps))
    return tuple(account.fits)


def releases_without_entry(fits: Iterable[Fit], ledger: Ledger) -> tuple[Mechanism, ...]:
    """What planned fits add to a ledger; those of frozen parts may be recorded there already."""
    known = ledger.entries
    return tuple(
        mechanism
        for fit in fits
        if fit.fit_id is None or fit.fit_id not in known
        for mechanism in fit.releases
    )


class Reservations:
    """For which objects of this process reservations were made; it keeps none of them alive."""

    def __init__(self) -> None:
        self._made: list[tuple[weakref.ref[Any], str]] = []

    def note(self, estimator: Any, key: str) -> None:
        """Remember for which object a reservation was made."""
        self._made.append((weakref.ref(estimator), key))

    def settled_by(self, fitted: Any, ledger: Ledger, key: str | None) -> str | None:
        """The key of the open reservation that a fit settles, if any.

        Parameters
        ----------
        fitted : estimator
            What was fitted.
        ledger : Ledger
            In which the reservation stands.
        key : str or None
            The reservation that the caller names; None is one made for this very object.

        Returns
        -------
        key : str or None
            None where there is none.

        Raises
        ------
        ValueError
            Where the one that is named is not open, or was made for another class.
        """
        if key is not None:
            entry = ledger.entries.get(key)
            if entry is None or entry.state != "reserved":
                raise ValueError(
                    f"reservation={shown(key)} is no open reservation of this ledger: leave it out "
                    "to record the fit as one that was not reserved"
                )
            if entry.name != type(fitted).__name__:
                raise ValueError(
                    f"reservation={shown(key)} was made for {entry.name}, and this is "
                    f"{type(fitted).__name__}: leave it out to record the fit as one that was not "
                    "reserved"
                )
            return key
        for reference, own_key in self._made:
            entry = ledger.entries.get(own_key)
            if reference() is fitted and entry is not None and entry.state == "reserved":
                return own_key
        return None
