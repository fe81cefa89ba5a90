"""PrivacyBudget: one ledger for everything that is fitted on the same rows."""

import os
import secrets
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Self

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from skdp.budget._ledger import Entry, Ledger, dearest_of_all
from skdp.budget._ledger_file import LockedFile
from skdp.budget._ledger_text import (
    entry_lines,
    lack_of_promise,
    overspending,
    refusal,
    summary_lines,
)
from skdp.budget._planned import planned_releases
from skdp.exceptions import BudgetExhaustedError, PrivacyError, PrivacyWarning
from skdp.privacy._filter import make_filter
from skdp.privacy._mechanism import Mechanism
from skdp.privacy._promise import digits_up
from skdp.statement._free import offers_releases, parts_inside
from skdp.statement._privacy_statement import privacy_statement

__all__ = ["PrivacyBudget"]

_UNITS = ("row", "unit")


class PrivacyBudget:
    """A ledger of what has been spent on one data set, by fits chosen one after the other.

    An analyst looks at one model and then decides what to fit next, so the costs of separate
    fits do not just compose as if they had been chosen together. This ledger adds them up by a
    rule that holds all the same, a privacy filter:

    - As long as `overspent` is False, everything recorded is, together,
      (`epsilon`, `delta`)-differentially private, however each fit was chosen after the last.
    - `reserve` records a fit before it is made, or refuses and leaves the ledger as it was; no row
      is read for it.
    - `spend` records what has been fitted, whether it fits the budget or not.
    - A fit counts once, however often it is recorded, pickled copies of it included.

    For fits on all rows at every step, mu^2 of Gaussian differential privacy is added up, and 4 to
    11 % fewer of them are admitted than could have been fixed in advance. With smaller batches it
    is Renyi divergences, at orders fixed when the ledger is created, and 15 to 35 % fewer, or only
    few where rare batches meet little noise. A single fit may always take the whole budget, by
    its exact cost.

    What it does not know: fits that nobody records, anything else that was computed from the
    rows, and choices made by looking at scores on them.

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
    path : str, path-like or None, default=None
        A JSON file that holds the ledger, made where there is none, so that several processes
        share one budget: each change is made under a lock, and read and written as a whole. An
        existing file must be about the same budget. None keeps the ledger in memory.

    Attributes
    ----------
    overspent : bool
        Whether the promise no longer holds, since more was spent or something without a promise.
    share_spent : float
        Part of the budget that is gone, reservations included; above 1 where it is overspent.
    epsilon_if_fixed : float
        What the same fits would cost at `delta`, had they all been chosen before the first one
        was made; below `epsilon`, as a rule, while the budget holds.

    See Also
    --------
    skdp.privacy_statement : What one fitted object cost by itself.

    Notes
    -----
    A pickled copy of a ledger in memory is a second ledger that knows nothing of the first: use
    `path` to share one. A ledger is never a parameter of an estimator, since clones would share or
    lose it.

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
    >>> from skdp import DPSGDClassifier, PrivacyBudget
    >>> from skdp.preprocessing import BoundedScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = BoundedScaler(bounds=(0, 4000)).fit_transform(X)
    >>> budget = PrivacyBudget(epsilon=2.0, delta=1e-5)
    >>> model = DPSGDClassifier(epsilon=1.0)
    >>> key = budget.reserve(model, n_rows=569, n_features=30)
    >>> budget.spend(model.fit(X, y))
    >>> print(f"{budget.share_spent:.0%} spent, {budget.remaining():.1f} remains")
    31% spent, 1.6 remains
    >>> budget.remaining_fits(DPSGDClassifier(epsilon=0.5), n_rows=569, n_features=30)
    8
    """

    def __init__(
        self,
        epsilon: float,
        delta: float,
        *,
        unit: str = "row",
        path: str | os.PathLike | None = None,
    ):
        if unit not in _UNITS:
            raise ValueError(f"unit must be one of {_UNITS}; got {unit!r}")
        self._begin(Ledger(make_filter(epsilon, delta), unit), path)

    @property
    def epsilon(self) -> float:
        """The budget of everything together."""
        return self._ledger.rule.epsilon

    @property
    def delta(self) -> float:
        """What may be added to a probability beyond the factor exp(epsilon)."""
        return self._ledger.rule.delta

    @property
    def unit(self) -> str:
        """Whose data are protected."""
        return self._ledger.unit

    @property
    def overspent(self) -> bool:
        """Whether the promise no longer holds."""
        return not self._read().is_within_budget()

    @property
    def share_spent(self) -> float:
        """Part of the budget that is gone, reservations included."""
        return self._read().share_spent()

    @property
    def epsilon_if_fixed(self) -> float:
        """What the fits would cost, had they all been chosen in advance."""
        return self._read().epsilon_if_fixed()

    def reserve(
        self,
        estimator: Any,
        n_rows: int,
        *,
        n_features: int | None = None,
        n_classes: int = 2,
    ) -> str:
        """Record a fit that is about to be made, or refuse it.

        One reservation is for one fit. It counts from now on, whether the fit is made or not, and
        `spend` puts what was really fitted in its place.

        Parameters
        ----------
        estimator : estimator, Pipeline or FixedThresholdClassifier
            A private estimator of skdp, or a pipeline of such and of steps that learn nothing from
            the rows. It need not be fitted.
        n_rows : int
            Rows that it will be fitted on; units, where `unit="unit"`.
        n_features : int or None, default=None
            Columns; needed where settings left at "auto" depend on them.
        n_classes : int, default=2
            Classes, where the estimator's `classes` does not declare them.

        Returns
        -------
        key : str
            Names the reservation, for `spend` in another process.

        Raises
        ------
        skdp.exceptions.BudgetExhaustedError
            If it does not fit. The ledger is then as it was.
        skdp.exceptions.PrivacyError
            If the fit would have no promise: with a seed or a `RandomState` as `random_state`,
            with a step in front that looks at the rows without noise, or with a step that protects
            rows where the ledger is about units.
        TypeError
            If what it will release cannot be known before it is fitted.
        ValueError
            If `n_features` is needed, or `fit` itself would refuse.

        Warns
        -----
        skdp.exceptions.PrivacyWarning
            When `delta` is at least one over the number of rows.

        Examples
        --------
        >>> from skdp import DPSGDClassifier, PrivacyBudget
        >>> budget = PrivacyBudget(epsilon=1.0, delta=1e-5)
        >>> key = budget.reserve(DPSGDClassifier(epsilon=1.0), n_rows=1000, n_features=20)
        >>> budget.remaining()
        0.0
        """
        mechanisms = self._planned(estimator, n_rows, n_features, n_classes)
        if self.delta >= 1.0 / n_rows:
            warnings.warn(
                f"delta={self.delta:.4g} is at least 1 / n_rows ({n_rows} rows): publishing a "
                "random row would pass as private; keep a ledger with a smaller delta",
                PrivacyWarning,
                stacklevel=2,
            )
        entry = Entry(secrets.token_hex(8), type(estimator).__name__, mechanisms, reserved=True)

        def record(ledger: Ledger) -> Ledger:
            longer = ledger.with_entry(entry)
            if not longer.is_within_budget():
                raise BudgetExhaustedError(refusal(entry, ledger))
            return longer

        self._change(record)
        self._reserved_here.append((weakref.ref(estimator), entry.key))
        return entry.key

    def spend(self, fitted: Any, *, reservation: str | None = None) -> None:
        """Record what has been fitted, whether it fits the budget or not.

        In the place of its reservation, where it has one: the one that is named, or one made for
        this very object in this process. A reservation is settled by one fit; what the fit really
        released is what counts. Without a reservation it is one more entry. A fit that is already
        recorded changes nothing.

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
            If nothing is promised about it, or only to another unit than the ledger's. Then no
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
        statement = privacy_statement(fitted, delta=self.delta)
        promised = statement.covers_everything and statement.unit == self.unit
        free = statement.covers_everything and not any(statement.row_patterns)
        entry = Entry(
            key=secrets.token_hex(8),
            name=type(fitted).__name__,
            mechanisms=dearest_of_all(statement.row_patterns) if promised or free else None,
            fit_ids=tuple(sorted(set(_fit_ids(fitted)))),
        )

        def record(ledger: Ledger) -> Ledger:
            key = self._open_reservation(ledger, fitted, reservation)
            if ledger.contains(entry):
                return ledger
            return ledger.with_entry(entry if key is None else replace(entry, key=key))

        before, after = self._change(record)
        if after is before:
            return
        if entry.mechanisms is None:
            raise PrivacyError(lack_of_promise(entry, statement, self.unit))
        if not after.is_within_budget():
            raise BudgetExhaustedError(overspending(entry, after))

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
        n_classes: int = 2,
    ) -> float:
        """How many more fits of this kind `reserve` would admit.

        Parameters
        ----------
        estimator, n_rows, n_features, n_classes
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
        mechanisms = self._planned(estimator, n_rows, n_features, n_classes)
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

        Returns
        -------
        budget : PrivacyBudget

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

    def __repr__(self) -> str:
        path = "" if self._file is None else f", path={str(self._file.path)!r}"
        return (
            f"PrivacyBudget(epsilon={self.epsilon}, delta={self.delta}, unit={self.unit!r}{path})"
        )

    def __str__(self) -> str:
        ledger = self._read()
        title = (
            f"Privacy budget: epsilon {self.epsilon:.6g} at delta {digits_up(self.delta)}, "
            f"for every single {self.unit}."
        )
        return "\n".join([title, *entry_lines(ledger), *summary_lines(ledger)])

    def __getstate__(self) -> dict[str, Any]:
        # Locks and references to live objects belong to this process.
        return {"ledger": self._ledger, "path": None if self._file is None else self._file.path}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._prepare(state["ledger"], state["path"])

    def _begin(self, ledger: Ledger, path: str | os.PathLike | None) -> None:
        self._prepare(ledger, path)
        if self._file is None:
            return
        with self._file.locked():
            if self._file.exists():
                _check_same_budget(Ledger.from_json(self._file.read()), ledger, self._file)
            else:
                self._file.write(ledger.to_json())

    def _prepare(self, ledger: Ledger, path: str | os.PathLike | None) -> None:
        self._ledger = ledger
        self._file = None if path is None else LockedFile(path)
        self._lock = threading.Lock()
        self._reserved_here: list[tuple[weakref.ref, str]] = []

    def _planned(
        self, estimator: Any, n_rows: int, n_features: int | None, n_classes: int
    ) -> tuple[Mechanism, ...]:
        return planned_releases(
            estimator, n_rows=n_rows, n_features=n_features, n_classes=n_classes, unit=self.unit
        )

    def _read(self) -> Ledger:
        return self._change(lambda ledger: ledger)[1]

    def _change(self, step: Callable[[Ledger], Ledger]) -> tuple[Ledger, Ledger]:
        """Put another ledger in the place of the present one, alone; return both.

        Nothing changes where `step` raises.
        """
        with self._lock:
            if self._file is None:
                before, self._ledger = self._ledger, step(self._ledger)
                return before, self._ledger
            with self._file.locked():
                before = Ledger.from_json(self._file.read())
                after = step(before)
                if after is not before:
                    self._file.write(after.to_json())
                self._ledger = after
                return before, after

    def _open_reservation(self, ledger: Ledger, fitted: Any, key: str | None) -> str | None:
        """The key of the reservation that this fit settles, if any."""
        if key is not None:
            entry = ledger.entry(key)
            if entry is None or not entry.reserved:
                raise ValueError(
                    f"reservation={key!r} is no open reservation of this ledger: leave it out to "
                    "record the fit as one that was not reserved"
                )
            if entry.name != type(fitted).__name__:
                raise ValueError(
                    f"reservation={key!r} was made for {entry.name}, and this is "
                    f"{type(fitted).__name__}: leave it out to record the fit as one that was not "
                    "reserved"
                )
            return key
        for reference, own_key in self._reserved_here:
            entry = ledger.entry(own_key)
            if reference() is fitted and entry is not None and entry.reserved:
                return own_key
        return None


def _fit_ids(fitted: Any) -> Iterator[str]:
    """The random marks of the fits that the object holds, wherever in it they are.

    A private fit without a mark gets a new one each time, since nothing tells it from another.
    """
    for part in parts_inside(fitted):
        if isinstance(getattr(part, "fit_id_", None), str):
            yield part.fit_id_
        elif offers_releases(part) and _is_fitted(part):
            yield secrets.token_hex(8)


def _is_fitted(part: Any) -> bool:
    try:
        check_is_fitted(part)
    except NotFittedError:
        return False
    except TypeError:
        # What scikit-learn does not know as an estimator may be fitted.
        return True
    return True


def _check_same_budget(stored: Ledger, asked: Ledger, file: LockedFile) -> None:
    theirs, ours = (
        (ledger.rule.epsilon, ledger.rule.delta, ledger.unit) for ledger in (stored, asked)
    )
    if theirs != ours:
        raise PrivacyError(
            f"the ledger in path={str(file.path)!r} is about (epsilon, delta, unit)={theirs!r}, "
            f"not {ours!r}: ask for the same, or keep another file for other data"
        )
