"""The one file that touches scikit-learn's private or moved names.

Everything that differs between the supported releases, and everything of scikit-learn's that may
print a value taken from the data, passes through here; the rest of the package uses the public
interface only.
"""

import functools
import importlib.util
import re
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._param_validation import Interval, InvalidParameterError, StrOptions
from sklearn.utils.validation import validate_data

__all__ = [
    "CallbackSupport",
    "Interval",
    "InvalidParameterError",
    "StrOptions",
    "epoch_callback",
    "fit_context",
    "validate_without_leaks",
    "with_callbacks",
]

_HAS_CALLBACKS = importlib.util.find_spec("sklearn.callback") is not None  # since 1.9

_Method = TypeVar("_Method", bound=Callable[..., Any])
_Estimator = TypeVar("_Estimator")
_P = ParamSpec("_P")
_Result = TypeVar("_Result")


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[_Method], _Method]:
    """Decorate `fit` as scikit-learn does, which checks the parameters, and keep its type."""
    return _fit_context(prefer_skip_nested_validation=prefer_skip_nested_validation)


class CallbackSupport:
    """Support of callbacks: scikit-learn's, imported when there are any; nothing before 1.9.

    Its module also brings a progress bar and, where it is installed, the package that draws it.
    """

    if _HAS_CALLBACKS:

        def set_callbacks(self, *callbacks: Any) -> Any:
            """Set callbacks for the estimator.

            Parameters
            ----------
            *callbacks : callback instances
                The callbacks to set; none takes them off.

            Returns
            -------
            self : estimator instance
                The estimator itself.
            """
            from sklearn.callback import CallbackSupportMixin

            return CallbackSupportMixin.set_callbacks(self, *callbacks)

        def _init_callback_context(self, **settings: Any) -> Any:
            from sklearn.callback import CallbackSupportMixin

            return CallbackSupportMixin._init_callback_context(self, **settings)


def with_callbacks(
    method: Callable[Concatenate[_Estimator, _P], _Result],
) -> Callable[Concatenate[_Estimator, _P], _Result]:
    """Tear callbacks down after the method, if there are any, however it ends."""
    if not _HAS_CALLBACKS:
        return method

    @functools.wraps(method)
    def managed(estimator: _Estimator, *args: _P.args, **kwargs: _P.kwargs) -> _Result:
        if not getattr(estimator, "_skl_callbacks", None):
            return method(estimator, *args, **kwargs)
        return _with_callbacks_torn_down(method)(estimator, *args, **kwargs)

    return managed


def _with_callbacks_torn_down(method: _Method) -> _Method:
    from sklearn.callback import with_callbacks as managed

    return managed(method)


# What these messages say is public: shapes, dtypes, column names, the kind of the problem.
_MESSAGES_WITHOUT_VALUES = re.compile(
    r"Found array with "
    r"|Found input variables with inconsistent numbers of samples"
    r"|X has \d+ features, but "
    r"|The feature names should match those that were passed during fit"
    r"|Feature names are only supported if all input features have string names"
    r"|Expected unique column names"
    r"|Expected 2D input, got input with shape"
    r"|Expected a 2-dimensional container but got"
    r"|Expected sequence or array-like, got "
    r"|Sparse data was passed"
    r"|A sparse matrix was passed"
    r"|np\.matrix is not supported"
    r"|dtype='numeric' is not compatible with arrays of bytes/strings"
    r"|float\(\) argument must be a string or a (real )?number, not '\w+'$"
    r"|y should be a 1d array, got an array of shape"
    r"|y cannot be None|estimator requires y to be passed"
    r"|This \w+ estimator requires y to be passed"
    r"|\w+ requires y to be passed"
)

_ADVICE_ON_GAPS = (
    "without a look at the rows, a constant fills them, as "
    'SimpleImputer(strategy="constant", fill_value=0, keep_empty_features=True) does, with '
    'MissingIndicator(features="all") beside it where being missing tells something'
)
_ADVICE_ON_LABELS = "a rule for each row by itself, such as a label of its own, replaces them"

# Behind the words that are kept here, these show values of the data, or advise what would break a
# promise: imputers that learn from the rows, and dropping rows by a look at them.
_MESSAGES_TO_SHORTEN = {
    "Input X contains NaN": f"Input X contains NaN, for missing values: {_ADVICE_ON_GAPS}",
    "Input X contains infinity": (
        "Input X contains infinity, or a value too large for its type: bound the columns first, as "
        "skdp.preprocessing.BoundedScaler does"
    ),
    "Input y contains NaN": f"Input y contains NaN, for missing labels: {_ADVICE_ON_LABELS}",
    "Input y contains infinity": (
        f"Input y contains infinity or a value too large for its type: {_ADVICE_ON_LABELS}"
    ),
    "could not convert string to float": (
        "could not convert string to float: the data hold text where numbers are needed; "
        "encode text columns first, for example with OneHotEncoder"
    ),
    "Complex data not supported": (
        "Complex data not supported: pass the real and the imaginary parts as two columns"
    ),
    "Expected 2D array, got ": (
        "Expected 2D array, got an array of fewer dimensions instead. Reshape your data: "
        "X.reshape(-1, 1) if it has a single feature, X.reshape(1, -1) if it is a single sample"
    ),
}


def validate_without_leaks(estimator: BaseEstimator, *data: Any, **checks: Any) -> Any:
    """Run scikit-learn's `validate_data`; its errors never show a value of the data.

    Parameters
    ----------
    estimator : estimator
        Receives `n_features_in_` and `feature_names_in_`, unless `reset=False`.
    *data : X, or X and y
        What the caller of `fit` or `predict` passed.
    **checks : dict
        As for `sklearn.utils.validation.validate_data`. In a `fit`, which resets names and
        numbers, finiteness is checked whatever `assume_finite` says: a promise depends on it.

    Returns
    -------
    out : array, or tuple of arrays
        The validated data, copied only where conversion needs it.

    Raises
    ------
    ValueError, TypeError
        Of the type that scikit-learn raised, with the words that say what is wrong; errors of
        any other type become a `ValueError`.
    """
    try:
        # Looking for values that are not finite may itself overflow, which is no news to anyone.
        assumed = get_config()["assume_finite"] and not checks.get("reset", True)
        with np.errstate(all="ignore"), config_context(assume_finite=assumed):
            return validate_data(estimator, *data, **checks)
    except MemoryError:
        raise
    except Exception as error:
        harmless = _without_values(error)
    # Raised out here, so that the original is not kept as the context of the new one.
    raise harmless


def epoch_callback(
    estimator: Any, n_epochs: int, fitted_attributes: Callable[[Any], dict[str, Any]]
) -> Callable[[Any], bool] | None:
    """Open the callbacks of a fit, and return what to call after each epoch; None without any.

    Callbacks get neither X nor y: what they compute of training rows would not be private.

    Parameters
    ----------
    estimator : estimator
        Whose fit begins.
    n_epochs : int
        How many epochs are planned.
    fitted_attributes : callable
        From the stage after an epoch to the attributes of the model that this stage is.

    Returns
    -------
    after_epoch : callable or None
        Takes the stage; True asks to stop.
    """
    if not getattr(estimator, "_skl_callbacks", None):
        return None
    whole = estimator._init_callback_context(max_subtasks=n_epochs)
    whole.call_on_fit_task_begin(estimator=estimator)
    task = whole.subcontext(task_name="epoch").call_on_fit_task_begin(estimator=estimator)
    n_done = 0

    def after_epoch(stage: Any) -> bool:
        nonlocal task, n_done
        n_done += 1
        stop = task.call_on_fit_task_end(
            estimator=estimator, reconstruction_attributes=lambda: fitted_attributes(stage)
        )
        if stop or n_done == n_epochs:
            whole.call_on_fit_task_end(
                estimator=estimator, reconstruction_attributes=lambda: fitted_attributes(stage)
            )
        else:
            task = whole.subcontext(task_name="epoch").call_on_fit_task_begin(estimator=estimator)
        return stop

    return after_epoch


def _without_values(error: Exception) -> TypeError | ValueError:
    """A like error whose message is known to hold no value of the data."""
    kind = TypeError if isinstance(error, TypeError) else ValueError
    message = str(error)
    if _MESSAGES_WITHOUT_VALUES.match(message):
        return kind(message)
    for words, replacement in _MESSAGES_TO_SHORTEN.items():
        if message.startswith(words):
            return kind(replacement)
    return kind(
        "X or y could not be read: X must be a table of finite numbers, dense or CSR, and y one "
        "label a row (the original message is withheld, since it may show values of the data)"
    )
