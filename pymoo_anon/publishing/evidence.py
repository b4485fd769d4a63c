"""Evidence of a release: one JSON file without a value of the data.

It names columns, and counts. Settings that may quote values, such as an order of them for t-closeness, are told without
these. From the file alone one gets back to the front: the chosen point and its neighbours. So it stays inside: it tells
how many rows are suppressed, and why this point was chosen, which may tell what was suppressed (Wong et al. 2007).
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import pymoo_anon
from pymoo_anon._files import content_of, replaced
from pymoo_anon._messages import examples, plain
from pymoo_anon.problems.arguments import (
    adversaries_of,
    as_json,
    bound,
    column_name,
    measure_names,
    safe_repr,
    short_name,
)
from pymoo_anon.problems.base import AnonymizationProblem
from pymoo_anon.problems.front import Choice, Front
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.problems.releases import all_earlier, point_of, together
from pymoo_anon.publishing.recoding import decoded_point
from pymoo_anon.publishing.release import Release
from pymoo_anon.table.generalization import HOW_RELEASED, LocalGeneralization
from pymoo_anon.table.microdata import Microdata

# Kinds of files with a checksum.
_FILES = ("input", "hierarchies", "output")

_PACKAGES = ("pymoo", "moocore", "numpy", "numba", "pandas", "narwhals")


def evidence(
    problem: AnonymizationProblem,
    res: Any,
    choice: Choice,
    released: Release,
    *,
    checksums: Mapping[str, Mapping[str, str | None]],
    search: Mapping[str, Any],
    earlier: Sequence[Mapping[str, Any]] | None = None,
    made: str | None = None,
) -> dict[str, Any]:
    """Return the properties of a release and everything to reproduce it.

    Args:
        problem: The problem.
        res: What `minimize` returned, or an (n, n_var) array of points; what the choice was made from.
        choice: Chosen point, from `Front.choose`.
        released: What `release` returned of it.
        checksums: By name the sha256 of every file, or None where there is none, under input, hierarchies and output.
        search: What is known of the search: algorithm, seed, certified, gap, n_undecided, stopped; "commands", a list
            of those that make the release again; "bound", what `lower_bound` returned; "joint", k, l and rows alone
            with all earlier releases, by default with those of the problem.
        earlier: Other releases of the same table: file, sha256, x, suppressed. None names the points of those beside or
            inside which the problem makes its own.
        made: When it was made, in UTC: "2026-01-31T12:00:00Z".

    Raises:
        ValueError: An argument is not what it has to be, or the choice is none of the points.
    """
    front = problem.front(res)
    facts = {key: as_json(value) for key, value in search.items() if key not in ("bound", "commands", "joint")}
    content = {
        "audience": INTERNAL,
        "format": FORMAT,
        "version": VERSION,
        "made": made,
        "table": _table(problem.table),
        "settings": _settings(problem),
        "search": {**dict.fromkeys(_SHAPE["search"]), **facts},
        "reproduce": list(search.get("commands", [])),
        "software": _software(),
        "checksums": {kind: _column_names(checksums.get(kind, {})) for kind in (*_FILES, *checksums)},
        "chosen": _chosen(problem, front, choice, released.recoding, search.get("bound")),
        **told_of(problem, released, _conditions(choice)),
        "earlier": _earlier(problem) if earlier is None else [{"point": None, **one} for one in earlier],
        "joint": search["joint"] if "joint" in search else _joint(problem, choice, released),
        "front": _front(problem, front),
    }
    check_content(content, "evidence")
    return content


def _column_names(checksums: Mapping[str, str | None]) -> dict[str, str | None]:
    return {column_name(name): own for name, own in checksums.items()}


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
    names, rule = measure_names(problem.measured), problem.suppression
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
        # Of a user's own rule only the class is known.
        "suppression": repr(rule) if type(rule).__module__.startswith("pymoo_anon.") else type(rule).__name__,
        "adversaries": adversaries_of(names),
        "levels": {column_name(name): [*own] for name, own in getattr(problem, "levels", {}).items()},
    }


def _chosen(problem: AnonymizationProblem, front: Front, choice: Choice, recoding: Any, bound: Any) -> dict[str, Any]:
    """Return the chosen point: its place in the front and its levels."""
    made, classes = decoded_point(problem, choice, recoding)
    n_groups = made.n_groups
    levels: list[int | None] = [None] * len(n_groups)
    if isinstance(problem, LatticeProblem) and recoding is None:
        levels = list(choice.x)
    local = None
    if isinstance(made, LocalGeneralization):
        # Loaded late: only local recodings need it.
        from pymoo_anon.publishing.explaining import local_facts

        local = local_facts(problem, choice, made, classes, bound)
    return {
        "place": front.place_of(choice),
        "reason": choice.reason,
        "requirements": _conditions(choice),
        "quasi_identifiers": [
            {"name": column_name(name), "level": level, "n_groups": n}
            for name, level, n in zip(problem.table.quasi_identifiers, levels, n_groups, strict=True)
        ],
        "local": local,
    }


def _earlier(problem: AnonymizationProblem) -> list[dict[str, Any]]:
    found = []
    for point in map(point_of, all_earlier(problem)):
        x = None if point is None else [int(one) for one in point[1]]
        words = None if point is None else point[0].words(point[1][None])[0]
        found.append({"file": None, "sha256": None, "x": x, "suppressed": None, "point": words})
    return found


def _joint(problem: AnonymizationProblem, choice: Choice, released: Release) -> dict[str, Any] | None:
    before = all_earlier(problem)
    if not before:
        return None
    _, own = decoded_point(problem, choice, released.recoding)
    return together([*before, own], problem.table).as_record()


def _software() -> dict[str, Any]:
    return {
        "packages": {"pymoo_anon": pymoo_anon.__version__, **{name: version(name) for name in _PACKAGES}},
        "python": platform.python_version(),
        "platform": platform.platform(),
    }


def told_of(problem: AnonymizationProblem, released: Release, promised: Sequence[str] | None = None) -> dict[str, Any]:
    """Return the parts of evidence that a release tells. It may promise any requirements, or those given alone."""
    return {
        "suppressed": {"rows": released.n_suppressed, "of": problem.table.n_rows, "how": released.suppressed},
        "claims": _claims(problem, released.claims, promised),
        "anyway": None if released.anyway is None else plain(released.anyway),
        "exceptions": list(released.exceptions),
        "columns": [
            {"column": column_name(name), "role": role, "reason": None if reason is None else plain(reason)}
            for name, role, reason in released.columns[["column", "role", "reason"]].to_numpy().tolist()
        ],
        "dropped": [column_name(name) for name in released.dropped],
        "uniqueness": released.uniqueness.to_dict("records"),
    }


def release_of(content: Mapping[str, Any]) -> Release:
    """Return the release that evidence tells of, without its rows."""
    claims, columns, uniqueness = (pd.DataFrame(content[key]) for key in ("claims", "columns", "uniqueness"))
    told, local = content["suppressed"], content["chosen"]["local"]
    recoding = "local" if local is not None and local["refined"] else None
    reaches = tuple(f"{own['measure']} is {own['reach']}" for own in content["settings"]["adversaries"])
    exceptions, dropped = tuple(content["exceptions"]), tuple(content["dropped"])
    why = content["anyway"], exceptions, recoding, reaches, dropped
    return Release(None, claims, columns, uniqueness, told["rows"], told["how"], *why)


def _conditions(choice: Choice) -> list[str]:
    return [plain(bound(one, one.objective.full_name)) for one in choice.requirements]


def _claims(
    problem: AnonymizationProblem, claims: pd.DataFrame, promised: Sequence[str] | None
) -> list[dict[str, Any]]:
    known = [(measure.full_name, name) for measure, name in measure_names(problem.measured).items()]
    rest = [(words, plain(words)) for words in claims.measure[len(known) :]]
    known += [own for own in rest if promised is None or own[1] in promised]
    wanted, got = [words for words, _ in known], claims.measure.tolist()
    if got != wanted:
        raise ValueError(f"released must be of the problem and the choice and claim {examples(wanted)}, got {got}")
    return [
        {
            "measure": name,
            "promised": as_json(claim["promised"]),
            "recounted": as_json(claim["recounted"]),
            "holds": None if claim["holds"] is None else bool(claim["holds"]),
        }
        for (_, name), claim in zip(known, claims.to_dict("records"), strict=True)
    ]


def _front(problem: AnonymizationProblem, front: Front) -> list[dict[str, Any]]:
    values = np.column_stack([front.values(measure) for measure in problem.measured])
    whole = [measure.whole for measure in problem.measured]
    return [
        {
            "x": [int(one) for one in x],
            "values": [as_json(value, integer) for value, integer in zip(own, whole, strict=True)],
            "suppressed": n,
        }
        for x, own, n in zip(front.X.tolist(), values.tolist(), front.n_suppressed.tolist(), strict=True)
    ]


# --- the shape of the file ------------------------------------------------------------------------------------------


#: Kind and readers of the file.
FORMAT, VERSION = "pymoo_anon evidence", 8
INTERNAL = "internal: it tells more than the released table, such as how many rows are suppressed; keep it inside"

_SHA256 = re.compile(r"[0-9a-f]{64}")


class _Kind(NamedTuple):
    """A kind of value: its name and its check."""

    words: str
    holds: Callable[[Any], bool]


_TEXT = _Kind("text", lambda value: isinstance(value, str))
_TRUTH = _Kind("true or false", lambda value: isinstance(value, bool))
_COUNT = _Kind("a whole number from 0", lambda value: type(value) is int and value >= 0)
# A whole number of JSON may be larger than any float.
_FINITE = _Kind("a number", lambda value: type(value) in (int, float) and -1e300 < value < 1e300)
_NUMERIC = _Kind("a number", lambda value: _FINITE.holds(value) or value in ("-infinity", "infinity"))
_HASH = _Kind("a sha256 in hexadecimal", lambda value: isinstance(value, str) and bool(_SHA256.fullmatch(value)))


def _one_of(*choices: str | int) -> _Kind:
    return _Kind(" or ".join(map(repr, choices)), lambda value: type(value) in (str, int) and value in choices)


_HOW = _one_of(*HOW_RELEASED)

# Lists hold one shape, objects exactly these keys or, of `str`, any; a pair is a shape or null.
_SHAPE: dict[str, Any] = {
    "audience": _one_of(INTERNAL),
    "format": _one_of(FORMAT),
    "version": _one_of(VERSION),
    "made": (_TEXT, None),
    "table": {
        "n_rows": _COUNT,
        "n_distinct": _COUNT,
        "quasi_identifiers": [{"name": _TEXT, "n_groups": [_COUNT]}],
        "sensitive": [_TEXT],
        "label": (_TEXT, None),
        "person": (_TEXT, None),
    },
    "settings": {
        "space": _TEXT,
        "measures": [
            {"name": _TEXT, "short": _TEXT, "repr": _TEXT, "better": _one_of("higher", "lower"), "objective": _TRUTH}
        ],
        "constraints": [{"measure": _TEXT, "at": _one_of("least", "most"), "bound": _NUMERIC}],
        "suppression": _TEXT,
        "adversaries": [{"measure": _TEXT, "known": [_TEXT], "reach": _TEXT}],
        "levels": {str: [_COUNT]},
    },
    "search": {
        "algorithm": (_TEXT, None),
        "seed": (_COUNT, None),
        "certified": (_TRUTH, None),
        "gap": (_NUMERIC, None),
        "n_undecided": (_COUNT, None),
        "stopped": (_TEXT, None),
    },
    "reproduce": [_TEXT],
    "software": {"packages": {str: _TEXT}, "python": _TEXT, "platform": _TEXT},
    "checksums": {kind: {str: (_HASH, None)} for kind in _FILES},
    "chosen": {
        "place": _COUNT,
        "reason": _TEXT,
        "requirements": [_TEXT],
        "quasi_identifiers": [{"name": _TEXT, "level": (_COUNT, None), "n_groups": _COUNT}],
        # Of a refined point no target is known.
        "local": (
            {
                "refined": _TRUTH,
                "method": (_TEXT, None),
                "structure": (_TEXT, None),
                "target": (_COUNT, None),
                "price": (_NUMERIC, None),
                "weights": [_NUMERIC],
                "n_classes": _COUNT,
                "mean_risk": _NUMERIC,
                "cells": [{"name": _TEXT, "shares": [_NUMERIC]}],
                "bound": ({"least": _NUMERIC, "gap": _NUMERIC, "passes": _COUNT}, None),
            },
            None,
        ),
    },
    "suppressed": {"rows": _COUNT, "of": _COUNT, "how": _HOW},
    "claims": [{"measure": _TEXT, "promised": _NUMERIC, "recounted": (_NUMERIC, None), "holds": (_TRUTH, None)}],
    "anyway": (_TEXT, None),
    "exceptions": [_TEXT],
    "columns": [{"column": _TEXT, "role": _TEXT, "reason": (_TEXT, None)}],
    "dropped": [_TEXT],
    "uniqueness": [{"columns": _TEXT, "unique": _COUNT, "rows": _COUNT}],
    "earlier": [
        {
            **dict.fromkeys(("file", "point"), (_TEXT, None)),
            **{"sha256": (_HASH, None), "x": ([_COUNT], None), "suppressed": (_HOW, None)},
        }
    ],
    "joint": ({"l": {str: _COUNT}, **dict.fromkeys(("k", "alone", "below", "single_k"), _COUNT)}, None),
    "front": [{"x": [_COUNT], "values": [_NUMERIC], "suppressed": _COUNT}],
}


def write_evidence(path: str | os.PathLike[str], content: Mapping[str, Any]) -> None:
    """Write evidence, whole or not at all.

    Args:
        path: The file. One of this name is replaced.
        content: What `evidence` returned.

    Raises:
        ValueError: It is no evidence.
        OSError: The file cannot be written.
    """
    check_content(content, "content")
    with replaced(path) as temporary:
        temporary.write_text(_text(content), encoding="utf-8", errors="backslashreplace", newline="\n")


def read_evidence(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read evidence.

    Args:
        path: The file.

    Returns:
        What was written.

    Raises:
        ValueError: The file is no evidence; the sentence names the place.
        OSError: It cannot be read.
    """
    name = os.fspath(path)
    try:
        content = json.loads(content_of(path).decode("utf-8"), parse_constant=_refuse)
    except UnicodeDecodeError:
        raise ValueError(f"{name} must be evidence, a JSON file in UTF-8, got another encoding") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} must be evidence, a JSON file, got {error}") from None
    check_content(content, name)
    return dict(content)


def check_content(content: Any, name: str) -> None:
    """Raise ValueError unless the content is evidence."""
    if isinstance(content, Mapping) and content.get("format") == FORMAT and content.get("version") != VERSION:
        raise ValueError(
            f"{name} must be evidence of version {VERSION}, got version {content.get('version')!r:.80}; release again"
        )
    _check_shape(content, _SHAPE, name, "")
    _check_whole(content, name)


def _check_shape(value: Any, shape: Any, name: str, place: str) -> None:
    where = plain(f"{name}: {place}" if place else name)
    if isinstance(shape, _Kind):
        if not shape.holds(value):
            raise ValueError(f"{where} must be {shape.words}, got {value!r:.80}")
    elif isinstance(shape, tuple):
        if value is not None:
            _check_shape(value, shape[0], name, place)
    elif isinstance(shape, list):
        if not isinstance(value, list):
            raise ValueError(f"{where} must be a list, got {value!r:.80}")
        for number, each in enumerate(value):
            _check_shape(each, shape[0], name, f"{place}[{number}]")
    else:
        if not isinstance(value, Mapping):
            raise ValueError(f"{where} must be an object, got {value!r:.80}")
        shapes = dict.fromkeys(value, shape[str]) if str in shape else shape
        missing, unknown = [key for key in shapes if key not in value], [key for key in value if key not in shapes]
        if missing or unknown:
            lacks = f"lacks {examples(missing)}" if missing else f"has {examples(unknown)}, which is unknown"
            raise ValueError(f"{where} must have the parts of evidence, and {lacks}")
        for key, each in value.items():
            _check_shape(each, shapes[key], name, f"{place}.{key}" if place else key)


def _check_whole(content: Mapping[str, Any], name: str) -> None:
    own = content["settings"]["measures"]
    measures, columns = [one["name"] for one in own], [one["name"] for one in content["table"]["quasi_identifiers"]]
    chosen, front, suppressed = content["chosen"], content["front"], content["suppressed"]["rows"]
    faults = []
    if len(set(measures)) < len(measures):
        faults.append(f"settings.measures must have different names, got {examples(measures)}")
    if not any(one["objective"] for one in own):
        faults.append("settings.measures must have an objective, got none")
    for number, point in enumerate(front):
        wanted, got = ((len(one["x"]), n) for one, n in ((front[0], len(measures)), (point, len(point["values"]))))
        if wanted != got:
            faults.append(
                f"front[{number}] must have {wanted[0]} variables and {wanted[1]} values, got {got[0]} and {got[1]}"
            )
    if [one["name"] for one in chosen["quasi_identifiers"]] != columns:
        faults.append(f"chosen.quasi_identifiers must be those of the table, {examples(columns)}")
    if chosen["place"] >= len(front):
        faults.append(f"chosen.place must be below {len(front)}, the points of front, got {chosen['place']}")
    elif not (chosen["local"] or {}).get("refined") and suppressed != front[chosen["place"]]["suppressed"]:
        of_point = front[chosen["place"]]["suppressed"]
        faults.append(f"suppressed.rows must be those of the chosen point, {of_point}, got {suppressed}")
    for part, told, known in (
        ("constraints", content["settings"]["constraints"], measures),
        ("claims", content["claims"], [*measures, *chosen["requirements"]]),
    ):
        unknown = [one["measure"] for one in told if one["measure"] not in known]
        if unknown:
            faults.append(f"{part} must be of the measures {examples(known)}, got {examples(unknown)}")
    if faults:
        raise ValueError(f"{name}: {faults[0]}")


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant}, which JSON has not")


def _text(content: Mapping[str, Any]) -> str:
    """JSON with a line for each point of the front."""
    parts = []
    for key, value in content.items():
        if key == "front":
            lines = ",\n".join(f"    {json.dumps(point, allow_nan=False)}" for point in value)
            own = f"[\n{lines}\n  ]"
        else:
            own = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False).replace("\n", "\n  ")
        parts.append(f"  {json.dumps(key)}: {own}")
    return "{\n" + ",\n".join(parts) + "\n}\n"
