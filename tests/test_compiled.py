"""Loops where numba finds no folder for its cache."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pymoo_anon.engine.compiled import njit

PACKAGE = Path(__file__).parents[1] / "pymoo_anon"

ROOMS = "import pymoo_anon.table, pymoo_anon.objectives, pymoo_anon.problems, pymoo_anon.algorithms"

LOOPS = f"""
{ROOMS}
import numpy as np
from pymoo_anon.engine.compiled import njit

@njit(cache=True, nogil=True)
def twice(x):
    return 2 * x

print(twice(np.arange(3)).tolist())
"""

# numba as it is where neither the source's folder nor the user's own cache can be written.
NOWHERE = f"""
from numba.core import caching
for kind in [caching.CacheImpl, *caching.CacheImpl.__subclasses__()]:
    kind._locator_classes = []
{LOOPS}
"""


def test_without_a_folder_loops_run_uncached_with_one_hint():
    done = subprocess.run([sys.executable, "-c", NOWHERE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "[0, 2, 4]\n"), done.stderr
    assert done.stderr.count("NUMBA_CACHE_DIR") == 1
    assert done.stderr.count("RuntimeWarning") == 1


@pytest.mark.parametrize("told", [False, True], ids=["beside the source", "where NUMBA_CACHE_DIR says"])
def test_with_a_folder_nothing_is_said_and_loops_are_cached(tmp_path, told):
    (tmp_path / "loops.py").write_text(LOOPS.replace(ROOMS, ""))
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    if told:
        environment["NUMBA_CACHE_DIR"] = str(tmp_path / "told")
    run = [sys.executable, "loops.py"]
    done = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[0, 2, 4]\n", "")
    assert list(tmp_path.glob("told/*/loops.twice-*.nbi" if told else "__pycache__/loops.twice-*.nbi"))


def test_other_refusals_of_numba_are_not_taken_for_that(monkeypatch):
    def refuse(**options):
        raise RuntimeError("not now")

    from pymoo_anon.engine import compiled

    monkeypatch.setattr(compiled.numba, "njit", refuse)
    with pytest.raises(RuntimeError, match="not now"):
        compiled.njit(nogil=True)(len)


def test_an_inner_loop_serves_loops_and_refuses_python():
    @njit(allocates=False, inner=True)
    def inner(x):
        return 2 * x

    @njit(allocates=False)
    def outer(x):
        return inner(x) + 1

    with pytest.raises(TypeError, match="inner is only called by compiled loops"):
        inner(3)
    assert outer(3) == 7
    # Also where it was compiled before.
    with pytest.raises(TypeError, match="inner is only called by compiled loops"):
        inner(3)


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_every_loop_is_compiled_this_way(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "numba":
            assert "njit" not in {alias.name for alias in node.names}
        if isinstance(node, ast.Import) and path.name != "compiled.py":
            assert "numba" not in {alias.name for alias in node.names}


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", [b"", b"damaged", None], ids=["empty", "other bytes", "half"])
def test_a_damaged_cache_is_compiled_anew_with_one_hint(tmp_path, ending, damage):
    (tmp_path / "loops.py").write_text(LOOPS.replace(ROOMS, ""))
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "told")}

    def run():
        return subprocess.run(
            [sys.executable, "loops.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    run()
    (path,) = tmp_path.glob(f"told/*/*.{ending}")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2] if damage is None else damage)
    done = run()
    assert (done.returncode, done.stdout) == (0, "[0, 2, 4]\n"), done.stderr
    assert "loops are compiled in memory" in done.stderr
    done = run()
    done = run()
    assert (done.returncode, done.stdout, done.stderr) == (0, "[0, 2, 4]\n", "")


def test_a_full_disk_is_compiled_in_memory_with_one_hint(tmp_path):
    """No file may hold a byte, as on a full disk."""
    pytest.importorskip("resource")
    (tmp_path / "loops.py").write_text(
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n" + LOOPS.replace(ROOMS, "")
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "told")}
    done = subprocess.run(
        [sys.executable, "-u", "loops.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "[0, 2, 4]\n"), done.stderr
    assert done.stderr.count("RuntimeWarning") == 1
    assert str(tmp_path / "told") in done.stderr
