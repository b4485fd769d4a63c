"""l without a column, the least over all sensitive columns.

It is compared with rows, nodes and every column.
"""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymoo.optimize import minimize
from strategies import more, nodes, tables, times
from tasks import Task, found, invented

from pymoo_anon.algorithms import BranchAndBound
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity, any_of
from pymoo_anon.objectives.spelling import short_name
from pymoo_anon.problems import BitStringProblem, LatticeProblem, LocalRecodingProblem, refine
from pymoo_anon.problems.arguments import measure_names
from pymoo_anon.publishing import release, verify
from pymoo_anon.table import AtMost, Hierarchy, Microdata, Violating

pytestmark = pytest.mark.filterwarnings("ignore:the hierarchies of .* do not end in one group")

EACH = [DistinctLDiversity("s0"), DistinctLDiversity("s1")]
WARD = pd.DataFrame(
    {
        "age": [1, 1, 1, 2, 2, 2],
        "ill": ["a", "b", "c", "a", "b", "b"],
        "paid": ["x", "x", "y", "y", "x", "z"],
    }
)


def ward(sensitive=("ill", "paid")):
    return Microdata.from_frame(WARD, {"age": Hierarchy.flat([1, 2])}, sensitive=sensitive)


@more(5)
@given(data=st.data(), table=tables())
def test_it_is_the_least_of_all_columns_whatever_is_suppressed_and_known(data, table):
    node, known = data.draw(nodes(table)), data.draw(st.sampled_from([None, any_of(1), any_of(2)]))
    least, each = DistinctLDiversity(known=known), [DistinctLDiversity(own.column, known=known) for own in EACH]
    bound = data.draw(st.integers(1, 4))
    for rule, own, others in (
        (AtMost(0), [], []),
        (Violating(0.5), [least >= bound], [one >= bound for one in each]),
    ):
        made = [table.microdata.equivalence_classes(table.generalization(node), rule, two) for two in (own, others)]
        np.testing.assert_array_equal(made[0].kept, made[1].kept)
        worth = np.minimum(*(one.of_classes(made[0]) for one in each))
        np.testing.assert_array_equal(least.of_classes(made[0]), worth)
        assert least.evaluate(made[0])[0] == min(one.evaluate(made[0])[0] for one in each)


GOALS = [[GeneralLossMetric(), DistinctLDiversity()], [KAnonymity(), DistinctLDiversity(), GeneralLossMetric()]]


@pytest.mark.parametrize("violating", [False, True])
@pytest.mark.parametrize("goals", GOALS, ids=len)
def test_certified_fronts_are_those_of_all_nodes(goals, violating):
    pruned = 0
    for seed in range(times(2)):
        task = Task(invented(seed), goals, [(DistinctLDiversity(), True, 2)], [0, 3, 12][seed % 3], violating=violating)
        for max_bytes in (2 << 30, 1):
            res = minimize(task.problem, BranchAndBound(max_bytes=max_bytes), seed=seed)
            assert res.algorithm.certified
            np.testing.assert_array_equal(found(res, task.problem), task.front)
            pruned += res.algorithm.n_pruned
    assert pruned > 0


def test_fronts_of_bit_strings_that_keep_it_are_certified():
    frame = pd.DataFrame({"a": [0, 1, 2, 3, 0, 1, 2, 3], "b": [0, 0, 1, 1, 2, 2, 0, 1], "s": [*"abacabba"]})
    frame["t"] = [*"xyxyyxzz"]
    trees = {"a": Hierarchy.flat(range(4)), "b": Hierarchy.flat(range(3))}
    table = Microdata.from_frame(frame, trees, sensitive=["s", "t"])
    goals, asked = [KAnonymity(), GeneralLossMetric()], [DistinctLDiversity() >= 2]
    problem = BitStringProblem(table, goals, suppression=Violating(1), constraints=asked)
    every = np.array([[bit == "1" for bit in f"{number:0{problem.n_var}b}"] for number in range(2**problem.n_var)])
    F, G = problem.evaluate(every, return_values_of=["F", "G"])
    F = F[(G <= 0).all(axis=1)]
    front = [row for row in np.unique(F, axis=0) if not ((row >= F).all(axis=1) & (row > F).any(axis=1)).any()]
    res = minimize(problem.fresh_copy(), BranchAndBound(), seed=1)
    assert res.algorithm.certified
    np.testing.assert_array_equal(np.unique(res.F, axis=0), front)


@pytest.mark.parametrize("known", [None, any_of(2)])
@pytest.mark.parametrize("method", ["bottom-up", "top-down"])
def test_local_recodings_hold_it_in_every_column(method, known):
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(rng.integers(0, 16, (300, 3)), columns=["q0", "q1", "q2"])
    frame["s0"], frame["s1"] = rng.choice([*"aaaab"], 300), rng.choice([*"xxyz"], 300)
    trees = dict.fromkeys(["q0", "q1", "q2"], Hierarchy.intervals(0, 16, widths=[2, 4, 8]))
    table = Microdata.from_frame(frame, trees, sensitive=["s0", "s1"])
    asked = [DistinctLDiversity(known=known) >= 2]
    problem = LocalRecodingProblem(table, [KAnonymity(), GeneralLossMetric()], asked, method=method)
    assert problem.held == problem.constraints
    for k in (1, 3, 20):
        classes = problem.equivalence_classes(problem.x_of(k))
        assert min(DistinctLDiversity(one, known=known).evaluate(classes)[0] for one in ("s0", "s1")) >= 2


def test_a_refinement_keeps_it():
    table = Microdata.from_frame(
        pd.DataFrame({"q": np.repeat([0, 4, 8], [100, 100, 20]), "s0": np.arange(220) % 3, "s1": np.arange(220) % 4}),
        {"q": Hierarchy.intervals(0, 16, widths=[4, 8])},
        sensitive=["s0", "s1"],
    )
    problem = LatticeProblem(table, [KAnonymity(), DistinctLDiversity(), GeneralLossMetric()])
    before = problem.equivalence_classes([2])
    after = table.equivalence_classes(refine(problem, [2]))
    assert len(after.sizes) > len(before.sizes)
    for one in EACH:
        assert one.evaluate(after)[0] >= DistinctLDiversity().evaluate(before)[0]


@pytest.mark.parametrize("drop", [(), "paid", ("ill", "paid")])
def test_a_release_counts_it_again_in_all_columns(drop):
    problem = LatticeProblem(ward(), [KAnonymity(), DistinctLDiversity(), GeneralLossMetric()])
    made = release(WARD, problem, [0], drop=drop)
    own = made.claims[made.claims.measure == "l"].iloc[0]
    assert (own.promised, own.recounted, own.holds) == (2, 2, True)


def test_a_table_from_elsewhere_is_held_against_it():
    asked = [DistinctLDiversity() >= 2, DistinctLDiversity(known=["age"]) >= 3]
    claims = verify(WARD, ["age"], asked, sensitive=["ill", "paid"])
    assert (claims.recounted.tolist(), claims.holds.tolist()) == ([2, 2], [True, False])


def test_it_is_refused_without_a_sensitive_column():
    with pytest.raises(ValueError, match=r"DistinctLDiversity\(\) reads all sensitive columns of the table"):
        LatticeProblem(ward(sensitive=()), [DistinctLDiversity()])
    with pytest.raises(ValueError, match=r"DistinctLDiversity\(\) reads all sensitive columns of the table"):
        verify(WARD, ["age"], [DistinctLDiversity()])


def test_names_tell_it_from_that_of_a_column():
    both = [DistinctLDiversity(), DistinctLDiversity("ill")]
    assert list(measure_names(both).values()) == ["l", "l of ill"]
    assert [*map(short_name, both)] == ["l", "l:ill"]
    assert list(map(repr, both)) == ["DistinctLDiversity()", "DistinctLDiversity('ill')"]
