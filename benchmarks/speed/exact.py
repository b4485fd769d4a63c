"""Cost of proofs by branch and bound, and the gaps of unfinished ones.

    python -m benchmarks.speed.exact [--only stored large strings long_strings]

The five sets of objectives of Dewri et al. 2010 on Adult with at most 301 suppressed tuples; Adult with twelve
quasi-identifiers; and bit strings: Lunacek et al.'s problem, fronts of k and loss, and the 105 bits of Dewri et al.
2009. Each part runs in a process of its own, which tells its memory. A part that is not asked for keeps its earlier
results. About half an hour; needs Adult.
"""

import argparse
import resource
import time
from functools import cache, partial
from typing import Any

import numpy as np
from pymoo.core.algorithm import Algorithm
from pymoo.core.callback import Callback
from pymoo.optimize import minimize
from pymoo.termination.max_time import TimeBasedTermination

from benchmarks import record
from benchmarks.speed.peers import ByNumpy
from benchmarks.tables import (
    BELOW_15,
    SETS,
    assert_same_front,
    crossover_problem,
    glm,
    k,
    large_table,
    preference_table,
)
from pymoo_anon.algorithms import BranchAndBound, ExhaustiveSearch
from pymoo_anon.datasets import fetch_adult
from pymoo_anon.problems import AnonymizationProblem, BitStringProblem, LatticeProblem
from pymoo_anon.visualization.fronts import new_figure

REPEATS, NUMPY_NODES = 10, 20
THREADS = 2


class Course(Callback):
    """Record of a proof over time: members and the largest gap."""

    def __init__(self, every: float) -> None:
        super().__init__()
        self.every, self.began, self.points = every, time.perf_counter(), []

    def notify(self, algorithm: Algorithm) -> None:
        seconds = time.perf_counter() - self.began
        if not self.points or seconds >= self.points[-1]["seconds"] + self.every or algorithm.certified:
            self.points.append({"seconds": seconds, **state_of(algorithm)})


def state_of(algorithm: BranchAndBound) -> dict[str, Any]:
    """Return the gap as a share of the last objective, on average and at most."""
    F, gap = algorithm.opt.get("F"), algorithm.gap
    shares = gap[:, -1] / np.maximum(np.abs(F[:, -1]), 1e-9)
    return {
        "front": len(F),
        "certified": algorithm.certified,
        "gap": float(shares.max(initial=0.0)),
        "proven": int((shares == 0).sum()),
    }


def proof(problem: AnonymizationProblem, seconds: float) -> dict[str, Any]:
    """Run a proof within a time, and return its course."""
    problem.n_threads = THREADS
    course = Course(seconds / 60)
    algorithm = minimize(problem, BranchAndBound(), TimeBasedTermination(seconds), seed=1, callback=course).algorithm
    return {
        "seconds": time.perf_counter() - course.began,
        "evaluated": algorithm.n_evaluated,
        "pruned": algorithm.n_pruned,
        "undecided": algorithm.n_undecided,
        "course": course.points,
        **state_of(algorithm),
        "F": np.round(algorithm.opt.get("F"), 6).tolist(),
        "member gaps": algorithm.gap[:, -1].tolist(),
    }


def stored() -> dict:
    return {"sets": [proven(name) for name in SETS]}


@cache
def _numpy_program() -> tuple[ByNumpy, np.ndarray]:
    """Return the numpy program of `engine.py`, and random nodes for it."""
    problem = LatticeProblem(fetch_adult(), [k, glm], suppression=301)
    X = np.random.default_rng(0).integers(0, problem.lengths + 1, size=(REPEATS, NUMPY_NODES, problem.n_var))
    return ByNumpy(fetch_adult(), 301), X


def proven(name: str) -> dict:
    objectives, label, paper = SETS[name]
    table = fetch_adult(label=label)

    def problem() -> LatticeProblem:
        return LatticeProblem(table, objectives, suppression=301)

    exact, (program, X) = problem().pareto_front(), _numpy_program()
    seconds, exhaustive, numpy_node = [], [], []
    # Proofs, exhaustive search and nodes of the numpy program take turns: the machine is as fast for all.
    for nodes in X:
        own = problem()
        res, took = record.timed(partial(minimize, own, BranchAndBound(), seed=1))
        seconds.append(took)
        assert_same_front(res.F, exact)
        every, took = record.timed(lambda: minimize(problem(), ExhaustiveSearch(), seed=1))
        exhaustive.append(took)
        assert_same_front(every.F, exact)
        program(nodes[0])  # warms
        numpy_node.append(record.timed(partial(list, map(program, nodes)))[1] / NUMPY_NODES)
    algorithm = res.algorithm
    return {
        "objectives": name,
        "lattice": own.n_nodes,
        "nodes": algorithm.n_evaluated,
        "paper": paper,
        "certified": algorithm.certified,
        "front": len(res.F),
        "seconds": float(np.median(seconds)),
        "exhaustive": float(np.median(exhaustive)),
        "numpy node": float(np.median(numpy_node)),
        "numpy nodes": float(np.median(seconds) / np.median(numpy_node)),
    }


def large() -> dict:
    """K and GLM on the lattice of twelve quasi-identifiers."""
    table = large_table()
    minimize(LatticeProblem(fetch_adult(), [k, glm], suppression=301), BranchAndBound(), seed=1)  # compiles
    seconds = []
    for _ in range(3):
        problem = LatticeProblem(table, [k, glm], suppression=301)
        problem.n_threads = THREADS
        began = time.perf_counter()
        # Without a look at the gap on the way: it takes longer than the proof.
        algorithm = minimize(problem, BranchAndBound(), seed=1).algorithm
        seconds.append(time.perf_counter() - began)
    return {
        "lattice": problem.n_nodes,
        "distinct tuples": table.n_distinct,
        "evaluated": algorithm.n_evaluated,
        "pruned": algorithm.n_pruned,
        "undecided": algorithm.n_undecided,
        "certified": algorithm.certified,
        "front": len(algorithm.opt),
        "seconds": float(np.median(seconds)),
    }


def strings() -> dict:
    """Prove XO's optimum and fronts of k and loss within minutes."""
    proof(crossover_problem(rows=300), 60)  # compiles
    few = crossover_problem([k, glm], rows=None, suppression=301, constraints=[k >= 50])
    found = {
        "XO, 15,000 rows, below 15 suppressed": proof(crossover_problem(), 600),
        "k and GLM, nothing suppressed": proof(crossover_problem([k, glm], rows=None, suppression=0), 300),
        "k and GLM, at most 301 suppressed, k >= 50": proof(few, 300),
    }
    return {"strings": str(crossover_problem().n_strings), "runs": found}


def long_strings() -> dict:
    """Prove the whole front of k and loss, and PREF's 105 bits."""
    proof(crossover_problem(rows=300), 60)  # compiles
    optimum = BitStringProblem(preference_table(), [glm], BELOW_15)
    found = {
        "k and GLM, at most 301 suppressed": proof(crossover_problem([k, glm], rows=None, suppression=301), 300),
        "PREF, GLM, 105 bits, below 15 suppressed": proof(optimum, 180),
    }
    return {"strings": str(crossover_problem().n_strings), "runs": found}


RUNS = {"stored": stored, "large": large, "strings": strings, "long_strings": long_strings}


def run(part: str) -> dict:
    found: dict[str, Any] = RUNS[part]()
    return {**found, "GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, "machine": record.machine()}


CERTIFIED = {"certified": lambda one: "yes" if one["certified"] else "no"}
SETS_COLUMNS = {
    "objectives": "{objectives}",
    "nodes": lambda one: f"{one['nodes']:,} ({one['nodes'] / one['lattice']:.1%})",
    "paper's PBG-EA": "{paper:,}",
    "front": "{front}",
    **CERTIFIED,
    "seconds": "{seconds:.3f}",
    "exhaustive search": "{exhaustive:.3f}",
    "numpy nodes": "{numpy nodes:.0f}",
}
STRINGS_COLUMNS = {
    "problem": "{name}",
    **CERTIFIED,
    "seconds": "{seconds:.1f}",
    "front": "{front:,}",
    "proven": "{proven:,}",
    "largest gap": "{gap:.1%}",
    "least loss": lambda one: f"{min(member[-1] for member in one['F']):,.2f}" if one["F"] else "none",
    "evaluated": "{evaluated:,}",
    "pruned": "{pruned:,}",
}


def page(figures: dict[str, dict]) -> str:
    sets, large = figures["stored"]["sets"], figures["large"]
    parts: dict[str, Any] = {"repeats": REPEATS, "first": sets[0], "last": sets[-1], "large": large}
    parts |= {"milliseconds": sets[0]["numpy node"] * 1e3, "sets": record.table(SETS_COLUMNS, sets)}
    parts["end"] = "certified." if large["certified"] else f"{large['undecided']:,} nodes undecided."
    for part in ("strings", "long_strings"):
        own = figures[part]
        runs = record.table(STRINGS_COLUMNS, [{"name": name, **one} for name, one in own["runs"].items()])
        told = {"n": float(own["strings"]), "GB": own["GB"], "machine": record.line(own["machine"]), "runs": runs}
        parts[part] = record.words("exact_strings", **told)
    return record.words("exact", machine=record.line(figures["stored"]["machine"]), **parts)


# matplotlib has ten colors.
LINES = ("-", "--")


def draw(runs: dict[str, dict]) -> None:
    """Draw the gap over time of every long proof."""
    figure = new_figure(9, 4.5)
    axis = figure.subplots()
    for i, (name, one) in enumerate(runs.items()):
        seconds = [point["seconds"] for point in one["course"]]
        gaps = [100 * min(point["gap"], 1.0) for point in one["course"]]
        if len(seconds) > 1:
            axis.step(np.maximum(seconds, 0.1), gaps, where="post", label=name, color=f"C{i}", linestyle=LINES[i // 10])
    axis.set_xscale("log")
    axis.set_xlabel("seconds")
    axis.set_ylabel("largest gap (% of the loss)")
    axis.grid(alpha=0.3)
    axis.legend(fontsize="x-small")
    figure.savefig(record.RESULTS / "exact_gap.png", dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=RUNS, default=list(RUNS), help="the parts to run")
    figures = record.stored("exact")
    for part in parser.parse_args().only:
        with record.processes(1) as pool:
            figures[part] = pool.submit(run, part).result()
        record.write("exact", figures, page(figures))
    draw({**figures["strings"]["runs"], **figures["long_strings"]["runs"]})


if __name__ == "__main__":
    main()
