"""Privacy by the values in equivalence classes: the disclosure of sensitive values."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from itertools import accumulate
from typing import Any

import numpy as np

from pymoo_anon.engine.classes import DistinctTuples, EquivalenceClasses
from pymoo_anon.engine.compiled import njit
from pymoo_anon.engine.sums import add, divide_pairs, exp_pair, log_of, logs_up_to, own_logs, pair_of, subtract_pairs
from pymoo_anon.objectives.base import ColumnObjective, checked_column
from pymoo_anon.objectives.bounds import (
    Bounding,
    Monotone,
    Shares,
    SquaresOverClasses,
    SuppressionBudget,
    WorstDiversity,
    WorstShare,
    fewest_unavoidable,
)
from pymoo_anon.objectives.knowledge import JointMonotone, known_of
from pymoo_anon.objectives.privacy.identity import WithBackgroundKnowledge, WorstClassObjective
from pymoo_anon.objectives.recount import Recount, Recounted
from pymoo_anon.table.domain_values import is_number
from pymoo_anon.typing import Floats, Ints

# So many counts are sorted by insertion.
_FEW = 32


class DistinctLDiversity(WithBackgroundKnowledge, ColumnObjective):
    """l: smallest number of distinct sensitive values in a kept class.

    Distinct l-diversity (Dewri et al. 2010, section 3). Whole, from 1 to the number of values of the column; higher is
    better. Without a column it is the least l over all sensitive columns, one measure.

    Formula:
        min |{s: n(s, E) > 0}|, E a kept class, n(s, E) its rows with the value s

    Args:
        column: Name of the sensitive column; None for the least over all of them.
        known: Background knowledge, as of `KAnonymity`.
        joint: Whether joint classes are measured, as of `KAnonymity`.

    >>> DistinctLDiversity("diagnosis") >= 3, DistinctLDiversity() >= 2
    (DistinctLDiversity('diagnosis') >= 3, DistinctLDiversity() >= 2)
    """

    short = "l"
    every = True
    maximize = True
    whole = True
    shown = ("known",)
    _name = "l"

    def __init__(self, column: Hashable | None = None, *, known: Any = None, joint: bool = False) -> None:
        self.column = None if column is None else checked_column(column)
        self.known, self.joint = known_of(known), joint

    @property
    def bounding(self) -> type[Bounding]:  # type: ignore[override]
        """The family of bounds."""
        return JointMonotone if self.joint else Monotone

    def _of_classes(self, classes: EquivalenceClasses) -> Floats:
        read = self.reads(classes.tuples.sensitive)
        return reduce(np.minimum, (np.diff(classes.columns[column].starts) for column in read))

    def value_range(self, tuples: DistinctTuples) -> tuple[float, float]:
        return 1, min(int(np.count_nonzero(tuples.totals(column))) for column in self.reads(tuples.sensitive))

    def _recount(self, recount: Recount) -> Recounted:
        counts = (recount.counts(column) for column in self.reads(recount.sensitive))
        return float(min(own.groupby("cell").value.nunique().min() for own in counts))


class SquaredValueCounts(ColumnObjective):
    """S_l: count of each tuple's sensitive value in its class, summed up.

    It is the sum of the squared counts over classes and values (Dewri et al. 2010, section 7). Whole, from the number
    of rows to the sum of the squared counts in the table; higher is better.

    Formula:
        Σ n(s, E)², over the classes E and the values s, n(s, E) the rows of E with s

    Args:
        column: Name of the sensitive column.
    """

    name = "S_l"
    short = "S_l"
    words = "sum of sensitive counts"
    maximize = True
    whole = True
    bounding = SquaresOverClasses

    def evaluate(self, classes: EquivalenceClasses) -> Floats:
        counts = self._counts(classes)
        return _sum_of_squared_counts(
            classes.starts, classes.kept, counts.starts, counts.values, counts.counts, counts.n_values
        )

    def squares(self, classes: EquivalenceClasses) -> Ints:
        """Return the term of each class. (n_classes,) int64 array."""
        own = self._counts(classes)
        return np.add.reduceat(own.counts**2, own.starts[:-1])

    def value_range(self, tuples: DistinctTuples) -> tuple[float, float]:
        return tuples.n_rows, float((tuples.totals(self.column).astype(float) ** 2).sum())

    def recount(self, recount: Recount) -> Recounted:
        pairs = recount.counts(self.column)
        of_marked = recount.marked.to_numpy()[pairs.cell]
        kept = pairs[~of_marked]
        suppressed = recount.whole(self.column).sub(kept.groupby("value").n.sum(), fill_value=0)
        return float((kept.n**2).sum() + (suppressed**2).sum())


class _WorstDiversity(WorstClassObjective, ColumnObjective):
    """A diversity of at most the distinct values of a class."""

    maximize = True
    bounding = WorstDiversity

    def of_classes(self, classes: EquivalenceClasses) -> Floats:
        return self.diversity(classes, np.zeros(len(classes.sizes), dtype=np.int64))

    def diversity(self, classes: EquivalenceClasses, removed: Ints) -> Floats:
        """Return the best diversity of each class once tuples are removed. (n_classes,) float array."""
        raise NotImplementedError

    def value_range(self, tuples: DistinctTuples) -> tuple[float, float]:
        return 1, tuples.columns[self.column].n_values


class EntropyLDiversity(_WorstDiversity):
    """Entropy l: smallest exp(entropy of the sensitive values) of a kept class.

    A class is as diverse as one of so many values that are equally frequent (Machanavajjhala et al. 2006, section 4).
    From 1 to the number of values of the column; higher is better.

    Formula:
        min exp(-Σ p(s) ln p(s)), E a kept class, p(s) the share of s in it

    Args:
        column: Name of the sensitive column.
    """

    name = "entropy l"
    short = "entropy-l"
    words = "entropy l-diversity"
    step = 0.01

    def diversity(self, classes: EquivalenceClasses, removed: Ints) -> Floats:
        counts = self._counts(classes)
        return _entropy_diversity(classes.sizes, counts.starts, counts.counts, removed, logs_up_to(classes.n_rows))

    def recount(self, recount: Recount) -> Recounted:
        shares = recount.shares(self.column)
        logs = (shares.n.astype(object) * recount.logarithms(shares.n)).groupby(shares.cell, sort=True).sum()
        sizes = shares.groupby("cell", sort=True)["size"].first()
        entropy: Decimal = (recount.logarithms(sizes) - logs / sizes.astype(object)).min()
        return entropy.exp()


class RecursiveCLDiversity(_WorstDiversity):
    """Recursive l: largest l for which every kept class is (c, l)-diverse.

    The counts of a class's m values are r_1 to r_m in descending order (Machanavajjhala et al. 2006, section 4). Whole,
    from 1 to the number of values of the column; higher is better.

    Formula:
        min max {l: l = 1 or r_1 < c (r_l + ... + r_m)}, E a kept class

    Args:
        column: Name of the sensitive column.
        c: The limit for the most frequent value, as a multiple of the rare ones together: a positive number, of which
            six decimals count.

    Raises:
        ValueError: `c` is not positive and finite.
    """

    name = "recursive l"
    words = "recursive l-diversity"
    shown = ("c",)
    whole = True

    def __init__(self, column: str, c: float) -> None:
        super().__init__(column)
        if not is_number(c) or not 0 < c < np.inf:
            raise ValueError(f"c must be a positive number, got {c!r}")
        self.c = c

    def fraction(self, n_rows: int) -> Fraction:
        """Return c as the written decimal.

        A larger c than the number of rows and one has no other effect than this.
        """
        c = max(Fraction(str(self.c)).limit_denominator(10**6), Fraction(1, 10**6))
        return min(c, Fraction(n_rows + 1))

    def diversity(self, classes: EquivalenceClasses, removed: Ints) -> Floats:
        counts, c = self._counts(classes), self.fraction(classes.n_rows)
        return _recursive_diversity(counts.starts, counts.counts, c.numerator, c.denominator, removed)

    def recount(self, recount: Recount) -> Recounted:
        c, found = self.fraction(recount.n_released), []
        for _, own in recount.counts(self.column).groupby("cell").n:
            *others, most = sorted(own.tolist())
            # The sums are r_m, r_(m-1) + r_m and so on, up to that for l = 2. Where one holds, so does that of every
            # smaller l.
            found.append(1 + sum(most < c * rest for rest in accumulate(others)))
        return float(min(found))

    def __repr__(self) -> str:
        return f"RecursiveCLDiversity({self.column!r}, {self.c!r})"


class AlphaDeassociation(WithBackgroundKnowledge, ColumnObjective):
    """alpha: largest share of one sensitive value in a kept class.

    The alpha of (alpha, k)-anonymity (Wong et al. 2006), over all values of the column; its k is `KAnonymity`. Above 0,
    up to 1; lower is better. With `known=any_of(3)` it is the C of LKC-privacy (Mohammed et al. 2009).

    Formula:
        max p(s), E a kept class, p(s) the share of s in it

    Args:
        column: Name of the sensitive column.
        known: Background knowledge, as of `KAnonymity`.
    """

    short = "alpha"
    words = "largest share of one sensitive value"
    maximize = False
    step = 0.001
    shown = ("known",)
    _name = "alpha"

    def __init__(self, column: Hashable, *, known: Any = None) -> None:
        super().__init__(column)
        self.known = known_of(known)

    @property
    def bounding(self) -> type[Bounding]:  # type: ignore[override]
        """The family of bounds, which is `Bounding` with background knowledge or joint classes."""
        return WorstShare if self.known is None and not self.joint else Bounding

    def _of_classes(self, classes: EquivalenceClasses) -> Floats:
        return self._counts(classes).most_frequent() / classes.sizes

    def best_of_specializations(self, classes: EquivalenceClasses, below: SuppressionBudget) -> Floats:
        """Return the bound by the number of values, or by all known sets.

        A class of few values cannot have small shares of all of them, so 1 / values is a bound. Rows that agree on a
        known set are a class of a table of these columns alone, whose bounds hold. All rows are counted there, since
        others may be suppressed.
        """
        if self.known is None:
            return 1 / fewest_unavoidable(np.diff(self._counts(classes).starts), classes, below)
        family, everybody = WorstShare(self.knowing_all()), replace(classes, kept=np.ones_like(classes.kept))
        found = (
            family.best_of_specializations(merged, below.merged(ids, len(merged.sizes)))
            for merged, ids in self.merged(everybody)
        )
        return reduce(np.maximum, found)

    def shares(self, classes: EquivalenceClasses) -> Shares:
        """Bound the share of the most frequent value by alpha."""
        most, ones = self._counts(classes).most_frequent().astype(float), np.ones(len(classes.sizes))
        return Shares(most, np.arange(len(most) + 1), 0 * ones, ones, ones, 0 * ones)

    def value_range(self, tuples: DistinctTuples) -> tuple[float, float]:
        return 1 / tuples.columns[self.column].n_values, 1

    def _recount(self, recount: Recount) -> Recounted:
        shares = recount.shares(self.column)
        row = shares.p.argmax()
        return Fraction(int(shares.n.iloc[row]), int(shares["size"].iloc[row]))


@njit()
def _sum_of_squared_counts(starts, kept, value_starts, values, counts, n_values):
    """Return each generalization's sum of squared counts, suppressed tuples as one class."""
    sums = np.empty(len(starts) - 1, dtype=np.float64)
    suppressed = np.zeros(n_values, dtype=np.int64)
    for i in range(len(sums)):
        # All classes at once, which lie end to end. Then the few suppressed ones are corrected.
        total = np.int64(0)
        for count in counts[value_starts[starts[i]] : value_starts[starts[i + 1]]]:
            total += count * count
        suppressed[:] = 0
        for c in range(starts[i], starts[i + 1]):
            if not kept[c]:
                for e in range(value_starts[c], value_starts[c + 1]):
                    total -= counts[e] * counts[e]
                    suppressed[values[e]] += counts[e]
        for value in range(n_values):
            total += suppressed[value] * suppressed[value]
        sums[i] = total
    return sums


@njit()
def _entropy_diversity(sizes, value_starts, counts, removed, logs):
    """Return exp(entropy) of each class after removal.

    Removal raises the entropy most where it takes the most frequent values down to one level: every other removal
    leaves a distribution that is less even.
    """
    diversity = np.empty(len(sizes))
    room = np.empty(np.max(np.diff(value_starts)), dtype=np.int64)
    for c in range(len(sizes)):
        own = counts[value_starts[c] : value_starts[c + 1]]
        least = most = own[0]
        for count in own:
            least, most = min(least, count), max(most, count)
        level = _flattened(_sorted_counts(own, room), removed[c]) if removed[c] > 0 else np.float64(most)
        if least >= level:
            diversity[c] = len(own)  # exact, as logarithms are not
            continue
        if removed[c] == 0:
            diversity[c] = _exp_of_entropy(own, sizes[c], logs)
            continue
        left = np.float64(sizes[c] - removed[c])
        high, low = 0.0, 0.0
        for count in own:
            share = min(np.float64(count), level) / left
            high, low = add(high, low, -share * np.log(share))
        # A little more, so that the rounding of the level proves nothing.
        diversity[c] = min(np.exp(high + low), np.float64(len(own))) * (1 + 1e-12)
    return diversity


@njit()
def _exp_of_entropy(counts, size, logs):
    """Return exp(entropy): the size over the geometric mean count.

    It can be whole for counts that differ: of 4, 2, 1, 1, 1 and 1 rows it is 5, as 10^10 = 5^10 4^4 2^2. Then the pair
    is within 10^-20 of the whole number, which is the float next to it.
    """
    mean = divide_pairs(own_logs(counts, logs), pair_of(size))
    high, low = exp_pair(subtract_pairs(log_of(size, logs), mean), logs)
    return high + low


@njit()
def _flattened(ascending, removed):
    """Return the level of the most frequent values after removal.

    Invariant: the i most frequent values hold `held` tuples, and would share a level of (held - removed) / i. It is
    right as soon as no other value is above it.
    """
    level, held = 0.0, np.int64(0)
    n = len(ascending)
    for i in range(1, n + 1):
        held += ascending[n - i]
        level = (held - removed) / i
        if i < n and level >= ascending[n - i - 1]:
            break
    return level


@njit()
def _recursive_diversity(value_starts, counts, c_numerator, c_denominator, removed):
    """Return the largest l of each class after removal.

    Invariant: `tail` is r_l + ... + r_m for the current l, counted down from m. It grows as l falls, so the first l
    that holds is the largest. The inequality stands in whole numbers, none of which is beyond 2^63: a tail times the
    numerator could be.
    """
    largest = np.ones(len(removed))
    room = np.empty(np.max(np.diff(value_starts)), dtype=np.int64)
    for c in range(len(removed)):
        own = _sorted_counts(counts[value_starts[c] : value_starts[c + 1]], room)
        n = len(own)
        tail, least = np.int64(0), (own[n - 1] - removed[c]) * c_denominator // c_numerator
        for i in range(n - 1):  # from the rarest value, r_m, to r_2
            tail += own[i]
            if tail > least:
                largest[c] = n - i
                break
    return largest


@njit(inner=True)
def _sorted_counts(counts, room):
    """Return counts in ascending order, in `room` if they are few.

    To begin a sort takes longer than such a loop.
    """
    if len(counts) > _FEW:
        return np.sort(counts)
    own = room[: len(counts)]
    # Invariant: the first e counts are in order.
    for e in range(len(counts)):
        place = e
        while place > 0 and own[place - 1] > counts[e]:
            own[place] = own[place - 1]
            place -= 1
        own[place] = counts[e]
    return own
