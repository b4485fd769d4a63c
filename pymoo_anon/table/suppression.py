"""Suppression: which equivalence classes are taken out of a release, and how many tuples that may cost.

A suppressed tuple stays in the table, wholly generalized. A bare number in place of a rule means `AtMost`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pymoo_anon._messages import positive_whole
from pymoo_anon.table.domain_values import meant

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from pymoo_anon.engine.classes import EquivalenceClasses


#: What becomes of suppressed rows in a release: "mark" puts `*` in their quasi-identifiers, "drop" leaves them out.
HOW_RELEASED = "mark", "drop"


class ClassConstraint(Protocol):
    """What a rule of suppression asks of a constraint."""

    def reads(self, sensitive: Sequence[Hashable]) -> tuple[Hashable, ...]:
        """Return the names of the columns that the constraint reads."""

    @property
    def speaks_of_classes(self) -> bool:
        """Whether the constraint speaks of single equivalence classes."""

    @property
    def depends_on_kept(self) -> bool:
        """Whether what a class is worth depends on which other classes are kept."""

    def broken(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """(n_classes,) Boolean array: the classes that break the constraint."""


class Suppression:
    """A rule that says which equivalence classes of a generalization are suppressed."""

    def limit_of(self, n_rows: int) -> int | None:
        """At most so many of a table's tuples are suppressed; None where there is no limit.

        Raises:
            ValueError: The rule does not fit a table of so many rows.
        """
        raise NotImplementedError(f"{type(self).__name__} must define limit_of")

    def grouping(self, n_rows: int) -> tuple[int, int]:
        """What the engine itself suppresses: the limit of smallest first, and the smallest size that is kept or 0.

        Raises:
            ValueError: The rule does not fit a table of so many rows.
        """
        return 0, 0

    def applied(self, classes: EquivalenceClasses, constraints: Sequence[ClassConstraint]) -> EquivalenceClasses:
        """The classes as this rule keeps them, after the engine did its part.

        Args:
            classes: The classes of one or several generalizations.
            constraints: What must hold of the release.
        """
        return classes


class _Limited(Suppression):
    """A rule with a limit: a whole number of tuples, or a share of all."""

    limit: float

    def __post_init__(self) -> None:
        limit: Any = self.limit
        fits = isinstance(limit, Real) and not isinstance(limit, bool)
        if not fits or limit < 0 or not (isinstance(limit, Integral) or limit < 1):
            raise ValueError(
                "suppression must be a share of the tuples from 0.0 to below 1.0, or a whole number of tuples from 0, "
                f"got {limit!r}"
            )

    def limit_of(self, n_rows: int) -> int:
        """The limit in tuples of a table of so many rows.

        Raises:
            ValueError: It is not below the number of rows.
        """
        if not isinstance(self.limit, Integral):
            # 0.29 of 100 tuples is 29, and a third of 30,162 is 10,054.
            return int(meant(self.limit) * n_rows)
        if int(self.limit) >= n_rows:
            raise ValueError(
                f"suppression must be a share of the tuples from 0.0 to below 1.0, or a whole number of tuples from 0 "
                f"to {n_rows - 1}, got {self.limit!r}"
            )
        return int(self.limit)


@dataclass(frozen=True)
class AtMost(_Limited):
    """The smallest classes are suppressed first, while they hold at most so many tuples together.

    k is the smallest size for which the classes of at most that size hold more tuples than the limit; all smaller
    classes are suppressed (Dewri et al. 2010, section 6).

    Args:
        limit: A number of tuples (int), or a share of all (float below 1, rounded down).

    Raises:
        ValueError: The limit is no such number.

    >>> AtMost(0.01).limit_of(30_162)
    301
    """

    limit: float = 0

    def grouping(self, n_rows: int) -> tuple[int, int]:
        """The limit in tuples, and no smallest size."""
        return self.limit_of(n_rows), 0


@dataclass(frozen=True)
class Below(Suppression):
    """Every class smaller than k is suppressed, without limit (Bayardo and Agrawal 2005).

    Args:
        k: The smallest size that is kept.

    Raises:
        ValueError: k is no positive whole number.
    """

    k: int

    def __post_init__(self) -> None:
        positive_whole("k of Below", self.k)

    def limit_of(self, n_rows: int) -> None:
        """None: there is no limit.

        Raises:
            ValueError: k is above the number of rows.
        """
        if self.k > n_rows:
            raise ValueError(f"k of Below must be at most {n_rows}, the rows, got {self.k!r}")

    def grouping(self, n_rows: int) -> tuple[int, int]:
        """No limit, and the smallest size that is kept."""
        self.limit_of(n_rows)
        return 0, int(self.k)


@dataclass(frozen=True)
class Violating(_Limited):
    """Every class that breaks a constraint is suppressed, and nothing else; ARX's rule.

    Only constraints that speak of single classes count: k, l of each kind, alpha, t, beta, delta. A generalization that
    would lose more tuples than the limit is infeasible.

    Where adversaries know some columns alone, a class counts on others that agree with it there. So classes are
    suppressed again and again, until all that are left keep the constraints among themselves.

    Args:
        limit: A number of tuples (int), or a share of all (float below 1, rounded down).

    Raises:
        ValueError: The limit is no such number.
    """

    limit: float

    def applied(self, classes: EquivalenceClasses, constraints: Sequence[ClassConstraint]) -> EquivalenceClasses:
        """The classes, those that break a constraint suppressed.

        Raises:
            ValueError: No constraint speaks of single classes.
        """
        return replace(classes, kept=kept_by(self.read(constraints), classes))

    def read(self, constraints: Sequence[ClassConstraint]) -> list[ClassConstraint]:
        """The constraints that speak of single classes.

        Raises:
            ValueError: None does.
        """
        of_classes = [constraint for constraint in constraints if constraint.speaks_of_classes]
        if not of_classes:
            raise ValueError(
                "Violating needs a constraint that single classes can break, such as KAnonymity() >= 5, "
                f"got {list(constraints) or 'none'}"
            )
        return of_classes


def kept_by(
    constraints: Sequence[ClassConstraint], classes: EquivalenceClasses, among: NDArray[np.bool_] | None = None
) -> NDArray[np.bool_]:
    """(n_classes,) Boolean array: the classes that are left where those that break a constraint are suppressed.

    What is left keeps all constraints by itself. Of constraints whose classes get no better by what others lose, such
    as k and distinct l, it is the largest such set, whatever the order: the union of two such sets is one, too. No
    others than those of `among` are left; whether classes are kept so far does not count.
    """
    kept = np.ones(len(classes.sizes), dtype=bool) if among is None else among.copy()
    for constraint in constraints:
        if not constraint.depends_on_kept:
            kept &= ~constraint.broken(classes)
    dependent = [constraint for constraint in constraints if constraint.depends_on_kept]
    gone = len(dependent) > 0
    while gone:
        left = replace(classes, kept=kept)
        still = kept & ~np.logical_or.reduce([constraint.broken(left) for constraint in dependent])
        gone, kept = bool((still < kept).any()), still
    return kept


def suppression_rule(given: Any) -> Suppression:
    """The rule that was given, or `AtMost` of a bare number."""
    if isinstance(given, Suppression):
        return given
    if isinstance(given, type) or not isinstance(given, Real):
        raise TypeError(f"suppression must be a number, AtMost, Below or Violating, got {given!r}")
    return AtMost(given)  # type: ignore[arg-type]
