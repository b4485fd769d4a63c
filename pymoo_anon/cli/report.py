"""What a search leaves behind: its front as a table and a picture, and a record of the run."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
from pymoo.core.result import Result
from rich import box
from rich.table import Table
from rich.text import Text

import pymoo_anon
from pymoo_anon.problems.base import AnonymizationProblem
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.visualization import plot_front

#: The files of a report.
FILES = ("front.csv", "front.png", "run.json")


def sorted_front(problem: AnonymizationProblem, res: Result) -> pd.DataFrame:
    """The front with natural signs from private to useful: the first objective descends, then the second, and so on.

    High privacy and high loss go together, so that descending is from private to useful whichever comes first.

    Args:
        problem: The problem.
        res: What `minimize` returned.
    """
    by = list(problem.objective_names)
    return problem.to_frame(res).sort_values(by, ascending=False, kind="stable", ignore_index=True)


def front_table(problem: AnonymizationProblem, front: pd.DataFrame) -> Table:
    """A front as a table to print with rich, all of its members.

    Args:
        problem: The problem.
        front: The front, as `sorted_front` gives it.
    """
    directions = [
        f"{name}: {'higher' if objective.maximize else 'lower'} is better"
        for name, objective in zip(problem.objective_names, problem.objectives, strict=True)
    ]
    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
        caption=Text(f"Levels of generalization: 0 keeps the values. {', '.join(directions)}."),
        caption_justify="left",
    )
    for name in front:
        if name in problem.table.quasi_identifiers:
            # Long names fold where a person would divide them.
            heading, style = str(name).replace("-", "-\n").replace("_", "_\n"), ""
        else:
            heading, style = str(name), "bold"
        table.add_column(Text(heading), justify="right", vertical="bottom", style=style)
    texts = [_texts(front[name]) for name in front]
    for row in zip(*texts, strict=True):
        table.add_row(*row)
    return table


def run_record(
    problem: LatticeProblem,
    res: Result,
    options: Mapping[str, Any],
    *,
    compile_seconds: float,
    search_seconds: float,
) -> dict[str, Any]:
    """What is needed to understand a search and to repeat it.

    Args:
        problem: The problem, after the search.
        res: What `minimize` returned.
        options: Every option of the search, its seed included.
        compile_seconds: Time until the compiled loops were ready.
        search_seconds: Time of the search itself.
    """
    return {
        "options": dict(options),
        "objectives": [repr(objective) for objective in problem.objectives],
        "constraints": [repr(constraint) for constraint in problem.constraints],
        "n_rows": problem.table.n_rows,
        "n_distinct": problem.table.n_distinct,
        "suppression": repr(problem.suppression),
        "n_nodes": problem.n_nodes,
        "n_unique": problem.n_unique,
        "n_front": len(problem.to_frame(res)),
        "compile_seconds": round(compile_seconds, 3),
        "search_seconds": round(search_seconds, 3),
        "versions": {
            "pymoo_anon": pymoo_anon.__version__,
            **{name: version(name) for name in ("pymoo", "moocore", "numpy", "numba", "pandas", "matplotlib")},
            "python": platform.python_version(),
        },
        "platform": platform.platform(),
    }


def write_report(
    problem: AnonymizationProblem, res: Result, record: Mapping[str, Any], folder: str | os.PathLike[str]
) -> list[Path]:
    """Write `front.csv`, `front.png` and `run.json`: all three or, on any failure and on Ctrl-C, none.

    Files of these names in the folder are replaced. `front.csv` holds the front as `sorted_front` gives it.

    Args:
        problem: The problem.
        res: What `minimize` returned.
        record: What `run.json` is to hold, as `run_record` gives it.
        folder: Where to write; it is made where it does not exist.

    Returns:
        The paths of the files.
    """
    folder = Path(folder)
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".pymoo_anon-", dir=folder) as temporary:
            new = Path(temporary)
            sorted_front(problem, res).to_csv(new / "front.csv", index=False, lineterminator="\n")
            plot_front(problem, res, new / "front.png")
            (new / "run.json").write_text(
                json.dumps(record, indent=2, default=str, ensure_ascii=False) + "\n", encoding="utf-8"
            )
            _move(new, folder)
    except BaseException:
        for path in made:
            with contextlib.suppress(OSError):
                path.rmdir()
        raise
    return [folder / name for name in FILES]


def _move(new: Path, folder: Path) -> None:
    """Put all files in place; if that fails, put back what was there before."""
    old = new / "replaced"
    old.mkdir()
    try:
        for name in FILES:
            if (folder / name).is_file():
                os.replace(folder / name, old / name)
            os.replace(new / name, folder / name)
    except BaseException:
        for name in FILES:
            if (old / name).exists():
                os.replace(old / name, folder / name)
            elif not (new / name).exists():
                (folder / name).unlink(missing_ok=True)
        raise


def _texts(column: pd.Series[Any]) -> list[str]:
    """Numbers as a person writes them, all of a column with the same decimals."""
    if pd.api.types.is_integer_dtype(column):
        return [f"{value:,}" for value in column]
    decimals = 1 if column.abs().max() >= 1000 else 4
    return [f"{value:,.{decimals}f}" for value in column]
