"""The page: its steps, the state of the work, and errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.resources import files
from typing import Any, TypeAlias

from nicegui import ui

from pymoo_anon._messages import error_text, plain
from pymoo_anon.app.chart import draw
from pymoo_anon.app.desk import TOLD, Desk, Job
from pymoo_anon.study.options import parts_of

#: The function of a step, which fills the page.
Fill: TypeAlias = "Callable[[Screen], None]"

# Seconds between two looks at the state of the work.
_LOOK_SECONDS = 0.4


class Screen:
    """One page in a browser.

    Attributes:
        desk: The state that all pages share.
        chosen: What is chosen on this page alone, by name.
        on_point: Called with the row of a point that is clicked in a chart.
    """

    def __init__(self, desk: Desk, steps: Mapping[str, Fill], start: Fill, step: int) -> None:
        self.desk, self.chosen = desk, dict[str, Any]()
        self.on_point: Callable[[int], object] = lambda row: None
        self._steps, self._start = steps, start
        self._waits: Job | None = None  # The work that the step needs
        self._step, self._seen, self._job = min(max(step, 1), len(steps)), desk.version, desk.job

    # --- for the steps ------------------------------------------------------------------------------------------------

    @contextmanager
    def told(self) -> Iterator[None]:
        """Tell an error of a block in a message, and go on."""
        try:
            yield
        except TOLD as error:
            ui.notify(error_text(error), type="negative", multi_line=True, close_button="Close", timeout=0)

    def does(self, action: Callable[..., object]) -> Callable[..., None]:
        """Return a handler that runs an action and shows the page anew."""

        def handle(*args: Any) -> None:
            # After an error the fields keep their values.
            with self.told():
                action(*args)
                self.show()

        return handle

    def shows(self, **chosen: Any) -> None:
        """Choose something on this page, and show the page anew."""
        self.chosen |= chosen
        self.show()

    def same_as(self, *commands: str) -> None:
        """Show the commands that do the same."""
        with ui.element("div").classes("command"):
            ui.label("The same as a command:")
            for one in commands:
                ui.label(plain(one)).classes("typed").props("tabindex=0")

    def wait_for(self, words: str, work: Callable[[Job], object]) -> bool:
        """Read something that the step needs, and show the page anew.

        Returns True if that has failed, and says why.
        """
        job = self.desk.job
        if job.words == words and job.error:
            text(job.error, "warning")
            return True
        self._waits = job if job.is_running else self.desk.start(words, work, quiet=True)
        text(f"{words}." if self._waits.quiet else "Other work is running: this step is shown when it has ended.")
        return False

    def go_to(self, step: int) -> None:
        """Show another step."""
        self._step = step
        if not self.desk.job.is_running:
            # An error of before may be mended.
            self._job = self.desk.job = Job("")
        ui.navigate.history.replace(f"?step={step}")
        self.show()

    # --- the page -----------------------------------------------------------------------------------------------------

    def build(self) -> None:
        """Fill the page, and follow the work."""
        ui.colors(primary="#0072b2")
        ui.add_css((files("pymoo_anon.app") / "screen.css").read_text(encoding="utf-8"))
        ui.add_head_html('<script src="vega.js" defer></script><script src="front.js" defer></script>')
        ui.on("point", lambda event: self.on_point(int(event.args)))
        self._build_head()
        with ui.element("div").classes("status").props('role="status" aria-live="polite"'):
            self._spinner = ui.spinner(size="1.2em")
            self._status = ui.label()
            self._bar = ui.linear_progress(show_value=False, size="6px").props('aria-label="share that is done"')
            self._stop = ui.button("Stop, and keep what is there", on_click=lambda: self.desk.job.stop.set()).props(
                "flat dense no-caps"
            )
        self._main = ui.element("div").classes("content")
        self.show()
        ui.timer(_LOOK_SECONDS, self._follow)

    def show(self) -> None:
        """Fill the page with the current step."""
        self._seen, self._waits, self.on_point = self.desk.version, None, lambda row: None
        self._fill_head()
        self._main.clear()
        title, fill = list(self._steps.items())[self._step - 1]
        if self.desk.file is None:
            title, fill = "Begin", self._start
        with self._main:
            heading(title, 1)
            with self.told():
                fill(self)
        self._follow()

    def _build_head(self) -> None:
        with ui.element("header"):
            with ui.element("div").classes("project"):
                self._name = ui.label()
                self._back = ui.button("Other files", on_click=self.does(lambda: self.desk.open(None)))
                self._back.props("flat dense no-caps")
            with ui.element("nav").props('aria-label="Steps"'):
                self._links = [
                    ui.button(f"{number} {title}", on_click=lambda number=number: self.go_to(number))
                    for number, title in enumerate(self._steps, start=1)
                ]

    def _fill_head(self) -> None:
        file = self.desk.file
        self._name.set_text(plain(self.desk.folder.resolve().name if file is None else file.name))
        self._back.set_visibility(file is not None)
        for number, own in enumerate(self._links, start=1):
            own.set_enabled(file is not None)
            here = file is not None and number == self._step
            own.props("no-caps dense unelevated aria-current=step" if here else "no-caps dense flat")
            own.props(remove="flat" if here else "unelevated aria-current")

    def _follow(self) -> None:
        job = self.desk.job
        running = job.is_running
        for part in (self._spinner, self._status):
            part.set_visibility(running)
        self._stop.set_visibility(running and job.stops)
        self._bar.set_visibility(running and job.share is not None)
        if running:
            self._status.set_text(plain(job.status))
            self._bar.set_value(job.share or 0)
            if job.shown is not None:
                draw("growing", job.shown)
        elif job is not self._job and job.thread is not None:
            self._job = job
            for words in [job.error] if job.error else job.notes:
                kind: Any = "negative" if job.error else "warning"
                ui.notify(plain(words), type=kind, multi_line=True, close_button="Close", timeout=0)
        if self._seen != self.desk.version or (self._waits and not self._waits.is_running):
            self.show()


def button(words: str, action: Callable[..., object], first: bool = False) -> ui.button:
    """Make a button, filled for the first thing to do."""
    return ui.button(plain(words), on_click=action).props("no-caps" if first else "outline no-caps")


def heading(words: str, level: int = 2) -> None:
    """Show a heading."""
    ui.label(plain(words)).classes(f"h{level}").props(f'role="heading" aria-level="{level}"')


def text(words: str, kind: str = "") -> None:
    """Show a paragraph."""
    ui.label(plain(words)).classes(f"text {kind}")


def show_rows(columns: Sequence[tuple[str, str]], rows: list[list[Any]], caption: str) -> ui.table:
    """Show a table.

    Args:
        columns: The title of each, and its side, "left" or "right".
        rows: The cells of each row.
        caption: Subject of the table.
    """
    made = [
        {"name": f"c{i}", "field": f"c{i}", "label": plain(title), "align": side}
        for i, (title, side) in enumerate(columns)
    ]
    cells = [
        {"id": place, **{f"c{i}": plain(str(cell)) for i, cell in enumerate(row)}} for place, row in enumerate(rows)
    ]
    shown = ui.table(columns=made, rows=cells, row_key="id", pagination=0)
    return shown.props(f'flat dense wrap-cells hide-pagination aria-label="{caption}"')


def parts(field: ui.input) -> list[str]:
    """Return the texts between the commas of a field."""
    return [part for part in parts_of(field.value or "") if part]


def check_box(words: str, value: bool = False) -> ui.checkbox:
    """Make a checkbox with a name for screen readers."""
    return ui.checkbox(words, value=value).props(f'aria-label="{words}"')
