"""PBG-EA and GENITOR beside plain twins, and under pymoo's options: each works or is refused by one sentence."""

from bisect import insort
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from plain import dominates, updated
from pymoo.constraints.as_obj import ConstraintsAsObjective
from pymoo.constraints.eps import AdaptiveEpsilonConstraintHandling
from pymoo.core.crossover import Crossover
from pymoo.core.evaluator import Evaluator
from pymoo.core.mutation import Mutation
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.operators.crossover.pntx import TwoPointCrossover
from pymoo.operators.crossover.sbx import SBX
from pymoo.operators.mutation.bitflip import BitflipMutation
from pymoo.operators.mutation.pm import PM
from pymoo.operators.repair.rounding import RoundingRepair
from pymoo.operators.sampling.rnd import BinaryRandomSampling, FloatRandomSampling, IntegerRandomSampling
from pymoo.operators.selection.rnd import RandomSelection
from pymoo.optimize import minimize
from pymoo.problems import get_problem
from tasks import printed

from pymoo_anon.algorithms import GENITOR, PBGEA
from pymoo_anon.datasets import load_hierarchy, make_census
from pymoo_anon.fronts import BoxArchive
from pymoo_anon.fronts.archive import front_order
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity, NormalizedWeightedPenalty
from pymoo_anon.operators import (
    ClosestValidRepair,
    DominanceCountTournament,
    LatticeSampling,
    PartitionCrossover,
    PerAttributeBitMutation,
    RandomImmigrantMutation,
    ReducedSurrogateCrossover,
)
from pymoo_anon.problems import BitStringProblem, LatticeProblem
from pymoo_anon.table import Below, Taxonomy

CENSUS = make_census(300, seed=5)


def tournament_fitness(nodes, F):
    """Compute section 6: the summed dominance counts of dominating nodes."""
    counts = [sum(dominates(F(a), F(b)) for b in nodes) for a in nodes]
    return [sum(counts[i] for i, a in enumerate(nodes) if dominates(F(a), F(b))) for b in nodes]


def algorithm_2(F, box, lengths, n_pop, n_iterations, seed):
    """Run Algorithm 2 of Dewri et al. (2010) on lists of nodes."""
    rng, n_var = np.random.default_rng(seed), len(lengths)
    # Steps 1 to 4. The wholly generalized and the wholly specialized node are always there.
    population = [tuple(x) for x in rng.integers(0, np.array(lengths) + 1, size=(n_pop, n_var)).tolist()]
    population[:2] = [tuple(lengths), (0,) * n_var][:n_pop]
    archive = []
    for node in population:
        archive = updated(archive, node, F, box)
    path = [(population, archive)]
    while len(path) < n_iterations:
        # Step 5: fitness in the union, a set.
        union = list(dict.fromkeys([*archive, *population]))
        fitness = tournament_fitness(union, F)
        # Step 6: one tournament for each place of the pool.
        n_pairs = -(-n_pop // 2)
        left, right = rng.integers(len(union), size=(2, n_pairs, 2)).tolist()
        pool = [
            [union[b if fitness[b] < fitness[a] else a] for a, b in zip(row, other, strict=True)]
            for row, other in zip(left, right, strict=True)
        ]
        # Step 7: crossover with probability 0.8, then single steps with probability 1 / attributes.
        crossed = rng.random(n_pairs) < 0.8
        points = rng.integers(1, n_var, size=(n_pairs, 1))[:, 0] if crossed.any() else None
        for i in range(n_pairs):
            if crossed[i]:
                a, b = pool[i]
                pool[i] = [a[: points[i]] + b[points[i] :], b[: points[i]] + a[points[i] :]]
        children = [one for one, _ in pool] + [other for _, other in pool]
        steps_at = rng.random((2 * n_pairs, n_var)) < 1 / n_var
        steps = rng.choice([-1, 1], size=(2 * n_pairs, n_var))
        # pymoo draws whether to mutate a child. Here it always does.
        rng.random(2 * n_pairs)
        population = [
            tuple(
                min(max(level + int(step), 0), length) if stepping else level
                for level, stepping, step, length in zip(child, at, up, lengths, strict=True)
            )
            for child, at, up in zip(children, steps_at, steps, strict=True)
        ][:n_pop]
        # Step 8.
        for node in population:
            archive = updated(archive, node, F, box)
        path.append((population, archive))
    return path


@pytest.mark.parametrize("n_pop", [1, 2, 3, 10, 25])
@pytest.mark.parametrize(
    ("objectives", "epsilon"),
    [
        ([KAnonymity(), GeneralLossMetric()], None),
        ([KAnonymity(), DistinctLDiversity("occupation"), GeneralLossMetric()], (2, 2, 50)),
        ([KAnonymity(), NormalizedWeightedPenalty()], None),
    ],
    ids=["k, GLM", "k, l, GLM in boxes", "k, NWP"],
)
def test_every_generation_is_that_of_the_twin(n_pop, objectives, epsilon):
    problem = LatticeProblem(CENSUS, objectives, suppression=0.02)
    known = {}

    def values(node):
        if node not in known:
            known[node] = tuple(problem.compute(np.array([node]))[0].tolist())
        return known[node]

    def box(node):
        sides = [objective.step for objective in objectives] if epsilon is None else epsilon
        columns = zip(values(node), sides, objectives, strict=True)
        # On the natural values, and turned so that lower is better.
        return tuple(-(-f // side) if objective.maximize else f // side for f, side, objective in columns)

    for seed in range(3):
        algorithm = PBGEA(n_pop, epsilon=epsilon)
        res = minimize(problem, algorithm, ("n_gen", 12), seed=seed, save_history=True)
        path = algorithm_2(values, box, problem.lengths.tolist(), n_pop, 12, seed)
        for entry, (population, archive) in zip(res.history, path, strict=True):
            assert entry.pop.get("X").tolist() == [list(node) for node in population]
            assert entry.box_archive.get("X").tolist() == [list(node) for node in archive]
        front = sorted(path[-1][1], key=values)
        assert res.X.tolist() == [list(node) for node in front]
        assert res.F.tolist() == [list(values(node)) for node in front]


def tournament(pop, first, second):
    script = SimpleNamespace(integers=lambda n, size: np.reshape([first, second], size))
    return DominanceCountTournament()._do(None, pop, len(first), 1, random_state=script)[:, 0].tolist()


@pytest.mark.parametrize(
    ("F", "violations", "first", "second", "winners"),
    [
        # The smaller violation wins, and among equal ones the first.
        ([[0, 0], [5, 5], [1, 1]], {"G": [[3], [2], [3]]}, [0, 1, 2, 0], [1, 0, 0, 2], [1, 1, 2, 0]),
        # Infeasible points count for nobody's fitness: the third dominates the first in vain.
        ([[1, 1], [0, 3], [1, 0]], {"G": [[0], [-1], [1]]}, [0, 1, 2, 0, 2], [1, 0, 0, 2, 2], [0, 1, 0, 0, 2]),
        # Violations may come without their constraints.
        ([[0, 0], [5, 5]], {"CV": [[1], [0]]}, [0, 1], [1, 0], [1, 1]),
    ],
)
def test_tournaments(F, violations, first, second, winners):
    pop = Population.new(F=np.array(F, dtype=float), **{name: np.array(own, float) for name, own in violations.items()})
    assert tournament(pop, first, second) == winners


def test_a_violation_that_is_tolerated_is_none():
    """Decide by fitness while the search tolerates a violation."""
    pop = Population.new(F=np.array([[0.0, 0], [5, 5]]), G=np.array([[3.0], [0.0]]))
    assert tournament(pop, [1], [0]) == [1]
    for one in pop:
        one.config["cv_eps"] = 3.0
    assert tournament(pop, [1], [0]) == [0]


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


def one_feasible():
    """Begin with one feasible string among infeasible ones."""
    limits = [KAnonymity() >= 8, DistinctLDiversity("occupation") >= 2]
    own = BitStringProblem(CENSUS, [GeneralLossMetric()], constraints=limits)
    start = np.random.default_rng(0).random((15, own.n_var)) < np.linspace(0.02, 0.1, 15)[:, np.newaxis]
    start[7] = False
    return own, {"sampling": start}


BIRTHS = {"NEW": lambda: (problem(), {}), "TRAD": lambda: (problem(), trad()), "constrained": one_feasible}


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
    res = minimize(Ladder(), algorithm, ("n_eval", 420), seed=1, copy_algorithm=False)
    assert np.sort(res.pop.get("X")[:, 0]).tolist() == list(range(n))
    while len(recorder.parents) < 12_000:
        algorithm._child()
    parents = np.array(recorder.parents)
    expected = (bias - 2 * (bias - 1) * (np.arange(n) + 0.5) / n) / n
    for side in parents.T:
        assert np.allclose(np.bincount(side, minlength=n) / 12_000, expected, atol=5 * np.sqrt(0.1 / 12_000))
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
