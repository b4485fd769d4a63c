"""Measures of loss counted from the classes and labels of a release, each as its definition reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.loss.cells import GeneralLossMetric, NonUniformEntropy, NormalizedWeightedPenalty, Precision
from pymoo_anon.objectives.loss.classes import (
    AverageClassSize,
    ClassificationMetric,
    Discernibility,
    KLDivergence,
    NormalizedClassDispersion,
)
from pymoo_anon.objectives.recount import MISSING, Recount, values_of
from pymoo_anon.table.domain_values import Name
from pymoo_anon.table.hierarchy import fitted


def general_loss(recount: Recount, objective: GeneralLossMetric) -> float:
    """The sum over cells of (values of the label - 1) / (values of the domain - 1); a suppressed cell costs 1."""
    weights = np.ones(len(recount.names)) if objective.weights is None else objective.weights
    return sum(float(weight) * _loss(recount, name) for weight, name in zip(weights, recount.names, strict=True))


def weighted_penalty(recount: Recount, objective: NormalizedWeightedPenalty) -> float:
    """The mean over rows of their weighted loss."""
    n = len(recount.names)
    weights = np.full(n, 1 / n) if objective.weights is None else objective.weights
    total = sum(float(weight) * _loss(recount, name) for weight, name in zip(weights, recount.names, strict=True))
    return total / recount.n_rows


def precision(recount: Recount, objective: Precision) -> float:
    """1 - the mean over cells of level / height; the level is the lowest whose groups hold those of the release."""
    costs = []
    for name in recount.names:
        hierarchy, groups = recount.hierarchies[name], recount.generalization.groups[name]
        fits = [pd.Series(own).groupby(groups).nunique().max() == 1 for own in hierarchy.groups[:-1]]
        level = [*fits, True].index(True)
        kept = 1 - recount.n_suppressed / recount.n_rows
        costs.append(kept * level / max(hierarchy.length, 1) + (1 - kept))
    return 1 - float(np.mean(costs))


def classification(recount: Recount, objective: ClassificationMetric) -> float:
    """Rows outside the majority of their class; all suppressed rows."""
    pairs = recount.counts(objective.column)
    kept = pairs[~recount.marked.to_numpy()[pairs.cell]]
    return float(recount.n_rows - kept.groupby("cell").n.max().sum())


def dispersion(recount: Recount, objective: NormalizedClassDispersion) -> float:
    """(largest class - smallest) / (rows - 1), suppressed rows left out."""
    if recount.kept.empty:
        return 0.0
    return float(recount.kept.max() - recount.kept.min()) / max(recount.n_rows - 1, 1)


def discernibility(recount: Recount, objective: Discernibility) -> float:
    """The sum of the squared class sizes; a suppressed row costs the number of rows."""
    return float((recount.kept**2).sum() + recount.n_suppressed * recount.n_rows)


def average_class_size(recount: Recount, objective: AverageClassSize) -> float:
    """Rows by classes; suppressed rows are one class."""
    return recount.n_rows / (len(recount.kept) + (recount.n_suppressed > 0))


def non_uniform_entropy(recount: Recount, objective: NonUniformEntropy) -> float:
    """The sum over cells of log2(rows with what the value became / rows with the value), in the original."""
    total = 0.0
    for i, name in enumerate(recount.names):
        rows = recount.original.groupby(f"column {i}", sort=False).n.sum()
        became = rows.groupby(_became(recount, name, list(rows.index)).to_numpy(), sort=False).sum()
        kept = recount.of_labels(name)
        total += float((kept * np.log2(became.reindex(kept.index).fillna(1))).sum())
        total += recount.n_suppressed * np.log2(recount.n_rows) - float((rows * np.log2(rows)).sum())
    return total


def divergence(recount: Recount, objective: KLDivergence) -> float:
    """The sum over tuples of p log2(p / released), where a row is spread evenly over the tuples that it may be."""
    keys = [f"column {i}" for i in range(len(recount.names))]
    original = recount.original
    recoded = pd.DataFrame(index=original.index)
    cells, all_cells = np.ones(len(original)), 1.0
    for key, name in zip(keys, recount.names, strict=True):
        recoded[key] = _became(recount, name, original[key].tolist()).to_numpy()
        extents = recount.extents(name)
        cells *= recoded[key].map(extents).to_numpy(dtype=float)
        all_cells *= float(extents.sum())
    sizes = recount.cells[~recount.marked]
    size = recoded.merge(sizes, on=keys, how="left").n.fillna(0).to_numpy()
    spread = recount.n_suppressed / recount.n_rows / all_cells
    p = original.n.to_numpy() / recount.n_rows
    return max(float((p * np.log2(p / (size / recount.n_rows / cells + spread))).sum()), 0.0)


def _loss(recount: Recount, name: Name) -> float:
    """The loss of one quasi-identifier's cells."""
    extents = recount.extents(name)
    cost = (extents - 1) / max(extents.sum() - 1, 1)
    return float((recount.of_labels(name) * cost).sum()) + recount.n_suppressed


def _became(recount: Recount, name: Name, values: list[Any]) -> pd.Series:
    """The label that each original value became."""
    given = [None if value is MISSING else value for value in values]
    _, places = fitted(name, recount.hierarchies[name], given)
    texts = recount.texts[name]
    return values_of([texts[group] for group in recount.generalization.groups[name][places]])


#: How each measure is counted again.
LOSSES: dict[type[Objective], Callable[[Recount, Any], float]] = {
    GeneralLossMetric: general_loss,
    NormalizedWeightedPenalty: weighted_penalty,
    Precision: precision,
    ClassificationMetric: classification,
    NormalizedClassDispersion: dispersion,
    Discernibility: discernibility,
    AverageClassSize: average_class_size,
    NonUniformEntropy: non_uniform_entropy,
    KLDivergence: divergence,
}
