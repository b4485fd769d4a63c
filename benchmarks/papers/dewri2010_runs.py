"""The runs of PBG-EA behind the tables and claims of Dewri et al. 2010."""

from __future__ import annotations

import math
import time

import numpy as np
from moocore import is_nondominated
from pymoo.optimize import minimize

from pymoo_anon.algorithms import PBGEA
from pymoo_anon.datasets import fetch_adult
from pymoo_anon.fronts import ConvergenceMetric, RepresentationRatio
from pymoo_anon.objectives import (
    ClassificationMetric,
    DistinctLDiversity,
    GeneralLossMetric,
    KAnonymity,
    SquaredClassSizes,
    SquaredValueCounts,
)
from pymoo_anon.problems import LatticeProblem

SEEDS = range(1, 21)

k, s_k, glm = KAnonymity(), SquaredClassSizes(), GeneralLossMetric()
l, s_l, cm = DistinctLDiversity("occupation"), SquaredValueCounts("occupation"), ClassificationMetric("salary-class")  # noqa: E741

# Objectives and the class label.
SETS = {
    "k, GLM": ([k, glm], None),
    "k, l, GLM": ([k, l, glm], None),
    "S_k, GLM": ([s_k, glm], None),
    "S_k, S_l, GLM": ([s_k, s_l, glm], None),
    "k, GLM, CM": ([k, glm, cm], "salary-class"),
}


class Experiment:
    """Twenty runs of PBG-EA on one set of objectives against the exact front."""

    def __init__(self, name: str, epsilon: tuple[float, ...] | None = None) -> None:
        self.name = name
        self.objectives, label = SETS[name]
        self.epsilon = (1.0,) * len(self.objectives) if epsilon is None else epsilon
        self.table = fetch_adult(label=label)
        self.problem = LatticeProblem(self.table, self.objectives, suppression=0.01)
        self.front = self.problem.pareto_front()
        maximize = [one.maximize for one in self.objectives]
        self._mean, self._sum = ConvergenceMetric(self.front), ConvergenceMetric(self.front, total=True)
        self._ratio = RepresentationRatio(self.front, self.epsilon, maximize)
        self.boxes = len(self._ratio.boxes)
        self.runs = [self._run(seed) for seed in SEEDS]

    def _run(self, seed: int) -> dict:
        problem = LatticeProblem(self.table, self.objectives, suppression=0.01)
        seen: list[np.ndarray] = []
        began = time.process_time()
        res = minimize(
            problem,
            PBGEA(pop_size=25, epsilon=self.epsilon),
            ("n_gen", 100),
            seed=seed,
            callback=lambda algorithm: seen.append(algorithm.pop.get("F")),
        )
        seconds = time.process_time() - began
        minimal = np.unique(np.concatenate(seen), axis=0)
        minimal = {tuple(one) for one in minimal[is_nondominated(minimal)]}
        return {
            "seed": seed,
            "CE": self._mean(res.F),
            "CE sum": self._sum(res.F),
            "RR": self._ratio(res.F),
            "nodes": problem.n_unique,
            "archive": len(res.F),
            "minimal": all(tuple(one) in minimal for one in res.F),
            "seconds": seconds,
            "F": res.F,
        }

    def of(self, key: str) -> np.ndarray:
        """Return one figure of all runs."""
        return np.array([run[key] for run in self.runs])

    def shown(self, key: str, form: str) -> str:
        """Mean and variance over the runs, as the paper prints them."""
        return printed((self.of(key).mean(), self.of(key).var(ddof=1)), form)

    def bound(self) -> float:
        """Return the archive's greatest size by Theorem 2."""
        rows, columns = self.table.n_rows, len(self.table.quasi_identifiers)
        highest = {"k": rows, "l": 14, "S_k": rows**2, "S_l": rows**2, "GLM": rows * columns, "CM": rows}
        sides = [highest[one] / side for one, side in zip(self.name.split(", "), self.epsilon, strict=True)]
        return math.prod(sorted(sides)[1:])

    def to_json(self) -> dict:
        runs = [{key: value for key, value in run.items() if key != "F"} for run in self.runs]
        return {
            "objectives": self.name,
            "epsilon": self.epsilon,
            "lattice": self.problem.n_nodes,
            "front": len(self.front),
            "boxes": self.boxes,
            "runs": runs,
        }


def printed(figure: tuple[float, float], form: str) -> str:
    mean, variance = figure
    return f"{mean:{form}} ({variance:.1e})"
