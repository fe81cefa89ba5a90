"""Bounding and scaling features without looking at them for free."""

from skdp.preprocessing._bounded_scaler import BoundedScaler

__all__ = ["BoundedScaler"]
