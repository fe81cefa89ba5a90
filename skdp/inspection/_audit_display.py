"""AuditDisplay: the adversary's errors against those that the claim allows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skdp.audit._audit_privacy import PrivacyAudit, audit_privacy
from skdp.audit._confidence import ClaimFamily
from skdp.inspection._style import BLACK, add_legend, add_note, axes_for, draw_error_axes
from skdp.linear_model import DPSGDClassifier

__all__ = ["AuditDisplay"]

_N_POINTS = 101
# The first colour of Okabe and Ito (2008), as in the other drawings.
_COLOUR = "#0072b2"


class AuditDisplay:
    """Drawing of an audit: misses against false alarms.

    The claim's trade-off curve is the least that any adversary can miss at each rate of false
    alarms. The adversary's curve, from all thresholds on their scores, lies above it where the
    promise is kept, up to the luck of the draw: the verdict is the audit's `exceeds_claim`, not
    the eye's. Like the audit, the drawing shows figures that no promise covers.

    Parameters
    ----------
    audit : PrivacyAudit
        What to draw.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure around it.
    attack_line_, claim_line_, guess_line_ : matplotlib Line2D
        The adversary's curve, the claim's, and that of guessing without looking.
    observed_ : matplotlib Line2D
        The point of the adversary's curve at which "in" is said where it is the likelier.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPSGDClassifier
    >>> from skdp.inspection import AuditDisplay, audit_privacy
    >>> X = np.random.default_rng(0).normal(size=(200, 20))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> audit = audit_privacy(DPSGDClassifier(epsilon=1.0), X, y, random_state=0)
    >>> display = AuditDisplay.from_audit(audit)
    >>> display.ax_.get_xlabel()
    'False alarm rate'
    """

    def __init__(self, audit: PrivacyAudit):
        self.audit = audit

    @classmethod
    def from_audit(cls, audit: PrivacyAudit, *, ax: Any = None) -> Self:
        """Draw an audit.

        Parameters
        ----------
        audit : PrivacyAudit
            As `audit_privacy` returns it.
        ax : matplotlib Axes, default=None
            As for `plot`.

        Returns
        -------
        display : AuditDisplay
            With the drawing.
        """
        return cls(audit).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: DPSGDClassifier,
        X: ArrayLike,
        y: ArrayLike,
        *,
        ax: Any = None,
        **audit_options: Any,
    ) -> Self:
        """Audit an estimator, and draw what was found.

        Parameters
        ----------
        estimator : DPSGDClassifier
            As for `audit_privacy`.
        X : array-like or CSR of shape (n_samples, n_features)
            As for `audit_privacy`.
        y : array-like of shape (n_samples,)
            As for `audit_privacy`.
        ax : matplotlib Axes, default=None
            As for `plot`.
        **audit_options : dict
            Further arguments of `audit_privacy`.

        Returns
        -------
        display : AuditDisplay
            With the drawing.
        """
        return cls.from_audit(audit_privacy(estimator, X, y, **audit_options), ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        self : AuditDisplay
            With the drawing.
        """
        ax = axes_for(self, ax)
        audit = self.audit
        alphas = np.linspace(0.0, 1.0, _N_POINTS)
        least = ClaimFamily(audit.mechanisms, audit.delta).miss_rate(1.0)
        (self.claim_line_,) = ax.plot(
            alphas,
            [least(alpha) for alpha in alphas],
            color=BLACK,
            label=f"claim (epsilon {audit.epsilon_claimed:.3g})",
        )
        (self.attack_line_,) = ax.plot(
            *_error_rates(audit.scores_out, audit.scores_in),
            label=f"attack (at least {audit.epsilon_lower:.3g})",
            color=_COLOUR,
        )
        (self.observed_,) = ax.plot(
            [audit.false_alarm_rate],
            [audit.miss_rate],
            marker="o",
            linestyle="none",
            color=_COLOUR,
        )
        self.guess_line_ = draw_error_axes(ax)
        add_legend(ax, loc="upper right")
        add_note(ax, "Computed from the rows without noise: no promise covers this drawing.")
        return self


def _error_rates(scores_out: np.ndarray, scores_in: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """False alarms and misses of "in above the threshold", at every threshold."""
    thresholds = np.concatenate([[-np.inf], np.unique(np.concatenate([scores_out, scores_in]))])
    out, inside = np.sort(scores_out), np.sort(scores_in)
    not_in = np.searchsorted(out, thresholds, side="right")
    missed = np.searchsorted(inside, thresholds, side="right")
    return 1.0 - not_in / max(1, len(out)), missed / max(1, len(inside))
