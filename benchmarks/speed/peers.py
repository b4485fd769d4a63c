"""Evaluation of a node of Adult's lattice by pandas, numpy and pycanon."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from benchmarks.tables import recoded
from pymoo_anon.datasets import fetch_adult_frame
from pymoo_anon.table import Microdata


class ByPandas:
    """Group the rows by their recoded columns, as one would in a notebook."""

    def __init__(self, table: Microdata, limit: int) -> None:
        self.limit = limit
        frame = fetch_adult_frame()
        self.occupation = frame["occupation"].astype("category").cat.codes
        self.salary = frame["salary-class"].astype("category").cat.codes
        self.levels = {}
        for name, hierarchy in table.quasi_identifiers.items():
            code = frame[name].map({value: i for i, value in enumerate(hierarchy.domain)}).to_numpy()
            self.levels[name] = [
                (groups[code], (np.bincount(groups)[groups][code] - 1) / (hierarchy.n_values - 1))
                for groups in hierarchy.groups
            ]

    def __call__(self, x: np.ndarray) -> list[float]:
        chosen = [levels[level] for levels, level in zip(self.levels.values(), x, strict=True)]
        rows = pd.DataFrame({j: groups for j, (groups, _) in enumerate(chosen)})
        class_of = rows.groupby(list(rows)).ngroup()
        sizes = class_of.value_counts()
        up_to = sizes.groupby(sizes).sum().sort_index().cumsum()
        below = up_to.index[up_to > self.limit][0]
        kept = class_of.map(sizes) >= below
        class_of = class_of.where(kept, -1)
        occupations = self.occupation.groupby([class_of, self.occupation]).size()
        salaries = self.salary.groupby([class_of, self.salary]).size()
        distinct = occupations.drop(-1, errors="ignore").groupby(level=0).size()
        majority = salaries.drop(-1, errors="ignore").groupby(level=0).max()
        loss = sum(np.where(kept, cost, 1.0).sum() for _, cost in chosen)
        return [
            sizes[sizes >= below].min(),
            distinct.min(),
            (class_of.value_counts() ** 2).sum(),
            (occupations**2).sum(),
            loss,
            len(rows) - majority.sum(),
        ]


class ByNumpy:
    """Group the distinct tuples by one long key, with weighted counts."""

    def __init__(self, table: Microdata, limit: int) -> None:
        self.limit = limit
        tuples = table.tuples
        self.counts = tuples.counts
        self.levels = [
            [(g[codes], len(np.unique(g)), (np.bincount(g)[g] - 1)[codes] / (h.n_values - 1)) for g in h.groups]
            for h, codes in zip(table.quasi_identifiers.values(), tuples.codes.T, strict=True)
        ]
        self.columns = []
        for name in ("occupation", "salary-class"):
            column = tuples.columns[name]
            rows = np.repeat(np.arange(len(tuples)), np.diff(column.starts))
            self.columns.append((rows, column.values, column.counts, column.n_values))

    def __call__(self, x: np.ndarray) -> list[float]:
        key = np.zeros(len(self.counts), dtype=np.int64)
        for levels, level in zip(self.levels, x, strict=True):
            key = key * levels[level][1] + levels[level][0]
        _, class_of = np.unique(key, return_inverse=True)
        sizes = np.bincount(class_of, self.counts)
        up_to = np.cumsum(np.bincount(sizes.astype(np.int64), sizes))
        below = np.argmax(up_to > self.limit)
        kept = sizes >= below
        suppressed = sizes[~kept].sum()
        histograms = [
            np.bincount(class_of[rows] * n + values, counts, minlength=len(sizes) * n).reshape(-1, n)
            for rows, values, counts, n in self.columns
        ]
        occupations, salaries = histograms
        gone = ~kept[class_of]
        loss = sum(
            np.where(gone, 1.0, levels[level][2]) @ self.counts for levels, level in zip(self.levels, x, strict=True)
        )
        return [
            sizes[kept].min(),
            (occupations[kept] > 0).sum(axis=1).min(),
            (sizes[kept] ** 2).sum() + suppressed**2,
            (occupations[kept] ** 2).sum() + (occupations[~kept].sum(axis=0) ** 2).sum(),
            loss,
            (sizes[kept] - salaries[kept].max(axis=1)).sum() + suppressed,
        ]


class ByPycanon:
    """Models of pycanon over the recoded rows, nothing suppressed.

    It is imported late, as its pinned requirements are older than this package's: `pip install --no-deps pycanon`.
    """

    def __init__(self, table: Microdata) -> None:
        from pycanon import anonymity
        from pycanon.metrics import discernability_metric

        self.frame, self.hierarchies = fetch_adult_frame(), table.quasi_identifiers
        self.models: dict[str, Callable[[pd.DataFrame, list[str]], float]] = {
            "k": anonymity.k_anonymity,
            "l": lambda rows, names: anonymity.l_diversity(rows, names, ["occupation"]),
            "t": lambda rows, names: anonymity.t_closeness(rows, names, ["occupation"]),
            "beta": lambda rows, names: anonymity.basic_beta_likeness(rows, names, ["occupation"]),
            "alpha": lambda rows, names: anonymity.alpha_k_anonymity(rows, names, ["occupation"])[0],
            "DM": lambda rows, names: discernability_metric(rows, rows, names),
        }

    def rows(self, x: np.ndarray) -> pd.DataFrame:
        return recoded(self.frame, self.hierarchies, x)

    def __call__(self, x: np.ndarray) -> list[float]:
        """Return k and l."""
        rows = self.rows(x)
        return [self.models[name](rows, list(self.hierarchies)) for name in ("k", "l")]
