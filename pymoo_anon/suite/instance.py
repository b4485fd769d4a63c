"""Instances of the suite, evaluated by the suite's own verifier."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pymoo_anon._messages import examples
from pymoo_anon.suite.verify import Space
from pymoo_anon.typing import Ints


class Instance(Space):
    """A frozen problem: rows of whole numbers, their possible generalizations, and measures.

    Args:
        told: Content of the instance's file, in the form described on the suite's page.

    Attributes:
        told: Content of the instance's file.
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
        """Number of constraints, with those of the rule "violating" and of taxonomies."""
        n: int = len(self.told["constraints"]) + (self.rule == "violating") + self.has_taxonomies
        return n

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
        """Evaluate points.

        Args:
            X: (n, n_var) array of whole numbers.

        Returns:
            (n, n_obj) int64 array of the objectives with natural signs, k and not -k; and (n, n_constraints) int64
            array, at most 0 if a constraint holds. The constraints of the file come first, then the excess of
            suppressed persons for the rule "violating", then the number of groups outside of the taxonomies.

        Raises:
            ValueError: X has another shape, or holds a number that is not whole or out of range.
        """
        points = self.checked(X)
        values = np.empty((len(points), len(self.signs)), dtype=np.int64)
        excess = np.empty((len(points), self.n_constraints), dtype=np.int64)
        for i, x in enumerate(points.tolist()):
            groups = self.groups(x)
            values[i], over = self.measured(self.state(groups))
            excess[i] = [*over, sum(map(self.n_strays, range(len(groups)), groups))] if self.has_taxonomies else over
        return values, excess
