"""Which attributes of a search over bit strings are tabled, and in which order the others are fixed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np

from pymoo_anon.algorithms.proofs.strings.instance import StringInstance

Four = tuple[int, int, int, int]

# A table of three attributes has at most so many numbers, one of four at most so many bytes.
_LARGEST_OF_THREE = 1 << 22
_LARGEST_OF_FOUR = 1 << 27


@dataclass(frozen=True)
class Plan:
    """The order of a search.

    Attributes:
        order: The attributes that are fixed, one after the other.
        tables: For every number of fixed attributes the four that are tabled; the first is walked. Others that follow
            are a smaller table, which says first whether anything is left. The number behind the last attribute stands
            for one that lacks.
    """

    order: tuple[int, ...]
    tables: tuple[tuple[Four, ...], ...]


def plan(instance: StringInstance, max_bytes: int) -> Plan:
    """The plan that fits the rows of an instance.

    What matters of an attribute is how many values its rows are spread over, not how many there are: of 41 countries
    where nine of ten rows have one, few cuts differ much. So the three attributes of the greatest entropy are tabled,
    of those whose table is not too large. The others are fixed in the order of their entropy, the greatest first, which
    raises bounds soonest; but the one of the most groups comes last, where its cuts are walked and make no parts.
    """
    n = instance.n_attributes
    groups = [*map(len, instance.spans), 1]
    spread = [*(_entropy(instance, attribute) for attribute in range(n)), 0.0]
    candidates = [*range(n), *[n] * max(3 - n, 0)]
    found = sorted(combinations(candidates, 3), key=lambda three: -sum(spread[a] for a in three))
    # The smallest table where none is small enough.
    most = max(_LARGEST_OF_THREE, min(_product(groups, three) for three in found))
    tabled = next(three for three in found if _product(groups, three) <= most)
    e, p, q = sorted(tabled, key=lambda a: (groups[a], a))
    others = set(range(n)) - set(tabled)
    last = max(others, key=lambda a: (groups[a], -spread[a], a), default=n)
    order = sorted(others, key=lambda a: (a == last, -spread[a], a))
    # A walk keeps several tables, and threads have one each.
    fitting = min(max_bytes // 16, _LARGEST_OF_FOUR) // 8
    tables: list[tuple[Four, ...]] = [
        ((a, e, p, q),) if _product(groups, (a, e, p, q)) <= fitting else ((a, n, p, q), (n, e, p, q)) for a in order
    ]
    return Plan(tuple(order), (*tables, ((n, e, p, q),)))


def _product(groups: list[int], tabled: tuple[int, ...]) -> int:
    return prod(groups[attribute] for attribute in tabled)


def _entropy(instance: StringInstance, attribute: int) -> float:
    """The entropy of an attribute's values in bits."""
    rows = np.bincount(instance.codes[:, attribute], instance.counts)
    shares = rows[rows > 0] / rows.sum()
    return float(-(shares * np.log2(shares)).sum())
