"""Generalizations: what a lattice node or a bit string decodes to, one group map per quasi-identifier."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray


class Generalization:
    """A recoding of every quasi-identifier: which values of its domain become one, and under what label.

    Instances do not change.

    Args:
        groups: Per quasi-identifier, in the table's order, an (n_values,) array with the group of every domain value,
            counted from 0.
        labels: Per quasi-identifier, the label of every group.

    Raises:
        ValueError: The two do not name the same quasi-identifiers, or do not have the same groups.
    """

    def __init__(self, groups: Mapping[str, ArrayLike], labels: Mapping[str, Sequence[Hashable]]) -> None:
        if list(groups) != list(labels):
            raise ValueError(
                f"groups and labels must name the same quasi-identifiers in the same order, "
                f"got {list(groups)} and {list(labels)}"
            )
        self.groups: dict[str, NDArray[np.int64]] = {}
        self.labels: dict[str, tuple[Hashable, ...]] = {}
        for name, given in groups.items():
            own = np.array(given, dtype=np.int64)
            own.flags.writeable = False
            if own.ndim != 1 or not np.array_equal(np.unique(own), np.arange(len(labels[name]))):
                raise ValueError(
                    f"groups of {name!r} must be numbers from 0 to {len(labels[name]) - 1}, each at least once, "
                    f"as there are {len(labels[name])} labels"
                )
            self.groups[name] = own
            self.labels[name] = tuple(labels[name])

    @property
    def n_groups(self) -> tuple[int, ...]:
        """Number of groups of every quasi-identifier."""
        return tuple(len(labels) for labels in self.labels.values())

    def __eq__(self, other: object) -> bool:
        """Whether both recode every value alike, with the same labels."""
        if not isinstance(other, Generalization):
            return NotImplemented
        return self.labels == other.labels and all(
            np.array_equal(mine, theirs)
            for mine, theirs in zip(self.groups.values(), other.groups.values(), strict=True)
        )

    def __hash__(self) -> int:
        return hash(tuple((name, self.labels[name], own.tobytes()) for name, own in self.groups.items()))

    def __repr__(self) -> str:
        parts = []
        for name, labels in self.labels.items():
            shown = "; ".join(map(str, labels[:4])) + (f"; ... {len(labels)} groups" if len(labels) > 4 else "")
            parts.append(f"  {name}: {shown}")
        return "Generalization(\n" + "\n".join(parts) + "\n)"
