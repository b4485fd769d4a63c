"""Lazy imports of a room's names."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any


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
