"""Steps of commands: their texts and timing."""

import io
import re
import threading
from contextlib import contextmanager, redirect_stderr
from pathlib import Path

from command import run, write_persons
from rich.console import Console

from pymoo_anon._messages import examples
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


def test_of_many_names_no_more_are_tried_than_fit_into_a_line(monkeypatch):
    tried = []
    monkeypatch.setattr(console, "examples", lambda *given: tried.append(given[2]) or examples(*given))
    console.tell_some(Console(file=io.StringIO(), width=80), "Dropped", [f"column {i}" for i in range(3000)])
    assert max(tried) <= 80


def test_on_a_terminal_a_line_moves_and_is_gone_afterwards(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    with redirect_stderr(Listener(terminal=True)) as error, console.working("Reading"):
        error.wait_for("Reading")
    # The cursor is shown again, and the line erased.
    assert error.getvalue().endswith("\x1b[2K")
    assert "\x1b[?25h" in error.getvalue()


BLOCKS = Path(__file__).with_name("steps.txt").read_text(encoding="utf-8").split("$ ")[1:]


def test_every_command_says_what_it_does_and_how_far_it_is(folder, monkeypatch):
    said = []

    @contextmanager
    def working(words, **how):
        said.append(words)
        yield said.append

    for module in (hierarchy, init, pick, release, report, search, verify):
        monkeypatch.setattr(module, "working", working)
    write_persons()
    for block in BLOCKS:
        asked, steps = block.strip().split("\n", 1)
        said.clear()
        run(*asked.split())
        assert re.fullmatch(steps, "\n".join(said)), (asked, said)


def test_numbers_stand_on_the_right():
    table = console.new_table(["row", "levels"], right=["row"])
    assert [column.justify for column in table.columns] == ["right", "left"]
