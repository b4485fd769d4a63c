"""Pictures of the comparison: quality by number of distinct points."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullFormatter, StrMethodFormatter

from benchmarks.moeas.pages import RESULTS
from pymoo_anon.visualization.fronts import new_figure

#: Colour, style and width by algorithm: this package's own are thick.
LOOKS = {
    "PBG-EA": ("#000000", "-", 2.6),
    "local search": ("#D55E00", "-", 2.6),
    "branch and bound": ("#0072B2", "-", 2.6),
    "NSGA-II": ("#009E73", "-", 1.3),
    "NSGA-III": ("#009E73", "--", 1.3),
    "R-NSGA-II": ("#009E73", ":", 1.6),
    "SPEA2": ("#CC79A7", "-", 1.3),
    "SMS-EMOA": ("#56B4E9", "-", 1.3),
    "AGE-MOEA2": ("#56B4E9", "--", 1.3),
    "MOEA/D": ("#B8860B", "-", 1.3),
    "C-TAEA": ("#B8860B", "--", 1.3),
    "random search": ("#888888", ":", 1.6),
}
#: Least share of missing hypervolume on the axis.
LEAST = 1e-5


def draw(name: str, problem: Mapping[str, Any], path: Path) -> None:
    """Draw RR and the missing hypervolume, of results and of all seen points."""
    figure = new_figure(11, 7.5)
    axes = figure.subplots(2, 2, sharex=True, sharey="row")
    for column, (result, words) in enumerate(RESULTS.items()):
        for row, measure in enumerate(("RR", "HV")):
            axis = axes[row, column]
            for algorithm, look in LOOKS.items():
                if algorithm in problem["rows"]:
                    _curve(axis, *course(problem, algorithm, result, measure), look, algorithm)
            axis.set_xscale("log")
            axis.grid(alpha=0.3)
        axes[0, column].set_title(words)
        axes[1, column].set_yscale("log")
        axes[1, column].set_xlabel("distinct points")
        _ticks(axes[1, column], problem)
    axes[0, 0].set_ylabel("representation ratio, higher is better")
    axes[1, 0].set_ylabel("missing hypervolume, lower is better")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False)
    figure.suptitle(f"{name}: medians and quartiles of the runs")
    figure.savefig(path, dpi=80)


def course(problem: Mapping[str, Any], algorithm: str, result: str, measure: str) -> tuple[np.ndarray, np.ndarray]:
    """(n,) array of distinct points and (n, 3) array of quartiles to draw."""
    kinds, numbers = zip(*(key.split() for key in problem["budgets"]["all"]), strict=True)
    distinct = np.array(kinds) == "distinct"
    budgets = np.array(numbers, dtype=int)[distinct]
    quartiles = np.array(problem["rows"][algorithm]["curves"][result][measure]).T[distinct]
    # Missing hypervolume on a logarithmic scale, where nothing is missing at its lower end.
    return budgets, np.maximum(1 - quartiles, LEAST) if measure == "HV" else quartiles


def _curve(axis: Axes, budgets: np.ndarray, quartiles: np.ndarray, look: tuple[str, str, float], name: str) -> None:
    colour, style, width = look
    order = 3 if width > 2 else 2
    axis.plot(budgets, quartiles[:, 1], color=colour, linestyle=style, linewidth=width, label=name, zorder=order)
    axis.fill_between(budgets, quartiles[:, 0], quartiles[:, 2], color=colour, alpha=0.12, linewidth=0)


def _ticks(axis: Axes, problem: Mapping[str, Any]) -> None:
    """Plain numbers, each about twice the one before."""
    budgets, _ = course(problem, next(iter(problem["rows"])), "own", "RR")
    axis.xaxis.set_major_locator(FixedLocator([b for b in (50, 100, 200, 400, 800, 1600, 2400) if b <= budgets[-1]]))
    axis.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axis.xaxis.set_minor_formatter(NullFormatter())
