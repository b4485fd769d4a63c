"""Constraints as requirements that the kernels of local recodings test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import ceil

from pymoo_anon.engine.classes import DistinctTuples
from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.privacy import (
    AlphaDeassociation,
    BasicBetaLikeness,
    DistinctLDiversity,
    EnhancedBetaLikeness,
    EntropyLDiversity,
    KAnonymity,
    ProsecutorRisk,
    RecursiveCLDiversity,
    TCloseness,
)
from pymoo_anon.objectives.privacy.identity import smallest_k
from pymoo_anon.recoding import ColumnRequirement, RequirementKind
from pymoo_anon.table.generalization import Constraint, Generalization
from pymoo_anon.table.microdata import Microdata


def least_k(constraints: Sequence[Constraint]) -> int:
    """Return the least k in rows that the constraints allow."""
    found = [1]
    for one in constraints:
        if one.depends_on_kept:
            # A class of fewer rows holds it where enough others agree with it.
            continue
        if isinstance(one.objective, KAnonymity) and one.objective.column is None and one.at_least:
            found.append(ceil(one.bound))
        if isinstance(one.objective, ProsecutorRisk) and not one.at_least and 0 < one.bound <= 1:
            found.append(smallest_k(one.bound))
    return max(found)


def requirements_of(constraints: Sequence[Constraint], tuples: DistinctTuples) -> list[ColumnRequirement]:
    """Translate the constraints that the kernels can test."""
    found = []
    for one in constraints:
        measure, make = one.objective, _TESTS.get(type(one.objective))
        if make is not None and one.speaks_of_classes and not one.depends_on_kept:
            read = measure.reads(tuples.sensitive)
            found += [replace(make(measure, one.bound, tuples), column=column) for column in read]
    return found


def holds_by_construction(constraint: Constraint, tuples: DistinctTuples) -> bool:
    """Return whether the kernels' recodings hold a constraint if any does."""
    risk_or_k = isinstance(constraint.objective, KAnonymity | ProsecutorRisk) and constraint.objective.column is None
    if constraint.depends_on_kept:
        return holds_by_construction(whole_classes(constraint), tuples)
    return (risk_or_k and constraint.speaks_of_classes) or bool(requirements_of([constraint], tuples))


def whole_classes(constraint: Constraint) -> Constraint:
    """Return a stricter constraint without background knowledge."""
    return replace(constraint, objective=constraint.objective.knowing_all())


def _simple(kind: RequirementKind) -> Callable[[Objective, float, DistinctTuples], ColumnRequirement]:
    return lambda measure, bound, tuples: ColumnRequirement(kind, measure.column, bound)


def _recursive(measure: RecursiveCLDiversity, bound: float, tuples: DistinctTuples) -> ColumnRequirement:
    c = measure.fraction(tuples.n_rows)
    return ColumnRequirement(RequirementKind.RECURSIVE, measure.column, bound, c=(c.numerator, c.denominator))


def _closeness(measure: TCloseness, bound: float, tuples: DistinctTuples) -> ColumnRequirement:
    levels, n_places = measure.scale(tuples)
    kind = RequirementKind.ORDER if n_places else RequirementKind.TREE
    return ColumnRequirement(kind, measure.column, bound, groups=levels, n_places=n_places)


# By measure, and for no class that is made from one: another may mean something else.
_TESTS: dict[type, Callable[..., ColumnRequirement]] = {
    AlphaDeassociation: _simple(RequirementKind.ALPHA),
    BasicBetaLikeness: _simple(RequirementKind.BETA),
    DistinctLDiversity: _simple(RequirementKind.DISTINCT),
    EnhancedBetaLikeness: _simple(RequirementKind.ENHANCED_BETA),
    EntropyLDiversity: _simple(RequirementKind.ENTROPY),
    KAnonymity: _simple(RequirementKind.DISTINCT),
    RecursiveCLDiversity: _recursive,
    TCloseness: _closeness,
}


def impossible(table: Microdata, constraints: Sequence[Constraint]) -> list[Constraint]:
    """Return the constraints that neither the table nor one class satisfies. Hardly any recoding does."""
    trees = table.quasi_identifiers.items()
    # Privacy is best in one class, and detail in the table.
    ends = []
    for kept in (1, 0):
        made = {name: tree.groups[0] * kept for name, tree in trees}
        labels = {name: tuple(range(int(own.max()) + 1)) for name, own in made.items()}
        ends.append(table.equivalence_classes(Generalization(made, labels)))
    return [one for one in constraints if not any(one.keeps(one.objective.evaluate(own))[0] for own in ends)]
