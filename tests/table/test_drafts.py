"""Drafts of hierarchies: a row per value, useful levels, fitting labels, and categories in their order."""

import csv
import io
import math
import random
from collections import Counter
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache
from itertools import pairwise
from pathlib import Path

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from errors import refused
from hypothesis import assume, example, given
from hypothesis import strategies as st
from work import work_of

from pymoo_anon.table import Hierarchy, Microdata, check_hierarchy, draft_hierarchy, guess_role
from pymoo_anon.table.drafts import _DRAFTERS


def partition(hierarchy, values):
    """Return the text of the label of every value, level by level."""
    places = hierarchy.encode(values)
    assert (places >= 0).all(), [value for value, place in zip(values, places, strict=True) if place < 0]
    return [
        [str(labels[group]) if labels[group] is not None else "" for group in groups[places]]
        for groups, labels in zip(hierarchy.groups, hierarchy.labels, strict=True)
    ]


def as_table(column, hierarchy):
    """Return the hierarchy as a table of the column has it."""
    frame = pd.DataFrame({"q": pd.Series(column, dtype=object)})
    return Microdata.from_frame(frame, {"q": hierarchy}, missing="keep").quasi_identifiers["q"]


DATES = st.dates(date(1900, 1, 1), date(2100, 12, 31))
CODES = st.from_regex(r"\A[A-Z][0-9]{2}(\.[0-9]{1,3})?\Z") | st.from_regex(r"\A0[0-9]{4}\Z")
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\ufeff\0"), min_size=1, max_size=4)
#: Columns of one kind each, perhaps with several spellings.
COLUMNS = {
    "whole": st.integers(-(10**6), 10**6),
    "few whole": st.integers(0, 9),
    "large": st.integers(-(10**20), 10**20),
    "floats": st.floats(allow_nan=False, allow_infinity=False),
    "near floats": st.floats(-2, 2, allow_nan=False),
    "decimals": st.decimals(-1000, 1000, places=2),
    "text numbers": st.integers(-100, 1000).map(str) | st.decimals(0, 9, places=1).map(str),
    "dates": DATES,
    "moments": st.datetimes(datetime(1900, 1, 1), datetime(2100, 12, 31)),
    "ISO": DATES.map(str) | DATES.map(lambda day: f"{day}T10:00"),
    "dotted": DATES.map(lambda day: f"{day:%d.%m.%Y}"),
    "American": DATES.map(lambda day: f"{day:%m/%d/%Y}"),
    "digits": DATES.map(lambda day: f"{day:%Y%m%d}"),
    "codes": CODES,
    "months": DATES.map(lambda day: f"{day:%b-%Y}") | DATES.map(lambda day: f"{day:%Y-%m}"),
    "ranges": st.integers(0, 20).map(lambda i: f"[{5 * i}-{5 * i + 5})") | st.sampled_from(["<0", "> 105", "unknown"]),
    "scale": st.sampled_from(["never", "Rarely", "sometimes", "often", "always", "n/a", "Always"]),
    "words": WORDS | st.sampled_from(["a | b", "a", "b", "other"]),
    "truth": st.booleans(),
    "numbers and words": st.floats(-9, 9) | st.decimals(0, 9, places=1) | st.sampled_from(["unknown", "n/a"]),
    "truth and numbers": st.booleans() | st.integers(2, 9) | st.floats(2, 4),
}


@pytest.mark.parametrize("kind", COLUMNS)
@given(st.data())
def test_a_draft_holds_every_value_and_can_be_written_and_read(kind, data):
    column = data.draw(st.lists(COLUMNS[kind] | st.none(), min_size=1, max_size=30))
    draft = draft_hierarchy(column)
    hierarchy = draft.hierarchy
    assert draft.kind in _DRAFTERS
    assert "\n" not in draft.reason
    # Every level has fewer groups than the one below, and the last one is a root.
    assert all(above < below for below, above in pairwise(hierarchy.n_groups))
    assert hierarchy.has_root
    # A label names one node over all levels.
    assert len(hierarchy.nodes) >= hierarchy.n_values
    used = as_table(column, hierarchy)
    text = hierarchy.to_csv()
    read = as_table(column, Hierarchy.from_csv(io.StringIO(text, newline="")))
    assert partition(used, column)[1:] == partition(read, column)[1:]
    findings = [str(one) for one in check_hierarchy(io.StringIO(text, newline=""), column)]
    assert not [one for one in findings if not one.startswith(("note: values that", "warning: values that differ"))]
    # Missing values are alone up to the root.
    if None in column and hierarchy.length:
        place = hierarchy.encode([None])[0]
        assert all((groups == groups[place]).sum() == 1 for groups in hierarchy.groups[:-1])
    assert (None in hierarchy.domain) == (None in column)
    again = draft_hierarchy(data.draw(st.permutations(column)))
    assert (again.hierarchy, again.reason) == (hierarchy, draft.reason)


def holds(label, value):
    """Tell whether a label, as a person reads it, holds a number."""
    if label[0] in "<≥":
        return value < Decimal(label[1:]) if label[0] == "<" else value >= Decimal(label[1:])
    if label[0] == "[":
        low, high = map(Decimal, label[1:-1].split(", "))
        return low <= value < high
    low, high = map(int, label.split("–"))
    return low <= value <= high


def test_few_great_counts_are_one_group_before_small_ones_are():
    rows = [240, 150, 120, 60, 18, 6, 6]
    for children in ([0, 1, 2, 3, 4, 8, 12], [0, 1, 2, 3, 4, 5, 6]):
        labels = draft_hierarchy(children, rows).hierarchy.labels
        assert labels[1:] == (("0", "1", "2", "3", "≥4"), ("0–1", "2–3", "≥4"), ("*",))
    assert draft_hierarchy([1, 2, 3, 4, 5], rows[:5]).hierarchy.labels[1:] == (("0–1", "2–3", "4–5"), ("*",))
    # What is left below the end would be one interval.
    assert draft_hierarchy([0, 1, 2], [300, 250, 5]).hierarchy.labels[1:] == (("0–1", "2–3"), ("*",))


@pytest.mark.parametrize("kind", ["whole", "few whole", "near floats", "decimals", "text numbers"])
@given(st.data())
def test_intervals_are_round_nest_and_hold_their_numbers(kind, data):
    column = data.draw(st.lists(COLUMNS[kind], min_size=4, max_size=60, unique_by=lambda value: Decimal(str(value))))
    draft = draft_hierarchy(column, kind="numbers")
    assume(not draft.odd)
    hierarchy, numbers = draft.hierarchy, [Decimal(str(value)) for value in column]
    whole = all(number % 1 == 0 for number in numbers)
    widths = [Decimal(width) for width in draft.reason.partition("intervals of ")[2].split(", ") if width]
    assert hierarchy.length == len(widths) + 1
    for level, (width, labels) in enumerate(zip(widths, partition(hierarchy, column)[1:-1], strict=True)):
        assert width.normalize().as_tuple().digits in ((1,), (2,), (5,))
        assert level == 0 or (width > widths[level - 1] and width % widths[level - 1] == 0)
        assert all(holds(label, number) for label, number in zip(labels, numbers, strict=True))
        if labels[0][0] not in "<≥" and "–-" not in labels[0] and "--" not in labels[0]:
            low, high = labels[0].strip("[)").replace("–", ", ").split(", ")
            assert Decimal(high) - Decimal(low) == width - whole
    # At most twelve groups are left above the numbers, and levels are smaller at least by a quarter.
    if widths:
        assert 2 <= hierarchy.n_groups[-2] <= hierarchy.n_groups[1] <= 12
        assert all(above <= 0.75 * below for below, above in pairwise(hierarchy.n_groups[:-1]))
    assert hierarchy.n_values == len(column) or (whole and hierarchy.n_values <= max(100, 10 * len(column)))


@pytest.mark.parametrize(
    ("values", "n_groups", "reason"),
    [
        (range(17, 91), [90, 9, 5, 1], "whole numbers from 17 to 90, a row for each of 10 to 99; intervals of 10, 20"),
        (
            range(1931, 2021),
            [100, 10, 6, 2, 1],
            "whole numbers from 1931 to 2020, a row for each of 1930 to 2029; intervals of 10, 20, 100",
        ),
        (range(6), [6, 3, 1], "whole numbers from 0 to 5; intervals of 2"),
        (range(-7, 8), [16, 8, 2, 1], "whole numbers from -7 to 7, a row for each of -8 to 7; intervals of 2, 10"),
        ([0.1, 0.2, 0.3, 0.4], [4, 3, 1], "numbers from 0.1 to 0.4; intervals of 0.2"),
        ([1000, 2000, 3000, 4000], [4, 3, 1], "whole numbers from 1000 to 4000; intervals of 2000"),
        (
            [1.0, 2.0, 3.0, 4.0, 5.0, np.float64(6)],
            [8, 4, 1],
            "whole numbers from 1 to 6, a row for each of 0 to 7; intervals of 2",
        ),
        ([0, 1, 2, 10**18], [4, 2, 1], "whole numbers from 0 to 1000000000000000000; intervals of 100000000000000000"),
        (["1e3", "2.5", "0.5", " 7"], [4, 2, 1], "numbers from 0.5 to 1000; intervals of 100"),
    ],
)
def test_numbers(values, n_groups, reason):
    draft = draft_hierarchy(list(values))
    assert (draft.kind, draft.hierarchy.n_groups.tolist(), draft.reason) == ("numbers", n_groups, reason)


def test_intervals_of_long_numbers_are_exact():
    longs = [f"{10**17}.{i:020}" for i in range(10)]
    assert draft_hierarchy(longs).hierarchy.labels[1] == tuple(
        f"[{10**17}.{i:020}, {10**17}.{i + 2:020})" for i in range(0, 10, 2)
    )
    assert draft_hierarchy([0, 1e-300, 2e-300, 3e-300]).hierarchy.n_groups.tolist() == [4, 2, 1]
    assert draft_hierarchy(["1e-400", "1", "2", "3"]).kind == "categories"


def test_whole_numbers_get_a_row_for_those_between_them():
    ages = draft_hierarchy([17, 30, 42, 55, 68, 71, 80, 90, 21, 25])
    assert ages.hierarchy.domain == tuple(range(10, 100))
    assert draft_hierarchy(["17", "+30", "42.0", "55", "68", "71", "80", "90", "21", "25"]).hierarchy.domain == tuple(
        {30: "+30", 42: "42.0"}.get(i, str(i)) for i in range(10, 100)
    )
    # Numbers that lie far apart or are too many get no rows between them.
    assert draft_hierarchy([1, 1000, 500, 700]).hierarchy.n_values == 4
    assert draft_hierarchy(range(0, 2000, 3)).hierarchy.n_values == 667


@pytest.mark.parametrize("kind", ["dates", "moments", "ISO", "dotted", "digits"])
@given(st.data())
def test_dates_become_months_quarters_years_and_decades(kind, data):
    """Compare with pandas' calendar."""
    column = data.draw(st.lists(COLUMNS[kind], min_size=1, max_size=30))
    if kind == "dotted":
        column.append("31.12.1999")
    draft = draft_hierarchy(column)
    assert draft.kind == "dates"
    days = pd.Series(pd.to_datetime(column, format="mixed", dayfirst=kind == "dotted")).dt.floor("D")
    twins = {
        "day": days.dt.strftime("%Y-%m-%d"),
        "month": days.dt.strftime("%Y-%m"),
        "quarter": days.dt.year.astype(str) + "-Q" + days.dt.quarter.astype(str),
        "year": days.dt.strftime("%Y"),
        "decade": days.dt.strftime("%Y").str[:3] + "0s",
    }
    names = [name for name in draft.reason.partition("; ")[2].split(", ") if name]
    assert names == [name for name in twins if name in names]
    levels = partition(draft.hierarchy, column)[1 : len(names) + 1]
    for name, labels in zip(names, levels, strict=True):
        assert labels == twins[name].tolist()


def test_days_of_a_year_or_so_get_a_row_each():
    stays = [datetime(2021, 3, 5, 10) + timedelta(hours=7 * i) for i in range(300)]
    draft = draft_hierarchy(stays)
    assert draft.hierarchy.n_groups.tolist() == [365, 12, 4, 1]
    assert draft.hierarchy.domain[0] == date(2021, 1, 1)
    assert draft.reason == "dates from 2021-03-05 to 2021-05-31, a row for each day of the year; month, quarter"
    text = draft_hierarchy([str(day) for day in stays] + ["2020-12-31"])
    assert text.hierarchy.domain[0] == "2020-01-01"
    assert text.hierarchy.n_groups.tolist() == [731, 24, 8, 2, 1]
    assert text.reason == (
        "ISO dates from 2020-12-31 to 2021-05-31, a row for each day of these years; month, quarter, year"
    )
    assert draft_hierarchy([date(1950, 1, 1), date(1980, 1, 1), date(2000, 1, 1)]).hierarchy.n_values == 3


@pytest.mark.parametrize(
    ("values", "kind", "reason"),
    [
        ([20210305, 20191128.0], "dates", "dates (year, month, day) from 2019-11-28 to 2021-03-05"),
        ([1, 2], "categories", "2 categories"),
        ([True, False], "categories", "2 categories"),
        ([None, math.nan], "categories", "no value at all"),
        (["x", None, ""], "categories", "1 category; a row for missing values"),
        ([Decimal(9 * "123456789"), 10**400, Decimal("1E+400")], "categories", "2 categories"),
    ],
)
def test_kinds_are_told_apart(values, kind, reason):
    draft = draft_hierarchy(values)
    assert (draft.kind, draft.reason) == (kind, reason)


with Path(__file__).with_name("drafts.csv").open(encoding="utf-8", newline="") as file:
    TEXTS = list(csv.DictReader(file, delimiter=";"))


@pytest.mark.parametrize("row", TEXTS, ids=lambda row: row["values"])
def test_texts_have_these_drafts(row):
    """Compare the kind, and the reason or the levels below the root."""
    values = row["values"].split("|")
    draft = draft_hierarchy(values, name=row["name"] or None)
    assert draft.kind == row["kind"]
    assert row["reason"] in ("", draft.reason)
    assert row["levels"] in ("", " / ".join("|".join(own) for own in draft.hierarchy.labels[1:-1]))
    assert draft_hierarchy(values[::-1], name=row["name"] or None) == draft
    if draft.kind == "categories":
        said = refused(ValueError, lambda: draft_hierarchy(values, kind="ordered"))
        assert said.startswith(
            "ordered categories must be intervals written as text, months, weekdays or words of one "
        )


@given(st.lists(CODES | st.from_regex(r"\A[A-C0-2]{1,6}\Z"), min_size=1, max_size=40))
@example(["E11.9", "E11.8", "E11", "I10", "J45.909", "J45.901"])
def test_codes_are_redacted_by_prefix(column):
    """Compare with codes padded with blanks, grouped by their first characters."""
    hierarchy = draft_hierarchy(column, kind="codes").hierarchy
    length = max(map(len, column))
    levels, below = [column], len(set(column))
    for kept in range(length - 1, 0, -1):
        prefixes = [f"{code:{length}}"[:kept] for code in column]
        if 1 < len(set(prefixes)) < below:
            levels.append(prefixes)
            below = len(set(prefixes))
    got = partition(hierarchy, column)
    assert len(got) == len(levels) + (len(set(column)) > 1)
    for labels, prefixes in zip(got[: len(levels)], levels, strict=True):
        assert len(set(zip(labels, prefixes, strict=True))) == len(set(labels)) == len(set(prefixes))
        for label, prefix in list(zip(labels, prefixes, strict=True))[: len(labels) * (prefixes is not column)]:
            assert (
                label == prefix.rstrip(" ") if prefix.endswith(" ") else label == prefix + "*" * (length - len(prefix))
            )


@given(st.lists(st.integers(1, 1000), min_size=2, max_size=200), st.randoms(use_true_random=False))
@example([1] * 200, random.Random(0))
def test_groups_of_categories_have_a_similar_weight(counts, shuffler):
    """Check that no move from the heaviest to the lightest group helps."""
    values = [f"v{i}" for i in range(len(counts))]
    weight = dict(zip(values, counts, strict=True))
    shuffler.shuffle(values)
    draft = draft_hierarchy(values, [weight[value] for value in values])
    levels = partition(draft.hierarchy, values)
    names = draft.reason.split("; ")[1:]
    assert len(levels) == len(names) + 2
    for name, below, own in zip(names, levels[:-2], levels[1:-1], strict=True):
        weights, parts = Counter(), {}
        for value, part, group in zip(values, below, own, strict=True):
            weights[group] += weight[value]
            parts.setdefault(group, Counter())[part] += weight[value]
        if name == "rare values together":
            (rare,) = [group for group, held in parts.items() if len(held) > 1]
            assert rare == "other"
            assert weights[rare] <= 0.05 * sum(counts)
            assert max(parts[rare].values()) < sum(counts) / len(counts) / 4
            continue
        assert f"{len(weights)} groups" == name
        least_part = min(parts[weights.most_common(1)[0][0]].values())
        assert max(weights.values()) - least_part <= min(weights.values())
    # A label begins with the most frequent value of its group.
    for own in levels[1:-1]:
        for group in set(own):
            members = [value for value, label in zip(values, own, strict=True) if label == group]
            if not group.startswith("other"):
                assert group.split(" ")[0] in members


def test_labels_of_categories_are_short_and_their_own():
    counts = {"dog": 50, "cat": 40, "dog | cat": 30, "x" * 60: 20, "y" * 60: 9, "Other": 1, "z": 1}
    labels = draft_hierarchy(counts, counts.values()).hierarchy.labels
    assert labels[1] == ("dog", "x" * 60, "y" * 60, "cat", "dog | cat", "rare values")
    assert labels[2] == ("dog and 2 others", "cat | dog | cat | rare values")
    assert all(len(set(level)) == len(level) for level in labels)
    twins = draft_hierarchy(["a", "b", "a | b"], [5, 5, 10]).hierarchy.labels
    assert twins[1] == ("a | b", "a | b (2)")
    # A row stands beside those of its group.
    tree = draft_hierarchy([*"abcdefghij"], range(10, 20)).hierarchy
    for groups in tree.groups:
        assert sorted(groups.tolist()) == groups.tolist()


@pytest.mark.parametrize(
    ("n", "groups"), [(2, []), (3, [2]), (8, [3]), (9, [4, 2]), (27, [12, 5, 2]), (81, [27, 9, 3])]
)
def test_the_more_categories_the_more_groups(n, groups):
    draft = draft_hierarchy([f"v{i:02}x" for i in range(n)], kind="categories")
    assert draft.hierarchy.n_groups.tolist() == [n, *groups, 1]


@pytest.mark.parametrize(
    "kind", [list, iter, pd.Series, pl.Series, pa.array, lambda own: nw.from_native(pl.Series(own), series_only=True)]
)
def test_a_column_of_any_library_is_its_values(kind):
    zips, mails = ["02139", "02138", "02215", None], ["ann@example.org", "bob@example.org", None]
    assert draft_hierarchy(kind(zips)) == draft_hierarchy(zips)
    assert guess_role("contact", kind(mails)).danger == "it holds e-mail addresses"
    assert [own.what for own in check_hierarchy(io.StringIO("02139;*\n02138;*\n02215;*\n;*\n"), kind(zips))] == []


def test_counts_are_those_of_the_values_or_given():
    column = ["a"] * 5 + ["b"] * 3 + ["c"] * 2 + ["d"]
    counted = draft_hierarchy(["d", "c", "a", "b"], [1, 2, 5, 3])
    assert draft_hierarchy(column) == draft_hierarchy(pd.Series(column)) == counted
    assert draft_hierarchy(["d", "c", "a", "b", "a"], [1, 2, 4, 3, 1]) == counted
    assert draft_hierarchy([1, 2, 3, 9], name="RAC1P").kind == "categories"


def test_a_draft_of_a_large_column_is_made_quickly():
    """Count the calls per value, which are no more for many values."""
    values = np.random.default_rng(1).normal(50_000, 20_000, 3_000).tolist()
    draft, calls, _ = work_of(draft_hierarchy, values)
    assert draft.hierarchy.n_values == len(set(values))
    assert calls < 300 * len(values)


def test_a_code_of_no_answer_is_asked_about():
    draft = draft_hierarchy([1, 2, 3, 4, 5] * 9 + [99] * 7 + [-9])
    assert draft.question == "99, -9 in 8 rows is perhaps a code: is it a missing value?"
    assert draft.hierarchy.labels[1] == ("0–1", "2–3", "4–5", "99 and 1 other")


@given(st.lists(st.integers(0, 40), min_size=3, max_size=30, unique=True), st.sampled_from([1, 5, 10]))
def test_a_label_of_intervals_holds_what_is_in_its_group(starts, width):
    """Check that a label spans its group and no other group."""
    column = [f"[{start * width}-{(start + 1) * width})" for start in starts]
    hierarchy = draft_hierarchy(column).hierarchy
    n_seen = 0
    for labels in partition(hierarchy, column)[1:-1]:
        for label in set(labels):
            low, high = map(int, label[1:-1].split("-"))
            inside = {start for start in starts if low <= start * width < high}
            assert inside == {start for start, own in zip(starts, labels, strict=True) if own == label}
            assert (low, high) == (min(inside) * width, (max(inside) + 1) * width)
            n_seen += 1
    assert n_seen > 0


HOSPITAL = 4_000


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
        "Entlassung": ("dates", "siehe Akte", 0.001, [f"{day} {day.day:02}:30" for day in days]),
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


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        ({17: 50, 34: 30, 52: 40, 78: 20, 101: 2}, "intervals of 10, 20"),
        ({17: 50, 34: 30, 52: 40, 78: 20, 101: 20}, "intervals of 10, 20, 100"),
        # Most rows are 0 at every level, and the others are told apart.
        ({0: 940, 120: 12, 260: 12, 410: 12, 980: 12, 1337: 12}, "intervals of 50, 200"),
    ],
)
def test_an_interval_that_swallows_nearly_all_rows_is_no_level(counts, reason):
    draft = draft_hierarchy([*counts], [*counts.values()])
    assert draft.reason.endswith(f"; {reason}")


@pytest.mark.parametrize(("n_odd", "kind"), [(9, "numbers"), (10, "numbers"), (11, "categories")])
def test_a_kind_is_that_of_90_of_a_hundred_rows(n_odd, kind):
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


NUMBERS = Path(__file__).with_name("numbers.txt").read_text(encoding="utf-8").split("\n")[1:-1]


@pytest.mark.parametrize("line", NUMBERS)
def test_numbers_are_read_as_persons_write_them(line):
    """Compare groups with those of the same numbers in Python's notation."""
    values, numbers = (part.split("|") for part in line.split(" = "))
    numbers = list(map(Decimal, numbers))
    draft, twin = draft_hierarchy(values, kind="numbers"), draft_hierarchy(numbers, kind="numbers")
    assert set(draft.hierarchy.domain) >= set(values)
    groups = (partition(one.hierarchy, own)[1:-1] for one, own in ((draft, values), (twin, numbers)))
    for own, other in zip(*groups, strict=True):
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
        "ages": rng.integers(0, 100, 1000),
        "years": rng.integers(1925, 2020, 1000),
        "salaries": rng.lognormal(10.6, 0.6, 1000).round(),
        "inhabitants": rng.lognormal(9, 1.8, 1000).astype(int),
        "gains": np.where(rng.random(1000) < 0.9, 0, rng.integers(1, 10**5, 1000)),
        "heights": rng.normal(1.7, 0.1, 1000).round(2),
        "grams": rng.normal(131.4, 20, 1000).round(1),
        "balances": rng.normal(0, 5000, 1000).round(2),
        "one of another kind": np.append(rng.integers(18, 90, 999), 10**9),
        "one far below": np.append(rng.integers(18, 90, 999), -(10**9)),
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
    for far, sign in (("one of another kind", "≥"), ("one far below", "<")):
        assert far not in name or [label[0] for label in open_ends] == [sign]
