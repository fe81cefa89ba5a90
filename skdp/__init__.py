"""Differentially private training for people who use scikit-learn."""

from skdp import linear_model, preprocessing, privacy
from skdp._version import __version__
from skdp.exceptions import PrivacyWarning
from skdp.linear_model import DPSGDClassifier

__all__ = [
    "DPSGDClassifier",
    "PrivacyWarning",
    "__version__",
    "linear_model",
    "preprocessing",
    "privacy",
]
