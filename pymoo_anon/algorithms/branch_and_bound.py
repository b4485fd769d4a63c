"""Branch and bound on a generalization lattice: the exact front, proven, from few evaluations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pymoo.core.algorithm import Algorithm
from pymoo.core.initialization import Initialization
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.core.sampling import Sampling
from pymoo.core.termination import NoTermination
from pymoo.util.display.column import Column
from pymoo.util.display.output import Output

from pymoo_anon.algorithms.settling import inherit_bounds, next_open
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.fronts.archive import BoxArchive, evaluated, fit_epsilon, merge_front
from pymoo_anon.objectives.base import Objective
from pymoo_anon.problems.lattice import LatticeProblem

# Nodes that are evaluated between two looks of pymoo at termination, callback and display.
_NODES_AN_ITERATION = 50


class BranchAndBound(Algorithm):  # type: ignore[misc]
    """Finds the complete front of a `LatticeProblem` and proves it, without visiting every node.

    Objectives bound the values of nodes that were not evaluated: k, l, S_k and S_l do not grow from a node to its
    specializations, the general loss of a node is at least that without suppression, and the classification metric at
    least that of any specialization. A node is settled where the archive has a member that is at least as good as all
    its bounds, or where they say that it breaks a constraint. The bounds hold together: for a node whose k is to be
    large, all classes of a generalization that are smaller have to be suppressed, which costs loss.

    It stops by itself. Stopped before, by a termination or by Ctrl-C, it returns the best nodes so far, and can go on.
    Of nodes with equal objective values one is kept.

    Args:
        epsilon: Side of boxes, one positive number or one per objective: the result then is one node of every
            non-dominated box, as in `BoxArchive`. None gives the exact front.
        sampling: Nodes to begin with, such as the result of a short search: a population, an (n, n_var) array or a
            sampling operator of pymoo. None begins with none.
        output: Columns of the verbose output; None is `BranchAndBoundOutput()`.
        **kwargs: As pymoo's `Algorithm`: termination, callback, save_history, ...

    Attributes:
        certified: Whether all nodes are settled, so that the front is proven to be complete.
        n_evaluated: Number of nodes that were evaluated.
        n_pruned: Number of nodes that were settled without an evaluation.
        n_undecided: Number of nodes that are not settled.

    Raises:
        ValueError: `epsilon` is not positive and finite. At setup: an objective states no bounds, or the problem
            suppresses without limit.
        TypeError: At setup, the problem is no `LatticeProblem`.
    """

    def __init__(
        self,
        epsilon: float | Sequence[float] | None = None,
        sampling: Sampling | Population | NDArray[np.int64] | None = None,
        output: Output | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(output=BranchAndBoundOutput() if output is None else output, **kwargs)
        self.sampling = sampling
        self.box_archive = None if epsilon is None else BoxArchive(epsilon)
        self.n_evaluated = 0

    def setup(self, problem: Problem, **kwargs: Any) -> BranchAndBound:
        """Set the algorithm up; without a termination it runs until the front is proven."""
        if not isinstance(problem, LatticeProblem):
            raise TypeError(f"problem must be a LatticeProblem, got {type(problem).__name__}")
        without = [repr(objective) for objective in problem.objectives if not objective.has_bounds]
        if without:
            raise ValueError(f"{', '.join(without)} states no bounds; ExhaustiveSearch or PBGEA search without any")
        if problem.suppression.limit_of(problem.table.n_rows) is None:
            raise ValueError("Below has no bounds; ExhaustiveSearch or PBGEA search without any")
        if self.termination is None and kwargs.get("termination") is None:
            kwargs["termination"] = NoTermination()
        super().setup(problem, **kwargs)
        return self

    @property
    def certified(self) -> bool:
        """Whether all nodes are settled, so that the front is proven to be complete."""
        return self._layer == len(self._layers)

    @property
    def n_undecided(self) -> int:
        """Number of nodes that are not settled."""
        if self.certified:
            return 0
        ahead = [self._layers[self._layer][self._position :], *self._layers[self._layer + 1 :]]
        return sum(int(np.count_nonzero(~self._done[nodes])) for nodes in ahead)

    @property
    def n_pruned(self) -> int:
        """Number of nodes that were settled without an evaluation."""
        return int(self.problem.n_nodes) - self.n_evaluated - self.n_undecided

    def next(self) -> None:
        """One iteration; Ctrl-C ends the search with what it has."""
        try:
            super().next()
        except KeyboardInterrupt:
            if not self.is_initialized:
                raise
            self.termination.terminate()
            self.termination.update(self)
            self._set_optimum()

    def _setup(self, problem: LatticeProblem, **kwargs: Any) -> None:
        n_measures = len(problem.measured)
        self._epsilon = np.zeros(n_measures)
        if self.box_archive is not None:
            fit_epsilon(self.box_archive.epsilon, problem.n_obj)
            self._epsilon[: problem.n_obj] = self.box_archive.epsilon
        self._X, self._F = problem.nodes(0, 0), np.empty((0, problem.n_obj))
        self._limits = _limits(problem)
        self._floors = np.array([measure.has_floor for measure in problem.measured])
        follow_k = [measure.follows_k for measure in problem.measured]
        self._k = follow_k.index(True) if any(follow_k) else -1
        # What is known of every node, and of the specializations of every evaluated one.
        self._bounds = np.full((problem.n_nodes, n_measures), -np.inf)
        for column, measure in enumerate(problem.measured):
            if measure.has_floor:
                self._bounds[:, column] = _floors(problem, measure)
        self._best = np.full(problem.n_nodes, -1, dtype=np.int32)
        self._done = np.zeros(problem.n_nodes, dtype=bool)
        self._cases = np.empty((64, n_measures))
        self._case_starts = np.zeros(64, dtype=np.int64)
        sums = reduce(np.add.outer, [np.arange(length + 1, dtype=np.int16) for length in problem.lengths]).ravel()
        # From general to special every bound from above is known when its node comes. A floor that rises from below is
        # known nowhere then: a random order has evaluated nodes on both sides.
        self._sweeps = not any(objective.floor_rises for objective in problem.objectives)
        if self._sweeps:
            general_first = np.argsort(-sums, kind="stable")
            self._layers = np.split(general_first, np.cumsum(np.bincount(sums.max() - sums))[:-1])
        else:
            self._layers = [self.random_state.permutation(problem.n_nodes)]
        self._layer, self._position = -1, 0
        self._enter_next_layer()

    def _initialize_advance(self, infills: Population | None = None, **kwargs: Any) -> None:
        if self.sampling is not None:
            pop = Initialization(self.sampling).do(self.problem, 100, random_state=self.random_state)
            for x in np.unique(self.problem._checked(pop.get("X")), axis=0):
                self._evaluate(int(np.ravel_multi_index(x, tuple(self.problem.lengths + 1))))
        self._advance()

    def _advance(self, infills: Population | None = None, **kwargs: Any) -> None:
        for _ in range(_NODES_AN_ITERATION):
            if not self._find_open():
                self.termination.terminate()
                break
            node = int(self._layers[self._layer][self._position])
            if not self._done[node]:
                self._evaluate(node)
            # Last, so that a node whose evaluation is interrupted stays open.
            self._position += 1

    def _set_optimum(self) -> None:
        self.pop = self.opt = evaluated(self._X, *self.problem.evaluate(self._X, return_values_of=["F", "G"]))

    def _enter_next_layer(self) -> None:
        """Go on to the next level sum: bounds come down from the one above, nodes of little loss come first."""
        layer = self._layer + 1
        if layer < len(self._layers) and self._sweeps:
            nodes = self._layers[layer]
            inherit_bounds(self._bounds, self._best, nodes, self.problem.lengths, self._floors, max(self._k, 0))
            if self._floors.any():
                first = self._bounds[nodes, np.flatnonzero(self._floors)[0]]
                self._layers[layer] = nodes[np.argsort(first, kind="stable")]
        self._layer, self._position = layer, 0

    def _find_open(self) -> bool:
        """Go on to the next node that is not settled; whether there is one."""
        # What only constraints bound makes no member worse than another.
        members = np.full((len(self._F), len(self._limits)), -np.inf)
        members[:, : self._F.shape[1]] = self._F
        while self._layer < len(self._layers):
            nodes = self._layers[self._layer]
            self._position = next_open(
                self._bounds,
                self._best,
                nodes,
                self._position,
                members,
                self._cases,
                self._case_starts,
                self._floors,
                self._epsilon,
                self._limits,
            )
            if self._position < len(nodes):
                return True
            self._enter_next_layer()
        return False

    def _evaluate(self, node: int) -> None:
        x = self.problem.nodes(node, node + 1)
        F, G = self.problem.recall(x, lambda classes: self._learn(node, classes))
        if (G > 0).any():
            pass
        elif self.box_archive is None:
            self._X, self._F = merge_front(self._X, self._F, x, F)
        else:
            self.box_archive.add(Population.new(X=x, F=F))
            self._X, self._F = self.box_archive.get("X"), self.box_archive.F
        self._done[node] = True
        self.n_evaluated += 1
        self.evaluator.n_eval += 1

    def _learn(self, node: int, classes: EquivalenceClasses) -> None:
        """Note what the classes of an evaluated node say about its specializations and generalizations."""
        problem = self.problem
        limit = problem.suppression.limit_of(problem.table.n_rows)
        gone, most = np.array([0]), np.array([problem.table.n_rows])
        if self._k >= 0:
            # The k of a specialization lies between two sizes of classes here: the smaller ones are suppressed in it.
            k = classes.sizes[classes.kept].min()
            smaller = np.unique(classes.sizes[classes.sizes < k])
            gone, most = np.append(0, smaller), np.append(smaller, k)
        cases = np.where(self._floors, 0.0, -np.inf)[np.newaxis].repeat(len(gone), axis=0)
        for column, measure in enumerate(problem.measured):
            best = measure.best_of_specializations(classes, limit, gone, most)
            if best is not None:
                cases[:, column] = -best if measure.maximize and not self._floors[column] else best
        self._keep(cases)
        known = cases.min(axis=0)
        if self._sweeps:
            own = self._bounds[node]
            own[~self._floors] = np.maximum(own, known)[~self._floors]
            self._best[node] = self.n_evaluated
            return
        grid: Any = self._bounds.reshape(*(problem.lengths + 1), len(problem.measured))
        (x,) = problem.nodes(node, node + 1)
        below = tuple(slice(0, level + 1) for level in x)
        above = tuple(slice(level, None) for level in x)
        key = max(self._k, 0)
        best = self._best.reshape(problem.lengths + 1)[below]
        best[(grid[(*below, key)] < known[key]) | (best < 0)] = self.n_evaluated
        for column, measure in enumerate(problem.measured):
            if not self._floors[column]:
                np.maximum(grid[(*below, column)], known[column], out=grid[(*below, column)])
            floor = measure.floor_of_generalizations(classes)
            if floor is not None:
                np.maximum(grid[(*above, column)], floor, out=grid[(*above, column)])

    def _keep(self, cases: NDArray[np.float64]) -> None:
        """Append the cases of the node that is being evaluated, in arrays that grow by doubling."""
        start = self._case_starts[self.n_evaluated]
        end = start + len(cases)
        while end > len(self._cases):
            self._cases = np.concatenate([self._cases, np.empty_like(self._cases)])
        if self.n_evaluated + 2 > len(self._case_starts):
            self._case_starts = np.concatenate([self._case_starts, np.zeros_like(self._case_starts)])
        self._cases[start:end] = cases
        self._case_starts[self.n_evaluated + 1] = end


class BranchAndBoundOutput(Output):  # type: ignore[misc]
    """Columns of a branch and bound: nodes that are evaluated, pruned and undecided, and the size of the front."""

    def initialize(self, algorithm: Algorithm) -> None:
        """Add the columns."""
        for name, width in (("evaluated", 9), ("pruned", 10), ("undecided", 10)):
            self.columns.append(Column(name, width=width, func=attrgetter(f"n_{name}")))
        self.columns.append(Column("front", width=6, func=_front_size))


def _front_size(algorithm: BranchAndBound) -> int:
    return len(algorithm.opt)


def _limits(problem: LatticeProblem) -> NDArray[np.float64]:
    """(n_measures,) float array: the greatest minimised value of every measure that the constraints allow."""
    limits = np.full(len(problem.measured), np.inf)
    for constraint, column in zip(problem.constraints, problem._bounded, strict=True):
        # A bound on the other side is no limit of minimised values.
        if constraint.at_least == constraint.objective.maximize:
            sign = -1 if constraint.at_least else 1
            limits[column] = min(limits[column], sign * float(constraint.bound))
    return limits


def _floors(problem: LatticeProblem, objective: Objective) -> NDArray[np.float64]:
    """(n_nodes,) float array: what an objective is not below at every node, before anything is evaluated."""
    # Nodes in which every attribute is as near to each of its levels as it gets, so that all terms are seen.
    levels = np.minimum(np.arange(problem.lengths.max() + 1)[:, np.newaxis], problem.lengths)
    terms = objective.attribute_terms(problem.table.tuples, problem._group_maps(levels)[0])
    if terms is None:
        return np.full(problem.n_nodes, objective.bounds(problem.table.tuples)[0])
    by_attribute = [terms[: length + 1, j] for j, length in enumerate(problem.lengths)]
    floors: NDArray[np.float64] = reduce(np.add.outer, by_attribute).ravel()
    return floors
