"""Changes of a project file that keep its comments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tomlkit

from pymoo_anon._files import content_of, replaced
from pymoo_anon.study.interrupt import write_new
from pymoo_anon.study.names import HIERARCHIES, file_names
from pymoo_anon.study.project import OF_ROLE, Project, read_project
from pymoo_anon.study.proposal import Proposer
from pymoo_anon.table.delimited import text_of_file
from pymoo_anon.table.guesses import Profile
from pymoo_anon.table.hierarchy import Hierarchy, matched
from pymoo_anon.table.hierarchy_edits import Finding, check_hierarchy
from pymoo_anon.typing import Ints


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


def change_roles(
    project: Project, proposer: Proposer, names: Iterable[str], role: str, known: str | None = None
) -> None:
    """Write the role of columns, and draft the hierarchies that it needs.

    `known` is the content of the project file that is changed. ValueError is raised where it is another one by now, or
    no hierarchy fits a column.
    """
    content = tomlkit.parse(content_of(project.path).decode("utf-8-sig")).unwrap()["columns"]
    files = dict(zip(project.columns, file_names(list(project.columns)), strict=True))
    changes: dict[tuple[str, ...], Any] = {}
    for name in names:
        changes[("columns", name, "role")] = role
        # With keys of another role the file would be refused.
        changes |= {("columns", name, key): None for key, own in OF_ROLE.items() if own != role}
        given = content.get(name, {})
        if role == "keep" and "level" not in given:
            changes[("columns", name, "hierarchy")] = None
        if role == "quasi-identifier" and not given.get("hierarchy"):
            file = f"{HIERARCHIES}/{files[name]}"
            changes[("columns", name, "hierarchy")] = file
            if not (project.path.parent / file).exists():
                write_new(project.path.parent, {file: proposer.draft(name)}, project.files, False)
    change_project(project.path, changes, known)


def change_hierarchy(path: Path, text: str, known: str | None = None) -> str:
    """Write a hierarchy file anew, and return its content before.

    ValueError is raised where the text is no hierarchy, or the file is no longer what was `known` of it.
    """
    Hierarchy.from_csv(StringIO(text))
    before = text_of_file(path, str(path))[1]
    if known is not None and before != known:
        raise ValueError(f"{path} has changed meanwhile; read it again, and repeat the change")
    with replaced(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")
    return before


class OpenHierarchy(NamedTuple):
    """Hierarchy of a column, beside its values."""

    text: str  # The content of its file
    findings: Sequence[Finding]  # Errors, warnings and notes of a check against the values
    hierarchy: Hierarchy | None  # The hierarchy, or None where the file holds none
    rows: Ints  # (n_values,) int64, the rows of each value of its domain, zeros for a sampled column

    def rows_of(self, level: int) -> Ints:
        """Return the rows of each group of a level."""
        assert self.hierarchy is not None
        n_groups = int(self.hierarchy.n_groups[level])
        return np.bincount(self.hierarchy.groups[level], self.rows, n_groups).astype(np.int64)


def open_hierarchy(path: Path, profile: Profile) -> OpenHierarchy:
    """Read and check a hierarchy, and count the rows of its values."""
    text, values = text_of_file(path, str(path))[1], None if profile.is_sampled else list(profile.values)
    findings = check_hierarchy(StringIO(text), values)
    try:
        hierarchy = Hierarchy.from_csv(StringIO(text))
    except ValueError:
        return OpenHierarchy(text, findings, None, np.zeros(0, dtype=np.int64))
    rows = np.zeros(hierarchy.n_values, dtype=np.int64)
    if values is not None:
        try:
            places = matched(hierarchy, values).encode(values)
        except ValueError:
            places = hierarchy.encode(values)
        known = places >= 0
        np.add.at(rows, places[known], np.array(profile.counts)[known])
    return OpenHierarchy(text, findings, hierarchy, rows)
