"""Doors for tables: every kind of file and database is read as it is, or refused in one sentence."""

import gzip
import json
import sqlite3
import zipfile
from contextlib import closing
from datetime import date, datetime
from pathlib import Path
from unittest.mock import Mock

import duckdb
import numpy as np
import pandas as pd
import psycopg
import pytest
from command import command, edit, refused, run
from persons import cells
from servers import PASSWORD, postgres_server

from pymoo_anon.study import databases, engines, names
from pymoo_anon.study.databases import new_database_table
from pymoo_anon.study.engines import as_relation, content_checksum, first_line, open_frame, write_table
from pymoo_anon.study.names import Reading, Source, source_of
from pymoo_anon.study.project import read_project
from pymoo_anon.study.proposal import Proposer
from pymoo_anon.study.study import Study, is_there

pytestmark = pytest.mark.usefixtures("folder")

ROWS = [(f"{20 + i % 4}", "FM"[i % 2], ["grün", 'a"b', "x;y", "two\nlines"][i % 4]) for i in range(40)]


def opened(reading):
    return cells(open_frame(reading, list))


def study_of(*init, output=None):
    """Take a table from its file to a report by the commands, and return the study."""
    roles = ["--role", "*=drop", "--role", "age=quasi-identifier", "--role", "sex=quasi-identifier"]
    run("init", *init, *roles, "--role", "note=sensitive", "--force")
    (project,) = Path().glob("*.toml")
    run("search", str(project), "--objectives", "k,GLM")
    run("pick", str(project), "--require", "k>=2")
    run("release", str(project), *(output or []))
    run("verify", str(project))
    run("report", str(project))
    return Study(read_project(project))


def write_rows(path, encoding="utf-8", rows=ROWS, separator=","):
    frame = pd.DataFrame(rows, columns=["age", "sex", "note"])
    frame.to_csv(path, index=False, encoding=encoding, sep=separator)


def test_a_gap_in_the_only_column_is_no_blank_line():
    path, texts = Path("one.csv"), ["a", None, 'b"', None]
    write_table(as_relation(pd.DataFrame({"x": texts})), path)
    assert opened(Reading(source_of("one.csv", Path()))) == [(text,) for text in texts]
    distinct = as_relation(pd.DataFrame({"x": [None, 2.5]})), np.array([2, 3])
    write_table(as_relation(pd.DataFrame({"x": [None] * 2 + [2.5] * 3})), path, lambda: distinct)
    assert path.read_text(encoding="utf-8") == 'x\n""\n""\n2.5\n2.5\n2.5\n'


# --- CSV --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16-le", "utf-32", "cp437", "mac-roman"])
@pytest.mark.parametrize("rows", [ROWS, ROWS[:3]], ids=["a cell of two lines", "plain"])
def test_an_encoding_that_is_named(encoding, rows):
    write_rows("t.csv", encoding, rows)
    assert opened(Reading(Source("csv", Path("t.csv")), encoding=encoding)) == rows


def test_a_file_in_latin_1_goes_all_the_way():
    write_rows("t.csv", "latin-1")
    study = study_of("t.csv", "--encoding", "latin-1")
    assert study.project.reading.encoding == "latin-1"
    assert "grün" in Path("t-release.csv").read_text(encoding="utf-8")
    edit("t.toml", 'encoding = "latin-1"', 'encoding = "cp437"')
    assert "changed since: how t.toml reads it" in refused("pick", "t.toml")


def test_numbers_with_a_decimal_comma_are_read_with_a_point():
    rows = [("1,5", ",5", "a,b"), ("-2,25e3", "950", "1,2,3"), ("", "+0,1", "1,"), ("1.204", "1,204", "-1.234,5")]
    write_rows("t.csv", rows=rows, separator=";")
    reading = Reading(Source("csv", Path("t.csv")), decimal=",")
    assert opened(reading) == [
        ("1.5", ".5", "a,b"),
        ("-2.25e3", "950", "1,2,3"),
        (None, "+0.1", "1,"),
        ("1204", "1.204", "-1234.5"),
    ]
    write_rows("t.csv", rows=[("950", "", ""), ("1,204", "", ""), ("12,500", "", "")] * 9, separator=";")
    assert Proposer(reading).draft("age") == "1.204;[0, 100);*\n12.500;[0, 100);*\n950;[900, 1000);*\n"
    columns = '[columns.age]\nrole = "quasi-identifier"\n[columns.sex]\nrole = "keep"\nround = 10\n'
    Path("t.toml").write_text(f'[data]\nfile = "t.csv"\ndecimal = ","\n{columns}')
    assert read_project(Path("t.toml"), False).kept["sex"].texts("sex", ["950", "1.204"]) == ["950", "0"]
    run("hierarchy", "draft", "t.toml", "--column", "age")
    assert Path("hierarchies/age.csv").read_text().startswith("1.204;[0, 100);")
    Path("p.csv").write_text("age\n" + "".join(f"{i}.{i + 500}\n" for i in range(60)))
    assert "\n'age': numbers with three digits behind each point" in f"\n{run('init', 'p.csv', '--force')}"


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_a_zip_archive_of_one_file(encoding):
    write_rows("t.csv", encoding)
    with zipfile.ZipFile("t.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write("t.csv", "folder/t.csv")
        archive.writestr("__MACOSX/folder/._t.csv", b"\0\5\x16\7")
    assert opened(Reading(Source("csv", Path("t.zip")), encoding=None if encoding == "utf-8" else encoding)) == ROWS


# --- workbooks and databases ------------------------------------------------------------------------------------------


def sqlite_with(path, frame, name="patients"):
    with closing(sqlite3.connect(path)) as connection:
        frame.to_sql(name, connection, index=False)


def people():
    return pd.DataFrame(ROWS, columns=["age", "sex", "note"]).astype({"age": int})


def test_a_workbook_goes_all_the_way_into_another():
    people().to_excel("patients.xlsx", index=False, engine="xlsxwriter")
    study = study_of("patients.xlsx", output=["--output", "out.xlsx"])
    assert study.verify() == {Path("out.xlsx"): []}
    run("hierarchy", "draft", "patients.xlsx", "--column", "age", "--output", "drafts")
    run("hierarchy", "check", "drafts", "--data", "patients.xlsx")
    assert len(pd.read_excel("out.xlsx", engine="calamine")) == 40


def test_a_table_of_sqlite_goes_all_the_way_into_another():
    sqlite_with("data.sqlite", people())
    study = study_of("data.sqlite", output=["--output", "data.sqlite", "--table", "released"])
    assert study.project.data == Source("sqlite", Path("data.sqlite"), "patients")
    assert Path("released.evidence.json").is_file()
    assert len(opened(Reading(Source("sqlite", Path("data.sqlite"), "released")))) == 40
    run("verify", "data.sqlite", "--table", "released", "--quasi-identifier", "age", "--quasi-identifier", "sex")
    with closing(sqlite3.connect("data.sqlite")) as connection, connection:
        connection.execute("UPDATE released SET note = 'other' WHERE rowid = 1")
    assert study.verify() == {Path("released"): ["the table has changed: its checksum differs"]}
    assert command("verify", "patients.toml").stdout.startswith("released: does not hold: the table has changed")
    with closing(sqlite3.connect("data.sqlite")) as connection, connection:
        connection.execute("UPDATE patients SET age = 99 WHERE rowid = 1")
    assert "changed since: data.sqlite:patients" in refused("verify", "patients.toml")


def test_a_failed_release_leaves_no_table_and_no_documents(monkeypatch):
    sqlite_with("data.sqlite", people())
    study = study_of("data.sqlite", output=["--output", "out.csv"])
    output = ["--output", "data.sqlite", "--table", "released"]

    def fail(*arguments):
        raise ValueError("as asked")

    with monkeypatch.context() as patch:
        patch.setattr("pymoo_anon.study.study.put_in_place", fail)
        assert refused("release", "patients.toml", *output) == "as asked"
    committed = databases.read_sqlite
    with monkeypatch.context() as patch:
        # The transaction is gone before its end.
        patch.setattr(
            databases, "read_sqlite", lambda target, own=None: (committed(target, own), own and own.rollback())[0]
        )
        assert "could not be written: cannot commit" in refused("release", "patients.toml", *output)
    assert not list(Path().glob("released*"))
    assert is_there(study, Path("out.csv"))
    run("release", "patients.toml", *output)
    assert "already exists" in refused("release", "patients.toml", *output, "--force")


CELLS = {
    "whole": [2**53 + 1, None, -(2**63), 7],
    "mixed": [1, "x", None, 0.5],
    "far": [2**53 + 1, 7, None, 0.5],
    "broken": [0.1, 2, None, 1e300],
    "text": ['grün "a"', "two\nlines", "", "=1+1"],
    "code": ["007", "1e5", " lead ", None],
}


def test_every_type_of_sqlite_is_equal(monkeypatch):
    monkeypatch.setattr(databases, "_BLOCK", 2)
    with closing(sqlite3.connect("data.db")) as connection, connection:
        connection.execute('CREATE TABLE "a ""b"" c" (whole INTEGER, mixed, far, broken REAL, text TEXT, code)')
        connection.executemany('INSERT INTO "a ""b"" c" VALUES (?, ?, ?, ?, ?, ?)', zip(*CELLS.values(), strict=True))
    source = source_of("data.db", Path(), 'a "b" c')
    frame = open_frame(Reading(source), list)
    want = {**CELLS, "mixed": ["1", "x", None, "0.5"], "far": ["9007199254740993", "7", None, "0.5"]}
    assert frame.fetchall() == list(zip(*want.values(), strict=True))
    with new_database_table(source._replace(table="new's"), frame) as again:
        assert content_checksum(as_relation(again)) == content_checksum(frame)
    assert open_frame(Reading(source._replace(table="new's")), list).fetchall() == frame.fetchall()


@pytest.mark.parametrize(
    ("kind", "columns"),
    [
        ("csv", ["whole", "broken", "text", "code"]),
        ("parquet", ["whole", "broken", "text", "code"]),
        ("xlsx", ["broken", "text", "code"]),
        ("xlsx", ["whole"]),
    ],
)
def test_every_type_comes_out_of_a_file_equal_or_is_refused(kind, columns):
    """Recount the written table: it has the same cells, or nothing is released."""
    with closing(sqlite3.connect("data.sqlite")) as connection, connection:
        connection.execute(f"CREATE TABLE patients (age, {', '.join(columns)})")
        rows = zip([30, 30, 40, 40] * 3, *(CELLS[name] * 3 for name in columns), strict=True)
        connection.executemany(f"INSERT INTO patients VALUES (?{', ?' * len(columns)})", rows)
    run("init", "data.sqlite", "--role", "*=sensitive", "--role", "age=quasi-identifier")
    run("search", "patients.toml", "--objectives", "k,GLM")
    asked = "release", "patients.toml", "--row", "1", "--output", f"out.{kind}", "--anyway", "it is only a test here"
    if columns == ["whole"]:
        # A workbook holds 15 digits.
        run(*asked, code=1)
        assert not Path("out.xlsx").exists()
        return
    run(*asked)
    _, *got = zip(*opened(Reading(source_of(f"out.{kind}", Path()))), strict=True)
    for name, cells_of_it in zip(columns, got, strict=True):
        want = [None if cell == "" else float(cell) if name == "broken" and cell else cell for cell in CELLS[name]]
        assert {*cells_of_it} == {str(cell) if kind == "csv" and cell is not None else cell for cell in want}


def test_a_sheet_of_a_workbook_is_named():
    frame = people()
    with pd.ExcelWriter("two.xlsx", engine="xlsxwriter") as writer:
        frame.to_excel(writer, index=False, sheet_name="one")
        frame[["age"]].to_excel(writer, index=False, sheet_name="the other")
    assert opened(Reading(source_of("two.xlsx", Path(), "the other"))) == [(age,) for age in frame["age"]]


def test_days_and_moments_of_a_workbook():
    days = [date(2020, 2, 29), None, date(1969, 12, 31)]
    moments = [datetime(2020, 1, 1, 10, 30), None, datetime(2020, 1, 2)]
    rows = list(zip(days, moments, [True, True, False], strict=True))
    pd.DataFrame(rows, columns=["day", "moment", "yes"]).to_excel("t.xlsx", index=False, engine="xlsxwriter")
    assert open_frame(Reading(source_of("t.xlsx", Path())), list).fetchall() == rows


def test_columns_that_differ_by_case():
    frame = pd.DataFrame({"a": [1, None, 3], "A": ["x", "y", None]})
    frame.astype({"a": "Int64"}).to_excel("t.xlsx", index=False, engine="xlsxwriter")
    found = open_frame(Reading(source_of("t.xlsx", Path())), list)
    assert cells(found) == [(1, "x"), (None, "y"), (3, None)]
    assert content_checksum(found) != content_checksum(found.iloc[:2])
    assert content_checksum(found) == content_checksum(found.iloc[[2, 0, 1]])


def test_every_type_of_json_lines_is_equal():
    rows = [
        {"a": 2**53 + 1, "b": "2020-02-29", "c": True, "d": 0.1, "e": "007", "f": 2**63, "g": 'grün "a"\nb', "h": 1},
        {"c": None, "d": 2, "b": "2020-01-01T10:00:00+02:00", "h": "x", "i d": ""},
    ]
    with gzip.open("t.ndjson.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(map(json.dumps, rows)))
    assert open_frame(Reading(source_of("t.ndjson.gz", Path())), list).fetchall() == [
        (2**53 + 1, "2020-02-29", True, 0.1, "007", str(2**63), 'grün "a"\nb', "1", None),
        (None, "2020-01-01T10:00:00+02:00", None, 2.0, None, None, None, "x", ""),
    ]


def test_a_column_named_as_a_pattern_is_never_another_column():
    """All columns of an engine would be chosen, of which a release has the first."""
    frame = pd.DataFrame([("a", age, sex) for age, sex, _ in ROWS], columns=["k", "*", "sex"])
    frame.to_csv("t.csv", index=False)
    run("init", "t.csv", *["--role", "*=quasi-identifier", "--role", "k=drop", "--role", "sex=sensitive"])
    run("search", "t.toml", "--objectives", "k,GLM")
    run("pick", "t.toml", "--require", "k>=2")
    run("release", "t.toml")
    run("verify", "t.toml")
    assert sorted(set(pd.read_csv("t-release.csv")["*"])) == [20, 21, 22, 23]


def test_an_error_of_a_thread_of_duckdb_is_told_in_its_words_and_a_full_disk_as_one(monkeypatch):
    told = {"exception_type": "IO", "exception_message": 'Could not write file "a.csv": No space left on device'}
    error = duckdb.IOException(f"IO Error: Async write failed for range [offset=22]: {json.dumps(told)}")
    assert first_line(error) == 'Could not write file "a.csv": No space left on device'
    monkeypatch.setattr(engines, "_without_blank_lines", Mock(side_effect=error))
    with pytest.raises(OSError, match=r"^\[Errno 28\] No space left on device$"):
        write_table(as_relation(pd.DataFrame({"x": [1]})), Path("a.csv"))


def test_a_release_that_cannot_be_recorded_is_not_written():
    """It would be no other release for the next one."""
    write_rows("t.csv")
    study = study_of("t.csv")
    record = study.folder / "releases.json"
    record.unlink()
    record.mkdir()
    assert "output must not be written to t-front/releases.json" in refused("release", "t.toml", "--output", "a.csv")
    assert not Path("a.csv").exists()


@pytest.fixture(scope="module")
def server():
    """Start a PostgreSQL server with a password, which the environment holds, and return the address of a database."""
    with postgres_server("scram-sha-256") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PGPASSWORD", PASSWORD)
        yield f"postgresql://tester@/postgres?host={folder}"


def told_to(server, *statements):
    """Run statements, and return the rows of the last one."""
    with psycopg.connect(server) as connection:
        for one in statements:
            found = connection.execute(one)
        return found.fetchall() if found.description else []


TYPES = """CREATE TABLE types (whole bigint, exact numeric(12, 2), wide numeric, day date, moment timestamp,
    zoned timestamptz, hour time, yes boolean, "t""ext" text, id uuid, double double precision, "Text" varchar(9))"""

VALUES = """INSERT INTO types VALUES (9007199254740993, 12.50, 12345678901234567890.123456789, '2020-02-29',
    '2020-01-01 10:00:00.123456', '2020-01-01 10:00:00+02', '10:00:00.5', true, E'gr\u00fcn, "a"\nb',
    'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 0.1, 'x'),
    (-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"""


@pytest.mark.slow
def test_a_table_of_postgresql_goes_all_the_way_into_another(server):
    told_to(server, "CREATE SCHEMA clinic", 'CREATE TABLE clinic."Pat ients" (age int, sex text, note text)')
    with psycopg.connect(server) as connection, connection.cursor() as cursor:
        cursor.executemany('INSERT INTO clinic."Pat ients" VALUES (%s, %s, %s)', ROWS)
    released = ["--output", server, "--table", "clinic.released"]
    study = study_of(server, "--table", "clinic.Pat ients", output=released)
    assert told_to(server, "SELECT count(*) FROM clinic.released") == [(40,)]
    run("verify", server, *released[2:], "--quasi-identifier", "age", "--quasi-identifier", "sex")
    assert "already exists" in refused("release", str(study.project.path), *released, "--force")
    told_to(server, "UPDATE clinic.released SET note = 'other' WHERE age LIKE '2%'")
    assert list(study.verify().values()) == [["the table has changed: its checksum differs"]]
    told_to(server, 'UPDATE clinic."Pat ients" SET age = 99')
    assert "changed since: postgresql://" in refused("verify", str(study.project.path))
    for path in Path().rglob("*"):
        assert path.is_dir() or PASSWORD.encode() not in path.read_bytes(), path


@pytest.mark.slow
def test_every_type_of_postgresql_is_equal_or_refused(server):
    told_to(server, TYPES, VALUES)
    source = source_of(server, Path(), "types")
    with psycopg.connect(server) as connection:
        connection.execute("SET TIMEZONE = UTC")
        want = connection.execute("SELECT * FROM types").fetchall()
    got = cells(open_frame(Reading(source), list))
    assert got[1] == want[1]
    assert [str(cell) for cell in got[0]] == [str(cell) for cell in want[0]]
    with new_database_table(source._replace(table="again"), open_frame(Reading(source), list)) as again:
        assert content_checksum(as_relation(again)) == content_checksum(open_frame(Reading(source), list))
    assert len(told_to(server, "SELECT * FROM again")) == 2
    for kind, value in {"int[]": "{1}", "bytea": "x", "money": "1.5"}.items():
        told_to(
            server, "DROP TABLE IF EXISTS odd", f"CREATE TABLE odd (a {kind})", f"INSERT INTO odd VALUES ('{value}')"
        )
        with pytest.raises(ValueError, match=r"^postgresql://.*:odd cannot be read") as error:
            open_frame(Reading(source._replace(table="odd")), list)
        assert "\n" not in str(error.value)


@pytest.mark.slow
def test_columns_of_postgresql_that_differ_by_case(server):
    told_to(
        server,
        'CREATE TABLE cased (a bigint, "A" text)',
        "INSERT INTO cased VALUES (9007199254740993, NULL), (NULL, 'x')",
    )
    source = source_of(server, Path(), "cased")
    frame = open_frame(Reading(source), list)
    assert cells(frame) == [(2**53 + 1, None), (None, "x")]
    with new_database_table(source._replace(table="cased again"), frame) as again:
        assert content_checksum(as_relation(again)) == content_checksum(frame)
    assert told_to(server, 'SELECT * FROM "cased again"') == [(2**53 + 1, None), (None, "x")]


@pytest.mark.slow
def test_a_failed_release_leaves_no_table(server, monkeypatch):
    told_to(server, "CREATE TABLE few AS SELECT 1 AS a")
    frame = open_frame(Reading(source_of(server, Path(), "few")), list)
    with pytest.raises(KeyError), new_database_table(source_of(server, Path(), "never"), frame):
        raise KeyError
    with pytest.raises(psycopg.errors.UndefinedTable):
        told_to(server, "SELECT * FROM never")
    for name, words in {"nobody": "cannot be read by Ibis: nobody", "no.where": "cannot be read"}.items():
        assert words in refused("init", server, "--table", name)
    monkeypatch.setenv("PGPASSWORD", "wrong")
    assert "password authentication failed" in refused("init", server, "--table", "few")


@pytest.mark.filterwarnings("ignore")
def test_what_ibis_connects_to_is_read(monkeypatch):
    """Read by Ibis what is no PostgreSQL, here a file of DuckDB for want of another server."""
    with duckdb.connect("my.duckdb") as connection:
        connection.execute("CREATE TABLE t AS SELECT 9007199254740993 AS a, DATE '2020-02-29' AS b, 'x' AS \"c d\"")
    monkeypatch.setattr(names, "DATABASES", ("duckdb",))
    assert opened(Reading(source_of("duckdb://my.duckdb", Path(), "t"))) == [(2**53 + 1, date(2020, 2, 29), "x")]


def test_repeated_rows_become_parquet_in_order_and_threads_stay():
    """Write by one thread, so that the table is never whole in memory."""
    connection = duckdb.connect()
    relation = connection.sql("SELECT a, unnest(range(n)) AS again FROM (VALUES ('x', 3), ('y', 2)) rows(a, n)")
    threads = connection.sql("SELECT current_setting('threads')").fetchall()
    write_table(relation, Path("t.parquet"), lambda: (relation, [3, 2]))
    assert duckdb.sql("SELECT a FROM 't.parquet'").fetchall() == [("x",)] * 3 + [("y",)] * 2
    assert connection.sql("SELECT current_setting('threads')").fetchall() == threads
