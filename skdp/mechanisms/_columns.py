"""What the columns look like, each question answered for all of them by one Gaussian release.

Two questions: sums of values and of squares, from columns with public bounds; and how many entries
there are of each size, from columns without. A row answers for all its columns at once, so the
sensitivity grows with the square root of their number. Neighbours differ in one row, which
contributes nothing in one of them; the number of rows is public.
"""

import math

import numpy as np
from scipy import sparse

from skdp.mechanisms._noise import RandomSource
from skdp.mechanisms._rows import DenseRows, every_row, rows_of
from skdp.mechanisms._sum_plan import SumPlan, release_sum

__all__ = [
    "MOST_ROWS",
    "SIZE_EXPONENTS",
    "SQUARE_CENTRE",
    "SQUARE_WEIGHT",
    "moment_plan",
    "noisy_moments",
    "noisy_sizes",
    "size_plan",
]

# What a row adds for one column with value t in [-1, 1]: t, and WEIGHT * (t^2 - CENTRE).
SQUARE_WEIGHT = math.sqrt(1.5)
SQUARE_CENTRE = 5.0 / 6.0
# Public bins of the sizes of entries: bin k holds sizes above 2^(k - 1) and up to 2^k, so that 1,
# which is what one-hot columns hold, is the upper end of its bin. The outer bins also hold what
# lies beyond them.
SIZE_EXPONENTS = np.arange(-48, 64)
# What a row adds is rounded to so many steps a unit: then sums of up to MOST_ROWS rows are exact
# in whatever order they are added up, and rounding them costs no sensitivity.
_STEPS_PER_UNIT = 2.0**20
MOST_ROWS = 2**32


def moment_plan(n_columns: int, noise_multiplier: float) -> SumPlan:
    """What decides a release of sums and of sums of squares.

    With t in [-1, 1] the value in half widths of the bounds from their middle, and weight w and
    centre c, a row adds (t, w (t^2 - c)) for each column, and nothing in the neighbour. With s =
    t^2 in [0, 1] its squared length in one column, s + w^2 (s - c)^2, is convex in s, so it is
    largest at an end:

    - at s = 0 it is w^2 c^2, at s = 1 it is 1 + w^2 (1 - c)^2;
    - the larger is least where they are equal, at c = (1 + w^2) / (2 w^2), for w of at least 1;
    - then it is (1 + w^2)^2 / (4 w^2): 1 at w = 1, where the squares cost the sums nothing.

    The d columns together have at most d times that, which a row of t = 0 and a row of t = 1
    both reach. A larger w makes squares less noisy and sums more. The variance, mean square less
    squared mean m, gets noise of (1 + w^2) / (2 w) sqrt(1 / w^2 + 4 m^2), in units in which it is
    sqrt(1 + 4 m^2) at w = 1. At w^2 = 3 / 2 that is 17, 7 and 1 % less for m of 0, 1/2 and 1, and
    the means have 2 % more.
    """
    sensitivity = math.sqrt(n_columns) * SQUARE_WEIGHT * SQUARE_CENTRE
    return SumPlan(2 * n_columns, sensitivity, noise_multiplier)


def size_plan(n_columns: int, noise_multiplier: float) -> SumPlan:
    """What decides a release of how many entries of each column are of which size.

    A row adds one to one bin of each column in which it is not zero, a vector of length
    sqrt(d) at most.
    """
    return SumPlan(n_columns * len(SIZE_EXPONENTS), math.sqrt(n_columns), noise_multiplier)


def noisy_moments(
    X: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    plan: SumPlan,
    source: RandomSource,
    *,
    usable: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Add up values and squares of each column, clipped to its bounds, and add noise.

    Guarantee: one run of `plan.mechanism`, for neighbours that differ in one row which
    contributes nothing in one of them.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        Rows, finite where they are usable, at most `MOST_ROWS`.
    lower, upper : ndarray of shape (n_columns,)
        Public bounds, the lower ones below the upper ones.
    plan : SumPlan
        Of `moment_plan`, for as many columns.
    source : RandomSource
        The stream of this release.
    usable : ndarray of bool of shape (n_rows,) or None
        Which rows contribute; None for all.

    Returns
    -------
    sums : ndarray of shape (n_columns,)
        Noisy sums of t, which runs from -1 at `lower` to 1 at `upper`.
    squares : ndarray of shape (n_columns,)
        Noisy sums of `SQUARE_WEIGHT * (t**2 - SQUARE_CENTRE)`.
    """
    total = np.zeros((2, X.shape[1]))
    for selection, piece in every_row(DenseRows(X, usable=usable)):
        # Rounding keeps order, so the share is at most 1, and t is within [-1, 1].
        share = (np.clip(piece, lower, upper) - lower) / (upper - lower)
        t = 2.0 * share - 1.0
        squares = SQUARE_WEIGHT * (t * t - SQUARE_CENTRE)
        if usable is not None:
            t[~usable[selection]] = squares[~usable[selection]] = 0.0
        total[0] += _rounded(t).sum(axis=0)
        total[1] += _rounded(squares).sum(axis=0)
    sums, squares = release_sum(total.ravel(), plan, source).reshape(2, -1)
    return sums, squares


def noisy_sizes(
    X: np.ndarray | sparse.csr_matrix | sparse.csr_array,
    plan: SumPlan,
    source: RandomSource,
    *,
    usable: np.ndarray | None = None,
) -> np.ndarray:
    """Count the entries of each size in each column, and add noise; zeros are not counted.

    Guarantee: one run of `plan.mechanism`, for neighbours that differ in one row which
    contributes nothing in one of them.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_rows, n_columns)
        Rows, finite where they are usable, at most `MOST_ROWS`.
    plan : SumPlan
        Of `size_plan`, for as many columns.
    source : RandomSource
        The stream of this release.
    usable : ndarray of bool of shape (n_rows,) or None
        Which rows contribute; None for all.

    Returns
    -------
    counts : ndarray of shape (n_columns, len(SIZE_EXPONENTS))
        Noisy, so perhaps negative.
    """
    n_bins = len(SIZE_EXPONENTS)
    total = np.zeros(plan.size)
    for _, piece in every_row(rows_of(X, usable=usable)):
        column, value = _entries(piece)
        place = column.astype(np.intp) * n_bins + _size_bins(value)
        total += np.bincount(place[value != 0.0], minlength=plan.size)
    return release_sum(total, plan, source).reshape(-1, n_bins)


def _rounded(contribution: np.ndarray) -> np.ndarray:
    return np.rint(contribution * _STEPS_PER_UNIT) / _STEPS_PER_UNIT


def _entries(piece: np.ndarray | sparse.csr_matrix) -> tuple[np.ndarray, np.ndarray]:
    """Column and value of every stored entry."""
    if isinstance(piece, np.ndarray):
        return np.tile(np.arange(piece.shape[1]), piece.shape[0]), piece.ravel()
    return piece.indices, piece.data


def _size_bins(value: np.ndarray) -> np.ndarray:
    # frexp writes a number as m 2^e with m in [1/2, 1), so 2^e is the least power of two above it;
    # a power of two itself, m = 1/2, is the upper end of the bin below.
    mantissa, exponent = np.frexp(np.abs(value))
    exponent = exponent - (mantissa == 0.5)
    return np.clip(exponent, SIZE_EXPONENTS[0], SIZE_EXPONENTS[-1]) - SIZE_EXPONENTS[0]
