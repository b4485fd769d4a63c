"""What is searched where generalizations are bit strings: tuples, allowed groups, and what each saves.

A valid string of one attribute is a path 0 -> n over the places between the values of its domain, and a group is an
edge from its first value to the value after its last. Allowed are all intervals of the domain or, where there is a
taxonomy, the spans of its nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.objectives.base import Objective
from pymoo_anon.problems.bitstrings import Bits, BitStringProblem

Ints = NDArray[np.int64]
Values = NDArray[np.float64]

# Sums of whole numbers up to here are exact as floats of 64 bits, in whatever order they are added.
LARGEST = 1 << 53

# Where a loss has no common denominator, everything that can be saved is about so many units.
_FINEST = 1 << 46


@dataclass(frozen=True, eq=False)
class StringInstance:
    """The bit strings of a `BitStringProblem` and one loss, as arrays of whole numbers.

    Gains are counted in units. Where the loss has a common denominator, units are its inverse, and gains are exact.
    Where it has none, what a tuple saves is rounded up to units, so that a gain is never too small; the gain of a
    string then is too large by less than `slack` units. The numbers are whole, but stand in arrays of floats: sums
    below 2^53 are exact.

    Attributes:
        codes: (n_distinct, n_attributes) int64 array, the distinct tuples as positions in the domains.
        counts: (n_distinct,) int64 array, how many rows hold each.
        sizes: (n_attributes,) int64 array, the number of values of each domain; not all of them occur.
        spans: Per attribute an (n_groups, 2) int64 array of allowed groups: first value, value after the last; in the
            order of these two numbers, so that every path meets its groups in this order.
        worths: Per attribute an (n_groups,) float array: what a kept tuple saves in each group, in units.
        flat: What a kept tuple saves in all groups, in units.
        square: Units that a kept class of n tuples loses for each of n^2.
        labels: (n_distinct, n_labels) int64 array where a class saves by its most frequent label, or None.
        most: The loss where every tuple is suppressed.
        unit: The loss that is one unit.
        slack: 0 where units are exact.
        offsets: (n_attributes + 1,) int64 array, where the bits of each attribute begin.
    """

    codes: Ints
    counts: Ints
    sizes: Ints
    spans: tuple[Ints, ...]
    worths: tuple[Values, ...]
    flat: float
    square: float
    labels: Ints | None
    most: float
    unit: float
    slack: float
    offsets: Ints

    @classmethod
    def of(cls, problem: BitStringProblem, loss: Objective) -> StringInstance:
        """The strings of a problem and one of its losses."""
        tuples = problem.table.tuples
        spans = tuple(
            _spans_of_taxonomy(problem.taxonomies[name].spans)
            if name in problem.taxonomies
            else _all_intervals(hierarchy.n_values)
            for name, hierarchy in problem.table.quasi_identifiers.items()
        )
        gains = loss.class_gains(tuples, spans)
        if gains is None:
            raise ValueError(f"{loss!r} does not say what a class saves by being kept, as GeneralLossMetric does")
        exact = gains.denominator > 0 and gains.most * gains.denominator < LARGEST // 4
        if gains.square and not exact:
            raise ValueError(f"{loss!r} must be of fewer rows, so that its sums are exact, got {tuples.n_rows:,}")
        # Where even the loss of everything is none, all units are as good.
        scale = float(gains.denominator) if exact else _FINEST / (gains.most or 1.0)
        whole = np.rint if exact else np.ceil
        return cls(
            tuples.codes,
            tuples.counts,
            np.array(tuples.domain_sizes, dtype=np.int64),
            spans,
            tuple(whole(own * scale) for own in gains.worths),
            float(whole(gains.flat * scale)),
            gains.square * scale,
            gains.labels,
            gains.most,
            1 / scale,
            0.0 if exact else float(tuples.n_rows * (len(spans) + 2)),
            np.asarray(problem.bit_offsets, dtype=np.int64),
        )

    @property
    def n_attributes(self) -> int:
        """Number of attributes."""
        return len(self.spans)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    @property
    def n_bits(self) -> int:
        """Number of bits of a string."""
        return int(self.offsets[-1])

    def bits_of(self, cuts: Sequence[Ints]) -> Bits:
        """(n_bits,) Boolean array: the string of one path per attribute."""
        bits = np.zeros(self.n_bits, dtype=bool)
        for attribute, cut in enumerate(cuts):
            firsts = self.spans[attribute][cut, 0]
            bits[self.offsets[attribute] + firsts[1:] - 1] = True
        return bits

    def cuts_of(self, bits: Bits) -> list[Ints]:
        """Per attribute an int64 array of the numbers of the groups of a valid string, from the first to the last."""
        cuts = []
        for attribute, size in enumerate(self.sizes):
            own = bits[self.offsets[attribute] : self.offsets[attribute + 1]]
            edges = [0, *(np.flatnonzero(own) + 1).tolist(), int(size)]
            number = {(int(first), int(last)): i for i, (first, last) in enumerate(self.spans[attribute])}
            cuts.append(np.array([number[span] for span in pairwise(edges)], dtype=np.int64))
        return cuts


def _all_intervals(n: int) -> Ints:
    """(n (n + 1) / 2, 2) int64 array: all intervals of n values, in order."""
    first, last = np.triu_indices(n)
    return np.column_stack([first, last + 1]).astype(np.int64)


def _spans_of_taxonomy(spans: Ints) -> Ints:
    """(n_groups, 2) int64 array: the spans of the nodes of a taxonomy, in order."""
    return np.unique(spans[:, :2], axis=0)
