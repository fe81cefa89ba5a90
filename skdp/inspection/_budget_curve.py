"""BudgetCurveDisplay: how epsilon grows with the steps, and when a budget is spent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np

from skdp.exceptions import shown
from skdp.inspection._priced import one_delta, releases_to_draw
from skdp.inspection._style import (
    BLACK,
    GREY,
    add_legend,
    axes_for,
    by_name,
    curve_style,
    delta_text,
    leave_room_above,
    leave_room_below,
    point_style,
    require_pyplot,
    small_text,
)
from skdp.privacy import (
    Gaussian,
    GroupedGaussian,
    SubsampledGaussian,
    get_epsilon,
    textbook_epsilon,
)
from skdp.privacy._calibration import MOST_STEPS, most_steps
from skdp.privacy._mechanism import Mechanism, check_budget, check_count, check_delta
from skdp.privacy._promise import digits_up
from skdp.statement import privacy_statement

__all__ = ["BudgetCurveDisplay"]

_N_POINTS = 60
# Without other wish, the axis reaches this many times as far as the longest run.
_REACH = 10
# Where the next crossing is nearer than this share of the axis, a figure stands on the other side.
_CROWDED = 0.08


class BudgetCurveDisplay:
    """Drawing of epsilon against steps, for one or several runs.

    Where a curve meets the budget, a dot and a figure say how many steps fit within it; a cross
    marks the length that the run was planned with. Dashed is what the formula of many tutorials
    says instead: it bounds nothing, and errs to either side.

    Made by `from_noise_multipliers`, `from_mechanisms` or `from_estimator`. All of it is computed
    from public settings, so the drawing costs nothing.

    Parameters
    ----------
    steps : ndarray of shape (n_points,)
        Numbers of steps.
    epsilons : dict of str to ndarray of shape (n_points,)
        For each run, what so many steps cost.
    delta : float
        What may be added to a probability beyond the factor exp(epsilon).
    planned : dict of str to (int, float)
        For each run, the steps that it was planned with, and what they cost; may be empty.
    estimates : dict of str to ndarray of shape (n_points,)
        For each run, the textbook's estimate; may be empty.
    budget : float or None, default=None
        Epsilon to mark.
    n_steps_within_budget : dict of str to int, default=None
        For each run, how many steps fit within the budget.
    n_steps_by_textbook : dict of str to int, default=None
        The same, if the estimate were true.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure around it.
    lines_, estimate_lines_ : dict of str to matplotlib Line2D
        For each run, its curve, and the dashed one.
    budget_line_ : matplotlib Line2D or None
        The budget.
    crossings_ : dict of str to matplotlib Line2D
        For each run that meets the budget within the axis, the dot.
    planned_ : dict of str to matplotlib Line2D
        For each run, the cross.

    See Also
    --------
    skdp.privacy.calibrate_n_steps : The largest number of steps within a budget.
    skdp.privacy.textbook_epsilon : The estimate.

    Examples
    --------
    >>> from skdp.inspection import BudgetCurveDisplay
    >>> display = BudgetCurveDisplay.from_noise_multipliers(
    ...     [1.0, 2.0, 4.0], sample_rate=0.08, n_steps=375, delta=1e-5, budget=5.0
    ... )
    >>> display.n_steps_within_budget
    {'noise 1': 77, 'noise 2': 654, 'noise 4': 3009}
    >>> display.ax_.get_ylabel()
    'Epsilon at delta 1e-05'
    """

    def __init__(
        self,
        *,
        steps: np.ndarray,
        epsilons: dict[str, np.ndarray],
        delta: float,
        planned: dict[str, tuple[int, float]],
        estimates: dict[str, np.ndarray],
        budget: float | None = None,
        n_steps_within_budget: dict[str, int] | None = None,
        n_steps_by_textbook: dict[str, int] | None = None,
    ):
        self.steps = steps
        self.epsilons = epsilons
        self.delta = delta
        self.planned = planned
        self.estimates = estimates
        self.budget = budget
        self.n_steps_within_budget = n_steps_within_budget
        self.n_steps_by_textbook = n_steps_by_textbook

    @classmethod
    def from_noise_multipliers(
        cls,
        noise_multipliers: float | Sequence[float],
        *,
        sample_rate: float,
        n_steps: int,
        **options: Any,
    ) -> Self:
        """Compare noise multipliers, and draw.

        Parameters
        ----------
        noise_multipliers : float or sequence of float
            One curve each.
        sample_rate : float
            Probability that a row takes part in a step: batch size over number of rows.
        n_steps : int
            Steps that are planned.
        **options : dict
            Further arguments of `from_mechanisms`.

        Returns
        -------
        display : BudgetCurveDisplay
            With the drawing.
        """
        runs = {
            f"noise {noise:g}": SubsampledGaussian(float(noise), sample_rate, n_steps)
            for noise in np.atleast_1d(noise_multipliers)
        }
        return cls.from_mechanisms(runs, **options)

    @classmethod
    def from_estimator(cls, estimator: Any, **options: Any) -> Self:
        """Take the runs from fitted estimators, and draw.

        Parameters
        ----------
        estimator : fitted estimator or dict of str to fitted estimator
            A private classifier, a pipeline around one, or one a curve by name.
        **options : dict
            Further arguments of `from_mechanisms`; delta is that of the fits.

        Returns
        -------
        display : BudgetCurveDisplay
            With the drawing.

        Raises
        ------
        skdp.exceptions.PrivacyError
            Where no promise covers all of a fit: it has no epsilon.
        ValueError
            Where the estimators have different deltas.
        """
        fits = by_name(estimator, lambda one: type(one).__name__)
        stated = {name: privacy_statement(fitted) for name, fitted in fits.items()}
        runs = {name: releases_to_draw(statement) for name, statement in stated.items()}
        return cls.from_mechanisms(runs, delta=one_delta(stated.values()), **options)

    @classmethod
    def from_mechanisms(
        cls,
        mechanisms: Mechanism | Sequence[Mechanism] | Mapping[str, Any],
        *,
        delta: float = 1e-5,
        budget: float | None = None,
        max_steps: int | None = None,
        textbook: bool = True,
        **options: Any,
    ) -> Self:
        """Price so many steps of each run, and draw.

        Parameters
        ----------
        mechanisms : mechanism, sequence of mechanisms, or dict of str to either
            One run: its steps, a `SubsampledGaussian` or `GroupedGaussian`, and any `Gaussian` that
            is released before them. A dict has one run a curve.
        delta : float, default=1e-5
            What may be added to a probability beyond the factor exp(epsilon).
        budget : float or None, default=None
            Epsilon to mark.
        max_steps : int or None, default=None
            End of the axis. None is ten times the longest run, or more where a run meets the budget
            later.
        textbook : bool, default=True
            Whether to draw the textbook's estimate of the steps too.
        **options : dict
            Arguments of `plot`: `ax` and `line_kw`.

        Returns
        -------
        display : BudgetCurveDisplay
            With the drawing.
        """
        require_pyplot(cls.__name__)
        delta = check_delta(delta)
        budget = None if budget is None else check_budget(budget)
        runs = {
            name: _Run.of(releases) for name, releases in by_name(mechanisms, _noise_name).items()
        }
        affordable = None
        if budget is not None:
            affordable = {
                name: most_steps(budget, delta, run.steps, alongside=run.before)
                for name, run in runs.items()
            }
        steps = _grid(runs.values(), max_steps, affordable)
        estimated = {name: run for name, run in runs.items() if textbook and run.has_estimate}
        by_textbook = None
        if budget is not None:
            by_textbook = {
                name: int((budget / run.estimate(1, delta)) ** 2) for name, run in estimated.items()
            }
        return cls(
            steps=steps,
            epsilons={
                name: np.array([run.epsilon(int(n), delta) for n in steps])
                for name, run in runs.items()
            },
            delta=delta,
            planned={name: run.planned(delta) for name, run in runs.items()},
            estimates={
                name: np.array([run.estimate(int(n), delta) for n in steps])
                for name, run in estimated.items()
            },
            budget=budget,
            n_steps_within_budget=affordable,
            n_steps_by_textbook=by_textbook,
        ).plot(**options)

    def plot(self, ax: Any = None, *, line_kw: dict[str, Any] | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        line_kw : dict, default=None
            Arguments of `ax.plot` for the curves.

        Returns
        -------
        self : BudgetCurveDisplay
            With the drawing.
        """
        ax = axes_for(self, ax)
        ax.set(
            xscale="log",
            yscale="log",
            xlabel="Steps",
            ylabel=f"Epsilon{delta_text(self.delta)}",
        )
        self.lines_, self.estimate_lines_ = {}, {}
        for index, (name, epsilons) in enumerate(self.epsilons.items()):
            style = {**curve_style(ax, index), "label": self._label(name), **(line_kw or {})}
            self.lines_[name] = _draw_positive(ax, self.steps, epsilons, style)
            if name in self.estimates:
                dashed = {"color": style["color"], "linestyle": (0, (4, 2)), "linewidth": 0.9}
                self.estimate_lines_[name] = _draw_positive(
                    ax, self.steps, self.estimates[name], dashed
                )
        if self.estimates:
            ax.plot([], [], color=GREY, linestyle=(0, (4, 2)), linewidth=0.9, label="textbook")
        self._mark_plans(ax)
        self._mark_budget(ax)
        leave_room_above(ax, math.ceil(len(ax.get_legend_handles_labels()[1]) / 2))
        self._drop_to_axis(ax)
        add_legend(ax, loc="upper left", ncols=2, columnspacing=1.0)
        return self

    def _label(self, name: str) -> str:
        if self.n_steps_within_budget and self.n_steps_within_budget[name] == 0:
            return f"{name} (no step fits)"
        return name

    def _mark_plans(self, ax: Any) -> None:
        self.planned_ = {}
        label: str | None = "planned run"
        for name, (n_steps, epsilon) in self.planned.items():
            if n_steps <= self.steps[-1] and 0 < epsilon < math.inf:
                (self.planned_[name],) = ax.plot(
                    [n_steps], [epsilon], "x", color=BLACK, markersize=5, zorder=4, label=label
                )
                label = None

    def _mark_budget(self, ax: Any) -> None:
        self.budget_line_, self.crossings_ = None, {}
        if self.budget is None:
            return
        self.budget_line_ = ax.axhline(
            self.budget, color=BLACK, linewidth=1.0, label=f"budget {digits_up(self.budget, 6)}"
        )
        met = {
            name: n_steps
            for name, n_steps in (self.n_steps_within_budget or {}).items()
            if 1 <= n_steps <= self.steps[-1]
        }
        for name, n_steps in met.items():
            point = point_style(ax, self.lines_[name].get_color())
            (self.crossings_[name],) = ax.plot([n_steps], [self.budget], **point)

    def _drop_to_axis(self, ax: Any) -> None:
        """Lead from each crossing down to the axis, with the number of steps upright beside it."""
        from matplotlib import patheffects

        if self.budget is None:
            return
        found = sorted(int(point.get_xdata()[0]) for point in self.crossings_.values())
        curves = [*self.epsilons.values(), *self.estimates.values()]
        width = math.log(self.steps[-1] / self.steps[0])
        crowded, lift = False, 0
        for n_steps, following in pairwise([*found, math.inf]):
            text = f"{n_steps:,} steps"
            at = [float(np.interp(n_steps, self.steps, curve)) for curve in curves]
            was_crowded, crowded = crowded, math.log(following / n_steps) < _CROWDED * width
            # Two figures on one side stand one above the other.
            lift = lift + len(text) + 2 if was_crowded and crowded else 0
            lowest = min([self.budget, *(e for e in at if e > 0)])
            leave_room_below(ax, lowest, len(text) + lift)
            style = {"color": GREY, "linewidth": 0.8, "linestyle": ":", "zorder": 1}
            ax.plot([n_steps, n_steps], [0.0, self.budget], scaley=False, **style)
            ax.annotate(
                text,
                (n_steps, 0.0),
                xycoords=ax.get_xaxis_transform(),
                xytext=(-2.0 if crowded else 2.0, 3.0 + 0.55 * lift * small_text(ax)),
                textcoords="offset points",
                rotation=90,
                horizontalalignment="right" if crowded else "left",
                verticalalignment="bottom",
                fontsize=small_text(ax),
                path_effects=[patheffects.withStroke(linewidth=2.0, foreground="white")],
            )


@dataclass(frozen=True)
class _Run:
    """Steps of which there may be more or fewer, and what is released before them."""

    before: tuple[Mechanism, ...]
    steps: SubsampledGaussian | GroupedGaussian

    @classmethod
    def of(cls, mechanisms: Mechanism | Sequence[Mechanism]) -> _Run:
        parts = (mechanisms,) if isinstance(mechanisms, Mechanism) else tuple(mechanisms)
        repeated = [part for part in parts if not isinstance(part, Gaussian)]
        if len(repeated) != 1 or not isinstance(repeated[0], SubsampledGaussian | GroupedGaussian):
            raise ValueError(
                "a run has exactly one SubsampledGaussian or GroupedGaussian, whose steps are "
                "counted, and any number of Gaussian releases before it; got "
                f"{shown(mechanisms)}. Several runs go into a dict, one entry a curve"
            )
        before = tuple(part for part in parts if isinstance(part, Gaussian))
        return cls(before, repeated[0])

    @property
    def has_estimate(self) -> bool:
        """The textbook knows steps with noise, and one row a person."""
        return isinstance(self.steps, SubsampledGaussian) and self.steps.noise_multiplier > 0

    def epsilon(self, n_steps: int, delta: float) -> float:
        """What everything costs after so many steps."""
        return get_epsilon((*self.before, replace(self.steps, n_steps=n_steps)), delta)

    def planned(self, delta: float) -> tuple[int, float]:
        """The steps as planned, and the cost of everything."""
        return self.steps.n_steps, self.epsilon(self.steps.n_steps, delta)

    def estimate(self, n_steps: int, delta: float) -> float:
        """What the textbook says of the steps."""
        # The formula is linear in the sampling rate; 1 of 1 row is rate 1.
        at_rate_one, _, _ = textbook_epsilon(1, 1, self.steps.noise_multiplier, n_steps, delta)
        return self.steps.sample_rate * at_rate_one


def _noise_name(mechanisms: Mechanism | Sequence[Mechanism]) -> str:
    return f"noise {_Run.of(mechanisms).steps.noise_multiplier:.4g}"


def _grid(runs: Any, max_steps: int | None, affordable: dict[str, int] | None) -> np.ndarray:
    longest = max(run.steps.n_steps for run in runs)
    if max_steps is None:
        latest = max((affordable or {}).values(), default=0)
        end = min(MOST_STEPS, max(_REACH * longest, min(2 * latest, 10 * _REACH * longest)))
    else:
        end = check_count("max_steps", max_steps)
    return np.unique(np.geomspace(1, end, _N_POINTS).round().astype(np.int64))


def _draw_positive(ax: Any, steps: np.ndarray, epsilons: np.ndarray, style: dict[str, Any]) -> Any:
    """Draw what a logarithmic axis can show: neither 0 nor infinity."""
    shown = (epsilons > 0) & np.isfinite(epsilons)
    (line,) = ax.plot(steps[shown], epsilons[shown], **style)
    return line
