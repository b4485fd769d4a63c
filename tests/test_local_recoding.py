"""Local recodings: every class holds what is required, every cell holds its value, and no order of rows matters."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pymoo_anon.engine.local import Requirements, Trees, recode
from pymoo_anon.table import Hierarchy, Microdata


def nested(n_values):
    """A hierarchy of so many values by pairs, fours and so on."""
    columns, width = [[f"v{i}" for i in range(n_values)]], 2
    while width < n_values:
        columns.append([f"{width}:{i // width}" for i in range(n_values)])
        width *= 2
    return Hierarchy.from_levels([*columns, ["*"] * n_values])


@st.composite
def microdata(draw, max_rows=24, max_attributes=3):
    """Small tables with two sensitive columns, and a second one with the same rows in another order."""
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=max_attributes))
    n_rows = draw(st.integers(1, max_rows))
    codes = [draw(st.lists(st.integers(0, n - 1), min_size=n_rows, max_size=n_rows)) for n in sizes]
    values = [draw(st.lists(st.sampled_from("abcd"), min_size=n_rows, max_size=n_rows)) for _ in range(2)]
    order = draw(st.permutations(range(n_rows)))

    def table(rows):
        columns = {f"q{j}": [f"v{own[i]}" for i in rows] for j, own in enumerate(codes)}
        columns |= {f"s{j}": [own[i] for i in rows] for j, own in enumerate(values)}
        hierarchies = {f"q{j}": nested(n) for j, n in enumerate(sizes)}
        return Microdata.from_frame(pd.DataFrame(columns), hierarchies, sensitive=["s0", "s1"])

    return table(range(n_rows)), table(order)


def nodes_of(table):
    return [hierarchy.nodes for hierarchy in table.quasi_identifiers.values()]


def cells_by_tuple(table, cells):
    return {tuple(codes): tuple(own) for codes, own in zip(table.tuples.codes.tolist(), cells.tolist(), strict=True)}


def classes_of(table, cells):
    """Per class its rows and, per sensitive column, how often each value occurs."""
    found = {}
    for i, own in enumerate(map(tuple, cells.tolist())):
        n, counts = found.setdefault(own, [0, {}])
        found[own][0] = n + int(table.tuples.counts[i])
        for name in ("s0", "s1"):
            column = table.tuples.columns[name]
            for e in range(column.starts[i], column.starts[i + 1]):
                key = name, int(column.values[e])
                counts[key] = counts.get(key, 0) + int(column.counts[e])
    return list(found.values())


@pytest.mark.parametrize("method", ["top-down", "bottom-up"])
@given(tables=microdata(), k=st.integers(1, 6))
def test_every_class_has_k_rows_and_every_cell_holds_its_value(method, tables, k):
    table, other = tables
    nodes = nodes_of(table)
    trees = Trees.of(table.tuples, nodes)
    cells = recode(trees, Requirements(k).tests(table.tuples, trees), method=method)
    assert cells.dtype == np.int32
    assert cells.shape == table.tuples.codes.shape
    for j, own in enumerate(nodes):
        position = own.order[table.tuples.codes[:, j]]
        assert np.all((own.first[cells[:, j]] <= position) & (position < own.stop[cells[:, j]]))
    sizes = [n for n, _ in classes_of(table, cells)]
    assert min(sizes) >= k or len(sizes) == 1
    # Rows in another order.
    trees = Trees.of(other.tuples, nodes)
    again = recode(trees, Requirements(k).tests(other.tuples, trees), method=method)
    assert cells_by_tuple(other, again) == cells_by_tuple(table, cells)
