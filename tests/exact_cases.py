"""Small random tables, each with every measure and plain releases, for the twins in exact arithmetic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from exact_twins import Release, counts
from measures import measures_of
from strategies import microdata_of

from pymoo_anon.objectives import *
from pymoo_anon.table import AtMost, Below, Hierarchy, Microdata, Violating


@dataclass
class Case:
    """A small table, as rows and as the package takes it."""

    rows: list[dict[str, Any]]
    hierarchies: dict[str, Hierarchy]
    table: Microdata
    population: Microdata

    def objectives(self) -> list[Any]:
        """Return every measure, some with several arguments."""
        n = len(self.hierarchies)
        weights = np.arange(1, n + 1) / 10
        last = np.full(n, 0.1)
        last[-1] = round(1 - 0.1 * (n - 1), 1)
        order = sorted(counts(self.rows, "ill"), reverse=True)
        tree = Hierarchy([order, [value[0] for value in order], ["*"] * len(order)])
        return [
            *measures_of("ill", "who", "ill"),
            DeltaPresence(self.population),
            GeneralLossMetric(weights),
            KMap(self.population),
            LeastPayout(0.25, 1.5, 700, 600, self.population),
            LeastPresence(self.population),
            MarketerRisk(self.population),
            NormalizedWeightedPenalty(last),
            PublisherPayout(0.25, 1.5, 700, 600, self.population),
            RecordsAtRisk(0.25),
            RecursiveCLDiversity("ill", 1.5),
            TCloseness("ill", order),
            TCloseness("ill", tree),
        ]

    def release(self, generalization: Any, rule: Any, broken: Callable[[Release], bool] | None = None) -> Release:
        """Release the table under a generalization and a rule.

        Args:
            generalization: A `Generalization`.
            rule: A rule of suppression.
            broken: Whether a class, given as a release of itself alone, breaks a constraint; for `Violating`.
        """
        group_of = {
            name: dict(zip(hierarchy.domain, generalization.groups[name].tolist(), strict=True))
            for name, hierarchy in self.hierarchies.items()
        }
        whole = Release(self.rows, self.hierarchies, group_of, [True] * len(self.rows))
        sizes = Counter(map(whole.cell, self.rows))
        if isinstance(rule, Below):
            gone = {cell for cell, size in sizes.items() if size < rule.k}
        elif isinstance(rule, AtMost):
            limit = rule.limit_of(len(self.rows))
            smallest = min(s for s in sizes.values() if sum(o for o in sizes.values() if o <= s) > limit)
            gone = {cell for cell, size in sizes.items() if size < smallest}
        else:
            assert isinstance(rule, Violating)
            assert broken is not None
            gone = set()
            for cell in sizes:
                # All other rows are gone, so that only this class counts.
                only = Release(self.rows, self.hierarchies, group_of, [whole.cell(row) == cell for row in self.rows])
                if broken(only):
                    gone.add(cell)
        kept = [whole.cell(row) not in gone for row in self.rows]
        return Release(self.rows, self.hierarchies, group_of, kept)


def case(seed: int, n_rows: int = 14) -> Case:
    """Draw a small table with some persons in several rows."""
    rng = np.random.default_rng(seed)
    hierarchies = {}
    for j in range(int(rng.integers(2, 4))):
        size = int(rng.integers(1, 7))
        values = [f"{'abc'[j]}{i}" for i in range(size)]
        pairs = [f"p{min(i // 2, max(size // 2 - 1, 0))}" for i in range(size)]
        levels = [values, pairs, ["*"] * size]
        hierarchies[f"q{j}"] = Hierarchy(
            [levels[level] for level in [[0], [0, 2], [0, 1, 2]][int(rng.integers(size > 1, 3))]]
        )
    n = int(rng.integers(2, n_rows + 1))
    ills = ["u1", "u2", "v1", "v2", "w1"][: int(rng.integers(1, 6))]
    odds = rng.dirichlet(np.full(len(ills), 0.8))
    rows = [
        {
            **{
                name: h.domain[int(rng.integers(0, h.n_values) ** rng.uniform(0.4, 1))]
                for name, h in hierarchies.items()
            },
            "ill": str(rng.choice(ills, p=odds)),
            "who": int(rng.integers(0, n)),
        }
        for _ in range(n)
    ]
    more = [{name: h.domain[int(rng.integers(0, h.n_values))] for name, h in hierarchies.items()} for _ in range(6)]
    table = microdata_of({name: [row[name] for row in rows] for name in rows[0]}, hierarchies, ("ill",), person="who")
    # Rows may be missing in the population.
    persons = [{name: row[name] for name in hierarchies} for row in rows if seed % 3 or rng.random() < 0.5]
    everybody = {name: [row[name] for row in (*persons, *more)] for name in hierarchies}
    return Case(rows, hierarchies, table, microdata_of(everybody, hierarchies))
