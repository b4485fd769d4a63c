"""Large tables: split into blocks from the top first, then each block is recoded by itself.

What a block's classes lose depends on the block alone, so threads may work on as many blocks as they like.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from pymoo_anon.engine.arrays import Ints
from pymoo_anon.engine.local.cube import bottom_up
from pymoo_anon.engine.local.growth import grow
from pymoo_anon.engine.local.relocate import relocate
from pymoo_anon.engine.local.repair import mend
from pymoo_anon.engine.local.requirements import Tests
from pymoo_anon.engine.local.specialize import top_down
from pymoo_anon.engine.local.trees import Trees

# A block has about so many distinct tuples, and so many times k rows: smaller ones would be seen in the loss.
_BLOCK = 30_000
_ROWS_OF_K = 500

# A cube may look at so many tuples for each one of its block. Where there are too many attributes for that, what it has
# not released by then grows, in blocks whose square is small.
_LOOKS = 1_000
_GROWN = 1_000

# So many tuples are tried as seeds of a class, times the tuples that a class has.
_SEEDS = 20_000

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
    """The class of every tuple of one block."""
    class_of, ended = bottom_up(trees, sizes.k, price, budget=_LOOKS * len(trees.rows))
    if not ended:
        left = np.flatnonzero(class_of < 0)
        rest = trees.subset(left)
        parts = _blocks(rest, sizes.k, _GROWN)
        grown = _laid_out(len(left), parts, [_grown(rest.subset(part), sizes.k, price) for part in parts])
        class_of[left] = np.where(grown < 0, -1, grown + class_of.max() + 1)
    class_of = mend(trees, sizes, class_of)
    return relocate(trees, sizes, class_of, price, _COMPARED)


def _grown(trees: Trees, k: int, price: float) -> Ints:
    """Grow the classes of a block, or make it one class if it has no room for two."""
    if k <= trees.rows.sum() < 2 * k and np.ptp(trees.parts) == 0:
        return np.zeros(len(trees.rows), dtype=np.int64)
    # A class is grown tuple by tuple: the larger it is, the fewer seeds can be tried at the same cost.
    per_class = max(k / trees.rows.mean(), 1.0)
    return grow(trees, k, price, max(int(_SEEDS / per_class), 1))


def _laid_out(n_tuples: int, blocks: list[Ints], classes: list[Ints]) -> Ints:
    """The classes of all tuples, those of each block numbered after those of the block before."""
    class_of, n_classes = np.full(n_tuples, -1), 0
    for block, own in zip(blocks, classes, strict=True):
        class_of[block] = np.where(own < 0, -1, own + n_classes)
        n_classes += int(own.max(initial=-1)) + 1
    return class_of
