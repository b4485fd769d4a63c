"""Constraints: infeasible points, exact fronts, branch and bound, and ARX's rule of suppression."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymoo.core.evaluator import Evaluator
from pymoo.core.population import Population
from pymoo.optimize import minimize
from strategies import more, nodes, tables, times
from tasks import Task, constraint_of, found, invented, minimal, nsga2, sorted_rows, tasks, values_of

from pymoo_anon.algorithms import PBGEA, BranchAndBound, ExhaustiveSearch
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import *
from pymoo_anon.problems import BitStringProblem, LatticeProblem
from pymoo_anon.table import Hierarchy, Microdata, Violating

pytestmark = pytest.mark.filterwarnings("ignore:the hierarchies of .* do not end in one group")


CENSUS = make_census(300, seed=5)


@given(tasks())
def test_G_is_how_far_each_bound_is_missed(task):
    problem = task.problem
    assert problem.n_ieq_constr == len(task.limits)
    X = problem.nodes(0, problem.n_nodes)
    F, G = problem.evaluate(X, return_values_of=["F", "G"])
    np.testing.assert_array_equal(F, task.F)
    np.testing.assert_array_equal(G, task.G)
    pop = Evaluator().eval(problem, Population.new(X=X))
    np.testing.assert_array_equal(pop.get("FEAS")[:, 0], (task.G <= 0).all(axis=1))


def test_what_looks_alike_is_not_mixed_up():
    """Distinguish two hierarchies of the same shape, and two populations."""
    table = invented(0)
    distances = [Hierarchy([list("abcd"), list(halves), list("****")]) for halves in ("xxyy", "xyyx")]
    populations_ = [
        Microdata.from_frame(pd.DataFrame(rows, columns=list(table.quasi_identifiers)), table.quasi_identifiers)
        for rows in (table.tuples.codes, (table.tuples.codes + 1) % 16)
    ]
    for one, other in ([TCloseness("s0", own) for own in distances], [KMap(own) for own in populations_]):
        assert not np.array_equal(values_of(table, [one]), values_of(table, [other]))
        problem = LatticeProblem(table, [one], constraints=[other >= 0.2])
        G = problem.evaluate(problem.nodes(0, problem.n_nodes), return_values_of=["G"])
        np.testing.assert_array_equal(G, 0.2 - values_of(table, [other]))
        both = values_of(table, [one, other])
        np.testing.assert_array_equal(both, np.column_stack([values_of(table, [one]), values_of(table, [other])]))


# NSGA-II's crowding distance subtracts infinities.
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning:pymoo")
@pytest.mark.parametrize(
    "algorithm",
    [nsga2(25), PBGEA(), ExhaustiveSearch(), BranchAndBound()],
    ids=lambda algorithm: type(algorithm).__name__,
)
def test_infinite_values_disturb_no_search(algorithm):
    table = invented(1)
    objectives = [EnhancedBetaLikeness("s0"), GeneralLossMetric(), KAnonymity()]
    problem = LatticeProblem(table, objectives, suppression=3)
    front = Task(table, objectives, [], 3).front
    assert 1 < np.isinf(front[:, 0]).sum() < len(front)
    res = minimize(problem, algorithm, ("n_gen", 200), seed=1)
    np.testing.assert_array_equal(minimal(res.F), np.unique(res.F, axis=0))
    if isinstance(algorithm, ExhaustiveSearch | BranchAndBound):
        np.testing.assert_array_equal(sorted_rows(res.F), front)
    else:
        assert len({tuple(f) for f in front} & {tuple(f) for f in res.F}) > len(front) / 2


def test_whole_numbers_that_no_int64_holds_are_bounds():
    assert not (KAnonymity() >= 10**26).keeps(np.array([5.0]))[0]
    assert (KAnonymity() <= 10**26).violation(np.array([5.0]))[0] < 0


def test_constraints_are_equal_where_objectives_and_bounds_are():
    assert (KAnonymity() >= np.int64(5)) == (KAnonymity() >= 5)
    assert repr(TCloseness("s0") <= np.float64(0.5)) == "TCloseness('s0') <= 0.5"
    assert (TCloseness("s0") <= 0.5) != (TCloseness("s0", "ordered") <= 0.5)
    assert len({KAnonymity() >= 5, KAnonymity() >= 5, KAnonymity() <= 5}) == 2


class Share(Objective):
    """A custom objective with an argument: tuples in large classes."""

    name = "share"
    maximize = True

    def __init__(self, size):
        self.size = size

    def evaluate_one(self, classes):
        return classes.sizes[classes.sizes >= self.size].sum() / classes.n_rows


def test_objectives_of_ones_own_are_told_apart_by_their_arguments():
    own = LatticeProblem(CENSUS, [Share(2), Share(3)], constraints=[Share(8) >= 0.9, Share(2) <= 1])
    assert [measure.size for measure in own.measured] == [2, 3, 8]
    X = own.nodes(0, 50)
    values = np.column_stack([LatticeProblem(CENSUS, [Share(size)]).compute(X) for size in (2, 3, 8)])
    F, G = own.evaluate(X, return_values_of=["F", "G"])
    np.testing.assert_array_equal(F, values[:, :2])
    np.testing.assert_array_equal(G, np.column_stack([0.9 + values[:, 2], -values[:, 0] - 1]))
    names = list(own.to_frame(minimize(own, PBGEA(), ("n_gen", 3), seed=1)))[-5:-2]
    assert names == ["Share() 1", "Share() 2", "Share() 3"]


def test_what_only_infeasible_nodes_reach_is_not_shown(capsys):
    own = LatticeProblem(CENSUS, [KAnonymity(), GeneralLossMetric()], 0.02, [KAnonymity() >= 301])
    minimize(own, PBGEA(), ("n_gen", 2), seed=1, verbose=True)
    assert capsys.readouterr().out.splitlines()[-1].split(" | ")[-1].strip() == "-"


#: A constraint of every kind that speaks of single classes, at a bound that some classes of random tables miss.
KINDS_OF_CLASSES = (
    (KAnonymity(), 3),
    (DistinctLDiversity("s0"), 2),
    (EntropyLDiversity("s0"), 1.9),
    (RecursiveCLDiversity("s0", 2), 2),
    (ProsecutorRisk(), 0.4),
    (AlphaDeassociation("s0"), 0.6),
    (TCloseness("s0"), 0.3),
    (BasicBetaLikeness("s0"), 0.7),
    (EnhancedBetaLikeness("s0"), 0.7),
    (DeltaDisclosure("s0"), 0.8),
    (KAnonymity(person="s1"), 2),
)


@pytest.mark.parametrize(("measure", "bound"), KINDS_OF_CLASSES, ids=str)
def test_the_certified_front_is_exact_for_every_kind_of_constraint(measure, bound):
    pruned = 0
    for seed in range(times(4)):
        task = Task(
            invented(seed),
            [GeneralLossMetric(), *([DistinctLDiversity("s0")] if seed % 2 else [ClassificationMetric("s1")])],
            [(measure, measure.maximize, bound)],
            [0, 3, 12][seed % 3],
            violating=True,
        )
        res = minimize(task.problem, BranchAndBound(), seed=seed)
        np.testing.assert_array_equal(found(res, task.problem), task.front)
        pruned += res.algorithm.n_pruned
    # Where nothing is bounded, members prune projections, which come first.
    assert pruned > 0 or measure.bounding is None


#: Those that state what is surely suppressed, also by adversaries who know few columns.
SURE = [(measure, bound) for measure, bound in KINDS_OF_CLASSES if measure.bounding is not None]
SURE += [(KAnonymity(known=any_of(2)), 3), (KAnonymity("s1", known=any_of(1)), 2)]
SURE += [(DistinctLDiversity("s0", known=any_of(1)), 2)]


@more(5)
@given(data=st.data(), table=tables())
def test_suppression_only_grows_where_parts_of_a_class_are_no_better(data, table):
    """Require exact sure suppression for k and l, at least for others."""
    top = data.draw(nodes(table))
    below = tuple(data.draw(st.integers(0, level)) for level in top)
    measure, bound = data.draw(st.sampled_from(SURE))
    constraint = constraint_of(measure, bound)
    general, special = (
        table.microdata.equivalence_classes(table.generalization(node), Violating(0.5), [constraint])
        for node in (top, below)
    )
    sure = measure.bounding(measure).surely_suppressed(general, constraint)
    lost = np.zeros(len(general.sizes), dtype=np.int64)
    np.add.at(lost, general.class_of[0], np.where(special.kept[special.class_of[0]], 0, table.microdata.tuples.counts))
    assert (lost >= sure).all()
    if measure.name.partition(" (")[0] in ("k", "l", "k in persons", "prosecutor risk"):
        assert (sure == np.where(general.kept, 0, general.sizes)).all()
        assert special.n_suppressed[0] >= general.n_suppressed[0]


@pytest.mark.parametrize(
    ("table", "constraints"),
    [
        (make_census(500, seed=3), [KAnonymity() >= 4, DistinctLDiversity("occupation") >= 3]),
        (invented(1), [KAnonymity(known=[["q0", "q1"], ["q2", "q3"]]) >= 3]),
    ],
    ids=["everything is known", "two adversaries"],
)
def test_bit_strings_and_lattices_agree(table, constraints):
    goals = [GeneralLossMetric(), NormalizedWeightedPenalty()]
    bits, levels = (space(table, goals, Violating(0.2), constraints) for space in (BitStringProblem, LatticeProblem))
    for x, node in ((np.ones(bits.n_var, bool), levels.xl), (np.zeros(bits.n_var, bool), levels.xu)):
        for name in ("F", "G"):
            np.testing.assert_array_equal(
                bits.evaluate(x[np.newaxis], return_values_of=[name]),
                levels.evaluate(node[np.newaxis], return_values_of=[name]),
            )
    X = bits.sample(30, np.random.default_rng(0))
    G = bits.evaluate(X, return_values_of=["G"])
    limit = bits.suppression.limit_of(table.n_rows)
    assert (G[:, -1] + limit == [bits.equivalence_classes(x).n_suppressed[0] for x in X]).all()
