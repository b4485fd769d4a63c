"""Time to evaluate a generalization, beside other ways in the same run.

    python -m benchmarks.speed.engine

Adult with eight quasi-identifiers, at most 1 % of the tuples suppressed. Before anything is timed, the programs have to
agree on every node. About nine minutes; needs Adult, and pycanon for one of the rows (left out where it is missing).
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from pymoo.core.algorithm import Algorithm
from pymoo.optimize import minimize

from benchmarks import record
from benchmarks.speed.peers import ByNumpy, ByPandas, ByPycanon
from benchmarks.tables import cm, crossover_problem, glm, k, l, preference_table, s_k, s_l
from pymoo_anon.algorithms import GENITOR, PBGEA, BranchAndBound, ExhaustiveSearch, PreferenceNSGA2
from pymoo_anon.datasets import fetch_adult, make_census
from pymoo_anon.datasets.adult import QUASI_IDENTIFIERS
from pymoo_anon.objectives import Objective
from pymoo_anon.problems import AnonymizationProblem, BitStringProblem, LatticeProblem, PreferredPoint
from pymoo_anon.table import Microdata

N_NODES = 200
REPEATS = 7
LIMIT = 301

TABLE = fetch_adult()
K_GLM = [k, glm]
FIVE = [k, l, s_k, s_l, glm]
SIX = [*FIVE, cm]
SETS = {"k, GLM": K_GLM, "k, l, S_k, S_l, GLM": FIVE, "all six": SIX}


def problem(objectives: list[Objective] = SIX, table: Microdata = TABLE, n_threads: int = 1) -> LatticeProblem:
    own = LatticeProblem(table, objectives, suppression=0.01)
    own.n_threads = n_threads
    return own


def random_nodes(own: LatticeProblem, n: int = N_NODES) -> np.ndarray:
    every = np.random.default_rng(0).integers(0, own.lengths + 1, size=(2 * n, own.n_var))
    return np.random.default_rng(1).permutation(np.unique(every, axis=0))[:n]


#: On the wall, since threads work at once.
median_seconds = partial(record.median_seconds, repeats=REPEATS, clock=time.perf_counter)


def microseconds(own: AnonymizationProblem, X: np.ndarray) -> float:
    return median_seconds(lambda: own.compute(X)) / len(X) * 1e6


def points() -> tuple[dict, str]:
    """Random nodes, the whole lattice and random bit strings, by objective set."""
    X, lattice = random_nodes(problem()), list(problem().batches(4096))
    found: dict[str, list[float]] = {}
    for objectives in SETS.values():
        own, strings = problem(objectives), BitStringProblem(TABLE, objectives, suppression=0.01)
        bits = strings.sample(N_NODES, np.random.default_rng(0))
        alone = median_seconds(lambda own=own: [own.compute(x[np.newaxis]) for x in X])
        whole = median_seconds(lambda own=own: [own.compute(batch) for batch in lattice])
        for name, us in {
            f"{N_NODES} random nodes, in one batch": microseconds(own, X),
            f"{N_NODES} random nodes, one at a time": alone / len(X) * 1e6,
            f"all {own.n_nodes:,} nodes, in batches of 4,096": whole / own.n_nodes * 1e6,
            f"{N_NODES} random strings of {strings.n_var} bits, in one batch": microseconds(strings, bits),
        }.items():
            found.setdefault(name, []).append(us)
    rows = [[name, *(f"{us:,.0f}" for us in own)] for name, own in found.items()]
    return found, record.markdown(["points", *SETS], rows)


def programs() -> tuple[dict, str]:
    """Random nodes with all six objectives by other programs, after checking that all agree."""
    X = random_nodes(problem())
    F = problem().natural(problem().compute(X))
    others: dict[str, Callable] = {
        "numpy unique, distinct tuples, all six": ByNumpy(TABLE, LIMIT),
        "pandas groupby, rows, all six": ByPandas(TABLE, LIMIT),
    }
    for name, program in others.items():
        np.testing.assert_allclose(F, [program(x) for x in X], rtol=1e-12, err_msg=name)
    found = {"pymoo_anon, all six": microseconds(problem(), X)}
    for name, program in others.items():
        seconds = median_seconds(lambda program=program: [program(x) for x in X], repeats=3)
        found[name] = seconds / len(X) * 1e6
    if find_spec("pycanon") is not None:
        few, program = X[:20], ByPycanon(TABLE)
        unsuppressed = LatticeProblem(TABLE, FIVE[:2])
        np.testing.assert_array_equal(unsuppressed.natural(unsuppressed.compute(few)), [program(x) for x in few])
        seconds = median_seconds(lambda: [program(x) for x in few], repeats=1)
        found["pycanon, rows, k and l alone"] = seconds / len(few) * 1e6
    base = found["pymoo_anon, all six"]
    rows = [[name, f"{us:,.0f}", f"{us / base:,.1f}"] for name, us in found.items()]
    return found, record.markdown(["program and objectives", "µs a node", "ratio"], rows)


def roofline(us: float) -> str:
    """Return the least time to read and write a node's arrays on this machine."""
    tuples, entries = TABLE.n_distinct, len(TABLE.tuples.columns["occupation"].values)
    # A pair of ids, a count and a class of every distinct tuple; a tuple, a value and a count of every entry.
    touched = tuples * (4 + 4 + 8 + 4) + entries * (4 + 4 + 8)
    large = np.ones(1 << 25)
    bandwidth = 2 * large.nbytes / median_seconds(large.copy)
    least = touched / bandwidth * 1e6
    return (
        f"Without roll-up, a node with five objectives touches at least {touched / 1e6:.2f} MB; at the "
        f"{bandwidth / 1e9:.1f} GB/s of a copy here that is {least:.0f} µs, {us / least:.1f} times less than measured."
    )


def first_calls() -> tuple[float, float]:
    """Return seconds of the first node in a new process, cold and cached."""
    code = (
        "import time; from benchmarks.speed import engine; p = engine.problem(); began = time.perf_counter()\n"
        "p.compute(p.nodes(0, 1)); print(time.perf_counter() - began)"
    )
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "PYTHONPATH": str(Path(__file__).parents[2])}
        cold, warm = (
            float(subprocess.check_output([sys.executable, "-c", code], env=environment, text=True)) for _ in range(2)
        )
    return cold, warm


def clocked(searching: Callable[[], tuple[AnonymizationProblem, Algorithm, tuple | None]]) -> dict[str, float]:
    """Time a search, and the shares of evaluations and operators."""
    rounds = []
    for _ in range(REPEATS):
        own, algorithm, termination = searching()
        spent = {"nodes": 0.0, "operators": 0.0}

        def clock(thing: object, method: str, kind: str, spent: dict = spent) -> None:
            original = getattr(thing, method)

            def timed(*args: object, **kwargs: object) -> object:
                began = time.perf_counter()
                result = original(*args, **kwargs)
                spent[kind] += time.perf_counter() - began
                return result

            setattr(thing, method, timed)

        # Threads overlap, so that only all of them together can be timed.
        clock(own, "_measure", "nodes")
        mating = getattr(algorithm, "mating", algorithm)
        for name in ("selection", "crossover", "mutation", "repair"):
            if getattr(mating, name, None) is not None:
                clock(getattr(mating, name), "_do", "operators")
        began = time.perf_counter()
        minimize(own, algorithm, termination, seed=1, copy_algorithm=False)
        rounds.append({**spent, "seconds": time.perf_counter() - began, "distinct": own.n_unique})
    return {key: float(np.median([one[key] for one in rounds])) for key in rounds[0]}


SEARCHES = {
    "PBG-EA, 100 generations of 25, six objectives": lambda: (problem(), PBGEA(), ("n_gen", 100)),
    "BranchAndBound, k and GLM": lambda: (problem(K_GLM), BranchAndBound(), None),
    "ExhaustiveSearch, 17,920 nodes, six objectives": lambda: (problem(), ExhaustiveSearch(), None),
    "ExhaustiveSearch, the same on two threads": lambda: (problem(n_threads=2), ExhaustiveSearch(), None),
    "PreferenceNSGA2, 50,000 evaluations, 105 bits": lambda: (
        BitStringProblem(preference_table(), [PreferredPoint((0.2, 1.0)), k]),
        PreferenceNSGA2(k=5),
        ("n_eval", 50_000),
    ),
    "GENITOR, 30,000 births, 15,000 rows, 92 bits": lambda: (crossover_problem(), GENITOR(), ("n_eval", 30_000)),
}


def searches() -> tuple[dict, str]:
    found = {name: clocked(searching) for name, searching in SEARCHES.items()}
    columns = {
        "search": "{name}",
        "seconds": "{seconds:.2f}",
        "distinct points": "{distinct:,.0f}",
        "computing": lambda one: f"{one['nodes'] / one['seconds']:.0%}",
        "operators": lambda one: f"{one['operators'] / one['seconds']:.0%}",
        "pymoo": lambda one: f"{1 - (one['nodes'] + one['operators']) / one['seconds']:.0%}",
    }
    return found, record.table(columns, [{"name": name, **one} for name, one in found.items()])


def threads() -> tuple[dict, str]:
    found = {}
    for size in (64, 256, 1024, 4096):
        batches = list(problem().batches(size))
        one, two = (
            median_seconds(lambda own=own, batches=batches: [own.compute(X) for X in batches], repeats=5)
            for own in (problem(), problem(n_threads=2))
        )
        found[size] = {"one": one, "two": two}
    columns = {
        "nodes in a batch": "{size:,}",
        "seconds, 1 thread": "{one:.2f}",
        "2 threads": "{two:.2f}",
        "ratio": lambda own: f"{own['two'] / own['one']:.2f}",
    }
    return found, record.table(columns, [{"size": size, **own} for size, own in found.items()])


def growth(first: str, tables: Mapping[int, Callable[[], Microdata]], **more: str) -> tuple[dict, str]:
    """Five objectives on random nodes of tables that grow, and so do their distinct tuples."""
    found = {}
    for n, make in tables.items():
        table = make()
        own = problem(FIVE, table)
        found[n] = {"distinct": table.n_distinct, "microseconds": microseconds(own, random_nodes(own, 40))}
        if more:
            found[n]["peak GB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    columns = {
        first: "{n:,}",
        "distinct tuples": "{distinct:,}",
        "µs a node": "{microseconds:,.0f}",
        "ns a tuple": lambda own: f"{own['microseconds'] / own['distinct'] * 1e3:.1f}",
        **more,
    }
    return found, record.table(columns, [{"n": n, **own} for n, own in found.items()])


def main() -> None:
    by_set, set_table = points()
    by_program, program_table = programs()
    by_numpy = ByNumpy(TABLE, LIMIT)
    numpy_seconds = median_seconds(lambda: [by_numpy(x) for x in problem().nodes(0, 17_920)], repeats=1)
    found, search_table = searches()
    cold, warm = first_calls()
    threaded, thread_table = threads()
    larger = {n: partial(make_census, n) for n in (10**4, 10**5, 10**6, 10**7)}
    growing, growth_table = growth("rows", larger, **{"peak GB": "{peak GB:.2f}"})
    wider = {n: partial(fetch_adult, QUASI_IDENTIFIERS[:n]) for n in range(2, len(QUASI_IDENTIFIERS) + 1)}
    growing_tuples, tuple_table = growth("attributes", wider)
    record.write(
        "engine",
        {
            "machine": record.machine(),
            "microseconds by objective set": by_set,
            "microseconds by program": by_program,
            "seconds": {"cold": cold, "warm": warm, "numpy": numpy_seconds},
            "searches": found,
            "threads": threaded,
            "growth": growing,
            "growth of tuples": growing_tuples,
        },
        n_distinct=TABLE.n_distinct,
        set_table=set_table,
        roofline=roofline(by_set[f"{N_NODES} random nodes, in one batch"][list(SETS).index("k, l, S_k, S_l, GLM")]),
        n_nodes=N_NODES,
        program_table=program_table,
        search_table=search_table,
        thread_table=thread_table,
        growth_table=growth_table,
        n_rows=TABLE.n_rows,
        tuple_table=tuple_table,
    )


if __name__ == "__main__":
    main()
