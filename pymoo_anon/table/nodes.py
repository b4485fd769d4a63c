"""Groups of a hierarchy as one tree, for local recodings."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from pymoo_anon._messages import examples
from pymoo_anon.table.domain_values import label_text
from pymoo_anon.typing import Floats, Ints


@dataclass(frozen=True, eq=False)
class Nodes:
    """Nodes of a hierarchy, each a group of values at some level.

    In tree order the values of each node are adjacent. Nodes are numbered in preorder, the root as 0. A set that is a
    group at several levels is one node. All arrays are read-only.

    >>> from pymoo_anon.table import Hierarchy
    >>> nodes = Hierarchy([["Bonn", "Paris", "Cologne"], ["DE", "FR", "DE"], ["*", "*", "*"]]).nodes
    >>> nodes.labels
    ('*', 'DE', 'Bonn', 'Cologne', 'Paris')
    >>> nodes.order.tolist(), nodes.parent.tolist(), nodes.level.tolist()
    ([0, 2, 1], [-1, 0, 1, 1, 0], [2, 1, 0, 0, 0])

    Attributes:
        order: (n_values,) int64 array, the position of each domain value in tree order.
        first: (n_nodes,) int64 array, the first position of each node.
        stop: (n_nodes,) int64 array, the position after its last.
        parent: (n_nodes,) int64 array, the smallest node above each, -1 for the root.
        level: (n_nodes,) int64 array, the lowest level at which the node is a group.
        labels: Tuple of the label of each node at that level.
        ancestors: (length + 1, n_values) int64 array, at each level the node of every domain value.
    """

    order: Ints
    first: Ints
    stop: Ints
    parent: Ints
    level: Ints
    labels: tuple[Hashable, ...]
    ancestors: Ints

    def __len__(self) -> int:
        """Count the nodes."""
        return len(self.first)

    @property
    def extents(self) -> Ints:
        """(n_nodes,) int64 array, the number of domain values of each node."""
        return self.stop - self.first

    @property
    def losses(self) -> Floats:
        """(n_nodes,) float array, the loss (extent - 1) / (values - 1) of each."""
        return (self.extents - 1) / max(len(self.order) - 1, 1)


def nodes_of(groups: Ints, labels: Sequence[Sequence[Hashable]]) -> Nodes:
    """Build the nodes of a hierarchy."""
    if groups[-1].max() > 0:
        raise ValueError(
            f"the hierarchy of {examples(labels[0])} must end in one group, so that every two values have one in common"
            "; Hierarchy.with_root() adds a level '*'"
        )
    # Sorted by the top level first, so that each group of each level is a run.
    in_order = np.lexsort(groups)
    n_levels, n_values = groups.shape
    begins = np.ones((n_levels, n_values), dtype=np.bool_)
    begins[:, 1:] = np.diff(groups[:, in_order], axis=1) != 0
    # (first, stop) of the run at each place of each level. One key for both: from the root on, wider ones first.
    first = np.maximum.accumulate(np.where(begins, np.arange(n_values), 0), axis=1)
    ends = np.where(np.roll(begins, -1, axis=1), np.arange(1, n_values + 1), n_values)
    stop = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    keys, numbers = np.unique(first * (n_values + 1) + (n_values - stop), return_inverse=True)
    at = numbers.reshape(n_levels, n_values)
    parent = np.full(len(keys), -1, dtype=np.int64)
    level = np.empty(len(keys), dtype=np.int64)
    for number in reversed(range(n_levels)):
        level[at[number]] = number
        if number < n_levels - 1:
            rises = at[number] != at[number + 1]
            parent[at[number, rises]] = at[number + 1, rises]
    ancestors = np.empty_like(groups)
    ancestors[:, in_order] = at
    order = np.empty(n_values, dtype=np.int64)
    order[in_order] = np.arange(n_values)
    made = keys // (n_values + 1), n_values - keys % (n_values + 1), parent, level
    for array in (order, ancestors, *made):
        array.flags.writeable = False
    _check_labels(groups, labels, ancestors)
    a_value_of = in_order[made[0]]
    own = tuple(labels[at_level][groups[at_level, v]] for at_level, v in zip(level.tolist(), a_value_of, strict=True))
    return Nodes(order, *made, own, ancestors)


def _check_labels(groups: Ints, labels: Sequence[Sequence[Hashable]], ancestors: Ints) -> None:
    named: dict[str | None, tuple[int, int]] = {}
    for level, (own, nodes) in enumerate(zip(groups, ancestors, strict=True)):
        node_of = np.empty(len(labels[level]), dtype=np.int64)
        node_of[own] = nodes
        for label, node in zip(labels[level], node_of.tolist(), strict=True):
            # In a release 17.0 and "17" are one text.
            before, other = named.setdefault(label_text(label), (node, level))
            if before != node:
                sets = []
                for which, number in ((before, other), (node, level)):
                    values = np.flatnonzero(ancestors[number] == which).tolist()
                    sets.append(f"{examples([labels[0][v] for v in values])} at level {number}")
                raise ValueError(
                    f"a label must name the same values at every level, {label!r} stands for {' and for '.join(sets)}; "
                    "give one of them another label"
                )
