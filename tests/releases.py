"""Releases of small tables, as classes and as cells of values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from strategies import Table, nodes, policies, rule_of, tables

from pymoo_anon.engine import EquivalenceClasses
from pymoo_anon.table import LocalGeneralization


@dataclass
class Released:
    """A release of a table.

    Attributes:
        table: The table.
        classes: Its equivalence classes.
        suppressed: What becomes of suppressed rows, "mark" or "drop".
        rows: By row of the release, in the order of the table, the values that each of its cells stands for.
        places: By row of the release, the row of the table.
        cells: By row of the table, the values that its cells would stand for if no row were suppressed.
    """

    table: Table
    classes: EquivalenceClasses
    suppressed: str
    rows: list[list[list[Any]]]
    places: list[int]
    cells: list[list[list[Any]]]


def made(table: Table, classes: EquivalenceClasses, cells: list[list[list[Any]]], suppressed: str) -> Released:
    """Build a release from the known cells of its rows."""
    domains = [list(levels[0]) for levels in table.levels.values()]
    gone = classes.suppressed[classes.class_of[0]][table.tuple_of_row]
    rows = [domains if out else own for own, out in zip(cells, gone, strict=True)]
    left = [place for place, out in enumerate(gone) if not (out and suppressed == "drop")]
    return Released(table, classes, suppressed, [rows[place] for place in left], left, cells)


@st.composite
def full_domain(draw: st.DrawFn, table: Table, untouched: bool = False) -> Released:
    """Draw a node of a table's lattice, with rows suppressed."""
    node = tuple(0 for _ in table.levels) if untouched else draw(nodes(table))
    policy = {} if untouched else draw(policies(table))
    classes = table.microdata.equivalence_classes(table.generalization(node), rule_of(policy))
    cells = []
    for row in table.frame[list(table.levels)].itertuples(index=False):
        labels = [levels[level] for levels, level in zip(table.levels.values(), node, strict=True)]
        cells.append([[v for v in own if own[v] == own[value]] for own, value in zip(labels, row, strict=True)])
    return made(table, classes, cells, draw(st.sampled_from(["mark", "drop"])))


@st.composite
def local(draw: st.DrawFn, table: Table) -> Released:
    """Draw a local recoding, with or without its class of roots suppressed."""
    hierarchies, tuples = table.microdata.quasi_identifiers, table.microdata.tuples
    columns = []
    for hierarchy, codes in zip(hierarchies.values(), tuples.codes.T, strict=True):
        levels = draw(st.lists(st.integers(0, hierarchy.length), min_size=len(tuples), max_size=len(tuples)))
        columns.append(hierarchy.nodes.ancestors[levels, codes])
    nodes_of = np.column_stack(columns)
    gone = bool((nodes_of == 0).all(axis=1).any()) and draw(st.booleans())
    recoding = LocalGeneralization(hierarchies, nodes_of, suppressed=gone)
    cells = []
    for place in table.tuple_of_row:
        own = []
        for hierarchy, node in zip(hierarchies.values(), nodes_of[place], strict=True):
            below = (hierarchy.nodes.ancestors == node).any(axis=0)
            own.append([value for value, inside in zip(hierarchy.domain, below, strict=True) if inside])
        cells.append(own)
    classes = table.microdata.equivalence_classes(recoding)
    return made(table, classes, cells, draw(st.sampled_from(["mark", "drop"])))


@st.composite
def releases(draw: st.DrawFn, untouched: bool = False) -> Released:
    """Draw a release by full-domain or local recoding."""
    table = draw(tables(max_attributes=3, max_rows=12, rooted=True))
    return draw(full_domain(table, untouched) if untouched or draw(st.booleans()) else local(table))
