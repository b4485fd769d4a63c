"""The work of a function, counted without a clock."""

import sys
import tracemalloc
from collections.abc import Callable
from typing import Any


def work_of(function: Callable[..., Any], *arguments: Any) -> tuple[Any, int, int]:
    """Return a function's result, its calls of other functions, and its peak of memory."""
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    tracemalloc.start()
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        made = function(*arguments)
    finally:
        sys.setprofile(before)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return made, calls, peak
