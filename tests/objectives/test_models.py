"""Privacy and loss models against plain twins, scipy and worked examples."""

import datetime
from functools import partial

import numpy as np
import pandas as pd
import plain_models as plain
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain import PlainTable
from plain_models import PlainRelease
from scipy.optimize import linprog
from scipy.stats import wasserstein_distance
from strategies import (
    COLUMNS,
    drawn_classes,
    level_columns,
    one_class_each,
    partitions,
    populations,
    raw,
    tables,
)

from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import *
from pymoo_anon.problems import BitStringProblem, LatticeProblem
from pymoo_anon.table import Below, Hierarchy, Microdata

OF_A_COLUMN = {
    EntropyLDiversity: plain.entropy_l,
    AlphaDeassociation: plain.alpha,
    TCloseness: plain.equal_t,
    BasicBetaLikeness: plain.basic_beta,
    EnhancedBetaLikeness: plain.enhanced_beta,
    DeltaDisclosure: plain.delta,
}
OF_THE_TABLE = {
    ProsecutorRisk: plain.prosecutor_risk,
    MarketerRisk: plain.marketer_risk,
    Discernibility: plain.discernibility,
    AverageClassSize: plain.average_class_size,
    NonUniformEntropy: plain.non_uniform_entropy,
    Precision: plain.precision,
    KLDivergence: plain.kl_divergence,
}
CS = st.sampled_from([0.1, 0.3, 0.5, 1, 1.1, 1.5, 2, 3]) | st.floats(0.01, 50)


def assert_agree(objective, values, expected):
    if objective.whole:
        assert values.tolist() == list(expected), repr(objective)
    else:
        np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-13, err_msg=repr(objective))


def compare(data, table, *pairs):
    """Compare objectives with their twins on some nodes of a table."""
    classes, some, policy = drawn_classes(data, table)
    releases = [PlainRelease(table.plain, node, **policy) for node in some]
    for objective, twin in pairs:
        assert_agree(objective, objective.evaluate(classes), [twin(release) for release in releases])


@given(data=st.data(), table=tables(), column=st.sampled_from(COLUMNS))
def test_models_of_a_column_are_what_the_rows_say(data, table, column):
    compare(data, table, *((kind(column), partial(twin, column=column)) for kind, twin in OF_A_COLUMN.items()))


@given(data=st.data(), table=tables())
def test_models_of_the_table_are_what_the_rows_say(data, table):
    compare(data, table, *((kind(), twin) for kind, twin in OF_THE_TABLE.items()))
    risks = (0.09, 0.2, 0.3, 1 / 3, 0.5)
    compare(data, table, *((RecordsAtRisk(risk), partial(plain.records_at_risk, threshold=risk)) for risk in risks))


@given(data=st.data(), table=tables(), column=st.sampled_from(COLUMNS), c=CS)
def test_arguments_are_what_the_rows_say(data, table, column, c):
    weights = data.draw(st.lists(st.floats(0, 5) | st.just(1), min_size=len(table.levels), max_size=len(table.levels)))
    frame, population = data.draw(populations(table))
    compare(
        data,
        table,
        (RecursiveCLDiversity(column, c), partial(plain.recursive_l, column=column, c=c)),
        (DeltaDisclosure(column, strict=True), partial(plain.delta, column=column, strict=True)),
        (KMap(population), partial(plain.k_map, population=frame)),
        (GeneralLossMetric([*weights[:-1], 1]), partial(plain.weighted_loss, weights=[*weights[:-1], 1])),
    )


@given(data=st.data(), table=tables())
def test_distances_are_what_the_rows_say(data, table):
    ascending = sorted(table.frame["s1"].unique())
    order = data.draw(st.permutations("abcdefg"[: data.draw(st.integers(4, 7))]))
    columns = data.draw(level_columns(order, rooted=True))
    levels = [dict(zip(order, column, strict=True)) for column in columns]
    compare(
        data,
        table,
        (TCloseness("s1", "ordered"), partial(plain.ordered_t, column="s1", order=ascending)),
        (TCloseness("s0", order), partial(plain.ordered_t, column="s0", order=order)),
        (TCloseness("s0", tuple(order)), partial(plain.ordered_t, column="s0", order=order)),
        (
            TCloseness("s0", Hierarchy(columns)),
            partial(plain.hierarchical_t, column="s0", levels=levels),
        ),
    )


@given(data=st.data(), partition=partitions(rooted=True))
def test_models_of_bit_strings_are_what_the_rows_say(data, partition):
    frame = partition.table.frame
    limit = data.draw(st.integers(0, len(frame) - 1))
    objectives = [kind() for kind in OF_THE_TABLE]
    problem = BitStringProblem(partition.table.microdata, objectives, suppression=limit, **partition.arguments)
    X = problem.sample(3, np.random.default_rng(data.draw(st.integers(0, 99))))
    releases = []
    for x in X:
        levels = partition.labels_of(x)
        releases.append(PlainRelease(PlainTable(frame, levels), [0] * len(levels), limit=limit))
    # The numbers of groups serve as labels.
    hierarchies = {
        name: [dict(zip(hierarchy.domain, groups.tolist(), strict=True)) for groups in hierarchy.groups]
        for name, hierarchy in problem.table.quasi_identifiers.items()
    }
    twins = {**OF_THE_TABLE, Precision: partial(plain.precision, hierarchies=hierarchies)}
    for objective, values in zip(objectives, problem.natural(problem.compute(X)).T, strict=True):
        assert_agree(objective, values, [twins[type(objective)](release) for release in releases])


# Distances, against programs without any notion of anonymization


def earth_moved(p, q, distances):
    """Solve the transport problem itself as a linear program."""
    m = len(p)
    rows = [np.kron(np.eye(m)[i], np.ones(m)) for i in range(m)] + [np.kron(np.ones(m), np.eye(m)[i]) for i in range(m)]
    return linprog(np.ravel(distances), A_eq=np.array(rows), b_eq=np.concatenate([p, q])).fun


SEVERAL_CLASSES = st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=8), min_size=1, max_size=4)


def distributions(values_of_class, domain):
    together = [value for values in values_of_class for value in values]
    q = np.array([together.count(value) for value in domain]) / len(together)
    return [np.array([values.count(value) for value in domain]) / len(values) for values in values_of_class], q


@given(SEVERAL_CLASSES)
def test_the_ordered_distance_is_scipys(values_of_class):
    order = [3, 0, 4, 1, 5, 2, 6]
    ps, q = distributions(values_of_class, order)
    expected = max(wasserstein_distance(range(7), range(7), p, q) / 6 for p in ps)
    classes = raw(one_class_each(values_of_class))
    np.testing.assert_allclose(TCloseness("s", order).evaluate(classes), [expected], rtol=1e-9, atol=1e-12)


@given(SEVERAL_CLASSES)
def test_the_equal_distance_is_a_transport(values_of_class):
    ps, q = distributions(values_of_class, range(6))
    expected = max(earth_moved(p, q, 1 - np.eye(6)) for p in ps)
    classes = raw(one_class_each(values_of_class))
    np.testing.assert_allclose(TCloseness("s").evaluate(classes), [expected], rtol=1e-7, atol=1e-9)


@given(SEVERAL_CLASSES, level_columns(list(range(6)), rooted=True))
def test_the_hierarchical_distance_is_a_transport(values_of_class, columns):
    ps, q = distributions(values_of_class, range(6))
    levels = np.array([pd.factorize(pd.Series(column, dtype=object))[0] for column in columns])
    common = [[np.argmax(levels[:, a] == levels[:, b]) for b in range(6)] for a in range(6)]
    expected = max(earth_moved(p, q, np.array(common) / (len(levels) - 1)) for p in ps)
    classes = raw(one_class_each(values_of_class))
    found = TCloseness("s", Hierarchy(columns)).evaluate(classes)
    np.testing.assert_allclose(found, [expected], rtol=1e-7, atol=1e-9)


def test_days_have_an_order():
    days = [datetime.date(2026, 1, day) for day in (1, 31, 5)]
    for own in (days, [pd.Timestamp(day) for day in days]):
        classes = raw(one_class_each([own[:2], own[2:]]))
        # The 1st, the 5th and the 31st are three equal steps apart, because only their rank counts.
        np.testing.assert_allclose(TCloseness("s", "ordered").evaluate(classes), [1 / 3], rtol=1e-12)


def test_the_order_is_that_of_the_values():
    """Order values of a quasi-identifier as its hierarchy does."""
    frame = pd.DataFrame({"q": [2, 2, 2, 0, 1]})
    for domain in ([0, 1, 2], [0, 2, 1], [2, 1, 0]):
        classes = raw(Microdata.from_frame(frame, {"q": Hierarchy.flat(domain)}))
        # From 0: 3/5 by two steps and 1/5 by one, of two.
        np.testing.assert_allclose(TCloseness("q", "ordered").evaluate(classes), [0.7], rtol=1e-12)


def test_what_nobody_has_is_no_step():
    """Skip numbers that do not occur, so that 40 is the third.

    Three tuples are two steps from 0, and one is one step from it.
    """
    frame = pd.DataFrame({"q": [40, 40, 40, 0, 5]})
    classes = raw(Microdata.from_frame(frame, {"q": Hierarchy.flat([100, 40, 5, 7, 0])}))
    np.testing.assert_allclose(TCloseness("q", "ordered").evaluate(classes), [0.7], rtol=1e-12)


def test_a_hierarchy_of_one_value_has_no_distance():
    classes = raw(one_class_each(["aa", "a"]))
    assert TCloseness("s", Hierarchy([["a"]])).evaluate(classes).tolist() == [0]


def test_c_beyond_the_rows_is_as_good_as_the_rows():
    classes = raw(one_class_each(["aaaaab"]))
    assert [RecursiveCLDiversity("s", c).evaluate(classes)[0] for c in (5, 5.1, 1e18, 1e300)] == [1, 2, 2, 2]


def test_a_c_of_many_digits_holds_billions_of_rows():
    """Multiply the rest by c in millionths, beyond 64 bits."""
    counts = np.array([10**9, 10**9])
    table = Microdata.from_codes(
        {"q": Hierarchy.flat([0])}, [np.zeros(2, int)], counts, {"s": np.arange(2)}, {"s": ["a", "b"]}, ["s"]
    )
    classes = raw(table)
    assert [RecursiveCLDiversity("s", c).evaluate(classes)[0] for c in (1, 1.5, 92233.720369, 1e-9)] == [1, 2, 2, 1]


@pytest.mark.parametrize("weights", [[1e30, 1], [1, 1e300]])
def test_a_weight_beyond_whole_numbers_costs_nothing_where_nothing_is_lost(weights):
    table = Microdata.from_frame(pd.DataFrame({"p": [0, 1], "q": [0, 1]}), dict.fromkeys("pq", Hierarchy.flat([0, 1])))
    problem = LatticeProblem(table, [GeneralLossMetric(weights)])
    assert problem.compute(np.array([[0, 0]])).tolist() == [[0]]
    assert problem.compute(np.array([[1, 1]])).tolist() == [[2 * sum(weights)]]


# Examples worked by hand


def test_the_salaries_of_li_et_al():
    """Compare with Li et al. 2007, section 4.1.

    For Q = {3k, ..., 11k}, t is 0.375 with P1 = {3k, 4k, 5k} and 0.167 with P2 = {6k, 8k, 11k}.
    """
    for kept, expected in (([3, 4, 5], 0.375), ([6, 8, 11], 1 / 6)):
        rest = [[k] for k in range(3, 12) if k not in kept]
        classes = raw(one_class_each([kept, *rest]), below=3)
        np.testing.assert_allclose(TCloseness("s", "ordered").evaluate(classes), [expected], rtol=1e-12)


@pytest.mark.parametrize(
    ("other", "distance"), [("bronchitis", 1 / 3), ("pulmonary embolism", 2 / 3), ("stomach cancer", 1)]
)
def test_the_diseases_of_li_et_al(other, distance):
    """Compare with Li et al. 2007, section 4.2.

    Flu is 1/3 from bronchitis, 2/3 from pulmonary embolism and 1 from stomach cancer.
    """
    diseases = Hierarchy(
        [
            ["flu", "bronchitis", "pulmonary embolism", "stomach cancer"],
            ["respiratory infection", "respiratory infection", "vascular lung disease", "stomach disease"],
            ["respiratory", "respiratory", "respiratory", "digestive"],
            ["*"] * 4,
        ]
    )
    classes = raw(one_class_each([["flu"], [other]]))
    # Each class has to send half of its mass to the other value.
    np.testing.assert_allclose(TCloseness("s", diseases).evaluate(classes), [distance / 2], rtol=1e-12)


def test_the_patients_of_machanavajjhala_et_al():
    """Evaluate l on the 3-diverse table.

    Each class holds heart disease, viral infection and cancer, one of them twice.
    """
    classes = raw(one_class_each(["HVCC", "CHVV", "HVCC"]))
    np.testing.assert_allclose(EntropyLDiversity("s").evaluate(classes), [2**1.5], rtol=1e-12)
    # r = (2, 1, 1): 2 < c (1 + 1) above c = 1, and 2 < c above c = 2.
    assert [RecursiveCLDiversity("s", c).evaluate(classes)[0] for c in (0.5, 1, 1.01, 2, 2.01)] == [1, 1, 2, 2, 3]


def test_a_decimal_is_the_one_that_was_written():
    """Compare 110 with 4.4 times 25 exactly, as floats are wrong."""
    assert 110 < 4.4 * 25
    classes = raw(one_class_each(["a" * 110 + "b" * 25]))
    assert [RecursiveCLDiversity("s", c).evaluate(classes)[0] for c in (4.4, 4.40001)] == [1, 2]


def test_every_c_is_shown_in_full():
    """Show every digit, as problems distinguish objectives by repr."""
    assert repr(RecursiveCLDiversity("s", 1.5)) == "RecursiveCLDiversity('s', 1.5)"
    assert repr(RecursiveCLDiversity("s", 1.50000001)) == "RecursiveCLDiversity('s', 1.50000001)"


def test_shares_worked_by_hand():
    """Compute values for one q and two p by hand.

    q is (1/2, 1/3, 1/6), and p is (2/3, 1/3, 0) and (1/3, 1/3, 1/3).
    """
    classes = raw(one_class_each(["aab", "abc"]))
    assert AlphaDeassociation("s").evaluate(classes) == [2 / 3]
    np.testing.assert_allclose(BasicBetaLikeness("s").evaluate(classes), [1], rtol=1e-12)
    # 1 is at most -ln(1/6), and the gain of 1/3 of the most frequent value at most -ln(1/2).
    np.testing.assert_allclose(EnhancedBetaLikeness("s").evaluate(classes), [1], rtol=1e-12)
    np.testing.assert_allclose(DeltaDisclosure("s").evaluate(classes), [1], rtol=1e-12)
    assert DeltaDisclosure("s", strict=True).evaluate(classes) == [np.inf]
    assert ProsecutorRisk().evaluate(classes) == [1 / 3]
    assert MarketerRisk().evaluate(classes) == [1 / 3]
    # p = 1 and q = 1/2: a gain of 1 is more than -ln(1/2).
    alone = raw(one_class_each(["a", "b"]))
    assert EnhancedBetaLikeness("s").evaluate(alone) == [np.inf]
    assert BasicBetaLikeness("s").evaluate(alone) == [1]


@pytest.mark.parametrize(("node", "expected"), [((1, 0), 3 / 4), ((1, 1), 7 / 12), ((0, 2), 2 / 3), ((0, 1), 5 / 6)])
def test_the_precisions_of_sweeney(node, expected):
    """Compare with figure 5 of Sweeney (2002).

    Prec is 0.75, 0.58, 0.67 and 0.83 for GT[1,0], GT[1,1], GT[0,2] and GT[0,1].
    """
    races = ["asian", "black", "white"]
    zips = ["02138", "02139", "02141", "02142"]
    hierarchies = {
        "race": Hierarchy([races, ["person"] * 3, ["*"] * 3]),
        "zip": Hierarchy([zips, ["0213*", "0213*", "0214*", "0214*"], ["021**"] * 4, ["*"] * 4]),
    }
    frame = pd.DataFrame([(race, zip_) for race in races for zip_ in zips], columns=["race", "zip"])
    table = Microdata.from_frame(frame, hierarchies)
    chosen = list(zip(hierarchies.values(), node, strict=True))
    maps = np.concatenate([hierarchy.groups[level] for hierarchy, level in chosen])
    (classes,) = table.grouper.classes(maps[np.newaxis], np.array([[h.n_groups[level] for h, level in chosen]]))
    np.testing.assert_allclose(Precision().evaluate(classes), [expected], rtol=1e-12)


def test_losses_worked_by_hand():
    """Suppress one of four rows, which is alone in its class."""
    classes = raw(one_class_each(["aab", "c"]), limit=1)
    assert Discernibility().evaluate(classes) == [3 * 3 + 4 * 1]
    assert AverageClassSize().evaluate(classes) == [4 / 2]
    assert MarketerRisk().evaluate(classes) == [2 / 4]
    assert ProsecutorRisk().evaluate(classes) == [1 / 3]
    np.testing.assert_allclose(NonUniformEntropy().evaluate(classes), [np.log2(4 / 1)], rtol=1e-12)
    np.testing.assert_allclose(Precision().evaluate(classes), [3 / 4], rtol=1e-12)
    assert GeneralLossMetric([0.5]).evaluate(classes) == [0.5]
    # Three rows stay, and the fourth may be either value, so (7/8, 1/8) is released of (3/4, 1/4).
    expected = 3 / 4 * np.log2(6 / 7) + 1 / 4 * np.log2(2)
    np.testing.assert_allclose(KLDivergence().evaluate(classes), [expected], rtol=1e-12)


@given(data=st.data(), table=tables())
def test_where_every_tuple_is_suppressed_the_table_is_one_class(data, table):
    n_rows, n_cells = len(table.frame), int(np.prod(table.microdata.tuples.domain_sizes))
    frame, population = data.draw(populations(table))
    (classes,) = table.microdata.grouper.classes(*table.group_maps([table.top]), columns=COLUMNS, below=n_rows + 1)
    for column in COLUMNS:
        q = table.frame[column].value_counts() / n_rows
        assert AlphaDeassociation(column).evaluate(classes) == [q.max()]
        np.testing.assert_allclose(EntropyLDiversity(column).evaluate(classes), np.exp(-(q * np.log(q)).sum()))
        for kind in (TCloseness, BasicBetaLikeness, EnhancedBetaLikeness, DeltaDisclosure):
            assert kind(column).evaluate(classes) == [0]
        assert DeltaDisclosure(column, strict=True).evaluate(classes) == [0]
    assert ProsecutorRisk().evaluate(classes) == MarketerRisk().evaluate(classes) == [1 / n_rows]
    assert KMap(population).evaluate(classes) == [len(frame)]
    assert Discernibility().evaluate(classes) == [n_rows**2]
    assert AverageClassSize().evaluate(classes) == [n_rows]
    assert Precision().evaluate(classes) == [0]
    assert GeneralLossMetric([2] * len(table.levels)).evaluate(classes) == [2 * n_rows * len(table.levels)]
    p = table.frame.groupby(list(table.levels)).size() / n_rows
    np.testing.assert_allclose(KLDivergence().evaluate(classes), [(p * np.log2(p * n_cells)).sum()], atol=1e-13)


def test_an_order_of_the_bits_leaves_the_levels_as_they_are():
    """Join 1 and 2 first, as the hierarchy does, in any order."""
    hierarchy = Hierarchy([[1, 3, 2, 4], ["a", "b", "a", "b"], list("****")])
    table = Microdata.from_frame(pd.DataFrame({"q": [1, 2, 3, 4]}), {"q": hierarchy})
    for order in ([1, 2, 3, 4], [4, 3, 2, 1]):
        problem = BitStringProblem(table, [Precision()], orders={"q": order})
        halves = np.array([[False, True, False]])
        np.testing.assert_array_equal(problem.natural(problem.compute(halves)), [[0.5]])
    flat = BitStringProblem(table, [Precision()], orders={"q": [1, 2, 3, 4, 5]})
    np.testing.assert_array_equal(flat.natural(flat.compute(np.array([[False, True, False, True]]))), [[0]])


def test_records_at_risk_are_those_of_small_classes_and_of_few_suppressed():
    table = make_census(300)
    problem = LatticeProblem(table, [RecordsAtRisk()], suppression=Below(2))
    classes = problem.equivalence_classes([1] * problem.n_var)
    small = classes.sizes[classes.kept & (classes.sizes <= 11)].sum()
    gone = classes.n_suppressed[0]
    assert small > 0
    assert RecordsAtRisk().evaluate(classes) == [(small + (gone if gone <= 11 else 0)) / 300]
    assert RecordsAtRisk(1).evaluate(classes) == [0]
    assert RecordsAtRisk(1 / 300).evaluate(classes) == [1]
    assert RecordsAtRisk() == RecordsAtRisk(0.09) != RecordsAtRisk(0.1)
    # Enough suppressed rows are no small class.
    pair = Microdata.from_frame(pd.DataFrame({"q": [1, 2, 3, 3]}), {"q": Hierarchy.flat([1, 2, 3])})
    both = LatticeProblem(pair, [RecordsAtRisk(0.5), RecordsAtRisk(0.4)], Below(2))
    assert both.compute(np.array([[0]])).tolist() == [[0, 1]]
    with pytest.raises(ValueError, match=r"^risk must be above 0 and at most 1, a chance to be found, got 0"):
        RecordsAtRisk(0)
    with pytest.raises(TypeError, match=r"^risk must be a number, got '9 %'"):
        RecordsAtRisk("9 %")


def test_a_class_fits_no_fewer_persons_of_a_register_than_it_has_rows():
    table, register = (
        Microdata.from_frame(pd.DataFrame({"q": values}), {"q": Hierarchy.flat([1, 2])})
        for values in ([1, 1, 1, 2], [1, 2, 2, 2])
    )
    problem = LatticeProblem(table, [MarketerRisk(register)])
    # Three rows of three persons, and one of three others.
    assert problem.compute(np.array([[0]])).tolist() == [[(3 / 3 + 1 / 3) / 4]]
