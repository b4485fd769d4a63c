"""Searches that are killed at any moment or run out of disk.

No partial file has a final name, and no evaluation is lost.
"""

import os
import random
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from command import FILES, interrupt, record, run, search, without_compiling
from processes import python

#: Moments at which a search is killed.
MOMENTS = [0, *(pytest.param(moment, marks=pytest.mark.slow) for moment in range(1, 6))]

#: One search for each kind of algorithm, slow enough to be killed in the midst of it.
SEARCHES = {
    "bnb": ["--rows", "3000", "--algorithm", "bnb"],
    "pbgea": ["--rows", "3000", "--algorithm", "pbgea", "--generations", "30"],
    "pls": ["--rows", "3000", "--algorithm", "pls", "--generations", "30"],
    "exhaustive": ["--rows", "300", "--algorithm", "exhaustive", "--objectives", "k,GLM"],
}

SIGNALS = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT]

# Evaluations are slowed down, so that a signal arrives in the midst of the search on any machine.
RUN = """
import sys, time
from pymoo_anon.cli import main
from pymoo_anon.cli import search as searching
from pymoo_anon.problems.journal import Journal
appended = Journal.append
def append(journal, *args):
    appended(journal, *args)
    print("record", flush=True)
    time.sleep(PAUSE)
Journal.append = append
sys.argv = ["pymoo-anon", "search", *sys.argv[1:]]
main()
"""

pytestmark = [
    pytest.mark.usefixtures("folder"),
    pytest.mark.skipif(os.name == "nt", reason="Windows knows no such signals"),
]


@pytest.fixture(scope="module")
def front_of(tmp_path_factory):
    """Return a function from a search to its front and number of visited nodes."""

    @cache
    def found(name):
        output = tmp_path_factory.mktemp(name)
        run("search", *SEARCHES[name], "--output", str(output))
        return (output / "front.csv").read_bytes(), record(output)["n_unique"]

    return found


def killed_after(n_records, number, arguments, pause=0.05):
    """Signal a search in a new process after some journal records."""
    code = RUN.replace("PAUSE", str(pause))
    command = [sys.executable, "-c", code, *arguments, "--output", "front"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    seen = 0
    for line in process.stdout:
        seen += line == "record\n"
        if seen == n_records:
            process.send_signal(number)
            break
    output, error = process.communicate(timeout=60)
    return process.returncode, output, error


def check_nothing_is_partial(code, number):
    """Check that every file under a final name is whole."""
    visible = [name for name in os.listdir("front") if not name.startswith(".")]
    if number == signal.SIGKILL:
        assert (code, visible) == (-signal.SIGKILL, ["search.journal"])
    else:
        assert code == 130
        # Unfinished files are removed.
        assert not [name for name in os.listdir("front") if name.startswith(".")]
        assert visible == ["search.journal"] or sorted(visible) == [*FILES, "search.journal"]
    if "run.json" in visible:
        assert record()["stopped"] == "Ctrl-C"


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_killed_search_goes_on_as_if_it_never_stopped(front_of, moment):
    chosen = random.Random(moment)
    name = list(SEARCHES)[moment % len(SEARCHES)]
    number = SIGNALS[(moment + moment // len(SEARCHES)) % len(SIGNALS)]
    n_records = 1 if name == "exhaustive" else chosen.randint(1, 25)
    code, _, error = killed_after(n_records, number, SEARCHES[name])
    assert "Traceback" not in error
    check_nothing_is_partial(code, number)
    result = run("search", *SEARCHES[name], "--output", "front", "--resume")
    assert int(result.split("Resumed with ")[1].split()[0].replace(",", "")) > 0
    assert (Path("front", "front.csv").read_bytes(), record()["n_unique"]) == front_of(name)
    assert sorted(os.listdir("front")) == FILES


def test_without_resume_a_journal_is_mentioned_and_not_used(front_of):
    arguments = SEARCHES["pbgea"]
    Path("front").mkdir()
    Path("front/search.journal").write_bytes(b"pymoo_anon journal 1\nnot read at all")
    result = run("search", *arguments, "--output", "front")
    assert "front/search.journal: an earlier search did not end; --resume continues it." in result
    assert Path("front", "front.csv").read_bytes() == front_of("pbgea")[0]
    assert sorted(os.listdir("front")) == FILES


def test_another_search_is_not_resumed(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("pymoo_anon.study.search.Run.record", interrupt)
        assert search(*SEARCHES["pbgea"]).exit_code == 130
    for more in (["--seed", "2"], ["--rows", "2999"], ["--objectives", "k,GLM"]):
        told = run("search", *SEARCHES["pbgea"], *more, "--resume", code=2)
        assert told == "Error: front/search.journal belongs to a search with other settings; search again\n"
    # The journal remains for the search to which it belongs.
    run("search", *SEARCHES["pbgea"], "--resume")


@pytest.mark.parametrize("more", [[], ["--resume"]])
def test_what_is_no_journal_stays(more):
    Path("front").mkdir()
    Path("front/search.journal").write_text("dear diary")
    told = run("search", "--rows", "300", "--generations", "3", *more, code=2)
    assert told.startswith("Error: front/search.journal is no journal of a search, got b'dear diary'")
    assert Path("front/search.journal").read_text() == "dear diary"


def test_nothing_to_resume_is_no_error():
    result = run("search", "--rows", "300", "--generations", "3", "--resume")
    assert "Resumed with 0 evaluated nodes.\n" in result


# The disk takes this many bytes of the journal, so that the last record is written by half.
FULL = """
import errno, os
written, free = os.write, [9_000]
def write(file, data):
    if file < 3:
        return written(file, data)
    if not free[0]:
        raise OSError(errno.ENOSPC, "No space left on device")
    n = written(file, bytes(data)[:free[0]])
    free[0] -= n
    return n
os.write = write
"""


def test_a_full_disk_stops_a_search_with_one_line(front_of):
    arguments = SEARCHES["pbgea"]
    done = python("-c", FULL + RUN.replace("PAUSE", "0"), *arguments)
    assert done.returncode == 2, done.stderr
    hint = "make room there, or name another folder"
    told = f"Error: front: nothing can be written there: No space left on device; {hint}\n"
    assert without_compiling(done.stderr) == told
    assert os.listdir("front") == ["search.journal"]
    result = run("search", *arguments, "--resume")
    assert "Resumed with 0 evaluated nodes." not in result
    assert Path("front", "front.csv").read_bytes() == front_of("pbgea")[0]
