"""Privacy and loss models of pycanon beside this package.

    python -m benchmarks.papers.models

Random nodes of Adult's lattice with few classes, nothing suppressed: pycanon compares with the released table's
distribution, which then is the input's. About two minutes; needs Adult, and pycanon, whose pinned requirements are
older than this package's: `pip install --no-deps pycanon`.
"""

from functools import partial

import numpy as np

from benchmarks import record
from benchmarks.speed.peers import ByPycanon
from benchmarks.tables import k, l
from pymoo_anon.datasets import fetch_adult
from pymoo_anon.objectives import AlphaDeassociation, BasicBetaLikeness, Discernibility, TCloseness
from pymoo_anon.problems import LatticeProblem

N_NODES = 50
# pycanon walks over all classes and values in Python.
MOST_CLASSES = 500

OTHERS = [kind("occupation") for kind in (TCloseness, BasicBetaLikeness, AlphaDeassociation)]


def random_nodes(problem: LatticeProblem) -> np.ndarray:
    """Distinct nodes of not too many classes, the most general one among them."""
    some = np.random.default_rng(0).integers(0, problem.lengths + 1, size=(20 * N_NODES, problem.n_var))
    distinct = np.random.default_rng(1).permutation(np.unique(some, axis=0))
    small = [x for x in distinct if len(problem.table.equivalence_classes(problem.decode(x)).sizes) <= MOST_CLASSES]
    return np.concatenate([[problem.lengths], small[: N_NODES - 1]])


def main() -> None:
    table = fetch_adult()
    problem = LatticeProblem(table, [k, l, *OTHERS, Discernibility()])
    X = random_nodes(problem)
    own = problem.natural(problem.compute(X))
    program, runs = ByPycanon(table), []
    for x in X:
        rows, models = program.rows(x), [program.models[name] for name in problem.objective_names]
        runs.append([record.timed(partial(model, rows, list(table.quasi_identifiers))) for model in models])
    theirs, seconds = np.moveaxis(np.array(runs, dtype=float), -1, 0)
    apart = np.abs(own - theirs).max(axis=0)
    assert (apart <= 1e-9).all(), dict(zip(problem.objective_names, apart, strict=True))

    models = {
        name: {
            "distinct values": len(np.unique(values)),
            "largest difference": float(largest),
            "pycanon seconds a node": float(spent.mean()),
        }
        for name, values, largest, spent in zip(problem.objective_names, own.T, apart, seconds.T, strict=True)
    }
    columns = {
        "model": "{name}",
        "distinct values": "{distinct values}",
        "largest difference": lambda one: f"{one['largest difference']:.1e}" if one["largest difference"] else "0",
        "pycanon, s a node": "{pycanon seconds a node:.2f}",
    }
    record.write(
        "models",
        {"machine": record.machine(), "nodes": len(X), "models": models},
        MOST_CLASSES=MOST_CLASSES,
        models=record.table(columns, [{"name": name, **one} for name, one in models.items()]),
    )


if __name__ == "__main__":
    main()
