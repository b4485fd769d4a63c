"""Two concurrent searches in one folder: one refused, a killed one harmless."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command import FILES, SMALL, run, search

from pymoo_anon import _files
from pymoo_anon._files import alone

fcntl = pytest.importorskip("fcntl", reason="the system knows no such locks")

HOLDS = """
import sys
from pathlib import Path
from pymoo_anon._files import alone
with alone(Path("front")):
    print("held", flush=True)
    sys.stdin.read()
"""


pytestmark = pytest.mark.usefixtures("folder")


def is_free():
    try:
        with alone(Path("front")):
            return True
    except ValueError:
        return False


def test_the_second_search_is_refused_until_the_first_has_ended():
    Path("front").mkdir()
    with alone(Path("front")):
        result = search(*SMALL)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == (
            "Error: another search writes to the folder 'front'; wait for its end, or name another folder by --output\n"
        )
        assert os.listdir("front") == []
        run("search", *SMALL, "--output", "another")
    run("search", *SMALL)
    assert sorted(os.listdir("front")) == FILES


def test_a_search_holds_its_folder(monkeypatch):
    free = []
    monkeypatch.setattr("pymoo_anon.study.search.write_front", lambda *given: free.append(is_free()) or 1 / 0)
    assert isinstance(search(*SMALL).exception, ZeroDivisionError)
    assert free == [False]


def test_a_killed_process_leaves_no_lock():
    Path("front").mkdir()
    command = [sys.executable, "-c", HOLDS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        assert not is_free()
        process.kill()
        process.wait()
        assert is_free()
    assert os.listdir("front") == []


def test_where_nothing_can_be_locked_nobody_is_kept_out(monkeypatch):
    def unsupported(*given):
        raise OSError(95, "Operation not supported")

    Path("front").mkdir()
    with monkeypatch.context() as patched, alone(Path("front")):
        patched.setattr(fcntl, "flock", unsupported)
        assert is_free()
        patched.setattr(_files, "fcntl", None)
        assert is_free()
