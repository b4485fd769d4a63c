"""The base of every measure."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, NoReturn

import numpy as np

from pymoo_anon.engine.classes import DistinctTuples, EquivalenceClasses, ValueCounts, marked_class
from pymoo_anon.objectives.bounds import Bounding, ClassGains, SuppressionBudget
from pymoo_anon.objectives.knowledge import joint_classes, worst_by_class
from pymoo_anon.objectives.recount import Recount, Recounted
from pymoo_anon.table.generalization import Constraint
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.typing import Floats, Ints

# A subclass may replace these without changing the value of the measure.
_DESCRIPTIONS = {"name", "short", "role", "words", "is_loss", "shown", "step", "bounding", "best_of_specializations"}
_DESCRIPTIONS |= {"check", "limits", "value_range", "spacing"}


class Objective:
    """A number for each generalization, from its equivalence classes.

    A measure of your own is a subclass with a `name`, a direction, a `step` where values are small, and one method:
    `evaluate_one`, a plain Python function of the classes of one generalization, or `evaluate`, which takes many
    generalizations at once and may be compiled. Measures hold nothing of a table, so one object serves many problems.
    Two of one class with equal attributes are the same.

    Attributes:
        name: Short name, the heading of its column in a front ("k").
        short: Name on the command line ("entropy-l"), of letters, digits, `-` and `_`, or None. A class with a short
            name in its own body is registered under it, and built there with the column of its role, or with nothing.
        role: Role of the column that is read by default: "sensitive", "label" or "person". None reads no column.
        number: The number that follows the short name ("population-uniqueness:5000"), where `numbered`.
        numbered: Whether it is built there with a number, and with no column.
        words: Name in pictures ("general loss"), or None for `name`.
        maximize: Whether higher is better. Values have their natural sign everywhere but in pymoo's F.
        whole: Whether all values are whole numbers.
        column: The sensitive, label or person column that is read, or None.
        every: Whether all sensitive columns are read if none is named.
        is_loss: Whether it measures information loss.
        shown: Attributes that evidence may show beside `column`. They hold no value of the data.
        step: The smallest difference that matters: the default side of a box in archives.
        worst_class: Whether the value is that of the worst kept class. `of_classes` then gives the value of each class,
            and a constraint bounds every class.
        joint: Whether joint classes are measured, those of whoever has the releases beside this one, too.
        known: The background knowledge of adversaries who each know some quasi-identifiers, or None.
        limits: The least and the greatest value, where they are the same for every table.
        bounding: The family of bounds for proofs, one of `objectives.bounds`, or None.
    """

    #: The measures that have a short name, by it.
    registered: ClassVar[dict[str, type[Objective]]] = {}

    name: str
    short: str | None = None
    role: str | None = None
    number: float | None = None
    numbered: bool = False
    maximize: bool
    words: str | None = None
    whole: bool = False
    column: Hashable | None = None
    every: bool = False
    is_loss: bool = False
    shown: tuple[str, ...] = ()
    step: float = 1.0
    worst_class: bool = False
    known: Any = None
    joint: bool = False
    limits: tuple[float, float] = (-np.inf, np.inf)
    bounding: type[Bounding] | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Register a class that has a short name. One that is defined again replaces the first."""
        super().__init_subclass__(**kwargs)
        # A class that derives from another has a short name of its own or none.
        cls.short = short = vars(cls).get("short")
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

        Raises:
            ValueError: All sensitive columns are read, and there are none.
        """
        if self.column is not None:
            return (self.column,)
        if self.every and not sensitive:
            raise ValueError(f"{self!r} reads all sensitive columns of the table, which has none")
        return tuple(sensitive) if self.every else ()

    def evaluate(self, classes: EquivalenceClasses) -> Floats:
        """Return the value of each of n generalizations. (n,) float array.

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
        """Return the value of one generalization, from its classes."""
        raise NotImplementedError(f"{type(self).__name__} must define evaluate_one or evaluate")

    def of_classes(self, classes: EquivalenceClasses) -> Floats:
        """Return the value of each class, where `worst_class` is true. (n_classes,) float array."""
        raise NotImplementedError(f"{type(self).__name__} is no value of single classes")

    def of_kept(self, classes: EquivalenceClasses) -> Floats:
        """Return the value of each kept class, joint or alone."""
        if not self.joint:
            return self.of_classes(classes)
        found = []
        for one in classes:
            joint = joint_classes(one)
            found.append(worst_by_class(one, joint, self.of_classes(joint), self.maximize))
        return np.concatenate(found)

    def recount(self, recount: Recount) -> Recounted:
        """Count the value of a released table again, by pandas alone.

        It follows the definition and shares nothing with `evaluate`. Whole numbers, fractions and decimals are compared
        with limits exactly. Of a float some last digits are ignored. Without a recount the claims of a release hold the
        promised value alone. A subclass that changes the value needs a recount of its own.
        """
        raise NotImplementedError(f"{type(self).__name__} must define recount to be counted again")

    @property
    def recountable(self) -> bool:
        """Whether `recount` is of the class that defines the value."""
        for kind in type(self).__mro__:
            if vars(kind).keys() & {"recount", "_recount"}:
                break
            defined = {name for name in vars(kind) if not (name.startswith("__") and name.endswith("__"))}
            if defined - _DESCRIPTIONS:
                return False
        return kind is not Objective

    def check(self, table: Microdata) -> None:
        """Check that this measure can measure a table.

        Raises:
            ValueError: It cannot, as where a column that it reads has no role.
        """
        for column in self.reads(table.sensitive):
            table.tuples.check_role(column, self)

    def value_range(self, tuples: DistinctTuples) -> tuple[float, float]:
        """Return the least and the greatest value of any generalization."""
        return self.limits

    def spacing(self, tuples: DistinctTuples) -> float:
        """Return the least difference of two values, or 0."""
        return 1.0 if self.whole else 0.0

    def class_gains(self, tuples: DistinctTuples, spans: Sequence[Ints]) -> ClassGains | None:
        """Return the minimised loss as gains of kept classes, or None.

        Args:
            tuples: The distinct tuples of the table.
            spans: Per attribute an (n_groups, 2) int64 array of groups: the first value and the value after the last.
        """
        return None

    def best_of_specializations(self, classes: EquivalenceClasses, below: SuppressionBudget) -> Floats | None:
        """Return the best value of any specialization, or None, as `Bounding` does."""
        return None

    def __ge__(self, bound: float) -> Constraint:
        """Require a value of at least a bound: `KAnonymity() >= 5`."""
        return Constraint(self, bound, at_least=True)

    def __le__(self, bound: float) -> Constraint:
        """Require a value of at most a bound: `TCloseness("diagnosis") <= 0.3`."""
        return Constraint(self, bound, at_least=False)

    def __gt__(self, bound: float) -> NoReturn:
        raise TypeError(f"a constraint must be written with >= or <=, got {self!r} > {bound!r}")

    def __lt__(self, bound: float) -> NoReturn:
        raise TypeError(f"a constraint must be written with >= or <=, got {self!r} < {bound!r}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Objective):
            return NotImplemented
        mine, theirs = vars(self), vars(other)
        return (
            type(self) is type(other)
            and mine.keys() == theirs.keys()
            and all(_equal_values(own, theirs[name]) for name, own in mine.items())
        )

    def __hash__(self) -> int:
        # Equal measures may have other `repr`s, as with 2 and 2.0.
        return hash((type(self), self.column))

    def _arguments(self) -> list[str]:
        return [] if self.column is None else [repr(self.column)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._arguments())})"


def _equal_values(own: object, other: object) -> bool:
    if isinstance(own, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(own, other)  # type: ignore[arg-type]
    if isinstance(own, Microdata) and isinstance(other, Microdata) and own is not other:
        ours, theirs = ([(name, tree.domain) for name, tree in one.quasi_identifiers.items()] for one in (own, other))
        same = np.array_equal(own.tuples.codes, other.tuples.codes)
        return same and np.array_equal(own.tuples.counts, other.tuples.counts) and ours == theirs
    return own == other


def checked_column(column: Any) -> Any:
    """Return the checked name of a column."""
    if column is None or not isinstance(column, Hashable):
        raise TypeError(f"column must be the name of a column, got {column!r}")
    return column


class ColumnObjective(Objective):
    """A measure that reads the values of one column.

    Args:
        column: Name of a column of the table with a role: sensitive, label, person or quasi-identifier.

    Raises:
        TypeError: `column` is no name.
    """

    column: Hashable
    role = "sensitive"

    def __init__(self, column: Hashable) -> None:
        self.column = checked_column(column)

    def _counts(self, classes: EquivalenceClasses) -> ValueCounts:
        return classes.columns[self.column]


class LossObjective(Objective):
    """A measure of information loss."""

    is_loss = True
    maximize = False


def marked_value(measure: Objective, classes: EquivalenceClasses) -> float:
    """Return the value of suppressed rows as one class.

    It is NaN without any, and for a measure that is no value of single classes. A joint measure takes those that are
    suppressed in all releases.
    """
    found = joint_classes(classes) if measure.joint else classes
    if not measure.worst_class or found.kept.all():
        return float("nan")
    return float(measure.of_classes(marked_class(found))[0])
