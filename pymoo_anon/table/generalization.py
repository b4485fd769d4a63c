"""Generalizations: what a node or a bit string decodes to, a group map per quasi-identifier, and the text of labels."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pymoo_anon._messages import examples, repeated
from pymoo_anon.table.domain_values import ROOT, Name

#: What stands in every quasi-identifier of a suppressed row.
SUPPRESSED = ROOT


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Generalization:
    """A recoding of every quasi-identifier: which values of its domain become one, and under what label.

    Instances do not change.

    Args:
        groups: Per quasi-identifier, in the table's order, an (n_values,) integer array with the group of every domain
            value, counted from 0.
        labels: Per quasi-identifier, the label of every group.

    Attributes:
        groups: Per quasi-identifier, the (n_values,) int64 array; a mapping that cannot be written.
        labels: Per quasi-identifier, the tuple of labels; a mapping that cannot be written.

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

    groups: Mapping[Name, NDArray[np.int64]]
    labels: Mapping[Name, tuple[Hashable, ...]]

    def __init__(self, groups: Mapping[Any, ArrayLike], labels: Mapping[Any, Sequence[Hashable]]) -> None:
        if list(groups) != list(labels):
            raise ValueError(
                f"groups and labels must name the same quasi-identifiers in the same order, "
                f"got {list(groups)} and {list(labels)}"
            )
        frozen = {}
        for name, given in groups.items():
            whole = np.asarray(given).dtype.kind in "iu"
            own = np.array(given, dtype=np.int64 if whole else object)
            own.flags.writeable = False
            if not whole or own.ndim != 1 or not np.array_equal(np.unique(own), np.arange(len(labels[name]))):
                raise ValueError(
                    f"groups of {name!r} must be whole numbers from 0 to {len(labels[name]) - 1}, each at least once, "
                    f"as there are {len(labels[name])} labels"
                )
            frozen[name] = own
        names = {name: tuple(own) for name, own in labels.items()}
        vars(self).update(groups=MappingProxyType(frozen), labels=MappingProxyType(names))

    @property
    def n_groups(self) -> tuple[int, ...]:
        """Number of groups of every quasi-identifier."""
        return tuple(len(labels) for labels in self.labels.values())

    def labels_of(self, codes: NDArray[np.int64], places: NDArray[np.int64]) -> dict[Name, list[Hashable]]:
        """Per quasi-identifier the labels of some distinct tuples of a table.

        Args:
            codes: (n_distinct, n_attributes) int64 array, the domain positions of all of them.
            places: (n,) int64 array, which of them.
        """
        return {
            name: [labels[group] for group in groups[codes[places, j]]]
            for j, (groups, (name, labels)) in enumerate(zip(self.groups.values(), self.labels.items(), strict=True))
        }

    def __eq__(self, other: object) -> bool:
        """Whether both recode every value alike, with the same labels."""
        if not isinstance(other, Generalization):
            return NotImplemented
        return list(self.labels.items()) == list(other.labels.items()) and all(
            np.array_equal(mine, theirs)
            for mine, theirs in zip(self.groups.values(), other.groups.values(), strict=True)
        )

    def __hash__(self) -> int:
        return hash(tuple((name, self.labels[name], own.tobytes()) for name, own in self.groups.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return Generalization, (dict(self.groups), dict(self.labels))

    def __repr__(self) -> str:
        parts = []
        for name, labels in self.labels.items():
            shown = "; ".join(map(str, labels[:4])) + (f"; ... {len(labels)} groups" if len(labels) > 4 else "")
            parts.append(f"  {name}: {shown}")
        return "Generalization(\n" + "\n".join(parts) + "\n)"


def label_text(label: Any) -> str | None:
    """A label as text, which depends on its value alone; None, which stands for a missing value, stays None.

    >>> label_text(17.0), label_text("15–19"), label_text(2.5), label_text(None)
    ('17', '15–19', '2.5', None)
    """
    if label is None or isinstance(label, str):
        return label
    if isinstance(label, datetime):
        return label.date().isoformat() if label.time() == time() and label.tzinfo is None else label.isoformat(" ")
    if isinstance(label, date):
        return label.isoformat()
    if isinstance(label, bool):
        return str(label)
    if isinstance(label, Integral):
        return str(int(label))
    if isinstance(label, Decimal):
        return format(label.normalize(), "f") if label.is_finite() else str(label)
    if isinstance(label, Real) and float(label).is_integer():
        return str(int(float(label)))
    return str(label)


def label_texts(labels: Mapping[Name, Sequence[Hashable]]) -> dict[Name, list[str | None]]:
    """Per quasi-identifier the text of every label.

    >>> label_texts({"age": ["young", 18]})
    {'age': ['young', '18']}
    """
    texts = {name: [label_text(label) for label in own] for name, own in labels.items()}
    for name, own in texts.items():
        twice: list[Hashable] = repeated(own)
        if twice:
            raise ValueError(
                f"the groups of {name!r} must have labels that differ as text, got more than once: {examples(twice)}"
            )
    return texts
