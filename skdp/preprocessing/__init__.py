"""Bounding, scaling and bending features without looking at them for free."""

from skdp.preprocessing._bounded_scaler import BoundedScaler
from skdp.preprocessing._dp_max_abs_scaler import DPMaxAbsScaler
from skdp.preprocessing._dp_standard_scaler import DPStandardScaler
from skdp.preprocessing._piecewise_linear import PiecewiseLinearFeatures
from skdp.preprocessing._row_norm_clipper import RowNormClipper

__all__ = [
    "BoundedScaler",
    "DPMaxAbsScaler",
    "DPStandardScaler",
    "PiecewiseLinearFeatures",
    "RowNormClipper",
]
