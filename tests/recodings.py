"""Local recodings in tests: their classes, and limits for small tables."""

from importlib import import_module
from unittest.mock import patch

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
