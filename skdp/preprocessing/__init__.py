"""Bounding, scaling and bending features without looking at them for free."""

from skdp.preprocessing._bounded_scaler import BoundedScaler
from skdp.preprocessing._piecewise_linear import PiecewiseLinearFeatures

__all__ = ["BoundedScaler", "PiecewiseLinearFeatures"]
