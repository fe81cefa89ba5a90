"""Which releases a drawing may put a price on.

A figure is read as a promise. So an object of which some part looked at the rows without noise has
no epsilon here either: the caller says so instead of drawing one. Seeds are no obstacle: repeated
runs are how a spread is drawn.
"""

import math
from dataclasses import dataclass
from typing import Any

from skdp.exceptions import PrivacyError
from skdp.privacy import Gap, get_epsilon
from skdp.privacy._mechanism import Mechanism
from skdp.statement._free import offers_releases
from skdp.statement._privacy_statement import privacy_statement

__all__ = ["Cost", "cost_of", "random_states"]

# What `privacy_statement` proposes instead of a seed, and of nothing else.
_OF_A_SEED = "random_state=None"


@dataclass(frozen=True)
class Cost:
    """What a fitted object released, and what about it is not covered.

    Parameters
    ----------
    subject : str
        What was fitted.
    releases : tuple of mechanisms
        All noisy releases. One of them has no noise where the object was fitted without.
    delta : float or None
        What may be added to a probability beyond the factor exp(epsilon); None where nothing is
        noisy.
    gaps : tuple of Gap, default=()
        What looked at the rows without noise.
    """

    subject: str
    releases: tuple[Mechanism, ...]
    delta: float | None
    gaps: tuple[Gap, ...] = ()

    @property
    def is_silent(self) -> bool:
        """Whether a release has no noise, so that epsilon is infinite whatever else there is."""
        return any(mechanism.noise_multiplier == 0 for mechanism in self.releases)

    @property
    def epsilon(self) -> float:
        """What everything cost; infinite over a gap."""
        if self.gaps or self.is_silent:
            return math.inf
        return get_epsilon(self.releases, self.delta) if self.releases else 0.0

    @property
    def priced(self) -> tuple[Mechanism, ...]:
        """The releases, where nothing else needs a price.

        Raises
        ------
        PrivacyError
            Over a gap.
        """
        if self.gaps and not self.is_silent:
            reasons = "; ".join(f"{gap.name}: {gap.reason}" for gap in self.gaps)
            instead = "; ".join(dict.fromkeys(gap.instead for gap in self.gaps))
            raise PrivacyError(
                f"{self.subject} has no epsilon to draw, since no promise covers all of it "
                f"({reasons}). Use instead: {instead}"
            )
        if not self.releases:
            raise ValueError(f"{self.subject} released nothing noisy: there is nothing to draw")
        return self.releases


def cost_of(fitted: Any) -> Cost:
    """Collect what a fitted object cost, its own seed left aside; see `privacy_statement`."""
    if offers_releases(fitted):
        name = type(fitted).__name__
        return Cost(name, tuple(fitted._privacy_releases()), getattr(fitted, "delta_", None))
    statement = privacy_statement(fitted)
    # Noise that several parts share stays a gap: their costs have no total then.
    gaps = tuple(gap for gap in statement.not_covered if gap.instead != _OF_A_SEED)
    return Cost(statement.subject, statement.mechanisms, statement.delta, gaps)


def random_states(estimator: Any) -> list[str]:
    """Names of the parameters of an estimator, and of its parts, that hold a random state."""
    return [
        name
        for name in estimator.get_params(deep=True)
        if name == "random_state" or name.endswith("__random_state")
    ]
