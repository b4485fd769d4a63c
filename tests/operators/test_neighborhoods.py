"""Starts and steps of local search, and the evaluated points on record."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymoo.core.problem import Problem
from pymoo.problems import get_problem

from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.operators import CornerSampling, LevelNeighborhood
from pymoo_anon.problems import BitStringProblem, LatticeProblem

CENSUS = make_census(300, seed=5)
lattices = st.lists(st.integers(0, 4), min_size=1, max_size=4)


def box(lengths):
    return Problem(n_var=len(lengths), n_obj=2, xl=0, xu=np.array(lengths, dtype=float), vtype=int)


@given(lattices, st.integers(1, 30), st.integers(0, 9))
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


@given(lattices, st.data())
def test_neighbors_are_the_nodes_at_a_distance(lengths, data):
    x = data.draw(st.tuples(*(st.integers(0, length) for length in lengths)))
    every = list(product(*(range(length + 1) for length in lengths)))
    for distance in (1, 2, 3):
        X = LevelNeighborhood(reach=3).do(box(lengths), np.array(x), distance)
        expected = [y for y in every if sum(abs(a - b) for a, b in zip(x, y, strict=True)) == distance]
        assert sorted(map(tuple, X.tolist())) == expected
        assert X.dtype == np.int64


@pytest.mark.parametrize("reach", [0, -1, 1.5, None, "2", True])
def test_reach_is_a_whole_number(reach):
    with pytest.raises(ValueError) as caught:
        LevelNeighborhood(reach)
    assert str(caught.value) == f"reach must be a positive whole number, got {reach!r}"


def test_both_are_of_levels():
    strings = BitStringProblem(CENSUS, [KAnonymity()])
    for own in (strings, get_problem("zdt1")):
        for operate in (
            lambda: CornerSampling().do(own, 3, random_state=np.random.default_rng(0)),  # noqa: B023
            lambda: LevelNeighborhood().do(own, np.zeros(own.n_var, dtype=int), 1),  # noqa: B023
        ):
            with pytest.raises(TypeError, match=r"^problem must have whole numbers as variables"):
                operate()


@pytest.mark.parametrize("n_threads", [1, 3])
def test_classes_of_points_that_are_evaluated_together_are_those_of_each(n_threads):
    own = LatticeProblem(CENSUS, [KAnonymity(), DistinctLDiversity("occupation"), GeneralLossMetric()], suppression=3)
    own.n_threads = n_threads
    X = np.unique(np.random.default_rng(0).integers(0, own.lengths + 1, size=(60, 8)), axis=0)

    def lesson(classes):
        assert len(classes) == 1
        counts = classes.columns["occupation"]
        return sorted(classes.sizes.tolist()), int(classes.n_suppressed[0]), int(np.diff(counts.starts).sum())

    # Some of them are remembered from before.
    own.evaluate(X[:7])
    lessons = own.measure_with_bounds(X, partial(map, lesson))[1]
    assert own.n_unique == len(X)
    single = LatticeProblem(CENSUS, own.objectives, suppression=3)
    assert lessons == [lesson(single.equivalence_classes(x)) for x in X]
    assert np.array_equal(own.evaluate(X), single.compute(X))
    # Nothing is measured again, and nothing remembered twice.
    own.measure_with_bounds(X[::-1], partial(map, lesson))
    assert own.n_unique == len(X)
