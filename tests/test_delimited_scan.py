"""A look at a delimited file is certain of plain files alone, and agrees with Python's own reader on these."""

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


def in_blocks(path, size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "_BLOCK", size)
        return scanned(path, ",")


def rows_by_python(text):
    """The rows that are not blank, or None where Python's reader refuses the text or they are uneven."""
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except csv.Error:
        return None
    return rows if rows and len({len(row) for row in rows}) == 1 else None


@given(st.text(st.sampled_from('a,"\n\r;é'), max_size=24), st.integers(1, 5))
def test_what_is_certain_is_what_python_reads(file, text, block):
    file.write_bytes(text.encode())
    got, rows = in_blocks(file, block), rows_by_python(text)
    if got.certain:
        assert got.n_fields == len(rows[0])
        assert got.line_ends_inside == any("\n" in cell for row in rows for cell in row)


CELLS = st.text(st.sampled_from('a,";é'), min_size=1, max_size=6)


@given(
    st.integers(1, 3).flatmap(lambda n: st.lists(st.lists(CELLS, min_size=n, max_size=n), min_size=1, max_size=4)),
    st.sampled_from(["\n", "\r\n"]),
    st.integers(1, 5),
)
def test_what_is_written_as_usual_is_certain(file, rows, line_end, block):
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=line_end).writerows(rows)
    file.write_bytes(text.getvalue().encode())
    assert in_blocks(file, block) == (True, False, len(rows[0]))


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
    assert got.certain == certain
    if certain:
        assert got.line_ends_inside == inside


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"a,b\n1\n",
        b"a,b\n1",
        b'a,b\n"1"',
        b"a,b\r",
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
    assert not scanned(file, ",").certain
