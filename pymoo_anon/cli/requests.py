"""Options of every command but `search`, and checks before any work."""

# No `from __future__ import annotations`: the types of fields are those of options.
from dataclasses import dataclass
from pathlib import Path

from pymoo_anon.cli import declaring
from pymoo_anon.cli.declaring import PROJECT, Invocation, option
from pymoo_anon.cli.names import ENGINES, KINDS

_HOLDS, _TAKES = "What has to hold", "Which of the rest"

# The options that say which point to take.
_WAYS = ("least", "most", "row", "knee", "weights")


@dataclass(frozen=True, kw_only=True)
class InitRequest(Invocation):
    """Options of `pymoo-anon init`."""

    data: str = option(
        ...,
        "A CSV or Parquet file, duckdb:FILE:TABLE or spark:TABLE; or FILE.deid, a project of ARX.",
        metavar="DATA",
        argument=True,
    )
    names: str | None = option(
        None, "The columns of a CSV file whose first row does not name them.", metavar="NAME,NAME,..."
    )
    role: list[str] = option(
        [],
        "The role of all columns of a name such as 'Q*', in place of the guess; may be given more than once, the last "
        "one that fits counts.",
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
        choices=("raise", "drop", "keep"),
        shown="keep where there are any",
    )
    engine: str = option("auto", "What reads the table.", choices=ENGINES)
    output: Path = option(Path(), "Where the files go.", metavar="FOLDER")
    force: bool = option(False, "Replace files that are there.")


@dataclass(frozen=True, kw_only=True)
class Wish(Invocation):
    """Options of `pymoo-anon pick`."""

    file: Path = option(..., "The project file, after a search.", metavar="FILE.toml", argument=True)
    require: list[str] = option(
        [],
        'A bound such as "k>=5" or "t<=0.3", on any measure; repeatable.',
        metavar="NAME>=N|NAME<=N",
        panel=_HOLDS,
    )
    risk: float | None = option(
        None,
        "The greatest chance to find a person, 1 / k: 0.09, as EMA and Health Canada ask, needs k >= 12.",
        metavar="CHANCE",
        panel=_HOLDS,
    )
    least: str | None = option(
        None,
        "The least of a measure of which lower is better.",
        metavar="NAME",
        shown="the first objective that is a loss",
        panel=_TAKES,
    )
    most: str | None = option(
        None, "The greatest of a measure of which higher is better.", metavar="NAME", panel=_TAKES
    )
    row: int | None = option(None, "The row of front.csv, 1 is the first.", metavar="N", panel=_TAKES)
    knee: bool = option(False, "The point from which every further gain costs most.", panel=_TAKES)
    weights: str | None = option(
        None,
        'How much measures matter, such as "k=1,GLM=2": the least weighted shortfall.',
        metavar="NAME=W,...",
        panel=_TAKES,
    )
    explain: bool = option(False, "Say what the choice means: levels, people, what others would cost.")

    def check(self) -> None:
        """Raise ValueError for options that are wrong with every front."""
        declaring.check_values(self)
        ways = [f"--{name}" for name in _WAYS if name in self.given]
        if len(ways) > 1:
            raise ValueError(f"{' and '.join(ways)} cannot be combined: each says which point to take")
        if self.weights is not None:
            self.weighted()

    def weighted(self) -> dict[str, float]:
        """Return the weights by name of measure."""
        assert self.weights is not None
        found: dict[str, float] = {}
        for part in declaring.measures_in(self.weights):
            # The last sign is the weight's: the name of a column may hold one, too.
            name, sign, weight = part.rpartition("=")
            if not sign or not name.strip():
                raise ValueError(f"--weights must be NAME=W,..., such as k=1,GLM=2, got {part!r}")
            if name.strip() in found:
                raise ValueError(f"--weights must name each measure once, got {name.strip()!r} twice")
            found[name.strip()] = declaring.numeral("--weights", weight.strip())
        return found


@dataclass(frozen=True, kw_only=True)
class ReleaseRequest(Invocation):
    """Options of `pymoo-anon release`."""

    file: Path = option(..., "The project file that init wrote.", metavar="FILE.toml", argument=True)
    row: int | None = option(
        None, "A row of the front, from 1, instead of the one that pick chose.", metavar="N", least=1
    )
    suppressed: str | None = option(
        None,
        "Mark suppressed rows with * in their quasi-identifiers, or drop them.",
        choices=("mark", "drop"),
        shown="as the project file says",
        in_file=True,
    )
    local: bool = option(
        False, "Give every class of rows levels of its own: no cell becomes coarser, and k and l are kept."
    )
    output: Path | None = option(
        None, "The released table.", metavar="FILE.csv|FILE.parquet", shown="as the project file says"
    )
    lower_bound: int | None = option(
        None,
        "After a local search, prove how far the loss is from the least possible, in so many passes.",
        metavar="PASSES",
        least=1,
    )
    anyway: str | None = option(
        None,
        "Release a table with k = 1, or a point that misses a requirement, for a reason of at least five words.",
        metavar="REASON",
        shown="refuse them",
    )
    force: bool = option(False, "Replace a release of the same name.")


@dataclass(frozen=True, kw_only=True)
class VerifyRequest(Invocation):
    """Options of `pymoo-anon verify`."""

    file: str = option(
        ...,
        "A project file, for all its releases; or any table: a CSV or Parquet file, duckdb:FILE:TABLE or spark:TABLE.",
        metavar="FILE.toml|TABLE",
        argument=True,
    )
    quasi_identifiers: list[str] = option(
        [], "TABLE: a quasi-identifier; repeatable.", metavar="NAME", flag="--quasi-identifier", idle=(PROJECT,)
    )
    sensitive: list[str] = option([], "TABLE: a sensitive column; repeatable.", metavar="NAME", idle=(PROJECT,))
    require: list[str] = option(
        [],
        'TABLE: what has to hold, such as "k>=5" or "l:diagnosis>=3"; repeatable. Names are those of search '
        "--objectives that need no hierarchy.",
        metavar="NAME>=N|NAME<=N",
        idle=(PROJECT,),
    )
    original: str | None = option(
        None,
        "TABLE: what was released, for measures that compare with it.",
        metavar="TABLE",
        shown="none",
        idle=(PROJECT,),
    )
    engine: str = option("auto", "TABLE: what reads it.", choices=ENGINES, idle=(PROJECT,))

    def check(self) -> None:
        """Raise ValueError for a table without quasi-identifiers, and for options without use."""
        declaring.check_values(self)
        if declaring.is_project(self.file):
            declaring.check_meant(self, PROJECT, PROJECT)
        elif not self.quasi_identifiers:
            raise ValueError("--quasi-identifier must name at least one column, got none")


@dataclass(frozen=True, kw_only=True)
class ReportRequest(Invocation):
    """Options of `pymoo-anon report`."""

    file: Path = option(..., "The project file that init wrote.", metavar="FILE.toml", argument=True)
    external: bool = option(False, "For people outside: what the released rows and the codebook tell, no more.")
    threshold: float = option(
        0.09, "A risk to be found that is shown for comparison; pick --risk requires one.", metavar="RISK"
    )
    population: str | None = option(
        None,
        "A table of the population with the same quasi-identifiers, for the journalist risk: a CSV or Parquet file, "
        "duckdb:FILE:TABLE or spark:TABLE.",
        metavar="DATA",
    )
    population_size: int | None = option(
        None,
        "How many persons the rows were drawn from, for an estimate of who is unique among them.",
        metavar="N",
        least=1,
        in_file=True,
    )
    output: Path | None = option(
        None,
        "The report.",
        metavar="FILE.html",
        shown="beside the release: NAME.report.html, with --external NAME.external.html",
    )
    force: bool = option(False, "Replace a report of the same name.")


@dataclass(frozen=True, kw_only=True)
class DraftRequest(Invocation):
    """Options of `pymoo-anon hierarchy draft`."""

    data: Path = option(
        ..., "The table, or the project file that says how it is read.", metavar="DATA.csv|FILE.toml", argument=True
    )
    column: list[str] = option(
        [],
        "A column to draft a hierarchy for; repeatable.",
        metavar="NAME",
        shown="all of them; of a project all quasi-identifiers",
    )
    output: Path = option(
        Path("hierarchies"),
        "Where the hierarchy of the column NAME goes, as NAME.csv, as init names it; of a project beside it.",
        metavar="FOLDER",
    )
    kind: str = option(
        "auto",
        f"What the values are, and become: {'; '.join(f'{name}: {words}' for name, words in KINDS.items())}.",
        choices=tuple(KINDS),
    )
    force: bool = option(False, "Replace files that are there.")


@dataclass(frozen=True, kw_only=True)
class CheckRequest(Invocation):
    """Options of `pymoo-anon hierarchy check`."""

    path: Path = option(..., "A hierarchy, or a folder of them.", metavar="FILE|FOLDER", argument=True)
    data: Path | None = option(None, "A table that has to fit: NAME.csv is of its column NAME.", metavar="DATA.csv")


@dataclass(frozen=True, kw_only=True)
class ShowRequest(Invocation):
    """Options of `pymoo-anon hierarchy show`."""

    path: Path = option(..., "A hierarchy.", metavar="FILE", argument=True)


def check_path(path: Path, folder: bool = False) -> None:
    """Raise ValueError unless the path is a file, or an allowed folder."""
    if not (path.is_file() or (folder and path.is_dir())):
        raise ValueError(f"{path}: no such file{' or folder' * folder}")
