"""Differentially private training for people who use scikit-learn."""

import importlib
from typing import TYPE_CHECKING, Any

from skdp import linear_model, preprocessing, privacy
from skdp._version import __version__
from skdp.exceptions import PrivacyWarning
from skdp.linear_model import DPSGDClassifier

if TYPE_CHECKING:
    from skdp import inspection, model_selection
    from skdp.inspection import PrivacyBudget, privacy_statement

__all__ = [
    "DPSGDClassifier",
    "PrivacyBudget",
    "PrivacyWarning",
    "__version__",
    "inspection",
    "linear_model",
    "model_selection",
    "preprocessing",
    "privacy",
    "privacy_statement",
]


def __getattr__(name: str) -> Any:
    """Import what training does not need when it is asked for, so that training starts sooner."""
    if name in ("inspection", "model_selection"):
        return importlib.import_module(f"skdp.{name}")
    if name in ("PrivacyBudget", "privacy_statement"):
        return getattr(importlib.import_module("skdp.inspection"), name)
    raise AttributeError(f"module 'skdp' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
