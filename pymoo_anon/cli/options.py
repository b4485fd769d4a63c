"""Options of every command but `search`, and checks before any work."""

# No `from __future__ import annotations`: the types of fields are those of options.
from dataclasses import dataclass
from pathlib import Path

from pymoo_anon.study.names import ENGINES, KINDS, MISSING, ROLES, SUPPRESSED
from pymoo_anon.study.options import (
    PROJECT,
    Invocation,
    check_meant,
    check_path,
    is_project,
    measures_in,
    named_values,
    option,
)

_MUST_HOLD, _TAKES = "What has to hold", "Which of the rest"

_TABLE_WORDS = "The table in a database or the sheet of a workbook, SCHEMA.NAME outside the usual schema."

_KINDS = "CSV, Parquet, JSON lines, Excel, SQLite; duckdb:FILE:TABLE or spark:TABLE"

_STUDY = "The project file, or the folder of its search."

#: The options that say which point to take.
WAYS = ("least", "most", "row", "knee", "weights")


@dataclass(frozen=True, kw_only=True)
class RiskRequest(Invocation):
    """Options of `pymoo-anon risk`."""

    data: str = option(
        ...,
        f"A project file, or a table: {_KINDS}. Of a workbook or database with several tables, its project file.",
        metavar="DATA|FILE.toml",
        argument=True,
    )
    column: list[str] = option(
        [],
        "A column that others may know; repeatable.",
        metavar="NAME",
        shown="the quasi-identifiers of the project, or those that init guesses",
    )


@dataclass(frozen=True, kw_only=True)
class CompareRequest(Invocation):
    """Options of `pymoo-anon compare`."""

    first: str = option(..., f"A released table: {_KINDS}.", metavar="A", argument=True)
    second: str = option(..., "Another one with the same columns.", metavar="B", argument=True)
    project: Path | None = option(
        None,
        "The project of both releases, or the folder of its search, for loss, errors of counts and people.",
        metavar="FILE.toml|FOLDER",
        shown="none",
        is_read=True,
    )
    quasi_identifier: list[str] = option(
        [],
        "A quasi-identifier; repeatable.",
        metavar="NAME",
        shown="those of the project, or those that init guesses of A",
        idle=(PROJECT,),
    )

    def check(self) -> None:
        """Raise ValueError for one table, and options without use."""
        super().check()
        if self.first == self.second:
            raise ValueError(f"A and B must be two tables, got {self.first} twice")
        if self.project is not None:
            check_meant(self, PROJECT, PROJECT)


@dataclass(frozen=True, kw_only=True)
class InitRequest(Invocation):
    """Options of `pymoo-anon init`."""

    data: str = option(
        ...,
        f"A file: {_KINDS}; postgresql://HOST/DATABASE with --table; or FILE.deid, a project of ARX.",
        metavar="DATA",
        argument=True,
    )
    table: str | None = option(None, _TABLE_WORDS, metavar="NAME")
    names: str | None = option(None, "Column names of a CSV file without a header.", metavar="NAME,NAME,...")
    encoding: str | None = option(
        None,
        "Encoding of a CSV file that is neither UTF-8 nor UTF-16, such as latin-1 or cp1252.",
        metavar="NAME",
        shown="UTF-8, or what the byte order mark says",
    )
    role: list[str] = option(
        [],
        f"The role of all columns with a name such as 'Q*', in place of the guess: {', '.join(ROLES)}; repeatable, the "
        "last one that fits counts.",
        metavar="PATTERN=ROLE",
    )
    hierarchies: Path | None = option(
        None,
        "Hierarchies that are there, in ARX's layout: NAME.csv or TABLE_hierarchy_NAME.csv makes the column NAME a "
        "quasi-identifier, whatever --role says.",
        metavar="FOLDER",
    )
    missing: str | None = option(
        None,
        "Rows without a value: refuse them, leave them out, or keep the gap as a value.",
        choices=tuple(MISSING),
        shown="keep where there are any",
    )
    engine: str = option("auto", "Engine for the table.", choices=ENGINES)
    output: Path = option(Path(), "Folder of the files.", metavar="FOLDER")
    force: bool = option(False, "Replace existing files.")


@dataclass(frozen=True, kw_only=True)
class PickRequest(Invocation):
    """Options of `pymoo-anon pick`."""

    file: Path = option(..., _STUDY, metavar="FILE.toml|FOLDER", argument=True)
    require: list[str] = option(
        [],
        'A bound such as "k>=5" or "t<=0.3", on any measure; repeatable.',
        metavar="NAME>=N|NAME<=N",
        panel=_MUST_HOLD,
    )
    risk: float | None = option(
        None,
        "Greatest chance to identify a person, 1 / k. 0.09 (EMA, Health Canada) needs k >= 12.",
        metavar="CHANCE",
        panel=_MUST_HOLD,
    )
    least: str | None = option(
        None,
        "Take the least value of a measure, for measures with lower as better.",
        metavar="NAME",
        shown="the first objective that is a loss",
        panel=_TAKES,
    )
    most: str | None = option(
        None, "Take the greatest value of a measure, for measures with higher as better.", metavar="NAME", panel=_TAKES
    )
    row: int | None = option(None, "The row of front.csv, 1 is the first.", metavar="N", panel=_TAKES)
    knee: bool = option(False, "Take the knee: beyond it every gain costs much more.", panel=_TAKES)
    weights: str | None = option(
        None,
        'Weights of measures, such as "k=1,GLM=2", for the least weighted shortfall.',
        metavar="NAME=W,...",
        panel=_TAKES,
    )
    explain: bool = option(False, "Explain the choice: levels, people, and the cost of other points.")

    def check(self) -> None:
        """Raise ValueError for options that are wrong with every front."""
        super().check()
        ways = [f"--{name}" for name in WAYS if name in self.given]
        if len(ways) > 1:
            raise ValueError(f"{' and '.join(ways)} cannot be combined: each says which point to take")
        self.weighted()

    def weighted(self) -> dict[str, float]:
        """Return the weights by name of measure."""
        given = [] if self.weights is None else measures_in(self.weights)
        parts = ["=".join(map(str.strip, part.rsplit("=", 1))) for part in given]
        return named_values("--weights", parts, float, "NAME=W,..., such as k=1,GLM=2", "measure")


@dataclass(frozen=True, kw_only=True)
class ReleaseRequest(Invocation):
    """Options of `pymoo-anon release`."""

    file: Path = option(..., _STUDY, metavar="FILE.toml|FOLDER", argument=True)
    row: int | None = option(None, "A row of the front, from 1, in place of the choice of pick.", metavar="N", least=1)
    audience: str | None = option(
        None,
        "The release of an [[audience]] of the project, which holds together with those of the audiences before.",
        metavar="NAME",
    )
    suppressed: str | None = option(
        None,
        "Mark suppressed rows with * in their quasi-identifiers, or drop them.",
        choices=tuple(SUPPRESSED),
        shown="as the project file says",
    )
    local: bool = option(
        False, "Give every class of rows levels of its own: no cell becomes coarser, and k and l are kept."
    )
    output: str | None = option(
        None,
        "The released table: a file, or with --table a database.",
        metavar="FILE.csv|FILE.parquet|FILE.xlsx|DATABASE",
        shown="as the project file says",
    )
    table: str | None = option(None, "The new table in the database of --output.", metavar="NAME")
    lower_bound: int | None = option(
        None,
        "After a local search, bound the distance from the least loss. More passes give a better bound.",
        metavar="PASSES",
        least=1,
    )
    anyway: str | None = option(
        None,
        "Release despite k = 1 or an unmet requirement, for a reason of at least five words.",
        metavar="REASON",
        shown="refuse them",
    )
    force: bool = option(False, "Replace a release of the same name.")

    def check(self) -> None:
        """Raise ValueError for two ways to take a point."""
        super().check()
        if self.audience is not None and self.row is not None:
            raise ValueError("--row and --audience cannot be combined: each says which point to take")


@dataclass(frozen=True, kw_only=True)
class VerifyRequest(Invocation):
    """Options of `pymoo-anon verify`."""

    file: str = option(
        ...,
        "A project file or the folder of its search, for all releases; or any table:"
        f" {_KINDS}; postgresql://HOST/DATABASE with --table.",
        metavar="FILE.toml|FOLDER|TABLE",
        argument=True,
    )
    table: str | None = option(None, f"TABLE: {_TABLE_WORDS}", metavar="NAME", idle=(PROJECT,))
    quasi_identifier: list[str] = option([], "TABLE: a quasi-identifier; repeatable.", metavar="NAME", idle=(PROJECT,))
    sensitive: list[str] = option([], "TABLE: a sensitive column; repeatable.", metavar="NAME", idle=(PROJECT,))
    require: list[str] = option(
        [],
        'TABLE: a bound, such as "k>=5" or "l:diagnosis>=3"; repeatable. Names are those of search '
        "--objectives that need no hierarchy.",
        metavar="NAME>=N|NAME<=N",
        idle=(PROJECT,),
    )
    original: str | None = option(
        None,
        "TABLE: the original table, for measures that compare with it.",
        metavar="TABLE",
        shown="none",
        idle=(PROJECT,),
    )
    engine: str = option("auto", "TABLE: its engine.", choices=ENGINES, idle=(PROJECT,))

    @property
    def of_study(self) -> bool:
        """Whether the releases of a search are counted, and not any table."""
        return is_project(self.file) or Path(self.file).is_dir()

    def check(self) -> None:
        """Raise ValueError for a table without quasi-identifiers, and for options without use."""
        super().check()
        if self.of_study:
            check_meant(self, PROJECT, PROJECT)
            check_path(Path(self.file), folder=True)
        elif not self.quasi_identifier:
            # A table or release is called as its project, unless the project says otherwise.
            path = Path(self.file)
            own = path.with_name(f"{path.stem.split('-release')[0]}.toml")
            known = own if own.is_file() else "FILE.toml"
            raise ValueError(
                "--quasi-identifier must name at least one column, got none; a project file in place of the table "
                f"knows them, such as verify {known}"
            )


@dataclass(frozen=True, kw_only=True)
class ReportRequest(Invocation):
    """Options of `pymoo-anon report`."""

    file: Path = option(..., _STUDY, metavar="FILE.toml|FOLDER", argument=True)
    audience: str | None = option(None, "The release of an [[audience]] of the project.", metavar="NAME")
    external: bool = option(False, "Report for outsiders, from the released rows and the codebook alone.")
    threshold: float = option(0.09, "Risk shown for comparison. pick --risk requires one.", metavar="RISK")
    population: str | None = option(
        None,
        f"A table of the population with the same quasi-identifiers, for the journalist risk: {_KINDS}.",
        metavar="DATA",
    )
    population_size: int | None = option(
        None,
        "Size of the population, for an estimate of its unique persons.",
        metavar="N",
        least=1,
    )
    output: Path | None = option(
        None,
        "The report.",
        metavar="FILE.html",
        shown="beside the release: NAME.report.html, with --external NAME.external.html",
    )
    force: bool = option(False, "Replace a report of the same name.")


@dataclass(frozen=True, kw_only=True)
class CountRequest(Invocation):
    """Options of `pymoo-anon count`."""

    file: Path = option(
        ..., "The released table: CSV, Parquet, JSON lines, Excel or SQLite.", metavar="TABLE", argument=True
    )
    where: list[str] = option(
        [],
        "A condition that all counted rows meet, such as sex=Female, age=30..39 or 'city=Bonn|Ulm'; repeatable.",
        metavar="NAME=VALUE",
    )
    of: str | None = option(None, "A column of numbers to be summed and averaged as well.", metavar="NAME")
    codebook: Path | None = option(
        None, "The codebook of the release.", metavar="FILE.csv", shown="beside the table: TABLE.codebook.csv"
    )


@dataclass(frozen=True, kw_only=True)
class DraftRequest(Invocation):
    """Options of `pymoo-anon hierarchy draft`."""

    data: Path = option(..., "The table, or a project file.", metavar="DATA|FILE.toml", argument=True)
    column: list[str] = option(
        [],
        "A column; repeatable.",
        metavar="NAME",
        shown="all of them; of a project all quasi-identifiers",
    )
    output: Path = option(
        Path("hierarchies"),
        "Folder of the hierarchies NAME.csv. Those of a project go beside it.",
        metavar="FOLDER",
    )
    kind: str = option(
        "auto",
        f"Kind of the values: {'; '.join(f'{name}: {words}' for name, words in KINDS.items())}.",
        choices=tuple(KINDS),
    )
    force: bool = option(False, "Replace existing files.")


@dataclass(frozen=True, kw_only=True)
class CheckRequest(Invocation):
    """Options of `pymoo-anon hierarchy check`."""

    path: Path = option(..., "A hierarchy, or a folder of them.", metavar="FILE|FOLDER", argument=True)
    data: Path | None = option(
        None,
        "A table that has to fit, or a project file. NAME.csv is of the column NAME, unless the project says another.",
        metavar="DATA|FILE.toml",
        is_read=True,
    )


@dataclass(frozen=True, kw_only=True)
class ShowRequest(Invocation):
    """Options of `pymoo-anon hierarchy show`."""

    path: Path = option(..., "A hierarchy.", metavar="FILE", argument=True)


@dataclass(frozen=True, kw_only=True)
class AppRequest(Invocation):
    """Options of `pymoo-anon app`."""

    path: Path = option(
        Path(),
        "A folder, outside which no file is opened, or a project file.",
        metavar="FOLDER|FILE.toml",
        argument=True,
    )
    no_browser: bool = option(False, "Only print the address.")
