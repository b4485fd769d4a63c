"""Evidence: what a release is worth and how to check it, in one JSON file that holds no value of the data.

It names columns, and counts. Settings that may quote values, such as an order of them for t-closeness, are told without
these. From the file alone one gets back to the front: the chosen point and its neighbours. So it stays inside: it tells
how many rows are suppressed, and why this point was chosen, which may tell what was suppressed (Wong et al. 2007).

The evidence for outsiders is made of the released table alone, so that it tells nothing that the table does not tell.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd

import pymoo_anon
from pymoo_anon._messages import examples, plain
from pymoo_anon.objectives.privacy.closeness import TCloseness
from pymoo_anon.objectives.privacy.diversity import DistinctLDiversity, EntropyLDiversity
from pymoo_anon.objectives.privacy.identity import KAnonymity
from pymoo_anon.objectives.recount import Recount
from pymoo_anon.problems.arguments import bound, column_name, measure_names, safe_repr, short_name
from pymoo_anon.problems.base import AnonymizationProblem
from pymoo_anon.problems.front import Choice, Front
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.problems.tradeoffs import Step, next_steps
from pymoo_anon.publishing.columns import uniqueness_of
from pymoo_anon.publishing.evidence_format import (
    EXTERNAL,
    EXTERNAL_FORMAT,
    FORMAT,
    INFINITIES,
    INTERNAL,
    VERSION,
    check_content,
)
from pymoo_anon.publishing.release import Release
from pymoo_anon.publishing.verify import recounted
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.table.suppression import Suppression

#: What evidence says of a search; what is not known is left out or None.
SEARCH = ("algorithm", "seed", "certified", "gap", "n_undecided", "stopped")

# The roles whose columns are counted in evidence for outsiders.
_COUNTED = ("quasi-identifier", "sensitive")
_OF_SENSITIVE = (DistinctLDiversity, EntropyLDiversity, TCloseness)

_PACKAGES = ("pymoo", "moocore", "numpy", "numba", "pandas", "narwhals")


def evidence(
    problem: AnonymizationProblem,
    res: Any,
    choice: Choice,
    released: Release,
    *,
    checksums: Mapping[str, Mapping[str, str | None]],
    search: Mapping[str, Any],
    earlier: Sequence[Mapping[str, Any]] = (),
    made: str | None = None,
) -> dict[str, Any]:
    """What a release is worth, and what is needed to make it again; equal arguments give equal evidence.

    Args:
        problem: The problem.
        res: What `minimize` returned, or an (n, n_var) array of points; what the choice was made from.
        choice: What `choose` returned.
        released: What `release` returned of it.
        checksums: By name the sha256 of every file, or None where there is none, under input, hierarchies and output.
        search: What is known of the search: algorithm, seed, certified, gap, n_undecided, stopped; and "commands", a
            list of the commands that make the release again.
        earlier: Other releases of the same table: file, sha256, x, suppressed.
        made: When it was made, in UTC: "2026-01-31T12:00:00Z".

    Returns:
        What `write_evidence` writes: dicts, lists, text, numbers, truth values and None.

    Raises:
        ValueError: An argument is not what it has to be, or the choice is none of the points.
    """
    front = problem.front(res)
    content = {
        "audience": INTERNAL,
        "format": FORMAT,
        "version": VERSION,
        "made": made,
        "table": _table(problem.table),
        "settings": _settings(problem),
        "search": _search(search),
        "reproduce": list(search.get("commands", [])),
        "software": _software(),
        "checksums": _checksums(checksums),
        "chosen": _chosen(problem, front, choice),
        **_released(problem, choice, released),
        "earlier": [dict(one) for one in earlier],
        "front": _front(problem, front),
    }
    check_content(content, "evidence")
    return content


def external_evidence(frame: Any, columns: pd.DataFrame, *, name: str, sha256: str) -> dict[str, Any]:
    """What outsiders may read of a release: nothing but what the released table itself tells, and what was said of it.

    It says what every column is, how many rows are unique, and k, l, entropy l and t of the released rows. Which
    measures these are does not depend on the search.

    Args:
        frame: The released table, of any kind.
        columns: Its columns, as `Release.columns` has them.
        name: The name of its file.
        sha256: The checksum of its file.

    Returns:
        What `write_evidence` writes: dicts, lists, text, numbers, truth values and None.

    Raises:
        ValueError: An argument is not what it has to be.
    """
    named = list(zip(columns.column.tolist(), columns.role.tolist(), strict=True))
    quasi, sensitive = ([name for name, role in named if counted in role] for counted in _COUNTED)
    recount = Recount(frame, quasi, sensitive)
    measures = [KAnonymity(), *(kind(column) for column in sensitive for kind in _OF_SENSITIVE)]
    content = {
        "audience": EXTERNAL,
        "format": EXTERNAL_FORMAT,
        "version": VERSION,
        "software": f"pymoo_anon {pymoo_anon.__version__}",
        "file": {"name": column_name(name), "sha256": sha256, "rows": recount.n_released},
        "columns": _columns(columns),
        "uniqueness": _uniqueness(uniqueness_of(frame, columns)),
        "measures": [
            {"measure": plain(measure.full_name), "value": _plain(recounted(recount, measure))} for measure in measures
        ],
    }
    check_content(content, "evidence", external=True)
    return content


def neighbours(content: Mapping[str, Any]) -> tuple[dict[str, float], list[Step]]:
    """The chosen point and what the next better points of the front cost, from evidence alone.

    Args:
        content: What `evidence` or `read_evidence` returned.

    Returns:
        The values of the chosen point by name of the measure, and a step for each objective in which a point is better.
        The rows of the steps are places in `content["front"]`.

    Raises:
        ValueError: It is no evidence.
    """
    check_content(content, "content")
    measures, row = content["settings"]["measures"], content["chosen"]["place"]
    values = np.array([[_number(value) for value in point["values"]] for point in content["front"]], dtype=float)
    goals = [j for j, measure in enumerate(measures) if measure["objective"]]
    chosen = {
        measure["name"]: _number(value)
        for measure, value in zip(measures, content["front"][row]["values"], strict=True)
    }
    names, higher = zip(*((measures[j]["name"], measures[j]["better"] == "higher") for j in goals), strict=True)
    return chosen, next_steps(names, values[:, goals], higher, row)


def _table(table: Microdata) -> dict[str, Any]:
    return {
        "n_rows": table.n_rows,
        "n_distinct": table.n_distinct,
        "quasi_identifiers": [
            {"name": column_name(name), "n_groups": hierarchy.n_groups.tolist()}
            for name, hierarchy in table.quasi_identifiers.items()
        ],
        "sensitive": [column_name(name) for name in table.sensitive],
        "label": None if table.label is None else column_name(table.label),
        "person": None if table.person is None else column_name(table.person),
    }


def _settings(problem: AnonymizationProblem) -> dict[str, Any]:
    names = measure_names(problem.measured)
    return {
        "space": type(problem).__name__,
        "measures": [
            {
                "name": name,
                "short": short_name(measure),
                "repr": safe_repr(measure),
                "better": "higher" if measure.maximize else "lower",
                "objective": measure in problem.objectives,
            }
            for measure, name in names.items()
        ],
        "constraints": [
            {
                "measure": names[constraint.objective],
                "at": "least" if constraint.at_least else "most",
                "bound": constraint.bound,
            }
            for constraint in problem.constraints
        ],
        "suppression": _suppression(problem.suppression),
    }


def _suppression(rule: Suppression) -> str:
    """The rule; of one of somebody's own the class alone, as what else it holds is not known."""
    own = not type(rule).__module__.startswith("pymoo_anon.")
    return type(rule).__name__ if own else repr(rule)


def _search(search: Mapping[str, Any]) -> dict[str, Any]:
    unknown = [key for key in search if key not in (*SEARCH, "commands")]
    if unknown:
        raise ValueError(f"search must have keys among {', '.join(SEARCH)} and commands, got {examples(unknown)}")
    return {key: _plain(search.get(key)) for key in SEARCH}


def _checksums(checksums: Mapping[str, Mapping[str, str | None]]) -> dict[str, dict[str, str | None]]:
    kinds = ("input", "hierarchies", "output")
    unknown = [key for key in checksums if key not in kinds]
    if unknown:
        raise ValueError(f"checksums must have keys among {', '.join(kinds)}, got {examples(unknown)}")
    return {kind: {column_name(name): own for name, own in checksums.get(kind, {}).items()} for kind in kinds}


def _software() -> dict[str, Any]:
    return {
        "packages": {"pymoo_anon": pymoo_anon.__version__, **{name: version(name) for name in _PACKAGES}},
        "python": platform.python_version(),
        "platform": platform.platform(),
    }


def _chosen(problem: AnonymizationProblem, front: Front, choice: Choice) -> dict[str, Any]:
    """The chosen point: its place in the front, and what it does to every quasi-identifier."""
    n_groups = problem.decode(np.array(choice.x)).n_groups
    levels: list[int | None] = [None] * len(n_groups)
    if isinstance(problem, LatticeProblem):
        levels = list(choice.x)
    return {
        "place": front.place_of(choice),
        "reason": choice.reason,
        "requirements": _asked(choice),
        "quasi_identifiers": [
            {"name": column_name(name), "level": level, "n_groups": n}
            for name, level, n in zip(problem.table.quasi_identifiers, levels, n_groups, strict=True)
        ],
    }


def _released(problem: AnonymizationProblem, choice: Choice, released: Release) -> dict[str, Any]:
    """What was released, and what it holds."""
    return {
        "suppressed": {"rows": choice.n_suppressed, "of": problem.table.n_rows, "how": released.suppressed},
        "claims": _claims(problem, choice, released.claims),
        "exceptions": list(released.exceptions),
        "columns": _columns(released.columns),
        "uniqueness": _uniqueness(released.uniqueness),
    }


def _asked(choice: Choice) -> list[str]:
    """What the choice asked for, in words."""
    return [plain(bound(one, one.objective.full_name)) for one in choice.requirements]


def _claims(problem: AnonymizationProblem, choice: Choice, claims: pd.DataFrame) -> list[dict[str, Any]]:
    """A claim for each measure, under the name that the settings have for it, and each requirement of the choice."""
    names = measure_names(problem.measured)
    known = [(measure.full_name, names[measure]) for measure in problem.measured]
    known += [(words, plain(words)) for words in claims.measure[len(known) :] if plain(words) in _asked(choice)]
    wanted, got = [words for words, _ in known], claims.measure.tolist()
    if got != wanted:
        raise ValueError(f"released must be of the problem and the choice and claim {examples(wanted)}, got {got}")
    return [
        {
            "measure": name,
            "promised": _plain(claim["promised"]),
            "recounted": _plain(claim["recounted"]),
            "holds": None if claim["holds"] is None else bool(claim["holds"]),
        }
        for (_, name), claim in zip(known, claims.to_dict("records"), strict=True)
    ]


def _columns(columns: pd.DataFrame) -> list[dict[str, Any]]:
    """Every column of the table, its role, and why it is kept."""
    return [
        {
            "column": column_name(own["column"]),
            "role": own["role"],
            "reason": None if own["reason"] is None else plain(own["reason"]),
        }
        for own in columns.to_dict("records")
    ]


def _uniqueness(uniqueness: pd.DataFrame) -> list[dict[str, Any]]:
    """How many rows are unique by which columns."""
    return [{str(key): value for key, value in row.items()} for row in uniqueness.to_dict("records")]


def _front(problem: AnonymizationProblem, front: Front) -> list[dict[str, Any]]:
    values = np.column_stack([front.values(measure) for measure in problem.measured])
    whole = [measure.whole for measure in problem.measured]
    return [
        {
            "x": [int(one) for one in x],
            "values": [_plain(value, integer) for value, integer in zip(own, whole, strict=True)],
            "suppressed": n,
        }
        for x, own, n in zip(front.X.tolist(), values.tolist(), front.n_suppressed.tolist(), strict=True)
    ]


def _plain(value: Any, whole: bool = False) -> Any:
    """A value as JSON has it: infinity is text there."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(each) for each in value]
    if isinstance(value, float) and np.isinf(value):
        return INFINITIES[value > 0]
    return int(value) if whole else value


def _number(value: Any) -> float:
    """A number of evidence, infinities included."""
    number: float = {INFINITIES[False]: -np.inf, INFINITIES[True]: np.inf}.get(value, value)
    return number
