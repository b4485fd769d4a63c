"""Tables on every engine: the same cells from the same file, and the same sentence where a file is wrong."""

import warnings
from importlib.metadata import version
from pathlib import Path

import narwhals as nw
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pymoo_anon.cli import engines
from pymoo_anon.cli.engines import engine_of, open_frame
from pymoo_anon.cli.names import Reading, Source, checksum, source_of

QUICK = ["polars", "duckdb", "dask"]
TAKES_QUOTES = version("duckdb") >= "2"

pytestmark = pytest.mark.filterwarnings("ignore:Dask support is moving", "ignore::DeprecationWarning:dask")

#: Files that readers of CSV stumble over. All of them are right.
NASTY = {
    "quotes": 'a,"b""x",c\n1,"x,y",02\n"","q""uote\nnew", lead\n,é,=1\n"  ",\'s,"-2"\n+1,@x, tail \n',
    "windows": "a,b\r\n1,2\r\n,=x\r\n",
    "windows inside": 'a,b\r\n"1\r\n2",2\r\n',
    "a quote in a field": 'a,b\n5" x,2\n',
    "blank lines": "a,b\n\n1,2\n\n\n3,4\n",
    "one column": "a\n1\n\n2\n",
    "semicolons": "a;b\n1;2,5\n;NA\n",
    "tabs": "a\tb\n1\t2,5;\n",
    "names": '"a\'b","c,d\ne",ünï\n1,2,\n?,4,\n',
    "mark": "\ufeffa,b\n1,2\n",
    "old line ends": "a,b\r1,2\r",
    "no end": "a,b\n1,2",
    "texts that look like others": "a,b\nNULL,nan\nTrue,1e5\n007,#x\n1_000,2020-01-01\n",
}

WRONG = {
    "uneven": "a,b\n1,2\n3\n",
    "too many": "a,b\n1,2,3\n",
    "unclosed": 'a,b\n1,"2\n',
    "after a quote": 'a,b\n1,"2"x\n',
    "twice": "a,a\n1,2\n",
    "empty": "",
    "no names": ",\n1,2\n",
}


def cells(frame):
    """All cells of a frame, None where there is no value."""
    table = nw.from_native(frame)
    if isinstance(table, nw.LazyFrame):
        table = table.collect(None if table.implementation.is_polars() else "pyarrow")
    return [tuple(None if pd.isna(cell) else cell for cell in row) for row in table.rows()]


def opened(path, engine, empty=("?",), names=None, strip=False):
    return open_frame(Reading(Source("csv", path), engine, empty, names, strip), lambda found: found)


@pytest.mark.parametrize("name", NASTY)
def test_engines_agree(tmp_path, name):
    path = tmp_path / "file.csv"
    path.write_bytes(NASTY[name].encode())
    plain = opened(path, "pandas")
    assert len(plain) > 0
    for engine in QUICK:
        if engine == "duckdb" and not TAKES_QUOTES and any('"' in column for column in plain):
            continue
        frame = opened(path, engine)
        assert nw.from_native(frame).collect_schema().names() == list(plain), engine
        assert cells(frame) == cells(plain), engine


def test_an_old_duckdb_says_what_it_cannot_read(tmp_path, monkeypatch):
    monkeypatch.setattr(engines, "version", lambda package: "1.5.4")
    for name in (".file.csv", "file.csv"):
        (tmp_path / name).write_bytes(NASTY["quotes"].encode())
        with pytest.raises(ValueError, match=r"^engine duckdb before DuckDB 2 must have columns without "):
            opened(tmp_path / name, "duckdb")


def test_what_the_cells_are(tmp_path):
    path = tmp_path / "file.csv"
    path.write_bytes(NASTY["quotes"].encode())
    assert cells(opened(path, "pandas")) == [
        ("1", "x,y", "02"),
        (None, 'q"uote\nnew', " lead"),
        (None, "é", "=1"),
        ("  ", "'s", "-2"),
        ("+1", "@x", " tail "),
    ]


def test_engines_stay_lazy(tmp_path):
    path = tmp_path / "file.csv"
    path.write_bytes(NASTY["windows"].encode())
    kinds = {engine: type(opened(path, engine)).__name__ for engine in QUICK}
    assert kinds == {"polars": "LazyFrame", "duckdb": "DuckDBPyRelation", "dask": "DataFrame"}


@pytest.mark.slow
def test_spark_agrees(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ("quotes", "windows", "a quote in a field"):
            path = tmp_path / "file.csv"
            path.write_bytes(NASTY[name].encode())
            frame = opened(path, "spark")
            assert type(frame).__module__.startswith("pyspark")
            assert cells(frame) == cells(opened(path, "pandas")), name
        path.write_text("a.b\n1\n")
        with pytest.raises(
            ValueError, match=r"^engine spark must have columns without \. and ` in their names, got 'a\.b'$"
        ):
            opened(path, "spark")


@given(
    st.lists(st.tuples(*[st.text(st.sampled_from("a ,\";\n\r'é=0?"), max_size=5)] * 2), min_size=1, max_size=5),
    st.sampled_from(["\n", "\r\n"]),
)
def test_engines_agree_on_any_table(tmp_path_factory, rows, end):
    def quoted(cell):
        return '"' + cell.replace('"', '""') + '"' if set(cell) & set(',"\n\r;') else cell

    path = tmp_path_factory.mktemp("any") / "file.csv"
    lines = ["left,right", *(",".join(map(quoted, row)) for row in rows)]
    path.write_bytes(end.join(lines).encode())
    expected = [tuple(None if cell in ("", "?") else cell for cell in row) for row in rows]
    for engine in ["pandas", "polars", "duckdb"]:
        assert cells(opened(path, engine)) == expected, engine


@pytest.mark.parametrize("name", WRONG)
def test_every_engine_refuses_what_is_wrong_in_the_same_words(tmp_path, name):
    path = tmp_path / "file.csv"
    path.write_text(WRONG[name])
    said = []
    for engine in ["pandas", *QUICK]:
        with pytest.raises(ValueError, match=r"file\.csv must ") as error:
            opened(path, engine)
        said.append(str(error.value))
    assert len(set(said)) == 1
    assert "\n" not in said[0]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings(tmp_path, encoding):
    path = tmp_path / "file.csv"
    path.write_text("ä,b\nö,ß\n", encoding=encoding)
    for engine in ["pandas", *QUICK]:
        assert cells(opened(path, engine)) == [("ö", "ß")]


def test_another_encoding_is_refused_by_all(tmp_path):
    path = tmp_path / "file.csv"
    path.write_text("ä,b\nö,ß\n", encoding="latin-1")
    for engine in ["pandas", *QUICK]:
        with pytest.raises(ValueError, match="latin-1"):
            opened(path, engine)


def test_files_without_names_and_with_blanks(tmp_path):
    path = tmp_path / "adult.data"
    path.write_text("39, State-gov, <=50K\n50, ?, >50K\n")
    for engine in ["pandas", *QUICK]:
        got = opened(path, engine, names=("age", "work", "pay"), strip=True)
        assert cells(got) == [("39", "State-gov", "<=50K"), ("50", None, ">50K")]
        assert nw.from_native(got).collect_schema().names() == ["age", "work", "pay"]
        with pytest.raises(
            ValueError, match="must have 2 fields in every row, one for each of the names; got 3 fields"
        ):
            opened(path, engine, names=("age", "work"))


@pytest.mark.parametrize("name", ["a*b.csv", "[x].csv", "_hidden.csv", "a b%20c#.csv", "ü'.csv"])
def test_odd_names_of_files(tmp_path, name):
    path = tmp_path / name
    path.write_text("a,b\n1,2\n")
    # What the name would stand for as a pattern.
    for other in ("aXb.csv", "x.csv"):
        (tmp_path / other).write_text("a,b\n3,4\n")
    for engine in ["pandas", *QUICK]:
        assert cells(opened(path, engine)) == [("1", "2")]


def test_a_part_of_a_file_begins_with_a_row(tmp_path, monkeypatch):
    import dask.dataframe

    asked = []
    monkeypatch.setattr(dask.dataframe, "read_csv", lambda *args, **kwargs: asked.append(kwargs))
    monkeypatch.setattr(engines, "_cleaned", lambda *args: None)
    for text in ('a,b\n"1\n",2\n', "a,b\n1,2\n"):
        path = tmp_path / "file.csv"
        path.write_text(text)
        opened(path, "dask")
    assert [kwargs.get("blocksize", "usual") for kwargs in asked] == [None, "usual"]


def test_only_the_columns_that_are_asked_for(tmp_path):
    path = tmp_path / "file.csv"
    path.write_text("a,b,c\n1,2,3\n")
    for engine in ["pandas", *QUICK]:
        frame = open_frame(Reading(Source("csv", path), engine), lambda found: [found[2], found[0]])
        assert cells(frame) == [("3", "1")]


def test_large_files_are_read_by_duckdb(tmp_path, monkeypatch):
    path = tmp_path / "file.csv"
    path.write_text("a\n1\n")
    reading = Reading(Source("csv", path))
    assert engine_of(reading) == "pandas"
    monkeypatch.setattr(engines, "_LARGE", 4)
    assert engine_of(reading) == "duckdb"
    assert cells(open_frame(reading, lambda found: found)) == [("1",)]
    monkeypatch.setattr(engines, "find_spec", lambda name: None)
    assert engine_of(reading) == "pandas"
    with pytest.raises(ValueError, match=r"^engine polars needs the package polars: pip install polars$"):
        opened(path, "polars")


@pytest.fixture
def typed(tmp_path):
    frame = pd.DataFrame({"n": [1, 2, 3], "x": [0.5, np.nan, 2.0], "t": ["a", "?", ""]})
    frame.to_parquet(tmp_path / "file.parquet")
    return frame, tmp_path / "file.parquet"


def test_parquet_keeps_its_types(typed):
    _, path = typed
    for engine in ["pandas", *QUICK]:
        frame = open_frame(Reading(source_of(path.name, path.parent), engine, ("?",)), lambda found: found)
        # Nothing but what is asked for is missing: an empty text of a typed table is a text.
        assert cells(frame) == [(1, 0.5, "a"), (2, None, None), (3, 2.0, "")], engine


@pytest.mark.parametrize("engine", ["pandas", *QUICK])
def test_what_stands_for_no_value_does_so_in_columns_of_categories_too(tmp_path, engine):
    texts = pd.Categorical(["a", "?", None, "a"])
    pd.DataFrame({"t": texts, "n": [1, 2, 3, 4]}).to_parquet(tmp_path / "file.parquet")
    reading = Reading(Source("parquet", tmp_path / "file.parquet"), engine, ("?",))
    assert cells(open_frame(reading, list)) == [("a", 1), (None, 2), (None, 3), ("a", 4)]


def test_a_table_of_duckdb(typed):
    import duckdb

    frame, path = typed
    file = path.with_name("my.duckdb")
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE people AS SELECT * FROM frame")
    source = source_of("duckdb:my.duckdb:people", path.parent)
    got = open_frame(Reading(source), lambda found: found[:1])
    assert cells(got) == [(number,) for number in frame["n"]]
    for reading, message in [
        (Reading(source._replace(table="nobody")), "cannot be read by duckdb: .*nobody"),
        (Reading(source, "polars"), "is read by engine duckdb, got polars"),
        (Reading(source, names=("a",)), "work only with CSV files"),
        (Reading(source_of("duckdb:none.duckdb:people", path.parent)), ": no such file"),
    ]:
        with pytest.raises(ValueError, match=message) as error:
            open_frame(reading, lambda found: found)
        assert "\n" not in str(error.value)


def test_what_is_no_parquet_is_refused(tmp_path):
    path = tmp_path / "file.parquet"
    path.write_text("a,b\n1,2\n")
    for engine in ["pandas", *QUICK]:
        with pytest.raises(ValueError, match=rf"file\.parquet cannot be read by {engine}: ") as error:
            open_frame(Reading(Source("parquet", path), engine), lambda found: found)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["", "duckdb:x", "duckdb::x", "duckdb:x:", "spark:", "a\0b"])
def test_what_names_no_table(text):
    with pytest.raises(ValueError, match="named by"):
        source_of(text, Path())


def test_sources():
    folder = Path("project")
    assert source_of("a.csv", folder) == Source("csv", folder / "a.csv")
    assert source_of("a.PARQUET", folder) == Source("parquet", folder / "a.PARQUET")
    assert source_of("duckdb:C:x.duckdb:t", folder) == Source("duckdb", folder / "C:x.duckdb", "t")
    assert source_of("spark:db.t", folder) == Source("spark", None, "db.t")
    assert [str(source_of(text, Path())) for text in ("a.csv", "duckdb:x:t", "spark:t")] == [
        "a.csv",
        "duckdb:x:t",
        "spark:t",
    ]


def test_a_checksum_is_read_in_blocks(tmp_path):
    import hashlib

    path = tmp_path / "file"
    path.write_bytes(bytes(range(256)) * 9000)
    assert checksum(path) == hashlib.sha256(path.read_bytes()).hexdigest()
