"""Local search of bit strings by pairs, and by merges and splits."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymoo.core.evaluator import Evaluator
from pymoo.core.population import Population
from pymoo.core.termination import NoTermination
from pymoo.optimize import minimize
from pymoo.termination import get_termination
from strategies import every_string, grown, partitions
from tasks import minimal, printed, sorted_rows

from pymoo_anon.algorithms import BitStringLocalSearch, ParetoLocalSearch
from pymoo_anon.objectives import *
from pymoo_anon.operators import BitStringNeighborhood, BitStringSampling, LevelNeighborhood, RandomImmigrantMutation
from pymoo_anon.problems import BitStringProblem, LatticeProblem
from pymoo_anon.proofs.instance import asks_no_more
from pymoo_anon.table import AtMost, Below, Hierarchy, Microdata, Taxonomy, Violating

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


TABLE = table()
SMALL = table(n_values=5)


def loss_below(k=5, **asked):
    return BitStringProblem(TABLE, [GeneralLossMetric()], suppression=Below(k), taxonomies=TREES, **asked)


def front_of(**asked):
    return BitStringProblem(TABLE, [KAnonymity(), GeneralLossMetric()], 0.1, taxonomies=TREES, **asked)


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
    own = BitStringProblem(TABLE, objectives, rule, constraints, taxonomies=TREES)
    assert asks_no_more(own) is pairs
    if pairs:
        BitStringLocalSearch().setup(own)
        return
    with pytest.raises(ValueError) as caught:
        BitStringLocalSearch().setup(own)
    assert str(caught.value) == (
        "problem must be one loss under a smallest class size, or k and a loss under AtMost, got "
        f"{objectives}; ParetoLocalSearch searches any BitStringProblem"
    )


def test_descent_ends_where_no_neighbor_is_better():
    own = BitStringProblem(SMALL, [Precision()], Below(5))
    res = minimize(own, ParetoLocalSearch(termination=NoTermination()), seed=1)
    assert res.algorithm.n_unexplored == 0
    assert own.is_valid(np.array([np.frombuffer(key, dtype=bool) for key in own._memory._rows])).all()
    around = own.evaluate(BitStringNeighborhood().do(own, res.X, 1), return_values_of=["F"])
    assert res.F[0] <= around.min()


def test_constraints_are_reached_from_strings_that_break_them():
    limits = [DistinctLDiversity("s0") >= 4, KAnonymity() >= 6]
    own = BitStringProblem(SMALL, [Precision()], 0.05, limits)
    start = np.ones((1, own.n_var), dtype=bool)
    res = minimize(own, ParetoLocalSearch(sampling=start), seed=1)
    assert (res.G <= 0).all()
    assert (own.evaluate(start, return_values_of=["G"]) > 0).any()


def test_operators_follow_the_search_space():
    algorithm = ParetoLocalSearch()
    algorithm.setup(other(), seed=1)
    assert isinstance(algorithm.neighborhood, BitStringNeighborhood)
    assert isinstance(algorithm.initialization.sampling, BitStringSampling)
    assert isinstance(algorithm.mutation, RandomImmigrantMutation)
    algorithm.setup(LatticeProblem(TABLE, [KAnonymity(), GeneralLossMetric()]), seed=1)
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
    first = res.algorithm
    first.termination = get_termination("n_gen", 9)
    again = minimize(loss_below(), first, copy_algorithm=False)
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
