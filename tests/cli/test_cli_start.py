"""Start of the command line: light loading, and Ctrl-C meanwhile."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command import FILES, without_compiling
from processes import python

import pymoo_anon
from pymoo_anon.cli.console import COMPILING

HEAVY = {"numpy", "pandas", "numba", "pymoo", "moocore", "matplotlib", "narwhals", "pooch", "scipy", "scipy.spatial"}
HEAVY |= {"pandas.core", "matplotlib.pyplot"}


pytestmark = pytest.mark.usefixtures("folder")


#: Command lines that need no search.
ANSWERED = """--help|--version|search --help|init --help|pick --help|release --help|report --help
hierarchy draft --help"""
REFUSED = """|init|hierarchy|search --wrong|search --rows many|search --algorithm wrong|search --demo nowhere
search nowhere.toml|search --algorithm bnb --epsilon 1|init mine.csv --engine wrong|release nowhere.toml
release nowhere.toml --suppressed wrong|verify nowhere.toml|verify nowhere.csv|report nowhere.toml
hierarchy draft nowhere.csv|hierarchy draft t.csv --kind wrong|hierarchy check nowhere|hierarchy show nowhere.csv"""

MAIN = "from pymoo_anon.cli import main\nmain()"

# One process serves them all, since it takes half a second to begin. It lists the modules loaded after each.
IN_TURN = f"""
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
before = set()
for line in sys.stdin:
    sys.argv[1:], code = json.loads(line), 0
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as error:
        try:
            from pymoo_anon.cli import main
            main()
        except SystemExit as end:
            code = end.code
    loaded = {HEAVY!r} & set(sys.modules) - before
    before |= loaded
    print(json.dumps([code, sorted(loaded), error.getvalue()]))
"""


def test_what_needs_no_search_loads_nothing_for_one_and_a_search_does():
    Path("t.csv").write_text("a\n1\n")
    asked = dict.fromkeys(ANSWERED.split("|"), 0) | dict.fromkeys(re.split("[|\n]", REFUSED), 2)
    lines = [*map(str.split, asked), ["search", "--rows", "50", "--generations", "2"]]
    told = "".join(f"{json.dumps(line)}\n" for line in lines)
    done = subprocess.run([sys.executable, "-c", IN_TURN], input=told, capture_output=True, text=True, check=True)
    *quick, (code, loaded, _) = map(json.loads, done.stdout.splitlines())
    assert [(got, loaded) for got, loaded, _ in quick] == [(code, []) for code in asked.values()]
    assert not [error for _, _, error in quick if "Traceback" in error]
    assert code == 0
    assert {"numpy", "numba", "pymoo", "matplotlib"} <= set(loaded)
    # numba asks for scipy's version alone. All of it takes longer than all of this package. A demo has no frames.
    assert not {"scipy.spatial", "pandas.core", "narwhals", "matplotlib.pyplot"} & set(loaded)


AS_MODULE = """
import atexit, gc, runpy
atexit.register(lambda: print("GC", gc.isenabled(), gc.get_freeze_count() > 10**5))
runpy.run_module("pymoo_anon", run_name="__main__")
"""


def test_what_a_module_that_is_run_has_loaded_is_never_looked_through():
    done = python("-c", AS_MODULE, "search", "--rows", "100", "--generations", "3")
    assert done.stdout.endswith("GC True True\n")
    assert without_compiling(done.stderr) == ""
    assert sorted(os.listdir("front")) == FILES


COMPILED = """
import atexit
from numba.core.event import RecordingListener, register
listener = RecordingListener()
register("numba:compile", listener)
starts = lambda: [event.data["dispatcher"].py_func for _, event in listener.buffer if event.is_start]
atexit.register(lambda: print("COMPILED", *[f"{one.__module__}.{one.__name__}" for one in starts()]))
"""


@pytest.mark.slow
def test_a_first_search_compiles_little_and_says_so_and_a_second_nothing(tmp_path):
    call = ["-c", COMPILED + MAIN, "search", "--rows", "300"]
    first, second = (python(*call, NUMBA_CACHE_DIR=str(tmp_path / "cache")) for _ in range(2))
    compiled = first.stdout.split("COMPILED")[-1].split()
    # Each takes about a fifth of a second. Literal arguments and arrays of two layouts compile a loop twice.
    assert 20 < len(compiled) <= 54, compiled
    # The error of a slice assignment: copy in a loop.
    assert [name for name in compiled if "unicode" in name] == []
    assert second.stdout.split("COMPILED")[-1].split() == []
    assert COMPILING in first.stderr.splitlines()
    assert (without_compiling(first.stderr), second.stderr) == ("", "")


LATE = """
import sys
from pymoo_anon._rooms import load_late
load_late("sys")
load_late("wave")
import wave
assert sys.modules["sys"] is sys and "open" not in vars(wave)
assert wave.open is sys.modules["wave"].open
late = wave
import wave
assert "open" in vars(wave) and late.Error is wave.Error
late.nothing
"""


def test_a_late_module_loads_with_its_first_name():
    done = python("-c", LATE)
    assert done.stderr.endswith("AttributeError: module 'wave' has no attribute 'nothing'\n")


def test_no_part_of_pandas_loads_by_itself():
    """Python would load it twice where pandas is late."""
    for path in Path(pymoo_anon.__file__).parent.rglob("*.py"):
        assert not re.search(r"(from|import) pandas\.", path.read_text(encoding="utf-8")), path


# Ctrl-C at the moment of an import.
INTERRUPTED = """
import builtins, os, signal, sys
asked, importing = sys.argv.pop(), builtins.__import__
def hooked(name, *args, **kwargs):
    if name == asked:
        os.kill(os.getpid(), signal.SIGINT)
    return importing(name, *args, **kwargs)
from pymoo_anon.cli import main
builtins.__import__ = hooked
sys.argv[1:] = ["search"]
main()
"""


@pytest.mark.skipif(os.name == "nt", reason="sends a signal to itself")
@pytest.mark.parametrize("module", ["typer", "pandas", "numba", "matplotlib"])
@pytest.mark.parametrize("number", ["SIGINT", pytest.param("SIGTERM", marks=pytest.mark.slow)])
def test_ctrl_c_while_modules_load(module, number):
    code = INTERRUPTED.replace("SIGINT", number)
    done = python("-c", code, module)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "Interrupted: nothing was written.\n"
    assert os.listdir() == []
