"""Refinement: a point of a full-domain or bit-string front as a local recoding in which no cell is coarser."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pymoo_anon._messages import examples
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.engine.local import Requirements, Trees, recode
from pymoo_anon.engine.local.trees import cells_of_classes
from pymoo_anon.objectives.base import marked_class
from pymoo_anon.objectives.constraint import Constraint
from pymoo_anon.objectives.privacy.identity import KAnonymity
from pymoo_anon.problems.arguments import bound, measure_names
from pymoo_anon.problems.base import AnonymizationProblem
from pymoo_anon.problems.local_target import base_weights, holds_by_construction, requirement_of
from pymoo_anon.table.generalization import Generalization
from pymoo_anon.table.local import LocalGeneralization, of_columns

Ints = NDArray[np.int64]


def refine(problem: AnonymizationProblem, x: ArrayLike, method: str = "bottom-up") -> LocalGeneralization:
    """Recode each class of a generalization locally, so that no cell is coarser than there and nobody less protected.

    Every class is divided, as far as each part still has k rows and holds what single classes hold at the point: l of
    each kind, alpha, t, beta, k in persons, be they objectives or constraints of the problem. The parts then have the
    smallest nodes of the hierarchies that hold their tuples. The suppressed tuples are treated as a class, too, where
    they hold all this; else they stay suppressed.

    There are more classes than before, so that the mean risk is greater.

    Args:
        problem: A `LatticeProblem`, or a `BitStringProblem` whose groups all are groups of the table's hierarchies, as
            with taxonomies.
        x: (n_var,) array, the point.
        method: "bottom-up" or "top-down", as of `LocalRecodingProblem`.

    Raises:
        TypeError: x is of another dtype than the problem needs, or the problem is of local recodings.
        ValueError: x is no point of the problem, a group is none of a hierarchy, a hierarchy makes no tree, `method` is
            neither of these, or a constraint of the problem holds at the point and not of its refinement.

    >>> from pymoo_anon.datasets import make_census
    >>> from pymoo_anon.objectives import GeneralLossMetric
    >>> from pymoo_anon.problems import LatticeProblem
    >>> table = make_census(200)
    >>> problem = LatticeProblem(table, [KAnonymity(), GeneralLossMetric()])
    >>> x = [6, 3, 3, 3, 1, 0, 4, 0]
    >>> before, after = problem.equivalence_classes(x), table.equivalence_classes(refine(problem, x))
    >>> bool(after.sizes.min() >= before.sizes.min()), len(after.sizes) > len(before.sizes)
    (True, True)
    """
    table, classes = problem.table, problem.equivalence_classes(x)
    _check_groups(problem, of_columns(problem.decode(x)))
    promised = _promised(problem, classes)
    (class_of,), kept = classes.class_of, classes.kept  # type: ignore[misc]
    hidden = marked_class(classes) if not kept.all() else None
    suppressed = hidden is not None and any(one.broken(hidden)[0] for one in promised)
    # The suppressed tuples become the last class, or none.
    numbers = np.where(kept, np.cumsum(kept) - 1, -1 if suppressed else np.count_nonzero(kept))[class_of]
    cells = _divided(problem, numbers, promised, method)
    made = LocalGeneralization(table.quasi_identifiers, cells, suppressed=suppressed)
    _check_constraints(problem, classes, table.equivalence_classes(made, 0, problem.constraints))
    return made


def _promised(problem: AnonymizationProblem, classes: EquivalenceClasses) -> list[Constraint]:
    """What single classes hold at a point, as constraints; k first."""
    k = KAnonymity()
    promised: list[Constraint] = [k >= float(k.evaluate(classes)[0])]
    for measure in problem.measured:
        value = float(measure.evaluate(classes)[0])
        if measure.worst_class and np.isfinite(value):
            one = measure >= value if measure.maximize else measure <= value
            if holds_by_construction(one, problem.table.tuples):
                promised.append(one)
    return promised


def _divided(
    problem: AnonymizationProblem, numbers: Ints, promised: Sequence[Constraint], method: str
) -> NDArray[np.int32]:
    """(n_distinct, n_attributes) int32 array: the cells after each class is divided; roots where the number is -1."""
    table = problem.table
    tuples, nodes = table.tuples, [hierarchy.nodes for hierarchy in table.quasi_identifiers.values()]
    trees = Trees.of(tuples, nodes, base_weights(problem.objectives, len(nodes)))
    found = (requirement_of(one, tuples) for one in promised)
    k = int(promised[0].bound)
    tests = Requirements(k, [one for one in found if one is not None]).tests(tuples, trees)
    cells, own, n_parts = np.zeros(tuples.codes.shape, dtype=np.int32), numbers[trees.places], int(numbers.max()) + 1
    whole = trees.numbers[cells_of_classes(trees, own, n_parts)]
    cells[trees.places[own >= 0]] = whole[own[own >= 0]]
    order = np.argsort(own, kind="stable")
    ends = np.searchsorted(own[order], np.arange(n_parts + 1))
    rows = np.bincount(own[own >= 0], trees.rows[own >= 0], n_parts)
    for part_number, (a, b) in enumerate(pairwise(ends.tolist())):
        if rows[part_number] < 2 * k or b - a < 2:
            # It cannot be divided.
            continue
        chosen = np.sort(order[a:b])
        # Numbers of tuples within the part, so that its cells come in the order of `chosen`.
        part = trees.subset(chosen)._replace(places=np.arange(len(chosen)))
        cells[trees.places[chosen]] = recode(part, tests.subset(chosen), 0.0, method)
    return cells


def _check_groups(problem: AnonymizationProblem, generalization: Generalization) -> None:
    """Refuse a point with a group that is no node of its hierarchy: a part of it could need a coarser one."""
    others = []
    for name, hierarchy in problem.table.quasi_identifiers.items():
        nodes, groups = hierarchy.nodes, generalization.groups[name]
        # The group of the value at each place of the tree: a node's values stand side by side.
        at = np.empty(len(groups), dtype=np.int64)
        at[nodes.order] = groups
        begins = np.flatnonzero(np.diff(at, prepend=-1))
        runs = set(zip(begins.tolist(), [*begins[1:].tolist(), len(at)], strict=True))
        if len(runs) > groups.max() + 1 or not runs <= set(zip(nodes.first.tolist(), nodes.stop.tolist(), strict=True)):
            others.append(name)
    if others:
        raise ValueError(
            f"x must have groups of the hierarchies, got others of {examples(others)}; a BitStringProblem has such "
            "groups alone where taxonomies= names the column"
        )


def _check_constraints(problem: AnonymizationProblem, before: EquivalenceClasses, after: EquivalenceClasses) -> None:
    """Refuse a refinement that breaks what the point keeps, such as a bound on the mean risk."""
    names = measure_names(problem.measured)
    for one in problem.constraints:
        values = [one.objective.evaluate(classes) for classes in (before, after)]
        if one.keeps(values[0])[0] and not one.keeps(values[1])[0]:
            raise ValueError(
                f"x must have a refinement that keeps {bound(one, names[one.objective])}, got one with "
                f"{float(values[1][0])!r}: more classes change it; release the point as it is"
            )
