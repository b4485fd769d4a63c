"""Pages of the screen without a browser: they are filled, clicked and read."""

import threading
from pathlib import Path

import pytest

from pymoo_anon.app.desk import Desk, Job, NotYetError

nicegui = pytest.importorskip("nicegui")
screen, project, study = (pytest.importorskip(f"pymoo_anon.app.{name}") for name in ("screen", "project", "study"))
ui = nicegui.ui


def wait():
    """Wait for the work of all desks: a page that is drawn anew starts some, and all read by one connection."""
    for job in threading.enumerate():
        if isinstance(job, Job):
            job.join()


def told(fill, desk=None):
    """Return a page with its elements, after the work that it needs."""
    wait()
    desk = desk or Desk(Path("mine.toml"))
    while True:
        client = nicegui.Client(ui.page("/"))
        with client.content:
            try:
                fill(screen.Screen(desk, {"": fill, "a": fill}, 1))
                return client
            except NotYetError as needed:
                words, make = needed.args
        desk.start(words, lambda job, make=make: make(), quiet=True).join()
        assert desk.job.error == ""


def looked(name, desk, **asked):
    """Return the page of a table to begin with, also with its risk."""
    for _ in range(2):
        page = told(lambda own: own.chosen.update(looked=name, **asked) or project.show_look(own), desk)
    return page


def of(page, kind):
    return [one for one in page.elements.values() if isinstance(one, kind)]


def labelled(page, words):
    """Return the field of a label."""
    (field,) = [one for one in page.elements.values() if str(one.props.get("label", "")).startswith(words)]
    return field


def texts(page):
    return [one.text for one in of(page, ui.label)]


def click(element, event="click", args=None):
    """Click a button, or leave a field, as a browser does."""
    (listener,) = [own for own in element._event_listeners.values() if own.type == event]
    given = nicegui.events.GenericEventArguments(sender=element, client=element.client, args=args)
    nicegui.events.handle_event(listener.handler, given)


def leave(field, value):
    field.value = value
    click(field, "change")


def button(page, words):
    (found,) = [one for one in of(page, ui.button) if one.text.startswith(words)]
    return found


def work(page, desk, words):
    """Click a button, and wait for its work, which succeeds."""
    click(button(page, words))
    desk.job.join()
    assert desk.job.error == ""
