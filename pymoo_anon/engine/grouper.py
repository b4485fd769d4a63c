"""The grouper of a table: its distinct tuples as a join tree, and the memory that grouping works in."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.engine.grouping import group
from pymoo_anon.engine.joins import JoinTree
from pymoo_anon.engine.tuples import DistinctTuples, ValueCounts
from pymoo_anon.engine.workspace import Workspace

Ints = NDArray[np.int64]


class Grouper:
    """Groups the distinct tuples of one table by generalizations.

    Several threads may use it at once: each call works in a memory of its own, which later calls take up again.

    Args:
        tuples: The distinct tuples.
    """

    def __init__(self, tuples: DistinctTuples) -> None:
        self._tuples = tuples
        self._joins = JoinTree(tuples.codes, tuples.offsets)
        self._workspaces: list[Workspace] = []

    def __deepcopy__(self, memo: dict[int, Any]) -> Grouper:
        """Itself: nothing that it returns depends on what it did before."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_workspaces": []}

    def classes(
        self,
        maps: Ints,
        n_groups: Ints,
        *,
        sources: Ints | None = None,
        asked: NDArray[np.bool_] | None = None,
        columns: tuple[Hashable, ...] = (),
        limit: int = 0,
        below: int = 0,
        class_of: bool = False,
    ) -> Iterator[EquivalenceClasses]:
        """Group the table by many generalizations.

        Args:
            maps: (n, n_codes) int64 array, the group of every domain value, attribute after attribute; the groups of
                an attribute are counted from 0.
            n_groups: (n, n_attributes) int64 array, number of groups of each attribute.
            sources: (n,) int64 array: for each generalization the number of an earlier and more specific one, so that
                its classes can be grouped and the table needs not, or -1. Every generalization is followed by those
                that have it as their source, directly or not, before any other comes. None is -1 for all.
            asked: (n,) Boolean array: which of the generalizations to yield; the others are sources only. None is all.
            columns: The columns whose values are to be counted in every class.
            limit: At most so many tuples are suppressed; used where `below` is 0.
            below: Every class smaller than this is suppressed.
            class_of: Whether the class of every distinct tuple is wanted.

        Yields:
            The classes of the next few generalizations, in order. Their arrays are overwritten by the next batch: copy
            what is to stay.
        """
        tuples, joins = self._tuples, self._joins
        wanted = [tuples.columns[name] for name in columns]
        try:
            space = self._workspaces.pop()
        except IndexError:  # and no question before: another thread may take the last one meanwhile
            space = Workspace(joins, tuples.counts, tuples.offsets[-1])
        space.fit([(column.starts, column.values, column.counts, column.n_values) for column in wanted], limit)
        n = len(maps)
        reused = np.zeros(n, dtype=bool)
        if sources is None or class_of:
            sources = np.full(n, -1)
        else:
            reused[sources[sources >= 0]] = True
        yields = np.ones(n, dtype=bool) if asked is None else asked
        places = np.zeros(n, dtype=np.int64)
        starts = np.empty(n + 1, dtype=np.int64)
        keep = np.empty((n if class_of else 0, len(tuples)), dtype=np.int64)
        done = 0
        while done < n:
            before = done
            done = group(
                maps,
                n_groups,
                sources,
                yields,
                reused,
                places,
                done,
                tuples.offsets,
                joins.children,
                joins.starts,
                joins.left,
                joins.right,
                space.left,
                space.right,
                space.counts,
                space.tuples,
                space.tables,
                limit,
                below,
                space.entry_starts,
                space.entry_rows,
                space.entry_values,
                space.entry_counts,
                space.n_values,
                space.cells,
                space.slots,
                space.slot_keys,
                space.taken,
                space.ids,
                space.n_ids,
                space.tally,
                space.members,
                starts,
                space.sizes,
                space.representatives,
                space.kept,
                space.class_starts,
                space.class_values,
                space.class_counts,
                keep,
            )
            # Where all are asked for their rows are views, which for a single generalization is worth the question.
            rows = slice(before, done) if asked is None else before + np.flatnonzero(asked[before:done])
            own = maps[rows]
            if len(own) == 0:
                continue
            n_classes = starts[len(own)]
            yield EquivalenceClasses(
                tuples,
                own,
                starts[: len(own) + 1],
                space.sizes[:n_classes],
                space.representatives[:n_classes],
                space.kept[:n_classes],
                {
                    name: ValueCounts(
                        space.class_starts[c, : n_classes + 1],
                        space.class_values[c],
                        space.class_counts[c],
                        wanted[c].n_values,
                    )
                    for c, name in enumerate(columns)
                },
                keep[rows] if class_of else None,
            )
        self._workspaces.append(space)
