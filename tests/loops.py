"""Compiled loops as tests can call and watch them."""

import numba

from pymoo_anon.engine.compiled import Loop


def with_a_way_in(loop):
    """Compile a loop so that Python can call it, too."""
    return numba.njit(loop.py_func)


def leave_uncompiled(monkeypatch, *modules):
    """Run the loops of some modules uncompiled, which allows replacing them."""
    for module in modules:
        for name, loop in list(vars(module).items()):
            if isinstance(loop, Loop):
                monkeypatch.setattr(module, name, loop.py_func)
