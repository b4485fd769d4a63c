"""What the suite's objectives are, in plain numpy: whole numbers, so that every value is exact."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Released:
    """What one generalization makes of an instance's rows."""

    class_of: Ints  # (n,), the equivalence class of every row of the instance
    sizes: Ints  # (n_classes,), the persons in each class
    kept: NDArray[np.bool_]  # (n_classes,), False where the class is suppressed
    costs: Ints  # (n,), what the cells of a person of every row lose by generalization
    full_cost: int  # What they lose by suppression
    counts: Ints  # (n,), the persons of every row
    columns: Mapping[str, Ints]  # Per column that others must not learn, and per label, (n,) values from 0

    def k(self, column: str | None) -> int:
        """Persons in the smallest class that is kept; all persons where none is."""
        return int(self.sizes[self.kept].min(initial=self.sizes.sum()))

    def l(self, column: str) -> int:  # noqa: E743
        """Fewest different values in a class that is kept; all values of the column where none is."""
        return int(self.different(column)[self.kept].min(initial=len(np.unique(self.columns[column]))))

    def S_k(self, column: str | None) -> int:
        """Sum of the squared class sizes; all suppressed persons are one class."""
        return int((self.sizes[self.kept] ** 2).sum() + self.n_suppressed**2)

    def S_l(self, column: str) -> int:
        """Sum of the squared counts of values in classes; all suppressed persons are one class."""
        classes, values, counts = self._table(column)
        of_suppressed = whole_sums(values[~self.kept[classes]], counts[~self.kept[classes]], int(values.max()) + 1)
        return int((counts[self.kept[classes]] ** 2).sum() + (of_suppressed**2).sum())

    def GLM(self, column: str | None) -> int:
        """General loss, in the instance's unit: what generalization and suppression cost all cells."""
        kept = self.kept[self.class_of]
        return int((self.counts * np.where(kept, self.costs, self.full_cost)).sum())

    def CM(self, column: str) -> int:
        """Classification loss: persons outside the most frequent label of their class, and all suppressed ones."""
        classes, _, counts = self._table(column)
        majorities = np.zeros(len(self.sizes), dtype=np.int64)
        np.maximum.at(majorities, classes, counts)
        return int(self.counts.sum() - majorities[self.kept].sum())

    def DM(self, column: str | None) -> int:
        """Discernibility: the square of every kept class, and for every suppressed person the number of all."""
        return int((self.sizes[self.kept] ** 2).sum() + self.n_suppressed * self.counts.sum())

    def classes(self, column: str | None) -> int:
        """Number of classes; all suppressed persons are one."""
        return int(self.kept.sum() + (self.n_suppressed > 0))

    def measured(self, wanted: Mapping[str, Any]) -> int:
        """One measure, which an objective or a constraint names."""
        value: int = getattr(self, wanted["measure"])(wanted.get("column"))
        return value

    @property
    def n_suppressed(self) -> int:
        """Number of suppressed persons."""
        return int(self.sizes[~self.kept].sum())

    def different(self, column: str) -> Ints:
        """(n_classes,) int64 array: how many different values of a column each class has."""
        return np.bincount(self._table(column)[0], minlength=len(self.sizes))

    def _table(self, column: str) -> tuple[Ints, Ints, Ints]:
        """How often every value of a column occurs in every class: classes, values and counts, those above 0."""
        values = self.columns[column]
        n_values = int(values.max()) + 1
        cells, members = np.unique(self.class_of * n_values + values, return_inverse=True)
        return cells // n_values, cells % n_values, whole_sums(members, self.counts, len(cells))


#: The measures that an objective or a constraint may name, and whether a larger value is better.
LARGER_IS_BETTER = dict.fromkeys(("k", "l", "S_k", "S_l", "classes"), True) | dict.fromkeys(("GLM", "CM", "DM"), False)

#: The measures that the worst class decides, and what they are of every class.
OF_CLASSES: dict[str, Callable[[Released, Any], Ints]] = {
    "k": lambda released, column: released.sizes,
    "l": Released.different,
}


def whole_sums(places: Ints, counts: Ints, n: int) -> Ints:
    """(n,) int64 array: the sum of the counts at each place; exact, since no sum comes near 2**53."""
    return np.bincount(places, weights=counts, minlength=n).astype(np.int64)
