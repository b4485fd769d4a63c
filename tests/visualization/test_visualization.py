"""Pictures of fronts, lattices, property vectors and convergence: their data, and that drawing works."""

import os
import re
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.ticker import StrMethodFormatter
from pymoo.core.result import Result
from pymoo.optimize import minimize
from raw_tables import raw_problem
from tasks import invented, nsga2
from vectors import REAL, SIZES, groups, measured, table_of

from benchmarks.papers import dewri2009_tables as paper
from pymoo_anon.algorithms import PBGEA
from pymoo_anon.comparison import BreachProbability, ClassSize, PropertyVector, TupleLoss
from pymoo_anon.datasets import make_census
from pymoo_anon.fronts import RepresentationRatio
from pymoo_anon.objectives import *
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.problems.lattice import layer_sizes
from pymoo_anon.table import Hierarchy, Microdata
from pymoo_anon.visualization import (
    fronts,
    plot_convergence,
    plot_front,
    plot_fronts,
    plot_lattice,
    plot_quantiles,
    plot_tuples,
)
from pymoo_anon.visualization.curves import convergence_picture, quantile_picture, tuple_picture
from pymoo_anon.visualization.fronts import (
    FrontPicture,
    front_picture,
    lattice_picture,
    new_figure,
    open_region,
    tick,
)

TABLE = make_census(n_rows=200)

K, L, GLM, CM = KAnonymity(), DistinctLDiversity("occupation"), GeneralLossMetric(), ClassificationMetric("sex")


@cache
def problem_of(*objectives: Objective) -> LatticeProblem:
    return LatticeProblem(TABLE, objectives)


def picture_of(objectives: list[Objective], *rows: list[float]) -> FrontPicture:
    return front_picture(problem_of(*objectives), {"Front": np.array(rows, dtype=float)})


def test_loss_is_on_x_and_privacy_on_y_with_natural_signs():
    F = np.array([[-50.0, 900.0], [-1.0, 0.0], [-5.0, 300.0]])
    F.flags.writeable = False
    picture = front_picture(problem_of(K, GLM), {"Front": F})
    assert picture.open_bounds.shape == (0, 2)
    assert [axis.label for axis in picture.axes] == ["general loss (lower is better)", "k (higher is better)"]
    np.testing.assert_array_equal(picture.fronts["Front"], [[0, 1], [300, 5], [900, 50]])


@pytest.mark.parametrize(
    ("objectives", "words"),
    [
        ([SquaredClassSizes(), GLM, CM], ["general loss", "sum of class sizes", "classification loss"]),
        ([SquaredValueCounts("occupation"), GLM], ["general loss", "sum of sensitive counts"]),
        ([L, DistinctLDiversity("sex")], ["l of occupation", "l of sex"]),
    ],
)
def test_axes_are_named_in_words_with_the_column_of_equal_names(objectives, words):
    picture = picture_of(objectives, [1.0] * len(objectives))
    better = [f"{name} ({'lower' if 'loss' in name else 'higher'} is better)" for name in words]
    assert [axis.label for axis in picture.axes] == better


@pytest.mark.parametrize(
    ("values", "log"), [([1, 101], True), ([1, 100], False), ([0, 30_162], False), ([7, 7], False)]
)
def test_an_axis_of_more_than_two_decades_is_logarithmic(values, log):
    picture = picture_of([K, GLM], [-values[0], 1], [-values[1], 2])
    assert [axis.log for axis in picture.axes] == [False, log]
    # Decades are counted over all fronts.
    apart = front_picture(problem_of(K, GLM), {name: [[-k, 5]] for name, k in zip("ab", values, strict=True)})
    assert apart.axes[1].log is log


def test_title_and_legend_count_what_is_drawn():
    problem = problem_of(K, GLM)
    exact = problem.pareto_front()
    (ax,) = plot_fronts(problem, {"found": exact[:1], "exact": exact}).axes
    assert ax.figure.get_suptitle() == "2 fronts of generalizations of 200 rows"
    legend = ax.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["found (1 member)", f"exact ({len(exact)} members)"]
    colours = [tuple(handle.get_edgecolor()[0]) for handle in legend.legend_handles]
    assert colours == [tuple(mark.get_edgecolor()[0]) for mark in ax.collections]
    assert len(set(colours)) == 2
    assert picture_of([K, GLM], [-1, 0], [-2, 5]).title == "Front: 2 generalizations of 200 rows"


def test_ends_and_the_knee_that_is_chosen_are_noted():
    picture = picture_of([K, GLM], [-1, 0], [-60, 100], [-70, 1234.56])
    assert [text for _, text in picture.noted] == ["k 1, GLM 0", "k 70, GLM 1,235", "k 60, GLM 100"]
    np.testing.assert_array_equal(picture.noted[2][0], [100, 60])
    assert len(picture_of([K, GLM], [-1, 0]).noted) == 1
    assert picture_of([K, L, GLM], [-1, -1, 0], [-2, -2, 5]).noted == ()
    problem = problem_of(K, GLM)
    front = problem.front(problem.pareto_set())
    point, _ = front_picture(problem, {"Front": front.F}).noted[2]
    chosen = front.choose(knee=True)
    assert point.tolist() == [chosen.values["GLM"], chosen.values["k"]]


@pytest.mark.parametrize("other", [[[-2, 100], [-1, 0]], [[-90, 5000], [-80, 4000]]])
def test_notes_stand_on_the_sides_of_the_front_that_they_are_of(other):
    fronts = {"found": [[-50, 900], [-5, 300]], "other": other}
    notes = plot_fronts(problem_of(K, GLM), fronts).axes[0].texts
    assert {note.get_text(): note.get_ha() for note in notes} == {"k 5, GLM 300": "left", "k 50, GLM 900": "right"}


def test_members_with_infinite_values_are_counted_and_not_drawn():
    picture = picture_of([EnhancedBetaLikeness("occupation"), GLM], [np.inf, 0], [2, 5], [1, 9])
    np.testing.assert_array_equal(picture.fronts["Front"], [[5, 2], [9, 1]])
    assert picture.title == "Front: 2 generalizations of 200 rows, 1 more with infinite values"


@pytest.mark.parametrize("objectives", [[K], [K, GLM], [GLM, CM], [K, L, GLM], [K, L, GLM, CM]])
@pytest.mark.parametrize("n_fronts", [1, 7])
def test_plots(objectives, n_fronts, tmp_path):
    problem = problem_of(*objectives)
    exact = problem.pareto_front()
    figure = plot_fronts(problem, {f"front {i}": exact for i in range(n_fronts)}, tmp_path / "front.png")
    labels = [axis.label for axis in front_picture(problem, {"exact": exact}).axes[:3]]
    shown = [text for ax in figure.axes for text in (ax.get_xlabel(), ax.get_ylabel()) if text]
    assert [text.split(")")[0] for text in shown] == [text.split(")")[0] for text in labels]
    assert (tmp_path / "front.png").read_bytes().startswith(b"\x89PNG")
    assert os.listdir(tmp_path) == ["front.png"]


def test_of_four_objectives_loss_privacy_and_a_colour_are_shown_or_what_is_asked_for():
    """Compare the values with those of the labels."""
    problem = problem_of(K, L, CM, GLM)
    F = np.array([[-1.0, -10.0, 100.0, 1000.0], [-3000.0, -20.0, 200.0, 2000.0]])
    for axes, shown in (((), (CM, K, L)), ((GLM, L, K), (GLM, L, K)), ((GLM,), (GLM, K, L))):
        figure = plot_fronts(problem, {"found": F}, axes=axes)
        values = {K: [1, 3000], L: [10, 20], CM: [100, 200], GLM: [1000, 2000]}
        marks = figure.axes[0].collections[0].get_offsets()
        assert marks.tolist() == [list(pair) for pair in zip(values[shown[0]], values[shown[1]], strict=True)]
        assert figure.axes[1].get_ylabel().startswith(shown[2].words or shown[2].name)
        # A colour of values that span decades is logarithmic.
        assert figure.axes[1].get_yscale() == ("log" if shown[2] == K else "linear")


@pytest.mark.parametrize("loss", [GLM, Discernibility()])
def test_beside_a_loss_stands_its_share_of_what_could_be_lost(loss):
    """Take the range of general loss from 0 on, and that of discernibility from the number of rows on."""
    figure = plot_fronts(problem_of(K, loss), {"found": [[-1.0, 200.0], [-50.0, 800.0]]})
    (share,) = figure.axes[0].child_axes
    assert share.get_xlabel() == "% of the possible loss"
    figure.draw_without_rendering()
    least, most = loss.value_range(TABLE.tuples)
    expected = (np.array(figure.axes[0].get_xlim()) - least) / (most - least)
    assert share.get_xlim() == pytest.approx(100 * expected)


def test_beside_a_colour_stands_what_could_be_lost():
    coloured = plot_fronts(problem_of(K, GLM, CM), {"found": [[-1.0, 0.0, 3.0], [-50.0, 800.0, 9.0]]})
    assert coloured.axes[1].get_ylabel() == "classification loss (lower is better), of 200 that could be lost"


def test_a_found_front_is_drawn_from_whatever_holds_it():
    problem = problem_of(K)
    res = Result()
    res.X = np.array(problem.pareto_set()[0])
    for found in (res, res.X, problem.front(res)):
        assert plot_front(problem, found).get_suptitle() == "Front: 1 generalization of 200 rows"


def test_pyplot_is_not_touched():
    for path in Path(fronts.__file__).parent.glob("*.py"):
        assert not re.search(r"^ *(from|import) .*pyplot", path.read_text(encoding="utf-8"), re.MULTILINE)


NAMES = ["a$b$", "$x_2$ of $5", "a\\$b", "_hidden", "one\ntwo", "\x1b[1mbold", "right\u202eleft", "{x} %s"]
DRAWN = ["a$b$", "$x_2$ of $5", "a\\$b", "_hidden", "one\\ntwo", "\\x1b[1mbold", "right\\u202eleft", "{x} %s"]


def drawn(text):
    """Return the text that matplotlib draws, and whether it is a formula."""
    return text._preprocess_math(text.get_text())


@pytest.mark.parametrize("objectives", [[K], [K, GLM], [K, L, GLM]])
def test_names_of_fronts_are_drawn_as_they_stand(objectives):
    problem = problem_of(*objectives)
    exact = problem.pareto_front()
    figure = plot_fronts(problem, dict.fromkeys(NAMES, exact))
    (ax, *_), is_single = figure.axes, len(objectives) == 1
    texts = ax.get_yticklabels() if is_single else ax.get_legend().get_texts()
    count = "" if is_single else f" ({len(exact)} members)"
    assert [drawn(text) for text in texts] == [(f"{name}{count}", False) for name in DRAWN]
    # Drawing warns of glyphs that no font has.
    figure.draw_without_rendering()


@pytest.mark.parametrize(("name", "expected"), list(zip(NAMES, DRAWN, strict=True)))
def test_names_of_columns_are_drawn_as_they_stand(name, expected):
    columns = {"zip": [1, 2, 1, 2], name: [1, 2, 2, 2], "other": [1, 1, 1, 2]}
    named, other = DistinctLDiversity(name), DistinctLDiversity("other")
    for objectives in ([named, other], [GLM, other, named], [GLM, named, other, K]):
        problem = raw_problem(columns, [name, "other"], objectives=objectives)
        figure = plot_fronts(problem, {name: problem.pareto_front()})
        notes = figure.axes[0].texts
        assert [drawn(note) for note in notes] == [(f"l of other 2, l of {expected} 2", False)][: len(notes)]
        assert bool(notes) == (len(objectives) == 2)
        title, formula = drawn(figure._suptitle)
        assert title.startswith(f"{expected}: ")
        assert not formula
        labels = {drawn(label) for ax in figure.axes for label in (ax.xaxis.label, ax.yaxis.label)}
        assert any(text == f"l of {expected} (higher is better)" for text, _ in labels)
        assert not any(formula for _, formula in labels)
        figure.draw_without_rendering()


def test_ticks_are_few_round_numbers_and_powers_of_ten_where_these_would_be_long():
    ax = new_figure(4, 4).add_subplot()
    ax.set_ylim(0, 3)
    tick(ax.yaxis, False, True, 3.0)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["0", "1", "2", "3"]
    for greatest, shown in ((999_999.0, True), (1e6, False)):
        ax.set_yscale("log")
        tick(ax.yaxis, True, True, greatest)
        assert isinstance(ax.yaxis.get_major_formatter(), StrMethodFormatter) is shown


@pytest.mark.parametrize(
    ("objectives", "steps"), [([K, GLM], "steps-post"), ([GLM, CM], "steps-post"), ([K, L], "steps-pre")]
)
def test_steps_show_the_best_that_a_bound_on_x_allows(objectives, steps):
    problem = problem_of(*objectives)
    (line,) = plot_fronts(problem, {"exact": problem.pareto_front()}).axes[0].lines
    assert line.get_drawstyle() == steps


@pytest.mark.parametrize(
    ("objective", "values", "best", "drawn_on"),
    [(K, [-3.0, -7.0], "7", "linear"), (GLM, [3.0, 7.0], "3", "linear"), (K, [-3.0, -500.0], "500", "log")],
)
def test_a_single_objective_names_its_best_value_on_the_scale_of_its_values(objective, values, best, drawn_on):
    figure = plot_fronts(problem_of(objective), {"found": np.array(values)[:, np.newaxis]})
    assert [text.get_text() for text in figure.axes[0].texts] == [best]
    assert figure.axes[0].get_xscale() == drawn_on


@pytest.mark.parametrize(
    ("objectives", "rows", "bounds", "region"),
    [
        # Loss from 100 on may have a k of 60; the member of loss 900 has 50.
        ([K, GLM], [[-50, 900], [-5, 300]], [[-60, 400]], [[300, 5, 5], [400, 5, 60], [900, 50, 60]]),
        # The columns follow the axes, for any order of the objectives.
        ([GLM, K], [[900, -50], [300, -5]], [[400, -60]], [[300, 5, 5], [400, 5, 60], [900, 50, 60]]),
        # Before the first member there is nothing; where a member is as good, nothing is open.
        ([K, GLM], [[-50, 900], [-5, 300]], [[-20, 200], [-30, 950]], [[200, 5, 20], [300, 5, 20], [900, 50, 50]]),
        # Both lower is better.
        ([CM, GLM], [[10, 900], [40, 300]], [[5, 500]], [[5, 900, 500], [10, 900, 500], [40, 300, 300]]),
        ([CM, GLM], [[10, 900], [40, 300]], [[20, 250]], [[10, 900, 900], [20, 900, 250], [40, 300, 250]]),
    ],
)
def test_the_open_region_lies_between_the_front_and_the_bounds(objectives, rows, bounds, region):
    picture = front_picture(problem_of(*objectives), {"Front": rows}, np.array(bounds, dtype=float))
    np.testing.assert_array_equal(open_region(picture), region)


@pytest.mark.parametrize(
    ("rows", "bounds"),
    [
        ([[-50, 900], [-5, 300]], [[-60, 400], [-20, 100]]),
        ([[-50, 900], [-5, 300]], [[-100, -np.inf]]),
        # Of both scales are logarithms.
        ([[-5000, 90_000], [-5, 3]], [[-100, 0]]),
    ],
)
def test_an_open_region_is_drawn_and_named(rows, bounds, tmp_path):
    problem = problem_of(K, GLM)
    front = problem.front(problem.pareto_set())
    front.F, front.open_bounds = np.array(rows, dtype=float), np.array(bounds, dtype=float)
    figure = plot_front(problem, front, tmp_path / "front.png")
    assert (tmp_path / "front.png").exists()
    (ax,) = figure.axes
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["better points possible"]
    assert ax.collections[-1].get_hatch() == "//"
    front.open_bounds = np.empty((0, 2))
    assert plot_front(problem, front).axes[0].get_legend() is None


def lattice_of(*lengths):
    chain = [[0, 1, 2, 3, 4, 5, 6, 7], [0, 0, 0, 1, 1, 2, 2, 2], [0, 0, 0, 0, 0, 1, 1, 1], [0] * 8]
    names = [f"q{j}" for j in range(len(lengths))]
    hierarchies = {n: Hierarchy([*chain[:length], chain[-1]]) for n, length in zip(names, lengths, strict=True)}
    frame = pd.DataFrame({name: np.arange(8) for name in names})
    return LatticeProblem(Microdata.from_frame(frame, hierarchies), [K, GLM])


@given(st.lists(st.integers(0, 4), min_size=1, max_size=5))
def test_layers_are_counted_as_all_nodes_are(lengths):
    heights = [sum(node) for node in product(*(range(length + 1) for length in lengths))]
    assert layer_sizes(np.array(lengths)).tolist() == np.bincount(heights).tolist()


def test_layers_of_a_lattice_beyond_any_float():
    sizes = layer_sizes(np.full(90, 9)).tolist()
    assert sum(sizes) == 10**90
    assert sizes == sizes[::-1]
    assert all(type(size) is int for size in sizes)


def test_the_picture_of_a_small_lattice():
    problem = lattice_of(2, 1)
    picture = lattice_picture(problem, [[0, 0], [2, 1], [1, 0]], visited=[[0, 0], [1, 1], [1, 1], [0, 1]])
    assert picture.title == "6 nodes in 4 layers, 3 in the front, 3 visited"
    assert (picture.counts, picture.front, picture.visited) == ((1, 2, 2, 1), (1, 1, 0, 1), (1, 1, 1, 0))
    assert picture.nodes.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, 1]]
    assert picture.places.tolist() == [[0, 0], [-0.5, 1], [0.5, 1], [-0.5, 2], [0.5, 2], [0, 3]]
    assert picture.is_front.tolist() == [True, False, True, False, False, True]
    assert picture.is_visited.tolist() == [True, True, False, True, False, False]
    assert sorted(map(tuple, picture.lines.tolist())) == [(0, 1), (0, 2), (1, 3), (2, 3), (2, 4), (3, 5), (4, 5)]
    unknown = lattice_picture(problem, [0, 0])
    assert (unknown.title, unknown.visited) == ("6 nodes in 4 layers, 1 in the front", None)
    assert not unknown.is_visited.any()


@pytest.mark.parametrize("lengths", [(3, 2, 3), (3,)])
def test_lines_lead_to_every_neighbour_above(lengths):
    picture = lattice_picture(lattice_of(*lengths), np.zeros((1, len(lengths)), dtype=int))
    nodes = picture.nodes
    expected = {
        (i, j)
        for i, low in enumerate(nodes)
        for j, high in enumerate(nodes)
        if np.abs(high - low).sum() == 1 and high.sum() > low.sum()
    }
    assert set(map(tuple, picture.lines.tolist())) == expected


def test_a_middle_lattice_has_no_lines_and_a_large_one_no_nodes():
    middle = lattice_picture(lattice_of(3, 3, 3, 3), [[0, 0, 0, 0]])
    assert len(middle.nodes) == 256
    assert len(middle.lines) == 0
    problem = LatticeProblem(make_census(60), [K, GLM])
    X = problem.nodes(100, 150)
    large = lattice_picture(problem, X, visited=np.concatenate([X, X]))
    assert large.nodes is None
    assert len(large.places) == len(large.is_front) == 0
    assert sum(large.counts) == problem.n_nodes
    assert large.front == large.visited == tuple(np.bincount(X.sum(axis=1), minlength=len(large.counts)))


@pytest.mark.parametrize(
    ("lengths", "known"), [((1,), False), ((2, 1), True), ((3,) * 4, True), ((3,) * 5, True), ((3,) * 5, False)]
)
def test_lattices_are_drawn(lengths, known, tmp_path):
    problem = lattice_of(*lengths)
    X = problem.nodes(0, 40)
    figure = plot_lattice(problem, X[:30:3], tmp_path / "lattice.png", visited=X if known else None)
    assert (tmp_path / "lattice.png").stat().st_size > 5000
    (ax,) = figure.axes
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names[-1] == "front"
    assert ("visited" in names) == (known and len(X[:30:3]) < len(X) if problem.n_nodes <= 600 else known)
    low, high = ax.get_xlim()
    for dots in ax.collections:
        assert all(low <= x <= high for x, _ in dots.get_offsets() if len(dots.get_offsets()))


def test_a_crowded_layer_stays_in_the_picture():
    problem = LatticeProblem(make_census(60), [K, GLM])
    X = problem.nodes(0, 3000)
    ax = plot_lattice(problem, X[X.sum(axis=1) == 8]).axes[0]
    offsets = np.concatenate([dots.get_offsets() for dots in ax.collections])
    assert len(offsets) > 100
    assert np.abs(offsets[:, 0]).max() <= 0.5
    assert ax.get_ylabel() == "height (sum of the levels)"


def test_a_lattice_with_least_levels_begins_above_them():
    problem = LatticeProblem(make_census(60), [K, GLM], levels={"age": (2, 3)})
    picture = lattice_picture(problem, problem.nodes(0, 1))
    assert picture.front[0] == picture.counts[0] == 1
    label = "height (sum of the levels above the least ones)"
    assert plot_lattice(problem, problem.nodes(0, 1)).axes[0].get_ylabel() == label


def vectors_of(prop):
    return {name: measured(prop, name) for name in paper.GENERALIZATIONS}


ROW_NAMES = np.empty(10, dtype=int)
ROW_NAMES[paper.ROWS] = np.arange(1, 11)


def test_figure_1_of_the_paper():
    picture = tuple_picture(SIZES, ROW_NAMES)
    assert picture.ticks == tuple(map(str, range(1, 11)))
    for name, points in picture.curves.items():
        assert points[:, 1].tolist() == SIZES[name].values[paper.ROWS].tolist()
    assert picture.curves["T4"][:, 0].tolist() == list(range(1, 11))
    assert (picture.label, picture.log, picture.whole) == ("class size (higher is better)", False, True)


def test_tuples_without_names_are_numbered():
    picture = tuple_picture({0: PropertyVector([5, 7], table_of([2, 1]), "x", True)})
    assert picture.ticks == ("1", "2", "3")
    assert picture.curves["0"].tolist() == [[1, 5], [2, 5], [3, 7]]
    assert len(tuple_picture({"a": PropertyVector([1], table_of([200]), "x", True)}).ticks) == 200


@given(groups(of=REAL, n=2, maximize=None))
def test_quantiles_are_those_of_the_rows(group):
    vector = group.vectors[0]
    picture = quantile_picture(dict(zip("ab", group.vectors, strict=True)))
    rows = np.sort(vector.expand())[:: 1 if vector.maximize else -1]
    shares, values = picture.curves["a"].T
    assert (shares[0], shares[-1]) == (0, 1)
    # The step that holds the middle of each row.
    middles = (np.arange(len(rows)) + 0.5) / len(rows)
    np.testing.assert_array_equal(values[np.searchsorted(shares, middles) - 1], rows)


def test_words_direction_and_scale():
    picture = quantile_picture(vectors_of(BreachProbability()))
    assert picture.label == "probability of a privacy breach (lower is better)"
    assert not picture.whole
    wide = PropertyVector([1, 101], table_of([2, 1]), "x", True)
    assert quantile_picture({"a": wide}).log
    assert not quantile_picture({"a": PropertyVector([1, 100], wide.tuples, "x", True)}).log
    assert not quantile_picture({"a": PropertyVector([0, 1e9], wide.tuples, "x", True)}).log


@pytest.mark.parametrize("draw", [plot_tuples, plot_quantiles])
@pytest.mark.parametrize(("prop", "n"), [(ClassSize(), 1), (TupleLoss(), 3), (ClassSize(), 8)])
def test_plots_of_vectors(draw, prop, n, tmp_path):
    vectors = list(vectors_of(prop).values())
    figure = draw({f"release {i}": vectors[i % 3] for i in range(n)}, tmp_path / "picture.png")
    (ax,) = figure.axes
    assert ax.get_ylabel() == tuple_picture({"a": vectors[0]}).label
    named = [text.get_text() for text in ax.get_legend().get_texts()] if n > 1 else [ax.get_title()]
    assert named == [f"release {i}" for i in range(n)]
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert os.listdir(tmp_path) == ["picture.png"]


@pytest.mark.parametrize("draw", [plot_tuples, plot_quantiles])
def test_names_are_drawn_as_they_stand(draw, tmp_path):
    names = ["$a$", "_hidden", "one\ntwo"]
    figure = draw(dict(zip(names, SIZES.values(), strict=True)), tmp_path / "picture.png")
    (ax,) = figure.axes
    texts = [*map(drawn, ax.get_legend().get_texts())]
    assert texts == [("$a$", False), ("_hidden", False), ("one\\ntwo", False)]
    # A legend shows the marks of its names.
    assert [line.get_color() for line in ax.get_legend().get_lines()] == [line.get_color() for line in ax.lines]
    (ax,) = draw({"$a$": SIZES["T4"]}).axes
    assert drawn(ax.title) == ("$a$", False)
    label = PropertyVector([5, 7], table_of([2, 1]), "$x$", True)
    more = {"names": ["$1$", "$2$", "a\nb"]} if draw is plot_tuples else {}
    (ax,) = draw({"a": label}, **more).axes
    assert drawn(ax.yaxis.label) == ("$x$ (higher is better)", False)
    assert not more or [*map(drawn, ax.get_xticklabels())] == [("$1$", False), ("$2$", False), ("a\\nb", False)]


@pytest.fixture(scope="module")
def histories():
    problem = LatticeProblem(invented(1), [K, GLM])
    searches = {"PBG-EA": PBGEA(pop_size=8), "NSGA-II": nsga2(8)}
    return problem, {name: history_of(problem, algorithm, 6) for name, algorithm in searches.items()}


def history_of(problem, algorithm, n_gen):
    return minimize(problem, algorithm, ("n_gen", n_gen), seed=1, save_history=True).history


def test_convergence_is_what_the_indicator_says_of_every_generation(histories):
    problem, found = histories
    ratio = RepresentationRatio(problem.pareto_front())
    picture = convergence_picture(found, ratio, "representation ratio")
    assert list(picture.curves) == list(found)
    for name, history in found.items():
        expected = [[each.evaluator.n_eval, ratio(each.opt.get("F"))] for each in history]
        assert picture.curves[name].tolist() == expected
        assert len(expected) == 6
    assert not picture.log
    # An archive never gets worse.
    assert (np.diff(picture.curves["PBG-EA"][:, 1]) >= 0).all()


def test_generations_without_a_feasible_point_are_left_out():
    # A bound that is missed by more or less, so that a search from the top finds its way.
    problem = LatticeProblem(invented(1), [K, GLM], constraints=[GLM <= 60])
    start = problem.nodes(problem.n_nodes - 8, problem.n_nodes)
    history = history_of(problem, nsga2(8, sampling=start), 25)
    infeasible = sum(not each.opt.get("feas").any() for each in history)
    assert infeasible > 0
    curve = convergence_picture({"one": history}, len, "members").curves["one"]
    assert len(curve) == len(history) - infeasible > 0
    with pytest.raises(ValueError, match=r"histories\['one'\] must hold an algorithm with a feasible point, got 1 "):
        convergence_picture({"one": history[:1]}, len, "members")


def test_many_evaluations_are_drawn_in_logarithms(histories):
    _, found = histories
    history = found["PBG-EA"]
    before = history[-1].evaluator.n_eval
    try:
        history[-1].evaluator.n_eval = 100 * history[0].evaluator.n_eval
        assert not convergence_picture({"one": history}, len, "members").log
        history[-1].evaluator.n_eval += 1
        assert convergence_picture({"one": history}, len, "members").log
        assert plot_convergence({"one": history}, len, "members").axes[0].get_xscale() == "log"
    finally:
        history[-1].evaluator.n_eval = before


def test_convergence_is_drawn(histories, tmp_path):
    problem, found = histories
    ratio = RepresentationRatio(problem.pareto_front())
    figure = plot_convergence(found, ratio, "ratio of $x", tmp_path / "convergence.png")
    assert (tmp_path / "convergence.png").stat().st_size > 5000
    (ax,) = figure.axes
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["PBG-EA", "NSGA-II"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("evaluations", r"ratio of \$x")
    for line, curve in zip(ax.lines, convergence_picture(found, ratio, "").curves.values(), strict=True):
        np.testing.assert_array_equal(line.get_xydata(), curve)
        assert line.get_drawstyle() == "steps-post"
    assert plot_convergence({"one": found["PBG-EA"]}, ratio, "ratio").axes[0].get_legend() is None
