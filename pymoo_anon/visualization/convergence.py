"""Pictures of convergence: how good the front of one or several searches is after so many evaluations."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from pymoo.core.algorithm import Algorithm

from pymoo_anon.visualization.canvas import COLOURS, legend, literal, new_figure, save, tick

Values = NDArray[np.float64]

_STYLES = ("-", "--", "-.", ":")


@dataclass(frozen=True)
class ConvergencePicture:
    """All that a picture of convergence shows.

    Attributes:
        label: What is measured.
        log: Whether the scale of the evaluations is logarithmic: they span more than two decades.
        curves: By search an (n, 2) float array: evaluations, and the measure of the front that was found by then.
    """

    label: str
    log: bool
    curves: dict[str, Values]


def convergence_picture(
    histories: Mapping[str, Sequence[Algorithm]], indicator: Callable[[NDArray[Any]], float], label: str
) -> ConvergencePicture:
    """Collect what a picture of convergence shows.

    Args:
        histories: By name of a search its algorithm after every generation: `res.history` of
            `minimize(..., save_history=True)`, or what a callback copied.
        indicator: Takes an (n, n_obj) array of minimised values: `RepresentationRatio(exact)`, pymoo's `HV(ref_point)`.
        label: What it measures, in words, as the axis names it.

    Generations before the first feasible point are left out.

    Raises:
        ValueError: There is no history, one never found a feasible point, or the indicator gives no finite number.
    """
    if not histories:
        raise ValueError("histories must name at least one search, got none")
    curves = {}
    for name, history in histories.items():
        points = []
        for algorithm in history:
            found = _front(algorithm)
            if len(found):
                points.append((float(algorithm.evaluator.n_eval), float(indicator(found))))
        if not points:
            raise ValueError(
                f"histories[{name!r}] must hold an algorithm with a feasible point, got {len(history)} without one; "
                "minimize(..., save_history=True) keeps them in res.history"
            )
        curve = np.array(points)
        if not np.isfinite(curve).all():
            wrong = curve[~np.isfinite(curve).all(axis=1)][0].tolist()
            raise ValueError(f"indicator must give finite numbers, got {wrong[1]} after {wrong[0]:,.0f} evaluations")
        curves[name] = curve
    evaluations = np.concatenate([curve[:, 0] for curve in curves.values()])
    log = bool(evaluations.min() > 0 and evaluations.max() > 100 * evaluations.min())
    return ConvergencePicture(label, log, curves)


def plot_convergence(
    histories: Mapping[str, Sequence[Algorithm]],
    indicator: Callable[[NDArray[Any]], float],
    label: str,
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw how good the front of one or several searches is after so many evaluations.

    Args:
        histories: As in `convergence_picture`.
        indicator: As in `convergence_picture`.
        label: As in `convergence_picture`.
        path: Where to write it as PNG; the file appears whole or not at all. None writes nothing.

    Raises:
        ValueError: As `convergence_picture`.
    """
    picture = convergence_picture(histories, indicator, label)
    figure = new_figure(8, 5)
    ax = figure.add_subplot()
    marks = []
    for number, curve in enumerate(picture.curves.values()):
        colour, style = COLOURS[number % len(COLOURS)], _STYLES[number % len(_STYLES)]
        # A front stays as it is until the next generation has been evaluated.
        marks += ax.plot(*curve.T, drawstyle="steps-post", color=colour, linestyle=style, linewidth=1.8)
    if picture.log:
        ax.set_xscale("log")
    greatest = max(float(curve[:, 0].max()) for curve in picture.curves.values())
    tick(ax.xaxis, picture.log, True, greatest)
    ax.set_xlabel("evaluations")
    ax.set_ylabel(literal(picture.label))
    ax.grid(alpha=0.3)
    if len(marks) > 1:
        legend(ax, marks, list(picture.curves))
    save(figure, path)
    return figure


def _front(algorithm: Algorithm) -> NDArray[Any]:
    """(n, n_obj) array of the feasible points that an algorithm had found."""
    opt = algorithm.opt
    if opt is None or len(opt) == 0:
        return np.empty((0, 0))
    feasible: NDArray[Any] = np.atleast_2d(opt.get("F"))[np.asarray(opt.get("feas"), dtype=bool).ravel()]
    return feasible
