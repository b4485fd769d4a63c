"""Tables from files: Python's own cells, and errors in one sentence."""

import csv
import gzip
import hashlib
import io
import json
import warnings
from pathlib import Path

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from persons import cells

from pymoo_anon.study import engines
from pymoo_anon.study.engines import Dialect, dialect_of, engine_of, open_frame
from pymoo_anon.study.names import ENGINES, Reading, Source, checksum, source_of

#: Files that readers of CSV stumble over. All of them are right.
NASTY = json.loads(Path(__file__).with_name("nasty.json").read_text(encoding="utf-8"))

#: Files that are wrong beside those of refusals.txt.
WRONG = {
    "a NUL": "a,b\n1,x\0y\n",
    "a short row without an end": "a,b\n1,2\n3",
    "after a quote": 'a,b\n1,"2"x\n',
}


def opened(path, engine="auto", empty=("?",), names=None, strip=False):
    return open_frame(Reading(Source("csv", path), engine, empty, names, strip), lambda found: found)


def rows_by_python(text, separator=","):
    """Return rows that are not blank, or None if Python's reader refuses."""
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True) if row]
    except csv.Error:
        return None
    return rows if rows and len({len(row) for row in rows}) == 1 and "\0" not in text else None


@pytest.mark.parametrize("name", NASTY)
def test_cells_are_those_of_python(tmp_path, name):
    path = tmp_path / "file.csv"
    path.write_bytes(NASTY[name].encode())
    header, *rows = rows_by_python(NASTY[name].removeprefix("\ufeff"), {"semicolons": ";", "tabs": "\t"}.get(name, ","))
    frame = opened(path)
    assert nw.from_native(frame).collect_schema().names() == header
    assert cells(frame) == [tuple(None if cell in ("", "?") else cell for cell in row) for row in rows]


@pytest.mark.parametrize("old", [False, True])
def test_names_that_duckdb_cannot_address(tmp_path, monkeypatch, old):
    """Fall back to pandas: DuckDB ignores case, and before version 2 quotes."""
    if old:
        monkeypatch.setattr(duckdb, "__version__", "1.5.4")
    path = tmp_path / "file.csv"
    path.write_text('age,Age,"b""x"\n1,2,3\n,4,?\n')
    reading = Reading(Source("csv", path), "duckdb", ("?",))
    frame = open_frame(reading, list)
    assert isinstance(frame, pd.DataFrame)
    assert list(frame) == ["age", "Age", 'b"x']
    assert cells(frame) == [("1", "2", "3"), (None, "4", None)]
    is_old = duckdb.__version__.startswith("1.")
    assert isinstance(open_frame(reading, lambda found: [found[1], found[2]]), pd.DataFrame) == is_old


@pytest.mark.slow
def test_spark_agrees(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ("quotes", "windows", "a quote in a field", "mark", "texts that look like others"):
            path = tmp_path / "file.csv"
            path.write_bytes(NASTY[name].encode())
            frame = opened(path, "spark")
            assert type(frame).__module__.startswith("pyspark")
            assert cells(frame) == cells(opened(path)), name
        for text, message in (
            ("a.b\n1\n", r"^engine spark must have columns without \. and ` in their names, got 'a\.b'$"),
            ("a,A\n1,2\n", r"^engine spark must have columns that differ in more than case, got 'a' twice$"),
        ):
            path.write_text(text)
            with pytest.raises(ValueError, match=message):
                opened(path, "spark")


@given(
    st.sampled_from(['a,"\n', 'a,"\n\r;é', 'a ,"\r\n\0', "a,\n", ["a", ",", "\n", "\r\n", "\0"]]).flatmap(
        lambda signs: st.lists(st.sampled_from(signs), max_size=14).map("".join)
    ),
    st.booleans(),
)
def test_a_plain_file_is_read_as_python_reads_it(tmp_path_factory, text, has_header):
    path = tmp_path_factory.mktemp("any") / "file.csv"
    path.write_bytes(text.encode())
    rows = rows_by_python(text)
    dialect = Dialect(",", ["it"] * len(rows[0] if rows else text.partition("\n")[0].split(",")), has_header)
    if engines._is_plain(path, dialect):
        got = [[cell or "" for cell in row] for row in engines._duckdb_table(path, dialect, None, ()).fetchall()]
        assert got == rows[has_header:]


@given(
    st.lists(st.tuples(*[st.text(st.sampled_from('a ,";é=0?'), min_size=1, max_size=5)] * 2), min_size=1, max_size=5),
    st.sampled_from(["\n", "\r\n"]),
)
def test_a_file_that_is_written_as_usual_is_plain(tmp_path_factory, rows, end):
    path = tmp_path_factory.mktemp("any") / "file.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator=end).writerows([("left", "right"), *rows])
    assert engines._is_plain(path, dialect_of(path, None))
    assert cells(opened(path)) == [tuple(None if cell == "?" else cell for cell in row) for row in rows]


@pytest.mark.parametrize("n_fields", [1000, 1001, 2001])
def test_lines_of_very_many_fields_may_be_plain(tmp_path, monkeypatch, n_fields):
    path = tmp_path / "file.csv"
    path.write_text(",".join(map(str, range(n_fields))) + "\n" + '"",' * (n_fields - 1) + "\n")
    dialect = dialect_of(path, None)
    assert engines._is_plain(path, dialect)
    assert not engines._is_plain(path, dialect._replace(names=dialect.names[:-1]))
    path.write_bytes(b"1," * (n_fields - 1) + b"1\r\n")
    monkeypatch.setattr(engines, "_read_csv", None)
    assert engines._is_plain(path, dialect)


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_one_sentence(tmp_path, name):
    path = tmp_path / "file.csv"
    path.write_text(WRONG[name])
    with pytest.raises(ValueError, match=r"file\.csv must ") as error:
        opened(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separator_and_encoding_are_recognised(tmp_path, separator, encoding):
    path = tmp_path / "file.csv"
    mark = "\ufeff" if encoding in ("utf-16-le", "utf-16-be") else ""
    path.write_text(f"{mark}ä{separator}b\nö{separator}ß\n", encoding=encoding)
    assert cells(opened(path)) == [("ö", "ß")]


def test_a_wrong_row_far_behind_the_head_is_named(tmp_path):
    path = tmp_path / "file.csv"
    for wrong in (b"3", b"3,4,", b'3,"4" ', b"3,4\0", b"\xe9,4"):
        path.write_bytes(b"a,b\n" + b"1,2\n" * 300_000 + wrong + b"\n")
        with pytest.raises(ValueError, match=r"300,?002"):
            opened(path)


@pytest.mark.parametrize("text", ["a,b\nö,2\n", 'a,b\n"ö\n",2\n'])
@pytest.mark.parametrize("name", ["file.csv.gz", "file.csv"])
def test_a_file_that_gzip_packed_is_unpacked(tmp_path, text, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()))
    assert cells(opened(path)) == [(text[4:].partition(",")[0].strip('"'), "2")]
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(ValueError, match=r"must be a whole file packed by gzip, got a damaged one: "):
        opened(path)


def test_a_file_without_names_has_as_many_fields_as_the_names_that_are_given(tmp_path):
    path = tmp_path / "adult.data"
    path.write_text("39, State-gov, <=50K\n50, ?, >50K\n")
    assert cells(opened(path, names=("a", "b", "c"), strip=True)) == [
        ("39", "State-gov", "<=50K"),
        ("50", None, ">50K"),
    ]
    with pytest.raises(ValueError, match="must have 2 fields in every row, one for each of the names; got 3"):
        opened(path, names=("age", "work"))


@pytest.mark.parametrize("name", ["a*b", "[x]", "_hidden", "a b%20c#", "ü'", "{aXb,x}"])
def test_odd_names_of_files(tmp_path, name):
    # The others are those that the name would stand for as a pattern.
    for i, stem in enumerate(("aXb", "x", name)):
        (tmp_path / f"{stem}.csv").write_text(f"a,b\n{i},2\n")
        pd.DataFrame({"a": [i]}).to_parquet(tmp_path / f"{stem}.parquet")
    assert cells(opened(tmp_path / f"{name}.csv")) == [("2", "2")]
    assert cells(open_frame(Reading(Source("parquet", tmp_path / f"{name}.parquet")), list)) == [(2,)]


def test_duckdb_reads_all_but_tables_of_spark(tmp_path, monkeypatch):
    path = tmp_path / "file.csv"
    path.write_text("a\n1\n")
    reading = Reading(Source("csv", path))
    assert [engine_of(reading._replace(engine=engine)) for engine in ENGINES] == ["duckdb", "duckdb", "spark"]
    assert engine_of(Reading(Source("spark", None, "t"))) == "spark"
    monkeypatch.setattr(engines, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"^engine spark needs the package pyspark: pip install pyspark$"):
        opened(path, "spark")


def test_parquet_keeps_its_types(tmp_path):
    texts = {"t": ["a", "?", "", None], "of categories": pd.Categorical(["a", "?", None, "a"])}
    pd.DataFrame({"n": [1, 2, 3, 4], "x": [0.5, np.nan, 2.0, 1.0], **texts}).to_parquet(tmp_path / "file.parquet")
    reading = Reading(source_of("file.parquet", tmp_path), empty=("?",))
    # Only the given text is missing. An empty text of a typed table stays a text.
    assert cells(open_frame(reading, list)) == [
        (1, 0.5, "a", "a"), (2, None, None, None), (3, 2.0, "", None), (4, 1.0, None, "a"),
    ]  # fmt: skip


def test_a_table_of_duckdb(tmp_path):
    with duckdb.connect(str(tmp_path / "my.duckdb")) as connection:
        connection.execute("CREATE TABLE people AS FROM (VALUES (1, 'a'), (2, 'b')) rows(n, t)")
    source = source_of("duckdb:my.duckdb:people", tmp_path)
    assert cells(open_frame(Reading(source), lambda found: found[:1])) == [(1,), (2,)]
    for reading, message in [
        (Reading(source._replace(table="nobody")), "cannot be read by duckdb: .*nobody"),
        (Reading(source, "spark"), "is read by engine duckdb, got spark"),
        (Reading(source, names=("a",)), "work only with CSV files"),
        (Reading(source_of("duckdb:none.duckdb:people", tmp_path)), ": no such file"),
    ]:
        with pytest.raises(ValueError, match=message) as error:
            open_frame(reading, lambda found: found)
        assert "\n" not in str(error.value)


def test_sources():
    folder = Path("project")
    assert source_of("a.csv", folder) == Source("csv", folder / "a.csv")
    assert source_of("a.PARQUET", folder) == Source("parquet", folder / "a.PARQUET")
    assert source_of("duckdb:C:x.duckdb:t", folder) == Source("duckdb", folder / "C:x.duckdb", "t")
    assert source_of("spark:db.t", folder) == Source("spark", None, "db.t")
    assert all(str(source_of(text, Path())) == text for text in ("a.csv", "duckdb:x:t", "spark:t"))
    named = {"a.csv": None, "b.sqlite": "my persons", "c.xlsx": "sheet", "duckdb:C:x:t": None, "spark:db.t": None}
    for text, table in {**named, "postgresql://host/data": "own.people"}.items():
        assert source_of(text, folder, table).named_from(folder) == (text, table)
    for text in ("", "duckdb:x", "duckdb::x", "duckdb:x:", "spark:", "a\0b"):
        with pytest.raises(ValueError, match="named by"):
            source_of(text, Path())


def test_few_rows_are_hashed_where_they_join_many_of_a_file(tmp_path):
    (tmp_path / "many.csv").write_text("a\n1\n", newline="")
    few = nw.from_native(engines.as_relation(pd.DataFrame({"b": list(map(str, range(100)))})))
    joined = nw.from_native(opened(tmp_path / "many.csv")).join(few, left_on="a", right_on="b", how="left")
    assert "LEFT" in joined.to_native().explain()


def test_a_checksum_is_read_in_blocks(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(range(256)) * 9000)
    assert checksum(path) == hashlib.sha256(path.read_bytes()).hexdigest()
