"""The project file: one TOML file per table, and changes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import tomlkit
from tomlkit.exceptions import TOMLKitError

from pymoo_anon._files import content_of, replaced
from pymoo_anon._messages import examples, repeated
from pymoo_anon.study import options
from pymoo_anon.study.names import ALGORITHMS, ENGINES, MISSING, ROLES, SUPPRESSED, Reading, Source, checksum, source_of
from pymoo_anon.study.options import Reader, Settings, is_project, levels_of, weights_of

if TYPE_CHECKING:
    from pymoo_anon.publishing.keeping import Kept

_TABLES = ("data", "columns", "search", "release", "report")
_ADVERSARIES, _AUDIENCES = "adversary", "audience"
_DATA = {
    "file": options.read_text,
    "table": options.read_text,
    "engine": options.read_one_of(ENGINES),
    "missing": options.read_one_of([*MISSING]),
    "empty": options.read_texts,
    "names": options.read_names,
    "strip": options.read_truth,
    "encoding": options.read_encoding,
    "decimal": options.read_one_of((".", ",")),
}
_RELEASE = {"file": options.read_text, "table": options.read_text, "suppressed": options.read_one_of([*SUPPRESSED])}
_REPORT = {
    **dict.fromkeys(("owner", "recipients", "purpose"), options.read_text),
    "population-size": options.read_whole(1),
}
_AUDIENCE = {"name": options.read_text, "require": options.read_bounds, "file": options.read_path}
_COLUMN = {
    "role": options.read_text,
    "hierarchy": options.read_text,
    "reason": options.read_text,
    "levels": options.read_levels,
    "weight": options.read_number,
    "round": options.read_positive,
    "clip": options.read_ends,
    "level": options.read_whole(0),
    "mean": options.read_truth,
}
# Keys for coarser kept columns, besides the hierarchy of a level.
_COARSE = ("round", "clip", "level", "mean")
#: The roles of columns that alone may have some keys.
OF_ROLE = {**dict.fromkeys(("levels", "weight"), "quasi-identifier"), **dict.fromkeys(("reason", *_COARSE), "keep")}


class ColumnDecision(NamedTuple):
    """Decision about a column."""

    role: str  # One of `ROLES`
    hierarchy: Path | None  # The file with its hierarchy, for a quasi-identifier or a kept column with a level
    reason: str | None = None  # Why a column is kept, or None
    levels: tuple[int, int] | None = None  # The least and the greatest level of a quasi-identifier, or None for all
    weight: float | None = None  # How much a quasi-identifier counts in losses, or None for 1
    coarse: Mapping[str, Any] = MappingProxyType({})  # How coarse a column is kept, by the keys of the file


@dataclass(frozen=True)
class Project:
    """Content of a project file."""

    path: Path  # The project file
    reading: Reading  # How the table is read
    missing: str  # Treatment of rows without a value: "raise", "drop" or "keep"
    columns: Mapping[str, ColumnDecision]  # Role and hierarchy of every column, in the order of the file
    search: Mapping[str, Any]  # The options of a search that the file gives, by their names in `Settings`
    adversaries: Sequence[str]  # The bounds of its adversaries, which are among those of the search
    audiences: Mapping[str, Mapping[str, Any]]  # Requirements and file of each audience, by its name
    output: Path  # The folder of the search
    release: Source  # The file, or the table of a database, that a release is written to
    suppressed: str  # Treatment of suppressed rows in a release: "mark" or "drop"
    report: Mapping[str, Any]  # Head of a report, and its options

    @property
    def data(self) -> Source:
        """Place of the table."""
        return self.reading.source

    @property
    def quasi_identifiers(self) -> dict[str, Path]:
        """File with the hierarchy of every quasi-identifier."""
        return self.hierarchies("quasi-identifier")

    @property
    def roles(self) -> tuple[list[str], str | None, str | None]:
        """Names of the sensitive columns, of the label, and of the column that identifies the person of a row."""
        label, person = (next(iter(self.with_role(role)), None) for role in ("label", "person"))
        return self.with_role("sensitive"), label, person

    @property
    def files(self) -> list[Path]:
        """The project file and all files that it names."""
        own = self.data.path
        trees = [*self.quasi_identifiers.values(), *self.hierarchies("keep").values()]
        return [self.path, *([] if own is None else [own]), *trees]

    @property
    def documents(self) -> Path:
        """Path beside which evidence and codebook of the release stand."""
        return self.release.documents(self.path.parent)

    @property
    def kept(self) -> dict[str, Kept]:
        """How each kept column is released, and why."""
        from pymoo_anon.publishing.keeping import Kept
        from pymoo_anon.table.hierarchy import Hierarchy

        trees, kept = {name: Hierarchy.from_csv(file) for name, file in self.hierarchies("keep").items()}, {}
        is_point = self.reading.decimal == ","
        for name in self.with_role("keep"):
            own = self.columns[name]
            try:
                kept[name] = Kept(reason=own.reason, hierarchy=trees.get(name), decimal_point=is_point, **own.coarse)
            except ValueError as error:
                raise ValueError(f'{self.path}: [columns."{name}"] {error}') from None
        return kept

    def for_audience(self, name: str) -> Project:
        """Return the project with the file of the release of an audience."""
        if name not in self.audiences:
            known = examples(list(self.audiences)) or "the [[audience]] tables of the project, which has none"
            raise ValueError(f"audience must be one of {known}, got {name!r}")
        made, file = self.release, self.audiences[name].get("file")
        if file is not None:
            made = _source(self.path, f"[{_AUDIENCES}]", {"file": str(file)})
        elif made.table is not None:
            made = made._replace(table=f"{made.table}-{name}")
        elif made.path is not None:
            # A name with a slash is no folder.
            made = made._replace(path=made.path.with_stem(f"{made.path.stem}-{name.replace('/', '_')}"))
        return replace(self, release=made)

    def with_role(self, *roles: str) -> list[str]:
        """Return the names of the columns with any of these roles."""
        return [name for name, column in self.columns.items() if column.role in roles]

    def alike(self, target: Source) -> str:
        """Name columns of a release that its place cannot tell apart."""
        left_out = self.with_role("drop", "identifier", "person")
        twice = repeated(name.casefold() for name in self.columns if name not in left_out)
        if not twice or target.kind not in ("parquet", "sqlite"):
            return ""
        told = f"{target} must have columns that differ in more than case, got {examples(twice)} twice"
        return f"{told}; release to a CSV file, or rename them"

    def hierarchies(self, role: str) -> dict[str, Path]:
        """Return the file with the hierarchy of each column of a role that has one."""
        return {name: file for name in self.with_role(role) if (file := self.columns[name].hierarchy) is not None}

    def settings(self, asked: Settings | None = None) -> Settings:
        """Return the settings of a search. Options of the command line win over the file."""
        asked = Settings(file=self.path, given=frozenset({"file"})) if asked is None else asked
        options.check_meant(asked, options.PROJECT, options.PROJECT)
        if any(own.coarse for own in self.columns.values()):
            # Errors in kept columns are raised before the search.
            list(self.kept)
        # Options of the file for another algorithm, or for whole columns, are left out.
        passed = {*asked.given} | options.excluded_by({name: getattr(asked, name) for name in asked.given})
        if "local" in asked.given and ALGORITHMS[self.search.get("algorithm", "auto")].local is False:
            passed.add("algorithm")
        taken: dict[str, Any] = {name: value for name, value in self.search.items() if name not in passed}
        both = [name for name in options.idle_with(Settings, options.LOCAL) if taken.get("local") and name in taken]
        if both:
            raise ValueError(f'{self.path}: [search] {examples(both)} cannot be combined with recoding = "local"')
        if "output" not in asked.given:
            taken["output"] = self.output
        if "require" in asked.given:
            # Requirements that are typed do not weaken adversaries.
            taken["require"] = [*asked.require, *self.adversaries]
        return replace(
            asked,
            given=frozenset(asked.given) | set(taken),
            project=self,
            **taken,
        )

    def checksums(self) -> dict[str, str | None]:
        """Return the sha256 of every input of a search, or None for Spark's catalog."""
        hierarchies = {str(path): checksum(path) for path in self.quasi_identifiers.values()}
        return {str(self.data): checksum_of(self.data), **hierarchies}

    def identity(self, checksums: Mapping[str, str | None]) -> dict[str, Any]:
        """Return the inputs, their reading and the search, which a front depends on."""
        roles = self.with_role("quasi-identifier", "sensitive", "label", "person")
        names = self.reading.names
        return {
            "data": checksums[str(self.data)],
            "hierarchies": {name: checksums[str(path)] for name, path in self.quasi_identifiers.items()},
            "reading": {
                "missing": self.missing,
                "empty": list(self.reading.empty),
                "names": None if names is None else list(names),
                "strip": self.reading.strip,
                **{key: getattr(self.reading, key) for key in self.reading.of_csv if key in ("encoding", "decimal")},
                "roles": {name: self.columns[name].role for name in roles},
                **({} if self.data.table is None else {"table": self.data.table}),
            },
            "search": self._meaning(self.search),
        }

    def changed(self, record: Mapping[str, Any]) -> list[str]:
        """List the changes since a search wrote a record: files, their reading, the search."""
        now, then = self.identity(self.checksums()), record["project"]
        found = [str(self.data)] if now["data"] != then.get("data") else []
        for name, file in self.quasi_identifiers.items():
            if now["hierarchies"][name] != then["hierarchies"].get(name):
                found.append(str(file))
        if now["reading"] != then.get("reading"):
            found.append(f"how {self.path} reads it")
        searched = self._meaning(record["options"])
        # Options that were typed may stand in the file by now: this is no change.
        if now["search"] not in (searched, then.get("search")):
            every = dict.fromkeys([*now["search"], *searched])
            names = [name for name in every if now["search"].get(name) != searched.get(name)]
            where = "[columns]" if {*names} <= {"levels", "weights"} else "[search]"
            found.append(f"{' and '.join(names)} in {where} of {self.path}")
        return found

    def _meaning(self, searched: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options that decide the points, in one spelling."""
        objectives, rule = searched.get("objectives"), searched.get("suppression", Settings.suppression)
        bounds = {options.bound_parts(one) for one in searched.get("require", ())}
        goals = options.usual(self.with_role("sensitive")) if objectives is None else options.measures_in(objectives)
        kind, _, limit = rule.rpartition(":")
        levels, weights = levels_of(searched.get("level", ())), weights_of(searched.get("weight", ()))
        # A record in JSON holds lists, and no tuples.
        return {
            "objectives": sorted(map(_same, goals)),
            "require": sorted(([_same(name), sign, _spelled(limit)] for name, sign, limit in bounds), key=str),
            "suppression": [kind.strip(), _spelled(limit)],
            "recoding": "local" if searched.get("local", False) else "full-domain",
            **({"levels": sorted([name, [*own]] for name, own in levels.items())} if levels else {}),
            **({"weights": sorted([*own] for own in weights.items())} if weights else {}),
        }


def checksum_of(source: Source) -> str | None:
    """Return the sha256 of a file or of rows, or None in Spark's catalog."""
    if source.kind == "spark":
        return None
    if source.path is not None and source.is_file:
        return checksum(source.path)
    # Files need no engine.
    from pymoo_anon.study.engines import content_checksum, open_frame

    return content_checksum(open_frame(Reading(source), list))


def _same(name: str) -> str:
    from pymoo_anon.problems.arguments import measure_in

    return str(measure_in(name))


def _spelled(value: str) -> Any:
    try:
        return options.numeral("", value.strip())
    except ValueError:
        return value.strip()


def read_project(path: Path, decided: bool = True) -> Project:
    """Read a project file, with paths relative to its folder. `decided` refuses columns of the role "other"."""
    content = _content(path)
    _check_keys(path, "the file", content, (*_TABLES, _ADVERSARIES, _AUDIENCES))
    given: dict[str, Any] = {name: content.get(name, {}) for name in _TABLES}
    for name, table in given.items():
        if not isinstance(table, Mapping):
            raise ValueError(f"{path}: {name} must be a table, [{name}], got {table!r:.80}")
    readers = {"data": _DATA, "search": options.file_keys(Settings), "release": _RELEASE, "report": _REPORT}
    data, search, release, report = (_values(path, name, given[name], own) for name, own in readers.items())
    if "recoding" in search:
        search["local"] = search.pop("recoding")
    adversaries = _adversaries(path, content.get(_ADVERSARIES, []))
    if adversaries:
        search["require"] = [*search.get("require", []), *adversaries]
    if "file" not in data:
        raise ValueError(f"{path}: [data] must have a key file, which names the table")
    source = _source(path, "data", data)
    target = _source(path, "release", {"file": f"{path.stem}-release.csv", **release})
    reading = Reading(source, **{key: value for key, value in data.items() if key not in ("file", "table", "missing")})
    columns = {name: _column(path, name, value) for name, value in given["columns"].items()}
    if decided:
        _check_roles(path, columns)
    project = Project(
        path,
        reading,
        missing=data.get("missing", "raise"),
        columns=MappingProxyType(columns),
        search=MappingProxyType({key: value for key, value in search.items() if key != "output"} | _wishes(columns)),
        adversaries=adversaries,
        audiences=MappingProxyType(_audiences(path, content.get(_AUDIENCES, []))),
        output=path.parent / search.get("output", f"{path.stem}-front"),
        release=target,
        suppressed=release.get("suppressed", "mark"),
        report=MappingProxyType(report),
    )
    # Names may differ in signs that no file name has.
    if twice := repeated(str(project.for_audience(name).release).casefold() for name in project.audiences):
        raise ValueError(f"{path}: each [[{_AUDIENCES}]] must have a file of its own, got {examples(twice)} twice")
    return project


def _content(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise ValueError(f"{path}: no such file; pymoo-anon init writes a project file")
    data = content_of(path)
    try:
        return tomlkit.parse(data.decode("utf-8-sig")).unwrap()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} must be text in UTF-8, got the byte 0x{error.object[error.start]:02x}") from None
    except (TOMLKitError, ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        hint = "" if is_project(path) else f"; {options.command('init', path)} writes one about a table"
        raise ValueError(f"{path} must be a TOML file: {str(error) or type(error).__name__}{hint}") from None


def _source(path: Path, table: str, given: Mapping[str, Any]) -> Source:
    try:
        return source_of(given["file"], path.parent, given.get("table"))
    except ValueError as error:
        raise ValueError(f"{path}: [{table}] file: {error}") from None


def _wishes(columns: Mapping[str, ColumnDecision]) -> dict[str, list[str]]:
    levels = {name: "..".join(map(str, own.levels)) for name, own in columns.items() if own.levels is not None}
    weights = {name: repr(own.weight) for name, own in columns.items() if own.weight is not None}
    both = {"level": levels, "weight": weights}
    return {option: [f"{name}={own}" for name, own in given.items()] for option, given in both.items() if given}


def _adversaries(path: Path, given: Any) -> list[str]:
    if not isinstance(given, list):
        raise ValueError(f"{path}: each adversary must be a table of its own, [[{_ADVERSARIES}]], got {given!r:.80}")
    read = options.bounds_of_adversary
    found = [_read(path, f"[[{_ADVERSARIES}]] {number}", read, one) for number, one in enumerate(given, start=1)]
    return [bound for bounds in found for bound in bounds]


def _audiences(path: Path, given: Any) -> dict[str, Mapping[str, Any]]:
    if not isinstance(given, list) or not all(isinstance(one, Mapping) for one in given):
        raise ValueError(f"{path}: each audience must be a table of its own, [[{_AUDIENCES}]], got {given!r:.80}")
    read = [_values(path, f"[{_AUDIENCES}]", one, _AUDIENCE) for one in given]
    for one in read:
        if not {"name", "require"} <= one.keys() or [own.get("name") for own in read].count(one["name"]) > 1:
            raise ValueError(f"{path}: each [[{_AUDIENCES}]] must have a name of its own, and what it requires")
    return {one["name"]: one for one in read}


def _check_keys(path: Path, where: str, given: Mapping[str, Any], known: tuple[str, ...]) -> None:
    if unknown := [key for key in given if key not in known]:
        raise ValueError(f"{path}: {where} may have {', '.join(known)}, got {examples(unknown)}")


def _values(path: Path, table: str, given: Mapping[str, Any], readers: Mapping[str, Reader]) -> dict[str, Any]:
    _check_keys(path, f"[{table}]", given, tuple(readers))
    return {
        name.replace("-", "_"): _read(path, f"[{table}] {name}", readers[name], value) for name, value in given.items()
    }


def _read(path: Path, where: str, read: Reader, given: Any) -> Any:
    try:
        return read(given)
    except ValueError as error:
        raise ValueError(f"{path}: {where} must be {error}, got {given!r:.80}") from None


def _column(path: Path, name: str, given: Any) -> ColumnDecision:
    where = f'[columns."{name}"]'
    if not isinstance(given, Mapping):
        raise ValueError(f"{path}: {where} must be a table with a role, got {given!r:.80}")
    read = _values(path, f'columns."{name}"', given, _COLUMN)
    role, hierarchy = read.get("role"), read.get("hierarchy")
    if role not in ROLES:
        got = "none" if role is None else repr(role)
        raise ValueError(f"{path}: {where} role must be one of {', '.join(ROLES)}, got {got}")
    if "reason" in given and role != "keep":
        raise ValueError(f'{path}: {where} reason says why a column has the role "keep", got the role {role!r}')
    for key in read:
        if OF_ROLE.get(key, role) != role:
            raise ValueError(f"{path}: {where} {key} is of the role {OF_ROLE[key]!r}, got the role {role!r}")
    if role == "keep" and hierarchy and "level" not in read:
        raise ValueError(
            f"{path}: {where} is kept as it stands and has a hierarchy: delete the line hierarchy = {hierarchy!r}, or "
            "add level = 1 to keep the column at a level of it"
        )
    file = path.parent / hierarchy if hierarchy else None
    coarse = {key: read[key] for key in _COARSE if key in read}
    reason, levels, weight = (read.get(key) for key in ("reason", "levels", "weight"))
    return ColumnDecision(role, file, reason, levels, weight, MappingProxyType(coarse))


def _check_roles(path: Path, columns: Mapping[str, ColumnDecision]) -> None:
    by_role: dict[str, list[str]] = {}
    for name, column in columns.items():
        if column.role == "quasi-identifier" and column.hierarchy is None:
            draft = options.command("hierarchy", "draft", path, column=name)
            raise ValueError(
                f'{path}: [columns."{name}"] is a quasi-identifier and must have a hierarchy, the name of a CSV file; '
                f"{draft} drafts one"
            )
        by_role.setdefault(column.role, []).append(name)
    if "other" in by_role:
        raise ValueError(
            f'{path}: every column must have a decided role, got "other" for {examples(by_role["other"])}; replace '
            '"other" by "quasi-identifier", "sensitive" or "drop"'
        )
    for role in ("label", "person"):
        if len(by_role.get(role, [])) > 1:
            raise ValueError(f"{path}: one column at most may be the {role}, got {examples(by_role[role])}")
    if "quasi-identifier" not in by_role:
        raise ValueError(f"{path}: at least one column must have the role quasi-identifier, got none")


def change_project(path: Path, changes: Mapping[tuple[str, ...], Any], known: str | None = None) -> None:
    """Write values into a project file by the names of tables and key.

    None, an empty text or list deletes a key, and a list of dicts becomes tables such as [[adversary]]. `known` is the
    content that is changed. ValueError is raised where it is another one by now, or would be no project file.
    """
    text = content_of(path).decode("utf-8-sig")
    if known is not None and text != known:
        raise ValueError(f"{path} has changed meanwhile; read it again, and repeat the change")
    content: Any = tomlkit.parse(text)
    for (*tables, key), value in changes.items():
        table, is_empty = content, value in (None, "", [])
        for name in tables:
            table = table.get(name, {}) if is_empty else table.setdefault(name, tomlkit.table())
        if is_empty:
            table.pop(key, None)
        else:
            table[key] = value
    new = tomlkit.dumps(content)
    if new == text:
        return
    with replaced(path) as temporary:
        temporary.write_bytes(new.encode("utf-8"))
        try:
            read_project(temporary, decided=False)
        except ValueError as error:
            raise ValueError(str(error).replace(str(temporary), str(path))) from None
