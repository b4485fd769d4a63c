"""Grouping of a table: its join tree, workspaces and layers."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from pymoo_anon._messages import examples
from pymoo_anon.engine.classes import DistinctTuples, EquivalenceClasses, ValueCounts, row_ids
from pymoo_anon.engine.compiled import kernel, njit
from pymoo_anon.engine.grouping import (
    Entries,
    Layers,
    Numbers,
    Output,
    Request,
    Scratch,
    Slots,
    Tree,
    U,
    count_values,
    number_joins,
    take_maps,
)
from pymoo_anon.typing import Bools, Ints

# Room for the classes of several small generalizations, so that one compiled call serves a batch of them. Not more than
# a processor's cache holds, so that the objectives find the classes there.
_BATCH_CLASSES = 1 << 15
_BATCH_ENTRIES = 1 << 16
_FEWEST_SLOTS = 1 << 19
_CELLS = 1 << 18

# Room for layers of classes, in layers as large as the distinct tuples.
_KEPT_LAYERS = 2.0

# More than any size.
_BEYOND_ALL = np.iinfo(np.int64).max

# So many tuples tell well enough how to split the attributes.
_SAMPLE = 10_000


def join_tree(codes: Ints, offsets: Ints) -> Tree:
    """Build a join tree with few rows and short keys.

    A leaf is an attribute; its rows are its domain values. A join has two children; its rows are the distinct
    combinations of their attributes, each as a pair of rows of the children. The rows of the root are the distinct
    tuples, in their own order.

    Grouping goes up the tree. Two combinations become equal under a generalization exactly where both halves do. So a
    node numbers its rows by the pairs of its children's numbers, and equal numbers are equal generalized combinations.
    A key is one pair of numbers, which fits 64 bits whatever the number of attributes. And a combination that many
    tuples share is read once instead of once per tuple.
    """
    n_attributes = codes.shape[1]
    # The row of every tuple at each node that has no parent yet, and the number of rows of every node.
    rows = {j: codes[:, j] for j in range(n_attributes)}
    n_rows = np.diff(offsets).tolist()
    joins: list[tuple[int, int]] = []
    pairs: list[Ints] = []
    tops = []
    for half in _halves(codes, np.diff(offsets)):
        nodes = set(half)
        # Invariant: together the attributes below `nodes` are those of this half.
        while len(nodes) > 1:
            # The joins follow Huffman: long tables are joined last.
            right, left = sorted(nodes, key=lambda node: (n_rows[node], node))[:2]
            both = np.column_stack([rows.pop(left), rows.pop(right)])
            ids, first = row_ids(both, (n_rows[left], n_rows[right]))
            node = len(n_rows)
            rows[node] = ids
            n_rows.append(len(first))
            nodes = nodes - {left, right} | {node}
            joins.append((left, right))
            pairs.append(both[first])
        tops.append(nodes.pop())
    joins.append((tops[0], tops[1]))
    pairs.append(np.column_stack([rows[top] for top in tops]))
    n_rows.append(len(codes))
    left_rows, right_rows = np.concatenate(pairs).T.astype(np.uint32, order="C")
    starts = np.concatenate([[0], np.cumsum(n_rows)]).astype(np.int64)
    return Tree(np.array(joins, dtype=np.int64), starts, left_rows, right_rows)


def _halves(codes: Ints, sizes: Ints) -> tuple[list[int], list[int]]:
    """Halve the attributes. Those with many values go first, to the half with fewer combinations so far."""
    if codes.shape[1] == 1:
        # The root pairs the only attribute with itself, so that every table has a root.
        return [0], [0]
    sample = codes[:: len(codes) // _SAMPLE + 1]
    halves: tuple[list[int], list[int]] = [], []
    ids = [np.zeros(len(sample), dtype=np.int64)] * 2
    n_ids = [1, 1]
    # Invariant: half h has n_ids[h] distinct combinations in the sample, and ids[h] numbers them.
    for j in np.argsort(-sizes, kind="stable").tolist():
        smaller = int(n_ids[1] < n_ids[0])
        halves[smaller].append(j)
        both = np.column_stack([ids[smaller], sample[:, j]])
        ids[smaller], first = row_ids(both, (n_ids[smaller], int(sizes[j])))
        n_ids[smaller] = len(first)
    if not halves[1]:
        # Every attribute went to the first half: its combinations stayed fewer. The root needs two children.
        halves[1].append(halves[0].pop())
    return halves


class Workspace:
    """All arrays of the grouping but those of a single call. One call at a time may use them.

    They are kept from call to call, since fresh memory costs more than the grouping. Whatever numbers rows, classes or
    values has 32 bits: grouping waits for memory, and so half as long.
    """

    def __init__(self, tuples: DistinctTuples, tree: Tree, columns: tuple[Hashable, ...]) -> None:
        self.columns, self._tuples = columns, tuples
        n_distinct, n_nodes, wanted = len(tuples), len(tree.starts) - 1, [tuples.columns[name] for name in columns]
        n_entries = max([0, *(len(column.values) for column in wanted)])
        n_hashed = 1 << (2 * n_distinct - 1).bit_length()
        layers = _first_layer(tuples, tree)
        numbers = Numbers(
            ids=np.empty(tree.starts[-1], dtype=np.uint32),
            n_ids=np.zeros(n_nodes, dtype=np.int64),
            changed=np.empty(n_nodes, dtype=np.bool_),
        )
        self.slots = Slots(
            marks=np.zeros(max(_FEWEST_SLOTS, n_hashed), dtype=np.uint32),
            keys=np.empty(n_hashed, dtype=np.int64),
            base=np.ones(1, dtype=np.int64),
        )
        self.scratch = Scratch(
            # A cell could not count the rows of a larger table. Its values are merged row by row.
            cells=np.zeros(_CELLS if tuples.n_rows < 1 << 32 else 0, dtype=np.uint32),
            tally=np.zeros(max([0, *(column.n_values for column in wanted)]), dtype=np.int64),
            members=np.empty(n_distinct + 1, dtype=np.int64),
            values=np.empty(n_entries, dtype=np.uint32),
            counts=np.empty(n_entries, dtype=np.int64),
        )
        n_classes = max(_BATCH_CLASSES, n_distinct)
        # There is room for one entry more, since an entry is written before it is known whether it counts.
        room = len(columns), 1 + max(_BATCH_ENTRIES, n_entries)
        self.output = Output(
            sizes=np.empty(n_classes, dtype=np.int64),
            representatives=np.empty(n_classes + 1, dtype=np.int64),
            kept=np.empty(n_classes, dtype=np.bool_),
            value_starts=np.empty((len(columns), n_classes + 1), dtype=np.int64),
            values=np.empty(room, dtype=np.int64),
            value_counts=np.empty(room, dtype=np.int64),
        )
        entries = _first_entries(wanted, n_entries, n_distinct, len(layers.counts))
        self.arrays = tree, layers, entries, numbers, self.slots, self.scratch, self.output

    def classes(self, maps: Ints, starts: Ints, class_of: Ints | None, lease: _Lease) -> EquivalenceClasses:
        """Return the classes in the output, as views."""
        output, n, counted = self.output, starts[-1], {}
        for c, name in enumerate(self.columns):
            own, end = output.value_starts[c, : n + 1], output.value_starts[c, n]
            n_values = self._tuples.columns[name].n_values
            counted[name] = ValueCounts(own, output.values[c, :end], output.value_counts[c, :end], n_values)
        classes = output.sizes[:n], output.representatives[:n], output.kept[:n]
        return EquivalenceClasses(self._tuples, maps, starts, *classes, counted, class_of, lease=lease)


def _first_layer(tuples: DistinctTuples, tree: Tree) -> Layers:
    """Make the distinct tuples layer 0, with room for other layers."""
    n_distinct = len(tuples)
    # Empty and then filled in part: memory that nobody writes costs nothing.
    room = int((1 + _KEPT_LAYERS) * n_distinct)
    layers = Layers(
        # A chain of ever more general generalizations is not longer than they have groups.
        starts=np.zeros(tuples.offsets[-1] + 2, dtype=np.int64),
        left=np.empty(room, dtype=np.uint32),
        right=np.empty(room, dtype=np.uint32),
        counts=np.empty(room, dtype=np.int64),
        tuples=np.empty(room, dtype=np.int64),
    )
    layers.starts[1] = n_distinct
    layers.left[:n_distinct] = tree.left[-n_distinct:]
    layers.right[:n_distinct] = tree.right[-n_distinct:]
    layers.counts[:n_distinct] = tuples.counts
    layers.tuples[:n_distinct] = np.arange(n_distinct)
    return layers


def _first_entries(wanted: list[ValueCounts], n_entries: int, n_distinct: int, n_rows: int) -> Entries:
    """Return the tuples' value counts, with room for other layers."""
    room = len(wanted), int((1 + _KEPT_LAYERS) * n_entries)
    entries = Entries(
        n_values=np.array([column.n_values for column in wanted], dtype=np.int64),
        starts=np.empty((len(wanted), n_rows + 1), dtype=np.int64),
        rows=np.empty(room, dtype=np.uint32),
        values=np.empty(room, dtype=np.uint32),
        counts=np.empty(room, dtype=np.int64),
    )
    for c, column in enumerate(wanted):
        own = slice(len(column.values))
        entries.starts[c, : n_distinct + 1] = column.starts
        entries.rows[c, own] = np.repeat(np.arange(n_distinct), np.diff(column.starts))
        entries.values[c, own] = column.values
        entries.counts[c, own] = column.counts
    return entries


class Grouper:
    """Groups the distinct tuples of one table by generalizations.

    Several threads may use it at once: each call takes a workspace out of a pool, or makes one. It goes back when the
    call and all batches that it yielded are gone, so that nothing overwrites a batch that somebody still reads.

    >>> tuples = DistinctTuples([[0, 2], [1, 2], [1, 0]], counts=[5, 1, 2], domain_sizes=(2, 3))
    >>> maps = np.array([[0, 0, 0, 1, 1]])  # the values of the first attribute in one group, of the second in two
    >>> (classes,) = Grouper(tuples).classes(maps, np.array([[1, 2]]))
    >>> classes.sizes.tolist()
    [6, 2]

    Args:
        tuples: The distinct tuples.
    """

    def __init__(self, tuples: DistinctTuples) -> None:
        self._tuples = tuples
        self._tree = join_tree(tuples.codes, tuples.offsets)
        self._pool: list[Workspace] = []

    def __deepcopy__(self, memo: dict[int, Any]) -> Grouper:
        """Return itself: a grouper has no state to copy."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pool": []}

    def classes(
        self,
        maps: Ints,
        n_groups: Ints,
        *,
        sources: Ints | None = None,
        asked: Bools | None = None,
        columns: tuple[Hashable, ...] = (),
        limit: int = 0,
        below: int = 0,
        class_of: bool = False,
    ) -> Iterator[EquivalenceClasses]:
        """Group the table by many generalizations.

        Args:
            maps: (n, n_codes) int64 array, the group of every domain value, attribute after attribute; the groups of
                an attribute are counted from 0.
            n_groups: (n, n_attributes) int64 array, the number of groups of every attribute.
            sources: (n,) int64 array, the number of an earlier and more specific generalization, or -1. The classes of
                a source are grouped in place of the whole table. Generalizations come depth first: after one come all
                that have it as their source, directly or not, and then the others. None is -1 for all. Sources are not
                used where `class_of` is wanted.
            asked: (n,) Boolean array, the generalizations to yield; the others are only sources. None is all.
            columns: The columns whose values are to be counted in every class.
            limit: At most so many tuples are suppressed, the smallest classes first; used where `below` is 0.
            below: Every class smaller than this is suppressed.
            class_of: Whether the class of every distinct tuple is wanted.

        Yields:
            The classes of the next few generalizations, in order. Every batch overwrites the arrays of the batch before
            it: copy what is to stay.

        Raises:
            KeyError: The table does not count the values of a column.
        """
        if unknown := [name for name in columns if name not in self._tuples.columns]:
            raise KeyError(f"columns must be among {examples(list(self._tuples.columns))}, got {examples(unknown)}")
        request = _request(maps, n_groups, None if class_of else sources, asked, len(self._tuples) if class_of else 0)
        return self._batches(request, tuple(columns), limit, below)

    def _batches(
        self, request: Request, columns: tuple[Hashable, ...], limit: int, below: int
    ) -> Iterator[EquivalenceClasses]:
        space = None
        # Not asked before whether there is one: another thread may take the last one in between.
        with suppress(IndexError):
            space = self._pool.pop()
        if space is None or space.columns != columns:
            space = Workspace(self._tuples, self._tree, columns)
        lease = _Lease(self._pool, space)
        done, n = 0, len(request.maps)
        # Invariant: the generalizations before `done` are grouped, and those of them that are asked for were yielded.
        while done < n:
            before = done
            try:
                done = group(done, limit, below, request, space.arrays)
            except BaseException:
                lease.end()
                raise
            # A slice makes views. Row numbers make copies, which single generalizations can do without.
            rows: slice | Ints = slice(before, done)
            if len(request.asked) > 0:
                rows = before + np.flatnonzero(request.asked[before:done])
            maps = request.maps[rows]
            if len(maps) > 0:
                class_of = request.class_of[rows] if request.class_of.size > 0 else None
                yield space.classes(maps, request.starts[: len(maps) + 1], class_of, lease)


class _Lease:
    """Owner of a workspace until its batches are gone."""

    # An interrupt may come before the first line of `__init__`.
    _pool: list[Workspace] | None = None

    def __init__(self, pool: list[Workspace], space: Workspace) -> None:
        self._space = space
        self._pool = pool

    def end(self) -> None:
        """Keep an interrupted workspace, of unknown state, out of the pool."""
        self._pool = None

    def __del__(self) -> None:
        if self._pool is not None:
            self._pool.append(self._space)


def _request(maps: Ints, n_groups: Ints, sources: Ints | None, asked: Bools | None, n_distinct: int) -> Request:
    n = len(maps)
    layers = np.zeros(0 if sources is None else n, dtype=np.int64)
    if sources is not None:
        layers[sources[sources >= 0]] = -1
    # Arrays in another order would be compiled for once more.
    return Request(
        np.require(maps, requirements=["C", "W"]),
        np.require(n_groups, requirements=["C", "W"]),
        np.empty(0, dtype=np.int64) if sources is None else sources,
        np.empty(0, dtype=np.bool_) if asked is None else asked,
        layers,
        np.empty(n + 1, dtype=np.int64),
        np.empty((n, n_distinct), dtype=np.int64),
    )


@njit(allocates=False)
def group(done, limit, below, request, arrays):
    """Group by each generalization while the output has room.

    It begins with number `done`, and returns the number to go on with: there is always room for one. Classes of fewer
    than `below` tuples are suppressed, or, where that is 0, at most `limit` tuples in the smallest classes. `arrays`
    are a `Tree`, `Layers`, `Entries`, `Numbers`, `Slots`, `Scratch` and an `Output`.
    """
    tree, layers, entries, numbers, slots, scratch, output = arrays
    request.starts[0] = 0
    for c in range(len(entries.n_values)):
        output.value_starts[c, 0] = 0
    n_out = 0
    # Invariant: the output holds the n_out generalizations that were asked for from `done` to i - 1. Its classes end
    # at request.starts[n_out]. What was grouped and not asked for is overwritten there.
    for i in range(done, len(request.maps)):
        layer = nearest_layer(i, request)
        a = request.starts[n_out]
        if n_out > 0 and not _has_room(i, a, layer, request, layers, entries, output):
            return i
        take_maps(i, request, tree, numbers)
        n_classes = number_joins(layer, output.representatives[a:], tree, layers, numbers, slots, scratch.members)
        b = a + n_classes
        ids = numbers.ids[tree.starts[len(tree.starts) - 2] :]
        _make_classes(a, n_classes, layer, ids, layers, output)
        for t in range(request.class_of.shape[1]):
            request.class_of[i, t] = ids[t]
        count_values(layer, n_classes, ids, a, layers, entries, scratch, output)
        if len(request.layers) > 0 and request.layers[i] < 0:
            request.layers[i] = push(layer + 1, a, b, layers, entries, output)
        if len(request.asked) == 0 or request.asked[i]:
            sizes, kept = output.sizes[a:b], output.kept[a:b]
            smallest = below if below > 0 else _smallest_kept(sizes, limit)
            for c in range(len(sizes)):
                kept[c] = sizes[c] >= smallest
            n_out += 1
            request.starts[n_out] = b
    return len(request.maps)


@kernel
def _has_room(i, a, layer, request, layers, entries, output):
    """Return whether the classes surely fit into the output.

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


@kernel
def _make_classes(a, n_classes, layer, ids, layers, output):
    """Write the classes of a layer's rows from `a` on."""
    first, last = layers.starts[layer], layers.starts[layer + 1]
    representatives, sizes, counts = output.representatives[a:], output.sizes[a:], layers.counts[first:last]
    for c in range(n_classes):
        # So far a representative is a row of the layer.
        representatives[c] = layers.tuples[U(first + representatives[c])]
        sizes[c] = 0
    for t in range(U(len(counts))):
        sizes[ids[t]] += counts[t]


@kernel
def _smallest_kept(sizes, limit):
    """Return the smallest size that the limit keeps."""
    low, high, total = np.int64(0), np.int64(0), np.int64(0)
    for size in sizes:
        total += size
        high = max(high, size)
    if total <= limit:
        return _BEYOND_ALL
    # Invariant: classes of at most `low` tuples hold no more than the limit, those of at most `high` do.
    while high - low > 1:
        # Where classes are many, small ones already exceed the limit.
        middle, total = min(2 * low + 1, (low + high) // 2), np.int64(0)
        for size in sizes:
            total += size if size <= middle else 0
        if total > limit:
            high = middle
        else:
            low = middle
    return high


@kernel
def nearest_layer(i, request):
    """Return the source layer of generalization i. A source of a source gives the same classes, from more rows."""
    if len(request.sources) == 0:
        return 0
    source = request.sources[i]
    while source >= 0 and request.layers[source] == 0:
        source = request.sources[source]
    return request.layers[source] if source >= 0 else 0


@kernel
def push(layer, a, b, layers, entries, output):
    """Keep classes a to b - 1 as a layer, or return 0.

    Generalizations come depth first. So everything above the layer below, which this overwrites, belongs to branches
    that are finished, and the layers that are still needed are a stack.
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
        t = U(output.representatives[U(a + row - first)])
        layers.tuples[row] = t
        layers.left[row] = layers.left[t]
        layers.right[row] = layers.right[t]
        layers.counts[row] = output.sizes[U(a + row - first)]
    for c in range(len(entries.n_values)):
        starts = output.value_starts[c]
        begin, end = starts[a], starts[b]
        to = entries.starts[c, first]
        for e in range(end - begin):
            entries.values[c, to + e] = output.values[c, begin + e]
            entries.counts[c, to + e] = output.value_counts[c, begin + e]
            entries.rows[c, to + e] = 0
        # The row of an entry is the number of rows that begin after the layer's first entry and not after this one:
        # mark where they begin, and add up. A loop over each row's few entries would be mispredicted row by row.
        for row in range(1, b - a):
            at = to + starts[a + row] - begin
            entries.starts[c, first + row] = at
            if starts[a + row] < end:
                entries.rows[c, at] += 1
        entries.starts[c, last] = to + end - begin
        for e in range(to + 1, to + end - begin):
            entries.rows[c, e] += entries.rows[c, e - 1]
    return layer
