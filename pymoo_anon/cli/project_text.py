"""The text of a project file: what `init` writes, with a comment to everything that a person decides."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple

import tomlkit

from pymoo_anon._messages import plain
from pymoo_anon.cli.sources import ENGINES
from pymoo_anon.table.guesses import Profile

# Names that Windows keeps for devices.
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)
_LONGEST_STEM = 60

_ROLES = """\
# What a column can be:
#   quasi-identifier  others may know it of a person: it is generalized, along its hierarchy
#   sensitive         nobody should learn it of a person: l-diversity and its like protect it
#   label             a class that a model is to predict from the release
#   person            tells whose row it is, where a person has several rows; it is not released
#   identifier, drop  names a person, or is of no use: it is not released
#   keep              it is released as it stands, and nothing protects it: who knows it of a person may find the row;
#                     where it singles persons out, reason = "because ..." says why all the same
#   other             not decided: nothing runs until you write one of the above\
"""

# What to write in place of "other".
_TODO = """\
# Not decided. May others know it of a person? Then it is a "quasi-identifier", and `pymoo-anon hierarchy draft` drafts
# its hierarchy. Must nobody learn it? "sensitive". Does nobody need it? "drop". "keep" is for what nobody can know.\
"""


class ColumnText(NamedTuple):
    """What is written of a column.

    Attributes:
        profile: What it holds.
        role: What it is taken for.
        reason: Why, in one line.
        hierarchy: The path of its draft in the project's folder, or None.
        levels: What the draft is, such as "numbers, 4 levels".
    """

    profile: Profile
    role: str
    reason: str
    hierarchy: str | None
    levels: str


def project_text(data: dict[str, Any], n_rows: int, columns: Sequence[ColumnText], stem: str) -> str:
    """The text of a project file. Of the table it holds the names of its columns, and how many values they have."""
    lines = [
        f"# What becomes of {plain(data['file'])}: {n_rows:,} rows, {len(columns)} columns.",
        "# The roles are guesses from names, types and counts: read them all, and edit what is wrong.",
        "",
        "[data]",
        f"file = {_value(data['file'])}",
        f"engine = {_value(data.get('engine', 'auto'))}  # {', '.join(ENGINES)}",
        f"missing = {_value(data.get('missing', 'raise'))}  # rows without a value: raise (refuse them), drop (leave "
        "them out) or keep (a value of its own)",
        f"empty = {_value(data.get('empty', []))}  # texts that mean: no value, as an empty field always does",
    ]
    if "names" in data:
        lines.append(f"names = {_value(data['names'])}  # the file has no row with names")
    if data.get("strip"):
        lines.append("strip = true  # blanks around a field are no part of it")
    lines += ["", _ROLES, ""]
    for column in columns:
        lines += _column_lines(column)
    lines += [
        "[search]",
        '# objectives = ["k", "l", "GLM"]  # what to trade off; by itself k, l of every sensitive column, and GLM',
        '# require = ["k>=5"]  # what every point of the front must keep',
        "suppression = 0.01  # at most this share of the rows is suppressed, those in the smallest classes",
        "seed = 1",
        f"output = {_value(f'{stem}-front')}",
        "",
        "[release]",
        f"file = {_value(f'{stem}-release.csv')}",
        'suppressed = "mark"  # suppressed rows: mark (*) or drop',
        "",
    ]
    return "\n".join(lines)


def _column_lines(column: ColumnText) -> list[str]:
    lines = [f"# {plain(column.profile.name)}: {column.profile}"]
    lines += [_TODO] if column.role == "other" else []
    # Whatever names a person is proposed to be left out.
    role = "drop" if column.role == "identifier" else column.role
    meaning = "an identifier: " if column.role == "identifier" else ""
    lines.append(f"[columns.{_value(column.profile.name)}]")
    lines.append(f"role = {_value(role)}  # {meaning}{plain(column.reason)}")
    if column.hierarchy is not None:
        lines.append(f"hierarchy = {_value(column.hierarchy)}  # a draft: {plain(column.levels)}")
    return [*lines, ""]


def file_names(names: Sequence[str]) -> list[str]:
    """A name of a file for each name of a column, in ASCII, that any system can hold; no two differ in case alone.

    >>> file_names(["age", "Age", "a/b", "Größe", "../x", ""])
    ['age.csv', 'Age-2.csv', 'a_b.csv', 'Grosse.csv', 'x.csv', 'column.csv']
    """
    taken: set[str] = set()
    found = []
    for name in names:
        bare = unicodedata.normalize("NFKD", name.replace("ß", "ss")).encode("ascii", "ignore").decode()
        stem = re.sub(r"[^A-Za-z0-9_-]+", "_", bare).strip("_-")[:_LONGEST_STEM] or "column"
        if _DEVICES.match(stem):
            stem = f"{stem}_"
        unique, number = stem, 1
        while unique.lower() in taken:
            number += 1
            unique = f"{stem}-{number}"
        taken.add(unique.lower())
        found.append(f"{unique}.csv")
    return found


def _value(value: Any) -> str:
    """A value as TOML writes it in one line."""
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return str(tomlkit.item(value).as_string())
