"""Bounds of measures, broken and exactly on their edge, and certified fronts beside exhaustive search."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymoo.optimize import minimize
from strategies import one_class_each, raw, times
from tasks import BOUNDED, KINDS, Task, any_tasks, check_certified, found, invented, minimal, sorted_rows, tasks

from pymoo_anon.algorithms import BranchAndBound, ExhaustiveSearch
from pymoo_anon.engine import DistinctTuples, Grouper
from pymoo_anon.fronts.archive import boxes
from pymoo_anon.objectives import *
from pymoo_anon.objectives.bounds import suppression_budget
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.table import AtMost, Hierarchy, Microdata, Violating

pytestmark = pytest.mark.filterwarnings("ignore:the hierarchies of .* do not end in one group")


def test_constraints_need_no_bounds_and_objectives_do():
    table = invented(0)
    for unbounded in (kind for kind in KINDS if kind.bounding is None):
        task = Task(table, [KAnonymity(), GeneralLossMetric()], [(unbounded, False, 1.0)], 3)
        res = minimize(task.problem, BranchAndBound())
        assert res.algorithm.certified
        np.testing.assert_array_equal(found(res, task.problem), task.front)
        for max_bytes in (2 << 30, 1):
            with pytest.raises(ValueError) as caught:
                minimize(LatticeProblem(table, [KAnonymity(), unbounded]), BranchAndBound(max_bytes=max_bytes))
            assert str(caught.value) == f"{unbounded!r} states no bounds; ExhaustiveSearch or PBGEA search without any"


#: Classes of 1, 2, 2 and 5 rows, with 1, 2, 1 and 3 values, and persons of a register: the classes fit 1, 3, 3 and 13.
OF = "a", "ab", "bb", "aabbc"
CLASSES = raw(one_class_each(OF), limit=3)
REGISTER = one_class_each(["a", "abc", "abc", "a" * 13])


#: Two values of a quasi-identifier, one three times as frequent, in one class: something is lost.
(PAIR,) = Grouper(DistinctTuples([[0], [1]], [3, 1], (2,))).classes(np.zeros((1, 2), dtype=np.int64), np.array([[1]]))


def best(measure, limit, classes=OF, by_k=False):
    """Return a measure's bound over the specializations, case by case."""
    own = raw(one_class_each(classes) if isinstance(classes, tuple) else classes, limit=limit)
    below = suppression_budget(own, AtMost(limit), (), by_k=by_k)
    return measure.bounding(measure).best_of_specializations(own, below).tolist()


L, ENTROPY = DistinctLDiversity("s"), EntropyLDiversity("s")
#: Measures, classes, and the bound by limit.
BY_LIMIT = [
    # Classes that use up the limit exactly are suppressed.
    (L, OF, {0: 1, 2: 1, 3: 2, 4: 2, 5: 3}),
    # As many classes as possible are suppressed, and one is left.
    (MarketerRisk(), OF, {0: 0.4, 1: 0.3, 2: 0.3, 3: 0.2, 4: 0.2, 5: 0.1, 9: 0.1}),
    # The tuples that fit the fewest persons are suppressed. One of them fits all 20.
    (MarketerRisk(REGISTER), OF, {0: (1 + 4 / 3 + 5 / 13) / 10, 2: (3 / 3 + 5 / 13 + 2 / 20) / 10}),
    # Three suppressed rows are enough to be out of risk.
    (RecordsAtRisk(1 / 3), OF, {0: 0.5, 1: 0.5, 2: 0.5, 3: 0.2, 4: 0.1, 5: 0, 9: 0}),
    # Classes exactly as large as two are out of it at once.
    (RecordsAtRisk(1 / 2), OF, {0: 0.1, 1: 0.1, 2: 0}),
    # Three households, of which the limit takes those that are found most easily.
    (HouseholdRisk("s"), OF, {0: 1, 1: 1 - 0.5**3 * 0.8**2, 2: 0.2, 3: 0}),
    # A class that the limit just takes says nothing.
    (ENTROPY, ("aaa", "abcd"), {2: 1, 3: 4}),
    (RecursiveCLDiversity("s", 2), ("aaa", "abcd"), {2: 1, 3: 4}),
    # Two values, of which one is twice as frequent: less than 2. Where one tuple may go, one of each is left.
    (ENTROPY, ("aab", "abcd"), {0: 1.8898815748423097, 1: 2}),
    # Two values at most, however even the rest is.
    (ENTROPY, ("aabb", "abcdefgh"), {3: 2}),
    # The class of one value goes whole, and one of two values may go before it.
    (AlphaDeassociation("s"), OF, {0: 1, 2: 1, 3: 1 / 2}),
    (BasicBetaLikeness("s"), OF, {0: 3 / 2, 1: 1, 3: 1, 4: 1 / 4}),
    (TCloseness("s"), OF, {0: 0.6, 1: 0.5, 2: 0.5, 3: 0.1}),
    # Nothing but its end makes a class finite whose value exceeds what one row of it may tell.
    (EnhancedBetaLikeness("s"), ("aaa", "abcd"), {2: np.inf, 3: 3 / 4}),
]


@pytest.mark.parametrize(("measure", "classes", "expected"), BY_LIMIT, ids=str)
def test_the_best_of_specializations_by_limit(measure, classes, expected):
    assert {limit: best(measure, limit, classes) for limit in expected} == {
        limit: pytest.approx([bound], rel=1e-5) for limit, bound in expected.items()
    }


BITS = [np.log2(10), 4 * np.log2(10 / 2)]
#: Limits, measures, and the bound by case: none is gone, the class of 1, and those of 2 besides.
BY_CASE = [
    (5, KAnonymity(), [1, 2, 5]),
    (5, ProsecutorRisk(), [1, 1 / 2, 1 / 5]),
    # With the class of 1 gone one of 2 with one value can go too, but none beside it.
    (3, L, [2, 2]),
    (2, L, [1, 1]),
    # Sums lose the classes that are gone, and gain one of the limit.
    (3, SquaredClassSizes(), [1 + 4 + 4 + 25 + 9, 4 + 4 + 25 + 9]),
    (3, SquaredValueCounts("s"), [1 + 2 + 4 + 9 + 9, 2 + 4 + 9 + 9]),
    # Losses on top are those of the tuples that are gone.
    (5, GeneralLossMetric(), [0, 1, 5]),
    (5, GeneralLossMetric([3]), [0, 3, 15]),
    (5, NormalizedWeightedPenalty(), [0, 0.1, 0.5]),
    (5, Precision(), [0, 0.1, 0.5]),
    (5, NonUniformEntropy(), [0, BITS[0], sum(BITS)]),
    (5, ClassificationMetric("s"), [0, 1, 1 + 1 + 2]),
]


@pytest.mark.parametrize(("limit", "measure", "expected"), BY_CASE, ids=str)
def test_the_best_of_specializations_by_case(limit, measure, expected):
    assert best(measure, limit, by_k=True) == pytest.approx(expected)


def test_cases_lie_between_the_sizes_that_are_suppressed():
    # At most 3 tuples: the class of 1 goes, of those of 2 only both together, which is too many. So k = 2.
    below = suppression_budget(CLASSES, AtMost(3), (), by_k=True)
    assert below.small.tolist() == [0]
    assert below.gone.tolist() == [[0], [1]]
    assert below.most_k.tolist() == [1, 2]
    # Exactly 5 tuples are those of 1 and of 2: k = 5.
    classes = raw(one_class_each(OF), limit=5)
    below = suppression_budget(classes, AtMost(5), (), by_k=True)
    assert (below.small.tolist(), below.most_k.tolist()) == ([0, 1, 2], [1, 2, 5])
    assert below.gone.tolist() == [[0, 0, 0], [1, 0, 0], [1, 2, 2]]
    assert len(suppression_budget(classes, AtMost(5), (), by_k=False)) == 1
    # The first class joins the last one, and the others each other.
    merged = below.merged(np.array([1, 0, 0, 1]), 2)
    assert (merged.small.tolist(), merged.gone.tolist()) == ([0, 1], [[0, 0], [0, 1], [4, 1]])


def test_losses_on_top_are_means_over_the_attributes_where_losses_are():
    frame = pd.DataFrame({"p": [0, 1, 1, 1], "q": [0, 1, 1, 1]})
    hierarchies = {"p": Hierarchy([[0, 1], ["*", "*"]]), "q": Hierarchy([[0, 1], [0, 1], ["*", "*"]])}
    classes = Microdata.from_frame(frame, hierarchies)
    assert best(Precision(), 1, classes, by_k=True) == pytest.approx([0, 1 / 4])
    assert best(NormalizedWeightedPenalty([0.25, 0.75]), 1, classes, by_k=True) == pytest.approx([0, 1 / 4])
    assert best(GeneralLossMetric(), 1, classes, by_k=True) == [0, 2]
    assert best(NonUniformEntropy(), 1, classes, by_k=True) == [0, 4]


def test_floors_that_rise_are_values_without_suppression():
    for measure, expected in (
        (ClassificationMetric("s"), 1 + 3),
        (Discernibility(), 1 + 4 + 4 + 25),
        (AverageClassSize(), 10 / 4),
    ):
        assert measure.bounding(measure).floor_of_generalizations(CLASSES) == expected
    kl = KLDivergence()
    floor = kl.bounding(kl).floor_of_generalizations(CLASSES)
    value = kl.evaluate(raw(one_class_each(OF)))[0]
    assert floor == pytest.approx(value)
    # The loss is a rounded sum, and its rounding must not prove anything. This table loses nothing.
    assert floor <= value
    assert kl.bounding(kl).floor_of_generalizations(PAIR) < kl.evaluate(PAIR)[0]


def sure(measure, bound, *classes):
    """Return the fewest rows that specializations suppress of each class."""
    own = raw(one_class_each(classes))
    constraint = measure >= bound if measure.maximize else measure <= bound
    return measure.bounding(measure).surely_suppressed(own, constraint).tolist()


def test_classes_exactly_on_a_bound_keep_it():
    assert sure(KAnonymity(), 2, "a", "ab", "aab") == [1, 0, 0]
    assert sure(DistinctLDiversity("s"), 2, "aaa", "ab", "abc") == [3, 0, 0]
    # 3 of 4 is exactly 0.75; without one, 4 of 5 are that, too. Without 3, one a and one b are left; of aaa, nothing.
    assert sure(AlphaDeassociation("s"), 0.75, "aaab", "aaaab") == [0, 1]
    assert sure(AlphaDeassociation("s"), 0.5, "aaaab", "aaa") == [3, 3]
    # The table has a and b as often, so that 3 of 4 are a surplus of 1/4.
    assert sure(TCloseness("s"), 0.25, "aaab", "abbb") == [0, 0]
    assert sure(TCloseness("s"), 0.2, "aaab", "abbb") == [1, 1]
    assert sure(BasicBetaLikeness("s"), 0.5, "aaab", "abbb") == [0, 0]
    assert sure(BasicBetaLikeness("s"), 0.4, "aaab", "abbb") == [1, 1]
    assert sure(EntropyLDiversity("s"), 2, "aab", "ab", "aaaab", "aaa") == [1, 0, 3, 3]
    # Losing one a is enough: a is two of four, which is half.
    assert sure(EntropyLDiversity("s"), 2.9, "aabc") == [1]
    # c = 2: 3 < 2 · 1 is wrong and 1 < 2 · 1 is right.
    assert sure(RecursiveCLDiversity("s", 2), 2, "aaab", "ab", "aab") == [2, 0, 1]


def test_what_surely_goes_counts_against_the_limit():
    classes = raw(one_class_each(OF))
    constraints = [KAnonymity() >= 2, DistinctLDiversity("s") >= 2]
    below = suppression_budget(classes, Violating(3), constraints, by_k=True)
    assert below.small.tolist() == [0, 2]
    assert below.gone.tolist() == [[1, 2]]
    assert not below.impossible
    # Nothing is left of the limit: the class of two values stays.
    assert below.most_k.tolist() == [2]
    assert best_below(DistinctLDiversity("s"), classes, below) == [2]
    assert suppression_budget(classes, Violating(2), constraints, by_k=True).impossible
    with_room = suppression_budget(classes, Violating(5), constraints, by_k=True)
    assert with_room.most_k.tolist() == [5]
    assert best_below(DistinctLDiversity("s"), classes, with_room) == [3]
    assert best_below(SquaredClassSizes(), classes, with_room) == [4 + 25 + 25]


def best_below(measure, classes, below):
    return measure.bounding(measure).best_of_specializations(classes, below).tolist()


MEASURES = (KAnonymity(), DistinctLDiversity(), AlphaDeassociation("s"), Discernibility(), AverageClassSize())


@pytest.mark.parametrize("violating", [False, True], ids=["AtMost", "Violating"])
def test_fronts_are_exact_where_equality_is_common(violating):
    """Check tiny tables, with bounds and limits on attained values."""
    wrong = []
    for seed in range(times(60)):
        rng = np.random.default_rng(seed)
        n_rows = int(rng.integers(6, 16))
        levels = [[0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0]]
        frame = pd.DataFrame({f"q{j}": rng.integers(0, 4, n_rows) for j in range(3)})
        frame["s"] = rng.choice(list("abc"), n_rows)
        table = Microdata.from_frame(frame, {f"q{j}": Hierarchy(levels) for j in range(3)}, sensitive="s")
        limit = int(rng.integers(0, n_rows // 2 + 1))
        measure = MEASURES[int(rng.integers(0, 3 if violating else len(MEASURES)))]
        values = Task(table, [measure], [], limit).F[:, 0]
        bound = abs(float(rng.choice(values)))
        goals = [GeneralLossMetric(), *rng.permutation([*MEASURES[:3], SquaredClassSizes()])[: int(rng.integers(0, 3))]]
        if measure.bounding.floor_rises:
            goals.append(ClassificationMetric("s"))
        task = Task(table, goals, [(measure, measure.maximize, bound)], limit, violating)
        res = minimize(task.problem, BranchAndBound(), seed=seed)
        if not np.array_equal(found(res, task.problem), task.front):
            wrong.append(seed)
    assert not wrong


#: In a group of their own the paper's objectives are combined more often.
GROUPS = {
    "the paper's": (
        KAnonymity(),
        DistinctLDiversity("s0"),
        SquaredClassSizes(),
        SquaredValueCounts("s0"),
        GeneralLossMetric(),
        ClassificationMetric("s1"),
    ),
    "all with bounds": BOUNDED,
}
RULES = {"AtMost": {}, "Violating": {"violating": True}, "Below": {"below": True}}

every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))


@every_rule
@pytest.mark.parametrize("kinds", GROUPS.values(), ids=list(GROUPS))
@given(data=st.data(), seed=st.integers(0, 3))
def test_the_certified_front_is_that_of_exhaustive_search(kinds, rule, data, seed):
    """Compare also with plain comparisons of the values of all nodes."""
    task = data.draw(tasks(of=kinds, **rule))
    problem = task.problem
    check_certified(problem, task.front, seed)
    np.testing.assert_array_equal(found(minimize(problem, ExhaustiveSearch()), problem), task.front)


stored_or_not = pytest.mark.parametrize("max_bytes", [2 << 30, 1], ids=["stored", "intervals"])


@st.composite
def tolerances(draw, n):
    """Draw a share or a side per objective, but not all sides."""
    drawn = draw(st.lists(st.sampled_from([0, "1%", "10%", "60%", 0.5, 3]), min_size=n, max_size=n))
    return drawn if any(one == 0 or isinstance(one, str) for one in drawn) else [0, *drawn[1:]]


@stored_or_not
@given(st.data(), any_tasks())
def test_members_stand_for_every_node_within_the_tolerance(max_bytes, data, task):
    epsilon = data.draw(tolerances(len(task.objectives)))
    proof = minimize(task.problem, BranchAndBound(epsilon, max_bytes=max_bytes), seed=0).algorithm.proof
    assert proof.certified
    for point in proof.tolerance.widened(task.front):
        assert (point + 1e-9 * np.abs(point) >= proof.F).all(axis=1).any()
    assert {tuple(f) for f in proof.F} <= {tuple(f) for f in task.F[(task.G <= 0).all(axis=1)]}


@stored_or_not
@given(any_tasks(), st.sampled_from([1.0, 3.0, 10.0]))
def test_boxes_give_one_feasible_node_of_each_that_is_not_dominated(max_bytes, task, epsilon):
    proof = minimize(task.problem, BranchAndBound(epsilon, max_bytes=max_bytes), seed=0).algorithm.proof
    assert proof.certified
    maximize = [objective.maximize for objective in task.objectives]
    own = boxes(proof.F, epsilon, maximize) if len(proof.F) else proof.F
    np.testing.assert_array_equal(sorted_rows(own), minimal(boxes(task.front, epsilon, maximize)))
    assert {tuple(f) for f in proof.F} <= {tuple(f) for f in task.F[(task.G <= 0).all(axis=1)]}
