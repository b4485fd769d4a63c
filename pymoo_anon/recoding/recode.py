"""Local recoding of a table: each class of tuples has levels of its own.

Large tables are split from the top into blocks, and each block is recoded alone. Its classes depend on nothing else, so
threads may work on as many blocks as they like.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from pymoo_anon._messages import one_of
from pymoo_anon.recoding.bottom_up import bottom_up, grow
from pymoo_anon.recoding.moves import Classes, fill, relocate, repair
from pymoo_anon.recoding.neighbourhood import improved_classes
from pymoo_anon.recoding.top_down import RULES, top_down
from pymoo_anon.recoding.trees import Requirements, Trees, cells_of_classes, places_by_number
from pymoo_anon.typing import Array, Ints, Ints32

# A block has about so many distinct tuples, and so many times k rows: smaller ones would be seen in the loss.
_BLOCK_TUPLES = 30_000
_ROWS_OF_K = 500

# Budget of the cubes, in looks at a tuple for each tuple of a block. It does not depend on k.
_CUBE_LOOKS = 1_000
# Budget of a round of growth. Small blocks try every seed within it. Large ones try a few, which give nearly the same
# classes.
_GROWN = 16_000_000

# Tuples that a cube leaves are recoded in blocks of about so many tuples, and again in blocks of so many classes.
_LEFT = 2000
_CLASSES = 16

# Sequential clustering may compare so many cells in a block; with all requirements, so many for each tuple.
_COMPARED = 20_000_000
_COMPARED_OF_ALL = 2_000

#: With fewer classes than this, a k has the best recoding among those of all larger ones.
FEW = 6
# With fewer than this, each is searched in several ways: a class costs such shares of the loss of k rows more, which
# makes classes larger.
_RETRIED = 10
_DEARER = 0.0, 0.1, 0.3

_METHODS_AND_STRUCTURES = {"method": ("bottom-up", *RULES), "structure": ("sizes", "direct")}


def check_ways(**given: str) -> None:
    """Refuse an unknown method or structure.

    Raises:
        ValueError: It is none of those known.
    """
    for name, value in given.items():
        one_of(name, value, _METHODS_AND_STRUCTURES[name])


def recode(
    trees: Trees,
    tests: Requirements,
    price: float = 0.0,
    method: str = "bottom-up",
    structure: str = "sizes",
    n_threads: int | None = None,
    n_improvements: int = 0,
    units: Ints | None = None,
) -> Ints32:
    """Return a recoding in which every class holds all requirements.

    The cells depend on nothing but the arguments: not on the order of the rows of the table, nor on a clock.

    Args:
        trees: The trees and tuples, `Trees.of`.
        tests: What every class has to hold, `Requirements.of`. Where the whole table breaks it, every recoding does,
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
        units: (n_tuples,) int64 array from 0. Classes are made of whole units; only later moves part them.

    Returns:
        (n_tuples, n_attributes) int32 array, for every tuple of the table the numbers of its nodes in
        `Hierarchy.nodes`. Tuples with equal cells are one class.
    """
    class_of = trees.parts
    if tests.keeps_whole(trees.rows):
        sizes, direct = tests.by_sizes(), structure == "direct" and len(tests.kinds) > 0
        own, group_of = (trees, slice(None)) if units is None else trees.merged(units)
        class_of = _by_sizes(own, sizes, price, method, n_threads or os.cpu_count() or 1)[group_of]
        if direct:
            class_of = repair(trees, tests, class_of)
            class_of = relocate(trees, tests, class_of, price, _COMPARED_OF_ALL * len(class_of))
        if n_improvements:
            class_of = improved_classes(trees, tests if direct else sizes, class_of, price, n_improvements)
        if len(tests.kinds) > 0 and not direct:
            class_of = repair(trees, tests, class_of)
    return trees.released(cells_of_classes(trees, class_of, int(class_of.max()) + 1)[class_of])


def recode_some(trees: Trees, tests: Requirements, chosen: Ints, cells: Array, *ways: Any) -> Ints32:
    """Recode some tuples alone, and return all cells.

    `chosen` are their places in the trees, (n,) int64 ascending. `ways` are further arguments of `recode`.
    """
    part, made = trees.subset(chosen)._replace(places=np.arange(len(chosen))), cells.astype(np.int32)
    made[trees.places[chosen]] = recode(part, tests.subset(chosen), *ways)
    return made


def recode_parts(trees: Trees, tests: Requirements, *ways: Any) -> Ints32:
    """Recode each part alone, and return all cells. A part that breaks a requirement stays whole."""
    parts = trees.parts
    cells = trees.released(cells_of_classes(trees, parts, int(parts.max()) + 1)[parts])
    holds = [own for own in places_by_number(parts) if tests.subset(own).keeps_whole(trees.rows[own])]
    return recode_some(trees, tests, np.sort(np.concatenate(holds)), cells, *ways) if holds else cells


def _by_sizes(trees: Trees, sizes: Requirements, price: float, method: str, n_threads: int) -> Ints:
    """Choose the class of every tuple by numbers of rows. Some class numbers are unused."""
    if method in RULES:
        return top_down(trees, sizes.k, price, method=method)
    trees, group_of = trees.narrowed(sizes.k)
    if sizes.k * _RETRIED > trees.rows.sum() and not trees.parts.any():
        return _few_classes(trees, sizes, price, n_threads)[group_of]
    size = max(_BLOCK_TUPLES, int(_ROWS_OF_K * sizes.k / trees.rows.mean()))
    blocks = _blocks(trees, sizes.k, size)
    recoded = partial(_recoded_block, sizes=sizes, price=price, n_threads=n_threads if len(blocks) == 1 else 1)
    with ThreadPoolExecutor(n_threads) as pool:
        made = list(pool.map(lambda block: recoded(trees.subset(block)), blocks))
    return _laid_out(len(trees.rows), blocks, made)[group_of]


def _few_classes(trees: Trees, sizes: Requirements, price: float, n_threads: int) -> Ints:
    """Return the best of several ways to a few classes.

    Where one class more or less counts, the cheapest cells first are often wrong: larger classes may leave a better
    rest, and a rest of fewer than k rows may be filled up.
    """
    k, whole = sizes.k, float(trees.costs[trees.offsets[:-1]].sum())
    # Of the fewest classes each k tries one more share, since the best of all larger k is taken there.
    shares = _DEARER if k * FEW <= trees.rows.sum() else {0.0, _DEARER[int(str(k)[:2]) % len(_DEARER)]}
    ways = []
    for share in sorted(shares):
        dearer = price + share * k * whole
        in_blocks = partial(_recoded_in_blocks, sizes=sizes, price=dearer, n_threads=n_threads)
        class_of = _cubed(trees, k, dearer, in_blocks)
        ways += [repair(trees, sizes, way) for way in (class_of, fill(trees, sizes, class_of))]
    best = min(ways, key=lambda way: Classes.of(trees, sizes, way).loss(price))
    return relocate(trees, sizes, best, price, _COMPARED)


def _blocks(trees: Trees, k: int, size: int) -> list[Ints]:
    """Split tuples into blocks of k rows or more. Small parts stay whole, and large ones are split alone."""
    if len(trees.rows) <= size:
        return [np.arange(len(trees.rows))]
    parts = trees.parts
    if parts.any():
        # A block with pieces of several parts could hold a piece of fewer than k rows, which would join another part.
        sizes = np.bincount(parts)
        large = sizes > size
        ends = np.cumsum(np.where(large, 0, sizes))
        pack_of = np.where(large, len(parts) + np.arange(len(sizes)), (ends - sizes) // size)
        packs = [(own, large[parts[own[0]]]) for own in places_by_number(pack_of[parts])]
        split = [(own, _blocks(trees.subset(own), k, size) if one else [np.arange(len(own))]) for own, one in packs]
        return [own[block] for own, blocks in split for block in blocks]
    # No block is much smaller than the others, so that few tuples end where they do not belong.
    least = max(k, int(trees.rows.mean() * size / 4))
    return places_by_number(top_down(trees, least, enough=size))


def _recoded_block(trees: Trees, sizes: Requirements, price: float, n_threads: int = 1) -> Ints:
    in_blocks = partial(_recoded_in_blocks, sizes=sizes, price=price, n_threads=n_threads)
    class_of = _cubed(trees, sizes.k, price, in_blocks)
    return relocate(trees, sizes, repair(trees, sizes, class_of), price, _COMPARED)


def _cubed(trees: Trees, k: int, price: float, of_rest: Callable[[Trees], Ints]) -> Ints:
    """Return the classes of a cube, and of another way for the rest."""
    class_of, ended = bottom_up(trees, k, price, _CUBE_LOOKS * len(trees.rows))
    if not ended:
        left = np.flatnonzero(class_of < 0)
        classes = of_rest(trees.subset(left))
        class_of[left] = np.where(classes < 0, -1, classes + class_of.max() + 1)
    return class_of


def _recoded_in_blocks(trees: Trees, sizes: Requirements, price: float, n_threads: int = 1) -> Ints:
    def grown(rest: Trees) -> Ints:
        return grow(rest, sizes.k, price, budget=_GROWN)

    def made(block: Ints) -> Ints:
        own = trees.subset(block)
        return grown(own) if own.rows.sum() < 2 * sizes.k else _cubed(own, sizes.k, price, grown)

    # At large k blocks of either size may lose less, and both take little time.
    n, larger = len(trees.rows), max(_LEFT, int(_CLASSES * sizes.k / trees.rows.mean()))
    divisions = [_blocks(trees, sizes.k, size) for size in sorted({min(_LEFT, n), min(larger, n)})]
    with ThreadPoolExecutor(n_threads) as pool:
        ways = [_laid_out(n, blocks, list(pool.map(made, blocks))) for blocks in divisions]
    return min(ways, key=lambda way: Classes.of(trees, sizes, repair(trees, sizes, way)).loss(price))


def _laid_out(n_tuples: int, blocks: list[Ints], classes: list[Ints]) -> Ints:
    """Assign consecutive numbers to the classes of all blocks."""
    class_of, n_classes = np.full(n_tuples, -1), 0
    for block, own in zip(blocks, classes, strict=True):
        class_of[block] = np.where(own < 0, -1, own + n_classes)
        n_classes += int(own.max(initial=-1)) + 1
    return class_of
