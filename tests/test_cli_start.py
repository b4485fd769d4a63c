"""Starting: what answers without loading what only a search needs, and Ctrl-C while modules load."""

import os
import subprocess
import sys

import pytest
from command import FILES

HEAVY = {"numpy", "pandas", "numba", "pymoo", "moocore", "matplotlib", "narwhals", "pooch", "scipy"}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def modules_after(code, *arguments):
    """What a process has loaded that ran some code: exit code, names among HEAVY, standard error."""
    tail = f"import sys\nfound = {HEAVY!r} & set(sys.modules)\nprint('LOADED', *found)\n"
    whole = f"import atexit\natexit.register(lambda: exec({tail!r}))\n{code}"
    done = subprocess.run([sys.executable, "-c", whole, *arguments], capture_output=True, text=True, check=False)
    return done.returncode, set(done.stdout.split("LOADED")[-1].split()), done.stderr


MAIN = "from pymoo_anon.cli import main\nmain()"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], 2),
        (["--help"], 0),
        (["--version"], 0),
        (["search", "--help"], 0),
        (["search", "--wrong"], 2),
        (["search", "--rows", "many"], 2),
        (["search", "--algorithm", "wrong"], 2),
        (["search", "--data", "nowhere.csv"], 2),
        (["search", "nowhere.toml"], 2),
        (["init", "--help"], 0),
        (["init"], 2),
        (["init", "mine.csv", "--engine", "wrong"], 2),
        (["search", "--algorithm", "bnb", "--epsilon", "1"], 2),
        (["pick", "--help"], 0),
        (["release", "--help"], 0),
        (["release", "nowhere.toml"], 2),
        (["release", "nowhere.toml", "--suppressed", "wrong"], 2),
        (["verify", "nowhere.toml"], 2),
        (["verify", "nowhere.csv"], 2),
        (["report", "--help"], 0),
        (["report", "nowhere.toml"], 2),
        (["hierarchy"], 2),
        (["hierarchy", "draft", "--help"], 0),
        (["hierarchy", "draft", "nowhere.csv"], 2),
        (["hierarchy", "draft", sys.executable, "--kind", "wrong"], 2),
        (["hierarchy", "check", "nowhere"], 2),
        (["hierarchy", "show", "nowhere.csv"], 2),
    ],
)
def test_what_needs_no_search_loads_nothing_for_one(arguments, code):
    got, loaded, error = modules_after(MAIN, *arguments)
    assert (got, loaded) == (code, set()), error
    assert "Traceback" not in error


def test_a_search_does():
    code, loaded, _ = modules_after(MAIN, "search", "--rows", "50", "--generations", "2")
    assert code == 0
    assert {"numpy", "pandas", "numba", "pymoo", "matplotlib"} <= loaded


@pytest.mark.parametrize("module", ["pymoo_anon", "pymoo_anon.cli", "pymoo_anon.cli.app", "pymoo_anon.cli.names"])
def test_importing_the_command_line_loads_nothing_either(module):
    assert modules_after(f"import {module}")[:2] == (0, set())


# Ctrl-C at the moment in which a module is asked for.
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
    done = subprocess.run([sys.executable, "-c", code, module], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "Interrupted: nothing was written.\n"
    assert os.listdir() == []


def test_as_a_module():
    command = [sys.executable, "-m", "pymoo_anon", "search", "--rows", "100", "--generations", "3"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stderr == ""
    assert sorted(os.listdir("front")) == FILES
