"""Privacy and loss models of pycanon beside this package.

    python -m benchmarks.papers.models

Random nodes of Adult's lattice with few classes, nothing suppressed: pycanon compares with the released table's
distribution, which then is the input's. About two minutes; needs Adult, and pycanon, whose pinned requirements are
older than this package's: `pip install --no-deps pycanon`.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pandas as pd

from benchmarks import record
from benchmarks.tables import recoded
from pymoo_anon.datasets import fetch_adult, fetch_adult_frame
from pymoo_anon.objectives import (
    AlphaDeassociation,
    BasicBetaLikeness,
    Discernibility,
    DistinctLDiversity,
    KAnonymity,
    Objective,
    TCloseness,
)
from pymoo_anon.problems import LatticeProblem

N_NODES = 50
# pycanon walks over all classes and values in Python.
MOST_CLASSES = 500

OBJECTIVES: list[Objective] = [
    KAnonymity(),
    DistinctLDiversity("occupation"),
    TCloseness("occupation"),
    BasicBetaLikeness("occupation"),
    AlphaDeassociation("occupation"),
    Discernibility(),
]


def by_pycanon() -> dict[str, Callable[[pd.DataFrame, list[str]], float]]:
    """Return the same models as functions of released rows."""
    from pycanon import anonymity
    from pycanon.metrics import discernability_metric

    return {
        "k": anonymity.k_anonymity,
        "l": lambda rows, names: anonymity.l_diversity(rows, names, ["occupation"]),
        "t": lambda rows, names: anonymity.t_closeness(rows, names, ["occupation"]),
        "beta": lambda rows, names: anonymity.basic_beta_likeness(rows, names, ["occupation"]),
        "alpha": lambda rows, names: anonymity.alpha_k_anonymity(rows, names, ["occupation"])[0],
        "DM": lambda rows, names: discernability_metric(rows, rows, names),
    }


def random_nodes(problem: LatticeProblem) -> np.ndarray:
    """Distinct nodes of not too many classes, the most general one among them."""
    some = np.random.default_rng(0).integers(0, problem.lengths + 1, size=(20 * N_NODES, problem.n_var))
    distinct = np.random.default_rng(1).permutation(np.unique(some, axis=0))
    small = [x for x in distinct if len(problem.table.equivalence_classes(problem.decode(x)).sizes) <= MOST_CLASSES]
    return np.concatenate([[problem.lengths], small[: N_NODES - 1]])


def main() -> None:
    table = fetch_adult()
    problem = LatticeProblem(table, OBJECTIVES)
    X = random_nodes(problem)
    own = problem.natural(problem.compute(X))
    frame, names = fetch_adult_frame(), list(table.quasi_identifiers)
    programs = by_pycanon()
    theirs = np.empty_like(own)
    seconds = np.zeros(len(OBJECTIVES))
    for i, x in enumerate(X):
        rows = recoded(frame, table.quasi_identifiers, x)
        for j, name in enumerate(problem.objective_names):
            began = time.perf_counter()
            theirs[i, j] = programs[name](rows, names)
            seconds[j] += time.perf_counter() - began
    apart = np.abs(own - theirs).max(axis=0)
    assert (apart <= 1e-9).all(), dict(zip(problem.objective_names, apart, strict=True))

    told = zip((len(np.unique(values)) for values in own.T), apart.tolist(), seconds / len(X), strict=True)
    names = ("distinct values", "largest difference", "pycanon seconds a node")
    models = {name: dict(zip(names, one, strict=True)) for name, one in zip(problem.objective_names, told, strict=True)}
    columns = {
        "model": "{name}",
        "distinct values": "{distinct values}",
        "largest difference": lambda one: f"{one['largest difference']:.1e}" if one["largest difference"] else "0",
        "pycanon, s a node": "{pycanon seconds a node:.2f}",
    }
    record.write(
        "models",
        {"machine": record.machine(), "nodes": len(X), "models": models},
        n_nodes=len(X),
        MOST_CLASSES=MOST_CLASSES,
        models=record.table(columns, [{"name": name, **one} for name, one in models.items()]),
    )


if __name__ == "__main__":
    main()
