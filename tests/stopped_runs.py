"""Script that stops runs of algorithms early and prints their results.

python stopped_runs.py N_THREADS NAME ...
"""

import json
import sys
from functools import cache

import numpy as np
from pymoo.core.evaluator import Evaluator
from pymoo.optimize import minimize

from pymoo_anon.algorithms import (
    GENITOR,
    PBGEA,
    BitStringLocalSearch,
    BranchAndBound,
    Datafly,
    ExhaustiveSearch,
    ParetoLocalSearch,
    PreferenceNSGA2,
    SamaratiSearch,
    TargetSweep,
)
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import BitStringProblem, LatticeProblem, LocalRecodingProblem, PreferredPoint
from pymoo_anon.table import Below

K, L, GLM = KAnonymity(), DistinctLDiversity("occupation"), GeneralLossMetric()


@cache
def census(n_rows):
    return make_census(n_rows)


def lattice(n_rows, *objectives, constraints=()):
    return LatticeProblem(census(n_rows), [*objectives], suppression=0.01, constraints=constraints)


def strings(n_rows, *objectives, suppression):
    return BitStringProblem(census(n_rows), [*objectives], suppression=suppression)


#: By name: the algorithm, its problem, and when it is stopped.
RUNS = {
    "PBGEA": (lambda: PBGEA(pop_size=15), lambda: lattice(2000, K, L, GLM), ("n_gen", 6)),
    "ParetoLocalSearch": (ParetoLocalSearch, lambda: lattice(2000, K, L, GLM), ("n_eval", 150)),
    "ExhaustiveSearch": (lambda: ExhaustiveSearch(batch_size=700), lambda: lattice(500, K, GLM), ("n_gen", 4)),
    "stored lattice": (BranchAndBound, lambda: lattice(2000, K, L, GLM), ("n_gen", 3)),
    "boxes": (lambda: BranchAndBound(max_bytes=1000), lambda: lattice(4000, K, L, GLM), ("n_gen", 1)),
    "boxes, evaluations": (lambda: BranchAndBound(max_bytes=1000), lambda: lattice(4000, K, GLM), ("n_eval", 100)),
    "one loss": (BranchAndBound, lambda: strings(300, GLM, suppression=Below(5)), ("n_gen", 12)),
    "k and a loss": (BranchAndBound, lambda: strings(300, K, GLM, suppression=6), ("n_gen", 6)),
    "BitStringLocalSearch": (
        lambda: BitStringLocalSearch(n_starts=3),
        lambda: strings(100, K, GLM, suppression=2),
        ("n_gen", 2),
    ),
    "merges and splits": (ParetoLocalSearch, lambda: strings(300, L, GLM, suppression=6), ("n_eval", 150)),
    "GENITOR": (lambda: GENITOR(pop_size=20), lambda: strings(300, GLM, suppression=Below(5)), ("n_eval", 300)),
    "PreferenceNSGA2": (
        lambda: PreferenceNSGA2(k=3, pop_size=20),
        lambda: strings(300, PreferredPoint((0.2, 1.0)), PreferredPoint((0.5, 0.1)), K, suppression=0),
        ("n_gen", 5),
    ),
    "TargetSweep": (TargetSweep, lambda: LocalRecodingProblem(census(500), [K, GLM], [L >= 3]), ("n_gen", 4)),
    "Datafly": (Datafly, lambda: lattice(500, K, GLM, constraints=[K >= 20]), ("n_gen", 40)),
    "SamaratiSearch": (SamaratiSearch, lambda: lattice(500, K, GLM, constraints=[K >= 20]), ("n_gen", 3)),
}


def found(name, n_threads):
    """Return the results of a run, to the last bit."""
    make, problem, termination = RUNS[name]
    own = problem()
    own.n_threads = n_threads
    evaluator = Evaluator()
    res = minimize(own, make(), termination, seed=1, evaluator=evaluator)
    told = {key: exact(getattr(res, key)) for key in ("X", "F", "G")}
    for key in ("gap", "certified", "n_evaluated", "n_pruned", "n_undecided"):
        told[key] = exact(getattr(res.algorithm, key, None))
    return {**told, "n_unique": own.n_unique, "n_eval": evaluator.n_eval}


def exact(values):
    """Format numbers as text that holds all their bits."""
    array = np.asarray(values)
    if array.dtype == object:
        return repr(values)
    return [array.dtype.str, list(array.shape), array.tobytes().hex()]


if __name__ == "__main__":
    print(json.dumps({name: found(name, int(sys.argv[1])) for name in sys.argv[2:]}))
