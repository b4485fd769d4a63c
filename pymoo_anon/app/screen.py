"""The page: its steps, the state of the work, and errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from nicegui import ui

from pymoo_anon._messages import error_text, plain
from pymoo_anon.app.desk import TOLD, Desk, NotYetError
from pymoo_anon.study.options import measures_in
from pymoo_anon.study.project import change_project

# Patterns of words for the project file and the command line, and words for the page.
_ADVICE = {
    'replace "other" by': "give it at step 1 the role",
    'suppressed = "drop" leaves (it|them) out': r"step 3 can leave \1 out",
    "anyway='REASON', on the command line --anyway REASON,": 'a reason in "Release anyway, because"',
    "pymoo-anon release .* --force": 'a release with the box "Replace"',
    r"suppression must be .* or 0 (where .*), as in .*": r'change "Suppress at most" to violating:0.01 or 0 \1',
    r"name one: --table NAME of .* file": "name one as Sheet or table, and choose the file again",
    r"name its encoding: init --encoding .*, encoding in \[data\]": "name its Encoding, and choose the file again",
    r"init --names NAME,NAME,\.\.\. names the columns of a .*": 'fill in "Column names", and choose the file again',
    r", keep=\{.* beside its role": " above",
    r"Hierarchy\.with_root\(\) adds a level '\*'": "step 2 merges all groups of a last level",
    "release --local": "at step 6 every class at levels of its own",
    "--force replaces it, --output names": "the box beside the button replaces it, or name",
    "--column names fewer": "fewer of them may have the role quasi-identifier",
    'missing = "drop" leaves (.*), missing = "keep" makes': r'"Rows without a value" of step 1 can leave \1, or make',
    r"not proven \(Ctrl-C\)": "not proven (stopped)",
    "pymoo-anon init writes a project file": '"Other files" begins another one',
}

#: Fills a part of the page, or does what a button says.
Action: TypeAlias = Callable[..., object]

# Seconds between two looks at the state of the work.
_LOOK_SECONDS = 0.4


class Screen:
    """One page in a browser.

    Attributes:
        desk: The state that all pages share.
        chosen: What is chosen on this page alone, by name.
        typed: Texts of this step that are not in the project file yet, by the label of their field.
        known: The content of the project file that the page shows.
    """

    def __init__(self, desk: Desk, steps: Mapping[str, Callable[[Screen], None]], step: int) -> None:
        self.desk, self.chosen, self.typed = desk, dict[str, Any](), dict[str, Any]()
        self._steps = list(steps.items())  # The first one is before there is a project
        self._links: list[ui.button] = []
        self._file, self._step = desk.file, step
        self._note()
        # The end of work that runs is told on a page that is opened meanwhile, too.
        self._told = None if desk.job.is_alive() else desk.job

    def choose(self, **chosen: Any) -> None:
        """Choose something on this page, and show it."""
        self.chosen.update(chosen)
        self.show()

    def write(self, changes: Mapping[Any, Any], anew: bool = True) -> None:
        """Write values into the project file that the page shows."""
        change_project(self.desk.path, changes, self.known)
        self.show() if anew else self._note()

    def ask(self, kind: Any, label: str, into: Any, then: Action = lambda: None, **more: Any) -> Any:
        """Make a field. Its value is written into the project file when it is left.

        It goes `into` a key, or becomes the changes that a function returns. A text stays when the page is filled anew.
        """
        field = kind(label=label, **more)

        def keep() -> None:
            if kind is ui.number:
                # Otherwise it would show its least value a moment later, and the file another one.
                field.sanitize()
            value = int(field.value) if isinstance(field.value, float) and field.value.is_integer() else field.value
            self.write(into(value) if callable(into) else {into: value}, anew=False)
            self.typed.pop(label, None)
            then()

        if kind is ui.select:
            return field.on_value_change(keep)
        field.value = self.typed.get(label, field.value)
        field.on_value_change(lambda event: self.typed.update({label: event.value}))
        # Unlike "blur", "change" comes before the click that ends the typing. It does not come for an older text.
        return field.on("change", keep).on("blur", lambda: keep() if label in self.typed else None)

    def checked(self, check: Action) -> Callable[..., Any]:
        """Show a check, and return an `ask` that shows it anew."""
        place = self.part(check).props('role="status"')
        return partial(self.ask, then=lambda: self.part(check, place))

    def _note(self) -> None:
        self._seen, self.known = self.desk.state, self.desk.text

    def same_as(self, *commands: Callable[[], str]) -> None:
        """Show the commands that do the same."""
        with ui.element("div").classes("command"):
            ui.label("The same as a command:")
            for make in commands:
                typed = ui.label().classes("typed").props("tabindex=0")
                typed.bind_text_from({"make": make}, "make", lambda make: plain(make()))

    def part(self, make: Action, place: ui.element | None = None) -> ui.element:
        """Fill a part of the page, now or after work that it needs."""
        place = ui.element("div").classes("part") if place is None else place
        place.clear()
        with place:
            try:
                make()
            except NotYetError as needed:
                self._wait(place, make, *needed.args)
            except TOLD as error:
                warn(error_text(error))
        return place

    def folded(self, title: str, make: Action) -> None:
        """Show a title, below which a part is filled when it is opened."""
        with ui.expansion(title).props("dense") as fold:
            place = ui.element("div").classes("part")
        fold.on_value_change(lambda: self.part(make, place) if fold.value else None)

    def go_to(self, step: int, push: bool = True) -> None:
        """Show another step, and let the browser go back to this one."""
        if push:
            ui.navigate.history.push(f"?step={step}")
        self._step, self.typed = step, {}
        self.show()

    def build(self) -> None:
        """Fill the page, and follow the work."""
        ui.colors(primary="#0072b2")
        ui.add_css(Path(__file__).with_name("screen.css"))
        ui.add_head_html('<script src="front.js" defer></script>')
        ui.on_exception(lambda error: _pop_up(error_text(error), "negative"))
        ui.on("step", lambda event: self.go_to(int(event.args), push=False))
        desk, folder = self.desk, plain(self.desk.folder.resolve().name)
        with ui.element("header"):
            with ui.element("div").classes("project"):
                ui.label().bind_text_from(desk, "file", lambda file: plain(file.name) if file else folder)
                back = button("Other files", desk.open).props("flat dense")
                back.bind_visibility_from(desk, "file", bool)
            with ui.element("nav").props('aria-label="Steps"'):
                for number, (title, _) in enumerate(self._steps[1:], start=1):
                    own = button(f"{number} {title}", self.go_to, number).props("flat dense")
                    own.bind_enabled_from(desk, "file", bool)
                    self._links.append(own)
        work = ui.element("div").classes("status").props('role="status" aria-live="polite"')
        with work, ui.element("div").classes("controls") as running:
            running.bind_visibility_from(desk, "job", lambda job: job.is_alive())
            ui.spinner(size="1.2em")
            ui.label().bind_text_from(desk, "job", lambda job: plain(job.status))
            bar = ui.linear_progress(show_value=False, size="6px").props('aria-label="share that is done"')
            bar.bind_value_from(desk, "job", lambda job: job.share)
            bar.bind_visibility_from(desk, "job", lambda job: bool(job.share))
            stop = button("Stop, and keep what is there", lambda: desk.job.stop.set()).props("flat dense")
            stop.bind_visibility_from(desk, "job", lambda job: job.stops)
        self._main = ui.element("div").classes("content")
        self.show()
        ui.timer(_LOOK_SECONDS, self._follow)

    def show(self) -> None:
        """Fill the page with the current step."""
        self._note()
        if self._file != self.desk.file:
            # Nothing is left of another project.
            self._file, self.chosen, self.typed = self.desk.file, {}, {}
        place = min(max(self._step, 1), len(self._links)) if self._file else 0
        for number, own in enumerate(self._links, start=1):
            own.props(f"aria-current={'step' if number == place else 'false'}")
        title, fill = self._steps[place]
        self._main.clear()
        with self._main:
            heading(title, 1)
            self.part(partial(fill, self))
            if 0 < place < len(self._links):
                button("Next step", self.go_to, place + 1)

    def _wait(self, place: ui.element, make: Action, words: str, work: Action) -> None:
        waits = self.desk.job.is_alive()
        job = self.desk.job if waits else self.desk.start(words, lambda job: work(), quiet=True)
        text("Other work is running: this is shown when it has ended." if waits else f"{words}.")

        def look() -> None:
            if not job.is_alive():
                self.part(partial(warn, job.error) if job.error and not waits else make, place)

        # It ends with the content of the part.
        ui.timer(_LOOK_SECONDS, look)

    def _follow(self) -> None:
        job = self.desk.job
        if not job.is_alive() and job is not self._told:
            self._told = job
            for words in job.notes:
                _pop_up(words, "warning")
            if job.error and not job.quiet:
                _pop_up(job.error, "negative")
        if self._seen != self.desk.state:
            self.show()


def in_steps(advice: str) -> str:
    """Return advice for the command line in words of the page."""
    for words, own in _ADVICE.items():
        advice = re.sub(words, own, advice)
    return advice


def _pop_up(words: str, kind: Any) -> None:
    ui.notify(plain(in_steps(words)), type=kind, multi_line=True, close_button="Close", timeout=0)


def button(words: str, action: Callable[..., object], *given: Any, first: bool = False) -> ui.button:
    """Make a button of an action and its arguments, filled if `first`."""
    made = ui.button(plain(words), on_click=partial(action, *given))
    return made.props("no-caps" if first else "outline no-caps")


def heading(words: str, level: int = 2) -> None:
    """Show a heading."""
    ui.label(plain(words)).classes(f"h{level}").props(f'role="heading" aria-level="{level}"')


def text(*paragraphs: str, kind: str = "") -> None:
    """Show paragraphs that are not empty."""
    for words in filter(None, paragraphs):
        ui.label(plain(in_steps(words))).classes(f"text {kind}")


warn = partial(text, kind="warning")


def show_rows(
    titles: Sequence[str], rows: Iterable[Sequence[Any]], caption: str, right: Collection[str] = ()
) -> ui.table:
    """Show rows below titles, some on the right. A row is a dict of its place, "id", and c0 and so on."""
    columns = [
        {"name": f"c{i}", "field": f"c{i}", "label": plain(title), "align": "right" if title in right else "left"}
        for i, title in enumerate(titles)
    ]
    made = ({f"c{i}": plain(str(cell)) for i, cell in enumerate(row)} for row in rows)
    shown = ui.table(columns=columns, rows=[{"id": place, **row} for place, row in enumerate(made)])
    return shown.props(f'flat dense wrap-cells aria-label="{caption}"')


def parts(field: ui.input) -> list[str]:
    """Return the texts between commas outside brackets in a field."""
    return [*filter(None, measures_in(field.value or ""))]
