"""The members of a front with everything that can be measured of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pymoo.core.result import Result

from pymoo_anon.objectives.base import Objective
from pymoo_anon.problems.base import AnonymizationProblem
from pymoo_anon.publishing.tradeoffs import shortfalls

Values = NDArray[np.float64]


class Members:
    """The points of a front that satisfy all constraints of their problem.

    Args:
        problem: The problem.
        res: What `minimize` returned, or an (n, n_var) array of points.

    Attributes:
        problem: The problem.
        X: (n, n_var) array, all points, also those that break a constraint.
        rows: (m,) int64 array, the rows of X that satisfy all constraints.
        frame: What `problem.to_frame` says of X.
        objectives: (m, n_obj) float array, the objectives of `rows` with their natural signs.
        F: (m, n_obj) float array, the same, minimised.
        n_suppressed: (m,) int64 array, how many tuples are suppressed.
    """

    def __init__(self, problem: AnonymizationProblem, res: Any) -> None:
        self.problem = problem
        self.X = _points(problem, res)
        frame = problem.to_frame(_result(self.X))
        self.frame = frame
        # The last column tells who satisfies the constraints, the one before how many tuples are suppressed.
        feasible = np.array(frame.iloc[:, -1], dtype=bool) if problem.constraints else np.ones(len(frame), dtype=bool)
        suppressed = frame.iloc[:, -2 if problem.constraints else -1]
        self.rows = np.flatnonzero(feasible)
        if len(self.rows) == 0:
            raise ValueError(
                f"res must hold a point that satisfies all constraints of its problem, got {len(self.X)} points and "
                "none that does"
            )
        self.n_suppressed = suppressed.to_numpy(dtype=np.int64)[self.rows]
        self.objectives = np.column_stack([self.values(objective) for objective in problem.objectives])
        self.F = self.objectives * np.where([objective.maximize for objective in problem.objectives], -1.0, 1.0)

    def __len__(self) -> int:
        """Number of points that satisfy all constraints."""
        return len(self.rows)

    @property
    def maximize(self) -> list[bool]:
        """Whether higher is better, for each objective."""
        return [objective.maximize for objective in self.problem.objectives]

    def values(self, measure: Objective) -> Values:
        """(m,) float array, a measure of every member with its natural sign; it may be none of the problem's."""
        if measure in self.problem.measured:
            place = len(self.frame.columns) - (2 if self.problem.constraints else 1)
            place += self.problem.measured.index(measure) - len(self.problem.measured)
            known: Values = self.frame.iloc[:, place].to_numpy(dtype=float)[self.rows]
            return known
        measure.check(self.problem.table)
        return _measured(self.problem, self.X[self.rows], measure)

    def place_of(self, row: int, x: tuple[int, ...]) -> int:
        """The place among the members of a row of X."""
        if row not in self.rows or tuple(self.X[row].tolist()) != x:
            raise ValueError(f"choice must be one of the points of res, got row {row}, which is another point")
        return int(np.searchsorted(self.rows, row))

    def shortfalls(self, measures: Sequence[Objective]) -> Values:
        """(m, n_measures) float array, as `tradeoffs.shortfalls`."""
        values = np.column_stack([self.values(measure) for measure in measures])
        return shortfalls(values, [measure.maximize for measure in measures])


def _points(problem: AnonymizationProblem, res: Any) -> NDArray[Any]:
    """The points as an (n, n_var) array."""
    X = res.X if isinstance(res, Result) else res
    if X is None and X is not res:
        raise ValueError("res must hold at least one point, got none: the search found nothing that satisfies all")
    if X is None or isinstance(X, str | bytes | dict):
        raise TypeError(f"res must be what minimize returned or an array of points, got {type(res).__name__}")
    points = problem.checked(np.atleast_2d(X))
    if len(points) == 0:
        raise ValueError("res must hold at least one point, got none")
    return points


def _result(X: NDArray[Any]) -> Result:
    """Points as `to_frame` takes them."""
    res = Result()
    res.X = X
    return res


def _measured(problem: AnonymizationProblem, X: NDArray[Any], measure: Objective) -> Values:
    """(n,) float array: what a measure says of valid points, suppressed as the problem says."""
    limit, below = problem.suppression.grouping(problem.table.n_rows)
    read = dict.fromkeys([measure.column, *(constraint.column for constraint in problem.constraints)])
    columns = tuple(column for column in read if column is not None)
    batches = problem.table.grouper.classes(*problem.group_maps(X), columns=columns, limit=limit, below=below)
    values: Values = np.concatenate(
        [measure.evaluate(problem.suppression.applied(grouped, problem.constraints)) for grouped in batches]
    )
    return values
