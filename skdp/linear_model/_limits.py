"""Rules between parameters, and sizes beyond which arithmetic could show through the noise.

Each refuses before a single row is read, in public numbers alone.
"""

import math
from typing import Literal, NamedTuple

from skdp.exceptions import CalibrationError, PrivacyError
from skdp.mechanisms._gradient_plan import MOST_ROWS_A_STEP, MOST_UNITS_A_STEP, GradientPlan
from skdp.mechanisms._release import (
    LEAST_NOISE,
    largest_exact_noise,
    largest_noise,
    largest_sum,
)
from skdp.mechanisms._sum_plan import SumPlan

__all__ = [
    "MOST_A_STEP",
    "Sizes",
    "check_arithmetic",
    "check_bound",
    "check_counts",
    "check_penalty",
    "check_threshold",
]

MOST_A_STEP = {"row": MOST_ROWS_A_STEP, "unit": MOST_UNITS_A_STEP}
_IN_RANGE = (1e-100, 1e100)


class Sizes(NamedTuple):
    """The public sizes of the data; rows are units where the unit is no row."""

    n_rows: int
    n_features: int
    n_classes: int
    unit: str


def check_threshold(clip_threshold: float | Literal["auto"]) -> None:
    """What noise is to cover must be bounded, and far from where numbers over- or underflow."""
    if clip_threshold == "auto":
        return
    if math.isinf(clip_threshold):
        raise PrivacyError(
            "clip_threshold=inf leaves the gradients unbounded, so no noise can cover them: set a "
            "finite clip_threshold, or noise_multiplier=0 to train without privacy"
        )
    if not _IN_RANGE[0] <= clip_threshold <= _IN_RANGE[1]:
        raise ValueError(
            f"clip_threshold={clip_threshold!r} with noise must be between {_IN_RANGE[0]:g} and "
            f"{_IN_RANGE[1]:g}, so that neither the noise nor the sum leaves the range of numbers"
        )


def check_bound(max_row_norm: float | None) -> None:
    """Refuse a bound on the L2 norm of rows whose square would over- or underflow."""
    if max_row_norm is not None and not _IN_RANGE[0] <= max_row_norm <= _IN_RANGE[1]:
        raise ValueError(
            f"max_row_norm={max_row_norm!r} must be between {_IN_RANGE[0]:g} and "
            f"{_IN_RANGE[1]:g}, so that squares of it stay within the range of numbers"
        )


def check_penalty(learning_rate: float, alpha: float) -> None:
    """Refuse what is known to end in infinite weights, before anything is spent."""
    if learning_rate * alpha > 1.0:
        raise ValueError(
            f"learning_rate={learning_rate:g} times alpha={alpha:g} is above 1: the penalty alone "
            "would overshoot zero at every step; lower learning_rate or alpha"
        )


def check_arithmetic(gradient: GradientPlan, sizes: Sizes, *, asked: str) -> None:
    """Refuse sizes at which rounding could pass what the accountant allows for it."""
    noise = gradient.noise_multiplier
    if noise == 0.0:
        return
    n_outputs = 1 if sizes.n_classes == 2 else sizes.n_classes
    # One intercept an output, fitted or not, and the count of clipped rows.
    size = (sizes.n_features + 1) * n_outputs + 1
    if not LEAST_NOISE <= noise <= largest_noise(size):
        raise CalibrationError(
            f"{asked} has noise of {noise:.3g} times the clip threshold. For {size} coordinates it "
            f"must be between {LEAST_NOISE:g} and {largest_noise(size):.3g} times, so that no "
            "release is out of another's reach and draws are fine enough: move it towards 1, or "
            "set noise_multiplier=0 to train without privacy"
        )
    if gradient.batch_size > MOST_A_STEP[sizes.unit]:
        raise ValueError(
            f"batch_size={gradient.batch_size:g} is above {MOST_A_STEP[sizes.unit]:,}, beyond "
            f"which the rounding of a sum over so many {sizes.unit}s could show through the noise: "
            "lower batch_size"
        )
    if gradient.n_rows > largest_sum(size):
        raise ValueError(
            f"{gradient.n_rows:,} {sizes.unit}s with {size} coordinates are too many for a sum "
            f"that is exact to the last bit; at most {largest_sum(size):.3g} are"
        )


def check_counts(counts: dict[str, SumPlan | None], *, asked: str) -> None:
    """Refuse counts whose noise is too small, or too large to be exact on their grid."""
    for plan in counts.values():
        if plan is not None and plan.noise_multiplier < LEAST_NOISE:
            raise CalibrationError(
                f"{asked} on so few rows has counts with noise of {plan.noise_multiplier:.3g} "
                f"times what a row adds, and {LEAST_NOISE:g} is the least: lower epsilon"
            )
        if plan is not None and plan.noise_multiplier > largest_exact_noise(plan.size):
            raise CalibrationError(
                f"{asked} on so many rows needs counts with more noise than is exact on their "
                "grid; raise epsilon, or set clip_threshold and learning_rate"
            )
