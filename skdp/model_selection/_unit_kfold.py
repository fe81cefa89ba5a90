"""UnitKFold: folds over people, where a person leaves and nobody else moves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state

from skdp._estimator import hide_row_count, splitting_by_units, warn_of
from skdp.exceptions import shown
from skdp.reading._column import check_one_each, check_same_rows
from skdp.reading._ids import read_ids

__all__ = ["UnitKFold"]


class UnitKFold(BaseCrossValidator):
    """K-fold splitter over units of privacy: all rows of a person are in one fold.

    With a splitter by rows, a person's rows are spread over the folds, so some are in every
    training set; and a splitter that balances group sizes, such as `GroupKFold`, moves thousands
    of other rows when one person leaves. Here each unit's fold comes from a random permutation of
    the public unit ids:

    - a unit is in one test fold and `n_splits - 1` training sets;
    - numbers of units in the folds differ by at most one;
    - neither rows nor their number change any other unit's fold.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    units : array-like or None, default=None
        The public unit ids, a unit without rows included. None takes those that occur in
        `groups`, which makes them public.
    random_state : int, RandomState or None, default=None
        Decides the permutation; None draws a new one for each call of `split`. It has nothing to
        do with the noise, so a seed here costs no privacy.

    Examples
    --------
    Ids go to the splitter as `groups` and to each fit as `privacy_unit`:

    >>> import numpy as np
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.model_selection import cross_val_score
    >>> from skdp import DPSGDClassifier
    >>> from skdp.model_selection import UnitKFold
    >>> X, y = make_classification(n_samples=600, random_state=0)
    >>> person = np.arange(600) // 3
    >>> scores = cross_val_score(
    ...     DPSGDClassifier(epsilon=1.0),
    ...     X,
    ...     y,
    ...     cv=UnitKFold(4, random_state=0),
    ...     groups=person,
    ...     params={"privacy_unit": person},
    ... )
    >>> scores.shape
    (4,)
    """

    # With metadata routing, ids reach `split` without a request, under either name.
    __metadata_request__split = {"groups": True, "privacy_unit": True}  # noqa: RUF012
    # Where it is imported from.
    __module__ = "skdp.model_selection"

    def __init__(
        self,
        n_splits: int = 5,
        *,
        units: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.n_splits = n_splits
        self.units = units
        self.random_state = random_state

    def split(
        self,
        X: Any,
        y: Any = None,
        groups: ArrayLike | None = None,
        privacy_unit: ArrayLike | None = None,
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the rows of each training set and of each test set.

        A `DPSGDClassifier` that is fitted between two folds without `privacy_unit` warns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Only its index, where it has one.
        y : array-like of shape (n_samples,) or None
            Not looked at.
        groups : array-like of shape (n_samples,) or None
            The unit of each row, matched by position.
        privacy_unit : array-like of shape (n_samples,) or None
            The same by its other name: with metadata routing, ids that are passed as
            `privacy_unit` reach the splitter and the fits alike.

        Yields
        ------
        train, test : ndarray of int
            Row indices.

        Raises
        ------
        ValueError
            Without ids, with more folds than units, with a row whose unit is missing or not
            declared, or where the index of the ids is not that of `X`.

        Warns
        -----
        skdp.exceptions.PrivacyWarning
            With metadata routing, when ids come as `groups` alone, so that no fit gets them.
        """
        if groups is not None and privacy_unit is None and _routing_is_on():
            warn_of([_GROUPS_ALONE])
        ids, name = (privacy_unit, "privacy_unit") if groups is None else (groups, "groups")
        check_same_rows(ids, name, X=X)
        if ids is not None:
            with hide_row_count():
                check_one_each(ids, name, X)
        with splitting_by_units():
            yield from super().split(X, y, ids)

    def get_n_splits(
        self, X: Any = None, y: Any = None, groups: Any = None, privacy_unit: Any = None
    ) -> int:
        """Number of folds.

        Parameters
        ----------
        X, y, groups, privacy_unit : object
            Not looked at.

        Returns
        -------
        n_splits : int
            What the constructor was given.
        """
        return self.n_splits

    def _iter_test_masks(
        self, X: Any = None, y: Any = None, groups: ArrayLike | None = None
    ) -> Iterator[np.ndarray]:
        if groups is None:
            raise ValueError(
                "UnitKFold needs groups=, the unit of each row: pass privacy_unit's ids. Where "
                "nothing takes groups, sklearn.set_config(enable_metadata_routing=True) hands "
                "privacy_unit on"
            )
        groups = _one_for_each_row(groups, "groups")
        units = np.unique(groups if self.units is None else _one_for_each_row(self.units, "units"))
        if (units.dtype.kind in "biuf") != (groups.dtype.kind in "biuf"):
            raise ValueError("groups and units= must both hold integers, or both text")
        if not isinstance(self.n_splits, (int, np.integer)) or not 2 <= self.n_splits <= len(units):
            raise ValueError(
                f"n_splits={shown(self.n_splits)} must be an integer from 2 to the number of "
                f"units, {len(units)}"
            )
        places = np.minimum(np.searchsorted(units, groups), len(units) - 1)
        if not np.array_equal(units[places], groups):
            raise ValueError("groups names units that units= does not: declare every unit")
        fold_of_unit = np.empty(len(units), dtype=np.intp)
        fold_of_unit[self._permutation(len(units))] = np.arange(len(units)) % self.n_splits
        for fold in range(self.n_splits):
            yield fold_of_unit[places] == fold

    def _permutation(self, size: int) -> np.ndarray:
        if self.random_state is None:
            # Fresh entropy from the operating system; NumPy's global state is left alone.
            return np.random.default_rng().permutation(size)
        return check_random_state(self.random_state).permutation(size)


_GROUPS_ALONE = (
    "UnitKFold was given groups and no privacy_unit, so no fit is given the ids either, and their "
    'promises are for single rows: pass them as params={"privacy_unit": ids}, which serves both. '
    "Where fits get them by another name, say so with set_split_request(privacy_unit=...)"
)


def _routing_is_on() -> bool:
    return bool(get_config()["enable_metadata_routing"])


def _one_for_each_row(ids: Any, name: str) -> np.ndarray:
    column, missing = read_ids(ids, name)
    if missing is not None or column.ndim != 1:
        raise ValueError(
            f"{name} must hold integers or text, all of one kind and none missing: one for each "
            "row, the unit that it belongs to"
        )
    return column
