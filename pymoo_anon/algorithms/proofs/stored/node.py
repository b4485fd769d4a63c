"""The node that is looked at: its levels and floors, and the tuples that something is known of."""

from __future__ import annotations

import numpy as np

from pymoo_anon.algorithms.proofs.stored.known import SQUARES
from pymoo_anon.engine.compiled import njit

# An index of this type cannot be negative, so that numba leaves out the test whether it counts from the end.
_U = np.uint64


@njit(cache=True, nogil=True, allocates=False, forceinline=True)
def prepare(node, rules, known, scratch):  # type: ignore[no-untyped-def]
    """Write the levels and floors of a node, and forget the touched tuples."""
    rest = node
    for j in range(len(rules.strides)):
        scratch.x[j] = rest // rules.strides[j]
        rest -= scratch.x[j] * rules.strides[j]
    for a in range(len(scratch.floors)):
        # From the first attribute on, as the measure itself adds them up: the last bits have to agree.
        floor = rules.terms[a, 0, scratch.x[0]]
        for j in range(1, len(rules.strides)):
            floor += rules.terms[a, j, scratch.x[j]]
        scratch.floors[a] = floor
    for o in range(len(rules.kinds)):
        if rules.kinds[o] == SQUARES:
            scratch.squares[rules.places[o]] = -known.bounds[node, rules.columns[o]]
    scratch.marked[:] = 0
    scratch.touched[-1] = 0


@njit(cache=True, nogil=True, allocates=False)
def write_down(e, x, lengths, levels, reached):  # type: ignore[no-untyped-def]
    """Write the levels of a node that has become evidence, where `gather` looks for them."""
    bit = np.uint64(1) << np.uint64(63 - e % 64)
    step = 0
    for j in range(len(x)):
        levels[e, j] = x[j]
        for level in range(1, lengths[j] + 1):
            if level <= x[j]:
                reached[step, e // 64] |= bit
            else:
                # An interrupted call may have left it there.
                reached[step, e // 64] &= ~bit
            step += 1


@njit(cache=True, nogil=True, allocates=False, forceinline=True)
def gather(n_evidence, x, lengths, reached, words, accepted):  # type: ignore[no-untyped-def]
    """Gather the evidence of all generalizations of a node, the latest first.

    Args:
        n_evidence: How much evidence there is.
        x: (n_var,) int64, the levels of the node.
        lengths: (n_var,) int64, the greatest levels.
        reached: As in `Evidence`.
        words: (n_evidence / 64,) uint64 or longer, scratch.
        accepted: (n_evidence,) int64 or longer, written.

    Returns:
        How much was gathered.
    """
    n_words = (n_evidence + 63) // 64
    words[:n_words] = ~np.uint64(0)
    step = 0
    for j in range(len(x)):
        if x[j] > 0:
            row = reached[step + x[j] - 1]
            for w in range(n_words):
                words[w] &= row[w]
        step += lengths[j]
    # All nodes have the lowest levels, also those that are not there yet.
    if n_evidence % 64 > 0:
        words[n_words - 1] &= ~np.uint64(0) << np.uint64(64 - n_evidence % 64)
    n = 0
    for w in range(n_words - 1, -1, -1):
        word = words[w]
        # Invariant: the bits of the nodes that are gathered are cleared in `word`.
        while word > 0:
            low = word & (~word + np.uint64(1))
            # The exponent of a power of two is its place among the bits. A float holds it, plus 1023, behind 52 bits.
            place = (np.float64(low).view(np.int64) >> 52) - 1023
            accepted[n] = 64 * w + 63 - place
            n += 1
            word ^= low
    return n


@njit(cache=True, nogil=True, allocates=False)
def is_above(one, other):  # type: ignore[no-untyped-def]
    """Whether one node is a generalization of another, or the same."""
    j = 0
    while j < len(one) and one[j] >= other[j]:
        j += 1
    return j == len(one)


@njit(cache=True, nogil=True, allocates=False, forceinline=True)
def mark(t, marked):  # type: ignore[no-untyped-def]
    """Set the bit of a tuple, by its number as uint64; returns 1 where it was not set, else 0."""
    place = t & _U(63)
    word = marked[t >> _U(6)]
    marked[t >> _U(6)] = word | (_U(1) << place)
    return (~word >> place) & _U(1)


@njit(cache=True, nogil=True, allocates=False, forceinline=True)
def touch(t, scratch):  # type: ignore[no-untyped-def]
    """Make room for what is known of a tuple's classes; returns whether there was none."""
    if mark(_U(t), scratch.marked) == _U(0):
        return False
    for h in range(len(scratch.env)):
        scratch.env[h, t] = np.inf
    scratch.touched[scratch.touched[-1]] = t
    scratch.touched[-1] += 1
    return True
