"""Preferences between information loss and privacy bias, under a constraint on k."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from pymoo.core.result import Result

from pymoo_anon.objectives.loss import NormalizedClassDispersion, NormalizedWeightedPenalty
from pymoo_anon.objectives.privacy import KAnonymity
from pymoo_anon.problems.achievement import Achievement, preference_deviation
from pymoo_anon.problems.partition import PartitionProblem
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.table.taxonomy import Taxonomy

Matrix = NDArray[np.float64]


class PreferenceProblem(PartitionProblem):
    """Partitions that achieve preferred values of NWP and NECD and are k-anonymous (Dewri et al. 2009, section 5).

    The constrained problem becomes one of two objectives: f1, the achievement of the preferred point, and f2 = k_pref -
    k, feasible where it is not positive; so a larger k is looked for, too. With several preferred points there is an f1
    for each, and f2 is the last column of F.

    Args:
        table: The table. No tuple is suppressed.
        k: k_pref, the smallest k that is acceptable.
        preferences: The preferred (NWP, NECD), each from 0 to 1; one such point or several.
        weights: Weights of the quasi-identifiers in NWP, as in `NormalizedWeightedPenalty`.
        orders: Orders of domains, as in `PartitionProblem`.
        taxonomies: Taxonomies, as in `PartitionProblem`.

    Attributes:
        k: k_pref.
        preferences: (n, 2) float array, the preferred points.

    Raises:
        ValueError: k is not from 1 to the number of rows, a preference is not a point between 0 and 1, or as
            `PartitionProblem`.
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
    ) -> None:
        super().__init__(
            table,
            [NormalizedWeightedPenalty(weights), NormalizedClassDispersion(), KAnonymity()],
            orders=orders,
            taxonomies=taxonomies,
        )
        if isinstance(k, bool) or not isinstance(k, Integral) or not 1 <= k <= table.n_rows:
            raise ValueError(f"k must be a whole number from 1 to {table.n_rows}, the rows, got {k!r}")
        try:
            points = np.atleast_2d(np.array(preferences, dtype=float))
        except (TypeError, ValueError):
            points = np.empty((0, 0))
        if points.ndim != 2 or points.shape[1] != 2 or not points.size or not ((points >= 0) & (points <= 1)).all():
            raise ValueError(f"preferences must be points (NWP, NECD) between 0 and 1, got {preferences!r}")
        self.k: int = int(k)
        self.preferences: Matrix = points
        self.n_obj = len(points) + 1

    def measures(self, X: ArrayLike) -> Matrix:
        """(n, 3) float array: NWP, NECD and k of strings, from the memory where it has them.

        Args:
            X: (n, n_var) Boolean array.
        """
        return self._memory.recall(self.checked(X), self._measure)

    @property
    def steps(self) -> Matrix:
        """(n_obj,) float array: 0.001 for achievements, and 1 for k."""
        return np.array([0.001] * len(self.preferences) + [1.0])

    def natural(self, F: ArrayLike) -> Matrix:
        """Achievements and k, from achievements and k_pref - k.

        Args:
            F: (n_obj,) or (n, n_obj) array of minimised values.
        """
        values = np.array(F, dtype=float)
        values[..., -1] = self.k - values[..., -1]
        return values

    def to_frame(self, res: Result) -> pd.DataFrame:
        """The front that was found, as a table.

        Args:
            res: What `minimize` returned.

        Returns:
            One row per row of `res.X`, in the same order: the number of groups of every quasi-identifier, then k, NWP,
            NECD and, per preferred point, the achievement and the preference deviation.
        """
        X = np.empty((0, self.n_var), dtype=bool) if res.X is None else np.atleast_2d(res.X)
        return self._described(X)

    def picks(self, X: NDArray[np.bool_]) -> pd.DataFrame:
        """The solution of every preferred point among strings (Dewri et al. 2009, section 5.3).

        Of the strings with k >= k_pref the one of the smallest achievement; of equal ones that of the smallest
        preference deviation, of these the first.

        Args:
            X: (n, n_var) Boolean array, such as `res.X`.

        Returns:
            One row per preferred point: `row`, its row in X, the preferred point, k, NWP, NECD, achievement, deviation,
            and the number of groups of every quasi-identifier. Points without a feasible string are left out.
        """
        frame = self._described(X)
        loss_name, bias_name, k_name = self.objective_names
        feasible = frame.index[frame[k_name] >= self.k]
        rows = []
        for number, (loss, bias) in enumerate(self.preferences):
            achievement, deviation = self._names(number)
            order = frame.loc[feasible].sort_values([achievement, deviation], kind="stable").index
            if len(order):
                best = frame.loc[order[0]]
                rows.append(
                    {
                        "row": order[0],
                        "NWP_pref": loss,
                        "NECD_pref": bias,
                        **best[[k_name, loss_name, bias_name]],
                        "achievement": best[achievement],
                        "deviation": best[deviation],
                        **best[list(self.table.quasi_identifiers)],
                    }
                )
        whole = ["row", k_name, *self.table.quasi_identifiers]
        columns = ["row", "NWP_pref", "NECD_pref", k_name, loss_name, bias_name, "achievement", "deviation"]
        picked = pd.DataFrame(rows, columns=[*columns, *self.table.quasi_identifiers])
        return picked.astype(dict.fromkeys(whole, np.int64))

    def _evaluate(self, X: ArrayLike, out: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        loss_and_bias, k = np.split(self.measures(X), [2], axis=1)
        achievements = Achievement().do(loss_and_bias, self.preferences, _type="many_to_many")
        out["F"] = np.column_stack([achievements.reshape(len(k), -1), self.k - k])

    def _described(self, X: NDArray[np.bool_]) -> pd.DataFrame:
        frame = self._variables_frame(X)
        values = self.measures(X)
        loss_name, bias_name, k_name = self.objective_names
        frame[k_name] = values[:, 2].astype(np.int64)
        frame[loss_name], frame[bias_name] = values[:, 0], values[:, 1]
        for number, preference in enumerate(self.preferences):
            achievement, deviation = self._names(number)
            frame[achievement] = Achievement().do(values[:, :2], preference, _type="many_to_one")
            frame[deviation] = preference_deviation(values[:, :2], preference)
        return frame

    def _names(self, number: int) -> tuple[str, str]:
        mark = "" if len(self.preferences) == 1 else f" {number + 1}"
        return f"achievement{mark}", f"deviation{mark}"
