"""How fast a node is evaluated, and against what else one would do: pandas and numpy, in the same run.

    python benchmarks/engine.py

Adult with eight quasi-identifiers, at most 1 % of the tuples suppressed, all six objectives. Before anything is timed,
all three programs have to agree on every node. About three minutes; needs Adult.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np
import pandas as pd
import record
from pymoo.core.algorithm import Algorithm
from pymoo.optimize import minimize
from tables import crossover_problem, preference_table

from pymoo_anon.algorithms.exhaustive import ExhaustiveSearch
from pymoo_anon.algorithms.genitor import GENITOR
from pymoo_anon.algorithms.pbgea import PBGEA
from pymoo_anon.algorithms.preference import PreferenceNSGA2
from pymoo_anon.datasets import fetch_adult, fetch_adult_frame
from pymoo_anon.objectives.loss import ClassificationMetric, GeneralLossMetric
from pymoo_anon.objectives.privacy import ClassSizeSum, DistinctLDiversity, KAnonymity, SensitiveCountSum
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.problems.preference import PreferenceProblem

N_NODES = 200
REPEATS = 7

TABLE = fetch_adult()
OBJECTIVES = [
    KAnonymity(),
    DistinctLDiversity("occupation"),
    ClassSizeSum(),
    SensitiveCountSum("occupation"),
    GeneralLossMetric(),
    ClassificationMetric("salary-class"),
]
LIMIT = 301


def problem(objectives: list = OBJECTIVES) -> LatticeProblem:
    return LatticeProblem(TABLE, objectives, suppression=LIMIT)


class ByPandas:
    """Group the rows by their recoded columns, as one would in a notebook."""

    def __init__(self) -> None:
        frame = fetch_adult_frame()
        self.occupation = frame["occupation"].astype("category").cat.codes
        self.salary = frame["salary-class"].astype("category").cat.codes
        self.levels = {}
        for name, hierarchy in TABLE.quasi_identifiers.items():
            code = frame[name].map({value: i for i, value in enumerate(hierarchy.domain)}).to_numpy()
            self.levels[name] = [
                (groups[code], (np.bincount(groups)[groups][code] - 1) / (hierarchy.n_values - 1))
                for groups in hierarchy.groups
            ]

    def __call__(self, x: np.ndarray) -> list[float]:
        chosen = [levels[level] for levels, level in zip(self.levels.values(), x, strict=True)]
        rows = pd.DataFrame({j: groups for j, (groups, _) in enumerate(chosen)})
        class_of = rows.groupby(list(rows)).ngroup()
        sizes = class_of.value_counts()
        up_to = sizes.groupby(sizes).sum().sort_index().cumsum()
        below = up_to.index[up_to > LIMIT][0]
        kept = class_of.map(sizes) >= below
        class_of = class_of.where(kept, -1)
        occupations = self.occupation.groupby([class_of, self.occupation]).size()
        salaries = self.salary.groupby([class_of, self.salary]).size()
        distinct = occupations.drop(-1, errors="ignore").groupby(level=0).size()
        majority = salaries.drop(-1, errors="ignore").groupby(level=0).max()
        loss = sum(np.where(kept, cost, 1.0).sum() for _, cost in chosen)
        return [
            sizes[sizes >= below].min(),
            distinct.min(),
            (class_of.value_counts() ** 2).sum(),
            (occupations**2).sum(),
            loss,
            len(rows) - majority.sum(),
        ]


class ByNumpy:
    """Group the distinct tuples by one long key, with weighted counts."""

    def __init__(self) -> None:
        tuples = TABLE.tuples
        self.counts = tuples.counts
        self.levels = [
            [(g[codes], len(np.unique(g)), (np.bincount(g)[g] - 1)[codes] / (h.n_values - 1)) for g in h.groups]
            for h, codes in zip(TABLE.quasi_identifiers.values(), tuples.codes.T, strict=True)
        ]
        self.columns = []
        for name in ("occupation", "salary-class"):
            column = tuples.columns[name]
            rows = np.repeat(np.arange(len(tuples)), np.diff(column.starts))
            self.columns.append((rows, column.values, column.counts, column.n_values))

    def __call__(self, x: np.ndarray) -> list[float]:
        key = np.zeros(len(self.counts), dtype=np.int64)
        for levels, level in zip(self.levels, x, strict=True):
            key = key * levels[level][1] + levels[level][0]
        _, class_of = np.unique(key, return_inverse=True)
        sizes = np.bincount(class_of, self.counts)
        up_to = np.cumsum(np.bincount(sizes.astype(np.int64), sizes))
        below = np.argmax(up_to > LIMIT)
        kept = sizes >= below
        suppressed = sizes[~kept].sum()
        histograms = [
            np.bincount(class_of[rows] * n + values, counts, minlength=len(sizes) * n).reshape(-1, n)
            for rows, values, counts, n in self.columns
        ]
        occupations, salaries = histograms
        gone = ~kept[class_of]
        loss = sum(
            np.where(gone, 1.0, levels[level][2]) @ self.counts for levels, level in zip(self.levels, x, strict=True)
        )
        return [
            sizes[kept].min(),
            (occupations[kept] > 0).sum(axis=1).min(),
            (sizes[kept] ** 2).sum() + suppressed**2,
            (occupations[kept] ** 2).sum() + (occupations[~kept].sum(axis=0) ** 2).sum(),
            loss,
            (sizes[kept] - salaries[kept].max(axis=1)).sum() + suppressed,
        ]


def first_calls() -> tuple[float, float]:
    """Seconds of the first node in a new process: with nothing compiled yet, and with numba's cache on disk."""
    code = (
        "import time; from pymoo_anon.datasets import make_census; from pymoo_anon.problems.lattice import *\n"
        "from pymoo_anon.objectives.privacy import *; from pymoo_anon.objectives.loss import *\n"
        "t, o, c = make_census(1000), 'occupation', 'salary-class'\n"
        "p = LatticeProblem(t, [KAnonymity(), DistinctLDiversity(o), ClassSizeSum(), SensitiveCountSum(o),\n"
        "    GeneralLossMetric(), ClassificationMetric(c)])\n"
        "began = time.perf_counter(); p.compute(p.nodes(0, 1)); print(time.perf_counter() - began)"
    )
    with tempfile.TemporaryDirectory() as cache:
        command, environment = [sys.executable, "-c", code], {**os.environ, "NUMBA_CACHE_DIR": cache}
        cold, warm = (
            float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
            for _ in range(2)
        )
    return cold, warm


def median_seconds(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Median wall time, after one unmeasured call."""
    work()
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return float(np.median(seconds))


def clocked(searching: Callable[[], tuple[LatticeProblem, Algorithm, tuple]]) -> dict[str, float]:
    """Median seconds of a search, and how many of them go to nodes and to operators; the rest is pymoo's loop."""
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

        clock(own, "compute", "nodes")
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
    "PreferenceNSGA2, 50,000 evaluations, 105 bits": lambda: (
        PreferenceProblem(preference_table(), 5, (0.2, 1.0)),
        PreferenceNSGA2(),
        ("n_eval", 50_000),
    ),
    "GENITOR, 30,000 births, 15,000 rows, 92 bits": lambda: (crossover_problem(), GENITOR(), ("n_eval", 30_000)),
}


def main() -> None:
    own = problem()
    X = np.unique(np.random.default_rng(0).integers(0, own.lengths + 1, size=(2 * N_NODES, own.n_var)), axis=0)
    X = np.random.default_rng(1).permutation(X)[:N_NODES]
    F = own.natural(own.compute(X))
    programs = {"pandas groupby, rows": ByPandas(), "numpy unique, distinct tuples": ByNumpy()}
    for name, program in programs.items():
        np.testing.assert_allclose(F, [program(x) for x in X], rtol=1e-12, err_msg=name)

    seconds = {"pymoo_anon, in batches": median_seconds(lambda: own.compute(X))}
    seconds["pymoo_anon, one at a time"] = median_seconds(lambda: [own.compute(x[np.newaxis]) for x in X])
    for name, program in programs.items():
        seconds[name] = median_seconds(lambda program=program: [program(x) for x in X], repeats=3)
    fastest = seconds["pymoo_anon, in batches"]
    two = problem([KAnonymity(), GeneralLossMetric()])
    k_glm = median_seconds(lambda: two.compute(X))
    rows = [[name, f"{s / N_NODES * 1e6:,.0f}", f"{s / fastest:,.1f}"] for name, s in seconds.items()]
    rows.append(["pymoo_anon, in batches, k and GLM alone", f"{k_glm / N_NODES * 1e6:,.0f}", f"{k_glm / fastest:,.1f}"])

    lattice = median_seconds(lambda: minimize(problem(), ExhaustiveSearch()), repeats=3)
    by_numpy = median_seconds(
        lambda: [programs["numpy unique, distinct tuples"](x) for x in own.nodes(0, own.n_nodes)], repeats=1
    )
    searches = {name: clocked(searching) for name, searching in SEARCHES.items()}
    shares = [
        [
            name,
            f"{found['seconds']:.2f}",
            f"{found['distinct']:,.0f}",
            f"{found['nodes'] / found['seconds']:.0%}",
            f"{found['operators'] / found['seconds']:.0%}",
            f"{1 - (found['nodes'] + found['operators']) / found['seconds']:.0%}",
        ]
        for name, found in searches.items()
    ]
    cold, warm = first_calls()

    text = "\n\n".join(
        [
            f"Adult, 30,162 rows, {TABLE.n_distinct:,} distinct tuples, six objectives, one thread; medians; "
            f"{record.line(record.machine())}.",
            f"A node never seen before ({N_NODES} random nodes, on which all programs agree):",
            record.markdown(["program", "µs a node", "ratio"], rows),
            record.markdown(
                ["whole searches", "seconds"],
                [
                    ["first node in a new process, nothing compiled yet", f"{cold:.1f}"],
                    ["first node in a new process, compiled before", f"{warm:.2f}"],
                    [f"all {own.n_nodes:,} nodes, ExhaustiveSearch", f"{lattice:.2f}"],
                    [f"all {own.n_nodes:,} nodes, numpy", f"{by_numpy:.1f}"],
                ],
            ),
            "Where the time of a search goes: computing distinct points, the operators, and pymoo's loop around them.",
            record.markdown(["search", "seconds", "distinct points", "computing", "operators", "pymoo"], shares),
        ]
    )
    figures = {
        "machine": record.machine(),
        "microseconds a node": {name: s / N_NODES * 1e6 for name, s in seconds.items()},
        "microseconds a node, k and GLM": k_glm / N_NODES * 1e6,
        "seconds": {"cold": cold, "warm": warm, "exhaustive": lattice, "numpy": by_numpy},
        "searches": searches,
    }
    record.write("engine", figures, text)


if __name__ == "__main__":
    main()
