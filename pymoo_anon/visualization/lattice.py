"""Pictures of a lattice, its front and the visited nodes, in layers by height."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import ArrayLike

from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.typing import Bools, Floats, Ints
from pymoo_anon.visualization.canvas import COLOURS, legend, new_figure, saved, tick

# Greatest number of nodes drawn one by one, and drawn with lines between neighbours.
_NODES_DRAWN = 600
_NODES_LINED = 200

_PALE, _MIDDLE = "#dddddd", "#8fb8d8"


@dataclass(frozen=True)
class LatticePicture:
    """Data of a picture of a lattice.

    The height of a node is the sum of its levels. Layer 0 is the original table.

    Attributes:
        title: Heading.
        counts: Number of nodes per layer, of any size.
        front: Number of front members per layer.
        visited: Number of visited nodes per layer, or None if not known.
        nodes: (n, n_var) int64 array of all nodes layer by layer, or None for more than 600.
        places: (n, 2) float array of their positions: distance from the middle of the layer, and height.
        is_front: (n,) Boolean array.
        is_visited: (n,) Boolean array.
        lines: (m, 2) int64 array of pairs of neighbours, empty for more than 200 nodes.
    """

    title: str
    counts: tuple[int, ...]
    front: tuple[int, ...]
    visited: tuple[int, ...] | None
    nodes: Ints | None
    places: Floats
    is_front: Bools
    is_visited: Bools
    lines: Ints


def lattice_picture(problem: LatticeProblem, front: ArrayLike, visited: ArrayLike | None = None) -> LatticePicture:
    """Collect the data of a picture of a lattice, from the arguments of `plot_lattice`."""
    marked = np.unique(problem.checked(np.atleast_2d(np.asarray(front))), axis=0)
    seen = None if visited is None else np.unique(problem.checked(visited), axis=0)
    counts = _layer_sizes(problem.lengths)
    n_layers = len(counts)
    title = f"{problem.n_nodes:,} nodes in {n_layers} layers, {len(marked):,} in the front"
    if seen is not None:
        title += f", {len(seen):,} visited"
    nodes, places, lines = None, np.empty((0, 2)), np.empty((0, 2), dtype=np.int64)
    is_front = is_visited = np.empty(0, dtype=bool)
    if problem.n_nodes <= _NODES_DRAWN:
        nodes = problem.nodes(0, problem.n_nodes)
        nodes = nodes[np.argsort(nodes.sum(axis=1), kind="stable")]
        places = _positions(nodes - problem.lowest, counts)
        is_front, is_visited = _is_in(nodes, marked), _is_in(nodes, marked[:0] if seen is None else seen)
        if len(nodes) <= _NODES_LINED:
            lines = _neighbours(nodes)
    return LatticePicture(
        title,
        tuple(counts),
        _by_layer(marked - problem.lowest, n_layers),
        None if seen is None else _by_layer(seen - problem.lowest, n_layers),
        nodes,
        places,
        is_front,
        is_visited,
        lines,
    )


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
        ValueError: A row of `front` or `visited` is no node of the lattice.
    """
    picture = lattice_picture(problem, front, visited)
    figure = new_figure(8, max(3.5, min(9.0, 1.5 + 0.35 * len(picture.counts))))
    ax = figure.add_subplot()
    figure.suptitle(picture.title)
    if picture.nodes is None:
        _draw_layers(ax, picture)
    else:
        _draw_nodes(ax, picture)
    ax.set_ylabel("height (sum of the levels)")
    tick(ax.yaxis, False, True, len(picture.counts), 12)
    ax.set_ylim(-0.8, len(picture.counts) - 0.2)
    for side in ("top", "right", "bottom"):
        ax.spines[side].set_visible(False)
    return saved(figure, path)


def _layer_sizes(lengths: Ints) -> list[int]:
    # Python's integers: a layer may have more than 2^63 nodes.
    sizes = [1]
    for length in lengths.tolist():
        # Layer h of the product combines the layers h - length to h of the attributes before.
        sizes = [sum(sizes[max(h - length, 0) : h + 1]) for h in range(len(sizes) + length)]
    return sizes


def _by_layer(nodes: Ints, n_layers: int) -> tuple[int, ...]:
    return tuple(np.bincount(nodes.sum(axis=1), minlength=n_layers).tolist())


def _positions(nodes: Ints, counts: list[int]) -> Floats:
    within = np.concatenate([np.arange(count) - (count - 1) / 2 for count in counts])
    return np.column_stack([within, nodes.sum(axis=1)])


def _is_in(nodes: Ints, some: Ints) -> Bools:
    found: Bools = (nodes[:, np.newaxis] == some).all(axis=2).any(axis=1)
    return found


def _neighbours(nodes: Ints) -> Ints:
    steps = nodes - nodes[:, np.newaxis]
    return np.argwhere((steps.min(axis=2) >= 0) & (steps.sum(axis=2) == 1))


def _draw_nodes(ax: Axes, picture: LatticePicture) -> None:
    size = float(np.clip(6000 / max(picture.counts) ** 2, 8, 90))
    ax.add_collection(LineCollection(list(picture.places[picture.lines]), colors=_PALE, linewidths=0.6, zorder=1))
    other = ~picture.is_front & ~picture.is_visited
    marks: list[Artist] = []
    names: list[str] = []
    for chosen, name, colour, scale in (
        (other, "node" if picture.visited is None else "not visited", _PALE, 1.0),
        (picture.is_visited & ~picture.is_front, "visited", _MIDDLE, 1.0),
        (picture.is_front, "front", COLOURS[1], 1.6),
    ):
        if chosen.any():
            x, y = picture.places[chosen].T
            marks.append(ax.scatter(x, y, s=scale * size, color=colour, zorder=2))
            names.append(name)
    ax.margins(x=0.05)
    ax.set_xticks([])
    legend(ax, marks, names, loc="upper right")


def _draw_layers(ax: Axes, picture: LatticePicture) -> None:
    heights = np.arange(len(picture.counts))
    # Only shares of the widest layer are sure to fit into floats.
    widest = max(picture.counts)
    widths = np.array([count / widest for count in picture.counts])
    ax.barh(heights, widths, left=-widths / 2, height=0.7, color=_PALE)
    marks: list[Artist] = [Patch(color=_PALE)]
    names = [f"nodes, {widest:,} in the widest layer" if widest < 10**15 else "nodes"]
    if picture.visited is not None:
        seen = np.array([count / widest for count in picture.visited])
        ax.barh(heights, seen, left=-seen / 2, height=0.7, color=_MIDDLE)
        marks.append(Patch(color=_MIDDLE))
        names.append("visited")
    for height, count in enumerate(picture.front):
        # Members stay side by side even on a narrow bar.
        room = min(0.012 * (count - 1), 0.5)
        x = np.linspace(-room, room, count) if count > 1 else np.zeros(count)
        dots = ax.scatter(x, np.full(count, height), s=16, color=COLOURS[1], zorder=3)
    marks.append(dots)
    names.append("front")
    ax.set_xlim(-0.55, 0.55)
    ax.set_xticks([])
    legend(ax, marks, names, loc="upper right")
