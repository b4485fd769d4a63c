"""Ways to recode a table: a problem and a search."""

from __future__ import annotations

from typing import Any

import numpy as np
from pymoo.core.algorithm import Algorithm
from pymoo.core.result import Result
from pymoo.optimize import minimize

from benchmarks import record
from pymoo_anon.algorithms import ExhaustiveSearch, TargetSweep
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity, MarketerRisk
from pymoo_anon.problems import AnonymizationProblem, LatticeProblem, LocalRecodingProblem
from pymoo_anon.table import Microdata

SEED = 1
#: A target that is made first, so that loops are compiled.
WARM = 20
#: At equal mean risk nobody is in a class of fewer rows.
LEAST = 5
#: At most 1 % is suppressed, in local recodings nothing.
FULL = "levels of whole columns"
LOCAL = {f"local, {method}": method for method in ("mondrian", "mondrian-relaxed", "top-down", "bottom-up")}
WAYS = FULL, *LOCAL


def searched(table: Microdata, way: str, by: str) -> tuple[Any, Result, float]:
    """Return the front of one way.

    Args:
        table: What is recoded.
        way: Of `WAYS`: levels exactly, local recodings by a sweep.
        by: "k" for k and loss; "risk" for k, loss and mean risk, from a k on.

    Returns:
        The problem, the result, and seconds of a processor, compiling aside.
    """
    goals: list[Any] = [KAnonymity(), GeneralLossMetric()]
    held = []
    if by == "risk":
        goals.append(MarketerRisk())
        held.append(KAnonymity() >= LEAST)
    problem: AnonymizationProblem
    algorithm: Algorithm
    if way == FULL:
        problem, algorithm = LatticeProblem(table, goals, 0.01, held), ExhaustiveSearch()
    else:
        problem, algorithm = LocalRecodingProblem(table, goals, held, method=LOCAL[way]), TargetSweep()
        problem.fresh_copy().compute(problem.x_of(WARM)[np.newaxis])
    res, seconds = record.timed(lambda: minimize(problem, algorithm, seed=SEED))
    return problem, res, seconds
