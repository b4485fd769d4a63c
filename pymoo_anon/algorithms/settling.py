"""Bounds over the nodes of a lattice, numbered from special to general, the last level fastest."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Matrix = NDArray[np.float64]


def inherit_bounds(
    bounds: Matrix, best: NDArray[np.int32], nodes: Ints, lengths: Ints, floors: NDArray[np.bool_], key: int
) -> None:
    """Raise the bounds of nodes to those of their immediate generalizations, in place.

    Args:
        bounds: (n_nodes, n_obj) float array of lower bounds of minimised values.
        best: (n_nodes,) int32 array, for each node the evaluated generalization whose cases are kept for it, or -1.
        nodes: (n,) int64 array, numbers of nodes of one level sum; those of the level sums above are final.
        lengths: (n_var,) int64 array, the greatest level of each variable.
        floors: (n_obj,) Boolean array, the objectives whose bounds are of the node itself and so not inherited.
        key: The objective by whose bound the generalization is chosen: that of the greatest.
    """
    _inherit_bounds(bounds, best, nodes, lengths, floors, key)


def next_open(
    bounds: Matrix,
    best: NDArray[np.int32],
    nodes: Ints,
    start: int,
    members: Matrix,
    cases: Matrix,
    case_starts: Ints,
    floors: NDArray[np.bool_],
    epsilon: Matrix,
    limits: Matrix,
) -> int:
    """Position of the first node, from `start` on, that is not settled; `len(nodes)` if none.

    A node is settled where in every case of its evaluated generalization some member is as good as the node can be, or
    the node cannot satisfy a constraint.

    Args:
        bounds: (n_nodes, n_obj) float array of lower bounds of minimised values.
        best: (n_nodes,) int32 array, the evaluated generalization whose cases hold for a node, or -1.
        nodes: (n,) int64 array, numbers of nodes.
        start: Where to begin in `nodes`.
        members: (m, n_obj) float array of minimised values.
        cases: (n_cases, n_obj) float array: bounds of minimised values or, where there is a floor, what comes on top.
        case_starts: (n_evaluated + 1,) int64 array, where the cases of each evaluated node begin.
        floors: (n_obj,) Boolean array, the objectives whose bounds are floors.
        epsilon: (n_obj,) float array, sides of boxes by which members and bounds are compared, or all 0 for values.
        limits: (n_obj,) float array, the greatest minimised values that constraints allow, or infinity.
    """
    return int(_next_open(bounds, best, nodes, start, members, cases, case_starts, floors, epsilon, limits))


@njit(cache=True, nogil=True)
def _inherit_bounds(bounds, best, nodes, lengths, floors, key):  # type: ignore[no-untyped-def]
    n_var, n_obj = len(lengths), bounds.shape[1]
    for node in nodes:
        rest, stride = node, np.int64(1)
        for j in range(n_var - 1, -1, -1):
            size = lengths[j] + 1
            if rest % size < lengths[j]:
                above = node + stride
                if best[node] < 0 or (best[above] >= 0 and bounds[above, key] > bounds[node, key]):
                    best[node] = best[above]
                for o in range(n_obj):
                    if not floors[o] and bounds[above, o] > bounds[node, o]:
                        bounds[node, o] = bounds[above, o]
            rest //= size
            stride *= size


@njit(cache=True, nogil=True)
def _next_open(  # type: ignore[no-untyped-def]
    bounds, best, nodes, start, members, cases, case_starts, floors, epsilon, limits
):
    n_obj = bounds.shape[1]
    bound = np.empty(n_obj, dtype=np.float64)
    for position in range(start, len(nodes)):
        node = nodes[position]
        evaluated = best[node]
        first = case_starts[evaluated] if evaluated >= 0 else 0
        last = case_starts[evaluated + 1] if evaluated >= 0 else 1
        settled = True
        for case in range(first, last):
            impossible = False
            for o in range(n_obj):
                bound[o] = bounds[node, o]
                if evaluated >= 0 and floors[o] and cases[case, o] > 0:
                    # A little less, so that the rounding of the sum proves nothing.
                    bound[o] = (bound[o] + cases[case, o]) * (1 - 1e-12)
                elif evaluated >= 0 and not floors[o]:
                    bound[o] = max(bound[o], cases[case, o])
                impossible |= bound[o] > limits[o]
                if epsilon[o] > 0:
                    bound[o] = np.floor(bound[o] / epsilon[o])
            settled = impossible
            if settled:
                continue
            for m in range(len(members)):
                settled = True
                for o in range(n_obj):
                    value = members[m, o] if epsilon[o] == 0 else np.floor(members[m, o] / epsilon[o])
                    if value > bound[o]:
                        settled = False
                        break
                if settled:
                    break
            if not settled:
                break
        if not settled:
            return position
    return len(nodes)
