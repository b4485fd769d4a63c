"""Proof over a stored lattice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from itertools import chain, combinations, product
from typing import Any

import numpy as np

from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.engine.compiled import kernel, njit
from pymoo_anon.fronts.archive import first_non_dominated
from pymoo_anon.objectives.bounds import Kind, SuppressionBudget, suppression_budget
from pymoo_anon.problems.journal import BOUNDS
from pymoo_anon.problems.lattice import LatticeProblem, layer_sizes
from pymoo_anon.proofs.base import BoundsReader, LatticeProof, Tolerance, least_covered
from pymoo_anon.proofs.covering import (
    Members,
    NodeBounds,
    NodeScratch,
    Rules,
    covers_beside,
    is_covered,
    is_plainly_covered,
)
from pymoo_anon.typing import Floats, Ints

# Bounds pay if they fathom half of the examined nodes: to read bounds from a node takes about as long as to evaluate
# it. At least so many nodes are counted.
_FEWEST_COUNTED = 512

# Starting threads takes longer than bringing bounds down to a smaller layer.
_FEWEST_IN_THREADS = 1 << 14

# Open nodes that are looked for at a time in random order.
_OPEN_AT_RANDOM = 32

# Projections are evaluated first if they are at most this share of the nodes.
_SHARE_OF_PROJECTIONS = 1 / 16


class MeasureRules(BoundsReader):
    """Measures of a problem by their families of bounds."""

    def __init__(self, problem: LatticeProblem) -> None:
        super().__init__(problem)
        families = self.families
        # Whether no floor of an objective rises from below.
        self.sweeps = not any(family.floor_rises for family in families[: problem.n_obj])
        listed = [family for family in families if family.kind is Kind.THRESHOLD]
        by_size = [family for family in listed if family.by_size]
        # The families of the thresholds. One by size comes first.
        self.thresholds: list[Any] = by_size[:1] + [family for family in listed if not family.by_size]
        own = [i for i, family in enumerate(families) if family.kind not in (Kind.ADDITIVE, Kind.THRESHOLD)]
        # The measures with a column of bounds. Those that specializations inherit come first.
        self.columns = sorted(own, key=lambda i: families[i].has_floor)
        self.rules = self._rules()

    def _rules(self) -> Rules:
        problem, families = self.problem, self.families
        tuples, lengths, groups = problem.table.tuples, problem.lengths, problem.groups
        kinds = np.array([family.kind for family in families], dtype=np.int64)
        places, additive = np.full(len(families), -1, dtype=np.int64), kinds == Kind.ADDITIVE
        places[self.columns], places[additive] = np.arange(len(self.columns)), np.arange(additive.sum())
        left = np.array([families[o].left_by_value(tuples, groups) for o in np.flatnonzero(additive)])
        left = left.reshape(-1, *groups.shape)
        limit = problem.suppression.limit_of(tuples.n_rows)
        return Rules(
            lengths=lengths,
            strides=np.append(np.cumprod(lengths[:0:-1] + 1)[::-1], 1).astype(np.int64),
            kinds=kinds,
            places=places,
            limits=problem.limits,
            first=self._first(),
            terms=self._from_lowest(self.terms[additive]),
            least=self._from_lowest(np.minimum.reduceat(left, tuples.offsets[:-1], axis=2).transpose(0, 2, 1)),
            limit=tuples.n_rows if limit is None else limit,
            n_inherited=sum(not families[i].has_floor for i in self.columns),
        )

    def _from_lowest(self, by_level: Floats) -> Floats:
        problem, steps = self.problem, np.arange(by_level.shape[2])
        levels = np.minimum(problem.lowest[:, np.newaxis] + steps, problem.highest[:, np.newaxis])
        return by_level[:, np.arange(problem.n_var)[:, np.newaxis], levels].copy()

    def _first(self) -> Floats:
        """Return the (n_thresholds,) values that feasible nodes exceed."""
        first = np.full(max(len(self.thresholds), 1), -np.inf)
        for family, most in zip(self.families, self.problem.limits, strict=True):
            if family.kind is Kind.THRESHOLD and np.isfinite(most):
                (broken,) = family.reach(np.array([np.nextafter(most, np.inf)]), self.problem.table.tuples.n_rows)
                first[self._place(family)] = max(first[self._place(family)], broken)
        # With sums of squares the last threshold is the number of suppressed rows.
        return np.append(first, -1.0) if any(own.kind is Kind.SQUARES for own in self.families) else first

    def _place(self, family: Any) -> int:
        return 0 if family.by_size else self.thresholds.index(family)

    def first_tops(self) -> Floats:
        """Return the (n_values,) greatest thresholds."""
        tuples = self.problem.table.tuples
        found = [
            float(tuples.n_rows) if family.by_size else family.measure.value_range(tuples)[1]
            for family in self.thresholds
        ]
        return np.array(found or [np.inf], dtype=float)

    def first_bounds(self) -> Floats:
        """Return the (n_nodes, n_columns) bounds before any evaluation."""
        bounds = np.empty((self.problem.n_nodes, len(self.columns)))
        for place, terms in enumerate(self._from_lowest(self.terms[self.columns])):
            by_attribute = [own[: length + 1] for own, length in zip(terms, self.rules.lengths, strict=True)]
            bounds[:, place] = reduce(lambda sums, own: np.add.outer(sums, own).ravel(), by_attribute)
        return bounds

    def levels(self, nodes: Ints) -> Ints:
        """Return the levels of numbered nodes."""
        steps: Ints = nodes[:, np.newaxis] // self.rules.strides % (self.rules.lengths + 1)
        return steps + self.problem.lowest

    def first_floors(self, ahead: Ints) -> Floats:
        """Return the (n,) floors of the first additive measure."""
        additive = np.flatnonzero(self.rules.kinds == Kind.ADDITIVE)[:1]
        return self.floors(self.levels(ahead))[:, additive].sum(axis=1)

    def bounds_of(self, ahead: Ints, nodes: NodeBounds) -> Floats:
        """Return the (n, n_measures) bounds of numbered nodes."""
        rules, bounds = self.rules, self.floors(self.levels(ahead))
        for o, family in enumerate(self.families):
            if family.kind is Kind.THRESHOLD:
                bounds[:, o] = family.at(nodes.tops[ahead, self._place(family)])
            elif family.kind is not Kind.ADDITIVE:
                bounds[:, o] = nodes.bounds[ahead, rules.places[o]]
                if family.kind is Kind.SQUARES:
                    bounds[:, o] -= float(rules.limit) ** 2
        return bounds

    def members_of(self, F: Floats, tolerance: Tolerance) -> Members:
        """Build the members of a front."""
        # Measures of constraints alone make no member worse than another.
        needs = np.full((len(F), len(self.families)), -np.inf)
        needs[:, : F.shape[1]] = least_covered(F, tolerance, self.maximize[: F.shape[1]], self.leeway)
        reaches = np.full((len(F), max(len(self.thresholds), 1)), np.inf)
        for column, family in enumerate(self.families):
            if family.kind is Kind.THRESHOLD:
                own = reaches[:, self._place(family)]
                np.minimum(own, family.reach(needs[:, column], self.problem.table.tuples.n_rows), out=own)
        furthest = np.argsort(-reaches[:, 0], kind="stable")
        return Members(needs[furthest], reaches[furthest])

    def read(self, classes: EquivalenceClasses) -> Iterable[Floats]:
        """Read bounds of other nodes as a journal holds them.

        (n, n_values + 2 n_columns) float array: the tops of all specializations, their lower bounds, and the lower
        bounds of all generalizations.
        """
        n = len(classes)
        below = suppression_budget(classes, self.problem.suppression, self.problem.constraints, by_k=False)
        # Each class of a specialization lies inside of a class, and its value is no greater.
        tops = [family.tops(classes, below) for family in self.thresholds]
        special = [self._of_specializations(column, classes, below) for column in self.columns]
        general = np.full((n, len(self.columns)), -np.inf)
        if not self.sweeps:
            general = self.floors_above(classes)[:, self.columns]
        found = np.column_stack([*(tops or [np.full(n, np.inf)]), *special, general])
        # No specialization keeps the limit of suppression, so that none is feasible.
        found[below.impossible, : len(tops) or 1] = -np.inf
        return found

    def _of_specializations(self, column: int, classes: EquivalenceClasses, below: SuppressionBudget) -> Floats:
        family = self.families[column]
        if family.kind is Kind.SQUARES:
            most: Floats = family.most_of_specializations(classes)
            return -most
        if family.has_floor:
            return np.full(len(classes), -np.inf)
        return self.best_below(column, classes, below)


def node_scratch(rules: Rules) -> NodeScratch:
    """Allocate memory for one node."""
    return NodeScratch(
        x=np.zeros(len(rules.lengths), dtype=np.int64),
        floors=np.zeros(len(rules.terms)),
        thresholds=np.zeros((2, len(rules.first))),
        bounds=np.empty(len(rules.kinds)),
    )


class StoredLatticeProof(LatticeProof):
    """Proof with bounds of every node.

    It begins with the nodes that have few attributes below the top. They have few classes, and bound all nodes that
    share their levels. Then it visits layer by layer, from general to special, so that a node comes after all that
    bound it from above. Floors that rise from below would be unknown in that order: with such objectives there is one
    layer in random order, which has evaluated nodes on both sides.

    If bounds fathom too few nodes to be worth their time, all open nodes are evaluated, as by exhaustive search.
    """

    shows_gap = False
    reader = MeasureRules

    def _prepare(self) -> None:
        super()._prepare()
        problem, own = self.problem, self.bounds
        # Whether it visits layers, from general to special.
        self.sweeps: bool = own.sweeps
        tops = own.first_tops()
        done = np.zeros(problem.n_nodes, dtype=bool)
        self._nodes = NodeBounds(np.full((len(done), len(tops)), tops), own.first_bounds(), done)
        self._members: Members = own.members_of(self.F, self.tolerance)
        first = projections(problem.lengths, own.rules.strides, 2 if self.sweeps else 3)
        self._layer_sizes = layer_sizes(problem.lengths).astype(np.int64)
        # The same without the first attribute.
        self._rest_sizes = layer_sizes(problem.lengths[1:]).astype(np.int64)
        # The layer, its nodes to examine, the place of the next one, and the nodes to evaluate.
        self._layer, self._ahead, self._position = len(self._layer_sizes), first[:0], 0
        self._open = first
        # Whether all open nodes are evaluated, without bounds.
        self.visits_all = False
        # The first layers are small and mostly evaluated: they do not show how well bounds work later.
        self._n_counted = max(_FEWEST_COUNTED, problem.n_nodes // 16) if self.sweeps else _FEWEST_COUNTED
        # Number of nodes that were examined since bounds were last judged, and of the open ones among them.
        self._n_looked_at = self._n_open = 0
        # Number of evaluated nodes by layer.
        self._n_done = np.zeros(len(self._layer_sizes), dtype=np.int64)

    @property
    def certified(self) -> bool:
        return self._layer < 0

    @property
    def n_undecided(self) -> int:
        if self.certified:
            return 0
        later = max(self._layer, 0)
        ahead = np.union1d(self._ahead[self._position :], self._open if self._layer < len(self._n_done) else [])
        own = int(np.count_nonzero(~self._nodes.done[ahead.astype(np.int64)]))
        if not self.sweeps:
            return own if self._layer == 0 else int(self._layer_sizes.sum() - self._n_done.sum())
        return own + int(self._layer_sizes[:later].sum() - self._n_done[:later].sum())

    @property
    def n_pruned(self) -> int:
        return int(self.problem.n_nodes) - self.n_evaluated - self.n_undecided

    def advance(self) -> None:
        limits, n_looked = self.limits, 0
        until = self.n_evaluated + limits.evaluated
        while not self.certified and self.n_evaluated < until and n_looked < limits.examined:
            if len(self._open) > 0:
                size = limits.batch_of_all if self.visits_all else limits.batch
                self._visit(self._open[:size])
                self._open = self._open[size:]
            elif self._n_looked_at >= self._n_counted and (self._position == len(self._ahead) or not self.sweeps):
                self._judge_bounds()
            elif self._position == len(self._ahead):
                self._enter_next_layer()
            else:
                n_looked += self._look(limits.batch if self.sweeps else _OPEN_AT_RANDOM, limits.examined)

    def offer(self, X: Ints) -> None:
        self._visit(np.unique((X - self.problem.lowest) @ self.bounds.rules.strides))

    def _update_front(self, X: Ints, F: Floats, G: Floats) -> None:
        super()._update_front(X, F, G)
        self._members = self.bounds.members_of(self.F, self.tolerance)

    def open_bounds(self) -> Floats:
        if self.certified:
            return np.empty((0, self.problem.n_obj))
        n_obj, nodes = self.problem.n_obj, self._nodes
        ahead = [np.append(self._ahead[self._position :], self._open)]
        later: Iterable[Ints] = ()
        if self._layer > 0 and self.sweeps:
            nodes = NodeBounds(nodes.tops.copy(), nodes.bounds.copy(), nodes.done)
            later = self._brought_down(nodes)
        elif self._layer > 0:
            ahead = [np.arange(self.problem.n_nodes)]
        together, bounds = self.limits.bounded, np.empty((0, n_obj))
        # Invariant: every open node so far is at least as large as some row. A row for each node at once would take far
        # more memory than the bounds of the nodes.
        for part in chain(later, ahead):
            for i in range(0, len(part), together):
                chosen = part[i : i + together]
                own = np.maximum(self.bounds.bounds_of(chosen[~nodes.done[chosen]], nodes), self.bounds.least)
                possible = (own <= self.bounds.rules.limits).all(axis=1)
                bounds = np.concatenate([bounds, own[possible, :n_obj]])
                bounds = bounds[first_non_dominated(bounds)]
        return bounds

    def _look(self, most_open: int, most: int) -> int:
        """Examine nodes until so many are open, and count them."""
        found = np.empty(most_open, dtype=np.int64)
        rules = self.bounds.rules
        groups = rules, self._nodes, self._members, node_scratch(rules)
        start, end = self._position, min(self._position + most, len(self._ahead))
        self._position, n_open = find_open(self._ahead, start, end, found, *groups)
        self._open = found[:n_open]
        self._n_looked_at += self._position - start
        self._n_open += n_open
        return int(self._position - start)

    def _judge_bounds(self) -> None:
        """Evaluate all open nodes if bounds fathom too few."""
        if 2 * self._n_open > self._n_looked_at:
            later = self._brought_down(self._nodes) if self.sweeps else ()
            self._ahead = np.concatenate([self._ahead[self._position :], *later])
            self._layer = self._position = 0
            self._look(len(self._ahead), len(self._ahead))
            self._open, self.visits_all = np.sort(self._open), True
        self._n_looked_at = self._n_open = 0

    def _brought_down(self, nodes: NodeBounds) -> Iterator[Ints]:
        # Without members no bound is skipped, and no node is covered.
        nobody = Members(np.empty((0, len(self.bounds.families))), np.empty((0, nodes.tops.shape[1])))
        for total in range(len(self._n_done) - 1, -1, -1):
            found = self._screen(total, nodes, nobody)
            if total < self._layer:
                yield found

    def _enter_next_layer(self) -> None:
        """Lower bounds to the next layer, and sort its nodes."""
        if not self.sweeps:
            n_nodes = self.problem.n_nodes
            self._ahead = self.random_state.permutation(n_nodes) if self._layer > 0 else self._ahead[:0]
            self._layer = 0 if self._layer > 0 else -1
        else:
            if self._layer > 0:
                n_left = int(self._layer_sizes[self._layer - 1] - self._n_done[self._layer - 1])
                ahead = self._screen(self._layer - 1, self._nodes, self._members)
                self._n_looked_at += n_left - len(ahead)
                # Nodes of little loss are most likely to be in the front.
                self._ahead = ahead[np.argsort(self.bounds.first_floors(ahead), kind="stable")]
            self._layer -= 1
        self._position = 0

    def _screen(self, total: int, nodes: NodeBounds, members: Members) -> Ints:
        rules, n_threads = self.bounds.rules, self.problem.n_threads

        def find(levels: range) -> Ints:
            found = np.empty(sum(self._rest_sizes[total - level] for level in levels), dtype=np.int64)
            n = screen(total, levels[0], levels[-1], found, rules, nodes, members, node_scratch(rules))
            return found[:n]

        lowest = max(total - len(self._rest_sizes) + 1, 0)
        levels = range(lowest, min(int(self.problem.lengths[0]), total) + 1)
        if n_threads == 1 or self._layer_sizes[total] < _FEWEST_IN_THREADS:
            return find(levels)
        with ThreadPoolExecutor(n_threads) as pool:
            return np.concatenate(list(pool.map(find, [range(level, level + 1) for level in levels])))

    def _visit(self, nodes: Ints) -> None:
        nodes = nodes[~self._nodes.done[nodes]]
        if len(nodes) == 0:
            return
        X = self.bounds.levels(nodes)
        if self.visits_all:
            self.take(X, self.problem.measure(X))
        else:
            values, read = self._measured(X)
            self.take(X, values)
            self._apply(nodes, X, read)
        # Last, so that interrupted nodes stay open.
        self._nodes.done[nodes] = True
        self._n_done += np.bincount((X - self.problem.lowest).sum(axis=1), minlength=len(self._n_done))
        # Interrupted nodes are taken twice.
        self.n_evaluated = int(self._n_done.sum())

    def _measured(self, X: Ints) -> tuple[Floats, Floats]:
        """Measure nodes, and read bounds or take the journal's."""
        journal = self.problem.memory.journal
        read: list[Any] = [None if journal is None else journal.bounds.pop(x.tobytes(), None) for x in X]
        new = np.array([i for i, one in enumerate(read) if one is None], dtype=np.int64)
        values = np.empty((len(X), len(self.problem.measured) + 1))
        if len(new):
            values[new], found = self.problem.measure_with_bounds(X[new], self.bounds.read)
            for i, one in zip(new, found, strict=True):
                read[i] = one
                if journal is not None:
                    journal.append(BOUNDS, [X[i].tobytes()], one)
        if len(new) < len(X):
            old = np.setdiff1d(np.arange(len(X)), new)
            values[old] = self.problem.measure(X[old])
        # An earlier version may have written more numbers, after these.
        width = self._nodes.tops.shape[1] + 2 * self._nodes.bounds.shape[1]
        if any(len(one) < width for one in read):
            raise ValueError(f"{journal.path} holds bounds of another version; search anew, without resume")
        return values, np.array([one[:width] for one in read])

    def _apply(self, nodes: Ints, X: Ints, read: Floats) -> None:
        known, (n_values, n_columns) = self._nodes, (self._nodes.tops.shape[1], self._nodes.bounds.shape[1])
        tops, special, general = np.split(read, [n_values, n_values + n_columns], axis=1)
        if self.sweeps:
            # These bounds come down to specializations when the proof enters their layer.
            known.tops[nodes] = np.minimum(known.tops[nodes], tops)
            known.bounds[nodes] = np.maximum(known.bounds[nodes], special)
            return
        varies = self.problem.lengths > 0
        shape = (self.problem.lengths[varies] + 1).tolist()
        all_tops, all_bounds = known.tops.reshape(*shape, n_values), known.bounds.reshape(*shape, n_columns)
        for i, steps in enumerate((X - self.problem.lowest)[:, varies].tolist()):
            below, above = tuple(slice(step + 1) for step in steps), tuple(slice(step, None) for step in steps)
            own_tops = all_tops[below]
            np.minimum(own_tops, tops[i], out=own_tops)
            for part, bounds in ((below, special[i]), (above, general[i])):
                # Most measures have bounds on one side alone.
                if bounds.max(initial=-np.inf) > -np.inf:
                    own_bounds = all_bounds[part]
                    np.maximum(own_bounds, bounds, out=own_bounds)


def stored_bytes(problem: LatticeProblem) -> int:
    """Return the bytes that a stored proof takes."""
    # At most two numbers for each measure, whether a node is done, and its place in a layer, which is sorted once.
    return problem.n_nodes * (8 * len(problem.measured) + 8 + 1)


def projections(lengths: Ints, strides: Ints, depth: int) -> Ints:
    """Return nodes with at most `depth` attributes below the top. Too many nodes lower the depth."""
    # Number of nodes with 0, 1, 2, ... attributes below the top: coefficients of the product of all x + length.
    counts = np.poly(-lengths.astype(float))[: depth + 1]
    fitting = np.cumsum(counts) <= _SHARE_OF_PROJECTIONS * np.prod(lengths + 1.0)
    found = []
    for size in range(np.count_nonzero(fitting)):
        for chosen in combinations(np.flatnonzero(lengths), size):
            steps = [range(1, int(lengths[j]) + 1) for j in chosen]
            found += [sum(d * int(strides[j]) for d, j in zip(down, chosen, strict=True)) for down in product(*steps)]
    top = int(lengths @ strides)
    # The most special node, number 0, has the least loss. It covers nodes of little privacy.
    return np.array(sorted({0, *(top - down for down in found)}), dtype=np.int64)


@kernel
def _write_floors(rules, scratch):
    for a in range(len(scratch.floors)):
        # The measure adds from the first attribute on, too: the last bits have to agree.
        floor = 0.0
        for j in range(len(scratch.x)):
            floor += rules.terms[a, j, scratch.x[j]]
        scratch.floors[a] = floor


@njit(allocates=False)
def screen(total, lowest, highest, found, rules, known, members, scratch):
    """Bring bounds down to a layer and find open nodes.

    The nodes of the next higher sum have their bounds. The first attribute has levels from `lowest` to `highest`, each
    of which occurs. The nodes are written to `found` in the order of their numbers, and their number is returned.
    """
    x, n_found = scratch.x, np.int64(0)
    for first in range(lowest, highest + 1):
        x[0] = first
        _fill(np.int64(1), total - first, rules.lengths, x)
        # Hints begin anew, so that bounds do not depend on the number of levels of one thread.
        is_more, hint = True, np.int64(0)
        # Invariant: all nodes before x have their bounds, and the open ones among them were found.
        while is_more:
            node = np.int64(0)
            for j in range(len(x)):
                node += x[j] * rules.strides[j]
            _write_floors(rules, scratch)
            _inherit(node, x, hint, rules, known, members, scratch)
            if not known.done[node]:
                member = is_plainly_covered(node, hint, rules, known, members, scratch)
                if member >= 0:
                    hint = member
                elif member == -1:
                    found[n_found] = node
                    n_found += 1
            is_more = _next(x, rules.lengths)
    return n_found


@kernel
def _inherit(node, x, hint, rules, known, members, scratch):
    """Take over the bounds of generalizations.

    Generalizations lie far apart in memory, and reading them is most of the work. It stops once the member of the hint
    covers the node. The bounds of the node are then valid, but not the best.
    """
    for c in range(rules.n_inherited):
        bound = known.bounds[node, c]
        for j in range(len(x)):
            if x[j] < rules.lengths[j]:
                bound = max(bound, known.bounds[node + rules.strides[j], c])
        known.bounds[node, c] = bound
    covers = hint < len(members.needs) and covers_beside(hint, node, rules, known, members, scratch)
    for h in range(known.tops.shape[1]):
        top, enough = known.tops[node, h], members.reaches[hint, h] if covers else -np.inf
        # Generalizations by the last attributes come first: they are the nearest in memory.
        for j in range(len(x) - 1, -1, -1):
            if top <= enough:
                break
            if x[j] < rules.lengths[j]:
                top = min(top, known.tops[node + rules.strides[j], h])
        known.tops[node, h] = top


@kernel
def _fill(start, total, lengths, x):
    """Write the first levels of a sum, last attributes highest."""
    for j in range(len(lengths) - 1, start - 1, -1):
        x[j] = min(lengths[j], total)
        total -= x[j]


@kernel
def _next(x, lengths):
    """Make x the next node of its level sum. False means none."""
    behind = 0
    # Invariant: the levels after j have the sum `behind`, and the first of them are as high as possible.
    for j in range(len(x) - 1, 0, -1):
        if x[j] < lengths[j] and behind > 0:
            x[j] += 1
            _fill(j + 1, behind - 1, lengths, x)
            return True
        behind += x[j]
    return False


@njit(allocates=False)
def find_open(nodes, start, end, found, rules, known, members, scratch):
    """Examine nodes until enough are open. Returned are where to go on, and how many are open."""
    n_open = 0
    for position in range(start, end):
        node = nodes[position]
        if known.done[node]:
            continue
        rest = node
        for j in range(len(rules.strides)):
            scratch.x[j] = rest // rules.strides[j]
            rest -= scratch.x[j] * rules.strides[j]
        _write_floors(rules, scratch)
        if not is_covered(node, rules, known, members, scratch):
            found[n_open] = node
            n_open += 1
            if n_open == len(found):
                return position + 1, n_open
    return end, n_open
