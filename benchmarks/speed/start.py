"""Waiting times of a newcomer: first command, first example, searches, and tests.

Seconds of the processor count all processes that a command starts.
"""

import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.core.algorithm import Algorithm
from pymoo.optimize import minimize

from benchmarks.tables import SETS, glm, k, l, large_table, operators_of
from pymoo_anon.algorithms import PBGEA, BranchAndBound, ParetoLocalSearch
from pymoo_anon.datasets import fetch_adult, make_census
from pymoo_anon.problems import LatticeProblem

ROOT = Path(__file__).parents[2]
REPEATS = 3
CENSUS_ROWS = 3_000_000


def waited(command: list[str], folder: Path, cache: Path) -> dict[str, float]:
    """Return wall and processor seconds of a command with its own compile cache."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}
    # pip keeps compiled modules beside the package, and so does Python unless it is told not to.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def used() -> float:
        own = resource.getrusage(resource.RUSAGE_CHILDREN)
        return own.ru_utime + own.ru_stime

    before, began = used(), time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {(done.stdout + done.stderr)[-300:]}")
    return {"seconds": time.perf_counter() - began, "cpu": used() - before}


def best(measure: Callable[[], dict[str, float]]) -> dict[str, float]:
    """Return the least of some runs, as other work only adds."""
    return min((measure() for _ in range(REPEATS)), key=lambda one: one["cpu"])


def first_example() -> str:
    """Return the first two blocks of Python in the README."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.M)[:2])


def write_patients(folder: Path) -> None:
    """Write the table and the hierarchy of the README."""
    rng, zips = np.random.default_rng(0), ["4711", "4712", "8000"]
    (folder / "zip.csv").write_text("".join(f"{z};{z[:2]}**;*\n" for z in zips))
    columns = {
        "age": rng.integers(0, 100, 2000),
        "zip": rng.choice(zips, 2000),
        "sex": rng.choice(["Female", "Male"], 2000),
        "diagnosis": rng.choice(["flu", "cold", "asthma", "angina"], 2000),
    }
    pd.DataFrame(columns).to_csv(folder / "patients.csv", index=False)


def commands() -> dict[str, dict[str, float]]:
    search = [sys.executable, "-m", "pymoo_anon", "search"]
    example = [sys.executable, "-c", first_example()]
    found = {}
    for name, command in {"`pymoo-anon search`": search, "README's first example": example}.items():
        with tempfile.TemporaryDirectory() as own:
            folder = Path(own)
            write_patients(folder)
            run = partial(waited, command, folder, folder / "cache")
            found[f"{name}, nothing compiled yet"] = run()
            found[f"{name}, afterwards"] = best(run)
    return found


#: Searches and their budgets: PBG-EA's iterations, and as many evaluations.
SEARCHES: dict[str, Callable[[LatticeProblem], tuple[Algorithm, tuple | None]]] = {
    "PBG-EA, 100 generations": lambda own: (PBGEA(pop_size=25), ("n_gen", 100)),
    "NSGA-II, 100 generations": lambda own: (NSGA2(pop_size=25, **operators_of(own)), ("n_gen", 100)),
    "local search, 2,500 nodes": lambda own: (ParetoLocalSearch(), ("n_eval", 2500)),
    "branch and bound": lambda own: (BranchAndBound(), None),
}


def searched(problem: LatticeProblem, name: str) -> dict[str, float]:
    """Seconds of a search that remembers nothing of earlier ones."""
    own = problem.fresh_copy()
    algorithm, termination = SEARCHES[name](own)
    began, clock = time.perf_counter(), time.process_time()
    minimize(own, algorithm, termination, seed=1)
    return {"seconds": time.perf_counter() - began, "cpu": time.process_time() - clock}


def searches(n_rows: int = CENSUS_ROWS) -> dict[str, dict[str, float]]:
    problems = {
        f"Adult: {name}": LatticeProblem(fetch_adult(label=label), objectives, 301)
        for name, (objectives, label, _) in SETS.items()
    }
    census = make_census(n_rows)
    problems[f"{census.n_distinct:,} distinct tuples: k, l, GLM"] = LatticeProblem(census, [k, l, glm], 0.01)
    found = {}
    for where, problem in problems.items():
        for name in SEARCHES:
            # The first run loads compiled code.
            found[f"{where}: {name}"] = best(partial(searched, problem, name))
    own = LatticeProblem(large_table(), [k, glm], 301)
    found[f"{own.n_nodes:,} nodes: k, GLM: branch and bound"] = best(partial(searched, own, "branch and bound"))
    return found


def tests() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as own:
        cache, command = Path(own), [sys.executable, "-m", "pytest", "-q"]
        return {
            name: waited(command, ROOT, cache) for name in ("`pytest`, nothing compiled yet", "`pytest`, afterwards")
        }


def lines() -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / "pymoo_anon").rglob("*.py"))
