"""What a search leaves behind: its front as a table and a picture, and a record of the run."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from pymoo.core.result import Result
from rich import box
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

import pymoo_anon
from pymoo_anon._messages import plain
from pymoo_anon.cli.names import FILES
from pymoo_anon.cli.searching import Found
from pymoo_anon.problems.base import AnonymizationProblem
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.visualization.fronts import plot_front

# Columns of a terminal that stand between two columns of a table.
_GAP = 2


class _Column(NamedTuple):
    """A column of a printed front: heading, style, cells."""

    heading: str
    style: str
    cells: list[str]

    @property
    def width(self) -> int:
        """Columns of a terminal that it takes, its gap included."""
        return _GAP + max(map(cell_len, [*self.heading.split("\n"), *self.cells]))


def sorted_front(problem: AnonymizationProblem, res: Result) -> pd.DataFrame:
    """The front with natural signs from private to useful: the first objective descends, then the second, and so on.

    High privacy and high loss go together, so that descending is from private to useful whichever comes first.

    Returns:
        The frame of `problem.to_frame`, those rows that satisfy all constraints.
    """
    front = problem.to_frame(res)
    if problem.constraints:
        feasible = front.columns[-1]
        front = front[front[feasible]].drop(columns=feasible)
    return front.sort_values(list(problem.objective_names), ascending=False, kind="stable", ignore_index=True)


def front_tables(problem: AnonymizationProblem, front: pd.DataFrame, width: int) -> list[Table]:
    """A front as tables to print with rich, all of its members and columns.

    One table where that fits, else several with some of the columns each; their rows are numbered then.
    """
    columns = [_column(problem, front[name]) for name in front]
    numbers = _Column("row", "dim", [f"{number:,}" for number in range(1, len(front) + 1)])
    blocks = [columns]
    if sum(column.width for column in columns) > width:
        blocks, room = [], 0
        for column in columns:
            if column.width > room:
                blocks.append([numbers])
                room = width - numbers.width
            blocks[-1].append(column)
            room -= column.width
    tables = []
    for block in blocks:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
        for heading, style, _ in block:
            # A heading wider than the terminal folds; a number never is.
            table.add_column(Text(heading), justify="right", vertical="bottom", style=style, overflow="fold")
        for row in zip(*(column.cells for column in block), strict=True):
            table.add_row(*row)
        tables.append(table)
    return tables


def legend(problem: AnonymizationProblem) -> str:
    """What the numbers of a printed front mean."""
    directions = [
        f"{name}: {'higher' if objective.maximize else 'lower'} is better"
        for name, objective in zip(problem.objective_names, problem.objectives, strict=True)
    ]
    return plain(f"Levels of generalization: 0 keeps the values. {', '.join(directions)}.")


def run_record(
    problem: LatticeProblem,
    found: Found,
    options: Mapping[str, Any],
    inputs: Mapping[str, str | None],
    *,
    algorithm: tuple[str, str],
    compile_seconds: float,
) -> dict[str, Any]:
    """What is needed to understand a search and to repeat it."""
    return {
        "options": dict(options),
        "inputs": {"sha256": dict(inputs)},
        "algorithm": dict(zip(("name", "why"), algorithm, strict=True)),
        "objectives": [repr(objective) for objective in problem.objectives],
        "constraints": [repr(constraint) for constraint in problem.constraints],
        "n_rows": problem.table.n_rows,
        "n_distinct": problem.table.n_distinct,
        "suppression": repr(problem.suppression),
        "n_nodes": problem.n_nodes,
        "n_unique": problem.n_unique,
        "n_front": len(problem.to_frame(found.res)),
        "certified": found.certified,
        "n_undecided": found.n_undecided,
        "stopped": found.stopped,
        "compile_seconds": round(compile_seconds, 3),
        "search_seconds": round(found.seconds, 3),
        "versions": {
            "pymoo_anon": pymoo_anon.__version__,
            **{name: version(name) for name in ("pymoo", "moocore", "numpy", "numba", "pandas", "matplotlib")},
            "python": platform.python_version(),
        },
        "platform": platform.platform(),
    }


def write_report(
    problem: AnonymizationProblem, res: Result, front: pd.DataFrame, record: Mapping[str, Any], folder: Path
) -> None:
    """Write `front.csv`, `front.png` and `run.json`.

    Args:
        problem: The problem.
        res: What `minimize` returned.
        front: What `front.csv` is to hold, as `sorted_front` gives it.
        record: What `run.json` is to hold besides the checksum of the front, as `run_record` gives it.
        folder: Where to write.

    Raises:
        OSError: A file cannot be written.
    """
    table, picture, run = (folder / name for name in FILES)
    front.to_csv(table, index=False, lineterminator="\n")
    plot_front(problem, res, picture)
    whole = {**record, "front": {"sha256": hashlib.sha256(table.read_bytes()).hexdigest()}}
    text = json.dumps(whole, indent=2, default=str, ensure_ascii=False)
    # A name of a file need not be text in UTF-8: what is none stands as Python writes it.
    run.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")


def _column(problem: AnonymizationProblem, values: pd.Series[Any]) -> _Column:
    name = str(values.name)
    if name in problem.table.quasi_identifiers:
        # Long names fold where a person would divide them.
        return _Column(plain(name).replace("-", "-\n").replace("_", "_\n"), "", _texts(values))
    return _Column(plain(name), "bold", _texts(values))


def _texts(column: pd.Series[Any]) -> list[str]:
    """Numbers as a person writes them, all of a column with the same decimals."""
    if pd.api.types.is_integer_dtype(column):
        return [f"{value:,}" for value in column]
    decimals = 1 if column.abs().max() >= 1000 else 4
    return [f"{value:,.{decimals}f}" for value in column]
