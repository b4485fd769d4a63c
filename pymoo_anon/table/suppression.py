"""Suppression: rules for the equivalence classes to suppress, within limits.

A suppressed tuple stays in the table, wholly generalized. A bare number in place of a rule means `AtMost`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pymoo_anon._messages import positive_whole
from pymoo_anon.table.domain_values import meant
from pymoo_anon.typing import Bools

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from pymoo_anon.engine.classes import EquivalenceClasses


#: Suppressed rows in a release: "mark" puts `*` in their quasi-identifiers, "drop" leaves them out.
HOW_RELEASED = "mark", "drop"


class ClassConstraint(Protocol):
    """Interface of constraints for rules of suppression."""

    def reads(self, sensitive: Sequence[Hashable]) -> tuple[Hashable, ...]:
        """Return the names of the columns read."""

    @property
    def speaks_of_classes(self) -> bool:
        """True if single equivalence classes can break the constraint."""

    @property
    def depends_on_kept(self) -> bool:
        """True if the value of a class depends on other classes."""

    def broken(self, classes: EquivalenceClasses) -> Bools:
        """Find the classes that break the constraint, (n_classes,) Boolean."""


class Suppression:
    """A rule for the equivalence classes to suppress."""

    def limit_of(self, n_rows: int) -> int | None:
        """Return the largest number of suppressed tuples, or None.

        Raises:
            ValueError: The rule does not fit a table of so many rows.
        """
        raise NotImplementedError(f"{type(self).__name__} must define limit_of")

    def grouping(self, n_rows: int) -> tuple[int, int]:
        """Return the engine's limit and smallest kept size.

        The engine suppresses the smallest classes first, up to the limit. Both may be 0.

        Raises:
            ValueError: The rule does not fit a table of so many rows.
        """
        return 0, 0

    def applied(self, classes: EquivalenceClasses, constraints: Sequence[ClassConstraint]) -> EquivalenceClasses:
        """Suppress classes of one or several generalizations, after the engine."""
        return classes


@cache
def _share_of(share: float, n_rows: int) -> int:
    # 0.29 of 100 tuples is 29, and a third of 30,162 is 10,054.
    return int(meant(share) * n_rows)


class _Limited(Suppression):
    """A rule with a limit in tuples or a share."""

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
        if not isinstance(self.limit, Integral):
            return _share_of(self.limit, n_rows)
        if int(self.limit) >= n_rows:
            raise ValueError(
                f"suppression must be a share of the tuples from 0.0 to below 1.0, or a whole number of tuples from 0 "
                f"to {n_rows - 1}, got {self.limit!r}"
            )
        return int(self.limit)


@dataclass(frozen=True)
class AtMost(_Limited):
    """Suppression of the smallest classes up to a limit.

    k is the smallest size for which the classes of at most that size hold more tuples than the limit; all smaller
    classes are suppressed (Dewri et al. 2010, section 6).

    Args:
        limit: A number of tuples (int), or a share of all (float below 1, rounded down).

    Raises:
        ValueError: The limit is not such a number.

    >>> AtMost(0.01).limit_of(30_162)
    301
    """

    limit: float = 0

    def grouping(self, n_rows: int) -> tuple[int, int]:
        return self.limit_of(n_rows), 0


@dataclass(frozen=True)
class Below(Suppression):
    """Suppression of every class smaller than k, without limit.

    The rule is that of Bayardo and Agrawal 2005.

    Args:
        k: The smallest kept size.

    Raises:
        ValueError: k is not a positive whole number.
    """

    k: int

    def __post_init__(self) -> None:
        positive_whole("k of Below", self.k)

    def limit_of(self, n_rows: int) -> None:
        """Return None.

        Raises:
            ValueError: k is above the number of rows.
        """
        if self.k > n_rows:
            raise ValueError(f"k of Below must be at most {n_rows}, the rows, got {self.k!r}")

    def grouping(self, n_rows: int) -> tuple[int, int]:
        self.limit_of(n_rows)
        return 0, int(self.k)


@dataclass(frozen=True)
class Violating(_Limited):
    """Suppression of the classes that break a constraint, as in ARX.

    Only constraints on single classes count: k, l of each kind, alpha, t, beta, delta. A generalization that would lose
    more tuples than the limit is infeasible.

    If adversaries know only some columns, a class depends on others that agree with it there. So classes are suppressed
    repeatedly, until the kept ones satisfy the constraints among themselves.

    Args:
        limit: A number of tuples (int), or a share of all (float below 1, rounded down).

    Raises:
        ValueError: The limit is not such a number.
    """

    limit: float

    def applied(self, classes: EquivalenceClasses, constraints: Sequence[ClassConstraint]) -> EquivalenceClasses:
        return replace(classes, kept=kept_by(self.read(constraints), classes))

    def read(self, constraints: Sequence[ClassConstraint]) -> list[ClassConstraint]:
        """Return the constraints on single classes.

        Raises:
            ValueError: There is none.
        """
        of_classes = [constraint for constraint in constraints if constraint.speaks_of_classes]
        if not of_classes:
            raise ValueError(
                "Violating needs a constraint that single classes can break, such as KAnonymity() >= 5, "
                f"got {list(constraints) or 'none'}"
            )
        return of_classes


def kept_by(constraints: Sequence[ClassConstraint], classes: EquivalenceClasses, among: Bools | None = None) -> Bools:
    """Keep classes that satisfy all constraints among themselves.

    For constraints that suppression of other classes cannot improve, such as k and distinct l, the result is the
    largest such set in any order, since the union of two such sets is one, too. `among` and the result are (n_classes,)
    Boolean, and `kept` of the classes is ignored.
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
    """Return a rule, or `AtMost` of a number."""
    if isinstance(given, Suppression):
        return given
    if isinstance(given, type) or not isinstance(given, Real):
        raise TypeError(f"suppression must be a number, AtMost, Below or Violating, got {given!r}")
    return AtMost(given)  # type: ignore[arg-type]
