"""What every objective has: a name, a direction, bounds, and a value for each generalization."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.engine.tuples import DistinctTuples, ValueCounts
from pymoo_anon.objectives.constraint import Boundable
from pymoo_anon.table.microdata import Microdata

Values = NDArray[np.float64]


class Objective(Boundable):
    """A number for each generalization, from the equivalence classes that it makes.

    An objective of one's own is a subclass with a `name`, a direction, a `step` where values are small, and one method:
    `evaluate_one`, a plain Python function of the arrays of one generalization's classes, or `evaluate`, which takes
    many generalizations at once and may be compiled. Objectives hold nothing of a table, so that one object serves many
    problems; two of one class with equal attributes are the same.

    Attributes:
        name: Short name, as it heads a column of a front ("k").
        words: What a picture calls it ("general loss"), or None for the short name.
        maximize: Whether higher is better. Values have their natural sign everywhere but in pymoo's F.
        whole: Whether all values are whole numbers.
        column: The sensitive or label column that is read, or None.
        follows_k: Whether all that is known of a specialization is what its k can be.
        step: The difference that is worth telling apart: the side of a box where an archive is given none.
    """

    name: str
    maximize: bool
    words: str | None = None
    whole: bool = False
    column: str | None = None
    follows_k: bool = False
    step: float = 1.0

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

    def check(self, table: Microdata) -> None:
        """Refuse a table that this objective cannot measure.

        Raises:
            ValueError: It cannot.
        """

    def bounds(self, tuples: DistinctTuples) -> tuple[float, float]:
        """The least and the greatest value that any generalization of a table can have."""
        return -np.inf, np.inf

    # What branch and bound needs to know, with at most `limit` tuples suppressed. An objective states what it can; the
    # defaults say that nothing is known.

    def attribute_terms(self, tuples: DistinctTuples, maps: NDArray[np.int64]) -> Values | None:
        """(n, n_attributes) float array whose row sums no value of n generalizations is below; needs no grouping.

        Where higher is better, values are negated: no negated value is below.

        Args:
            tuples: The distinct tuples.
            maps: (n, n_codes) int64 array, the group of every domain value.
        """
        return None

    def floor_of_generalizations(self, classes: EquivalenceClasses) -> float | None:
        """What no generalization of one generalization is below, where lower is better."""
        return None

    def best_of_specializations(
        self, classes: EquivalenceClasses, limit: int, gone: NDArray[np.int64], most: NDArray[np.int64]
    ) -> Values | None:
        """The best value that a specialization of one generalization can have, in several cases.

        In case i the specialization keeps no class of at most `gone[i]` tuples, and its k is at most `most[i]`. An
        objective with a floor gives what comes on top of it, the others the value itself.

        Args:
            classes: The classes of one generalization.
            limit: At most so many tuples are suppressed.
            gone: (n,) int64 array, ascending.
            most: (n,) int64 array.

        Returns:
            (n,) float array.
        """
        return None

    @property
    def floor_rises(self) -> bool:
        """Whether nodes say what their generalizations are not below."""
        return type(self).floor_of_generalizations is not Objective.floor_of_generalizations

    @property
    def has_floor(self) -> bool:
        """Whether minimised values are known not to be below something."""
        return self.floor_rises or type(self).attribute_terms is not Objective.attribute_terms

    @property
    def has_bounds(self) -> bool:
        """Whether anything is known of the values of nodes that were not evaluated."""
        return self.has_floor or type(self).best_of_specializations is not Objective.best_of_specializations

    def __eq__(self, other: object) -> bool:
        """Whether both measure the same: of one class, with equal arguments."""
        if not isinstance(other, Objective):
            return NotImplemented
        mine, theirs = vars(self), vars(other)
        return (
            type(self) is type(other)
            and mine.keys() == theirs.keys()
            and all(
                np.array_equal(own, theirs[name]) if isinstance(own, np.ndarray) else own == theirs[name]
                for name, own in mine.items()
            )
        )

    def __hash__(self) -> int:
        return hash((type(self), repr(self)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self.column is None else repr(self.column)})"


class ColumnObjective(Objective):
    """An objective that reads the values of one column.

    Args:
        column: Name of a column of the table with a role: sensitive, label or quasi-identifier.
    """

    column: str

    def __init__(self, column: str) -> None:
        if not isinstance(column, str):
            raise TypeError(f"column must be the name of a column, got {column!r}")
        self.column = column

    def check(self, table: Microdata) -> None:
        """Refuse a table where the column has no role.

        Raises:
            ValueError: It has none.
        """
        table.tuples.check_role(self.column, self)

    def _counts(self, classes: EquivalenceClasses) -> ValueCounts:
        return classes.columns[self.column]
