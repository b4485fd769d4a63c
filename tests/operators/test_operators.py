"""Operators: distribution of draws, whole levels, and use by any algorithm."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymoo.core.crossover import Crossover
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.optimize import minimize
from tasks import nsga2

from pymoo_anon.datasets import make_census
from pymoo_anon.fronts.archive import dominance_fitness
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.operators import *
from pymoo_anon.problems import BitStringProblem, LatticeProblem


def box(lengths):
    return Problem(n_var=len(lengths), n_obj=2, xl=0, xu=np.array(lengths, dtype=float), vtype=int)


lattices = st.lists(st.integers(0, 6), min_size=1, max_size=8)
small_lattices = st.lists(st.integers(0, 4), min_size=1, max_size=4)
seeds = st.integers(0, 2**32 - 1)


@given(lattices, st.integers(1, 30), seeds)
def test_sampling_holds_both_ends_and_stays_inside(lengths, n, seed):
    X = LatticeSampling().do(box(lengths), n, random_state=np.random.default_rng(seed)).get("X")
    assert X.shape == (n, len(lengths))
    assert np.issubdtype(X.dtype, np.integer)
    assert X[0].tolist() == lengths
    assert n == 1 or X[1].tolist() == [0] * len(lengths)
    assert (X >= 0).all()
    assert (lengths >= X).all()


def test_sampling_draws_every_level_alike():
    X = LatticeSampling().do(box([3, 1]), 40_000, random_state=np.random.default_rng(0)).get("X")
    assert np.allclose(np.bincount(X[:, 0]) / len(X), 1 / 4, atol=0.01)
    assert np.allclose(np.bincount(X[:, 1]) / len(X), 1 / 2, atol=0.01)


@given(lattices, st.integers(1, 20), seeds)
def test_crossover_swaps_all_that_follows_one_point(lengths, n, seed):
    rng = np.random.default_rng(seed)
    n_var = len(lengths)
    X = rng.integers(0, np.array(lengths) + 1, size=(2, n, n_var))
    X.flags.writeable = False
    children = LevelCrossover()._do(box(lengths), X, random_state=np.random.default_rng(seed))
    assert children.dtype == X.dtype
    for mating in range(n):
        (a, b), (c, d) = X[:, mating], children[:, mating]
        possible = [np.r_[a[:p], b[p:]].tolist() + np.r_[b[:p], a[p:]].tolist() for p in range(1, n_var)]
        assert np.r_[c, d].tolist() in (possible or [np.r_[a, b].tolist()])


def test_every_crossover_point_is_as_likely():
    X = np.stack([np.zeros((30_000, 5), int), np.ones((30_000, 5), int)])
    children = LevelCrossover()._do(box([1] * 5), X, random_state=np.random.default_rng(0))
    points = 5 - children[0].sum(axis=1)
    assert np.allclose(np.bincount(points, minlength=5) / 30_000, [0, 0.25, 0.25, 0.25, 0.25], atol=0.01)


@given(lattices, st.integers(1, 20), seeds)
def test_mutation_is_a_single_step_inside_the_lattice(lengths, n, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, np.array(lengths) + 1, size=(n, len(lengths)))
    X.flags.writeable = False
    mutant = SingleStepMutation(0.7)._do(box(lengths), X, random_state=rng)
    assert mutant.dtype == X.dtype
    assert (np.abs(mutant - X) <= 1).all()
    assert (mutant >= 0).all()
    assert (mutant <= lengths).all()


def test_mutation_happens_with_its_probability_up_and_down_alike():
    X = np.full((50_000, 4), 3)
    mutant = SingleStepMutation()._do(box([6] * 4), X, random_state=np.random.default_rng(0))
    assert np.allclose([np.mean(mutant == 2), np.mean(mutant == 4)], 1 / 8, atol=0.01)
    # Cut off at the ends: half of the steps there lead nowhere.
    mutant = SingleStepMutation()._do(box([6] * 4), np.zeros_like(X), random_state=np.random.default_rng(0))
    assert np.mean(mutant == 1) == pytest.approx(1 / 8, abs=0.01)
    assert np.mean(mutant == 0) == pytest.approx(7 / 8, abs=0.01)


def test_tournaments_prefer_the_lower_fitness():
    F = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    assert dominance_fitness(F).tolist() == [0, 3, 5, 6]
    pop = Population.new(X=np.arange(4)[:, None], F=F)
    parents = DominanceCountTournament().do(None, pop, 20_000, 2, random_state=np.random.default_rng(0))
    assert parents.shape == (20_000, 2)
    share = np.bincount([one.X[0] for one in parents.ravel()]) / 40_000
    # Of two draws from four, the best wins with 1 - (3/4)², the next with (3/4)² - (2/4)², ...
    assert np.allclose(share, [7 / 16, 5 / 16, 3 / 16, 1 / 16], atol=0.01)


def lattice():
    return LatticeProblem(make_census(300), [KAnonymity(), GeneralLossMetric()], suppression=0.05)


def strings():
    return BitStringProblem(make_census(300), [KAnonymity(), GeneralLossMetric()])


def test_the_tournament_and_whole_floats_serve_other_algorithms():
    problem = lattice()
    X = LatticeSampling().do(problem, 12, random_state=np.random.default_rng(0)).get("X").astype(float)
    algorithm = nsga2(12, sampling=X, selection=DominanceCountTournament())
    res = minimize(problem, algorithm, ("n_gen", 5), seed=1)
    assert np.array_equal(problem.evaluate(res.X), res.F)


def test_surrogates_serve_any_variables():
    own = lattice()
    X = np.random.default_rng(0).integers(0, own.highest + 1, size=(2, 3, own.n_var))
    children = ReducedSurrogateCrossover()._do(own, X, random_state=np.random.default_rng(0))
    assert children.dtype == int
    assert np.array_equal(np.sort(children, axis=0), np.sort(X, axis=0))


def test_problems_that_do_not_say_what_their_variables_are_have_levels():
    own = Problem(n_var=4, xl=0, xu=2)
    assert own.vtype is None
    X = LatticeSampling().do(own, 5, random_state=np.random.default_rng(0)).get("X")
    assert X.dtype == int
    assert X[:2].tolist() == [[2] * 4, [0] * 4]


def test_of_a_string_and_an_immigrant_the_first_child_is_taken():
    class Parents(Crossover):
        def _do(self, problem, X, **kwargs):
            return X

    own = strings()
    X = ~np.eye(3, own.n_var, dtype=bool)
    stays = RandomImmigrantMutation(1.0, Parents(2, 2))._do(own, X, random_state=np.random.default_rng(0))
    assert stays.tolist() == X.tolist()


@given(small_lattices, st.integers(1, 30), seeds)
def test_corners_come_first_and_once(lengths, n, seed):
    X = CornerSampling().do(box(lengths), n, random_state=np.random.default_rng(seed)).get("X")
    low = [0] * len(lengths)
    expected = [lengths, low]
    for j in range(len(lengths)):
        expected.append([0 if i == j else length for i, length in enumerate(lengths)])
        expected.append([length if i == j else 0 for i, length in enumerate(lengths)])
    corners = [list(corner) for corner in dict.fromkeys(map(tuple, expected))][:n]
    assert X.dtype == np.int64
    assert X.shape == (n, len(lengths))
    assert X[: len(corners)].tolist() == corners
    assert ((X >= 0) & (lengths >= X)).all()


@given(small_lattices, st.data())
def test_neighbors_are_the_nodes_at_a_distance(lengths, data):
    x = data.draw(st.tuples(*(st.integers(0, length) for length in lengths)))
    every = list(product(*(range(length + 1) for length in lengths)))
    for distance in (1, 2, 3):
        X = LevelNeighborhood(reach=3).do(box(lengths), np.array(x), distance)
        expected = [y for y in every if sum(abs(a - b) for a, b in zip(x, y, strict=True)) == distance]
        assert sorted(map(tuple, X.tolist())) == expected
        assert X.dtype == np.int64
