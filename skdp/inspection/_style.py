"""How every drawing looks: axes, colours that most eyes tell apart, marks, legends, notes.

The colours are those of Okabe and Ito (2008, "Color universal design"). Each curve has a mark of
its own as well, so that a print in grey can be read. Text follows the width of the axes.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np

from skdp.exceptions import shown
from skdp.privacy._promise import digits_up

__all__ = [
    "BLACK",
    "GREY",
    "add_legend",
    "add_note",
    "axes_for",
    "by_name",
    "check_choice",
    "curve_style",
    "delta_text",
    "draw_error_axes",
    "draw_spread",
    "leave_room_above",
    "leave_room_below",
    "point_style",
    "require_pyplot",
    "small_text",
]

BLACK, GREY = "#000000", "#666666"
# Without the yellow of the palette, which white paper swallows.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
# One more than the colours, so that both come together again after 42 curves only.
_MARKS = ("o", "s", "^", "D", "v", "P", "X")


def require_pyplot(display: str) -> Any:
    """Import matplotlib's pyplot, or say how to get it.

    Parameters
    ----------
    display : str
        The class that draws.

    Returns
    -------
    pyplot : module
        That of matplotlib.
    """
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError(
            f'{display} draws with matplotlib: python3 -m pip install "matplotlib>=3.7"'
        ) from None
    return pyplot


def axes_for(display: Any, ax: Any) -> Any:
    """Return the axes to draw on, those of a new figure where `ax` is None."""
    pyplot = require_pyplot(type(display).__name__)
    if ax is None:
        _, ax = pyplot.subplots(layout="constrained")
    display.ax_, display.figure_ = ax, ax.figure
    return ax


def curve_style(ax: Any, index: int) -> dict[str, Any]:
    """Colour and mark of the curve with this number, as arguments of `ax.plot`."""
    size = small_text(ax)
    return {
        "color": _COLOURS[index % len(_COLOURS)],
        "linewidth": size / 6.0,
        "marker": _MARKS[index % len(_MARKS)],
        "markersize": size / 2.0,
        # Marks stand apart by distances on paper, and not at the same place on every curve.
        "markevery": (0.03 + 0.04 * (index % 4), 0.17),
    }


def point_style(ax: Any, color: str) -> dict[str, Any]:
    """A point that stands out from the marks of its curve, as arguments of `ax.plot`."""
    return {
        "marker": "o",
        "linestyle": "none",
        "color": color,
        "markeredgecolor": BLACK,
        "markersize": small_text(ax) / 1.5,
        "zorder": 5,
    }


def draw_spread(
    ax: Any, x: np.ndarray, mean: np.ndarray, spread: np.ndarray | None, style: dict[str, Any]
) -> tuple[Any, Any]:
    """Draw a mean, and a band of its spread, if any; return the line and the band or None."""
    (line,) = ax.plot(x, mean, **style)
    if spread is None:
        return line, None
    band = ax.fill_between(
        x, mean - spread, mean + spread, color=line.get_color(), alpha=0.18, linewidth=0
    )
    return line, band


def small_text(ax: Any) -> float:
    """Size of legends and notes in points, smaller in small axes."""
    return float(min(9.0, max(6.5, 1.8 * _width(ax) + 1.0)))


def add_legend(ax: Any, title: str | None = None, **options: Any) -> Any:
    """Explain the lines of `ax` in small text."""
    size = small_text(ax)
    settings: dict[str, Any] = {
        "fontsize": size,
        "title": title,
        "title_fontsize": size,
        "framealpha": 0.85,
        "edgecolor": "none",
        "handlelength": 2.4,
        "labelspacing": 0.3,
        "borderpad": 0.2,
    }
    return ax.legend(**settings | options)


def draw_error_axes(ax: Any) -> Any:
    """Lay out misses against false alarms, and draw the diagonal of guessing without looking."""
    ax.set(
        xlabel="False alarm rate",
        ylabel="Miss rate",
        xlim=(-0.01, 1.01),
        ylim=(-0.01, 1.01),
        aspect="equal",
    )
    (diagonal,) = ax.plot([0, 1], [1, 0], color=GREY, linestyle=":", label="guessing")
    return diagonal


def leave_room_above(ax: Any, n_rows: int) -> None:
    """Raise the top of the y axis by the height of a legend with so many rows."""
    share = min(0.5, (1.35 * n_rows + 0.8) * small_text(ax) / _height(ax))
    low, high = ax.get_ylim()
    if ax.get_yscale() == "log":
        ax.set_ylim(low, high * (high / low) ** (share / (1.0 - share)))
    else:
        ax.set_ylim(low, high + (high - low) * share / (1.0 - share))


def leave_room_below(ax: Any, lowest: float, n_characters: int) -> None:
    """Lower the bottom of a logarithmic y axis for upright text of this length below `lowest`."""
    share = min(0.4, 0.65 * n_characters * small_text(ax) / _height(ax))
    low, high = ax.get_ylim()
    bottom = (lowest / high**share) ** (1.0 / (1.0 - share))
    ax.set_ylim(min(low, bottom), high)


def add_note(ax: Any, text: str) -> Any:
    """Write a note below the label of the x axis, in as many lines as it takes."""
    size = small_text(ax)
    # A character of the default font is about half as wide as its size.
    characters = int(_width(ax) * 72.0 / (0.52 * size))
    return ax.annotate(
        textwrap.fill(text, max(20, characters)),
        xy=(0.5, 0.0),
        xycoords=ax.xaxis.label,
        xytext=(0.0, -3.0),
        textcoords="offset points",
        horizontalalignment="center",
        verticalalignment="top",
        fontsize=size,
        color=GREY,
        annotation_clip=False,
    )


def delta_text(delta: float | None) -> str:
    """The end of an axis label that names epsilon."""
    return "" if delta is None else f" at delta {digits_up(delta)}"


def by_name(things: Any, name_of: Any) -> dict[str, Any]:
    """Return a dict as it is, and a single thing under the name that `name_of` gives it."""
    if not isinstance(things, Mapping):
        return {name_of(things): things}
    if not things:
        raise ValueError("nothing to draw: the dict is empty; give it one entry a curve")
    return {str(name): thing for name, thing in things.items()}


def check_choice(name: str, value: str, choices: Any) -> None:
    """Refuse what is not one of the choices."""
    if not isinstance(value, str) or value not in choices:
        known = " or ".join(f'"{choice}"' for choice in choices)
        raise ValueError(f"{name} must be {known}, got {shown(value)}")


def _height(ax: Any) -> float:
    """Height of the axes in points, before any layout."""
    return float(72.0 * ax.figure.get_size_inches()[1] * ax.get_position().height)


def _width(ax: Any) -> float:
    """Width of the axes in inches, before any layout."""
    return float(ax.figure.get_size_inches()[0] * ax.get_position().width)
