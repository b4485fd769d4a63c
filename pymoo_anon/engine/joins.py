"""The distinct tuples of a table as a binary tree of distinct pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

# So many tuples tell well enough which attributes to join first.
_SAMPLE = 10_000


def row_ids(codes: Ints, sizes: tuple[int, ...]) -> tuple[Ints, Ints]:
    """Number the distinct rows of a code matrix in lexicographic order.

    Args:
        codes: (n, m) integer array.
        sizes: The codes of column j are in 0..sizes[j] - 1.

    Returns:
        (n,) int64 array with the number of every row, and (n_distinct,) int64 array with one row of every number.
    """
    keys, space = np.zeros(len(codes), dtype=np.int64), 1
    for j, size in enumerate(sizes):
        if space > np.iinfo(np.int64).max // max(size, 1):
            distinct, keys = np.unique(keys, return_inverse=True)
            space = len(distinct)
        keys = keys * size + codes[:, j]
        space *= size
    _, first, ids = np.unique(keys, return_index=True, return_inverse=True)
    return ids.astype(np.int64, copy=False), first.astype(np.int64, copy=False)


class JoinTree:
    """The distinct tuples as a binary tree of distinct pairs, so that grouping touches few rows and never a long key.

    A leaf is an attribute. An inner node holds the distinct combinations of its attributes, each as a pair of rows of
    its two children; the root's are the distinct tuples. Grouping numbers the combinations of each node from its
    children's numbers, so a key is the product of two counts of classes, below 2^63 whatever the number of attributes,
    and the many-attribute keys are read once per distinct combination instead of once per tuple.

    Args:
        codes: (n_distinct, n_attributes) int64 array of domain positions.
        offsets: (n_attributes + 1,) int64 array, where each attribute's domain values begin.

    Attributes:
        children: (n_joins, 2) int64 array, the two nodes that each join reads; attributes come first, the root last.
        starts: (n_joins + 1,) int64 array, where each join's rows begin in `left` and `right`.
        left: (n,) uint32 array, for each combination its row of the left child.
        right: (n,) uint32 array, for each combination its row of the right child.
    """

    def __init__(self, codes: Ints, offsets: Ints) -> None:
        n_attributes = codes.shape[1]
        columns = {j: codes[:, j] for j in range(n_attributes)}
        n_rows = {j: int(offsets[j + 1] - offsets[j]) for j in range(n_attributes)}
        joins: list[tuple[int, int]] = []
        pairs = []
        tops = []
        for half in _halves(codes, np.diff(offsets)):
            nodes = set(half)
            while len(nodes) > 1:
                # The two smallest, as in a Huffman tree: what is long is read last and seldom.
                left, right = sorted(nodes, key=lambda node: (n_rows[node], node))[1::-1]
                both = np.column_stack([columns.pop(left), columns.pop(right)])
                ids, first = row_ids(both, (n_rows[left], n_rows[right]))
                node = n_attributes + len(joins)
                columns[node], n_rows[node] = ids, len(first)
                nodes = nodes - {left, right} | {node}
                joins.append((left, right))
                pairs.append(both[first])
            tops.append(nodes.pop())
        joins.append((tops[0], tops[1]))
        pairs.append(np.column_stack([columns[top] for top in tops]))
        self.children = np.array(joins, dtype=np.int64)
        self.starts = np.cumsum([0] + [len(p) for p in pairs])
        self.left, self.right = np.concatenate(pairs).T.astype(np.uint32, order="C")


def _halves(codes: Ints, sizes: Ints) -> tuple[list[int], list[int]]:
    """Two sets of attributes with about as many distinct combinations each: so the root's children are short."""
    if codes.shape[1] == 1:
        # A pair of the attribute with itself: one rule for all tables.
        return [0], [0]
    sample = codes[:: len(codes) // _SAMPLE + 1]
    halves: tuple[list[int], list[int]] = [], []
    ids = [np.zeros(len(sample), dtype=np.int64)] * 2
    n_ids = [1, 1]
    for j in np.argsort(-sizes, kind="stable").tolist():
        smaller = int(n_ids[1] < n_ids[0])
        halves[smaller].append(j)
        both = np.column_stack([ids[smaller], sample[:, j]])
        ids[smaller], first = row_ids(both, (n_ids[smaller], int(sizes[j])))
        n_ids[smaller] = len(first)
    if not halves[1]:
        # No attribute but the last one tells tuples apart.
        halves[1].append(halves[0].pop())
    return halves
