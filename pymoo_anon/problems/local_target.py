"""Targets of points: k, a price of classes, weights, and requirements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from pymoo_anon.engine.tuples import DistinctTuples
from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.constraint import Constraint
from pymoo_anon.objectives.loss import GeneralLossMetric, NormalizedWeightedPenalty
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
from pymoo_anon.table.domain_values import Name
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.typing import Floats

# Weight of an attribute whose loss no objective counts, as a share of the greatest weight. It is not zero, so
# that its cells are generalized no further than they must be.
_LEAST_WEIGHT = 1e-3


@dataclass(frozen=True)
class LocalTarget:
    """Target of a local recoding.

    Attributes:
        k: The least number of rows of a class.
        price: What a class costs beside the loss of its cells, in cells; 0 is nothing. Larger prices make fewer and
            larger classes.
        weights: Per quasi-identifier how much the loss of a cell counts; their mean is 1.
        requirements: What every class has to hold beside k, as the kernels take it.
    """

    k: int
    price: float
    weights: tuple[float, ...]
    requirements: tuple[ColumnRequirement, ...] = ()


def targets_of(table: Microdata, least: int) -> tuple[int, ...]:
    """List the targets of k: the least, then numbers of two digits and zeros.

    So 25, 150 and 2,000 are among them, and the steps above 10 are a tenth at most. The last is the number of rows.
    """
    low, digits = min(least, table.n_rows), np.arange(10, 100)
    scale = [np.arange(1, 10), *(digits * 10**power for power in range(len(str(table.n_rows)) - 1))]
    every = np.concatenate([[low, table.n_rows], *scale])
    return tuple(np.unique(every[(every >= low) & (every <= table.n_rows)]).tolist())


def prices_of(table: Microdata) -> tuple[float, ...]:
    """List the prices of a class, doubled at every second one."""
    scale = np.unique(np.rint(np.sqrt(2.0 ** np.arange(2 * table.n_rows.bit_length()))))
    return 0.0, *scale[scale <= table.n_rows].tolist()


def base_weights(objectives: Sequence[Objective], names: Sequence[Name]) -> Floats:
    """Return the mean weight of each attribute in all objectives.

    (n,) float array.

    Each objective that is a general loss with weights of its own counts as much as any other.
    """
    given = [
        objective.weights_of(names)
        for objective in objectives
        if isinstance(objective, GeneralLossMetric | NormalizedWeightedPenalty)
    ]
    total = sum((own / own.sum() for own in given), np.zeros(len(names))) if given else np.ones(len(names))
    total = np.maximum(total, _LEAST_WEIGHT * total.max())
    weights: Floats = total / total.mean()
    return weights


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
    """Return whether every recoding of the kernels holds a constraint, if any recoding does."""
    risk_or_k = isinstance(constraint.objective, KAnonymity | ProsecutorRisk) and constraint.objective.column is None
    if constraint.depends_on_kept:
        return holds_by_construction(whole_classes(constraint), tuples)
    return (risk_or_k and constraint.speaks_of_classes) or bool(requirements_of([constraint], tuples))


def whole_classes(constraint: Constraint) -> Constraint:
    """Return a stricter constraint without background knowledge."""
    return replace(constraint, objective=constraint.objective.knowing())


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
