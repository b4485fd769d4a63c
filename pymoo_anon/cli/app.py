"""The commands of `pymoo-anon`.

Help, the version and wrong options answer before anything else is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from importlib import import_module
from inspect import Parameter, Signature
from typing import Annotated, Any

import typer

from pymoo_anon import __version__
from pymoo_anon._rooms import load_late
from pymoo_anon.cli import options
from pymoo_anon.cli.console import clear_errors, loading, standard_output
from pymoo_anon.study.options import Invocation, Option, Settings, dashed, options_named

app = typer.Typer(no_args_is_help=True, add_completion=False)
hierarchy = typer.Typer(name="hierarchy", no_args_is_help=True, help="Draft, check and show hierarchies.")


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pymoo-anon {__version__}")
        raise typer.Exit


@app.callback()
def commands(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_say_version, is_eager=True)
    ] = False,
) -> None:
    """Anonymize microdata: the whole trade-off between privacy and information loss."""


def command_of(asked: type[Invocation], run: Callable[[Any], None]) -> Callable[..., None]:
    """Make a command for typer, which runs a function of the options."""

    def command(ctx: typer.Context, **values: Any) -> None:
        sources = {name: getattr(ctx.get_parameter_source(name), "name", "") for name in values}
        run(asked(**values, given=frozenset(name for name, source in sources.items() if source != "DEFAULT")))

    context = Parameter("ctx", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    own = [_parameter(one, one.metadata["option"]) for one in fields(asked) if "option" in one.metadata]
    command.__signature__ = Signature([context, *own])  # type: ignore[attr-defined]
    return command


def _parameter(own: Field[Any], known: Option) -> Parameter:
    said: dict[str, Any] = {
        # Help is markup, where brackets around a word are a style.
        "help": known.help.replace("[[", r"[\["),
        "metavar": known.metavar or "|".join(known.choices) or None,
        "show_default": known.shown or True,
        "rich_help_panel": known.panel,
        "min": known.least,
    }
    info: Any = typer.Argument(**said) if known.argument else typer.Option(f"--{dashed(own.name)}", **said)
    default = own.default
    if default is MISSING:
        default = Parameter.empty if own.default_factory is MISSING else own.default_factory()
    return Parameter(own.name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[own.type, info])


def _runner(module: str, name: str) -> Callable[[Any], None]:
    """Return a function that checks options, loads a command, and runs it."""

    def run(asked: Any) -> None:
        with clear_errors():
            asked = _checked(asked)
        with loading():
            if module in ("pick", "search"):
                # A demo needs no frames, and neither does a stored front.
                load_late("pandas")
            command = getattr(import_module(f"pymoo_anon.cli.{module}"), f"run_{name}")
        with clear_errors("; --algorithm pbgea needs the least" * (module == "search")), standard_output() as console:
            command(asked, console)

    return run


def _checked(asked: Invocation) -> Invocation:
    """Check options, those of a search together with its project file."""
    if not isinstance(asked, Settings):
        asked.check()
        return asked
    if asked.file is not None:
        from pymoo_anon.study.project import read_project

        asked = read_project(asked.file).settings(asked)
    with options_named(asked, asked.project):
        asked.check()
    return asked


for _name, _asked, _help in (
    ("risk", options.RiskRequest, "Count the rows of any table that are unique, and the columns that make them so."),
    ("init", options.InitRequest, "Write a project file with a guess for every column, and drafts of hierarchies."),
    ("search", Settings, "Find the front between privacy and loss, and write it to a folder."),
    ("pick", options.PickRequest, "Choose one point of a front, and write it to choice.json beside the front."),
    ("release", options.ReleaseRequest, "Write the table of the chosen point, with evidence and codebook."),
    ("verify", options.VerifyRequest, "Count released tables again. The exit code is 1 if something does not hold."),
    ("count", options.CountRequest, "Count rows of a released table: at least, at most, and about how many."),
    ("compare", options.CompareRequest, "Compare two releases: classes, loss, errors of counts, who is better off."),
    ("report", options.ReportRequest, "Write one HTML file about the chosen point and its release."),
    ("app", options.AppRequest, "Do all of this on a page in the browser, which this machine alone can open."),
):
    _module = {"risk": "files", "count": "files", "compare": "files", "app": "screen"}.get(_name, _name)
    app.command(_name, help=_help)(command_of(_asked, _runner(_module, _name)))
for _name, _part, _help in (
    ("draft", options.DraftRequest, "Draft a hierarchy for each column from its values, in ARX's layout."),
    ("check", options.CheckRequest, "List errors and doubts in hierarchies, and exit with 1 after an error."),
    ("show", options.ShowRequest, "Show the levels of a hierarchy: number of groups, their sizes and labels."),
):
    hierarchy.command(_name, help=_help)(command_of(_part, _runner("hierarchy", _name)))
app.add_typer(hierarchy)
