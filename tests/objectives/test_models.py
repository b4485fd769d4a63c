"""Objectives of the package and of one's own: worked examples, scipy, and refusals."""

import datetime

import numpy as np
import pandas as pd
import pytest
from errors import refused
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from strategies import drawn_classes, level_columns, one_class_each, raw, tables

from pymoo_anon.engine import EquivalenceClasses
from pymoo_anon.objectives import *
from pymoo_anon.problems import BitStringProblem, LatticeProblem
from pymoo_anon.table import Hierarchy, Microdata

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


@given(SEVERAL_CLASSES, level_columns(list(range(6)), rooted=True))
def test_the_hierarchical_distance_is_a_transport(values_of_class, columns):
    ps, q = distributions(values_of_class, range(6))
    levels = np.array([pd.factorize(pd.Series(column, dtype=object))[0] for column in columns])
    common = [[np.argmax(levels[:, a] == levels[:, b]) for b in range(6)] for a in range(6)]
    expected = max(earth_moved(p, q, np.array(common) / (len(levels) - 1)) for p in ps)
    classes = raw(one_class_each(values_of_class))
    found = TCloseness("s", Hierarchy(columns)).evaluate(classes)
    np.testing.assert_allclose(found, [expected], rtol=1e-7, atol=1e-9)


def test_the_order_is_that_of_the_values():
    """Order values as numbers, whatever the order of the hierarchy, and skip those that nobody has."""
    frame = pd.DataFrame({"q": [40, 40, 40, 0, 5]})
    for domain in ([0, 5, 40], [0, 40, 5], [40, 5, 0], [100, 40, 5, 7, 0]):
        classes = raw(Microdata.from_frame(frame, {"q": Hierarchy.flat(domain)}))
        # From 0: 3/5 by two steps and 1/5 by one, of two.
        np.testing.assert_allclose(TCloseness("q", "ordered").evaluate(classes), [0.7], rtol=1e-12)


def test_a_c_of_many_digits_holds_billions_of_rows():
    """Multiply the rest by c in millionths, beyond 64 bits."""
    counts = np.array([10**9, 10**9])
    table = Microdata.from_codes(
        {"q": Hierarchy.flat([0])}, [np.zeros(2, int)], counts, {"s": np.arange(2)}, {"s": ["a", "b"]}, ["s"]
    )
    classes = raw(table)
    assert [RecursiveCLDiversity("s", c).evaluate(classes)[0] for c in (1, 1.5, 92233.720369, 1e-9)] == [1, 2, 2, 1]


@pytest.mark.parametrize("weights", [[1e30, 1], [1, 1e100]])
def test_a_weight_beyond_whole_numbers_costs_nothing_where_nothing_is_lost(weights):
    table = Microdata.from_frame(pd.DataFrame({"p": [0, 1], "q": [0, 1]}), dict.fromkeys("pq", Hierarchy.flat([0, 1])))
    problem = LatticeProblem(table, [GeneralLossMetric(weights)])
    assert problem.compute(np.array([[0, 0]])).tolist() == [[0]]
    assert problem.compute(np.array([[1, 1]])).tolist() == [[2 * sum(weights)]]


# Examples worked by hand

DAYS = [datetime.date(2026, 1, day) for day in (1, 31, 5)]
DISEASES = Hierarchy(
    [
        ["flu", "bronchitis", "pulmonary embolism", "stomach cancer"],
        ["respiratory infection", "respiratory infection", "vascular lung disease", "stomach disease"],
        ["respiratory", "respiratory", "respiratory", "digestive"],
        ["*"] * 4,
    ]
)
#: Each class of the 3-diverse table of Machanavajjhala et al. holds three diseases, one of them twice.
PATIENTS = ["HVCC", "CHVV", "HVCC"]


@pytest.mark.parametrize(
    ("measure", "classes", "value"),
    [
        # The 1st, the 5th and the 31st are three equal steps apart, because only their rank counts.
        *((TCloseness("s", "ordered"), [own[:2], own[2:]], 1 / 3) for own in (DAYS, [*map(pd.Timestamp, DAYS)])),
        # Li et al. 2007, section 4.2: flu is so far from the others. Each class has to send half of its mass to them.
        (TCloseness("s", DISEASES), [["flu"], ["bronchitis"]], 1 / 3 / 2),
        (TCloseness("s", DISEASES), [["flu"], ["pulmonary embolism"]], 2 / 3 / 2),
        (TCloseness("s", DISEASES), [["flu"], ["stomach cancer"]], 1 / 2),
        (TCloseness("s", Hierarchy([["a"]])), ["aa", "a"], 0),
        (EntropyLDiversity("s"), PATIENTS, 2**1.5),
        # r = (2, 1, 1): 2 < c (1 + 1) above c = 1, and 2 < c above c = 2.
        *(
            (RecursiveCLDiversity("s", c), PATIENTS, least)
            for c, least in ((0.5, 1), (1, 1), (1.01, 2), (2, 2), (2.01, 3))
        ),
        # A c beyond the rows is as good as the rows.
        *((RecursiveCLDiversity("s", c), ["aaaaab"], least) for c, least in ((5, 1), (5.1, 2), (1e18, 2), (1e300, 2))),
        # As floats 110 is less than 4.4 times 25.
        *((RecursiveCLDiversity("s", c), ["a" * 110 + "b" * 25], least) for c, least in ((4.4, 1), (4.40001, 2))),
    ],
    ids=str,
)
def test_values_worked_by_hand(measure, classes, value):
    np.testing.assert_allclose(measure.evaluate(raw(one_class_each(classes))), [value], rtol=1e-12)


def test_the_salaries_of_li_et_al():
    """Compare with Li et al. 2007, section 4.1.

    For Q = {3k, ..., 11k}, t is 0.375 with P1 = {3k, 4k, 5k} and 0.167 with P2 = {6k, 8k, 11k}.
    """
    for kept, expected in (([3, 4, 5], 0.375), ([6, 8, 11], 1 / 6)):
        rest = [[k] for k in range(3, 12) if k not in kept]
        classes = raw(one_class_each([kept, *rest]), below=3)
        np.testing.assert_allclose(TCloseness("s", "ordered").evaluate(classes), [expected], rtol=1e-12)


def test_every_c_is_shown_in_full():
    """Show every digit, as problems distinguish objectives by repr."""
    assert repr(RecursiveCLDiversity("s", 1.5)) == "RecursiveCLDiversity('s', 1.5)"
    assert repr(RecursiveCLDiversity("s", 1.50000001)) == "RecursiveCLDiversity('s', 1.50000001)"


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
    problem = LatticeProblem(Microdata.from_frame(frame, hierarchies), [Precision()])
    np.testing.assert_allclose(problem.natural(problem.evaluate(np.array(node))), [expected], rtol=1e-12)


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


def test_the_usual_threshold_of_risk_is_that_of_classes_of_eleven():
    assert RecordsAtRisk() == RecordsAtRisk(0.09) != RecordsAtRisk(0.1)


def test_a_class_fits_no_fewer_persons_of_a_register_than_it_has_rows():
    table, register = (
        Microdata.from_frame(pd.DataFrame({"q": values}), {"q": Hierarchy.flat([1, 2])})
        for values in ([1, 1, 1, 2], [1, 2, 2, 2])
    )
    problem = LatticeProblem(table, [MarketerRisk(register)])
    # Three rows of three persons, and one of three others.
    assert problem.compute(np.array([[0]])).tolist() == [[(3 / 3 + 1 / 3) / 4]]


def test_what_was_asked_of_truth_values_is_not_answered_for_numbers():
    """Keep answers apart by table, although Python takes True for 1."""
    truths, numbers = one_class_each([[True, False]]), one_class_each([[1, 0]])
    for order, own, other in (([0, 1], numbers, truths), ([False, True], truths, numbers)):
        TCloseness("s", order).check(own)
        assert "lacks " in refused(ValueError, lambda other=other, order=order: TCloseness("s", order).check(other))


class LargestClass(Objective):
    """A custom objective: a plain Python function of a generalization's classes."""

    name = "largest"
    maximize = False

    def evaluate_one(self, classes: EquivalenceClasses) -> float:
        assert len(classes) == 1
        return float(classes.sizes.max())


class MostFrequentCount(ColumnObjective):
    """The same with a column."""

    name = "most"
    maximize = False

    def evaluate_one(self, classes: EquivalenceClasses) -> float:
        return float(classes.columns[self.column].histogram().max())


@given(data=st.data(), table=tables())
def test_an_objective_of_ones_own_is_one_method(data, table):
    classes, some, policy = drawn_classes(data, table)
    sizes = [table.plain.measure(node, **policy).size_of.max() for node in some]
    assert LargestClass().evaluate(classes).tolist() == sizes
    assert LargestClass().value_range(table.microdata.tuples) == (-np.inf, np.inf)
    most = [one.columns["s0"].histogram().max() for one in classes]
    assert MostFrequentCount("s0").evaluate(classes).tolist() == most
    assert (repr(LargestClass()), repr(MostFrequentCount("s0"))) == ("LargestClass()", "MostFrequentCount('s0')")
