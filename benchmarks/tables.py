"""Tables from Adult, objectives and operators that several benchmarks share."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pymoo_anon.datasets import fetch_adult_frame, load_hierarchy, load_taxonomy
from pymoo_anon.datasets.adult import QUASI_IDENTIFIERS, TAXONOMIES
from pymoo_anon.objectives import (
    ClassificationMetric,
    Constraint,
    DistinctLDiversity,
    GeneralLossMetric,
    KAnonymity,
    Objective,
    SquaredClassSizes,
    SquaredValueCounts,
)
from pymoo_anon.operators import (
    BitStringSampling,
    ClosestValidRepair,
    LatticeSampling,
    LevelCrossover,
    PartitionCrossover,
    PerAttributeBitMutation,
    SingleStepMutation,
)
from pymoo_anon.problems import AnonymizationProblem, BitStringProblem
from pymoo_anon.table import Below, Hierarchy, Microdata, Suppression

BELOW_15 = Below(15)

k, s_k, glm = KAnonymity(), SquaredClassSizes(), GeneralLossMetric()
l, s_l, cm = DistinctLDiversity("occupation"), SquaredValueCounts("occupation"), ClassificationMetric("salary-class")  # noqa: E741

#: Of Dewri et al. 2010: objectives, class label, and the nodes that its algorithm evaluates.
SETS: dict[str, Any] = {
    "k, GLM": ([k, glm], None, 916),
    "k, l, GLM": ([k, l, glm], None, 946),
    "S_k, GLM": ([s_k, glm], None, 1136),
    "S_k, S_l, GLM": ([s_k, s_l, glm], None, 1197),
    "k, GLM, CM": ([k, glm, cm], "salary-class", 1073),
}


def operators_of(problem: AnonymizationProblem) -> dict[str, Any]:
    """Return this package's operators of a search space."""
    if not isinstance(problem, BitStringProblem):
        return {"sampling": LatticeSampling(), "crossover": LevelCrossover(), "mutation": SingleStepMutation()}
    own = {"sampling": BitStringSampling(), "crossover": PartitionCrossover(), "mutation": PerAttributeBitMutation()}
    # Flipped bits need not be a cut of a taxonomy. Without one every string is valid.
    return {**own, "repair": ClosestValidRepair()} if problem.taxonomies else own


def assert_same_front(F: np.ndarray, other: np.ndarray) -> None:
    np.testing.assert_array_equal(np.unique(F, axis=0), np.unique(other, axis=0))


def cells(table: Microdata) -> int:
    return table.n_rows * len(table.quasi_identifiers)


def recoded(frame: pd.DataFrame, hierarchies: Mapping[str, Hierarchy], x: np.ndarray) -> pd.DataFrame:
    """Return the rows with the labels of a node."""
    own = frame.copy()
    for (name, hierarchy), level in zip(hierarchies.items(), x, strict=True):
        labels = [str(hierarchy.labels[level][group]) for group in hierarchy.groups[level]]
        own[name] = own[name].map(dict(zip(hierarchy.domain, labels, strict=True)))
    return own


def preference_table() -> Microdata:
    """Adult as in Dewri et al. 2009: nine quasi-identifiers, age in 20 intervals of width 5, 105 bits."""
    frame = fetch_adult_frame()
    hierarchies = {
        "age": Hierarchy.intervals(0, 100, widths=[], step=5),
        **{name: load_hierarchy(name) for name in ("workclass", "education", "marital-status")},
        "occupation": Hierarchy.flat(sorted(frame["occupation"].unique())),
        **{name: load_hierarchy(name) for name in ("race", "sex", "native-country", "salary-class")},
    }
    return Microdata.from_frame(frame, hierarchies)


def crossover_problem(
    objectives: Sequence[Objective] = (GeneralLossMetric(),),
    suppression: float | Suppression = BELOW_15,
    rows: int | None = 15_000,
    constraints: Sequence[Constraint] = (),
    label: str | None = None,
) -> BitStringProblem:
    """Return the problem of Lunacek et al., by default that of the paper, with 15,000 random rows; None is all."""
    frame = fetch_adult_frame()
    if rows is not None:
        frame = frame.sample(rows, random_state=1)
    ages = ["17–24", "25–34", "35–44", "45–54", "55–64", "65–74", "75–90"]
    frame["age"] = pd.cut(frame["age"], [17, 25, 35, 45, 55, 65, 75, 91], right=False, labels=ages).astype(str)
    taxonomies = {name: load_taxonomy(name) for name in TAXONOMIES}
    trees = {name: Hierarchy(taxonomy.levels()) for name, taxonomy in taxonomies.items()}
    hierarchies = {
        "age": Hierarchy.flat(ages),
        **{name: trees[name] for name in ("workclass", "education", "marital-status")},
        "occupation": Hierarchy.flat(sorted(frame["occupation"].unique())),
        **{name: load_hierarchy(name) for name in ("race", "sex")},
        "native-country": trees["native-country"],
    }
    table = Microdata.from_frame(frame, hierarchies, label=label)
    return BitStringProblem(table, objectives, suppression, constraints, taxonomies=taxonomies)


def large_table() -> Microdata:
    """Return Adult with twelve quasi-identifiers, a lattice of 8,064,000 nodes."""
    frame = fetch_adult_frame()
    relationships = {
        "Husband": "Spouse",
        "Wife": "Spouse",
        "Own-child": "Other relative",
        "Other-relative": "Other relative",
        "Unmarried": "No relative",
        "Not-in-family": "No relative",
    }
    hierarchies = {name: load_hierarchy(name) for name in QUASI_IDENTIFIERS}
    hierarchies["relationship"] = Hierarchy([list(relationships), list(relationships.values()), ["*"] * 6])
    hierarchies["hours-per-week"] = Hierarchy.intervals(0, 100, widths=[5, 10, 20])
    hierarchies["capital-gain"] = _amounts(frame["capital-gain"], [1000, 5000, 25_000])
    hierarchies["capital-loss"] = _amounts(frame["capital-loss"], [100, 500])
    return Microdata.from_frame(frame, hierarchies)


def immense_table() -> Microdata:
    """Return Adult with all fourteen attributes, a lattice of 1.6 · 10^12 nodes.

    Numbers lie in intervals that double in width from level to level. Of categories those that few rows have fall
    together first: fewer than 10, 20, 30, 50, 100, 200, ...
    """
    frame = fetch_adult_frame()
    categories = ("workclass", "education", "marital-status", "occupation", "relationship", "race", "sex")
    hierarchies = {name: _rare_together(frame[name]) for name in (*categories, "native-country")}
    for name in ("age", "fnlwgt", "education-num", "hours-per-week"):
        hierarchies[name] = _doubling(frame[name])
    for name in ("capital-gain", "capital-loss"):
        hierarchies[name] = _amounts(frame[name], _widths(frame[name]))
    return Microdata.from_frame(frame, {name: hierarchies[name] for name in frame.columns if name in hierarchies})


def _widths(column: pd.Series) -> list[int]:
    """Widths that double up to the greatest value."""
    widths = [2]
    while 2 * widths[-1] <= column.max():
        widths.append(2 * widths[-1])
    return widths


def _doubling(column: pd.Series) -> Hierarchy:
    """Return the numbers of a column in ever wider intervals."""
    values = sorted(column.unique().tolist())
    bins = [[f"{v // w * w}–{v // w * w + w - 1}" for v in values] for w in _widths(column)]
    return Hierarchy([values, *bins, ["*"] * len(values)])


def _rare_together(column: pd.Series) -> Hierarchy:
    """Return a hierarchy that merges rare values at every level."""
    counts = column.value_counts().sort_index()
    levels = [list(counts.index)]
    for least in [n * 10**power for power in range(1, 5) for n in (1, 2, 3, 5)]:
        level = [value if count >= least else "other" for value, count in counts.items()]
        if len(set(level)) < len(set(levels[-1])):
            levels.append(level)
    if len(set(levels[-1])) > 1:
        levels.append(["*"] * len(counts))
    return Hierarchy(levels)


def _amounts(column: pd.Series, widths: list[int]) -> Hierarchy:
    """Amounts in ever wider bins, nothing apart from something until the root."""
    values = sorted(column.unique().tolist())
    bins = [[0 if v == 0 else f"{v // w * w}–{v // w * w + w - 1}" for v in values] for w in widths]
    return Hierarchy([values, *bins, [0 if v == 0 else "more" for v in values], ["*"] * len(values)])
