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
"""

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
