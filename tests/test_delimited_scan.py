"""A look at a delimited file agrees with Python's own reader on what is right, and is certain only of plain files."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pymoo_anon.table import delimited
from pymoo_anon.table.delimited import scanned


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("scan") / "file.csv"


def rows_by_python(text):
    """The rows that are not blank, or None where Python's reader refuses the text or they are uneven."""
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except csv.Error:
        return None
    return rows if rows and len({len(row) for row in rows}) == 1 else None


@given(st.text(st.sampled_from('a,"\n\r;é'), max_size=24), st.integers(1, 5))
def test_right_is_what_python_reads(file, text, block):
    file.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "_BLOCK", block)
        got = scanned(file, ",")
    rows = rows_by_python(text)
    assert got.right == (rows is not None)
    if rows is not None:
        assert (got.n_rows, got.n_fields) == (len(rows), len(rows[0]))
        assert got.line_ends_inside == any("\n" in cell for row in rows for cell in row) or not got.certain


@pytest.mark.parametrize(
    ("content", "certain", "inside"),
    [
        (b"a,b\n1,2\n", True, False),
        (b"a,b\r\n1,2\r\n", True, False),
        (b"a,b\n1,2", True, False),
        (b'a,b\n"1,""\n",2\n', True, True),
        (b"\xef\xbb\xbfa,b\n1,2\n", False, False),
        (b'a,b\n5" pipe,2\n', False, False),
        (b"a,b\n\n1,2\n", False, False),
        (b"a,b\r1,2\r", False, False),
        (b"a,b\r1,2\n", False, False),
        (b"a,b\n1,2\r\n", False, False),
        (b'a,b\n"1\r\n",2\n', False, False),
        (b"a,b\n1," + b"x" * 131_073 + b"\n", False, False),
        (b"a,b\n1," + b"x" * 131_073, False, False),
    ],
)
def test_what_readers_differ_about_is_not_certain(file, content, certain, inside):
    file.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        # The long fields are in several blocks.
        patch.setattr(delimited, "_BLOCK", 100_000)
        got = scanned(file, ",")
    assert (got.right, got.certain) == (True, certain)
    if certain:
        assert got.line_ends_inside == inside


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"a,b\n1\n",
        b'a,b\n"1,2\n',
        b'a,b\n"1"x,2\n',
        b"a,b\n1,\xe9\n",
        b"a,b\n1,\xc3",
        b"a,b\n1,\0\n",
        b"\xff\xfea\0",
    ],
)
def test_what_is_wrong_is_wrong(file, content):
    file.write_bytes(content)
    got = scanned(file, ",")
    assert not got.right
    assert not got.certain
