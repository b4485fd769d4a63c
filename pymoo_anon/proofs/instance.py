"""Instance of a search over bit strings, its plan, and its tables.

A valid string of one attribute is a path 0 -> n over the places between the values of its domain, and a group is an
edge from its first value to the value after its last. Allowed are all intervals of the domain or, where there is a
taxonomy, the spans of its nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np

from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.bounds import FollowsK
from pymoo_anon.problems.bitstrings import BitStringProblem
from pymoo_anon.proofs.base import Limits
from pymoo_anon.proofs.tables import StringWalk, fill_table, nested_bound, split_classes
from pymoo_anon.table.generalization import AtMost, Below, Constraint
from pymoo_anon.typing import Bools, Floats, Ints

# Sums of whole numbers up to this one are exact as floats of 64 bits, in any order.
LARGEST = 1 << 53

# Without a common denominator the greatest gain is about so many units.
_FINEST = 1 << 46

# Most numbers in a table of three attributes.
_LARGEST_OF_THREE = 1 << 22

# Cost of filling and bounding a table, in readings of each of its numbers.
_READ = 8

# Factors by which multipliers change: at first, and after a similar part has found one.
_FIRST_STEPS, _STEPS = (2.0, 1.25), (1.4,)

Four = tuple[int, int, int, int]


@dataclass(frozen=True, eq=False)
class StringGoal:
    """Part of a problem that bounds cover."""

    loss: int  # The column of F with the loss
    privacy: int | None  # The column of F with a function of k, or None
    k: int  # No feasible string keeps a class of fewer rows
    limit: int  # Most rows that a feasible string suppresses; the number of rows without a limit
    # (n_rows,) float array, the minimised value of `privacy` for k = 1, 2, ...; it falls. Empty without it.
    of_k: Floats

    def next_k(self, value: float, widened: Floats) -> int:
        """Return the least k that is not covered."""
        return int(np.searchsorted(-widened, -value, side="right")) + 1

    def best(self, F: Floats, k: int) -> int | None:
        """Return the place of the least loss from this k on, or None."""
        enough = np.arange(len(F))
        if self.privacy is not None:
            # No class has more rows than the table.
            most = self.of_k[k - 1] if k <= len(self.of_k) else -np.inf
            enough = enough[F[:, self.privacy] <= most]
        return int(enough[np.argmin(F[enough, self.loss])]) if len(enough) else None


def goal_of(problem: BitStringProblem) -> StringGoal:
    """Return the goal of a proof.

    A string whose k is at least K keeps no class of fewer than K rows and suppresses no more than the limit, under any
    rule. Its loss is at least that of suppressing its classes below K alone. So bounds of that loss are bounds of F,
    and a search that evaluates all strings that they leave open finds the optimum of F at every K.
    """
    columns = _loss_and_privacy(problem)
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
    return StringGoal(loss, privacy, k, n_rows if limit is None else limit, of_k)


def asks_no_more(problem: BitStringProblem) -> bool:
    """Tell whether the goal covers all of a problem.

    At every k of the goal, the least loss is then that of strings that suppress their classes below k and no others:
    under `AtMost` those within the limit, under `Below` and `Violating` those below the one required k.
    """
    columns = _loss_and_privacy(problem)
    if columns is None or type(problem.objectives[columns[0]]).class_gains is Objective.class_gains:
        return False
    required = [_required_k(constraint, problem.table.n_rows) for constraint in problem.constraints]
    if None in required:
        return False
    rule = problem.suppression
    if columns[1] is not None:
        # Under `Below` and `Violating` a larger k suppresses no more, and smaller classes stay.
        return isinstance(rule, AtMost)
    if isinstance(rule, Below):
        return rule.k == goal_of(problem).k
    # Without a required k, `AtMost` may suppress classes of any size.
    return len(required) > 0 or rule.limit_of(problem.table.n_rows) == 0


def _loss_and_privacy(problem: BitStringProblem) -> tuple[int, int | None] | None:
    follows = [_follows_k(objective) for objective in problem.objectives]
    if follows.count(False) != 1 or follows.count(True) > 1:
        return None
    return follows.index(False), follows.index(True) if any(follows) else None


def _follows_k(measure: Any) -> bool:
    return measure.bounding is not None and issubclass(measure.bounding, FollowsK)


def _required_k(constraint: Constraint, n_rows: int) -> int | None:
    if not constraint.speaks_of_classes or not _follows_k(constraint.objective):
        return None
    measure: Any = constraint.objective
    values = measure.of_k(np.arange(1, n_rows + 1))
    broken = ~constraint.keeps(values)
    # A constraint on the largest k is satisfied by the small ones.
    return None if broken[-1] and not broken[0] else int(np.count_nonzero(broken)) + 1


def plan(space: StringSpace, limits: Limits) -> tuple[list[int], list[tuple[Four, ...]]]:
    """Choose the order in which attributes are fixed, and the tables.

    For every number of fixed attributes, four are tabled, the first of which is walked. A second table is smaller and
    tells first whether anything is left.

    The three attributes of the greatest entropy are tabled, of those whose table is not too large. The others are fixed
    in the order of their entropy, the greatest first, which raises bounds soonest. The one of the most groups comes
    last, where its cuts are walked and make no parts.
    """
    n, groups = space.none, [*map(len, space.spans)]
    spread = [*(_entropy(own, space.counts) for own in space.codes.T), 0.0]

    def size(tabled: tuple[int, ...]) -> int:
        return prod(groups[attribute] for attribute in tabled)

    candidates = [*range(n), *[n] * max(3 - n, 0)]
    found = sorted(combinations(candidates, 3), key=lambda three: -sum(spread[a] for a in three))
    # If no table is small enough, take the smallest.
    most = max(_LARGEST_OF_THREE, min(map(size, found)))
    tabled = next(three for three in found if size(three) <= most)
    e, p, q = sorted(tabled, key=lambda a: (groups[a], a))
    others = set(range(n)) - set(tabled)
    last = max(others, key=lambda a: (groups[a], -spread[a], a), default=n)
    order = sorted(others, key=lambda a: (a == last, -spread[a], a))
    # A walk keeps several tables, and each thread has its own.
    fitting = min(limits.max_bytes // 16, limits.table_bytes) // 8
    tables: list[tuple[Four, ...]] = [
        ((a, e, p, q),) if size((a, e, p, q)) <= fitting else ((a, n, p, q), (n, e, p, q)) for a in order
    ]
    return order, [*tables, ((n, e, p, q),)]


def _entropy(values: Ints, counts: Ints) -> float:
    rows = np.bincount(values, counts)
    shares = rows[rows > 0] / rows.sum()
    return float(-(shares * np.log2(shares)).sum())


class Begun(NamedTuple):
    """Bound and walk of the strings below a node."""

    gain: float  # Upper bound of their gain without the multiplier; -inf if all suppress too many rows
    multiplier: float  # The multiplier of this bound
    walk: StringWalk | None  # None if the strings do not gain enough
    n_read: int  # About the count of numbers of tables that it took


class StringSpace:
    """Bit strings and one loss in whole numbers, with their gains.

    Gains are counted in units. With a common denominator of the loss, a unit is its inverse, and gains are exact.
    Otherwise the gain of a tuple is rounded up, so that the gain of a string is too large by less than `slack` units.
    The numbers are whole and stand in arrays of floats: sums below 2^53 are exact.

    Args:
        codes: (n_distinct, n_attributes) int64 array, the distinct tuples as positions in the domains.
        counts: (n_distinct,) int64 array, the rows of each.
        spans: Per attribute an (n_groups, 2) int64 array of allowed groups: first value, value after the last; in the
            order of these two numbers, so that every path meets its groups in this order.
        worths: Per attribute an (n_groups,) float array: the gain of a kept tuple by each group, in units.
        most: The loss of suppressing every tuple.
        unit: The loss of one unit.
        slack: 0 if units are exact.

    Attributes:
        n_rows: Number of rows.
        none: Number of attributes, and of one with one value, in the place of a missing one. `spans`, `worths` and
            `sizes`, the numbers of values of the domains, have it last.
    """

    def __init__(
        self,
        codes: Ints,
        counts: Ints,
        spans: Sequence[Ints],
        worths: Sequence[Floats],
        most: float,
        unit: float = 1.0,
        slack: float = 0.0,
    ) -> None:
        self.codes, self.counts, self.most, self.unit, self.slack = codes, counts, most, unit, slack
        self.n_rows, self.none = int(counts.sum()), len(spans)
        self.spans = [*spans, np.array([[0, 1]])]
        self.worths = [*worths, np.zeros(1)]
        self.sizes = [int(own[:, 1].max()) for own in self.spans]
        # By attribute, since a table reads one column after the other.
        self._columns = [*map(np.ascontiguousarray, codes.T), np.zeros(len(codes), dtype=np.int64)]
        # The first bit of each attribute.
        self._offsets = np.cumsum([0, *(size - 1 for size in self.sizes)])

    @classmethod
    def of(cls, problem: BitStringProblem, loss: Objective) -> StringSpace:
        """Return the strings of a problem, with a loss."""
        tuples = problem.table.tuples
        spans = [
            # Those of the nodes of a taxonomy, in order.
            np.unique(problem.taxonomies[name].spans[:, :2], axis=0)
            if name in problem.taxonomies
            else np.column_stack(np.triu_indices(hierarchy.n_values + 1, 1))
            for name, hierarchy in problem.table.quasi_identifiers.items()
        ]
        gains = loss.class_gains(tuples, spans)
        if gains is None:
            raise ValueError(
                f"BranchAndBound proves losses over cells of bit strings, such as GeneralLossMetric, got {loss!r}; "
                "NSGA2 and GENITOR search it without a proof"
            )
        exact = gains.denominator > 0 and gains.most * gains.denominator < LARGEST // 4
        # If even the loss of everything is 0, any unit will do.
        scale = float(gains.denominator) if exact else _FINEST / (gains.most or 1.0)
        worths = [(np.rint if exact else np.ceil)(own * scale) for own in gains.worths]
        slack = 0.0 if exact else float(tuples.n_rows * (len(spans) + 2))
        return cls(tuples.codes, tuples.counts, spans, worths, gains.most, 1 / scale, slack)

    def bits_of(self, cuts: Sequence[Ints]) -> Bools:
        """Return the string of one path per attribute."""
        bits = np.zeros(self._offsets[self.none], dtype=bool)
        for attribute, cut in enumerate(cuts):
            bits[self._offsets[attribute] + self.spans[attribute][cut[1:], 0] - 1] = True
        return bits

    def cuts_of(self, bits: Bools) -> list[Ints]:
        """Return the paths of a valid string."""
        cuts = []
        for attribute, own in enumerate(np.split(bits, self._offsets[1 : self.none])):
            edges = [0, *(np.flatnonzero(own) + 1).tolist(), self.sizes[attribute]]
            number = {(first, last): i for i, (first, last) in enumerate(self.spans[attribute].tolist())}
            cuts.append(np.array([number[span] for span in pairwise(edges)], dtype=np.int64))
        return cuts

    def average_multiplier(self) -> float:
        """Return the average gain of a row, rounded up."""
        return float(np.ceil(self.most / self.unit / self.n_rows))

    def largest_multiplier(self) -> float:
        """Return the greatest multiplier with exact sums. A row over the limit should cost more than all gains."""
        whole = np.ceil(self.most / self.unit) + self.slack + 1
        return float(min(whole, (LARGEST // 2 - whole) // self.n_rows))

    def need(self, loss: float, exact: bool) -> float:
        """Return the gain that smaller losses exceed."""
        if np.isinf(loss):
            return -1.0
        gain = (self.most - loss) / self.unit
        if exact and not self.slack:
            gain = float(np.rint(gain))
        return gain + self.slack

    def least_loss(self, gain: float) -> float:
        """Return the least loss of a gain."""
        return self.most - gain * self.unit

    def walk(
        self, cuts: Mapping[int, Ints], tabled: Sequence[int], k: int, limit: int, multiplier: float, need: float
    ) -> Begun:
        """Bound the strings below a node and begin a walk.

        No kept class has fewer than k rows, and no more rows than the limit are suppressed; the number of rows is no
        limit. A multiplier is a further gain of a kept row, in units. A string of gain G that suppresses s rows then
        gains G + multiplier (rows - s), at most a bound B. As s is at most the limit, G <= B - multiplier (rows -
        limit) for every multiplier from 0.
        """
        ids, base, gone = self.classes(cuts, k)
        if gone > limit:
            return Begun(-np.inf, multiplier, None, len(ids))
        free = set(range(self.none)) - {*cuts, *tabled}
        table, (shape, spans) = self.table(ids, base, tabled, free, k, multiplier), self._shape(tabled)
        walk = StringWalk(table, shape, spans, 0 if free else 3)
        # Every string within the limit keeps at least so many rows.
        fewest = self.n_rows - limit
        gain, n_read = walk.bound - multiplier * fewest, len(ids) + _READ * table.size
        if gain <= need:
            return Begun(gain, multiplier, None, n_read)
        if not 0 < limit < self.n_rows:
            return Begun(gain, multiplier, walk, n_read)
        rows, changed = self.rows(ids, len(base), tabled, k), np.empty_like(table)

        def change(to: float) -> None:
            np.multiply(rows, to - multiplier, out=changed)
            np.add(changed, table, out=changed)

        def bound(at: float) -> float:
            nonlocal n_read
            n_read += _READ * table.size
            change(at)
            return nested_bound(changed, shape, spans) - at * fewest

        within = float(np.ceil(self.average_multiplier() / 64)), self.largest_multiplier()
        steps = _STEPS if cuts else _FIRST_STEPS
        best, gain = _best_multiplier(bound, (multiplier, gain), within, need, steps)
        if gain <= need:
            return Begun(gain, best, None, n_read)
        change(best)
        if not free and tabled[0] == self.none:
            return Begun(gain, best, StringWalk(changed, shape, spans, 3, rows, fewest), n_read)
        # Every path of the first attribute gets a multiplier of its own.
        return Begun(gain, best, StringWalk(changed, shape, spans, 0), n_read)

    def _shape(self, tabled: Sequence[int]) -> tuple[Ints, Ints]:
        shape = np.array([[self.sizes[a] for a in tabled], [len(self.spans[a]) for a in tabled]])
        return shape, np.concatenate([self.spans[a] for a in tabled])

    def classes(self, cuts: Mapping[int, Ints], k: int) -> tuple[Ints, Floats, int]:
        """Return ids and gains of classes, and the rows below k."""
        ids, base, gone = np.zeros(len(self.counts), dtype=np.int64), np.zeros(1), 0
        for attribute, cut in cuts.items():
            spans = self.spans[attribute][cut]
            groups = np.repeat(np.arange(len(cut)), spans[:, 1] - spans[:, 0])[self._columns[attribute]]
            ids, base, dropped = split_classes(ids, base, groups, self.worths[attribute][cut], self.counts, k)
            gone += dropped
        return ids, base, gone

    def table(
        self, ids: Ints, base: Floats, tabled: Sequence[int], free: set[int], k: int, multiplier: float
    ) -> Floats:
        """Return the table of four attributes."""
        worths = np.concatenate([self.worths[a] for a in tabled])
        # A projection: see the module of the tables.
        most = sum(float(self.worths[a].max()) for a in free)
        return self._filled(ids, base, tabled, worths, k, most + multiplier)

    def rows(self, ids: Ints, n_classes: int, tabled: Sequence[int], k: int) -> Floats:
        """Return the rows that every block keeps."""
        worths = np.zeros(sum(len(self.spans[a]) for a in tabled))
        return self._filled(ids, np.zeros(n_classes), tabled, worths, k, 1.0)

    def _filled(self, ids: Ints, base: Floats, tabled: Sequence[int], worths: Floats, k: int, saved: float) -> Floats:
        kept = ids >= 0
        columns = [ids, *(self._columns[attribute] for attribute in tabled), self.counts]
        tuples: Any = np.column_stack([own[kept] for own in columns])
        shape, spans = self._shape(tabled)
        table = np.empty(shape[1])
        fill_table(tuples, base, spans, worths, shape, float(k), float(saved), table)
        return table


def _best_multiplier(
    bound: Callable[[float], float],
    known: tuple[float, float],
    within: tuple[float, float],
    need: float,
    steps: tuple[float, ...],
) -> tuple[float, float]:
    """Return the multiplier of the lowest bound.

    A bound is the greatest of sums that are linear in the multiplier, and so convex in it: the first step that does not
    lower it ends the search in that direction. All multipliers are whole.
    """
    multiplier, lowest = known
    for step in steps:
        for factor in (step, 1 / step):
            while lowest > need:
                tried = float(np.rint(np.clip(multiplier * factor, *within)))
                value = bound(tried) if tried != multiplier else np.inf
                if value >= lowest:
                    break
                multiplier, lowest = tried, value
    return multiplier, lowest
