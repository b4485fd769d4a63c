"""The commands of `pymoo-anon`.

Help, the version and wrong options answer before anything else is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from importlib import import_module
from pathlib import Path
from typing import Any, get_args, get_origin

import click
from click.core import ParameterSource
from rich_click import RichArgument, RichCommand, RichGroup, RichOption, RichOptionPanel, rich_config

from pymoo_anon import __version__
from pymoo_anon._rooms import load_late
from pymoo_anon.cli import options
from pymoo_anon.cli.console import clear_errors, loading, standard_output
from pymoo_anon.study.options import Invocation, Option, Settings, dashed, options_named

#: The heading of arguments in help.
_INPUT = "Input"


class _Whole(click.types.IntParamType):
    name = "whole number"


class _Number(click.types.FloatParamType):
    name = "number"


_TYPES: dict[Any, Any] = {Path: click.Path(path_type=Path), int: _Whole(), float: _Number()}


class _Commands(RichGroup):
    """Commands in the order in which a user meets them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=_Commands, no_args_is_help=True)
@click.version_option(__version__, message="pymoo-anon %(version)s", help="Print the version and exit.")
@rich_config({"text_markup": None})
def app() -> None:
    """Anonymize microdata: the whole trade-off between privacy and information loss."""


hierarchy = _Commands(name="hierarchy", no_args_is_help=True, help="Draft, check and show hierarchies.")


def command_of(asked: type[Invocation], run: Callable[[Any], None], name: str = "", help: str = "") -> click.Command:
    """Make a command that runs a function of the options."""

    def command(**values: Any) -> None:
        context = click.get_current_context()
        given = frozenset(one for one in values if context.get_parameter_source(one) is not ParameterSource.DEFAULT)
        lists = {one: list(own) for one, own in values.items() if isinstance(own, tuple)}
        run(asked(**values | lists, given=given))

    params = [_parameter(own, own.metadata["option"]) for own in fields(asked) if "option" in own.metadata]
    panel = RichOptionPanel(_INPUT, column_types=["required", "opt_long", "help"])
    return RichCommand(name=name, callback=command, params=params, help=help, panels=[panel])


def _parameter(own: Field[Any], known: Option) -> click.Parameter:
    kind: Any = next(iter(get_args(own.type)), own.type)
    said: dict[str, Any] = {"type": _TYPES.get(kind, kind), "help": known.help}
    if own.default is not MISSING:
        said["default"] = own.default
    if known.argument:
        required = own.default is MISSING
        metavar = known.metavar if required else f"[{known.metavar}]"
        return RichArgument([own.name], metavar=metavar, required=required, panel=_INPUT, **said)
    metavar = "|".join(known.choices) or known.metavar
    if known.least is not None:
        metavar = f"{metavar}>={known.least}"
    return RichOption(
        [f"--{dashed(own.name)}"],
        metavar=metavar,
        is_flag=kind is bool,
        multiple=get_origin(own.type) is list,
        show_default=known.shown or kind is not bool,
        panel=known.panel,
        **said,
    )


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
    app.add_command(command_of(_asked, _runner(_module, _name), _name, _help))
for _name, _part, _help in (
    ("draft", options.DraftRequest, "Draft a hierarchy for each column from its values, in ARX's layout."),
    ("check", options.CheckRequest, "List errors and doubts in hierarchies, and exit with 1 after an error."),
    ("show", options.ShowRequest, "Show the levels of a hierarchy: number of groups, their sizes and labels."),
):
    hierarchy.add_command(command_of(_part, _runner("hierarchy", _name), _name, _help))
app.add_command(hierarchy)
