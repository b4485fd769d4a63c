"""A newcomer's mistakes: one sentence tells the remedy, no file is left."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command import FILES, command, front, record, refused, run, without_compiling

pytestmark = pytest.mark.usefixtures("right_project")


def test_what_is_given_twice_counts_as_the_command_line_says():
    run("search", "my.toml", "--seed", "7", "--seed", "8", "--require", "k>=3")
    options = record("out")["options"]
    # The last of repeated options counts. Those of the file count if the command line has none.
    assert (options["seed"], options["require"], options["generations"]) == (8, ["k>=3"], 2)
    assert (front("out")["k"] >= 3).all()


@pytest.mark.skipif(os.name == "nt" or sys.platform == "darwin", reason="names of files are text there")
def test_names_of_files_that_are_no_text():
    name = os.fsdecode(b"my-\xff.toml")
    os.rename("my.toml", name)
    run("search", name, "--output", os.fsdecode(b"out-\xfe"))
    assert sorted(os.listdir(b"out-\xfe")) == [os.fsencode(file) for file in [*FILES, "search.npz"]]


@pytest.mark.parametrize("width", ["24", "40"])
def test_a_narrow_terminal_loses_no_number(width):
    result = command("search", "my.toml", COLUMNS=width, TERM="dumb")
    assert result.exit_code == 0, result.output
    for name in ("search", "pick", "release", "verify", "report", "init"):
        shown = command(name, "--help", COLUMNS=width, TERM="dumb")
        assert shown.exit_code == 0
        assert max(map(len, shown.stdout.splitlines())) <= int(width)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="everything is written by root")
def test_a_folder_that_may_not_be_written_to():
    Path("locked").mkdir(mode=0o500)
    assert "Permission denied; name another folder" in refused("search", "my.toml", "--output", "locked/out")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="sends a signal")
def test_ctrl_c_while_it_searches_writes_what_was_found():
    # Compiled loops are on disk from here on.
    run("search", "--rows", "300", "--algorithm", "pbgea", "--generations", "3")
    shutil.rmtree("front")
    call = [sys.executable, "-m", "pymoo_anon", "search", "--algorithm", "pbgea", "--generations", "1000000"]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 120
        journal = Path("front/search.journal")
        # Wait until hundreds of nodes are evaluated.
        while not (journal.exists() and journal.stat().st_size > 20_000) and time.monotonic() < deadline:
            time.sleep(0.05)
        # A shell may make its children ignore SIGINT. The program treats both signals alike.
        process.send_signal(signal.SIGTERM)
        try:
            out, error = process.communicate(timeout=120)
        finally:
            process.kill()
    assert (process.returncode, without_compiling(error)) == (130, ""), out
    assert sorted(os.listdir("front")) == [*FILES, "search.journal"]
    assert record()["stopped"] == "Ctrl-C"
    assert len(front()) > 0
