"""Options of `search`, and checks before anything is loaded."""

# No `from __future__ import annotations`: the types of fields are those of options.
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pymoo_anon._messages import examples
from pymoo_anon.study import options
from pymoo_anon.study.names import ALGORITHMS, FILES, MEASURES, TABLES
from pymoo_anon.study.options import LOCAL, PROJECT, Invocation, option

_TABLE, _OUTPUT = "Demo", "Output"
_GOALS = {"panel": "Objectives", "in_file": True}
_SEARCH = {"panel": "Search", "in_file": True}

_PROOFS = tuple(name for name, method in ALGORITHMS.items() if method.proves)


@dataclass(frozen=True, kw_only=True)
class Settings(Invocation):
    """Options of `pymoo-anon search`, and its project."""

    file: Path | None = option(
        None,
        "The project file of pymoo-anon init. Options win over it.",
        metavar="[FILE.toml]",
        argument=True,
        recorded=False,
    )
    demo: str = option(
        "census",
        "Table without a project: invented rows like Adult's, or UCI's Adult.",
        choices=TABLES,
        panel=_TABLE,
        idle=(PROJECT,),
    )
    rows: int = option(
        30_162, "Number of rows of the census.", metavar="N", least=1, panel=_TABLE, idle=("adult", PROJECT)
    )
    objectives: str | None = option(
        None,
        f"Among {', '.join(MEASURES)}. l is the least over all sensitive columns, l:NAME that of one column.",
        metavar="NAME,NAME,...",
        shown="k,l,GLM; without a sensitive column k,GLM",
        read=options.read_measures,
        **_GOALS,
    )
    require: list[str] = option(
        [],
        'A bound on every point of the front, such as "k>=5" or "t<=0.3"; repeatable.',
        metavar="NAME>=N|NAME<=N",
        read=options.read_bounds,
        **_GOALS,
    )
    local: bool = option(
        False,
        "Local recoding: every class of rows has levels of its own, which loses a fraction, and nothing is suppressed. "
        "At equal k the mean risk is greater: ask for l or t, too.",
        key="recoding",
        read=options.read_recoding,
        **_GOALS,
    )
    suppression: str = option(
        "0.01",
        "At most this share (0.01) or number (301) of the rows, smallest classes first; below:K all classes of fewer "
        "than K rows; violating:SHARE|N the classes that break a bound of --require, ARX's rule.",
        metavar="SHARE|N|below:K|violating:SHARE|N",
        read=options.read_suppression,
        idle=(LOCAL,),
        **_GOALS,
    )
    level: list[str] = option(
        [],
        "Least and greatest level of a quasi-identifier; repeatable.",
        metavar="NAME=LEAST..GREATEST",
        panel=_GOALS["panel"],
    )
    weight: list[str] = option(
        [],
        "Weight of a quasi-identifier in GLM and NWP, by default 1; repeatable.",
        metavar="NAME=W",
        panel=_GOALS["panel"],
    )
    algorithm: str = option(
        "auto",
        "bnb (branch and bound) proves that its front is complete, exhaustive visits every node, pls (Pareto local "
        "search) finds most of it soon; auto takes a proof where it is known to be quick, else pls. With --local "
        "it takes sweep, a recoding for every k on a log scale.",
        choices=tuple(ALGORITHMS),
        **_SEARCH,
    )
    generations: int = option(
        100,
        "Number of generations; pls evaluates up to this number times --pop-size nodes.",
        metavar="N",
        least=1,
        idle=(*_PROOFS, "sweep"),
        **_SEARCH,
    )
    pop_size: int = option(
        25,
        "Number of nodes in the population; pls proposes as many at once.",
        metavar="N",
        least=2,
        idle=(*_PROOFS, "sweep"),
        **_SEARCH,
    )
    epsilon: str | None = option(
        None,
        "pbgea, pls: sides of the archive's boxes, one or one per objective; larger sides, fewer members.",
        metavar="SIDE,...",
        shown="pbgea: 1, less for what is between 0 and 1; pls: none",
        read=options.read_sides,
        idle=("nsga2", "sweep", LOCAL, *_PROOFS),
        **_SEARCH,
    )
    time_limit: float | None = option(
        None,
        "Time limit of the search, which then returns its best points.",
        metavar="SECONDS",
        shown="none",
        read=options.read_seconds,
        **_SEARCH,
    )
    seed: int = option(1, "The same seed gives the same front.", metavar="N", least=0, **_SEARCH)
    output: Path = option(
        Path("front"),
        f"Where {', '.join(FILES)} go; files of these names are replaced.",
        metavar="FOLDER",
        panel=_OUTPUT,
        in_file=True,
    )
    resume: bool = option(False, "Continue the same search after it was interrupted.", panel=_OUTPUT, recorded=False)
    wide: bool = option(False, "Print all points and the level of every column.", panel=_OUTPUT, recorded=False)
    verbose: bool = option(False, "Show pymoo's table, and say why this algorithm is taken.", panel=_OUTPUT)
    #: The project that is searched, or None.
    project: Any = None

    def check(self) -> None:
        """Raise ValueError for options that are wrong with every table."""
        super().check()
        options.check_meant(self, self.algorithm, f"--algorithm {self.algorithm}")
        levels, _ = levels_of(self.level), weights_of(self.weight)
        if self.local:
            options.check_meant(self, LOCAL, "--local")
            if levels:
                raise ValueError(
                    f"level cannot be combined with local recodings, where every class has levels of its own, got "
                    f"{examples(list(levels))}"
                )
        if self.algorithm != "auto" and ALGORITHMS[self.algorithm].local not in (None, self.local):
            fitting = [name for name, own in ALGORITHMS.items() if own.local in (None, self.local)]
            kind = "local recodings" if self.local else "levels of whole columns, as without --local"
            raise ValueError(f"algorithm must be one for {kind}: {', '.join(fitting)}; got {self.algorithm!r}")
        if self.project is None:
            options.check_meant(self, self.demo, f"--demo {self.demo}")
        if self.epsilon is not None:
            self.sides()

    def sides(self) -> list[float] | None:
        """Return the sides of the archive's boxes, or None."""
        parts = [] if self.epsilon is None else options.parts_of(self.epsilon)
        return [options.numeral("epsilon", part) for part in parts] or None


def levels_of(texts: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return the least and greatest level by quasi-identifier.

    >>> levels_of(["age=0..2", "a=b=1..1"])
    {'age': (0, 2), 'a=b': (1, 1)}
    """

    def read(text: str) -> tuple[int, int]:
        least, _, greatest = text.partition("..")
        return int(least), int(greatest)

    return _by_name("level", texts, read, "NAME=LEAST..GREATEST, such as age=0..2")


def weights_of(texts: Sequence[str]) -> dict[str, float]:
    """Return the weight by quasi-identifier."""
    return _by_name("weight", texts, float, "NAME=W, such as age=2")


def _by_name(option: str, texts: Sequence[str], read: Callable[[str], Any], kind: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        try:
            own = read(value)
        except ValueError:
            raise ValueError(f"{option} must be {kind}, got {text!r}") from None
        if not name or name in found:
            raise ValueError(f"{option} must name each quasi-identifier once, as {kind}, got {text!r}")
        found[name] = own
    return found
