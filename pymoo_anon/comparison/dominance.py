"""Comparators of dominance (Dewri et al. 2009, section 4): nobody is worse off, so that no bias can hide.

Theorem 1 of the paper says what dominance costs. Let n unary indices P_1, ..., P_n decide weak dominance between all
vectors of N tuples: d1 ⪰ d2 exactly where P_i(d1) >= P_i(d2) for every i. Then n is at least N. The N values themselves
are such indices, so that N is also enough.

Why fewer cannot do: for each tuple i take the vector e_i, which is 1 at i and 0 elsewhere, and c_i, which is 0 at i and
1 elsewhere. c_i does not dominate e_i, so some index p has P_p(c_i) < P_p(e_i). With n < N, two tuples i and j share
one p. c_j dominates e_i and c_i dominates e_j, hence P_p(c_i) < P_p(e_i) <= P_p(c_j) < P_p(e_j) <= P_p(c_i), which no
number can fulfil. So these 2 N vectors alone need N indices. The paper says the same of strong dominance.

Corollary 2: sets of r vectors need r N indices. A set is one vector of r N values, and dominance of sets is dominance
of these.

Corollary 1 says that N indices are needed for every set of vectors of one property. That is too much: of two tuples the
class sizes are (1, 1) or (2, 2), and `Minimum` alone decides between them. It holds for every set that has 2 N vectors
which dominate one another as the e_i and c_i do.

So `Minimum`, `Rank`, or a mean cannot take the place of these comparators, nor can all of them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.comparison.base import Comparator, Tournament
from pymoo_anon.comparison.indices import coverages

Truths = NDArray[np.bool_]


class _Dominance(Comparator):
    """A comparator whose index is 1.0 where the first is so related to the second, else 0.0.

    The verdict is the relation of the two from both directions, whatever the index asks. Sets are compared by Table 4
    of Dewri et al. 2009: one weakly dominates another if each of its vectors does.
    """

    takes_sets = True

    def _play(self, vectors: Sequence[Any]) -> Tournament:
        # A vector weakly dominates another if it covers it in all tuples.
        covers = [coverages(part.values, part.counts) == part.counts.sum() for part in self._aligned(vectors)]
        weak: Truths = np.logical_and.reduce(covers)
        outcomes = np.select([weak & weak.T, weak, weak.T], [0, 1, -1], default=2)
        return Tournament(self._holds(weak).astype(float), outcomes.astype(np.int8))

    def _holds(self, weak: Truths) -> Truths:
        """(n, n) Boolean array: where the relation holds."""
        raise NotImplementedError


class WeakDominance(_Dominance):
    """d1 ⪰ d2: no tuple is worse off with the first (Dewri et al. 2009, Table 4).

    >>> WeakDominance().index([3, 3, 4], [3, 3, 4]), WeakDominance().compare([3, 3, 4], [3, 3, 4])
    (1.0, 'equal')
    >>> WeakDominance().compare([3, 3, 4], [3, 4, 3])
    'incomparable'
    """

    name = "weak dominance"

    def _holds(self, weak: Truths) -> Truths:
        return weak


class StrongDominance(_Dominance):
    """d1 ≻ d2: no tuple is worse off with the first, and one is better off (Dewri et al. 2009, Table 4)."""

    name = "strong dominance"

    def _holds(self, weak: Truths) -> Truths:
        return weak & ~weak.T


class NonDominance(_Dominance):
    """d1 ∥ d2: some tuple is worse off with the first, and some is with the second (Dewri et al. 2009, Table 4).

    For sets: neither weakly dominates the other. Table 4 asks for more: a vector of each set that strongly dominates
    its counterpart. Sets whose vectors of one property are themselves incomparable would then have no relation at all.
    """

    name = "non-dominance"

    def _holds(self, weak: Truths) -> Truths:
        return ~weak & ~weak.T
