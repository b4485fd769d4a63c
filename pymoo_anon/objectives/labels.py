"""What the labels of a release stand for: the groups of a generalization, or the nodes of hierarchies at any level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pymoo_anon._messages import examples
from pymoo_anon.table.domain_values import Name
from pymoo_anon.table.generalization import Generalization, label_text, label_texts
from pymoo_anon.table.hierarchy import Hierarchy


class _Missing:
    """What stands for a missing value: None and NaN are one, and equal."""

    def __repr__(self) -> str:
        return "nothing"


MISSING = _Missing()


def values_of(values: Sequence[Any] | pd.Series) -> pd.Series:
    """Values as objects that compare: whatever is missing is `MISSING`, which equals itself."""
    column = pd.Series(values, dtype=object).reset_index(drop=True)
    return column.where(column.notna(), MISSING)


@dataclass(frozen=True)
class Labels:
    """The labels that a column may hold, by their texts.

    Attributes:
        texts: The text of each label.
        places: For each label the positions in the domain that it stands for, ascending.
        levels: For each label the level of its cells; None where there are no levels.
        n_values: The number of values of the domain.
        of: What they are labels of, in words.
    """

    texts: list[str | None]
    places: list[NDArray[np.int64]]
    levels: list[int] | None
    n_values: int
    of: str

    @cached_property
    def index(self) -> pd.Index:
        """The texts as an index."""
        index: pd.Index = pd.Index(values_of(self.texts), dtype=object)
        return index

    @property
    def extents(self) -> pd.Series[int]:
        """Per label, of how many values of the domain it stands."""
        return pd.Series([len(places) for places in self.places], index=self.index)

    def totals(self, by_value: NDArray[np.int64]) -> pd.Series[int]:
        """Per label the sum of an (n_values,) array over the values that it stands for."""
        return pd.Series([int(by_value[places].sum()) for places in self.places], index=self.index)

    def members(self, labels: Sequence[Any]) -> NDArray[np.bool_]:
        """(n, n_values) Boolean array: which values of the domain each of some labels stands for.

        Raises:
            ValueError: A label is not known.
        """
        found = self.index.get_indexer(pd.Index(values_of(labels), dtype=object))
        unknown = [label for label, place in zip(labels, found, strict=True) if place < 0]
        if unknown:
            raise ValueError(f"must hold labels of its {self.of}, got {examples(unknown)}")
        made = np.zeros((len(labels), self.n_values), dtype=np.bool_)
        for row, place in enumerate(found):
            made[row, self.places[place]] = True
        return made


def labels_of_groups(name: Name, generalization: Generalization) -> Labels:
    """The labels of a column that is recoded value by value."""
    groups = generalization.groups[name]
    texts = label_texts({name: generalization.labels[name]})[name]
    return Labels(texts, _by_group(groups), None, len(groups), "generalization")


def labels_of_nodes(name: Name, hierarchy: Hierarchy) -> Labels:
    """The labels of a column whose cells may be of any level; the level of each is the lowest that has it.

    Raises:
        ValueError: A label stands for two sets of values.
    """
    known: dict[str | None, tuple[NDArray[np.int64], int]] = {}
    for level, (groups, labels) in enumerate(zip(hierarchy.groups, hierarchy.labels, strict=True)):
        for label, places in zip(labels, _by_group(groups), strict=True):
            first, _ = known.setdefault(label_text(label), (places, level))
            if not np.array_equal(first, places):
                raise ValueError(
                    f"the hierarchy of {name!r} must have each label for one set of values, got {label!r} for two"
                )
    levels = [level for _, level in known.values()]
    return Labels(list(known), [places for places, _ in known.values()], levels, len(hierarchy.domain), "hierarchy")


def labels_by_column(
    names: Sequence[Name], generalization: Any, hierarchies: Mapping[Name, Hierarchy] | None
) -> dict[Name, Labels]:
    """The labels of some columns: by groups where a generalization has them, else by all levels of hierarchies."""
    if isinstance(generalization, Generalization):
        return {name: labels_of_groups(name, generalization) for name in names}
    known = hierarchies or {}
    return {name: labels_of_nodes(name, known[name]) for name in names}


def _by_group(groups: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """For each group the places that are in it, ascending."""
    order = np.argsort(groups, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
