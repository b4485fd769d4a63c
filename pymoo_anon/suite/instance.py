"""One instance of the suite: what it is made of, and what a point of it is worth, by numpy alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pymoo_anon._messages import examples

Ints = NDArray[np.int64]

#: Runs of values, first and last, that lie side by side or within one another; one of them holds all values.
Nodes = tuple[tuple[int, ...], ...]

# Keys are renumbered before their product passes this.
_LARGEST_KEY = 2**62


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


@dataclass(frozen=True, eq=False)
class Instance:
    """A frozen problem: rows of whole numbers, how their values may be generalized, and what counts.

    Attributes:
        name: Its name, which ends with its version.
        about: What it is, in a sentence.
        space: "levels", a point says the level of every attribute; or "bits", a bit says whether two neighbours among
            the values of an attribute stay apart.
        attributes: Names of the attributes that are generalized.
        sizes: Per attribute the number of its values, from 0 to one less.
        levels: Per attribute an (n_levels, n_values) int64 array, the group of every value at every level; empty for
            bits.
        nodes: By the place of every attribute that has a taxonomy, the first and the last value of each of its nodes.
        codes: (n, n_attributes) int64 array, the values of every row.
        columns: Per other column an (n,) int64 array, its values.
        counts: (n,) int64 array, how many persons every row stands for.
        unit: GLM counts loss in so many parts of a cell, which makes it whole.
        objectives: What is measured, each a mapping with "measure" and perhaps "column".
        constraints: What must hold, each such a mapping with "at least" or "at most".
        rule: The rule of suppression: "at most", "below" or "violating".
        limit: Its number.
        budgets: Recommended numbers of evaluations, a short and a long one.
    """

    name: str
    about: str
    space: str
    attributes: tuple[str, ...]
    sizes: tuple[int, ...]
    levels: tuple[Ints, ...]
    nodes: Mapping[int, Nodes]
    codes: Ints
    columns: Mapping[str, Ints]
    counts: Ints
    unit: int
    objectives: tuple[Mapping[str, Any], ...]
    constraints: tuple[Mapping[str, Any], ...]
    rule: str
    limit: int
    budgets: tuple[int, int]

    @classmethod
    def from_json(cls, text: str) -> Instance:
        """Read an instance from the text of its file."""
        read = json.loads(text)
        attributes = read["attributes"]
        return cls(
            name=read["name"],
            about=read["about"],
            space=read["space"],
            attributes=tuple(own["name"] for own in attributes),
            sizes=tuple(own["values"] for own in attributes),
            levels=tuple(np.array(own["levels"], dtype=np.int64) for own in attributes if "levels" in own),
            nodes={j: tuple(map(tuple, own["nodes"])) for j, own in enumerate(attributes) if "nodes" in own},
            codes=np.array([read["rows"][own["name"]] for own in attributes], dtype=np.int64).T,
            columns={name: np.array(values, dtype=np.int64) for name, values in read["columns"].items()},
            counts=np.array(read["counts"], dtype=np.int64),
            unit=read["unit"],
            objectives=tuple(read["objectives"]),
            constraints=tuple(read["constraints"]),
            rule=read["suppression"]["rule"],
            limit=read["suppression"]["limit"],
            budgets=tuple(read["budgets"]),
        )

    @property
    def upper(self) -> Ints:
        """(n_var,) int64 array: the greatest level of every attribute, or 1 for every bit."""
        if self.space == "bits":
            return np.ones(sum(self.sizes) - len(self.sizes), dtype=np.int64)
        return np.array([len(own) - 1 for own in self.levels])

    @property
    def n_points(self) -> int:
        """Number of points of the search space; where there are taxonomies, of those that are cuts of all."""
        if self.space == "bits":
            return prod(
                n_cuts(self.nodes[j], 0, size - 1) if j in self.nodes else 2 ** (size - 1)
                for j, size in enumerate(self.sizes)
            )
        return prod(int(top) + 1 for top in self.upper)

    @property
    def n_constraints(self) -> int:
        """Number of the constraints that are told, of the rule of suppression, and of the taxonomies."""
        return len(self.constraints) + (self.rule == "violating") + (len(self.nodes) > 0)

    @property
    def signs(self) -> Ints:
        """(n_obj,) int64 array: -1 where a larger value is better, 1 where a smaller one is."""
        return np.array([-1 if LARGER_IS_BETTER[own["measure"]] else 1 for own in self.objectives])

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for every objective: its measure, and the column that it reads."""
        return tuple(" of ".join(filter(None, (own["measure"], own.get("column")))) for own in self.objectives)

    def checked(self, X: ArrayLike) -> Ints:
        """Points as an (n, n_var) int64 array.

        Args:
            X: (n, n_var) array of whole numbers, as integers, Booleans or floats.

        Raises:
            ValueError: X has another shape, or holds a number that is not whole or out of range.
        """
        given, upper = np.asarray(X), self.upper
        if given.ndim != 2 or given.shape[1] != len(upper):
            raise ValueError(f"X must be an (n, {len(upper)}) array, got shape {given.shape}")
        points = given.astype(float)
        wrong = ~((points == np.floor(points)) & (points >= 0) & (points <= upper))
        if wrong.any():
            wanted = "0 or 1" if self.space == "bits" else f"whole numbers from 0 to {', '.join(map(str, upper))}"
            raise ValueError(
                f"X must hold {wanted}, got {examples(points[wrong].tolist())}; pymoo's RoundingRepair and its "
                "operators for whole numbers or bits keep it so"
            )
        return points.astype(np.int64)

    def evaluate(self, X: ArrayLike) -> tuple[Ints, Ints]:
        """What points are worth.

        Args:
            X: (n, n_var) array of whole numbers.

        Returns:
            (n, n_obj) int64 array of the objectives with their natural signs, k and not -k; and (n, n_constraints)
            int64 array, at most 0 where a constraint holds. After those that are told comes, for the rule "violating",
            the number of suppressed persons less its limit; then, for taxonomies, the number of groups that are none
            of their nodes.

        Raises:
            ValueError: X has another shape, or holds a number that is not whole or out of range.
        """
        points = self.checked(X)
        values = np.empty((len(points), len(self.objectives)), dtype=np.int64)
        excess = np.empty((len(points), self.n_constraints), dtype=np.int64)
        for i, x in enumerate(points):
            released = self.released(x)
            values[i] = [released.measured(own) for own in self.objectives]
            found = [(own, released.measured(own)) for own in self.constraints]
            over = [own["at least"] - n if "at least" in own else n - own["at most"] for own, n in found]
            if self.rule == "violating":
                over.append(released.n_suppressed - self.limit)
            if self.nodes:
                groups = self._groups(x)
                over.append(sum(n_strays(own, groups[j]) for j, own in self.nodes.items()))
            excess[i] = over
        return values, excess

    def released(self, x: Sequence[int] | Ints) -> Released:
        """What one point makes of the rows.

        Args:
            x: (n_var,) array of whole numbers.
        """
        keys, n_keys = np.zeros(len(self.counts), dtype=np.int64), 1
        costs = np.zeros(len(self.counts), dtype=np.int64)
        for groups, own, size in zip(self._groups(np.asarray(x)), self.codes.T, self.sizes, strict=True):
            n_groups = int(groups.max()) + 1
            if n_keys * n_groups > _LARGEST_KEY:
                found, keys = np.unique(keys, return_inverse=True)
                n_keys = len(found)
            keys = keys * n_groups + groups[own]
            n_keys *= n_groups
            extents = np.bincount(groups)[groups] - 1
            costs += (extents * (self.unit // max(size - 1, 1)))[own]
        _, class_of = np.unique(keys, return_inverse=True)
        sizes = whole_sums(class_of, self.counts, int(class_of.max()) + 1)
        full_cost, every = len(self.sizes) * self.unit, np.ones(len(sizes), dtype=bool)
        released = Released(class_of, sizes, every, costs, full_cost, self.counts, self.columns)
        return replace(released, kept=self._kept(released))

    def _groups(self, x: Ints) -> list[Ints]:
        """Per attribute the group of every value."""
        if self.space == "levels":
            return [levels[level] for levels, level in zip(self.levels, x, strict=True)]
        parts = np.split(x, np.cumsum([size - 1 for size in self.sizes])[:-1])
        return [np.concatenate([[0], np.cumsum(part)]) for part in parts]

    def _kept(self, released: Released) -> NDArray[np.bool_]:
        """Which classes are kept.

        The rule "below" suppresses every class with fewer persons than its limit. The rule "violating" suppresses every
        class that has too few persons, or too few values of a column, for a constraint; its limit is a constraint of
        its own. The rule "at most" suppresses the smallest classes first, those of one size together, while they hold
        at most so many persons together.
        """
        sizes, kept = released.sizes, released.kept
        if self.rule == "below":
            return sizes >= self.limit
        if self.rule == "violating":
            for own in self.constraints:
                if "at least" in own and own["measure"] in OF_CLASSES:
                    kept = kept & (OF_CLASSES[own["measure"]](released, own.get("column")) >= own["at least"])
            return kept
        order = np.sort(sizes)
        up_to = np.cumsum(order)[np.searchsorted(order, sizes, side="right") - 1]
        return up_to > self.limit


def n_cuts(nodes: Nodes, first: int, last: int) -> int:
    """Number of ways to group the values of one node, or of a single value: as one, or every part by itself."""
    if first == last:
        return 1
    counts, start = [], first
    while start <= last:
        # The largest node that begins here is a part. It is not the whole, and a value that begins none is one itself.
        ends = [own for begin, own in nodes if begin == start and own <= last and (begin, own) != (first, last)]
        end = max(ends, default=start)
        counts.append(n_cuts(nodes, start, end))
        start = end + 1
    return 1 + prod(counts)


def n_strays(nodes: Nodes, groups: Ints) -> int:
    """Number of groups that are neither a single value nor a node."""
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    lasts = np.append(starts[1:], len(groups)) - 1
    runs = set(zip(starts.tolist(), lasts.tolist(), strict=True))
    return sum(first < last for first, last in runs.difference(nodes))
