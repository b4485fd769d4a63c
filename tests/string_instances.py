"""Random instances of bit strings, with sums by enumeration."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from strategies import grown

from pymoo_anon.proofs.instance import StringSpace
from pymoo_anon.table import Taxonomy


def paths(spans: Any, n: int, at: int = 0) -> list[tuple[int, ...]]:
    """Return every path of groups from a value to n, as their indices."""
    if at == n:
        return [()]
    return [(i, *rest) for i, (low, high) in enumerate(spans) if low == at for rest in paths(spans, n, high)]


@dataclass
class Strings:
    """An instance with its sums over strings by definition, tuple by tuple.

    Attributes:
        space: The arrays.
        k: The smallest class that is kept.
    """

    space: StringSpace
    k: int

    @property
    def names(self) -> list[int]:
        return list(range(self.space.none))

    def cuts(self, attribute: int) -> list[tuple[int, ...]]:
        """Return every cut of an attribute, as indices of its groups."""
        return paths(self.space.spans[attribute].tolist(), self.space.sizes[attribute])

    def strings(self) -> list[tuple[tuple[int, ...], ...]]:
        """Return every string, as a cut of every attribute."""
        return list(product(*map(self.cuts, self.names)))

    def group_of(self, attribute: int, cut: Any, value: int) -> int:
        """Return the index of the group that holds a value."""
        spans = self.space.spans[attribute]
        (place,) = (i for i in cut if spans[i, 0] <= value < spans[i, 1])
        return int(place)

    def boxes(self, string: Any) -> dict[tuple[int, ...], int]:
        """Count the rows of each block."""
        found: dict[tuple[int, ...], int] = Counter()
        for t, code in enumerate(self.space.codes.tolist()):
            box = tuple(self.group_of(a, string[a], code[a]) for a in self.names)
            found[box] += int(self.space.counts[t])
        return found

    def gain(self, string: Any, multiplier: float = 0.0) -> float:
        """Sum the gain of all blocks of a string."""
        worths = self.space.worths
        return sum(
            rows * (sum(worths[a][i] for a, i in enumerate(box)) + multiplier)
            for box, rows in self.boxes(string).items()
            if rows >= self.k
        )

    def suppressed(self, string: Any) -> int:
        return sum(rows for rows in self.boxes(string).values() if rows < self.k)

    def random_string(self, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        return tuple(np.array(cuts[rng.integers(len(cuts))]) for cuts in map(self.cuts, self.names))


def invented(seed: int, sizes: tuple[int, ...] = ()) -> Strings:
    """Draw tuples over small domains, with tree spans or all intervals."""
    rng = np.random.default_rng(seed)
    sizes = sizes or tuple(rng.integers(1, 6, rng.integers(1, 5)).tolist())
    codes = np.unique(np.column_stack([rng.integers(0, n, 30) for n in sizes]), axis=0)
    counts = rng.integers(1, 5, len(codes))
    spans, worths = [], []
    for n in sizes:
        own = [(i, j) for i in range(n) for j in range(i + 1, n + 1)]
        if n > 1 and rng.random() < 0.4:
            tree = Taxonomy(grown(lambda low, high: int(rng.integers(low, high + 1)), n))
            own = sorted(set(map(tuple, tree.spans[:, :2].tolist())))
        spans.append(np.array(own, dtype=np.int64))
        worths.append(float(rng.integers(1, 4)) * (n - np.diff(spans[-1], axis=1)[:, 0]))
    # A kept row gains something even if no attribute has two values.
    worths[0] += 1.0
    most = int(counts.sum()) * sum(own.max() for own in worths)
    space = StringSpace(codes.astype(np.int64), counts, spans, worths, float(most))
    return Strings(space, int(rng.integers(1, 12)))
