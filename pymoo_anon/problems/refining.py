"""Refinement: a point of a full-domain or bit-string front as a local recoding in which no cell is coarser."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pymoo_anon._messages import examples
from pymoo_anon.engine.arrays import Ints
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.engine.local import Requirements, Trees, recode
from pymoo_anon.objectives.base import marked_class
from pymoo_anon.objectives.constraint import Constraint
from pymoo_anon.objectives.privacy.identity import KAnonymity
from pymoo_anon.problems.arguments import bound, measure_names
from pymoo_anon.problems.base import AnonymizationProblem
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.problems.local_target import base_weights, holds_by_construction, requirements_of
from pymoo_anon.table.generalization import Generalization, LocalGeneralization, of_columns


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
        method: As of `LocalRecodingProblem`.

    Raises:
        TypeError: x is of another dtype than the problem needs, or the problem is of local recodings.
        ValueError: The problem has least levels, which parts could be below; x is no point of it, a group is none of a
            hierarchy, a hierarchy makes no tree, `method` is none of these, or a constraint of the problem holds at the
            point and not of its refinement.

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
    _check_problem(problem)
    table, classes = problem.table, problem.equivalence_classes(x)
    _check_groups(problem, of_columns(problem.decode(x)))
    promised = _promised(problem, classes)
    (class_of,), kept = classes.class_of, classes.kept  # type: ignore[misc]
    hidden = marked_class(classes) if not kept.all() else None
    suppressed = hidden is not None and any(one.broken(hidden)[0] for one in promised)
    # The suppressed tuples are the last part.
    parts = np.where(kept, np.cumsum(kept) - 1, np.count_nonzero(kept))[class_of]
    divided = kept[class_of] if suppressed else np.ones_like(class_of, dtype=np.bool_)
    cells = _divided(problem, parts, divided, promised, method)
    made = LocalGeneralization(table.quasi_identifiers, cells, suppressed=suppressed)
    _check_constraints(problem, classes, table.equivalence_classes(made, 0, problem.constraints))
    return made


def _check_problem(problem: AnonymizationProblem) -> None:
    """Refuse least levels, and adversaries who know some columns alone: several classes hold together what they see."""
    if isinstance(problem, LatticeProblem) and problem.lowest.any():
        names = [name for name, (least, _) in problem.levels.items() if least > 0]
        raise ValueError(
            f"problem must have no least levels to be refined, got some of {examples(names)}: parts of a class get "
            "levels of their own, down to 0"
        )
    partial = [measure for measure in problem.measured if measure.known is not None]
    if partial:
        raise ValueError(
            f"problem must measure what somebody learns who knows all quasi-identifiers, got {partial[0]!r}: a "
            "refinement keeps what single classes hold, and nothing that several have together; LocalRecodingProblem "
            "recodes locally for such adversaries"
        )


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
    problem: AnonymizationProblem, parts: Ints, divided: NDArray[np.bool_], promised: Sequence[Constraint], method: str
) -> NDArray[np.int32]:
    """(n_distinct, n_attributes) int32 array: the cells after each part is divided; roots for what is not."""
    tuples = problem.table.tuples
    nodes = [hierarchy.nodes for hierarchy in problem.table.quasi_identifiers.values()]
    trees = Trees.of(tuples, nodes, base_weights(problem.objectives, tuples.names), parts)
    tests = Requirements(int(promised[0].bound), requirements_of(promised, tuples)).tests(tuples, trees)
    chosen = np.flatnonzero(divided[trees.places])
    # Tuples are numbered anew, so that cells come in the order of `chosen`.
    part = trees.subset(chosen)._replace(places=np.arange(len(chosen)))
    cells = np.zeros(tuples.codes.shape, dtype=np.int32)
    cells[trees.places[chosen]] = recode(part, tests.subset(chosen), 0.0, method)[:, :-1]
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
