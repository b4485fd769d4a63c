"""Preferences between information loss and privacy bias, under a constraint on k; achievement of a preferred point."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from pymoo.core.decomposition import Decomposition

from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.engine.tuples import DistinctTuples
from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.loss import NormalizedClassDispersion, NormalizedWeightedPenalty
from pymoo_anon.objectives.privacy import KAnonymity
from pymoo_anon.problems.arguments import check_table, free_name
from pymoo_anon.problems.bitstrings import BitStringProblem
from pymoo_anon.table.domain_values import is_whole
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.table.taxonomy import Taxonomy

Matrix = NDArray[np.float64]


class Achievement(Decomposition):  # type: ignore[misc]
    """How far a point is, in the direction of a preferred one, from the utopian point (Dewri et al. 2009, section 4).

    `max_i w_i (F_i - utopian_i)`, where w_i is proportional to 1 / (preference_i - utopian_i) and of sum 1; lower is
    better. The utopian point is the ideal one, the origin by default, less `eps`. As with pymoo's `ASF`, it is called
    with F and weights, which are the preferred points here.

    Args:
        eps: A very small positive number.

    >>> Achievement()(np.array([[0.2, 0.5], [0.4, 0.1]]), np.array([0.2, 1.0])).round(3)
    array([0.167, 0.333])
    """

    def __init__(self, eps: float = 1e-6, **kwargs: Any) -> None:
        super().__init__(eps=eps, **kwargs)

    def _do(self, F: Matrix, weights: Matrix, **kwargs: Any) -> Matrix:
        w = 1 / (weights - self.utopian_point)
        achieved: Matrix = (w / w.sum(axis=1, keepdims=True) * (F - self.utopian_point)).max(axis=1)
        return achieved


class PreferredPoint(Objective):
    """The achievement of preferred values of NWP and NECD: how far a generalization is from them; lower is better.

    Args:
        preference: The preferred (NWP, NECD), each from 0 to 1.
        weights: Weights of the quasi-identifiers in NWP, as in `NormalizedWeightedPenalty`.
        name: Short name, which tells it from those of other preferred points.

    Attributes:
        preference: (2,) float array, the preferred point.
        loss: The objective NWP.
        bias: The objective NECD.

    Raises:
        ValueError: The preference is no point between 0 and 1, or the weights are not of sum 1.
    """

    maximize = False
    step = 0.001

    def __init__(
        self,
        preference: ArrayLike,
        weights: Sequence[float] | NDArray[np.float64] | None = None,
        name: str = "achievement",
    ) -> None:
        points = preferred_points(preference)
        if len(points) != 1:
            raise ValueError(f"preference must be one point (NWP, NECD), got {preference!r}")
        self.name = name
        self.preference: Matrix = points[0]
        self.loss = NormalizedWeightedPenalty(weights)
        self.bias = NormalizedClassDispersion()

    def check(self, table: Microdata) -> None:
        """Refuse a table with another number of quasi-identifiers than of weights.

        Raises:
            ValueError: They differ.
        """
        self.loss.check(table)

    def evaluate(self, classes: EquivalenceClasses) -> Matrix:
        """(n,) float array, the achievement of each of n generalizations."""
        return self.achieved(np.column_stack([self.loss.evaluate(classes), self.bias.evaluate(classes)]))

    def achieved(self, points: Matrix) -> Matrix:
        """(n,) float array: the achievement of points.

        Args:
            points: (n, 2) float array of NWP and NECD.
        """
        achieved: Matrix = Achievement().do(points, self.preference, _type="many_to_one")
        return achieved

    def deviation(self, points: Matrix) -> Matrix:
        """(n,) float array: the preference deviation of points, which decides between equal achievements.

        It is the sum of NWP and NECD less that of the preferred ones (Dewri et al. 2009, section 4).

        Args:
            points: (n, 2) float array of NWP and NECD.
        """
        deviation: Matrix = points.sum(axis=-1) - self.preference.sum()
        return deviation

    def value_range(self, tuples: DistinctTuples) -> tuple[float, float]:
        """The achievements of the best and of the worst point."""
        best, worst = self.achieved(np.array([[0.0, 0.0], [1.0, 1.0]]))
        return float(best), float(worst)

    def __repr__(self) -> str:
        return f"PreferredPoint({tuple(self.preference.tolist())})"


def preferred_points(preferences: ArrayLike) -> Matrix:
    """(n, 2) float array: one preferred point (NWP, NECD) or several."""
    try:
        points = np.atleast_2d(np.array(preferences, dtype=float))
    except (TypeError, ValueError):
        points = np.empty((0, 0))
    if points.ndim != 2 or points.shape[1] != 2 or not points.size or not ((points >= 0) & (points <= 1)).all():
        raise ValueError(f"preferences must be points (NWP, NECD) between 0 and 1, got {preferences!r}")
    return points


class PreferenceProblem(BitStringProblem):
    """Partitions that achieve preferred values of NWP and NECD and are k-anonymous (Dewri et al. 2009, section 5).

    The constrained problem becomes one of two objectives: f1, the achievement of the preferred point, and f2 = k_pref -
    k, feasible where it is not positive; so a larger k is looked for, too. With several preferred points there is an f1
    for each, and f2 is the last column of F.

    Its declared objectives are a `PreferredPoint` for each f1, and `KAnonymity`: natural values show k, and F holds
    k_pref - k.

    Args:
        table: The table. No tuple is suppressed.
        k: k_pref, the smallest k that is acceptable.
        preferences: The preferred (NWP, NECD), each from 0 to 1; one such point or several.
        weights: Weights of the quasi-identifiers in NWP, as in `NormalizedWeightedPenalty`.
        orders: Orders of domains, as in `BitStringProblem`.
        taxonomies: Taxonomies, as in `BitStringProblem`.
        elementwise_runner: What evaluates points one by one, as in `BitStringProblem`.

    Attributes:
        k: k_pref.
        preferences: (n, 2) float array, the preferred points.

    Raises:
        TypeError: `table` is no Microdata, or a taxonomy is no Taxonomy.
        KeyError: `orders` or `taxonomies` names no quasi-identifier.
        ValueError: k is not from 1 to the number of rows, a preference is not a point between 0 and 1, or as
            `BitStringProblem`.

    >>> from pymoo_anon.datasets import make_census
    >>> problem = PreferenceProblem(make_census(200), k=5, preferences=[(0.2, 1.0), (0.5, 0.1)])
    >>> problem.objective_names
    ('achievement 1', 'achievement 2', 'k')
    >>> F = problem.evaluate(np.zeros(problem.n_var, dtype=bool))  # the whole table is one class
    >>> float(F[-1]), float(problem.natural(F)[-1])
    (-195.0, 200.0)
    """

    def __init__(
        self,
        table: Microdata,
        k: int,
        preferences: ArrayLike,
        weights: Sequence[float] | None = None,
        *,
        orders: Mapping[str, Sequence[Hashable]] | None = None,
        taxonomies: Mapping[str, Taxonomy] | None = None,
        elementwise_runner: Callable[..., Any] | None = None,
    ) -> None:
        check_table(table)
        if not is_whole(k) or not 1 <= k <= table.n_rows:
            raise ValueError(f"k must be a whole number from 1 to {table.n_rows}, the rows, got {k!r}")
        self.k: int = int(k)
        self.preferences: Matrix = preferred_points(preferences)
        several = len(self.preferences) > 1
        self._preferred: tuple[PreferredPoint, ...] = tuple(
            PreferredPoint(point, weights, f"achievement {number}" if several else "achievement")
            for number, point in enumerate(self.preferences, start=1)
        )
        super().__init__(
            table,
            [*self._preferred, KAnonymity()],
            orders=orders,
            taxonomies=taxonomies,
            elementwise_runner=elementwise_runner,
        )

    def measures(self, X: ArrayLike) -> Matrix:
        """(n, 3) float array: NWP, NECD and k of strings, from the memory where it has them.

        Args:
            X: (n, n_var) Boolean array.

        Raises:
            TypeError: X is not Boolean.
            ValueError: X has another shape, or is no cut where there is a taxonomy.
        """
        return self.measure(self.checked(X))[:, :-1]

    def natural(self, F: ArrayLike) -> Matrix:
        """Achievements and k, from achievements and k_pref - k.

        Args:
            F: (n_obj,) or (n, n_obj) array of minimised values.
        """
        values = np.array(F, dtype=float)
        values[..., -1] = self.k - values[..., -1]
        return values

    def describe(self, X: NDArray[np.bool_]) -> pd.DataFrame:
        """What `to_frame` says of strings.

        Args:
            X: (n, n_var) Boolean array.

        Returns:
            A row per string: the number of groups of every quasi-identifier, then k, NWP, NECD and, per preferred
            point, the achievement and the preference deviation.
        """
        frame, values = self._variables_frame(X), self.measures(X)
        loss, bias, k = (self.names[measure] for measure in self.measured)
        frame[k] = values[:, 2].astype(np.int64)
        frame[loss], frame[bias] = values[:, 0], values[:, 1]
        for point, (achievement, deviation) in zip(self._preferred, self._names_of_points(), strict=True):
            frame[achievement] = point.achieved(values[:, :2])
            frame[deviation] = point.deviation(values[:, :2])
        return frame

    def picks(self, X: NDArray[np.bool_]) -> pd.DataFrame:
        """The solution of every preferred point among strings (Dewri et al. 2009, section 5.3).

        Of the strings with k >= k_pref the one of the smallest achievement; of equal ones that of the smallest
        preference deviation, of these the first.

        Args:
            X: (n, n_var) Boolean array, such as `res.X`.

        Returns:
            One row per preferred point: `row`, its row in X, the preferred point, k, NWP, NECD, achievement, deviation,
            and the number of groups of every quasi-identifier. Points without a feasible string are left out.

        Raises:
            TypeError: X is not Boolean.
            ValueError: X has another shape, or is no cut where there is a taxonomy.
        """
        frame = self.describe(X)
        loss, bias, k = (self.names[measure] for measure in self.measured)
        feasible = frame[frame[k] >= self.k]
        found = []
        for number, names in enumerate(self._names_of_points()):
            ranked = feasible.sort_values(list(names), kind="stable")
            found += [(number, row, *ranked.loc[row, list(names)]) for row in ranked.index[:1]]
        numbers, rows, achievements, deviations = np.array(found, dtype=float).reshape(-1, 4).T
        points, chosen = self.preferences[numbers.astype(int)], frame.loc[rows.astype(int)].reset_index(drop=True)
        columns = {
            "row": rows.astype(np.int64),
            "NWP_pref": points[:, 0],
            "NECD_pref": points[:, 1],
            **{name: chosen[name] for name in (k, loss, bias)},
            "achievement": achievements,
            "deviation": deviations,
        }
        groups = chosen[list(self.table.quasi_identifiers)]
        picked = pd.DataFrame({free_name(name, groups.columns): column for name, column in columns.items()})
        return pd.concat([picked, groups], axis=1)

    def _measures(self) -> tuple[Objective, ...]:
        """NWP, NECD and k: achievements are computed from the first two, however many preferred points there are."""
        return self._preferred[0].loss, self._preferred[0].bias, self.objectives[-1]

    def minimised(self, values: Matrix) -> tuple[Matrix, Matrix]:
        """Achievements and k_pref - k, from NWP, NECD and k. There are no constraints."""
        achievements = [point.achieved(values[:, :2]) for point in self._preferred]
        return np.column_stack([*achievements, self.k - values[:, 2]]), np.empty((len(values), 0))

    def _names_of_points(self) -> list[tuple[str, str]]:
        """The columns of achievement and deviation, for each preferred point."""
        taken = self.table.quasi_identifiers
        return [
            (self.names[point], free_name(point.name.replace("achievement", "deviation"), taken))
            for point in self._preferred
        ]
