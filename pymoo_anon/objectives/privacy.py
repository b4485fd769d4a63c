"""Privacy objectives: higher is better for all of them.

Suppressed tuples form one class of their own, wholly generalized. It counts in sums over tuples, and against neither k
nor l. Where every tuple is suppressed the table is that one class, and k and l are its size and its number of values.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pymoo_anon.equivalence import DistinctTuples, EquivalenceClasses
from pymoo_anon.objectives.base import ColumnObjective, Objective, Values


class KAnonymity(Objective):
    """k: size of the smallest equivalence class that is not suppressed (Dewri et al. 2010, section 3).

    Whole, from 1 to the number of rows; higher is better.
    """

    name = "k"
    maximize = True
    whole = True

    def evaluate(self, classes: EquivalenceClasses) -> Values:
        """(n,) float array, k of each of n generalizations."""
        k: Values = _smallest_size(classes.starts, classes.sizes, classes.smallest_kept, classes.n_rows)
        return k

    def best_of_specializations(
        self, classes: EquivalenceClasses, limit: int, gone: NDArray[np.int64], most: NDArray[np.int64]
    ) -> Values:
        """Splitting classes does not raise k."""
        return most.astype(float)

    def bounds(self, table: DistinctTuples) -> tuple[float, float]:
        """1 and the number of rows."""
        return 1, table.n_rows


class DistinctLDiversity(ColumnObjective):
    """l: smallest number of distinct sensitive values in a class that is not suppressed.

    Distinct l-diversity (Dewri et al. 2010, section 3). Whole, from 1 to the number of values of the column; higher is
    better.

    Args:
        column: Name of the sensitive column.
    """

    name = "l"
    maximize = True
    whole = True

    def evaluate(self, classes: EquivalenceClasses) -> Values:
        """(n,) float array, l of each of n generalizations."""
        counts = self._counts(classes)
        fewest: Values = _fewest_values(classes.starts, classes.sizes, classes.smallest_kept, counts.starts)
        none_kept = fewest == np.inf
        if none_kept.any():
            fewest[none_kept] = np.count_nonzero(self._totals(classes.table))
        return fewest

    def best_of_specializations(
        self, classes: EquivalenceClasses, limit: int, gone: NDArray[np.int64], most: NDArray[np.int64]
    ) -> Values:
        """The smallest t for which more tuples than can be suppressed are in classes of at most t values.

        A class has no more values after it was split. Of the tuples that may be suppressed, those of the classes that
        are gone are used up.
        """
        distinct = np.diff(self._counts(classes).starts)
        best = np.empty(len(gone))
        for case, size in enumerate(gone):
            left = classes.sizes > size
            held = np.cumsum(np.bincount(distinct[left], classes.sizes[left]))
            best[case] = np.searchsorted(held, limit - classes.sizes[~left].sum(), side="right")
        return best

    def bounds(self, table: DistinctTuples) -> tuple[float, float]:
        """1 and the number of values of the column."""
        return 1, table.columns[self.column].n_values


class ClassSizeSum(Objective):
    """S_k: sum over all tuples of the size of their class, which is the sum of the squared class sizes.

    The unary form of the spread of class sizes (Dewri et al. 2010, section 4.1). Whole, from the number of rows N to
    N²; higher is better.
    """

    name = "S_k"
    words = "sum of class sizes"
    maximize = True
    whole = True

    def evaluate(self, classes: EquivalenceClasses) -> Values:
        """(n,) float array, S_k of each of n generalizations."""
        total: Values = _sum_of_squared_sizes(classes.starts, classes.sizes, classes.smallest_kept)
        return total

    def best_of_specializations(
        self, classes: EquivalenceClasses, limit: int, gone: NDArray[np.int64], most: NDArray[np.int64]
    ) -> Values:
        """The sum over the classes that are not gone, and as if the limit were suppressed as one class."""
        return _sums_of_larger(classes.sizes, classes.sizes**2, gone, limit)

    def bounds(self, table: DistinctTuples) -> tuple[float, float]:
        """The number of rows, and its square."""
        return table.n_rows, float(table.n_rows) ** 2


class SensitiveCountSum(ColumnObjective):
    """S_l: sum over all tuples of how often their sensitive value occurs in their class.

    It is the sum of the squared counts over classes and values (Dewri et al. 2010, section 7). Whole, from the number
    of rows to the sum of the squared counts in the table; higher is better.

    Args:
        column: Name of the sensitive column.
    """

    name = "S_l"
    words = "sum of sensitive counts"
    maximize = True
    whole = True

    def evaluate(self, classes: EquivalenceClasses) -> Values:
        """(n,) float array, S_l of each of n generalizations."""
        counts = self._counts(classes)
        total: Values = _sum_of_squared_counts(
            classes.starts,
            classes.sizes,
            classes.smallest_kept,
            counts.starts,
            counts.values,
            counts.counts,
            counts.n_values,
        )
        return total

    def best_of_specializations(
        self, classes: EquivalenceClasses, limit: int, gone: NDArray[np.int64], most: NDArray[np.int64]
    ) -> Values:
        """The sum over the classes that are not gone, and as if the limit were suppressed with one value."""
        counts = self._counts(classes)
        squares = np.add.reduceat(counts.counts[: counts.starts[-1]] ** 2, counts.starts[:-1])
        return _sums_of_larger(classes.sizes, squares, gone, limit)

    def bounds(self, table: DistinctTuples) -> tuple[float, float]:
        """The number of rows, and the sum of the squared counts in the table."""
        return table.n_rows, float((self._totals(table).astype(float) ** 2).sum())


def _sums_of_larger(sizes: NDArray[np.int64], values: NDArray[np.int64], gone: NDArray[np.int64], limit: int) -> Values:
    """(n,) float array: sums of values over the classes larger than each size that is gone, and the limit squared.

    Of Python's whole numbers, rounded once: what is exact beyond 2^53 in a node's value has to be in its bound.
    """
    return np.array([float(int(values[sizes > size].sum()) + limit**2) for size in gone])


@njit(cache=True, nogil=True)
def _smallest_size(starts, sizes, smallest_kept, n_rows):  # type: ignore[no-untyped-def]
    k = np.full(len(starts) - 1, n_rows, dtype=np.float64)
    for i in range(len(k)):
        smallest = n_rows
        for size in sizes[starts[i] : starts[i + 1]]:
            smallest = min(smallest, size if size >= smallest_kept[i] else n_rows)
        k[i] = smallest
    return k


@njit(cache=True, nogil=True)
def _fewest_values(starts, sizes, smallest_kept, value_starts):  # type: ignore[no-untyped-def]
    fewest = np.full(len(starts) - 1, np.inf, dtype=np.float64)
    for i in range(len(fewest)):
        most = np.iinfo(np.int64).max
        own, begins = sizes[starts[i] : starts[i + 1]], value_starts[starts[i] : starts[i + 1] + 1]
        distinct = most
        for c in range(len(own)):
            distinct = min(distinct, begins[c + 1] - begins[c] if own[c] >= smallest_kept[i] else most)
        if distinct < most:
            fewest[i] = distinct
    return fewest


@njit(cache=True, nogil=True)
def _sum_of_squared_sizes(starts, sizes, smallest_kept):  # type: ignore[no-untyped-def]
    sums = np.empty(len(starts) - 1, dtype=np.float64)
    for i in range(len(sums)):
        total = np.int64(0)
        suppressed = np.int64(0)
        for c in range(starts[i], starts[i + 1]):
            if sizes[c] >= smallest_kept[i]:
                total += sizes[c] * sizes[c]
            else:
                suppressed += sizes[c]
        sums[i] = total + suppressed * suppressed
    return sums


@njit(cache=True, nogil=True)
def _sum_of_squared_counts(  # type: ignore[no-untyped-def]
    starts, sizes, smallest_kept, value_starts, values, counts, n_values
):
    sums = np.empty(len(starts) - 1, dtype=np.float64)
    suppressed = np.zeros(n_values, dtype=np.int64)
    for i in range(len(sums)):
        # All classes at once, which lie end to end, then what is otherwise in the few suppressed ones.
        total = np.int64(0)
        for count in counts[value_starts[starts[i]] : value_starts[starts[i + 1]]]:
            total += count * count
        suppressed[:] = 0
        for c in range(starts[i], starts[i + 1]):
            if sizes[c] < smallest_kept[i]:
                for e in range(value_starts[c], value_starts[c + 1]):
                    total -= counts[e] * counts[e]
                    suppressed[values[e]] += counts[e]
        for value in range(n_values):
            total += suppressed[value] * suppressed[value]
        sums[i] = total
    return sums
