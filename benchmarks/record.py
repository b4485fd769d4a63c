"""Machine, versions and claims of every benchmark, and the places of its results."""

import json
import os
import platform
import re
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

T = TypeVar("T")

RESULTS = Path(__file__).parent / "results"
VERDICTS = ("holds", "holds in part", "does not hold")
CLAIM = ("section", "claim", "verdict", "here", "paper")


def machine() -> dict[str, Any]:
    """Describe the processor, the cores, the versions and the load."""
    found = subprocess.run(["lscpu"], capture_output=True, text=True, check=False).stdout
    models = [line.split(":", 1)[1].strip() for line in found.splitlines() if line.startswith("Model name")]
    packages = ("pymoo_anon", "pymoo", "numpy", "numba", "pandas")
    return {
        "date": date.today().isoformat(),
        "processor": models[0] if models else platform.processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[1], 1),
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """Return the result of some work, and its processor seconds, which other processes do not lengthen."""
    began = time.process_time()
    found = work()
    return found, time.process_time() - began


def median_seconds(work: Callable[[], object], repeats: int, clock: Callable[[], float] = time.process_time) -> float:
    """Return the median time of some work, after one unmeasured call."""
    work()
    seconds = []
    for _ in range(repeats):
        began = clock()
        work()
        seconds.append(clock() - began)
    return median(seconds)


def processes(n: int = 2) -> ProcessPoolExecutor:
    """Return a pool of new processes, which share nothing with this one."""
    return ProcessPoolExecutor(n, mp_context=get_context("spawn"))


def line(of: dict[str, Any] | None = None) -> str:
    """Describe a machine in one line, by default this one."""
    of = machine() if of is None else of
    versions = ", ".join(f"{name} {of[name]}" for name in ("python", "numpy", "numba", "pandas", "pymoo"))
    # More processes than cores: seconds are too long. Results of before this was noted have no load.
    load = f" with a load of {of['load']}" if "load" in of else ""
    return f"{of['date']}, {of['processor']}, {of['cores']} cores{load}, {versions}"


def verdict(found: Sequence[bool]) -> str:
    return VERDICTS[0] if all(found) else VERDICTS[1] if any(found) else VERDICTS[2]


def claim(section: str, says: str, paper: str, here: str, found: Sequence[bool]) -> dict[str, str]:
    """Write one line of the table of claims: where the paper says what, both figures, and where the claim holds."""
    return {"section": section, "claim": says, "paper": paper, "here": here, "verdict": verdict(found)}


def said_by(paper: str) -> Callable[..., dict[str, str]]:
    """Return a function that writes a claim of a paper, by its key in `papers/said.json`, with names put into it."""
    known = json.loads((Path(__file__).parent / "papers" / "said.json").read_text(encoding="utf-8"))[paper]

    def told(key: str, here: str, found: Sequence[bool], **names: object) -> dict[str, str]:
        section, says, figures = known[key]
        return claim(section, says.format(**names), figures.format(**names), here, found)

    return told


def claims_table(claims: Sequence[dict[str, str]]) -> str:
    """Write the claims of one paper in markdown."""
    return table({column: f"{{{column}}}" for column in CLAIM}, claims)


def table(columns: Mapping[str, str | Callable[[Any], str]], rows: Sequence[Any]) -> str:
    """Write figures in markdown, each column by a format of the row's names such as "{seconds:.1f}", or a function."""
    shown = [own.format_map if isinstance(own, str) else own for own in columns.values()]
    return markdown(list(columns), [[show(row) for show in shown] for row in rows])


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a table, with columns after the first aligned to the right."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]

    def fill(cells: Sequence[str]) -> str:
        padded = [cells[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(cells[1:], widths[1:], strict=True))]
        return f"| {' | '.join(padded)} |"

    rule = "|".join(["-" * (widths[0] + 2), *("-" * (w + 1) + ":" for w in widths[1:])])
    return "\n".join([fill(head), f"|{rule}|", *map(fill, rows)])


def stored(name: str) -> dict[str, Any]:
    """Return the figures of an earlier run, or none."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def words(name: str, /, **parts: Any) -> str:
    """Return the text of `words/name.md` with parts put into it, `{machine}` being this one by default."""
    text = (Path(__file__).parent / "words" / f"{name}.md").read_text(encoding="utf-8")
    return text.removesuffix("\n").format_map({"machine": line(), **parts})


def write(name: str, figures: dict[str, Any], /, *paragraphs: str, **parts: Any) -> None:
    """Write `results/name.json`, lists of numbers on one line, and `results/name.md`, and print the latter.

    The page is its paragraphs or, if there are none, its words with figures and other parts put into them.
    """
    RESULTS.mkdir(parents=True, exist_ok=True)
    plain = re.sub(r"\[[-+\d.eE,\snul]*\]", lambda own: " ".join(own[0].split()), json.dumps(figures, indent=1))
    text = "\n\n".join(paragraphs) or words(name, **{**figures, "machine": line(), **parts})
    (RESULTS / f"{name}.json").write_text(plain + "\n", encoding="utf-8")
    (RESULTS / f"{name}.md").write_text(text + "\n", encoding="utf-8")
    print(text)
