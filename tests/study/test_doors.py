"""Doors for tables: every kind of file and database is read as it is, or refused in one sentence."""

import gzip
import zipfile
from pathlib import Path

import narwhals as nw
import pandas as pd
import pytest
from command import command, run

from pymoo_anon.study.engines import open_frame
from pymoo_anon.study.names import Reading, Source
from pymoo_anon.study.project import read_project
from pymoo_anon.study.study import Study

pytestmark = pytest.mark.usefixtures("folder")

ROWS = [(f"{20 + i % 4}", "FM"[i % 2], ["grün", 'a"b', "x;y", "two\nlines"][i % 4]) for i in range(40)]


def cells(frame):
    """Return all cells of a frame, with None for missing values."""
    table = nw.from_native(frame)
    table = table.collect("pyarrow") if isinstance(table, nw.LazyFrame) else table
    return [tuple(None if pd.isna(cell) else cell for cell in row) for row in table.rows()]


def opened(reading):
    return cells(open_frame(reading, list))


def refused(*arguments):
    """Return the one sentence of a command that is refused."""
    done = command(*arguments)
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr[7:-1]


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


# --- CSV --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16-le", "utf-32", "cp437", "mac-roman"])
@pytest.mark.parametrize("rows", [ROWS, ROWS[:3]], ids=["a cell of two lines", "plain"])
def test_an_encoding_that_is_named(encoding, rows):
    write_rows("t.csv", encoding, rows)
    assert opened(Reading(Source("csv", Path("t.csv")), encoding=encoding)) == rows


def test_a_file_in_latin_1_goes_all_the_way():
    write_rows("t.csv", "latin-1")
    assert "init --encoding latin-1" in refused("init", "t.csv")
    study = study_of("t.csv", "--encoding", "latin-1")
    assert study.project.reading.encoding == "latin-1"
    assert "grün" in Path("t-release.csv").read_text(encoding="utf-8")


def test_a_wrong_encoding_is_one_sentence():
    write_rows("t.csv")
    assert refused("init", "t.csv", "--encoding", "ascii") == (
        "t.csv must be text in ascii, as encoding says, got the byte 0xc3 in line 2; name its own encoding"
    )
    for name in ("klingon", "base64", ""):
        assert "--encoding must be an encoding of text that Python knows" in refused(
            "init", "t.csv", f"--encoding={name}"
        )


def test_the_encoding_counts_among_what_a_front_depends_on():
    write_rows("t.csv", "latin-1")
    study_of("t.csv", "--encoding", "latin-1")
    path = Path("t.toml")
    path.write_text(path.read_text().replace('encoding = "latin-1"', 'encoding = "cp437"'))
    assert "changed since: how t.toml reads it" in refused("pick", "t.toml")


@pytest.mark.parametrize(
    ("column", "proposed"),
    [
        (["1,5", "-0,25", "3"], True),
        (["1,500", "2,250", "3"], False),
        (["1,500", "0,250", "3"], True),
        (["1,5", "x", "3"], False),
        (["1.234,5", "2", "3"], False),
        (["1.5", "2", "3"], False),
    ],
)
def test_a_decimal_comma_is_proposed_where_it_is_certain(column, proposed):
    pd.DataFrame({"height": column * 20, "sex": ["F", "M"] * 30}).to_csv("t.csv", index=False, sep=";")
    run("init", "t.csv")
    assert read_project(Path("t.toml"), decided=False).reading.decimal == (",." if proposed else ".,")[0]


def test_numbers_with_a_decimal_comma_are_read_with_a_point():
    write_rows("t.csv", rows=[("1,5", ",5", "a,b"), ("-2,25e3", "3", "1,2,3"), ("", "+0,1", "1,")], separator=";")
    assert opened(Reading(Source("csv", Path("t.csv")), decimal=",")) == [
        ("1.5", ".5", "a,b"),
        ("-2.25e3", "3", "1,2,3"),
        (None, "+0.1", "1,"),
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_a_zip_archive_of_one_file(encoding):
    write_rows("t.csv", encoding)
    with zipfile.ZipFile("t.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write("t.csv", "folder/t.csv")
        archive.writestr("__MACOSX/folder/._t.csv", b"\0\5\x16\7")
    named = None if encoding == "utf-8" else encoding
    assert opened(Reading(Source("csv", Path("t.zip")), encoding=named)) == ROWS
    Path("t.csv").unlink()
    study_of("t.zip", *([] if named is None else ["--encoding", named]))
    assert Path("t-release.csv").is_file()


def test_other_archives_are_one_sentence():
    write_rows("a.csv")
    with zipfile.ZipFile("two.zip", "w") as archive:
        archive.write("a.csv")
        archive.write("a.csv", "b.csv")
    assert refused("init", "two.zip") == (
        "two.zip must be a zip archive of one file, got 'a.csv', 'b.csv'; unpack it and name the table's file"
    )
    with zipfile.ZipFile("none.zip", "w") as archive:
        archive.mkdir("folder") if hasattr(archive, "mkdir") else archive.writestr("folder/", "")
    assert "of one file, got none" in refused("init", "none.zip")
    with zipfile.ZipFile("locked.zip", "w") as archive:
        archive.write("a.csv")
    content = bytearray(Path("locked.zip").read_bytes())
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    Path("locked.zip").write_bytes(content)
    assert "locked.zip must be a zip archive that opens, got: " in refused("init", "locked.zip")
    Path("cut.zip").write_bytes(content[:60])
    assert "cut.zip must be a whole file of the zip format" in refused("init", "cut.zip")


@pytest.mark.parametrize("garbage", [b"\x1f\x8b" + bytes(range(200)), b"\x1f\x8b", b"PK\3\4", b"PK\3\4" + bytes(99)])
def test_garbage_that_begins_like_an_archive(garbage):
    Path("t.csv").write_bytes(garbage)
    assert "t.csv must be a whole file " in refused("init", "t.csv")


def test_a_wrong_row_in_an_archive_is_named_with_the_archive():
    with zipfile.ZipFile("t.zip", "w") as archive:
        archive.writestr("t.csv", "a,b\n1,2\n3\n")
    assert refused("init", "t.zip").startswith("t.zip must have 2 fields in every row")
    Path("t.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n3\n"))
    assert refused("init", "t.csv.gz").startswith("t.csv.gz must have 2 fields in every row")
