"""What stands in every column of a release, and how many of its rows the columns that are kept make unique."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import pandas as pd

from pymoo_anon._messages import listed, share
from pymoo_anon.problems.arguments import column_name
from pymoo_anon.publishing.frames import Renamed, missing, renamed
from pymoo_anon.publishing.verify import object_frame
from pymoo_anon.table.domain_values import Name
from pymoo_anon.table.guesses import guess_of, profiles_of
from pymoo_anon.table.microdata import Microdata, names_of

#: By what rows are unique, in the order of `Release.uniqueness`.
BY = ("kept columns", "kept columns and quasi-identifiers")


def reasons_of(keep: Any) -> dict[Name, str | None]:
    """The columns that are kept, and why; None where nobody said it."""
    if not isinstance(keep, Mapping):
        return dict.fromkeys(names_of(keep))
    for name, reason in keep.items():
        if reason is not None and (not isinstance(reason, str) or not reason.strip()):
            raise ValueError(f"keep[{name!r}] must be a text that says why it is kept, got {reason!r}")
    return dict(keep)


def check_kept(source: Renamed, reasons: Mapping[Name, str | None]) -> None:
    """Refuse to keep what may name a person, unless somebody said why."""
    unsaid = [name for name, reason in reasons.items() if reason is None]
    if not unsaid:
        return
    profiles = profiles_of(source.frame, [source.alias(name) for name in unsaid])
    for name, profile in zip(unsaid, profiles, strict=True):
        danger = guess_of(profile._replace(name=str(name))).danger
        if danger is not None:
            raise ValueError(
                f"keep must say why {name!r} is released as it is: {danger}; keep={{{name!r}: 'because ...'}} says it, "
                'in a project file reason = "because ..." beside the role'
            )


def roles_table(table: Microdata, released: Sequence[Name], reasons: Mapping[Name, str | None]) -> pd.DataFrame:
    """Every column of a release with its role, and the reason of one that is kept."""
    roles = {
        "quasi-identifier": table.quasi_identifiers,
        "sensitive": table.sensitive,
        "label": () if table.label is None else (table.label,),
        "keep": reasons,
    }
    rows = [
        (name, " and ".join(role for role, own in roles.items() if name in own), reasons.get(name)) for name in released
    ]
    return object_frame(("column", "role", "reason"), rows)


def uniqueness_of(frame: Any, columns: pd.DataFrame) -> pd.DataFrame:
    """How many rows of a release are unique by the columns that are kept, alone and with the quasi-identifiers."""
    source = renamed(frame)
    names = [source.alias(name) for name in source.names]
    # What is missing is one value, whatever stands for it.
    cells = [nw.when(~missing(source.frame, name)).then(nw.col(name)).alias(name) for name in names]
    table = source.frame.with_columns(cells)
    n_rows = _number(table.select(nw.len().alias("n")))
    kept = [name for name, role in zip(names, columns.role, strict=True) if role == "keep"]
    quasi = [name for name, role in zip(names, columns.role, strict=True) if "quasi-identifier" in role]
    found = (_unique(table, kept, n_rows), _unique(table, kept + quasi, n_rows))
    rows = [(by, unique, n_rows) for by, unique in zip(BY, found, strict=True)]
    return object_frame(("columns", "unique", "rows"), rows)


def said_of(columns: pd.DataFrame, uniqueness: pd.DataFrame) -> str:
    """Whom the kept columns give away, in words; no text where none is kept."""
    kept = [column_name(name) for name in columns.column[columns.role == "keep"]]
    if not kept:
        return ""
    alone, together = (share(unique, rows, "rows") for _, unique, rows in uniqueness.itertuples(index=False))
    return (
        f"Nothing is promised of kept columns ({listed(kept)}): by these alone {alone} are unique, by these and the "
        f"quasi-identifiers together {together}."
    )


def _unique(table: Any, names: Sequence[str], n_rows: int) -> int:
    """How many rows no other row agrees with in some columns, counted where the table lives."""
    if not names:
        return int(n_rows == 1)
    groups = table.select([nw.col(name) for name in names]).group_by(list(names), drop_null_keys=False)
    return _number(groups.agg(nw.len().alias("n")).filter(nw.col("n") == 1).select(nw.len().alias("n")))


def _number(counted: Any) -> int:
    """The number in the only cell of a frame."""
    if isinstance(counted, nw.LazyFrame):
        counted = counted.collect(None if counted.implementation.is_polars() else "pandas")
    return int(counted["n"].to_list()[0])
