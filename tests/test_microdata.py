"""Reading tables: every kind of frame and column, missing values, and what is refused."""

import copy
import datetime
import pickle
import re
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal
from plain import assert_same_classes
from strategies import nodes, tables

from pymoo_anon.objectives import ClassSizeSum
from pymoo_anon.table import AtMost, Below, Generalization, Hierarchy, Microdata

NULLABLE = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype(), pa.string(): pd.StringDtype()}
FRAMES = {
    "pandas": lambda table: table.to_pandas(),
    "pandas nullable": lambda table: table.to_pandas(types_mapper=NULLABLE.get),
    "polars": pl.from_arrow,
    "polars lazy": lambda table: pl.from_arrow(table).lazy(),
    "pyarrow": lambda table: table,
    "duckdb": lambda table: duckdb.connect().from_arrow(table),
}
AGES, SEXES = Hierarchy.flat([99, 41, 30, 17]), Hierarchy.flat(["F", "M"])
QUASI = {"age": AGES, "sex": SEXES}
PERSONS = {
    "age": [30, 41, 30, 30, 41, 99],
    "sex": ["F", "M", "F", "F", "F", "M"],
    "diagnosis": ["flu", "ulcer", "flu", "cold", "ulcer", "flu"],
    "salary": [1.5, 2.0, 2.0, 1.5, 2.0, 1.5],
    "name": ["Ann", "Bob", "Cleo", "Dora", "Eve", "Fred"],
}


def persons(**columns):
    return pd.DataFrame({**PERSONS, **columns})


def contents(table):
    """All that a table holds, as plain Python."""
    return {
        "hierarchies": list(table.quasi_identifiers.items()),
        "tuples": table.tuples.codes.tolist(),
        "counts": table.tuples.counts.tolist(),
        "values": {name: table.domain_of(name) for name in table.tuples.columns},
        "histograms": {name: counts.histogram().tolist() for name, counts in table.tuples.columns.items()},
        "roles": (table.sensitive, table.label),
    }


def test_persons_are_counted_like_sensitive_values():
    whose = ["p1", "p2", "p1", "p3", "p2", "p2"]
    table = Microdata.from_frame(persons(patient=whose), QUASI, "diagnosis", person="patient")
    assert (table.person, table.sensitive) == ("patient", ("diagnosis",))
    assert table.domain_of("patient") == ("p1", "p2", "p3")
    # The tuples 41 F and 41 M and 99 M are those of p2; 30 F holds p1 twice and p3.
    assert table.tuples.columns["patient"].histogram().tolist() == [[0, 1, 0], [0, 1, 0], [0, 1, 0], [2, 0, 1]]
    assert Microdata.from_frame(persons(), QUASI).person is None


def test_a_table_with_persons_keeps_them_when_it_is_copied_recoded_and_grouped():
    table = Microdata.from_frame(persons(patient=[1, 2, 1, 3, 2, 2]), QUASI, person="patient")
    recoded = table.recoded({"age": Hierarchy.flat([17, 30, 41, 99])})
    for one in (table, recoded, pickle.loads(pickle.dumps(table)), copy.deepcopy(table)):
        assert one.person == "patient"
        assert one.domain_of("patient") == (1, 2, 3)
        coarsest = Generalization(
            {name: h.groups[1] for name, h in one.quasi_identifiers.items()},
            {name: h.labels[1] for name, h in one.quasi_identifiers.items()},
        )
        assert one.equivalence_classes(coarsest).columns["patient"].histogram().tolist() == [[2, 3, 1]]


def test_persons_that_are_missing_are_refused_dropped_or_kept():
    frame = persons(patient=["p1", None, "p1", "p3", "p2", None])
    with pytest.raises(ValueError, match="got 2 of 6 rows with some: 2 in 'patient'"):
        Microdata.from_frame(frame, QUASI, person="patient")
    assert Microdata.from_frame(frame, QUASI, person="patient", missing="drop").n_rows == 4
    kept = Microdata.from_frame(frame, QUASI, person="patient", missing="keep")
    assert kept.domain_of("patient") == ("p1", "p2", "p3", None)
    assert kept.tuples.totals("patient").tolist() == [2, 1, 1, 2]


@pytest.mark.parametrize("kind", FRAMES)
def test_every_frame_gives_the_same_table(kind):
    frame = FRAMES[kind](pa.table(PERSONS))
    table = Microdata.from_frame(frame, QUASI, sensitive=["diagnosis", "salary"], label="sex")
    assert contents(table) == {
        "hierarchies": [("age", AGES), ("sex", SEXES)],
        "tuples": [[0, 1], [1, 0], [1, 1], [2, 0]],
        "counts": [1, 1, 1, 3],
        "values": {
            "age": (99, 41, 30, 17),
            "sex": ("F", "M"),
            "diagnosis": ("cold", "flu", "ulcer"),
            "salary": (1.5, 2.0),
        },
        "histograms": {
            "age": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 3, 0]],
            "sex": [[0, 1], [1, 0], [0, 1], [3, 0]],
            "diagnosis": [[0, 1, 0], [0, 0, 1], [0, 0, 1], [1, 2, 0]],
            "salary": [[1, 0], [0, 1], [0, 1], [2, 1]],
        },
        "roles": (("diagnosis", "salary"), "sex"),
    }
    assert (table.n_rows, table.n_distinct) == (6, 4)
    assert repr(table) == (
        "Microdata(6 rows, 4 distinct tuples of 2 quasi-identifiers, sensitive 'diagnosis', 'salary')"
    )


DAY = datetime.date(2020, 1, 31)
KINDS = {
    "int": (pa.array([7, -8, 7]), [7, -8], ["7", "-8"]),
    "small int": (pa.array([7, 8, 7], pa.uint8()), [7, 8], ["7", "08"]),
    "float": (pa.array([0.1, 2.0, 0.1]), [0.1, 2], [".10", "2"]),
    "text": (pa.array(["07", "7", "07"]), ["07", "7"], ["07", "7"]),
    "categories": (pa.array(["b", "a", "b"]).dictionary_encode(), ["b", "a"], ["b", "a"]),
    "truth": (pa.array([True, False, True]), [True, False], ["true", "False"]),
    "decimal": (pa.array([Decimal("0.1"), Decimal("2.5"), Decimal("0.1")]), [0.1, 2.5], ["0.1", "2.5"]),
    "date": (
        pa.array([DAY, datetime.date(2020, 2, 1), DAY]),
        [DAY, datetime.date(2020, 2, 1)],
        [str(DAY), "2020-02-01"],
    ),
}


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_columns_match_their_values_and_the_text_that_spells_them(kind, frame):
    column, values, text = KINDS[kind]
    for domain in (values, text):
        table = Microdata.from_frame(
            FRAMES[frame](pa.table({"q": column, "s": column})), {"q": Hierarchy.flat(domain)}, "s"
        )
        assert table.tuples.codes.tolist() == [[0], [1]]
        assert table.tuples.counts.tolist() == [2, 1]
        assert len(table.domain_of("s")) == 2


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("value", ["text", 7, True])
def test_missing_values_are_refused_dropped_or_kept(value, frame):
    data = FRAMES[frame](pa.table({"q": [value, None, value], "s": ["b", "a", None]}))
    hierarchy = Hierarchy.flat([value, "other"])
    message = (
        "frame must have no missing values, got 2 of 3 rows with some: 1 in 'q', 1 in 's'; "
        "missing='drop' leaves these rows out, missing='keep' makes them a value of their own"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Microdata.from_frame(data, {"q": hierarchy}, "s")

    dropped = Microdata.from_frame(data, {"q": hierarchy}, "s", missing="drop")
    assert dropped.quasi_identifiers["q"] == hierarchy
    assert (dropped.tuples.codes.tolist(), dropped.tuples.counts.tolist()) == ([[0]], [1])
    assert dropped.domain_of("s") == ("b",)

    kept = Microdata.from_frame(data, {"q": hierarchy}, "s", missing="keep")
    assert kept.quasi_identifiers["q"] == hierarchy.with_missing()
    assert (kept.tuples.codes.tolist(), kept.tuples.counts.tolist()) == ([[0], [2]], [2, 1])
    assert kept.domain_of("s") == ("a", "b", None)
    assert kept.tuples.columns["s"].histogram().tolist() == [[0, 1, 1], [1, 0, 0]]


@pytest.mark.parametrize("frame", [name for name in FRAMES if name != "pandas"])  # whose own gaps make floats of them
def test_large_whole_numbers_beside_gaps_stay_exact(frame):
    data = FRAMES[frame](pa.table({"q": [2**53 + 1, None], "s": [None, 2**53 + 1]}))
    kept = Microdata.from_frame(data, {"q": Hierarchy.flat([2**53, 2**53 + 1])}, "s", missing="keep")
    assert kept.tuples.codes.tolist() == [[1], [2]]
    assert kept.domain_of("s") == (2**53 + 1, None)


def test_nan_is_missing_too():
    table = pa.table({"q": [1.5, float("nan"), None]})
    for frame in FRAMES.values():
        kept = Microdata.from_frame(frame(table), {"q": Hierarchy.flat([1.5])}, missing="keep")
        assert kept.tuples.counts.tolist() == [1, 2]


def test_gaps_in_columns_without_a_role_do_not_matter():
    frame = persons(name=[None] * 6, other=[np.nan] * 6)
    assert contents(Microdata.from_frame(frame, QUASI)) == contents(Microdata.from_frame(persons(), QUASI))


def test_the_index_and_unused_categories_do_not_matter():
    frame = persons(sex=pd.Categorical(PERSONS["sex"], categories=["X", "M", "F"])).set_index(
        pd.Index([3] * 6, name="age")
    )
    table = Microdata.from_frame(frame, QUASI, "diagnosis")
    assert contents(table) == contents(Microdata.from_frame(persons(), QUASI, "diagnosis"))


def test_a_quasi_identifier_may_have_any_name():
    table = Microdata.from_frame(persons(n_rows=1), {"n_rows": Hierarchy.flat([1])}, "diagnosis")
    assert table.tuples.counts.tolist() == [6]


def test_the_frame_stays_as_it_was():
    frame = persons(sex=pd.Categorical(PERSONS["sex"]), salary=[1.5, None, 2.0, 2.0, 1.5, 1.5])
    before = frame.copy(deep=True)
    Microdata.from_frame(frame, QUASI, ["diagnosis", "salary"], missing="keep")
    assert_frame_equal(frame, before)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"frame": persons(age=[1, 2, 3, 4, 5, 6])},
            ValueError,
            "column 'age' must hold values of its hierarchy only, got without a row there: 1, 2, 3, 4, 5 and 1 more",
        ),
        (
            {"frame": persons(age=["30"] * 6)},
            ValueError,
            "column 'age' must hold values of its hierarchy only, got without a row there: '30'; "
            "the column holds text and the hierarchy numbers",
        ),
        (
            {"frame": persons(sex=["07"] * 6), "quasi_identifiers": {"sex": Hierarchy.flat(["7"])}},
            ValueError,
            "column 'sex' must hold values of its hierarchy only, got without a row there: '07'",
        ),
        (
            {"quasi_identifiers": {"age": Hierarchy.flat(["30", "030"])}},
            ValueError,
            "column 'age': the hierarchy must name each number once, spelled more than once: 30",
        ),
        (
            {"sensitive": ["illness", "diagnosis"], "label": "class"},
            KeyError,
            "frame must have the columns 'illness', 'class', got columns 'age', 'sex', 'diagnosis', 'salary', 'name'",
        ),
        ({"sensitive": "age"}, ValueError, "column 'age' must not be both sensitive and a quasi-identifier"),
        ({"person": "age"}, ValueError, "column 'age' must not be both the person and a quasi-identifier"),
        (
            {"sensitive": ["salary", "name"], "person": "name"},
            ValueError,
            "column 'name' must not be both the person and sensitive",
        ),
        ({"label": "name", "person": "name"}, ValueError, "column 'name' must not be both the person and the label"),
        (
            {"person": "patient"},
            KeyError,
            "frame must have the columns 'patient', got columns 'age', 'sex', 'diagnosis', 'salary', 'name'",
        ),
        (
            {"sensitive": ["name", "name"]},
            ValueError,
            "sensitive must name each column once, got more than once: 'name'",
        ),
        ({"frame": persons()[:0]}, ValueError, "frame must have at least one row, got none"),
        (
            {"frame": persons(age=[np.nan] * 6), "missing": "drop"},
            ValueError,
            "frame must have a row without missing values, got 6 rows that all have some",
        ),
        (
            {"quasi_identifiers": {}},
            ValueError,
            "quasi_identifiers must be a dict of at least one column and its hierarchy, got {}",
        ),
        (
            {"quasi_identifiers": ["age"]},
            ValueError,
            "quasi_identifiers must be a dict of at least one column and its hierarchy, got ['age']",
        ),
        ({"quasi_identifiers": {"age": 5}}, TypeError, "quasi_identifiers['age'] must be a Hierarchy, got 5"),
        ({"missing": "skip"}, ValueError, "missing must be 'raise', 'drop' or 'keep', got 'skip'"),
        (
            {"frame": [1, 2]},
            TypeError,
            "frame must be a pandas, polars, pyarrow, DuckDB, Dask or Spark frame, got list",
        ),
    ],
)
def test_tables_that_are_refused(changes, error, message):
    with pytest.raises(error) as caught:
        Microdata.from_frame(**{"frame": persons(), "quasi_identifiers": QUASI, **changes})
    assert caught.value.args == (message,)


@given(data=st.data(), table=tables())
def test_equivalence_classes_are_those_of_the_rows(data, table):
    node, n_rows = data.draw(nodes(table)), len(table.frame)
    share = data.draw(st.fractions(0, 1).filter(lambda share: share < 1).map(float).filter(lambda share: share < 1))
    below = data.draw(st.none() | st.integers(1, n_rows))
    rule = AtMost(share) if below is None else Below(below)
    classes = table.microdata.equivalence_classes(table.generalization(node), rule)
    limit, below = rule.grouping(n_rows)
    assert_same_classes(classes, table.tuple_of_row, table.plain.measure(node, limit=limit, below=below))
    assert set(classes.columns) == {"s0", "s1", table.microdata.label}


def test_equivalence_classes_are_not_overwritten_and_fit_the_table():
    table = Microdata.from_frame(persons(), QUASI, "diagnosis")
    finest, coarsest = (
        Generalization(
            {name: h.groups[i] for name, h in QUASI.items()}, {name: h.labels[i] for name, h in QUASI.items()}
        )
        for i in (0, 1)
    )
    classes = table.equivalence_classes(finest)
    assert table.equivalence_classes(coarsest).sizes.tolist() == [6]
    assert sorted(classes.sizes) == [1, 1, 1, 3]
    other = Generalization({"age": AGES.groups[0]}, {"age": AGES.labels[0]})
    message = "generalization must map the table's domains {'age': 4, 'sex': 2}, got {'age': 4}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        table.equivalence_classes(other)


def test_values_name_the_columns_of_histograms():
    table = Microdata.from_frame(persons(), QUASI, "diagnosis")
    assert table.domain_of("sex") == ("F", "M")
    with pytest.raises(KeyError) as caught:
        table.domain_of("name")
    assert caught.value.args == ("column must be one of 'diagnosis', 'age', 'sex', which have a role, got 'name'",)


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
    assert ClassSizeSum().evaluate(classes).tolist() == [float(most**2)]
    with pytest.raises(ValueError, match=r"^a table must have at most 3,037,000,499 rows, got 3,037,000,500$"):
        Microdata(hierarchies, tuples, np.array([most + 1]), {}, {})
