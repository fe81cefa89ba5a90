"""Private linear classifiers."""

from skdp.linear_model._dpsgd import DPSGDClassifier

__all__ = ["DPSGDClassifier"]
