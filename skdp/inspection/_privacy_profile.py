"""PrivacyProfileDisplay: the whole promise, as delta against epsilon or as two error rates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from skdp.inspection._priced import one_delta, releases_to_draw
from skdp.inspection._style import (
    add_legend,
    axes_for,
    by_name,
    check_choice,
    curve_style,
    draw_error_axes,
    leave_room_above,
    point_style,
    require_pyplot,
)
from skdp.privacy import get_epsilon, privacy_profile, trade_off_curve
from skdp.privacy._mechanism import Mechanism, check_delta
from skdp.privacy._promise import digits_up
from skdp.statement import privacy_statement

__all__ = ["PrivacyProfileDisplay"]

_N_POINTS = 101
# The profile is drawn down to this delta, or to a hundredth of the one that is marked.
_LEAST_DELTA = 1e-8
_KINDS = ("profile", "trade_off")


class PrivacyProfileDisplay:
    """Drawing of all that a promise says: one epsilon at one delta is a single point of it.

    - `kind="profile"`: delta against epsilon, with the promised point.
    - `kind="trade_off"`: the least share of participants that an adversary misses, whatever the
      attack, at each rate of false alarms. On the diagonal they guess without looking; the nearer
      to it, the better the protection.

    Made by `from_mechanisms` or `from_estimator`. Both kinds are computed at once, so `plot` draws
    the other kind at no cost. All of it follows from public settings.

    Parameters
    ----------
    epsilons : ndarray of shape (n_points,)
        Where the profiles were evaluated.
    deltas : dict of str to ndarray of shape (n_points,)
        For each object, delta at each epsilon.
    false_alarm_rates : ndarray of shape (n_rates,)
        Where the trade-off curves were evaluated.
    miss_rates : dict of str to ndarray of shape (n_rates,)
        For each object, the least miss rate at each rate of false alarms.
    promises : dict of str to (float, float)
        For each object, the epsilon and the delta that are promised; may be empty.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure around it.
    lines_ : dict of str to matplotlib Line2D
        For each object, its curve.
    promises_ : dict of str to matplotlib Line2D
        For each object, the promised point; empty for trade-off curves.
    guess_line_ : matplotlib Line2D or None
        The diagonal of guessing without looking; None for profiles.

    See Also
    --------
    skdp.privacy.privacy_profile : Delta at each epsilon.
    skdp.privacy.trade_off_curve : The adversary's miss rates.
    AuditDisplay : What an attack found, against the trade-off curve.

    Examples
    --------
    >>> from skdp.inspection import PrivacyProfileDisplay
    >>> from skdp.privacy import SubsampledGaussian
    >>> training = {
    ...     "noise 1": SubsampledGaussian(1.0, sample_rate=0.08, n_steps=375),
    ...     "noise 2": SubsampledGaussian(2.0, sample_rate=0.08, n_steps=375),
    ... }
    >>> display = PrivacyProfileDisplay.from_mechanisms(training, delta=1e-5, kind="trade_off")
    >>> display.ax_.get_ylabel()
    'Miss rate'
    >>> display.plot(kind="profile").ax_.get_ylabel()
    'Delta'
    """

    def __init__(
        self,
        *,
        epsilons: np.ndarray,
        deltas: dict[str, np.ndarray],
        false_alarm_rates: np.ndarray,
        miss_rates: dict[str, np.ndarray],
        promises: dict[str, tuple[float, float]],
    ):
        self.epsilons = epsilons
        self.deltas = deltas
        self.false_alarm_rates = false_alarm_rates
        self.miss_rates = miss_rates
        self.promises = promises

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, epsilons: Sequence[float] | None = None, **options: Any
    ) -> Self:
        """Take the releases from fitted objects, and draw.

        Parameters
        ----------
        estimator : fitted object or dict of str to fitted object
            Whatever `privacy_statement` covers, or one a curve by name. Marked is the epsilon of
            each at its own delta.
        epsilons : sequence of float, default=None
            As for `from_mechanisms`.
        **options : dict
            Arguments of `plot`: `kind`, `ax` and `line_kw`.

        Returns
        -------
        display : PrivacyProfileDisplay
            With the drawing.

        Raises
        ------
        skdp.exceptions.PrivacyError
            Where no promise covers all of an object: then there is none to draw.
        """
        fits = by_name(estimator, lambda one: type(one).__name__)
        stated = {name: privacy_statement(fitted) for name, fitted in fits.items()}
        runs = {name: releases_to_draw(statement) for name, statement in stated.items()}
        marked = {name: one_delta([statement]) for name, statement in stated.items()}
        return cls._of_runs(runs, marked, epsilons).plot(**options)

    @classmethod
    def from_mechanisms(
        cls,
        mechanisms: Mechanism | Sequence[Mechanism] | Mapping[str, Any],
        *,
        delta: float | None = None,
        epsilons: Sequence[float] | None = None,
        **options: Any,
    ) -> Self:
        """Compute both curves of each, and draw one.

        Parameters
        ----------
        mechanisms : mechanism, sequence of mechanisms, or dict of str to either
            What runs on the same rows; a sequence is composed. A dict has one entry a curve.
        delta : float or None, default=None
            Where to mark a promise.
        epsilons : sequence of float, default=None
            Where to evaluate the profiles. None is up to where delta has become very small.
        **options : dict
            Arguments of `plot`: `kind`, `ax` and `line_kw`.

        Returns
        -------
        display : PrivacyProfileDisplay
            With the drawing.
        """
        runs = by_name(mechanisms, lambda _: "mechanism")
        marked = {} if delta is None else dict.fromkeys(runs, check_delta(delta))
        return cls._of_runs(runs, marked, epsilons).plot(**options)

    @classmethod
    def _of_runs(
        cls, runs: dict[str, Any], marked: dict[str, float], epsilons: Sequence[float] | None
    ) -> Self:
        require_pyplot(cls.__name__)
        grid = (
            np.linspace(0.0, _farthest(runs, marked), _N_POINTS)
            if epsilons is None
            else np.asarray(epsilons, dtype=np.float64)
        )
        rates = np.linspace(0.0, 1.0, _N_POINTS)
        return cls(
            epsilons=grid,
            deltas={name: privacy_profile(run, grid) for name, run in runs.items()},
            false_alarm_rates=rates,
            miss_rates={name: trade_off_curve(run, rates) for name, run in runs.items()},
            promises={
                name: (get_epsilon(runs[name], delta), delta) for name, delta in marked.items()
            },
        )

    def plot(
        self, ax: Any = None, *, kind: str = "profile", line_kw: dict[str, Any] | None = None
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        kind : {"profile", "trade_off"}, default="profile"
            What to draw.
        line_kw : dict, default=None
            Arguments of `ax.plot` for the curves.

        Returns
        -------
        self : PrivacyProfileDisplay
            With the drawing.
        """
        check_choice("kind", kind, _KINDS)
        ax = axes_for(self, ax)
        self.lines_: dict[str, Any] = {}
        self.promises_: dict[str, Any] = {}
        self.guess_line_ = None
        if kind == "profile":
            self._draw_profiles(ax, line_kw or {})
        else:
            self._draw_trade_offs(ax, line_kw or {})
        return self

    def _draw_profiles(self, ax: Any, line_kw: dict[str, Any]) -> None:
        for index, (name, deltas) in enumerate(self.deltas.items()):
            shown = deltas > 0
            style = {**curve_style(ax, index), "label": self._promise_label(name), **line_kw}
            (line,) = ax.plot(self.epsilons[shown], deltas[shown], **style)
            self.lines_[name] = line
            epsilon, delta = self.promises.get(name, (math.inf, 0.0))
            if epsilon <= self.epsilons[-1]:
                point = point_style(ax, line.get_color())
                (self.promises_[name],) = ax.plot([epsilon], [delta], **point)
        least = min([_LEAST_DELTA, *(delta / 100 for _, delta in self.promises.values())])
        ax.set(
            xlabel="Epsilon",
            ylabel="Delta",
            yscale="log",
            ylim=(least, 2.0),
            xlim=(0.0, self.epsilons[-1]),
        )
        title = self._legend_title()
        # The legend stands above the curves, where no delta can be.
        leave_room_above(ax, len(self.deltas) + (title is not None))
        ax.set_yticks([tick for tick in ax.get_yticks() if least <= tick <= 1.0])
        ax.set_yticks([], minor=True)
        add_legend(ax, title=title, loc="upper right")

    def _promise_label(self, name: str) -> str:
        if name not in self.promises:
            return name
        return f"{name} (epsilon {digits_up(self.promises[name][0])})"

    def _legend_title(self) -> str | None:
        deltas = {delta for _, delta in self.promises.values()}
        return f"points at delta {digits_up(deltas.pop())}" if len(deltas) == 1 else None

    def _draw_trade_offs(self, ax: Any, line_kw: dict[str, Any]) -> None:
        self.guess_line_ = draw_error_axes(ax)
        for index, (name, misses) in enumerate(self.miss_rates.items()):
            style = {**curve_style(ax, index), "label": name, **line_kw}
            (self.lines_[name],) = ax.plot(self.false_alarm_rates, misses, **style)
        add_legend(ax, loc="upper right")


def _farthest(runs: dict[str, Any], marked: dict[str, float]) -> float:
    """An epsilon at which every profile with noise has become small."""
    ends = [
        get_epsilon(run, min(_LEAST_DELTA, marked.get(n, 1.0) / 100)) for n, run in runs.items()
    ]
    return max((end for end in ends if 0 < end < math.inf), default=10.0)
