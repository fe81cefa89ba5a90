"""How often one row stood in the samples that the members of an ensemble drew.

A row drawn k times into one sample counts as k rows of one person. The draws do not depend on the
rows, so each row's own numbers of copies count, and the dearest row decides.
"""

from collections.abc import Sequence

import numpy as np

from skdp.statement._account import Account, copied, together

__all__ = ["bag_patterns"]

# More ways in which rows were drawn than this are replaced by one that is at least as dear.
_MOST_ROWS = 16


def bag_patterns(fits: Sequence[Account], drawn: Sequence[np.ndarray]) -> frozenset:
    """The ways in which rows took part in the members' releases.

    Parameters
    ----------
    fits : sequence of Account
        Of each member, what its fit did to a row that stood in its sample once.
    drawn : sequence of arrays of int
        Of each member, the positions of the rows that were drawn.
    """
    n_rows = max((int(rows.max(initial=-1)) for rows in drawn), default=-1) + 1
    copies = np.stack([np.bincount(rows, minlength=n_rows) for rows in drawn], axis=1)
    # Members that did the same can be told apart by nobody's cost, so their numbers are sorted.
    for group in _alike(fits):
        copies[:, group] = -np.sort(-copies[:, group], axis=1)
    ways = _largest(np.unique(copies, axis=0))
    accounts = (
        together(*(copied(fit, int(times)) for fit, times in zip(fits, way, strict=True)))
        for way in ways
    )
    return frozenset().union(*(account.patterns for account in accounts))


def _alike(fits: Sequence[Account]) -> list[list[int]]:
    """Positions of members with the same releases."""
    groups: dict[tuple, list[int]] = {}
    for position, fit in enumerate(fits):
        groups.setdefault((fit.patterns, fit.everything), []).append(position)
    return list(groups.values())


def _largest(ways: np.ndarray) -> np.ndarray:
    """Those that no other exceeds in every place; what a row cost grows with each number."""
    kept = [
        way for way in ways if not np.any(np.all(ways >= way, axis=1) & np.any(ways > way, axis=1))
    ]
    if len(kept) <= _MOST_ROWS:
        return np.array(kept)
    return np.max(kept, axis=0, keepdims=True)
