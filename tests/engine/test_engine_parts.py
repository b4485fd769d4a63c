"""The engine's sums, extents, sort by class and plan of a roll-up."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from loops import with_a_way_in

from pymoo_anon.engine import classes, grouper, grouping, sums
from pymoo_anon.engine.numbering import Scratch

terms = st.lists(st.tuples(st.integers(-(10**6), 10**6).map(lambda i: i / 7), st.integers(0, 10**6)), max_size=20)


@given(terms)
def test_a_total_is_the_exact_sum_rounded_once_or_twice(pairs):
    own = sums.total(np.array([value for value, _ in pairs], dtype=float), np.array([float(n) for _, n in pairs]))
    exact = sum(Fraction(value) * n for value, n in pairs)
    size = sum(abs(Fraction(value)) * n for value, n in pairs)
    assert abs(Fraction(float(own)) - exact) <= abs(exact) / 2**51 + size / 2**95


def test_a_total_holds_what_a_float_loses():
    # A float loses 1 beside 1e17. It rounds the product of 1 / 3 and 3 to 1.
    assert sums.total(np.array([1e17, 1.0, -1e17]), np.ones(3)) == 1
    third = np.array([1 / 3, -1.0])
    assert sums.total(third, np.array([3.0, 1.0])) == float(3 * Fraction(1 / 3) - 1)
    assert sums.total(np.array([0.1]), np.array([10.0])) == float(10 * Fraction(0.1))
    # Each of these terms alone vanishes beside the 1.
    assert sums.total(np.array([1.0] + [2.0**-53] * 1024), np.ones(1025)) == 1 + 2.0**-43


def test_repeated_terms_have_the_sum_of_their_counts():
    rng = np.random.default_rng(0)
    some, counts = rng.random(50), rng.integers(1, 60, 50)
    repeated = rng.permutation(np.repeat(some, counts))
    assert sums.total(some, counts.astype(float)) == sums.total(repeated, np.ones(len(repeated)))


@given(st.data())
def test_sums_of_groups_are_those_of_their_values(data):
    sizes = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    maps = [[data.draw(st.integers(0, size - 1)) for size in sizes for _ in range(size)] for _ in range(3)]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    weights = np.arange(1, offsets[-1] + 1)
    got = classes.sums_of_groups(np.array(maps), offsets, weights)
    for row, groups in zip(got.tolist(), maps, strict=True):
        for a, b in pairwise(offsets.tolist()):
            assert row[a:b] == [sum(v + 1 for v in range(a, b) if groups[v] == group) for group in range(b - a)]


sort_by_class = with_a_way_in(grouping.sort_by_class)
merge_values = with_a_way_in(grouping.merge_values)


@given(st.data())
def test_values_are_merged_by_class_in_the_order_in_which_they_come(data):
    n_classes, n_values = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 5))
    of_rows = data.draw(st.lists(st.integers(0, n_classes - 1), min_size=1, max_size=12))
    entry = st.tuples(st.integers(0, len(of_rows) - 1), st.integers(0, n_values - 1), st.integers(1, 2**40))
    entries = sorted(data.draw(st.lists(entry, max_size=20)), key=lambda own: own[0])
    rows, values, counts = zip(*entries, strict=True) if entries else ((), (), ())
    n = len(entries)
    expected = [{} for _ in range(n_classes)]
    for row, value, count in entries:
        own = expected[of_rows[row]]
        own[value] = own.get(value, 0) + count
    column = grouping.LayerColumn(
        n_values,
        np.searchsorted(rows, np.arange(len(of_rows) + 1)) + 1,
        np.array([0, *rows], dtype=np.uint32),
        np.array([0, *values], dtype=np.uint32),
        np.array([0, *counts], dtype=np.int64),
    )
    scratch = Scratch(
        cells=np.zeros(0, dtype=np.uint32),
        tally=np.zeros(n_values, dtype=np.int64),
        members=np.full(n_classes + 2, -7),
        values=np.empty(n, dtype=np.uint32),
        counts=np.empty(n, dtype=np.int64),
    )
    found = grouping.Counted(np.full(n_classes + 1, 3), np.full(n + 5, -7), np.full(n + 5, -7))
    sort_by_class(np.array(of_rows, dtype=np.uint32), n_classes, column, scratch)
    merge_values(n_classes, scratch, found)
    for c, own in enumerate(expected):
        first, last = found.starts[c : c + 2]
        assert found.values[first:last].tolist() == [*own]
        assert found.counts[first:last].tolist() == [*own.values()]
    # Scratch is cleared, and nothing is written beyond the entries but one value.
    assert not scratch.tally.any()
    assert scratch.members[-1] == found.values[found.starts[-1] + 1] == found.counts[found.starts[-1]] == -7


def test_what_nodes_have_in_common_is_made_where_it_pays():
    # Level 1 of the first attribute leaves a hundredth of the table, so all six nodes have one common source.
    X = np.array([[1, level] for level in (1, 2, 3, 4, 5, 6)])
    weights = np.array([[0, np.log(100), 0, 0, 0, 0, 0], np.linspace(0, 1, 7)])
    steps, sources, given_rows = grouper.plan_roll_up(X, weights)
    assert steps[0].tolist() == [1, 1]
    assert given_rows[0] == 0
    assert sources[0] == -1
    assert (sources[1:] >= 0).all()
    # Three nodes of different attributes have only the table in common.
    steps, sources, given_rows = grouper.plan_roll_up(np.eye(3, dtype=np.int64), np.tile([0.0, 5.0], (3, 1)))
    assert sources.tolist() == [-1, -1, -1]
    assert sorted(given_rows) == [0, 1, 2]


def test_the_most_general_level_splits_like_any_other():
    X = np.array([[level, other] for level in (2, 0) for other in range(3)])
    weights = np.array([[0.0, 0.0, 5.0], [0.0, 0.0, 0.0]])
    steps, sources, given_rows = grouper.plan_roll_up(X, weights)
    place = {int(row): i for i, row in enumerate(given_rows) if row >= 0}
    # The nodes at the top of the first attribute read a hundredth of the table, from the lowest of them.
    assert [sources[place[row]] for row in (1, 2)] == [place[0]] * 2
    assert steps[place[0]].tolist() == [2, 0]


@pytest.mark.parametrize(("n", "pays"), [(3, False), (4, True)])
def test_a_common_specialization_pays_from_four_nodes_on(n, pays):
    """Add a cheap specialization if n > 2 + 1.

    Reading it costs next to nothing. It is not one of the n nodes.
    """
    X = np.array([[1, 1, 0], [1, 0, 1], [1, 1, 2], [1, 2, 0]])[:n]
    weights = np.array([[0.0, 50.0, 50.0], [0.0, 1.0, 2.0], [0.0, 1.0, 2.0]])
    steps, _, given_rows = grouper.plan_roll_up(X, weights)
    assert (steps[0].tolist() == [1, 0, 0] and given_rows[0] == -1) == pays
