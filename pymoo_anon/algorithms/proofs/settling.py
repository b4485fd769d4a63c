"""Bounds over the nodes of a lattice, numbered from special to general, the last level fastest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.engine.compiled import njit

Ints = NDArray[np.int64]
Matrix = NDArray[np.float64]


class Known(NamedTuple):
    """What is known of the nodes of a lattice, as arrays.

    Attributes:
        bounds: (n_nodes, n_measures) float array of lower bounds of minimised values.
        best: (n_nodes,) int32 array, the evaluated generalization whose cases hold for a node, or -1.
        cases: (n_cases, n_measures) float array: bounds of minimised values or, where there is a floor, what comes on
            top of it.
        case_starts: (n_evaluated + 1,) int64 array, where the cases of each evaluated node begin.
        floors: (n_measures,) Boolean array, the measures whose bounds are floors.
        sides: (n_measures,) float array, sides of the boxes by which members and bounds are compared, or 0 for values.
        maximize: (n_measures,) Boolean array: boxes are counted on natural values, so those of maximised ones round up.
        limits: (n_measures,) float array, the greatest minimised values that constraints allow, or infinity.
        absolute: (n_measures,) float array: by how much a member may be worse than what it stands for, or 0.
        relative: (n_measures,) float array: by which share of its value, or 0.
    """

    bounds: Matrix
    best: NDArray[np.int32]
    cases: Matrix
    case_starts: Ints
    floors: NDArray[np.bool_]
    sides: Matrix
    maximize: NDArray[np.bool_]
    limits: Matrix
    absolute: Matrix
    relative: Matrix


def inherit_bounds(
    bounds: Matrix, best: NDArray[np.int32], nodes: Ints, lengths: Ints, floors: NDArray[np.bool_], key: int
) -> None:
    """Raise the bounds of nodes to those of their immediate generalizations, in place.

    Args:
        bounds: (n_nodes, n_measures) float array of lower bounds of minimised values.
        best: (n_nodes,) int32 array, for each node the evaluated generalization whose cases are kept for it, or -1.
        nodes: (n,) int64 array, numbers of nodes of one level sum; those of the level sums above are final.
        lengths: (n_var,) int64 array, the greatest level of each variable.
        floors: (n_measures,) Boolean array, the measures whose bounds are of the node itself and so not inherited.
        key: The measure by whose bound the generalization is chosen: that of the greatest.
    """
    _inherit_bounds(bounds, best, nodes, lengths, floors, key)


def next_open(known: Known, nodes: Ints, start: int, members: Matrix) -> int:
    """Position of the first node, from `start` on, that is not settled; `len(nodes)` if none.

    A node is settled where in every case of its evaluated generalization some member is as good as the node can be, or
    the node cannot satisfy a constraint.

    Args:
        known: What is known of the nodes.
        nodes: (n,) int64 array, numbers of nodes.
        start: Where to begin in `nodes`.
        members: (m, n_measures) float array, the boxes or minimised values of the members of the front.
    """
    return int(_next_open(nodes, start, members, *known))


@njit(cache=True, nogil=True)
def _inherit_bounds(bounds, best, nodes, lengths, floors, key):  # type: ignore[no-untyped-def]
    n_var, n_measures = len(lengths), bounds.shape[1]
    for node in nodes:
        # Levels from the last to the first; `stride` is how far apart nodes are that differ by one in this level.
        rest, stride = node, np.int64(1)
        for j in range(n_var - 1, -1, -1):
            size = lengths[j] + 1
            if rest % size < lengths[j]:
                above = node + stride
                # Choose before the bound is raised: afterwards both are equal.
                if best[node] < 0 or (best[above] >= 0 and bounds[above, key] > bounds[node, key]):
                    best[node] = best[above]
                for o in range(n_measures):
                    if not floors[o] and bounds[above, o] > bounds[node, o]:
                        bounds[node, o] = bounds[above, o]
            rest //= size
            stride *= size


@njit(cache=True, nogil=True)
def _next_open(nodes, start, members, *arrays):  # type: ignore[no-untyped-def]
    # Named here: as an argument a named tuple costs more than the loop.
    known = Known(
        arrays[0],
        arrays[1],
        arrays[2],
        arrays[3],
        arrays[4],
        arrays[5],
        arrays[6],
        arrays[7],
        arrays[8],
        arrays[9],
    )
    bound = np.empty(known.bounds.shape[1], dtype=np.float64)
    for position in range(start, len(nodes)):
        node = nodes[position]
        evaluated = known.best[node]
        # Without an evaluated generalization there is one case, of which nothing is known.
        first = known.case_starts[evaluated] if evaluated >= 0 else -1
        last = known.case_starts[evaluated + 1] if evaluated >= 0 else 0
        settled = True
        for case in range(first, last):
            # The invariant: the node is settled in all cases before this one.
            settled = _bound_in_case(known, node, case, bound) or _is_covered(members, bound)
            if not settled:
                break
        if not settled:
            return position
    return len(nodes)


@njit(cache=True, nogil=True)
def _bound_in_case(known, node, case, bound):  # type: ignore[no-untyped-def]
    """Bound a node's values in one case, or in general where it is -1; whether it breaks a constraint for sure."""
    impossible = False
    for o in range(len(bound)):
        bound[o] = known.bounds[node, o]
        if case >= 0 and known.floors[o] and known.cases[case, o] > 0:
            # A little less, so that the rounding of the sum proves nothing.
            bound[o] = (bound[o] + known.cases[case, o]) * (1 - 1e-12)
        elif case >= 0 and not known.floors[o]:
            bound[o] = max(bound[o], known.cases[case, o])
        # Exactly on the limit a node satisfies the constraint.
        impossible |= bound[o] > known.limits[o]
        if known.sides[o] > 0:
            box = bound[o] / known.sides[o]
            bound[o] = np.ceil(box) if known.maximize[o] else np.floor(box)
        elif np.isfinite(bound[o]):
            bound[o] += known.absolute[o] + known.relative[o] * abs(bound[o])
    return impossible


@njit(cache=True, nogil=True)
def _is_covered(members, bound):  # type: ignore[no-untyped-def]
    """Whether some member is nowhere worse than a bound."""
    for m in range(len(members)):
        covers = True
        for o in range(len(bound)):
            if members[m, o] > bound[o]:
                covers = False
                break
        if covers:
            return True
    return False
