"""Steps of commands: their texts and timing."""

import io
import re
import threading
from contextlib import contextmanager, redirect_stderr

from command import run, write_persons

from pymoo_anon.cli import console, hierarchy, init, pick, release, report, search, verify


class Listener(io.StringIO):
    """Standard error that tells when a text has come."""

    def __init__(self, terminal):
        super().__init__()
        self._terminal = terminal
        self._awaited, self._came = "", threading.Event()

    def isatty(self):
        return self._terminal

    def write(self, text):
        n = super().write(text)
        if self._awaited in self.getvalue():
            self._came.set()
        return n

    def wait_for(self, text):
        self._awaited = text
        self._came.clear()
        self.write("")
        assert self._came.wait(60), self.getvalue()


def test_without_a_terminal_a_line_comes_in_intervals_and_none_after_the_step(monkeypatch):
    monkeypatch.setattr(console, "EVERY", 0.001)
    with redirect_stderr(Listener(terminal=False)) as error:
        with console.working("Reading") as show:
            error.wait_for("Reading (0 s)\n")
            show("Searching: 41 %, 12 found in 5,000 nodes")
            error.wait_for("Searching: 41 %, 12 found in 5,000 nodes (0 s)\n")
        said = error.getvalue()
    assert re.fullmatch(r"(Reading \(\d s\)\n)+(Searching: 41 %, 12 found in 5,000 nodes \(\d s\)\n)+", said)


def test_a_short_step_says_nothing():
    with redirect_stderr(Listener(terminal=False)) as error, console.working("Reading"):
        pass
    assert error.getvalue() == ""


def test_on_a_terminal_a_line_moves_and_is_gone_afterwards(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    with redirect_stderr(Listener(terminal=True)) as error, console.working("Reading"):
        error.wait_for("Reading")
    # The cursor is shown again, and the line erased.
    assert error.getvalue().endswith("\x1b[2K")
    assert "\x1b[?25h" in error.getvalue()


#: The messages of each command, in turn.
STEPS = {
    ("init", "mine.csv"): ["Step 1 of 2: reading the table", "Step 2 of 2: guessing roles and drafting hierarchies"],
    ("search", "mine.toml", "--algorithm", "exhaustive"): [
        "Reading the table",
        "Compiling or loading loops",
        "Searching",
        r"Searching: 100 %, \d+ found in [\d,]+ of [\d,]+ nodes",
        "Drawing and writing the front",
    ],
    ("search", "mine.toml", "--local", "--objectives", "k,GLM", "--output", "local"): [
        "Reading the table",
        "Compiling or loading loops",
        "Searching",
        r"(Searching: \d+ %, \d+ found in \d+ of \d+ targets\s)+Searching: 100 %, \d+ found in (\d+) of \2 targets",
        "Drawing and writing the front",
    ],
    ("pick", "mine.toml", "--knee"): ["Step 1 of 2: reading the front", "Step 2 of 2: comparing its points"],
    ("release", "mine.toml"): [
        "Step 1 of 4: reading the front",
        "Step 2 of 4: recoding and writing",
        "Step 3 of 4: counting again",
        "Step 4 of 4: writing evidence and codebook",
    ],
    ("verify", "mine.toml"): ["Reading the front", r"Recoding and counting mine-release\.csv again"],
    ("verify", "mine-release.csv", "--quasi-identifier", "age", "--sensitive", "diagnosis"): ["Reading and counting"],
    ("report", "mine.toml"): [
        "Step 1 of 3: reading the front",
        "Step 2 of 3: recoding and counting again",
        "Step 3 of 3: writing the report",
    ],
    ("hierarchy", "draft", "mine.csv", "--output", "more"): [
        "Reading the table",
        "Drafting hierarchies: column 1 of 3",
        "Drafting hierarchies: column 2 of 3",
        "Drafting hierarchies: column 3 of 3",
    ],
    ("hierarchy", "check", "hierarchies", "--data", "mine.csv"): ["Reading the table"],
}


def test_every_command_says_what_it_does_and_how_far_it_is(folder, monkeypatch):
    said = []

    @contextmanager
    def working(words):
        said.append(words)
        yield said.append

    for module in (hierarchy, init, pick, release, report, search, verify):
        monkeypatch.setattr(module, "working", working)
    write_persons()
    for asked, steps in STEPS.items():
        said.clear()
        run(*asked)
        assert re.fullmatch("\n".join(steps), "\n".join(said)), (asked, said)


def test_numbers_stand_on_the_right():
    table = console.new_table(["row", "levels"], right=["row"])
    assert [column.justify for column in table.columns] == ["right", "left"]
