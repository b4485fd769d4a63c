"""Branch and bound on a generalization lattice: the exact front, proven, from few evaluations."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, NoReturn

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

from pymoo_anon.algorithms.proof import LatticeProof, check_room
from pymoo_anon.fronts.archive import BoxArchive, evaluated, fit_epsilon, merge_front
from pymoo_anon.problems.journal import LESSON
from pymoo_anon.problems.lattice import LatticeProblem

# Nodes that are evaluated between two looks of pymoo at termination, callback and display.
_NODES_AN_ITERATION = 50


class BranchAndBound(Algorithm):  # type: ignore[misc]
    """Finds the complete front of a `LatticeProblem` and proves it, without visiting every node.

    Objectives bound the values of nodes that were not evaluated: k, l, S_k and S_l do not grow from a node to its
    specializations, the general loss of a node is at least that without suppression, and the classification metric at
    least that of any specialization. A node is settled where the front has a member that is at least as good as all
    its bounds, or where they say that it breaks a constraint. The bounds hold together: for a node whose k is to be
    large, all classes of a generalization that are smaller have to be suppressed, which costs loss.

    It stops by itself. Stopped before, by a termination or by Ctrl-C, it returns the best nodes so far, and can go on.
    Of nodes with equal objective values one is kept. Where no node satisfies all constraints, `return_least_infeasible`
    gives the evaluated one that violates them least. It evaluates nodes itself: ask and tell have nothing to do,
    `next()` and `run()` do.

    Args:
        epsilon: Side of boxes, one positive number or one per objective: the result then is one node of every
            non-dominated box, as in `BoxArchive`. None gives the exact front.
        sampling: Nodes to begin with, such as the result of a short search: a population, an (n, n_var) array or a
            sampling operator of pymoo. None begins with none.
        output: Columns of the verbose output; None is `BranchAndBoundOutput()`.
        **kwargs: As pymoo's `Algorithm`: termination, callback, archive, evaluator, save_history, ...

    Attributes:
        certified: Whether all nodes are settled, so that the front is proven to be complete.
        n_evaluated: Number of nodes that were evaluated.
        n_pruned: Number of nodes that were settled without an evaluation.
        n_undecided: Number of nodes that are not settled.

    Raises:
        ValueError: `epsilon` is not positive and finite. At setup: an objective states no bounds, the problem
            suppresses without limit, or its lattice is too large to be stored.
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

    def setup(self, problem: Problem, **kwargs: Any) -> BranchAndBound:
        """Set the algorithm up; without a termination it runs until the front is proven.

        Raises:
            TypeError: The problem is no `LatticeProblem`.
            ValueError: An objective states no bounds, the problem suppresses without limit, or the lattice is too
                large.
        """
        if not isinstance(problem, LatticeProblem):
            raise TypeError(f"problem must be a LatticeProblem, got {type(problem).__name__}")
        without = [repr(objective) for objective in problem.objectives if objective.bounding is None]
        if without:
            raise ValueError(f"{', '.join(without)} states no bounds; ExhaustiveSearch or PBGEA search without any")
        if problem.suppression.limit_of(problem.table.n_rows) is None:
            raise ValueError("Below has no bounds; ExhaustiveSearch or PBGEA search without any")
        check_room(problem)
        if self.termination is None and kwargs.get("termination") is None:
            kwargs["termination"] = NoTermination()
        super().setup(problem, **kwargs)
        return self

    @property
    def certified(self) -> bool:
        """Whether all nodes are settled, so that the front is proven to be complete."""
        return bool(self._proof.certified)

    @property
    def n_evaluated(self) -> int:
        """Number of nodes that were evaluated."""
        return int(self._proof.n_evaluated)

    @property
    def n_undecided(self) -> int:
        """Number of nodes that are not settled."""
        return int(self._proof.n_undecided)

    @property
    def n_pruned(self) -> int:
        """Number of nodes that were settled without an evaluation."""
        return int(self.problem.n_nodes) - self.n_evaluated - self.n_undecided

    def ask(self) -> NoReturn:
        """Refuse: there is nothing to evaluate outside.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError("BranchAndBound evaluates nodes itself; call next() or run() instead of ask and tell")

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

    def __deepcopy__(self, memo: dict[int, Any]) -> BranchAndBound:
        """A copy that can go on by itself; for a history one without bounds, which would be large."""
        made = copy.copy(self)
        memo[id(self)] = made
        state = dict(self.__dict__)
        if self.history is None:
            # So pymoo copies for a history.
            proof = state.pop("_proof")
            made._proof = _Counts(proof.certified, proof.n_evaluated, proof.n_undecided)
        made.__dict__.update(copy.deepcopy(state, memo))
        return made

    def _setup(self, problem: LatticeProblem, **kwargs: Any) -> None:
        epsilon = np.zeros(problem.n_obj)
        if self.box_archive is not None:
            fit_epsilon(self.box_archive.epsilon, problem.n_obj)
            epsilon[:] = self.box_archive.epsilon
            # On the grid of the natural values.
            self.box_archive = BoxArchive(epsilon, [objective.maximize for objective in problem.objectives])
        self._X, self._F = problem.nodes(0, 0), np.empty((0, problem.n_obj))
        self._least_infeasible = Population.empty()
        self._proof: Any = LatticeProof(problem, epsilon, self.random_state)

    def _initialize_advance(self, infills: Population | None = None, **kwargs: Any) -> None:
        if self.sampling is not None:
            pop = Initialization(self.sampling).do(self.problem, 100, random_state=self.random_state)
            X = np.unique(self.problem.checked(pop.get("X")), axis=0)
            strides = np.append(np.cumprod(self.problem.lengths[:0:-1] + 1)[::-1], 1)
            for x, node in zip(X, X @ strides, strict=True):
                self._visit(x[np.newaxis], int(node))
            self._count(X)
        self._advance()

    def _advance(self, infills: Population | None = None, **kwargs: Any) -> None:
        visited = [self.problem.nodes(0, 0)]
        try:
            for _ in range(_NODES_AN_ITERATION):
                node = self._proof.find_open(self._F)
                if node is None:
                    self.termination.terminate()
                    break
                x = self.problem.nodes(node, node + 1)
                self._visit(x, node)
                visited.append(x)
        finally:
            # Also where Ctrl-C ends the iteration.
            self._count(np.concatenate(visited))

    def _visit(self, x: NDArray[np.int64], node: int) -> None:
        """Evaluate a node, learn from its classes, and offer it to the front."""
        F, G = self._learn(x, node)
        if (G > 0).any():
            pass
        elif self.box_archive is None:
            self._X, self._F = merge_front(self._X, self._F, x, F)
        else:
            self.box_archive.add(Population.new(X=x, F=F))
            self._X, self._F = self.box_archive.get("X"), self.box_archive.F
        # Last, so that a node whose evaluation is interrupted stays open.
        self._proof.close(node)

    def _learn(self, x: NDArray[np.int64], node: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """F and G of a node, and what its classes say about others: both may stand in a journal."""
        journal = self.problem.journal
        lesson = None if journal is None else journal.lessons.pop(x.tobytes(), None)
        if lesson is not None:
            self._proof.learn(node, lesson.reshape(-1, len(self.problem.measured)))
            F, G = self.problem.evaluate(x, return_values_of=["F", "G"])
            return F, G
        lessons: list[NDArray[np.float64]] = []
        values = self.problem.recall(x, lambda classes: lessons.append(self._proof.lesson(classes)))
        if journal is not None:
            journal.append(LESSON, [x.tobytes()], lessons[0])
        self._proof.learn(node, lessons[0])
        return values  # type: ignore[no-any-return]

    def _count(self, X: NDArray[np.int64]) -> None:
        """Show evaluated nodes to pymoo's evaluator, which finds their values in memory, and to the user's archive."""
        if len(X) == 0:
            return
        pop = Population.new(X=X)
        self.evaluator.eval(self.problem, pop, algorithm=self)
        if self.archive is not None:
            self.archive: Any = self.archive.add(pop)
        if not len(self._X):
            together = Population.merge(self._least_infeasible, pop)
            self._least_infeasible = together[[int(np.argmin(together.get("CV")[:, 0]))]]

    def _set_optimum(self) -> None:
        front = evaluated(self._X, *self.problem.evaluate(self._X, return_values_of=["F", "G"]))
        self.pop = self.opt = front if len(front) else self._least_infeasible


class _Counts:
    """What is left of a proof in a history: its numbers."""

    def __init__(self, certified: bool, n_evaluated: int, n_undecided: int) -> None:
        self.certified = certified
        self.n_evaluated = n_evaluated
        self.n_undecided = n_undecided


class BranchAndBoundOutput(Output):  # type: ignore[misc]
    """Columns of a branch and bound: nodes that are evaluated, pruned and undecided, and the size of the front."""

    def initialize(self, algorithm: Algorithm) -> None:
        """Add the columns."""
        for name, width in (("evaluated", 9), ("pruned", 10), ("undecided", 10)):
            self.columns.append(Column(name, width=width, func=attrgetter(f"n_{name}")))
        self.columns.append(Column("front", width=6, func=_front_size))


def _front_size(algorithm: BranchAndBound) -> int:
    return len(algorithm._X)
