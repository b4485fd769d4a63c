"""Preferences between information loss and privacy bias, under a constraint on k."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.privacy import KAnonymity
from pymoo_anon.problems.achievement import PreferredPoint, preferred_points
from pymoo_anon.problems.arguments import check_table, free_name
from pymoo_anon.problems.bitstrings import BitStringProblem
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.table.taxonomy import Taxonomy

Matrix = NDArray[np.float64]


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
        if isinstance(k, bool) or not isinstance(k, Integral) or not 1 <= k <= table.n_rows:
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
        return self._memory.recall(self.checked(X), self._measure)[:, :-1]

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
