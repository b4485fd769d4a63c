"""A local search over bit strings: two attributes at a time get their best strings, given those of the others."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.algorithms.proofs.strings_space import Asked, StringSpace
from pymoo_anon.algorithms.proofs.strings_walk import FOUND

Ints = NDArray[np.int64]

# A pair is left as it is after so many numbers of its table.
_MOST_WORK = 20_000_000


def climb(
    space: StringSpace, cuts: Sequence[Ints], asked: Asked, random_state: np.random.Generator, passes: int = 100
) -> list[Ints]:
    """Cuts that no exchange of two attributes' strings improves, unless one took too long.

    Args:
        space: The tables.
        cuts: Per attribute its path, where the search begins.
        asked: What is searched for; a price in place of the limit.
        random_state: Draws the order of the pairs.
        passes: At most so many passes over all pairs.
    """
    found = list(cuts)
    n = len(found)
    free = Asked(asked.k, space.instance.n_rows, asked.price)
    pairs = list(combinations(range(n), 2)) if n > 1 else [(0, space.none)]
    for _ in range(passes):
        better = False
        for i in random_state.permutation(len(pairs)):
            better |= _exchange(space, found, pairs[i], free)
        if not better:
            break
    return found


def _exchange(space: StringSpace, cuts: list[Ints], pair: tuple[int, int], asked: Asked) -> bool:
    """Give two attributes their best strings, in place; whether that is better."""
    p, q = sorted(pair, key=lambda attribute: len(space.spans[attribute]))
    fixed = {a: cut for a, cut in enumerate(cuts) if a not in pair}
    walk = space.walk(fixed, (space.none, space.none, p, q), asked)
    assert walk is not None, "without a limit no node loses too many rows"
    of_q = cuts[q]
    of_p = cuts[p] if p != space.none else np.zeros(1, dtype=np.int64)
    before = gain = float(walk.table[0, 0][np.ix_(of_p, of_q)].sum())
    while walk.go(gain, _MOST_WORK) == FOUND:
        gain = walk.found_gain
        _, _, of_p, of_q = walk.cuts
    cuts[q] = of_q
    if p != space.none:
        cuts[p] = of_p
    return gain > before
