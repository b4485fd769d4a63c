"""Count queries: how far off somebody is who counts in a release instead of the table."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from pymoo_anon._messages import label_words, plain, positive_whole, whole_from_0
from pymoo_anon.comparison.boxes import Boxes, Ints, Values, numbers_of, of_release, of_table
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.table.microdata import Microdata

# A query asks for at most so many attributes. Errors are relative to at least such a share of the rows.
_ATTRIBUTES, _SANITY = 3, 0.001

# What the summary tells of the errors, and which share of the queries has no greater one.
_TOLD = {"median": 0.5, "90 %": 0.9}


@dataclass(frozen=True)
class CountQueries:
    """Random queries such as "how many have an age of 31 to 47, and are female?", asked of a table and its releases.

    A query asks for one to three quasi-identifiers, each number of them as likely. Of each it wants a random number of
    values: a range, where the values are numbers or days, else any of them. It is drawn from the domains of the
    hierarchies alone, so that the same queries are asked of every release. A release answers as if its rows were spread
    evenly over the values of their groups, and rows of `*` over the domain. The error is relative to the true count, as
    Xiao and Tao 2006 have it, or to 0.1 % of the rows where that is larger: of nothing every error would be infinite.
    Answers need the table, so they are for those who may see it.

    Args:
        table: The table.
        n: Number of queries.
        seed: Seed of the draws, a whole number from 0.

    Raises:
        ValueError: `n` is no positive whole number, or `seed` none from 0.

    >>> from pymoo_anon.datasets import make_census
    >>> from pymoo_anon.objectives import GeneralLossMetric
    >>> from pymoo_anon.problems import LatticeProblem
    >>> problem = LatticeProblem(make_census(500), [GeneralLossMetric()])
    >>> queries = CountQueries(problem.table)
    >>> queries.words(0), int(queries.true[0])
    ('age 21 to 84 and sex Female', 151)
    >>> coarser = problem.equivalence_classes([1, 1, 0, 0, 0, 0, 1, 0])
    >>> queries.summary({"coarser": coarser}).round(2).to_numpy().tolist()
    [[0.0, 0.67]]
    """

    table: Microdata
    n: int = 1000
    seed: int = 1

    def __post_init__(self) -> None:
        positive_whole("n", self.n)
        whole_from_0("seed", self.seed)

    @cached_property
    def asked(self) -> tuple[dict[int, Ints], ...]:
        """By the place of each quasi-identifier that a query asks for, the positions in its domain that it wants."""
        rng, sizes = np.random.default_rng(self.seed), self.table.tuples.domain_sizes
        queries = []
        for _ in range(self.n):
            n_asked, wanted = int(rng.integers(1, min(_ATTRIBUTES, len(sizes)) + 1)), {}
            for j in sorted(rng.permutation(len(sizes))[:n_asked].tolist()):
                order, n_wanted = self._orders[j], int(rng.integers(1, max(sizes[j], 2)))
                if order is None:
                    wanted[j] = np.sort(rng.choice(sizes[j], n_wanted, replace=False))
                else:
                    first = int(rng.integers(0, sizes[j] - n_wanted + 1))
                    wanted[j] = order[first : first + n_wanted]
            queries.append(wanted)
        return tuple(queries)

    @cached_property
    def true(self) -> Values:
        """(n,) float array: what the table answers, whole numbers."""
        return self._counted(of_table(self.table))

    def answers(self, classes: EquivalenceClasses, suppressed: str = "mark") -> Values:
        """(n,) float array: what a release answers, in rows.

        Args:
            classes: The equivalence classes of the release, `problem.equivalence_classes(x)`.
            suppressed: What becomes of suppressed rows: "mark" releases them as `*`, "drop" leaves them out.

        Raises:
            ValueError: The classes are not of one generalization of the table, or `suppressed` is something else.
        """
        return self._counted(of_release(self.table, classes, suppressed))

    def errors(self, classes: EquivalenceClasses, suppressed: str = "mark") -> Values:
        """(n,) float array: the relative error of every answer, from 0 on; lower is better. As `answers` otherwise."""
        least = np.maximum(self.true, _SANITY * self.table.n_rows)
        found: Values = np.abs(self.answers(classes, suppressed) - self.true) / least
        return found

    def summary(self, releases: Mapping[Hashable, EquivalenceClasses], suppressed: str = "mark") -> pd.DataFrame:
        """The errors of several releases, by their names, one beside the other. As `answers` otherwise.

        Returns:
            One row for each release. Columns: "median" and "90 %", the relative errors that half and nine in ten of the
            queries do not exceed; shares from 0 on, lower is better.
        """
        errors = [self.errors(classes, suppressed) for classes in releases.values()]
        found = [np.quantile(own, [*_TOLD.values()], method="inverted_cdf") for own in errors]
        index = pd.Index(list(releases), name="release", tupleize_cols=False)
        return pd.DataFrame(np.reshape(found, (-1, len(_TOLD))), index, [*_TOLD])

    def words(self, i: int) -> str:
        """Query `i`, counted from 0, as a person reads it; it quotes values of the domains."""
        parts, columns = [], list(self.table.quasi_identifiers.items())
        for j, wanted in self.asked[i].items():
            name, hierarchy = columns[j]
            first, last = (label_words(hierarchy.domain[wanted[place]]) for place in (0, -1))
            others = f"one of {len(wanted)} values such as {first}" if self._orders[j] is None else f"{first} to {last}"
            parts.append(f"{name} {first if len(wanted) == 1 else others}")
        return plain(" and ".join(parts))

    @cached_property
    def _orders(self) -> list[Ints | None]:
        """For each quasi-identifier of numbers or days its values in ascending order, what is missing last."""
        numbers = map(numbers_of, self.table.quasi_identifiers.values())
        return [None if own is None else np.argsort(own, kind="stable") for own in numbers]

    def _counted(self, boxes: Boxes) -> Values:
        """(n,) float array: how many rows of boxes each query finds."""
        counts = np.empty(self.n)
        for i, query in enumerate(self.asked):
            found = boxes.rows.astype(float)
            for j, values in query.items():
                wanted = np.zeros(self.table.tuples.domain_sizes[j], dtype=np.bool_)
                wanted[values] = True
                found *= boxes.columns[j].shares(wanted)
            counts[i] = found.sum()
        return counts
