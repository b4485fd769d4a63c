"""What evaluated nodes teach about others: bounds of their specializations and of their generalizations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.algorithms.proofs.stored.known import Measures
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.objectives.bounds.base import Kind, fewest_unavoidable

Matrix = NDArray[np.float64]


def lessons_of(measures: Measures, classes: EquivalenceClasses) -> Iterable[Matrix]:
    """One lesson for each generalization of some classes.

    A lesson is one float array, as a journal holds it: what each threshold cannot be above in any specialization; the
    lower bounds that hold of all specializations; those that hold of all generalizations.
    """
    reader, n = measures.reader, len(classes)
    below = reader.below(classes, by_k=False)
    # A class of a specialization lies inside of a class, and is worth no more.
    tops = [fewest_unavoidable(family.values_of(classes), classes, below) for family in measures.thresholds]
    special = [_of_specializations(measures, column, classes, below) for column in measures.columns]
    general = np.full((n, len(measures.columns)), -np.inf)
    if not measures.sweeps:
        general = reader.floors_above(classes)[:, measures.columns]
    found = np.column_stack([*(tops or [np.full(n, np.inf)]), *special, general])
    # No specialization keeps the limit: every threshold is out of reach.
    found[below.impossible, : len(tops) or 1] = -np.inf
    return found


def _of_specializations(measures: Measures, column: int, classes: EquivalenceClasses, below: Any) -> Matrix:
    """(n,) float array: a lower bound of one measure in all specializations of nodes; -inf where nothing is known."""
    family = measures.reader.families[column]
    if family.kind is Kind.SQUARES:
        most: Matrix = family.most_of_specializations(classes)
        return -most
    if family.has_floor:
        return np.full(len(classes), -np.inf)
    return measures.reader.best_below(column, classes, below)
