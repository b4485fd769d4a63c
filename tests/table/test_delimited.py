"""Delimited text, hierarchies in CSV files, and refusals of ambiguous ones."""

import csv
import io
import re

import pandas as pd
import pytest
from errors import refused
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import level_columns

from pymoo_anon.table import Hierarchy, Microdata
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


CITIES = Hierarchy([["a", "b", "c"], ["ab", "ab", "c"], ["*", "*", "*"]])
# All of UTF-8 but the mark at the beginning of a file, NUL, and the signs of a header. Mark and NUL are no text.
texts = st.text(
    st.characters(codec="utf-8", exclude_characters="\ufeff\0*lL") | st.sampled_from(';,\t"\n\r '), max_size=4
)


@st.composite
def text_hierarchies(draw):
    """Draw hierarchies of any text, with labels and missing values."""
    values = st.lists(texts.filter(bool) | st.none(), min_size=1, max_size=6, unique=True)
    domain, *levels = draw(level_columns(draw(values)))
    labels = draw(st.lists(texts.filter(bool), min_size=6, max_size=6, unique=True))
    groups = [list(dict.fromkeys(level)) for level in levels]
    names = [dict(zip(own, labels[: len(own)], strict=True)) for own in groups]
    return Hierarchy([domain, *([name[x] for x in level] for name, level in zip(names, levels, strict=True))])


@given(text_hierarchies())
@example(Hierarchy.flat(["with\rreturn", None]))
@example(Hierarchy.flat(["a", "b"]).with_missing())
@example(Hierarchy([[None]]))
@example(Hierarchy([["a", None, "b"], ["x", "", ""], ["*", "*", "*"]]))
@example(Hierarchy([["a,b", "c,d"]]))
@example(Hierarchy([["a\tb", "c;d"]]))
def test_csv_gives_back_what_was_written(tmp_path_factory, hierarchy):
    path = tmp_path_factory.getbasetemp() / "hierarchy.csv"
    assert hierarchy.to_csv(path) is None
    text = hierarchy.to_csv()
    assert path.read_bytes() == text.encode()
    assert Hierarchy.from_csv(path) == hierarchy
    assert Hierarchy.from_csv(io.StringIO(text, newline="")) == hierarchy
    assert path.read_bytes() == text.encode()


USUAL = "a;ab;*\nb;ab;*\nc;c;*\n"
CSV_FILES = {
    "usual": USUAL.encode(),
    "no last newline": b"a;ab;*\nb;ab;*\nc;c;*",
    "Windows": b"a;ab;*\r\nb;ab;*\r\nc;c;*\r\n",
    "old Macintosh": b"a;ab;*\rb;ab;*\rc;c;*\r",
    "empty lines at the end": b"a;ab;*\nb;ab;*\nc;c;*\n\n\n",
    "quotes": b'"a";ab;"*"\nb;"ab";*\nc;c;*\n',
    "comma": b"a,ab,*\nb,ab,*\nc,c,*\n",
    "tab": b"a\tab\t*\nb\tab\t*\nc\tc\t*\n",
    "comma and quotes": b'"a","ab","*"\n"b","ab","*"\n"c","c","*"\n',
    "header": b"city;level 1;level 2\na;ab;*\nb;ab;*\nc;c;*\n",
    "header that counts all": b"Level-0,LEVEL-1,level-2\na,ab,*\nb,ab,*\nc,c,*\n",
}
ENCODINGS = {
    "UTF-8 with mark": USUAL.encode("utf-8-sig"),
    "UTF-16": USUAL.encode("utf-16"),
    "UTF-16 big": b"\xfe\xff" + USUAL.encode("utf-16-be"),
}


def test_an_empty_first_field_is_what_is_missing():
    for text, levels in {
        "a;x;*\n;;*\n": [["a", None], ["x", None], ["*", "*"]],
        "a;x;*\nb;;*\n;;*\n": [["a", "b", None], ["x", "", ""], ["*", "*", "*"]],
        "a;x;*\n;unknown;*\n": [["a", None], ["x", "unknown"], ["*", "*"]],
        "a;;*\nb;;*\n": [["a", "b"], ["", ""], ["*", "*"]],
        'a\n""': [["a", None]],
    }.items():
        read = Hierarchy.from_csv(io.StringIO(text))
        assert read == Hierarchy(levels), text
        assert read.labels == Hierarchy(levels).labels
    assert Hierarchy.from_csv(io.StringIO("a;x;*\n;;*\n")) == Hierarchy([["a"], ["x"], ["*"]]).with_missing()


@pytest.mark.parametrize("text", ["17;x;*\n;;*\n", "17;17;*\n;;*\n", "17;x;*\n"])
@pytest.mark.parametrize("column", [[17, None], ["17", None], ["17", ""]])
def test_a_table_with_gaps_reads_a_file_with_a_row_for_them(text, column):
    """Keep numbers beside missing values, and read empty texts as missing.

    An empty text is missing only if no value is empty.
    """
    frame = pd.DataFrame({"age": pd.Series(column, dtype=object)})
    if "" in column and not text.endswith("\n;;*\n"):
        with pytest.raises(ValueError, match=r"got without a row there: ''$"):
            Microdata.from_frame(frame, {"age": Hierarchy.from_csv(io.StringIO(text))}, missing="keep")
        return
    table = Microdata.from_frame(frame, {"age": Hierarchy.from_csv(io.StringIO(text))}, missing="keep")
    hierarchy = table.quasi_identifiers["age"]
    assert table.tuples.codes.tolist() == [[0], [1]]
    assert hierarchy.domain == (column[0], None)
    assert hierarchy.labels[1][1] is None
    assert hierarchy.n_groups.tolist() == [2, 2, 1]
    if text.startswith("17;17"):
        assert hierarchy.labels[1][0] == column[0]


@pytest.mark.parametrize("kind", [*CSV_FILES, *ENCODINGS])
def test_csv_files_of_other_tools_are_read(tmp_path, kind):
    path, data = tmp_path / "cities.csv", {**CSV_FILES, **ENCODINGS}[kind]
    path.write_bytes(data)
    assert Hierarchy.from_csv(path) == Hierarchy.from_csv(str(path)) == CITIES
    assert path.read_bytes() == data
    if kind in CSV_FILES:
        with path.open(encoding="utf-8", newline="") as file:
            assert Hierarchy.from_csv(file) == CITIES


def test_a_separator_within_labels_is_part_of_them():
    for text, levels in {
        "1,5;1,0–2,0;*\n2,5;2,0–3,0;*\n": [["1,5", "2,5"], ["1,0–2,0", "2,0–3,0"], ["*", "*"]],
        "a\tx, y\nb\tz\n": [["a", "b"], ["x, y", "z"]],
        'a,"x;y"\nb,z\n': [["a", "b"], ["x;y", "z"]],
        'a,x "y" z\n"b ""c""",y\n': [["a", 'b "c"'], ['x "y" z', "y"]],
        '"a;b"\n"c,d"\n': [["a;b", "c,d"]],
        "a\nb": [["a", "b"]],
        '5" pipe;*\n6" pipe;*\n': [['5" pipe', '6" pipe'], ["*", "*"]],
    }.items():
        assert Hierarchy.from_csv(io.StringIO(text)) == Hierarchy(levels), text


def test_a_first_row_that_may_be_a_value_is_one():
    # In the first two l1 and l2 are groups, and ? is a value of its own.
    groups = ("a;l1\nb;l2\n", "?;?;?\na;x;*\n", "a;x\nb;y\nc;y\n", "city;level 1;level 3\na;x;y\nb;y;y\n")
    for text in (*groups, "city;level 1\n", "a\n*\n"):
        assert Hierarchy.from_csv(io.StringIO(text)).domain[0] == re.split("[;\n]", text)[0]


@pytest.mark.parametrize("broken", ["values", "folder"])
def test_a_csv_that_cannot_be_written_leaves_nothing(tmp_path, monkeypatch, broken):
    path = tmp_path / "cities.csv"
    path.write_text("what was there")
    lone_surrogate = "\ud800"
    hierarchy = Hierarchy.flat(["a", lone_surrogate]) if broken == "values" else CITIES
    if broken == "folder":

        def refuse(*_):
            raise OSError("no")

        monkeypatch.setattr("os.replace", refuse)
    with pytest.raises((ValueError, OSError)):
        hierarchy.to_csv(path)
    assert [p.name for p in tmp_path.iterdir()] == ["cities.csv"]
    assert path.read_text() == "what was there"


def test_a_csv_in_another_encoding_is_refused_unless_it_is_opened_in_it(tmp_path):
    path = tmp_path / "h.csv"
    path.write_bytes("Bonn;*\r\nZürich;*\r\nNîmes;*\r\n".encode("cp1252"))
    message = (
        f"{path} must be text in UTF-8 or UTF-16, got the byte 0xfc in line 2, as in a file in latin-1 (ISO 8859-1) or "
        "Windows-1252; save it as UTF-8"
    )
    assert refused(ValueError, lambda: Hierarchy.from_csv(path)) == message
    with open(path, encoding="cp1252") as file:
        assert Hierarchy.from_csv(file).domain == ("Bonn", "Zürich", "Nîmes")
    with open(path, encoding="utf-8") as file, pytest.raises(ValueError, match="must be open in the encoding that it"):
        Hierarchy.from_csv(file)
