"""Pictures of properties of all tuples, and of convergence."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from pymoo.core.algorithm import Algorithm

from pymoo_anon.comparison.properties import PropertyVector, align
from pymoo_anon.problems.tradeoffs import logarithmic
from pymoo_anon.typing import Array, Floats
from pymoo_anon.visualization.fronts import COLOURS, MARKERS, STYLES, literal, new_figure, saved, scale

#: Greatest number of tuples drawn one by one.
_DRAWN = 200


@dataclass(frozen=True)
class CurvePicture:
    """Data of a picture of curves."""

    label: str  # Property and better direction in words, or name of the indicator
    log: bool  # Whether the scale of the property, or of the evaluations, is logarithmic (more than two decades)
    whole: bool  # Whether its values are whole numbers
    curves: dict[str, Floats]  # By name an (n, 2) float array: place or share of the tuples, or evaluations; and value
    ticks: tuple[str, ...] = ()  # Names of the tuples, if any


def tuple_picture(vectors: Mapping[Hashable, PropertyVector], names: Sequence[object] | None = None) -> CurvePicture:
    """Collect the data of `plot_tuples`."""
    _check_vectors(vectors)
    n_rows = next(iter(vectors.values())).n_rows
    if n_rows > _DRAWN:
        raise ValueError(
            f"vectors must be of at most {_DRAWN} tuples to be drawn one by one, got {n_rows}; plot_quantiles draws "
            "tables of any size"
        )
    known = np.arange(1, n_rows + 1) if names is None else np.asarray(names)
    if known.shape != (n_rows,):
        raise ValueError(f"names must be one for each of the {n_rows} tuples, got shape {known.shape}")
    order = np.argsort(known, kind="stable")
    places = np.arange(1, n_rows + 1)
    curves = {str(name): np.column_stack([places, vector.expand()[order]]) for name, vector in vectors.items()}
    return _picture(vectors, curves, tuple(map(str, known[order])))


def quantile_picture(vectors: Mapping[Hashable, PropertyVector]) -> CurvePicture:
    """Collect the data of a picture of distributions.

    A curve holds the share of worse tuples and the value from there on. Its last point, at 1, repeats the best value.
    """
    _check_vectors(vectors)
    curves = {}
    for name, vector in vectors.items():
        values, counts = (own if vector.maximize else own[::-1] for own in vector.ascending)
        shares = np.append(0, np.cumsum(counts)) / vector.n_rows
        curves[str(name)] = np.column_stack([shares, np.append(values, values[-1])])
    return _picture(vectors, curves)


def plot_tuples(
    vectors: Mapping[Hashable, PropertyVector],
    path: str | os.PathLike[str] | None = None,
    names: Sequence[object] | None = None,
) -> Figure:
    """Draw the value of every tuple under each anonymization (Dewri et al. 2009, Figure 1).

    Args:
        vectors: By name of an anonymization its vector, all of one property and one table of at most 200 tuples.
        path: PNG file to write, whole or not at all. None writes nothing.
        names: A name per tuple, in the order of `PropertyVector.expand`. They sort the tuples. None numbers them
            from 1.

    Raises:
        ValueError: There is no vector, some are not comparable, there are more than 200 tuples, or the names are not
            one per tuple.
        OSError: The file cannot be written.
    """
    picture = tuple_picture(vectors, names)
    figure, ax = _drawn(picture, "y", max(7, 0.22 * len(picture.ticks)), 4.5)
    ax.set_xticks(range(1, len(picture.ticks) + 1), [literal(name) for name in picture.ticks])
    ax.set_xlabel("tuple")
    return saved(figure, path)


def plot_quantiles(vectors: Mapping[Hashable, PropertyVector], path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw the distribution of a property under each anonymization.

    Args:
        vectors: By name of an anonymization its vector, all of one property and table, of any size.
        path: PNG file to write, whole or not at all. None writes nothing.

    Raises:
        ValueError: There is no vector, or some are not comparable.
        OSError: The file cannot be written.
    """
    figure, ax = _drawn(quantile_picture(vectors), "y")
    ax.set_xlabel("share of the people, from the worst off to the best off")
    ax.xaxis.set_major_formatter(PercentFormatter(1))
    ax.set_xlim(0, 1)
    return saved(figure, path)


def _check_vectors(vectors: Mapping[Hashable, PropertyVector]) -> None:
    if not (isinstance(vectors, Mapping) and vectors and all(isinstance(v, PropertyVector) for v in vectors.values())):
        raise ValueError(f"vectors must be a dict of at least one name and its PropertyVector, got {vectors!r:.80}")
    align(list(vectors.values()))


def _picture(
    vectors: Mapping[Hashable, PropertyVector], curves: dict[str, Floats], ticks: tuple[str, ...] = ()
) -> CurvePicture:
    first = next(iter(vectors.values()))
    values = np.concatenate([points[:, 1] for points in curves.values()])
    label = f"{first.words} ({'higher' if first.maximize else 'lower'} is better)"
    return CurvePicture(label, logarithmic(values), bool((values == np.floor(values)).all()), curves, ticks)


def _drawn(picture: CurvePicture, which: Literal["x", "y"], width: float = 8, height: float = 5) -> tuple[Figure, Axes]:
    """Draw curves, with the scale of one side and a legend."""
    figure = new_figure(width, height)
    ax = figure.add_subplot()
    for number, points in enumerate(picture.curves.values()):
        (line,) = ax.plot(*points.T, color=COLOURS[number % len(COLOURS)])
        if picture.ticks:
            # Markers shrink from curve to curve, so that equal curves all stay visible.
            size = 9 - 5 * number / max(len(picture.curves) - 1, 1)
            line.set(marker=MARKERS[number % len(MARKERS)], markersize=size, linewidth=1.2)
        else:
            line.set(drawstyle="steps-post", linestyle=STYLES[number % len(STYLES)], linewidth=1.8)
    place, label = (0, "evaluations") if which == "x" else (1, picture.label)
    greatest = max(float(points[:, place].max()) for points in picture.curves.values())
    scale(ax, which, label, picture.log, picture.whole, greatest)
    ax.grid(alpha=0.3)
    if len(picture.curves) > 1:
        ax.legend(ax.lines, list(map(literal, picture.curves)))
    elif which == "y":
        ax.set_title(literal(next(iter(picture.curves))))
    return figure, ax


def convergence_picture(
    histories: Mapping[str, Sequence[Algorithm]], indicator: Callable[[Array], float], label: str
) -> CurvePicture:
    """Collect the data of `plot_convergence`."""
    if not histories:
        raise ValueError("histories must name at least one search, got none")
    curves = {}
    for name, history in histories.items():
        points = []
        for algorithm in history:
            found = [] if algorithm.opt is None else [own.F for own in algorithm.opt if own.feas]
            if found:
                points.append((float(algorithm.evaluator.n_eval), float(indicator(np.array(found)))))
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
    return CurvePicture(label, logarithmic(evaluations), True, curves)


def plot_convergence(
    histories: Mapping[str, Sequence[Algorithm]],
    indicator: Callable[[Array], float],
    label: str,
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw the front's quality over the evaluations of searches.

    Generations before the first feasible point are left out.

    Args:
        histories: By name of a search its algorithm after every generation, such as `res.history` of
            `minimize(..., save_history=True)`.
        indicator: Function of an (n, n_obj) array of minimised values, such as `RepresentationRatio(exact)` or
            pymoo's `HV(ref_point)`.
        label: Name of the indicator on its axis.
        path: PNG file to write, whole or not at all. None writes nothing.

    Raises:
        ValueError: There is no history, a search never found a feasible point, or a value of the indicator is not
            finite.
        OSError: The file cannot be written.
    """
    picture = convergence_picture(histories, indicator, label)
    figure, ax = _drawn(picture, "x")
    ax.set_ylabel(literal(picture.label))
    return saved(figure, path)
