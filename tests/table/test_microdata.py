"""Tables: roles, classes, copies and refusals."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from errors import refused
from persons import AGES, QUASI, contents, persons
from strategies import at_levels

from pymoo_anon.objectives import SquaredClassSizes
from pymoo_anon.table import Hierarchy, Microdata


def test_persons_are_counted_like_sensitive_values():
    whose = ["p1", "p2", "p1", "p3", "p2", "p2"]
    table = Microdata.from_frame(persons(patient=whose), QUASI, "diagnosis", person="patient")
    assert (table.person, table.sensitive) == ("patient", ("diagnosis",))
    assert table.domain_of("patient") == ("p1", "p2", "p3")
    # The tuples 41 F, 41 M and 99 M belong to p2. 30 F holds p1 twice, and p3.
    assert table.tuples.columns["patient"].histogram().tolist() == [[0, 1, 0], [0, 1, 0], [0, 1, 0], [2, 0, 1]]
    assert Microdata.from_frame(persons(), QUASI).person is None


def test_a_table_with_persons_keeps_them_when_it_is_copied_recoded_and_grouped():
    table = Microdata.from_frame(persons(patient=[1, 2, 1, 3, 2, 2]), QUASI, person="patient")
    recoded = table.recoded({"age": Hierarchy.flat([17, 30, 41, 99])})
    for one in (table, recoded, pickle.loads(pickle.dumps(table)), copy.deepcopy(table)):
        assert one.person == "patient"
        assert one.domain_of("patient") == (1, 2, 3)
        coarsest = at_levels(one.quasi_identifiers, [1, 1])
        assert one.equivalence_classes(coarsest).columns["patient"].histogram().tolist() == [[2, 3, 1]]


def test_tuples_that_a_new_hierarchy_puts_together_are_one():
    frame, bins = persons(patient=[1, 2, 1, 3, 2, 2]), Hierarchy.intervals(0, 100, widths=[50], step=25)
    single, binned = (
        Microdata.from_frame(frame, {**QUASI, "age": ages}, "diagnosis", person="patient")
        for ages in (Hierarchy.flat([30, 41, 99]), bins)
    )
    recoded = single.recoded({"age": bins})
    assert (single.n_distinct, recoded.n_distinct) == (4, 3)
    assert contents(recoded) == contents(binned)


@pytest.mark.parametrize("n", [24, 70])
def test_tables_may_have_any_number_of_quasi_identifiers(n):
    """Exceed 64 bits by the domain product, and numpy's 64 dimensions."""
    rng = np.random.default_rng(n)
    rows = rng.integers(0, 9, size=(50, n))[rng.integers(0, 50, 200)]
    frame = pd.DataFrame(rows, columns=[f"q{j}" for j in range(n)]).assign(s=rng.integers(0, 3, 200), p=range(200))
    hierarchy = Hierarchy.intervals(0, 9, widths=[3])
    table = Microdata.from_frame(frame, dict.fromkeys(frame.columns[:n], hierarchy), "s", person="p")
    values, counts = np.unique(rows, axis=0, return_counts=True)
    assert table.tuples.codes.tolist() == values.tolist()
    assert table.tuples.counts.tolist() == counts.tolist()
    recoded = table.recoded({"q0": Hierarchy.flat(range(8, -1, -1))})
    assert recoded.tuples.codes[:, 0].tolist() == (8 - values[:, 0]).tolist()
    expected = np.unique(rows // 3, axis=0, return_counts=True)[1]
    middle = at_levels(table.quasi_identifiers, [1] * n)
    assert sorted(table.equivalence_classes(middle).sizes) == sorted(expected)


def test_what_a_table_holds_cannot_be_assigned():
    table = Microdata.from_frame(persons(), QUASI, "diagnosis")
    for one in (table, pickle.loads(pickle.dumps(table)), copy.deepcopy(table), copy.copy(table)):
        with pytest.raises(TypeError, match="does not support item assignment"):
            one.quasi_identifiers["age"] = Hierarchy.flat([1])
        for name in ("quasi_identifiers", "sensitive", "label", "person", "tuples", "grouper"):
            with pytest.raises(AttributeError):
                setattr(one, name, None)
    given_hierarchies = dict(QUASI)
    table = Microdata.from_frame(persons(), given_hierarchies)
    given_hierarchies["age"] = None
    assert table.quasi_identifiers == QUASI


def told(error, **changes):
    with pytest.raises(error) as caught:
        Microdata.from_frame(**{"frame": persons(), "quasi_identifiers": QUASI, **changes})
    (message,) = caught.value.args
    return message


def test_values_without_a_row_are_refused():
    without = "must hold values of its hierarchy only, got without a row there: "
    assert told(ValueError, frame=persons(age=[1, 2, 3, 4, 5, 6])) == f"column 'age' {without}1, 2, 3, 4, 5 and 1 more"
    text = f"column 'age' {without}'30'; the column holds text and the hierarchy numbers"
    assert told(ValueError, frame=persons(age=["30"] * 6)) == text
    sevens = {"sex": Hierarchy.flat(["7"])}
    assert told(ValueError, frame=persons(sex=["07"] * 6), quasi_identifiers=sevens) == f"column 'sex' {without}'07'"
    header = "the hierarchy begins with the column's own name, as a file with a header does"
    headed = {"age": Hierarchy.flat(["age", 30])}
    assert told(ValueError, quasi_identifiers=headed) == f"column 'age' {without}41, 99; {header}"
    twice = "column 'age': the hierarchy must name each number once, spelled more than once: 30"
    assert told(ValueError, quasi_identifiers={"age": Hierarchy.flat(["30", "030"])}) == twice


def test_roles_that_exclude_each_other_are_refused():
    both = "column {!r} must not be both {}"
    assert told(ValueError, sensitive="age") == both.format("age", "sensitive and a quasi-identifier")
    assert told(ValueError, person="age") == both.format("age", "the person and a quasi-identifier")
    paid = told(ValueError, sensitive=["salary", "name"], person="name")
    assert paid == both.format("name", "the person and sensitive")
    assert told(ValueError, label="name", person="name") == both.format("name", "the person and the label")
    twice = "sensitive must name each column once, got more than once: 'name'"
    assert told(ValueError, sensitive=["name", "name"]) == twice


def test_what_is_no_column_is_refused():
    known = "got columns 'age', 'sex', 'diagnosis', 'salary', 'name'"
    two = f"frame must have the columns 'illness', 'class', {known}"
    assert told(KeyError, sensitive=["illness", "diagnosis"], label="class") == two
    assert told(KeyError, person="patient") == f"frame must have the columns 'patient', {known}"
    assert told(TypeError, label=["name"]) == "label must name a column, got ['name']"
    assert told(TypeError, sensitive=[["name"]]) == "sensitive must name a column, got ['name']"
    assert told(TypeError, person={}) == "person must name a column, got {}"


def test_other_arguments_are_refused():
    lists = "frame must hold values that can be compared in columns with a role: unhashable type: 'list'"
    assert told(TypeError, frame=persons(name=[[1]] * 6), sensitive="name") == lists
    assert told(ValueError, frame=persons()[:0]) == "frame must have at least one row, got none"
    gaps = "frame must have a row without missing values, got 6 rows that all have some"
    assert told(ValueError, frame=persons(age=[np.nan] * 6), missing="drop") == gaps
    assert told(ValueError, missing="skip") == "missing must be 'raise', 'drop' or 'keep', got 'skip'"
    kinds = "frame must be a pandas, polars, pyarrow, DuckDB, Ibis or Spark frame, got list"
    assert told(TypeError, frame=[1, 2]) == kinds
    wanted = "quasi_identifiers must be a dict of"
    assert told(ValueError, quasi_identifiers={}) == f"{wanted} at least one column and its hierarchy, got none"
    assert told(ValueError, quasi_identifiers=["age"]) == f"{wanted} columns and their hierarchies, got ['age']"
    assert told(TypeError, quasi_identifiers={"age": 5}) == "quasi_identifiers['age'] must be a Hierarchy, got 5"


def test_equivalence_classes_are_not_overwritten_and_fit_the_table():
    table = Microdata.from_frame(persons(), QUASI, "diagnosis")
    finest, coarsest = at_levels(QUASI, [0, 0]), at_levels(QUASI, [1, 1])
    classes = table.equivalence_classes(finest)
    assert table.equivalence_classes(coarsest).sizes.tolist() == [6]
    assert sorted(classes.sizes) == [1, 1, 1, 3]
    other = at_levels({"age": AGES}, [0])
    message = "generalization must map the table's domains {'age': 4, 'sex': 2}, got {'age': 4}"
    assert refused(ValueError, lambda: table.equivalence_classes(other)) == message


def test_values_name_the_columns_of_histograms():
    table = Microdata.from_frame(persons(), QUASI, "diagnosis")
    assert table.domain_of("sex") == ("F", "M")
    with pytest.raises(KeyError, match="one of 'diagnosis', 'age', 'sex', which have a role, got 'name'"):
        table.domain_of("name")


def test_a_pickled_table_is_the_same_and_a_copy_is_itself():
    table = Microdata.from_frame(persons(), QUASI, "diagnosis", label="salary")
    list(table.grouper.classes(np.array([[0, 1, 2, 3, 0, 1]]), np.array([[4, 2]]), columns=("diagnosis",)))
    again = pickle.loads(pickle.dumps(table))
    assert contents(again) == contents(table)
    assert copy.deepcopy(table) is table
    assert copy.deepcopy({"tuples": table.tuples})["tuples"] is table.tuples


@pytest.mark.parametrize("pickled", [False, True], ids=["built", "unpickled"])
def test_tables_do_not_change(pickled):
    table = Microdata.from_frame(persons(), QUASI, "diagnosis")
    tuples = pickle.loads(pickle.dumps(table)).tuples if pickled else table.tuples
    named = [(name, array) for holder in [tuples, *tuples.columns.values()] for name, array in vars(holder).items()]
    assert [name for name, array in named if isinstance(array, np.ndarray) and array.flags.writeable] == []


def test_more_rows_than_sums_of_squares_can_count_are_refused():
    hierarchies, most = {"q": Hierarchy.flat([0])}, 3_037_000_499
    tuples = np.zeros((1, 1), dtype=np.int64)
    table = Microdata(hierarchies, tuples, np.array([most]), {}, {})
    (classes,) = table.grouper.classes(np.zeros((1, 1), dtype=np.int64), np.ones((1, 1), dtype=np.int64))
    assert SquaredClassSizes().evaluate(classes).tolist() == [float(most**2)]
    with pytest.raises(ValueError, match=r"^a table must have at most 3,037,000,499 rows, got 3,037,000,500$"):
        Microdata(hierarchies, tuples, np.array([most + 1]), {}, {})
