"""The command `init`: guesses, drafts of hierarchies, and the project file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import tomlkit
from rich.console import Console

from pymoo_anon._files import tried
from pymoo_anon._messages import counted, examples, plain, repeated
from pymoo_anon.cli.console import check_free, new_table, tell, tell_some, working
from pymoo_anon.cli.options import InitRequest
from pymoo_anon.study.engines import BLANKS, dialect_of, head_of, open_frame
from pymoo_anon.study.interrupt import put_in_place
from pymoo_anon.study.names import ENGINES, Reading, Source, file_names, path_from, source_of
from pymoo_anon.study.options import parts_of
from pymoo_anon.study.project import ROLES
from pymoo_anon.table.delimited import csv_rows
from pymoo_anon.table.domain_values import is_number, spelled
from pymoo_anon.table.draft_levels import Draft
from pymoo_anon.table.drafts import draft_hierarchy, says_missing
from pymoo_anon.table.frames import at_hand
from pymoo_anon.table.guesses import MOST_VALUES, Profile, guess_of, profiles_of
from pymoo_anon.table.redundancy import decided_columns, equal_columns
from pymoo_anon.table.words import WORDS

#: The folder of the drafts, beside the project file.
HIERARCHIES = "hierarchies"

# Rows that decide whether blanks belong to the fields.
_HEAD_ROWS = 1000

# Reasons for dropping a column that tells nothing beside another one.
_EQUAL, _DECIDED = "Dropped, for they equal another column", "Dropped, for another column decides them"
# Most questions that are printed.
_MOST_QUESTIONS = 3
# Another odd text in fewer rows may be a mistake, or name somebody.
_SEVERAL = 5


def run_init(request: InitRequest, console: Console) -> None:
    """Guess the role of every column, and write a project file and drafts."""
    source = source_of(request.data, Path())
    if source.path is not None and source.path.suffix.lower() == ".deid":
        _take_over(request, source, console)
        return
    reading = _reading(request, source)
    stem = Path(file_names([source.table or (source.path.stem if source.path is not None else "")])[0]).stem
    with working("Step 1 of 2: reading the table") as show:
        frame = at_hand(open_frame(reading, list)) if source.kind == "csv" else open_frame(reading, list)
        profiles = profiles_of(frame, nw.from_native(frame).collect_schema().names())
        empty = [text for text in WORDS["never values"] if any(text in profile.values for profile in profiles)]
        profiles = _without(reading, profiles, empty)
        show("Step 2 of 2: guessing roles and drafting hierarchies")
        names = [profile.name for profile in profiles]
        hierarchies = _given(request, source, names)
        asked = _asked(request.role, names)
        asked |= dict.fromkeys(hierarchies, ("quasi-identifier", "--hierarchies has a file for it"))
        decisions = _decisions(profiles, asked)
        redundant = _redundant(profiles, decisions, asked, frame)
        columns = first = _columns(profiles, decisions, redundant, hierarchies)
        proposed = _proposed(columns)
        if proposed:
            empty += proposed
            profiles = _without(reading, profiles, empty)
            columns = _columns(profiles, _decisions(profiles, asked), redundant, hierarchies, first)
    questions = _questions(first, proposed)
    used = [c.profile for c in columns if c.role in ("quasi-identifier", "sensitive", "label", "person")]
    data = {
        "file": _relative(source, request.output),
        "engine": reading.engine,
        "missing": request.missing or ("keep" if any(profile.n_missing for profile in used) else "raise"),
        "empty": empty,
        "questions": questions,
        "names": reading.names,
        "strip": reading.strip,
    }
    text = project_text(data, profiles[0].n_rows, columns, stem)
    project = request.output / f"{stem}.toml"
    drafts = {column.hierarchy: column.draft for column in columns if column.draft is not None}
    _write(request, source, {**drafts, f"{stem}.toml": text})
    asked_here = {name: words for name, words in _questions(first).items() if name not in questions}
    for name, words in islice(asked_here.items(), _MOST_QUESTIONS):
        tell(console, f"{name}: {words}")
    if others := [*asked_here][_MOST_QUESTIONS:]:
        tell_some(console, "Odd values in more columns", others)
    _say(console, columns, proposed, project)


def _take_over(request: InitRequest, source: Source, console: Console) -> None:
    # No other project needs it.
    from pymoo_anon.study.arx import taken_over

    assert source.path is not None
    for name in ("names", "role", "hierarchies", "missing", "engine"):
        if name in request.given:
            raise ValueError(f"--{name} cannot be combined with {source}, a project of ARX")
    source.check()
    stem = Path(file_names([source.path.stem])[0]).stem
    taken = taken_over(source.path, file_names, f"{stem}.csv", HIERARCHIES)
    text = taken.project(source.path.name, f"{stem}.csv", stem)
    _write(request, source, {**taken.files, f"{stem}.toml": text})
    table = new_table(["column", "role", "levels", "weight"])
    for name, own in taken.columns.items():
        table.add_row(plain(name), own["role"], *(str(own.get(key, "")) for key in ("levels", "weight")))
    console.print(table, soft_wrap=False)
    console.print(plain(f"Required: {', '.join(taken.search['require']) or 'nothing'}."))
    console.print("Not taken over:")
    for line in taken.left:
        tell(console, f"  {line}")
    project = request.output / f"{stem}.toml"
    console.print(plain(f"Written: {project}, {request.output / stem}.csv, {len(taken.files) - 1} hierarchies"))
    console.print(plain(f"Next: read and edit both, then: pymoo-anon search {project}"))


def _reading(request: InitRequest, source: Source) -> Reading:
    names = None if request.names is None else tuple(parts_of(request.names))
    if names is not None and not all(names):
        raise ValueError("--names must name each column once, got an empty name")
    if names is not None and repeated(names):
        raise ValueError(f"--names must name each column once, got more than once: {examples(repeated(names))}")
    strip = False
    if source.kind == "csv":
        assert source.path is not None
        source.check()
        strip = is_padded(source.path, names)
        header = dialect_of(source.path, names, strip).names
        numbers = [name for name in header if is_number(spelled(name, float))]
        if names is None and len(numbers) > 1:
            raise ValueError(
                f"{source} must name its columns in its first row, got {examples(numbers)} there; "
                "--names NAME,NAME,... names the columns of a file without such a row"
            )
        if not all(header):
            raise ValueError(f"{source} must name every column, got no name for column {header.index('') + 1}")
    return Reading(source, request.engine, (), names, strip)


def is_padded(path: Path, names: Sequence[str] | None) -> bool:
    """Return whether every field of some column begins with a blank."""
    separator = dialect_of(path, names or ("",)).separator
    rows: list[list[str]] = []
    # The head may end inside quotes. Errors of the file are raised when all of it is read.
    with suppress(ValueError):
        rows.extend(row for row in islice(csv_rows(head_of(path), separator, str(path)), _HEAD_ROWS) if row)
    width = min(map(len, rows), default=0)
    return any(all(row[place].startswith(BLANKS) for row in rows) for place in range(width))


def _without(reading: Reading, profiles: Sequence[Profile], empty: Sequence[str]) -> list[Profile]:
    """Count texts that stand for no value as missing."""
    if not empty:
        return list(profiles)
    sampled = [profile.name for profile in profiles if profile.is_sampled]
    again = profiles_of(open_frame(reading._replace(empty=tuple(empty)), list), sampled) if sampled else []
    counted_again = {profile.name: profile for profile in again}
    return [counted_again.get(profile.name) or profile.without(empty) for profile in profiles]


def _asked(roles: Sequence[str], names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return by column the role of --role, and the option as its reason."""
    asked: dict[str, tuple[str, str]] = {}
    for text in roles:
        pattern, sign, role = text.rpartition("=")
        if not sign or role not in ROLES:
            raise ValueError(f"--role must be PATTERN=ROLE, with a role of {', '.join(ROLES)}, got {text!r}")
        found = [name for name in names if name == pattern or fnmatchcase(name, pattern)]
        if not found:
            raise ValueError(f"--role {text!r} matches no column; the columns are {examples(names)}")
        asked.update(dict.fromkeys(found, (role, f"--role {text!r} says so")))
    for single in ("person", "label"):
        several = [name for name, (role, _) in asked.items() if role == single]
        if len(several) > 1:
            raise ValueError(f"--role {single} must be for one column, got {examples(several)}")
    return asked


def _given(request: InitRequest, source: Source, names: Sequence[str]) -> dict[str, str]:
    """Return the path of each column's file in --hierarchies."""
    if request.hierarchies is None:
        return {}
    # It loads all measures.
    from pymoo_anon.study.tables import by_column, check_known, csv_files

    files = csv_files(request.hierarchies, source.path)
    if not files:
        raise ValueError(f"--hierarchies must be a folder with CSV files, got {str(request.hierarchies)!r}")
    table = source.path if source.path is not None and source.table is None else Path(source.table or "")
    found = by_column(files, table, names)
    check_known(source, found, names)
    return {name: _relative(Source("csv", path), request.output) for name, path in found.items()}


def _decisions(profiles: Sequence[Profile], asked: Mapping[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    decisions = {profile.name: asked.get(profile.name) or guess_of(profile)[:2] for profile in profiles}
    persons = [name for name, (role, _) in asked.items() if role == "person"]
    for name, (role, reason) in decisions.items():
        if role == "person" and name not in persons:
            if persons:
                role, reason = "identifier", f"{reason}; {persons[0]!r} tells so already"
            else:
                persons.append(name)
        if role == "identifier" and name not in asked:
            # Columns that name a person are proposed to be left out.
            role, reason = "drop", f"an identifier: {reason}"
        decisions[name] = role, reason
    return decisions


def _columns(
    profiles: Sequence[Profile],
    decisions: Mapping[str, tuple[str, str]],
    redundant: Mapping[str, tuple[str, str]],
    hierarchies: Mapping[str, str],
    earlier: Sequence[ColumnText] = (),
) -> list[ColumnText]:
    """Draft the hierarchies of all columns but those of the same earlier profiles."""
    made_before = {id(column.profile): column for column in earlier if column.made is not None}
    columns: list[ColumnText] = []
    for profile, file in zip(profiles, file_names(list(decisions)), strict=True):
        role, reason = decisions[profile.name]
        beside, told = redundant.get(profile.name, (None, ""))
        if beside is not None:
            role, reason = "drop", told
        own = hierarchies.get(profile.name, "")
        draft, levels, made = None, "", None
        if role == "quasi-identifier" and not own:
            before = made_before.get(id(profile))
            draft, levels, made = _drafted(profile) if before is None else (before.draft, before.levels, before.made)
            own = f"{HIERARCHIES}/{file}"
            if draft is None:
                own, role, reason = "", "other", f"{reason}, but {levels}"
        columns.append(ColumnText(profile, role, reason, own, draft, levels, made, beside))
    return columns


def _proposed(columns: Sequence[ColumnText]) -> list[str]:
    """Return the odd texts that may stand for no value.

    Texts that another column has as values are left out.
    """
    odd = {column.profile.name: dict(column.made.odd) for column in columns if column.made is not None}

    def likely(text: Any, count: int) -> bool:
        if not isinstance(text, str) or any(map(str.isdigit, text)) or not (says_missing(text) or count >= _SEVERAL):
            return False
        others = [own.profile.values for own in columns if text not in odd.get(own.profile.name, ())]
        # A short one such as "-" may be a value, and "unknown" hardly.
        return (says_missing(text) and len(text) > 2) or not any(text in values for values in others)

    return list(dict.fromkeys(text for texts in odd.values() for text, count in texts.items() if likely(text, count)))


def _questions(columns: Sequence[ColumnText], texts: Sequence[str] | None = None) -> dict[str, str]:
    made = {column.profile.name: column.made for column in columns if column.made is not None}
    odd = {name: [own for own in draft.odd if texts is None or own[0] in texts] for name, draft in made.items()}
    return {name: str(replace(made[name], odd=tuple(own)).question) for name, own in odd.items() if own}


def _redundant(
    profiles: Sequence[Profile], decisions: Mapping[str, tuple[str, str]], asked: Mapping[str, Any], frame: Any
) -> dict[str, tuple[str, str]]:
    """Return by column why it tells nothing beside another one, in two forms.

    Columns with a --role are left out.
    """
    roles = {name: role for name, (role, _) in decisions.items()}
    # Of two equal ones that stays which protects persons best.
    order = ("person", "identifier", "drop", "sensitive", "label", "quasi-identifier", "keep", "other")
    free = [own for own in profiles if roles[own.name] != "drop" or own.name not in asked]
    equal = equal_columns(frame, sorted(free, key=lambda own: order.index(roles[own.name])))
    found = {a: (_EQUAL, f"it equals {b!r} in every row") for a, b in equal.items() if roles[a] != "drop"}
    used = [own for own in free if own.name not in found and roles[own.name] in order[3:]]
    known = [own.name for own in used if roles[own.name] == "quasi-identifier"]
    person = next((name for name, role in roles.items() if role == "person"), None)
    decided = decided_columns(frame, used, known, person)
    found |= {a: (_DECIDED, f"{b!r} decides it: where {b!r} is the same, it is") for a, b in decided.items()}
    return {name: told for name, told in found.items() if name not in asked}


def _drafted(profile: Profile) -> tuple[str | None, str, Draft | None]:
    if profile.is_sampled:
        return None, f"more than {MOST_VALUES:,} values make no hierarchy", None
    draft = draft_hierarchy(profile.values, profile.counts, name=profile.name)
    n_levels = draft.hierarchy.length
    try:
        words = f"{draft.kind}, {n_levels} level{'s' * (n_levels != 1)} above the values"
        return draft.hierarchy.to_csv(), words, draft
    except ValueError:
        # It would not be read as it was written.
        return None, "its values fit into no hierarchy file", None


def _relative(source: Source, folder: Path) -> str:
    if source.path is None:
        return str(source)
    path = path_from(folder, source.path)
    return path if source.table is None else f"duckdb:{path}:{source.table}"


def _write(request: InitRequest, source: Source, files: dict[str, str]) -> None:
    read = [] if source.path is None else [source.path]
    with tried(request.output, list(files), read, own=True) as temporary:
        check_free([request.output / name for name in files], request.force)
        for name, text in files.items():
            target = temporary / name
            target.parent.mkdir(exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="")
        put_in_place(temporary, request.output, list(files))


# Headings of the columns with some roles.
_CALLED = {
    "Quasi-identifiers": ("quasi-identifier",),
    "Sensitive": ("sensitive",),
    "Label": ("label",),
    "Kept as they stand": ("keep",),
    "Not released": ("person", "identifier", "drop"),
    "Not decided": ("other",),
}


def _say(console: Console, columns: Sequence[ColumnText], proposed: Sequence[str], project: Path) -> None:
    names = {own.profile.name: own.profile.name + " (person)" * (own.role == "person") for own in columns}
    for called, roles in _CALLED.items():
        found = [names[own.profile.name] for own in columns if own.role in roles]
        if found:
            tell_some(console, f"{called} ({len(found):,})", found)
    for words in (_EQUAL, _DECIDED):
        if beside := [own.profile.name for own in columns if own.beside == words]:
            tell_some(console, words, beside)
    gaps = [own.profile.name for own in columns if own.profile.n_missing and own.role not in _CALLED["Not released"]]
    if gaps:
        tell_some(console, f"With missing values{f', {examples(proposed)} among them' if proposed else ''}", gaps)
    n_drafts = sum(column.draft is not None for column in columns)
    drafts = f", {counted(n_drafts, 'draft', 'drafts')} in {project.parent / HIERARCHIES}" if n_drafts else ""
    console.print(plain(f"Written: {project}{drafts}"))
    others = any(column.role == "other" for column in columns)
    first = 'decide each role "other" there' if others else "read and edit both"
    console.print(plain(f"Next: {first}, then: pymoo-anon search {project}"))


_ROLES_EXPLAINED = """\
# What a column can be:
#   quasi-identifier  others may know it of a person: it is generalized, along its hierarchy
#   sensitive         nobody should learn it of a person: l-diversity and its like protect it
#   label             a class that a model is to predict from the release
#   person            tells whose row it is, where a person has several rows; it is not released
#   identifier, drop  names a person, or is of no use: it is not released
#   keep              it is released as it stands, and nothing protects it: who knows it of a person may find the row;
#                     where it singles persons out, reason = "because ..." says why in at least five words
#   other             not decided: nothing runs until you write one of the above\
"""

# Advice about the role "other".
_TODO = """\
# Not decided. May others know it of a person? Then it is a "quasi-identifier", and `pymoo-anon hierarchy draft` drafts
# its hierarchy. Must nobody learn it? "sensitive". Does nobody need it? "drop". "keep" is for what nobody can know.\
"""


class ColumnText(NamedTuple):
    """Text of a column in the project file."""

    profile: Profile  # Its counts
    role: str  # Its guessed role
    reason: str  # Why, in one line
    hierarchy: str  # Path of its hierarchy in the project file, or nothing
    draft: str | None  # The drafted hierarchy, as its file holds it, or None
    levels: str  # Description of the draft, such as "numbers, 4 levels", or why there is none
    made: Draft | None  # The draft itself, or None
    beside: str | None  # How it is to a column beside which it tells nothing: `_EQUAL`, `_DECIDED`, or None


def project_text(data: dict[str, Any], n_rows: int, columns: Sequence[ColumnText], stem: str) -> str:
    """Return the text of a project file, which holds no value of the table."""
    lines = [
        f"# What becomes of {plain(data['file'])}: "
        f"{counted(n_rows, 'row', 'rows')}, {counted(len(columns), 'column', 'columns')}.",
        "# The roles are guesses from names, types and counts: read them all, and edit what is wrong.",
        "",
        "[data]",
        f"file = {_toml(data['file'])}",
        f"engine = {_toml(data['engine'])}  # {', '.join(ENGINES)}",
        f"missing = {_toml(data['missing'])}  # rows without a value: raise (refuse them), drop (leave "
        "them out) or keep (a value of its own)",
        f"empty = {_toml(data['empty'])}  # texts that mean: no value, as an empty field always does",
        *(
            f"# {plain(f'{name}: {words}')} If it is a value, take it out of empty."
            for name, words in data["questions"].items()
        ),
    ]
    if data["names"] is not None:
        lines.append(f"names = {_toml(data['names'])}  # the file has no row with names")
    if data["strip"]:
        lines.append("strip = true  # blanks around a field are no part of it")
    lines += ["", _ROLES_EXPLAINED, ""]
    for column in columns:
        lines += _column_lines(column)
    lines += [
        "[search]",
        '# objectives = ["k", "l", "GLM"]  # what to trade off; by itself k, l of every sensitive column, and GLM',
        '# require = ["k>=5"]  # what every point of the front must keep',
        "suppression = 0.01  # at most this share of the rows is suppressed, those in the smallest classes",
        "seed = 1",
        f"output = {_toml(f'{stem}-front')}",
        "",
        "[release]",
        f"file = {_toml(f'{stem}-release.csv')}",
        'suppressed = "mark"  # suppressed rows: mark (*) or drop',
        "",
        "[report]",
        '# owner = "..."  # whose data these are; it stands at the head of the report, as do recipients and purpose',
        '# recipients = "..."  # for whom the release is',
        '# purpose = "..."  # why',
        "# population-size = 1000000  # how many persons the rows were drawn from",
        "",
    ]
    return "\n".join(lines)


def _column_lines(column: ColumnText) -> list[str]:
    lines = [f"# {plain(column.profile.name)}: {column.profile}"]
    lines += [_TODO] if column.role == "other" else []
    lines.append(f"[columns.{_toml(column.profile.name)}]")
    lines.append(f"role = {_toml(column.role)}  # {plain(column.reason)}")
    if column.hierarchy:
        draft = "" if column.draft is None else f"  # a draft: {plain(column.levels)}"
        lines.append(f"hierarchy = {_toml(column.hierarchy)}{draft}")
    return [*lines, ""]


def _toml(value: Any) -> str:
    """Return a value as TOML in one line."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return str(tomlkit.item(value).as_string())
