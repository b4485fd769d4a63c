"""Pictures of fronts, and of a lattice in layers by height."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap, LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, StrMethodFormatter
from numpy.typing import ArrayLike

from pymoo_anon._files import replaced
from pymoo_anon._messages import counted, examples, number, plain
from pymoo_anon.objectives.base import Objective
from pymoo_anon.problems.arguments import lost
from pymoo_anon.problems.base import AnonymizationProblem, check_kind
from pymoo_anon.problems.front import axes_of
from pymoo_anon.problems.lattice import LatticeProblem, layer_sizes
from pymoo_anon.problems.tradeoffs import knee_of, logarithmic
from pymoo_anon.typing import Bools, Floats, Ints

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


# Marks after the first are hollow and larger, so that equal fronts all stay visible.
_MARK_SIZES = (22, 80, 140, 200, 320, 400)


@dataclass(frozen=True)
class Axis:
    """One objective as an axis."""

    label: str  # Name and better direction, in words
    short: str  # Short name
    maximize: bool  # Whether higher is better
    whole: bool  # Whether all values are whole numbers
    log: bool  # Whether the scale is logarithmic (positive values over more than two decades)
    greatest: float  # Greatest value
    loss: tuple[float, float] | None  # Least and greatest possible loss, or None for privacy and for shares


@dataclass(frozen=True)
class FrontPicture:
    """Data of a picture of fronts."""

    title: str  # Heading
    axes: tuple[Axis, ...]  # Axes for x, y and colour, then the other objectives
    # By name an (n, n_obj) float array of values with natural signs, columns as in `axes`, by ascending x
    fronts: dict[str, Floats]
    # Labelled members of the first front and their labels, for two objectives only
    noted: tuple[tuple[Floats, str], ...]
    open_bounds: Floats  # (m, n_obj) float array of bounds on open points, with natural signs, columns as in `axes`


def front_picture(
    problem: AnonymizationProblem,
    fronts: Mapping[str, ArrayLike],
    open_bounds: ArrayLike | None = None,
    axes: Sequence[Objective] = (),
) -> FrontPicture:
    """Collect the data of `plot_fronts`.

    Loss is on x and privacy on y, whatever the order of the objectives. Members with an infinite value are not drawn
    but counted in the title. `open_bounds` is an (m, n_obj) array, such as `res.algorithm.open_bounds`.
    """
    check_kind(problem)
    if not isinstance(fronts, Mapping) or not fronts:
        raise ValueError(f"fronts must be a dict of at least one name and its front, got {fronts!r:.80}")
    if unknown := [axis for axis in axes if axis not in problem.objectives]:
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
    drawn = tuple(_axis_of(problem, index, values) for index, values in zip(order, together.T, strict=True))
    title = f"{len(natural)} fronts of generalizations"
    if len(natural) == 1:
        title = f"{next(iter(natural))}: {counted(len(together), 'generalization', 'generalizations')}"
    title += f" of {problem.table.n_rows:,} rows" + f", {n_infinite:,} more with infinite values" * bool(n_infinite)
    noted = _noted(drawn, next(iter(natural.values()))) if len(drawn) == 2 else ()
    bounds = np.empty((0, problem.n_obj)) if open_bounds is None else np.asarray(open_bounds, dtype=float)
    return FrontPicture(title, drawn, natural, noted, problem.natural(bounds)[:, order])


def _checked_front(problem: AnonymizationProblem, name: str, F: ArrayLike) -> Floats:
    values = np.array(F, dtype=float)
    if values.shape == (problem.n_obj,):
        # pymoo returns a single member without its first dimension.
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
    """Draw a front, with an unfinished proof's open region.

    Args:
        problem: The problem.
        res: Result of `minimize`, an (n, n_var) array of points, or a Front.
        path: PNG file to write, whole or not at all. None writes nothing.
        axes: Objectives for x, y and colour, or the first of these. Loss is on x and privacy on y by default.

    Raises:
        TypeError: The problem is none of this package.
        ValueError: The front is empty, or an axis is no objective.
        OSError: The file cannot be written.
    """
    check_kind(problem)
    front = problem.front(res)
    if len(front) == 0:
        raise ValueError("res must have a front, got none: the search found nothing that satisfies all constraints")
    return saved(_draw_front(front_picture(problem, {"Front": front.F}, front.open_bounds, axes)), path)


def plot_fronts(
    problem: AnonymizationProblem,
    fronts: Mapping[str, ArrayLike],
    path: str | os.PathLike[str] | None = None,
    axes: Sequence[Objective] = (),
) -> Figure:
    """Draw several fronts of a problem into one picture.

    Two objectives are a curve of steps, a third is the colour, a single one is a dot per front. Further objectives
    are shown only if `axes` names them. The first front has dots, the others larger hollow marks around them.

    Args:
        problem: Problem of all the fronts.
        fronts: By name an (n, n_obj) array of minimised values, such as `res.F` or `problem.pareto_front()`.
        path: PNG file to write, whole or not at all. None writes nothing.
        axes: As in `plot_front`.

    Raises:
        TypeError: The problem is none of this package.
        ValueError: There is no front, a front has another shape or no finite member, or an axis is no objective.
        OSError: The file cannot be written.
    """
    return saved(_draw_front(front_picture(problem, fronts, axes=axes)), path)


def _axis_of(problem: AnonymizationProblem, index: int, values: Floats) -> Axis:
    objective, name = problem.objectives[index], problem.objective_names[index]
    words = name.replace(objective.name, objective.words or objective.name, 1)
    direction = "higher" if objective.maximize else "lower"
    label, loss = f"{words} ({direction} is better)", lost(objective, problem.table)
    return Axis(label, name, objective.maximize, objective.whole, logarithmic(values), float(values.max()), loss)


def _noted(axes: Sequence[Axis], front: Floats) -> tuple[tuple[Floats, str], ...]:
    knee = knee_of(front, [axis.maximize for axis in axes])
    points = [front[row] for row in dict.fromkeys([0, len(front) - 1, *([] if knee is None else [knee])])]
    told = [[f"{axis.short} {_number_text(v, axis)}" for axis, v in zip(axes, point, strict=True)] for point in points]
    return tuple((point, ", ".join(texts[::-1])) for point, texts in zip(points, told, strict=True))


def _number_text(value: float, axis: Axis) -> str:
    return f"{value:,.0f}" if axis.whole or abs(value) >= 1000 else f"{value:,.4g}"


def _draw_front(picture: FrontPicture) -> Figure:
    x, *others = picture.axes
    figure = new_figure(8, 5 if others else 2.5)
    ax = figure.add_subplot()
    figure.suptitle(literal(picture.title))
    draw = (_draw_single, _draw_steps, _draw_coloured)[min(len(others), 2)]
    draw(ax, picture)
    _label(ax, "x", x)
    if others:
        _label(ax, "y", others[0])
        if len(others) == 1 and len(picture.open_bounds):
            _draw_open(ax, picture)
        if len(picture.fronts) > 1:
            sizes = {name: counted(len(front), "member", "members") for name, front in picture.fronts.items()}
            ax.legend(ax.collections, [literal(f"{name} ({n})") for name, n in sizes.items()])
    return figure


def _draw_single(ax: Axes, picture: FrontPicture) -> None:
    (axis,) = picture.axes
    for row, front in enumerate(picture.fronts.values()):
        ax.scatter(front[:, 0], np.full(len(front), row), s=60, color=COLOURS[row % len(COLOURS)])
        text = _number_text(front[-1 if axis.maximize else 0, 0], axis)
        ax.annotate(text, (front[-1, 0], row), (8, 0), textcoords="offset points", va="center")
    ax.set_yticks(range(len(picture.fronts)), [literal(name) for name in picture.fronts])
    ax.set_ylim(len(picture.fronts) - 0.5, -0.5)
    ax.margins(x=0.2)


def _draw_steps(ax: Axes, picture: FrontPicture) -> None:
    # The step is the best y under a bound on x.
    steps = "steps-pre" if picture.axes[0].maximize else "steps-post"
    for place, front in enumerate(picture.fronts.values()):
        colour = COLOURS[place % len(COLOURS)]
        ax.plot(*front.T, drawstyle=steps, color=colour, linewidth=1, alpha=0.5, zorder=1)
        _mark(ax, front, place, colour)
    ax.margins(0.08)
    rises = picture.axes[0].maximize != picture.axes[1].maximize
    (first, *_) = picture.fronts.values()
    for point, text in picture.noted:
        # A rising curve leaves the lower right and the upper left free, a falling one the other corners.
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


def open_region(picture: FrontPicture) -> Floats:
    """Return steps of x, best y found and best y open."""
    (front, *_), bounds = picture.fronts.values(), picture.open_bounds
    signs = np.array([-1.0 if axis.maximize else 1.0 for axis in picture.axes])
    members, least = front * signs, bounds * signs
    worst = members.max(axis=0)
    x = np.unique(np.concatenate([members[:, 0], least[least[:, 0] <= worst[0], 0]]))
    rows = []
    for place in x:
        best = members[members[:, 0] <= place, 1].min(initial=worst[1])
        rows.append([place, best, least[least[:, 0] <= place, 1].min(initial=best)])
    return np.array(rows) * signs[[0, 1, 1]]


def _draw_open(ax: Axes, picture: FrontPicture) -> None:
    x, best, open_ = open_region(picture).T
    if (best == open_).all():
        return
    low, high = ax.get_ylim()
    x = np.maximum(x, ax.get_xlim()[0]) if picture.axes[0].log else x
    # Bounds far beyond the front would squeeze the front.
    drawn = np.clip(open_, low, high)
    area = ax.fill_between(
        x, best, drawn, step="post", hatch="//", facecolor="none", edgecolor="grey", linewidth=0, zorder=0
    )
    ax.set_ylim(low, high)
    if len(picture.fronts) == 1:
        ax.legend([area], ["better points possible"])


def _draw_coloured(ax: Axes, picture: FrontPicture) -> None:
    third = picture.axes[2]
    values = np.concatenate([front[:, 2] for front in picture.fronts.values()])
    scale = (LogNorm if third.log else Normalize)(values.min(), values.max())
    # Hollow marks in the palest yellows are invisible on white.
    colours = ScalarMappable(scale, ListedColormap(colormaps["viridis"](np.linspace(0, 0.92, 256))))
    for place, front in enumerate(picture.fronts.values()):
        _mark(ax, front, place, colours.to_rgba(front[:, 2]))
    # A colour bar has no second axis for shares.
    most = "" if third.loss is None else f", of {number(third.loss[1])} that could be lost"
    bar = ax.figure.colorbar(colours, ax=ax, label=literal(third.label + most))
    tick(bar.ax.yaxis, third.log, third.whole, third.greatest)


def _mark(ax: Axes, front: Floats, number: int, colours: Any) -> None:
    number %= len(MARKERS)
    faces = "none" if number else colours
    style: Any = {"marker": MARKERS[number], "s": _MARK_SIZES[number], "linewidths": 1.2, "zorder": 3 - number / 10}
    ax.scatter(front[:, 0], front[:, 1], facecolors=faces, edgecolors=colours, **style)


def _label(ax: Axes, which: Literal["x", "y"], axis: Axis) -> None:
    scale(ax, which, axis.label, axis.log, axis.whole, axis.greatest)
    if axis.loss is None:
        return
    low, high = axis.loss
    place = getattr(ax, f"secondary_{which}axis")(
        "top" if which == "x" else "right",
        functions=(lambda v: 100 * (v - low) / (high - low), lambda share: low + share * (high - low) / 100),
    )
    side = getattr(place, f"{which}axis")
    side.set_label_text("% of the possible loss")
    tick(side, axis.log, False, 100)


# Greatest number of nodes drawn one by one, and drawn with lines between neighbours.
_NODES_DRAWN = 600
_NODES_LINED = 200

_PALE, _MIDDLE = "#dddddd", "#8fb8d8"


@dataclass(frozen=True)
class LatticePicture:
    """Data of a picture of a lattice.

    The height of a node is the sum of its levels above the least ones. Layer 0 is the most special node.
    """

    title: str  # Heading
    counts: tuple[int, ...]  # Number of nodes per layer, of any size
    front: tuple[int, ...]  # Number of front members per layer
    visited: tuple[int, ...] | None  # Number of visited nodes per layer, or None if not known
    nodes: Ints | None  # (n, n_var) int64 array of all nodes layer by layer, or None for more than 600
    places: Floats  # (n, 2) float array of their positions: distance from the middle of the layer, and height
    is_front: Bools  # (n,) Boolean array
    is_visited: Bools  # (n,) Boolean array
    lines: Ints  # (m, 2) int64 array of pairs of neighbours, empty for more than 200 nodes


def lattice_picture(problem: LatticeProblem, front: ArrayLike, visited: ArrayLike | None = None) -> LatticePicture:
    """Collect the data of `plot_lattice`."""
    check_kind(problem, LatticeProblem)
    marked = np.unique(problem.checked(np.atleast_2d(np.asarray(front))), axis=0)
    seen = None if visited is None else np.unique(problem.checked(visited), axis=0)
    counts = layer_sizes(problem.lengths).tolist()
    title = f"{counted(problem.n_nodes, 'node', 'nodes')} in {counted(len(counts), 'layer', 'layers')}"
    title += f", {len(marked):,} in the front" + ("" if seen is None else f", {len(seen):,} visited")

    def by_layer(nodes: Ints) -> tuple[int, ...]:
        return tuple(np.bincount((nodes - problem.lowest).sum(axis=1), minlength=len(counts)).tolist())

    nodes, places, lines = None, np.empty((0, 2)), np.empty((0, 2), dtype=np.int64)
    is_front = is_visited = np.empty(0, dtype=bool)
    if problem.n_nodes <= _NODES_DRAWN:
        nodes = problem.nodes(0, problem.n_nodes)
        nodes = nodes[np.argsort(nodes.sum(axis=1), kind="stable")]
        within = np.concatenate([np.arange(count) - (count - 1) / 2 for count in counts])
        places = np.column_stack([within, (nodes - problem.lowest).sum(axis=1)])
        is_front, is_visited = _is_in(nodes, marked), _is_in(nodes, marked[:0] if seen is None else seen)
        if len(nodes) <= _NODES_LINED:
            steps = nodes - nodes[:, np.newaxis]
            lines = np.argwhere((steps.min(axis=2) >= 0) & (steps.sum(axis=2) == 1))
    layers = tuple(counts), by_layer(marked), None if seen is None else by_layer(seen)
    return LatticePicture(title, *layers, nodes, places, is_front, is_visited, lines)


def plot_lattice(
    problem: LatticeProblem,
    front: ArrayLike,
    path: str | os.PathLike[str] | None = None,
    visited: ArrayLike | None = None,
) -> Figure:
    """Draw a lattice in layers, with its front.

    Up to 600 nodes are drawn one by one; of larger lattices a bar shows the width of each layer.

    Args:
        problem: The problem.
        front: (n, n_var) array of front members, such as `res.X`.
        path: PNG file to write, whole or not at all. None writes nothing.
        visited: (m, n_var) array of the nodes visited by a search, with or without repeats.

    Raises:
        TypeError: The problem is no `LatticeProblem`.
        ValueError: A row of `front` or `visited` is no node of the lattice.
        OSError: The file cannot be written.
    """
    picture = lattice_picture(problem, front, visited)
    figure = new_figure(8, max(3.5, min(9.0, 1.5 + 0.35 * len(picture.counts))))
    ax = figure.add_subplot()
    figure.suptitle(picture.title)
    if picture.nodes is None:
        _draw_layers(ax, picture)
    else:
        _draw_nodes(ax, picture)
    ax.set_xticks([])
    ax.set_ylabel(f"height (sum of the levels{' above the least ones' * bool(problem.lowest.any())})")
    tick(ax.yaxis, False, True, len(picture.counts), 12)
    ax.set_ylim(-0.8, len(picture.counts) - 0.2)
    for side in ("top", "right", "bottom"):
        ax.spines[side].set_visible(False)
    return saved(figure, path)


def _is_in(nodes: Ints, some: Ints) -> Bools:
    return (nodes[:, np.newaxis] == some).all(axis=2).any(axis=1)


def _draw_nodes(ax: Axes, picture: LatticePicture) -> None:
    size = float(np.clip(6000 / max(picture.counts) ** 2, 8, 90))
    ax.add_collection(LineCollection(list(picture.places[picture.lines]), colors=_PALE, linewidths=0.6, zorder=1))
    other = ~picture.is_front & ~picture.is_visited
    for chosen, name, colour, factor in (
        (other, "node" if picture.visited is None else "not visited", _PALE, 1.0),
        (picture.is_visited & ~picture.is_front, "visited", _MIDDLE, 1.0),
        (picture.is_front, "front", COLOURS[1], 1.6),
    ):
        if chosen.any():
            x, y = picture.places[chosen].T
            ax.scatter(x, y, s=factor * size, color=colour, zorder=2, label=name)
    ax.margins(x=0.05)
    ax.legend(loc="upper right")


def _draw_layers(ax: Axes, picture: LatticePicture) -> None:
    heights = np.arange(len(picture.counts))
    # Only shares of the widest layer are sure to fit into floats.
    widest = max(picture.counts)
    widths = np.array([count / widest for count in picture.counts])
    nodes = f"nodes, {widest:,} in the widest layer" if widest < 10**15 else "nodes"
    marks: list[Any] = [ax.barh(heights, widths, left=-widths / 2, height=0.7, color=_PALE, label=nodes)]
    if picture.visited is not None:
        seen = np.array([count / widest for count in picture.visited])
        marks.append(ax.barh(heights, seen, left=-seen / 2, height=0.7, color=_MIDDLE, label="visited"))
    # Members stay side by side even on a narrow bar.
    rooms = [(n, min(0.012 * (n - 1), 0.5)) for n in picture.front]
    x = np.concatenate([np.linspace(-room, room, n) for n, room in rooms])
    marks.append(ax.scatter(x, np.repeat(heights, picture.front), s=16, color=COLOURS[1], zorder=3, label="front"))
    ax.set_xlim(-0.55, 0.55)
    ax.legend(handles=marks, loc="upper right")
