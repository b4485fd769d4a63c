"""Release: the table that belongs to a point of a front, given out only where a recount holds what was promised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pymoo.core.result import Result

from pymoo_anon._messages import examples, repeated
from pymoo_anon.objectives.recount import Recount
from pymoo_anon.problems.base import AnonymizationProblem
from pymoo_anon.publishing.frames import Frame, Renamed, renamed
from pymoo_anon.publishing.recoding import FLAG, complete_rows, marked, recoded
from pymoo_anon.publishing.verify import at_least_as_good, is_known, name_of, object_frame, recounted
from pymoo_anon.table.domain_values import Name
from pymoo_anon.table.microdata import names_of


class RecountError(ValueError):
    """A recount does not hold what the search promised: nothing is released."""


@dataclass(frozen=True)
class Release:
    """A released table and what it holds.

    Attributes:
        frame: The table: of the kind of frame that was given, quasi-identifiers as text, rows sorted by all values.
        claims: A row per measure: `measure`, its name; `promised`, what the search found; `recounted`, what the release
            holds; `holds`. The last two are None for a measure that cannot be counted again: it defines no
            `recount`, or reads a quasi-identifier.
        n_suppressed: Number of rows that are suppressed.
        suppressed: What became of them, "mark" or "drop".
    """

    frame: Any
    claims: pd.DataFrame
    n_suppressed: int
    suppressed: str


def release(
    frame: Any,
    problem: AnonymizationProblem,
    x: ArrayLike,
    *,
    drop: Name | Sequence[Name] = (),
    keep: Name | Sequence[Name] = (),
    suppressed: str = "mark",
) -> Release:
    """Recode a table by one point of a search space, and count the result again before it is given out.

    Quasi-identifiers become text. Rows come out sorted by all their released values: their order tells nothing else.
    A lazy frame stays lazy, and is recoded and counted where it lives.

    Args:
        frame: The table that the problem's Microdata was read from, of any kind.
        problem: The problem.
        x: (n_var,) array, one row of `res.X`.
        drop: Columns that are left out. The person column always is.
        keep: Columns without a role that are released as they are. Every column has to have a role, or stand in `drop`
            or `keep`.
        suppressed: What becomes of suppressed rows: "mark" puts `*` in their quasi-identifiers, "drop" leaves them out.

    Returns:
        The release, and what was promised and recounted.

    Raises:
        TypeError: `frame` is no frame.
        KeyError: The frame lacks a column.
        ValueError: A column is neither released nor dropped, the frame is not the one that the problem's table was read
            from, or nothing is left to release. As `RecountError`: the recount does not hold what was promised.
    """
    recoded_table = recode(frame, problem, x, drop=drop, keep=keep, suppressed=suppressed)
    return recoded_table.counted_again(recoded_table.frame)


@dataclass(frozen=True)
class Recoded:
    """A table that is recoded, and not counted again yet.

    Attributes:
        frame: The table, as `Release` has it.
        problem: The problem.
        x: The point.
        n_suppressed: Number of rows that are suppressed.
        suppressed: What becomes of them, "mark" or "drop".
    """

    frame: Any
    problem: AnonymizationProblem
    x: ArrayLike
    n_suppressed: int
    suppressed: str
    _source: Renamed
    _complete: Frame
    _rows: Frame
    _released: tuple[Name, ...]

    def counted_again(self, written: Any) -> Release:
        """The release, where a recount holds what was promised."""
        claims = self.claims(written)
        broken = claims[[holds is False for holds in claims.holds]]
        if len(broken):
            listed = ", ".join(
                f"{row.measure} is {row.recounted:,} where {row.promised:,} was promised" for row in broken.itertuples()
            )
            text = f"nothing is released: counted again, {listed}"
            if self.suppressed == "mark" and self.n_suppressed:
                text += (
                    f"; the {self.n_suppressed:,} rows marked * are a class of their own to an attacker, "
                    "suppressed='drop' leaves them out"
                )
            raise RecountError(text)
        return Release(written, claims, self.n_suppressed, self.suppressed)

    def claims(self, written: Any) -> pd.DataFrame:
        """What was promised, what is counted again, and whether that holds, as `Release` has it."""
        problem = self.problem
        found = Result()
        found.X = np.atleast_2d(self.x)
        promised = problem.to_frame(found).iloc[0, problem.n_var :]
        names = list(problem.table.quasi_identifiers)
        columns = [o.column for o in problem.measured if o.column is not None and o.column not in names]
        outside = [column for column in columns if column not in self._released]
        roles = [name for name in problem.table.tuples.domains if name in self._source.names]
        about: dict[str, Any] = {
            "original": self._source.native(self._complete, roles),
            "hierarchies": problem.table.quasi_identifiers,
            "generalization": problem.decode(self.x),
        }
        own = beside = Recount(written, names, [column for column in columns if column not in outside], **about)
        if own.n_rows != problem.table.n_rows:
            raise ValueError(
                f"frame must be the one that the problem's table was read from, with {problem.table.n_rows:,} complete "
                f"rows, got {own.n_rows:,}"
            )
        if outside:
            # Columns that are not released are counted beside the release.
            beside = Recount(self._source.native(self._rows, [*names, *outside]), names, outside, **about)
        rows = []
        for measure, value in zip(problem.measured, promised, strict=False):
            again, holds = None, None
            if is_known(measure) and measure.column not in names:
                again = recounted(beside if measure.column in outside else own, measure)
                holds = at_least_as_good(again, value, measure.maximize)
            rows.append((name_of(measure), int(value) if measure.whole else float(value), again, holds))
        return object_frame(("measure", "promised", "recounted", "holds"), rows)


def recode(
    frame: Any,
    problem: AnonymizationProblem,
    x: ArrayLike,
    *,
    drop: Name | Sequence[Name] = (),
    keep: Name | Sequence[Name] = (),
    suppressed: str = "mark",
) -> Recoded:
    """Recode a table, and leave the recount to who writes it: what is counted should be the file. Else use `release`.

    Arguments are those of `release`.
    """
    if suppressed not in ("mark", "drop"):
        raise ValueError(f"suppressed must be 'mark' or 'drop', got {suppressed!r}")
    source = renamed(frame)
    released = _released_columns(source, problem, names_of(drop), names_of(keep))
    classes = problem.equivalence_classes(x)
    n_suppressed = int(classes.n_suppressed[0])
    if suppressed == "drop" and n_suppressed == problem.table.n_rows:
        raise ValueError("x must leave a row to release, got a point that suppresses all of them")
    complete = complete_rows(source.frame, source, problem.table)
    rows = recoded(complete, source, problem.table, problem.decode(x), classes)
    if suppressed == "drop":
        rows = rows.filter(~nw.col(FLAG))
    else:
        rows = marked(rows, source, list(problem.table.quasi_identifiers))
    made = source.native(rows, released, in_order=True)
    return Recoded(made, problem, x, n_suppressed, suppressed, source, complete, rows, tuple(released))


def _released_columns(
    source: Renamed, problem: AnonymizationProblem, drop: tuple[Name, ...], keep: tuple[Name, ...]
) -> list[Name]:
    """The columns of the release, in the order of the frame."""
    table = problem.table
    for argument, names in (("drop", drop), ("keep", keep)):
        unknown = [name for name in names if name not in source.names]
        if unknown:
            raise KeyError(f"{argument} must name columns of frame, got {examples(unknown)}")
    twice = repeated([*drop, *keep])
    if twice:
        raise ValueError(f"drop and keep must name a column once, got more than once: {examples(twice)}")
    wrong = [name for name in drop if name in table.quasi_identifiers]
    if wrong:
        raise ValueError(f"drop must not name quasi-identifiers, got {examples(wrong)}; search without them instead")
    if table.person in keep:
        raise ValueError(f"keep must not name the person, got {table.person!r}: it would link a person's rows")
    others = [*table.sensitive, *([] if table.label is None else [table.label])]
    known = {*table.quasi_identifiers, *others, table.person, *drop, *keep}
    unassigned = [name for name in source.names if name not in known]
    if unassigned:
        raise ValueError(
            f"every column must have a role or stand in drop or keep, got without any: {examples(unassigned)}"
        )
    wanted = {*table.quasi_identifiers, *others, *keep} - {*drop}
    return [name for name in source.names if name in wanted]
