"""PrivacyBudget: one ledger for everything that is fitted on the same rows."""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from pickle import PicklingError
from typing import Any, Self

from sklearn.base import clone

from skdp.budget._ledger import Entry, Ledger, releases_of
from skdp.budget._ledger_file import LockedFile, check_path
from skdp.budget._ledger_text import (
    entry_lines,
    in_short,
    lack_of_promise,
    overspending,
    refusal,
    summary_lines,
)
from skdp.budget._reservations import (
    Reservations,
    check_enters_nothing_itself,
    fits_to_reserve,
    releases_without_entry,
)
from skdp.exceptions import BudgetExhaustedError, PrivacyError, PrivacyWarning, shown
from skdp.privacy._filter import make_filter
from skdp.privacy._mechanism import Mechanism
from skdp.privacy._promise import digits_up
from skdp.statement._known import is_a, parts_inside
from skdp.statement._privacy_statement import fits_of

__all__ = ["PrivacyBudget"]

_UNITS = ("row", "unit")
# Epsilon, delta, unit and its name: what a ledger is about.
_Subject = tuple[float, float, str, str | None]


class PrivacyBudget:
    """A ledger of what is spent on one data set, by fits chosen one after the other.

    Private estimators take it as their parameter `budget`; `attach` sets it in all parts of a
    model. Each `fit` then enters its whole plan before it reads a row, or is refused where the
    budget does not pay for it. So the fits of a search, of cross-validation, of any meta-estimator
    and of any loop are counted as they happen:

    - As long as `overspent` is False, everything entered is, together,
      (`epsilon`, `delta`)-differentially private, however each fit was chosen after the last.
    - What was entered counts, whether its fit ended well, failed or was interrupted.
    - Clones and copies share the ledger. With `path`, worker processes share it as well; a ledger
      in memory refuses to be pickled. A pickle of a model that carries it has its path and its
      settings, and nothing of its content.
    - A fit counts once. `spend` records what was fitted without it, `reserve` sets something aside.

    An analyst looks at one model and then decides what to fit next, so the costs of separate
    fits do not just compose as if they had been chosen together. This ledger adds them up by a
    rule that holds all the same, a privacy filter: for fits on all rows at every step, mu^2 of
    Gaussian differential privacy is added up, and 4 to 11 % fewer of them are admitted than could
    have been fixed in advance. With smaller batches it is Renyi divergences, at orders fixed when
    the ledger is created, and 15 to 35 % fewer, or only few where rare batches meet little noise. A
    single fit may always take the whole budget, by its exact cost.

    What it does not know: fits without it, anything else that was computed from the rows, choices
    made by looking at scores on them, a row that stands several times in what a fit is given (as in
    bootstrap samples), and whether two fits were given the same rows.

    Parameters
    ----------
    epsilon : float
        The budget of everything together, above 0.
    delta : float
        What may be added to a probability beyond the factor exp(epsilon), strictly between 0 and 1;
        less than one over the number of rows. The deltas of the estimators do not matter: all they
        release is priced at this one.
    unit : {"row", "unit"}, default="row"
        Whose data are protected: a row's, or all rows of one unit of `privacy_unit`, such as a
        person. Fits with another unit than the ledger's cannot be on it.
    unit_name : str or None, default=None
        What a unit is, such as "patient". None takes the name that the first fit has. Fits with
        another one are refused. Units without a name must be as many in all fits.
    path : str, path-like or None, default=None
        A JSON file that holds the ledger, made where there is none, so that several processes
        share one budget: each change is made under a lock, and read and written as a whole. An
        existing file must be about the same budget. None keeps the ledger in memory.

    Attributes
    ----------
    overspent : bool
        Whether the promise no longer holds: more was spent, or something without a promise, or a
        fit used a seed (`random_state`), which regenerates its noise.
    share_spent : float
        Part of the budget that is gone, reservations included; above 1 where it is overspent.
    epsilon_if_fixed : float
        What the same fits would cost at `delta`, had they all been chosen before the first one
        was made; below `epsilon`, as a rule, while the budget holds.

    See Also
    --------
    skdp.privacy_statement : What one object costs by itself, also before it is fitted.
    skdp.privacy.group_epsilon : What releases cost somebody who has several rows.

    References
    ----------
    .. [1] Feldman and Zrnic (2021), "Individual Privacy Accounting via a Renyi Filter",
       arXiv:2008.11193.
    .. [2] Lecuyer (2021), "Practical Privacy Filters and Odometers with Renyi Differential
       Privacy", arXiv:2103.01379.
    .. [3] Smith and Thakurta (2022), "Fully Adaptive Composition for Gaussian Differential
       Privacy", arXiv:2210.17520.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_val_score
    >>> from skdp import DPSGDClassifier, PrivacyBudget
    >>> from skdp.preprocessing import BoundedScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = BoundedScaler(bounds=(0, 4000)).fit_transform(X)
    >>> budget = PrivacyBudget(epsilon=2.0, delta=1e-5)
    >>> model = DPSGDClassifier(epsilon=0.5, budget=budget)
    >>> scores = cross_val_score(model, X, y, cv=3)
    >>> print(f"{budget.share_spent:.0%} spent, {budget.remaining():.1f} remains")
    26% spent, 1.6 remains
    >>> budget.remaining_fits(DPSGDClassifier(epsilon=0.5), n_rows=569, n_features=30)
    8
    """

    __module__ = "skdp"

    # What is entered in it is no part of the estimators that carry it.
    _holds_no_parts = True
    # What this object saw last: the ledger itself where it is in memory.
    _seen: Ledger | None

    def __init__(
        self,
        epsilon: float,
        delta: float,
        *,
        unit: str = "row",
        unit_name: str | None = None,
        path: str | os.PathLike[str] | None = None,
    ):
        if not isinstance(unit, str) or unit not in _UNITS:
            raise ValueError(f"unit must be one of {_UNITS}; got {shown(unit)}")
        if not (unit_name is None or isinstance(unit_name, str)):
            raise ValueError(f"unit_name must be a text or None; got {shown(unit_name)}")
        check_path(path)
        ledger = Ledger(make_filter(epsilon, delta), unit, secrets.token_hex(8), unit_name)
        self._begin(ledger, path)

    @property
    def epsilon(self) -> float:
        """The budget of everything together."""
        return self._asked[0]

    @property
    def delta(self) -> float:
        """What may be added to a probability beyond the factor exp(epsilon)."""
        return self._asked[1]

    @property
    def unit(self) -> str:
        """Whose data are protected."""
        return self._asked[2]

    @property
    def overspent(self) -> bool:
        """Whether the promise no longer holds."""
        ledger = self._read()
        return not ledger.is_within_budget() or ledger.n_seeded() > 0

    @property
    def share_spent(self) -> float:
        """Part of the budget that is gone, reservations included."""
        return self._read().share_spent()

    @property
    def epsilon_if_fixed(self) -> float:
        """What the fits would cost, had they all been chosen in advance."""
        return self._read().epsilon_if_fixed()

    def attach(self, model: Any) -> Any:
        """Return a clone of a model with this budget in every private part, however deep.

        Parameters
        ----------
        model : estimator
            Any: a pipeline, a search with candidates that are estimators, a meta-estimator that
            nobody knows. It stays as it is. What a `FrozenEstimator` holds is fitted already, and
            shared, so it stays as it is as well.

        Returns
        -------
        clone : estimator
            Not fitted.

        Raises
        ------
        ValueError
            Where no part is private.
        TypeError
            Where a private part has no parameter `budget`, so that its fits would not be counted.

        Examples
        --------
        >>> from sklearn.model_selection import GridSearchCV
        >>> from skdp import DPSGDClassifier, PrivacyBudget
        >>> budget = PrivacyBudget(epsilon=3.0, delta=1e-5)
        >>> search = budget.attach(GridSearchCV(DPSGDClassifier(), {"alpha": [0.0, 0.1]}))
        >>> search.estimator.budget is budget
        True
        """
        copy = clone(model)
        inside = list(parts_inside(copy))
        frozen = [part for part in inside if is_a(part, "sklearn.frozen.FrozenEstimator")]
        left_alone = {id(one) for part in frozen for one in parts_inside(part)}
        private = [
            part
            for part in inside
            if hasattr(type(part), "_privacy_releases") and id(part) not in left_alone
        ]
        if not private:
            raise ValueError(f"{type(model).__name__} has no private part to attach a budget to")
        for part in private:
            if "budget" not in part.get_params(deep=False):
                raise TypeError(
                    f"{type(part).__name__} has no parameter budget, so its fits would not be "
                    "counted: spend() them after each fit"
                )
            part.budget = self
        return copy

    def enter(
        self,
        name: str,
        mechanisms: Iterable[Mechanism],
        *,
        fit_id: str,
        n: int | None = None,
        unit: str = "row",
        unit_name: str | None = None,
        is_seeded: bool = False,
    ) -> None:
        """Enter a fit that begins, or refuse it; private estimators call it in `fit`.

        Parameters
        ----------
        name : str
            Class of the estimator.
        mechanisms : iterable of mechanisms
            All that the fit will release.
        fit_id : str
            Random mark of the fit.
        n : int or None, default=None
            Number of rows, or units, of the fit.
        unit : {"row", "unit"}, default="row"
            Whom the fit protects.
        unit_name : str or None, default=None
            What a unit is.
        is_seeded : bool, default=False
            Whether a seed regenerates its noise.

        Raises
        ------
        skdp.exceptions.BudgetExhaustedError
            If it does not fit. The ledger is then as it was.
        skdp.exceptions.PrivacyError
            If it protects other units than the ledger does.
        """
        entry = Entry(fit_id, name, tuple(mechanisms), "begun", is_seeded, n, unit_name)
        self._admit(entry, unit)

    def settle(self, fit_id: str) -> None:
        """Note that an entered fit ended well; private estimators call it in `fit`.

        Parameters
        ----------
        fit_id : str
            As it was entered.
        """

        def ended(ledger: Ledger) -> Ledger:
            if fit_id not in ledger.entries:
                raise PrivacyError(f"fit_id={shown(fit_id)} was never entered in this ledger")
            return ledger.with_records(replace(ledger.entries[fit_id], state="fitted"))

        self._change(ended)

    def reserve(
        self,
        estimator: Any,
        n_rows: int,
        *,
        n_features: int | None = None,
        n_classes: int | None = None,
        X_sample: Any = None,
    ) -> str:
        """Record a fit that is about to be made, or refuse it.

        One reservation is for one fit. It counts from now on, whether the fit is made or not, and
        `spend` puts what was really fitted in its place.

        Parameters
        ----------
        estimator : estimator
            Whatever `skdp.privacy_statement` covers. It need not be fitted, and its private parts
            must not carry a budget, since their fits then enter themselves.
        n_rows : int
            Rows that it will be fitted on; units, where `unit="unit"`.
        n_features : int or None, default=None
            Columns; needed where settings left at "auto" depend on them.
        n_classes : int or None, default=None
            Classes, where the estimator's `classes` does not declare them; None is two.
        X_sample : array-like or frame, default=None
            A few made-up rows, which tell how many columns an encoder makes.

        Returns
        -------
        key : str
            Names the reservation, for `spend` in another process.

        Raises
        ------
        skdp.exceptions.BudgetExhaustedError
            If it does not fit. The ledger is then as it was.
        skdp.exceptions.PrivacyError
            If the fit would have no promise, for each reason that the statement of the plan lists:
            with a seed, with a step in front that looks at the rows without noise, with fits on
            folds, or with a step that protects rows where the ledger is about units.
        ValueError
            If a size is needed and missing, or `fit` itself would refuse.

        Warns
        -----
        skdp.exceptions.PrivacyWarning
            When `delta` is at least one over the number of rows.

        See Also
        --------
        spend : Puts what was fitted in the place of the reservation.
        remaining_fits : How many such fits the budget still pays for.
        skdp.privacy_statement : What such a fit would promise by itself.

        Examples
        --------
        >>> from skdp import DPSGDClassifier, PrivacyBudget
        >>> budget = PrivacyBudget(epsilon=1.0, delta=1e-5)
        >>> key = budget.reserve(DPSGDClassifier(epsilon=1.0), n_rows=1000, n_features=20)
        >>> budget.remaining()
        0.0
        """
        check_enters_nothing_itself(estimator)
        mechanisms = self._planned(
            estimator,
            n_rows=n_rows,
            n_features=n_features,
            n_classes=n_classes,
            X_sample=X_sample,
        )
        if self.delta >= 1.0 / n_rows:
            warnings.warn(
                f"delta={digits_up(self.delta, 4)} is at least 1 / n_rows ({n_rows} rows): "
                "publishing a random row would pass as private; keep a ledger with a smaller delta",
                PrivacyWarning,
                stacklevel=2,
            )
        entry = Entry(secrets.token_hex(8), type(estimator).__name__, mechanisms, "reserved")
        self._admit(entry, self.unit)
        self._reservations.note(estimator, entry.key)
        return entry.key

    def spend(self, fitted: Any, *, reservation: str | None = None) -> None:
        """Record what has been fitted without this budget, whether it pays for it or not.

        Every noisy fit that the object holds is one entry. In the place of a reservation, where it
        has one: the one that is named, or one made for this very object in this process. A
        reservation is settled by one fit; what was really released counts. A fit that is already
        recorded, or that entered itself, changes nothing.

        Parameters
        ----------
        fitted : estimator, Pipeline or other fitted object
            As `skdp.privacy_statement` takes it.
        reservation : str or None, default=None
            The key that `reserve` returned. Needed where the object is a clone or a copy, as it is
            in another process.

        Raises
        ------
        skdp.exceptions.BudgetExhaustedError
            If the budget does not pay for it. It is recorded all the same.
        skdp.exceptions.PrivacyError
            If nothing is promised about it, or only to other units than the ledger's. Then no
            promise holds for the ledger either: it is overspent for good.
        ValueError
            If there is no open reservation of that key, or one of another class. Nothing is
            recorded then.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.preprocessing import StandardScaler
        >>> from skdp import PrivacyBudget
        >>> budget = PrivacyBudget(epsilon=1.0, delta=1e-5)
        >>> X, y = load_iris(return_X_y=True)
        >>> try:
        ...     budget.spend(StandardScaler().fit(X))
        ... except ValueError as error:
        ...     print(str(error).split(":")[0])
        StandardScaler has no promise
        >>> budget.overspent
        True
        """
        account = fits_of(fitted)
        name = type(fitted).__name__
        reasons = [f"{gap.name} ({gap.reason})" for gap in account.gaps]

        def record(ledger: Ledger) -> Ledger:
            key = self._reservations.settled_by(fitted, ledger, reservation)
            settled = [] if key is None else [Entry(key, name, (), "settled")]
            new = [entry for fit in account.fits for entry in ledger.new_entries(fit)]
            if key is not None and releases_of(new) == releases_of([ledger.entries[key]]):
                new = [replace(entry, group=key) for entry in new]
            for fit in account.fits:
                why = ledger.why_not_of_one_kind(fit.unit, fit.unit_name, fit.n)
                reasons.extend([] if why is None else [why])
            if reasons:
                marks = [fit.fit_id or secrets.token_hex(8) for fit in account.fits]
                key = "no promise " + ("+".join(marks) or secrets.token_hex(8))
                new += [] if key in ledger.entries else [Entry(key, name, None)]
            return ledger.with_records(*settled, *new) if settled or new else ledger

        before, after = self._change(record)
        if after is before:
            return
        if reasons:
            raise PrivacyError(lack_of_promise(name, reasons))
        if not after.is_within_budget():
            raise BudgetExhaustedError(overspending(name, after))

    def remaining(self) -> float:
        """Epsilon that is left for one more fit on all rows.

        Returns
        -------
        epsilon : float
            Anything over all rows that costs at most this much at `delta` is still admitted. 0
            where nothing is left. With smaller batches somewhat less is: `remaining_fits` tells.

        Examples
        --------
        >>> from skdp import PrivacyBudget
        >>> PrivacyBudget(epsilon=1.0, delta=1e-5).remaining()
        1.0
        """
        return self._read().largest_gaussian()

    def remaining_fits(
        self,
        estimator: Any,
        n_rows: int,
        *,
        n_features: int | None = None,
        n_classes: int | None = None,
        X_sample: Any = None,
    ) -> float:
        """How many more fits of this kind `reserve` would admit.

        A model with several private parts is reserved as a whole. With the budget attached, its
        parts enter one after the other, and the last of them may be refused.

        Parameters
        ----------
        estimator : estimator
            As for `reserve`.
        n_rows : int
            As for `reserve`.
        n_features : int or None, default=None
            As for `reserve`.
        n_classes : int or None, default=None
            As for `reserve`.
        X_sample : array-like or frame, default=None
            As for `reserve`.

        Returns
        -------
        n_fits : int
            Or inf where a fit costs nothing.

        Examples
        --------
        >>> from skdp import DPSGDClassifier, PrivacyBudget
        >>> budget = PrivacyBudget(epsilon=3.0, delta=1e-5)
        >>> model = DPSGDClassifier(noise_multiplier=5, batch_size=64, n_epochs=15)
        >>> budget.remaining_fits(model, n_rows=1250)
        12
        """
        mechanisms = self._planned(
            estimator,
            n_rows=n_rows,
            n_features=n_features,
            n_classes=n_classes,
            X_sample=X_sample,
        )
        return self._read().how_many(mechanisms)

    def to_json(self) -> str:
        """Return the ledger as a JSON text, without any value taken from data.

        Returns
        -------
        text : str
            Every number exactly.

        Examples
        --------
        >>> from skdp import PrivacyBudget
        >>> text = PrivacyBudget(epsilon=1.0, delta=1e-5).to_json()
        >>> PrivacyBudget.from_json(text).epsilon
        1.0
        """
        return self._read().to_json()

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the ledger that `to_json` wrote, in memory.

        Parameters
        ----------
        text : str
            What `to_json` returned.

        Returns
        -------
        budget : PrivacyBudget
            With the same entries. Nothing connects it with the one that wrote the text: of what
            either spends from now on, the other knows nothing.

        Raises
        ------
        skdp.exceptions.PrivacyError
            If the text is no ledger.

        Examples
        --------
        >>> from skdp import PrivacyBudget
        >>> print(PrivacyBudget.from_json(PrivacyBudget(1.0, 1e-5, unit="unit").to_json()))
        Privacy budget: epsilon 1 at delta 1e-05, for every single unit.
        Nothing is spent.
        """
        budget = cls.__new__(cls)
        budget._begin(Ledger.from_json(text), None)
        return budget

    def in_short(self, fit_ids: Iterable[str] = ()) -> str:
        """One line on the ledger, for a statement.

        Parameters
        ----------
        fit_ids : iterable of str, default=()
            Marks of fits that are said to be missing where they are not in the ledger.

        Returns
        -------
        text : str
            How many fits it has, its budget, and how much of it is spent; or why it cannot be read.

        Examples
        --------
        >>> from skdp import PrivacyBudget
        >>> print(PrivacyBudget(epsilon=1.0, delta=1e-5).in_short())
        The ledger in memory: 0 fits, within epsilon 1 at delta 1e-05, 0.0% of it spent.
        """
        where = "in memory" if self._file is None else f"in {str(self._file.path)!r}"
        try:
            return in_short(self._read(), where, fit_ids)
        except (OSError, PrivacyError) as error:
            return f"The ledger {where} cannot be read here ({type(error).__name__})."

    def __repr__(self) -> str:
        path = "" if self._file is None else f", path={str(self._file.path)!r}"
        return (
            f"PrivacyBudget(epsilon={self.epsilon}, delta={self.delta}, unit={self.unit!r}{path})"
        )

    def __str__(self) -> str:
        ledger = self._read()
        who = ledger.name_of_units() or self.unit
        epsilon, delta = digits_up(self.epsilon, 6), digits_up(self.delta)
        title = f"Privacy budget: epsilon {epsilon} at delta {delta}, for every single {who}."
        return "\n".join([title, *entry_lines(ledger), *summary_lines(ledger)])

    def __copy__(self) -> Self:
        # A second ledger would know nothing of the first.
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> Any:
        if self._file is None:
            raise PicklingError(
                "a PrivacyBudget in memory cannot be pickled, since its copy would know nothing of "
                "what is spent here: give it path=... to share it with worker processes, files "
                "and the cache of Pipeline(memory=...), or take it off what is pickled with "
                "set_params(budget=None)"
            )
        return _at_path, (*self._asked, str(self._file.path))

    def _begin(self, ledger: Ledger, path: str | os.PathLike[str] | None) -> None:
        rule = ledger.rule
        self._prepare((rule.epsilon, rule.delta, ledger.unit, ledger.unit_name), path)
        if self._file is None:
            self._seen = ledger
            return
        with self._file.locked():
            if not self._file.exists():
                self._file.write(ledger.to_json())
                self._seen = ledger
        self._read()

    def _prepare(self, asked: _Subject, path: str | os.PathLike[str] | None) -> None:
        self._asked = asked
        self._file = None if path is None else LockedFile(path)
        self._lock = threading.RLock()
        self._is_changing = False
        self._seen = None
        self._process = os.getpid()
        self._reservations = Reservations()

    def _planned(self, estimator: Any, **sizes: Any) -> tuple[Mechanism, ...]:
        fits = fits_to_reserve(estimator, unit=self.unit, **sizes)
        return releases_without_entry(fits, self._read())

    def _admit(self, entry: Entry, unit: str) -> None:
        """Record what the budget pays for; nothing changes where it does not."""

        def record(ledger: Ledger) -> Ledger:
            why = ledger.why_not_of_one_kind(unit, entry.unit_name, entry.n)
            if why is not None and entry.mechanisms and entry.state != "reserved":
                raise PrivacyError(f"{entry.name} cannot be on this budget: {why}")
            if entry.key in ledger.entries:
                raise PrivacyError(f"fit_id={shown(entry.key)} is entered already: draw another")
            longer = ledger.with_records(entry)
            if not longer.is_within_budget():
                raise BudgetExhaustedError(refusal(entry, ledger))
            return longer

        self._change(record)

    def _read(self) -> Ledger:
        return self._change(lambda ledger: ledger)[1]

    def _change(self, step: Callable[[Ledger], Ledger]) -> tuple[Ledger, Ledger]:
        """Put another ledger in the place of the present one, alone; return both.

        Nothing changes where `step` raises.
        """
        if self._file is None and self._process != os.getpid():
            raise PrivacyError(
                f"this ledger is in the memory of process {self._process}, which does not see what "
                "this one spends: give the PrivacyBudget path=... to share it"
            )
        with self._lock, self._alone():
            if self._file is None:
                assert self._seen is not None  # It was put there when the budget was made.
                before, self._seen = self._seen, step(self._seen)
                return before, self._seen
            with self._file.locked():
                before = self._checked(Ledger.from_json(self._file.read()), self._file.path)
                after = step(before)
                if after is not before:
                    self._file.write(after.to_json())
                self._seen = after
                return before, after

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Refuse a change from within a change, which would be lost with it."""
        if self._is_changing:
            raise PrivacyError(
                "this ledger was asked for while it was being changed, by a signal handler or a "
                "finalizer of the same thread: make fits outside of these"
            )
        self._is_changing = True
        try:
            yield
        finally:
            self._is_changing = False

    def _checked(self, stored: Ledger, path: Path) -> Ledger:
        """The ledger in the file, where it is the one that this object is about."""
        epsilon, delta, unit, unit_name = self._asked
        theirs = (stored.rule.epsilon, stored.rule.delta, stored.unit)
        same_name = unit_name is None or stored.unit_name == unit_name
        if theirs != (epsilon, delta, unit) or not same_name:
            raise PrivacyError(
                f"the ledger in path={str(path)!r} is about (epsilon, delta, unit, "
                f"unit_name)={(*theirs, stored.unit_name)!r}, not {self._asked!r}: ask for the "
                "same, or keep another file for other data"
            )
        if self._seen is not None and not stored.continues(self._seen):
            raise PrivacyError(
                f"entries have disappeared from the ledger in path={str(path)!r}: "
                "another file, or an old copy of it, was put in its place. Put back the newest "
                "copy, or spend() what is missing on a PrivacyBudget made anew from this file"
            )
        return stored


def _at_path(
    epsilon: float, delta: float, unit: str, unit_name: str | None, path: str
) -> PrivacyBudget:
    """The budget of a pickle: it looks at its file when it is first used."""
    budget = PrivacyBudget.__new__(PrivacyBudget)
    budget._prepare((epsilon, delta, unit, unit_name), path)
    return budget
