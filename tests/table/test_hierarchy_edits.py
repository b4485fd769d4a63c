"""Changes of hierarchies by hand, against a plain list of rows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import hierarchies

from pymoo_anon.table import Hierarchy
from pymoo_anon.table.hierarchy_edits import merged, moved, split, with_widths


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
        (lambda: merged(cities, 1, [], "x"), "got none without one"),
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
