"""Output of a search: tried first, whole, and safe from Ctrl-C."""

import io
import os
import platform
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from command import FILES, SMALL, front, interrupt, record, refused, run, search, without_compiling, write_own_table
from processes import python
from pymoo.optimize import minimize
from raw_tables import K_AND_LOSS, raw_problem
from rich.console import Console

import pymoo_anon
from pymoo_anon import _files
from pymoo_anon._files import alone
from pymoo_anon.algorithms import ExhaustiveSearch
from pymoo_anon.cli import search as command
from pymoo_anon.objectives import EnhancedBetaLikeness
from pymoo_anon.study import search as searching
from pymoo_anon.study import stored as results
from pymoo_anon.study.options import Settings

pytestmark = pytest.mark.usefixtures("folder")


def test_a_folder_that_cannot_be_written_is_found_before_any_work(monkeypatch):
    monkeypatch.setattr(searching, "read_table", interrupt)
    Path("held/run.json").mkdir(parents=True)
    told = "output must not be written to held/run.json, where a folder is; name another place"
    assert refused("search", *SMALL, "--output", "held") == told


@pytest.mark.parametrize("step", ["tempfile.mkdtemp", "Path.write_bytes"])
def test_a_folder_without_permission_or_space_is_found_before_any_work(monkeypatch, step):
    def fail(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(searching, "read_table", interrupt)
    monkeypatch.setattr(f"pymoo_anon._files.{step}", fail)
    told = "nothing can be written there: No space left on device; make room there, or name another folder"
    for folder, named in (("made", "made"), (".", Path.cwd())):
        assert refused("search", *SMALL, "--output", folder) == f"{named}: {told}"


@pytest.mark.parametrize("stage", ["study.search.Run.record", "visualization.fronts.plot_front"])
def test_a_search_that_is_interrupted_after_its_work_leaves_its_journal_alone(monkeypatch, stage):
    with monkeypatch.context() as patch:
        patch.setattr(f"pymoo_anon.{stage}", interrupt)
        result = search(*SMALL)
    assert (result.exit_code, result.stderr) == (130, "Interrupted: nothing was written.\n")
    assert result.stdout.endswith("All evaluations are kept in front/search.journal; --resume continues the search.\n")
    assert (os.listdir(), os.listdir("front")) == (["front"], ["search.journal"])
    run("search", *SMALL, "--resume")
    assert sorted(os.listdir("front")) == FILES


@pytest.mark.parametrize("algorithm", ["pls", "pbgea", "nsga2", "bnb", "exhaustive"])
def test_what_was_found_until_ctrl_c_is_written(monkeypatch, algorithm):
    @contextmanager
    def interrupting(words, moves=None):
        seen = []

        def show(told):
            seen.append(told)
            if len(seen) == 3:
                raise KeyboardInterrupt

        yield show

    monkeypatch.setattr("pymoo_anon.cli.search.working", interrupting)
    result = search("--rows", "3000", "--algorithm", algorithm, "--objectives", "k,GLM")
    assert (result.exit_code, result.stderr) == (130, "")
    assert sorted(os.listdir("front")) == [*FILES, "search.journal"]
    left = record()["n_undecided"]
    assert (record()["certified"], record()["stopped"]) == (False, "Ctrl-C")
    assert 0 < left < 17_920
    assert ", not proven (Ctrl-C). All: " in result.stdout
    assert len(front()) > 0


@pytest.mark.parametrize("algorithm", ["pls", "pbgea", "bnb"])
def test_ctrl_c_before_anything_was_found(monkeypatch, algorithm):
    monkeypatch.setattr(searching.LatticeProblem, "_measure", interrupt)
    result = search("--rows", "300", "--algorithm", algorithm)
    assert (result.exit_code, result.stderr) == (130, "Interrupted: nothing was written.\n")
    assert os.listdir() == []


CLOSED = """
import os, sys
reader, writer = os.pipe()
os.close(reader)
os.dup2(writer, 1)
sys.argv = ["pymoo-anon", "search", "--rows", "100", "--generations", "3", *sys.argv[1:]]
from pymoo_anon.cli import main
main()
"""


@pytest.mark.parametrize("arguments", [[], pytest.param(["--verbose"], marks=pytest.mark.slow)])
def test_a_reader_that_leaves_loses_nothing(arguments):
    done = python("-c", CLOSED, *arguments)
    assert (done.returncode, without_compiling(done.stderr)) == (0, "")
    assert sorted(os.listdir("front")) == FILES


def ended_process():
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    return process.pid


def test_temporary_folders_of_ended_searches_are_removed():
    host = _files._host()
    kept = [
        f".pymoo_anon-{host}-{os.getppid()}-abcdefgh",
        f".pymoo_anon-{host}-{os.getpid()}-abcdefgh",
        f".pymoo_anon-{host}x-{ended_process()}-abcdefgh",
        f".pymoo_anon-{host}-{ended_process()}-abcdefgh-mine",
        ".pymoo_anon-mine",
    ]
    for name in [*kept, f".pymoo_anon-{host}-{ended_process()}-abcdefgh"]:
        Path("front", name).mkdir(parents=True)
        Path("front", name, "front.csv").write_text("half")
    Path("front", f".pymoo_anon-{host}-{ended_process()}-abcdefgi").write_text("a file")
    run("search", *SMALL)
    assert sorted(name for name in os.listdir("front") if name[-1] != "i") == sorted([*kept, *FILES])


def test_names_are_printed_and_drawn_as_they_stand(folder):
    write_own_table(folder)
    names = {"zip": "$zi_p$ [bold]\\x[/]", "sex": "s\x1b[31me\nx", "diagnosis": "$dia$:cat:\u202e"}
    header, *rows = Path("mine.csv").read_text().splitlines()
    for old, new in names.items():
        header = header.replace(old, f'"{new}"')
    Path("mine.csv").write_text("\n".join([header, *rows]), encoding="utf-8")
    os.rename("trees/sex.csv", Path("trees", f"{names['sex']}.csv"))
    Path("trees/zip.csv").unlink()
    roles = [part for name in (names["diagnosis"], "paid") for part in ("--role", f"{name}=sensitive")]
    run("init", "mine.csv", "--hierarchies", "trees", "--role", "*=drop", *roles)
    output = ["--output", "$a$\x1b[1m"]
    result = run("search", "mine.toml", *output, "--objectives", f"k,l:{names['diagnosis']},l:paid,GLM")
    assert list(front("$a$\x1b[1m"))[:3] == [names["sex"], "k", "l of $dia$:cat:\\u202e"]
    assert "s\\x1b[31me\\nx" in result
    assert "l of $dia$:cat:\\u202e" in result
    assert str(Path("$a$\\x1b[1m", "front.csv")) in result
    assert not re.search("[\x1b\u202e]", result)
    assert "\x1b" not in refused("search", "mine.toml", "--require", "l:a\x1b[1mb>=2")


@pytest.mark.parametrize(("args", "said"), [(("out of it",), ": out of it"), ((), "")])
def test_what_needs_more_memory_than_there_is(monkeypatch, args, said):
    def fail(*_):
        raise MemoryError(*args)

    monkeypatch.setattr(searching, "read_table", fail)
    monkeypatch.setattr("pymoo_anon.table.guesses.profiles_of", fail)
    Path("t.csv").write_text("a,b\n1,2\n")
    message = f"Error: out of memory{said}"
    assert run("search", *SMALL, code=2) == f"{message}; --algorithm pbgea needs the least\n"
    assert run("init", "t.csv", code=2) == f"{message}\n"


lockable = pytest.mark.skipif(_files.fcntl is None, reason="the system knows no such locks")


def is_free():
    try:
        with alone(Path("front")):
            return True
    except ValueError:
        return False


@lockable
def test_the_second_search_is_refused_until_the_first_has_ended():
    Path("front").mkdir()
    with alone(Path("front")):
        told = "another search writes to the folder 'front'; wait for its end, or name another folder by --output"
        assert refused("search", *SMALL) == told
        run("search", *SMALL, "--output", "another")
    run("search", *SMALL)
    assert sorted(os.listdir("front")) == FILES


@lockable
def test_a_search_holds_its_folder(monkeypatch):
    free = []
    monkeypatch.setattr("pymoo_anon.study.search.write_front", lambda *given: free.append(is_free()) or 1 / 0)
    assert isinstance(search(*SMALL).exception, ZeroDivisionError)
    assert free == [False]


@lockable
def test_where_nothing_can_be_locked_nobody_is_kept_out(monkeypatch):
    def unsupported(*given):
        raise OSError(95, "Operation not supported")

    Path("front").mkdir()
    with monkeypatch.context() as patched, alone(Path("front")):
        patched.setattr(_files.fcntl, "flock", unsupported)
        assert is_free()
        patched.setattr(_files, "fcntl", None)
        assert is_free()


@pytest.fixture(scope="module")
def done():
    """Make an exhaustive search of a demo, and return its result."""
    own = searching.Run(Settings(rows=2000, algorithm="exhaustive", objectives="k,l:occupation,GLM"))
    return own, own.search()


@pytest.fixture
def searched(done):
    return done[1].front


def text_of(front, width):
    console = Console(file=io.StringIO(), width=width, markup=False)
    console.print(command.front_table(front, width))
    return console.file.getvalue()


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 160])
def test_the_table_shows_what_fits(searched, width):
    heading, *lines = text_of(searched, width).splitlines()
    assert max(map(len, [heading, *lines])) <= width
    # Whole headings, measures first.
    shown = ["row", "k", "l", "GLM lost", "suppressed", "levels"]
    assert re.split(r"  +", heading.strip()) == shown[: {20: 3, 40: 5}.get(width, 6)]
    assert len(lines) == 5
    numbers = [int(line.split()[0]) for line in lines]
    assert (numbers[0], numbers[-1]) == (1, len(searched))
    assert searched.knee + 1 in numbers
    assert sorted(numbers) == numbers


def test_levels_are_told_in_words_that_fit(searched):
    words = command._words(searched, 1000)
    names = list(searched.table.quasi_identifiers)
    assert words[0] == "all *"
    assert words[-1] == ", ".join(names)
    kept = dict(own.split(" ") if " " in own else (own, "") for own in words[len(words) // 2].split(", "))
    x = dict(zip(names, searched.X[len(words) // 2], strict=True))
    tops = {name: tree.length for name, tree in searched.table.quasi_identifiers.items()}
    assert kept == {name: str(level or "") for name, level in x.items() if level < tops[name]}
    assert command._words(searched, 12)[-1] == "8 kept, 0 coarser"


def test_the_record_tells_the_machine_and_the_times(done):
    own, found = done
    record = own.record(found)
    assert (record["n_front"], record["suppression"]) == (len(found.front), "AtMost(limit=0.01)")
    assert record["inputs"] == {"sha256": {}}
    assert found.compile_seconds > 0
    seconds = found.compile_seconds, found.seconds
    assert (record["compile_seconds"], record["search_seconds"]) == tuple(round(own, 3) for own in seconds)
    packages = {"pymoo_anon": pymoo_anon.__version__, "numpy": np.__version__, "python": platform.python_version()}
    assert packages.items() <= record["versions"].items()
    assert {"pymoo", "numba", "pandas"} < set(record["versions"])
    assert record["platform"] == platform.platform()


def test_the_table_of_a_front_is_written_as_pandas_would(tmp_path):
    rows = {'we"ird, name': [0, 0, 1, 1, 2], "line\nend": [0, 1, 0, 1, 1], "s": [*"ababa"]}
    # Levels, losses with and without a fraction, and an infinite value.
    own = raw_problem(rows, "s", objectives=[*K_AND_LOSS, EnhancedBetaLikeness("s")], suppression=1)
    front = own.front(minimize(own, ExhaustiveSearch(), seed=1))
    results.write_front(front, {}, tmp_path)
    expected = front.to_frame().to_csv(index=False, lineterminator="\n")
    assert (tmp_path / "front.csv").read_bytes() == expected.encode()
