"""Local recodings: every class of tuples has levels of its own."""

from __future__ import annotations

import os

from pymoo_anon._messages import one_of
from pymoo_anon.engine.arrays import Ints32
from pymoo_anon.recoding.blocks import classes_by_sizes
from pymoo_anon.recoding.neighbourhood import improve
from pymoo_anon.recoding.relocate import relocate
from pymoo_anon.recoding.repair import mend
from pymoo_anon.recoding.requirements import Tests
from pymoo_anon.recoding.specialize import RULES, top_down
from pymoo_anon.recoding.trees import Trees, cells_of_classes

# With all requirements, sequential clustering may compare so many cells for each tuple.
_COMPARED = 2_000

_WAYS = {"method": ("bottom-up", *RULES), "structure": ("sizes", "direct")}


def check_ways(**given: str) -> None:
    """Refuse a method or a structure that there is not.

    Raises:
        ValueError: There is not.
    """
    for name, value in given.items():
        one_of(name, value, _WAYS[name])


def recode(
    trees: Trees,
    tests: Tests,
    price: float = 0.0,
    method: str = "bottom-up",
    structure: str = "sizes",
    n_threads: int | None = None,
    n_improvements: int = 0,
) -> Ints32:
    """A recoding in which every class holds all requirements.

    The cells depend on nothing but the arguments: not on the order of the rows of the table, nor on a clock.

    Args:
        trees: The trees and tuples, `Trees.of`.
        tests: What every class has to hold, `Requirements.tests`. Where the whole table breaks it, every recoding does,
            and all tuples are one class.
        price: What a class costs beside the loss of its cells, in cells; larger prices make fewer and larger classes.
        method: "bottom-up"; or "top-down", which loses more and takes a tenth of the time; or "mondrian", strict, or
            "mondrian-relaxed", which lose still more.
        structure: What classes are made by. "sizes": by numbers of rows alone, then those that break a requirement are
            merged, so that classes tell little of the values. "direct": tuples then move between classes as all
            requirements allow, which loses less. Who knows the method can conclude from it that parts of a class, which
            sizes would have kept apart, break one.
        n_threads: How many parts of a large table are worked on at once, for the same cells; None is all processors.
        n_improvements: So many times a few classes are freed and built anew, and kept where they lose less.

    Returns:
        (n_tuples, n_attributes) int32 array, for every tuple of the table the numbers of its nodes in
        `Hierarchy.nodes`. Tuples with equal cells are one class.

    Raises:
        ValueError: `method` or `structure` is none of these.
    """
    check_ways(method=method, structure=structure)
    class_of = trees.parts
    if tests.keeps_whole(trees.rows):
        sizes, direct = tests.by_sizes(), structure == "direct" and len(tests.kinds) > 0
        if method in RULES:
            class_of = top_down(trees, sizes.k, price, method=method)
        else:
            class_of = classes_by_sizes(trees, sizes, price, n_threads or os.cpu_count() or 1)
        if not direct:
            class_of = improve(trees, sizes, class_of, price, n_improvements)
        if len(tests.kinds) > 0:
            class_of = mend(trees, tests, class_of)
        if direct:
            class_of = relocate(trees, tests, class_of, price, _COMPARED * len(class_of))
            class_of = improve(trees, tests, class_of, price, n_improvements)
    return trees.released(cells_of_classes(trees, class_of, int(class_of.max()) + 1)[class_of])
