"""One instance of the suite: what it is made of, and what a point of it is worth, by numpy alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pymoo_anon._messages import examples
from pymoo_anon.suite.measures import LARGER_IS_BETTER, OF_CLASSES, Ints, Released, whole_sums

#: Runs of values, first and last, that lie side by side or within one another; one of them holds all values.
Nodes = tuple[tuple[int, ...], ...]

# Keys are renumbered before their product passes this.
_LARGEST_KEY = 2**62


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
