"""The stack of layers: classes that were kept, so that more general ones can be made of them."""

from __future__ import annotations

import numpy as np

from pymoo_anon.engine.compiled import njit

# An index of this type cannot be negative, so that numba leaves out the test whether it counts from the end.
_U = np.uint64


@njit(cache=True, nogil=True)
def nearest_layer(i, request):  # type: ignore[no-untyped-def]
    """The layer that generalization i is made of: that of its nearest source that was kept, else the distinct tuples.

    A source of a source is a source: merging its classes gives the same classes, only from more rows.

    Args:
        i: Number of the generalization.
        request: `Request`.
    """
    if len(request.sources) == 0:
        return 0
    source = request.sources[i]
    while source >= 0 and request.layers[source] == 0:
        source = request.sources[source]
    return request.layers[source] if source >= 0 else 0


@njit(cache=True, nogil=True)
def push(layer, a, b, layers, entries, output):  # type: ignore[no-untyped-def]
    """Keep classes a to b - 1 of the output as a layer, where there is room for it.

    Generalizations come depth first. So everything above the layer below, which this overwrites, belongs to branches
    that are finished, and the layers that are still needed are a stack.

    Args:
        layer: Number of the layer, one more than that of the layer that these classes were made of.
        a: The first class in the output.
        b: One more than the last class.
        layers: `Layers`, written.
        entries: `Entries`, written.
        output: `Output`.

    Returns:
        The number of the layer, or 0 where there is no room.
    """
    first = layers.starts[layer]
    last = first + b - a
    if layer + 1 >= len(layers.starts) or last > len(layers.counts):
        return 0
    for c in range(len(entries.n_values)):
        n_entries = output.value_starts[c, b] - output.value_starts[c, a]
        if entries.starts[c, first] + n_entries > entries.rows.shape[1]:
            return 0
    layers.starts[layer + 1] = last
    for row in range(first, last):
        # All tuples of a class have the same numbers, so the pair of one of them is the pair of the class.
        t = _U(output.representatives[_U(a + row - first)])
        layers.tuples[row] = t
        layers.left[row] = layers.left[t]
        layers.right[row] = layers.right[t]
        layers.counts[row] = output.sizes[_U(a + row - first)]
    for c in range(len(entries.n_values)):
        _push_column(c, first, a, b, entries, output)
    return layer


@njit(cache=True, nogil=True)
def _push_column(c, first, a, b, entries, output):  # type: ignore[no-untyped-def]
    """Keep the value counts of classes a to b - 1 in column c as those of the rows from `first` on."""
    starts = output.value_starts[c]
    begin, end = starts[a], starts[b]
    to = entries.starts[c, first]
    entries.values[c, to : to + end - begin] = output.values[c, begin:end]
    entries.counts[c, to : to + end - begin] = output.value_counts[c, begin:end]
    rows = entries.rows[c, to : to + end - begin]
    # The row of an entry is the number of rows that begin after the layer's first entry and not after this one: mark
    # where they begin, and add up. A loop over each row's few entries would be mispredicted row by row.
    rows[:] = 0
    for row in range(1, b - a):
        entries.starts[c, first + row] = to + starts[a + row] - begin
        if starts[a + row] < end:
            rows[starts[a + row] - begin] += 1
    entries.starts[c, first + b - a] = to + end - begin
    for e in range(1, len(rows)):
        rows[e] += rows[e - 1]
