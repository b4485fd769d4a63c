"""Local recodings: every class of tuples has levels of its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.engine.local.requirements import Tests
from pymoo_anon.engine.local.specialize import top_down
from pymoo_anon.engine.local.trees import Trees, cells_of_classes

Numbers32 = NDArray[np.int32]


def recode(
    trees: Trees, tests: Tests, price: float = 0.0, method: str = "bottom-up", structure: str = "sizes"
) -> Numbers32:
    """A recoding in which every class holds all requirements.

    The cells depend on nothing but the arguments: not on the order of the rows of the table, nor on a clock.

    Args:
        trees: The trees and tuples, `Trees.of`.
        tests: What every class has to hold, `Requirements.tests`. Where the whole table breaks it, every recoding does,
            and all tuples are one class.
        price: What a class costs beside the loss of its cells, in cells; larger prices make fewer and larger classes.
        method: "bottom-up", or "top-down", which loses more and takes a tenth of the time.
        structure: What classes are made by. "sizes": by numbers of rows alone, then those that break a requirement are
            merged, so that classes tell little of the values. "all": by all requirements. Who knows the method can
            conclude from it that parts of a class, which sizes would have kept apart, break one.

    Returns:
        (n_tuples, n_attributes) int32 array, for every tuple of the table the numbers of its nodes in
        `Hierarchy.nodes`. Tuples with equal cells are one class.

    Raises:
        ValueError: `method` or `structure` is none of these.
    """
    if method not in ("bottom-up", "top-down"):
        raise ValueError(f"method must be 'bottom-up' or 'top-down', got {method!r}")
    if structure not in ("sizes", "all"):
        raise ValueError(f"structure must be 'sizes' or 'all', got {structure!r}")
    class_of = top_down(trees, tests, price)
    cells = cells_of_classes(trees, class_of, int(class_of.max()) + 1)
    return trees.released(cells[class_of])
