"""Proofs over lattices that are stored: bounds of every node that evaluated nodes give, and which are settled."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.algorithms.proofs.base import Proof
from pymoo_anon.algorithms.proofs.settling import Known, inherit_bounds, next_open
from pymoo_anon.algorithms.proofs.tolerance import Tolerance
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.fronts.archive import BoxArchive, boxes, evaluated, first_non_dominated
from pymoo_anon.objectives.bounds.base import Bounding, Suppressible
from pymoo_anon.objectives.bounds.cases import suppressible
from pymoo_anon.objectives.bounds.worst_class import FollowsK
from pymoo_anon.problems.journal import LESSON
from pymoo_anon.problems.lattice import LatticeProblem

Matrix = NDArray[np.float64]

# Nodes that are evaluated in one slice.
_NODES_A_SLICE = 50


class StoredLatticeProof(Proof):
    """The open nodes of a lattice, and the bounds that settle them.

    Nodes are visited layer by layer. From general to special every bound from above is known when its node comes. A
    floor that rises from below is known nowhere then: with such objectives there is one layer in random order, which
    has evaluated nodes on both sides.

    An absolute tolerance compares boxes, as `BoxArchive` does, and gives one node of each box.

    Args:
        problem: The problem.
        tolerance: How far the front may stay off.
        max_bytes: Memory that the bounds of all nodes may take.
        random_state: Draws the random order.
    """

    shows_gap = False

    def __init__(
        self,
        problem: LatticeProblem,
        tolerance: Tolerance,
        max_bytes: int,
        random_state: np.random.Generator,
    ) -> None:
        super().__init__(problem, tolerance, max_bytes, random_state)
        measures = problem.measured
        self.bounding = [Bounding(m) if m.bounding is None else m.bounding(m) for m in measures]
        more = np.zeros(len(measures) - problem.n_obj)
        self.absolute, self.relative = np.append(tolerance.absolute, more), np.append(tolerance.relative, more)
        self.sides = np.zeros(len(measures))
        self._boxes: BoxArchive | None = None
        if tolerance.absolute.all():
            # On the grid of the natural values.
            self._boxes = BoxArchive(tolerance.absolute, [objective.maximize for objective in problem.objectives])
            self.sides, self.absolute = self.absolute, self.sides
        self.maximize = np.array([measure.maximize for measure in measures])
        self.limits = _limits(problem)
        self.floors = np.array([family.has_floor for family in self.bounding])
        # Bounds come from the generalization that bounds this measure most: k, where something follows it.
        follows_k = [isinstance(family, FollowsK) for family in self.bounding]
        self.by_k = any(follows_k)
        self.key = follows_k.index(True) if self.by_k else 0
        n_nodes = problem.n_nodes
        self.bounds = np.full((n_nodes, len(measures)), -np.inf)
        for column, family in enumerate(self.bounding):
            if family.has_floor:
                self.bounds[:, column] = _floors(problem, family)
        # The evaluated node whose cases are kept for each node, by the order of evaluation, or -1.
        self.best = np.full(n_nodes, -1, dtype=np.int32)
        self.done = np.zeros(n_nodes, dtype=bool)
        self._cases = np.empty((64, len(measures)))
        self._case_starts = np.zeros(64, dtype=np.int64)
        self.sweeps = not any(family.floor_rises for family in self.bounding[: problem.n_obj])
        if self.sweeps:
            sums = _outer_sums([np.arange(length + 1, dtype=np.int16) for length in problem.lengths])
            self._layers = np.split(np.argsort(-sums, kind="stable"), np.cumsum(np.bincount(sums.max() - sums))[:-1])
        else:
            self._layers = [random_state.permutation(n_nodes)]
        self._layer, self._position = -1, 0
        self._enter_next_layer()

    @property
    def certified(self) -> bool:
        """Whether all nodes are settled."""
        return self._layer == len(self._layers)

    @property
    def n_undecided(self) -> int:
        """Number of nodes that are not settled."""
        if self.certified:
            return 0
        ahead = [self._layers[self._layer][self._position :], *self._layers[self._layer + 1 :]]
        return sum(int(np.count_nonzero(~self.done[nodes])) for nodes in ahead)

    @property
    def n_pruned(self) -> int:
        """Number of nodes that were settled without an evaluation."""
        return int(self.problem.n_nodes) - self.n_evaluated - self.n_undecided

    @classmethod
    def check(cls, problem: LatticeProblem, max_bytes: int) -> None:
        """Refuse a problem whose objectives state no bounds, or whose lattice is too large.

        Raises:
            ValueError: An objective states no bounds, the problem suppresses without limit, or the lattice has too many
                nodes.
        """
        without = [repr(objective) for objective in problem.objectives if objective.bounding is None]
        if without:
            raise ValueError(f"{', '.join(without)} states no bounds; ExhaustiveSearch or PBGEA search without any")
        if problem.suppression.limit_of(problem.table.n_rows) is None:
            raise ValueError("Below has no bounds; ExhaustiveSearch or PBGEA search without any")
        n_bytes = bytes_of(problem)
        if n_bytes > max_bytes:
            raise ValueError(
                f"problem must have a lattice whose bounds fit into {max_bytes / 2**30:.3g} GiB, got "
                f"{problem.n_nodes:.3g} nodes, which need {n_bytes / 2**30:.3g} GiB; max_bytes allows for more, PBGEA "
                "and pymoo's algorithms search without bounds"
            )

    def advance(self) -> None:
        """Evaluate the next open nodes."""
        for _ in range(_NODES_A_SLICE):
            node = self._find_open()
            if node is None:
                break
            self._visit(self.problem.nodes(node, node + 1), node)

    def offer(self, X: NDArray[np.int64]) -> None:
        """Evaluate nodes from elsewhere, each once, and learn from them."""
        X = np.unique(X, axis=0)
        strides = np.append(np.cumprod(self.problem.lengths[:0:-1] + 1)[::-1], 1)
        for x, node in zip(X, X @ strides, strict=True):
            self._visit(x[np.newaxis], int(node))

    def take(self, X: NDArray[np.int64], F: Matrix, G: Matrix) -> None:
        """Take evaluated nodes into the front, or into its boxes."""
        if self._boxes is None:
            super().take(X, F, G)
            return
        self._visited.append(X)
        self._boxes.add(evaluated(X, F, G))
        if len(self._boxes):
            self.X, self.F = self._boxes.get("X"), self._boxes.F

    def open_bounds(self) -> Matrix:
        """The bounds of the nodes that are not settled; to bring them down to all layers takes a look at every node."""
        if self.certified:
            return np.empty((0, self.problem.n_obj))
        ahead = [self._layers[self._layer][self._position :], *self._layers[self._layer + 1 :]]
        bounds = self.bounds
        if self.sweeps:
            bounds, best = self.bounds.copy(), self.best.copy()
            for nodes in ahead[1:]:
                inherit_bounds(bounds, best, nodes, self.problem.lengths, self.floors, self.key)
        nodes = np.concatenate(ahead)
        open_ = bounds[nodes[~self.done[nodes]]]
        possible = open_[(open_ <= self.limits).all(axis=1), : self.problem.n_obj]
        # No value is below the least that its objective can have.
        ranges = np.array([own.value_range(self.problem.table.tuples) for own in self.problem.objectives])
        least = np.where(self.maximize[: self.problem.n_obj], -ranges[:, 1], ranges[:, 0])
        raised: Matrix = np.maximum(possible, least)
        return raised[first_non_dominated(raised)]

    def _visit(self, x: NDArray[np.int64], node: int) -> None:
        """Evaluate a node, learn from its classes, and offer it to the front."""
        self.take(x, *self._learn(x, node))
        # Last, so that a node whose evaluation is interrupted stays open.
        self.done[node] = True
        self.n_evaluated += 1

    def _learn(self, x: NDArray[np.int64], node: int) -> tuple[Matrix, Matrix]:
        """F and G of a node, and what its classes say about others: both may stand in a journal."""
        journal = self.problem.journal
        lesson = None if journal is None else journal.lessons.pop(x.tobytes(), None)
        if lesson is not None:
            self.learn(node, lesson.reshape(-1, len(self.problem.measured)))
            F, G = self.problem.evaluate(x, return_values_of=["F", "G"])
            return F, G
        lessons: list[Matrix] = []
        values: tuple[Matrix, Matrix] = self.problem.recall(x, lambda classes: lessons.append(self.lesson(classes)))
        if journal is not None:
            journal.append(LESSON, [x.tobytes()], lessons[0])
        self.learn(node, lessons[0])
        return values

    def _find_open(self) -> int | None:
        """Number of the next node that is not settled, or None."""
        # What only constraints bound makes no member worse than another.
        members = np.full((len(self.F), len(self.limits)), -np.inf)
        members[:, : self.F.shape[1]] = self.F
        in_boxes = self.sides > 0
        if in_boxes.any():
            members[:, in_boxes] = boxes(members[:, in_boxes], self.sides[in_boxes], self.maximize[in_boxes])
        known = Known(
            self.bounds,
            self.best,
            self._cases,
            self._case_starts,
            self.floors,
            self.sides,
            self.maximize,
            self.limits,
            self.absolute,
            self.relative,
        )
        while not self.certified:
            nodes = self._layers[self._layer]
            while self._position < len(nodes):
                self._position = next_open(known, nodes, self._position, members)
                if self._position < len(nodes):
                    node = int(nodes[self._position])
                    if not self.done[node]:
                        return node
                    self._position += 1
            self._enter_next_layer()
        return None

    def lesson(self, classes: EquivalenceClasses) -> Matrix:
        """What the classes of a node say about its specializations and generalizations.

        Args:
            classes: Its classes.

        Returns:
            (n_cases + 1, n_measures) float array: minimised bounds in every case, and in the last row the floors of its
            generalizations, NaN where there is none.
        """
        problem = self.problem
        below = suppressible(classes, problem.suppression, problem.constraints, self.by_k)
        floors = np.full(len(self.bounding), np.nan)
        if not self.sweeps:
            for column, family in enumerate(self.bounding):
                floor = family.floor_of_generalizations(classes)
                floors[column] = np.nan if floor is None else floor
        return np.vstack([self._cases_of(classes, below), floors])

    def learn(self, node: int, lesson: Matrix) -> None:
        """Note what an open node says about its specializations and generalizations.

        Args:
            node: Number of the node.
            lesson: What `lesson` gives for its classes.
        """
        cases, floors = lesson[:-1], lesson[-1]
        self._keep(cases)
        # What holds in every case holds of every specialization.
        known = cases.min(axis=0)
        if self.sweeps:
            own = self.bounds[node]
            own[~self.floors] = np.maximum(own, known)[~self.floors]
            self.best[node] = self.n_evaluated
        else:
            self._spread(node, known, floors)

    def _cases_of(self, classes: EquivalenceClasses, below: Suppressible) -> Matrix:
        """(n_cases, n_measures) float array: minimised bounds, or what comes on top of a floor, in every case."""
        cases = np.where(self.floors, 0.0, -np.inf)[np.newaxis].repeat(len(below), axis=0)
        for column, family in enumerate(self.bounding):
            best = family.best_of_specializations(classes, below)
            if best is not None:
                cases[:, column] = -best if family.measure.maximize and not family.has_floor else best
        if below.impossible:
            # Beyond what any constraint allows.
            cases[:, np.isfinite(self.limits) & ~self.floors] = np.inf
        return cases

    def _spread(self, node: int, known: Matrix, floors: Matrix) -> None:
        """Raise the bounds of all specializations of a node, and the floors of all its generalizations."""
        problem = self.problem
        (x,) = problem.nodes(node, node + 1)
        # An attribute of one level is no axis: numpy has a limit of them.
        axes = problem.lengths > 0
        shape, place = problem.lengths[axes] + 1, x[axes]
        grid: Any = self.bounds.reshape(*shape, len(self.bounding))
        below: Any = tuple(slice(0, level + 1) for level in place)
        above: Any = tuple(slice(level, None) for level in place)
        best: Any = self.best.reshape(shape)[(*below, ...)]
        best[(grid[(*below, ..., self.key)] < known[self.key]) | (best < 0)] = self.n_evaluated
        for column, family in enumerate(self.bounding):
            if not family.has_floor:
                np.maximum(grid[(*below, ..., column)], known[column], out=grid[(*below, ..., column)])
            if not np.isnan(floors[column]):
                np.maximum(grid[(*above, ..., column)], floors[column], out=grid[(*above, ..., column)])

    def _enter_next_layer(self) -> None:
        """Go on to the next layer: bounds come down from the one above, nodes of little loss come first."""
        layer = self._layer + 1
        if layer < len(self._layers) and self.sweeps:
            nodes = self._layers[layer]
            inherit_bounds(self.bounds, self.best, nodes, self.problem.lengths, self.floors, self.key)
            if self.floors.any():
                first = self.bounds[nodes, np.flatnonzero(self.floors)[0]]
                self._layers[layer] = nodes[np.argsort(first, kind="stable")]
        self._layer, self._position = layer, 0

    def _keep(self, cases: Matrix) -> None:
        """Append the cases of the node that is being learned, in arrays that grow by doubling."""
        start = self._case_starts[self.n_evaluated]
        end = start + len(cases)
        while end > len(self._cases):
            self._cases = np.concatenate([self._cases, np.empty_like(self._cases)])
        if self.n_evaluated + 2 > len(self._case_starts):
            self._case_starts = np.concatenate([self._case_starts, np.zeros_like(self._case_starts)])
        self._cases[start:end] = cases
        self._case_starts[self.n_evaluated + 1] = end


def bytes_of(problem: LatticeProblem) -> int:
    """Memory that the bounds of all nodes take."""
    # Bounds, the node that they come from, whether it is done, and its place in a layer, which is sorted once.
    return problem.n_nodes * (8 * len(problem.measured) + 4 + 1 + 24)


def _limits(problem: LatticeProblem) -> Matrix:
    """(n_measures,) float array: the greatest minimised value of every measure that the constraints allow."""
    limits = np.full(len(problem.measured), np.inf)
    for constraint in problem.constraints:
        # A bound on the other side is no limit of minimised values.
        if constraint.at_least == constraint.objective.maximize:
            column = problem.measured.index(constraint.objective)
            limits[column] = min(limits[column], (-1 if constraint.at_least else 1) * float(constraint.bound))
    return limits


def _floors(problem: LatticeProblem, family: Bounding) -> Matrix:
    """(n_nodes,) float array: what an objective is not below at every node, before anything is evaluated."""
    # Nodes in which every attribute is as near to each of its levels as it gets, so that all terms are seen.
    levels = np.minimum(np.arange(problem.lengths.max() + 1)[:, np.newaxis], problem.lengths)
    terms = family.attribute_floors(problem.table.tuples, problem.group_maps(levels)[0])
    if terms is None:
        return np.full(problem.n_nodes, family.measure.value_range(problem.table.tuples)[0])
    # In the order of the attributes, as the measure itself adds them up: the last bits have to agree.
    return _outer_sums([terms[: length + 1, j] for j, length in enumerate(problem.lengths)])


def _outer_sums(by_attribute: list[NDArray[Any]]) -> NDArray[Any]:
    """(n_nodes,) array: for every node the sum of what its levels contribute, added up from the first attribute."""
    sums: NDArray[Any] = reduce(lambda sums, own: np.add.outer(sums, own).ravel(), by_attribute)
    return sums
