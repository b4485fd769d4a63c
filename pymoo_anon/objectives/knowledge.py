"""Background knowledge of adversaries: the quasi-identifiers that they know, and other releases that they have."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from math import comb
from typing import Any, TypeAlias, TypeVar

import numpy as np

from pymoo_anon._messages import examples, listed, plain, positive_whole
from pymoo_anon.engine.classes import EquivalenceClasses, agreeing
from pymoo_anon.engine.joint import divided
from pymoo_anon.objectives.base import WorstClassObjective
from pymoo_anon.objectives.bounds import Monotone, SuppressionBudget, fewest_unavoidable
from pymoo_anon.objectives.constraint import Constraint
from pymoo_anon.objectives.recount import Recount, Recounted
from pymoo_anon.table.domain_values import Name
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.typing import Floats, Ints

T = TypeVar("T", bound="WithBackgroundKnowledge")

# Every set is a grouping of its own, at every generalization.
_MOST_SETS = 5_000

# Sentences name at most so many sets one by one.
_SETS_NAMED = 6


@dataclass(frozen=True)
class any_of:  # noqa: N801 - a word of a sentence: known=any_of(3)
    """Every set of so many quasi-identifiers.

    It is the L of LKC-privacy (Mohammed et al. 2009). A table with fewer quasi-identifiers has one set, all of them.

    Args:
        n: The number of quasi-identifiers that an adversary may know.

    Raises:
        ValueError: `n` is no positive whole number.

    >>> any_of(3)
    any_of(3)
    """

    n: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", positive_whole("n of any_of", self.n))

    def __repr__(self) -> str:
        return f"any_of({self.n})"


#: None for all quasi-identifiers, the names in each set, or the size of all sets.
BackgroundKnowledge: TypeAlias = "any_of | tuple[tuple[Name, ...], ...] | None"


def known_of(given: Any) -> BackgroundKnowledge:
    """Bring sets of names into one form: sorted, none within another.

    >>> known_of([["zip", "age"], ["age"], ["sex", "zip"]])
    (('age', 'zip'), ('sex', 'zip'))
    """
    if given is None or isinstance(given, any_of):
        return given
    parts = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    are_sets = [isinstance(part, list | tuple | set | frozenset) for part in parts]
    sets = [list(part) for part in parts] if parts and all(are_sets) else [parts]
    names = [name for one in sets for name in one]
    if not all(sets) or not all(isinstance(name, Hashable) for name in names) or (any(are_sets) and not all(are_sets)):
        raise ValueError(
            'known must be names of quasi-identifiers such as ["age", "zip"], a list of such lists, or any_of(3), got '
            f"{given!r:.80}"
        )
    _check_number(len(sets))
    found = sorted({frozenset(one) for one in sets}, key=len)
    # A smaller set is implied by a larger one: more rows agree on fewer columns.
    largest = [one for i, one in enumerate(found) if not any(one < other for other in found[i + 1 :])]
    return tuple(sorted((tuple(sorted(one, key=_order)) for one in largest), key=lambda one: [*map(_order, one)]))


def sets_of(known: Any, names: Sequence[Name]) -> list[tuple[int, ...]]:
    """List the known sets as places among quasi-identifiers."""
    if known is None:
        return [tuple(range(len(names)))]
    if isinstance(known, any_of):
        n = min(known.n, len(names))
        _check_number(comb(len(names), n))
        return list(combinations(range(len(names)), n))
    place = {name: number for number, name in enumerate(names)}
    unknown = [name for name in dict.fromkeys(name for one in known for name in one) if name not in place]
    if unknown:
        raise ValueError(f"known must name quasi-identifiers, {examples(names)}, got {examples(unknown)}")
    return [tuple(sorted(place[name] for name in one)) for one in known]


def _check_number(n: int) -> None:
    if n > _MOST_SETS:
        raise ValueError(f"known must be at most {_MOST_SETS:,} sets, each of which is grouped anew, got {n:,}")


def _order(name: Name) -> tuple[str, str]:
    return str(name), type(name).__name__


def knowledge_in_words(known: BackgroundKnowledge) -> str:
    """Describe background knowledge in few words.

    >>> knowledge_in_words((("age", "zip"), ("sex", "zip"))), knowledge_in_words(any_of(3))
    ('age, zip | sex, zip', 'any 3')
    """
    if isinstance(known, any_of):
        return f"any {known.n}"
    sets = [", ".join(map(str, one)) for one in known or ()]
    return " | ".join(sets) if len(sets) <= _SETS_NAMED else f"{len(sets):,} sets"


def sets_in_words(known: BackgroundKnowledge) -> list[str]:
    """Describe each known set.

    >>> sets_in_words((("age", "zip"), ("occupation", "sex", "zip"))), sets_in_words(any_of(3))
    (['age and zip', 'occupation, sex and zip'], ['any 3 of the quasi-identifiers'])
    """
    if isinstance(known, any_of):
        return [f"any {known.n} of the quasi-identifiers"]
    return [plain(listed(map(str, one))) for one in known or ()]


def reach_of(known: BackgroundKnowledge) -> str:
    """Describe the adversaries that a promise covers.

    >>> reach_of((("age", "zip"), ("sex", "zip")))  # doctest: +NORMALIZE_WHITESPACE
    'for adversaries of whom each knows one of: age and zip; sex and zip. This does not hold for somebody who knows what
    two of them know together.'
    """
    sets = sets_in_words(known)
    if len(sets) == 1 and not isinstance(known, any_of):
        return f"for an adversary who knows {sets[0]}. This does not hold for somebody who knows more."
    shown = "; ".join(
        [*sets[:_SETS_NAMED], *([f"{len(sets) - _SETS_NAMED:,} more sets"] if len(sets) > _SETS_NAMED else [])]
    )
    who = f"for adversaries of whom each knows {'' if isinstance(known, any_of) else 'one of: '}{shown}"
    return f"{who}. This does not hold for somebody who knows what two of them know together."


class WithBackgroundKnowledge(WorstClassObjective):
    """A measure of the worst class, against adversaries with background knowledge.

    A class then has the value of all kept rows that agree with it on a known set, and the worst of these over the sets.
    A subclass defines `_of_classes` and `_recount`, which are as `of_classes` and `recount` for full knowledge.
    """

    known: BackgroundKnowledge = None
    _name: str

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name with the background knowledge."""
        own = f"joint {self._name}" if self.joint else self._name
        return own if self.known is None else f"{own} ({knowledge_in_words(self.known)})"

    def _of_classes(self, classes: EquivalenceClasses) -> Floats:
        raise NotImplementedError

    def _recount(self, recount: Recount) -> Recounted:
        raise NotImplementedError

    def knowing(self: T, known: BackgroundKnowledge = None) -> T:
        """Return the same measure against other background knowledge."""
        made = copy.copy(self)
        made.known = known
        return made

    def merged(self, classes: EquivalenceClasses) -> Iterator[tuple[EquivalenceClasses, Ints]]:
        """Merge the classes that agree on each known set, and number the merged class of each."""
        tuples = classes.tuples
        return agreeing(classes, sets_of(self.known, tuples.names), self.reads(tuples.sensitive))

    def of_classes(self, classes: EquivalenceClasses) -> Floats:
        if self.known is None:
            return self._of_classes(classes)
        found = (self._of_classes(merged)[ids] for merged, ids in self.merged(classes))
        return reduce(np.minimum if self.maximize else np.maximum, found)

    def recount(self, recount: Recount) -> Recounted:
        if self.known is None:
            return self._recount(recount)
        sets = [[recount.names[place] for place in one] for one in sets_of(self.known, recount.names)]
        found = [self._recount(recount.agreeing(names)) for names in sets]
        return min(found) if self.maximize else max(found)

    def check(self, table: Microdata) -> None:
        super().check(table)
        if self.joint and self.known is not None:
            raise ValueError(f"known must be None for a joint measure, whose adversary knows all columns, got {self!r}")
        named = () if isinstance(self.known, any_of) else [name for one in self.known or () for name in one]
        sensitive = [name for name in dict.fromkeys(named) if name in table.sensitive]
        if sensitive:
            raise ValueError(f"known must name quasi-identifiers, got {examples(sensitive)}, which is sensitive")
        sets_of(self.known, list(table.quasi_identifiers))

    def __repr__(self) -> str:
        if self.joint:
            return f"{type(self).__name__}({', '.join([*self._arguments(), 'joint=True'])})"
        if self.known is None:
            return super().__repr__()
        sets: Any = self.known if isinstance(self.known, any_of) else [list(one) for one in self.known]
        shown = sets[0] if isinstance(sets, list) and len(sets) == 1 else sets
        return f"{type(self).__name__}({', '.join([*self._arguments(), f'known={shown!r}'])})"


class JointMonotone(Monotone):
    """A monotone measure of joint classes: joint k, joint distinct l.

    Each joint class of a specialization lies within one of the node, and has no larger value. Where one breaks a
    constraint, the whole class around it is suppressed. So the rows of all joint classes that break it in the node are
    suppressed in every specialization, and others may be. Suppressed rows can form joint classes of their own, which
    only lower the value.
    """

    def tops(self, classes: EquivalenceClasses, below: SuppressionBudget) -> Floats:
        nothing = np.empty(0, dtype=np.int64)
        some = replace(below, small=nothing, gone=nothing[np.newaxis])
        found = []
        for one in classes:
            joint = divided(one)
            found.append(fewest_unavoidable(self.measure.of_classes(joint), joint, some)[0])
        return np.array(found)

    def best_of_specializations(self, classes: EquivalenceClasses, below: SuppressionBudget) -> Floats:
        return np.repeat(self.tops(classes, below), len(below) if len(classes) == 1 else 1)

    def surely_suppressed(self, classes: EquivalenceClasses, constraint: Constraint) -> Ints:
        gone = np.zeros(len(classes.sizes), dtype=np.int64)
        for first, one in zip(classes.starts[:-1], classes, strict=True):
            joint = divided(one)
            assert joint.nodes is not None
            broken = ~constraint.keeps(self.measure.of_classes(joint))
            np.add.at(gone, first + joint.nodes[broken, 0] - 1, joint.sizes[broken])
        return gone
