"""Differentially private training for people who use scikit-learn."""

import importlib
from typing import TYPE_CHECKING, Any

from skdp import exceptions, linear_model, preprocessing, privacy
from skdp._version import __version__
from skdp.budget import PrivacyBudget
from skdp.exceptions import PrivacyWarning
from skdp.linear_model import DPSGDClassifier
from skdp.statement import privacy_statement

if TYPE_CHECKING:
    from skdp import audit, inspection, model_selection

__all__ = [
    "DPSGDClassifier",
    "PrivacyBudget",
    "PrivacyWarning",
    "__version__",
    "audit",
    "exceptions",
    "inspection",
    "linear_model",
    "model_selection",
    "preprocessing",
    "privacy",
    "privacy_statement",
]


def __getattr__(name: str) -> Any:
    """Import what training does not need when it is asked for, so that training starts sooner."""
    if name in ("audit", "inspection", "model_selection"):
        return importlib.import_module(f"skdp.{name}")
    raise AttributeError(f"module 'skdp' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
