"""Pictures of examples, measures, and instances of the suite.

Sphinx is loaded by what needs it alone: tests read the rest without it.
"""

import itertools
from functools import partial
from multiprocessing import spawn
from pathlib import Path

import numpy as np
from matplotlib.patches import Rectangle

from pymoo_anon import visualization
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.problems.front import axes_of
from pymoo_anon.problems.tradeoffs import logarithmic
from pymoo_anon.visualization import plot_front
from pymoo_anon.visualization.fronts import COLOURS, new_figure, tick

#: Drawing of each example, from its own names. The default is the front of its problem and result.
DRAWN = {
    "adversaries": "plot_bars({who: row['GLM'] for who, row in rows.items()}, 'general loss')",
    "benchmark_your_algorithm": "plot_instance(problem, fronts[0])",
    "bit_strings": "plot_front(several, res)",
    "choose_and_explain": "plot_front(problem, front)",
    "compare_two_releases": "plot_quantiles(sizes)",
    "constraint_preserving_crossover": "plot_bars(losses, 'general loss')",
    "draft_hierarchies": "plot_front(problem, problem.pareto_set())",
    "lattice_too_large": "plot_front(own, proof.result())",
    "local_recoding": "plot_front(local, cells)",
    "own_operator": "plot_front(problem, problem.pareto_set(max_nodes=problem.n_nodes))",
    "parallel": "plot_steps(alone, 'GLM', 'k')",
    "several_adversaries": "plot_bars({who: 100 * row['loss'] for who, row in rows.items()}, 'loss, % of the cells')",
    "stop_and_resume": "plot_front(problem(), straight)",
    "suppression_rules": "plot_bars(losses, 'general loss')",
    "swap_the_algorithm": "plot_fronts(problem, {'its archive': res.archive.F, 'exact': exact})",
}
DEFAULT = "plot_front(problem, res)"


def scraper(block, variables, gallery_conf):
    """Draw the result of an example after its code has run."""
    from sphinx_gallery.scrapers import figure_rst

    if block[0] != "code":
        return ""
    names = variables["example_globals"]
    call = DRAWN.get(Path(variables["src_file"]).stem, DEFAULT)
    plots = {name: getattr(visualization, name) for name in visualization.__all__}
    figure = eval(call, {**plots, **globals(), **names})
    path = next(variables["image_path_iterator"])
    figure.savefig(path, dpi=100)
    caption = (
        f"\n\nDrawn by::\n\n    {call}\n"
        if "_bars" not in call and "_steps" not in call and "_instance" not in call
        else "\n"
    )
    return figure_rst([path], gallery_conf["src_dir"]) + caption


def reads_itself(gallery_conf, path):
    """Let the processes of an example import its file again."""

    def prepared(name, own=spawn.get_preparation_data):
        told = own(name)
        if told.pop("init_main_from_name", None) == "__main__":
            told["init_main_from_path"] = str(Path(gallery_conf["src_dir"], gallery_conf["examples_dirs"], path))
        return told

    reads_itself.own = getattr(reads_itself, "own", spawn.get_preparation_data)
    spawn.get_preparation_data = partial(prepared, own=reads_itself.own)


def lacking(gallery, names):
    """List the examples without a page or a picture in a built gallery."""
    found = []
    for name in names:
        page = Path(gallery, f"{name}.html")
        if not page.is_file() or f"sphx_glr_{name}_001.png" not in page.read_text(encoding="utf-8"):
            found.append(name)
    return found


def check(app, error):
    """Raise if a page of the gallery lacks its picture."""
    from sphinx.errors import SphinxError

    if error is None and app.builder.name == "html":
        names = [path.stem for path in Path(app.srcdir, "generated/scripts").glob("*.py")]
        without = lacking(Path(app.outdir, "generated/gallery"), names)
        if without or not names:
            raise SphinxError(f"every page of the gallery must have a picture, these have none: {without}")


def new_axes():
    figure = new_figure(8, 4.5)
    return figure, figure.add_subplot()


def plot_bars(values, label):
    """Bars below their names, with the numbers at their ends."""
    figure = new_figure(7, 1.2 + 0.7 * len(values))
    ax = figure.add_subplot()
    bars = ax.barh(range(len(values)), list(values.values()), height=0.4, color=COLOURS[0])
    ax.bar_label(bars, fmt="{:,.0f}", padding=4)
    for place, name in enumerate(values):
        ax.annotate(name, (0, place - 0.25), (0, 1), textcoords="offset points", va="bottom")
    ax.invert_yaxis()
    ax.margins(x=0.15)
    ax.set(xlabel=label, yticks=[])
    tick(ax.xaxis, False, True, max(values.values()))
    ax.spines[["top", "right", "left"]].set_visible(False)
    return figure


def plot_found(table, classes):
    """Draw the result of a search beside all generalizations by levels."""
    problem = LatticeProblem(table, [KAnonymity(), GeneralLossMetric()], suppression=0.01)
    levels = [problem.equivalence_classes(x) for x in problem.nodes(0, problem.n_nodes)]
    figure, ax = new_axes()
    for name, own, style in (
        ("all levels of whole columns", levels, {"s": 10, "color": "#9ca3af"}),
        ("found", classes, {"s": 34, "color": COLOURS[1]}),
    ):
        k, loss = np.array([[one.evaluate(each)[0] for each in own] for one in problem.objectives])
        ax.scatter(100 * loss / (table.n_rows * len(table.quasi_identifiers)), k, label=name, **style)
    ax.set(
        xlabel="general loss, % of what could be lost (lower is better)", ylabel="k (higher is better)", yscale="log"
    )
    tick(ax.yaxis, True, True, table.n_rows)
    ax.legend()
    ax.grid(alpha=0.3)
    return figure


def plot_points(points, attributes, starts):
    """Draw points before and after an operator, with frames around changes."""
    n_var = len(next(iter(points.values()))[0])
    figure = new_figure(8, 0.9 + 0.35 * sum(map(len, points.values())) + 0.3 * len(points))
    panels = figure.subplots(len(points), 1, squeeze=False, height_ratios=list(map(len, points.values())))[:, 0]
    whole = {len(rows) for rows in points.values()}
    for ax, (when, rows) in zip(panels, points.items(), strict=True):
        ax.imshow(rows, aspect="auto", cmap="Blues", vmin=0, vmax=1.6 * max(1, rows.max()))
        if n_var < 20:
            for (y, x), value in np.ndenumerate(rows):
                ax.text(x, y, value, ha="center", va="center")
        for start in starts[1:]:
            ax.axvline(start - 0.5, color="black", lw=1)
        if when == "after" and "before" in points and len(whole) == 1:
            for y, x in np.argwhere(rows != points["before"]):
                ax.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, fill=False, edgecolor=COLOURS[1], lw=2, zorder=3))
        middles = [(low + high - 1) / 2 for low, high in itertools.pairwise([*starts, n_var])]
        ax.set_yticks([])
        ax.set_ylabel(when if "before" in points else "")
        below = ax is panels[-1]
        # Names of short strings stand close: every other one is a line lower.
        ax.set_xticks(middles, ["\n" * (place % 2) + name if below else "" for place, name in enumerate(attributes)])
        ax.tick_params(length=0)
    return figure


def plot_steps(F, x, y):
    """Return a front of k and a loss, with pymoo's signs."""
    figure, ax = new_axes()
    k, loss = np.array(sorted(F)).T * [[-1], [1]]
    ax.step(loss, k, where="post", color=COLOURS[0], marker="o")
    ax.set(yscale="log", xlabel=x, ylabel=y)
    tick(ax.xaxis, False, False, max(loss))
    tick(ax.yaxis, True, True, max(k))
    return figure


def plot_instance(problem, found=None):
    """Draw the proven front of an instance and the result of a search."""
    own = problem.instance
    signs = own.signs.tolist()
    # GLM is counted in whole parts of a cell.
    parts = [sign * (own.told["unit"] if label == "GLM" else 1) for label, sign in zip(own.labels, signs, strict=True)]
    front = problem.pareto_front() / parts
    x = signs.index(1) if 1 in signs else 1
    y = signs.index(-1)
    others = [column for column in range(problem.n_obj) if column not in (x, y)]
    figure, ax = new_axes()
    style = {"color": COLOURS[0]}
    if others:
        third = front[:, others[0]]
        style = {"c": third, "cmap": "viridis", "norm": "log" if logarithmic(third) else "linear"}
    dots = ax.scatter(front[:, x], front[:, y], s=22, label="proven front", **style)
    if others:
        figure.colorbar(dots, label=own.labels[others[0]], pad=0.02)
    if found is not None:
        mine = np.atleast_2d(found) / parts
        ax.scatter(mine[:, x], mine[:, y], s=60, facecolors="none", edgecolors=COLOURS[1], label="found")
        ax.legend()
    ax.set(xlabel=own.labels[x], ylabel=own.labels[y])
    ax.set_yscale("log" if logarithmic(front[:, y]) else "linear")
    for axis, column in ((ax.xaxis, x), (ax.yaxis, y)):
        tick(axis, axis.get_scale() == "log", column == y, front[:, column].max())
    ax.grid(alpha=0.3)
    return figure


def front_of_instance(problem, path):
    """Write the picture of an instance."""
    plot_instance(problem).savefig(path, dpi=80)


def measure_over_lattice(measure, partner, table, path):
    """Draw two measures of every generalization of a table, and the front."""
    problem = LatticeProblem(table, [measure, partner], suppression=0.01)
    figure = plot_front(problem, problem.pareto_set(max_nodes=problem.n_nodes))
    values = problem.natural(problem.evaluate(problem.nodes(0, problem.n_nodes), return_values_of=["F"]))
    places = [problem.objectives.index(axis) for axis in axes_of(problem.objectives)]
    figure.axes[0].scatter(*values[np.isfinite(values).all(axis=1)].T[places], s=8, color="#9ca3af", zorder=0)
    figure.savefig(path, dpi=90)
