"""The file with a choice, beside the front that it was made from."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from pymoo_anon._files import put_in_place, tried
from pymoo_anon.cli.names import FILES
from pymoo_anon.cli.project import Project
from pymoo_anon.cli.results import Results
from pymoo_anon.cli.sources import checksum
from pymoo_anon.cli.wishes import CHOICE
from pymoo_anon.problems.front import Choice
from pymoo_anon.publishing.evidence_format import INFINITIES


def write_choice(project: Project, results: Results, choice: Choice) -> Path:
    """Write a choice beside its front; the file appears whole or not at all.

    Returns:
        The path of the file.
    """
    content = {
        "row": choice.row + 1,
        "levels": dict(zip(map(str, results.problem.table.quasi_identifiers), choice.x, strict=True)),
        "values": {name: _finite(value) for name, value in choice.values.items()},
        "suppressed": choice.n_suppressed,
        "reason": choice.reason,
        "front": {"rows": len(results.X), "sha256": checksum(project.output / FILES[0])},
    }
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    with tried(project.output, [CHOICE], [project.path, *project.inputs.paths]) as temporary:
        (temporary / CHOICE).write_text(text + "\n", encoding="utf-8", errors="backslashreplace", newline="\n")
        (path,) = put_in_place(temporary, project.output, [CHOICE])
    return path


def read_choice(project: Project, results: Results) -> tuple[int, str]:
    """The row of `results.X` that was chosen, from 0, and how it was chosen, in words."""
    path = project.output / CHOICE
    if not path.is_file():
        raise ValueError(f"no point of {project.path} is chosen: {path} is missing; pymoo-anon pick writes it")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        row, front = content["row"], content["front"]["sha256"]
        levels, reason = list(content["levels"].values()), str(content["reason"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path} must be what pymoo-anon pick wrote, got {error!r:.80}") from None
    if front != checksum(project.output / FILES[0]):
        raise ValueError(f"{path} was chosen from another front than {project.output / FILES[0]}: pick again")
    if type(row) is not int or not 1 <= row <= len(results.X) or levels != results.X[row - 1].tolist():
        raise ValueError(f"{path} must hold a row of the front and its levels, got row {row!r:.80} and {levels!r:.80}")
    return row - 1, reason


def _finite(value: Any) -> Any:
    """A value as JSON has it: infinity is text there."""
    return INFINITIES[value > 0] if math.isinf(value) else value
