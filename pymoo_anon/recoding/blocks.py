"""Large tables: split into blocks from the top first, then each block is recoded by itself.

What a block's classes lose depends on the block alone, so threads may work on as many blocks as they like.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from pymoo_anon.engine.arrays import Ints
from pymoo_anon.recoding.classes import Classes
from pymoo_anon.recoding.cube import bottom_up
from pymoo_anon.recoding.growth import grow
from pymoo_anon.recoding.relocate import relocate
from pymoo_anon.recoding.repair import mend
from pymoo_anon.recoding.requirements import Tests
from pymoo_anon.recoding.specialize import top_down
from pymoo_anon.recoding.trees import Trees

# A block has about so many distinct tuples, and so many times k rows: smaller ones would be seen in the loss.
_BLOCK = 30_000
_ROWS_OF_K = 500

# For each tuple of a block, a cube may look at so many, whatever k is. A round of growth has one budget for all sizes
# of blocks: small ones try every seed, and in large ones a few seeds give nearly the same classes.
_LOOKS = 1_000
_GROWN = 16_000_000

# What a cube leaves is recoded in blocks of about so many tuples, and once more in blocks of so many classes.
_LEFT = 1_000
_CLASSES = 16

# Sequential clustering may compare so many cells in a block.
_COMPARED = 20_000_000


def classes_by_sizes(trees: Trees, sizes: Tests, price: float, n_threads: int) -> Ints:
    """The class of every tuple, (n_tuples,) int64 counted from 0, made bottom-up by numbers of rows alone.

    Some numbers may be unused. A class costs a price beside the loss of its cells, in cells. The classes are the same
    for any number of threads.
    """
    size = max(_BLOCK, int(_ROWS_OF_K * sizes.k / trees.rows.mean()))
    blocks = _blocks(trees, sizes.k, size)

    def recoded(block: Ints) -> Ints:
        return _recoded(trees if len(blocks) == 1 else trees.subset(block), sizes, price)

    with ThreadPoolExecutor(max(1, min(n_threads, len(blocks)))) as pool:
        return _laid_out(len(trees.rows), blocks, list(pool.map(recoded, blocks)))


def _blocks(trees: Trees, k: int, size: int) -> list[Ints]:
    """Tuples in blocks of about a number of tuples, each of k rows or more, by splits from the top.

    Parts that must be apart stand whole in a block, and large ones have blocks of their own.
    """
    if len(trees.rows) <= size:
        return [np.arange(len(trees.rows))]
    parts = trees.parts
    if parts.any():
        # A block with pieces of several parts could hold a piece of fewer than k rows, which would join another part.
        sizes = np.bincount(parts)
        large = sizes > size
        ends = np.cumsum(np.where(large, 0, sizes))
        pack_of = np.where(large, len(parts) + np.arange(len(sizes)), (ends - sizes) // size)
        packs = [(own, large[parts[own[0]]]) for own in _by_number(pack_of[parts])]
        split = [(own, _blocks(trees.subset(own), k, size) if one else [np.arange(len(own))]) for own, one in packs]
        return [own[block] for own, blocks in split for block in blocks]
    # No block is much smaller than the others, so that few tuples end where they do not belong.
    least = max(k, int(trees.rows.mean() * size / 4))
    return _by_number(top_down(trees, least, enough=size))


def _by_number(numbers: Ints) -> list[Ints]:
    """The places of each number that occurs, ascending."""
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1)


def _recoded(trees: Trees, sizes: Tests, price: float) -> Ints:
    """Return the class of every tuple of one block."""
    class_of = _cubed(trees, sizes.k, price, lambda rest: _divided(rest, sizes, price))
    return relocate(trees, sizes, mend(trees, sizes, class_of), price, _COMPARED)


def _cubed(trees: Trees, k: int, price: float, of_rest: Callable[[Trees], Ints]) -> Ints:
    """Return the classes that a cube makes within its budget, and another way of the rest."""
    class_of, ended = bottom_up(trees, k, price, budget=_LOOKS * len(trees.rows))
    if not ended:
        left = np.flatnonzero(class_of < 0)
        classes = of_rest(trees.subset(left))
        class_of[left] = np.where(classes < 0, -1, classes + class_of.max() + 1)
    return class_of


def _divided(trees: Trees, sizes: Tests, price: float) -> Ints:
    """Return the classes of tuples that a cube has left, made in small blocks."""

    def grown(rest: Trees) -> Ints:
        return grow(rest, sizes.k, price, budget=_GROWN)

    def made(block: Ints) -> Ints:
        own = trees.subset(block)
        return grown(own) if own.rows.sum() < 2 * sizes.k else _cubed(own, sizes.k, price, grown)

    # At large k blocks of either size may lose less, and both take little time.
    n, larger = len(trees.rows), max(_LEFT, int(_CLASSES * sizes.k / trees.rows.mean()))
    divisions = [_blocks(trees, sizes.k, size) for size in sorted({min(_LEFT, n), min(larger, n)})]
    ways = [_laid_out(n, blocks, [made(block) for block in blocks]) for blocks in divisions]
    return min(ways, key=lambda way: Classes.of(trees, sizes, mend(trees, sizes, way)).loss(price))


def _laid_out(n_tuples: int, blocks: list[Ints], classes: list[Ints]) -> Ints:
    """The classes of all tuples, those of each block numbered after those of the block before."""
    class_of, n_classes = np.full(n_tuples, -1), 0
    for block, own in zip(blocks, classes, strict=True):
        class_of[block] = np.where(own < 0, -1, own + n_classes)
        n_classes += int(own.max(initial=-1)) + 1
    return class_of
