"""UnitKFold: folds over people, where a person leaves and nobody else moves."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state

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

    # With metadata routing, `groups` reaches `split` without a request.
    __metadata_request__split = {"groups": True}  # noqa: RUF012

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
        self, X: Any, y: Any = None, groups: ArrayLike | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the rows of each training set and of each test set.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Not looked at.
        y : array-like of shape (n_samples,) or None
            Not looked at.
        groups : array-like of shape (n_samples,)
            The unit of each row.

        Yields
        ------
        train, test : ndarray of int
            Row indices.

        Raises
        ------
        ValueError
            Without `groups`, with more folds than units, or with a row whose unit is not declared.
        """
        return super().split(X, y, groups)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of folds.

        Parameters
        ----------
        X, y, groups : object
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
                "UnitKFold needs groups=, the unit of each row: pass privacy_unit's ids"
            )
        groups = np.asarray(groups)
        _check_none_missing(groups)
        units = np.unique(groups if self.units is None else np.asarray(self.units))
        if not isinstance(self.n_splits, (int, np.integer)) or not 2 <= self.n_splits <= len(units):
            raise ValueError(
                f"n_splits={self.n_splits!r} must be an integer from 2 to the number of units, "
                f"{len(units)}"
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


def _check_none_missing(groups: np.ndarray) -> None:
    try:
        missing = groups.dtype.kind == "f" and bool(np.isnan(np.max(groups, initial=0.0)))
        if groups.dtype.kind == "O":
            np.unique(groups)
    except TypeError:
        # None and the like cannot be put in order with ids.
        missing = True
    if missing:
        raise ValueError(
            "groups must hold integers or text, all of one kind and none missing: the unit of each "
            "row"
        )
