"""Release of the table of a point, after an independent recount."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import chain
from typing import Any, NamedTuple

import narwhals as nw
import pandas as pd
from numpy.typing import ArrayLike

from pymoo_anon._messages import examples, html_table, listed, number, one_of, percent, plain, repeated, share
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.objectives.base import Objective, marked_value
from pymoo_anon.objectives.privacy.identity import KAnonymity
from pymoo_anon.objectives.recount import Recount, Recounted
from pymoo_anon.problems.arguments import bound, column_name, reaches_of
from pymoo_anon.problems.base import AnonymizationProblem, check_kind
from pymoo_anon.problems.front import Choice
from pymoo_anon.publishing.keeping import Kept, averaged, check_coarse, coarsened, is_reason, kept_of, unexplained
from pymoo_anon.publishing.recoding import Recoding, complete_rows, decoded_point, unrolled
from pymoo_anon.publishing.verify import check_rows, linked_rows, object_frame, shown
from pymoo_anon.publishing.verify import kept as is_kept
from pymoo_anon.table import frames
from pymoo_anon.table.domain_values import Name
from pymoo_anon.table.frames import COUNT, Frame, Renamed
from pymoo_anon.table.generalization import HOW_RELEASED, Constraint, Violating
from pymoo_anon.table.microdata import Microdata, names_of

# Where more of the rows than this are distinct, it does not pay to count them.
_FEW = 0.5

#: By which columns rows are unique, of those that are named in several places.
ALL, KEPT, _ALONE = "all released columns", "kept columns", " column "

# Most kept or dropped columns that a verdict names.
_NAMED = 5

# Words for the claims in a notebook and on the screen.
_HOLDS = {True: "yes", False: "no", None: "not recounted"}


class RecountError(ValueError):
    """Error of a recount that contradicts a promise: nothing is released.

    Attributes:
        broken: Each broken promise, in words.
    """

    def __init__(self, broken: Sequence[str], hint: str = "") -> None:
        super().__init__(f"nothing is released: counted again, {', '.join(broken)}{hint}")
        self.broken = tuple(broken)


@dataclass(frozen=True)
class Release:
    """A released table with its claims.

    Attributes:
        frame: The table: of the kind of frame that was given, quasi-identifiers as text, rows sorted by all values.
        claims: A row per measure of the problem, then one per requirement of the choice: `measure`, its name or the
            requirement; `promised`, what the search found or what is required; `recounted`, what the release holds;
            `holds`. The last two are None for a measure that cannot be counted again: it defines no `recount`, or
            reads a quasi-identifier.
        columns: A row per column of the table, in its order: `column`, `role` ("quasi-identifier", "sensitive",
            "label", "keep") and `reason`, of a kept column how coarse it is and why it is kept, or None.
        uniqueness: How many rows no other row agrees with: `columns`, by which, all released ones first, then the
            sensitive ones, the kept ones, the quasi-identifiers with either, and each sensitive column or label that is
            nearly unique; `unique`, so many rows; `rows`, of so many.
        n_suppressed: Number of rows that are suppressed.
        suppressed: What became of them, "mark" or "drop".
        anyway: Reason for releasing what breaks a promise, or None.
        exceptions: The broken promises, in words: a k of 1, requirements that are not met.
        recoding: "local" where a point that has levels for whole columns was refined, else None.
        reaches: For each measure of adversaries who know some columns alone, in words who they are, and who not.
        dropped: The columns of the original that the table lacks.
    """

    frame: Any
    claims: pd.DataFrame
    columns: pd.DataFrame
    uniqueness: pd.DataFrame
    n_suppressed: int
    suppressed: str
    anyway: str | None = None
    exceptions: tuple[str, ...] = ()
    recoding: str | None = None
    reaches: tuple[str, ...] = ()
    dropped: tuple[Name, ...] = ()

    @property
    def verdict(self) -> str:
        """Result of the recount in words, unique rows, and dropped columns."""
        unknown = self.claims.measure[self.claims.holds.isna()]
        said = ["What was promised holds."]
        if len(unknown):
            said.append(f"Not recounted: {listed(map(plain, unknown))}.")
        if self.exceptions:
            said.append(f"Released anyway, although {listed(self.exceptions)}: {self.anyway}.")
        gone = [f"Dropped: {listed(map(column_name, self.dropped), _NAMED)}."] if self.dropped else []
        return " ".join([*said, *self.reaches, said_of(self.columns, self.uniqueness), *gone])

    def _repr_html_(self) -> str:
        """Return verdict, promises and recounts, without a row or a number of suppressed ones."""
        claims: list[dict[str, Any]] = self.claims.to_dict("records")  # type: ignore[assignment]
        return html_table(self.verdict, ["measure", "promised", "recounted", "holds"], claim_rows(claims))


def claim_rows(claims: Iterable[Mapping[str, Any]]) -> list[list[str]]:
    """Return measure, promise, recount and verdict of each claim in words.

    Numbers that JSON cannot hold come from evidence as text.
    """

    def told(value: Any) -> str:
        return "" if value is None else value if isinstance(value, str) else number(value)

    return [[own["measure"], told(own["promised"]), told(own["recounted"]), _HOLDS[own["holds"]]] for own in claims]


def release(
    frame: Any,
    problem: AnonymizationProblem,
    x: ArrayLike | Choice,
    *,
    drop: Name | Sequence[Name] = (),
    keep: Name | Sequence[Name] | Mapping[Name, str | Kept | None] = (),
    suppressed: str = "mark",
    recoding: str | None = None,
    anyway: str | None = None,
) -> Release:
    """Recode a table by one point, and recount the result.

    Quasi-identifiers become text. Rows come out sorted by all their released values: their order tells nothing else.
    A lazy frame stays lazy, and is recoded and counted where it lives.

    Args:
        frame: The table that the problem's Microdata was read from, of any kind.
        problem: The problem.
        x: Chosen point, with its requirements as promises, or an (n_var,) array such as a row of `res.X`.
        drop: Columns that are left out. The person column always is.
        keep: Columns without a role that are released as they are, or a dict of them that says why each is kept: a
            reason is asked for where a column looks like an identifier, holds dates or coordinates, is decided by a
            quasi-identifier, or is nearly unique, alone or with others that have none. A `Kept` in place of the reason
            makes the column coarser: rounded, clipped, at a level of a hierarchy, or the mean of each class. Every
            column has to have a role, or stand in `drop` or `keep`.
        suppressed: What becomes of suppressed rows: "mark" puts `*` in their quasi-identifiers, "drop" leaves them out.
        recoding: "local" refines a point that has levels for whole columns, as `refine` does: no cell is coarser, and
            what single classes hold is kept. The claims promise what the point holds; of a measure over all classes,
            such as the mean risk, what the refinement holds where that is worse. None recodes as the point says.
        anyway: A reason, in at least five words, releases a table in which somebody is alone in a class, and a point
            that misses a constraint of the problem or a requirement of the choice. None refuses both.

    Returns:
        The release, and what was promised and recounted.

    Raises:
        TypeError: `frame` is no frame, or the point to be refined is a local recoding already.
        KeyError: The frame lacks a column.
        ValueError: A column is neither released nor dropped, or is kept without a reason although it may name a
            person; the frame is not the one that the problem's table was read from; somebody is alone in a class; the
            point does not meet what is required; or nothing is left to release.
            As `RecountError`: the recount does not hold what was promised. As `RefinementError`: recoding="local"
            would make worse what the point holds.
    """
    made = recode(frame, problem, x, drop=drop, keep=keep, suppressed=suppressed, recoding=recoding, anyway=anyway)
    return made.counted_again(made.frame)


class Promise(NamedTuple):
    """A promised value of a measure, and its better direction."""

    measure: Objective
    words: str
    value: float
    higher: bool


def promises_of(measured: Mapping[Objective, float], asked: Iterable[Constraint]) -> list[Promise]:
    """List the promises of measures and constraints."""
    values = [Promise(one, one.full_name, int(v) if one.whole else v, one.maximize) for one, v in measured.items()]
    bounds = ((one, one.objective) for one in asked)
    return values + [Promise(own, bound(one, own.full_name), one.bound, one.at_least) for one, own in bounds]


def claims_of(promises: Iterable[Promise], recounted: Callable[[Objective], Recounted | None]) -> pd.DataFrame:
    """Return the claims of a release from promises and recounts."""
    rows = []
    for measure, words, value, higher in promises:
        again = recounted(measure)
        known = (None, None) if again is None else (shown(measure, again), is_kept(again, value, higher))
        rows.append((words, value, *known))
    return object_frame(("measure", "promised", "recounted", "holds"), rows)


def broken_promises(claims: pd.DataFrame) -> list[str]:
    """Return the broken claims in words."""
    broken = (row for row in claims.itertuples() if row.holds is False)
    return [f"{row.measure} is {row.recounted:,} where {row.promised:,} was promised" for row in broken]


@dataclass(frozen=True)
class Recoded:
    """A table that is recoded, and not counted again yet."""

    problem: AnonymizationProblem
    promises: list[Promise]  # Of the measures, and of the requirements of the choice that the point meets
    columns: pd.DataFrame  # The columns of the table, as `Release` has them
    recoding: str | None  # "local" where the point was refined, else None
    anyway: str | None  # Reason for releasing what breaks a promise
    exceptions: list[str]  # Unmet requirements, released for this reason
    _kept: Mapping[Name, Kept]
    _recoding: Recoding
    _complete: Renamed  # The rows of the original that the table was made of
    _are_few: bool  # Whether rows are recoded and counted once that agree, as many do

    @property
    def frame(self) -> Any:
        """The table, as `Release` has it."""
        rows = unrolled(self._rows) if self._are_few else self._rows
        return self._recoding.source.native(rows, self._released, in_order=not self._are_few)

    def counted(self) -> tuple[Any, Any] | None:
        """Return the distinct rows in order and their counts, or None if many."""
        if not self._are_few:
            return None
        counts = frames.fetched(self._rows.select(nw.col(COUNT)))[COUNT].to_numpy()
        return self._recoding.source.native(self._rows, self._released), counts

    @property
    def _released(self) -> list[Name]:
        return self.columns.column.tolist()

    @cached_property
    def _rows(self) -> Frame:
        """The rows under plain names, each once with its `COUNT` where many agree. A recount does not need them."""
        if not self._are_few:
            rows, distinct = self._complete.frame, self._recoding.values
            # A lazy frame may be read from a file again, and the distinct rows are held.
            return self._recoding.applied(
                unrolled(distinct) if isinstance(rows, nw.LazyFrame) else rows, self._released
            )
        aliases = [self._recoding.source.alias(name) for name in self._released]
        rows = frames.distinct_rows(self._recoding.applied(self._recoding.values, self._released), aliases)
        return frames.held(frames.in_ascending_order(rows, aliases))

    def with_columns(self, names: Sequence[Name]) -> Any:
        """Return columns of the table, released or not, in no order."""
        return self._recoding.source.native(self._recoding.applied(self._complete.frame, names), names)

    @property
    def n_suppressed(self) -> int:
        """Number of rows that are suppressed."""
        return int(self._recoding.classes.n_suppressed[0])

    def counted_again(self, written: Any) -> Release:
        """Return the release if a recount of the written table holds the promises."""
        again = self.grouped(written)
        claims, alone = self._counted(again)
        if broken := broken_promises(claims):
            raise self._refusal(broken)
        # A row that is marked may be alone, too, as may be one person's marked rows.
        persons = KAnonymity(self.problem.table.person)
        alone |= self._recoding.suppressed == "mark" and marked_value(persons, self._recoding.classes) < 2
        missed = dict.fromkeys(([_missed(self.problem.default_constraint, 1)] if alone else []) + self.exceptions)
        if alone and self.anyway is None:
            raise ValueError(f"the release misses what is required: {listed(missed)}; {ANYWAY}")
        return Release(
            written,
            claims,
            self.columns,
            uniqueness_of(again, self.columns),
            self.n_suppressed,
            self._recoding.suppressed,
            self.anyway if missed else None,
            tuple(missed),
            self.recoding,
            tuple(reaches_of(one.measure for one in self.promises)),
            tuple(name for name in self._recoding.source.names if name not in self._released),
        )

    def grouped(self, written: Any) -> Renamed:
        """Read a written table once, as distinct rows if few."""
        source, table = frames.renamed(written), self.problem.table
        if self._are_few:
            source = source.grouped()
        # The codes of the distinct tuples are in memory, so as many rows fit, too.
        fits = self._are_few or table.n_rows <= table.tuples.codes.size
        return replace(source, frame=frames.in_memory(source.frame) if fits else frames.held(source.frame))

    def _counted(self, written: Renamed) -> tuple[pd.DataFrame, bool]:
        if [*map(str, written.names)] != [*map(str, self._released)]:
            text = f"the columns are {examples(written.names)} where {examples(self._released)} were promised"
            raise self._refusal([text])
        names, sensitive = list(self.problem.table.quasi_identifiers), self.problem.table.sensitive
        measures = [one.measure for one in self.promises]
        single, joint = ([one.reads(sensitive) for one in measures if one.joint is kind] for kind in (False, True))
        linked = linked_rows(self._recoding, self.problem, self._complete, [*chain(*joint)]) if joint else None
        outside = {*chain(*single)} - {*self._released}
        own = beside = self._recount(written, [column for column in chain(*single) if column not in outside])
        self._check(own, written)
        if outside:
            # Columns that are not released are counted beside the release.
            # A measure of several columns that are not all released is counted there as a whole.
            read = [*chain(*(columns for columns in single if outside.intersection(columns)))]
            beside = self._recount(self.with_columns(list(dict.fromkeys([*names, *read]))), read)

        @cache
        def counted(measure: Objective) -> Recounted | None:
            columns = {*measure.reads(sensitive)}
            source = linked if measure.joint else beside if columns & outside else own
            if source is None or not measure.recountable or columns & {*names}:
                return None
            return measure.recount(source)

        in_rows = KAnonymity(known=self.problem.default_constraint.objective.known)
        return claims_of(self.promises, counted), counted(in_rows) == 1

    def _recount(self, frame: Any, columns: Sequence[Name]) -> Recount:
        recoding, table = self._recoding, self.problem.table
        roles = {name for name in table.tuples.domains if name in recoding.source.names}
        # All that is asked of the original may stand among the distinct rows that were released.
        inside = roles <= {*self._released}
        original = replace(recoding.source, frame=recoding.values) if inside else self._complete
        known = table.quasi_identifiers, recoding.generalization, table.sensitive
        return Recount(frame, list(table.quasi_identifiers), columns, original, *known)

    def _check(self, own: Recount, written: Renamed) -> None:
        """Refuse a table with other rows than the recoding makes of the original."""
        n_rows = self.problem.table.n_rows
        if own.n_rows != n_rows:
            raise ValueError(
                f"frame must be the one that the problem's table was read from, with {n_rows:,} complete rows, got "
                f"{own.n_rows:,}"
            )
        try:
            check_coarse(written, self._released, self._kept, self.problem.table.quasi_identifiers)
            check_rows(self._recoding, self._released, written)
        except ValueError as error:
            raise self._refusal([str(error)]) from None

    def _refusal(self, broken: Sequence[str]) -> RecountError:
        hint = ""
        if self._recoding.suppressed == "mark" and self.n_suppressed:
            hint = (
                f"; to an attacker the rows marked *, here {self.n_suppressed:,}, are one more class; "
                'suppressed = "drop" leaves them out'
            )
        return RecountError(broken, hint)


ANYWAY = "anyway='REASON', on the command line --anyway REASON, releases it nevertheless"


def recode(
    frame: Any,
    problem: AnonymizationProblem,
    x: ArrayLike | Choice,
    *,
    drop: Name | Sequence[Name] = (),
    keep: Name | Sequence[Name] | Mapping[Name, str | Kept | None] = (),
    suppressed: str = "mark",
    recoding: str | None = None,
    anyway: str | None = None,
) -> Recoded:
    """Recode a table as `release` does. The recount is of the written file."""
    one_of("suppressed", suppressed, HOW_RELEASED)
    if anyway is not None and not is_reason(anyway):
        raise ValueError(f"anyway must be a reason of at least five words, got {anyway!r}")
    check_kind(problem)
    source, kept = frames.renamed(frame), kept_of(keep)
    released = _released_columns(source, problem, names_of(drop), tuple(kept))
    source = coarsened(source, problem.table, kept)
    made, classes = decoded_point(problem, x, recoding)
    requirements: tuple[Constraint, ...] = ()
    if isinstance(x, Choice):
        requirements, x = x.requirements, x.x
    promised = _promised(problem, classes, None if recoding is None else problem.equivalence_classes(x))
    # The release may need the memory of the search.
    problem.table.free_grouper()
    source = averaged(source, problem.table, made, classes, kept)
    if lacking := unexplained(source, problem.table, kept):
        raise ValueError(lacking)
    if suppressed == "drop" and int(classes.n_suppressed[0]) == problem.table.n_rows:
        raise ValueError("x must leave a row to release, got a point that suppresses all rows")
    exceptions = _unmet(problem, classes, requirements)
    if exceptions and anyway is None:
        raise ValueError(f"the point misses what is required: {listed(exceptions)}; {ANYWAY}")
    complete = complete_rows(source, problem.table)
    aliases = [source.alias(name) for name in released]
    groups = frames.held(frames.distinct_rows(complete, aliases))
    n_groups, n_rows = frames.totals(groups, groups=nw.len(), rows=nw.col(COUNT).sum())
    return Recoded(
        problem=problem,
        promises=promises_of(promised, [one for one in requirements if not _misses(one, classes)]),
        columns=roles_table(problem.table, released, {name: own.said for name, own in kept.items()}),
        recoding=recoding,
        anyway=anyway,
        exceptions=exceptions,
        _kept=kept,
        _recoding=Recoding(source, problem.table, made, classes, suppressed, groups),
        _complete=replace(source, frame=complete),
        _are_few=n_groups <= _FEW * n_rows,
    )


def _promised(
    problem: AnonymizationProblem, classes: EquivalenceClasses, at_point: EquivalenceClasses | None
) -> dict[Objective, float]:
    """Return the value of each measure, after a refinement the worse one of point and refinement."""
    found = {measure: float(measure.evaluate(classes)[0]) for measure in problem.measured}
    if at_point is not None:
        for measure, new in found.items():
            old = float(measure.evaluate(at_point)[0])
            found[measure] = old if measure.worst_class else (min if measure.maximize else max)(old, new)
    return found


def _misses(constraint: Constraint, classes: EquivalenceClasses) -> bool:
    return not constraint.keeps(constraint.objective.evaluate(classes))[0]


def _missed(constraint: Constraint, found: float) -> str:
    least = "at least" if constraint.at_least else "at most"
    return f"{constraint.objective.full_name} is {number(found)} where {least} {number(constraint.bound)} is required"


def _unmet(problem: AnonymizationProblem, classes: EquivalenceClasses, requirements: Sequence[Constraint]) -> list[str]:
    found = [
        _missed(one, float(one.objective.evaluate(classes)[0]))
        for one in dict.fromkeys([problem.default_constraint, *problem.constraints, *requirements])
        if _misses(one, classes)
    ]
    rule, n = problem.suppression, int(classes.n_suppressed[0])
    limit = rule.limit_of(problem.table.n_rows) if isinstance(rule, Violating) else None
    if limit is not None and n > limit:
        found.append(f"{n:,} rows are suppressed where at most {limit:,} may be")
    return found


def _released_columns(
    source: Renamed, problem: AnonymizationProblem, drop: tuple[Name, ...], keep: tuple[Name, ...]
) -> list[Name]:
    table = problem.table
    for argument, names in (("drop", drop), ("keep", keep)):
        if unknown := [name for name in names if name not in source.names]:
            raise KeyError(f"{argument} must name columns of frame, got {examples(unknown)}")
    if twice := repeated([*drop, *keep]):
        raise ValueError(f"drop and keep must name a column once, got more than once: {examples(twice)}")
    if wrong := [name for name in drop if name in table.quasi_identifiers]:
        raise ValueError(f"drop must not name quasi-identifiers, got {examples(wrong)}; search without them instead")
    if table.person in keep:
        raise ValueError(f"keep must not name the person, got {table.person!r}: it would link a person's rows")
    others = [*table.sensitive, *([] if table.label is None else [table.label])]
    known = {*table.quasi_identifiers, *others, table.person, *drop, *keep}
    if unassigned := [name for name in source.names if name not in known]:
        raise ValueError(
            f"every column must have a role or be in drop or keep, got columns without: {examples(unassigned)}"
        )
    wanted = {*table.quasi_identifiers, *others, *keep} - {*drop}
    return [name for name in source.names if name in wanted]


def roles_table(table: Microdata, released: Sequence[Name], reasons: Mapping[Name, str | None]) -> pd.DataFrame:
    """Return the columns of a release with roles and reasons."""
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
    """Count the unique rows of a release by sets of its columns."""
    source = frames.renamed(frame)
    names = [source.alias(name) for name in source.names]
    count = _counter(source.frame, names)
    roles = dict(zip(names, columns.role, strict=True))
    kept = [name for name, role in roles.items() if role == "keep"]
    quasi = [name for name, role in roles.items() if "quasi-identifier" in role]
    others = {name: role for name, role in roles.items() if name not in (*kept, *quasi)}
    words = ("sensitive columns", "label")
    secret = " and ".join(word for word in words if any(word.split()[0] in role for role in others.values()))
    sets = {ALL: names, **({secret: [*others]} if others else {}), **({KEPT: kept} if kept else {})}
    if others and kept:
        sets |= {f"quasi-identifiers and {secret}": [*quasi, *others], f"quasi-identifiers and {KEPT}": quasi + kept}
    rows = [(by, *count(own)[1:]) for by, own in sets.items()]
    for name, (alias, role) in zip(columns.column, roles.items(), strict=True):
        if alias in others:
            from pymoo_anon.table.guesses import Profile

            n_distinct, unique, n_rows = count([alias])
            if Profile(name, n_rows, n_distinct, 0, (), ()).is_nearly_unique:
                rows.append((f"{role}{_ALONE}{column_name(name)}", unique, n_rows))
    return object_frame(("columns", "unique", "rows"), rows)


def said_of(columns: pd.DataFrame, uniqueness: pd.DataFrame) -> str:
    """Say how many rows are unique by which columns, the largest number first."""
    kept = columns[columns.role == "keep"]
    reasons = [
        f"{listed(map(column_name, own), _NAMED)}: {why}" for why, own in kept.groupby("reason", sort=False).column
    ]
    why = f" ({'; '.join(reasons)})" if reasons else ""
    counts: Any = uniqueness[["columns", "unique", "rows"]].itertuples(index=False, name=None)
    (_, n, n_rows), *others = counts
    if n == 0:
        said = [f"None of {n_rows:,} rows is unique by {ALL}."]
    else:
        named = sorted(((by, m) for by, m, _ in others if m), key=lambda own: -own[1])
        sets = [f"{m:,} ({percent(m / n_rows)}) by {by}{why * (by == KEPT)}" for by, m in named if _ALONE not in by]
        single = [f"{by.partition(_ALONE)[2]} ({m:,})" for by, m in named if _ALONE in by]
        whole = f"{share(n, n_rows, 'rows')} {'is' if n == 1 else 'are'} unique by {ALL}"
        said = [f"{listed([whole, *sets])}."]
        if single:
            told = listed(single, _NAMED)
            said.append(f"One value gives a row away in {told}: drop such a column, or make it coarser.")
    if len(kept):
        said.append(f"Nothing is promised of {KEPT} ({listed(map(column_name, kept.column), _NAMED)}).")
    return " ".join(said)


def _counter(frame: Frame, names: Sequence[str]) -> Callable[[Sequence[str]], list[int]]:
    schema = frame.collect_schema()
    # Missing values are one value.
    table = frame.with_columns(
        nw.when(~frames.missing(frame, one)).then(nw.col(one)).alias(one) for one in names if schema[one].is_float()
    )
    if isinstance(table, nw.LazyFrame):
        n = nw.col(COUNT)
        one = nw.when(n == 1).then(nw.lit(1)).otherwise(nw.lit(0))
        return lambda own: frames.totals(
            frames.distinct_rows(table, own), groups=nw.len(), unique=one.sum(), rows=n.sum()
        )
    rows, weights = frames.rows_of(table)
    codes = {name: frames.row_codes(rows[name]) for name in names}

    def count(own: Sequence[str]) -> list[int]:
        _, counts = frames.grouping_of([codes[name] for name in own], weights)
        return [len(counts), int((counts == 1).sum()), int(counts.sum())]

    return count
