"""Property vectors: random ones, the paper's, and slow twins of the comparators."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

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


def weakly_dominates(a: Sequence[float], b: Sequence[float]) -> bool:
    return all(x >= y for x, y in zip(a, b, strict=True))


def strongly_dominates(a: Sequence[float], b: Sequence[float]) -> bool:
    return weakly_dominates(a, b) and any(x > y for x, y in zip(a, b, strict=True))


def minimum(a: Sequence[float], b: Sequence[float]) -> float:
    return min(a)


def distance(a: Sequence[float], point: float) -> float:
    return math.sqrt(sum((Fraction(x) - Fraction(point)) ** 2 for x in a))


def coverage(a: Sequence[float], b: Sequence[float]) -> Fraction:
    return Fraction(sum(x >= y for x, y in zip(a, b, strict=True)), len(a))


def spread(a: Sequence[float], b: Sequence[float]) -> Fraction:
    return sum((max(Fraction(x) - Fraction(y), Fraction(0)) for x, y in zip(a, b, strict=True)), Fraction(0))


def volume(a: Sequence[float], b: Sequence[float]) -> Fraction:
    smaller = [min(Fraction(x), Fraction(y)) for x, y in zip(a, b, strict=True)]
    return math.prod(map(Fraction, a)) - math.prod(smaller)


def log_of(number: Fraction) -> float:
    """Compute the natural logarithm of an exact number of any size."""
    if number == 0:
        return -math.inf
    return math.log(number.numerator) - math.log(number.denominator)


def measured(prop, name):
    """Measure a property of one of the paper's anonymizations."""
    return prop.measure(paper.TABLE.equivalence_classes(paper.GENERALIZATIONS[name]))


SIZES = {name: measured(ClassSize(), name) for name in paper.GENERALIZATIONS}


def check_tournament(comparator, given):
    """Check that a tournament is all of its pairs, and return it."""
    played = comparator.tournament(given)
    opposite = {"better": "worse", "worse": "better", "equal": "equal", "incomparable": "incomparable"}
    for i, a in enumerate(given):
        for j, b in enumerate(given):
            assert played.indices[i, j] == comparator.index(a, b)
            assert played.verdicts[i, j] == comparator.compare(a, b) == opposite[played.verdicts[j, i]]
        assert played.verdicts[i, i] == "equal"
    return played


class Binary(Comparator):
    """A custom comparator: P_binary of section 3, counting tuples better off."""

    name = "better off"

    def index(self, d1, d2):
        return int(d1.counts[d1.oriented > d2.oriented].sum())
