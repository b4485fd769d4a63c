"""Findings about hierarchy files, where such are refused, and changes against a plain list of rows."""

import io
import math
from decimal import Decimal

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from malformed import hierarchy_files
from strategies import hierarchies

from pymoo_anon.table import Finding, Hierarchy, Microdata, check_hierarchy
from pymoo_anon.table.hierarchy_edits import merged, moved, split, with_widths

SEX = "Male;M;*\nFemale;F;*\n"


def said(text, values=None):
    return [str(finding) for finding in check_hierarchy(io.StringIO(text, newline=""), values)]


TWICE = "error: values with more than one row:"
WITHOUT = "error: values of the column without a row:"
LENGTHS = "error: rows that have not 2 columns like the others, by their numbers:"
NEAR = "warning: {} that differ only in case, spaces or character width:"
GAINS = "warning: level {} gains nothing: it has as many groups as the one below,"
IDLE = "note: values that the column does not hold:"
GAPS = "note: the column has missing values, the file no row for them: missing='keep' adds one"


@pytest.mark.parametrize(
    ("text", "values", "findings"),
    [
        ("Male;*\nFemale;*\n", None, []),
        ("Male;*\nFemale;*\n", ["Male", "Female", "Male"], []),
        ("Male;*\nFemale;*\n;*\n", ["Male", None, "Female"], []),
        ("Male;*\nFemale;*\n;*\n", ["Male", "Female"], []),
        ("alone\n", ["alone"], []),
        ("Male;*\nFemale;*\n", ["Male", "Female", math.nan], [GAPS]),
        (
            "Male;*\nmale ;*\nFemale;*\nMALE;*\nMale;*\n",
            None,
            [f"{TWICE} 'Male'", f"{NEAR.format('values')} 'Male' and 'male ' and 'MALE'"],
        ),
        (
            "New York;*\nBoston;*\n",
            ["New  York", "Boston", "boston", "Ｂoston"],
            [
                f"{WITHOUT} 'New  York', 'boston', 'Ｂoston'",
                f"{NEAR.format('values')} 'New York' and 'New  York', 'Boston' and 'boston' and 'Ｂoston'",
                f"{IDLE} 'New York'",
            ],
        ),
        (
            "a;x;1;*\nb;x;2;*\nc;y;2;*\nd;Y ;3;*\n",
            None,
            [
                "error: level 2 is no coarsening of level 1, it splits groups: 'x' into '1' and '2'",
                f"{NEAR.format('labels of level 1')} 'y' and 'Y '",
            ],
        ),
        (
            "a;x\nb;y\n",
            None,
            [f"{GAINS.format(1)} 2", "warning: the last level is no root: it keeps groups apart: 'x', 'y'"],
        ),
        ("a;x;x;*\nb;x;x;*\nc;y;y;*\n", None, [f"{GAINS.format(2)} 2"]),
        ("a;*;*\nb;*;*\n", None, [f"{GAINS.format(2)} 1"]),
        ("a;;*\nb;x;*\n;;*\nc;x;*\n", None, ["warning: values without a label at level 1: 'a'"]),
        (
            "a;*\nb\nc;*\nd;*;*\n\ne;*\n",
            ["f"],
            [f"{LENGTHS} 2, 4, 5", f"{WITHOUT} 'f'", f"{IDLE} 'a', 'c', 'e'"],
        ),
        ("a\nb;*\nc;*\n", ["b", "c"], [f"{LENGTHS} 1"]),
        (
            "age;young or old;all\n17;young;*\n18;young;*\n71;old;*\n",
            [17, 18, 71],
            [
                "error: the file must not have a header: row 1 ends with 'all', all others with '*'; take it out or, "
                "if its first column is a value, let it stand in another row",
            ],
        ),
        ("age;level 1;level 2\n17;young;*\n18;young;*\n71;old;*\n", [17, 18, 71.0], []),
        (
            "a,*,\nb,*,\n",
            None,
            ["error: the file must have labels in its last column, got none: every row ends with a separator"],
        ),
        ("", None, ["error: the file must hold at least one row value;level 1;level 2;..., got an empty file"]),
        ('a;*\n"b;*', ["a"], ["error: the file must have quotes closed, got in row 2: unexpected end of data"]),
        (
            "7;*\n07;*\n8;*\n",
            [7, Decimal("8.0")],
            ["error: the hierarchy must name each number once, spelled more than once: Decimal('7')"],
        ),
        ("7;*\n07;*\n", ["7", "07"], []),
        ("2021-03-05;*\n2021-03-06;*\n", [pd.Timestamp("2021-03-05T10:00"), "2021-03-06T11:00"], []),
        (
            "".join(f"{i};*\n" for i in range(9)),
            list("abcdefg"),
            [f"{WITHOUT} 'a', 'b', 'c', 'd', 'e' and 2 more", f"{IDLE} '0', '1', '2', '3', '4' and 4 more"],
        ),
    ],
)
def test_findings(text, values, findings):
    assert said(text, values) == findings


def test_everything_is_found_at_once():
    """Report all defects of a file at once.

    Fixing one defect must not show the next.
    """
    text = "a;x;1;\na;x;1;\nA ;x;2;\nb;\nc;y;3;\n"
    found = check_hierarchy(io.StringIO(text), ["a", "q"])
    assert [finding.severity for finding in found] == ["error"] * 5 + ["warning"] * 2 + ["note"]
    assert found[2] == Finding("error", "values with more than one row", ("'a'",), 1)
    assert found[-1].examples == ("'A '", "'c'")


def test_a_file_in_another_encoding_is_a_finding(tmp_path):
    (tmp_path / "h.csv").write_bytes("Zürich;*\n".encode("latin-1"))
    (finding,) = check_hierarchy(tmp_path / "h.csv")
    assert finding.severity == "error"
    assert finding.what.startswith("the file must be text in UTF-8 or UTF-16, got the byte 0xfc in line 1")


def test_only_files_are_checked(tmp_path):
    with pytest.raises(FileNotFoundError):
        check_hierarchy(tmp_path / "none.csv")
    with pytest.raises(TypeError, match=r"^path must be a path or an open text file, got 5$"):
        check_hierarchy(5)


COLUMN = pd.DataFrame({"q": ["a0", "b0", None]}, dtype=object)


def refusal(read):
    try:
        return read() and None
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("start", range(0, 300, 50))
def test_errors_are_found_exactly_where_a_file_is_refused(tmp_path, start):
    """Refuse or load malformed files in agreement with the findings.

    A refusal is one sentence.
    """
    path = tmp_path / "h.csv"
    seen = set()
    for seed in range(start, start + 50):
        path.write_bytes(hierarchy_files(seed))
        message = refusal(lambda: Hierarchy.from_csv(path))
        errors = [finding for finding in check_hierarchy(path) if finding.severity == "error"]
        assert bool(errors) == (message is not None), (seed, message, errors)
        seen.add(bool(errors))
        if message is not None:
            assert message.startswith(str(path)), (seed, message)
            continue
        message = refusal(lambda: Microdata.from_frame(COLUMN, {"q": Hierarchy.from_csv(path)}, missing="keep"))
        errors = [finding for finding in check_hierarchy(path, COLUMN.q) if finding.severity == "error"]
        assert bool(errors) == (message is not None), (seed, message, errors)
    assert seen == {True, False}


def rows(hierarchy):
    """Return the labels of every value, from fine to coarse."""
    return [
        [labels[own[i]] for own, labels in zip(hierarchy.groups, hierarchy.labels, strict=True)]
        for i in range(hierarchy.n_values)
    ]


@given(hierarchies(max_values=8, rooted=False).filter(lambda hierarchy: hierarchy.length > 0), st.randoms())
def test_every_change_is_that_of_the_rows(hierarchy, random):
    level, before = random.randint(1, hierarchy.length), rows(hierarchy)
    some = random.sample(hierarchy.labels[level], random.randint(1, len(hierarchy.labels[level])))
    head = next(row for row in before if row[level] == some[0])
    expected = [[*row[:level], "new", *head[level + 1 :]] if row[level] in some else row for row in before]
    assert rows(merged(hierarchy, level, some, "new")) == expected
    assert rows(merged(hierarchy, level, some[:1], "new")) == [
        [*row[:level], "new", *row[level + 1 :]] if row[level] == some[0] else row for row in before
    ]
    members = random.sample(hierarchy.labels[level - 1], 1)
    expected = [[*row[:level], *head[level:]] if row[level - 1] in members else row for row in before]
    assert rows(moved(hierarchy, level, members, some[0])) == expected
    expected = [[*row[:level], "new", *row[level + 1 :]] if row[level - 1] in members else row for row in before]
    assert rows(split(hierarchy, level, members, "new")) == expected


@given(
    st.lists(st.integers(-300, 300), min_size=1, max_size=20, unique=True),
    st.sampled_from([[5], [5, 10], [3, 6, 24], [1]]),
)
def test_intervals_hold_their_numbers(numbers, widths):
    made = with_widths(Hierarchy.flat(map(str, numbers)), widths)
    for number, row in zip(numbers, rows(made), strict=True):
        for width, label in zip(widths, row[1:-1], strict=True):
            low = number // width * width
            assert label == (str(low) if width == 1 else f"{low}–{low + width - 1}") or label == low
        assert row[-1] == "*"


def test_fractions_and_gaps_have_intervals_too():
    made = with_widths(Hierarchy([["0.5", "1.25", "7", None], ["*"] * 4]), [0.5, 2])
    assert rows(made) == [
        ["0.5", "[0.5, 1.0)", "[0.0, 2.0)", "*"],
        ["1.25", "[1.0, 1.5)", "[0.0, 2.0)", "*"],
        ["7", "[7.0, 7.5)", "[6.0, 8.0)", "*"],
        [None, None, None, "*"],
    ]


def test_what_is_no_change_is_refused():
    cities = Hierarchy([["Bonn", "Paris", "Rome"], ["DE", "FR", "IT"], ["*"] * 3])
    for change, said in (
        (lambda: merged(cities, 1, ["UK"], "x"), "level 1 must have the groups that are named, got 'UK'"),
        (lambda: merged(cities, 1, ["DE"], "FR"), "a label of its own, got 'FR'"),
        (lambda: merged(cities, 1, ["DE"], ""), "a label of its own, got ''"),
        (lambda: merged(cities, 0, ["Bonn"], "x"), "level must be from 1 to 2, got 0"),
        (lambda: merged(cities, 1, [], "x"), "a change must name at least one group of level 1, got none"),
        (lambda: moved(cities, 1, ["Bonn"], "UK"), "level 1 must have the groups that are named, got 'UK'"),
        (lambda: moved(cities, 1, ["Oslo"], "DE"), "level 0 must have the groups that are named, got 'Oslo'"),
        (lambda: split(cities, 1, ["Bonn"], "IT"), "a label of its own, got 'IT'"),
        (lambda: split(cities, 2, ["DE"], "*"), "a label of its own"),
        (lambda: with_widths(cities, [5]), "intervals need numbers, got 'Bonn', 'Paris', 'Rome'"),
        (lambda: with_widths(Hierarchy.flat(["1"]), []), "at least one width"),
        (lambda: with_widths(Hierarchy.flat(["1"]), [0]), "widths must be positive"),
        (lambda: with_widths(Hierarchy.flat(["1"]), [5, 7]), "5"),
    ):
        with pytest.raises(ValueError, match=said):
            change()
