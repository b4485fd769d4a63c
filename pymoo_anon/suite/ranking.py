"""Where an algorithm stands among those whose results are stored."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO

import pandas as pd
from numpy.typing import ArrayLike

from pymoo_anon.suite.files import read
from pymoo_anon.suite.problem import SuiteProblem

_BASELINES = "baselines.csv"


def baselines() -> pd.DataFrame:
    """The stored results: a row per instance, algorithm and seed, each after the short budget of the instance.

    Returns:
        A frame with the columns instance, algorithm, budget, seed, and per run the share of the front's hypervolume
        and the share of its members that were found.
    """
    return pd.read_csv(StringIO(read(_BASELINES)))


def standings(problem: SuiteProblem, algorithm: str, fronts: Sequence[ArrayLike]) -> pd.DataFrame:
    """An algorithm's place among the stored results on one instance, by medians over its runs.

    Args:
        problem: The instance.
        algorithm: What to call the algorithm.
        fronts: Per run an (n, n_obj) array of minimised values, such as `res.F`, after `problem.budgets[0]`
            evaluations.

    Returns:
        A row per algorithm, the best hypervolume first, by place from 1; equal ones share a place. Columns: algorithm,
        hypervolume, found, runs.

    Raises:
        ValueError: There is no run, or the algorithm is called as a stored one.
    """
    stored = baselines().query("instance == @problem.instance.name")
    if not len(fronts):
        raise ValueError("fronts must hold the front of at least one run, got none")
    if algorithm in set(stored["algorithm"]):
        raise ValueError(f"algorithm must be another name than those of the stored results, got {algorithm!r}")
    own = pd.DataFrame(
        {
            "algorithm": algorithm,
            "hypervolume": [problem.hypervolume_share(F) for F in fronts],
            "found": [problem.found_share(F) for F in fronts],
        }
    )
    runs = pd.concat([stored[list(own)], own]).groupby("algorithm")
    table = runs[["hypervolume", "found"]].median()
    table["runs"] = runs.size()
    table = table.sort_values(["hypervolume", "found"], ascending=False).reset_index()
    table.index = pd.Index(table["hypervolume"].rank(method="min", ascending=False).astype(int), name="place")
    return table
