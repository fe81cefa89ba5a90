"""The one file that touches scikit-learn's private or moved names.

Everything that differs between the supported releases, and everything of scikit-learn's that may
print a value taken from the data, passes through here; the rest of the package uses the public
interface only.
"""

import contextlib
import copy
import functools
import html
import importlib.util
import re
from collections.abc import Callable, Iterator
from numbers import Number
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._param_validation import Interval, InvalidParameterError, StrOptions
from sklearn.utils.validation import validate_data

__all__ = [
    "N_WRAPPERS_OF_FIT",
    "CallbackSupport",
    "DiscreetParameters",
    "HtmlWithPrivacy",
    "Interval",
    "InvalidParameterError",
    "StrOptions",
    "adopt_input_names",
    "epoch_callback",
    "fit_context",
    "replace_fitted",
    "validate_without_leaks",
    "with_callbacks",
    "without_lengths",
]

fit_context = _fit_context

if importlib.util.find_spec("sklearn.callback") is None:
    # Before scikit-learn 1.9. Wrappers between `fit` and its caller: one validates parameters.
    N_WRAPPERS_OF_FIT = 1

    class CallbackSupport:
        """Nothing: this scikit-learn has no callbacks."""

    def with_callbacks(method):
        """Leave the method as it is."""
        return method

else:
    # One more wrapper ends callbacks.
    N_WRAPPERS_OF_FIT = 2

    class CallbackSupport:
        """scikit-learn's support of callbacks, imported when there are any.

        Its module also brings a progress bar and, where it is installed, the package that draws it.
        """

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

    def with_callbacks(method):
        """Tear callbacks down after the method, if there are any, however it ends."""

        @functools.wraps(method)
        def managed(estimator, *args, **kwargs):
            if not getattr(estimator, "_skl_callbacks", None):
                return method(estimator, *args, **kwargs)
            return _with_callbacks_torn_down(method)(estimator, *args, **kwargs)

        return managed

    def _with_callbacks_torn_down(method):
        from sklearn.callback import with_callbacks as managed

        return managed(method)


# What these messages say is public: shapes, dtypes, column names, the kind of the problem.
_MESSAGES_WITHOUT_VALUES = re.compile(
    r"Input (X|y) contains (NaN|infinity)"
    r"|Found array with "
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

# These carry values of the data behind the words that are kept here.
_MESSAGES_TO_SHORTEN = {
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


class DiscreetParameters:
    """Errors about a parameter never print a table that was passed in its place by mistake."""

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


class HtmlWithPrivacy(DiscreetParameters):
    """Puts what a fit promises under scikit-learn's HTML view of the estimator.

    The class says what it promises in `_privacy_summary()`, a list of lines, empty before `fit`.
    """

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


def validate_without_leaks(estimator: BaseEstimator, *data: Any, **checks: Any) -> Any:
    """Run scikit-learn's `validate_data`; its errors never show a value of the data.

    Parameters
    ----------
    estimator : estimator
        Receives `n_features_in_` and `feature_names_in_`, unless `reset=False`.
    *data : X, or X and y
        What the caller of `fit` or `predict` passed.
    **checks : dict
        As for `sklearn.utils.validation.validate_data`.

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
        with np.errstate(all="ignore"):
            return validate_data(estimator, *data, **checks)
    except MemoryError:
        raise
    except Exception as error:
        harmless = _without_values(error)
    # Raised out here, so that the original is not kept as the context of the new one.
    raise harmless


@contextlib.contextmanager
def without_lengths() -> Iterator[None]:
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


def adopt_input_names(estimator: BaseEstimator) -> tuple[BaseEstimator, Any]:
    """Return a stand-in to validate against, and a function that reads what it learned.

    `fit` validates against the stand-in and copies the names over at the very end, so a fit that
    is refused or interrupted leaves the last fitted state whole.
    """
    stand_in = copy.copy(estimator)

    def learned() -> dict[str, Any]:
        names = ("n_features_in_", "feature_names_in_")
        return {name: vars(stand_in)[name] for name in names if name in vars(stand_in)}

    return stand_in, learned


def replace_fitted(estimator: BaseEstimator, names: dict[str, Any], **fitted: Any) -> None:
    """Replace the fitted state by a new one, whole: an interrupted fit leaves the old.

    Parameters
    ----------
    estimator : estimator
        Gets the attributes; those of an earlier fit go.
    names : dict
        Fitted attributes by name, such as those that `adopt_input_names` learned.
    **fitted : dict
        The other ones.
    """
    kept = {name: value for name, value in vars(estimator).items() if not name.endswith("_")}
    # One assignment, so that an interrupt finds either the old state or the new one.
    estimator.__dict__ = {**kept, **names, **fitted}


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


def _shorten_lengths(message: str) -> str:
    """Drop shapes and lists of lengths, the places where a number of rows may stand."""
    return re.sub(r"\(?shape(?: was)?=?\s?\([^)]*\)\)?|\[[\d, ]+\]|\d+ sample\(s\)", "...", message)


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
