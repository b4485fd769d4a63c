"""What all pictures share: colours, marks, and a file that appears whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from matplotlib.axis import XAxis, YAxis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

# Okabe and Ito's colours, which the colour-blind tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#000000")
MARKERS = ("o", "o", "s", "D", "^", "v")


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, in inches, without pyplot."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, path: str | os.PathLike[str] | None) -> None:
    """Write a figure as PNG; the file appears whole or not at all. None writes nothing."""
    if path is None:
        return
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        figure.savefig(temporary, format="png", dpi=150)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def tick(side: XAxis | YAxis, log: bool, whole: bool, greatest: float, n_ticks: int = 6) -> None:
    """Numbers as a person writes them; powers of ten stay where they would be long."""
    if not log:
        steps = [1, 2, 2.5, 3, 5, 10]
        side.set_major_locator(MaxNLocator(n_ticks, steps=steps, integer=whole, min_n_ticks=1))
    if not log or greatest < 1e6:
        side.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
