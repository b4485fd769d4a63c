"""Pictures of lattice and convergence: their data, and that drawing works."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.indicators.hv import HV
from pymoo.optimize import minimize
from tasks import invented

from pymoo_anon.algorithms import PBGEA
from pymoo_anon.datasets import make_census
from pymoo_anon.fronts import RepresentationRatio
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.operators import LatticeSampling, LevelCrossover, SingleStepMutation
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.table import Hierarchy, Microdata
from pymoo_anon.visualization import plot_convergence, plot_lattice
from pymoo_anon.visualization.curves import convergence_picture
from pymoo_anon.visualization.fronts import _layer_sizes, lattice_picture

K, GLM = KAnonymity(), GeneralLossMetric()


def problem_of(*lengths):
    chain = [[0, 1, 2, 3, 4, 5, 6, 7], [0, 0, 0, 1, 1, 2, 2, 2], [0, 0, 0, 0, 0, 1, 1, 1], [0] * 8]
    names = [f"q{j}" for j in range(len(lengths))]
    hierarchies = {n: Hierarchy([*chain[:length], chain[-1]]) for n, length in zip(names, lengths, strict=True)}
    frame = pd.DataFrame({name: np.arange(8) for name in names})
    return LatticeProblem(Microdata.from_frame(frame, hierarchies), [K, GLM])


@given(st.lists(st.integers(0, 4), min_size=1, max_size=5))
def test_layers_are_counted_as_all_nodes_are(lengths):
    heights = [sum(node) for node in product(*(range(length + 1) for length in lengths))]
    assert _layer_sizes(np.array(lengths)) == np.bincount(heights).tolist()


def test_layers_of_a_lattice_beyond_any_float():
    sizes = _layer_sizes(np.full(90, 9))
    assert sum(sizes) == 10**90
    assert sizes == sizes[::-1]
    assert all(type(size) is int for size in sizes)


def test_the_picture_of_a_small_lattice():
    problem = problem_of(2, 1)
    picture = lattice_picture(problem, [[0, 0], [2, 1], [1, 0]], visited=[[0, 0], [1, 1], [1, 1], [0, 1]])
    assert picture.title == "6 nodes in 4 layers, 3 in the front, 3 visited"
    assert (picture.counts, picture.front, picture.visited) == ((1, 2, 2, 1), (1, 1, 0, 1), (1, 1, 1, 0))
    assert picture.nodes.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, 1]]
    assert picture.places.tolist() == [[0, 0], [-0.5, 1], [0.5, 1], [-0.5, 2], [0.5, 2], [0, 3]]
    assert picture.is_front.tolist() == [True, False, True, False, False, True]
    assert picture.is_visited.tolist() == [True, True, False, True, False, False]
    assert sorted(map(tuple, picture.lines.tolist())) == [(0, 1), (0, 2), (1, 3), (2, 3), (2, 4), (3, 5), (4, 5)]


@pytest.mark.parametrize("lengths", [(3, 2, 3), (3,)])
def test_lines_lead_to_every_neighbour_above(lengths):
    picture = lattice_picture(problem_of(*lengths), np.zeros((1, len(lengths)), dtype=int))
    nodes = picture.nodes
    expected = {
        (i, j)
        for i, low in enumerate(nodes)
        for j, high in enumerate(nodes)
        if np.abs(high - low).sum() == 1 and high.sum() > low.sum()
    }
    assert set(map(tuple, picture.lines.tolist())) == expected


def test_what_was_visited_may_not_be_known():
    picture = lattice_picture(problem_of(2, 1), [0, 0])
    assert picture.visited is None
    assert picture.title == "6 nodes in 4 layers, 1 in the front"
    assert not picture.is_visited.any()


def test_a_middle_lattice_has_no_lines_and_a_large_one_no_nodes():
    middle = lattice_picture(problem_of(3, 3, 3, 3), [[0, 0, 0, 0]])
    assert len(middle.nodes) == 256
    assert len(middle.lines) == 0
    problem = LatticeProblem(make_census(60), [K, GLM])
    X = problem.nodes(100, 150)
    large = lattice_picture(problem, X, visited=np.concatenate([X, X]))
    assert large.nodes is None
    assert len(large.places) == len(large.is_front) == 0
    assert sum(large.counts) == problem.n_nodes
    assert large.front == large.visited == tuple(np.bincount(X.sum(axis=1), minlength=len(large.counts)))


@pytest.mark.parametrize("lengths", [(1,), (2, 1), (3, 3, 3, 3), (3, 3, 3, 3, 3)])
@pytest.mark.parametrize("known", [False, True])
def test_lattices_are_drawn(lengths, known, tmp_path):
    problem = problem_of(*lengths)
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


@pytest.mark.parametrize("wrong", [[[0, 9]], [[0, 0, 0]], [[0.5, 0]]])
def test_what_is_no_node_is_refused(wrong):
    problem = problem_of(2, 1)
    with pytest.raises(ValueError, match="X must"):
        lattice_picture(problem, wrong)
    with pytest.raises(ValueError, match="X must"):
        lattice_picture(problem, [[0, 0]], visited=wrong)


# --- convergence --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def histories():
    problem = LatticeProblem(invented(1), [K, GLM])
    operators = {"sampling": LatticeSampling(), "crossover": LevelCrossover(), "mutation": SingleStepMutation()}
    searches = {"PBG-EA": PBGEA(pop_size=8), "NSGA-II": NSGA2(pop_size=8, **operators)}
    found = {
        name: minimize(problem, algorithm, ("n_gen", 6), seed=1, save_history=True).history
        for name, algorithm in searches.items()
    }
    return problem, found


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


def test_any_indicator_of_pymoo_serves(histories):
    _, found = histories
    worst = [0, 10_000]
    picture = convergence_picture(found, HV(np.array(worst)), "hypervolume")
    assert all((curve[:, 1] > 0).all() for curve in picture.curves.values())


def test_generations_without_a_feasible_point_are_left_out():
    # A bound that is missed by more or less, so that a search from the top finds its way.
    problem = LatticeProblem(invented(1), [K, GLM], constraints=[GLM <= 60])
    start = problem.nodes(problem.n_nodes - 8, problem.n_nodes)
    history = minimize(
        problem,
        NSGA2(pop_size=8, sampling=start, crossover=LevelCrossover(), mutation=SingleStepMutation()),
        ("n_gen", 25),
        seed=1,
        save_history=True,
    ).history
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


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_indicator_has_to_give_numbers(histories, value):
    with pytest.raises(ValueError, match=rf"indicator must give finite numbers, got {value} after 8 evaluations"):
        convergence_picture(histories[1], lambda F: value, "nothing")


def test_no_history_is_refused():
    with pytest.raises(ValueError, match="histories must name at least one search, got none"):
        convergence_picture({}, len, "members")
    with pytest.raises(ValueError, match=r"histories\['one'\] must hold an algorithm with a feasible point, got 0 "):
        convergence_picture({"one": []}, len, "members")
