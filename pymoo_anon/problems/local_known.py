"""Local recodings for adversaries who know some columns alone: classes that they could break are built anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pymoo_anon.engine.local import Requirements, Trees, recode
from pymoo_anon.objectives.constraint import Constraint
from pymoo_anon.problems.local_target import LocalTarget, least_k, requirements_of, whole_classes
from pymoo_anon.table.generalization import LocalGeneralization
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.table.suppression import kept_by


def rebuilt(
    table: Microdata,
    made: LocalGeneralization,
    constraints: Sequence[Constraint],
    target: LocalTarget,
    trees: Trees,
    **how: Any,
) -> LocalGeneralization:
    """A recoding that holds what is asked for adversaries, wherever classes of the whole table can hold it.

    No class tells by itself whether it holds: others count that agree with it on what is known. So the recoding is made
    without, and looked at whole. The classes that hold it among themselves stay. All other tuples are recoded anew, in
    classes that each hold it alone: so do any rows of them that agree. Where these tuples are too few or too uniform
    for one such class, the smallest of the others join them.

    Args:
        table: The table.
        made: A recoding of it.
        constraints: What is asked for adversaries who know some columns alone.
        target: What the recoding was made for.
        trees: The trees and tuples of the table.
        **how: Method and structure, as `recode` takes them.
    """
    classes = table.local_classes(made, tuple({one.column: None for one in constraints if one.column is not None}))
    alone = [whole_classes(one) for one in constraints]
    others = [*target.requirements, *requirements_of(alone, table.tuples)]
    tests = Requirements(max(target.k, least_k(alone)), others).tests(table.tuples, trees)
    smallest = np.argsort(classes.sizes, kind="stable")
    stay, n_joined = kept_by(constraints, classes), 0
    while True:
        chosen = np.flatnonzero(~stay[made.class_of[trees.places]])
        enough = not stay.any() or tests.subset(chosen).keeps_whole(trees.rows[chosen])
        if len(chosen) == 0 or enough:
            break
        # Twice as many each time, so that it takes few steps however many are needed.
        n_joined = max(2 * n_joined, 1)
        among = stay.copy()
        among[smallest[stay[smallest]][:n_joined]] = False
        stay = kept_by(constraints, classes, among)
    if len(chosen) == 0:
        return made
    cells = made.cells.astype(np.int32)
    part = trees.subset(chosen)._replace(places=np.arange(len(chosen)))
    cells[trees.places[chosen]] = recode(part, tests.subset(chosen), target.price, **how)
    return LocalGeneralization(table.quasi_identifiers, cells)
