"""Local search: Pareto local search on lattices and strings, and pairs of attributes of bit strings."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymoo.constraints.as_obj import ConstraintsAsObjective
from pymoo.core.evaluator import Evaluator
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.core.selection import Selection
from pymoo.core.termination import NoTermination
from pymoo.operators.crossover.sbx import SBX
from pymoo.operators.mutation.pm import PM
from pymoo.operators.repair.rounding import RoundingRepair
from pymoo.optimize import minimize
from pymoo.termination import get_termination
from strategies import every_string, grown, partitions
from tasks import found, invented, minimal, printed, sorted_rows, tasks

from pymoo_anon.algorithms import BitStringLocalSearch, ParetoLocalSearch
from pymoo_anon.algorithms.common import in_type_of_problem
from pymoo_anon.algorithms.local_search import _violations
from pymoo_anon.fronts import ParetoArchive
from pymoo_anon.fronts.archive import boxes
from pymoo_anon.objectives import *
from pymoo_anon.operators import *
from pymoo_anon.problems import BitStringProblem, LatticeProblem
from pymoo_anon.proofs.instance import asks_no_more
from pymoo_anon.table import AtMost, Below, Hierarchy, Microdata, Taxonomy, Violating

pytestmark = pytest.mark.filterwarnings("ignore:the hierarchies of .* do not end in one group")


TABLE = invented(1)


def problem(table=TABLE, constraints=()):
    return LatticeProblem(table, [KAnonymity(), GeneralLossMetric()], suppression=3, constraints=constraints)


EXACT = sorted_rows(problem().pareto_front())


def to_the_end(of, seed=1, **options):
    return minimize(of, ParetoLocalSearch(termination=NoTermination(), **options), seed=seed, copy_algorithm=False)


def seen(of):
    """Return all nodes, and a mask of the evaluated ones."""
    X = of.nodes(0, of.n_nodes)
    return X, np.array([x.tobytes() in of.memory._rows for x in X])


@given(tasks() | tasks(violating=True) | tasks(below=True), st.integers(0, 3), st.sampled_from([1, 5, 16]))
def test_it_ends_with_the_best_of_what_it_saw_and_with_no_neighbor_left(task, seed, n_offsprings):
    own = task.problem
    res = to_the_end(own, seed, n_offsprings=n_offsprings)
    assert res.algorithm.evaluator.n_eval == own.n_unique
    X, evaluated = seen(own)
    feasible = (task.G <= 0).all(axis=1) if task.G.shape[1] else np.ones(len(X), dtype=bool)
    np.testing.assert_array_equal(found(res, own), minimal(task.F[evaluated & feasible]))
    for x in np.reshape(res.X if res.X is not None else [], (-1, own.n_var)):
        # Two steps: one level in two attributes, or two in one.
        assert evaluated[np.abs(X - x).sum(axis=1) <= 2].all()


def test_members_are_explored_when_no_neighbor_at_any_distance_is_left():
    near = far = 0

    def count(algorithm):
        nonlocal near, far
        # The neighbors of each member are explored up to 0, 1 or 2 steps.
        done = [algorithm._explored.get(one.X.tobytes(), 0) for one in algorithm.front.pop]
        assert algorithm.n_unexplored == sum(distance < 2 for distance in done)
        near, far = near + done.count(0), far + done.count(1)

    algorithm = ParetoLocalSearch(1, termination=NoTermination(), callback=count)
    assert minimize(problem(), algorithm, seed=1, copy_algorithm=False).algorithm.n_unexplored == 0
    assert min(near, far) > 0


def test_children_propose_nodes_where_all_members_are_explored():
    algorithm = ParetoLocalSearch(termination=NoTermination())
    algorithm.setup(problem(), seed=1)
    while not algorithm.is_initialized or algorithm.n_unexplored:
        algorithm.next()
    before = set(algorithm._explored)
    X = algorithm.ask().get("X")
    assert len(X) > 0
    assert X.dtype == np.int64
    assert len({x.tobytes() for x in X} - before) == len(X)


def test_a_limit_on_both_sides_is_broken_by_what_is_below_and_above():
    G, H = np.array([[-1.0, 4], [2, -1], [-3, 0]]), np.array([[-2.0], [0], [1]])
    pop = Population.new(X=np.zeros((3, 1)), G=G, H=H)
    np.testing.assert_array_equal(_violations(pop), [[0, 4, 2], [2, 0, 0], [0, 0, 1]])


def test_numbers_beyond_any_level_are_left_to_the_problem_to_refuse():
    pop = Population.new(X=np.array([[10**30, 0, 0, 0]], dtype=object))
    assert in_type_of_problem(pop, problem()) is pop


@pytest.mark.parametrize("epsilon", [[1, 2], [2, 5], [3, 20]])
def test_of_every_non_dominated_box_it_finds_a_node(epsilon):
    for seed in range(4):
        own = problem(invented(seed))
        maximize = [True, False]
        expected = minimal(boxes(own.pareto_front(), epsilon, maximize))
        res = to_the_end(own, epsilon=epsilon)
        np.testing.assert_array_equal(sorted_rows(boxes(found(res, own), epsilon, maximize)), expected)


class Seldom(Selection):
    """A selection that repeats the last member."""

    def _do(self, problem, pop, n_select, n_parents, *args, random_state, **kwargs):
        return np.full((n_select, n_parents), len(pop) - 1)


@pytest.mark.parametrize(
    "options",
    [
        {"sampling": LatticeSampling()},
        {"sampling": np.array([[3, 2, 3, 2]])},
        {"sampling": Population.new(X=np.array([[4.0, 4, 4, 4], [4, 4, 4, 4]]))},
        {"neighborhood": LevelNeighborhood(reach=1)},
        {"neighborhood": LevelNeighborhood(reach=3)},
        {"selection": DominanceCountTournament()},
        {"selection": Seldom()},
        {"crossover": ReducedSurrogateCrossover()},
        {"mutation": SingleStepMutation(prob_var=0.9)},
        {"crossover": SBX(vtype=float), "mutation": PM(vtype=float, repair=RoundingRepair())},
        {"n_offsprings": 1},
        {"n_offsprings": 300},
    ],
    ids=lambda options: "-".join(options),
)
def test_whatever_the_strategies_its_end_is_near_the_exact_front(options):
    own = problem()
    res = to_the_end(own, **options)
    for name in options.keys() - {"n_offsprings"}:
        holder = res.algorithm.initialization if name == "sampling" else res.algorithm
        assert getattr(holder, name) is options[name]
    assert res.X.dtype == np.int64
    assert res.algorithm.evaluator.n_eval == own.n_unique
    assert res.algorithm.n_unexplored == 0
    X = own.nodes(0, own.n_nodes)
    evaluated = [x.tobytes() in own.memory._rows for x in X]
    np.testing.assert_array_equal(found(res, own), minimal(own.compute(X[evaluated])))
    assert np.mean([(f == res.F).all(axis=1).any() for f in EXACT]) > 0.8


def test_what_is_not_told_is_proposed_again():
    own = problem()
    algorithm = ParetoLocalSearch(n_offsprings=8, termination=NoTermination())
    algorithm.setup(own, seed=1)
    while algorithm.has_next():
        infills = algorithm.ask()[:2]
        algorithm.evaluator.eval(own, infills)
        algorithm.tell(infills=infills)
    np.testing.assert_array_equal(sorted_rows(algorithm.opt.get("F")), EXACT)


@pytest.mark.parametrize("n_offsprings", [1, 16])
def test_towards_nodes_that_satisfy_constraints(n_offsprings):
    """Reach two constraints that few nodes keep, from nodes that break them."""
    own = problem()
    F = own.compute(own.nodes(0, own.n_nodes))
    loss = np.sort(F[F[:, 0] <= -12, 1])[4]
    feasible = (F[:, 0] <= -12) & (F[:, 1] <= loss)
    own = problem(constraints=[KAnonymity() >= 12, GeneralLossMetric() <= loss])
    algorithm = ParetoLocalSearch(n_offsprings, sampling=own.nodes(0, 1), termination=("n_eval", 250))
    algorithm.setup(own, seed=1)
    while algorithm.has_next() and not len(algorithm.front):
        algorithm.next()
        V = np.maximum(algorithm.pop.get("G"), 0)
        # Members are the points with least violation among the evaluated.
        assert len(algorithm.front) or sorted_rows(np.unique(V, axis=0)).tolist() == minimal(V).tolist()
    assert own.n_unique < 150
    res = to_the_end(own)
    exact = minimal(F[feasible]).tolist()
    assert all(f in exact for f in found(res, own).tolist())


def test_wrappers_of_pymoo():
    wrapped = ConstraintsAsObjective(problem(constraints=[KAnonymity() >= 5]))
    res = minimize(wrapped, ParetoLocalSearch(epsilon=[1, 2, 5]), ("n_eval", 100), seed=1)
    assert res.algorithm.front.maximize.tolist() == [False, True, False]


def test_any_problem_of_whole_numbers_is_searched():
    class Line(Problem):
        def __init__(self):
            super().__init__(n_var=1, n_obj=2, xl=0, xu=9, vtype=int)

        def _evaluate(self, X, out, *args, **kwargs):
            out["F"] = np.column_stack([X, np.abs(X - 4)])

    res = minimize(Line(), ParetoLocalSearch(), seed=1)
    assert sorted(res.X[:, 0].tolist()) == [0, 1, 2, 3, 4]
    assert res.algorithm.n_gen < 20


def test_verbose_shows_members_and_what_is_unexplored(capsys):
    res = minimize(problem(), ParetoLocalSearch(), seed=1, verbose=True)
    heads, rows = printed(capsys)
    assert heads == ["n_gen", "n_eval", "unexplored", "archive", "distinct", "best k", "lowest GLM"]
    n, n_unexplored = str(res.problem.n_unique), str(res.algorithm.n_unexplored)
    assert rows[-1][1:] == [n, n_unexplored, str(len(res.F)), n, "60", f"{res.F[:, 1].min():,.2f}"]


def test_a_plain_archive_keeps_the_first_of_equal_ones():
    F = np.array([[1.0, 2], [2, 1], [1, 2], [np.inf, 0], [3, 3]])
    archive = ParetoArchive()
    for i in range(5):
        assert archive.add(Population.new(X=np.array([[i]]), F=F[[i]])) is archive
    assert archive.get("X").ravel().tolist() == [0, 1, 3]
    broken = Population.new(X=np.array([[7]]), F=np.array([[0.0, 0]]), G=np.array([[1.0]]))
    assert len(archive.add(broken)) == 3
    assert repr(archive) == "ParetoArchive(3 members)"


TREES = {"q0": Taxonomy(grown(lambda low, high: min(low + 1, high), 7))}


def table(seed=0, n_values=7, n_rows=120):
    """Draw a table of four attributes, and a sensitive one."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({f"q{j}": rng.binomial(n_values - 1, 0.3, n_rows) for j in range(4)})
    frame["q0"] = "v" + frame["q0"].astype(str)
    frame["s0"] = rng.choice(list("abcde"), n_rows)
    hierarchies = {f"q{j}": Hierarchy.flat(range(n_values)) for j in range(1, 4)}
    hierarchies["q0"] = Hierarchy.flat([f"v{i}" for i in range(n_values)])
    return Microdata.from_frame(frame, hierarchies, sensitive="s0")


BITS = table()
SMALL = table(n_values=5)


def loss_below(k=5, **asked):
    return BitStringProblem(BITS, [GeneralLossMetric()], suppression=Below(k), taxonomies=TREES, **asked)


def front_of(**asked):
    return BitStringProblem(BITS, [KAnonymity(), GeneralLossMetric()], 0.1, taxonomies=TREES, **asked)


def other(**asked):
    """Build a problem without sums over classes, for merges and splits."""
    goals = [DistinctLDiversity("s0"), Precision()]
    return BitStringProblem(SMALL, goals, suppression=0.05, **asked)


KINDS = [(loss_below, 3), (front_of, 1)]
kinds = pytest.mark.parametrize(("made", "n_starts"), KINDS, ids=["loss", "front"])


def run(made, n_starts, n_gen=25, **options):
    termination = ("n_gen", n_gen)
    return minimize(made(), BitStringLocalSearch(n_starts), termination, seed=1, **options)


def valid_strings(problem):
    X = every_string(problem.n_var)
    return X[problem.is_valid(X)]


def n_values(partition):
    return sum(map(len, partition.domains.values()))


def asked_of(n_rows, k):
    """Return objectives, suppression and constraints that pairs can follow."""
    loss, limit = GeneralLossMetric(), n_rows // 5
    return [
        ([loss], Below(k), []),
        ([NormalizedWeightedPenalty()], Below(k), []),
        ([loss], AtMost(0), [KAnonymity() >= k]),
        ([loss], Below(k), [KAnonymity() >= k]),
        ([loss], AtMost(limit), [KAnonymity() >= k]),
        ([loss], Violating(limit), [KAnonymity() >= k]),
        ([KAnonymity(), loss], AtMost(0), []),
        ([loss, KAnonymity()], AtMost(limit), [KAnonymity() >= k]),
        ([loss, ProsecutorRisk()], AtMost(limit), [ProsecutorRisk() <= 1 / k]),
    ]


def compared(own, n_starts):
    """Return the share of the front found, and check all points found."""
    X = valid_strings(own)
    F, G = own.evaluate(X, return_values_of=["F", "G"])
    expected = minimal(F[(G <= 0).all(axis=1)])
    res = minimize(own, BitStringLocalSearch(n_starts), seed=1)
    found, strings = np.reshape(res.F, (-1, own.n_obj)), np.atleast_2d(res.X)
    again, violations = own.evaluate(strings, return_values_of=["F", "G"])
    assert np.array_equal(again, found)
    assert (violations <= 0).all()
    assert np.array_equal(minimal(found), sorted_rows(found))
    return np.mean([(row == found).all(axis=1).any() for row in expected])


@given(partitions(max_rows=25, max_attributes=3).filter(lambda one: n_values(one) <= 12), st.data())
def test_what_is_found_is_sound(partition, data):
    n_rows = len(partition.table.frame)
    k = data.draw(st.integers(1, min(n_rows, 5)))
    objectives, rule, constraints = data.draw(st.sampled_from(asked_of(n_rows, k)))
    own = BitStringProblem(partition.table.microdata, objectives, rule, constraints, **partition.arguments)
    assert asks_no_more(own)
    assert compared(own, 4) > 0


def test_small_fronts_are_found_mostly():
    """Check the mean share found, without a guarantee for any front."""
    shares = []
    for seed in range(2):
        own = table(seed, n_values=4, n_rows=60)
        for objectives, rule, constraints in asked_of(60, 3):
            shares.append(compared(BitStringProblem(own, objectives, rule, constraints), 4))
    assert np.mean(shares) > 0.9


@given(partitions(max_rows=5, max_attributes=2).filter(lambda one: n_values(one) <= 9))
def test_neighbors_are_next_in_the_order_of_refinement(partition):
    own = BitStringProblem(partition.table.microdata, [GeneralLossMetric()], **partition.arguments)
    X = valid_strings(own)
    # A string is finer if it has all ones of the other. Neighbors are two strings with none in between.
    finer = (X[:, None] >= X).all(axis=2) & (X[:, None] != X).any(axis=2)
    next_to = finer & ~(finer.astype(int) @ finer.astype(int) > 0)
    next_to |= next_to.T
    for i, x in enumerate(X):
        made = BitStringNeighborhood().do(own, x, 1)
        assert made.dtype == bool
        assert sorted(made.tolist()) == sorted(X[next_to[i]].tolist())


@pytest.mark.parametrize(
    ("objectives", "rule", "constraints", "pairs"),
    [
        ([GeneralLossMetric()], Below(5), [], True),
        ([GeneralLossMetric()], Below(5), [KAnonymity() >= 5], True),
        ([GeneralLossMetric()], Below(5), [KAnonymity() >= 6], False),
        ([NonUniformEntropy()], Below(5), [], True),
        ([GeneralLossMetric()], AtMost(0), [], True),
        ([GeneralLossMetric()], AtMost(3), [], False),
        ([GeneralLossMetric()], AtMost(3), [KAnonymity() >= 4], True),
        # More rows than there are: no string is feasible.
        ([GeneralLossMetric()], AtMost(3), [KAnonymity() >= 10**6], True),
        ([GeneralLossMetric()], AtMost(3), [KAnonymity() <= 4], False),
        ([GeneralLossMetric()], Violating(3), [KAnonymity() >= 4], True),
        ([GeneralLossMetric()], Violating(3), [DistinctLDiversity("s0") >= 2], False),
        ([GeneralLossMetric(), KAnonymity()], AtMost(3), [], True),
        ([ProsecutorRisk(), GeneralLossMetric()], AtMost(3), [ProsecutorRisk() <= 0.5], True),
        ([GeneralLossMetric()], AtMost(3), [ProsecutorRisk() >= 0.1], False),
        ([GeneralLossMetric()], AtMost(3), [GeneralLossMetric() <= 50], False),
        ([KAnonymity(), GeneralLossMetric()], Below(3), [], False),
        ([KAnonymity(), GeneralLossMetric()], Violating(3), [KAnonymity() >= 2], False),
        ([KAnonymity(), GeneralLossMetric(), Discernibility()], AtMost(3), [], False),
        ([Precision()], Below(5), [], False),
        ([Discernibility()], Below(5), [], False),
        ([ClassificationMetric("s0")], Below(5), [], False),
        ([KAnonymity()], AtMost(3), [], False),
    ],
)
def test_pairs_are_taken_where_they_are_defined(objectives, rule, constraints, pairs):
    own = BitStringProblem(BITS, objectives, rule, constraints, taxonomies=TREES)
    assert asks_no_more(own) is pairs
    if pairs:
        BitStringLocalSearch().setup(own)
        return
    with pytest.raises(ValueError, match=r"ParetoLocalSearch searches any BitStringProblem$"):
        BitStringLocalSearch().setup(own)


def test_operators_follow_the_search_space():
    algorithm = ParetoLocalSearch()
    algorithm.setup(other(), seed=1)
    assert isinstance(algorithm.neighborhood, BitStringNeighborhood)
    assert isinstance(algorithm.initialization.sampling, BitStringSampling)
    assert isinstance(algorithm.mutation, RandomImmigrantMutation)
    algorithm.setup(LatticeProblem(BITS, [KAnonymity(), GeneralLossMetric()]), seed=1)
    assert isinstance(algorithm.neighborhood, LevelNeighborhood)


@kinds
def test_an_interrupted_search_goes_on(made, n_starts):
    straight = run(made, n_starts, 8)
    algorithm = BitStringLocalSearch(n_starts)
    own = made()
    algorithm.setup(own, termination=("n_gen", 8), seed=1)
    algorithm.next()
    algorithm.next()
    state, asking = algorithm.random_state.bit_generator.state, algorithm._walk.ask

    def interrupted(random_state):
        asking(random_state)
        raise KeyboardInterrupt

    algorithm._walk.ask = interrupted
    with pytest.raises(KeyboardInterrupt):
        algorithm.next()
    del algorithm._walk.ask
    algorithm.random_state.bit_generator.state = state
    assert algorithm.run().X.tolist() == straight.X.tolist()


def test_it_ends_by_itself_and_a_termination_lets_it_go_on():
    res = minimize(loss_below(), BitStringLocalSearch(4), seed=1)
    assert res.algorithm.n_done == 4
    assert res.algorithm.evaluator.n_eval == 8
    res.algorithm.termination = get_termination("n_gen", 9)
    again = minimize(loss_below(), res.algorithm, copy_algorithm=False)
    assert again.algorithm.n_done == 8
    assert again.F[0] <= res.F[0]


def test_the_output_shows_starts_and_what_was_found(capsys):
    for made, names in ((loss_below, ["lowest GLM"]), (front_of, ["best k", "lowest GLM"])):
        res = minimize(made(), BitStringLocalSearch(2), ("n_gen", 4), seed=1, verbose=True)
        heads, (*_, last) = printed(capsys)
        assert heads == ["n_gen", "n_eval", "done", "archive", "distinct", *names]
        assert last[2:4] == [str(res.algorithm.n_done), str(len(np.atleast_2d(res.F)))]
        assert last[-1] == f"{np.atleast_2d(res.F)[:, -1].min():,.2f}"


def test_starts_may_be_given():
    own = loss_below()
    X = own.sample(3, np.random.default_rng(0))
    before = X.copy()
    for given_starts in (X, Population.new(X=X), Evaluator().eval(own, Population.new(X=X))):
        res = minimize(own, BitStringLocalSearch(1, sampling=given_starts), seed=1, save_history=True)
        assert res.algorithm.n_done == 3
        assert np.array_equal(res.history[0].pop.get("X")[0], X[own.compute(X)[:, 0].argmin()])
    assert np.array_equal(X, before)


def test_a_history_shares_the_arrays_of_the_instance():
    res = run(front_of, 1, 10, save_history=True)
    assert len({id(entry._walk._space) for entry in res.history}) == 1
    counts = [len(entry.opt) for entry in res.history]
    assert counts[0] < counts[-1] == len(res.F)
