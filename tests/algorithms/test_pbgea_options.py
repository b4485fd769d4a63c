"""PBG-EA under pymoo's options: each works or is refused by one sentence."""

from itertools import pairwise

import numpy as np
import pytest
from pymoo.constraints.as_obj import ConstraintsAsObjective
from pymoo.constraints.eps import AdaptiveEpsilonConstraintHandling
from pymoo.core.evaluator import Evaluator
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.operators.crossover.sbx import SBX
from pymoo.operators.mutation.pm import PM
from pymoo.operators.sampling.rnd import FloatRandomSampling
from pymoo.operators.selection.rnd import RandomSelection
from pymoo.optimize import minimize
from pymoo.problems import get_problem
from tasks import printed

from pymoo_anon.algorithms import PBGEA
from pymoo_anon.datasets import make_census
from pymoo_anon.fronts import BoxArchive
from pymoo_anon.fronts.archive import front_order
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.operators import (
    LatticeSampling,
    PartitionCrossover,
    RandomImmigrantMutation,
)
from pymoo_anon.problems import BitStringProblem, LatticeProblem

CENSUS = make_census(300, seed=5)
OBJECTIVES = [KAnonymity(), GeneralLossMetric()]


def free():
    return LatticeProblem(CENSUS, OBJECTIVES, suppression=0.02)


def constrained(k=5):
    constraints = [KAnonymity() >= k, DistinctLDiversity("occupation") >= 3]
    return LatticeProblem(CENSUS, OBJECTIVES, suppression=0.02, constraints=constraints)


def run(problem, n_gen=5, **options):
    return minimize(problem, PBGEA(10, **options), ("n_gen", n_gen), seed=1)


def outcome(res):
    return res.X.tolist(), res.F.tolist()


NODES = LatticeSampling().do(free(), 10, random_state=np.random.default_rng(0)).get("X")


def test_a_selection_of_ones_own():
    res = run(free(), selection=RandomSelection())
    assert np.array_equal(res.problem.compute(res.X), res.F)
    assert outcome(res) != outcome(run(free()))


def test_duplicates_may_be_eliminated():
    own = free()
    res = minimize(own, PBGEA(10, eliminate_duplicates=True), ("n_gen", 8), seed=1, save_history=True)
    for before, after in pairwise(res.history):
        known = {tuple(x) for x in (*before.pop.get("X"), *before.box_archive.get("X"))}
        new = {tuple(x) for x in after.pop.get("X")}
        assert len(new) == 10
        assert known.isdisjoint(new)
    assert outcome(run(free(), eliminate_duplicates=False)) == outcome(run(free()))


def test_the_search_ends_where_no_node_is_new():
    class Line(Problem):
        def __init__(self):
            super().__init__(n_var=1, n_obj=2, xl=0, xu=2, vtype=int)

        def _evaluate(self, X, out, *args, **kwargs):
            out["F"] = np.column_stack([X, -X])

    res = minimize(Line(), PBGEA(3, eliminate_duplicates=True), ("n_gen", 50), seed=1)
    assert res.algorithm.n_gen < 10
    assert sorted(res.X[:, 0].tolist()) == [0, 1, 2]


STRINGS = {"crossover": PartitionCrossover(), "mutation": RandomImmigrantMutation()}


@pytest.mark.parametrize("dtype", [int, float, object, np.int8, np.uint8, np.float32])
@pytest.mark.parametrize("made", [free, lambda: BitStringProblem(CENSUS, OBJECTIVES)], ids=["levels", "bits"])
def test_whole_numbers_of_any_type_are_levels_or_bits(made, dtype):
    own, operators = (made(), {}) if made is free else (made(), STRINGS)
    X = NODES if made is free else own.sample(10, np.random.default_rng(0))
    expected = run(made(), sampling=X, **operators)
    for constructed in (X.astype(dtype), Population.new(X=X.astype(dtype))):
        res = run(made(), sampling=constructed, **operators)
        assert outcome(res) == outcome(expected)
        assert res.X.dtype == res.pop.get("X").dtype == own.vtype
    assert constructed.get("X").dtype == dtype


def test_evaluated_individuals_are_not_evaluated_again():
    own = free()
    res = run(own, sampling=Evaluator().eval(own, Population.new(X=NODES)))
    assert res.algorithm.evaluator.n_eval == 40
    assert outcome(res) == outcome(run(free(), sampling=NODES))


def test_under_adaptive_handling_everything_feasible_is_found_again():
    """Compare the archive with that of all feasible nodes ever evaluated."""
    own, seen = constrained(), []
    algorithm = AdaptiveEpsilonConstraintHandling(PBGEA(10, evaluator=Evaluator(callback=seen.extend)))
    res = minimize(own, algorithm, ("n_gen", 12), seed=1, copy_algorithm=False)
    X = np.array([one.X for one in seen])
    F, G = own.evaluate(X, return_values_of=["F", "G"])
    feasible = (G <= 0).all(axis=1)
    assert 0 < feasible.sum() < len(X)
    expected = BoxArchive(1, [True, False]).add(Population.new(X=X[feasible], F=F[feasible]))
    order = front_order(expected.F)
    assert outcome(res) == (expected.get("X")[order].tolist(), expected.F[order].tolist())


def test_constraints_as_objective():
    wrapped = ConstraintsAsObjective(constrained())
    with pytest.raises(ValueError) as caught:
        run(wrapped)
    assert str(caught.value) == (
        "epsilon must be given where F has other columns than the problem's objectives, got 3 columns for 2 objectives"
    )
    res = run(ConstraintsAsObjective(constrained()), epsilon=[1, 5, 100])
    assert res.F.shape[1] == 3
    assert (res.F[:, 0] >= 0).all()
    assert res.algorithm.box_archive.maximize.tolist() == [False, True, False]
    plain = constrained()
    F, G = plain.evaluate(res.X, return_values_of=["F", "G"])
    assert np.array_equal(res.F, np.column_stack([np.maximum(G, 0).sum(axis=1), F]))


def test_the_violation_alone_as_objective():
    res = run(ConstraintsAsObjective(constrained(), append=False), epsilon=1)
    assert res.algorithm.box_archive.maximize.tolist() is False
    assert res.F == 0
    assert (constrained().evaluate(res.X, return_values_of=["G"]) <= 0).all()


def test_verbose_shows_only_columns_that_are_objectives(capsys):
    minimize(ConstraintsAsObjective(constrained()), PBGEA(10, epsilon=1), ("n_gen", 2), seed=1, verbose=True)
    assert printed(capsys)[0] == ["n_gen", "n_eval", "archive", "distinct"]


def test_any_problem_with_operators_of_its_own():
    operators = {"sampling": FloatRandomSampling(), "crossover": SBX(), "mutation": PM()}
    own = get_problem("zdt1", n_var=4)
    res = run(own, n_gen=20, epsilon=0.05, **operators)
    assert res.X.dtype == float
    assert np.array_equal(own.evaluate(res.X), res.F)
    assert res.algorithm.box_archive.maximize.tolist() is False
    own = get_problem("bnh")
    res = run(own, n_gen=20, **operators)
    assert (own.evaluate(res.X)[1] <= 0).all()


def diverse():
    return LatticeProblem(
        CENSUS, [KAnonymity(), DistinctLDiversity("occupation"), GeneralLossMetric()], suppression=0.02
    )


def test_a_hundred_generations_by_default():
    assert minimize(diverse(), PBGEA(pop_size=4), seed=1).algorithm.n_gen - 1 == 100


def test_verbose_has_columns_of_its_own(capsys):
    own = diverse()
    res = minimize(own, PBGEA(), ("n_gen", 3), seed=1, verbose=True)
    heads, rows = printed(capsys)
    assert heads == ["n_gen", "n_eval", "archive", "distinct", "best k", "best l", "lowest GLM"]
    k, l, loss = own.natural(res.F).T  # noqa: E741
    assert rows[-1] == [
        "3", "75", str(len(res.F)), str(own.n_unique), f"{k.max():,.0f}", f"{l.max():,.0f}", f"{loss.min():,.2f}"
    ]  # fmt: skip
