"""Refinement of a point as a local recoding."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from pymoo_anon._messages import examples, number
from pymoo_anon.engine.classes import EquivalenceClasses, marked_class
from pymoo_anon.objectives.privacy.identity import KAnonymity
from pymoo_anon.problems.arguments import RefinementError, measure_names
from pymoo_anon.problems.base import AnonymizationProblem, check_kind
from pymoo_anon.problems.front import Choice
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.problems.local_recoding import base_weights
from pymoo_anon.problems.requirements import holds_by_construction, requirements_of
from pymoo_anon.recoding import Requirements, Trees, check_ways, recode_some
from pymoo_anon.table.generalization import (
    Constraint,
    Generalization,
    LocalGeneralization,
    nodes_of_column,
    of_columns,
)
from pymoo_anon.typing import Bools, Ints, Ints32

# The last refinement of each problem, by its arguments.
_LAST_REFINEMENT: WeakKeyDictionary[AnonymizationProblem, tuple[object, LocalGeneralization]] = WeakKeyDictionary()


def refine(problem: AnonymizationProblem, x: ArrayLike | Choice, method: str = "bottom-up") -> LocalGeneralization:
    """Recode each class locally, with no coarser cell and no weaker protection.

    Every class is divided, as far as each part still has k rows and holds what single classes hold at the point: l of
    each kind, alpha, t, beta, k in persons, be they measured or required. The parts then have the smallest nodes of the
    hierarchies that hold their tuples. The suppressed tuples are a class, too, where they hold all this and no column
    gets a greater level than the problem's `levels` permit.

    No measure of single classes is worse than at the point, and all requirements there still hold, or the refinement
    is refused. No loss of cells is greater. Measures over all classes, such as the mean risk, may be worse.

    Args:
        problem: A `LatticeProblem`, or a `BitStringProblem` whose groups all are groups of the table's hierarchies, as
            with taxonomies.
        x: (n_var,) array, the point; or a choice, whose requirements are kept, too.
        method: As of `LocalRecodingProblem`.

    Raises:
        TypeError: x is of another dtype than the problem needs, or the problem is of local recodings.
        ValueError: The problem has least levels, which parts could be below; x is no point of it, a group is none of a
            hierarchy, a hierarchy makes no tree, or `method` is none of these. As `RefinementError`: what has to stay
            would be worse.

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
    check_kind(problem)
    check_ways(method=method)
    if isinstance(problem, LatticeProblem) and problem.lowest.any():
        names = [name for name, (least, _) in problem.levels.items() if least > 0]
        raise ValueError(
            f"problem must have no least levels to be refined, got some of {examples(names)}: parts of a class get "
            "levels of their own, down to 0"
        )
    point, asked = (x.x, x.requirements) if isinstance(x, Choice) else (x, ())
    # A release, its evidence and its codebook need the same refinement.
    given = np.asarray(point)
    key = given.dtype, given.tolist(), tuple(asked), method
    last = _LAST_REFINEMENT.get(problem)
    if last is None or last[0] != key:
        # Another thread may store another one in between.
        _LAST_REFINEMENT[problem] = last = key, _refine_anew(problem, point, asked, method)
    return last[1]


def _refine_anew(
    problem: AnonymizationProblem, point: ArrayLike, asked: Sequence[Constraint], method: str
) -> LocalGeneralization:
    table, classes = problem.table, problem.equivalence_classes(point)
    _check_nodes(problem, of_columns(problem.decode(point)))
    bounds = dict.fromkeys([*problem.constraints, *asked])
    required = [one for one in bounds if one.keeps(one.objective.evaluate(classes))[0]]
    promised = _promised(problem, classes, required)
    (class_of,), kept = classes.class_of, classes.kept  # type: ignore[misc]
    hidden = marked_class(classes) if not kept.all() else None
    suppressed = hidden is not None and any(one.broken(hidden)[0] for one in promised)
    # The suppressed tuples are the last part.
    parts = np.where(kept, np.cumsum(kept) - 1, np.count_nonzero(kept))[class_of]
    divided = kept[class_of] if suppressed else np.ones_like(class_of, dtype=np.bool_)
    cells = _divide(problem, parts, divided, promised, method)
    if not (suppressed or kept.all()) and _are_beyond_levels(problem, cells):
        suppressed, cells = True, _divide(problem, parts, kept[class_of], promised, method)
    made = LocalGeneralization(table.quasi_identifiers, cells, suppressed=suppressed)
    after = table.equivalence_classes(made, 0, problem.constraints, problem.beside_parts)
    _check_kept(problem, required, classes, after)
    return made


def _promised(
    problem: AnonymizationProblem, classes: EquivalenceClasses, required: Sequence[Constraint]
) -> list[Constraint]:
    """Return the values of single classes at a point as constraints, k first."""
    k = KAnonymity()
    promised: list[Constraint] = [k >= float(k.evaluate(classes)[0])]
    for measure in dict.fromkeys([*problem.measured, *(one.objective for one in required)]):
        value = float(measure.evaluate(classes)[0])
        if measure.worst_class and measure.known is None and not measure.joint and np.isfinite(value):
            promised.append(measure >= value if measure.maximize else measure <= value)
    return [one for one in promised if holds_by_construction(one, problem.table.tuples)]


def _divide(
    problem: AnonymizationProblem, parts: Ints, divided: Bools, promised: Sequence[Constraint], method: str
) -> Ints32:
    """Return the (n_distinct, n_attributes) cells after each part is divided."""
    tuples = problem.table.tuples
    nodes = [hierarchy.nodes for hierarchy in problem.table.quasi_identifiers.values()]
    trees = Trees.of(tuples, nodes, base_weights(problem.objectives, tuples.names), parts)
    tests = Requirements.of(tuples, trees, int(promised[0].bound), requirements_of(promised, tuples))
    chosen = np.flatnonzero(divided[trees.places])
    return recode_some(trees, tests, chosen, np.zeros_like(trees.positions), 0.0, method)[:, :-1]


def _are_beyond_levels(problem: AnonymizationProblem, cells: Ints32) -> bool:
    """Return whether some cell has a greater level than its column may have."""
    if not isinstance(problem, LatticeProblem):
        return False
    trees = [hierarchy.nodes for hierarchy in problem.table.quasi_identifiers.values()]
    levels = [tree.level[own].max() for tree, own in zip(trees, cells.T, strict=True)]
    return bool((levels > problem.highest).any())


def _check_nodes(problem: AnonymizationProblem, generalization: Generalization) -> None:
    others = []
    for name, hierarchy in problem.table.quasi_identifiers.items():
        nodes, groups = nodes_of_column(name, hierarchy), generalization.groups[name]
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


def _check_kept(
    problem: AnonymizationProblem,
    required: Sequence[Constraint],
    before: EquivalenceClasses,
    after: EquivalenceClasses,
) -> None:
    names = measure_names([*problem.measured, *(one.objective for one in required)])
    for measure, name in names.items():
        old, new = (float(measure.evaluate(classes)[0]) for classes in (before, after))
        worse = measure.worst_class and (new < old if measure.maximize else new > old)
        if worse or not all(one.keeps(np.array([new]))[0] for one in required if one.objective == measure):
            change = "raise" if new > old else "lower"
            raise RefinementError(f"would {change} {name} from {number(old)} to {number(new)}")
