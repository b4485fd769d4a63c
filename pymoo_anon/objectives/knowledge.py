"""Background knowledge: the quasi-identifiers that adversaries know, and the releases that they have."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import Any, TypeAlias

import numpy as np

from pymoo_anon._messages import examples, listed, plain, positive_whole
from pymoo_anon.engine.classes import DistinctTuples, EquivalenceClasses, ValueCounts, classes_of, grouped
from pymoo_anon.engine.compiled import njit
from pymoo_anon.engine.grouping import (
    Counted,
    LayerColumn,
    Pairs,
    Scratch,
    Slots,
    merge_values,
    number_pairs,
    sort_by_class,
)
from pymoo_anon.objectives.bounds import Monotone, SuppressionBudget, fewest_unavoidable
from pymoo_anon.table.domain_values import Name
from pymoo_anon.table.generalization import Constraint
from pymoo_anon.typing import Bools, Floats, Ints

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
    if unknown := [name for name in dict.fromkeys(name for one in known for name in one) if name not in place]:
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


def agreeing(
    classes: EquivalenceClasses, sets: Iterable[Sequence[int]], columns: Sequence[Hashable] = ()
) -> Iterator[tuple[EquivalenceClasses, Ints]]:
    """Merge classes that agree on some attributes, for several sets of these. Suppressed ones agree with none kept.

    A class is read once and its rows never: the work is that of the classes, whatever the number of tuples. For
    each set come the merged classes, with the values of some columns, and (n_classes,) int64 array, in which each is.
    """
    cells = np.ascontiguousarray((classes.cells - classes.first_of_attributes).T)
    n_cells, every = (cells.max(axis=1) + 1).tolist(), np.arange(len(classes.sizes))
    # At most half of the slots are ever taken.
    n_slots = 1 << max(2 * len(every) - 1, 1).bit_length()
    slots = np.zeros(n_slots, dtype=np.uint32), np.empty(n_slots, dtype=np.int64), np.ones(1, dtype=np.int64)
    counts = {column: classes.columns[column] for column in columns}
    rows = {column: np.repeat(every, np.diff(own.starts)).astype(np.uint32) for column, own in counts.items()}
    for chosen in sets:
        # By generalization and suppression, and then by one attribute after the other.
        ids, n = 2 * classes.generalizations + classes.kept, 2 * len(classes)
        firsts, merged = np.empty(len(every) + 1, dtype=np.int64), {}
        for j in chosen:
            n = _number(ids, n, cells[j], n_cells[j], every, firsts, *slots)
        for column, own in counts.items():
            entries = own.starts, own.values, own.counts, own.n_values
            begins, values, numbers = _merge_values(ids, n, rows[column], *entries)
            merged[column] = ValueCounts(begins, values, numbers, own.n_values)
        firsts = firsts[:n]
        starts = np.searchsorted(classes.generalizations[firsts], np.arange(len(classes) + 1))
        sizes = np.bincount(ids, classes.sizes, n).astype(np.int64)
        kept, representatives = classes.kept[firsts], classes.representatives[firsts]
        yield EquivalenceClasses(classes.tuples, classes.maps, starts, sizes, representatives, kept, merged), ids


@njit(allocates=False)
def _number(ids, n, cells, n_cells, every, firsts, *slots):  # type: ignore[no-untyped-def]
    """Replace numbers by those of their pairs with a cell."""
    return number_pairs(Pairs(every, every, ids, cells, n, n_cells), Slots(*slots), ids, firsts)


@njit()
def _merge_values(ids, n, rows, starts, values, counts, n_values):  # type: ignore[no-untyped-def]
    """Return the value counts of n merged classes: starts, values and counts."""
    room = len(values) + 1
    tally, ends, cells = np.zeros(n_values, np.int64), np.empty(n + 1, np.int64), np.empty(0, np.uint32)
    scratch = Scratch(cells, tally, ends, np.empty(room, np.uint32), np.empty(room, np.int64))
    merged = Counted(np.zeros(n + 1, np.int64), np.empty(room, np.int64), np.empty(room, np.int64))
    sort_by_class(ids, n, LayerColumn(n_values, starts, rows, values, counts), scratch)
    merge_values(n, scratch, merged)
    return merged.starts, merged.values[: merged.starts[n]], merged.counts[: merged.starts[n]]


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


# --- joint classes of several releases --------------------------------------------------------------------------------


def partition_of(classes: EquivalenceClasses) -> Ints:
    """Return each tuple's part in one generalization, (n_distinct,) int64."""
    assert classes.class_of is not None
    (own,) = classes.class_of
    return np.where(classes.kept[own], own + 1, 0)


def grouped_jointly(
    tuples: DistinctTuples, parts: Sequence[Ints], columns: Sequence[Hashable] | None = None
) -> EquivalenceClasses:
    """Group tuples that agree in all parts, one array of `partition_of` for each release.

    The `nodes` of a joint class are its parts. Tuples of part 0 in all releases are suppressed.
    """
    cells = np.column_stack(parts)
    grouping = grouped(cells, tuple((cells.max(axis=0) + 1).tolist()))
    classes = classes_of(tuples, None, grouping, tuple(tuples.columns if columns is None else columns))
    kept: Bools = (grouping.nodes > 0).any(axis=1)  # type: ignore[assignment]
    return replace(classes, kept=kept)


def joint_classes(classes: EquivalenceClasses) -> EquivalenceClasses:
    """Return the joint classes of a generalization and releases."""
    if classes.beside is None:
        raise ValueError("joint measures need earlier releases, such as LatticeProblem(..., beside=[choice]), got none")
    return grouped_jointly(classes.tuples, [partition_of(classes), classes.beside], tuple(classes.columns))


def divided(classes: EquivalenceClasses) -> EquivalenceClasses:
    """Return the joint classes as if nothing was suppressed."""
    return joint_classes(replace(classes, kept=np.ones_like(classes.kept)))


def worst_by_class(classes: EquivalenceClasses, joint: EquivalenceClasses, values: Floats, maximize: bool) -> Floats:
    """Return each kept class's worst joint value, (n_classes,) float.

    A joint class of rows that are suppressed here counts for the smallest class that divides an earlier one with it.
    To suppress that class is the least that makes the joint class larger.
    """
    assert joint.nodes is not None
    own, other = joint.nodes.T
    worst_of, none = (np.minimum, np.inf) if maximize else (np.maximum, -np.inf)
    worst, here = np.full(len(classes.sizes), none), own > 0
    worst_of.at(worst, own[here] - 1, values[here])
    of_suppressed, least = np.full(other.max() + 1, none), np.full(other.max() + 1, classes.n_rows + 1)
    of_suppressed[other[~here & joint.kept]] = values[~here & joint.kept]
    np.minimum.at(least, other[here], classes.sizes[own[here] - 1])
    smallest = here & (classes.sizes[own - 1] == least[other])
    worst_of.at(worst, own[smallest] - 1, of_suppressed[other[smallest]])
    return worst
