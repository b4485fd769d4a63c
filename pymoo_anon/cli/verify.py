"""The command `verify`."""

from __future__ import annotations

from typing import Any

import click
import narwhals as nw
from rich.console import Console

from pymoo_anon._messages import number
from pymoo_anon.cli.console import print_rows, tell, working
from pymoo_anon.cli.options import VerifyRequest
from pymoo_anon.publishing.release import said_of, uniqueness_of
from pymoo_anon.publishing.verify import object_frame, verify
from pymoo_anon.study.interrupt import ExitCode
from pymoo_anon.study.names import all_there
from pymoo_anon.study.options import options_named
from pymoo_anon.study.study import Study, all_together, verdict_of
from pymoo_anon.study.tables import Roles, constraint, objective, table_at
from pymoo_anon.table.frames import held

_HOLDS = {True: "yes", False: "NO", None: "not asked"}


def run_verify(asked: VerifyRequest, console: Console) -> None:
    """Count released tables again, and exit with 1 if something does not hold."""
    holds = _releases_hold(asked, console) if asked.of_study else _table_holds(asked, console)
    if not holds:
        console.file.flush()
        raise click.exceptions.Exit(ExitCode.DOES_NOT_HOLD)


def _releases_hold(asked: VerifyRequest, console: Console) -> bool:
    study = Study.open(asked.file)
    with working("Reading the front") as show:
        found = study.verify(show)
    for path, broken in found.items():
        tell(console, f"{path}: {verdict_of(study, path, broken)}.")
    n_releases, together = all_together(study)
    if together is not None:
        tell(console, f"Whoever has the {n_releases} releases and links their rows sees {together}.")
    return not any(found.values())


def _table_holds(asked: VerifyRequest, console: Console) -> bool:
    with working("Reading and counting"), options_named(asked):
        whole = None if asked.original is None else table_at(asked.original, asked.engine)
        # Read once: each count groups it anew.
        frame = held(nw.from_native(table_at(asked.file, asked.engine, asked.table))).to_native()
        known = nw.from_native(frame).collect_schema().names()
        quasi, secret = all_there(asked.quasi_identifier, known), all_there(asked.sensitive, known)
        roles = Roles(secret, columns=known)
        measures: list[Any] = [constraint(text, roles) for text in asked.require]
        if not measures:
            measures = [objective("require", name, roles) for name in ("k", *(f"l:{name}" for name in secret))]
        claims = verify(frame, quasi, measures, sensitive=secret, original=whole)
        known_roles = dict.fromkeys(known, "keep") | dict.fromkeys(secret, "sensitive")
        known_roles |= dict.fromkeys(quasi, "quasi-identifier")
        columns = object_frame(("column", "role", "reason"), [(name, known_roles[name], None) for name in known])
        said = said_of(columns, uniqueness_of(frame, columns))
    tell(console, f"Counted again: {asked.file}")
    cells: Any = claims.itertuples(index=False)
    rows = ([name, number(found), required, _HOLDS[holds]] for name, found, required, holds in cells)
    print_rows(console, map(str, claims), rows, right=("recounted", "required", "holds"))
    tell(console, said)
    bounds = [holds for holds in claims.holds if holds is not None]
    if bounds:
        said, style = ("What was promised holds.", None) if all(bounds) else ("Something does not hold.", "bold red")
        console.print(said, style=style)
    return all(bounds)
