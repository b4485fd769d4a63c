"""Which attributes of a search over bit strings are tabled, and in which order the others are fixed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np

from pymoo_anon.algorithms.proofs.strings_instance import StringInstance

# A table of three attributes has at most so many numbers.
_LARGEST_TABLE = 1 << 22


@dataclass(frozen=True)
class Plan:
    """The order of a search.

    Attributes:
        order: The attributes that are fixed, one after the other.
        tabled: Three attributes that are tabled; the last has the most groups. Where there are fewer, the number behind
            the last attribute stands for those that lack.
    """

    order: tuple[int, ...]
    tabled: tuple[int, int, int]


def plan(instance: StringInstance) -> Plan:
    """The plan that fits the rows of an instance.

    What matters of an attribute is how many values its rows are spread over, not how many there are: of 41 countries
    where nine of ten rows have one, few cuts differ much. So the three attributes of the greatest entropy are tabled,
    of those whose table is not too large. The others are fixed in the order of their entropy, the greatest first, which
    raises bounds soonest; but the one of the most groups comes last, where its cuts are walked and make no parts.

    Args:
        instance: The instance.
    """
    n = instance.n_attributes
    groups = [*map(len, instance.spans), 1]
    spread = [*(_entropy(instance, attribute) for attribute in range(n)), 0.0]
    candidates = [*range(n), *[n] * max(3 - n, 0)]
    found = sorted(combinations(candidates, 3), key=lambda three: -sum(spread[a] for a in three))
    # The smallest table where none is small enough.
    least = min(prod(groups[a] for a in three) for three in found)
    most = max(_LARGEST_TABLE, least)
    tabled = next(three for three in found if prod(groups[a] for a in three) <= most)
    e, p, q = sorted(tabled, key=lambda a: (groups[a], a))
    others = set(range(n)) - set(tabled)
    last = max(others, key=lambda a: (groups[a], -spread[a], a), default=n)
    order = sorted(others, key=lambda a: (a == last, -spread[a], a))
    return Plan(tuple(order), (e, p, q))


def _entropy(instance: StringInstance, attribute: int) -> float:
    """The entropy of an attribute's values in bits."""
    rows = np.bincount(instance.codes[:, attribute], instance.counts)
    shares = rows[rows > 0] / rows.sum()
    return float(-(shares * np.log2(shares)).sum())
