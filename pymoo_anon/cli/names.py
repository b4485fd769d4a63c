"""What the options of the command line name, known without loading any of it."""

from __future__ import annotations

import re
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple


class ExitCode(IntEnum):
    """How a command ends, for whoever calls it."""

    #: It did what was asked.
    DONE = 0
    #: A check was made, and something does not hold.
    DOES_NOT_HOLD = 1
    #: An option, a file or a table is wrong, or something cannot be written; one sentence says what.
    BAD_USE = 2
    #: Ctrl-C, or a request to terminate: what was found until then is written, and nothing is written by half.
    INTERRUPTED = 130


#: The measures that --objectives names. Help tells them from their source: to load them takes a second.
MEASURES = sorted(
    (
        short
        for file in (Path(__file__).parents[1] / "objectives").rglob("*.py")
        for short in re.findall(r'^    short = "(.+)"$', file.read_text(encoding="utf-8"), re.MULTILINE)
    ),
    key=str.casefold,
)

#: The tables that --data names besides a file.
TABLES = ("census", "adult")


class Method(NamedTuple):
    """One of the algorithms that --algorithm names.

    Attributes:
        words: What messages call it.
        proves: Whether it ends by itself, with the complete front.
    """

    words: str
    proves: bool = False


#: What --algorithm names. auto stands for one of the others.
ALGORITHMS = {
    "auto": Method("the algorithm that serves"),
    "pls": Method("Pareto local search"),
    "pbgea": Method("PBG-EA"),
    "nsga2": Method("NSGA-II"),
    "bnb": Method("branch and bound", proves=True),
    "exhaustive": Method("exhaustive search", proves=True),
}

#: The files that a search writes. The last one is moved into place last, and says which front it belongs to.
FILES = ("front.csv", "front.png", "run.json")

#: The file with the choice, beside the front.
CHOICE = "choice.json"

#: What was released of a front, beside it.
RELEASES = "releases.json"

#: What a search has evaluated, in its output folder for as long as it has not ended.
JOURNAL = "search.journal"
#: The kinds of values that `hierarchy draft --kind` names, and what becomes of each.
KINDS = {
    "auto": "the kind that fits",
    "numbers": "intervals",
    "dates": "months, quarters, years, decades",
    "ordered": "neighbours of intervals, months, grades, sizes",
    "codes": "redaction from the right",
    "categories": "groups of similar weight",
}
