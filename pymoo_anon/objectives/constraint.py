"""Constraints: bounds on the value of a measure, written `KAnonymity() >= 5`."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.table.domain_values import is_number, is_whole
from pymoo_anon.typing import Bools, Floats

# The greatest float: whole numbers beyond it compare with no value.
_MOST = sys.float_info.max


def keeps(values: Floats, bound: float, at_least: bool) -> Bools:
    """Tell which values keep a bound. All of search, recount and choice decide it here.

    Equal to the bound is enough. Floats need no tolerance: every measure gives the float next to its exact value, and
    the bound is the float next to the number that was meant.
    """
    return values >= bound if at_least else values <= bound


class Boundable:
    """A measure that `>=` and `<=` turn into a constraint."""

    def __ge__(self, bound: float) -> Constraint:
        """Require a value of at least a bound: `KAnonymity() >= 5`."""
        return Constraint(self, bound, at_least=True)

    def __le__(self, bound: float) -> Constraint:
        """Require a value of at most a bound: `TCloseness("diagnosis") <= 0.3`."""
        return Constraint(self, bound, at_least=False)

    def __gt__(self, bound: float) -> NoReturn:
        raise TypeError(f"a constraint must be written with >= or <=, got {self!r} > {bound!r}")

    def __lt__(self, bound: float) -> NoReturn:
        raise TypeError(f"a constraint must be written with >= or <=, got {self!r} < {bound!r}")


@dataclass(frozen=True)
class Constraint:
    """A bound on the value of an objective: `KAnonymity() >= 5`.

    Args:
        objective: The bounded measure.
        bound: The smallest or the greatest value that is allowed.
        at_least: Whether it is the smallest.

    Raises:
        TypeError: `bound` is no number.
        ValueError: It is not finite.
    """

    objective: Any
    bound: float
    at_least: bool

    def __post_init__(self) -> None:
        if not is_number(self.bound):
            raise TypeError(f"the bound of {self.objective!r} must be a number, got {self.bound!r}")
        if not abs(self.bound) <= _MOST:
            raise ValueError(f"the bound of {self.objective!r} must be finite, got {self.bound!r}")
        object.__setattr__(self, "bound", int(self.bound) if is_whole(self.bound) else float(self.bound))

    def reads(self, sensitive: Sequence[Hashable]) -> tuple[Hashable, ...]:
        """Return the names of the columns that the objective reads."""
        return self.objective.reads(sensitive)

    @property
    def speaks_of_classes(self) -> bool:
        """Whether the constraint bounds every kept class."""
        return bool(self.objective.worst_class and self.at_least == self.objective.maximize)

    @property
    def depends_on_kept(self) -> bool:
        """Whether the value of a class depends on other kept classes."""
        return self.objective.known is not None or self.objective.joint

    def broken(self, classes: EquivalenceClasses) -> Bools:
        """Tell which classes break a constraint that bounds every class. (n_classes,) Boolean array."""
        return ~self.keeps(self.objective.of_kept(classes))

    def keeps(self, values: Floats) -> Bools:
        """Tell which values with their natural sign keep the bound. (n,) Boolean array."""
        return keeps(values, self.bound, self.at_least)

    def violation(self, values: Floats) -> Floats:
        """Return pymoo's G of values: at most 0 where `keeps` is true. (n,) float array."""
        return self.bound - values if self.at_least else values - self.bound

    def __bool__(self) -> NoReturn:
        # Python reads `1 <= objective <= 5` as two comparisons and would drop the first.
        raise TypeError(f"{self!r} has no truth value; give each bound as a constraint of its own")

    def __repr__(self) -> str:
        return f"{self.objective!r} {'>=' if self.at_least else '<='} {self.bound!r}"
