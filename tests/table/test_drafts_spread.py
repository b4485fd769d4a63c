"""Drafts of columns with odd values, written numbers, and any spread."""

import io
from datetime import date, timedelta
from decimal import Decimal
from functools import cache

import numpy as np
import pytest
from drafted import as_table, partition

from pymoo_anon.table import Hierarchy, draft_hierarchy

HOSPITAL = 8_000


def german(number, places):
    return f"{number:,.{places}f}".translate(str.maketrans(",.", ".,"))


@cache
def hospital():
    """Return columns of a hospital with kind, first level and odd text.

    The hospital is German.
    """
    rng = np.random.default_rng(5)
    ages, towns = rng.integers(18, 96, HOSPITAL), rng.integers(1000, 99999, 1600)
    codes = rng.choice([f"{letter}{number:02}" for letter in "EIJK" for number in range(99)], HOSPITAL)
    days = [date(2012, 1, 1) + timedelta(int(day)) for day in rng.integers(0, 3000, HOSPITAL)]
    return {
        "plz": ("codes", "k.A.", 0.02, [f"{zip_code:05}" for zip_code in rng.choice(towns, HOSPITAL)]),
        "Gewicht": ("numbers", "k. A.", 0.01, [german(w, 1) for w in rng.normal(75, 14, HOSPITAL)]),
        "lab": ("numbers", "nicht bestimmt", 0.02, [f"{own:.1f}" for own in rng.normal(131.4, 20, HOSPITAL)]),
        "Gehalt": ("numbers", "--", 0.02, [german(own - own % 50, 2) for own in rng.lognormal(8, 0.5, HOSPITAL)]),
        "Größe": ("ordered", "unbekannt", 0.03, rng.choice(["XS", "S", "M", "L", "XL"], HOSPITAL).tolist()),
        "Alter": ("numbers", "-", 0.02, list(map(str, ages))),
        "icd": ("codes", "?", 0.02, [f"{code}.{digit}" for code in codes for digit in rng.integers(0, 9, 1)]),
        "Schmerz": ("ordered", "grün", 0.001, rng.choice(["kein", "leicht", "mittel", "stark"], HOSPITAL).tolist()),
        "Aufnahme": ("dates", "n/a", 0.03, [f"{day:%d.%m.%Y}" for day in days]),
        "Monat": ("ordered", "None", 0.04, rng.choice(["Januar", "Juni", "Mai", "März"], HOSPITAL).tolist()),
        "mixed": ("numbers", "inconnu", 0.6, list(map(str, ages))),
    }


@pytest.mark.parametrize("name", hospital())
def test_odd_values_are_named_and_never_decide(name):
    kind, odd, share, column = hospital()[name]
    clean = draft_hierarchy(column, name=name)
    rng = np.random.default_rng(6)
    spoilt = [odd if own else value for value, own in zip(column, rng.random(HOSPITAL) < share, strict=True)]
    draft = draft_hierarchy(spoilt, name=name)
    n_odd = spoilt.count(odd)
    assert (clean.kind, clean.question, clean.odd) == (kind, None, ())
    assert (draft.kind, draft.odd) == (kind, ((odd, n_odd),))
    what = "not in the order" if kind == "ordered" else f"no {kind[:-1]}"
    assert draft.question == f"{odd!r} in {n_odd:,} rows is {what}: is it a missing value?"
    assert draft.reason.endswith(f"; apart: {odd!r}")
    # Other values keep their levels, and the odd one is alone up to the root.
    if n_odd < 0.1 * HOSPITAL:
        assert draft.hierarchy.length == clean.hierarchy.length
    for labels, own in zip(partition(draft.hierarchy, spoilt)[:-1], draft.hierarchy.groups[:-1], strict=True):
        assert {label for label, value in zip(labels, spoilt, strict=True) if value == odd} == {odd}
        assert (own == own[draft.hierarchy.domain.index(odd)]).sum() == 1
    table = as_table(spoilt, Hierarchy.from_csv(io.StringIO(draft.hierarchy.to_csv(), newline="")))
    assert table.n_groups.tolist() == draft.hierarchy.n_groups.tolist()


@pytest.mark.parametrize(("n_odd", "kind"), [(4, "numbers"), (5, "numbers"), (6, "categories")])
def test_a_kind_is_that_of_95_of_a_hundred_rows(n_odd, kind):
    """Count the share among rows with a value."""
    column = [str(20 + i % 40) for i in range(100 - n_odd)] + ["x"] * n_odd
    for own in (column, column + ["k.A."] * 50 + [None] * 50):
        draft = draft_hierarchy(own)
        assert draft.kind == kind
        assert ("x" in dict(draft.odd)) == (kind == "numbers")
    many = [str(20 + i % 40) for i in range(1000)] + [f"word {'abcdefghijklmnopqrst'[i]}" for i in range(20)]
    draft = draft_hierarchy(many)
    assert (draft.kind, len(draft.odd)) == ("numbers", 20)
    # Odd values are one group, however many they are.
    assert draft.hierarchy.labels[1][-1] == "word a and 19 others"


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        (["169,0", "70,5", "8,25", "1"], ["169.0", "70.5", "8.25", "1"]),
        (["1.234,50", "999", "-1.000.000", "0,5"], ["1234.50", "999", "-1000000", "0.5"]),
        (["1,234.50", "999", "-1,000,000", "0.5"], ["1234.50", "999", "-1000000", "0.5"]),
        (["1 234", "12\u00a0345", "7", "1\u202f000,5"], ["1234", "12345", "7", "1000.5"]),
        (["1'234.50", "12’345", "7", "8.5"], ["1234.50", "12345", "7", "8.5"]),
        # Columns of inhabitants are like this, as none has a point earlier than its last three digits.
        (["950", "1.204", "12.345", "7"], ["950", "1204", "12345", "7"]),
        (["1.204", "12.345", "0.500", "7.125"], ["1.204", "12.345", "0.500", "7.125"]),
        (["950", "1,204", "12,345", "7"], ["950", "1204", "12345", "7"]),
        (["1.5", "1.204", "2", "3"], ["1.5", "1.204", "2", "3"]),
        # A unit that most have is no part of the number.
        (["1.234,50 €", "999 €", "-1.000 €", "0,5"], ["1234.50", "999", "-1000", "0.5"]),
        (["$1,234.50", "-$999.00", "$7", "$0.5"], ["1234.50", "-999", "7", "0.5"]),
        (["12,5 %", "7%", "0,25 %", "100 %"], ["12.5", "7", "0.25", "100"]),
        (["34 J.", "7,5 J.", "90 J.", "61 J."], ["34", "7.5", "90", "61"]),
        (["1 180 cm", "95.5 cm", "60 cm", "7"], ["1180", "95.5", "60", "7"]),
    ],
)
def test_numbers_are_read_as_persons_write_them(values, numbers):
    """Compare groups with those of the same numbers in Python's notation."""
    draft, twin = draft_hierarchy(values, kind="numbers"), draft_hierarchy(list(map(Decimal, numbers)), kind="numbers")
    assert set(draft.hierarchy.domain) >= set(values)
    for own, other in zip(
        partition(draft.hierarchy, values)[1:-1],
        partition(twin.hierarchy, list(map(Decimal, numbers)))[1:-1],
        strict=True,
    ):
        assert [own.index(label) for label in own] == [other.index(label) for label in other]


def test_no_number_is_read_in_two_ways():
    draft = draft_hierarchy(["169,0"] * 40 + ["70,5"] * 40 + ["8,2"] * 18 + ["7,1", "131.4"])
    assert draft.kind == "numbers"
    assert draft.odd == (("131.4", 1),)
    assert draft.hierarchy.labels[1][0] == "[0; 20)"
    assert draft_hierarchy(["1,2", "1,35", "1,5", "1,61", "1,62"]).hierarchy.labels[1][0] == "[1,2; 1,4)"


@cache
def scales():
    rng = np.random.default_rng(7)
    numbers = {
        "ages": rng.integers(0, 100, 3000),
        "years": rng.integers(1925, 2020, 3000),
        "salaries": rng.lognormal(10.6, 0.6, 3000).round(),
        "inhabitants": rng.lognormal(9, 1.8, 3000).astype(int),
        "gains": np.where(rng.random(3000) < 0.9, 0, rng.integers(1, 10**5, 3000)),
        "heights": rng.normal(1.7, 0.1, 3000).round(2),
        "grams": rng.normal(131.4, 20, 3000).round(1),
        "balances": rng.normal(0, 5000, 3000).round(2),
        "one of another kind": np.append(rng.integers(18, 90, 2999), 10**9),
    }
    return {
        f"{name} times {factor}": own * factor for name, own in numbers.items() for factor in (1, 3, 7 * 10**5, 1e-6)
    }


@pytest.mark.parametrize("name", scales())
def test_intervals_fit_the_spread_whatever_the_scale(name):
    column = scales()[name].tolist()
    draft = draft_hierarchy(column)
    held = [set(labels) for labels in partition(draft.hierarchy, column)]
    assert draft.kind == "numbers"
    assert 5 <= len(held[1]) <= 12
    # The outermost groups are open where numbers lie far beyond the others.
    open_ends = [label for label in held[1] if label[0] in "<≥"]
    assert len(open_ends) <= 2
    if "one of another kind" in name:
        assert [label[0] for label in open_ends] == ["≥"]
