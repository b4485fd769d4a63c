"""Large neighbourhood search (Shaw 1998) over near classes.

A dual ascent prices the tuples. A tuple that is released at much more than its price probably is in the wrong class, so
neighbourhoods begin there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.engine.compiled import kernel, njit
from pymoo_anon.recoding.bound import Ascent, Items
from pymoo_anon.recoding.moves import LEAST_SAVED, Classes, class_holds, cost_with, cost_without, enter, leave
from pymoo_anon.recoding.trees import Requirements, Trees, hold, widen
from pymoo_anon.typing import Floats, Ints

# Passes of the ascent that make the prices.
_PASSES = 12

# Of each neighbourhood: how many classes it has at most, and how many tuples, or as many as this times k.
_NEAR, _TUPLES, _TUPLES_BY_K = 12, 40, 4

# The number of tuples tried as the first of a class, and the share of chance in comparisons.
_SEEDS, _NOISE = 6, 0.3


class Neighbourhoods(NamedTuple):
    """State of the search: classes, freed tuples, and their new classes."""

    classes: Classes  # With empty classes for those that are built while others are freed
    trial: Classes  # The new classes of the freed tuples, empty between neighbourhoods
    n_tuples: Ints  # (room,) int64, the number of tuples of each class
    spare: Ints  # (room,) int64, numbers of empty classes
    prices: Floats  # (n_tuples,) float, the price of a row of each tuple
    order: Ints  # (n_tuples,) int64, in which tuples begin neighbourhoods
    near: Ints  # (_NEAR,) int64, the classes of the neighbourhood
    keys: Floats  # (_NEAR,) float, how far they are
    freed: Ints  # (most,) int64, tuples
    grown: Ints  # (2, most) int64, tuples of the class that grows, and of the best so far
    tally: Ints  # (2,) int64, how many numbers are spare, and the next place of `order`
    state: NDArray[np.uint64]  # (1,) uint64, where the sequence of random numbers is

    @classmethod
    def of(cls, trees: Trees, tests: Requirements, class_of: Ints, prices: Floats) -> Neighbourhoods:
        """Begin a search at given classes."""
        _, numbers = np.unique(class_of, return_inverse=True)
        n_classes = int(numbers.max()) + 1
        # No recoding has more classes, and one cannot be built while another one is freed.
        room = max(int(trees.rows.sum()) // max(tests.k, 1), n_classes) + 1
        most = max(_TUPLES, _TUPLES_BY_K * tests.k)
        spare = np.zeros(room, dtype=np.int64)
        spare[: room - n_classes] = np.arange(n_classes, room)[::-1]
        return cls(
            classes=Classes.of(trees, tests, numbers, room),
            trial=Classes.of(trees, tests, np.full(len(numbers), -1), most),
            n_tuples=np.bincount(numbers, minlength=room).astype(np.int64),
            spare=spare,
            prices=prices,
            order=np.random.default_rng(0).permutation(len(trees.rows)),
            near=np.empty(_NEAR, dtype=np.int64),
            keys=np.empty(_NEAR),
            freed=np.empty(most, dtype=np.int64),
            grown=np.empty((2, most), dtype=np.int64),
            tally=np.array([room - n_classes, 0]),
            state=np.array([0x9E3779B97F4A7C15], dtype=np.uint64),
        )


def improved_classes(trees: Trees, tests: Requirements, class_of: Ints, price: float, n_improvements: int) -> Ints:
    """Try n neighbourhoods, the same ones each time, and keep those that lose less.

    Those given hold the tests, and so do those returned, (n_tuples,) int64 with unused numbers. A class costs a price
    beside the loss of its cells, in cells.
    """
    ascent = Ascent(trees, Items.of(trees, tests.k))
    for _ in range(_PASSES):
        ascent.advance()
    search = Neighbourhoods.of(trees, tests, class_of, ascent.prices)
    try_all(int(n_improvements), float(price), trees, tests, search)
    return search.classes.class_of


@njit(allocates=False)
def try_all(n, price, trees, tests, search):
    """Try n neighbourhoods, and keep those that lose less.

    The invariant: `class_of` and all that is known of each class describe classes that hold all requirements.
    """
    for _ in range(n):
        r = _begin(search)
        n_near, n_freed, lost = _free(r, price, trees, search)
        if n_near < 2:
            continue
        n_built = _build(n_freed, price, trees, tests, search)
        if n_built > 0:
            _exchange(n_freed, n_built, trees, tests, search)
            new = 0.0
            for c in range(n_built):
                new += search.trial.rows[c] * search.trial.costs[c] + price
            if new < lost - LEAST_SAVED and search.tally[0] + n_near >= n_built and _all_hold(n_built, tests, search):
                _accept(n_near, n_freed, n_built, trees, search)
        for r in search.freed[:n_freed]:
            search.trial.class_of[r] = np.int64(-1)
        for c in range(n_built):
            search.trial.rows[c], search.trial.heads[c] = np.int64(0), np.int64(-1)
            search.trial.cells[c] = -1


@kernel
def _chance(search):
    """Return the next random number of [0, 1): xorshift (Marsaglia 2003)."""
    x = search.state[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    search.state[0] = x
    return np.float64(x >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@kernel
def _begin(search):
    r = np.int64(0)
    for _ in range(200):
        r = search.order[search.tally[1]]
        search.tally[1] += 1
        if search.tally[1] == len(search.order):
            search.tally[1] = np.int64(0)
        cost = search.classes.costs[search.classes.class_of[r]]
        if cost > 0.0 and _chance(search) < 0.15 + (cost - search.prices[r]) / (0.5 * cost):
            break
    return r


@kernel
def _free(r, price, trees, search):
    """Free the class of a tuple and its neighbours."""
    most, n_near = len(search.freed), np.int64(0)
    for c in range(len(search.classes.rows)):
        if search.classes.rows[c] == 0 or search.n_tuples[c] > most:
            continue
        if c == search.classes.class_of[r]:
            key = -1.0
        else:
            # The key weighs how far the class has to widen against its cost then.
            luck, limit = 0.5 + _chance(search), np.inf
            if n_near == _NEAR:
                limit = (search.keys[_NEAR - 1] + luck * search.classes.costs[c]) / (luck + 0.05)
            cost = cost_with(c, r, limit, trees, search.classes)
            if cost > limit:
                continue
            key = max(cost - 0.999 * search.classes.costs[c], 0.0) * luck + 0.05 * cost
        if n_near < _NEAR:
            n_near += 1
        elif key >= search.keys[_NEAR - 1]:
            continue
        place = n_near - 1
        while place > 0 and search.keys[place - 1] > key:
            search.keys[place], search.near[place] = search.keys[place - 1], search.near[place - 1]
            place -= 1
        search.keys[place], search.near[place] = key, np.int64(c)
    n_taken, n_freed, lost = np.int64(0), np.int64(0), 0.0
    while n_taken < n_near and n_freed + search.n_tuples[search.near[n_taken]] <= most:
        c = search.near[n_taken]
        member = search.classes.heads[c]
        while member >= 0:
            search.freed[n_freed] = member
            n_freed += 1
            member = search.classes.following[member]
        lost += search.classes.rows[c] * search.classes.costs[c] + price
        n_taken += 1
    return n_taken, n_freed, lost


@kernel
def _build(n_freed, price, trees, tests, search):
    """Build classes of the freed tuples, and return their number. Each is the best of several tries."""
    trial, left, n_built = search.trial, n_freed, np.int64(0)
    while left > 0:
        best, n_best, at = np.inf, np.int64(0), np.int64(-1)
        for _ in range(min(_SEEDS, left)):
            if left <= _SEEDS:
                at += 1
            else:
                at = np.int64(_chance(search) * n_freed)
            while trial.class_of[search.freed[at]] >= 0:
                at = (at + 1) % n_freed
            n, rows, cost, priced = _grow_class(search.freed[at], n_built, n_freed, trees, tests, search)
            for i in range(abs(n)):
                trial.class_of[search.grown[0, i]] = np.int64(-1)
            trial.cells[n_built] = -1
            if n <= 0:
                continue
            score = (cost + (price - priced) / rows) * (1.0 + _NOISE * _chance(search))
            score += 0.15 * cost * _NOISE * _chance(search)
            if score < best:
                best, n_best = score, n
                for i in range(n):
                    search.grown[1, i] = search.grown[0, i]
        if n_best == 0:
            break
        for i in range(n_best):
            enter(search.grown[1, i], n_built, trees, trial)
        left -= n_best
        n_built += 1
    for r in search.freed[:n_freed]:
        if n_built > 0 and trial.class_of[r] < 0:
            enter(r, _cheapest(r, n_built, np.inf, trees, trial), trees, trial)
    return n_built


@kernel
def _grow_class(first, c, n_freed, trees, tests, search):
    """Grow a class from a freed tuple until it holds all requirements.

    Each step takes the tuple that costs least per row still needed. Afterwards tuples below the cells join. Returned
    are the number of members, less than 0 where it never holds, the rows, the cost of a row, and the prices of its
    rows.
    """
    trial, members, scratch = search.trial, search.grown[0], search.trial.scratch
    widen(trial.cells[c], first, trees)
    members[0], trial.class_of[first] = first, c
    n, rows, cost, priced = np.int64(1), trees.rows[first], 0.0, trees.rows[first] * search.prices[first]
    while not hold(members, n, rows, tests, scratch):
        nearest, least = np.int64(-1), np.inf
        for r in search.freed[:n_freed]:
            if trial.class_of[r] != -1:
                continue
            factor = (1.0 + _NOISE * _chance(search)) / min(trees.rows[r], max(tests.k - rows, 1))
            limit = cost + least / factor
            own = cost_with(c, r, limit, trees, trial)
            if own < limit:
                nearest, least = r, (own - cost) * factor
        if nearest < 0:
            return -n, rows, cost, priced
        cost = widen(trial.cells[c], nearest, trees)
        members[n], trial.class_of[nearest] = nearest, c
        n, rows = n + 1, rows + trees.rows[nearest]
        priced += trees.rows[nearest] * search.prices[nearest]
    n_least, n_rows, least_priced = n, rows, priced
    for r in search.freed[:n_freed]:
        if trial.class_of[r] == -1 and cost_with(c, r, cost, trees, trial) <= cost:
            members[n], trial.class_of[r] = r, c
            n, rows, priced = n + 1, rows + trees.rows[r], priced + trees.rows[r] * search.prices[r]
    if n > n_least and not hold(members, n, rows, tests, scratch):
        for r in members[n_least:n]:
            trial.class_of[r] = np.int64(-1)
        n, rows, priced = n_least, n_rows, least_priced
    return n, rows, cost, priced


@kernel
def _cheapest(r, n_built, limit, trees, trial):
    """Find the cheapest new class of a tuple below the limit, or -1."""
    cheapest, w = np.int64(-1), trees.rows[r]
    for c in range(n_built):
        if c != trial.class_of[r]:
            n, cost = trial.rows[c], trial.costs[c]
            most = (limit + n * cost) / (n + w)
            joined = cost_with(c, r, most, trees, trial)
            if joined < most:
                cheapest, limit = np.int64(c), (n + w) * joined - n * cost
    return cheapest


@kernel
def _exchange(n_freed, n_built, trees, tests, search):
    """Move single tuples between new classes while that saves loss, at most three times."""
    trial = search.trial
    for _ in range(3):
        moved = False
        for r in search.freed[:n_freed]:
            c = trial.class_of[r]
            rows = trial.rows[c] - trees.rows[r]
            if rows < tests.k or trial.costs[c] == 0.0:
                continue
            saved = trial.rows[c] * trial.costs[c] - rows * cost_without(r, trees, trial) - LEAST_SAVED
            if class_holds(c, np.int64(-1), r, rows, tests, trial):
                other = _cheapest(r, n_built, saved, trees, trial)
                if other >= 0:
                    moved = True
                    leave(r, trees, trial)
                    enter(r, other, trees, trial)
        if not moved:
            break


@kernel
def _all_hold(n_built, tests, search):
    for c in range(n_built):
        if not class_holds(c, np.int64(-1), np.int64(-1), search.trial.rows[c], tests, search.trial):
            return False
    return True


@kernel
def _accept(n_near, n_freed, n_built, trees, search):
    """Replace the freed classes by the new ones."""
    for c in search.near[:n_near]:
        search.classes.rows[c] = search.n_tuples[c] = np.int64(0)
        search.classes.heads[c] = np.int64(-1)
        search.classes.cells[c] = -1
        search.spare[search.tally[0]] = c
        search.tally[0] += 1
    search.tally[0] -= n_built
    for r in search.freed[:n_freed]:
        c = search.spare[search.tally[0] + n_built - 1 - search.trial.class_of[r]]
        enter(r, c, trees, search.classes)
        search.n_tuples[c] += 1
