"""The distinct tuples of a table as a binary tree of distinct pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.engine.arrays import Tree

Ints = NDArray[np.int64]

# So many tuples tell well enough how to split the attributes.
_SAMPLE = 10_000


def row_ids(codes: Ints, sizes: tuple[int, ...]) -> tuple[Ints, Ints]:
    """Number the distinct rows of a code matrix in lexicographic order.

    Returns:
        (n,) int64 array with the number of every row, and (n_distinct,) int64 array with one row of every number.
    """
    keys, space = np.zeros(len(codes), dtype=np.int64), 1
    # Invariant: the keys are in 0..space - 1 and order the rows by their columns before j.
    for j, size in enumerate(sizes):
        if space > np.iinfo(np.int64).max // max(size, 1):
            # The next keys would not fit 64 bits. Numbers in the order of the keys are smaller.
            distinct, keys = np.unique(keys, return_inverse=True)
            space = len(distinct)
        keys = keys * size + codes[:, j]
        space *= size
    _, first, ids = np.unique(keys, return_index=True, return_inverse=True)
    return ids.astype(np.int64, copy=False), first.astype(np.int64, copy=False)


def join_tree(codes: Ints, offsets: Ints) -> Tree:
    """The distinct tuples as a binary tree of distinct pairs: grouping touches few rows and never a long key.

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
            # Join the two with the fewest rows, as in a Huffman tree: what is long is joined last.
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
    """Two sets of attributes with about as many distinct combinations each: both children of the root are short.

    Attributes go one by one, those with many values first, to the half with fewer combinations so far.
    """
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
