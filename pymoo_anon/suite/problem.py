"""The suite's instances as problems of pymoo, and where an algorithm stands among those whose results are stored."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
from moocore import hypervolume
from numpy.typing import ArrayLike, NDArray
from pymoo.core.problem import Problem

from pymoo_anon._messages import examples
from pymoo_anon.suite.instance import Instance

Matrix = NDArray[np.float64]

#: What MOrepo's names begin with: the folder `data` is laid out as a contribution to it.
CONTRIBUTION = "PymooAnon26"

#: The files of an instance in that folder: itself, its front, how that is proven, and the front in MOrepo's format.
FILES = {
    "instance": f"instances/json/{CONTRIBUTION}_{{}}.json",
    "front": "fronts/{}.csv",
    "certificate": "certificates/{}.json",
    "result": f"results/{CONTRIBUTION}_{{}}_result.json",
}

_DATA = files("pymoo_anon.suite") / "data"

# The reference point lies this share of the front's range beyond its nadir.
_BEYOND = 0.1


class SuiteProblem(Problem):  # type: ignore[misc]
    """An instance of the suite: frozen data, exact values, and a front that is proven.

    Objectives are minimised, k as -k, and all are whole numbers. Points may be integers, Booleans or whole floats.

    Args:
        instance: The instance.
        front: (n, n_var + n_obj) int64 array, the proven front: a point a row, and its values with natural signs.
        certificate: What is proven, and how hard the instance is.

    Attributes:
        instance: The instance; `instance.evaluate` needs numpy alone.
        certificate: How the front was proven, and hashes.
        features: What makes the instance hard: "unsupported", the share of the front that no weighted sum finds;
            "plateaus", per objective the share of steps to a neighbour that leave it as it is; "correlation", of the
            ranks of the minimised objectives over random points.
    """

    def __init__(self, instance: Instance, front: NDArray[np.int64], certificate: Mapping[str, Any]) -> None:
        self.instance = instance
        self.certificate = dict(certificate)
        self.features: dict[str, Any] = self.certificate["features"]
        upper = instance.upper
        self._set = front[:, : len(upper)].astype(bool if instance.bits else np.int64)
        self._front: Matrix = (front[:, len(upper) :] * instance.signs).astype(float)
        super().__init__(
            n_var=len(upper),
            n_obj=len(instance.signs),
            n_ieq_constr=instance.n_constraints,
            xl=np.zeros(len(upper)),
            xu=upper.astype(float),
            vtype=bool if instance.bits else int,
        )

    @property
    def budgets(self) -> tuple[int, int]:
        """Recommended numbers of evaluations, a short and a long one; the stored results are of the short one."""
        short, long = self.instance.told["budgets"]
        return short, long

    def name(self) -> str:
        """The instance's name."""
        name: str = self.instance.told["name"]
        return name

    def reference_point(self) -> Matrix:
        """(n_obj,) float array, for hypervolumes: a tenth of the front's range beyond its nadir."""
        ideal, nadir = self._front.min(axis=0), self._front.max(axis=0)
        point: Matrix = nadir + _BEYOND * (nadir - ideal)
        return point

    def hypervolume_share(self, F: ArrayLike) -> float:
        """The hypervolume of a set of points, as a share of that of the proven front.

        Args:
            F: (n, n_obj) array of minimised values, such as `res.F`; may be empty.
        """
        points = np.asarray(F, dtype=float).reshape(-1, self.n_obj)
        low, spread = self._front.min(axis=0), np.ptp(self._front, axis=0)
        reference = np.full(self.n_obj, 1 + _BEYOND)
        found, whole = (hypervolume((own - low) / spread, ref=reference) for own in (points, self._front))
        return float(found / whole)

    def found_share(self, F: ArrayLike) -> float:
        """The share of the proven front's members that are among a set of points.

        Args:
            F: (n, n_obj) array of minimised values, such as `res.F`; may be empty.
        """
        points = set(map(tuple, np.asarray(F, dtype=float).reshape(-1, self.n_obj)))
        return float(np.mean([tuple(member) in points for member in self._front]))

    def _calc_pareto_front(self, *args: Any, **kwargs: Any) -> Matrix:
        return self._front.copy()

    def _calc_pareto_set(self, *args: Any, **kwargs: Any) -> NDArray[Any]:
        return self._set.copy()

    def _evaluate(self, X: ArrayLike, out: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        values, excess = self.instance.evaluate(X)
        out["F"], out["G"] = (values * self.instance.signs).astype(float), excess.astype(float)


def names() -> tuple[str, ...]:
    """The names of all instances, in alphabetical order."""
    return tuple(sorted(file.name.removesuffix(".csv") for file in (_DATA / "fronts").iterdir()))


def load(name: str) -> SuiteProblem:
    """An instance as a problem of pymoo.

    Args:
        name: One of `names()`.

    Raises:
        KeyError: There is no instance of this name.

    >>> problem = load("patients-k-GLM-v1")
    >>> problem.pareto_front().shape[1], problem.instance.labels
    (2, ('k', 'GLM'))
    """
    if name not in names():
        raise KeyError(f"name must be one of suite.names(), such as {examples(names())}; got {name!r}")
    instance, front, certificate = (
        _DATA.joinpath(FILES[what].format(name)).read_text(encoding="utf-8")
        for what in ("instance", "front", "certificate")
    )
    members = np.array([line.split(",") for line in front.splitlines()[1:]], dtype=np.int64)
    return SuiteProblem(Instance(json.loads(instance)), members, json.loads(certificate))


def baselines() -> pd.DataFrame:
    """The stored results: a row per instance, algorithm and seed, each after the short budget of the instance.

    Returns:
        A frame with the columns instance, algorithm, budget, seed, and per run the share of the front's hypervolume
        and the share of its members that were found.
    """
    with (_DATA / "baselines.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file)


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
    stored = baselines().query("instance == @problem.name()")
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
