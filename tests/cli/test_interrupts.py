"""Ctrl-C and requests to terminate, never lost and without half files.

This holds although other code may lose their error.
"""

import ctypes
import os
import shutil
import signal
from collections import defaultdict
from pathlib import Path

import pytest
from command import command, made_in, run, write_persons
from numba.core import event
from numba.core.compiler_lock import global_compiler_lock

from pymoo_anon.cli import hierarchy as hierarchies
from pymoo_anon.cli import release as releasing
from pymoo_anon.engine.compiled import watch_compiling
from pymoo_anon.problems.front import Front
from pymoo_anon.publishing.report import page
from pymoo_anon.study import interrupt
from pymoo_anon.study import search as searching
from pymoo_anon.study import study as records
from pymoo_anon.table import guesses

pytestmark = pytest.mark.skipif(os.name == "nt", reason="sends signals")

NOTHING, EVERYTHING = "Interrupted: nothing was written.\n", "Interrupted: everything was written before.\n"


@pytest.fixture
def listening(monkeypatch):
    """Listen to signals as in a process of the command line."""
    for name, value in (("works", True), ("interrupted", False), ("moves", False), ("written", False)):
        monkeypatch.setattr(interrupt._Command, name, value)
    before = signal.signal(signal.SIGINT, interrupt._on_signal)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Make a folder with a project, its front, choice and release."""
    commands = "init mine.csv", "search mine.toml", "pick mine.toml --require k>=2", "release mine.toml"
    with made_in(tmp_path_factory, *commands) as folder:
        write_persons()
    return folder


@pytest.fixture(autouse=True)
def in_project(folder, project):
    shutil.copytree(project, folder, dirs_exist_ok=True)


def files():
    return {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}


def send(error=None):
    """Send a signal in a C callback that loses its error.

    A compiler loses errors in this way.
    """

    @ctypes.CFUNCTYPE(None)
    def callback():
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            return

    callback()
    if error is not None:
        raise error


def after(patch, module, name, error=None, asked=lambda *args: True, again=False):
    """Send a signal after the first call with certain arguments, or after each."""
    sent = []
    own = getattr(module, name)

    def interrupted(*args, **kwargs):
        made = own(*args, **kwargs)
        if (again or not sent) and asked(*args):
            sent.append(name)
            send(error)
        return made

    patch.setattr(module, name, interrupted)


#: Functions that commands call before they write.
BEFORE = {
    ("init", "mine.csv", "--force"): (guesses, "profiles_of"),
    ("search", "mine.toml"): (searching, "algorithm_for"),
    ("pick", "mine.toml", "--knee"): (Front, "choose"),
    ("release", "mine.toml", "--force"): (records, "evidence"),
    ("verify", "mine.toml"): (records, "_counted_again"),
    ("report", "mine.toml"): (page, "write_page"),
    ("hierarchy", "draft", "mine.csv", "--force"): (hierarchies, "draft_hierarchy"),
}


@pytest.mark.parametrize("error", [None, RuntimeError("no compiled object yet")], ids=["lost", "renamed"])
@pytest.mark.parametrize("asked", BEFORE, ids=lambda asked: asked[0])
def test_a_signal_whose_error_is_lost_ends_every_command_before_it_writes(monkeypatch, listening, asked, error):
    before = files()
    after(monkeypatch, *BEFORE[asked], error)
    done = command(*asked)
    assert (done.exit_code, done.stderr) == (130, NOTHING), done.output
    assert files() == before


@pytest.mark.parametrize("asked", BEFORE, ids=lambda asked: asked[0])
def test_a_full_disk_is_one_sentence_and_changes_no_file(monkeypatch, asked):
    def full(*names):
        raise OSError(28, "No space left on device")

    before = files()
    monkeypatch.setattr(os, "replace", full)
    # It writes nothing.
    is_read = asked[0] == "verify"
    told = run(*asked, code=0 if is_read else 2)
    assert is_read or told.count("\n") == 1
    assert is_read or told.endswith("No space left on device; make room there, or name another folder\n")
    # A search keeps its evaluations.
    assert {path: own for path, own in files().items() if path.suffix != ".journal"} == before


def test_a_search_that_is_interrupted_where_the_error_is_lost_writes_what_was_found(monkeypatch, listening):
    from pymoo_anon.algorithms.pbgea import PBGEA

    after(monkeypatch, PBGEA, "_advance")
    done = command("search", "mine.toml", "--algorithm", "pbgea", "--generations", "50")
    assert (done.exit_code, done.stderr) == (130, ""), done.output
    assert "not proven (Ctrl-C)" in done.stdout


@pytest.mark.parametrize("place", ["moved", "moved, again and again", "said"])
def test_signals_while_files_are_put_in_place_or_later_leave_everything_written(monkeypatch, listening, place):
    again = place.endswith("again")
    with monkeypatch.context() as patch:
        if place == "said":
            after(patch, releasing, "tell")
        else:
            after(patch, os, "replace", asked=lambda *args: str(args[-1]).startswith("second.csv"), again=again)
        done = command("release", "mine.toml", "--output", "second.csv")
    assert (done.exit_code, done.stderr) == (130, EVERYTHING), done.output
    interrupt.forget_interrupt()
    # The release is recorded, too, so that later releases warn of it.
    assert Path("mine-front/releases.json").read_text().count("second.csv") == 1
    assert run("verify", "mine.toml").endswith("second.csv: holds.\n" if again else "holds.\n")


def test_a_second_signal_after_files_are_put_in_place_does_not_wait(monkeypatch, listening):
    own, said = releasing.tell, []

    def say(*arguments):
        send()
        os.kill(os.getpid(), signal.SIGINT)
        said.append("more")
        own(*arguments)

    monkeypatch.setattr(releasing, "tell", say)
    done = command("release", "mine.toml", "--output", "second.csv")
    assert (done.exit_code, done.stderr, said) == (130, EVERYTHING, [])


def test_while_numba_compiles_a_first_signal_waits_and_a_second_does_not(monkeypatch, listening):
    monkeypatch.setattr(event, "_registered", defaultdict(list))
    watch_compiling(lambda: None, interrupt.check_interrupted)
    seen = []

    @global_compiler_lock
    def inner():
        os.kill(os.getpid(), signal.SIGINT)

    @global_compiler_lock
    def outer():
        inner()
        seen.append("still compiling")

    with pytest.raises(KeyboardInterrupt):
        outer()
    assert seen == ["still compiling"]
    with pytest.raises(KeyboardInterrupt):
        inner()
