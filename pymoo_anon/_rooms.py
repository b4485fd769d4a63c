"""Lazy imports of modules, and of a room's names."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any


def load_late(name: str) -> None:
    """Load a module when one of its names is first used."""
    late: Any = ModuleType(name)

    def find(wanted: str) -> Any:
        if sys.modules.get(name) is late:
            del sys.modules[name]
        return getattr(import_module(name), wanted)

    late.__getattr__ = find
    sys.modules.setdefault(name, late)


def later(room: str, names: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a room, from its modules and their names."""
    modules = {name: module for module, own in names.items() for name in own}

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        return getattr(import_module(f"{room}.{modules[name]}"), name)

    return find
