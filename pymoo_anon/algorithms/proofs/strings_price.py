"""The price of a suppressed row, where suppression has a limit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.algorithms.proofs.strings_climb import climb
from pymoo_anon.algorithms.proofs.strings_space import Asked, StringSpace

Ints = NDArray[np.int64]

# How often the price is halved in between.
_STEPS = 8


def priced(
    space: StringSpace,
    k: int,
    limit: int,
    before: float | None,
    start: Sequence[Ints],
    random_state: np.random.Generator,
) -> Asked:
    """What is searched for at a threshold, with a price that makes bounds strong.

    Every price gives valid bounds. They are strongest where a string that is best at the price suppresses about as many
    rows as the limit allows. A local search stands in for the best string: prices are tried by bisection.

    Args:
        space: The tables.
        k: The threshold.
        limit: The limit.
        before: The price of the threshold before, or None.
        start: Where local searches begin.
        random_state: Draws their order of pairs.
    """
    n_rows = space.instance.n_rows
    if limit == n_rows:
        return Asked(k, limit, 0.0)
    most = space.largest_price()
    if limit == 0:
        return Asked(k, limit, most)

    def fits(price: float) -> bool:
        asked = Asked(k, limit, float(np.rint(price)))
        return space.n_suppressed(climb(space, start, asked, random_state), k) <= limit

    if fits(0.0):
        return Asked(k, limit, 0.0)
    # What a row saves on average, as a scale.
    low, high = 0.0, before or space.instance.most / space.instance.unit / n_rows
    # The invariant: local optima at `low` suppress too much; those at `high` do not, or it is the greatest price.
    while high < most and not fits(high):
        low, high = high, min(4 * high, most)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return Asked(k, limit, float(np.rint(high)))
