"""What is told of a local recoding: what it was made for, how many classes there are, at which levels cells stand."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.objectives.privacy.identity import MarketerRisk
from pymoo_anon.problems.arguments import column_name
from pymoo_anon.problems.base import AnonymizationProblem
from pymoo_anon.problems.front import Choice
from pymoo_anon.problems.local_recoding import LocalRecodingProblem
from pymoo_anon.table.domain_values import Name
from pymoo_anon.table.local import LocalGeneralization


def local_facts(
    problem: AnonymizationProblem, choice: Choice, made: LocalGeneralization, classes: EquivalenceClasses
) -> dict[str, Any]:
    """How a table was recoded locally, and what came of it: nothing of the order in which classes were made."""
    told: dict[str, Any] = {"refined": True, "method": None, "structure": None, "target": None, "price": None}
    weights: tuple[float, ...] = ()
    if isinstance(problem, LocalRecodingProblem):
        target = problem.target(np.array(choice.x))
        told = {"refined": False, "method": problem.method, "structure": problem.structure}
        told |= {"target": target.k, "price": target.price}
        weights = target.weights
    shares = shares_by_level(made, np.where(classes.kept, classes.sizes, 0))
    return {
        **told,
        "weights": [float(weight) for weight in weights],
        "n_classes": int(classes.n_released[0]),
        "mean_risk": float(MarketerRisk().evaluate(classes)[0]),
        "cells": [{"name": column_name(name), "shares": own.tolist()} for name, own in shares.items()],
    }


def shares_by_level(made: LocalGeneralization, rows: NDArray[np.int64]) -> dict[Name, NDArray[np.float64]]:
    """Per quasi-identifier, which share of the cells stands at each level; `rows` are those of each class."""
    shares = {}
    for (name, hierarchy), own in zip(made.quasi_identifiers.items(), made.nodes.T, strict=True):
        by_level = np.bincount(hierarchy.nodes.level[own], rows, hierarchy.length + 1)
        shares[name] = by_level / max(rows.sum(), 1)
    return shares
