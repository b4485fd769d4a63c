"""What a file of evidence has to be, reading it and writing it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pymoo_anon._files import content_of, replaced
from pymoo_anon._messages import examples, plain

#: What the file says that it is, and who may read it.
FORMAT, EXTERNAL_FORMAT = "pymoo_anon evidence", "pymoo_anon external evidence"
VERSION = 2
INTERNAL = "internal: it tells more than the released table, such as how many rows are suppressed; keep it inside"
EXTERNAL = "anybody: all of it can be counted in the released table"

#: How JSON, which has none, tells minus infinity and infinity.
INFINITIES = ("-infinity", "infinity")

_SHA256 = re.compile(r"[0-9a-f]{64}")


class _Kind(NamedTuple):
    """A kind of value: what it is called, and what tells it."""

    words: str
    holds: Callable[[Any], bool]


class _Optional(NamedTuple):
    """A value or null."""

    shape: Any


class _Named(NamedTuple):
    """An object of any keys, whose values are of one shape."""

    shape: Any


_TEXT = _Kind("text", lambda value: isinstance(value, str))
_TRUTH = _Kind("true or false", lambda value: isinstance(value, bool))
_COUNT = _Kind("a whole number from 0", lambda value: type(value) is int and value >= 0)
_NUMBER = _Kind("a number", lambda value: _is_number(value) or value in INFINITIES)
_HASH = _Kind("a sha256 in hexadecimal", lambda value: isinstance(value, str) and bool(_SHA256.fullmatch(value)))


def _is_number(value: Any) -> bool:
    # A whole number of JSON may be larger than any float.
    return type(value) in (int, float) and -1e300 < value < 1e300


def _one_of(*choices: str | int) -> _Kind:
    return _Kind(" or ".join(map(repr, choices)), lambda value: type(value) in (str, int) and value in choices)


# Lists hold one shape, objects exactly these keys.
_COLUMNS = [{"column": _TEXT, "role": _TEXT, "reason": _Optional(_TEXT)}]
_UNIQUENESS = [{"columns": _TEXT, "unique": _COUNT, "rows": _COUNT}]
_SHAPE = {
    "audience": _one_of(INTERNAL),
    "format": _one_of(FORMAT),
    "version": _one_of(VERSION),
    "made": _Optional(_TEXT),
    "table": {
        "n_rows": _COUNT,
        "n_distinct": _COUNT,
        "quasi_identifiers": [{"name": _TEXT, "n_groups": [_COUNT]}],
        "sensitive": [_TEXT],
        "label": _Optional(_TEXT),
        "person": _Optional(_TEXT),
    },
    "settings": {
        "space": _TEXT,
        "measures": [
            {
                "name": _TEXT,
                "short": _TEXT,
                "repr": _TEXT,
                "better": _one_of("higher", "lower"),
                "objective": _TRUTH,
            }
        ],
        "constraints": [{"measure": _TEXT, "at": _one_of("least", "most"), "bound": _NUMBER}],
        "suppression": _TEXT,
    },
    "search": {
        "algorithm": _Optional(_TEXT),
        "seed": _Optional(_COUNT),
        "certified": _Optional(_TRUTH),
        "gap": _Optional(_NUMBER),
        "n_undecided": _Optional(_COUNT),
        "stopped": _Optional(_TEXT),
    },
    "reproduce": [_TEXT],
    "software": {"packages": _Named(_TEXT), "python": _TEXT, "platform": _TEXT},
    "checksums": {
        "input": _Named(_Optional(_HASH)),
        "hierarchies": _Named(_Optional(_HASH)),
        "output": _Named(_Optional(_HASH)),
    },
    "chosen": {
        "place": _COUNT,
        "reason": _TEXT,
        "requirements": [_TEXT],
        "quasi_identifiers": [{"name": _TEXT, "level": _Optional(_COUNT), "n_groups": _COUNT}],
    },
    "suppressed": {"rows": _COUNT, "of": _COUNT, "how": _one_of("mark", "drop")},
    "claims": [
        {
            "measure": _TEXT,
            "promised": _NUMBER,
            "recounted": _Optional(_NUMBER),
            "holds": _Optional(_TRUTH),
        }
    ],
    "exceptions": [_TEXT],
    "columns": _COLUMNS,
    "uniqueness": _UNIQUENESS,
    "earlier": [{"file": _TEXT, "sha256": _HASH, "x": [_COUNT], "suppressed": _one_of("mark", "drop")}],
    "front": [{"x": [_COUNT], "values": [_NUMBER], "suppressed": _COUNT}],
}
_EXTERNAL_SHAPE = {
    "audience": _one_of(EXTERNAL),
    "format": _one_of(EXTERNAL_FORMAT),
    "version": _one_of(VERSION),
    "software": _TEXT,
    "file": {"name": _TEXT, "sha256": _HASH, "rows": _COUNT},
    "columns": _COLUMNS,
    "uniqueness": _UNIQUENESS,
    "measures": [{"measure": _TEXT, "value": _NUMBER}],
}


def write_evidence(path: str | os.PathLike[str], content: Mapping[str, Any]) -> None:
    """Write evidence; the file appears whole or not at all.

    Args:
        path: The file. One of this name is replaced.
        content: What `evidence` or `external_evidence` returned.

    Raises:
        ValueError: It is no evidence.
        OSError: The file cannot be written.
    """
    check_content(content, "content", isinstance(content, Mapping) and content.get("format") == EXTERNAL_FORMAT)
    with replaced(path) as temporary:
        temporary.write_text(_text(content), encoding="utf-8", errors="backslashreplace", newline="\n")


def read_evidence(path: str | os.PathLike[str], external: bool = False) -> dict[str, Any]:
    """Read evidence.

    Args:
        path: The file.
        external: Whether it is evidence for outsiders.

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
    check_content(content, name, external)
    return dict(content)


def check_content(content: Any, name: str, external: bool = False) -> None:
    """Refuse what is no evidence, or none for outsiders."""
    made = EXTERNAL_FORMAT if external else FORMAT
    if isinstance(content, Mapping) and content.get("format") == made and content.get("version") != VERSION:
        raise ValueError(f"{name} must be evidence of version {VERSION}, got version {content.get('version')!r:.80}")
    if external:
        _check_shape(content, _EXTERNAL_SHAPE, name, "")
        return
    _check_shape(content, _SHAPE, name, "")
    _check_whole(content, name)


def _check_shape(value: Any, shape: Any, name: str, place: str) -> None:
    """Refuse a value of another shape, and tell where it stands."""
    where = plain(f"{name}: {place}" if place else name)
    if isinstance(shape, _Optional):
        if value is not None:
            _check_shape(value, shape.shape, name, place)
    elif isinstance(shape, _Kind):
        if not shape.holds(value):
            raise ValueError(f"{where} must be {shape.words}, got {value!r:.80}")
    elif isinstance(shape, list):
        if not isinstance(value, list):
            raise ValueError(f"{where} must be a list, got {value!r:.80}")
        for number, each in enumerate(value):
            _check_shape(each, shape[0], name, f"{place}[{number}]")
    else:
        if not isinstance(value, Mapping):
            raise ValueError(f"{where} must be an object, got {value!r:.80}")
        shapes = dict.fromkeys(value, shape.shape) if isinstance(shape, _Named) else shape
        missing, unknown = [key for key in shapes if key not in value], [key for key in value if key not in shapes]
        if missing or unknown:
            lacks = f"lacks {examples(missing)}" if missing else f"has {examples(unknown)}, which is unknown"
            raise ValueError(f"{where} must have the parts of evidence, and {lacks}")
        for key, each in value.items():
            _check_shape(each, shapes[key], name, f"{place}.{key}" if place else key)


def _check_whole(content: Mapping[str, Any], name: str) -> None:
    """Refuse parts that contradict each other."""
    measures = [measure["name"] for measure in content["settings"]["measures"]]
    columns = [column["name"] for column in content["table"]["quasi_identifiers"]]
    chosen, front = content["chosen"], content["front"]
    if len(set(measures)) < len(measures):
        raise ValueError(f"{name}: settings.measures must have different names, got {examples(measures)}")
    if not any(measure["objective"] for measure in content["settings"]["measures"]):
        raise ValueError(f"{name}: settings.measures must have an objective, got none")
    if chosen["place"] >= len(front):
        raise ValueError(f"{name}: chosen.place must be below {len(front)}, the points of front, got {chosen['place']}")
    for number, point in enumerate(front):
        if len(point["values"]) != len(measures) or len(point["x"]) != len(front[0]["x"]):
            raise ValueError(
                f"{name}: front[{number}] must have {len(front[0]['x'])} variables and {len(measures)} values, "
                f"got {len(point['x'])} and {len(point['values'])}"
            )
    if [column["name"] for column in chosen["quasi_identifiers"]] != columns:
        raise ValueError(f"{name}: chosen.quasi_identifiers must be those of the table, {examples(columns)}")
    if content["suppressed"]["rows"] != front[chosen["place"]]["suppressed"]:
        raise ValueError(
            f"{name}: suppressed.rows must be those of the chosen point, {front[chosen['place']]['suppressed']}, "
            f"got {content['suppressed']['rows']}"
        )
    for part, told, known in (
        ("constraints", content["settings"]["constraints"], measures),
        ("claims", content["claims"], [*measures, *chosen["requirements"]]),
    ):
        unknown = [each["measure"] for each in told if each["measure"] not in known]
        if unknown:
            raise ValueError(f"{name}: {part} must be of the measures {examples(known)}, got {examples(unknown)}")


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
