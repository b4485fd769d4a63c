"""Grouping of distinct tuples by group maps, one generalization after the other."""

from __future__ import annotations

import numpy as np

from pymoo_anon.engine.arrays import named
from pymoo_anon.engine.compiled import njit
from pymoo_anon.engine.layers import nearest_layer, push
from pymoo_anon.engine.numbering import number_joins, number_pairs, pairs_of_children, take_maps
from pymoo_anon.engine.values import count_values

# An index of this type cannot be negative, so that numba leaves out the test whether it counts from the end. The loops
# over rows are a third faster.
_U = np.uint64

_BEYOND_ALL = np.iinfo(np.int64).max


@njit(cache=True, nogil=True)
def group(done, limit, below, *arrays):  # type: ignore[no-untyped-def]
    """Group by one generalization after the other, while the output has room.

    Args:
        done: Number of the generalization to begin with; those before it were grouped by earlier calls.
        limit: At most so many tuples are suppressed, the smallest classes first; used where `below` is 0.
        below: Every class smaller than this is suppressed.
        arrays: The arrays of `Request`, `Tree`, `Layers`, `Entries`, `Numbers`, `Slots`, `Scratch` and `Output`.

    Returns:
        The number of the generalization to go on with. It is above `done`: there is always room for one.
    """
    request, tree, layers, entries, numbers, slots, scratch, output = named(arrays)
    request.starts[0] = 0
    output.value_starts[:, :1] = 0
    n_out = 0
    # Invariant: the output holds the n_out generalizations that were asked for from `done` to i - 1. Its classes end
    # at request.starts[n_out]. What was grouped and not asked for is overwritten there.
    for i in range(done, len(request.maps)):
        layer = nearest_layer(i, request)
        a = request.starts[n_out]
        if n_out > 0 and not _has_room(i, a, layer, request, layers, entries, output):
            return i
        take_maps(i, request, tree, numbers)
        number_joins(tree, numbers, slots, scratch.members)
        n_classes = _make_classes(a, layer, tree, layers, numbers, slots, output)
        b = a + n_classes
        ids = numbers.ids[tree.starts[len(tree.starts) - 2] :]
        if len(request.class_of) > 0:
            request.class_of[i] = ids
        count_values(layer, n_classes, ids, a, layers, entries, scratch, output)
        if len(request.reused) > 0 and request.reused[i]:
            request.layers[i] = push(layer + 1, a, b, layers, entries, output)
        if len(request.asked) == 0 or request.asked[i]:
            smallest = below if below > 0 else _smallest_kept(output.sizes[a:b], limit, scratch.tally)
            _keep_from(smallest, output.sizes[a:b], output.kept[a:b])
            n_out += 1
            request.starts[n_out] = b
    return len(request.maps)


@njit(cache=True, nogil=True)
def _has_room(i, a, layer, request, layers, entries, output):  # type: ignore[no-untyped-def]
    """Whether the classes of generalization i and their value counts surely fit into the output from class `a` on.

    There are at most as many classes as combinations of groups, and as rows of the layer. There are at most as many
    value counts as entries of the layer, and as classes times values.
    """
    first, last = layers.starts[layer], layers.starts[layer + 1]
    most = 1
    for n in request.n_groups[i]:
        most = min(most * n, last - first)
    if a + most > len(output.sizes):
        return False
    for c in range(len(entries.n_values)):
        n_entries = min(entries.starts[c, last] - entries.starts[c, first], most * entries.n_values[c])
        if output.value_starts[c, a] + n_entries >= output.values.shape[1]:
            return False
    return True


@njit(cache=True, nogil=True)
def _make_classes(a, layer, tree, layers, numbers, slots, output):  # type: ignore[no-untyped-def]
    """Number the rows of a layer at the root: equal numbers are one class. Write the classes from `a` on.

    The root is always numbered again, since its rows are those of the layer.

    Args:
        a: Where the classes go in the output.
        layer: Number of the layer.
        tree: `Tree`.
        layers: `Layers`.
        numbers: `Numbers`; those of the root are written.
        slots: `Slots`.
        output: `Output`; sizes and representatives are written.

    Returns:
        How many classes there are.
    """
    first, last = layers.starts[layer], layers.starts[layer + 1]
    ids = numbers.ids[tree.starts[len(tree.starts) - 2] :]
    pairs = pairs_of_children(len(tree.children) - 1, layers.left[first:last], layers.right[first:last], tree, numbers)
    representatives = output.representatives[a:]
    n_classes = number_pairs(pairs, slots, ids, representatives)
    sizes, counts = output.sizes[a : a + n_classes], layers.counts[first:last]
    sizes[:] = 0
    for t in range(_U(len(counts))):
        sizes[ids[t]] += counts[t]
    # So far a representative is a row of the layer.
    for c in range(n_classes):
        representatives[c] = layers.tuples[_U(first + representatives[c])]
    return n_classes


@njit(cache=True, nogil=True)
def _keep_from(smallest, sizes, kept):  # type: ignore[no-untyped-def]
    """Mark the classes that have at least the smallest size."""
    for c in range(len(sizes)):
        kept[c] = sizes[c] >= smallest


@njit(cache=True, nogil=True)
def _smallest_kept(sizes, limit, tally):  # type: ignore[no-untyped-def]
    """The smallest k for which the classes of at most k tuples hold more than `limit` tuples; else beyond all sizes.

    Args:
        sizes: (n_classes,) int64.
        limit: Number of tuples.
        tally: int64, zero before and after. Where it is no longer than the limit, sizes are sorted instead.
    """
    total = 0
    if limit >= len(tally):
        for size in np.sort(sizes):
            total += size
            if total > limit:
                return size
        return _BEYOND_ALL
    # A class larger than the limit is kept whatever else is: only the smallest of them can be k.
    k = _BEYOND_ALL
    for size in sizes:
        if size <= limit:
            tally[_U(size)] += size
        elif size < k:
            k = size
    # Invariant: `total` tuples are in classes smaller than `size`, no more than the limit.
    for size in range(1, limit + 1):
        total += tally[size]
        if total > limit:
            k = size
            break
    tally[: limit + 1] = 0
    return k
