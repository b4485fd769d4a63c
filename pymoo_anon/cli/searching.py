"""The search itself: which algorithm, until when, and what its end says about the front."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pandas as pd
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.core.algorithm import Algorithm
from pymoo.core.result import Result
from pymoo.core.termination import TerminateIfAny, Termination
from pymoo.termination.max_eval import MaximumFunctionCallTermination
from pymoo.termination.max_gen import MaximumGenerationTermination
from pymoo.termination.max_time import TimeBasedTermination
from pymoo.util.display.multi import NumberOfNondominatedSolutions
from pymoo.util.display.output import Output
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from pymoo_anon.algorithms.branch_and_bound import BranchAndBound
from pymoo_anon.algorithms.exhaustive import ExhaustiveSearch
from pymoo_anon.algorithms.local_search import ParetoLocalSearch
from pymoo_anon.algorithms.pbgea import PBGEA
from pymoo_anon.cli.console import count
from pymoo_anon.cli.names import ALGORITHMS
from pymoo_anon.cli.settings import Settings
from pymoo_anon.operators.crossover import LevelCrossover
from pymoo_anon.operators.mutation import SingleStepMutation
from pymoo_anon.operators.sampling import LatticeSampling
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.table.hierarchy import Hierarchy
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.table.suppression import AtMost, Suppression, Violating

#: Branch and bound is known to be quick up to so many nodes times distinct tuples. With Adult's 17,920 nodes and 12,458
#: tuples (2.2e8) it visited 4 to 57 % of the nodes, whichever of 12 sets of objectives was asked for, in 0.4 to 12
#: seconds on two busy cores.
QUICK = 3 * 10**8


@dataclass(frozen=True)
class Found:
    """What a search found, and how it ended.

    Attributes:
        res: The result, as `minimize` gives it.
        seconds: How long it took.
        certified: Whether the front is proven to be complete.
        n_undecided: Number of nodes of which is not known whether they belong to the front.
        stopped: What ended it: proof complete, generations, evaluations, time limit, no new nodes or Ctrl-C.
    """

    res: Result
    seconds: float
    certified: bool
    n_undecided: int
    stopped: str


def choose(problem: LatticeProblem, settings: Settings) -> tuple[str, str]:
    """The algorithm that serves a problem: a proof where it is known to be quick, else Pareto local search.

    Returns:
        Its name among `ALGORITHMS`, and the reason.
    """
    if settings.algorithm != "auto":
        return settings.algorithm, "asked for"
    asked = settings.evolution()
    if asked:
        return "pbgea", f"--{asked[0].replace('_', '-')} is an option of an evolutionary search"
    n_tuples = problem.table.n_distinct
    if problem.n_nodes * n_tuples > QUICK:
        return "pls", (
            f"{count(problem.n_nodes)} nodes with {n_tuples:,} tuples each are more than are known to be proven quickly"
        )
    without_proof = ""
    if problem.suppression.limit_of(problem.table.n_rows) is None:
        without_proof = "Below suppresses without limit, so that bounds settle little"
    try:
        BranchAndBound().setup(problem, seed=settings.seed)
    except ValueError as error:
        without_proof = str(error)
    if not without_proof:
        return "bnb", f"{count(problem.n_nodes)} nodes with {n_tuples:,} tuples each are proven quickly"
    if problem.n_nodes <= settings.generations * settings.pop_size:
        return "exhaustive", f"local search would visit as many as all of the {count(problem.n_nodes)} nodes"
    return "pls", without_proof


def search(problem: LatticeProblem, name: str, settings: Settings, **kwargs: Any) -> Found:
    """Search until the proof is complete, generations, evaluations or time are over, or Ctrl-C."""
    algorithm = _made(name, settings)
    limits: dict[str, Termination] = {}
    if name == "pls":
        # As many nodes as an evolutionary search may see.
        limits["evaluations"] = MaximumFunctionCallTermination(settings.generations * settings.pop_size)
    elif not ALGORITHMS[name].proves:
        limits["generations"] = MaximumGenerationTermination(settings.generations)
    if settings.time_limit is not None:
        limits["time limit"] = TimeBasedTermination(settings.time_limit)
    start, interrupted = time.perf_counter(), False
    algorithm.setup(
        problem, termination=TerminateIfAny(*limits.values()) if limits else None, seed=settings.seed, **kwargs
    )
    try:
        while algorithm.has_next():
            algorithm.next()
    except KeyboardInterrupt:
        interrupted = True
        if algorithm.opt is None or len(algorithm.opt) == 0:
            raise
    res = algorithm.result()
    res.algorithm = algorithm
    n_undecided, certified = _proven(algorithm, problem)
    over = [words for words, termination in limits.items() if termination.has_terminated()]
    # Branch and bound ends by itself when it is interrupted, others when they find no new node to try.
    interrupted = interrupted or (ALGORITHMS[name].proves and not certified and not over)
    if interrupted and res.X is None:
        raise KeyboardInterrupt
    stopped = "proof complete" if certified else "Ctrl-C" if interrupted else over[0] if over else "no new nodes"
    return Found(res, time.perf_counter() - start, certified, n_undecided, stopped)


def tiny(problem: LatticeProblem) -> LatticeProblem:
    """The same objectives on four rows, so that a search of it compiles what a search of the problem needs."""
    columns = [measure.column for measure in problem.measured if measure.column is not None]
    # Longer than any of the columns, so none of them.
    first, second = "a" + "".join(map(str, columns)), "b" + "".join(map(str, columns))
    rows = {first: [0, 0, 1, 1], second: [0, 1, 0, 1], **{column: [0, 1, 1, 0] for column in columns}}
    hierarchies = dict.fromkeys([first, second], Hierarchy.flat([0, 1]))
    table = Microdata.from_frame(pd.DataFrame(rows), hierarchies, tuple(dict.fromkeys(columns)))
    rule: Suppression = Violating(0.5) if isinstance(problem.suppression, Violating) else AtMost(0)
    return LatticeProblem(table, problem.objectives, rule, problem.constraints)


@contextmanager
def progress() -> Iterator[Callable[[Algorithm], None]]:
    """A progress bar on a terminal, nothing elsewhere; what it gives is pymoo's callback."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("Searching", total=1.0)

        def notify(algorithm: Algorithm) -> None:
            found = f"Searching: {len(algorithm.opt):,} found in {algorithm.problem.n_unique:,} nodes"
            bar.update(task, completed=algorithm.termination.perc, description=found)

        yield notify


def _made(name: str, settings: Settings) -> Algorithm:
    if name == "pls":
        return ParetoLocalSearch(settings.pop_size, settings.sides())
    if name == "pbgea":
        return PBGEA(settings.pop_size, settings.sides())
    if name == "nsga2":
        # pymoo's own output of NSGA-II would compute the exact front first.
        output = Output()
        output.columns.append(NumberOfNondominatedSolutions())
        return NSGA2(
            settings.pop_size,
            sampling=LatticeSampling(),
            crossover=LevelCrossover(),
            mutation=SingleStepMutation(),
            output=output,
        )
    return BranchAndBound() if name == "bnb" else ExhaustiveSearch()


def _proven(algorithm: Algorithm, problem: LatticeProblem) -> tuple[int, bool]:
    """How many nodes are not decided, and whether the front is proven to be complete.

    Other searches decide the nodes that they evaluate. Local search may come to an end where all others are ruled out.
    """
    if isinstance(algorithm, BranchAndBound):
        return algorithm.n_undecided, algorithm.certified
    if isinstance(algorithm, ExhaustiveSearch):
        left = problem.n_nodes - algorithm.n_visited
        return left, left == 0
    if isinstance(algorithm, ParetoLocalSearch) and algorithm.certified:
        return 0, True
    return problem.n_nodes - problem.n_unique, False
