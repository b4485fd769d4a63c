"""Instances of the suite as problems, and a ranking of algorithms."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
from moocore import hypervolume
from numpy.typing import ArrayLike
from pymoo.core.problem import Problem

from pymoo_anon._messages import examples
from pymoo_anon.suite.verify import Space
from pymoo_anon.typing import Array, Floats, Ints

#: Prefix of names in MOrepo. The folder `data` is laid out as a contribution to it.
CONTRIBUTION = "PymooAnon26"

#: Files of an instance in that folder.
PATHS = {
    "instance": f"instances/json/{CONTRIBUTION}_{{}}.json",
    "front": "fronts/{}.csv",
    "certificate": "certificates/{}.json",
    "result": f"results/{CONTRIBUTION}_{{}}_result.json",
}

_SUITE_DATA = files("pymoo_anon.suite") / "data"

# Distance of the reference point beyond the nadir, as a share of the front's range.
_BEYOND = 0.1


class Instance(Space):
    """A frozen problem: rows, their generalizations, and measures.

    Args:
        told: Content of the instance's file, in the form described on the suite's page.

    Attributes:
        attributes: Names of the generalized attributes.
        sizes: Number of values of each attribute.
        codes: For each attribute an (n,) int64 array, the values of every row.
        columns: For each other column an (n,) int64 array, its values.
        counts: (n,) int64 array, the number of persons of every row.
        bits: Whether points are bit strings or levels.
        nodes: For each attribute the first and the last value of the nodes of its taxonomy, or None without one.
        rule: The rule of suppression: "at most", "below" or "violating".
        limit: Number of persons or size, depending on the rule.
        signs: (n_obj,) int64 array, -1 for maximised objectives and 1 for minimised ones.
    """

    @property
    def upper(self) -> Ints:
        """(n_var,) int64 array of the greatest levels, or 1 for bits."""
        if self.bits:
            return np.ones(self.n_var, dtype=np.int64)
        return np.array([len(own["levels"]) - 1 for own in self.told["attributes"]])

    @property
    def has_taxonomies(self) -> bool:
        """Whether a taxonomy makes some strings infeasible."""
        return any(nodes is not None for nodes in self.nodes)

    @property
    def n_constraints(self) -> int:
        """Number of constraints, with the rule's and the taxonomies'."""
        return len(self.told["constraints"]) + (self.rule == "violating") + self.has_taxonomies

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the objectives with their columns."""
        return tuple(" of ".join(filter(None, (own["measure"], own.get("column")))) for own in self.told["objectives"])

    def checked(self, X: ArrayLike) -> Ints:
        """Return points as an (n, n_var) int64 array.

        Args:
            X: (n, n_var) array of whole numbers, as integers, Booleans or floats.

        Raises:
            ValueError: X has another shape, or holds a number that is not whole or out of range.
        """
        given, upper = np.asarray(X), self.upper
        if given.ndim != 2 or given.shape[1] != len(upper):
            raise ValueError(f"X must be an (n, {len(upper)}) array, got shape {given.shape}")
        points = given.astype(float)
        wrong = ~((points == np.floor(points)) & (points >= 0) & (points <= upper))
        if wrong.any():
            wanted = "0 or 1" if self.bits else f"whole numbers from 0 to {', '.join(map(str, upper))}"
            raise ValueError(
                f"X must hold {wanted}, got {examples(points[wrong].tolist())}; pymoo's RoundingRepair and its "
                "operators for whole numbers or bits keep it so"
            )
        return points.astype(np.int64)

    def evaluate(self, X: ArrayLike) -> tuple[Ints, Ints]:
        """Evaluate points. Arguments and errors are those of `checked`.

        Returns:
            (n, n_obj) int64 array of the objectives with natural signs, k and not -k; and (n, n_constraints) int64
            array, at most 0 if a constraint holds. The constraints of the file come first, then the excess of
            suppressed persons for the rule "violating", then the number of groups outside of the taxonomies.
        """
        points = self.checked(X)
        values = np.empty((len(points), len(self.signs)), dtype=np.int64)
        excess = np.empty((len(points), self.n_constraints), dtype=np.int64)
        for i, x in enumerate(points.tolist()):
            groups = self.groups(x)
            values[i], over = self.measured(self.state(groups))
            excess[i] = [*over, sum(map(self.n_strays, range(len(groups)), groups))] if self.has_taxonomies else over
        return values, excess


class SuiteProblem(Problem):  # type: ignore[misc]
    """An instance of the suite with its proven front.

    Objectives are whole numbers and minimised, k as -k. Points may be integers, Booleans or whole floats.

    Args:
        instance: The instance.
        front: (n, n_var + n_obj) int64 array of the proven front, points beside values with natural signs.
        certificate: Proof of the front and features of the instance.

    Attributes:
        instance: The instance; `instance.evaluate` needs numpy alone.
        certificate: Kind of the proof, and hashes.
        features: Measures of hardness: "unsupported", the share of the front that no weighted sum finds; "plateaus",
            per objective the share of steps to a neighbour without a change; "correlation", of the ranks of the
            minimised objectives over random points.
    """

    def __init__(self, instance: Instance, front: Ints, certificate: Mapping[str, Any]) -> None:
        self.instance = instance
        self.certificate = dict(certificate)
        self.features: dict[str, Any] = self.certificate["features"]
        upper = instance.upper
        self._set = front[:, : len(upper)].astype(bool if instance.bits else np.int64)
        self._front: Floats = (front[:, len(upper) :] * instance.signs).astype(float)
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
        """Short and long number of evaluations. The stored results are of the short one."""
        short, long = self.instance.told["budgets"]
        return short, long

    def name(self) -> str:
        """Return the instance's name."""
        return self.instance.told["name"]

    def reference_point(self) -> Floats:
        """Return a point beyond the nadir by a tenth of the range, (n_obj,) float."""
        ideal, nadir = self._front.min(axis=0), self._front.max(axis=0)
        return nadir + _BEYOND * (nadir - ideal)

    def hypervolume_share(self, F: ArrayLike | None) -> float:
        """Return the share of the proven front's hypervolume.

        Args:
            F: (n, n_obj) array of minimised values, such as `res.F`, which is None where no point is feasible.
        """
        points = self._points(F)
        low, spread = self._front.min(axis=0), np.ptp(self._front, axis=0)
        reference = np.full(self.n_obj, 1 + _BEYOND)
        found, whole = (hypervolume((own - low) / spread, ref=reference) for own in (points, self._front))
        return float(found / whole)

    def found_share(self, F: ArrayLike | None) -> float:
        """Return the share of the proven front that is found, with F as of `hypervolume_share`."""
        points = set(map(tuple, self._points(F)))
        return float(np.mean([tuple(member) in points for member in self._front]))

    def _points(self, F: ArrayLike | None) -> Floats:
        return np.asarray([] if F is None else F, dtype=float).reshape(-1, self.n_obj)

    def _calc_pareto_front(self, *args: Any, **kwargs: Any) -> Floats:
        return self._front.copy()

    def _calc_pareto_set(self, *args: Any, **kwargs: Any) -> Array:
        return self._set.copy()

    def _evaluate(self, X: ArrayLike, out: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        values, excess = self.instance.evaluate(X)
        out["F"], out["G"] = (values * self.instance.signs).astype(float), excess.astype(float)


def names() -> tuple[str, ...]:
    """Return the names of all instances, in alphabetical order."""
    return tuple(sorted(file.name.removesuffix(".csv") for file in (_SUITE_DATA / "fronts").iterdir()))


def load(name: str) -> SuiteProblem:
    """Load an instance as a problem of pymoo.

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
        _SUITE_DATA.joinpath(PATHS[what].format(name)).read_text(encoding="utf-8")
        for what in ("instance", "front", "certificate")
    )
    members = np.array([line.split(",") for line in front.splitlines()[1:]], dtype=np.int64)
    return SuiteProblem(Instance(json.loads(instance)), members, json.loads(certificate))


def baselines() -> pd.DataFrame:
    """Return the stored results of several algorithms after the short budget.

    Columns: instance, algorithm, budget, seed, and the found shares of the front's hypervolume and of its members.
    """
    with (_SUITE_DATA / "baselines.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file)


def standings(problem: SuiteProblem, algorithm: str, fronts: Sequence[ArrayLike | None]) -> pd.DataFrame:
    """Rank an algorithm among the stored results on one instance.

    Medians over the runs are compared.

    Args:
        problem: The instance.
        algorithm: Name of the algorithm.
        fronts: Per run F as of `hypervolume_share`, after `problem.budgets[0]` evaluations.

    Returns:
        A frame with a row per algorithm, the best hypervolume first, indexed by place from 1. Equal ones share a place.
        Columns: algorithm, hypervolume, found, runs.

    Raises:
        ValueError: There is no run, or the name is that of a stored algorithm.
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
