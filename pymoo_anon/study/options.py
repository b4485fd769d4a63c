"""Options, declared once for the command line, the project file and the record."""

# No `from __future__ import annotations`: the types of fields are those of options.
import csv
import io
import re
import shlex
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, get_args

from pymoo_anon._messages import examples, repeated
from pymoo_anon.study.names import ALGORITHMS, FILES, MEASURES, RECODINGS, STORED, TABLES

#: Converts a value of a project file; its ValueError says which values are allowed.
Reader: TypeAlias = Callable[[Any], Any]


class Option(NamedTuple):
    """Properties of an option besides the name, type and default of its field."""

    help: str  # Text of help
    metavar: str | None = None  # Its value in help, or None for its choices
    panel: str | None = None  # The heading under which help lists it, or None
    shown: str | None = None  # Default in words, or None
    least: int | None = None  # Least whole number allowed, or None
    choices: tuple[str, ...] = ()  # Allowed values, or nothing if others are allowed, too
    # Its reader in a project file, or None for one by type, choices and least number.
    read: Reader | None = None
    in_file: bool = False  # Whether the project file may have it
    key: str | None = None  # Its name in the project file, or None for that of its field
    idle: tuple[str, ...] = ()  # Choices of other options that exclude it
    recorded: bool = True  # Whether the record of a run holds it
    argument: bool = False  # Whether it is an argument without a flag
    is_read: bool = False  # Whether it names a file that must be there, as a path without a flag does


@dataclass(frozen=True, kw_only=True)
class Invocation:
    """Values of the options of a command: its fields by `option`."""

    given: Collection[str] = frozenset()  # Names of the options that were not left out

    def check(self) -> None:
        """Raise ValueError for numbers and choices out of range, and for missing files."""
        for name, known in options_of(self).items():
            value = getattr(self, name)
            if isinstance(value, Path) and (known.argument or known.is_read):
                check_path(value, folder="FOLDER" in str(known.metavar))
            elif not isinstance(value, bool | None) and (known.choices or isinstance(value, int | float)):
                try:
                    reader_of(type(self), name)(value)
                except ValueError as error:
                    raise ValueError(f"--{dashed(name)} must be {error}, got {value!r}") from None


#: Excludes the options that a project file answers.
PROJECT = "a project file"

#: Excludes the options about recoding whole columns.
LOCAL = "local recodings"


def option(default: Any, help: str, **known: Any) -> Any:
    """Make a field that is an option, required if the default is ...."""
    made: dict[str, Any] = {"metadata": {"option": Option(help, **known)}}
    if isinstance(default, list):
        made["default_factory"] = default.copy
    elif default is not ...:
        made["default"] = default
    return field(**made)


def options_of(asked: type[Invocation] | Invocation) -> dict[str, Option]:
    """Return the options of a command by field name."""
    return {own.name: own.metadata["option"] for own in fields(asked) if "option" in own.metadata}


def check_path(path: Path, folder: bool = False) -> None:
    """Raise ValueError unless the path is a file, or an allowed folder."""
    if not (path.is_file() or (folder and path.is_dir())):
        hint = "; pymoo-anon init writes a project file" if is_project(path) else " or folder" * folder
        raise ValueError(f"{path}: no such file{hint}")


def is_project(path: str | Path) -> bool:
    """Return whether a name is that of a project file."""
    return str(path).lower().endswith(".toml")


def dashed(name: str) -> str:
    """Return the name of an option as the user types it."""
    return name.replace("_", "-")


def command(*parts: str | Path, **options: Any) -> str:
    """Return a command as one types it, without empty options.

    >>> command("pick", "my.toml", require=["k>=5", "l>=2"], row=None, knee=True)
    "pymoo-anon pick my.toml --require 'k>=5' --require 'l>=2' --knee"
    """
    typed = ["pymoo-anon", *map(str, parts)]
    for name, value in options.items():
        for own in value if isinstance(value, list) else [value]:
            typed += [f"--{dashed(name)}", *([] if own is True else [str(own)])] if own else []
    return shlex.join(typed)


def check_meant(asked: Invocation, choice: str, called: str) -> None:
    """Raise ValueError for options that a choice would ignore."""
    for name in idle_with(type(asked), choice):
        if name in asked.given:
            raise ValueError(f"--{dashed(name)} cannot be combined with {called}")


@contextmanager
def options_named(asked: Invocation, project: Any = None) -> Iterator[None]:
    """Name an option in errors as typed, or by its place in a file."""
    try:
        yield
    except ValueError as error:
        name = re.split(r"[ :]", str(error), maxsplit=1)[0]
        if name not in options_of(asked):
            raise
        in_file = project is not None and project.search.get(name) == getattr(asked, name)
        where = f"{project.path}: [search] {name}" if in_file else f"--{dashed(name)}"
        raise ValueError(f"{where}{str(error)[len(name) :]}") from None


def idle_with(asked: type[Invocation], choice: str) -> list[str]:
    """Return the names of the options that a choice would ignore."""
    return [name for name, known in options_of(asked).items() if choice in known.idle]


def excluded_by(chosen: Mapping[str, Any]) -> set[str]:
    """Return the names of the options of a search that its chosen ones exclude."""
    choices = {"local": LOCAL, "algorithm": chosen.get("algorithm")}
    return {idle for name, choice in choices.items() if name in chosen for idle in idle_with(Settings, str(choice))}


def file_keys(asked: type[Invocation]) -> dict[str, Reader]:
    """Return the readers of a command's options in a project file, by key."""
    return {
        known.key or dashed(name): reader_of(asked, name) for name, known in options_of(asked).items() if known.in_file
    }


def record_of(asked: Invocation) -> dict[str, Any]:
    """Return the options for the record of a run."""
    return {name: getattr(asked, name) for name, known in options_of(asked).items() if known.recorded}


def reader_of(asked: type[Invocation], name: str) -> Reader:
    """Return the reader of an option's value in a project file."""
    known = options_of(asked)[name]
    if known.read is not None:
        return known.read
    if known.choices:
        return read_one_of(known.choices)
    kind: Any = next(own.type for own in fields(asked) if own.name == name)
    least = 0 if known.least is None else known.least
    readers = {int: read_whole(least), float: read_number, bool: read_truth, str: read_text, Path: read_path}
    return next(read for one, read in readers.items() if one in (kind, *get_args(kind)))


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _are_two(value: Any, holds: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(holds, value))


def _reader(words: str, holds: Callable[[Any], bool], made: Reader) -> Reader:

    def read(value: Any) -> Any:
        if not holds(value):
            raise ValueError(words)
        return made(value)

    return read


read_text = _reader("text", lambda value: isinstance(value, str) and value != "" and "\0" not in value, str)
read_truth = _reader("true or false", lambda value: isinstance(value, bool), bool)
read_number = _reader("a number", _is_finite, float)
read_positive = _reader("a positive number", lambda value: _is_finite(value) and value > 0, float)
read_seconds = _reader("a positive number of seconds", lambda value: _is_finite(value) and value > 0, float)
read_texts = _reader('a list of texts such as ["a", "b"]', _are_texts, tuple[str, ...])
read_levels = _reader(
    "the least and the greatest level, such as [0, 2]",
    lambda value: _are_two(value, lambda one: type(one) is int),
    tuple[int, int],
)
read_ends = _reader(
    "the least and the greatest number, such as [0, 90.5]",
    lambda value: _are_two(value, _is_finite),
    tuple[float, float],
)


def read_whole(least: int) -> Callable[[Any], int]:
    """Return a reader of whole numbers from a least one."""
    return _reader(f"a whole number from {least}", lambda value: type(value) is int and value >= least, int)


def read_one_of(choices: Sequence[str]) -> Callable[[Any], str]:
    """Return a reader of one of several texts."""
    return _reader(f"one of {', '.join(choices)}", lambda value: value in choices, str)


def read_path(value: Any) -> Path:
    """Read a path."""
    return Path(read_text(value))


def read_names(value: Any) -> tuple[str, ...]:
    """Read the names of all columns of a table."""
    names: tuple[str, ...] = read_texts(value)
    if not names or not all(names) or repeated(names):
        raise ValueError("a list of the columns' names, each once")
    return names


def read_encoding(value: Any) -> str:
    """Read the name of an encoding of text."""
    try:
        "".encode(read_text(value))
    except (LookupError, ValueError):
        raise ValueError('an encoding of text that Python knows, such as "latin-1" or "cp1252"') from None
    return str(value)


def read_recoding(value: Any) -> bool:
    """Read a kind of recoding, and return whether it is local."""
    return read_one_of([*RECODINGS])(value) == "local"


def read_measures(value: Any) -> str:
    """Read names of measures from one text or a list."""
    return read_text(value) if isinstance(value, str) else joined(read_texts(value))


def read_bounds(value: Any) -> list[str]:
    """Read bounds from one text or a list."""
    bounds = [read_text(value)] if isinstance(value, str) else list(read_texts(value))
    try:
        for one in bounds:
            bound_parts(one)
    except ValueError:
        raise ValueError(f'bounds such as "k>=5" or "t<=0.3", not {one!r}') from None
    return bounds


def read_suppression(value: Any) -> str:
    """Read a rule of suppression from a number or a text."""
    if _is_finite(value):
        return str(value)
    if not isinstance(value, str):
        raise ValueError('a share (0.01), a number of rows (301) or a text such as "violating:0.01"')
    return value


def read_sides(value: Any) -> str:
    """Read sides of boxes from a number, a list of numbers or a text."""
    listed = value if isinstance(value, list) else [value]
    if isinstance(value, str):
        return value
    if not listed or not all(map(_is_finite, listed)):
        raise ValueError("a number, or a list of one for each objective")
    return ",".join(map(str, listed))


def joined(parts: Sequence[str]) -> str:
    """Join names by commas, with quotes around names that hold a comma.

    >>> joined(["k", "l:a,b"])
    'k,"l:a,b"'
    """
    file = io.StringIO(newline="")
    csv.writer(file, lineterminator="").writerow(parts)
    return file.getvalue()


def parts_of(names: str) -> list[str]:
    """Split a text at commas outside quotes into at least one name.

    >>> parts_of('k, "l:a,b",GLM')
    ['k', 'l:a,b', 'GLM']
    """
    rows = csv.reader(io.StringIO(names, newline=""), skipinitialspace=True)
    try:
        return [part.strip() for row in rows for part in row] or [""]
    except csv.Error as error:
        raise ValueError(f"names must be separated by commas, as in a CSV file: {error}") from None


def bound_parts(require: str) -> tuple[str, str, str]:
    """Split a bound into measure, sign and limit.

    >>> bound_parts("l:a>=b >= 5")
    ('l:a>=b', '>=', '5')
    """
    # The last sign is the bound's: the name of a column may hold one, too.
    sign = max((">=", "<="), key=require.rfind)
    name, _, limit = require.rpartition(sign)
    try:
        float(limit)
    except ValueError:
        raise ValueError(f"require must be a bound in quotes, such as 'k>=5' or 't<=0.3', got {require!r}") from None
    return name.strip(), sign, limit.strip()


def choice_of(name: str, value: str, choices: Mapping[str, Any]) -> Any:
    """Return the choice that a value names."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
    return choices[value]


def numeral(name: str, value: str) -> float:
    """Return the number that a text spells, whole numbers as int."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(value)
    raise ValueError(f"{name} must be a number, got {value!r}")


def usual(sensitive: Collection[str]) -> list[str]:
    """Return the default objectives of a search."""
    return ["k", *(["l"] if sensitive else []), "GLM"]


def measures_in(names: str) -> list[str]:
    """Split a text into names of measures, at commas outside brackets.

    >>> measures_in('k[age,zip|sex],"l:a,b",GLM')
    ['k[age,zip|sex]', 'l:a,b', 'GLM']
    """
    # To load the measures takes a second.
    from pymoo_anon.problems.arguments import rejoined

    return rejoined(parts_of(names))


def bounds_of_adversary(given: Any) -> list[str]:
    """Return the bounds of a table [[adversary]].

    >>> bounds_of_adversary({"known": ["zip", "age"], "require": ["k>=5", "l:diagnosis >= 3"]})
    ['k[age,zip]>=5', 'l[age,zip]:diagnosis>=3']
    """
    if not isinstance(given, Mapping) or set(given) not in ({"known", "require"}, {"any_of", "require"}):
        raise ValueError('a table of known = ["age", "zip"] or any_of = 3, and require = ["k>=5"]')
    known = given.get("any_of", given.get("known"))
    lists = [known] if isinstance(known, list) and not any(isinstance(one, list) for one in known) else known
    is_number = isinstance(known, int) and not isinstance(known, bool) and known > 0
    if is_number != ("any_of" in given) or not (is_number or (lists and all(one and _are_texts(one) for one in lists))):
        raise ValueError('known = ["age", "zip"], a list of such lists, or any_of = 3, a positive whole number')
    from pymoo_anon.objectives.knowledge import any_of
    from pymoo_anon.problems.arguments import measure_in

    bounds = []
    for text in read_bounds(given["require"]):
        name, sign, limit = bound_parts(text)
        measure = measure_in(name)
        if measure.known is not None:
            raise ValueError("bounds without brackets: known says what is known")
        bounds.append(f"{measure._replace(known=any_of(known) if is_number else lists)}{sign}{limit}")
    return bounds


# --- options of a search ----------------------------------------------------------------------------------------------


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
        metavar="FILE.toml",
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
        read=read_measures,
        **_GOALS,
    )
    require: list[str] = option(
        [],
        'A bound on every point of the front, such as "k>=5" or "t<=0.3"; repeatable.',
        metavar="NAME>=N|NAME<=N",
        read=read_bounds,
        **_GOALS,
    )
    local: bool = option(
        False,
        "Local recoding: every class of rows has levels of its own, which loses a fraction, and nothing is suppressed. "
        "At equal k the mean risk is greater: ask for l or t, too.",
        key="recoding",
        read=read_recoding,
        **_GOALS,
    )
    suppression: str = option(
        "0.01",
        "At most this share (0.01) or number (301) of the rows, smallest classes first; below:K all classes of fewer "
        "than K rows; violating:SHARE|N the classes that break a bound of --require, ARX's rule.",
        metavar="SHARE|N|below:K|violating:SHARE|N",
        read=read_suppression,
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
        "it takes sweep, a recoding for every k on a log scale. With --generations, --pop-size or --epsilon it takes "
        "pbgea, or nsga2 for local recodings.",
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
        read=read_sides,
        idle=("nsga2", "sweep", LOCAL, *_PROOFS),
        **_SEARCH,
    )
    time_limit: float | None = option(
        None,
        "Time limit of the search, which then returns its best points.",
        metavar="SECONDS",
        shown="none",
        read=read_seconds,
        **_SEARCH,
    )
    seed: int = option(1, "The same seed gives the same front.", metavar="N", least=0, **_SEARCH)
    output: Path = option(
        Path("front"),
        f"Where {', '.join(FILES)} go, and {STORED} of a project; files of these names are replaced.",
        metavar="FOLDER",
        shown="front; of a project as its file says, or NAME-front beside it",
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
        check_meant(self, self.algorithm, f"--algorithm {self.algorithm}")
        levels, _ = levels_of(self.level), weights_of(self.weight)
        if self.local:
            check_meant(self, LOCAL, "--local")
            if levels:
                raise ValueError(
                    f"level cannot be combined with local recodings, where every class has levels of its own, got "
                    f"{examples(list(levels))}"
                )
        if self.algorithm not in self.fitting:
            kind = "local recodings" if self.local else "levels of whole columns, as without --local"
            raise ValueError(f"algorithm must be one for {kind}: {', '.join(self.fitting)}; got {self.algorithm!r}")
        if self.project is None:
            check_meant(self, self.demo, f"--demo {self.demo}")
        if self.epsilon is not None:
            self.sides()

    @property
    def fitting(self) -> list[str]:
        """The algorithms for its kind of recoding."""
        return [name for name, own in ALGORITHMS.items() if own.local in (None, self.local)]

    def sides(self) -> list[float] | None:
        """Return the sides of the archive's boxes, or None."""
        # Few searches name them.
        from pymoo_anon.fronts.archive import checked_epsilon

        given = [] if self.epsilon is None else [numeral("epsilon", part) for part in parts_of(self.epsilon)]
        return [*map(float, checked_epsilon(given))] if given else None


def levels_of(texts: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return the least and greatest level by quasi-identifier.

    >>> levels_of(["age=0..2", "a=b=1..1"])
    {'age': (0, 2), 'a=b': (1, 1)}
    """

    def read(text: str) -> tuple[int, int]:
        least, _, greatest = text.partition("..")
        return int(least), int(greatest)

    return named_values("level", texts, read, "NAME=LEAST..GREATEST, such as age=0..2")


def weights_of(texts: Sequence[str]) -> dict[str, float]:
    """Return the weight by quasi-identifier."""
    return named_values("weight", texts, float, "NAME=W, such as age=2")


def named_values(
    option: str, texts: Sequence[str], read: Callable[[str], Any], kind: str, thing: str = "quasi-identifier"
) -> dict[str, Any]:
    """Return the values of texts NAME=VALUE by name."""
    found: dict[str, Any] = {}
    for text in texts:
        # The last sign is the value's: the name of a column may hold one, too.
        name, _, value = text.rpartition("=")
        try:
            own = read(value)
        except ValueError:
            raise ValueError(f"{option} must be {kind}, got {text!r}") from None
        if not name or name in found:
            raise ValueError(f"{option} must name each {thing} once, as {kind}, got {text!r}")
        found[name] = own
    return found
