"""Findings about hierarchy files, where such are refused, and changes against a plain list of rows."""

import io
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from malformed import hierarchy_files
from strategies import hierarchies

from pymoo_anon.table import Finding, Hierarchy, Microdata, check_hierarchy
from pymoo_anon.table.hierarchy_edits import merged, moved, split, with_widths


def said(text, values=None):
    return [str(finding) for finding in check_hierarchy(io.StringIO(text, newline=""), values)]


BLOCKS = Path(__file__).with_name("findings.txt").read_text(encoding="utf-8").split(">>> ")[1:]


@pytest.mark.parametrize("block", BLOCKS)
def test_findings(block):
    given, *findings = block.strip().splitlines()
    assert said(*eval(f"{given},", {"Decimal": Decimal, "pd": pd})) == findings


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
