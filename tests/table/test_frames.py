"""Frames of every kind, with any columns and names and missing values."""

import datetime
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from errors import refused
from pandas.testing import assert_frame_equal
from persons import AGES, FRAMES, PERSONS, QUASI, SEXES, contents, persons
from strategies import at_levels

from pymoo_anon.table import Hierarchy, Microdata


def test_persons_that_are_missing_are_refused_dropped_or_kept():
    frame = persons(patient=["p1", None, "p1", "p3", "p2", None])
    with pytest.raises(ValueError, match="got 2 of 6 rows with some: 2 in 'patient'"):
        Microdata.from_frame(frame, QUASI, person="patient")
    assert Microdata.from_frame(frame, QUASI, person="patient", missing="drop").n_rows == 4
    kept = Microdata.from_frame(frame, QUASI, person="patient", missing="keep")
    assert kept.domain_of("patient") == ("p1", "p2", "p3", None)
    assert kept.tuples.totals("patient").tolist() == [2, 1, 1, 2]


def test_the_names_of_columns_may_be_numbers_or_tuples():
    renamed = {"age": 0, "sex": ("who", "sex"), "diagnosis": ("what", 1), "salary": 3, "name": ("who", "name")}
    frame = persons().rename(columns=renamed)
    usual = Microdata.from_frame(persons(), QUASI, ["diagnosis", "salary"], person="name")
    roles = {"sensitive": [("what", 1), 3], "person": ("who", "name")}
    table = Microdata.from_frame(frame, {0: AGES, ("who", "sex"): SEXES}, **roles)
    # A pandas frame with two rows of names has tuples for names.
    levels = persons().set_axis(pd.MultiIndex.from_product([["a"], list(PERSONS)]), axis="columns")
    nested = Microdata.from_frame(
        levels,
        {("a", "age"): AGES, ("a", "sex"): SEXES},
        [("a", "diagnosis"), ("a", "salary")],
        person=("a", "name"),
    )
    for other in (table, nested):
        for name in ("tuples", "counts"):
            assert contents(other)[name] == contents(usual)[name]
        assert list(contents(other)["histograms"].values()) == list(contents(usual)["histograms"].values())
    assert table.person == ("who", "name")
    assert repr(table).endswith("2 quasi-identifiers, sensitive ('what', 1), 3)")
    assert Microdata.from_frame(frame, {0: AGES}, 3).sensitive == (3,)
    recoded = table.recoded({("who", "sex"): Hierarchy.flat(["M", "F"])})
    assert recoded.tuples.codes[:, 1].tolist() == [1 - code for code in table.tuples.codes[:, 1]]
    coarsest = at_levels(table.quasi_identifiers, [1, 1])
    assert table.equivalence_classes(coarsest).columns[3].histogram().tolist() == [[3, 3]]
    for unknown, known in ((1, "(0, ('who', 'sex'), ('what', 1), 3, ('who', 'name'))"), (("who", 0), "")):
        with pytest.raises(KeyError) as caught:
            Microdata.from_frame(frame, {unknown: AGES})
        assert caught.value.args[0].startswith(f"frame must have the columns {unknown!r}, got columns {known[1:-1]}")
    with pytest.raises(KeyError, match=r"frame must have the columns 3, got columns 'age', 'sex'"):
        Microdata.from_frame(pl.DataFrame(PERSONS), QUASI, 3)


def test_a_column_that_is_there_twice_is_refused_where_it_has_a_role():
    frame = persons()[["age", "sex", "age", "name", "name"]]
    for changes, twice in (({}, "'age'"), ({"quasi_identifiers": {"age": AGES}, "person": "name"}, "'age', 'name'")):
        with pytest.raises(ValueError) as caught:
            Microdata.from_frame(**{"frame": frame, "quasi_identifiers": QUASI, **changes})
        assert caught.value.args == (f"frame must name each column once, got more than once: {twice}",)
    assert Microdata.from_frame(frame, {"sex": SEXES}).n_rows == 6
    arrow = pa.table([pa.array(["F"]), pa.array([1]), pa.array([1])], names=["sex", "age", "age"])
    with pytest.raises(ValueError, match=r"(?s)^frame must name each column once: .*'age' 2 times"):
        Microdata.from_frame(arrow, {"sex": SEXES})


DECIMALS = [Decimal("0.10"), Decimal("0.1"), Decimal(2**53 + 1), Decimal("1e30"), Decimal("NaN")]


def test_decimals_are_told_apart_as_exactly_as_they_are_written():
    frame = pd.DataFrame({"q": pd.Series(DECIMALS, dtype=object), "s": pd.Series(DECIMALS, dtype=object)})
    for domain in ([0.1, 2**53, 2**53 + 1, 10**30], ["0.1", "9007199254740992", "9007199254740993", "1e30"]):
        table = Microdata.from_frame(frame, {"q": Hierarchy.flat(domain)}, "s", missing="keep")
        assert sorted(np.repeat(table.tuples.codes[:, 0], table.tuples.counts)) == [0, 0, 2, 3, 4]
        assert table.domain_of("s") == (Decimal("0.1"), Decimal(2**53 + 1), Decimal("1e30"), None)
    prices = Microdata.from_frame(frame[:2], {"q": Hierarchy.intervals(0, 1, [], 0.1)})
    assert prices.tuples.codes.tolist() == [[1]]
    with pytest.raises(ValueError, match=r"got without a row there: Decimal\('9007199254740993'\)$"):
        Microdata.from_frame(frame[2:3], {"q": Hierarchy.flat([2**53, float(2**53) + 2])})


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


@pytest.mark.parametrize(
    ("column", "kinds"),
    [
        ([1, 2], [int, int]),
        ([1.0, 2.0], [float, float]),
        (pd.Series([1, 2.0], dtype=object), [float, float]),
        (pd.Series([1, Decimal(2)], dtype=object), [Decimal, Decimal]),
        (["1", "2"], [str, str]),
        (pd.Series([1, "2"], dtype=object), None),
    ],
)
def test_a_hierarchy_of_text_becomes_one_of_the_columns_numbers(column, kinds):
    frame, hierarchy = pd.DataFrame({"q": column}), Hierarchy.flat(["1", "2"])
    if kinds is None:
        with pytest.raises(ValueError, match=r"got without a row there: 1$"):
            Microdata.from_frame(frame, {"q": hierarchy})
    else:
        table = Microdata.from_frame(frame, {"q": hierarchy})
        assert [type(value) for value in table.quasi_identifiers["q"].domain] == kinds


def test_a_table_of_whole_and_other_numbers_is_recoded_to_floats():
    table = Microdata.from_frame(pd.DataFrame({"q": [1, 2.5]}), {"q": Hierarchy.flat([1, 2.5])})
    recoded = table.recoded({"q": Hierarchy.flat(["2.5", "1"])})
    assert recoded.tuples.codes.tolist() == [[1], [0]]
    assert [type(value) for value in recoded.quasi_identifiers["q"].domain] == [float, float]


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
    assert refused(ValueError, lambda: Microdata.from_frame(data, {"q": hierarchy}, "s")) == message

    dropped = Microdata.from_frame(data, {"q": hierarchy}, "s", missing="drop")
    assert dropped.quasi_identifiers["q"] == hierarchy
    assert (dropped.tuples.codes.tolist(), dropped.tuples.counts.tolist()) == ([[0]], [1])
    assert dropped.domain_of("s") == ("b",)

    kept = Microdata.from_frame(data, {"q": hierarchy}, "s", missing="keep")
    assert kept.quasi_identifiers["q"] == hierarchy.with_missing()
    assert (kept.tuples.codes.tolist(), kept.tuples.counts.tolist()) == ([[0], [2]], [2, 1])
    assert kept.domain_of("s") == ("a", "b", None)
    assert kept.tuples.columns["s"].histogram().tolist() == [[0, 1, 1], [1, 0, 0]]


# pandas itself turns numbers beside gaps into floats.
@pytest.mark.parametrize("frame", [name for name in FRAMES if name != "pandas"])
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


@pytest.mark.parametrize("name", ["*", "^a.*$"])
def test_a_name_that_an_engine_takes_for_a_pattern_is_refused(name):
    """The hierarchy would be of the values of another column."""
    frame = pl.DataFrame({"abc": [1, 2], name: [3, 4]})
    frames = [frame, frame.lazy(), *([duckdb.connect().from_arrow(frame.to_arrow())] if name == "*" else [])]
    for own in frames:
        with pytest.raises(ValueError, match=r"^frame must have no column named '.*', a pattern; rename it"):
            Microdata.from_frame(own, {name: Hierarchy.flat([1, 2])})
    for own in (frame.to_arrow(), frame.to_pandas()):
        assert Microdata.from_frame(own, {name: Hierarchy.flat([3, 4])}).n_rows == 2
