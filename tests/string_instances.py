"""Random problems of bit strings as plain arrays, and what enumeration makes of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from strategies import grown

from pymoo_anon.table import Taxonomy


@dataclass
class Strings:
    """Distinct tuples, and the groups that every attribute may have.

    Attributes:
        codes: (n_tuples, n_attributes) array.
        counts: The rows of each tuple.
        spans: Per attribute first and last of its groups.
        weights: Per attribute what a row of each group costs.
        rate: What a suppressed row costs.
        k: The smallest class that is kept.
    """

    codes: np.ndarray
    counts: np.ndarray
    spans: list[np.ndarray]
    weights: list[np.ndarray]
    rate: float
    k: int

    @property
    def sizes(self) -> list[int]:
        return [int(own[-1, 1]) for own in self.spans]

    @property
    def offsets(self) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(self.sizes)])

    @property
    def names(self) -> list[int]:
        return list(range(len(self.spans)))

    def cuts(self, attribute: int) -> list[tuple[int, ...]]:
        """Every cut of an attribute, as places of its groups."""
        spans, n = self.spans[attribute].tolist(), self.sizes[attribute]

        def from_value(at: int) -> list[tuple[int, ...]]:
            if at == n:
                return [()]
            return [(i, *rest) for i, (low, high) in enumerate(spans) if low == at for rest in from_value(high)]

        return from_value(0)

    def strings(self) -> list[tuple[tuple[int, ...], ...]]:
        """Every string, as a cut of every attribute."""
        return list(product(*map(self.cuts, self.names)))

    def group_of(self, attribute: int, cut: tuple[int, ...], value: int) -> int:
        """The place of the group that holds a value."""
        (place,) = (i for i in cut if self.spans[attribute][i, 0] <= value < self.spans[attribute][i, 1])
        return int(place)

    def boxes(self, string: Any) -> Counter[tuple[int, ...]]:
        """The rows of every box of a string that holds any."""
        rows: Counter[tuple[int, ...]] = Counter()
        for code, count in zip(self.codes.tolist(), self.counts.tolist(), strict=True):
            rows[tuple(self.group_of(a, string[a], code[a]) for a in self.names)] += count
        return rows

    def gain(self, string: Any, price: float = 0.0) -> float:
        """What the boxes of a string gain in all."""
        gained = 0.0
        for box, rows in self.boxes(string).items():
            if rows >= self.k:
                gained += rows * (self.rate + price - sum(self.weights[a][i] for a, i in enumerate(box)))
        return gained

    def suppressed(self, string: Any) -> int:
        return sum(rows for rows in self.boxes(string).values() if rows < self.k)

    def map_of(self, string: Any) -> tuple[np.ndarray, np.ndarray]:
        """For every value the number of its group in its cut, and what it costs."""
        numbers, costs = [], []
        for a, cut in enumerate(string):
            for value in range(self.sizes[a]):
                place = self.group_of(a, cut, value)
                numbers.append(sorted(cut).index(place))
                costs.append(self.weights[a][place])
        return np.array(numbers), np.array(costs)


def invented(seed: int, sizes: tuple[int, ...] = (), weighted: bool = True) -> Strings:
    """Random tuples over small domains, some of them with the spans of a random tree, others with all intervals."""
    rng = np.random.default_rng(seed)
    sizes = sizes or tuple(rng.integers(1, 6, rng.integers(2, 5)).tolist())
    codes = np.unique(np.column_stack([rng.integers(0, n, 30) for n in sizes]), axis=0)
    spans, weights = [], []
    for n in sizes:
        own = [(i, j) for i in range(n) for j in range(i + 1, n + 1)]
        if n > 1 and rng.random() < 0.4:
            tree = Taxonomy.from_nested(grown(lambda low, high: int(rng.integers(low, high + 1)), n))
            own = sorted(map(tuple, tree.spans[:, :2].tolist()))
        spans.append(np.array(own, dtype=np.int64))
        weight = rng.integers(1, 4) if weighted else 1
        weights.append(weight * (spans[-1] @ [-1, 1] - 1) / max(n - 1, 1))
    rate = float(sum(own.max(initial=0) + 1 for own in weights))
    counts = rng.integers(1, 5, len(codes))
    return Strings(codes.astype(np.int64), counts, spans, weights, rate, int(rng.integers(1, 12)))
