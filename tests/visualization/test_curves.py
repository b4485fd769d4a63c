"""Pictures of property vectors and of convergence: their data, and that drawing works."""

import os

import numpy as np
import pytest
from hypothesis import given
from pymoo.optimize import minimize
from tasks import invented, nsga2
from vectors import REAL, SIZES, groups, measured, table_of

from benchmarks.papers import dewri2009_tables as paper
from pymoo_anon.algorithms import PBGEA
from pymoo_anon.comparison import BreachProbability, ClassSize, PropertyVector, TupleLoss
from pymoo_anon.fronts import RepresentationRatio
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.visualization import plot_convergence, plot_quantiles, plot_tuples
from pymoo_anon.visualization.curves import convergence_picture, quantile_picture, tuple_picture


def vectors_of(prop):
    return {name: measured(prop, name) for name in paper.GENERALIZATIONS}


NAMES = np.empty(10, dtype=int)
NAMES[paper.ROWS] = np.arange(1, 11)


def test_figure_1_of_the_paper():
    picture = tuple_picture(SIZES, NAMES)
    assert picture.ticks == tuple(map(str, range(1, 11)))
    assert {name: points[:, 1].tolist() for name, points in picture.curves.items()} == {
        "T3a": [3, 3, 3, 3, 4, 4, 4, 3, 3, 4],
        "T3b": [3, 7, 7, 3, 7, 7, 7, 3, 7, 7],
        "T4": [4, 6, 4, 4, 6, 6, 6, 4, 6, 6],
    }
    assert picture.curves["T4"][:, 0].tolist() == list(range(1, 11))
    assert (picture.label, picture.log, picture.whole) == ("class size (higher is better)", False, True)


def test_tuples_without_names_are_numbered():
    picture = tuple_picture({0: PropertyVector([5, 7], table_of([2, 1]), "x", True)})
    assert picture.ticks == ("1", "2", "3")
    assert picture.curves["0"].tolist() == [[1, 5], [2, 5], [3, 7]]


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
def test_plots(draw, prop, n, tmp_path):
    vectors = list(vectors_of(prop).values())
    figure = draw({f"release {i}": vectors[i % 3] for i in range(n)}, tmp_path / "picture.png")
    (ax,) = figure.axes
    assert ax.get_ylabel() == tuple_picture({"a": vectors[0]}).label
    named = [text.get_text() for text in ax.get_legend().get_texts()] if n > 1 else [ax.get_title()]
    assert named == [f"release {i}" for i in range(n)]
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert os.listdir(tmp_path) == ["picture.png"]


def test_two_hundred_tuples_are_drawn_one_by_one():
    assert len(tuple_picture({"a": PropertyVector([1], table_of([200]), "x", True)}).ticks) == 200


@pytest.mark.parametrize("draw", [plot_tuples, plot_quantiles])
def test_names_are_drawn_as_they_stand(draw, tmp_path):
    names = ["$a$", "_hidden", "one\ntwo"]
    figure = draw(dict(zip(names, SIZES.values(), strict=True)), tmp_path / "picture.png")
    (ax,) = figure.axes
    texts = [text._preprocess_math(text.get_text()) for text in ax.get_legend().get_texts()]
    assert texts == [("$a$", False), ("_hidden", False), ("one\\ntwo", False)]
    # A legend shows the marks of its names.
    assert [line.get_color() for line in ax.get_legend().get_lines()] == [line.get_color() for line in ax.lines]
    (ax,) = draw({"$a$": SIZES["T4"]}).axes
    assert ax.title._preprocess_math(ax.get_title()) == ("$a$", False)
    label = PropertyVector([5, 7], table_of([2, 1]), "$x$", True)
    more = {"names": ["$1$", "$2$", "a\nb"]} if draw is plot_tuples else {}
    (ax,) = draw({"a": label}, **more).axes
    assert ax.yaxis.label._preprocess_math(ax.get_ylabel()) == ("$x$ (higher is better)", False)
    texts = [text._preprocess_math(text.get_text()) for text in ax.get_xticklabels()]
    assert not more or texts == [("$1$", False), ("$2$", False), ("a\\nb", False)]


K, GLM = KAnonymity(), GeneralLossMetric()


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


def test_wrong_indicators_are_refused(histories):
    for value in (np.nan, np.inf):
        text = rf"^indicator must give finite numbers, got {value} after 8 evaluations"
        with pytest.raises(ValueError, match=text):
            convergence_picture(histories[1], lambda F, value=value: value, "nothing")
