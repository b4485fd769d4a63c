"""Measures of privacy counted from the classes of a release, each as its definition reads."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.privacy.closeness import (
    BasicBetaLikeness,
    DeltaDisclosure,
    EnhancedBetaLikeness,
    TCloseness,
)
from pymoo_anon.objectives.privacy.diversity import (
    AlphaDeassociation,
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveCLDiversity,
    SquaredValueCounts,
)
from pymoo_anon.objectives.privacy.identity import KAnonymity, KMap, MarketerRisk, ProsecutorRisk, SquaredClassSizes
from pymoo_anon.objectives.recount import Recount, values_of
from pymoo_anon.table.hierarchy import Hierarchy


def k(recount: Recount, objective: KAnonymity) -> float:
    """The fewest rows, or distinct persons, of a class."""
    if objective.column is None:
        return float(recount.sizes.min())
    return float(recount.counts(objective.column).groupby("cell").value.nunique().min())


def prosecutor_risk(recount: Recount, objective: ProsecutorRisk) -> float:
    """1 / k."""
    return float((1 / recount.sizes).max())


def marketer_risk(recount: Recount, objective: MarketerRisk) -> float:
    """Classes by rows; suppressed rows are one class, marked or dropped."""
    return _n_classes(recount) / recount.n_rows


def class_size_sum(recount: Recount, objective: SquaredClassSizes) -> float:
    """The sum of the squared class sizes; suppressed rows are one class."""
    return float((recount.kept**2).sum() + recount.n_suppressed**2)


def k_map(recount: Recount, objective: KMap) -> float:
    """The fewest persons of the population whose values, recoded alike, are those of a class."""
    population, texts = objective.population, recount.texts
    kept = recount.cells[~recount.marked]
    if kept.empty:
        return population.n_rows
    keys = [f"column {i}" for i in range(len(recount.names))]
    codes = population.tuples.codes
    people = pd.DataFrame(
        {
            key: values_of([texts[name][group] for group in recount.generalization.groups[name][codes[:, i]]])
            for i, (key, name) in enumerate(zip(keys, recount.names, strict=True))
        }
    )
    persons = people.assign(persons=population.tuples.counts).groupby(keys, as_index=False, sort=False).persons.sum()
    return float(kept.merge(persons, on=keys, how="left").persons.fillna(0).min())


def distinct_l(recount: Recount, objective: DistinctLDiversity) -> float:
    """The fewest distinct values of a class."""
    return float(recount.counts(objective.column).groupby("cell").value.nunique().min())


def sensitive_count_sum(recount: Recount, objective: SquaredValueCounts) -> float:
    """The sum of the squared counts of a value in a class; suppressed rows are one class."""
    pairs = recount.counts(objective.column)
    of_marked = recount.marked.to_numpy()[pairs.cell]
    kept = pairs[~of_marked]
    suppressed = recount.whole(objective.column).sub(kept.groupby("value").n.sum(), fill_value=0)
    return float((kept.n**2).sum() + (suppressed**2).sum())


def alpha(recount: Recount, objective: AlphaDeassociation) -> float:
    """The largest share of a value in a class."""
    return float(recount.shares(objective.column).p.max())


def entropy_l(recount: Recount, objective: EntropyLDiversity) -> float:
    """The exp of the smallest entropy of a class."""
    shares = recount.shares(objective.column)
    entropy = (-shares.p * np.log(shares.p)).groupby(shares.cell).sum()
    return float(np.exp(entropy.min()))


def recursive_l(recount: Recount, objective: RecursiveCLDiversity) -> float:
    """The largest l with r_1 < c (r_l + ... + r_m) in every class, counts descending, c as the decimal it is."""
    c = Fraction(str(objective.c)).limit_denominator(10**6)
    found = []
    for _, own in recount.counts(objective.column).groupby("cell").n:
        r = sorted(own.tolist(), reverse=True)
        largest, rest = 1, sum(r)
        for l, count in enumerate(r, start=1):  # noqa: E741
            # `rest` is r_l + ... + r_m. It falls with l, so that the first l that does not hold ends the search.
            if l > 1 and r[0] >= c * rest:
                break
            largest, rest = l, rest - count
        found.append(largest)
    return float(min(found))


def t(recount: Recount, objective: TCloseness) -> float:
    """The greatest earth mover's distance of a class from the table."""
    extra = _extra(recount, objective)
    if objective.distance == "equal":
        return float(extra.abs().sum(axis=1).max() / 2)
    if isinstance(objective.distance, Hierarchy):
        return _tree_distance(extra, objective.distance)
    order = sorted(extra.columns) if isinstance(objective.distance, str) else list(objective.distance)
    if len(order) == 1:
        return 0.0
    in_order = extra.reindex(columns=order, fill_value=0.0)
    return float(in_order.cumsum(axis=1).abs().sum(axis=1).max() / (len(order) - 1))


def beta(recount: Recount, objective: BasicBetaLikeness) -> float:
    """The greatest gain (p - q) / q, at least 0."""
    shares = recount.shares(objective.column)
    return max(float(((shares.p - shares.q) / shares.q).max()), 0.0)


def enhanced_beta(recount: Recount, objective: EnhancedBetaLikeness) -> float:
    """The greatest gain; infinite where one exceeds -ln q."""
    shares = recount.shares(objective.column)
    gain = ((shares.p - shares.q) / shares.q).clip(lower=0)
    return np.inf if (gain > -np.log(shares.q)).any() else float(gain.max())


def delta(recount: Recount, objective: DeltaDisclosure) -> float:
    """The greatest |log2(p / q)|; infinite where a class lacks a value and the objective is strict about it."""
    shares = recount.shares(objective.column)
    n_values = (recount.whole(objective.column) > 0).sum()
    if objective.strict and (shares.groupby("cell").value.nunique() < n_values).any():
        return np.inf
    return float(np.abs(np.log2(shares.p / shares.q)).max())


def _n_classes(recount: Recount) -> int:
    return len(recount.kept) + (recount.n_suppressed > 0)


def _extra(recount: Recount, objective: TCloseness) -> pd.DataFrame:
    """(n_classes, n_values): what each class has too much of each value of the table."""
    shares, whole = recount.shares(objective.column), recount.whole(objective.column)
    p = shares.pivot_table(index="cell", columns="value", values="p").reindex(columns=whole.index).fillna(0.0)
    return p - whole / whole.sum()


def _tree_distance(extra: pd.DataFrame, hierarchy: Hierarchy) -> float:
    """The greatest cost of a class: what moves below a node costs the node's level over the height of the tree."""
    places = hierarchy.encode(list(extra.columns))
    costs = pd.Series(0.0, index=extra.index)
    below = extra.set_axis(places, axis=1)
    below_groups = hierarchy.groups[0]
    below = below.T.groupby(below_groups[places]).sum().T
    for level in range(1, hierarchy.length + 1):
        # A group of the level below lies in one group of this level.
        parent = pd.Series(hierarchy.groups[level], index=below_groups).groupby(level=0).first()
        above = parent.loc[below.columns].to_numpy()
        surplus = below.clip(lower=0).T.groupby(above).sum().T
        deficit = (-below).clip(lower=0).T.groupby(above).sum().T
        costs += level / hierarchy.length * np.minimum(surplus, deficit).sum(axis=1)
        below, below_groups = below.T.groupby(above).sum().T, hierarchy.groups[level]
    return float(costs.max())


#: How each measure is counted again.
PRIVACY: dict[type[Objective], Callable[[Recount, Any], float]] = {
    KAnonymity: k,
    ProsecutorRisk: prosecutor_risk,
    MarketerRisk: marketer_risk,
    SquaredClassSizes: class_size_sum,
    KMap: k_map,
    DistinctLDiversity: distinct_l,
    SquaredValueCounts: sensitive_count_sum,
    AlphaDeassociation: alpha,
    EntropyLDiversity: entropy_l,
    RecursiveCLDiversity: recursive_l,
    TCloseness: t,
    BasicBetaLikeness: beta,
    EnhancedBetaLikeness: enhanced_beta,
    DeltaDisclosure: delta,
}
