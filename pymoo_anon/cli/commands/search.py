"""The options of `pymoo-anon search`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pymoo_anon.cli.console import clear_errors, said_warnings
from pymoo_anon.cli.interrupt import modules_are_loaded
from pymoo_anon.cli.names import ALGORITHMS, FILES, MEASURES
from pymoo_anon.cli.settings import Settings, of_project
from pymoo_anon.cli.sources import ENGINES

_TABLE, _GOALS, _SEARCH, _OUTPUT = "Table", "Objectives", "Search", "Output"

_File = Annotated[
    Path | None,
    typer.Argument(
        metavar="[FILE.toml]",
        help="The project file that pymoo-anon init wrote; it says what the table is, and options win over it.",
        show_default=False,
    ),
]
_Data = Annotated[
    str,
    typer.Option(
        metavar="census|adult|FILE.csv",
        help="Invented rows like Adult's, UCI's Adult, or a table of your own: a CSV or Parquet file, "
        "duckdb:FILE:TABLE or spark:TABLE.",
        rich_help_panel=_TABLE,
    ),
]
_Engine = Annotated[
    str,
    typer.Option(
        metavar="|".join(ENGINES),
        help="What reads a table of your own; auto is DuckDB for a large file where it is installed, else pandas.",
        rich_help_panel=_TABLE,
    ),
]
_Rows = Annotated[int, typer.Option(metavar="N", min=1, help="Number of rows of the census.", rich_help_panel=_TABLE)]
_Hierarchies = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="FILE.csv: NAME.csv in the folder, or TABLE_hierarchy_NAME.csv, is the hierarchy of the "
        "quasi-identifier NAME, in ARX's layout.",
        rich_help_panel=_TABLE,
    ),
]
_Sensitive = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="FILE.csv: a sensitive column; repeatable.", rich_help_panel=_TABLE),
]
_Label = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="FILE.csv: the column with class labels.", rich_help_panel=_TABLE),
]
_Missing = Annotated[
    str,
    typer.Option(
        metavar="raise|drop|keep",
        help="FILE.csv: refuse rows with an empty field, drop them, or keep it as a value.",
        rich_help_panel=_TABLE,
    ),
]
_Objectives = Annotated[
    str | None,
    typer.Option(
        metavar="NAME,NAME,...",
        help=f"Among {', '.join(MEASURES)}. l:NAME reads another column than the sensitive one, CM:NAME than "
        "the label.",
        show_default="k,l,GLM or, without a sensitive column, k,GLM",
        rich_help_panel=_GOALS,
    ),
]
_Require = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME>=N|NAME<=N",
        help='A bound that every generalization keeps, such as "k>=5" or "t<=0.3"; repeatable.',
        rich_help_panel=_GOALS,
    ),
]
_Suppression = Annotated[
    str,
    typer.Option(
        metavar="SHARE|N|below:K|violating:SHARE|N",
        help="At most this share (0.01) or number (301) of the rows, smallest classes first; below:K all classes "
        "of fewer than K rows; violating:SHARE|N the classes that break a bound of --require, ARX's rule.",
        rich_help_panel=_GOALS,
    ),
]
_Algorithm = Annotated[
    str,
    typer.Option(
        metavar="|".join(ALGORITHMS),
        help="bnb (branch and bound) proves that its front is complete, exhaustive visits every node, pls (Pareto "
        "local search) finds most of it soon; auto takes a proof where it is known to be quick, else pls.",
        rich_help_panel=_SEARCH,
    ),
]
_Generations = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=1,
        help="Number of generations; pls evaluates up to this number times --pop-size nodes.",
        rich_help_panel=_SEARCH,
    ),
]
_PopSize = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=2,
        help="Number of nodes in the population; pls proposes as many at once.",
        rich_help_panel=_SEARCH,
    ),
]
_Epsilon = Annotated[
    str | None,
    typer.Option(
        metavar="SIDE,...",
        help="pbgea, pls: sides of the archive's boxes, one or one per objective; larger sides, fewer members.",
        show_default="pbgea: 1, less for what is between 0 and 1; pls: none",
        rich_help_panel=_SEARCH,
    ),
]
_TimeLimit = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="Stop after so long, with the best found so far.",
        show_default="none",
        rich_help_panel=_SEARCH,
    ),
]
_Seed = Annotated[
    int,
    typer.Option(metavar="N", min=0, help="The same seed gives the same front.", rich_help_panel=_SEARCH),
]
_Output = Annotated[
    Path,
    typer.Option(
        metavar="FOLDER",
        help=f"Where {', '.join(FILES)} go; files of these names are replaced.",
        rich_help_panel=_OUTPUT,
    ),
]
_Resume = Annotated[
    bool,
    typer.Option("--resume", help="Go on where a search of the same was killed.", rich_help_panel=_OUTPUT),
]
_Verbose = Annotated[
    bool,
    typer.Option("--verbose", help="Show pymoo's table instead of a progress bar.", rich_help_panel=_OUTPUT),
]


def search(
    ctx: typer.Context,
    file: _File = None,
    data: _Data = "census",
    engine: _Engine = "auto",
    rows: _Rows = 30_162,
    hierarchies: _Hierarchies = None,
    sensitive: _Sensitive = None,
    label: _Label = None,
    missing: _Missing = "raise",
    objectives: _Objectives = None,
    require: _Require = None,
    suppression: _Suppression = "0.01",
    algorithm: _Algorithm = "auto",
    generations: _Generations = 100,
    pop_size: _PopSize = 25,
    epsilon: _Epsilon = None,
    time_limit: _TimeLimit = None,
    seed: _Seed = 1,
    output: _Output = Path("front"),
    resume: _Resume = False,
    verbose: _Verbose = False,
) -> None:
    """Search a table for the front between privacy and loss, write it to a folder, and print it."""
    given = {name for name in ctx.params if getattr(ctx.get_parameter_source(name), "name", "") != "DEFAULT"}
    options = {**ctx.params, "sensitive": sensitive or [], "require": require or []}
    options.pop("file")
    with clear_errors():
        settings = _settings(file, options, given)
    with said_warnings():
        from pymoo_anon.cli.run import run

    modules_are_loaded()
    run(settings)


def _settings(file: Path | None, options: dict[str, Any], given: set[str]) -> Settings:
    """What is asked for: options that were given win over the project file.

    Raises:
        ValueError: A setting cannot be, or the file is no project.
        OSError: The file cannot be read.
    """
    if file is None:
        settings = Settings(**options, given=given)
    else:
        from pymoo_anon.cli.project import read_project

        settings = of_project(read_project(file), options, given)
    settings.check()
    return settings
