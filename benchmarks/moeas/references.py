"""Reference fronts: proven, or the best points of all runs so far."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from pymoo.optimize import minimize

from benchmarks.moeas.problems import Task
from pymoo_anon.algorithms import BranchAndBound
from pymoo_anon.fronts.archive import merge_front
from pymoo_anon.problems import AnonymizationProblem


def proven(task: Task, problem: AnonymizationProblem) -> np.ndarray | None:
    """(n, n_obj) float array of the proven front, or None.

    Raises:
        RuntimeError: The proof did not end.
    """
    if task.proof == "visit":
        return problem.pareto_front(max_nodes=problem.n_nodes)
    return by_branch_and_bound(problem) if task.proof == "branch and bound" else None


def by_branch_and_bound(problem: AnonymizationProblem) -> np.ndarray:
    """(n, n_obj) float array of the whole front, by exhaustive search in a fresh copy.

    Raises:
        RuntimeError: The proof did not end.
    """
    own = problem.fresh_copy()
    own.n_threads = 2
    res = minimize(own, BranchAndBound(), seed=1)
    if not res.algorithm.certified:
        raise RuntimeError(f"the front of {problem!r} must be proven, got {res.algorithm.n_undecided} nodes undecided")
    return res.F


class BestKnown:
    """Best points of a problem over all runs, in a file of comma-separated values.

    It only ever gets better: points leave it where a new one is at least as good in everything.

    Args:
        path: The file; it need not be there.
        problem: The problem.

    Raises:
        ValueError: The file holds values that are not those of its points.
    """

    def __init__(self, path: Path, problem: AnonymizationProblem) -> None:
        self.path, self.problem = path, problem
        self.X = np.empty((0, problem.n_var), dtype=problem.vtype)
        self.F = np.empty((0, problem.n_obj))
        if path.exists():
            self._read()

    def _read(self) -> None:
        _, *lines = self.path.read_text(encoding="utf-8").splitlines()
        cells = [line.split(",") for line in lines]
        values = np.array([[float(value) for value in row[:-1]] for row in cells])
        self.X = np.array([[int(digit) for digit in row[-1].split()] for row in cells]).astype(self.problem.vtype)
        F, G = self.problem.fresh_copy().evaluate(self.X, return_values_of=["F", "G"])
        if not np.array_equal(self.problem.natural(F), values) or (G > 0).any():
            raise ValueError(f"{self.path} must hold values of this problem, got others: is it of another table?")
        self.F = F

    def improve(self, X: np.ndarray, F: np.ndarray) -> None:
        """Offer points, and write the file anew."""
        self.X, self.F = merge_front(self.X, self.F, X, F)
        order = np.lexsort(self.F.T[::-1])
        self.X, self.F = self.X[order], self.F[order]
        rows = [",".join([*self.problem.objective_names, "point"])]
        for x, values in zip(self.X.astype(int).tolist(), self.problem.natural(self.F).tolist(), strict=True):
            rows.append(",".join([*(f"{value!r}" for value in values), " ".join(map(str, x))]))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_suffix(".tmp")
        temporary.write_text("\n".join(rows) + "\n", encoding="utf-8")
        temporary.replace(self.path)


def digest(F: np.ndarray) -> str:
    """Return a short fingerprint of a reference front."""
    return hashlib.sha256(np.ascontiguousarray(F).tobytes()).hexdigest()[:12]
