"""Releases of every kind of frame and by distinct rows: equal cells, any values, unchanged inputs."""

import datetime
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import duckdb
import ibis
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import test_keeping
from hypothesis import assume, given
from hypothesis import strategies as st
from persons import AGES, FRAMES, QUASI, SEXES, persons, rows_of
from raw_tables import raw_problem
from servers import postgres_server
from strategies import fewer

from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity, RecursiveCLDiversity, TCloseness
from pymoo_anon.problems import LatticeProblem, LocalRecodingProblem
from pymoo_anon.publishing import Kept, release, verify
from pymoo_anon.publishing.release import RecountError, recode
from pymoo_anon.study.engines import write_table
from pymoo_anon.table import Hierarchy, Microdata, frames
from pymoo_anon.table.frames import COUNT
from pymoo_anon.table.guesses import profiles_of


class Case(NamedTuple):
    """A release from pandas: rows, how they are read, the table's problem, a point, what is asked for, and the result.

    The last is None where pandas alone says what other frames have to become.
    """

    frame: pd.DataFrame
    read: dict
    problem: Callable
    x: Any
    asked: dict
    rows: list | None = None


def lattice(suppression=0, measures=(KAnonymity(), GeneralLossMetric())):  # noqa: B008
    return lambda table: LatticeProblem(table, measures, suppression)


def local(table):
    return LocalRecodingProblem(table, [KAnonymity(), GeneralLossMetric()])


def joint(table):
    beside = [(LatticeProblem(table, [KAnonymity()]), [0, 1])]
    measures = [KAnonymity(joint=True), RecursiveCLDiversity("diagnosis", 2).jointly(), GeneralLossMetric()]
    return LatticeProblem(table, measures, beside=beside)


GAPS = pd.DataFrame(
    {
        "age": [30, None, 41, 30, None, 41],
        "sex": ["F", "M", None, "F", "M", None],
        "diagnosis": ["flu", None, "flu", "cold", "cold", "flu"],
    }
)
ODD = pd.concat([persons()] * 4 + [persons(diagnosis=["flu", None, "=1", 'a"b', "x\ny", " lead"])], ignore_index=True)
TYPES = {
    "share": [1.5, 2.5] * 2,
    "price": [Decimal("1.50"), Decimal("20000000000000000000000000000.25")] * 2,
    "yes": [True, False] * 2,
    "day": [datetime.date(2020, 1, 2), datetime.date(2021, 1, 2)] * 2,
    "sign": ["=1+1", "-2", "+3", "@x"],
    "text": ['a"b', "new\nline", "semi;colon", "ä,ö"],
}
OF_TYPES = {"quasi_identifiers": {name: Hierarchy.flat(dict.fromkeys(own)) for name, own in TYPES.items()}}
DAYS = [datetime.timedelta(days) for days in (1, 1, 30, 0.5, 2)]
NAMES = [f"q{j}" for j in range(9)]
MANY = pd.DataFrame(np.random.default_rng(3).integers(0, 256, (30, 9)), columns=NAMES)
MANY = pd.concat([MANY, MANY[:20]], ignore_index=True)

READ = {"quasi_identifiers": QUASI, "sensitive": "diagnosis"}
KEPT = {"missing": "keep", **READ}
ROLES = {"drop": "name", "keep": {"salary": Kept(reason="it is kept as drawn here", round=0.5)}}
STARS = [("*", "*", "flu", 1.5), ("*", "*", "ulcer", 2.0), ("*", "*", "ulcer", 2.0)]
THIRTY = [("30", "*", "cold", 1.5), ("30", "*", "flu", 1.5), ("30", "*", "flu", 2.0)]
WOMEN = [(age, "F", *own) for age, _, *own in THIRTY]
MEASURES = (KAnonymity(), DistinctLDiversity("diagnosis"), TCloseness("diagnosis"), GeneralLossMetric())

CASES = {
    "marked": Case(persons(), READ, lattice(3, MEASURES), [0, 1], ROLES, STARS + THIRTY),
    "dropped": Case(persons(), READ, lattice(3, MEASURES), [0, 1], {**ROLES, "suppressed": "drop"}, THIRTY),
    "local": Case(persons(), READ, local, lambda own: own.x_of(3), ROLES, STARS + WOMEN),
    "refined": Case(ODD, KEPT, lattice(6, MEASURES), [1, 1], {**ROLES, "recoding": "local"}),
    "all rows differ": Case(persons(salary=[float(i) for i in range(6)]), READ, lattice(), [1, 1], ROLES),
    "odd texts": Case(ODD, KEPT, lattice(6, MEASURES), [1, 1], ROLES),
    "odd texts, dropped": Case(ODD, KEPT, lattice(6, MEASURES), [0, 1], {**ROLES, "suppressed": "drop"}),
    "missing values": Case(
        *(GAPS, KEPT, lattice(), [0, 0], {}),
        [("30", "F", "cold"), ("30", "F", "flu"), *[("41", None, "flu")] * 2, (None, "M", "cold"), (None, "M", None)],
    ),
    "rows with missing values": Case(
        *(GAPS, {"missing": "drop", **READ}, lattice(), [0, 0], {}), [("30", "F", "cold"), ("30", "F", "flu")]
    ),
    "missing values, local": Case(
        *(GAPS[["age", "sex"]], {**KEPT, "sensitive": ()}, local, lambda own: own.x_of(2), {}),
        [("30", "F")] * 2 + [("41", None)] * 2 + [(None, "M")] * 2,
    ),
    "beside another": Case(persons()[["age", "sex", "diagnosis"]], READ, joint, [0, 1], {}),
    "coarser columns": Case(
        *(test_keeping.FRAME, {"quasi_identifiers": {"sex": SEXES}}, lattice(), [0]),
        {"keep": test_keeping.KEEP},
        test_keeping.expected(),
    ),
    "means": Case(
        *(test_keeping.PAID, {"quasi_identifiers": {"age": test_keeping.AGES}}, lattice(), [1]),
        {"keep": test_keeping.MEANS},
        [("20–29", 70 / 3, 5 / 3)] * 3 + [("30–39", 5.1, 2.0)] * 5,
    ),
    # The decimal loses its last zero.
    "values of any type": Case(
        *(pd.DataFrame(TYPES, dtype=object), OF_TYPES, lattice(), [0] * len(TYPES), {}),
        [tuple(str(cell).removesuffix("0") for cell in row) for row in zip(*TYPES.values(), strict=True)],
    ),
    "durations": Case(
        *(pd.DataFrame({"stay": DAYS}), {"quasi_identifiers": {"stay": Hierarchy.flat(DAYS[1:])}}, lattice(), [0], {}),
        [(str(stay),) for stay in DAYS],
    ),
    # 256**9 combinations of groups are too many for one integer.
    "many columns": Case(
        *(MANY, {"quasi_identifiers": dict.fromkeys(NAMES, Hierarchy.flat(range(256)))}, lattice(10), [0] * 9),
        {"suppressed": "drop"},
        [tuple(map(str, row)) for row in MANY[MANY.duplicated(keep=False)].itertuples(index=False)],
    ),
}


@pytest.fixture(scope="module")
def postgres():
    with postgres_server() as folder:
        connection = ibis.postgres.connect(host=str(folder), user="tester", database="postgres")
        yield connection
        connection.disconnect()


SLOW = "postgres", "spark"
#: Expressions that are nested too deep for SQLite's parser, and types that some do not hold.
LACKING = {
    "ibis duckdb": ("durations",),
    "ibis sqlite": ("coarser columns", "many columns", "values of any type", "durations"),
    "postgres": ("durations",),
    "spark": ("values of any type", "durations"),
}
RUNS = [
    pytest.param(name, kind, marks=[pytest.mark.slow] if kind in SLOW else [])
    for kind in (*FRAMES, "ibis duckdb", "ibis sqlite", *SLOW)
    for name in CASES
    if name not in LACKING.get(kind, ())
]


# Python 3.13 warns of connections that are open and forgotten.
connected = cache(lambda engine: getattr(ibis, engine).connect())


@pytest.fixture
def to_kind(request):
    """Return a function from pandas to a kind of frame."""
    if request.param == "spark":
        session = request.getfixturevalue("spark")
        return lambda frame: session.createDataFrame(rows_of(frame)[1], list(frame))
    if request.param in FRAMES:
        return lambda frame: FRAMES[request.param](pa.Table.from_pandas(frame, preserve_index=False))
    name = request.param.removeprefix("ibis ")
    connection = request.getfixturevalue(name) if name == "postgres" else connected(name)
    return lambda frame: connection.create_table("rows", frame, overwrite=True)


def outcome(name, frame):
    """Return the release of a case from a kind of frame, and its counts."""
    case = CASES[name]
    problem = case.problem(Microdata.from_frame(frame, **case.read))
    x = case.x(problem) if callable(case.x) else case.x
    made = release(frame, problem, x, anyway="it is only a test", **case.asked)
    return made, verify(made.frame, list(case.read["quasi_identifiers"]), [KAnonymity() >= 2])


@cache
def of_pandas(name):
    return outcome(name, CASES[name].frame)


# PySpark and Ibis call pandas in ways that pandas 3 warns of.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "to_kind"), RUNS, indirect=["to_kind"])
def test_every_kind_of_frame_gives_the_same_release(name, to_kind):
    given, rows = to_kind(CASES[name].frame), CASES[name].rows
    (one, counted), (other, again) = of_pandas(name), outcome(name, given)
    assert type(other.frame) is type(given)
    assert rows_of(other.frame) == rows_of(one.frame)
    assert rows is None or sorted(rows_of(one.frame)[1], key=str) == sorted(rows, key=str)
    for table in ("claims", "columns", "uniqueness"):
        pd.testing.assert_frame_equal(getattr(other, table), getattr(one, table))
    assert one.claims.holds.all()
    assert again.equals(counted)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_columns_of_a_database_are_looked_at(engine):
    frame, connection = persons(), connected(engine)
    one, other = (
        [(own.name, own.n_rows, own.n_distinct, own.n_missing) for own in profiles_of(table, list(frame))]
        for table in (frame, connection.create_table("rows", frame, overwrite=True))
    )
    assert other == one


def test_categories_become_values():
    frame = persons().astype({"sex": "category", "diagnosis": "category", "age": "category"})
    problem = LatticeProblem(Microdata.from_frame(frame, QUASI, "diagnosis"), [KAnonymity()])
    made = release(frame, problem, [1, 0], drop=["name", "salary"]).frame
    assert not any(isinstance(dtype, pd.CategoricalDtype) for dtype in made.dtypes)
    gaps = pd.DataFrame({"age": pd.Categorical([30, None] * 2), "yes": pd.array([True, False] * 2, "boolean")})
    ways = {"age": AGES, "yes": Hierarchy.flat(["true", "false"])}
    own = LatticeProblem(Microdata.from_frame(gaps, ways, missing="keep"), [KAnonymity()])
    assert rows_of(release(gaps, own, [0, 0]).frame)[1] == [("30", "true")] * 2 + [(None, "false")] * 2
    arrow = pl.from_pandas(persons()).with_columns(
        pl.col("sex").cast(pl.Categorical), pl.col("diagnosis").cast(pl.Enum(["ulcer", "flu", "cold"]))
    )
    assert release(arrow, problem, [1, 0], drop=["name", "salary"]).frame.dtypes == [pl.String] * 3
    # Arrow has categories of numbers, and columns of no type.
    numbers = pa.Table.from_pandas(frame.assign(note=None))
    made = release(numbers, problem, [1, 0], drop=["name", "salary"], keep="note").frame
    assert {*map(str, made.schema.types)} <= {"string", "large_string"}


def test_values_that_are_one_text_are_released_where_they_have_one_label():
    frame = pd.DataFrame({"q": pd.Series([1, "1", 2], dtype=object)})
    assert len(release(frame, raw_problem(frame), [1]).frame) == 3


@pytest.mark.filterwarnings("ignore")
def test_a_duration_may_be_written_in_two_ways():
    frame = duckdb.sql("FROM (VALUES (INTERVAL 24 HOURS), (INTERVAL 1 DAY)) AS rows(stay)")
    table = Microdata.from_frame(frame, {"stay": Hierarchy.flat(DAYS[1:])})
    made = release(frame, LatticeProblem(table, [KAnonymity()]), [0]).frame
    assert rows_of(made)[1] == [("1 day, 0:00:00",)] * 2
    connection = ibis.duckdb.connect()
    connection.raw_sql("CREATE TABLE rows AS SELECT INTERVAL 1 DAY AS stay")
    with pytest.raises(ValueError, match="columns of Ibis must hold no intervals, got 'stay'; cast them to text"):
        Microdata.from_frame(connection.table("rows"), {"stay": Hierarchy.flat(DAYS[1:])})


def test_names_of_columns_may_be_numbers_and_tuples():
    frame = persons().rename(columns={"age": 0, "sex": ("who", "sex"), "diagnosis": 2, "name": 3, "salary": 4})
    table = Microdata.from_frame(frame, {0: QUASI["age"], ("who", "sex"): QUASI["sex"]}, [2])
    made = release(frame, LatticeProblem(table, [KAnonymity()]), [1, 1], drop=[3, 4]).frame
    assert made.columns.tolist() == [0, ("who", "sex"), 2]


@pytest.mark.parametrize("kind", ["polars", "duckdb"])
def test_what_is_no_number_is_missing(kind):
    """Treat NaN and null as one kind of missing value."""
    frame = pl.DataFrame({"q": [1.0, float("nan"), None, 1.0], "s": ["a", "b", "c", "d"]})
    given = frame if kind == "polars" else FRAMES[kind](frame.to_arrow())
    for missing, rows in (
        ("drop", [("1", "a"), ("1", "d")]),
        ("keep", [("1", "a"), ("1", "d"), (None, "b"), (None, "c")]),
    ):
        table = Microdata.from_frame(given, {"q": Hierarchy.flat([1, 2])}, "s", missing=missing)
        made = release(given, LatticeProblem(table, [KAnonymity()]), [0])
        assert rows_of(made.frame)[1] == rows


@pytest.mark.parametrize("engine", ["polars lazy", "duckdb"])
@pytest.mark.parametrize("suppressed", ["mark", "drop"])
def test_rows_of_lazy_frames_are_compared_where_they_live(engine, suppressed, monkeypatch):
    """Where all rows differ, no more than the distinct tuples come into memory; in memory the same is found."""
    verifying = import_module("pymoo_anon.publishing.verify")
    frame = pd.concat([persons()] * 40, ignore_index=True).assign(salary=range(240))
    problem = LatticeProblem(Microdata.from_frame(frame, QUASI, "diagnosis"), [KAnonymity()], suppression=40)
    asked = {"drop": "name", "keep": {"salary": "it is kept as drawn here"}, "suppressed": suppressed}
    made = recode(FRAMES[engine](pa.Table.from_pandas(frame)), problem, [0, 0], **asked)
    fetched, rows_of_frame, balance = [], verifying.rows_of, verifying._balance

    def spied(own):
        rows = rows_of_frame(own)
        fetched.append(len(rows[1]))
        return rows

    monkeypatch.setattr(verifying, "rows_of", spied)
    table, salary = nw.from_native(made.frame), nw.col("salary")
    others = nw.when(salary == 39).then(nw.lit("flu")).otherwise(nw.col("diagnosis"))
    swapped = table.with_columns(diagnosis=nw.when(salary == 36).then(nw.lit("cold")).otherwise(others)).to_native()
    for is_there in (True, False):
        monkeypatch.setattr(verifying, "_balance", balance if is_there else lambda *both: None)
        fetched.clear()
        assert made.counted_again(made.frame).claims.holds.all()
        with pytest.raises(RecountError, match=r"counted again, 2 rows are other than the recoding makes them$"):
            made.counted_again(swapped)
        assert (max(fetched) <= problem.table.n_distinct) == is_there
    if engine == "duckdb":
        # DuckDB combines no relations of two connections: these are compared in memory.
        monkeypatch.setattr(verifying, "_balance", balance)
        arrow = made.frame.to_arrow_table()
        assert made.counted_again(duckdb.connect().from_arrow(arrow)).claims.holds.all()


@pytest.mark.parametrize("engine", FRAMES)
@pytest.mark.parametrize(("n", "is_few"), [(1, False), (4, True)])
def test_a_written_table_is_fetched_once(engine, n, is_few):
    """Rows come into memory where they are no more than the codes of the distinct tuples, or few are distinct."""
    frame = pd.concat([persons()] * n, ignore_index=True)
    problem = LatticeProblem(Microdata.from_frame(frame, QUASI, "diagnosis"), [KAnonymity()])
    asked = {"drop": ["name", "salary"], "anyway": "it is only a test"}
    made = recode(FRAMES[engine](pa.Table.from_pandas(frame)), problem, [0, 0], **asked)
    written = made.grouped(made.frame)
    assert made._are_few == is_few
    assert not isinstance(written.frame, nw.LazyFrame)
    assert (COUNT in written.frame.columns) == is_few
    assert made.counted_again(written).claims.equals(made.counted_again(made.frame).claims)


TEXTS = ["a", "", " lead", 'qu"ote', "com,ma", "line\nend", "re\r\nturn", "ä", '"', "\n"]
#: Values of kept columns, by their type in an engine.
KINDS = {
    pa.float64(): [0.1, -0.0, 0.0, 1e300, 2.5, None],
    pa.int64(): [2**53 + 1, 2**53, -1, None],
    pa.date32(): [datetime.date(1990, 1, 2), datetime.date(2001, 12, 31), None],
    pa.decimal128(9, 2): [Decimal("0.10"), Decimal("-3.25"), None],
    pa.bool_(): [True, False, None],
    pa.string(): [*TEXTS, None],
    pa.timestamp("us"): [datetime.datetime(2020, 1, 2, 3, 4, 5), datetime.datetime(2020, 1, 2), None],
}
TOWNS = {"q": Hierarchy.flat([17, 18, 19]), "town": Hierarchy.flat(["Bonn", 'K"öln', "a,b"])}
REASONS = {"kept": "it is kept as drawn", "number": "it is kept as drawn"}


@st.composite
def given_rows(draw):
    """Draw a table of repeated rows, one column kept, of any type."""
    kind = draw(st.sampled_from(list(KINDS)))
    one = st.tuples(
        st.sampled_from(KINDS[kind]),
        st.sampled_from(TOWNS["q"].domain),
        st.sampled_from([*TEXTS, None]),
        st.sampled_from([*TOWNS["town"].domain, None]),
    )
    rows = draw(st.lists(one, min_size=1, max_size=6))
    times = draw(st.lists(st.integers(1, 4), min_size=len(rows), max_size=len(rows)))
    drawn = draw(st.permutations(list(np.repeat(np.arange(len(rows)), times))))
    columns = [list(column) for column in zip(*(rows[i] for i in drawn), strict=True)]
    types = [kind, pa.int64(), pa.string(), pa.string()]
    arrays = [pa.array(column, own) for column, own in zip(columns, types, strict=True)]
    table = pa.table(arrays, names=["kept", "q", "s", "town"])
    if draw(st.booleans()):
        return table.append_column("number", pa.array(range(len(drawn))))
    return table


def made_both_ways(frame, problem, asked, x=(0, 0)):
    """Release every row, and distinct rows."""
    both = []
    for share in (-1.0, 1.0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(import_module("pymoo_anon.publishing.release"), "_FEW", share)
            both.append(recode(frame, problem, x, **asked))
    assert [own._are_few for own in both] == [False, True]
    return both


@fewer(4)
@given(table=given_rows(), suppressed=st.sampled_from(["mark", "drop"]), limit=st.integers(0, 4))
@pytest.mark.parametrize("engine", FRAMES)
def test_both_ways_write_the_same_bytes(engine, table, suppressed, limit, tmp_path_factory):
    frame, folder = FRAMES[engine](table), tmp_path_factory.mktemp("files")
    read = Microdata.from_frame(frame, TOWNS, "s", missing="keep")
    problem = LatticeProblem(read, [KAnonymity(), DistinctLDiversity("s")], suppression=min(limit, table.num_rows - 1))
    keep = {name: reason for name, reason in REASONS.items() if name in table.column_names}
    asked = {"keep": keep, "suppressed": suppressed, "anyway": "it is only a test"}
    assume(suppressed == "mark" or problem.equivalence_classes([0, 0]).kept.any())
    rows, distinct = made_both_ways(frame, problem, asked)
    assert type(distinct.frame) is type(frame)
    assert rows_of(distinct.frame) == rows_of(rows.frame)
    for ending in ("csv", "parquet") if engine == "duckdb" else ():
        paths = [folder / f"{name}.{ending}" for name in ("rows", "distinct")]
        for made, path in zip((rows, distinct), paths, strict=True):
            write_table(made.frame, path, made.counted)
        assert sorted(path.name for path in folder.glob(f"*.{ending}*")) == [f"distinct.{ending}", f"rows.{ending}"]
        if ending == "csv":
            assert paths[1].read_bytes() == paths[0].read_bytes()
        else:
            one, other = map(pq.read_table, paths)
            assert one.to_pydict() == other.to_pydict()
            types = [[str(field.type).removeprefix("large_") for field in table.schema] for table in (one, other)]
            assert types[0] == types[1]


# PySpark calls pandas in ways that pandas 3 warns of.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
def test_spark_writes_the_same_files_as_pandas_from_all_rows_and_from_distinct_ones(spark, tmp_path):
    frame = pd.concat([persons(diagnosis=["flu", None, "=1", 'a"b', "x\ny", " lead"])] * 3, ignore_index=True)
    given, made = spark.createDataFrame(rows_of(frame)[1], list(frame)), {}
    for name, own in (("pandas", frame), ("spark", given)):
        table = Microdata.from_frame(own, QUASI, "diagnosis", missing="keep")
        problem = LatticeProblem(table, [KAnonymity(), DistinctLDiversity("diagnosis")], 6)
        asked = {"drop": "name", "keep": "salary", "suppressed": "drop", "anyway": "it is only a test"}
        made |= dict(zip((f"{name} rows", name), made_both_ways(own, problem, asked, [0, 1]), strict=True))
    for ending, read in (("csv", pd.read_csv), ("parquet", pd.read_parquet)):
        written = {}
        for name, own in made.items():
            path = tmp_path / f"{name}.{ending}"
            write_table(own.frame, path)
            written[name] = read(path)
            pd.testing.assert_frame_equal(written[name], written["pandas rows"], check_dtype=False)
        assert len(list(tmp_path.glob(f"*.{ending}*"))) == len(made)
    assert (tmp_path / "spark.csv").read_bytes() == (tmp_path / "spark rows.csv").read_bytes()


def test_objects_that_are_equal_and_written_in_two_ways_stay_two(monkeypatch):
    # Two rows a block.
    monkeypatch.setattr(frames, "_FEW_CELLS", 6)
    values = [1, 1.0, True, Decimal("1.0"), Decimal("1.00"), 1] * 3
    frame = pd.DataFrame({"q": 17, "town": "Bonn", "kept": pd.Series(values, dtype=object)})
    problem = LatticeProblem(Microdata.from_frame(frame, TOWNS), [KAnonymity()])
    made = recode(frame, problem, [0, 0], keep={"kept": "it is kept as drawn"})
    assert len(made._rows) == 5
    assert sorted(map(str, made.frame.kept)) == sorted(map(str, values))
