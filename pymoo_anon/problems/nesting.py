"""Local recodings inside a coarser release: each of their classes lies in one of its classes.

The joint classes of both releases are then those of the finer one, so that it says as little with the coarser one as
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pymoo_anon.engine.joint import grouped_jointly
from pymoo_anon.objectives.constraint import Constraint
from pymoo_anon.problems.releases import parts_beside
from pymoo_anon.recoding import Tests, Trees
from pymoo_anon.recoding.trees import cells_of_classes
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.typing import Ints, Ints32


def parts_within(within: Any, table: Microdata, constraints: Sequence[Constraint]) -> Ints | None:
    """Return the part of each distinct tuple in the coarser release, or None without one.

    Raises:
        ValueError: A class of it breaks a constraint, so that parts of it do as well; or adversaries know some columns.
    """
    if within is None:
        return None
    parts = parts_beside([within], table)
    assert parts is not None
    # The suppressed rows are one more class, and are divided as well.
    classes = grouped_jointly(table.tuples, [parts + 1])
    for one in constraints:
        if one.depends_on_kept:
            raise ValueError(f"constraints must be without background knowledge where within is given, got {one!r}")
        if one.speaks_of_classes and one.broken(classes).any():
            raise ValueError(
                f"within must be a release of which every class, and the suppressed rows together, hold {one!r}, got "
                "one with others"
            )
    return parts


def divided_parts(trees: Trees, tests: Tests, recoded: Callable[[Trees, Tests], Ints32]) -> Ints32:
    """Return the cells of a recoding that divides each part of the trees.

    Parts that break a requirement stay whole.

    Args:
        trees: The trees, with the parts as their last attribute.
        tests: The requirements on every class.
        recoded: The recoding of some tuples, which are numbered anew.
    """
    parts = trees.parts
    by_part = np.argsort(parts, kind="stable")
    members = np.split(by_part, np.flatnonzero(np.diff(parts[by_part])) + 1)
    cells = trees.released(cells_of_classes(trees, parts, int(parts.max()) + 1)[parts])
    chosen = [own for own in members if tests.subset(own).keeps_whole(trees.rows[own])]
    if chosen:
        own = np.sort(np.concatenate(chosen))
        part = trees.subset(own)._replace(places=np.arange(len(own)))
        cells[trees.places[own]] = recoded(part, tests.subset(own))
    return cells[:, :-1]
