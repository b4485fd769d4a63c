"""The kernel against the plain twin, on every path and limit."""

import tracemalloc
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from loops import leave_uncompiled
from plain import assert_same_classes
from strategies import nodes, policies, tables, unchanged

from pymoo_anon.engine import DistinctTuples, Grouper, ValueCounts, grouper, grouping, sums
from pymoo_anon.engine.classes import classes_of_maps, row_ids, sums_of_groups
from pymoo_anon.objectives import KAnonymity, SquaredClassSizes, SquaredValueCounts
from pymoo_anon.problems import lattice
from pymoo_anon.problems.lattice import plan_roll_up

COLUMNS = ("s0", "s1", "q0")
BATCH_SIZES = ("_BATCH_CLASSES", "_BATCH_ENTRIES", "_FEWEST_SLOTS", "_CELLS")


def copies(groups, maps, n_groups, **asked):
    """Return the classes of every generalization, and the number of batches.

    Tuples get a grouper of their own.
    """
    own = groups if isinstance(groups, Grouper) else Grouper(groups)
    batches = [batch.copy() for batch in own.classes(maps, n_groups, **asked)]
    return [one for batch in batches for one in batch], len(batches)


def assert_equal_classes(ours, theirs):
    for name in ("starts", "sizes", "representatives", "kept", "n_suppressed", "class_of"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), err_msg=name)
    for name in ours.columns:
        np.testing.assert_array_equal(ours.columns[name].histogram(), theirs.columns[name].histogram(), err_msg=name)


def identity(tuples):
    """Return a map that changes nothing."""
    sizes = tuples.domain_sizes
    return np.concatenate([np.arange(size) for size in sizes])[None, :], np.array([sizes])


def uncounted(codes, sizes):
    """Return a table of distinct tuples without further columns."""
    distinct, counts = np.unique(codes, axis=0, return_counts=True)
    return DistinctTuples(distinct, counts, sizes)


@given(data=st.data(), table=tables())
def test_classes_are_those_of_the_rows(data, table):
    node, policy = data.draw(nodes(table)), data.draw(policies(table))
    rows = table.tuple_of_row
    ((classes,), _) = copies(
        table.microdata.grouper, *table.group_maps([node]), columns=COLUMNS, class_of=True, **policy
    )
    measured = table.plain.measure(node, **policy)
    assert_same_classes(classes, rows, measured)
    assert classes.n_rows == len(table.frame)
    for name in COLUMNS:
        expected = np.zeros((len(classes.sizes), len(table.microdata.domain_of(name))), dtype=int)
        codes = table.frame[name].map(table.microdata.domain_of(name).index)
        np.add.at(expected, (classes.class_of[0][rows], codes), 1)
        np.testing.assert_array_equal(classes.columns[name].histogram(), expected)


@given(data=st.data(), table=tables())
def test_many_at_once_are_as_one_by_one_however_small_the_buffers(data, table):
    maps, n_groups = table.group_maps(data.draw(st.lists(nodes(table), min_size=1, max_size=8)))
    asked = {"columns": COLUMNS, "class_of": True, **data.draw(policies(table))}
    together, _ = copies(Grouper(table.microdata.tuples), maps, n_groups, **asked)
    with pytest.MonkeyPatch.context() as patch:
        for name in BATCH_SIZES:
            patch.setattr(grouper, name, 1 << data.draw(st.integers(0, 6)))
        tiny = Grouper(table.microdata.tuples)
        split, _ = copies(tiny, maps, n_groups, **asked)
        again, _ = copies(tiny, maps, n_groups, **asked)
    for i, one in enumerate(together):
        ((alone,), _) = copies(Grouper(table.microdata.tuples), maps[i : i + 1], n_groups[i : i + 1], **asked)
        for other in (alone, split[i], again[i]):
            assert_equal_classes(one, other)


@given(data=st.data(), table=tables())
def test_one_generalization_is_grouped_without_loops_as_with_them(data, table):
    maps, n_groups = table.group_maps([data.draw(nodes(table))])
    limit, below = ({"limit": 0, "below": 0} | data.draw(policies(table))).values()
    tuples = table.microdata.tuples
    made = classes_of_maps(tuples, maps[0], tuple(n_groups[0].tolist()), COLUMNS, limit, below)
    request = {"columns": COLUMNS, "class_of": True, "limit": limit, "below": below}
    (twin,) = table.microdata.grouper.classes(maps, n_groups, **request)
    assert_equal_classes(made, twin)
    for name in ("maps", "representatives", "cells"):
        np.testing.assert_array_equal(getattr(made, name), getattr(twin, name))
    # Of several generalizations the compiled loops count the same.
    (both,) = table.microdata.grouper.classes(
        np.repeat(maps, 2, axis=0), np.repeat(n_groups, 2, axis=0), limit=limit, below=below
    )
    for name in ("n_suppressed", "held", "extents", "kept_rows"):
        assert np.array_equal(getattr(both, name), np.repeat(getattr(made, name), 2, axis=0))


@given(data=st.data(), table=tables())
def test_a_plan_makes_every_node_of_its_own_specializations_depth_first(data, table):
    some = data.draw(st.lists(nodes(table), max_size=12))
    X = np.array(some, dtype=np.int64).reshape(len(some), len(table.top))
    weights = data.draw(arrays(float, (len(table.top), max(table.top) + 1), elements=st.floats(0, 2)))
    steps, sources, given_rows = plan_roll_up(X, np.cumsum(weights, axis=1))
    assert sorted(given_rows[given_rows >= 0].tolist()) == list(range(len(some)))
    assert len(steps) <= 2 * len(some)
    path = []
    for i, (step, source, row) in enumerate(zip(steps, sources, given_rows, strict=True)):
        if row >= 0:
            np.testing.assert_array_equal(step, X[row])
        while path and path[-1] != source:
            path.pop()
        assert source == (path[-1] if path else -1)
        assert source < 0 or (steps[source] <= step).all()
        path.append(i)


def test_a_plan_is_compiled_once_whatever_array_it_is_made_of():
    X = np.array([[0, 1], [1, 0], [1, 1]])
    frozen, turned = X.copy(), np.asfortranarray(X)
    frozen.flags.writeable = False
    plans = [plan_roll_up(own, np.zeros((2, 2))) for own in (X, frozen, turned)]
    for other in plans[1:]:
        np.testing.assert_equal(other, plans[0])
    assert len(lattice._plan.signatures) == 1
    np.testing.assert_array_equal(frozen, [[0, 1], [1, 0], [1, 1]])


@given(data=st.data(), table=tables())
def test_classes_of_classes_are_those_of_the_table_however_small_the_room(data, table):
    some = data.draw(st.lists(nodes(table), min_size=1, max_size=16))
    # Every level saves much, so that common specializations are worth their tables.
    promises = np.tile(10 * np.arange(max(table.top) + 1), (len(table.top), 1))
    steps, sources, given_rows = plan_roll_up(np.array(some), promises.astype(float))
    asked = {"columns": COLUMNS[: data.draw(st.integers(0, 3))], **data.draw(policies(table))}
    expected = {}
    for i, step in enumerate(steps):
        ((expected[i],), _) = copies(Grouper(table.microdata.tuples), *table.group_maps([step]), **asked)
    with pytest.MonkeyPatch.context() as patch:
        if data.draw(st.booleans()):
            for name in BATCH_SIZES:
                patch.setattr(grouper, name, 1 << data.draw(st.integers(0, 6)))
        patch.setattr(grouper, "_KEPT_LAYERS", data.draw(st.sampled_from([0, 0.3, 1, 2])))
        tuples = Grouper(table.microdata.tuples)
        for wanted in (given_rows >= 0, given_rows < 0, None):
            got, _ = copies(tuples, *table.group_maps(steps), sources=sources, asked=wanted, **asked)
            numbers = np.arange(len(steps)) if wanted is None else np.flatnonzero(wanted)
            for i, one in zip(numbers, got, strict=True):
                assert_equal_classes(one, expected[i])


@pytest.mark.parametrize(("room", "rows_read"), [(2, [12, 6, 3, 6]), (0.5, [12, 6, 6, 6]), (0.3, [12, 12, 3, 12])])
def test_what_is_made_of_classes_reads_no_more_than_them(monkeypatch, room, rows_read):
    """Run the loops uncompiled, so that calls can be watched."""
    table = uncounted(np.arange(12)[:, None], (12,))
    maps = np.arange(12) // np.array([[2], [4], [12], [6]])
    n_groups = np.array([[6], [3], [1], [2]])
    leave_uncompiled(monkeypatch, grouping, grouper)
    numbered, make_classes = [], grouper._make_classes

    def watched(a, n_classes, layer, ids, layers, output):
        numbered.append(layers.starts[layer + 1] - layers.starts[layer])
        make_classes(a, n_classes, layer, ids, layers, output)

    monkeypatch.setattr(grouper, "_KEPT_LAYERS", room)
    monkeypatch.setattr(grouper, "_make_classes", watched)
    got, _ = copies(table, maps, n_groups, sources=np.array([-1, 0, 1, 0]))
    assert numbered == rows_read
    assert [one.sizes.tolist() for one in got] == [[2] * 6, [4] * 3, [12], [6] * 2]


@pytest.mark.parametrize(
    ("n", "values", "n_groups", "counted"),
    [
        # Counts of value 1, which no tuple has, are written past the batch before they are known to be 0.
        (5, [0], [1, 5], [[5], [1] * 5]),
        # All values are in all classes.
        (12, [0, 1, 2, 3], [8, 5], [[2] * 16 + [1] * 16, [3] * 8 + [2] * 12]),
    ],
)
def test_a_batch_has_room_for_all_that_is_written(monkeypatch, n, values, n_groups, counted):
    leave_uncompiled(monkeypatch, grouping, grouper)
    monkeypatch.setattr(grouper, "_BATCH_ENTRIES", 1)
    tuples, ones = np.arange(n), np.ones(n * len(values), dtype=int)
    column = ValueCounts(len(values) * np.arange(n + 1), np.tile(values, n), ones, max(len(values), 2))
    table = DistinctTuples(tuples[:, None], 0 * tuples + len(values), (n,), {"s": column})
    with np.errstate(over="ignore"):
        got, _ = copies(table, tuples % np.array(n_groups)[:, None], np.array(n_groups)[:, None], columns=("s",))
    assert [one.columns["s"].counts.tolist() for one in got] == counted


def test_numbers_start_again_before_they_outgrow_their_slots():
    codes = np.stack(np.unravel_index(np.arange(64), (8, 8)), axis=1)
    table = uncounted(codes, (8, 8))
    # Each class has four rows, so that a number without a slot would be given again.
    pairs = np.tile(np.arange(8) // 2, (1, 2)), np.array([[4, 4]])
    expected, _ = copies(Grouper(table), *pairs, class_of=True)
    own = Grouper(table)
    copies(own, *pairs)
    (space,) = own._pool
    for left in (150, 70, 60, 10, 1):
        space.slots.base[0] = np.iinfo(np.uint32).max - left
        got, _ = copies(own, *pairs, class_of=True)
        assert_equal_classes(got[0], expected[0])
    assert space.slots.base[0] < 1000


@pytest.mark.parametrize("sizes", [(4,) * 70, (300,) * 8, (9,), (2**31, 2**31, 2**31), (1, 5, 1)])
def test_row_ids_number_rows_as_numpy_does(sizes):
    rng = np.random.default_rng(2)
    codes = np.column_stack([rng.integers(0, size, 30) for size in sizes])
    codes = codes[rng.integers(0, len(codes), 100)]
    ids, first = row_ids(codes, sizes)
    rows, expected_first, expected_ids = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    np.testing.assert_array_equal(ids, expected_ids.ravel())
    np.testing.assert_array_equal(codes[first], rows)
    assert sorted(first) == sorted(expected_first)
    assert [own.tolist() for own in row_ids(codes[:0], sizes)] == [[], []]


@pytest.mark.parametrize("sizes", [(4,) * 70, (300,) * 8, (9,), (1, 5, 1)])
def test_keys_beyond_64_bits_and_single_attributes(sizes):
    rng = np.random.default_rng(3)
    patterns = np.column_stack([rng.integers(0, size, 30) for size in sizes])
    table = uncounted(patterns[rng.integers(0, len(patterns), 200)], sizes)
    ((classes,), _) = copies(table, *identity(table), class_of=True)
    np.testing.assert_array_equal(np.sort(classes.class_of[0]), np.arange(len(table)))
    np.testing.assert_array_equal(classes.sizes[classes.class_of[0]], table.counts)
    halves, (sizes_now,) = (
        np.concatenate([np.arange(size) // 2 for size in sizes])[None, :],
        [(np.array(sizes) + 1) // 2],
    )
    ((merged,), _) = copies(table, halves, sizes_now[None, :], class_of=True)
    _, expected = np.unique(table.codes // 2, axis=0, return_inverse=True)
    pairs = set(zip(merged.class_of[0].tolist(), expected.ravel().tolist(), strict=True))
    assert len(pairs) == len(merged.sizes) == expected.max() + 1
    assert merged.sizes.sum() == table.n_rows


def billions():
    """Return 3·10⁹ rows of two tuples with distinct sensitive values."""
    counts = np.array([3 * 10**9 - 2, 2])
    return DistinctTuples([[0], [1]], counts, (2,), {"s": ValueCounts(np.arange(3), np.arange(2), counts, 2)})


@pytest.mark.parametrize("limit", [0, 2])
def test_sums_of_squares_of_billions_are_exact(limit):
    table = billions()
    maps = np.array([[0, 1], [0, 0]])
    (batch,) = Grouper(table).classes(maps, np.array([[2], [1]]), columns=("s",), limit=limit)
    n, apart = 3 * 10**9, (3 * 10**9 - 2) ** 2 + 4
    assert SquaredClassSizes().evaluate(batch).tolist() == [float(apart), float(n**2)]
    assert SquaredValueCounts("s").evaluate(batch).tolist() == [float(apart), float(apart)]
    assert KAnonymity().evaluate(batch).tolist() == [n - 2 if limit else 2, n]
    assert batch.n_suppressed.tolist() == [limit, 0]


@given(st.lists(st.integers(1, 10**4) | st.integers(1, 6), min_size=1, max_size=20), st.data())
def test_the_smallest_kept_class_is_the_first_size_beyond_the_limit(counts, data):
    limit = data.draw(st.sampled_from([sum(counts) - 1, sum(counts)]) | st.integers(0, 2 * sum(counts)))
    table = DistinctTuples(np.arange(len(counts))[:, None], counts, (len(counts),))
    ((classes,), _) = copies(table, *identity(table), limit=limit)
    # A limit that holds all tuples suppresses them all.
    k = next((k for k in sorted(counts) if sum(count for count in counts if count <= k) > limit), np.inf)
    assert sorted(classes.sizes[classes.kept]) == sorted(count for count in counts if count >= k)
    assert classes.n_suppressed.tolist() == [sum(count for count in counts if count < k)]


def test_a_large_limit_takes_no_memory_for_rows():
    table = billions()
    tracemalloc.start()
    copies(table, *identity(table), limit=table.n_rows // 100)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50e6


def test_nothing_changes_its_input():
    codes, counts = np.array([[0, 0], [0, 1], [1, 0]]), np.array([2, 1, 3])
    column = ValueCounts(np.array([0, 2, 3, 4]), np.array([0, 1, 1, 0]), np.array([1, 1, 1, 3]), 2)
    maps, n_groups = np.array([[0, 1, 0, 1], [0, 0, 0, 0]]), np.array([[2, 2], [1, 1]])
    inputs = [codes, counts, column.starts, column.values, column.counts, maps, n_groups]
    with unchanged(*inputs):
        table = DistinctTuples(codes, counts, (2, 2), {"s": column})
        copies(table, maps, n_groups, columns=("s",), limit=1, class_of=True)
        row_ids(codes, (2, 2))
        sums_of_groups(maps, table.offsets, table.marginals)


def test_a_table_keeps_no_array_of_its_caller():
    codes, counts = np.array([[0], [1]]), np.array([1, 2])
    table = DistinctTuples(codes, counts, (2,))
    codes[:], counts[:] = 9, 9
    assert table.codes.tolist() == [[0], [1]]
    assert table.counts.tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        table.counts[0] = 5


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


@given(st.data())
def test_sums_of_groups_are_those_of_their_values(data):
    sizes = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    n = data.draw(st.sampled_from([1, 3]))
    maps = [[data.draw(st.integers(0, size - 1)) for size in sizes for _ in range(size)] for _ in range(n)]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    weights = np.arange(1, offsets[-1] + 1)
    got = sums_of_groups(np.array(maps), offsets, weights)
    for row, groups in zip(got.tolist(), maps, strict=True):
        for a, b in pairwise(offsets.tolist()):
            assert row[a:b] == [sum(v + 1 for v in range(a, b) if groups[v] == group) for group in range(b - a)]


def test_what_nodes_have_in_common_is_made_where_it_pays():
    # Level 1 of the first attribute leaves a hundredth of the table, so all six nodes have one common source.
    X = np.array([[1, level] for level in (1, 2, 3, 4, 5, 6)])
    weights = np.array([[0, np.log(100), 0, 0, 0, 0, 0], np.linspace(0, 1, 7)])
    steps, sources, given_rows = plan_roll_up(X, weights)
    assert steps[0].tolist() == [1, 1]
    assert given_rows[0] == 0
    assert sources[0] == -1
    assert (sources[1:] >= 0).all()
    # Three nodes of different attributes have only the table in common.
    steps, sources, given_rows = plan_roll_up(np.eye(3, dtype=np.int64), np.tile([0.0, 5.0], (3, 1)))
    assert sources.tolist() == [-1, -1, -1]
    assert sorted(given_rows) == [0, 1, 2]


def test_the_most_general_level_splits_like_any_other():
    X = np.array([[level, other] for level in (2, 0) for other in range(3)])
    weights = np.array([[0.0, 0.0, 5.0], [0.0, 0.0, 0.0]])
    steps, sources, given_rows = plan_roll_up(X, weights)
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
    steps, _, given_rows = plan_roll_up(X, weights)
    assert (steps[0].tolist() == [1, 0, 0] and given_rows[0] == -1) == pays
