"""Generalizations, constraints on their classes, and rules for the classes to suppress.

A suppressed tuple stays in the table, wholly generalized. A bare number in place of a rule means `AtMost`.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from pymoo_anon._messages import examples, positive_whole, repeated
from pymoo_anon.engine.classes import EquivalenceClasses, grouped
from pymoo_anon.table.domain_values import ROOT, Keyed, Name, is_number, is_whole, label_text, meant
from pymoo_anon.table.hierarchy import Hierarchy, Nodes
from pymoo_anon.typing import Bools, Floats, Ints

#: The label of every quasi-identifier in a suppressed row.
SUPPRESSED = ROOT


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Generalization(Keyed):
    """A full-domain recoding of every quasi-identifier.

    Instances are immutable.

    Args:
        groups: Per quasi-identifier, in the table's order, an (n_values,) integer array with the group of every domain
            value, counted from 0.
        labels: Per quasi-identifier, the label of every group.

    Attributes:
        groups, labels: As given, in read-only mappings.

    Raises:
        ValueError: The two do not name the same quasi-identifiers, or do not have the same groups.

    >>> ages = Generalization({"age": [0, 0, 1]}, {"age": ["young", "old"]})
    >>> ages
    Generalization(
      age: young; old
    )
    >>> ages.n_groups
    (2,)
    """

    groups: Mapping[Name, Ints]
    labels: Mapping[Name, tuple[Hashable, ...]]

    def __init__(self, groups: Mapping[Any, ArrayLike], labels: Mapping[Any, Sequence[Hashable]]) -> None:
        if list(groups) != list(labels):
            raise ValueError(
                f"groups and labels must name the same quasi-identifiers in the same order, "
                f"got {list(groups)} and {list(labels)}"
            )
        frozen = {}
        for name, given in groups.items():
            whole, n = np.asarray(given).dtype.kind in "iu", len(labels[name])
            own = np.array(given, dtype=np.int64 if whole else object)
            own.flags.writeable = False
            if not whole or own.ndim != 1 or not np.array_equal(np.unique(own), np.arange(n)):
                raise ValueError(
                    f"groups of {name!r} must be whole numbers from 0 to {n - 1}, each at least once, "
                    f"as there are {n} labels"
                )
            frozen[name] = own
        names = {name: tuple(own) for name, own in labels.items()}
        vars(self).update(groups=MappingProxyType(frozen), labels=MappingProxyType(names))

    @property
    def n_groups(self) -> tuple[int, ...]:
        """Number of groups of every quasi-identifier."""
        return tuple(len(labels) for labels in self.labels.values())

    def labels_of(self, codes: Ints, places: Ints) -> dict[Name, list[Hashable]]:
        """Return the labels of some distinct tuples, by quasi-identifier.

        `codes` holds the (n_distinct, n_attributes) domain positions of all, and `places` the chosen ones.
        """
        return {
            name: [labels[group] for group in groups[codes[places, j]]]
            for j, (groups, (name, labels)) in enumerate(zip(self.groups.values(), self.labels.items(), strict=True))
        }

    def _key(self) -> tuple[Hashable, ...]:
        return tuple((name, self.labels[name], own.tobytes()) for name, own in self.groups.items())

    def __reduce__(self) -> tuple[Any, ...]:
        return Generalization, (dict(self.groups), dict(self.labels))

    def __repr__(self) -> str:
        parts = []
        for name, labels in self.labels.items():
            shown = "; ".join(map(str, labels[:4])) + (f"; ... {len(labels)} groups" if len(labels) > 4 else "")
            parts.append(f"  {name}: {shown}")
        return "Generalization(\n" + "\n".join(parts) + "\n)"


def label_texts(labels: Mapping[Name, Sequence[Hashable]]) -> dict[Name, list[str | None]]:
    """Return the texts of labels, by quasi-identifier."""
    texts = {name: [label_text(label) for label in own] for name, own in labels.items()}
    for name, own in texts.items():
        twice: list[Hashable] = repeated(own)
        if twice:
            raise ValueError(
                f"the groups of {name!r} must have labels that differ as text, got more than once: {examples(twice)}"
            )
    return texts


class LocalGeneralization(Keyed):
    """A local recoding, with nodes for every class of tuples.

    A value has one group in each class, so it stands at several levels in a release: multidimensional recoding (LeFevre
    et al. 2006). A class is all tuples with equal cells. Instances are immutable.

    Args:
        quasi_identifiers: The hierarchy of every quasi-identifier, in the table's order.
        cells: (n_distinct, n_attributes) integer array, the nodes of every distinct tuple, as `Hierarchy.nodes` numbers
            them: the root is 0.
        suppressed: True if the class with roots alone counts as suppressed.

    Attributes:
        quasi_identifiers: The hierarchies, as a read-only mapping.
        nodes: (n_classes, n_attributes) int64 array, the nodes of every class, numbered as they first appear.
        class_of: (n_distinct,) int64 array, the class of every distinct tuple.
        representatives: (n_classes,) int64 array, the first distinct tuple of every class.
        grouping: These three together.
        kept: (n_classes,) Boolean array, False for the suppressed class.

    Raises:
        ValueError: A hierarchy does not end in one group or has a label for two sets of values, `cells` is not such an
            array, or `suppressed` is given and no class has roots alone.

    >>> sex = Hierarchy.flat(["Female", "Male"])
    >>> age = Hierarchy.intervals(0, 4, widths=[2])
    >>> made = LocalGeneralization({"age": age, "sex": sex}, [[1, 0], [1, 0], [0, 1]])  # three distinct tuples
    >>> made
    LocalGeneralization(2 classes; age: 2 labels; sex: 2 labels)
    >>> codes = np.array([[0, 0], [1, 1], [3, 0]])
    >>> made.labels_of(codes, made.representatives)  # a tuple of each class
    {'age': ['0–1', '*'], 'sex': ['*', 'Female']}
    """

    def __init__(
        self, quasi_identifiers: Mapping[Name, Hierarchy], cells: ArrayLike, *, suppressed: bool = False
    ) -> None:
        hierarchies = dict(quasi_identifiers)
        n_nodes = tuple(len(nodes_of_column(name, own).parent) for name, own in hierarchies.items())
        given = np.asarray(cells)
        if given.dtype.kind not in "iu" or given.ndim != 2 or given.shape[1] != len(hierarchies):
            raise ValueError(
                f"cells must be whole numbers, a row per distinct tuple and a column for each of the "
                f"{len(hierarchies)} quasi-identifiers, got {given.dtype} of shape {given.shape}"
            )
        if given.size and (given.min() < 0 or (given.max(axis=0) >= n_nodes).any()):
            raise ValueError(f"cells must be nodes of their hierarchies, which have {n_nodes}, got others")
        grouping = grouped(given, n_nodes)
        kept = np.logical_or(grouping.nodes.any(axis=1), not suppressed)
        if suppressed and kept.all():
            raise ValueError("suppressed must be False where no class has roots alone, got True")
        for array in (grouping.nodes, grouping.class_of, grouping.representatives, kept):
            array.flags.writeable = False
        self.quasi_identifiers: Mapping[Name, Hierarchy] = MappingProxyType(hierarchies)
        self.grouping, self.kept = grouping, kept
        self.nodes, self.class_of, self.representatives = grouping.nodes, grouping.class_of, grouping.representatives

    @property
    def cells(self) -> Ints:
        """(n_distinct, n_attributes) int64 array, the nodes of every distinct tuple."""
        return self.nodes[self.class_of]

    @property
    def nbytes(self) -> int:
        """Memory of the cells in bytes."""
        return self.nodes.nbytes + self.class_of.nbytes + self.representatives.nbytes

    @property
    def labels(self) -> Mapping[Name, tuple[Hashable, ...]]:
        """Labels of all nodes of the hierarchies, by quasi-identifier."""
        return MappingProxyType({name: own.nodes.labels for name, own in self.quasi_identifiers.items()})

    @property
    def n_groups(self) -> tuple[int, ...]:
        """Number of different labels in the cells of every quasi-identifier."""
        return tuple(len(np.unique(column)) for column in self.nodes.T)

    def labels_of(self, codes: Ints, places: Ints) -> dict[Name, list[Hashable]]:
        """Return the labels of some distinct tuples. Their codes are not read."""
        nodes = self.nodes[self.class_of[places]].T.tolist()
        return {
            name: [labels[node] for node in own] for (name, labels), own in zip(self.labels.items(), nodes, strict=True)
        }

    def _key(self) -> tuple[Hashable, ...]:
        arrays = self.nodes, self.class_of, self.kept
        return *self.quasi_identifiers.items(), *(array.tobytes() for array in arrays)

    def __reduce__(self) -> tuple[Any, ...]:
        made = partial(LocalGeneralization, suppressed=not self.kept.all())
        return made, (dict(self.quasi_identifiers), self.cells)

    def __repr__(self) -> str:
        columns = zip(self.quasi_identifiers, self.n_groups, strict=True)
        shown = "".join(f"; {name}: {n} label{'s' if n > 1 else ''}" for name, n in columns)
        return f"LocalGeneralization({len(self.nodes):,} class{'es' if len(self.nodes) > 1 else ''}{shown})"


#: A decoded point of any search space.
Decoded: TypeAlias = Generalization | LocalGeneralization


def of_columns(decoded: Decoded) -> Generalization:
    """Return a full-domain generalization, or raise."""
    if isinstance(decoded, LocalGeneralization):
        raise TypeError(
            "problem must give every value of a column one group, as a LatticeProblem or a BitStringProblem does, got "
            "a local recoding"
        )
    return decoded


def nodes_of_column(name: Name, hierarchy: Hierarchy) -> Nodes:
    """Return the nodes of a column's hierarchy."""
    try:
        return hierarchy.nodes
    except ValueError as error:
        raise ValueError(f"column {name!r}: {error}") from None


# --- constraints on measures ------------------------------------------------------------------------------------------


# The greatest float: whole numbers beyond it compare with no value.
_MOST = sys.float_info.max


def keeps(values: Floats, bound: float, at_least: bool) -> Bools:
    """Tell which values keep a bound. All of search, recount and choice decide it here.

    Equal to the bound is enough. Floats need no tolerance: every measure gives the float next to its exact value, and
    the bound is the float next to the number that was meant.
    """
    return values >= bound if at_least else values <= bound


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
        bound = int(self.bound) if is_whole(self.bound) else float(self.bound)
        if not abs(bound) <= _MOST:
            raise ValueError(f"the bound of {self.objective!r} must be finite, got {self.bound!r:.80}")
        object.__setattr__(self, "bound", bound)

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


# --- suppression ------------------------------------------------------------------------------------------------------


#: Suppressed rows in a release: "mark" puts `*` in their quasi-identifiers, "drop" leaves them out.
HOW_RELEASED = "mark", "drop"


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

    def applied(self, classes: EquivalenceClasses, constraints: Sequence[Constraint]) -> EquivalenceClasses:
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
        positive_whole("suppression: k of Below", self.k)

    def limit_of(self, n_rows: int) -> None:
        if self.k > n_rows:
            raise ValueError(f"suppression: k of Below must be at most {n_rows}, the rows, got {self.k!r}")

    def grouping(self, n_rows: int) -> tuple[int, int]:
        self.limit_of(n_rows)
        return 0, int(self.k)


@dataclass(frozen=True)
class Violating(_Limited):
    """Suppression of the classes that break a constraint, as in ARX.

    Only constraints on single classes count: k, k-map, l of each kind, alpha, t, beta, delta, presence, the greatest
    risk, the least payout. A generalization that would lose more tuples than the limit is infeasible.

    If adversaries know only some columns, a class depends on others that agree with it there. So classes are suppressed
    repeatedly, until the kept ones satisfy the constraints among themselves.

    Args:
        limit: A number of tuples (int), or a share of all (float below 1, rounded down).

    Raises:
        ValueError: The limit is not such a number.
    """

    limit: float

    def applied(self, classes: EquivalenceClasses, constraints: Sequence[Constraint]) -> EquivalenceClasses:
        return replace(classes, kept=kept_by(self.read(constraints), classes))

    def read(self, constraints: Sequence[Constraint]) -> list[Constraint]:
        """Return the constraints on single classes.

        Raises:
            ValueError: There is none.
        """
        of_classes = [constraint for constraint in constraints if constraint.speaks_of_classes]
        if not of_classes:
            raise ValueError(
                "Violating needs a constraint that single classes can break, such as KAnonymity() >= 5 (--require "
                f"k>=5), got {list(constraints) or 'none'}"
            )
        return of_classes


def kept_by(constraints: Sequence[Constraint], classes: EquivalenceClasses, among: Bools | None = None) -> Bools:
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
