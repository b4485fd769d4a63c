"""Notebook views: short, escaped, and without rows of the data."""

import re

import pandas as pd
import pytest
from raw_tables import raw_problem

from pymoo_anon.objectives import GeneralLossMetric, KAnonymity, Objective
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.publishing import release
from pymoo_anon.table import Hierarchy, Microdata

ODD = "<b>&\n"
FRAME = pd.DataFrame(
    {
        ODD: ["<i>", "y", "<i>", "y"],
        "z": [1, 2, 2, 2],
        "secret": ["<u>", "n", "n", "n"],
        "who": ["p1", "p2", "p3", "p4"],
    }
)
WAYS = {ODD: Hierarchy.flat(["<i>", "y"]), "z": Hierarchy.flat([1, 2])}
TABLE = Microdata.from_frame(FRAME, WAYS, sensitive="secret", person="who")


class Uncounted(Objective):
    """A measure that defines no recount."""

    name = "<odd>"
    maximize = True

    def evaluate_one(self, classes):
        return 0.5


PROBLEM = LatticeProblem(TABLE, [KAnonymity(person="who"), Uncounted(), GeneralLossMetric()], suppression=1)
MADE = release(FRAME, PROBLEM, [1, 0], suppressed="drop")


def cells(html):
    """Return caption, headings and rows of a table that must be complete."""
    found = re.fullmatch(
        r"<table><caption>(.*)</caption><thead><tr>(.*)</tr></thead><tbody>(.*)</tbody></table>", html, re.DOTALL
    )
    rows = re.findall(r"<tr>(.*?)</tr>", found[3], re.DOTALL)
    return found[1], re.findall("<th>(.*?)</th>", found[2]), [re.findall("<td>(.*?)</td>", row) for row in rows]


@pytest.mark.parametrize("shown", [TABLE, WAYS[ODD], PROBLEM.front([[0, 0], [1, 0], [1, 1]]), MADE], ids=type)
def test_all_is_escaped_and_in_one_line(shown):
    html = shown._repr_html_()
    allowed = {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert set(re.findall(r"</?([^>\s]+)>", html)) == allowed
    assert "\n" not in html
    _, headings, rows = cells(html)
    assert rows
    assert {len(row) for row in rows} == {len(headings)}


def test_a_table_shows_its_columns_and_no_value():
    caption, headings, rows = cells(TABLE._repr_html_())
    assert caption == "4 rows, 3 distinct tuples"
    assert headings == ["column", "role", "values", "groups by level"]
    assert rows == [
        ["&lt;b&gt;&amp;\\n", "quasi-identifier", "2", "1"],
        ["z", "quasi-identifier", "2", "1"],
        ["secret", "sensitive", "2", ""],
        ["who", "person", "4", ""],
    ]
    wide = pd.DataFrame({str(number): ["a", "b"] for number in range(41)})
    caption, _, rows = cells(raw_problem(wide).table._repr_html_())
    assert (caption, len(rows)) == ("2 rows, 2 distinct tuples; the first 40 of 41 columns", 40)


def test_a_hierarchy_shows_what_its_first_values_become():
    caption, headings, rows = cells(Hierarchy.intervals(0, 30, widths=[5, 10])._repr_html_())
    assert caption == "30 values; the first 20"
    assert headings == ["value", "level 1 (6)", "level 2 (3)", "level 3 (1)"]
    assert len(rows) == 20
    assert rows[7] == ["7", "5–9", "0–9", "*"]
    caption, _, rows = cells(Hierarchy.flat(["a", None])._repr_html_())
    assert (caption, rows) == ("2 values", [["a", "*"], ["", "*"]])


def test_a_release_shows_its_claims_and_no_row():
    caption, headings, rows = cells(MADE._repr_html_())
    assert caption.startswith("What was promised holds.")
    assert MADE.n_suppressed == 1
    assert "suppressed" not in MADE._repr_html_()
    assert headings == list(MADE.claims)
    assert [row[0] for row in rows] == ["k in persons of who", "&lt;odd&gt;", "GLM"]
    assert rows[1] == ["&lt;odd&gt;", "0.5", "", "not recounted"]
    assert [row[3] for row in rows] == ["yes", "not recounted", "yes"]
    assert "p1" not in MADE._repr_html_()
