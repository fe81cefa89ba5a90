"""What of a privacy statement a drawing may show.

A figure is read as a promise, so what the statement does not cover is drawn without an epsilon, or
not at all. Seeds are no obstacle: repeated runs are how a spread is drawn. Neither is a fit without
noise, whose epsilon is drawn as infinite.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from skdp.exceptions import PrivacyError
from skdp.privacy import Gap, PrivacyStatement
from skdp.privacy._mechanism import Mechanism

__all__ = [
    "drawn_epsilon",
    "is_without_noise",
    "obstacles",
    "one_delta",
    "random_states",
    "releases_to_draw",
]


def obstacles(statement: PrivacyStatement) -> tuple[Gap, ...]:
    """Return what is not covered, seeds left aside."""
    return tuple(gap for gap in statement.not_covered if not gap.is_seed)


def is_without_noise(statement: PrivacyStatement) -> bool:
    """Tell whether a release has no noise: epsilon is infinite then, whatever else there is."""
    return any(mechanism.noise_multiplier == 0 for mechanism in statement.mechanisms)


def drawn_epsilon(statement: PrivacyStatement) -> float:
    """Return what everything costs, infinite over any gap but a seed."""
    return math.inf if obstacles(statement) else statement.epsilon_of_releases


def releases_to_draw(statement: PrivacyStatement) -> tuple[Mechanism, ...]:
    """Return the noisy releases, where nothing else needs a price.

    Raises
    ------
    PrivacyError
        Over any gap but a seed or missing noise.
    ValueError
        Where there are no releases.
    """
    gaps = obstacles(statement)
    if gaps and not is_without_noise(statement):
        reasons = "; ".join(f"{gap.name}: {gap.reason}" for gap in gaps)
        instead = "; ".join(dict.fromkeys(gap.instead for gap in gaps))
        raise PrivacyError(
            f"{statement.subject} has no epsilon to draw, since no promise covers all of it "
            f"({reasons}). Use instead: {instead}"
        )
    if not statement.mechanisms:
        raise ValueError(f"{statement.subject} released nothing noisy: there is nothing to draw")
    return statement.mechanisms


def one_delta(statements: Iterable[PrivacyStatement]) -> float:
    """Return the delta that all statements share, since one axis shows epsilon at one delta.

    Statements of what released something noisy have one.
    """
    deltas = {statement.delta for statement in statements if statement.delta is not None}
    if len(deltas) > 1:
        raise ValueError(
            f"the fits have different deltas ({sorted(deltas)}), and one axis shows epsilon at "
            "one delta: fit them with one delta=..."
        )
    return deltas.pop()


def random_states(estimator: Any) -> list[str]:
    """Return the names of the parameters of an estimator and its parts that hold a random state."""
    return [
        name
        for name in estimator.get_params(deep=True)
        if name == "random_state" or name.endswith("__random_state")
    ]
