"""Reading rows in `fit`, with the estimator left as it is."""

from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from skdp._sklearn import adopt_input_names, validate_without_leaks

__all__ = ["read_rows"]


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
    stand_in, learned_names = adopt_input_names(estimator)
    X = validate_without_leaks(stand_in, X, **checks)
    return X, learned_names()
