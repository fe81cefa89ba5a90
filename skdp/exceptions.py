"""Every error and warning that is skdp's own.

Errors are subclasses of what scikit-learn would raise in the same place, so code that catches
`ValueError` around `fit` keeps working::

    ValueError
    └── PrivacyError               the privacy asked for cannot be given
        ├── BudgetExhaustedError   what is left of the budget does not pay for it
        └── CalibrationError       no amount of noise is the answer to the question
    ArithmeticError
    └── DivergenceError            training left the range of finite numbers
    UserWarning
    └── PrivacyWarning             the promise is weaker than it may look

`shown` is what the package's messages show of a value that was passed by mistake.
"""

from collections.abc import Sequence
from numbers import Number

__all__ = [
    "BudgetExhaustedError",
    "CalibrationError",
    "DivergenceError",
    "PrivacyError",
    "PrivacyWarning",
]


class PrivacyError(ValueError):
    """The privacy that was asked for cannot be given."""


class BudgetExhaustedError(PrivacyError):
    """What is left of the budget does not pay for what was asked."""


class CalibrationError(PrivacyError):
    """The noise or the number of steps for a budget does not exist or is no protection."""


class DivergenceError(ArithmeticError):
    """Training left the range of finite numbers; a smaller learning rate is the remedy."""


class PrivacyWarning(UserWarning):
    """The promise is weaker than it may look: no noise, a large epsilon or delta, a cut run."""


# Texts beyond this many characters are cut, and sequences of more numbers are only named.
_LONGEST_TEXT = 60
_MOST_NUMBERS = 4


def shown(value: object) -> str:
    """Write a value into a message: of a table, which may be the data, only what it is.

    Parameters
    ----------
    value : object
        Whatever was passed.

    Returns
    -------
    text : str
        None, a number, a short text, and a list or tuple of a few numbers as Python writes them;
        the beginning of a longer text; of anything else its type.

    Examples
    --------
    >>> import numpy as np
    >>> print(shown(-1.5), shown("automatic"), shown((0, 1)), shown(np.zeros((100, 2))), sep="; ")
    -1.5; 'automatic'; (0, 1); an object of type ndarray
    """
    if value is None:
        return "None"
    if isinstance(value, str):
        return f"{value[:_LONGEST_TEXT]!r}..." if len(value) > _LONGEST_TEXT else repr(value)
    if isinstance(value, Number):
        return _number(value)
    # Exactly these classes: a subclass may write itself, and what it holds, as it likes.
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return _few_numbers(value)
    return f"an object of type {type(value).__name__}"


def _few_numbers(values: Sequence[object]) -> str:
    texts = [_number(one) for one in values[:_MOST_NUMBERS] if isinstance(one, Number)]
    if len(texts) < len(values):
        return f"an object of type {type(values).__name__}"
    if isinstance(values, list):
        return f"[{', '.join(texts)}]"
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def _number(value: Number) -> str:
    try:
        text = repr(value)
    except ValueError:
        # Python does not write whole numbers of thousands of digits.
        text = ""
    short = 0 < len(text) <= _LONGEST_TEXT
    return text if short else f"a very long number of type {type(value).__name__}"
