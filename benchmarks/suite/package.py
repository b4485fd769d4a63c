"""The suite's instances as problems of this package, for its engine and proofs."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pymoo_anon import objectives
from pymoo_anon.problems import AnonymizationProblem, BitStringProblem, LatticeProblem
from pymoo_anon.suite import Instance
from pymoo_anon.table import AtMost, Below, Hierarchy, Microdata, Taxonomy, Violating


def of_package(instance: Instance) -> AnonymizationProblem:
    """Return the instance as a problem of this package."""
    hierarchies, taxonomies = {}, {}
    for j, (name, size) in enumerate(zip(instance.attributes, instance.sizes, strict=True)):
        values = [f"{value}" for value in range(size)]
        if instance.bits:
            hierarchies[name] = Hierarchy.flat(values)
            if (nodes := instance.nodes[j]) is not None:
                taxonomies[name] = _taxonomy(nodes, 0, size - 1)
        else:
            levels = instance.told["attributes"][j]["levels"]
            above = [[f"level {i}: {g}" for g in own] for i, own in enumerate(levels) if i]
            hierarchies[name] = Hierarchy([values, *above])
    asked = (*instance.told["objectives"], *instance.told["constraints"])
    read = {own["column"]: own["measure"] for own in asked if "column" in own}
    labels = [column for column, measure in read.items() if measure == "CM"]
    table = Microdata.from_codes(
        hierarchies,
        instance.codes,
        instance.counts,
        {name: instance.columns[name] for name in read},
        {name: list(range(int(instance.columns[name].max()) + 1)) for name in read},
        [column for column in read if column not in labels],
        labels[0] if labels else None,
    )
    suppression = {"at most": AtMost, "below": Below, "violating": Violating}[instance.rule](instance.limit)
    constraints = [
        _objective(own) >= own["at least"] if "at least" in own else _objective(own) <= own["at most"]
        for own in instance.told["constraints"]
    ]
    objectives = [_objective(own) for own in instance.told["objectives"]]
    if instance.bits:
        return BitStringProblem(table, objectives, suppression, constraints, taxonomies=taxonomies)
    return LatticeProblem(table, objectives, suppression, constraints)


def _taxonomy(nodes: Sequence[Sequence[int]], first: int, last: int) -> Taxonomy:
    tree = {(value, value): {"name": f"{value}"} for value in range(first, last + 1)}
    # Smaller nodes first, so that every node finds its children.
    for begin, end in sorted(nodes, key=lambda node: node[1] - node[0]):
        within = [own for own in sorted(tree) if begin <= own[0] and own[1] <= end]
        tree[begin, end] = {"name": f"{begin} to {end}", "children": [tree.pop(own) for own in within]}
    return Taxonomy(tree[first, last])


def _objective(wanted: dict[str, Any]) -> objectives.Objective:
    kinds = {
        "k": objectives.KAnonymity,
        "l": objectives.DistinctLDiversity,
        "S_k": objectives.SquaredClassSizes,
        "S_l": objectives.SquaredValueCounts,
        "classes": objectives.AverageClassSize,
        "GLM": objectives.GeneralLossMetric,
        "CM": objectives.ClassificationMetric,
        "DM": objectives.Discernibility,
    }
    kind = kinds[wanted["measure"]]
    return kind(wanted["column"]) if "column" in wanted else kind()


def in_whole_numbers(instance: Instance, problem: AnonymizationProblem, F: np.ndarray | None) -> np.ndarray:
    """(n, n_obj) array: values of the package's problem as the instance has them, minimised."""
    values = problem.natural(np.empty((0, problem.n_obj)) if F is None else np.atleast_2d(F))
    for j, own in enumerate(instance.told["objectives"]):
        if own["measure"] == "GLM":
            values[:, j] *= instance.told["unit"]
        elif own["measure"] == "classes":
            values[:, j] = problem.table.n_rows / values[:, j]
    return np.rint(values) * instance.signs
