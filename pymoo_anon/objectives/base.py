"""What every objective has: names, a direction, bounds, a value for each generalization, a recount for a release.

The measures of privacy that are of adversaries who know some columns alone share `Knowing`.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from math import comb
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np

from pymoo_anon._messages import examples, listed, plain, positive_whole
from pymoo_anon.engine.arrays import Ints, Values
from pymoo_anon.engine.classes import EquivalenceClasses, agreeing
from pymoo_anon.engine.compiled import njit
from pymoo_anon.engine.tuples import DistinctTuples, ValueCounts
from pymoo_anon.objectives.bounds.base import Bounding, ClassGains
from pymoo_anon.objectives.constraint import Boundable
from pymoo_anon.objectives.recount import Counted, Recount
from pymoo_anon.table.domain_values import Name
from pymoo_anon.table.microdata import Microdata

T = TypeVar("T", bound="Knowing")

# What a subclass may say anew of a measure without another value.
_WORDS = {"name", "short", "role", "words", "step", "bounding", "check", "value_range", "spacing"}


class Objective(Boundable):
    """A number for each generalization, from the equivalence classes that it makes.

    An objective of one's own is a subclass with a `name`, a direction, a `step` where values are small, and one method:
    `evaluate_one`, a plain Python function of the arrays of one generalization's classes, or `evaluate`, which takes
    many generalizations at once and may be compiled. Objectives hold nothing of a table, so that one object serves many
    problems; two of one class with equal attributes are the same.

    Attributes:
        name: Short name, as it heads a column of a front ("k").
        short: Name on the command line ("entropy-l"), of letters, digits, `-` and `_`, or None. A class that says it in
            its own body is registered under it, and built there with the column of its role, or with nothing.
        role: Role of the column that is read where none is named: "sensitive", "label" or "person"; None reads none.
        words: What a picture calls it ("general loss"), or None for the short name.
        maximize: Whether higher is better. Values have their natural sign everywhere but in pymoo's F.
        whole: Whether all values are whole numbers.
        column: The sensitive, label or person column that is read, or None.
        every: Whether all sensitive columns are read where none is named.
        step: The difference that is worth telling apart: the side of a box where an archive is given none.
        worst_class: Whether the value is that of the worst class that is kept. `of_classes` then says what each class
            is worth, and a constraint speaks of single classes.
        known: What adversaries know, where the value is of several who each know some quasi-identifiers, else None.
        bounding: What a proof may conclude from it, a family of `objectives.bounds`, or None.
    """

    #: The measures that have a short name, by it.
    registered: ClassVar[dict[str, type[Objective]]] = {}

    name: str
    short: str | None = None
    role: str | None = None
    maximize: bool
    words: str | None = None
    whole: bool = False
    column: Hashable | None = None
    every: bool = False
    step: float = 1.0
    worst_class: bool = False
    known: Any = None
    bounding: type[Bounding] | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Register a class that says its short name; the same class again, as in a cell that is rerun, replaces it."""
        super().__init_subclass__(**kwargs)
        short = vars(cls).get("short")
        if short is None:
            return
        if not isinstance(short, str) or not re.fullmatch(r"[\w-]+", short):
            raise ValueError(f"short of {cls.__name__} must be of letters, digits, - and _, got {short!r}")
        if cls.role not in (None, "sensitive", "label", "person"):
            raise ValueError(f"role of {cls.__name__} must be sensitive, label, person or None, got {cls.role!r}")
        there = Objective.registered.get(short)
        if there is not None and (there.__module__, there.__qualname__) != (cls.__module__, cls.__qualname__):
            raise ValueError(
                f"short of {cls.__name__} must be a name that no other measure has, got {short!r}, which "
                f"{there.__module__}.{there.__qualname__} has"
            )
        Objective.registered[short] = cls

    @property
    def full_name(self) -> str:
        """The name with the column that is read: "l of diagnosis"."""
        return self.name if self.column is None else f"{self.name} of {self.column}"

    def reads(self, sensitive: Sequence[Hashable]) -> tuple[Hashable, ...]:
        """Return the names of the columns that are read.

        Args:
            sensitive: Names of the sensitive columns of the table.

        Raises:
            ValueError: All sensitive columns are read, and there are none.
        """
        if self.column is not None:
            return (self.column,)
        if self.every and not sensitive:
            raise ValueError(f"{self!r} reads all sensitive columns of the table, which has none")
        return tuple(sensitive) if self.every else ()

    def evaluate(self, classes: EquivalenceClasses) -> Values:
        """(n,) float array, the value of each of n generalizations.

        Args:
            classes: The classes of n generalizations. Their arrays are read, never kept or changed.

        Raises:
            ValueError: `evaluate_one` gives NaN.
        """
        values = np.array([self.evaluate_one(one) for one in classes], dtype=float)
        if np.isnan(values).any():
            raise ValueError(f"evaluate_one of {self!r} must give a number, got nan")
        return values

    def evaluate_one(self, classes: EquivalenceClasses) -> float:
        """The value of one generalization.

        Args:
            classes: The classes of one generalization.
        """
        raise NotImplementedError(f"{type(self).__name__} must define evaluate_one or evaluate")

    def of_classes(self, classes: EquivalenceClasses) -> Values:
        """(n_classes,) float array: what each class is worth, where `worst_class` says so.

        Args:
            classes: The classes of one or several generalizations.
        """
        raise NotImplementedError(f"{type(self).__name__} is no value of single classes")

    def recount(self, recount: Recount) -> Counted:
        """The value that a released table has, counted again by pandas alone, as the definition reads.

        A whole number, a fraction or a decimal is held against limits as it is. For a float, some last digits do not
        count.

        It is how a release is checked: nothing of the engine, and none of the ways of `evaluate`. A measure without it
        is in the claims of a release with what was promised alone. A subclass that changes the value of a measure needs
        one of its own.

        Args:
            recount: The classes of the released table, and the rows it was made of.
        """
        raise NotImplementedError(f"{type(self).__name__} must define recount to be counted again")

    @property
    def recountable(self) -> bool:
        """Whether `recount` is of this measure: no class that derives from that which defines it changes the value."""
        for kind in type(self).__mro__:
            if vars(kind).keys() & {"recount", "_recount"}:
                break
            said = {name for name in vars(kind) if not (name.startswith("__") and name.endswith("__"))}
            if said - _WORDS:
                return False
        return kind is not Objective

    def check(self, table: Microdata) -> None:
        """Refuse a table that this objective cannot measure.

        Raises:
            ValueError: It cannot.
        """

    def value_range(self, tuples: DistinctTuples) -> tuple[float, float]:
        """The least and the greatest value that any generalization of a table can have.

        Args:
            tuples: The distinct tuples of the table.
        """
        return -np.inf, np.inf

    def spacing(self, tuples: DistinctTuples) -> float:
        """A difference that no two different values of generalizations of a table are below; 0 where none is known.

        Args:
            tuples: The distinct tuples of the table.
        """
        return 1.0 if self.whole else 0.0

    def class_gains(self, tuples: DistinctTuples, spans: Sequence[Ints]) -> ClassGains | None:
        """The minimised loss as what every kept class saves, or None where it has no such form.

        Args:
            tuples: The distinct tuples of the table.
            spans: Per attribute an (n_groups, 2) int64 array of groups: the first value and the value after the last.
        """
        return None

    def __eq__(self, other: object) -> bool:
        """Whether both measure the same: of one class, with equal arguments."""
        if not isinstance(other, Objective):
            return NotImplemented
        mine, theirs = vars(self), vars(other)
        return (
            type(self) is type(other)
            and mine.keys() == theirs.keys()
            and all(_same(own, theirs[name]) for name, own in mine.items())
        )

    def __hash__(self) -> int:
        return hash((type(self), repr(self)))

    def _arguments(self) -> list[str]:
        """The arguments as `repr` shows them."""
        return [] if self.column is None else [repr(self.column)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._arguments())})"


def _same(own: object, other: object) -> bool:
    """Whether two arguments are equal; either may be an array and the other None."""
    if isinstance(own, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(own, other)  # type: ignore[arg-type]
    return own == other


def checked_column(column: Any) -> Any:
    """The name of a column, which is hashable and not None."""
    if column is None or not isinstance(column, Hashable):
        raise TypeError(f"column must be the name of a column, got {column!r}")
    return column


class ColumnObjective(Objective):
    """An objective that reads the values of one column.

    Args:
        column: Name of a column of the table with a role: sensitive, label, person or quasi-identifier.

    Raises:
        TypeError: `column` is no name.
    """

    column: Hashable
    role = "sensitive"

    def __init__(self, column: Hashable) -> None:
        self.column = checked_column(column)

    def check(self, table: Microdata) -> None:
        """Refuse a table where a column has no role.

        Raises:
            ValueError: It has none.
        """
        for column in self.reads(table.sensitive):
            table.tuples.check_role(column, self)

    def _counts(self, classes: EquivalenceClasses) -> ValueCounts:
        return classes.columns[self.column]


class WorstClassObjective(Objective):
    """The value of the worst equivalence class that is not suppressed; of the whole table where all are.

    A subclass defines `of_classes`.
    """

    worst_class = True

    def evaluate(self, classes: EquivalenceClasses) -> Values:
        """(n,) float array, the value of the worst class of each of n generalizations."""
        worst_of, none = (np.minimum, np.inf) if self.maximize else (np.maximum, -np.inf)
        of_classes = np.where(classes.kept, self.of_classes(classes), none)
        worst: Values = worst_of.reduceat(of_classes, classes.starts[:-1])
        if (worst == none).any():
            whole = one_class(classes.tuples, *self.reads(classes.tuples.sensitive))
            worst[classes.n_suppressed == classes.n_rows] = self.of_classes(whole)
        return worst


class FewestObjective(WorstClassObjective):
    """The fewest of something that is counted in each class that is not suppressed; `value_range` has all there are."""

    maximize = True
    whole = True

    def evaluate(self, classes: EquivalenceClasses) -> Values:
        """(n,) float array, the fewest of each of n generalizations; all there are where every class is suppressed."""
        fewest = np.empty(len(classes))
        most = int(self.value_range(classes.tuples)[1])
        _write_least(classes.starts, self.of_classes(classes), classes.kept, most, fewest)
        return fewest


def one_class(tuples: DistinctTuples, *columns: Hashable) -> EquivalenceClasses:
    """The whole table as one class, with the values of some columns."""
    return _single(tuples, tuples.n_rows, {column: tuples.totals(column) for column in columns})


def marked_class(classes: EquivalenceClasses) -> EquivalenceClasses:
    """The suppressed tuples of one generalization as one class, as they are where a release marks them."""
    totals, hidden = {}, classes.suppressed
    for name, own in classes.columns.items():
        part, of_hidden = own.trimmed(), np.repeat(hidden, np.diff(own.starts))
        held = np.bincount(part.values[of_hidden], part.counts[of_hidden], own.n_values)
        totals[name] = held.astype(np.int64)
    return _single(classes.tuples, int(classes.sizes[hidden].sum()), totals)


def _single(tuples: DistinctTuples, n_rows: int, totals: Mapping[Hashable, Ints]) -> EquivalenceClasses:
    """One class of so many rows, with how often it holds each value of some columns."""
    counts = {}
    for column, total in totals.items():
        present = np.flatnonzero(total)
        starts = np.array([0, len(present)], dtype=np.int64)
        counts[column] = ValueCounts(starts, present, total[present], len(total))
    return EquivalenceClasses(
        tuples,
        maps=np.zeros((1, tuples.offsets[-1]), dtype=np.int64),
        starts=np.array([0, 1], dtype=np.int64),
        sizes=np.array([n_rows], dtype=np.int64),
        representatives=np.zeros(1, dtype=np.int64),
        kept=np.ones(1, dtype=bool),
        columns=counts,
    )


@njit(cache=True, nogil=True)
def sums_of_squares(starts, sizes, kept, cost):  # type: ignore[no-untyped-def]
    """(n,) float array: the squares of kept sizes; suppressed tuples cost so much each or, for 0, are one class."""
    sums = np.empty(len(starts) - 1, dtype=np.float64)
    for i in range(len(sums)):
        total = np.int64(0)
        suppressed = np.int64(0)
        for c in range(starts[i], starts[i + 1]):
            if kept[c]:
                total += sizes[c] * sizes[c]
            else:
                suppressed += sizes[c]
        sums[i] = total + suppressed * (cost if cost > 0 else suppressed)
    return sums


@njit(cache=True, nogil=True, allocates=False)
def _write_least(starts, numbers, kept, most, fewest):  # type: ignore[no-untyped-def]
    """Write the least number of a kept class of each generalization, or the most there are."""
    for i in range(len(fewest)):
        least = most
        own, stays = numbers[starts[i] : starts[i + 1]], kept[starts[i] : starts[i + 1]]
        for c in range(len(own)):
            least = min(least, own[c] if stays[c] else most)
        fewest[i] = least


# --- adversaries who know some columns alone --------------------------------------------------------------------------

# Every set is a grouping of its own, at every generalization.
_MOST_SETS = 5_000

# So many sets are named one by one.
_NAMED = 6


@dataclass(frozen=True)
class any_of:  # noqa: N801 - a word of a sentence: known=any_of(3)
    """Every set of so many quasi-identifiers, the L of LKC-privacy (Mohammed et al. 2009); all where there are fewer.

    Args:
        n: The number of quasi-identifiers that an adversary may know, whichever they are.

    Raises:
        ValueError: `n` is no positive whole number.

    >>> any_of(3)
    any_of(3)
    """

    n: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", positive_whole("n of any_of", self.n))

    def __repr__(self) -> str:
        return f"any_of({self.n})"


#: What adversaries know: None for all quasi-identifiers, else the names in each set, or how many there are of any.
Known: TypeAlias = "any_of | tuple[tuple[Name, ...], ...] | None"


def known_of(given: Any) -> Known:
    """The sets that were given in their one form: names and sets in order, none within another.

    >>> known_of([["zip", "age"], ["age"], ["sex", "zip"]])
    (('age', 'zip'), ('sex', 'zip'))
    """
    if given is None or isinstance(given, any_of):
        return given
    parts = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    are_sets = [isinstance(part, list | tuple | set | frozenset) for part in parts]
    sets = [list(part) for part in parts] if parts and all(are_sets) else [parts]
    names = [name for one in sets for name in one]
    if not all(sets) or not all(isinstance(name, Hashable) for name in names) or (any(are_sets) and not all(are_sets)):
        raise ValueError(
            'known must be names of quasi-identifiers such as ["age", "zip"], a list of such lists, or any_of(3), got '
            f"{given!r:.80}"
        )
    _check_number(len(sets))
    found = sorted({frozenset(one) for one in sets}, key=len)
    # What somebody knows less of is implied: fewer rows agree on more.
    largest = [one for i, one in enumerate(found) if not any(one < other for other in found[i + 1 :])]
    return tuple(sorted((tuple(sorted(one, key=_order)) for one in largest), key=lambda one: [*map(_order, one)]))


def sets_of(known: Any, names: Sequence[Name]) -> list[tuple[int, ...]]:
    """What adversaries know, as places among the quasi-identifiers of a table."""
    if known is None:
        return [tuple(range(len(names)))]
    if isinstance(known, any_of):
        n = min(known.n, len(names))
        _check_number(comb(len(names), n))
        return list(combinations(range(len(names)), n))
    place = {name: number for number, name in enumerate(names)}
    unknown = [name for name in dict.fromkeys(name for one in known for name in one) if name not in place]
    if unknown:
        raise ValueError(f"known must name quasi-identifiers, {examples(names)}, got {examples(unknown)}")
    return [tuple(sorted(place[name] for name in one)) for one in known]


def _check_number(n: int) -> None:
    if n > _MOST_SETS:
        raise ValueError(f"known must be at most {_MOST_SETS:,} sets, each of which is grouped anew, got {n:,}")


def _order(name: Name) -> tuple[str, str]:
    return str(name), type(name).__name__


def words_of(known: Known) -> str:
    """What adversaries know in few words.

    >>> words_of((("age", "zip"), ("sex", "zip"))), words_of(any_of(3))
    ('age, zip | sex, zip', 'any 3')
    """
    if isinstance(known, any_of):
        return f"any {known.n}"
    sets = [", ".join(map(str, one)) for one in known or ()]
    return " | ".join(sets) if len(sets) <= _NAMED else f"{len(sets):,} sets"


def sets_in_words(known: Known) -> list[str]:
    """Each set of what adversaries know in words.

    >>> sets_in_words((("age", "zip"), ("occupation", "sex", "zip"))), sets_in_words(any_of(3))
    (['age and zip', 'occupation, sex and zip'], ['any 3 of the quasi-identifiers'])
    """
    if isinstance(known, any_of):
        return [f"any {known.n} of the quasi-identifiers"]
    return [plain(listed(map(str, one))) for one in known or ()]


def reach_of(known: Known) -> str:
    """Of whom a promise speaks, and of whom it does not.

    >>> reach_of((("age", "zip"), ("sex", "zip")))  # doctest: +NORMALIZE_WHITESPACE
    'for adversaries of whom each knows one of: age and zip; sex and zip. This does not hold for somebody who knows what
    two of them know together.'
    """
    sets = sets_in_words(known)
    if len(sets) == 1 and not isinstance(known, any_of):
        return f"for an adversary who knows {sets[0]}. This does not hold for somebody who knows more."
    shown = "; ".join([*sets[:_NAMED], *([f"{len(sets) - _NAMED:,} more sets"] if len(sets) > _NAMED else [])])
    who = f"for adversaries of whom each knows {'' if isinstance(known, any_of) else 'one of: '}{shown}"
    return f"{who}. This does not hold for somebody who knows what two of them know together."


def text_of(known: Known) -> str:
    """What adversaries know as the command line has it: `age,zip|sex,zip`; names with its signs in quotes.

    >>> text_of((("age", "zip"), ("a|b", "zip")))
    'age,zip|"a|b",zip'
    """
    if isinstance(known, any_of):
        return words_of(known)
    return "|".join(",".join(map(_quoted, map(str, one))) for one in known or ())


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False) if set(name) & set(',|[]"') or name != name.strip() else name


class Knowing(WorstClassObjective):
    """A measure of the worst class that may be of adversaries who each know some of the quasi-identifiers.

    A class then is worth what it is among all kept rows that agree with it on a known set, the worst of these sets. A
    subclass says what it is worth of one who knows all: `_of_classes` and `_recount` are as `of_classes` and `recount`.

    Attributes:
        known: What they know; None for one who knows all quasi-identifiers.
    """

    known: Known = None

    def _of_classes(self, classes: EquivalenceClasses) -> Values:
        raise NotImplementedError

    def _recount(self, recount: Recount) -> Counted:
        raise NotImplementedError

    def _called(self, name: str) -> str:
        """A name of the measure with what is known."""
        return name if self.known is None else f"{name} ({words_of(self.known)})"

    def knowing(self: T, known: Known = None) -> T:
        """The same measure of adversaries who know something else; None is one who knows all."""
        made = copy.copy(self)
        made.known = known
        return made

    def merged(self, classes: EquivalenceClasses) -> Iterator[tuple[EquivalenceClasses, Ints]]:
        """For each known set the classes of rows that agree on it, and in which of them each class is."""
        tuples = classes.tuples
        return agreeing(classes, sets_of(self.known, tuples.names), self.reads(tuples.sensitive))

    def of_classes(self, classes: EquivalenceClasses) -> Values:
        """(n_classes,) array: what each class is worth; of known sets the worst of the rows that agree with it."""
        if self.known is None:
            return self._of_classes(classes)
        found = (self._of_classes(merged)[ids] for merged, ids in self.merged(classes))
        return reduce(np.minimum if self.maximize else np.maximum, found)

    def recount(self, recount: Recount) -> Counted:
        """What the worst class is worth; of known sets the worst of all."""
        if self.known is None:
            return self._recount(recount)
        sets = [[recount.names[place] for place in one] for one in sets_of(self.known, recount.names)]
        found = [self._recount(recount.agreeing(names)) for names in sets]
        return min(found) if self.maximize else max(found)

    def check(self, table: Microdata) -> None:
        """Refuse a table whose quasi-identifiers are others than those that adversaries know.

        Raises:
            ValueError: They are, or there are too many sets.
        """
        super().check(table)
        named = () if isinstance(self.known, any_of) else [name for one in self.known or () for name in one]
        sensitive = [name for name in dict.fromkeys(named) if name in table.sensitive]
        if sensitive:
            raise ValueError(f"known must name quasi-identifiers, got {examples(sensitive)}, which is sensitive")
        sets_of(self.known, list(table.quasi_identifiers))

    def __repr__(self) -> str:
        if self.known is None:
            return super().__repr__()
        sets: Any = self.known if isinstance(self.known, any_of) else [list(one) for one in self.known]
        shown = sets[0] if isinstance(sets, list) and len(sets) == 1 else sets
        return f"{type(self).__name__}({', '.join([*self._arguments(), f'known={shown!r}'])})"
