"""The command `search`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from pathlib import Path

import click

# Loading it here, an interrupt ends the command before its work.
import numba  # noqa: F401
import numpy as np
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pymoo_anon._messages import counted, counted_nodes, plain
from pymoo_anon.cli.console import GAP, new_table, tell, working
from pymoo_anon.objectives.privacy.identity import KAnonymity
from pymoo_anon.problems.front import Front
from pymoo_anon.problems.journal import Journal
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.problems.local_recoding import LocalRecodingProblem
from pymoo_anon.study.interrupt import ExitCode
from pymoo_anon.study.names import ALGORITHMS, FILES, JOURNAL
from pymoo_anon.study.options import Settings, command
from pymoo_anon.study.search import Found, Run, searched_folder
from pymoo_anon.typing import Ints

# So many points of a longer front are printed.
_MOST_POINTS = 5

# Characters that levels in words need at least.
_LEAST_WORDS = 12


def run_search(settings: Settings, console: Console) -> None:
    """Search, write the files, and print the front."""
    with searched_folder(settings) as temporary:
        with working("Reading the table"):
            run = Run(settings)
        _say_the_start(console, run)
        with _kept(console, run) as journal:
            verbose = settings.verbose
            with working("Searching", moves=False if verbose else None) as show:
                found = run.search(verbose=verbose, callback=lambda own: show(f"Searching: {run.progress(own)}"))
            with working("Drawing and writing the front"):
                run.write(found, temporary, journal)
    front = found.front
    console.print(front_table(front, None if settings.wide else console.width), soft_wrap=settings.wide)
    _say_the_end(console, found, settings, settings.output / FILES[0])
    if found.interrupted:
        raise click.exceptions.Exit(ExitCode.INTERRUPTED)


@contextmanager
def _kept(console: Console, own: Run) -> Iterator[Journal]:
    """Yield the journal of a search, and tell of one that stays."""
    path, resume = own.settings.output / JOURNAL, own.settings.resume
    if path.exists() and not resume:
        console.print(plain(f"{path}: an earlier search did not end; --resume continues it. This search starts anew."))
    with own.journaled() as journal:
        if resume:
            console.print(f"Resumed with {own.problem.n_unique:,} evaluated nodes.")
        try:
            yield journal
        finally:
            journal.close()
            if path.exists():
                console.print(plain(f"All evaluations are kept in {path}; --resume continues the search."))


def _say_the_start(console: Console, own: Run) -> None:
    problem = own.problem
    space = counted_nodes(problem.n_nodes) if isinstance(problem, LatticeProblem) else "local recodings"
    columns = counted(len(problem.table.quasi_identifiers), "quasi-identifier", "quasi-identifiers")
    why = f" ({own.why})" if own.settings.verbose else ""
    rows = counted(problem.table.n_rows, "row", "rows")
    tell(console, f"{rows}, {columns}, {space}; {ALGORITHMS[own.algorithm].words}{why}.")


def _say_the_end(console: Console, found: Found, settings: Settings, path: Path) -> None:
    n, shown = len(found.front), len(found.front) if settings.wide else min(len(found.front), _MOST_POINTS)
    proof = "proven complete" if found.front.certified else f"not proven ({found.stopped})"
    points = counted(n, "point", "points") if shown == n else f"{shown} of {n:,} points"
    tell(console, f"{points}, {proof}. All: {path}{'' if settings.wide else ', --wide'}")
    if settings.project is not None:
        k = _proposed_k(found.front)
        # The project file names another folder.
        own = settings.project.path if settings.output == settings.project.output else settings.output
        heard = next(iter(settings.project.audiences), None)
        picks = f'{command("pick", own)} --require "k>={k}"'
        # Nobody picks a point for an audience.
        following = f"Next: {picks if heard is None else command('release', own, audience=heard)}"
        tell(console, following if k > 1 else "Nothing can be released: a single row has none to hide among.")


def front_table(front: Front, width: int | None = None) -> Table:
    """Return the columns of a front that fit a width. Measures come before levels, and None takes all."""
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


def _proposed_k(front: Front) -> int:
    bounds = (one for one in front.problem.constraints if one.at_least and one.objective.known is None)
    k = max([5, *(ceil(one.bound) for one in bounds if isinstance(one.objective, KAnonymity))])
    return min(k, front.table.n_rows)


def _spread(front: Front) -> Ints:
    places = np.linspace(0, len(front) - 1, min(len(front), _MOST_POINTS)).round().astype(np.int64)
    inner, ks = places[1:-1], [own for own in front.objectives if isinstance(own, KAnonymity) and own.known is None]
    # The last point of the proposed k is what the next command picks, or near it.
    for place in (front.knee, *(np.flatnonzero(front.values(k) >= _proposed_k(front)).max(initial=0) for k in ks)):
        if place and place < len(front) - 1:
            inner[np.abs(inner - place).argmin()] = place
    return places


def _words(front: Front, room: int) -> list[str]:
    """Return the levels of each point in words, such as `age 2`. Without room their number is told."""
    if isinstance(front.problem, LocalRecodingProblem):
        return front.problem.words(front.X)
    words, trees = [], front.table.quasi_identifiers.items()
    for x in front.X.tolist():
        levels = {plain(str(name)): own for (name, tree), own in zip(trees, x, strict=True) if tree.n_groups[own] > 1}
        said = ", ".join(f"{name} {own or ''}".strip() for name, own in levels.items())
        short = f"{list(levels.values()).count(0)} kept, {np.count_nonzero([*levels.values()])} coarser"
        words.append((said or "all *") if cell_len(said) <= room else short)
    return words
