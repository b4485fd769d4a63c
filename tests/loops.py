"""Compiled loops as tests can call and watch them."""

import numba
from numba.core.registry import CPUDispatcher


def with_a_way_in(loop):
    """A loop that only compiled loops call, compiled so that Python can call it."""
    return numba.njit(loop.py_func)


def leave_uncompiled(monkeypatch, *modules):
    """Run the loops of some modules as plain Python, where one may be put in place of another."""
    for module in modules:
        for name, loop in list(vars(module).items()):
            if isinstance(loop, CPUDispatcher):
                monkeypatch.setattr(module, name, loop.py_func)
