"""The command line: search a table for the trade-off between privacy and loss, and write the front down."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pandas as pd
import typer
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.core.algorithm import Algorithm
from pymoo.core.result import Result
from pymoo.optimize import minimize
from pymoo.util.display.multi import NumberOfNondominatedSolutions
from pymoo.util.display.output import Output
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from pymoo_anon.algorithms.branch_and_bound import BranchAndBound
from pymoo_anon.algorithms.exhaustive import ExhaustiveSearch
from pymoo_anon.algorithms.pbgea import PBGEA
from pymoo_anon.cli import report
from pymoo_anon.cli.options import OBJECTIVES, chosen, constraint, number, objective
from pymoo_anon.datasets import fetch_adult, make_census
from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.constraint import Constraint
from pymoo_anon.operators.crossover import LevelCrossover
from pymoo_anon.operators.mutation import SingleStepMutation
from pymoo_anon.operators.sampling import LatticeSampling
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.table import AtMost, Below
from pymoo_anon.table.hierarchy import Hierarchy
from pymoo_anon.table.microdata import Microdata


class Choice(NamedTuple):
    """One of several things that an option names.

    Attributes:
        build: What makes it.
        idle: Names of the options that mean nothing with it, and so must not be given.
    """

    build: Callable[..., Any]
    idle: tuple[str, ...] = ()


_OWN = ("hierarchies", "sensitive", "label", "missing")

#: The tables that --data names. They are made from the number of rows and the short names of the objectives.
DATA = {
    "census": Choice(lambda rows, objectives: make_census(rows), _OWN),
    "adult": Choice(
        # As in Dewri et al. 2010, salary-class is no quasi-identifier where it is the label.
        lambda rows, objectives: fetch_adult(label="salary-class" if "CM" in objectives else None),
        (*_OWN, "rows"),
    ),
}


def _front_output() -> Output:
    # pymoo's own output of NSGA-II would compute the exact front first, by an exhaustive search of the lattice.
    output = Output()
    output.columns.append(NumberOfNondominatedSolutions())
    return output


#: The algorithms that --algorithm names. They are made from the population size and the sides of the boxes.
ALGORITHMS = {
    "pbgea": Choice(PBGEA),
    "nsga2": Choice(
        lambda pop_size, epsilon: NSGA2(
            pop_size,
            sampling=LatticeSampling(),
            crossover=LevelCrossover(),
            mutation=SingleStepMutation(),
            output=_front_output(),
        ),
        ("epsilon",),
    ),
    "bnb": Choice(lambda pop_size, epsilon: BranchAndBound(), ("generations", "pop_size", "epsilon")),
    "exhaustive": Choice(lambda pop_size, epsilon: ExhaustiveSearch(), ("generations", "pop_size", "epsilon")),
}

_TABLE, _GOALS, _SEARCH, _OUTPUT = "Table", "Objectives", "Search", "Output"

app = typer.Typer(no_args_is_help=True, add_completion=False)


@app.callback()
def main() -> None:
    """Anonymize microdata: the whole trade-off between privacy and information loss."""


@app.command()
def search(
    ctx: typer.Context,
    data: Annotated[
        str,
        typer.Option(
            metavar="census|adult|FILE.csv",
            help="Invented rows like Adult's, UCI's Adult, or a file of your own.",
            rich_help_panel=_TABLE,
        ),
    ] = "census",
    rows: Annotated[
        int, typer.Option(metavar="N", min=1, help="Number of rows of the census.", rich_help_panel=_TABLE)
    ] = 30_162,
    hierarchies: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="FILE.csv: NAME.csv in the folder is the hierarchy of the quasi-identifier NAME, in ARX's layout.",
            rich_help_panel=_TABLE,
        ),
    ] = None,
    sensitive: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="FILE.csv: a sensitive column; repeatable.", rich_help_panel=_TABLE),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="FILE.csv: the column with class labels.", rich_help_panel=_TABLE),
    ] = None,
    missing: Annotated[
        str,
        typer.Option(
            metavar="raise|drop|keep",
            help="FILE.csv: refuse rows with an empty field, drop them, or keep it as a value.",
            rich_help_panel=_TABLE,
        ),
    ] = "raise",
    objectives: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,NAME,...",
            help=f"Among {', '.join(OBJECTIVES)}. l:NAME reads another column than the sensitive one, CM:NAME than "
            "the label.",
            show_default="k,l,GLM or, without a sensitive column, k,GLM",
            rich_help_panel=_GOALS,
        ),
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME>=N|NAME<=N",
            help='A bound that every generalization keeps, such as "k>=5" or "t<=0.3"; repeatable.',
            rich_help_panel=_GOALS,
        ),
    ] = None,
    suppression: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE|N",
            help="Suppress at most this share (0.01) or number (301) of the rows.",
            show_default="0.01",
            rich_help_panel=_GOALS,
        ),
    ] = None,
    suppress_below: Annotated[
        int | None,
        typer.Option(metavar="K", help="Instead suppress all classes of fewer than K rows.", rich_help_panel=_GOALS),
    ] = None,
    algorithm: Annotated[
        str,
        typer.Option(
            metavar="|".join(ALGORITHMS),
            help="bnb (branch and bound) proves that its front is complete, exhaustive visits every node.",
            rich_help_panel=_SEARCH,
        ),
    ] = "pbgea",
    generations: Annotated[
        int, typer.Option(metavar="N", min=1, help="Number of generations.", rich_help_panel=_SEARCH)
    ] = 100,
    pop_size: Annotated[
        int, typer.Option(metavar="N", min=2, help="Number of nodes in the population.", rich_help_panel=_SEARCH)
    ] = 25,
    epsilon: Annotated[
        str | None,
        typer.Option(
            metavar="SIDE,...",
            help="pbgea: sides of the archive's boxes, one or one per objective; larger sides, fewer members.",
            show_default="1, less for what is between 0 and 1",
            rich_help_panel=_SEARCH,
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(metavar="N", min=0, help="The same seed gives the same front.", rich_help_panel=_SEARCH),
    ] = 1,
    output: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER",
            file_okay=False,
            writable=True,
            help=f"Where {', '.join(report.FILES)} go; files of these names are replaced.",
            rich_help_panel=_OUTPUT,
        ),
    ] = Path("front"),
    verbose: Annotated[
        bool,
        typer.Option("--verbose", help="Show pymoo's table instead of a progress bar.", rich_help_panel=_OUTPUT),
    ] = False,
) -> None:
    """Search a table for the front between privacy and loss, print it, and write it to a folder."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
    with _clear_errors():
        method = chosen("algorithm", algorithm, ALGORITHMS)
        _check_meant(ctx, algorithm, method.idle)
        sides = None if epsilon is None else [number("epsilon", part) for part in epsilon.split(",")]
        names = [] if objectives is None else [part.strip() for part in objectives.split(",")]
        if data in DATA:
            _check_meant(ctx, data, DATA[data].idle)
            table = DATA[data].build(rows, names)
        else:
            _check_meant(ctx, data, ("rows",))
            table = _read_csv(data, hierarchies, sensitive or (), label, missing)
        names = names or ["k", *(f"l:{column}" for column in table.sensitive), "GLM"]
        goals = [objective("objectives", name, table) for name in names]
        constraints = [constraint(text, table) for text in require or ()]
        problem = _problem(table, goals, constraints, suppression, suppress_below)
        console.print(
            f"Table: {table.n_rows:,} rows, {table.n_distinct:,} distinct tuples of {problem.n_var} "
            f"quasi-identifiers, a lattice of {problem.n_nodes:,} nodes."
        )

        def run(problem: LatticeProblem, **kwargs: Any) -> tuple[Result, float]:
            start = time.perf_counter()
            termination = None if "generations" in method.idle else ("n_gen", generations)
            res = minimize(problem, method.build(pop_size, sides), termination, seed=seed, **kwargs)
            return res, time.perf_counter() - start

        _, compile_seconds = run(_tiny_problem(problem))
        console.print(
            f"Compiled or loaded in {compile_seconds:.1f} s; what is compiled stays on disk for the next run."
        )
        if verbose:
            res, search_seconds = run(problem, verbose=True)
        else:
            with _progress() as callback:
                res, search_seconds = run(problem, callback=callback)
        if res.X is None:
            proven = getattr(res.algorithm, "certified", problem.n_unique == problem.n_nodes)
            among = "the lattice" if proven else f"the {problem.n_unique:,} that were visited"
            raise ValueError(
                f"no generalization of {among} keeps {' and '.join(require or ())}; ask for less, or allow more "
                "suppression"
            )
        console.print(report.front_table(problem, report.sorted_front(problem, res)))
        record = report.run_record(
            problem, res, ctx.params, compile_seconds=compile_seconds, search_seconds=search_seconds
        )
        paths = report.write_report(problem, res, record, output)
    console.print(
        f"Members of the front: {record['n_front']:,}, found in {search_seconds:.1f} s from {problem.n_unique:,} "
        f"distinct nodes ({problem.n_unique / problem.n_nodes:.1%} of the lattice)"
        + (", proven to be complete." if getattr(res.algorithm, "certified", False) else ".")
    )
    console.print("Written: " + ", ".join(map(str, paths)), markup=False)


def _check_meant(ctx: typer.Context, choice: str, idle: Sequence[str]) -> None:
    """Refuse options that would be passed over in silence."""
    for name in idle:
        source = ctx.get_parameter_source(name)
        if source is not None and source.name != "DEFAULT":
            raise ValueError(f"--{name.replace('_', '-')} means nothing with {choice}")


def _read_csv(
    data: str, hierarchies: Path | None, sensitive: Sequence[str], label: str | None, missing: str
) -> Microdata:
    if not Path(data).is_file():
        raise ValueError(f"data must be {', '.join(DATA)} or a CSV file, got {data!r}, which is no file")
    files = [] if hierarchies is None else sorted(hierarchies.glob("*.csv"))
    if not files:
        raise ValueError(
            f"hierarchies must be a folder with a file NAME.csv for each quasi-identifier of {data}, "
            f"got {'none' if hierarchies is None else f'{str(hierarchies)!r}, which has no such file'}"
        )
    try:
        # As text, so that 02139 stays what it is; only an empty field is missing, NA may be a value.
        frame = pd.read_csv(data, dtype=str, keep_default_na=False, na_values=[""])
    except ValueError as error:
        raise ValueError(f"{data} must be a CSV file in UTF-8 with a header: {error}") from None
    quasi_identifiers = {path.stem: Hierarchy.from_csv(path) for path in files}
    return Microdata.from_frame(frame, quasi_identifiers, sensitive, label, missing)


def _problem(
    table: Microdata,
    objectives: Sequence[Objective],
    constraints: Sequence[Constraint],
    suppression: str | None,
    suppress_below: int | None,
) -> LatticeProblem:
    if suppression is None:
        suppression = "0.01" if suppress_below is None else "0"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rule = AtMost(number("suppression", suppression)) if suppress_below is None else Below(suppress_below)
        problem = LatticeProblem(table, objectives, rule, constraints)
    for warning in caught:
        typer.echo(f"Warning: {warning.message}", err=True)
    return problem


def _tiny_problem(problem: LatticeProblem) -> LatticeProblem:
    """The same objectives on four rows, so that a search of it compiles what a search of the problem needs."""
    columns = [measure.column for measure in problem.measured if measure.column is not None]
    # Longer than any of the columns, so none of them.
    first, second = "a" + "".join(columns), "b" + "".join(columns)
    rows = {first: [0, 0, 1, 1], second: [0, 1, 0, 1], **{column: [0, 1, 1, 0] for column in columns}}
    hierarchies = dict.fromkeys([first, second], Hierarchy.flat([0, 1]))
    table = Microdata.from_frame(pd.DataFrame(rows), hierarchies, tuple(dict.fromkeys(columns)))
    return LatticeProblem(table, problem.objectives, constraints=problem.constraints)


@contextmanager
def _progress() -> Iterator[Callable[[Algorithm], None]]:
    """A progress bar on a terminal, nothing elsewhere; what it gives is pymoo's callback."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("Searching", total=1.0)

        def notify(algorithm: Algorithm) -> None:
            found = f"Searching: {len(algorithm.opt):,} found in {algorithm.problem.n_unique:,} nodes"
            progress.update(task, completed=algorithm.termination.perc, description=found)

        yield notify


@contextmanager
def _clear_errors() -> Iterator[None]:
    """Bad input is one sentence and exit code 2, Ctrl-C is exit code 130."""
    try:
        yield
    except (ValueError, KeyError, TypeError, OSError) as error:
        message = str(error.args[0]) if isinstance(error, KeyError) else str(error)
        if isinstance(error, OSError) and error.filename is not None:
            message = f"{error.filename}: {error.strerror}"
        typer.echo(f"Error: {' '.join(message.split())}", err=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        typer.echo("Interrupted: nothing was written.", err=True)
        raise typer.Exit(130) from None
