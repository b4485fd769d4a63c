"""Pictures of bias: what the tuples of a table have of a property under several anonymizations."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from pymoo_anon.comparison.vectors import PropertyVector, align
from pymoo_anon.engine.arrays import Values
from pymoo_anon.problems.tradeoffs import logarithmic
from pymoo_anon.visualization.canvas import COLOURS, MARKERS, STYLES, legend, literal, new_figure, saved, scale

#: Up to so many tuples are drawn one by one.
_TUPLES = 200


@dataclass(frozen=True)
class VectorPicture:
    """All that a picture of property vectors shows.

    Attributes:
        label: The property and which direction is better, in words.
        log: Whether its scale is logarithmic: values are positive and span more than two decades.
        whole: Whether all values are whole numbers.
        curves: By anonymization an (n, 2) float array of points: place or share of the tuples, and value.
        ticks: Names of the tuples; empty where the first column holds shares.
    """

    label: str
    log: bool
    whole: bool
    curves: dict[str, Values]
    ticks: tuple[str, ...] = ()


def tuple_picture(vectors: Mapping[Hashable, PropertyVector], names: Sequence[object] | None = None) -> VectorPicture:
    """Collect what a picture of single tuples shows (Dewri et al. 2009, Figure 1).

    Args:
        vectors: By name of an anonymization its vector, all of one property and table.
        names: A name for each tuple, in the order of `PropertyVector.expand`; tuples stand in the order of their names.
            None numbers them from 1.

    Returns:
        The picture; its curves hold the place of each tuple, from 1, and its value.

    Raises:
        ValueError: There is no vector, some are not comparable, there are more than 200 tuples, or not one name for
            each.
    """
    _check(vectors)
    n_rows = next(iter(vectors.values())).n_rows
    if n_rows > _TUPLES:
        raise ValueError(
            f"vectors must be of at most {_TUPLES} tuples to be drawn one by one, got {n_rows}; plot_quantiles draws "
            "tables of any size"
        )
    known = np.arange(1, n_rows + 1) if names is None else np.asarray(names)
    if known.shape != (n_rows,):
        raise ValueError(f"names must be one for each of the {n_rows} tuples, got shape {known.shape}")
    order = np.argsort(known, kind="stable")
    places = np.arange(1, n_rows + 1)
    curves = {str(name): np.column_stack([places, vector.expand()[order]]) for name, vector in vectors.items()}
    return _picture(vectors, curves, tuple(map(str, known[order])))


def quantile_picture(vectors: Mapping[Hashable, PropertyVector]) -> VectorPicture:
    """Collect what a picture of distributions shows: the tuples in a row, from the worst off to the best off.

    Args:
        vectors: By name of an anonymization its vector, all of one property and table.

    Returns:
        The picture. Its curves are steps from left to right: the share of the tuples that are worse off, and the value
        from there on. The last point, at 1, repeats the best value.

    Raises:
        ValueError: There is no vector, or some are not comparable.
    """
    _check(vectors)
    curves = {}
    for name, vector in vectors.items():
        order = np.argsort(vector.oriented, kind="stable")
        # Of each value, the place of its first entry in that order.
        values, first = np.unique(vector.oriented[order], return_index=True)
        # How many tuples stand before each entry.
        before = np.concatenate([[0], np.cumsum(vector.counts[order])])
        shares = np.append(before[first], before[-1]) / vector.n_rows
        own = values if vector.maximize else -values
        curves[str(name)] = np.column_stack([shares, np.append(own, own[-1])])
    return _picture(vectors, curves)


def plot_tuples(
    vectors: Mapping[Hashable, PropertyVector],
    path: str | os.PathLike[str] | None = None,
    names: Sequence[object] | None = None,
) -> Figure:
    """Draw the value of every tuple under each anonymization, for small tables (Dewri et al. 2009, Figure 1).

    Args:
        vectors: As in `tuple_picture`.
        path: Where to write it as PNG; the file appears whole or not at all. None writes nothing.
        names: As in `tuple_picture`.

    Raises:
        ValueError: As `tuple_picture`.
    """
    picture = tuple_picture(vectors, names)
    figure = new_figure(max(7, 0.22 * len(picture.ticks)), 4.5)
    ax = figure.add_subplot()
    for number, points in enumerate(picture.curves.values()):
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
        # Markers get smaller from curve to curve, so that all stay visible where curves agree.
        size = 9 - 5 * number / max(len(picture.curves) - 1, 1)
        ax.plot(*points.T, color=colour, marker=marker, markersize=size, linewidth=1.2)
    ax.set_xticks(range(1, len(picture.ticks) + 1), [literal(name) for name in picture.ticks])
    ax.set_xlabel("tuple")
    _finish(ax, picture)
    return saved(figure, path)


def plot_quantiles(vectors: Mapping[Hashable, PropertyVector], path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw how a property is spread over the tuples under each anonymization, for tables of any size.

    Args:
        vectors: As in `quantile_picture`.
        path: Where to write it as PNG; the file appears whole or not at all. None writes nothing.

    Raises:
        ValueError: As `quantile_picture`.
    """
    picture = quantile_picture(vectors)
    figure = new_figure(8, 5)
    ax = figure.add_subplot()
    for number, points in enumerate(picture.curves.values()):
        colour, style = COLOURS[number % len(COLOURS)], STYLES[number % len(STYLES)]
        ax.plot(*points.T, drawstyle="steps-post", linewidth=1.8, color=colour, linestyle=style)
    ax.set_xlabel("share of the people, from the worst off to the best off")
    ax.xaxis.set_major_formatter(PercentFormatter(1))
    ax.set_xlim(0, 1)
    _finish(ax, picture)
    return saved(figure, path)


def _check(vectors: Mapping[Hashable, PropertyVector]) -> None:
    """Refuse anything but comparable vectors by name."""
    if not vectors or not all(isinstance(vector, PropertyVector) for vector in vectors.values()):
        raise ValueError(f"vectors must be a dict of at least one name and its PropertyVector, got {vectors!r:.80}")
    align(list(vectors.values()))


def _picture(
    vectors: Mapping[Hashable, PropertyVector], curves: dict[str, Values], ticks: tuple[str, ...] = ()
) -> VectorPicture:
    """The picture of some curves, its label and scale chosen by the vectors and their values."""
    first = next(iter(vectors.values()))
    values = np.concatenate([points[:, 1] for points in curves.values()])
    label = f"{first.words} ({'higher' if first.maximize else 'lower'} is better)"
    return VectorPicture(label, logarithmic(values), bool((values == np.floor(values)).all()), curves, ticks)


def _finish(ax: Axes, picture: VectorPicture) -> None:
    """Draw what both kinds of pictures share: the scale of the values, its label and the legend."""
    greatest = max(float(points[:, 1].max()) for points in picture.curves.values())
    scale(ax, "y", picture.label, picture.log, picture.whole, greatest)
    ax.grid(axis="x", alpha=0.3)
    if len(picture.curves) > 1:
        legend(ax, ax.lines, list(picture.curves))
    else:
        ax.set_title(literal(next(iter(picture.curves))))
