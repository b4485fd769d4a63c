"""Output of the command line: tables, progress, and errors in one line."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from threading import Event, Thread
from typing import IO, TYPE_CHECKING, Any

import click

from pymoo_anon._messages import error_text, examples, plain, warnings_for_users
from pymoo_anon.study import interrupt
from pymoo_anon.study.interrupt import ExitCode, check_interrupted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

#: Characters of a line if standard output is not a terminal.
WIDTH = 160

#: Blanks between two columns of a table.
GAP = 2

#: Seconds between two lines about a step if standard error is not a terminal.
EVERY = 10.0

#: Message when a loop is compiled.
COMPILING = "Compiling loops, once; later runs load them from disk."


class Outlet:
    """Stream that drops text after its reader has closed it."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text, or drop it."""
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            self._close()
            return len(text)

    def flush(self) -> None:
        """Pass on the text, or drop it."""
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._close()

    def _close(self) -> None:
        # The rest of the buffer goes nowhere, so that Python's own flush at the end finds no error.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def standard_output() -> Iterator[Console]:
    """Yield a console on standard output, which may be closed early."""
    from rich.console import Console

    outlet: Any = Outlet(sys.stdout)
    with redirect_stdout(outlet):
        width = None if outlet.isatty() else WIDTH
        yield Console(highlight=False, markup=False, emoji=False, soft_wrap=True, width=width)
        outlet.flush()


def new_table(headings: Iterable[str], right: Collection[str] = ()) -> Table:
    """Return an empty table with some columns on the right. Cells fold anywhere, headings only between words."""
    from rich.table import Table

    table = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False)
    for heading in headings:
        justify: Any = "right" if heading in right else "left"
        longest = max(map(len, plain(heading).split()), default=0)
        table.add_column(plain(heading), justify=justify, overflow="fold", min_width=longest)
    return table


def print_rows(
    console: Console, headings: Iterable[str], rows: Iterable[Sequence[str]], right: Collection[str] = ()
) -> None:
    """Print rows of text below headings."""
    table = new_table(headings, right)
    for row in rows:
        table.add_row(*map(plain, row))
    console.print(table, soft_wrap=False)


def tell(console: Console, text: str) -> None:
    """Print a line that folds at the end of the terminal."""
    console.print(plain(text), soft_wrap=False)


def tell_some(console: Console, words: str, names: Sequence[str]) -> None:
    """Print one line of words and as many names as fit."""
    from rich.cells import cell_len

    # No more names fit than characters.
    lines = (f"{words}: {examples(names, plain, most)}" for most in range(min(len(names), console.width), 0, -1))
    first = next((line for line in lines if cell_len(line) <= console.width), f"{words}: {examples(names, plain, 1)}")
    tell(console, first)


@contextmanager
def clear_errors(less_memory: str = "") -> Iterator[None]:
    """Turn errors and Ctrl-C into one line and an exit code. `less_memory` is the hint where memory ends."""
    try:
        with interrupt.interruptible():
            yield
    except (ValueError, KeyError, TypeError, OSError, MemoryError) as error:
        hint = less_memory if isinstance(error, MemoryError) else ""
        click.echo(f"Error: {error_text(error)}{hint}", err=True)
        raise click.exceptions.Exit(ExitCode.BAD_USE) from None
    except KeyboardInterrupt:
        click.echo(interrupt.interrupted_words(), err=True)
        raise click.exceptions.Exit(ExitCode.INTERRUPTED) from None


@contextmanager
def said_warnings() -> Iterator[None]:
    """Print each warning for users in one line after a block."""
    with warnings_for_users() as told:
        yield
    for text in told:
        click.echo(f"Warning: {plain(text)}", err=True)


@contextmanager
def loading() -> Iterator[None]:
    """Load the modules of a command in a block, and print warnings. Later Ctrl-C raises KeyboardInterrupt."""
    with said_warnings():
        yield
    if interrupt.modules_are_loaded():
        from pymoo_anon.engine.compiled import watch_compiling

        watch_compiling(lambda: click.echo(COMPILING, err=True), check_interrupted)


@contextmanager
def working(words: str, moves: bool | None = None) -> Iterator[Callable[[str], None]]:
    """Show a step and its seconds. Yielded is a function for its text. Warnings are printed after it."""
    from rich.console import Console

    # While its line moves, rich prints all else to standard error, too.
    console, start, ended, told = Console(stderr=True, force_terminal=moves), time.monotonic(), Event(), [words]

    def tell() -> None:
        while not ended.wait(1.0 if console.is_terminal else EVERY):
            line = f"{told[0]} ({time.monotonic() - start:,.0f} s)"
            status.update(line) if console.is_terminal else click.echo(line, err=True)

    def show(words: str) -> None:
        check_interrupted()
        told[0] = words

    thread = Thread(target=tell, daemon=True)
    with said_warnings(), console.status(words) as status:
        thread.start()
        try:
            yield show
        finally:
            ended.set()
            thread.join()
