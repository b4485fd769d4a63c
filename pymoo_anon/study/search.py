"""The search of a project or of the demo: algorithm, run and record."""

from __future__ import annotations

import platform
import time
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

from pymoo.core.algorithm import Algorithm
from pymoo.core.termination import TerminateIfAny, Termination
from pymoo.termination.max_eval import MaximumFunctionCallTermination
from pymoo.termination.max_gen import MaximumGenerationTermination
from pymoo.termination.max_time import TimeBasedTermination

# Drawing loads now: an error after a search of hours would lose it.
import pymoo_anon.visualization.fronts  # noqa: F401
from pymoo_anon import __version__
from pymoo_anon._files import alone, tried
from pymoo_anon._messages import counted, counted_nodes
from pymoo_anon.algorithms.branch_and_bound import BranchAndBound
from pymoo_anon.algorithms.common import FrontOutput
from pymoo_anon.algorithms.full_domain import ExhaustiveSearch
from pymoo_anon.algorithms.local_search import ParetoLocalSearch
from pymoo_anon.algorithms.pbgea import PBGEA
from pymoo_anon.algorithms.target_sweep import TargetSweep
from pymoo_anon.operators.levels import LatticeSampling, LevelCrossover, SingleStepMutation
from pymoo_anon.problems.front import Front
from pymoo_anon.problems.journal import Journal, journaled
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.problems.local_recoding import LocalRecodingProblem
from pymoo_anon.study.interrupt import check_interrupted, forget_interrupt, put_in_place
from pymoo_anon.study.names import ALGORITHMS, FILES, JOURNAL, STORED, checksum, path_from
from pymoo_anon.study.options import Settings, bound_parts, dashed, idle_with, measures_in, options_named, record_of
from pymoo_anon.study.stored import write_front
from pymoo_anon.study.tables import before_release, problem_of, table_of
from pymoo_anon.table.microdata import Microdata

#: Branch and bound is known to be quick up to so many nodes times distinct tuples: k and GLM, with l or without, take
#: about a second for each 1.5 billion. Where bounds fathom little it visits all, which takes some times as long.
QUICK = 5 * 10**9

#: Problems that are searched.
Searched: TypeAlias = LatticeProblem | LocalRecodingProblem


@dataclass(frozen=True)
class Found:
    """Result of a search."""

    front: Front  # The front, from private to useful; it says whether it is proven
    seconds: float  # How long it took, without compiling
    compile_seconds: float  # How long it was set up, and loops were compiled or loaded
    n_undecided: int | None  # Number of undecided nodes, or None without nodes
    stopped: str  # Why it ended: proof complete, generations, evaluations, time limit, no new nodes, ... or Ctrl-C

    @property
    def interrupted(self) -> bool:
        """Whether the user ended it."""
        return self.stopped == "Ctrl-C"


def algorithm_for(problem: Searched, settings: Settings) -> tuple[str, str]:
    """Return the algorithm for a problem and the reason. It is a proof if that is known to be quick."""
    if settings.algorithm != "auto":
        return settings.algorithm, "asked for"
    asked = [dashed(name) for name in idle_with(Settings, "bnb") if name in settings.given]
    is_local = isinstance(problem, LocalRecodingProblem)
    if asked:
        return "nsga2" if is_local else "pbgea", f"--{asked[0]} is an option of an evolutionary search"
    if is_local:
        return "sweep", "a local recoding is made for each k on a log scale"
    work = f"{counted_nodes(problem.n_nodes)} with {counted(problem.table.n_distinct, 'tuple', 'tuples')} each"
    if problem.n_nodes * problem.table.n_distinct > QUICK:
        return "pls", f"{work} are more than are known to be proven quickly"
    without_proof = ""
    if problem.suppression.limit_of(problem.table.n_rows) is None:
        without_proof = "Below suppresses without limit, so bounds fathom little"
    try:
        BranchAndBound().setup(problem, seed=settings.seed)
    except ValueError as error:
        without_proof = str(error)
    if not without_proof:
        return "bnb", f"{work} are proven quickly"
    if problem.n_nodes <= settings.generations * settings.pop_size:
        return "exhaustive", f"local search would visit as many as all of the {counted_nodes(problem.n_nodes)}"
    return "pls", without_proof


def search(problem: Searched, name: str, settings: Settings, **kwargs: Any) -> Found:
    """Search until the proof is complete, a limit is reached, or Ctrl-C."""
    algorithm: Any = _made(name, settings)
    limits: dict[str, Termination] = {}
    if name == "pls":
        # As many nodes as an evolutionary search may see.
        limits["evaluations"] = MaximumFunctionCallTermination(settings.generations * settings.pop_size)
    elif not ALGORITHMS[name].proves and name != "sweep":
        limits["generations"] = MaximumGenerationTermination(settings.generations)
    if settings.time_limit is not None:
        limits["time limit"] = TimeBasedTermination(settings.time_limit)
    start, interrupted = time.time(), False
    algorithm.setup(
        problem, termination=TerminateIfAny(*limits.values()) if limits else None, seed=settings.seed, **kwargs
    )
    try:
        check_interrupted()
        while algorithm.has_next():
            algorithm.next()
            check_interrupted()
    except KeyboardInterrupt:
        interrupted = True
        if algorithm.opt is None or len(algorithm.opt) == 0:
            raise
    # Compiling moves the start of an algorithm.
    compile_seconds, seconds = algorithm.start_time - start, time.time() - algorithm.start_time
    res = algorithm.result()
    res.algorithm = algorithm
    certified, n_undecided = bool(getattr(algorithm, "certified", False)), None
    if isinstance(problem, LatticeProblem):
        n_undecided = 0 if certified else getattr(algorithm, "n_undecided", problem.n_nodes - problem.n_unique)
    over = [words for words, termination in limits.items() if termination.has_terminated()]
    # Branch and bound ends by itself when it is interrupted, others when they find no new node to try.
    interrupted = interrupted or (ALGORITHMS[name].proves and not certified and not over)
    if interrupted and res.X is None:
        raise KeyboardInterrupt
    stopped = over[0] if over else "the end of the sweep" if name == "sweep" else "no new nodes"
    stopped = "Ctrl-C" if interrupted else "proof complete" if certified else stopped
    front = problem.front(res).sorted()
    front.certified = certified
    return Found(front, seconds, compile_seconds, n_undecided, stopped)


def _made(name: str, settings: Settings) -> Algorithm:
    if name == "pls":
        return ParetoLocalSearch(settings.pop_size, settings.sides())
    if name == "pbgea":
        return PBGEA(settings.pop_size, settings.sides())
    if name == "nsga2":
        # Here, because it loads scipy, which no other search needs.
        from pymoo.algorithms.moo.nsga2 import NSGA2

        return NSGA2(
            settings.pop_size,
            sampling=LatticeSampling(),
            crossover=LevelCrossover(),
            mutation=SingleStepMutation(),
            # pymoo's own output of NSGA-II would compute the exact front first.
            output=FrontOutput(),
        )
    if name == "sweep":
        return TargetSweep()
    return BranchAndBound() if name == "bnb" else ExhaustiveSearch()


def read_table(settings: Settings) -> Microdata:
    """Read the table of the project, or the demo."""
    if settings.project is not None:
        return table_of(settings.project)
    from pymoo_anon.datasets import fetch_adult, make_census

    if settings.demo == "census":
        return make_census(settings.rows)
    # As in Dewri et al. 2010, salary-class is no quasi-identifier where it is the label.
    asked = [*measures_in(settings.objectives or ""), *(bound_parts(one)[0] for one in settings.require)]
    return fetch_adult(label="salary-class" if "CM" in asked else None)


def _versions(*packages: str) -> dict[str, str]:
    return {"pymoo_anon": __version__, **{name: version(name) for name in packages}}


@contextmanager
def searched_folder(settings: Settings) -> Iterator[Path]:
    """Yield a temporary folder in the output folder, locked against other searches."""
    read = [] if settings.project is None else settings.project.files
    with tried(settings.output, [STORED, *FILES], read, own=True) as temporary, alone(settings.output):
        yield temporary


class Run:
    """A search in its steps, from the options to the files."""

    def __init__(self, settings: Settings) -> None:
        self.settings, project = settings, settings.project
        # Now, because somebody may edit the file while the search lasts.
        self._checksums: dict[str, str | None] = {} if project is None else project.checksums()
        self._own: dict[str, Any] = {}
        if project is not None:
            place = {"file": path_from(settings.output, project.path), "sha256": checksum(project.path)}
            self._own["project"] = {**place, **project.identity(self._checksums)}
            if told := project.alike(project.release):
                warnings.warn(told, stacklevel=2)
        with options_named(settings, project):
            self.problem: Searched = problem_of(read_table(settings), record_of(settings))
        for told in [] if project is None else before_release(project, self.problem):
            warnings.warn(told, stacklevel=2)
        self.algorithm, self.why = algorithm_for(self.problem, settings)

    @property
    def identity(self) -> dict[str, Any]:
        """The options that a journal must have in common with a search."""
        asked = {name: getattr(self.settings, name) for name in ("seed", "generations", "pop_size", "epsilon")}
        return {**asked, "algorithm": self.algorithm, "versions": _versions("pymoo", "moocore", "numpy")}

    def journaled(self) -> AbstractContextManager[Journal]:
        """Open the journal of the search."""
        path, resume = self.settings.output / JOURNAL, self.settings.resume
        return journaled(self.problem, path, settings=self.identity, resume=resume)

    def progress(self, algorithm: Algorithm) -> str:
        """Say how far an algorithm of this search is."""
        of = "points"
        if isinstance(algorithm, TargetSweep):
            of = f"of {counted(len(algorithm.points), 'target', 'targets')}"
        elif isinstance(self.problem, LatticeProblem):
            of = f"of {counted_nodes(self.problem.n_nodes)}"
        done, seen = algorithm.termination.perc, self.problem.n_unique
        return f"{100 * done:.0f} %, {len(algorithm.opt):,} found in {seen:,} {of}"

    def search(self, **kwargs: Any) -> Found:
        """Search, and pass other arguments on to pymoo."""
        found = search(self.problem, self.algorithm, self.settings, **kwargs)
        if found.interrupted:
            forget_interrupt()
        return found

    def record(self, found: Found) -> dict[str, Any]:
        """Return the record of the search: all that is needed to repeat it."""
        problem = self.problem
        return {
            "options": record_of(self.settings),
            "inputs": {"sha256": self._checksums},
            "algorithm": {"name": self.algorithm, "why": self.why},
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
            "compile_seconds": round(found.compile_seconds, 3),
            "search_seconds": round(found.seconds, 3),
            "versions": _versions("pymoo", "moocore", "numpy", "numba", "pandas", "matplotlib")
            | {"python": platform.python_version()},
            "platform": platform.platform(),
            **self._own,
        }

    def write(self, found: Found, temporary: Path, journal: Journal) -> None:
        """Write the files of a search, or raise ValueError. An interrupted one with a front keeps its journal."""
        problem, asked = self.problem, self.settings.require
        if len(found.front) == 0:
            journal.remove()
            if isinstance(problem, LocalRecodingProblem):
                raise ValueError(f"no local recoding found satisfies {' and '.join(asked)}; require less")
            among = "in the lattice" if found.front.certified else f"among the {problem.n_unique:,} that were visited"
            raise ValueError(
                f"no generalization {among} satisfies {' and '.join(asked) or 'the limit of suppression'}; "
                "require less, or allow more suppression"
            )
        # Files may need the memory of the search.
        problem.table.free_grouper()
        write_front(found.front, self.record(found), temporary)
        written = [name for name in (STORED, *FILES) if (temporary / name).exists()]
        put_in_place(temporary, self.settings.output, written)
        if STORED not in written:
            # It is of an earlier search, and holds the tuples of its table.
            (self.settings.output / STORED).unlink(missing_ok=True)
        if not found.interrupted:
            journal.remove()
