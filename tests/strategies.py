"""Random hierarchies, tables, lattice nodes and suppression policies, for hypothesis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from plain import Levels, PlainTable

from pymoo_anon.generalization import Generalization
from pymoo_anon.hierarchy import Hierarchy
from pymoo_anon.microdata import Microdata


@dataclass
class Table:
    """One table in two forms: rows for the plain twin, and a Microdata with sensitive columns and a class label.

    Attributes:
        frame: The rows.
        levels: Per quasi-identifier its levels, each a dict from value to label.
        microdata: The same table; its sensitive columns are "s0" and "s1", its label is "label" or "q0".
    """

    frame: pd.DataFrame
    levels: dict[str, Levels]
    microdata: Microdata

    @property
    def plain(self) -> PlainTable:
        return PlainTable(self.frame, self.levels)

    @property
    def top(self) -> tuple[int, ...]:
        """The most general node."""
        return tuple(len(levels) - 1 for levels in self.levels.values())

    @property
    def tuple_of_row(self) -> np.ndarray:
        """The distinct tuple that each row is."""
        place = {tuple(codes): i for i, codes in enumerate(self.microdata.tuples.codes.tolist())}
        domains = [list(levels[0]) for levels in self.levels.values()]
        rows = self.frame[list(self.levels)].itertuples(index=False)
        return np.array([place[tuple(d.index(v) for d, v in zip(domains, row, strict=True))] for row in rows])

    def group_maps(self, nodes: Iterable[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
        """What `DistinctTuples.classes` takes: the maps and the numbers of groups of some nodes."""
        hierarchies = self.microdata.quasi_identifiers.values()
        chosen = [list(zip(hierarchies, node, strict=True)) for node in nodes]
        maps = np.array([np.concatenate([h.groups[level] for h, level in one]) for one in chosen])
        return maps, np.array([[h.n_groups[level] for h, level in one] for one in chosen])

    def generalization(self, node: Sequence[int]) -> Generalization:
        chosen = list(zip(self.microdata.quasi_identifiers.items(), node, strict=True))
        return Generalization(
            {name: h.groups[level] for (name, h), level in chosen},
            {name: h.labels[level] for (name, h), level in chosen},
        )


@st.composite
def level_columns(draw: st.DrawFn, domain: Sequence[Any], rooted: bool | None = None) -> list[list[Any]]:
    """Columns for `Hierarchy.from_levels`: random coarsenings of a domain, one after the other.

    `rooted` tells whether the last one is a root; None draws it.
    """
    groups = list(range(len(domain)))
    columns = [list(domain)]
    for level in range(1, draw(st.integers(0, 3)) + 1):
        n = len(set(groups))
        parents = draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n))
        number = {group: i for i, group in enumerate(dict.fromkeys(groups))}
        groups = [parents[number[group]] for group in groups]
        columns.append([f"{level}:{group}" for group in groups])
    if draw(st.booleans()) if rooted is None else rooted:
        columns.append(["*"] * len(domain))
    return columns


@st.composite
def hierarchies(draw: st.DrawFn, max_values: int = 6, rooted: bool | None = None) -> Hierarchy:
    """Hierarchies over small domains of text or numbers, their values in any order."""
    of = draw(st.sampled_from([st.text(max_size=3), st.integers(-9, 9)]))
    domain = draw(st.lists(of, min_size=1, max_size=max_values, unique=True))
    return Hierarchy.from_levels(draw(level_columns(domain, rooted)))


@st.composite
def tables(draw: st.DrawFn, max_attributes: int = 4, max_rows: int = 30, rooted: bool | None = None) -> Table:
    """Small tables whose domains may hold more than the rows do."""
    columns, levels = {}, {}
    n_rows = draw(st.integers(1, max_rows))
    for j in range(draw(st.integers(1, max_attributes))):
        n_values = draw(st.integers(1, 6))
        domain = list(range(n_values)) if j % 2 == 0 else [f"v{i}" for i in range(n_values)]
        given_levels = draw(level_columns(domain, rooted))
        levels[f"q{j}"] = [dict(zip(domain, column, strict=True)) for column in given_levels]
        columns[f"q{j}"] = draw(st.lists(st.sampled_from(domain), min_size=n_rows, max_size=n_rows))
    for name, values in (("s0", "abcd"), ("s1", [1, 2, 3]), ("label", [False, True])):
        columns[name] = draw(st.lists(st.sampled_from(values), min_size=n_rows, max_size=n_rows))
    frame = pd.DataFrame(columns)
    microdata = Microdata.from_frame(
        frame,
        {name: Hierarchy.from_levels([list(level.values()) for level in own]) for name, own in levels.items()},
        sensitive=["s0", "s1"],
        label=draw(st.sampled_from(["label", "q0"])),
    )
    return Table(frame, levels, microdata)


def nodes(table: Table) -> st.SearchStrategy[tuple[int, ...]]:
    """Lattice nodes of a table: a level per quasi-identifier."""
    return st.tuples(*(st.integers(0, level) for level in table.top))


def policies(table: Table) -> st.SearchStrategy[dict[str, int]]:
    """Suppression policies, as `limit` or `below` of `DistinctTuples.classes` and of the plain twin."""
    n_rows = len(table.frame)
    limits = st.integers(0, n_rows - 1).map(lambda limit: {"limit": limit})
    return limits | st.integers(1, n_rows).map(lambda below: {"below": below})
