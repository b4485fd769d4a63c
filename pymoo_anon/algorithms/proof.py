"""What is known of every node of a lattice: bounds that evaluated nodes give, and which nodes are settled."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.algorithms.settling import Known, inherit_bounds, next_open
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.fronts.archive import boxes
from pymoo_anon.objectives.bounds.base import Bounding, Suppressible
from pymoo_anon.objectives.bounds.cases import suppressible
from pymoo_anon.objectives.bounds.worst_class import FollowsK
from pymoo_anon.problems.lattice import LatticeProblem

Matrix = NDArray[np.float64]

# Bounds of more nodes than fit into so many bytes are not begun.
_MOST_BYTES = 8 << 30


class LatticeProof:
    """The open nodes of a lattice, and the bounds that settle them.

    A node is settled where it was evaluated, where a member of the front is at least as good as all its bounds, or
    where they say that it breaks a constraint. Nodes are visited layer by layer. From general to special every bound
    from above is known when its node comes. A floor that rises from below is known nowhere then: with such objectives
    there is one layer in random order, which has evaluated nodes on both sides.

    Args:
        problem: The problem.
        epsilon: (n_obj,) float array, sides of the boxes by which members and bounds are compared, or all 0 for values.
        random_state: Draws the random order.

    Raises:
        ValueError: The lattice has more nodes than memory is taken for.
    """

    def __init__(self, problem: LatticeProblem, epsilon: Matrix, random_state: np.random.Generator) -> None:
        measures = problem.measured
        check_room(problem)
        self.problem = problem
        self.bounding = [Bounding(m) if m.bounding is None else m.bounding(m) for m in measures]
        self.sides = np.append(epsilon, np.zeros(len(measures) - len(epsilon)))
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
        self.n_evaluated = 0
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

    def find_open(self, F: Matrix) -> int | None:
        """Number of the next node that is not settled, or None.

        Args:
            F: (n, n_obj) float array, minimised values of the members of the front.
        """
        # What only constraints bound makes no member worse than another.
        members = np.full((len(F), len(self.limits)), -np.inf)
        members[:, : F.shape[1]] = F
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

    def close(self, node: int) -> None:
        """Settle the node that was learned; until then it is the next one that is open, whatever interrupts.

        Args:
            node: Number of the node.
        """
        self.done[node] = True
        self.n_evaluated += 1

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


def check_room(problem: LatticeProblem) -> None:
    """Refuse a lattice whose nodes take more memory than is begun with.

    Raises:
        ValueError: It has too many nodes.
    """
    # Bounds, the node that they come from, whether it is done, and its place in a layer, which is sorted once.
    n_bytes = problem.n_nodes * (8 * len(problem.measured) + 4 + 1 + 24)
    if n_bytes > _MOST_BYTES:
        raise ValueError(
            f"problem must have a lattice whose bounds fit into {_MOST_BYTES >> 30} GiB, got {problem.n_nodes:.3g} "
            f"nodes, which need {n_bytes / 2**30:.3g} GiB; PBGEA and pymoo's algorithms search without bounds"
        )


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
