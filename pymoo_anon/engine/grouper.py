"""The grouper of a table: it applies generalizations to the distinct tuples and yields the equivalence classes."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon._messages import examples
from pymoo_anon.engine.arrays import Output, Request
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.engine.grouping import group
from pymoo_anon.engine.joins import join_tree
from pymoo_anon.engine.tuples import DistinctTuples, ValueCounts
from pymoo_anon.engine.workspace import Workspace

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

# What a request does not need. Making arrays takes long beside the grouping of a small table.
_NO_NUMBERS = np.empty(0, dtype=np.int64)
_NO_FLAGS = np.empty(0, dtype=np.bool_)
_NO_CLASSES = np.empty((0, 0), dtype=np.int64)


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
        """Itself: nothing that it returns depends on what it did before."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pool": []}

    def classes(
        self,
        maps: Ints,
        n_groups: Ints,
        *,
        sources: Ints | None = None,
        asked: Flags | None = None,
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
        unknown = [name for name in columns if name not in self._tuples.columns]
        if unknown:
            raise KeyError(f"columns must be among {examples(list(self._tuples.columns))}, got {examples(unknown)}")
        request = _request(maps, n_groups, None if class_of else sources, asked, len(self._tuples) if class_of else 0)
        return self._batches(request, columns, limit, below)

    def _batches(
        self, request: Request, columns: tuple[Hashable, ...], limit: int, below: int
    ) -> Iterator[EquivalenceClasses]:
        space = self._workspace()
        space.fit(columns, limit)
        lease = _Lease(self._pool, space)
        done, n = 0, len(request.maps)
        # Invariant: the generalizations before `done` are grouped, and those of them that are asked for were yielded.
        while done < n:
            before = done
            try:
                done = group(done, limit, below, *request, *space.arrays)
            except BaseException:
                lease.end()
                raise
            # A slice makes views. Row numbers make copies, which single generalizations can do without.
            rows: slice | Ints = slice(before, done)
            if len(request.asked) > 0:
                rows = before + np.flatnonzero(request.asked[before:done])
            maps = request.maps[rows]
            if len(maps) > 0:
                class_of = request.class_of[rows] if len(request.class_of) > 0 else None
                yield self._shown(maps, class_of, request.starts[: len(maps) + 1], columns, space.output, lease)

    def _shown(
        self,
        maps: Ints,
        class_of: Ints | None,
        starts: Ints,
        columns: tuple[Hashable, ...],
        output: Output,
        lease: _Lease,
    ) -> EquivalenceClasses:
        """The classes that stand in the output, as views."""
        n = starts[-1]
        counted = {
            name: ValueCounts(
                output.value_starts[c, : n + 1],
                output.values[c],
                output.value_counts[c],
                self._tuples.columns[name].n_values,
            )
            for c, name in enumerate(columns)
        }
        classes = output.sizes[:n], output.representatives[:n], output.kept[:n]
        return EquivalenceClasses(self._tuples, maps, starts, *classes, counted, class_of, lease)

    def _workspace(self) -> Workspace:
        """A workspace that nobody else uses."""
        try:
            # Not asked before whether there is one: another thread may take the last one in between.
            return self._pool.pop()
        except IndexError:
            return Workspace(self._tuples, self._tree)


class _Lease:
    """What a call and its batches share: as soon as all of them are gone, their workspace goes back to the pool."""

    def __init__(self, pool: list[Workspace], space: Workspace) -> None:
        self._pool: list[Workspace] | None = pool
        self._space = space

    def end(self) -> None:
        """Leave the workspace out of the pool for good: a step was broken off, and nobody knows what it left behind."""
        self._pool = None

    def __del__(self) -> None:
        if self._pool is not None:
            self._pool.append(self._space)


def _request(maps: Ints, n_groups: Ints, sources: Ints | None, asked: Flags | None, n_distinct: int) -> Request:
    """The arrays of one call; `n_distinct` is 0 where nobody wants the class of every distinct tuple."""
    n = len(maps)
    reused, layers = _NO_FLAGS, _NO_NUMBERS
    if sources is not None:
        reused, layers = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.int64)
        reused[sources[sources >= 0]] = True
    return Request(
        maps,
        n_groups,
        _NO_NUMBERS if sources is None else sources,
        _NO_FLAGS if asked is None else asked,
        reused,
        layers,
        np.empty(n + 1, dtype=np.int64),
        np.empty((n, n_distinct), dtype=np.int64) if n_distinct > 0 else _NO_CLASSES,
    )
