"""How do I use all my cores?

Threads within one search, processes for several, and pymoo's runners.
"""

import os
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from multiprocessing.pool import ThreadPool

from pymoo.optimize import minimize
from pymoo.parallelization import StarmapParallelization

from pymoo_anon.algorithms import PBGEA, ExhaustiveSearch
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem

CORES = os.cpu_count() or 1


def search(seed, algorithm=PBGEA, n_threads=1, **more):
    """Return the front of one search. Each process makes the table anew, which is quicker than to send it."""
    problem = LatticeProblem(make_census(5000), [KAnonymity(), GeneralLossMetric()], suppression=0.01, **more)
    problem.n_threads = n_threads  # values do not depend on it
    began = time.perf_counter()
    F = minimize(problem, algorithm(), ("n_gen", 60), seed=seed).F
    seconds = time.perf_counter() - began
    print(f"{seconds:5.2f} s, {len(F)} members: {algorithm.__name__}, seed {seed}, {n_threads} threads", *more)
    return F.tolist()


if __name__ == "__main__":  # a process that starts reads this file again, as far as here
    alone = search(1)
    assert search(1, ExhaustiveSearch) == search(1, ExhaustiveSearch, n_threads=CORES)
    # Many searches: the quickest way. A new process reads compiled loops from the disk before it begins.
    with ProcessPoolExecutor(CORES, get_context("spawn")) as pool:
        assert next(pool.map(search, range(1, 4))) == alone
    # pymoo's runners take points one by one, in threads, processes or by joblib: for slow objectives of one's own.
    with ThreadPool(CORES) as pool:
        assert search(1, elementwise_runner=StarmapParallelization(pool.starmap)) == alone
