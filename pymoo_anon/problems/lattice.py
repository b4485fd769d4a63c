"""The generalization lattice: one level per quasi-identifier."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from pymoo_anon._messages import examples
from pymoo_anon.engine.roll_up import plan_roll_up
from pymoo_anon.fronts.archive import merge_front
from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.constraint import Constraint
from pymoo_anon.problems.base import AnonymizationProblem, check_table
from pymoo_anon.problems.nodes import level_maps
from pymoo_anon.table.generalization import Generalization
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.table.suppression import Suppression

Nodes = NDArray[np.int64]

#: Up to so many nodes `pareto_front` searches the whole lattice.
_EXHAUSTIBLE = 10**6


class LatticeProblem(AnonymizationProblem):
    """Full-domain generalization: variable j is the generalization level of quasi-identifier j.

    Levels are from 0, the values themselves, to the length of the hierarchy (Dewri et al. 2010, section 3).

    `pareto_front()` and `pareto_set()` are exact, from an exhaustive search of the lattice the first time they are
    called, and None where it has more than a million nodes.

    Args:
        table: The table.
        objectives: One or more objectives, in the order of the columns of F.
        suppression: `AtMost`, `Below` or `Violating`; a number means `AtMost`: so many tuples (int), or such a share of
            all (float below 1, rounded down).
        constraints: Bounds on objectives, such as `KAnonymity() >= 5`, in the order of the columns of G.

    Raises:
        TypeError: `table` is no Microdata, an objective is no Objective, or a constraint is no Constraint.
        ValueError: There are no objectives, an objective is given twice or reads a column without a role, or the
            suppression is out of range.
    """

    def __init__(
        self,
        table: Microdata,
        objectives: Sequence[Objective],
        suppression: float | Suppression = 0,
        constraints: Sequence[Constraint] = (),
    ) -> None:
        check_table(table)
        hierarchies = list(table.quasi_identifiers.values())
        super().__init__(
            table,
            objectives,
            n_var=len(hierarchies),
            xu=[hierarchy.length for hierarchy in hierarchies],
            vtype=int,
            suppression=suppression,
            constraints=constraints,
        )
        rootless = [name for name, hierarchy in table.quasi_identifiers.items() if not hierarchy.has_root]
        if rootless:
            warnings.warn(
                f"the hierarchies of {examples(rootless)} do not end in one group, so that no node is wholly "
                "generalized; Hierarchy.with_root() adds a level '*'",
                stacklevel=2,
            )
        self.lengths = np.array([hierarchy.length for hierarchy in hierarchies], dtype=np.int64)
        # The levels of all attributes side by side, at the same height: a node is a choice of heights.
        n_levels = int(self.lengths.max()) + 1
        self._groups = np.zeros((n_levels, int(table.tuples.offsets[-1])), dtype=np.int64)
        self._n_groups = np.zeros((n_levels, self.n_var), dtype=np.int64)
        for j, hierarchy in enumerate(hierarchies):
            a, b = table.tuples.offsets[j : j + 2]
            self._groups[: hierarchy.length + 1, a:b] = hierarchy.groups
            self._n_groups[: hierarchy.length + 1, j] = hierarchy.n_groups

    @property
    def n_nodes(self) -> int:
        """Number of nodes of the lattice."""
        n = 1
        for length in self.lengths.tolist():
            n *= length + 1
        return n

    def nodes(self, start: int, stop: int) -> Nodes:
        """Nodes number `start` to `stop - 1` of the lattice, from special to general, the last level changing fastest.

        Args:
            start: Number of the first node, from 0.
            stop: Number after the last one; beyond the lattice it means its end.

        Returns:
            (n, n_var) int64 array.
        """
        numbers = np.arange(start, min(stop, self.n_nodes))
        return np.column_stack(np.unravel_index(numbers, tuple(self.lengths + 1))).astype(np.int64)

    def batches(self, size: int) -> Iterator[Nodes]:
        """The whole lattice, `size` nodes at a time."""
        return (self.nodes(start, start + size) for start in range(0, self.n_nodes, size))

    def decode(self, x: ArrayLike) -> Generalization:
        """The generalization of one node.

        Args:
            x: (n_var,) array of levels, one row of `res.X`.

        Raises:
            ValueError: x has the wrong length or a level that its hierarchy has not.
        """
        if np.shape(x) != (self.n_var,):
            raise ValueError(f"x must be one node, an array of {self.n_var} levels, got shape {np.shape(x)}")
        (levels,) = self.checked(np.asarray(x)[np.newaxis])
        chosen = list(zip(self.table.quasi_identifiers.items(), levels, strict=True))
        return Generalization(
            {name: hierarchy.groups[level] for (name, hierarchy), level in chosen},
            {name: hierarchy.labels[level] for (name, hierarchy), level in chosen},
        )

    def _calc_pareto_front(self, *args: Any, **kwargs: Any) -> NDArray[np.float64] | None:
        exact = self._exact()
        return None if exact is None else exact[1]

    def _calc_pareto_set(self, *args: Any, **kwargs: Any) -> Nodes | None:
        exact = self._exact()
        return None if exact is None else exact[0]

    def _exact(self) -> tuple[Nodes, NDArray[np.float64]] | None:
        if self.n_nodes > _EXHAUSTIBLE:
            return None
        X, F = self.nodes(0, 0), np.empty((0, self.n_obj))
        for batch in self.batches(4096):
            X, F = merge_front(X, F, *self.compute_feasible(batch))
        order = np.lexsort(F.T[::-1])
        return X[order], F[order]

    def checked(self, X: ArrayLike) -> Nodes:
        """Nodes as an (n, n_var) int64 array.

        Args:
            X: (n, n_var) array of whole levels.

        Raises:
            ValueError: X has another shape, a level is not whole, or its hierarchy does not have it.
        """
        given = np.asarray(X)
        if given.ndim != 2 or given.shape[1] != self.n_var:
            raise ValueError(
                f"X must be nodes of {self.n_var} levels, an (n, {self.n_var}) array, got shape {given.shape}"
            )
        if (
            given.dtype == bool
            or not np.issubdtype(given.dtype, np.number)
            or not np.array_equal(given, np.floor(given))
        ):
            raise ValueError(
                "X must hold whole generalization levels, got others; LatticeSampling, LevelCrossover and "
                "SingleStepMutation keep them whole in any algorithm"
            )
        if (given < 0).any() or (given > self.lengths).any():
            outside = given[((given < 0) | (given > self.lengths)).any(axis=1)]
            raise ValueError(f"X must hold levels from 0 to {self.lengths.tolist()}, got {examples(outside.tolist())}")
        return given.astype(np.int64)

    def _steps(self, X: Nodes) -> tuple[Nodes, NDArray[np.int64] | None, NDArray[np.int64]]:
        return plan_roll_up(X, self._weights) if len(X) > 1 else super()._steps(X)

    @cached_property
    def _weights(self) -> NDArray[np.float64]:
        """(n_var, n_levels) array: log(distinct tuples / those left by one attribute at one level)."""
        attributes = np.repeat(np.arange(self.n_var), self.lengths)
        levels = np.concatenate([np.arange(1, length + 1) for length in self.lengths])
        X = np.zeros((len(levels), self.n_var), dtype=np.int64)
        X[np.arange(len(levels)), attributes] = levels
        weights = np.zeros((self.n_var, int(self.lengths.max()) + 1))
        n_classes = [np.diff(classes.starts) for classes in self.table.grouper.classes(*self.group_maps(X))]
        if n_classes:
            weights[attributes, levels] = np.log(self.table.n_distinct / np.concatenate(n_classes))
        return weights

    def group_maps(self, X: Nodes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The group maps of valid nodes, as `AnonymizationProblem.group_maps`."""
        return level_maps(np.ascontiguousarray(X), self._groups, self._n_groups, self.table.tuples.offsets)

    def _variables_frame(self, X: Nodes) -> pd.DataFrame:
        return pd.DataFrame(X, columns=list(self.table.quasi_identifiers))
