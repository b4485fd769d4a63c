"""Proposal of a project: guesses of roles, drafts of hierarchies, and its text."""

from __future__ import annotations

import re
import sqlite3
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache, cached_property, partial
from importlib.resources import files
from itertools import islice
from pathlib import Path
from string import Template
from textwrap import fill
from typing import Any, NamedTuple

import narwhals as nw
import tomlkit

from pymoo_anon._messages import counted, examples, listed, plain, repeated
from pymoo_anon.study.databases import only_table
from pymoo_anon.study.engines import BLANKS, dialect_of, head_of, open_frame, renamed_columns
from pymoo_anon.study.interrupt import write_new
from pymoo_anon.study.names import (
    ENGINES,
    HIERARCHIES,
    ROLES,
    Reading,
    Source,
    all_there,
    as_there,
    check_named,
    file_names,
    path_from,
    source_of,
)
from pymoo_anon.study.options import is_project, parts_of, read_encoding
from pymoo_anon.study.project import OF_ROLE, Project, change_project, read_project
from pymoo_anon.table import guesses
from pymoo_anon.table.delimited import SEPARATORS, csv_rows, separator_of
from pymoo_anon.table.domain_values import is_number, spelled
from pymoo_anon.table.draft_levels import FRACTIONS, WORDS, Draft
from pymoo_anon.table.drafts import draft_hierarchy, says_missing
from pymoo_anon.table.frames import at_hand

#: Reasons for dropping a column that tells nothing beside another one.
EQUAL, DECIDED = "Dropped, for they equal another column", "Dropped, for another column decides them"

# Rows that decide whether blanks belong to the fields, and the share that decides whether the first is a title.
_HEAD_ROWS, _NEARLY = 1000, 0.9
# Another odd text in fewer rows may be a mistake, or name somebody.
_SEVERAL = 5


class ColumnProposal(NamedTuple):
    """Proposal for a column."""

    profile: guesses.Profile  # Its counts
    role: str  # Its guessed role
    reason: str  # Why, in one line
    hierarchy: str  # Path of its hierarchy in the project file, or nothing
    text: str | None  # The drafted hierarchy, as its file holds it, or None
    levels: str  # Description of the draft, such as "numbers, 4 levels", or why there is none
    draft: Draft | None  # The draft itself, or None
    beside: str | None  # `EQUAL` or `DECIDED` for a column that tells nothing beside another one, or None


class Proposal(NamedTuple):
    """Project proposed from a table."""

    columns: list[ColumnProposal]
    texts: dict[str, str]  # Content of its files by path
    proposed: list[str]  # Odd texts that are taken for no value
    questions: dict[str, str]  # A question for each column with other odd texts
    hints: list[str]  # Sentences about nearly empty rows, rows of one person, and secrets that nobody told


def reading_of(source: Source, engine: str, named: str | None, encoding: str | None = None) -> Reading:
    """Return how a table is read, as its first rows show."""
    names = None if named is None else tuple(parts_of(named))
    if names is not None and (not all(names) or repeated(names)):
        got = f"more than once: {examples(repeated(names))}" if all(names) else "an empty name"
        raise ValueError(f"names must name each column once, got {got}")
    if encoding is not None:
        try:
            read_encoding(encoding)
        except ValueError as error:
            raise ValueError(f"encoding must be {error}, got {encoding!r}") from None
    strip = False
    if source.kind == "csv":
        assert source.path is not None
        source.check()
        head = head_of(source.path, encoding)
        strip = is_padded(head)
        header = dialect_of(source.path, names, strip, encoding).names
        numbers = [name for name in header if is_number(spelled(name, float))]
        if names is None and len(numbers) > 1:
            raise ValueError(
                f"{source} must name its columns in its first row, got {examples(numbers)} there; "
                "init --names NAME,NAME,... names the columns of a file without such a row"
            )
        lines = head.splitlines()[1:_HEAD_ROWS] if len(header) == 1 else []
        if any(sum(sign in line and '"' not in line for line in lines) > _NEARLY * len(lines) for sign in SEPARATORS):
            raise ValueError(f"{source} must name its columns in its first row, got a title there; take it out")
        if _are_parted_by_blanks([*header, *lines]):
            raise ValueError(
                f"{source} must have a comma, a semicolon, a tab or a bar between fields, got blanks; save it anew"
            )
        check_named(source, header)
    elif source.kind == "sqlite":
        source.check()
        try:
            # A release may add another table.
            source = source._replace(table=only_table(source))
        except (ValueError, sqlite3.Error) as error:
            raise ValueError(f"{source} cannot be read: {error}") from None
    return Reading(source, engine, (), names, strip, encoding)


def _are_parted_by_blanks(lines: Sequence[str]) -> bool:
    n_words = {len(line.split()) for line in lines if line}
    return len(lines) > 1 and len(n_words) == 1 and max(n_words) > 1


def is_padded(head: str) -> bool:
    """Return whether every field of some column begins with a blank."""
    rows: list[list[str]] = []
    # The head may end inside quotes. Errors of the file are raised when all of it is read.
    with suppress(ValueError):
        rows.extend(row for row in islice(csv_rows(head, separator_of(head), "the head"), _HEAD_ROWS) if row)
    width = min(map(len, rows), default=0)
    return any(all(row[place].startswith(BLANKS) for row in rows) for place in range(width))


class Proposer:
    """Guesses about a table in two steps: counts of its values, then decisions."""

    def __init__(self, reading: Reading) -> None:
        #: How the table is read.
        self.reading = reading
        frame = open_frame(reading, list)
        #: The table, read once.
        self.frame = at_hand(frame) if reading.source.kind == "csv" else frame
        names = nw.from_native(self.frame).collect_schema().names()
        if renamed := renamed_columns(reading, names):
            told = f"{reading.source} has columns that differ in case alone; some are read under other names"
            warnings.warn(f"{told}: {examples(renamed)}", stacklevel=2)
        guesses.check_single_values(self.frame, names)
        profiles = guesses.profiles_of(self.frame, names)
        self._empty = _never_values(profiles)
        #: Counts of the values of each column.
        self.profiles = self._without(profiles)
        self._drafted = cache(partial(_drafted, decimal_point=reading.decimal == ","))

    @cached_property
    def roles(self) -> dict[str, tuple[str, str]]:
        """Guessed role of every column, with the reason, before hierarchies are drafted."""
        redundant = {name: ("drop", told) for name, (_, told) in self._redundant({}).items()}
        return self._decisions({}) | redundant

    @property
    def known(self) -> list[str]:
        """Names of the guessed quasi-identifiers."""
        return [name for name, (role, _) in self.roles.items() if role == "quasi-identifier"]

    def profile(self, name: str) -> guesses.Profile:
        """Return the counts of the values of a column."""
        for profile in self.profiles:
            if profile.name == name:
                return profile
        got = examples([profile.name for profile in self.profiles])
        raise ValueError(f"{self.reading.source} must have the column {name!r}, got {got}")

    def draft(self, name: str) -> str:
        """Return the text of a drafted hierarchy of a column."""
        text, levels, _ = self._drafted(self.profile(name))
        if text is None:
            raise ValueError(f"column {name!r} has no hierarchy: {levels}")
        return text

    def propose(
        self, project: Path, roles: Sequence[str] = (), hierarchies: Path | None = None, missing: str | None = None
    ) -> Proposal:
        """Decide on all columns. Texts PATTERN=ROLE are roles, of which the last that fits a column counts."""
        names = [profile.name for profile in self.profiles]
        given = {} if hierarchies is None else self._given(hierarchies, names, project.parent)
        asked = _asked(roles, names) | dict.fromkeys(given, ("quasi-identifier", "--hierarchies has a file for it"))
        redundant = self._redundant(asked)
        columns = first = self._columns(asked, redundant, given)
        if proposed := _proposed(columns):
            self._empty += proposed
            self.profiles = self._without(self.profiles)
            columns = self._columns(asked, redundant, given)
        questions = _questions(first, proposed)
        texts = {column.hierarchy: column.text for column in columns if column.text is not None}
        texts[project.name] = self._text(columns, project, missing, questions)
        others = {name: words for name, words in _questions(first).items() if name not in questions}
        return Proposal(columns, texts, proposed, others, [*self._hints(columns)])

    def _hints(self, columns: Sequence[ColumnProposal]) -> Iterator[str]:
        n, values = guesses.nearly_empty_rows(self.frame, self.profiles)
        if n:
            empty = f"{counted(n, 'row', 'rows')} {'holds' if n == 1 else 'hold'} nothing in most columns"
            held = f" but {examples(values, most=2)}" if values else ""
            yield f"{empty}{held}. If they are totals, notes or blank lines, take them out."
        if all(own.role != "person" for own in columns) and (own := self._perhaps_person(columns)):
            told = f"{own.name}: {own.n_distinct:,} values in {own.n_present:,} rows. Does it tell whose row it is?"
            yield f"{told} If so, give it the role person: k then counts persons, not rows."
        secrets = [own.profile for own in columns if own.role == "sensitive" and not own.profile.is_sampled]
        if untold := [(own.name, value) for own in secrets for value in own.values if says_missing(value)]:
            names, texts = ([*dict.fromkeys(own)] for own in zip(*untold, strict=True))
            told = f"{examples(texts)} in {listed(names, most=5)}: each counts as a value for l-diversity"
            yield f"{told}; ask for a greater l."
        if fractions := [own.profile.name for own in columns if own.draft and FRACTIONS in own.draft.reason]:
            advice = 'If the points group thousands, take them out; decimal = "," in [data] does, but for units.'
            yield f"{examples(fractions)}: numbers {FRACTIONS}. {advice}"

    def _perhaps_person(self, columns: Sequence[ColumnProposal]) -> guesses.Profile | None:
        """Return an identifier with several rows that decides another column, as no shared name of persons does."""
        named = [own.profile for own in columns if own.reason == f"an identifier: {own.profile.guess.reason}"]
        often = [own.name for own in named if guesses.TELLING <= own.n_distinct <= own.n_present / 2]
        every = [own.name for own in self.profiles]
        decided = guesses.decided_columns(self.frame, self.profiles, every, by=often).values()
        return next((self.profile(name) for name in often if name in decided), None)

    def _without(self, profiles: Sequence[guesses.Profile]) -> list[guesses.Profile]:
        """Count texts that stand for no value as missing."""
        if not self._empty:
            return list(profiles)
        sampled = [profile.name for profile in profiles if profile.is_sampled]
        reading = self.reading._replace(empty=tuple(self._empty))
        again = guesses.profiles_of(open_frame(reading, list), sampled) if sampled else []
        counted_again = {profile.name: profile for profile in again}
        return [counted_again.get(profile.name) or profile.without(self._empty) for profile in profiles]

    def _given(self, folder: Path, names: Sequence[str], beside: Path) -> dict[str, str]:
        # It loads all measures.
        from pymoo_anon.study.tables import by_column, csv_files

        files = csv_files(folder, self.reading.source.path)
        if not files:
            raise ValueError(f"--hierarchies must be a folder with CSV files, got {str(folder)!r}")
        return {name: path_from(beside, path) for name, path in by_column(files, self.reading.source, names).items()}

    def _decisions(self, asked: Mapping[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
        decisions = {own.name: asked.get(own.name) or own.guess[:2] for own in self.profiles}
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

    def _redundant(self, asked: Mapping[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
        """Return by column `EQUAL` or `DECIDED`, and the reason. Columns with a --role are left out."""
        roles = {name: role for name, (role, _) in self._decisions(asked).items()}
        # Of two equal ones that stays which protects persons best.
        order = ("person", "identifier", "drop", "sensitive", "label", "quasi-identifier", "keep", "other")
        free = [own for own in self.profiles if roles[own.name] != "drop" or own.name not in asked]
        equal = guesses.equal_columns(self.frame, sorted(free, key=lambda own: order.index(roles[own.name])))
        found = {a: (EQUAL, f"it equals {b!r} in every row") for a, b in equal.items() if roles[a] != "drop"}
        used = [own for own in free if own.name not in found and roles[own.name] in order[3:]]
        person = next((name for name, role in roles.items() if role == "person"), None)
        # A column of another role may be left out, and generalized ones tell less. Keys of groups may decide others.
        keys = [own.name for own in used if own.n_distinct > guesses.MOST_CODES and not own.is_measured]
        for role in ("quasi-identifier", "sensitive", "other"):
            alike = [own.name for own in used if roles[own.name] == role and not (role == "other" and own.name in keys)]
            decided = guesses.decided_columns(self.frame, used, alike, person)
            found |= {a: (DECIDED, f"{b!r} decides it: where {b!r} is the same, it is") for a, b in decided.items()}
        return {name: told for name, told in found.items() if name not in asked}

    def _columns(
        self,
        asked: Mapping[str, tuple[str, str]],
        redundant: Mapping[str, tuple[str, str]],
        hierarchies: Mapping[str, str],
    ) -> list[ColumnProposal]:
        decisions, columns = self._decisions(asked), []
        used = [(name, role) for name, (role, _) in decisions.items() if name not in redundant]
        free = [name for name, role in used if role in ("other", "sensitive")]
        known = [name for name, role in used if role == "quasi-identifier"]
        person = next((name for name, role in used if role == "person"), None)
        # No other column is read.
        compared = [profile for profile in self.profiles if profile.name in {*free, *known}]
        for name, other in guesses.decided_columns(self.frame, compared, free, person, known).items():
            role, reason = decisions[name]
            decisions[name] = role, f"{reason}; {other!r} decides it, so whoever knows that knows this"
        for profile, file in zip(self.profiles, file_names(list(decisions)), strict=True):
            beside, told = redundant.get(profile.name, (None, ""))
            role, reason = decisions[profile.name] if beside is None else ("drop", told)
            own = hierarchies.get(profile.name, "")
            text, levels, draft = None, "", None
            if role == "quasi-identifier" and not own:
                own, (text, levels, draft) = f"{HIERARCHIES}/{file}", self._drafted(profile)
                if text is None:
                    own, role, reason = "", "other", f"{reason}, but {levels}"
            columns.append(ColumnProposal(profile, role, reason, own, text, levels, draft, beside))
        return columns

    def _text(
        self, columns: Sequence[ColumnProposal], project: Path, missing: str | None, questions: Mapping[str, str]
    ) -> str:
        """Return the text of the project file, without any value of the table."""
        names, (file, table) = self.reading.names, self.reading.source.named_from(project.parent)
        # A column that is not decided may be used, too.
        used = [own.profile for own in columns if own.role not in ("identifier", "keep", "drop")]
        n_rows, n_columns = counted(columns[0].profile.n_rows, "row", "rows"), len(columns)
        reading = [
            f"# {plain(f'{name}: {words}')} If it is a value, take it out of empty."
            for name, words in questions.items()
        ]
        if table is not None:
            reading.insert(0, f"table = {_toml(table)}")
        if names is not None:
            reading.append(f"names = {_toml(names)}  # the file has no row with names")
        if self.reading.strip:
            reading.append("strip = true  # blanks around a field are no part of it")
        if self.reading.encoding is not None:
            reading.append(f"encoding = {_toml(self.reading.encoding)}")
        template = (files("pymoo_anon.study") / "template.toml").read_text(encoding="utf-8")
        return Template(template).substitute(
            about=f"{plain(file)}: {n_rows}, {counted(n_columns, 'column', 'columns')}",
            file=_toml(file),
            engine=_toml(self.reading.engine),
            engines=", ".join(ENGINES),
            missing=_toml(missing or ("keep" if any(profile.n_missing for profile in used) else "raise")),
            empty=_toml(self._empty),
            reading="".join(f"{line}\n" for line in reading),
            roles="\n".join(
                fill(words, 120, initial_indent=f"#   {role:16}  ", subsequent_indent=f"#{' ' * 21}")
                for role, words in ROLES.items()
            ),
            columns="".join(map(_column_text, columns)),
            front=_toml(f"{project.stem}-front"),
            release=_toml(f"{project.stem}-release.csv"),
        )


def change_roles(
    project: Project, proposer: Proposer, names: Sequence[str], role: str, known: str | None = None
) -> None:
    """Write the role of columns, and draft the hierarchies that it needs.

    `known` is the content of the project file that is changed. ValueError is raised where it is another one by now, or
    no hierarchy fits a column.
    """
    folder, files_by_name = project.path.parent, dict(zip(project.columns, file_names([*project.columns]), strict=True))
    # With keys of another role the file would be refused.
    same = {"role": role, **{key: None for key, other in OF_ROLE.items() if other != role}}
    changes: dict[tuple[str, ...], Any] = {("columns", name, key): own for name in names for key, own in same.items()}
    for name in names:
        own = project.columns[name]
        if role == "keep" and "level" not in own.coarse:
            changes["columns", name, "hierarchy"] = None
        if role == "quasi-identifier" and own.hierarchy is None:
            file = changes["columns", name, "hierarchy"] = f"{HIERARCHIES}/{files_by_name[name]}"
            if not (folder / file).exists():
                write_new(folder, {file: proposer.draft(name)}, project.files, False)
    change_project(project.path, changes, known)


class KnownColumns(NamedTuple):
    """Table with the columns that others may know."""

    frame: Any  # The table, with these columns at least
    columns: list[str]  # Their names
    who: str  # Their origin: the project, a guess or the user


def known_columns(data: str, asked: Sequence[str] = (), option: str = "--column") -> KnownColumns:
    """Open a table with the columns that others may know. They are asked for, of the project, or guessed."""
    # They load all measures.
    from pymoo_anon.study.tables import open_table

    project = read_project(Path(data), decided=False) if is_project(data) else None
    reading = reading_of(source_of(data, Path()), "auto", None) if project is None else project.reading
    if asked or project is not None:
        columns = list(asked) or ([] if project is None else project.with_role("quasi-identifier"))
        frame, who = open_table(reading, columns), "asked for" if asked else "of the project"
        columns = all_there(columns, nw.from_native(frame).collect_schema().names())
    else:
        proposer = Proposer(reading)
        columns, frame, who = proposer.known, proposer.frame, "guessed"
    if not columns:
        raise ValueError(f"{data} must have a quasi-identifier, got none that is {who}; {option} names one")
    return KnownColumns(frame, columns, who)


def _asked(roles: Sequence[str], names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return by column the role of --role, and the option as its reason."""
    asked: dict[str, tuple[str, str]] = {}
    for text in roles:
        pattern, sign, role = text.rpartition("=")
        if not sign or role not in ROLES:
            raise ValueError(f"--role must be PATTERN=ROLE, with a role of {', '.join(ROLES)}, got {text!r}")
        found = [name for name in names if name == as_there(pattern, names) or fnmatchcase(name, pattern)]
        if not found:
            raise ValueError(f"--role {text!r} matches no column; the columns are {examples(names)}")
        asked.update(dict.fromkeys(found, (role, f"--role {text!r} says so")))
    for single in ("person", "label"):
        several = [name for name, (role, _) in asked.items() if role == single]
        if len(several) > 1:
            raise ValueError(f"--role {single} must be for one column, got {examples(several)}")
    return asked


def _drafted(profile: guesses.Profile, decimal_point: bool) -> tuple[str | None, str, Draft | None]:
    """Draft a hierarchy, and return its file, a description, and the draft."""
    if profile.is_sampled:
        return None, f"more than {guesses.MOST_VALUES:,} values make no hierarchy", None
    draft = draft_hierarchy(profile.values, profile.counts, name=profile.name, decimal_point=decimal_point)
    try:
        text = draft.hierarchy.to_csv()
    except ValueError:
        # It would not be read as it was written.
        return None, "its values fit into no hierarchy file", None
    return text, f"{draft.kind}, {counted(draft.hierarchy.length, 'level', 'levels')} above the values", draft


def _never_values(profiles: Sequence[guesses.Profile]) -> list[str]:
    """Return the texts in a table that no column has as values.

    The "NA" of programs is a value where most columns that have it hold codes of two letters, as Namibia is.
    """
    held = {value for profile in profiles for value in profile.values}
    found = [text for text in ("", *WORDS["never values"], *WORDS["values of programs"]) if text in held]
    pairs = [_are_pairs_of_letters(own.values) for own in profiles if "NA" in own.values]
    if "NA" in found and 2 * sum(pairs) >= len(pairs):
        found.remove("NA")
    return found


def _are_pairs_of_letters(values: Sequence[Any]) -> bool:
    pairs = [re.fullmatch("[A-Za-z]{2}", str(value)) is not None for value in values if value not in (None, "", "NA")]
    return len(pairs) > 1 and sum(pairs) >= 0.9 * len(pairs)


def _proposed(columns: Sequence[ColumnProposal]) -> list[str]:
    """Return the odd texts that may stand for no value. Texts that another column has as values are left out."""
    odd = {column.profile.name: _odd_of(column) for column in columns}

    def likely(text: Any, count: int) -> bool:
        if not isinstance(text, str) or any(map(str.isdigit, text)) or not (says_missing(text) or count >= _SEVERAL):
            return False
        others = [own.profile.values for own in columns if text not in odd.get(own.profile.name, ())]
        # A short one such as "-" may be a value, and "unknown" hardly.
        return (says_missing(text) and len(text) > 2) or not any(text in values for values in others)

    return list(dict.fromkeys(text for texts in odd.values() for text, count in texts.items() if likely(text, count)))


def _odd_of(column: ColumnProposal) -> dict[Any, int]:
    """Return the odd values of a draft, or texts among its numbers."""
    if column.draft is not None and column.draft.odd:
        return dict(column.draft.odd)
    if column.profile.is_sampled:
        return {}
    counts = dict(zip(column.profile.values, column.profile.counts, strict=True))
    texts = {value: n for value, n in counts.items() if isinstance(value, str) and not value[-1:].isdigit()}
    if not 0 < len(texts) <= _SEVERAL or not all(map(says_missing, texts)):
        return {}
    others = [value for value in counts if value is not None and value not in texts]
    return texts if others and all(is_number(spelled(value, float)) for value in others) else {}


def _questions(columns: Sequence[ColumnProposal], texts: Sequence[str] | None = None) -> dict[str, str]:
    """Return a question about the odd values of each column, or some of them."""
    drafts = {column.profile.name: column.draft for column in columns if column.draft is not None}
    odd = {name: tuple(one for one in own.odd if texts is None or one[0] in texts) for name, own in drafts.items()}
    return {name: words for name, own in drafts.items() if (words := replace(own, odd=odd[name]).question)}


def _column_text(column: ColumnProposal) -> str:
    lines = [f"# {plain(column.profile.name)}: {column.profile}"]
    lines.append(f"[columns.{_toml(column.profile.name)}]")
    lines.append(f"role = {_toml(column.role)}  # {plain(column.reason)}")
    if column.hierarchy:
        draft = "" if column.text is None else f"  # a draft: {plain(column.levels)}"
        lines.append(f"hierarchy = {_toml(column.hierarchy)}{draft}")
    return "\n".join([*lines, "", ""])


def _toml(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return str(tomlkit.item(value).as_string())
