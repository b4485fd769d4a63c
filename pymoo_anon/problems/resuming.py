"""Searches that go on where their process was killed: a problem whose memory is kept in a journal.

A search that is begun again with the same seed and with `resume` runs as it ran before, and finds what was evaluated in
the journal: its result is that of a search that was never killed. `PBGEA`, `ExhaustiveSearch` and pymoo's algorithms
measure nothing twice; `BranchAndBound` learns nothing twice, too. `ParetoLocalSearch` looks at all nodes again to learn
its bounds from them.

>>> import tempfile
>>> from pymoo_anon.datasets import make_census
>>> from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
>>> problem = LatticeProblem(make_census(200), [KAnonymity(), GeneralLossMetric()])
>>> again = LatticeProblem(make_census(200), [KAnonymity(), GeneralLossMetric()])
>>> with tempfile.TemporaryDirectory() as folder:
...     with journaled(problem, f"{folder}/search.journal", settings={"seed": 1}):
...         F = problem.evaluate(problem.nodes(0, 3))
...     with journaled(again, f"{folder}/search.journal", settings={"seed": 1}, resume=True):
...         again.n_unique
3
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from pymoo_anon.problems.journal import LESSON, VALUES, Journal
from pymoo_anon.problems.lattice import LatticeProblem


@contextmanager
def journaled(
    problem: LatticeProblem,
    path: str | os.PathLike[str],
    *,
    settings: Mapping[str, Any] | None = None,
    resume: bool = False,
) -> Iterator[Journal]:
    """Keep what a problem evaluates in a journal on disk, for as long as the block lasts.

    It stays at the end of the block; `journal.remove()` removes it when it is no longer needed.

    Args:
        problem: The problem.
        path: The file of the journal. Without `resume` the first evaluation begins it anew.
        settings: What has to be the same for the searches to be the same, such as the seed; values as in JSON.
        resume: Whether an existing file is taken up.

    Yields:
        The journal.

    Raises:
        TypeError: `problem` is no LatticeProblem.
        ValueError: The file is of another problem or of other settings, or it is something else than a journal.
        OSError: It cannot be read.
    """
    if not isinstance(problem, LatticeProblem):
        raise TypeError(f"problem must be a LatticeProblem, got {type(problem).__name__}")
    journal = Journal(path, fingerprint(problem, settings or {}))
    there = journal.path.exists()
    if there:
        journal.check_replaceable()
    if there and resume:
        for record in journal.records():
            if record.kind == VALUES:
                problem.remember(record.keys, record.numbers)
            elif record.kind == LESSON:
                journal.lessons[record.keys[0]] = record.numbers
    problem.journal = journal
    try:
        yield journal
    finally:
        problem.journal = None
        journal.close()


def fingerprint(problem: LatticeProblem, settings: Mapping[str, Any]) -> str:
    """64 hexadecimal digits that tell problems apart: their table, hierarchies, measures, suppression, and settings.

    Two measures of one's own are the same to it where they look the same, by `repr`.
    """
    made = hashlib.sha256()
    table = problem.table
    words = [
        *map(repr, (problem.objectives, problem.constraints, problem.suppression)),
        *map(repr, (table.sensitive, table.label, table.person)),
        json.dumps(dict(settings), sort_keys=True, default=str),
    ]
    # The counts of the quasi-identifiers' values in each distinct tuple are the tuples themselves.
    arrays = []
    for name, hierarchy in table.quasi_identifiers.items():
        words += [repr(name), repr(hierarchy.labels)]
        arrays.append(hierarchy.groups)
    for name, column in table.tuples.columns.items():
        words += [repr(name), repr(table.tuples.domains[name])]
        arrays += [column.starts, column.values, column.counts]
    for text in words:
        made.update(hashlib.sha256(text.encode("utf-8", "backslashreplace")).digest())
    for array in arrays:
        made.update(repr(array.shape).encode())
        made.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
    return made.hexdigest()
