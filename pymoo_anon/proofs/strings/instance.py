"""What is searched where generalizations are bit strings: tuples, allowed groups, what each saves, and in which order.

A valid string of one attribute is a path 0 -> n over the places between the values of its domain, and a group is an
edge from its first value to the value after its last. Allowed are all intervals of the domain or, where there is a
taxonomy, the spans of its nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import prod
from typing import Any

import numpy as np

from pymoo_anon.engine.arrays import Ints, Values
from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.bounds.worst_class import FollowsK
from pymoo_anon.objectives.constraint import Constraint
from pymoo_anon.problems.bitstrings import Bits, BitStringProblem
from pymoo_anon.table.suppression import AtMost, Below

# Sums of whole numbers up to here are exact as floats of 64 bits, in whatever order they are added.
LARGEST = 1 << 53

# Where a loss has no common denominator, everything that can be saved is about so many units.
_FINEST = 1 << 46


Four = tuple[int, int, int, int]

# A table of three attributes has at most so many numbers, one of four at most so many bytes.
_LARGEST_OF_THREE = 1 << 22
_LARGEST_OF_FOUR = 1 << 27


@dataclass(frozen=True, eq=False)
class StringInstance:
    """The bit strings of a `BitStringProblem` and one loss, as arrays of whole numbers.

    Gains are counted in units. Where the loss has a common denominator, units are its inverse, and gains are exact.
    Where it has none, what a tuple saves is rounded up to units, so that a gain is never too small; the gain of a
    string then is too large by less than `slack` units. The numbers are whole, but stand in arrays of floats: sums
    below 2^53 are exact.
    """

    codes: Ints  # (n_distinct, n_attributes) int64 array, the distinct tuples as positions in the domains
    counts: Ints  # (n_distinct,) int64 array, how many rows hold each
    sizes: Ints  # (n_attributes,) int64 array, the number of values of each domain; not all of them occur
    # Per attribute an (n_groups, 2) int64 array of allowed groups: first value, value after the last; in the order of
    # these two numbers, so that every path meets its groups in this order.
    spans: tuple[Ints, ...]
    # Per attribute an (n_groups,) float array: what a kept tuple saves in each group, in units.
    worths: tuple[Values, ...]
    flat: float  # What a kept tuple saves in all groups, in units
    square: float  # Units that a kept class of n tuples loses for each of n^2
    labels: Ints | None  # (n_distinct, n_labels) int64 array where a class saves by its most frequent label, or None
    most: float  # The loss where every tuple is suppressed
    unit: float  # The loss that is one unit
    slack: float  # 0 where units are exact
    offsets: Ints  # (n_attributes + 1,) int64 array, where the bits of each attribute begin

    @classmethod
    def of(cls, problem: BitStringProblem, loss: Objective) -> StringInstance:
        """The strings of a problem and one of its losses."""
        tuples = problem.table.tuples
        spans = tuple(
            # Those of the nodes of a taxonomy, in order.
            np.unique(problem.taxonomies[name].spans[:, :2], axis=0)
            if name in problem.taxonomies
            else _all_intervals(hierarchy.n_values)
            for name, hierarchy in problem.table.quasi_identifiers.items()
        )
        gains = loss.class_gains(tuples, spans)
        if gains is None:
            raise ValueError(f"{loss!r} does not say what a class saves by being kept, as GeneralLossMetric does")
        exact = gains.denominator > 0 and gains.most * gains.denominator < LARGEST // 4
        if gains.square and not exact:
            raise ValueError(f"{loss!r} must be of fewer rows, so that its sums are exact, got {tuples.n_rows:,}")
        # Where even the loss of everything is none, all units are as good.
        scale = float(gains.denominator) if exact else _FINEST / (gains.most or 1.0)
        whole = np.rint if exact else np.ceil
        return cls(
            tuples.codes,
            tuples.counts,
            np.array(tuples.domain_sizes, dtype=np.int64),
            spans,
            tuple(whole(own * scale) for own in gains.worths),
            float(whole(gains.flat * scale)),
            gains.square * scale,
            gains.labels,
            gains.most,
            1 / scale,
            0.0 if exact else float(tuples.n_rows * (len(spans) + 2)),
            np.asarray(problem.bit_offsets, dtype=np.int64),
        )

    @property
    def n_attributes(self) -> int:
        """Number of attributes."""
        return len(self.spans)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    def bits_of(self, cuts: Sequence[Ints]) -> Bits:
        """(n_bits,) Boolean array: the string of one path per attribute."""
        bits = np.zeros(self.offsets[-1], dtype=bool)
        for attribute, cut in enumerate(cuts):
            firsts = self.spans[attribute][cut, 0]
            bits[self.offsets[attribute] + firsts[1:] - 1] = True
        return bits

    def cuts_of(self, bits: Bits) -> list[Ints]:
        """Per attribute an int64 array of the numbers of the groups of a valid string, from the first to the last."""
        cuts = []
        for attribute, size in enumerate(self.sizes):
            own = bits[self.offsets[attribute] : self.offsets[attribute + 1]]
            edges = [0, *(np.flatnonzero(own) + 1).tolist(), int(size)]
            number = {(int(first), int(last)): i for i, (first, last) in enumerate(self.spans[attribute])}
            cuts.append(np.array([number[span] for span in pairwise(edges)], dtype=np.int64))
        return cuts


def _all_intervals(n: int) -> Ints:
    """(n (n + 1) / 2, 2) int64 array: all intervals of n values, in order."""
    first, last = np.triu_indices(n)
    return np.column_stack([first, last + 1]).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Thesis:
    """The part of a problem that bounds speak of; what else it asks of strings is seen when they are evaluated."""

    loss: int  # The column of F with the loss
    privacy: int | None  # The column of F with what follows k, or None
    k: int  # Every feasible string keeps no class of fewer rows than this, or suppresses it
    limit: int  # No feasible string suppresses more rows than this; the number of rows where there is no limit
    # (n_rows,) float array, the minimised value of `privacy` for k = 1, 2, ...; it falls. Empty without it.
    of_k: Values

    def next_k(self, value: float, widened: Values) -> int:
        """The least k that a member of the front does not stand for."""
        return int(np.searchsorted(-widened, -value, side="right")) + 1

    def best(self, F: Values, k: int) -> int | None:
        """The place of the least loss of those whose k is at least a given one, or None."""
        enough = np.arange(len(F))
        if self.privacy is not None:
            # No class has more rows than the table.
            most = self.of_k[k - 1] if k <= len(self.of_k) else -np.inf
            enough = enough[F[:, self.privacy] <= most]
        return int(enough[np.argmin(F[enough, self.loss])]) if len(enough) else None


def goal(problem: BitStringProblem) -> Thesis:
    """What is to be proven of a problem.

    Under `AtMost`, k of a string is at least K where its classes of fewer than K rows hold no more than the limit; it
    suppresses those, and perhaps larger ones while the limit allows. Under `Below` and `Violating` it suppresses
    the classes below their own k, and perhaps others that break a constraint. In all cases a string whose k is at least
    K keeps no class of fewer than K rows, suppresses no more than the limit, and has a loss that is at least the one
    where only its classes below K are suppressed. So bounds of that loss are bounds of F, and a search that evaluates
    every string that they leave finds the optimum of F at every K.
    """
    columns = _columns(problem)
    if columns is None:
        raise ValueError(
            "BranchAndBound proves one loss over bit strings, alone or beside k, got the objectives "
            f"{list(problem.objectives)}; ParetoLocalSearch, NSGA2 and GENITOR search without a proof"
        )
    loss, privacy = columns
    n_rows = problem.table.n_rows
    limit = problem.suppression.limit_of(n_rows)
    required = [_required_k(constraint, n_rows) for constraint in problem.constraints]
    least = problem.suppression.k if isinstance(problem.suppression, Below) else 1
    k = max([least, *(own for own in required if own is not None)])
    of_k = np.empty(0)
    if privacy is not None:
        objective: Any = problem.objectives[privacy]
        of_k = objective.of_k(np.arange(1, n_rows + 1)) * (-1.0 if objective.maximize else 1.0)
    return Thesis(loss, privacy, k, n_rows if limit is None else limit, of_k)


def asks_no_more(problem: BitStringProblem) -> bool:
    """Whether a problem asks for its goal and for nothing that is seen only when strings are evaluated.

    At every k of the goal, the least loss is then that of strings that suppress their classes below k and no others:
    under `AtMost` those within the limit, under `Below` and `Violating` those below the one k that is required.
    """
    columns = _columns(problem)
    if columns is None or type(problem.objectives[columns[0]]).class_gains is Objective.class_gains:
        return False
    required = [_required_k(constraint, problem.table.n_rows) for constraint in problem.constraints]
    if None in required:
        return False
    rule = problem.suppression
    if columns[1] is not None:
        # Under `Below` and `Violating` a larger k suppresses no more: what is too small is there.
        return isinstance(rule, AtMost)
    if isinstance(rule, Below):
        return rule.k == goal(problem).k
    # Without a required k, `AtMost` may suppress classes of any size.
    return len(required) > 0 or rule.limit_of(problem.table.n_rows) == 0


def _columns(problem: BitStringProblem) -> tuple[int, int | None] | None:
    """The columns of the loss and of what follows k, which may be None; None where the objectives are others."""
    follows = [_follows_k(objective) for objective in problem.objectives]
    losses = [column for column, own in enumerate(follows) if not own]
    if len(losses) != 1 or sum(follows) > 1:
        return None
    return losses[0], follows.index(True) if any(follows) else None


def _follows_k(measure: Any) -> bool:
    return measure.bounding is not None and issubclass(measure.bounding, FollowsK)


def _required_k(constraint: Constraint, n_rows: int) -> int | None:
    """The least k that a constraint allows, or None where it asks for anything else than a least k."""
    if not constraint.speaks_of_classes or not _follows_k(constraint.objective):
        return None
    measure: Any = constraint.objective
    values = measure.of_k(np.arange(1, n_rows + 1))
    broken = ~constraint.keeps(values)
    # Of a largest k, the small ones satisfy it.
    return None if broken[-1] and not broken[0] else int(np.count_nonzero(broken)) + 1


@dataclass(frozen=True)
class Plan:
    """The order of a search."""

    order: tuple[int, ...]  # The attributes that are fixed, one after the other
    # For every number of fixed attributes the four that are tabled; the first is walked. Others that follow are a
    # smaller table, which says first whether anything is left. The number behind the last attribute stands for one that
    # lacks.
    tables: tuple[tuple[Four, ...], ...]


def plan(instance: StringInstance, max_bytes: int) -> Plan:
    """The plan that fits the rows of an instance.

    What matters of an attribute is how many values its rows are spread over, not how many there are: of 41 countries
    where nine of ten rows have one, few cuts differ much. So the three attributes of the greatest entropy are tabled,
    of those whose table is not too large. The others are fixed in the order of their entropy, the greatest first, which
    raises bounds soonest; but the one of the most groups comes last, where its cuts are walked and make no parts.
    """
    n = instance.n_attributes
    groups = [*map(len, instance.spans), 1]
    spread = [*(_entropy(instance, attribute) for attribute in range(n)), 0.0]
    candidates = [*range(n), *[n] * max(3 - n, 0)]
    found = sorted(combinations(candidates, 3), key=lambda three: -sum(spread[a] for a in three))
    # The smallest table where none is small enough.
    most = max(_LARGEST_OF_THREE, min(_product(groups, three) for three in found))
    tabled = next(three for three in found if _product(groups, three) <= most)
    e, p, q = sorted(tabled, key=lambda a: (groups[a], a))
    others = set(range(n)) - set(tabled)
    last = max(others, key=lambda a: (groups[a], -spread[a], a), default=n)
    order = sorted(others, key=lambda a: (a == last, -spread[a], a))
    # A walk keeps several tables, and threads have one each.
    fitting = min(max_bytes // 16, _LARGEST_OF_FOUR) // 8
    tables: list[tuple[Four, ...]] = [
        ((a, e, p, q),) if _product(groups, (a, e, p, q)) <= fitting else ((a, n, p, q), (n, e, p, q)) for a in order
    ]
    return Plan(tuple(order), (*tables, ((n, e, p, q),)))


def _product(groups: list[int], tabled: tuple[int, ...]) -> int:
    return prod(groups[attribute] for attribute in tabled)


def _entropy(instance: StringInstance, attribute: int) -> float:
    """The entropy of an attribute's values in bits."""
    rows = np.bincount(instance.codes[:, attribute], instance.counts)
    shares = rows[rows > 0] / rows.sum()
    return float(-(shares * np.log2(shares)).sum())
