"""Constrained problems with plain comparisons of all nodes, and every objective."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from measures import measures_of
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.optimize import minimize
from strategies import invented_frame, populations, tables

from pymoo_anon.algorithms import BranchAndBound
from pymoo_anon.objectives import *
from pymoo_anon.objectives.bounds import Bounding, Kind
from pymoo_anon.operators import LatticeSampling, LevelCrossover, SingleStepMutation
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.table import AtMost, Below, Hierarchy, Microdata, Violating

#: Operators of levels, for any genetic algorithm of pymoo.
LEVELS = {"sampling": LatticeSampling(), "crossover": LevelCrossover(), "mutation": SingleStepMutation()}


def nsga2(pop_size=10, **options):
    """Return NSGA-II for levels."""
    return NSGA2(pop_size, **{**LEVELS, **options})


KINDS = (
    *measures_of("s0", "s1", "s1"),
    RecordsAtRisk(0.3),
    RecursiveCLDiversity("s0", 2),
    TCloseness("s1", "ordered"),
    TCloseness("s0", Hierarchy([list("abcd"), list("xxyy"), list("****")])),
)
BOUNDED = [objective for objective in KINDS if objective.bounding is not None]


#: Objectives of the searches of Adult.
OF_ADULT = {
    "k, GLM": [KAnonymity(), GeneralLossMetric()],
    "k, l, GLM": [KAnonymity(), DistinctLDiversity("occupation"), GeneralLossMetric()],
    "S_k, GLM": [SquaredClassSizes(), GeneralLossMetric()],
    "S_k, S_l, GLM": [SquaredClassSizes(), SquaredValueCounts("occupation"), GeneralLossMetric()],
    "k, GLM, CM": [KAnonymity(), GeneralLossMetric(), ClassificationMetric("salary-class")],
}


def states(objective, method):
    """Return whether a measure has a bound, by its family or itself."""
    by_itself = getattr(type(objective), method, None) is not getattr(Objective, method, None)
    return by_itself or getattr(objective.bounding, method) is not getattr(Bounding, method, None)


#: Bounds that a proof uses for the families of each kind.
METHODS = {
    Kind.FIXED: ("attribute_floors", "floor_of_generalizations", "best_of_specializations"),
    Kind.ADDITIVE: ("attribute_floors",),
    Kind.THRESHOLD: ("values_of", "reach"),
    Kind.SQUARES: ("most_of_specializations",),
}
STATED = [
    (objective, method)
    for objective in BOUNDED
    for method in METHODS[objective.bounding.kind]
    if states(objective, method)
    # A stored proof reads the floor if there is one.
    and not (objective.bounding.has_floor and method == "best_of_specializations")
]


def sorted_rows(F):
    F = np.asarray(F)
    return F[np.lexsort(F.T[::-1])]


def values_of(table, objectives, **asked):
    """Return the values of every node as an (n_nodes, n) array."""
    problem = LatticeProblem(table, objectives, **asked)
    return problem.natural(problem.compute(problem.nodes(0, problem.n_nodes)))


def minimal(F):
    """Return the distinct nondominated points in order, by comparing all pairs."""
    distinct = np.unique(F, axis=0)
    no_worse = (distinct[:, np.newaxis] <= distinct).all(axis=2)
    np.fill_diagonal(no_worse, False)
    return distinct[~no_worse.any(axis=0)]


@dataclass
class Task:
    """A constrained problem, solved by plain comparisons of all nodes.

    Attributes:
        table: The table.
        objectives: The objectives.
        limits: Constraints as an objective, whether it is at least or at most something, and that something.
        limit: At most so many tuples are suppressed.
        violating: Whether it is the classes that break a constraint, and not the smallest.
        below: Every class smaller than this is suppressed, whatever the limit; 0 for none.
    """

    table: Microdata
    objectives: list[Objective]
    limits: list[tuple[Objective, bool, float]]
    limit: int
    violating: bool = False
    below: int = 0

    @property
    def constraints(self):
        return [kind >= bound if at_least else kind <= bound for kind, at_least, bound in self.limits]

    @property
    def problem(self):
        return LatticeProblem(self.table, self.objectives, constraints=self.constraints, suppression=self.rule)

    @property
    def rule(self):
        if self.below:
            return Below(self.below)
        return Violating(self.limit) if self.violating else AtMost(self.limit)

    @cached_property
    def F(self):
        signs = [-1 if objective.maximize else 1 for objective in self.objectives]
        return self._values(self.objectives) * signs + 0.0

    @cached_property
    def G(self):
        """(n_nodes, n_constraints) array, with one more column for Violating."""
        columns = []
        for kind, at_least, bound in self.limits:
            values = self._values([kind])[:, 0]
            columns.append(bound - values if at_least else values - bound)
        if self.violating:
            problem = self.problem
            columns.append(np.empty(problem.n_nodes))
            for rows, classes in problem._grouped(problem.nodes(0, problem.n_nodes)):
                columns[-1][rows] = classes.n_suppressed - self.limit
        return np.array(columns).reshape(len(columns), len(self.F)).T

    def _values(self, measures):
        if not self.violating:
            return values_of(self.table, measures, suppression=self.rule)
        # Each measure is computed alone, so that none depends on the others.
        return np.column_stack(
            [
                values_of(self.table, [one], constraints=self.constraints, suppression=Violating(self.limit))[:, 0]
                for one in measures
            ]
        )

    @cached_property
    def front(self):
        return minimal(self.F[(self.G <= 0).all(axis=1)] if self.limits else self.F)


@st.composite
def tasks(draw: st.DrawFn, of: Sequence[Objective] = KINDS, violating: bool = False, below: bool = False) -> Task:
    """Draw a table, objectives, a suppression rule and constraints."""
    table = draw(tables())
    limit = draw(st.integers(0, len(table.frame) - 1) | st.integers(0, len(table.frame) // 3))
    # Of other tables.
    two = [draw(populations(table)) for _ in range(2)]
    others = [KMap(two[0]), MarketerRisk(two[1]), DeltaPresence(two[0]), LeastPresence(two[1])]
    objectives = draw(st.lists(st.sampled_from([*of, *others]), min_size=1, max_size=3, unique_by=repr))
    bounded = draw(st.lists(st.tuples(st.sampled_from([*KINDS, *others]), st.booleans()), max_size=2, unique_by=repr))
    if violating:
        # One at least that single classes can break.
        worst = draw(st.sampled_from([kind for kind in (*KINDS, *others) if kind.worst_class]))
        bounded = [(worst, worst.maximize), *[(kind, side) for kind, side in bounded if kind != worst]]
    limits = []
    smallest = draw(st.integers(1, min(len(table.frame), 8))) if below else 0
    for kind, at_least in bounded:
        values = values_of(table.microdata, [kind], suppression=Below(smallest) if below else limit)
        bound = draw(st.sampled_from(np.unique(values[np.isfinite(values)]).tolist() or [1.0]))
        limits.append((kind, at_least, bound + draw(st.sampled_from([0.0, 0.0, 0.25, -0.25]))))
    return Task(table.microdata, objectives, limits, limit, violating, smallest)


def any_tasks() -> st.SearchStrategy[Task]:
    """Draw tasks of all bounded objectives, constraints and suppression rules."""
    return tasks(of=BOUNDED) | tasks(of=BOUNDED, violating=True) | tasks(of=BOUNDED, below=True)


def found(res, problem):
    """Return a result's front in lexicographic order, empty if infeasible."""
    return np.empty((0, problem.n_obj)) if res.F is None else sorted_rows(np.reshape(res.F, (-1, problem.n_obj)))


def members_stand(F, bounds, front):
    """Return whether members or open bounds cover the exact front."""
    settled = (F[np.newaxis] <= front[:, np.newaxis]).all(axis=2).any(axis=1)
    open_ = (bounds[np.newaxis] <= front[:, np.newaxis]).all(axis=2).any(axis=1)
    return (settled | open_).all()


def check_proofs(problem, front=None, seed=1):
    """Prove the front of all nodes in a stored lattice and by intervals, and return how many nodes are pruned."""
    front = problem.pareto_front(max_nodes=problem.n_nodes) if front is None else front
    pruned = 0
    for max_bytes in (2 << 30, 1):
        res = minimize(problem.fresh_copy(), BranchAndBound(max_bytes=max_bytes), seed=seed)
        assert res.algorithm.certified
        np.testing.assert_array_equal(found(res, problem), front)
        pruned += res.algorithm.n_pruned
    return pruned


def limited(search=None, **limits):
    """Return a branch and bound with other limits of its proof."""
    search = BranchAndBound() if search is None else search
    search.limits = replace(search.limits, **limits)
    return search


def check_certified(problem, front, seed=0):
    """Check that a front is certified and exact and every node counted, and return the algorithm."""
    res = minimize(problem, BranchAndBound(), seed=seed)
    algorithm = res.algorithm
    assert algorithm.certified
    assert algorithm.n_undecided == 0
    assert algorithm.n_evaluated + algorithm.n_pruned == problem.n_nodes
    assert algorithm.n_evaluated == problem.n_unique
    np.testing.assert_array_equal(found(res, problem), front)
    if res.F is not None:
        X, F = res.X.reshape(-1, problem.n_var), res.F.reshape(-1, problem.n_obj)
        np.testing.assert_array_equal(problem.compute(X), F)
    return algorithm


def printed(capsys):
    """Return the heads and the rows that a search has printed."""
    lines = [line.split("|") for line in capsys.readouterr().out.splitlines() if "|" in line]
    heads, *rows = ([cell.strip() for cell in line] for line in lines)
    return heads, rows


def eights(names):
    """Draw 80 rows of columns with eight values, which each level halves, and of a sensitive one."""
    rng, tree = np.random.default_rng(0), Hierarchy([[value >> level for value in range(8)] for level in range(4)])
    frame = pd.DataFrame(rng.integers(0, 8, (80, len(names))), columns=list(names)).assign(s=rng.integers(0, 3, 80))
    return Microdata.from_frame(frame, dict.fromkeys(names, tree), sensitive="s")


@cache
def invented(seed):
    """Draw a table of 60 rows with a lattice of 625 nodes."""
    tree = Hierarchy([[i >> level for i in range(16)] for level in range(5)])
    return Microdata.from_frame(invented_frame(seed), {f"q{j}": tree for j in range(4)}, sensitive=["s0", "s1"])


def constraint_of(measure, bound):
    """Require a bound in the direction that is better."""
    return measure >= bound if measure.maximize else measure <= bound
