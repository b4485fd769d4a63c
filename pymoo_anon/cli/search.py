"""The command `search`."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import typer
from pymoo.core.algorithm import Algorithm
from pymoo.core.termination import TerminateIfAny, Termination
from pymoo.termination.max_eval import MaximumFunctionCallTermination
from pymoo.termination.max_gen import MaximumGenerationTermination
from pymoo.termination.max_time import TimeBasedTermination
from pymoo.util.display.multi import NumberOfNondominatedSolutions
from pymoo.util.display.output import Output
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

# Drawing loads now: an error after a search of hours would lose it.
import pymoo_anon.visualization.fronts  # noqa: F401
from pymoo_anon import __version__
from pymoo_anon._files import alone, tried
from pymoo_anon._messages import counted, plain
from pymoo_anon.algorithms.branch_and_bound import BranchAndBound
from pymoo_anon.algorithms.exhaustive import ExhaustiveSearch
from pymoo_anon.algorithms.local_search import ParetoLocalSearch
from pymoo_anon.algorithms.pbgea import PBGEA
from pymoo_anon.algorithms.target_sweep import TargetSweep
from pymoo_anon.cli.console import GAP, count, new_table, tell, working
from pymoo_anon.objectives import GeneralLossMetric, NormalizedWeightedPenalty, Objective
from pymoo_anon.objectives.base import WithBackgroundKnowledge
from pymoo_anon.objectives.knowledge import any_of
from pymoo_anon.operators.crossover import LevelCrossover
from pymoo_anon.operators.mutation import SingleStepMutation
from pymoo_anon.operators.sampling import LatticeSampling
from pymoo_anon.problems.front import Front
from pymoo_anon.problems.journal import Journal, journaled
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.problems.local_recoding import LocalRecodingProblem
from pymoo_anon.study.interrupt import ExitCode, check_interrupted, forget_interrupt, put_in_place
from pymoo_anon.study.names import ALGORITHMS, FILES, JOURNAL, STORED, checksum, path_from
from pymoo_anon.study.options import dashed, idle_with, options_named, record_of
from pymoo_anon.study.settings import Settings
from pymoo_anon.study.stored import write_front
from pymoo_anon.study.tables import problem_of, table_of
from pymoo_anon.table.hierarchy import Hierarchy
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.table.suppression import AtMost, Suppression, Violating
from pymoo_anon.typing import Ints

#: Branch and bound is known to be quick up to so many nodes times distinct tuples: k and GLM, with l or without, take
#: about a second for each 1.5 billion. Where bounds fathom little it visits all, which takes some times as long.
QUICK = 5 * 10**9

#: Problems that are searched.
Searched: TypeAlias = LatticeProblem | LocalRecodingProblem

# So many points of a longer front are printed.
_SHOWN = 5

# Characters that levels in words need at least.
_LEAST_WORDS = 12


@dataclass(frozen=True)
class Found:
    """Result of a search."""

    front: Front  # The front, from private to useful; it says whether it is proven
    seconds: float  # How long it took
    n_undecided: int | None  # Number of undecided nodes, or None without nodes
    stopped: str  # Why it ended: proof complete, generations, evaluations, time limit, no new nodes, ... or Ctrl-C


def algorithm_for(problem: Searched, settings: Settings) -> tuple[str, str]:
    """Return the algorithm for a problem and the reason.

    It is a proof if that is known to be quick, else Pareto local search.
    """
    if settings.algorithm != "auto":
        return settings.algorithm, "asked for"
    asked = [dashed(name) for name in idle_with(Settings, "bnb") if name in settings.given]
    if isinstance(problem, LocalRecodingProblem):
        if asked:
            return "nsga2", f"--{asked[0]} is an option of an evolutionary search"
        return "sweep", "a local recoding is made for each k on a log scale"
    if asked:
        return "pbgea", f"--{asked[0]} is an option of an evolutionary search"
    n_tuples = problem.table.n_distinct
    if problem.n_nodes * n_tuples > QUICK:
        return "pls", (
            f"{count(problem.n_nodes)} nodes with {n_tuples:,} tuples each are more than are known to be proven quickly"
        )
    without_proof = ""
    if problem.suppression.limit_of(problem.table.n_rows) is None:
        without_proof = "Below suppresses without limit, so bounds fathom little"
    try:
        BranchAndBound().setup(problem, seed=settings.seed)
    except ValueError as error:
        without_proof = str(error)
    if not without_proof:
        return "bnb", f"{count(problem.n_nodes)} nodes with {n_tuples:,} tuples each are proven quickly"
    if problem.n_nodes <= settings.generations * settings.pop_size:
        return "exhaustive", f"local search would visit as many as all of the {count(problem.n_nodes)} nodes"
    return "pls", without_proof


def search(problem: Searched, name: str, settings: Settings, **kwargs: Any) -> Found:
    """Search until the proof is complete, a limit is reached, or Ctrl-C."""
    algorithm = _made(name, settings)
    limits: dict[str, Termination] = {}
    if name == "pls":
        # As many nodes as an evolutionary search may see.
        limits["evaluations"] = MaximumFunctionCallTermination(settings.generations * settings.pop_size)
    elif not ALGORITHMS[name].proves and name != "sweep":
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
            check_interrupted()
    except KeyboardInterrupt:
        interrupted = True
        if algorithm.opt is None or len(algorithm.opt) == 0:
            raise
    res, seconds = algorithm.result(), time.perf_counter() - start
    res.algorithm = algorithm
    n_undecided, certified = _proven(algorithm, problem)
    over = [words for words, termination in limits.items() if termination.has_terminated()]
    # Branch and bound ends by itself when it is interrupted, others when they find no new node to try.
    interrupted = interrupted or (ALGORITHMS[name].proves and not certified and not over)
    if interrupted and res.X is None:
        raise KeyboardInterrupt
    stopped = over[0] if over else "the end of the sweep" if name == "sweep" else "no new nodes"
    stopped = "Ctrl-C" if interrupted else "proof complete" if certified else stopped
    front = problem.front(res).sorted()
    front.certified = certified
    return Found(front, seconds, n_undecided, stopped)


def tiny(problem: Searched) -> Searched:
    """Return the same objectives on four rows, to compile all loops of a search."""
    columns = [column for measure in problem.measured for column in measure.reads(problem.table.sensitive)]
    # Longer than any of the columns, so none of them.
    first, second = "a" + "".join(map(str, columns)), "b" + "".join(map(str, columns))
    rows = {first: [0, 0, 1, 1], second: [0, 1, 0, 1], **{column: [0, 1, 1, 0] for column in columns}}
    hierarchies = dict.fromkeys([first, second], Hierarchy.flat([0, 1]))
    table = Microdata.from_frame(pd.DataFrame(rows), hierarchies, tuple(dict.fromkeys(columns)))
    limited = problem.suppression.limit_of(problem.table.n_rows) or 0
    objectives = [_of_any(measure) for measure in problem.objectives]
    constraints = [replace(one, objective=_of_any(one.objective)) for one in problem.constraints]
    if isinstance(problem, LocalRecodingProblem):
        return LocalRecodingProblem(table, objectives, constraints)
    rule: Suppression = Violating(0.5) if isinstance(problem.suppression, Violating) else AtMost(min(limited, 1))
    return LatticeProblem(table, objectives, rule, constraints)


def _of_any(measure: Objective) -> Objective:
    """Return a measure without reference to quasi-identifiers."""
    if isinstance(measure, GeneralLossMetric | NormalizedWeightedPenalty):
        return type(measure)()
    if isinstance(measure, WithBackgroundKnowledge) and measure.known is not None:
        return measure.knowing(any_of(1))
    return measure


def _made(name: str, settings: Settings) -> Algorithm:
    if name == "pls":
        return ParetoLocalSearch(settings.pop_size, settings.sides())
    if name == "pbgea":
        return PBGEA(settings.pop_size, settings.sides())
    if name == "nsga2":
        # Here, because it loads scipy, which no other search needs.
        from pymoo.algorithms.moo.nsga2 import NSGA2

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
    if name == "sweep":
        return TargetSweep()
    return BranchAndBound() if name == "bnb" else ExhaustiveSearch()


def _proven(algorithm: Algorithm, problem: Searched) -> tuple[int | None, bool]:
    """Return the number of undecided nodes, and whether the front is proven."""
    if isinstance(problem, LocalRecodingProblem):
        return None, False
    certified = bool(getattr(algorithm, "certified", False))
    undecided = getattr(algorithm, "n_undecided", problem.n_nodes - problem.n_unique)
    return 0 if certified else undecided, certified


def run(settings: Settings, console: Console) -> None:
    """Search, write the files, and print the front."""
    project = settings.project
    read = [] if project is None else project.files
    with tried(settings.output, [STORED, *FILES], read, own=True) as temporary, alone(settings.output):
        # Now, because somebody may edit the file while the search lasts.
        checksums = {} if project is None else project.checksums()
        own: dict[str, Any] = {}
        if project is not None:
            own["project"] = {"file": path_from(settings.output, project.path), "sha256": checksum(project.path)}
            own["project"] |= project.identity(checksums)
        with working("Reading the table"), options_named(settings, project):
            problem = problem_of(read_table(settings), record_of(settings))
        algorithm = algorithm_for(problem, settings)
        _say_the_start(console, problem, algorithm, settings)
        start = time.perf_counter()
        with working("Compiling or loading loops"):
            # A few generations call all that is to be compiled, however long that takes.
            few = replace(settings, generations=min(settings.generations, 5), time_limit=None)
            search(tiny(problem), algorithm[0], few)
            check_interrupted()
        compile_seconds = time.perf_counter() - start
        with _kept(console, problem, algorithm[0], settings) as journal:
            found = _searched(problem, algorithm[0], settings)
            if found.stopped == "Ctrl-C":
                forget_interrupt()
            front = found.front
            if len(front) == 0:
                journal.remove()
            _check_found(problem, front, settings)
            with working("Drawing and writing the front"):
                record = search_record(found, record_of(settings), checksums, algorithm, compile_seconds)
                write_front(front, {**record, **own}, temporary)
            written = [name for name in (STORED, *FILES) if (temporary / name).exists()]
            put_in_place(temporary, settings.output, written)
            if STORED not in written:
                # It is of an earlier search, and holds the tuples of its table.
                (settings.output / STORED).unlink(missing_ok=True)
            if found.stopped != "Ctrl-C":
                journal.remove()
    console.print(front_table(front, None if settings.wide else console.width), soft_wrap=settings.wide)
    _say_the_end(console, found, settings, settings.output / FILES[0])
    if found.stopped == "Ctrl-C":
        raise typer.Exit(ExitCode.INTERRUPTED)


def read_table(settings: Settings) -> Microdata:
    """Read the table of the project, or the demo."""
    if settings.project is not None:
        return table_of(settings.project)
    from pymoo_anon.datasets import fetch_adult, make_census

    if settings.demo == "census":
        return make_census(settings.rows)
    # As in Dewri et al. 2010, salary-class is no quasi-identifier where it is the label.
    labelled = "CM" in [part.strip() for part in (settings.objectives or "").split(",")]
    return fetch_adult(label="salary-class" if labelled else None)


def search_record(
    found: Found,
    options: Mapping[str, Any],
    inputs: Mapping[str, str | None],
    algorithm: tuple[str, str],
    compile_seconds: float,
) -> dict[str, Any]:
    """Return the record of a search: all that is needed to repeat it."""
    problem = found.front.problem
    return {
        "options": dict(options),
        "inputs": {"sha256": dict(inputs)},
        "algorithm": dict(zip(("name", "why"), algorithm, strict=True)),
        "objectives": [repr(objective) for objective in problem.objectives],
        "constraints": [repr(one) for one in problem.constraints],
        "n_rows": problem.table.n_rows,
        "n_distinct": problem.table.n_distinct,
        "suppression": repr(problem.suppression),
        "n_nodes": getattr(problem, "n_nodes", None),
        "n_unique": problem.n_unique,
        "n_front": len(found.front),
        "certified": found.front.certified,
        "n_undecided": found.n_undecided,
        "stopped": found.stopped,
        "compile_seconds": round(compile_seconds, 3),
        "search_seconds": round(found.seconds, 3),
        "versions": _versions("pymoo", "moocore", "numpy", "numba", "pandas", "matplotlib")
        | {"python": platform.python_version()},
        "platform": platform.platform(),
    }


def _versions(*packages: str) -> dict[str, str]:
    return {"pymoo_anon": __version__, **{name: version(name) for name in packages}}


def _searched(problem: Searched, name: str, settings: Settings) -> Found:
    """Search, and show the progress or pymoo's table."""
    if settings.verbose:
        return search(problem, name, settings, verbose=True)
    with working("Searching") as show:

        def notify(algorithm: Algorithm) -> None:
            done, found = algorithm.termination.perc, f"{len(algorithm.opt):,} found in {problem.n_unique:,}"
            kind = f"of {algorithm.n_points:,} targets" if isinstance(algorithm, TargetSweep) else "nodes"
            show(f"Searching: {100 * done:.0f} %, {found} {kind}")

        return search(problem, name, settings, callback=notify)


def _check_found(problem: Searched, front: Front, settings: Settings) -> None:
    if len(front) == 0 and isinstance(problem, LocalRecodingProblem):
        raise ValueError(f"no local recoding found satisfies {' and '.join(settings.require)}; require less")
    if len(front) == 0:
        among = "in the lattice" if front.certified else f"among the {problem.n_unique:,} that were visited"
        raise ValueError(
            f"no generalization {among} satisfies {' and '.join(settings.require) or 'the limit of suppression'}; "
            "require less, or allow more suppression"
        )


@contextmanager
def _kept(console: Console, problem: Searched, algorithm: str, settings: Settings) -> Iterator[Journal]:
    """Yield the journal of a search, which it removes after its end."""
    path = settings.output / JOURNAL
    if path.exists() and not settings.resume:
        console.print(plain(f"{path}: an earlier search did not end; --resume continues it. This search starts anew."))
    asked = {name: getattr(settings, name) for name in ("seed", "generations", "pop_size", "epsilon")}
    identity = {**asked, "algorithm": algorithm, "versions": _versions("pymoo", "moocore", "numpy")}
    with journaled(problem, path, settings=identity, resume=settings.resume) as journal:
        if settings.resume:
            console.print(f"Resumed with {problem.n_unique:,} evaluated nodes.")
        try:
            yield journal
        finally:
            journal.close()
            if path.exists():
                console.print(plain(f"All evaluations are kept in {path}; --resume continues the search."))


def _say_the_start(console: Console, problem: Searched, algorithm: tuple[str, str], settings: Settings) -> None:
    space = f"{count(problem.n_nodes)} nodes" if isinstance(problem, LatticeProblem) else "local recodings"
    columns = counted(len(problem.table.quasi_identifiers), "quasi-identifier", "quasi-identifiers")
    why = f" ({algorithm[1]})" if settings.verbose else ""
    rows = counted(problem.table.n_rows, "row", "rows")
    tell(console, f"{rows}, {columns}, {space}; {ALGORITHMS[algorithm[0]].words}{why}.")


def _say_the_end(console: Console, found: Found, settings: Settings, path: Path) -> None:
    n, shown = len(found.front), len(found.front) if settings.wide else min(len(found.front), _SHOWN)
    proof = "proven complete" if found.front.certified else f"not proven ({found.stopped})"
    points = counted(n, "point", "points") if shown == n else f"{shown} of {n:,} points"
    tell(console, f"{points}, {proof}. All: {path}{'' if settings.wide else ', --wide'}")
    if settings.project is not None:
        tell(console, f'Next: pymoo-anon pick {settings.project.path} --require "k>=5"')


def front_table(front: Front, width: int | None = None) -> Table:
    """Return the columns of a front that fit a width.

    Measures come before levels. Without a width all columns are in it.
    """
    places = np.arange(len(front)) if width is None else _spread(front)
    shown, losses = front.only(places), {plain(str(name)) for name in front.losses()}
    cells, n = shown.cells(), len(front.table.quasi_identifiers)
    # The share of a loss tells more than its sum.
    measures = [own for own in cells[n:] if width is None or own[0] not in losses]
    columns = [("row", [f"{place + 1:,}" for place in places]), *measures, *(cells[:n] if width is None else [])]
    widths = [max(map(cell_len, [heading, *texts])) + GAP for heading, texts in columns]
    used = np.cumsum(widths)
    n_fitting = len(columns) if width is None else int(np.count_nonzero(used <= width + GAP))
    table, rows = new_table(()), [own for _, own in columns[:n_fitting]]
    for (heading, _), taken in list(zip(columns, widths, strict=True))[:n_fitting]:
        table.add_column(Text(heading), justify="right", width=taken - GAP)
    table.width = int(used[-1])
    if width is not None:
        table.width, room = None, width - int(used[n_fitting - 1])
        if room >= _LEAST_WORDS:
            table.add_column("levels", width=room, no_wrap=True, overflow="ellipsis")
            rows.append(_words(shown, room))
    for row in zip(*rows, strict=True):
        table.add_row(*row)
    return table


def _spread(front: Front) -> Ints:
    """Return the ends and the knee of a front, and some points between."""
    places = np.linspace(0, len(front) - 1, min(len(front), _SHOWN)).round().astype(np.int64)
    inner, knee = places[1:-1], front.knee
    if knee is not None and len(inner):
        inner[np.abs(inner - knee).argmin()] = knee
    return places


def _words(front: Front, room: int) -> list[str]:
    """Return the levels of each point in words.

    `age` stands for its values, `age 2` for level 2. Where they do not fit, the number of columns stands for them.
    """
    if isinstance(front.problem, LocalRecodingProblem):
        return front.problem.words(front.X)
    words, trees = [], front.table.quasi_identifiers.items()
    for x in front.X.tolist():
        levels = {plain(str(name)): own for (name, tree), own in zip(trees, x, strict=True) if tree.n_groups[own] > 1}
        said = ", ".join(f"{name} {own or ''}".strip() for name, own in levels.items())
        short = f"{list(levels.values()).count(0)} kept, {np.count_nonzero([*levels.values()])} coarser"
        words.append((said or "all *") if cell_len(said) <= room else short)
    return words
