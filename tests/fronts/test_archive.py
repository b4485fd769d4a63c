"""The box archive with Algorithm 1, its two theorems and runs in pymoo, and CE and RR of section 7."""

import copy
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from moocore import is_nondominated
from plain import dominates, updated
from pymoo.algorithms.moo.moead import MOEAD
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.core.evaluator import Evaluator
from pymoo.core.individual import Individual
from pymoo.core.population import Population
from pymoo.optimize import minimize
from pymoo.problems import get_problem
from pymoo.util.ref_dirs import get_reference_directions

from pymoo_anon.fronts import BoxArchive, ConvergenceMetric, RepresentationRatio
from pymoo_anon.fronts.archive import boxes, dominance_fitness, evaluated, merge_front


@st.composite
def offers(draw):
    """Draw integer points, a grid, and places to cut batches.

    A maximised objective holds the negative of a value that is not negative, as those of problems do.
    """
    n_obj = draw(st.integers(1, 4))
    rows = draw(st.lists(st.lists(st.integers(-12, 12), min_size=n_obj, max_size=n_obj), min_size=1, max_size=40))
    epsilon = draw(st.lists(st.sampled_from([0.5, 1.0, 2.0, 3.0, 7.0]), min_size=n_obj, max_size=n_obj))
    maximize = draw(st.lists(st.booleans(), min_size=n_obj, max_size=n_obj))
    cuts = sorted(draw(st.lists(st.integers(0, len(rows)), max_size=3)))
    return np.array(rows, dtype=float), (np.array(epsilon), np.array(maximize)), cuts


def population(F, **more):
    F = np.asarray(F, dtype=float)
    return Population.new(X=np.arange(len(F))[:, None], F=F, **more)


def natural_boxes(F, epsilon, maximize):
    """Compute the paper's boxes on natural values, lower being better."""
    return [
        [-(-f // e) if up else f // e for f, e, up in zip(row, epsilon, maximize, strict=True)] for row in F.tolist()
    ]


def algorithm_1(F, epsilon, maximize):
    """Return F's archived rows by Algorithm 1 of Dewri et al. 2010."""
    archive, B = [], natural_boxes(F, epsilon, maximize)
    for row in range(len(F)):
        archive = updated(archive, row, F.__getitem__, B.__getitem__)
    return archive


@given(offers())
def test_boxes_are_those_of_the_natural_values(offer):
    F, grid, _ = offer
    assert boxes(F, *grid).tolist() == natural_boxes(F, *grid)
    minimised = (grid[0], np.zeros(len(grid[0]), dtype=bool))
    assert boxes(F, grid[0]).tolist() == natural_boxes(F, *minimised)
    assert not np.signbit(boxes([[-3.0]], 5, True)).any()


@given(offers())
def test_it_is_algorithm_1_however_the_candidates_are_batched(offer):
    F, grid, cuts = offer
    archive = BoxArchive(*grid)
    for batch in np.split(np.arange(len(F)), cuts):
        archive.add(population(F)[batch])
    assert archive.get("X")[:, 0].tolist() == algorithm_1(F, *grid)
    assert np.array_equal(archive.F, archive.get("F"))


@given(offers(), st.integers(0, 40))
def test_merging_fronts_in_parts_is_filtering_once(offer, cut):
    F = offer[0]
    X = np.arange(len(F))
    front = (X[:0], F[:0])
    for part in (slice(None, cut), slice(cut, None)):
        front = merge_front(*front, X[part], F[part])
    best = is_nondominated(F, keep_weakly=False)
    assert front[0].tolist() == X[best].tolist()
    assert np.array_equal(front[1], F[best])


def test_the_epsilon_survives_copies_pickles_and_add():
    archive = BoxArchive([5, 100], [True, False]).add(population([[-7, 120.0], [-3, 20.0]]))
    for twin in (copy.copy(archive), copy.deepcopy(archive), pickle.loads(pickle.dumps(archive))):
        again = twin.add(population([[-8, 130.0], [-12, 90.0]]))
        assert again is twin
        assert twin.epsilon.tolist() == [5, 100]
        assert twin.maximize.tolist() == [True, False]
        assert twin.F.tolist() == [[-12, 90.0]]
    assert archive.F.tolist() == [[-7, 120.0], [-3, 20.0]]


class Remembering(Evaluator):
    """An evaluator that keeps all given individuals, in their order."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def eval(self, problem, pop, **kwargs):
        self.seen.extend([pop] if isinstance(pop, Individual) else pop)
        return super().eval(problem, pop, **kwargs)


@pytest.mark.parametrize(
    "algorithm",
    [NSGA2(20), MOEAD(get_reference_directions("das-dennis", 2, n_partitions=19))],
    ids=["populations", "single individuals"],
)
def test_it_serves_as_archive_of_any_algorithm(algorithm):
    problem = get_problem("zdt1", n_var=5)
    algorithm.archive, algorithm.evaluator = BoxArchive(0.1), Remembering()
    res = minimize(problem, algorithm, ("n_gen", 12), seed=1)
    assert isinstance(res.archive, BoxArchive)
    expected = BoxArchive(0.1).add(Population(res.algorithm.evaluator.seen))
    assert np.array_equal(res.archive.F, expected.F)
    assert res.archive.get("X").tolist() == expected.get("X").tolist()
    assert np.array_equal(res.archive.F, problem.evaluate(res.archive.get("X")))


def test_members_are_indexed_and_sliced_like_a_population():
    archive = BoxArchive().add(population([[0, 3], [1, 2], [2, 1], [9, 9]]))
    assert len(archive) == 3
    assert [one.X.tolist() for one in archive] == [[0], [1], [2]]
    assert archive[0] is archive.pop[0]
    assert archive[-1].F.tolist() == [2, 1]
    for index in (slice(1, None), [1, 2], np.array([False, True, True])):
        assert isinstance(archive[index], Population)
        assert archive[index].get("F").tolist() == [[1, 2], [2, 1]]
    X, F = archive.get("X", "F")
    assert X.tolist() == [[0], [1], [2]]
    assert F.tolist() == archive.F.tolist()


def test_values_and_population_are_copies():
    archive = BoxArchive().add(population([[0, 3], [1, 2]]))
    archive.F[:] = -99
    archive.pop[0] = None
    assert archive.F.tolist() == [[0, 3], [1, 2]]
    assert archive[0].X.tolist() == [0]
    assert archive.add(population([[0, 2]])).F.tolist() == [[0, 2]]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"G": [[1e-9], [-1.0], [0.0], [np.nan]]}, [1, 2]),
        # A surplus in one constraint makes up for no lack in another.
        ({"G": [[-9.0, 1.0], [0.0, 0.0], [-1.0, -1.0], [1.0, -9.0]]}, [1, 2]),
        # Equality holds within pymoo's tolerance.
        ({"H": [[2e-4], [-1e-4], [1e-4], [-2e-4]]}, [1, 2]),
        ({"G": [[-1.0], [1.0], [0.0], [0.0]], "H": [[1.0], [0.0], [0.0], [0.0]]}, [2, 3]),
        # A violation may come without its constraints.
        ({"CV": [[0.5], [0.0], [-1.0], [1e-9]]}, [1, 2]),
    ],
    ids=str,
)
def test_infeasible_individuals_are_passed_over(given, kept):
    """Pass them over also where a search tolerates them for the time being."""
    F = [[0.0, 0.0], [1.0, 3.0], [2.0, 2.0], [3.0, 1.0]]
    pop = population(F, **{name: np.array(own) for name, own in given.items()})
    for tolerated in (0.0, 5.0):
        for one in pop:
            one.config["cv_eps"] = tolerated
        assert BoxArchive(0.1).add(pop).get("X")[:, 0].tolist() == kept


def test_constraints_may_be_none():
    pop = population([[0.0, 0.0], [1.0, 2.0]])
    for one in pop:
        one.G = one.H = None
    assert BoxArchive().add(pop).F.tolist() == [[0.0, 0.0]]
    assert len(BoxArchive().add(Population())) == 0


def test_a_violation_that_was_asked_for_too_early_does_not_count():
    """Check that a CV which pymoo cached without constraints is ignored."""
    pop = population([[0.0, 0.0], [1.0, 2.0]])
    assert pop.get("CV").tolist() == [[0], [0]]
    for constraint in ("G", "H"):
        pop.set("G", np.empty((2, 0)), "H", np.empty((2, 0)))
        pop.set(constraint, np.array([[1.0], [0.0]]))
        assert BoxArchive().add(pop).F.tolist() == [[1.0, 2.0]]


def test_no_evaluator_computes_known_values_again():
    own = get_problem("bnh")
    X = np.array([[1.0, 2.0], [3.0, 1.0]])
    pop = evaluated(X, *own.evaluate(X))
    evaluator = Evaluator()
    evaluator.eval(own, pop)
    assert evaluator.n_eval == 0
    assert np.array_equal(pop.get("G"), own.evaluate(X)[1])
    evaluator.eval(get_problem("zdt1", n_var=2), evaluated(X, np.zeros((2, 2))))
    assert evaluator.n_eval == 0


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.tuples(*[st.sampled_from([0, 1, 2, 5, np.inf, -np.inf])] * n))))
def test_infinite_values_lose_no_point(rows):
    F = np.array(sorted(set(rows)), dtype=float).reshape(len(set(rows)), -1 if rows else 1)
    X, front = merge_front(np.arange(0)[:, None], F[:0], np.arange(len(F))[:, None], F)
    expected = [i for i in range(len(F)) if not any(dominates(other, F[i]) for other in F)]
    assert X[:, 0].tolist() == expected
    assert np.array_equal(front, F[expected])


points = st.tuples(st.integers(0, 12), st.integers(1, 3)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(-6, 6).map(float))
)


@given(points)
def test_dominance_fitness_sums_the_counts_of_the_dominators(F):
    pairs = [(a, b) for a in range(len(F)) for b in range(len(F)) if dominates(F[a], F[b])]
    dominated_by = Counter(a for a, _ in pairs)
    expected = [sum(dominated_by[a] for a, c in pairs if c == b) for b in range(len(F))]
    assert dominance_fitness(F).tolist() == expected


PF = np.array([[-100.0, 50.0], [-10.0, 20.0], [-2.0, 0.0]])

POINTS = arrays(float, st.tuples(st.integers(1, 8), st.just(3)), elements=st.integers(-20, 20).map(float))


#: Options of CE, and what it divides distances by, where that is not zero.
SCALES = [
    ({}, lambda pf: np.abs(pf).max(axis=0)),
    ({"zero_to_one": True}, lambda pf: np.ptp(pf, axis=0)),
    ({"zero_to_one": True, "ideal": [-200] * 3, "nadir": [200, 200, 600]}, lambda pf: np.array([400, 400, 800])),
]


@given(POINTS, POINTS, st.sampled_from(SCALES))
def test_ce_is_the_mean_distance_to_the_nearest(pf, F, scale):
    options, divisor = scale
    by = divisor(pf)
    near = [min(np.linalg.norm((f - p) / np.where(by == 0, 1, by)) for p in pf) for f in F]
    assert ConvergenceMetric(pf, **options)(F) == pytest.approx(sum(near) / len(near))
    assert ConvergenceMetric(pf, total=True, **options)(F) == pytest.approx(sum(near))
    assert ConvergenceMetric(pf, **options)(pf) == 0


def test_a_single_point_and_an_empty_front():
    assert ConvergenceMetric(PF)(PF[0]) == 0
    assert RepresentationRatio(PF)(PF[0]) == pytest.approx(1 / 3)
    assert ConvergenceMetric(PF[:1])([[-90.0, 50.0]]) == pytest.approx(0.1)
    assert RepresentationRatio(PF[:1])([[-100.5, 50.0]]) == 0
    assert RepresentationRatio(PF)(PF[:0]) == RepresentationRatio(PF)([]) == RepresentationRatio(PF)(None) == 0


@given(POINTS, POINTS, st.sampled_from([1.0, 2.0, 5.0]), st.lists(st.booleans(), min_size=3, max_size=3))
def test_rr_counts_the_occupied_boxes(pf, F, epsilon, maximize):
    def box(f):
        signs = np.where(maximize, -1, 1)
        return tuple(signs * np.floor(signs * f / epsilon))

    marked = np.array(sorted({box(f) for f in pf}))
    marked = {tuple(one) for one in marked[is_nondominated(marked)]}
    ratio = RepresentationRatio(pf, epsilon, maximize)
    assert ratio.boxes == marked
    assert ratio(F) == len(marked & {box(f) for f in F}) / len(marked)
    assert ratio(pf) == 1
