"""GENITOR: births and ranks beside a slow twin, and pymoo's loop."""

from bisect import insort

import numpy as np
import pytest
from pymoo.core.crossover import Crossover
from pymoo.core.evaluator import Evaluator
from pymoo.core.mutation import Mutation
from pymoo.core.problem import Problem
from pymoo.operators.crossover.pntx import TwoPointCrossover
from pymoo.operators.crossover.sbx import SBX
from pymoo.operators.mutation.bitflip import BitflipMutation
from pymoo.operators.mutation.pm import PM
from pymoo.operators.repair.rounding import RoundingRepair
from pymoo.operators.sampling.rnd import BinaryRandomSampling, FloatRandomSampling, IntegerRandomSampling
from pymoo.optimize import minimize
from pymoo.problems import get_problem

from pymoo_anon.algorithms import GENITOR
from pymoo_anon.datasets import load_hierarchy, make_census
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.operators import (
    ClosestValidRepair,
    PartitionCrossover,
    PerAttributeBitMutation,
    RandomImmigrantMutation,
    ReducedSurrogateCrossover,
)
from pymoo_anon.problems import BitStringProblem
from pymoo_anon.table import Below, Taxonomy

CENSUS = make_census(300, seed=5)
EDUCATION = load_hierarchy("education").domain
TREE = {
    "name": "any",
    "children": [
        {"name": f"group {i}", "children": [{"name": value} for value in EDUCATION[i : i + 4]]} for i in range(0, 16, 4)
    ],
}


def problem(below=5):
    taxonomies = {"education": Taxonomy(TREE)}
    return BitStringProblem(CENSUS, [GeneralLossMetric()], suppression=Below(below), taxonomies=taxonomies)


def trad():
    return {
        "crossover": ReducedSurrogateCrossover(),
        "mutation": PerAttributeBitMutation(),
        "repair": ClosestValidRepair(),
    }


def rank(one):
    """Return the constraint violation, then the value."""
    return float(np.maximum(one.G, 0).sum()), float(one.F[0])


def constrained():
    """Begin with one feasible string among infeasible ones."""
    limits = [KAnonymity() >= 8, DistinctLDiversity("occupation") >= 2]
    own = BitStringProblem(CENSUS, [GeneralLossMetric()], constraints=limits)
    start = np.random.default_rng(0).random((15, own.n_var)) < np.linspace(0.02, 0.1, 15)[:, np.newaxis]
    start[7] = False
    return own, {"sampling": start}


BIRTHS = {"NEW": lambda: (problem(), {}), "TRAD": lambda: (problem(), trad()), "constrained": constrained}


@pytest.mark.parametrize("refuse", [True, False])
@pytest.mark.parametrize("name", BIRTHS)
def test_births_are_those_of_the_twin(name, refuse):
    own, operators = BIRTHS[name]()
    algorithm = GENITOR(15, eliminate_duplicates=refuse, **operators)
    algorithm.setup(own, termination=("n_gen", 80 if name == "constrained" else 30), seed=1)
    members = []
    while algorithm.has_next():
        asked = algorithm.ask()
        Evaluator().eval(algorithm.problem, asked)
        algorithm.tell(infills=asked)
        born = [(rank(one), tuple(one.X)) for one in asked]
        assert len(born) == (1 if members else 15)
        if not members:
            members = sorted(born, key=lambda member: member[0])
            violations = [cv for (cv, _), _ in members]
            assert (len(set(violations)) > 2, violations.count(0)) == (
                (True, 1) if own.has_constraints() else (False, 15)
            )
        elif born[0][0] < members[-1][0] and not (refuse and born[0][1] in [x for _, x in members]):
            members.pop()
            insort(members, born[0], key=lambda member: member[0])
    assert [(rank(one), tuple(one.X)) for one in algorithm.pop] == members
    assert [tuple(one.X) for one in algorithm.opt] == [members[0][1]]
    assert members[0][0][0] == 0
    # Points that have left are forgotten, so that they may be born again.
    assert sum(algorithm._keys.values()) == 15


def test_it_ends_where_there_is_nothing_new_to_find():
    """Search a space smaller than the births and the population."""
    table = CENSUS.recoded({})
    names = {"sex": {"name": "any", "children": [{"name": "Female"}, {"name": "Male"}]}}
    own = BitStringProblem(table, [GeneralLossMetric()], suppression=Below(5), taxonomies={
        name: Taxonomy(
            names.get(name) or {"name": name, "children": [{"name": str(value)} for value in hierarchy.domain]}
        )
        for name, hierarchy in table.quasi_identifiers.items()
    })  # fmt: skip
    assert own.n_strings == 2**8
    res = minimize(own, GENITOR(pop_size=300), ("n_gen", 2), seed=1)
    strings = own.sample(5000, np.random.default_rng(0))
    assert own.compute(np.unique(strings, axis=0)).min() == res.F[0]


class Ladder(Problem):
    """A problem with x as its own value."""

    def __init__(self):
        super().__init__(n_var=1, n_obj=1, xl=0, xu=1000, vtype=int)

    def _evaluate(self, X, out, *args, **kwargs):
        out["F"] = np.asarray(X, dtype=float)


class Recorder(Crossover):
    """A crossover that records parents and makes the worst children."""

    def __init__(self):
        super().__init__(2, 2, prob=1.0)
        self.parents = []

    def _do(self, problem, X, *args, random_state, **kwargs):
        self.parents.append(X[:, :, 0].ravel())
        return np.full_like(X, 1000)


class Nothing(Mutation):
    """A mutation that changes nothing."""

    def _do(self, problem, X, *args, random_state, **kwargs):
        return X


@pytest.mark.parametrize("refuse", [True, False])
def test_copies_of_the_parents_are_refused_or_take_over(refuse):
    start = np.random.default_rng(0).permutation(20)[:, None]
    operators = {"crossover": PartitionCrossover(prob=0.0), "mutation": Nothing()}
    res = minimize(Ladder(), GENITOR(20, 1.5, refuse, sampling=start, **operators), ("n_eval", 420), seed=1)
    assert np.sort(res.pop.get("X")[:, 0]).tolist() == (list(range(20)) if refuse else [0] * 20)
    assert res.algorithm.evaluator.n_eval == 420


# Next to one, 0.1 * 3 + 0.7 makes one, and ranks stay in their range.
@pytest.mark.parametrize("bias", [1, np.nextafter(1, 2), 1 + 1e-6, 1.5, 2])
def test_parents_are_drawn_by_rank(bias):
    n, recorder = 20, Recorder()
    start = np.random.default_rng(0).permutation(n)[:, None]
    algorithm = GENITOR(n, bias, False, sampling=start, crossover=recorder, mutation=Nothing())
    res = minimize(Ladder(), algorithm, ("n_eval", 12_020), seed=1, copy_algorithm=False)
    assert np.sort(res.pop.get("X")[:, 0]).tolist() == list(range(n))
    parents = np.array(recorder.parents)
    assert len(parents) == 12_000
    expected = (bias - 2 * (bias - 1) * (np.arange(n) + 0.5) / n) / n
    for side in parents.T:
        share = np.bincount(side, minlength=n) / 12_000
        assert np.allclose(share, expected, atol=5 * np.sqrt(0.1 / 12_000))
    # The two are drawn independently.
    assert abs(np.corrcoef(parents.T)[0, 1]) < 0.04


def test_evaluations_are_counted_and_end_it():
    for n_eval in (25, 26, 60, 400, 401):
        res = minimize(problem(), GENITOR(pop_size=25), ("n_eval", n_eval), seed=1)
        assert (res.algorithm.evaluator.n_eval, res.algorithm.n_gen - 1) == (n_eval, -(-n_eval // 25))
    assert GENITOR().termination.n_max_evals == 30_000


class Onemax(Problem):
    """A problem with a maximal number of ones."""

    def __init__(self):
        super().__init__(n_var=20, n_obj=1, xl=0, xu=1, vtype=bool)

    def _evaluate(self, X, out, *args, **kwargs):
        assert X.dtype == bool
        out["F"] = -X.sum(axis=1, keepdims=True).astype(float)


@pytest.mark.parametrize(
    ("own", "sampling", "crossover", "mutation", "reached"),
    [
        (get_problem("sphere"), FloatRandomSampling(), SBX(), PM(), 0.1),
        (Onemax(), BinaryRandomSampling(), TwoPointCrossover(), BitflipMutation(), -17),
        (Onemax(), BinaryRandomSampling(), ReducedSurrogateCrossover(), BitflipMutation(), -17),
        (get_problem("g1"), FloatRandomSampling(), SBX(), PM(), -5),
    ],
    ids=["floats", "bits", "surrogates", "constraints"],
)
def test_any_operators_of_pymoo_will_do(own, sampling, crossover, mutation, reached):
    res = minimize(own, GENITOR(20, sampling=sampling, crossover=crossover, mutation=mutation), ("n_gen", 60), seed=1)
    assert res.F[0] < reached
    F, G = own.evaluate(res.X, return_values_of=["F", "G"])
    assert np.allclose(F, res.F)
    assert (G <= 0).all()


def test_operators_with_a_repair_of_their_own_keep_it():
    """Search whole numbers by operators that round, as pymoo does."""
    whole = {"vtype": float, "repair": RoundingRepair()}
    algorithm = GENITOR(10, sampling=IntegerRandomSampling(), crossover=SBX(**whole), mutation=PM(**whole))
    res = minimize(Ladder(), algorithm, ("n_gen", 10), seed=1, save_history=True)
    for entry in res.history:
        assert entry.off.get("X").tolist() == np.round(entry.off.get("X")).tolist()
        assert entry.pop.get("F").tolist() == entry.pop.get("X").tolist()


def test_crossover_and_mutation_happen_with_their_probabilities():
    class Count(RandomImmigrantMutation):
        n = 0

        def _do(self, problem, X, *args, random_state, **kwargs):
            self.n += 1
            return super()._do(problem, X, random_state=random_state)

    mutation = Count(0.25)
    algorithm = GENITOR(100, eliminate_duplicates=False, mutation=mutation, crossover=PartitionCrossover(prob=0.0))
    minimize(problem(), algorithm, ("n_eval", 4100), seed=1, copy_algorithm=False)
    assert mutation.n == pytest.approx(1000, abs=120)
