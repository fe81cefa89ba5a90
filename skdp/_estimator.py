"""What every private estimator shares: its budget, marks of its fits, its summary, its manners."""

from __future__ import annotations

import contextlib
import copy
import html
import re
import secrets
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from numbers import Integral, Number
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skdp._sklearn import InvalidParameterError, StrOptions, validate_without_leaks
from skdp._version import __version__
from skdp.budget import PrivacyBudget
from skdp.exceptions import PrivacyWarning
from skdp.mechanisms._rows import usable_rows
from skdp.privacy._mechanism import Mechanism
from skdp.privacy._promise import summary
from skdp.reading._table import read_table

__all__ = [
    "BUDGET",
    "ON_INVALID",
    "ParametersWithoutValues",
    "PrivateEstimator",
    "hide_row_count",
    "kept_releases",
    "missed_units",
    "public_columns",
    "public_shape",
    "read_rows",
    "read_usable_rows",
    "replace_fitted",
    "splitting_by_units",
    "validated_copy",
    "warn_of",
]

# What the parameter `budget` may be.
BUDGET = [PrivacyBudget, None]
# What the parameter `on_invalid` may be.
ON_INVALID = [StrOptions({"raise", "drop"})]
# Of more private transformers in front than this the first are forgotten, which is said.
_MOST_UPSTREAM = 128
_passed: dict[str, None] = {}
_passing = threading.Lock()


class ParametersWithoutValues(BaseEstimator):
    """Errors about a parameter never print a table that was passed in its place by mistake.

    And scikit-learn's diagrams link to the estimator's page.
    """

    _doc_link_module = "skdp"
    _doc_link_template = "https://skdp.github.io/skdp/api/{estimator_module}.{estimator_name}.html"

    def _validate_params(self) -> None:
        harmless = None
        try:
            super()._validate_params()
        except InvalidParameterError as error:
            message = str(error)
            name = re.match(r"The '(\w+)' parameter", message)
            value = getattr(self, name[1], None) if name else None
            if not isinstance(value, (Number, str, type(None))):
                instead = f" Got an object of type {type(value).__name__} instead."
                message = re.sub(r" Got .*", instead, message, flags=re.DOTALL)
            harmless = type(error)(message)
        if harmless is not None:
            raise harmless


class PrivateEstimator(ParametersWithoutValues):
    """An estimator whose fit releases noisy numbers: counted, marked, and summed up in words.

    The class itself sets `_privacy_releases = kept_releases` beside its own `fit`, since a subclass
    has to say anew what it releases.
    """

    random_state: int | np.random.RandomState | None
    on_invalid: Literal["raise", "drop"]
    budget: PrivacyBudget | None

    epsilon_: float
    delta_: float
    noise_source_: Literal["system", "seeded"]
    fit_id_: str

    @contextlib.contextmanager
    def _counted(
        self, mechanisms: Iterable[Mechanism], *, n: int, unit: str = "row", name: str | None = None
    ) -> Iterator[dict[str, Any]]:
        """Enter a fit in the budget before a row is read; give the marks of the fit.

        Parameters
        ----------
        mechanisms : iterable of mechanisms
            All that the fit will release.
        n : int
            Number of units of privacy.
        unit : {"row", "unit"}
        name : str or None
            What a unit is.

        Raises
        ------
        BudgetExhaustedError
            Where the budget does not pay for it. Nothing has been read then.
        """
        marks: dict[str, Any] = {
            "fit_id_": secrets.token_hex(8),
            "skdp_version_": __version__,
            "_upstream_fit_ids": tuple(_passed),
            "_n_privacy_units": n,
        }
        if self.budget is None:
            yield marks
            return
        self.budget.enter(
            type(self).__name__,
            tuple(mechanisms),
            fit_id=marks["fit_id_"],
            n=n,
            unit=unit,
            unit_name=name,
            is_seeded=self.random_state is not None,
        )
        try:
            yield marks
        except Exception as error:
            error.add_note(
                "This fit stays entered in its budget: that it failed is a fact about the rows."
            )
            raise
        self.budget.settle(marks["fit_id_"])

    def _note_rows_passed(self) -> None:
        """Leave the mark of the present fit for whatever is fitted behind it."""
        with _passing:
            _passed.pop(self.fit_id_, None)
            _passed[self.fit_id_] = None
            for oldest in list(_passed)[:-_MOST_UPSTREAM]:
                del _passed[oldest]

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "fit_id_") and hasattr(self, "transform"):
            # It may come from a worker process, where it has changed the rows.
            self._note_rows_passed()

    def _privacy_summary(self) -> list[str]:
        """Lines on what the fit promises; empty before `fit`."""
        if not hasattr(self, "epsilon_"):
            return []
        unit = getattr(self, "unit_", "row")
        return summary(self.epsilon_, self.delta_, unit=unit, noise_source=self.noise_source_)

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + self._privacy_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._privacy_html()
        return bundle

    def _privacy_html(self) -> str:
        lines = self._privacy_summary()
        if not lines:
            return ""
        style = "font-family: sans-serif; font-size: 0.85em; margin: 0.4em 0; line-height: 1.4"
        return f'<div style="{style}">' + "<br>".join(map(html.escape, lines)) + "</div>"


def kept_releases(estimator: Any) -> list[Mechanism]:
    """The noisy releases of the last fit, for whatever adds them up."""
    check_is_fitted(estimator)
    return list(estimator.mechanisms_)


# Whether rows are being split by units where the present code runs.
_splitting_by_units: ContextVar[bool] = ContextVar("splitting_by_units", default=False)


@contextlib.contextmanager
def splitting_by_units() -> Iterator[None]:
    """Note that what is fitted inside is fitted to rows that were split by units."""
    _splitting_by_units.set(True)
    try:
        yield
    finally:
        _splitting_by_units.set(False)


def missed_units(are_given: bool) -> list[str]:
    """What to warn of where rows are split by units and a fit is given none."""
    if are_given or not _splitting_by_units.get():
        return []
    return [
        "the rows are split by units, and this fit is given none: its promise is for single rows. "
        "Pass the ids to it as well, as cross_validate(..., groups=ids, "
        'params={"privacy_unit": ids}) does'
    ]


def warn_of(messages: Iterable[str], category: type[Warning] = PrivacyWarning) -> None:
    """Warn of what weakens a promise, pointing at the line that called `fit`."""
    messages = list(messages)
    if not messages:
        return
    frame, stacklevel = sys._getframe(1), 2
    ours = ("skdp.", "sklearn.")
    # Files differ between wrappers, so module names are compared.
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(ours):
        frame, stacklevel = frame.f_back, stacklevel + 1
    for message in messages:
        warnings.warn(message, category, stacklevel=stacklevel)


def public_shape(X: Any) -> tuple[int, int] | None:
    """The shape that a table tells without a value of it being read; None where it tells none.

    Lists of rows tell it by their lengths.

    Parameters
    ----------
    X : object
        As it was passed.

    Returns
    -------
    shape : tuple of two int, or None
        Rows and columns, both above 0.
    """
    shape = getattr(X, "shape", None)
    if isinstance(X, list | tuple) and X and isinstance(X[0], list | tuple):
        shape = (len(X), len(X[0]))
    if not isinstance(shape, tuple) or len(shape) != 2:
        return None
    if not all(isinstance(size, Integral) and int(size) > 0 for size in shape):
        return None
    return int(shape[0]), int(shape[1])


def validated_copy(estimator: BaseEstimator) -> tuple[BaseEstimator, Callable[[], dict[str, Any]]]:
    """Return a copy to validate data against, and a function that reads what it learned.

    `fit` validates against the copy and takes the names over at the very end, so a fit that is
    refused or interrupted leaves the last fitted state whole.
    """
    checked = copy.copy(estimator)

    def learned() -> dict[str, Any]:
        names = ("n_features_in_", "feature_names_in_")
        return {name: vars(checked)[name] for name in names if name in vars(checked)}

    return checked, learned


def read_rows(estimator: BaseEstimator, X: ArrayLike, **checks: Any) -> tuple[Any, dict[str, Any]]:
    """Validate rows for `fit`, leaving the estimator as it is.

    Parameters
    ----------
    estimator : estimator
        Whose `fit` asks.
    X : array-like of shape (n_samples, n_features)
        Rows.
    **checks : dict
        As for `sklearn.utils.validation.validate_data`.

    Returns
    -------
    X : ndarray or sparse matrix
        The validated rows.
    names : dict
        `n_features_in_`, and `feature_names_in_` where the columns have names that are all text.
    """
    checked, learned_names = validated_copy(estimator)
    rows = read_table(checked, X, **checks)
    return rows, learned_names()


def read_usable_rows(
    estimator: PrivateEstimator, X: ArrayLike, **checks: Any
) -> tuple[Any, np.ndarray | None]:
    """Validate rows for a private `fit`, as its `on_invalid` says.

    Returns
    -------
    X : ndarray or sparse matrix
        The validated rows.
    usable : ndarray of bool of shape (n_samples,) or None
        Which of them are made of finite numbers, where the others are to contribute nothing; None
        where all are.
    """
    if estimator.on_invalid == "raise":
        return read_rows(estimator, X, **checks)[0], None
    rows, _ = read_rows(estimator, X, ensure_all_finite=False, **checks)
    return rows, usable_rows(rows)


def public_columns(
    estimator: PrivateEstimator, X: ArrayLike, **checks: Any
) -> tuple[Any, tuple[int, int], dict[str, Any]]:
    """The shape of a table and the names of its columns, for a private `fit`.

    A table that tells its shape is not read for that.

    Returns
    -------
    X : object
        As it was passed, or read.
    shape : tuple of two int
        Rows and columns.
    names : dict
        `n_features_in_` and, where the columns have names, `feature_names_in_`.
    """
    table: Any = X
    shape = public_shape(table)
    if shape is None:
        table, _ = read_usable_rows(estimator, table, **checks)
        shape = table.shape
    checked, learned_names = validated_copy(estimator)
    validate_without_leaks(checked, table, skip_check_array=True)
    return table, shape, learned_names()


def replace_fitted(estimator: BaseEstimator, names: dict[str, Any], **fitted: Any) -> None:
    """Replace the fitted state by a new one, whole: an interrupted fit leaves the old.

    Parameters
    ----------
    estimator : estimator
        Gets the attributes; those of an earlier fit go.
    names : dict
        Fitted attributes by name, such as those that `validated_copy` learned.
    **fitted : dict
        The other ones.
    """
    new = {**names, **fitted}
    old = {*vars(estimator).get("_left_by_fit", ()), "_left_by_fit"}
    kept = {
        name: value
        for name, value in vars(estimator).items()
        if name not in old and not name.endswith("_")
    }
    # One assignment, so that an interrupt finds either the old state or the new one.
    estimator.__dict__ = {**kept, **new, "_left_by_fit": (*new, "_left_by_fit")}


@contextlib.contextmanager
def hide_row_count() -> Iterator[None]:
    """Errors raised inside come out without numbers, for data whose number of rows is private."""
    try:
        yield
    except ValueError as error:
        # The very same error: one raised in its place would carry it along as its context.
        error.args = (_shorten_lengths(str(error)),)
        raise
    except MemoryError:
        # Its message may show the shape of what did not fit.
        raise MemoryError("not enough memory for these data") from None


def _shorten_lengths(message: str) -> str:
    """Drop shapes and lists of lengths, the places where a number of rows may stand."""
    return re.sub(r"\(?shape(?: was)?=?\s?\([^)]*\)\)?|\[[\d, ]+\]|\d+ sample\(s\)", "...", message)
