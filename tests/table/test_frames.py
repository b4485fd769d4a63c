"""Frames of every kind as tables, with any columns, names and missing values; roles, classes, equality and copies."""

import copy
import io
import pickle
import re
import warnings
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from errors import refused
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal
from persons import AGES, FRAMES, PERSONS, QUASI, SEXES, cells, contents, persons
from strategies import at_levels, tables

from pymoo_anon.comparison import inference
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity, SquaredClassSizes
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.publishing import release
from pymoo_anon.table import AtMost, Below, Generalization, Hierarchy, Microdata, Violating, draft_hierarchy, guesses_of
from pymoo_anon.table.frames import coded
from pymoo_anon.table.generalization import LocalGeneralization, label_texts, suppression_rule


def test_persons_that_are_missing_are_dropped_or_kept():
    frame = persons(patient=["p1", None, "p1", "p3", "p2", None])
    assert Microdata.from_frame(frame, QUASI, person="patient", missing="drop").n_rows == 4
    kept = Microdata.from_frame(frame, QUASI, person="patient", missing="keep")
    assert kept.domain_of("patient") == ("p1", "p2", "p3", None)
    assert kept.tuples.totals("patient").tolist() == [2, 1, 1, 2]


def test_zero_has_no_sign():
    table = pa.table({"q": ["a"] * 3, "s": [0.0, -0.0, 1.0]})
    for frame in (table, pl.from_arrow(table), table.to_pandas(types_mapper=pd.ArrowDtype)):
        own = Microdata.from_frame(frame, {"q": Hierarchy.flat("a")}, "s")
        assert own.domain_of("s") == (0.0, 1.0)
        assert inference(frame, "q", "s")["share"].tolist() == [2 / 3]
        made = release(frame, LatticeProblem(own, [KAnonymity()]), [0]).frame
        assert [str(value) for value in made["s"].to_numpy()] == ["0.0", "0.0", "1.0"]


def test_the_names_of_columns_may_be_numbers_or_tuples():
    renamed = {"age": 0, "sex": ("who", "sex"), "diagnosis": ("what", 1), "salary": 3, "name": ("who", "name")}
    frame = persons().rename(columns=renamed)
    usual = Microdata.from_frame(persons(), QUASI, ["diagnosis", "salary"], person="name")
    roles = {"sensitive": [("what", 1), 3], "person": ("who", "name")}
    table = Microdata.from_frame(frame, {0: AGES, ("who", "sex"): SEXES}, **roles)
    # A pandas frame with two rows of names has tuples for names.
    levels = persons().set_axis(pd.MultiIndex.from_product([["a"], list(PERSONS)]), axis="columns")
    roles = {"sensitive": [("a", "diagnosis"), ("a", "salary")], "person": ("a", "name")}
    nested = Microdata.from_frame(levels, {("a", "age"): AGES, ("a", "sex"): SEXES}, **roles)
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


def test_a_column_that_is_there_twice_is_refused_where_it_has_a_role():
    frame = persons()[["age", "sex", "age", "name", "name"]]
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


@given(tables())
def test_a_frame_is_read_as_the_codes_of_its_values(table):
    own = table.microdata
    assert contents(Microdata.from_frame(table.frame, own.quasi_identifiers, own.sensitive, own.label)) == contents(own)


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


DAY, NOON = date(2020, 1, 31), datetime(2020, 1, 31, 12)


KINDS = {
    "int": (pa.array([7, -8, 7]), [7, -8], ["7", "-8"]),
    "small int": (pa.array([7, 8, 7], pa.uint8()), [7, 8], ["7", "08"]),
    "float": (pa.array([0.1, 2.0, 0.1]), [0.1, 2], [".10", "2"]),
    "text": (pa.array(["07", "7", "07"]), ["07", "7"], ["07", "7"]),
    "categories": (pa.array(["b", "a", "b"]).dictionary_encode(), ["b", "a"], ["b", "a"]),
    "truth": (pa.array([True, False, True]), [True, False], ["true", "False"]),
    "decimal": (pa.array([Decimal("0.1"), Decimal("2.5"), Decimal("0.1")]), [0.1, 2.5], ["0.1", "2.5"]),
    "date": (pa.array([DAY, date(2020, 2, 1), DAY]), [DAY, date(2020, 2, 1)], [str(DAY), "2020-02-01"]),
    "moment": (pa.array([NOON, datetime(2020, 2, 1), NOON]), [DAY, date(2020, 2, 1)], [str(DAY), "2020-02-01"]),
    "moment text": (pa.array([str(NOON), "2020-02-01", str(NOON)]), [DAY, date(2020, 2, 1)], [str(DAY), "2020-02-01"]),
}


@pytest.mark.parametrize(
    ("column", "kinds"),
    [
        ([1, 2], [int, int]),
        ([1.0, 2.0], [float, float]),
        (pd.Series([1, 2.0], dtype=object), [float, float]),
        (pd.Series([1, Decimal(2)], dtype=object), [Decimal, Decimal]),
        (["1", "2"], [str, str]),
        (pd.Series([1, "2"], dtype=object), [int, str]),
    ],
)
def test_a_hierarchy_of_text_becomes_one_of_the_columns_numbers(column, kinds):
    frame, hierarchy = pd.DataFrame({"q": column}), Hierarchy.flat(["1", "2"])
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
@pytest.mark.parametrize("value", ["text", 7, True, NOON])
def test_missing_values_are_refused_dropped_or_kept(value, frame):
    data = FRAMES[frame](pa.table({"q": [value, None, value], "s": ["b", "a", None]}))
    hierarchy = Hierarchy.flat([value, "other"])
    message = (
        "frame must have no missing values, got 2 of 3 rows with some: 1 in 'q', 1 in 's'; "
        'missing = "drop" leaves these rows out, missing = "keep" makes them a value of their own'
    )
    assert refused(ValueError, lambda: Microdata.from_frame(data, {"q": hierarchy}, "s")) == message

    dropped = Microdata.from_frame(data, {"q": hierarchy}, "s", missing="drop")
    assert dropped.quasi_identifiers["q"] == hierarchy
    assert (dropped.tuples.codes.tolist(), dropped.tuples.counts.tolist()) == ([[0]], [1])
    assert (dropped.n_left_out, dropped.recoded({"q": hierarchy}).n_left_out) == (2, 2)
    assert dropped.domain_of("s") == ("b",)

    kept = Microdata.from_frame(data, {"q": hierarchy}, "s", missing="keep")
    assert kept.quasi_identifiers["q"] == hierarchy.with_missing()
    assert (kept.tuples.codes.tolist(), kept.tuples.counts.tolist()) == ([[0], [2]], [2, 1])
    assert kept.n_left_out == 0
    assert kept.domain_of("s") == ("a", "b", None)
    assert kept.tuples.columns["s"].histogram().tolist() == [[0, 1, 1], [1, 0, 0]]


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


@pytest.mark.parametrize(("name", "has_polars"), [("*", True), ("^a.*$", True), ("a.b", False), ('a"b', False)])
def test_a_name_that_an_engine_takes_for_a_pattern_or_path_is_refused(name, has_polars, monkeypatch):
    """The hierarchy would be of the values of another column. DuckDB reads paths before its version 2."""
    monkeypatch.setattr(duckdb, "__version__", "1.5.6")
    frame = pl.DataFrame({"abc": [1, 2], name: [3, 4]})
    for own in (duckdb.connect().from_arrow(frame.to_arrow()), *[frame, frame.lazy()] * has_polars):
        with pytest.raises(ValueError, match=r"^frame must have no column named '.*', a pattern or path; rename it"):
            Microdata.from_frame(own, {name: Hierarchy.flat([1, 2])})
    for own in (frame.to_arrow(), frame.to_pandas()):
        assert Microdata.from_frame(own, {name: Hierarchy.flat([3, 4])}).n_rows == 2


ZONES = ("America/New_York", "Asia/Tokyo")
#: Two days in any zone, three of their moments on another day in UTC.
HOURS = [(5, 23), (5, 1), (5, 1), (6, 2), (6, 23)]


def moments(zone, gap):
    own = [datetime(2021, 3, day, hour, 30, tzinfo=ZoneInfo(zone)) for day, hour in HOURS]
    return pa.table({"seen": pa.array(own + [None] * gap, pa.timestamp("us", zone))})


def relation(own, zone):
    connection = duckdb.connect()
    connection.execute(f"SET TimeZone = '{zone}'")
    return connection.from_arrow(own)


ZONED = {name: lambda own, zone, made=made: made(own) for name, made in FRAMES.items() if name != "duckdb"} | {
    "pandas objects": lambda own, zone: pd.DataFrame({"seen": pd.Series(own["seen"].to_pylist(), dtype=object)}),
    "duckdb": relation,
}


# DuckDB uses a pandas keyword that pandas gives up.
@pytest.mark.filterwarnings("ignore:The inplace keyword")
@pytest.mark.parametrize("gap", [0, 2])
@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("kind", ZONED)
def test_a_moment_is_on_the_day_of_its_own_zone(kind, zone, gap):
    frame = ZONED[kind](moments(zone, gap), zone)
    days = Hierarchy.from_csv(io.StringIO("2021-03-05;2021-03;*\n2021-03-06;2021-03;*\n"))
    table = Microdata.from_frame(frame, {"seen": days}, missing="keep")
    domain = table.quasi_identifiers["seen"].domain
    counts = {domain[code]: n for (code,), n in zip(table.tuples.codes, table.tuples.counts, strict=True)}
    assert counts == {"2021-03-05": 3, "2021-03-06": 2, **({None: 2} if gap else {})}
    made = release(frame, LatticeProblem(table, [KAnonymity(), GeneralLossMetric()]), [0])
    texts = [text for (text,) in cells(made.frame)]
    assert [texts.count(day) for day in domain[:2]] == [3, 2]
    assert made.claims["holds"].tolist() == [True, True]


LARGE = [2**53, 2**53 + 1, 2**60, 2**60 + 1, 2**60 + 1]


# pandas itself turns numbers beside gaps into floats.
WIDE = {
    name: made(pa.table({"q": [*LARGE, None], "s": [*LARGE, None]}))
    for name, made in FRAMES.items()
    if name != "pandas"
} | {
    f"objects and {gap}": pd.DataFrame({"q": [*LARGE, gap], "s": [*LARGE, gap]}, dtype=object)
    for gap in (None, float("nan"), pd.NA)
}


@pytest.mark.parametrize("moment", ["'infinity'::date", "'0044-03-15 (BC)'::date", "'infinity'::timestamp"])
@pytest.mark.parametrize("convert", [lambda frame: frame, lambda frame: frame.to_arrow_table()])
def test_days_that_python_does_not_have_are_refused(moment, convert):
    frame = duckdb.sql(f"SELECT unnest([{moment}, NULL, '2021-03-05']) AS day")
    with pytest.raises(ValueError, match=r"column 'day' must hold dates of the years 1 to 9999"):
        guesses_of(convert(frame), ["day"])


@pytest.mark.parametrize("kind", WIDE)
def test_large_whole_numbers_beside_a_gap_stay_apart(kind):
    hierarchy = Hierarchy([sorted(set(LARGE)), ["*"] * 4])
    table = Microdata.from_frame(WIDE[kind], {"q": hierarchy}, "s", missing="keep")
    assert sorted(table.tuples.counts.tolist()) == [1, 1, 1, 1, 2]
    assert table.domain_of("s") == (2**53, 2**53 + 1, 2**60, 2**60 + 1, None)
    problem = LatticeProblem(table, [KAnonymity(), GeneralLossMetric()])
    made = release(WIDE[kind], problem, [0], anyway="it is only a test")
    assert {row[0] for row in cells(made.frame)} == {*map(str, LARGE), None}


def test_a_text_that_stands_for_what_is_suppressed_may_stand_in_other_columns():
    frame = pd.DataFrame({"q": ["a", "*", "a"], "s": ["*", "x", "y"]})
    # Other columns may hold it, and so may a hierarchy.
    table = Microdata.from_frame(frame[frame.q == "a"], {"q": Hierarchy.flat(["a", "*"])}, sensitive="s")
    assert table.domain_of("s") == ("*", "y")


def test_two_forms_of_one_text_are_said():
    frame = pd.DataFrame({"q": ["Zoë", "Zoe\u0308", "Ann"], "s": ["ü", "u\u0308", "u"]})
    domain = Hierarchy.flat(frame["q"])
    message = (
        r"^column 'q' holds texts that look the same and count as two: 'Zoe\\u0308' and 'Zo\\xeb'; "
        r"unicodedata.normalize\('NFC', text\) makes them one$"
    )
    with pytest.warns(UserWarning, match=message):
        assert Microdata.from_frame(frame, {"q": domain}).n_distinct == 3
    with pytest.warns(UserWarning, match="^column 's' holds texts"):
        Microdata.from_frame(frame[["s"]].assign(q=1), {"q": Hierarchy.flat([1])}, sensitive="s")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Microdata.from_frame(frame.drop(index=1), {"q": domain}, sensitive="s")


@pytest.mark.parametrize(
    ("truth", "number"), [(True, 1), (False, 0), (np.True_, 1.0), (False, np.int64(0)), (True, Decimal(1))]
)
def test_a_truth_value_beside_its_number_is_refused(truth, number):
    """Reject values that the search separates and a recount counts as one."""
    column = pd.Series([truth, number, "x", truth, 2], dtype=object)
    message = (
        rf"^column 's' must not hold both {bool(truth)} and {re.escape(repr(number))}, which are two values here and "
        "equal in Python, so that a recount of the release counts one; write one of them in place of the other, or "
        "both as text$"
    )
    one = Hierarchy.flat([1])
    for role in ("sensitive", "label", "person"):
        with pytest.raises(ValueError, match=message):
            Microdata.from_frame(pd.DataFrame({"q": 1, "s": column}), {"q": one}, **{role: "s"})
    with pytest.raises(ValueError, match=message):
        Microdata.from_frame(pd.DataFrame({"s": column}), {"s": Hierarchy.flat([truth, 2, "x"])})
    # As text they differ everywhere, and the same number is one value everywhere.
    for own in (column.astype(str), pd.Series([1, 1.0, "x", Decimal(1), 2], dtype=object)):
        table = Microdata.from_frame(pd.DataFrame({"q": 1, "s": own}), {"q": one}, "s")
        problem = LatticeProblem(table, [KAnonymity(), DistinctLDiversity("s")])
        made = release(pd.DataFrame({"q": 1, "s": own}), problem, [0])
        assert len(table.domain_of("s")) == made.claims.set_index("measure").loc["l of s", "recounted"]


@given(st.permutations([True, 1.5, "1", "True", 0, None]), st.permutations([np.True_, 1, np.False_, 0, 2]))
def test_truth_values_are_no_numbers(column, of_numpy):
    frame = pd.DataFrame({"q": pd.Series(column, dtype=object), "s": pd.Series(column, dtype=object)})
    draft = draft_hierarchy(frame["q"]).hierarchy
    assert draft.n_values == 6
    table = Microdata.from_frame(frame, {"q": draft}, "s", missing="keep")
    assert (table.n_distinct, len(table.domain_of("s"))) == (6, 6)
    assert sorted(map(repr, table.domain_of("s"))) == sorted(map(repr, column))
    codes, values = coded(pd.Series(of_numpy, dtype=object))
    assert [repr(values[code]) for code in codes] == [repr(value) for value in of_numpy]
    assert values == [0, False, 1, True, 2]


def test_drafts_of_typed_values_are_those_of_their_texts():
    rng, n = np.random.default_rng(3), 400
    typed = {
        "born": [date(1930, 1, 1) + timedelta(int(day)) for day in rng.integers(0, 30_000, n)],
        "seen": [datetime(2020, 6, 1) + timedelta(minutes=int(own)) for own in rng.integers(0, 525_600, n)],
        "age": rng.integers(18, 95, n).tolist(),
        "weight": rng.normal(75, 12, n).round(1).tolist(),
    }
    for name, values in typed.items():
        column = [None if gap else value for value, gap in zip(values, rng.random(n) < 0.05, strict=True)]
        texts = [None if value is None else str(value) for value in column]
        # pandas makes numbers beside gaps floats, and moments its own.
        drafts = {draft_hierarchy(own).hierarchy.to_csv() for own in (column, texts, pd.Series(column).tolist())}
        assert len(drafts) == 1, name


def test_intervals_of_duckdb_are_those_of_python():
    rows = "('1 day', 'a'), ('36 hours', 'b'), ('30 days', 'a'), (NULL, 'b'), ('0 days', 'b')"
    frame = duckdb.sql(f"SELECT CAST(own AS INTERVAL) AS own, s FROM (VALUES {rows}) AS t(own, s)")
    spans = [timedelta(0), timedelta(1), timedelta(1.5), timedelta(30)]
    table = Microdata.from_frame(frame, {"own": Hierarchy.flat(spans)}, "s", missing="keep")
    assert sorted(table.tuples.codes[:, 0].tolist()) == [0, 1, 2, 3, 4]
    table = Microdata.from_frame(frame, {"s": Hierarchy.flat(["a", "b"])}, "own", missing="keep")
    assert table.domain_of("own") == (*spans, None)


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
        for name in ("quasi_identifiers", "sensitive", "label", "person", "tuples", "grouper", "n_left_out"):
            with pytest.raises(AttributeError):
                setattr(one, name, None)
    given_hierarchies = dict(QUASI)
    table = Microdata.from_frame(persons(), given_hierarchies)
    given_hierarchies["age"] = None
    assert table.quasi_identifiers == QUASI


def test_equivalence_classes_are_not_overwritten():
    table = Microdata.from_frame(persons(), QUASI, "diagnosis")
    finest, coarsest = at_levels(QUASI, [0, 0]), at_levels(QUASI, [1, 1])
    classes = table.equivalence_classes(finest)
    assert table.equivalence_classes(coarsest).sizes.tolist() == [6]
    assert sorted(classes.sizes) == [1, 1, 1, 3]


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


GROUPS = {"age": [0, 0, 1], 3: [0]}
LABELS = {"age": ["young", "old"], 3: ["*"]}


def test_a_generalization_holds_groups_and_labels():
    one = Generalization(GROUPS, LABELS)
    assert one.n_groups == (2, 1)
    assert {name: groups.tolist() for name, groups in one.groups.items()} == GROUPS
    assert dict(one.labels) == {"age": ("young", "old"), 3: ("*",)}
    assert repr(one) == "Generalization(\n  age: young; old\n  3: *\n)"
    many = Generalization({"q": range(6)}, {"q": "abcdef"})
    assert repr(many) == "Generalization(\n  q: a; b; c; d; ... 6 groups\n)"


def test_a_local_recoding_is_shown_by_its_labels():
    ways = {"age": Hierarchy.intervals(0, 4, [2]), "sex": Hierarchy.flat("FM")}
    made = LocalGeneralization(ways, [[0, 0], [1, 0], [1, 0]])
    assert made.n_groups == (2, 1)
    assert repr(made) == "LocalGeneralization(2 classes; age: 2 labels; sex: 1 label)"
    for twin in (LocalGeneralization(ways, made.cells), pickle.loads(pickle.dumps(made))):
        assert (twin, hash(twin)) == (made, hash(made))
    assert made != LocalGeneralization(ways, made.cells, suppressed=True)
    assert made != LocalGeneralization(ways, [[0, 0], [1, 1], [1, 0]])
    assert repr(LocalGeneralization(ways, [[0, 0]])) == "LocalGeneralization(1 class; age: 1 label; sex: 1 label)"


def test_equality_is_that_of_groups_and_labels():
    one = Generalization(GROUPS, LABELS)
    for twin in (Generalization(GROUPS, LABELS), pickle.loads(pickle.dumps(one)), copy.deepcopy(one), copy.copy(one)):
        assert twin == one
        assert hash(twin) == hash(one)
        assert not twin.groups["age"].flags.writeable
    assert one != Generalization({**GROUPS, "age": [0, 1, 1]}, LABELS)
    assert one != Generalization(GROUPS, {**LABELS, "age": ["old", "young"]})
    assert one != Generalization(dict(reversed(GROUPS.items())), dict(reversed(LABELS.items())))
    assert one != "text"
    # The order is that of a table's columns.
    assert Generalization({"a": [0], "b": [0]}, {"a": "*", "b": "*"}) != Generalization(
        {"b": [0], "a": [0]}, {"b": "*", "a": "*"}
    )


def test_instances_do_not_change():
    groups = np.array([0, 0, 1])
    one = Generalization({"age": groups}, {"age": ["young", "old"]})
    groups[0] = 1
    assert one.groups["age"].tolist() == [0, 0, 1]
    for mapping in (one.groups, one.labels):
        with pytest.raises(TypeError):
            mapping["age"] = ()
    with pytest.raises(AttributeError):
        one.groups = {}
    with pytest.raises(ValueError, match="read-only"):
        one.groups["age"][0] = 1


def test_midnights_of_two_zones_are_two_labels():
    """Label midnights by zone, and one without a zone by its day."""
    zones = timezone.utc, timezone(timedelta(hours=9))
    moments = [datetime(2021, 3, 5), *(datetime(2021, 3, 5, tzinfo=zone) for zone in zones)]
    texts = ["2021-03-05", "2021-03-05 00:00:00+00:00", "2021-03-05 00:00:00+09:00"]
    assert label_texts({"seen": moments}) == {"seen": texts}


def test_limits_are_numbers_of_tuples():
    assert AtMost(0.01).grouping(30162) == (301, 0)
    assert AtMost(0.29).grouping(100) == (29, 0)
    assert suppression_rule(np.float64(0.0)).grouping(100) == AtMost().grouping(100) == (0, 0)
    assert suppression_rule(np.int64(99)).grouping(100) == (99, 0)
    assert Below(np.int64(100)).grouping(100) == (0, 100)
    assert Below(3).limit_of(100) is None
    assert Violating(0.05).limit_of(100) == 5
    # A limit is below the number of rows, and a size at most that.
    assert AtMost(9).limit_of(10) == Violating(9).limit_of(10) == 9
    assert Below(10).grouping(10) == (0, 10)
    assert Violating(0.05).grouping(100) == (0, 0)
