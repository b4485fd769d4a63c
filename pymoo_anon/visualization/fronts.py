"""Pictures of trade-off fronts, and of how searches come near to them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, LogNorm, Normalize
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray
from pymoo.core.algorithm import Algorithm

from pymoo_anon._messages import examples, number
from pymoo_anon.objectives.base import Objective
from pymoo_anon.problems.arguments import lost
from pymoo_anon.problems.base import AnonymizationProblem
from pymoo_anon.problems.front import axes_of
from pymoo_anon.problems.tradeoffs import knee_of, logarithmic
from pymoo_anon.visualization.canvas import COLOURS, MARKERS, STYLES, legend, literal, new_figure, saved, scale, tick

Matrix = NDArray[np.float64]

# The first front is of dots, the others are hollow and larger, so that where fronts agree all of them stay visible.
_SIZES = (22, 80, 140, 200, 320, 400)


@dataclass(frozen=True)
class Axis:
    """One objective as an axis.

    Attributes:
        label: What it is and which direction is better, in words.
        short: Its short name.
        maximize: Whether higher is better.
        whole: Whether all values are whole numbers.
        log: Whether the scale is logarithmic: values are positive and span more than two decades.
        greatest: The greatest value.
        loss: The least and the most that can be lost, of a loss that is no share already; or None.
    """

    label: str
    short: str
    maximize: bool
    whole: bool
    log: bool
    greatest: float
    loss: tuple[float, float] | None


@dataclass(frozen=True)
class FrontPicture:
    """All that a picture of fronts shows.

    Attributes:
        title: The heading.
        axes: One per objective: the one for x, the one for y, the one for colour, then the others.
        fronts: By name an (n, n_obj) float array of objective values with their natural signs, columns as in `axes`,
            rows by ascending x.
        noted: Members of the first front that are named in the picture, each with its text; only of two objectives.
        open_bounds: (m, n_obj) float array with natural signs, columns as in `axes`: what may still be better than the
            first front is nowhere better than some row. Without rows nothing is open.
    """

    title: str
    axes: tuple[Axis, ...]
    fronts: dict[str, Matrix]
    noted: tuple[tuple[Matrix, str], ...]
    open_bounds: Matrix


def front_picture(
    problem: AnonymizationProblem,
    fronts: Mapping[str, ArrayLike],
    open_bounds: ArrayLike | None = None,
    axes: Sequence[Objective] = (),
) -> FrontPicture:
    """Collect what a picture of fronts shows.

    Loss is on x and privacy on y, whatever the order of the objectives. Members with an infinite value have no place,
    and are counted in the title.

    Args:
        problem: The problem of all the fronts.
        fronts: By name an (n, n_obj) array of pymoo's minimised values, such as `res.F`.
        open_bounds: (m, n_obj) array of minimised values that open points are not below, such as
            `res.algorithm.open_bounds` of a branch and bound that was stopped. None for none.
        axes: The objectives for x, y and colour, or the first of these; the others follow.

    Raises:
        ValueError: There is no front, one is no such array of at least one member of finite values, or an axis is no
            objective.
    """
    if not fronts:
        raise ValueError("fronts must name at least one front, got none")
    unknown = [axis for axis in axes if axis not in problem.objectives]
    if unknown:
        raise ValueError(f"axes must be objectives of the problem, got {examples(unknown)}")
    order = [problem.objectives.index(axis) for axis in dict.fromkeys([*axes, *axes_of([*axes, *problem.objectives])])]
    natural, n_infinite = {}, 0
    for name, F in fronts.items():
        values = _checked_front(problem, name, F)
        finite = np.isfinite(values).all(axis=1)
        n_infinite += int((~finite).sum())
        ordered = problem.natural(values[finite])[:, order]
        natural[name] = ordered[np.lexsort(ordered.T[::-1])]
    together = np.concatenate(list(natural.values()))
    drawn = tuple(_axis(problem, index, values) for index, values in zip(order, together.T, strict=True))
    n_rows = f"{problem.table.n_rows:,} rows"
    if len(natural) == 1:
        ((name, front),) = natural.items()
        title = f"{name}: {len(front)} generalization{'s' if len(front) > 1 else ''} of {n_rows}"
    else:
        title = f"{len(natural)} fronts of generalizations of {n_rows}"
    if n_infinite:
        title += f", {n_infinite} more with infinite values"
    noted = _noted(drawn, next(iter(natural.values()))) if len(drawn) == 2 else ()
    bounds = np.empty((0, problem.n_obj)) if open_bounds is None else np.asarray(open_bounds, dtype=float)
    return FrontPicture(title, drawn, natural, noted, problem.natural(bounds)[:, order])


def _checked_front(problem: AnonymizationProblem, name: str, F: ArrayLike) -> Matrix:
    """A front as an (n, n_obj) float array, or an error."""
    values = np.array(F, dtype=float)
    if values.shape == (problem.n_obj,):
        # pymoo gives the single member of a single-objective front so.
        values = values[np.newaxis]
    fits = values.ndim == 2 and values.shape[1] == problem.n_obj and not np.isnan(values).any()
    if not fits or not np.isfinite(values).all(axis=1).any():
        raise ValueError(
            f"fronts[{name!r}] must be an (n, {problem.n_obj}) array of finite values with at least one member, "
            f"got shape {values.shape}"
        )
    return values


def plot_front(
    problem: AnonymizationProblem, res: Any, path: str | os.PathLike[str] | None = None, axes: Sequence[Objective] = ()
) -> Figure:
    """Draw the front that a search found, and where it is not proven, what may still be better.

    Args:
        problem: The problem.
        res: What `minimize` returned, an (n, n_var) array of points, or a Front.
        path: Where to write it as PNG; the file appears whole or not at all. None writes nothing.
        axes: As in `front_picture`.

    Raises:
        ValueError: The search found nothing that satisfies all constraints, or an axis is no objective.
    """
    front = problem.front(res)
    if len(front) == 0:
        raise ValueError("res must have a front, got none: the search found nothing that satisfies all constraints")
    return saved(_draw(front_picture(problem, {"Front": front.F}, front.open_bounds, axes)), path)


def plot_fronts(
    problem: AnonymizationProblem,
    fronts: Mapping[str, ArrayLike],
    path: str | os.PathLike[str] | None = None,
    axes: Sequence[Objective] = (),
) -> Figure:
    """Draw one or more fronts of a problem into one picture, such as a found front and the exact one.

    Two objectives are a curve of steps, a third is the colour, and a single one is a dot per front; more are not shown,
    unless `axes` name them. The first front is of dots, the others of larger hollow marks around them.

    Args:
        problem: The problem of all the fronts.
        fronts: By name an (n, n_obj) array of pymoo's minimised values, such as `res.F` or `problem.pareto_front()`.
        path: Where to write it as PNG; the file appears whole or not at all. None writes nothing.
        axes: As in `front_picture`.

    Raises:
        ValueError: As `front_picture`.
    """
    return saved(_draw(front_picture(problem, fronts, axes=axes)), path)


def _axis(problem: AnonymizationProblem, index: int, values: Matrix) -> Axis:
    objective, name = problem.objectives[index], problem.objective_names[index]
    words = name.replace(objective.name, objective.words or objective.name, 1)
    direction = "higher" if objective.maximize else "lower"
    label, loss = f"{words} ({direction} is better)", lost(objective, problem.table)
    return Axis(label, name, objective.maximize, objective.whole, logarithmic(values), float(values.max()), loss)


def _noted(axes: Sequence[Axis], front: Matrix) -> tuple[tuple[Matrix, str], ...]:
    """Both ends and the knee, the one that is chosen as such."""
    knee = knee_of(front, [axis.maximize for axis in axes])
    rows = dict.fromkeys([0, len(front) - 1, *([] if knee is None else [knee])])
    return tuple(
        (
            front[row],
            ", ".join(f"{axis.short} {_number(v, axis)}" for axis, v in zip(axes[::-1], front[row][::-1], strict=True)),
        )
        for row in rows
    )


def _number(value: float, axis: Axis) -> str:
    return f"{value:,.0f}" if axis.whole or abs(value) >= 1000 else f"{value:,.4g}"


def _draw(picture: FrontPicture) -> Figure:
    n_obj = len(picture.axes)
    figure = new_figure(8, 5 if n_obj > 1 else 2.5)
    ax = figure.add_subplot()
    figure.suptitle(literal(picture.title))
    if n_obj == 1:
        _draw_single(ax, picture)
        return figure
    if n_obj == 2:
        _draw_steps(ax, picture)
    else:
        _draw_coloured(ax, picture)
    _label(ax, "x", picture.axes[0])
    _label(ax, "y", picture.axes[1])
    if n_obj == 2 and len(picture.open_bounds):
        _draw_open(ax, picture)
    if len(picture.fronts) > 1:
        sizes = {name: len(front) for name, front in picture.fronts.items()}
        legend(ax, ax.collections, [f"{name} ({n} member{'s' if n > 1 else ''})" for name, n in sizes.items()])
    return figure


def _draw_single(ax: Axes, picture: FrontPicture) -> None:
    (axis,) = picture.axes
    for row, front in enumerate(picture.fronts.values()):
        ax.scatter(front[:, 0], np.full(len(front), row), s=60, color=COLOURS[row % len(COLOURS)])
        text = _number(front[-1 if axis.maximize else 0, 0], axis)
        ax.annotate(text, (front[-1, 0], row), (8, 0), textcoords="offset points", va="center")
    ax.set_yticks(range(len(picture.fronts)), [literal(name) for name in picture.fronts])
    ax.set_ylim(len(picture.fronts) - 0.5, -0.5)
    ax.margins(x=0.2)
    _label(ax, "x", axis)


def _draw_steps(ax: Axes, picture: FrontPicture) -> None:
    # The best y that a bound on x allows.
    steps = "steps-pre" if picture.axes[0].maximize else "steps-post"
    for place, front in enumerate(picture.fronts.values()):
        style = _style(place)
        ax.plot(*front.T, drawstyle=steps, color=style["edgecolors"], linewidth=1, alpha=0.5, zorder=1)
        ax.scatter(*front.T, **style)
    ax.margins(0.08)
    rises = picture.axes[0].maximize != picture.axes[1].maximize
    (first, *_) = picture.fronts.values()
    for point, text in picture.noted:
        # Beside a curve that rises, the lower right and the upper left are free; beside one that falls, the others.
        left = bool(point[0] <= (first[0, 0] + first[-1, 0]) / 2)
        ax.annotate(
            literal(text),
            (point[0], point[1]),
            (8 if left else -8, -6 if left == rises else 6),
            textcoords="offset points",
            ha="left" if left else "right",
            va="top" if left == rises else "bottom",
            fontsize="small",
        )


def open_region(picture: FrontPicture) -> Matrix:
    """(n, 3) float array of steps from the best x on: x, the best y of the first front, the best y that is open."""
    (front, *_), bounds = picture.fronts.values(), picture.open_bounds
    signs = np.array([-1.0 if axis.maximize else 1.0 for axis in picture.axes])
    members, least = front * signs, bounds * signs
    worst = members.max(axis=0)
    x = np.unique(np.concatenate([members[:, 0], least[least[:, 0] <= worst[0], 0]]))
    rows = []
    for place in x:
        best = members[members[:, 0] <= place, 1].min(initial=worst[1])
        rows.append([place, best, least[least[:, 0] <= place, 1].min(initial=best)])
    region: Matrix = np.array(rows) * signs[[0, 1, 1]]
    return region


def _draw_open(ax: Axes, picture: FrontPicture) -> None:
    """Hatch where open points may lie that no member is as good as."""
    x, best, open_ = open_region(picture).T
    if (best == open_).all():
        return
    low, high = ax.get_ylim()
    x = np.maximum(x, ax.get_xlim()[0]) if picture.axes[0].log else x
    # What is far beyond the front would leave the front no room.
    drawn = np.clip(open_, low, high)
    area = ax.fill_between(
        x, best, drawn, step="post", hatch="//", facecolor="none", edgecolor="grey", linewidth=0, zorder=0
    )
    ax.set_ylim(low, high)
    if len(picture.fronts) == 1:
        legend(ax, [area], ["may still hold better ones"])


def _draw_coloured(ax: Axes, picture: FrontPicture) -> None:
    third = picture.axes[2]
    values = np.concatenate([front[:, 2] for front in picture.fronts.values()])
    scale = (LogNorm if third.log else Normalize)(values.min(), values.max())
    # Without the palest yellows, which a hollow mark on white would lose.
    colours = ScalarMappable(scale, ListedColormap(colormaps["viridis"](np.linspace(0, 0.92, 256))))
    for place, front in enumerate(picture.fronts.values()):
        style = _style(place)
        colour = colours.to_rgba(front[:, 2])
        style["edgecolors"] = colour
        if style["facecolors"] != "none":
            style["facecolors"] = colour
        ax.scatter(front[:, 0], front[:, 1], **style)
    # Here is no room for shares.
    most = "" if third.loss is None else f", of {number(third.loss[1])} that could be lost"
    bar = ax.figure.colorbar(colours, ax=ax, label=literal(third.label + most))
    tick(bar.ax.yaxis, third.log, third.whole, third.greatest)


def _style(number: int) -> dict[str, Any]:
    """How the marks of one front look."""
    number %= len(COLOURS)
    colour = COLOURS[number]
    return {
        "marker": MARKERS[number],
        "s": _SIZES[number],
        "facecolors": "none" if number else colour,
        "edgecolors": colour,
        "linewidths": 1.2,
        "zorder": 3 - number / 10,
    }


def _label(ax: Axes, which: Literal["x", "y"], axis: Axis) -> None:
    """Scale and label of a side; beside the numbers of a loss, their share of what could be lost."""
    scale(ax, which, axis.label, axis.log, axis.whole, axis.greatest)
    if axis.loss is None:
        return
    low, high = axis.loss
    place = getattr(ax, f"secondary_{which}axis")(
        "top" if which == "x" else "right",
        functions=(lambda v: 100 * (v - low) / (high - low), lambda share: low + share * (high - low) / 100),
    )
    side = getattr(place, f"{which}axis")
    side.set_label_text("% of what could be lost")
    tick(side, axis.log, False, 100)


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
    curves: dict[str, Matrix]


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
            found = _front_by_then(algorithm)
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
    return ConvergencePicture(label, logarithmic(evaluations), curves)


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
    for place, curve in enumerate(picture.curves.values()):
        colour, style = COLOURS[place % len(COLOURS)], STYLES[place % len(STYLES)]
        # A front stays as it is until the next generation has been evaluated.
        marks += ax.plot(*curve.T, drawstyle="steps-post", color=colour, linestyle=style, linewidth=1.8)
    greatest = max(float(curve[:, 0].max()) for curve in picture.curves.values())
    scale(ax, "x", "evaluations", picture.log, True, greatest)
    ax.set_ylabel(literal(picture.label))
    ax.grid(axis="y", alpha=0.3)
    if len(marks) > 1:
        legend(ax, marks, list(picture.curves))
    return saved(figure, path)


def _front_by_then(algorithm: Algorithm) -> NDArray[Any]:
    """(n, n_obj) array of the feasible points that an algorithm had found."""
    opt = algorithm.opt
    if opt is None or len(opt) == 0:
        return np.empty((0, 0))
    feasible: NDArray[Any] = np.atleast_2d(opt.get("F"))[np.asarray(opt.get("feas"), dtype=bool).ravel()]
    return feasible
