"""Loops where numba finds no folder for its cache."""

import ast
import os
import pickle
import subprocess
import sys
from itertools import product
from pathlib import Path
from random import Random

import numba
import pytest
from processes import python

from pymoo_anon.engine.compiled import njit

PACKAGE = Path(__file__).parents[2] / "pymoo_anon"

ROOMS = "import pymoo_anon.table, pymoo_anon.objectives, pymoo_anon.problems, pymoo_anon.algorithms"

LOOPS = f"""
{ROOMS}
import numpy as np
from pymoo_anon.engine.compiled import njit

@njit()
def twice(x):
    return 2 * x

print(twice(np.arange(3)).tolist())
"""

# numba's behavior if neither the source's folder nor the user's cache is writable.
NOWHERE = f"""
from numba.core import caching
for kind in [caching.CacheImpl, *caching.CacheImpl.__subclasses__()]:
    kind._locator_classes = []
{LOOPS}
"""


def test_without_a_folder_loops_run_uncached_with_one_hint():
    done = python("-c", NOWHERE)
    assert (done.returncode, done.stdout) == (0, "[0, 2, 4]\n"), done.stderr
    assert done.stderr.count("NUMBA_CACHE_DIR") == 1
    assert done.stderr.count("RuntimeWarning") == 1


@pytest.mark.parametrize("told", [False, True], ids=["beside the source", "where NUMBA_CACHE_DIR says"])
def test_with_a_folder_nothing_is_said_and_loops_are_cached(tmp_path, told):
    (tmp_path / "loops.py").write_text(LOOPS.replace(ROOMS, ""))
    done = python("loops.py", cwd=tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "told") if told else None)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[0, 2, 4]\n", "")
    assert list(tmp_path.glob("told/*/loops.twice-*.nbi" if told else "__pycache__/loops.twice-*.nbi"))


def run(folder, code):
    """Run loops with the cache in the folder."""
    (folder / "loops.py").write_text(code)
    return python("loops.py", cwd=folder, NUMBA_CACHE_DIR=str(folder / "cache"))


def flipped(data):
    """Flip a bit in the midst, which is machine code."""
    place = len(data) // 2
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


OF_A_CLASS_THAT_IS_GONE = "nbi", lambda data: data.replace(b"npytypes", b"formerly")
DAMAGES = [lambda data: data[:-9], lambda data: Random(1).randbytes(len(data)), lambda data: b""]
MORE = [pytest.param(*one, marks=pytest.mark.slow) for one in product(["nbi", "nbc"], DAMAGES)]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Compile a loop in a folder, where each test leaves a whole cache."""
    folder = tmp_path_factory.mktemp("compiled")
    run(folder, LOOPS.replace(ROOMS, ""))
    return folder


@pytest.mark.parametrize(("ending", "damage"), [("nbc", flipped), OF_A_CLASS_THAT_IS_GONE, *MORE])
def test_damaged_files_of_the_cache_are_written_anew(compiled, ending, damage):
    (path,) = compiled.glob(f"cache/*/loops.twice-*.{ending}")
    damaged = damage(path.read_bytes())
    assert damaged != path.read_bytes()
    path.write_bytes(damaged)
    done = python("loops.py", cwd=compiled, NUMBA_CACHE_DIR=str(compiled / "cache"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "[0, 2, 4]\n", "")
    assert path.read_bytes() != damaged


FULL = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows knows no such limit")
def test_where_the_disk_is_full_loops_are_compiled_in_memory_with_one_hint(tmp_path):
    code = FULL + LOOPS.replace(ROOMS, "") + LOOPS.replace(ROOMS, "").replace("twice", "again")
    done = run(tmp_path, code)
    assert (done.returncode, done.stdout) == (0, "[0, 2, 4]\n" * 2), done.stderr
    assert done.stderr.count("compiled in memory") == 1
    assert f"numba's cache in {tmp_path / 'cache'}" in done.stderr


@pytest.fixture
def full(tmp_path):
    """Mount a disk with room for few files of a cache."""
    folder = tmp_path / "full"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)], check=False).returncode:
        pytest.skip("no right to mount a disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="mounts as Linux does")
def test_a_search_ends_well_where_the_cache_is_full(tmp_path, full):
    call = ["-m", "pymoo_anon", "search", "--rows", 300, "--algorithm", "exhaustive", "--objectives", "k,GLM"]
    done = python(*call, cwd=tmp_path, NUMBA_CACHE_DIR=str(full))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("Warning: loops are compiled in memory") == 1
    assert done.stderr.count("NUMBA_CACHE_DIR") == 1


def test_other_refusals_of_numba_are_not_taken_for_that(monkeypatch):
    def refuse(**options):
        raise RuntimeError("not now")

    monkeypatch.setattr(numba, "njit", refuse)
    with pytest.raises(RuntimeError, match="not now"):
        njit()(len)(())


@njit(allocates=False, inner=True)
def inner(x):
    return 2 * x


@njit(allocates=False)
def outer(x):
    return inner(x) + 1


def test_an_inner_loop_serves_loops_and_refuses_python():
    with pytest.raises(TypeError, match="inner is only called by compiled loops"):
        inner(3)
    assert outer(3) == 7
    # Also where it was compiled before.
    with pytest.raises(TypeError, match="inner is only called by compiled loops"):
        inner(3)


def test_a_loop_is_pickled_by_its_name():
    assert pickle.loads(pickle.dumps(outer)) is outer


LATE = """
import sys
import numpy as np
from pymoo_anon.datasets import make_census
from pymoo_anon.table.generalization import Generalization

table = make_census(100)
print("numba" in sys.modules)
own = table.quasi_identifiers.items()
made = Generalization({name: one.groups[0] for name, one in own}, {name: one.labels[0] for name, one in own})
print(int(table.equivalence_classes(made).kept_rows.sum()))
print("numba" in sys.modules)
maps = np.concatenate(list(made.groups.values()))
print(int(next(table.grouper.classes(maps[np.newaxis], np.array([made.n_groups]))).sizes.sum()))
print("numba" in sys.modules)
"""


def test_numba_loads_with_the_first_call_of_a_loop_and_not_for_one_generalization():
    done = python("-c", LATE)
    assert done.stdout == "False\n800\nFalse\n100\nTrue\n", done.stderr


def test_every_loop_is_compiled_this_way():
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "numba":
                assert "njit" not in {alias.name for alias in node.names}, path
            if isinstance(node, ast.Attribute) and path.name != "compiled.py":
                assert ast.unparse(node) != "numba.njit", path
