"""Lazy imports of modules, and of a room's names."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable
from functools import cache
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


def later(room: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a room, which imports what its `if TYPE_CHECKING` names."""

    @cache
    def modules() -> dict[str, str]:
        (guarded,) = [node for node in ast.parse(inspect.getsource(sys.modules[room])).body if isinstance(node, ast.If)]
        imports = [node for node in guarded.body if isinstance(node, ast.ImportFrom)]
        return {alias.name: str(node.module) for node in imports for alias in node.names}

    def find(name: str) -> Any:
        if name.startswith("__") or name not in modules():
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        return getattr(import_module(modules()[name]), name)

    return find
