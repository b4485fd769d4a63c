"""Wishes by attribute: levels for searches, proofs and operators, weights by name."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymoo.core.termination import NoTermination
from pymoo.optimize import minimize
from tasks import BOUNDED, found, minimal, nsga2, tasks

from pymoo_anon.algorithms import BranchAndBound, Datafly, ExhaustiveSearch, ParetoLocalSearch, SamaratiSearch
from pymoo_anon.datasets.adult import census_rows, make_census
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity, NormalizedWeightedPenalty
from pymoo_anon.operators import CornerSampling, LatticeSampling, SingleStepMutation
from pymoo_anon.problems import BitStringProblem, LatticeProblem, LocalRecodingProblem
from pymoo_anon.problems.arguments import safe_repr
from pymoo_anon.problems.journal import fingerprint
from pymoo_anon.problems.refining import refine
from pymoo_anon.proofs.stored import MeasureRules
from pymoo_anon.publishing import release
from pymoo_anon.table import Violating
from pymoo_anon.visualization.fronts import lattice_picture

pytestmark = pytest.mark.filterwarnings("ignore:the hierarchies of .* do not end in one group")

CENSUS = make_census(300, seed=1)
NAMES = list(CENSUS.quasi_identifiers)


def census(levels, objectives=(), constraints=()):
    goals = [*objectives] or [KAnonymity(), GeneralLossMetric()]
    return LatticeProblem(CENSUS, goals, 0.05 if not constraints else Violating(0.05), constraints, levels=levels)


@st.composite
def narrowed(draw, **kind):
    """Draw a task, levels of some columns, and the front within them."""
    task = draw(tasks(**kind))
    names = task.table.quasi_identifiers
    ranges = {name: st.tuples(*[st.integers(0, own.length)] * 2).map(sorted) for name, own in names.items()}
    levels = draw(st.fixed_dictionaries({}, optional=ranges))
    full = task.problem
    nodes = full.nodes(0, full.n_nodes)
    inside = np.ones(len(nodes), dtype=bool)
    for j, name in enumerate(names):
        least, most = levels.get(name, (0, names[name].length))
        inside &= (nodes[:, j] >= least) & (nodes[:, j] <= most)
    if task.limits:
        inside &= (task.G <= 0).all(axis=1)
    return LatticeProblem(task.table, full.objectives, task.rule, full.constraints, levels=levels), minimal(
        task.F[inside]
    )


SEARCHES = {
    "stored": lambda: BranchAndBound(),
    "boxes": lambda: BranchAndBound(max_bytes=1),
    "exhaustive": lambda: ExhaustiveSearch(batch_size=7),
}


@given(narrowed(of=BOUNDED) | narrowed(of=BOUNDED, violating=True) | narrowed(of=BOUNDED, below=True))
def test_every_front_is_that_of_the_nodes_which_keep_to_levels(task):
    problem, exact = task
    np.testing.assert_array_equal(problem.pareto_front(), exact)
    for name, make in SEARCHES.items():
        own = problem.fresh_copy()
        res = minimize(own, make(), seed=1)
        assert res.algorithm.certified, name
        np.testing.assert_array_equal(found(res, own), exact, err_msg=name)
        own.checked(np.reshape([] if res.X is None else res.X, (-1, own.n_var)))
    # Local search proves nothing, and evaluates no other nodes.
    minimize(problem, ParetoLocalSearch(3, termination=NoTermination()), seed=1)
    assert problem.n_unique <= problem.n_nodes


LEVELS = {"age": (2, 4), "sex": (1, 1), "race": (0, 1)}


@pytest.mark.parametrize("sampling", [LatticeSampling(), CornerSampling()])
def test_operators_keep_to_levels(sampling):
    problem = census(LEVELS)
    algorithm = nsga2(12, sampling=sampling, mutation=SingleStepMutation(prob_var=0.9))
    # A level outside is refused where it is evaluated.
    assert len(minimize(problem, algorithm, ("n_gen", 8), seed=2).X)


def test_heuristics_and_pictures_keep_to_levels():
    problem = census(LEVELS, [GeneralLossMetric()], [KAnonymity() >= 5])
    nodes = problem.nodes(0, problem.n_nodes)
    heights = nodes[(problem.evaluate(nodes, return_values_of=["G"]) <= 0).all(axis=1)].sum(axis=1)
    for algorithm in (Datafly(), SamaratiSearch()):
        res = minimize(problem, algorithm)
        assert problem.checked(np.atleast_2d(res.X)).sum(axis=1).min() >= heights.min()
    assert np.atleast_2d(res.X)[0].sum() == heights.min()
    picture = lattice_picture(problem, res.X, nodes)
    assert picture.visited == picture.counts
    assert sum(picture.front) == 1


def test_greatest_levels_are_kept_by_a_refinement():
    """Let suppressed rows come back only at levels that columns may have."""
    for levels, n_suppressed in (({"age": (0, 3)}, 9), ({}, 0)):
        made = refine(census(levels), [1, 2, 3, 3, 1, 1, 3, 1])
        assert CENSUS.equivalence_classes(made).n_suppressed.tolist() == [n_suppressed]
    assert CENSUS.quasi_identifiers["age"].nodes.level[made.cells[:, NAMES.index("age")]].max() > 3


def test_a_journal_tells_levels_apart():
    assert fingerprint(census({}), {}) == fingerprint(LatticeProblem(CENSUS, census({}).objectives, 0.05), {})
    assert len({fingerprint(census(levels), {}) for levels in ({}, {"age": (0, 2)}, {"age": (1, 2)})}) == 3


def test_floors_of_steps_are_those_of_levels():
    problem = census(LEVELS)
    measures = MeasureRules(problem)
    X = problem.nodes(0, problem.n_nodes)
    steps, terms = X - problem.lowest, measures.rules.terms
    np.testing.assert_array_equal(measures.levels(steps @ measures.rules.strides), X)
    floors = terms[0, np.arange(problem.n_var), steps].sum(axis=1)
    np.testing.assert_allclose(floors, measures.floors(X)[:, 1])


# --- weights by name ----------------------------------------------------------------------------------------------

TWO = {"age": 3, "race": 0.5}
LISTED = [TWO.get(name, 1) for name in NAMES]
SHARES = {name: weight / sum(LISTED) for name, weight in zip(NAMES, LISTED, strict=True)}


@pytest.mark.parametrize(
    ("named", "listed"),
    [
        (GeneralLossMetric(TWO), GeneralLossMetric(LISTED)),
        (NormalizedWeightedPenalty(SHARES), NormalizedWeightedPenalty(list(SHARES.values()))),
    ],
    ids=["GLM", "NWP"],
)
def test_weights_by_name_are_those_in_order(named, listed):
    problem, other = census({}, [KAnonymity(), named]), census({}, [KAnonymity(), listed])
    X = problem.nodes(0, problem.n_nodes)[::97]
    np.testing.assert_array_equal(problem.evaluate(X), other.evaluate(X))
    for bytes_ in (2 << 30, 1):
        found = [minimize(one, BranchAndBound(max_bytes=bytes_), seed=1).F for one in (problem, other)]
        np.testing.assert_array_equal(*found)
    strings = [BitStringProblem(CENSUS, [own]) for own in (named, listed)]
    every = strings[0].sample(5, np.random.default_rng(0))
    np.testing.assert_array_equal(*(one.evaluate(every) for one in strings))
    local = [LocalRecodingProblem(CENSUS, [KAnonymity(), own]) for own in (named, listed)]
    np.testing.assert_array_equal(*(one.evaluate(one.x_of(5)[np.newaxis]) for one in local))
    classes = problem.equivalence_classes(X[3])
    recounts = [own.class_gains(classes.tuples, [np.array([[0, 1]])] * len(NAMES)) for own in (named, listed)]
    assert recounts[0].most == recounts[1].most
    assert named != listed
    assert named == eval(repr(named))
    assert safe_repr(named).startswith(f"{type(named).__name__}(weights={{'age': ")


def test_a_release_counts_weights_by_name_again():
    frame = pd.concat(census_rows(300, seed=1))
    problem = census({}, [KAnonymity(), GeneralLossMetric(TWO)], [KAnonymity() >= 3])
    made = release(frame, problem, problem.pareto_set()[0])
    (claim,) = made.claims[made.claims.measure == "GLM"].to_dict("records")
    assert claim["holds"]
    assert claim["recounted"] == pytest.approx(claim["promised"])
