"""Tuples in small classes against plain loops over all tuples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import nodes, tables

from pymoo_anon.algorithms.proofs.stored.proof import _fill, _next, layer_sizes
from pymoo_anon.engine.refuting import Small, blocks_for, cells_of, order_by_class, small_tuples, split_class, top_of

pytestmark = pytest.mark.filterwarnings("ignore:the hierarchies of .* do not end in one group")


def grouped(table, some):
    """The classes of some nodes, and the class of every tuple."""
    (batch,) = table.microdata.grouper.classes(*table.group_maps(some), class_of=True)
    return batch.copy()


@given(data=st.data(), table=tables())
def test_lists_are_those_of_a_loop_over_the_tuples(data, table):
    some = data.draw(st.lists(nodes(table), min_size=1, max_size=3))
    classes = grouped(table, some)
    tuples, n = classes.tuples, len(classes.sizes)
    limit = data.draw(st.integers(0, len(table.frame)))
    values = np.array([data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)), classes.sizes], dtype=float)
    gone = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), dtype=bool)
    if data.draw(st.booleans()):
        gone = gone[:0]
    cells = cells_of(tuples)
    if data.draw(st.booleans()):
        # Many tuples have one key, as a few may have by chance.
        cells = cells._replace(marks=np.ones_like(cells.marks))
    found = Small(
        *small_tuples(
            classes.maps,
            classes.starts,
            classes.sizes,
            classes.representatives,
            values,
            gone,
            limit,
            *cells,
        )
    )
    for i in range(len(some)):
        a, b = classes.starts[i : i + 2]
        out = gone[a:b] if len(gone) else np.zeros(b - a, dtype=bool)
        for h in range(2):
            own, sizes = values[h, a:b], classes.sizes[a:b]
            too_many = [v for v in [-np.inf, *own[~out]] if sizes[out | (own <= v)].sum() > limit]
            top = min(too_many, default=np.inf)
            assert found.tops[i, h] == top == top_of(own, sizes, out, limit)
            expected = {}
            for t, c in enumerate(classes.class_of[i]):
                if out[c] and h == 0:
                    expected[t] = -np.inf
                elif not out[c] and own[c] < top:
                    expected[t] = own[c]
            first, last = found.starts[2 * i + h : 2 * i + h + 2]
            assert dict(zip(found.ids[first:last].tolist(), found.values[first:last].tolist(), strict=True)) == expected
            assert (np.diff(found.values[first:last][np.isfinite(found.values[first:last])]) >= 0).all()


@given(data=st.data(), table=tables())
def test_tuples_are_sorted_by_class_and_classes_split_by_specializations(data, table):
    top = data.draw(nodes(table))
    low = tuple(data.draw(st.integers(0, level)) for level in top)
    general, special = grouped(table, [top]), grouped(table, [low])
    tuples, cells = general.tuples, cells_of(general.tuples)
    order, ends = np.empty(len(tuples), dtype=np.int32), np.empty(len(tuples), dtype=np.int32)
    order_by_class(general.maps[0], order, ends, *cells)
    assert sorted(order.tolist()) == list(range(len(tuples)))
    hierarchies = list(table.microdata.quasi_identifiers.values())
    n_levels = max(h.length for h in hierarchies) + 1
    groups = np.zeros((n_levels, int(tuples.offsets[-1])), dtype=np.int64)
    for j, h in enumerate(hierarchies):
        groups[: h.length + 1, tuples.offsets[j] : tuples.offsets[j + 1]] = h.groups
    blocks, position, last = blocks_for(len(tuples)), 0, 0
    while position < len(order):
        members = order[position : ends[position]]
        assert len({general.class_of[0, t] for t in members}) == 1
        size = general.sizes[general.class_of[0, members[0]]]
        assert size == tuples.counts[members].sum() >= last
        split_class(members, np.array(low), groups, np.array(top) > np.array(low), cells, blocks)
        parts = blocks.sizes[blocks.slots[: len(members)]]
        assert parts.tolist() == special.sizes[special.class_of[0, members]].tolist()
        position, last = ends[position], size


@pytest.mark.parametrize("lengths", [[2, 1, 3], [1], [4, 0, 2], [0, 0]], ids=str)
def test_layers_hold_every_node_once_in_the_order_of_numbers(lengths):
    lengths = np.array(lengths)
    every = np.array(np.unravel_index(np.arange(np.prod(lengths + 1)), tuple(lengths + 1))).T
    sizes = layer_sizes(lengths)
    for total in range(lengths.sum() + 1):
        seen = []
        for first in range(max(total - lengths[1:].sum(), 0), min(lengths[0], total) + 1):
            x = np.full(len(lengths), first)
            _fill(1, total - first, lengths, x)
            changed = 0
            while changed >= 0:
                seen.append(x.tolist())
                before = x.copy()
                changed = _next(x, lengths)
                assert changed < 0 or (x[:changed] == before[:changed]).all()
        assert seen == every[every.sum(axis=1) == total].tolist()
        assert len(seen) == sizes[total]
