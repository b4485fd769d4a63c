"""Colours, axes, legends and files of all pictures."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from pymoo_anon._files import replaced
from pymoo_anon._messages import plain

# Okabe and Ito's palette for colour-blind readers.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#000000")
MARKERS = ("o", "o", "s", "D", "^", "v")
STYLES = ("-", "--", "-.", ":")


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure, sized in inches, without pyplot."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def literal(text: str) -> str:
    """Escape a text against formulas and line breaks."""
    return plain(text).replace("$", r"\$")


def legend(place: Axes | Figure, marks: Sequence[Artist], names: Sequence[str], **kwargs: Any) -> None:
    """Add a legend, including names with a leading underscore."""
    # matplotlib leaves out such names, so the texts are set afterwards.
    made = place.legend(marks, [str(number) for number in range(len(names))], **kwargs)
    for text, name in zip(made.get_texts(), names, strict=True):
        text.set_text(literal(name))


def saved(figure: Figure, path: str | os.PathLike[str] | None) -> Figure:
    """Write a figure as PNG, whole or not at all."""
    if path is not None:
        with replaced(path) as temporary:
            figure.savefig(temporary, format="png", dpi=150)
    return figure


def scale(ax: Axes, which: Literal["x", "y"], label: str, log: bool, whole: bool, greatest: float) -> None:
    """Set scale, label, ticks and grid of a side."""
    ax.set(**{f"{which}scale": "log" if log else "linear", f"{which}label": literal(label)})
    tick(getattr(ax, f"{which}axis"), log, whole, greatest)
    ax.grid(axis=which, alpha=0.3)


def tick(side: XAxis | YAxis, log: bool, whole: bool, greatest: float, n_ticks: int = 6) -> None:
    """Write ticks as plain numbers or large powers of ten."""
    if not log:
        steps = [1, 2, 2.5, 3, 5, 10]
        side.set_major_locator(MaxNLocator(n_ticks, steps=steps, integer=whole, min_n_ticks=1))
    if not log or greatest < 1e6:
        side.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
