"""The options of `pymoo-anon pick`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pymoo_anon.cli.console import clear_errors, said_warnings
from pymoo_anon.cli.interrupt import modules_are_loaded
from pymoo_anon.cli.wishes import CHOICE, Wish

_HOLDS, _TAKES = "What has to hold", "Which of the rest"

_File = Annotated[
    Path | None,
    typer.Argument(metavar="[FILE.toml]", help="The project file, after a search.", show_default=False),
]
_Require = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME>=N|NAME<=N",
        help='A bound such as "k>=5" or "t<=0.3"; repeatable. It may be on what was no objective.',
        rich_help_panel=_HOLDS,
    ),
]
_Risk = Annotated[
    float | None,
    typer.Option(
        metavar="CHANCE",
        help="The greatest chance to find a person, 1 / k: 0.09, as EMA and Health Canada ask, needs k >= 12.",
        show_default=False,
        rich_help_panel=_HOLDS,
    ),
]
_Least = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The least of a measure of which lower is better.",
        show_default="the first objective that is a loss",
        rich_help_panel=_TAKES,
    ),
]
_Most = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The greatest of a measure of which higher is better.",
        show_default=False,
        rich_help_panel=_TAKES,
    ),
]
_Row = Annotated[
    int | None,
    typer.Option(metavar="N", help="The row of front.csv, 1 is the first.", show_default=False, rich_help_panel=_TAKES),
]
_Knee = Annotated[
    bool,
    typer.Option("--knee", help="Where each step on costs most for what it gains.", rich_help_panel=_TAKES),
]
_Weights = Annotated[
    str | None,
    typer.Option(
        metavar="NAME=W,...",
        help='How much measures matter, such as "k=1,GLM=2": the least weighted shortfall.',
        show_default=False,
        rich_help_panel=_TAKES,
    ),
]
_Evidence = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.json",
        help="Show the choice of a release and its neighbours from the evidence alone.",
        show_default=False,
    ),
]


def pick(
    file: _File = None,
    require: _Require = None,
    risk: _Risk = None,
    least: _Least = None,
    most: _Most = None,
    row: _Row = None,
    knee: _Knee = False,
    weights: _Weights = None,
    evidence: _Evidence = None,
) -> None:
    """Choose one point of a front, and say what it means."""
    wish = Wish(file, require or [], risk, least, most, row, knee, weights, evidence)
    with clear_errors():
        wish.check()
    with said_warnings():
        from pymoo_anon.cli.picking import pick_and_write

    modules_are_loaded()
    pick_and_write(wish)


pick.__doc__ = f"{pick.__doc__} The choice is kept beside the front, in {CHOICE}."
