"""Which rows belong to one unit of privacy, a person for example.

Rows of one unit are anywhere in the table. Everything about a unit is worked out from its own rows
alone, in the order that they have, so that nothing of it changes when another unit leaves.
"""

import numpy as np

__all__ = ["Units"]


class Units:
    """Rows by unit.

    Parameters
    ----------
    codes : ndarray of int of shape (n_rows,)
        Each row's unit, counted from 0; every unit has a row.
    """

    def __init__(self, codes: np.ndarray):
        self._order = np.argsort(codes, kind="stable")
        self._sizes = np.bincount(codes)
        self._starts = np.cumsum(self._sizes) - self._sizes
        self._codes = codes

    def __len__(self) -> int:
        return len(self._sizes)

    def sizes_by_row(self) -> np.ndarray:
        """How many rows the unit of each row has."""
        return self._sizes[self._codes]

    def root_sum_squares(self, values: np.ndarray) -> np.ndarray:
        """Root of the sum of the squares of each unit's values, one a row."""
        return np.hypot.reduceat(values[self._order], self._starts)

    def pieces(
        self, drawn: np.ndarray | slice, rows_per_piece: int
    ) -> list[tuple[list[np.ndarray], np.ndarray]]:
        """Cut a batch of units into pieces of whole units.

        A unit of more rows than a piece is a piece of its own, of several parts.

        Parameters
        ----------
        drawn : ndarray of int, or slice
            Units of the batch.
        rows_per_piece : int
            Most rows in a part.

        Returns
        -------
        pieces : list of (parts, starts)
            The row indices of each part, unit after unit, and where each unit starts in the first
            part; pieces of several parts hold one unit.
        """
        sizes, starts = self._sizes[drawn], self._starts[drawn]
        ends = np.cumsum(sizes)
        pieces, first = [], 0
        while first < len(sizes):
            before = ends[first] - sizes[first]
            last = int(np.searchsorted(ends, before + rows_per_piece, side="right"))
            last = max(last, first + 1)
            inside = sizes[first:last]
            within = np.cumsum(inside) - inside
            places = np.repeat(starts[first:last] - within, inside) + np.arange(inside.sum())
            rows = self._order[places]
            parts = [
                rows[start : start + rows_per_piece]
                for start in range(0, len(rows), rows_per_piece)
            ]
            pieces.append((parts, within))
            first = last
        return pieces
