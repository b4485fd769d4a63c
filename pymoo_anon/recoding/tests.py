"""Requirements on every class, as tests of sets of tuples.

The union of two sets that hold a requirement holds it, too. So a set that breaks one can be merged with others, and if
the whole table breaks one, every recoding does.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from pymoo_anon.engine.classes import DistinctTuples
from pymoo_anon.engine.compiled import kernel, njit
from pymoo_anon.engine.sums import add
from pymoo_anon.recoding.trees import Trees
from pymoo_anon.typing import Floats, Ints


class RequirementKind(IntEnum):
    """Kinds of requirements on the values of a column in a class."""

    #: At least so many distinct values; of a column of persons, k in persons.
    DISTINCT = 0
    #: At least this exp(entropy).
    ENTROPY = 1
    #: Recursive (c, l) for this l.
    RECURSIVE = 2
    #: At most this share of the most frequent value.
    ALPHA = 3
    #: At most this earth mover's distance from the table, in a tree of values; equal distance is a tree of one level.
    TREE = 4
    #: At most this earth mover's distance from the table, in an order of values.
    ORDER = 5
    #: At most this relative gain (p - q) / q of a value.
    BETA = 6
    #: The same, and at most -ln q.
    ENHANCED_BETA = 7


# Whole numbers for kernels, since numba compiles members of an enumeration slowly.
_DISTINCT, _ENTROPY, _RECURSIVE, _ALPHA, _TREE, _ORDER, _BETA, _ENHANCED_BETA = (int(kind) for kind in RequirementKind)


@dataclass(frozen=True, eq=False)
class ColumnRequirement:
    """Requirement on the values of a column in every class.

    Args:
        kind: What it asks.
        column: Name of a column that the table counts.
        bound: What the number that the kind names is to reach, or not to exceed.
        c: For recursive (c, l), how often the most frequent value may outnumber the rare ones together: numerator and
            denominator.
        groups: For an earth mover's distance, an (n_levels, n_values) int64 array: the group of every value at each
            level of a tree but its root, or one row with the place of each in an order. None is equal distance.
        n_places: For an order, the number of its places.
    """

    kind: RequirementKind
    column: Hashable
    bound: float
    c: tuple[int, int] = (1, 1)
    groups: Ints | None = None
    n_places: int = 0


class Tests(NamedTuple):
    """Requirements as arrays, for kernels.

    The values that a test reads are numbered apart from those of other tests, unless both read the same. A test in a
    tree of several levels reads each level as values of their own.
    """

    k: int  # The least number of rows
    kinds: Ints  # (n_tests,) int64, as `RequirementKind` numbers them
    first: Ints  # (n_tests,) int64, the first value that each test reads
    stop: Ints  # (n_tests,) int64, the value after the last
    bounds: Floats  # (n_tests,) float
    numerators: Ints  # (n_tests,) int64, of the c of recursive (c, l)
    denominators: Ints  # (n_tests,) int64, likewise
    levels: Ints  # (n_tests,) int64, the number of levels of a tree, 1 elsewhere
    totals: Ints  # (n_values,) int64, how often each value occurs in the table
    n_rows: int  # The number of rows of the table
    starts: Ints  # (n_tuples + 1,) int64, where the values of each tuple begin
    values: Ints  # int64, values of tuples; one that is read for two groups of a tree stands there twice
    counts: Ints  # int64, as long as `values`, how many rows of the tuple have that value

    def subset(self, chosen: Ints) -> Tests:
        """Return the same tests for some of the tuples, (n,) int64 array."""
        lengths = np.diff(self.starts)[chosen]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        entries = np.arange(starts[-1]) + np.repeat(self.starts[chosen] - starts[:-1], lengths)
        return self._replace(starts=starts, values=self.values[entries], counts=self.counts[entries])

    def by_sizes(self) -> Tests:
        """Return the part of the requirements that numbers of rows decide.

        A class of l values, or of k persons, has at least as many rows.
        """
        of_values = self.bounds[self.kinds <= _RECURSIVE]
        k = max(self.k, int(np.ceil(of_values.max(initial=1))))
        none = {name: own[:0] for name, own in self._asdict().items() if name not in ("k", "n_rows")}
        return self._replace(k=k, **none)

    def keeps_whole(self, rows: Ints) -> bool:
        """Return whether all tuples together, of (n_tuples,) int64 rows, hold the requirements."""
        return bool(hold_whole(np.arange(len(rows)), rows.sum(), self, histogram_for(self)))


class Histogram(NamedTuple):
    """Memory for a test. The histogram is 0 between tests."""

    histogram: Ints  # (n_values,) int64
    touched: Ints  # (n_values,) int64


@dataclass(frozen=True, eq=False)
class Requirements:
    """Requirements on every class.

    Args:
        k: The least number of rows.
        others: Requirements on the values of columns.
    """

    k: int
    others: Sequence[ColumnRequirement] = ()

    def tests(self, tuples: DistinctTuples, trees: Trees) -> Tests:
        """Return the requirements for kernels, with the tuples in the order of the trees."""
        facets: dict[Hashable, _Facet] = {}
        own, n_values = [], 0
        for one in self.others:
            groups = one.groups
            if groups is None:
                groups = np.arange(tuples.columns[one.column].n_values)[np.newaxis]
            key = one.column, one.n_places, groups.shape, groups.tobytes()
            if key not in facets:
                facets[key] = _facet_of(tuples, one, groups, n_values)
                n_values = facets[key].stop
            own.append(facets[key])
        read = list(facets.values())
        none = np.zeros(0, dtype=np.int64)
        rows, values, counts = (
            np.concatenate([none, *(part[i] for facet in read for part in facet.entries)]) for i in range(3)
        )
        # Tuples in the order of the trees.
        rank = np.empty(len(tuples), dtype=np.int64)
        rank[trees.places] = np.arange(len(tuples))
        by_tuple = np.argsort(rank[rows], kind="stable")
        return Tests(
            k=int(self.k),
            kinds=np.array([int(one.kind) for one in self.others], dtype=np.int64),
            first=np.array([facet.first for facet in own], dtype=np.int64),
            stop=np.array([facet.stop for facet in own], dtype=np.int64),
            bounds=np.array([one.bound for one in self.others], dtype=np.float64),
            numerators=np.array([one.c[0] for one in self.others], dtype=np.int64),
            denominators=np.array([one.c[1] for one in self.others], dtype=np.int64),
            levels=np.array([len(facet.entries) for facet in own], dtype=np.int64),
            totals=np.concatenate([none, *(facet.totals for facet in read)]),
            n_rows=tuples.n_rows,
            starts=np.searchsorted(rank[rows][by_tuple], np.arange(len(tuples) + 1)),
            values=values[by_tuple],
            counts=counts[by_tuple],
        )


class _Facet(NamedTuple):
    """Values of a column as one or several tests read them."""

    first: int  # The first of its values
    stop: int  # The value after the last
    totals: Ints  # (stop - first,) int64, how often each occurs in the table
    entries: list[tuple[Ints, Ints, Ints]]  # Per level tuples, values and counts


def _facet_of(tuples: DistinctTuples, requirement: ColumnRequirement, groups: Ints, first: int) -> _Facet:
    """Assign numbers to the values of a column or their groups, from `first` on."""
    column = tuples.columns[requirement.column]
    rows = np.repeat(np.arange(len(tuples)), np.diff(column.starts))
    totals, entries, stop = [], [], first
    for own in groups:
        entries.append((rows, stop + own[column.values], column.counts))
        totals.append(np.zeros(max(int(own.max()) + 1, requirement.n_places), dtype=np.int64))
        np.add.at(totals[-1], own, tuples.totals(requirement.column))
        stop += len(totals[-1])
    return _Facet(first, stop, np.concatenate(totals), entries)


def histogram_for(tests: Tests) -> Histogram:
    """Allocate memory for the tests of one thread."""
    return Histogram(np.zeros(len(tests.totals), dtype=np.int64), np.empty(len(tests.totals), dtype=np.int64))


@kernel
def hold(members, a, b, rows, tests, scratch):  # type: ignore[no-untyped-def]
    """Return whether the tuples in members[a:b], of so many rows, hold all requirements."""
    if rows < tests.k:
        return False
    if len(tests.kinds) == 0:
        return True
    n_touched = _fill_histogram(members, a, b, tests, scratch)
    kept = True
    for t in range(len(tests.kinds)):
        if kept:
            kept = _holds_one(t, rows, n_touched, tests, scratch)
    for i in range(n_touched):
        scratch.histogram[scratch.touched[i]] = 0
    return kept


@njit(allocates=False)
def hold_whole(members, rows, tests, scratch):  # type: ignore[no-untyped-def]
    """Return whether all members hold all requirements."""
    return hold(members, np.int64(0), np.int64(len(members)), rows, tests, scratch)


@kernel
def _fill_histogram(members, a, b, tests, scratch):  # type: ignore[no-untyped-def]
    """Fill the histogram of a set, and count its distinct values."""
    n_touched = np.int64(0)
    for i in range(a, b):
        r = members[i]
        for e in range(tests.starts[r], tests.starts[r + 1]):
            value = tests.values[e]
            if scratch.histogram[value] == 0:
                scratch.touched[n_touched] = value
                n_touched += 1
            scratch.histogram[value] += tests.counts[e]
    return n_touched


@kernel
def _holds_one(t, rows, n_touched, tests, scratch):  # type: ignore[no-untyped-def]
    """Return whether the set in the histogram holds one requirement.

    Terms are computed as the measures compute them, so that both decide alike.
    """
    kind, bound = tests.kinds[t], tests.bounds[t]
    first, stop = tests.first[t], tests.stop[t]
    if kind == _ORDER:
        return _in_order(first, stop, rows, tests, scratch) <= bound
    own, n_rows = np.float64(rows), np.float64(tests.n_rows)
    n_values, most, bits, high, low = np.int64(0), np.int64(0), 0.0, 0.0, 0.0
    for i in range(n_touched):
        value = scratch.touched[i]
        if value < first or value >= stop:
            continue
        count, total = scratch.histogram[value], np.float64(tests.totals[value])
        n_values += 1
        most = max(most, count)
        if kind == _ENTROPY:
            bits += count * np.log(np.float64(count))
        elif kind >= _TREE:
            surplus = count * n_rows - total * own
            if surplus > 0.0:
                high, low = add(high, low, surplus)
                gain = surplus / (total * own)
                if kind >= _BETA and (gain > bound or (kind == _ENHANCED_BETA and gain > np.log(n_rows / total))):
                    return False
    if kind == _DISTINCT:
        return n_values >= bound
    if kind == _ENTROPY:
        if n_values * most == rows:
            return n_values >= bound
        # Sets so near the bound that rounding would decide are refused.
        return np.log(own) - bits / own > np.log(max(bound, 1e-300)) + 1e-9
    if kind == _RECURSIVE:
        return _is_recursive(t, most, n_touched, tests, scratch)
    if kind == _ALPHA:
        return most / own <= bound
    return kind != _TREE or (high + low) / (tests.levels[t] * (own * n_rows)) <= bound


@kernel
def _is_recursive(t, most, n_touched, tests, scratch):  # type: ignore[no-untyped-def]
    """Return whether r_1 < c (r_l + ... + r_m), with the counts r of the values in descending order."""
    rank = np.int64(np.ceil(tests.bounds[t]))
    if rank <= 1:
        return True
    above, n_above = most + 1, np.int64(0)
    # Invariant: the n_above most frequent values have counts of at least `above`, and no others have.
    while n_above < rank - 1:
        next_most, n_next = np.int64(0), np.int64(0)
        for i in range(n_touched):
            value = scratch.touched[i]
            if tests.first[t] <= value < tests.stop[t] and scratch.histogram[value] < above:
                if scratch.histogram[value] > next_most:
                    next_most, n_next = scratch.histogram[value], np.int64(0)
                if scratch.histogram[value] == next_most:
                    n_next += 1
        if n_next == 0:
            return False
        above, n_above = next_most, n_above + n_next
    # Of several values with the same count some may stand before the l-th and some after.
    tail = (n_above - (rank - 1)) * above
    for i in range(n_touched):
        value = scratch.touched[i]
        if tests.first[t] <= value < tests.stop[t] and scratch.histogram[value] < above:
            tail += scratch.histogram[value]
    # Most is below c times the tail, which times the numerator could be beyond 2^63.
    return tail > most * tests.denominators[t] // tests.numerators[t]


@kernel
def _in_order(first, stop, rows, tests, scratch):  # type: ignore[no-untyped-def]
    """Return the ordered earth mover's distance of a set from the table."""
    own, n_rows = np.float64(rows), np.float64(tests.n_rows)
    high, low, below, expected = 0.0, 0.0, 0.0, 0.0
    for value in range(first, stop - 1):
        below += scratch.histogram[value]
        expected += tests.totals[value]
        high, low = add(high, low, abs(below * n_rows - expected * own))
    return (high + low) / (max(stop - first - 1, 1) * (own * n_rows))
