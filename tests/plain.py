"""Slow, obvious twin of the package: every number from the rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

Levels = list[dict[Any, Any]]


@dataclass
class Measured:
    """Measures of one node, with rows' classes and sizes before suppression.

    `released` tells the class afterwards: all suppressed rows are one, -1.
    """

    class_of: pd.Series
    size_of: pd.Series
    released: pd.Series
    n_suppressed: int
    k: int
    S_k: int
    GLM: float
    l: int | None = None  # noqa: E741
    S_l: int | None = None
    CM: int | None = None


class PlainTable:
    """A frame with hierarchies for its quasi-identifiers.

    Args:
        frame: One row per person.
        hierarchies: Per quasi-identifier its levels, each a dict from every value of the domain to its label.
    """

    def __init__(self, frame: pd.DataFrame, hierarchies: dict[str, Levels]) -> None:
        self.frame = frame.reset_index(drop=True)
        self.hierarchies = hierarchies
        self.columns = list(hierarchies)
        self.codes = {column: pd.factorize(self.frame[column], use_na_sentinel=False)[0] for column in self.frame}
        self.groups, self.costs = {}, {}
        for column, levels in hierarchies.items():
            for level, label_of in enumerate(levels):
                labels = pd.Series([label_of[value] for value in self.frame[column]], dtype=object)
                values_below = labels.map([*label_of.values()].count)
                # Small whole numbers in place of the labels, so that they are grouped quickly.
                self.groups[column, level] = pd.factorize(labels)[0]
                self.costs[column, level] = (values_below - 1) / max(len(label_of) - 1, 1)

    def measure(
        self, node: Any, sensitive: str | None = None, label: str | None = None, limit: int = 0, below: int = 0
    ) -> Measured:
        """Measure one node.

        Args:
            node: The level of every quasi-identifier.
            sensitive: Column that l and S_l read.
            label: Column that CM reads.
            limit: At most so many rows are suppressed, unless `below` is given.
            below: Every class of fewer rows than this is suppressed.
        """
        chosen = list(zip(self.columns, map(int, node), strict=True))
        # One number for each combination of groups, so that there is one column to group.
        key, n_keys = np.zeros(len(self.frame), dtype=np.int64), 1
        for choice in chosen:
            n_groups = int(self.groups[choice].max(initial=0)) + 1
            key, n_keys = key * n_groups + self.groups[choice], n_keys * n_groups
        assert n_keys < 2**63
        class_of = pd.factorize(key)[0]
        sizes = np.bincount(class_of)
        size_of = sizes[class_of]
        if below == 0:
            # The smallest k for which the classes of at most k rows hold more rows than the limit.
            each, n_classes = np.unique(sizes, return_counts=True)
            below = int(each[(each * n_classes).cumsum() > limit][0])
        kept = size_of >= below
        released = np.where(kept, class_of, -1)
        n_suppressed = int((~kept).sum())
        cost = sum(self.costs[choice].to_numpy() for choice in chosen)
        measured = Measured(
            pd.Series(class_of),
            pd.Series(size_of),
            pd.Series(released),
            n_suppressed,
            k=int(size_of[kept].min()) if kept.any() else len(self.frame),
            S_k=int((sizes[sizes >= below] ** 2).sum() + n_suppressed**2),
            GLM=float(np.where(kept, cost, len(chosen)).sum()),
        )
        if sensitive is not None:
            counts = self._counts(released, sensitive)
            distinct = (counts > 0).sum(axis=1)[1:]
            measured.l = int(distinct[distinct > 0].min()) if kept.any() else self.frame[sensitive].nunique()
            measured.S_l = int((counts**2).sum())
        if label is not None:
            measured.CM = len(self.frame) - int(self._counts(released, label)[1:].max(axis=1).sum())
        return measured

    def _counts(self, released: np.ndarray, column: str) -> np.ndarray:
        """Count the values of a column per class, suppressed rows first."""
        n_values = int(self.codes[column].max()) + 1
        pairs = (released + 1) * n_values + self.codes[column]
        return np.bincount(pairs, minlength=(released.max() + 2) * n_values).reshape(-1, n_values)


def read_levels(path: str | Path, kind: type = str) -> Levels:
    """Read the levels of a hierarchy file, with values of type `kind`."""
    table = pd.read_csv(path, sep=";", header=None, dtype=str, keep_default_na=False)
    return [dict(zip(table[0].map(kind), table[level], strict=True)) for level in table]


def assert_same_classes(classes: Any, tuple_of_row: Any, measured: Measured) -> None:
    """Check the classes of one generalization, with `class_of`, against the rows.

    Args:
        classes: The package's classes.
        tuple_of_row: The distinct tuple that each row is.
        measured: The twin's numbers.
    """
    of_row = classes.class_of[0][tuple_of_row]
    pairs = set(zip(of_row.tolist(), measured.class_of, strict=True))
    assert len(pairs) == len(classes.sizes) == measured.class_of.nunique()
    np.testing.assert_array_equal(classes.sizes[of_row], measured.size_of)
    np.testing.assert_array_equal(classes.class_of[0][classes.representatives], np.arange(len(classes.sizes)))
    assert classes.n_suppressed.tolist() == [measured.n_suppressed]


def dominates(a, b):
    return all(x <= y for x, y in zip(a, b, strict=True)) and any(x < y for x, y in zip(a, b, strict=True))


def updated(archive, node, F, box):
    """Update an archive by Algorithm 1 of Dewri et al. (2010), as printed."""

    def box_dominates(a, b):
        return dominates(F(a), F(b)) if box(a) == box(b) else dominates(box(a), box(b))

    archive = [member for member in archive if not box_dominates(node, member)]
    if not any(box_dominates(member, node) or box(member) == box(node) for member in archive):
        archive.append(node)
    return archive
