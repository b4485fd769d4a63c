"""Local recodings in tests: their classes, and limits for small tables."""

from importlib import import_module
from unittest.mock import patch

import numpy as np
import pandas as pd
from strategies import nested

from pymoo_anon.recoding import Trees
from pymoo_anon.recoding.trees import cells_of_classes
from pymoo_anon.table import Microdata

# The room lists the function of this name.
blocks = import_module("pymoo_anon.recoding.recode")


def small_blocks(block: int, looks: int, left: int) -> patch:
    """Lower the limits so that few tuples count as many."""
    return patch.multiple(blocks, _BLOCK_TUPLES=block, _ROWS_OF_K=1, _CUBE_LOOKS=looks, _LEFT=left, _CLASSES=3)


def members_of(cells):
    """Group tuples with equal cells into classes."""
    members = {}
    for i, own in enumerate(map(tuple, cells.tolist())):
        members.setdefault(own, []).append(i)
    return list(members.values())


def trees_of(table, *weights, **apart):
    return Trees.of(table.tuples, [own.nodes for own in table.quasi_identifiers.values()], *weights, **apart)


def column(*values):
    """Return a table of one column of numbers from 0 to 7, and its trees."""
    table = Microdata.from_frame(pd.DataFrame({"q": [f"v{value}" for value in values]}), {"q": nested(8)})
    return table, trees_of(table)


def drawn(random, n, n_columns, n_values):
    """Draw a table, whose first column may be in requirements, and return it with its trees."""
    columns = {f"q{j}": [f"v{value}" for value in random.integers(0, n_values, n)] for j in range(n_columns)}
    table = Microdata.from_frame(pd.DataFrame(columns), dict.fromkeys(columns, nested(n_values)), label="q0")
    return table, trees_of(table)


def lost(trees, class_of, price=0.0):
    """Return the rows and the loss with price of each class."""
    rows = np.bincount(class_of, trees.rows)
    cells = cells_of_classes(trees, class_of, len(rows))
    return rows, np.where(rows > 0, rows * trees.costs[cells].sum(axis=1) + price, 0.0)
