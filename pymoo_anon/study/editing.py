"""Changes of a project file that keep its comments."""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import tomlkit

from pymoo_anon._files import content_of, replaced
from pymoo_anon.study.interrupt import write_new
from pymoo_anon.study.names import HIERARCHIES, file_names
from pymoo_anon.study.project import Project, read_project
from pymoo_anon.study.proposal import Proposer
from pymoo_anon.table.delimited import text_of_file
from pymoo_anon.table.hierarchy import Hierarchy


def change_project(path: Path, changes: Mapping[tuple[str, ...], Any], known: str | None = None) -> None:
    """Write values into a project file, by the names of tables and key.

    None deletes a key, and a list of dicts becomes tables such as [[adversary]]. `known` is the content that is changed,
    or None for any.
    """
    text = content_of(path).decode("utf-8-sig")
    if known is not None and text != known:
        raise ValueError(f"{path} has changed meanwhile; read it again, and repeat the change")
    content: Any = tomlkit.parse(text)
    for (*tables, key), value in changes.items():
        table = content
        for name in tables:
            table = table.setdefault(name, tomlkit.table())
        if value is None:
            table.pop(key, None)
        else:
            table[key] = value
    with replaced(path) as temporary:
        temporary.write_bytes(tomlkit.dumps(content).encode("utf-8"))
        try:
            read_project(temporary, decided=False)
        except ValueError as error:
            raise ValueError(str(error).replace(str(temporary), str(path))) from None


def change_role(project: Project, proposer: Proposer, name: str, role: str, known: str | None = None) -> None:
    """Write the role of a column, and draft its hierarchy if it needs one."""
    changes: dict[tuple[str, ...], Any] = {("columns", name, "role"): role}
    if role != "keep":
        changes[("columns", name, "reason")] = None
    given = tomlkit.parse(content_of(project.path).decode("utf-8-sig")).unwrap()["columns"].get(name, {})
    if role == "quasi-identifier" and not given.get("hierarchy"):
        columns = list(project.columns)
        file = f"{HIERARCHIES}/{dict(zip(columns, file_names(columns), strict=True))[name]}"
        changes[("columns", name, "hierarchy")] = file
        if not (project.path.parent / file).exists():
            write_new(project.path.parent, {file: proposer.draft(name)}, project.files, False)
    elif role != "quasi-identifier":
        # Only these roles have a hierarchy.
        changes |= {("columns", name, key): None for key in ("levels", "weight")}
    change_project(project.path, changes, known)


def change_hierarchy(path: Path, text: str, known: str | None = None) -> None:
    """Write a hierarchy file anew, in place of the known content."""
    Hierarchy.from_csv(StringIO(text))
    if known is not None and text_of_file(path, str(path))[1] != known:
        raise ValueError(f"{path} has changed meanwhile; read it again, and repeat the change")
    with replaced(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")
