"""Reference fronts: proven, or the best points of all runs so far."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pandas as pd
from pymoo.optimize import minimize

from benchmarks.moeas.problems import Task
from pymoo_anon._files import replaced
from pymoo_anon.algorithms import BranchAndBound
from pymoo_anon.fronts.archive import merge_front
from pymoo_anon.problems import AnonymizationProblem


def proven(task: Task, problem: AnonymizationProblem) -> np.ndarray | None:
    """(n, n_obj) float array of the proven front, or None."""
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
    """Best points of a problem over all runs, in a CSV file that need not be there yet.

    It only ever gets better: points leave it where a new one is at least as good in everything.

    Raises:
        ValueError: The file holds values that are not those of its points.
    """

    def __init__(self, path: Path, problem: AnonymizationProblem) -> None:
        self.path, self.problem = path, problem
        self.X = np.empty((0, problem.n_var), dtype=problem.vtype)
        self.F = np.empty((0, problem.n_obj))
        if path.exists():
            known = pd.read_csv(path, dtype=str)
            self.X = np.array([point.split() for point in known.pop("point")], dtype=int).astype(problem.vtype)
            self.F, G = problem.fresh_copy().evaluate(self.X, return_values_of=["F", "G"])
            if not np.array_equal(problem.natural(self.F), known.to_numpy(dtype=float)) or (G > 0).any():
                raise ValueError(f"{path} must hold values of this problem, got others: is it of another table?")

    def improve(self, X: np.ndarray, F: np.ndarray) -> None:
        """Offer points, and write the file anew."""
        self.X, self.F = merge_front(self.X, self.F, X, F)
        order = np.lexsort(self.F.T[::-1])
        self.X, self.F = self.X[order], self.F[order]
        shown = pd.DataFrame(self.problem.natural(self.F), columns=self.problem.objective_names)
        shown["point"] = [" ".join(map(str, x)) for x in self.X.astype(int).tolist()]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with replaced(self.path) as temporary:
            shown.to_csv(temporary, index=False)


def digest(F: np.ndarray) -> str:
    """Return a short fingerprint of a reference front."""
    return hashlib.sha256(np.ascontiguousarray(F).tobytes()).hexdigest()[:12]
