"""Delimited text: encodings, separators and rows."""

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pymoo_anon.table.delimited import SEPARATORS, csv_rows, decoded, separator_of

FIELDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\ufeff"), max_size=6)


@given(
    st.integers(2, 5).flatmap(lambda n: st.lists(st.lists(FIELDS, min_size=n, max_size=n), min_size=1, max_size=8)),
    st.sampled_from(SEPARATORS),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_what_is_written_is_read(rows, separator, encoding):
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=separator, quoting=csv.QUOTE_ALL).writerows(rows)
    text = decoded(file.getvalue().encode(encoding), "it")
    assert text == file.getvalue()
    assert list(csv_rows(text, separator, "it")) == rows


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1;2\n", ";"),
        ("a\tb\n1\t2\n", "\t"),
        # Decimal commas, and a list inside a field.
        ("age;weight\n30;70,5\n31;80,2\n", ";"),
        ("a;b;c\n1,5;2,5;3,5\n", ";"),
        ('a,b\n"1;2","3;4"\n', ","),
        # A comma in each of the first rows splits no other row.
        ("name;city, land\nAnn;Bonn, DE\nBob;Paris, FR\nEve;London\n", ";"),
        # Fitting rows count more than many fields.
        ("a;b,c,d\n1;2\n", ";"),
        # Blank lines do not count.
        ("a;b\n\n1;2\n\n", ";"),
        ("one\n", ","),
        ("", ","),
        ("a,b;c\n1,2;3\n", ","),
        # No separator fits: the one of the first row, so that the others can be named.
        ("a;b;c\n1;2\n", ";"),
        ("a,b\n1,2,\n", ","),
        ('a;b\n1;"2', ";"),
        ('a;b\n1;"' + "x" * 200_000, ";"),
    ],
)
def test_separators(text, separator):
    assert separator_of(text) == separator


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("a\nb\né".encode("latin-1"), "the byte 0xe9 in line 3, as in a file in latin-1 (ISO 8859-1) or Windows-1252"),
        ("ab".encode("utf-16-le"), "a NUL in line 1, as in UTF-16 without a byte order mark"),
        ("ab".encode("utf-16")[:-1], "the byte 0x62 in line 1"),
    ],
)
def test_other_encodings_are_named(data, message):
    whole = f"it must be text in UTF-8 or UTF-16, got {message}; save it as UTF-8"
    with pytest.raises(ValueError, match=f"^{re.escape(whole)}$"):
        decoded(data, "it")


@pytest.mark.parametrize(("text", "row"), [('a\n"b\nc', 2), ('"a', 1), ('a\n"b"c\n', 2), ('a\n"' + "x" * 200_000, 2)])
def test_quotes_that_are_not_closed(text, row):
    with pytest.raises(ValueError, match=rf"^it must have quotes closed, got in row {row}: "):
        list(csv_rows(text, ",", "it"))
