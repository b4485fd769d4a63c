"""Property vectors: random ones, and the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from benchmarks.papers import dewri2009_tables as paper
from pymoo_anon.comparison import ClassSize, Comparator, PropertyVector
from pymoo_anon.engine import DistinctTuples

WHOLE = st.integers(0, 9).map(float)
POSITIVE = st.integers(1, 9).map(float)
REAL = st.floats(0, 100).filter(lambda value: value == 0 or value > 1e-6)


@dataclass
class Group:
    """Vectors of one property on one table, with counts of the values."""

    vectors: list[PropertyVector]

    @property
    def plain(self) -> list[np.ndarray]:
        """All tuples as arrays, with higher as better."""
        return [one.expand() * (1 if one.maximize else -1) for one in self.vectors]


def table_of(counts: Sequence[int]) -> DistinctTuples:
    """Build a table with one distinct tuple per count."""
    return DistinctTuples(np.arange(len(counts))[:, None], np.array(counts), (len(counts),))


@st.composite
def groups(
    draw: st.DrawFn, of: st.SearchStrategy[float] = REAL, n: int = 2, maximize: bool | None = True, size: int = 8
) -> Group:
    """Draw `n` vectors on one table, with one direction for all."""
    counts = draw(st.lists(st.integers(1, 5), min_size=1, max_size=size))
    table = table_of(counts)
    up = draw(st.booleans()) if maximize is None else maximize
    rows = draw(st.lists(st.lists(of, min_size=len(counts), max_size=len(counts)), min_size=n, max_size=n))
    return Group([PropertyVector(np.array(row), table, "drawn", up) for row in rows])


def measured(prop, name):
    """Measure a property of one of the paper's anonymizations."""
    return prop.measure(paper.TABLE.equivalence_classes(paper.GENERALIZATIONS[name]))


SIZES = {name: measured(ClassSize(), name) for name in paper.GENERALIZATIONS}


class Binary(Comparator):
    """A custom comparator: P_binary of section 3, counting tuples better off."""

    name = "better off"

    def index(self, d1, d2):
        return int(d1.counts[d1.oriented > d2.oriented].sum())
