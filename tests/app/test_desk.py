"""State of the screen, where long work runs once in the background, and the gate before it."""

import asyncio
import threading
import warnings
from pathlib import Path

import pytest
from command import own, run

from pymoo_anon.app import desk as module
from pymoo_anon.app.desk import Desk, NotYetError
from pymoo_anon.app.server import Guard
from pymoo_anon.study.proposal import Proposer
from pymoo_anon.study.study import Study

pytestmark = pytest.mark.usefixtures("own_table")


@pytest.fixture
def calls(monkeypatch):
    """Count the work by name, each with the thread that does it."""
    found = {"table": [], "hierarchy": [], "front": []}

    def count(name, make):
        def counted(*given, **more):
            found[name].append(threading.current_thread())
            return make(*given, **more)

        return counted

    monkeypatch.setattr(module, "open_hierarchy", count("hierarchy", module.open_hierarchy))
    monkeypatch.setattr(Proposer, "__init__", count("table", Proposer.__init__))
    monkeypatch.setattr(Study, "__init__", count("front", Study.__init__))
    return found


def got(desk, ask):
    """Ask as a page does, until everything is there."""
    try:
        return ask()
    except NotYetError as needed:
        _, make = needed.args
    desk.start("reading", lambda job: make(), quiet=True).join()
    assert desk.job.error == ""
    return got(desk, ask)


def test_a_page_reads_nothing_itself_and_a_redraw_reads_nothing_again(calls):
    run("search", "mine.toml")
    desk = Desk(Path("mine.toml"))
    asked = {
        "table": lambda: desk.proposer.roles,
        "hierarchy": lambda: desk.hierarchy("zip"),
        "front": lambda: desk.study.front,
    }
    for name, ask in asked.items():
        calls[name].clear()
        with pytest.raises(NotYetError):
            ask()
        assert calls[name] == []
        assert got(desk, ask) is ask() is ask()
        assert len(calls[name]) == 1
        assert calls[name][0] is not threading.main_thread()


def test_what_changed_is_read_again_and_nothing_else(calls):
    desk = Desk(Path("mine.toml"))
    before = got(desk, lambda: desk.hierarchy("zip"))
    Path("trees/zip.csv").write_text(before.text.replace("02130x", "south"), encoding="utf-8")
    after = got(desk, lambda: desk.hierarchy("zip"))
    assert (before.text != after.text, len(calls["hierarchy"]), len(calls["table"])) == (True, 2, 1)
    own(diagnosis="sensitive")
    assert got(desk, lambda: desk.hierarchy("zip")) is after
    with Path("mine.csv").open("a", encoding="utf-8") as file:
        file.write(Path("mine.csv").read_text(encoding="utf-8").splitlines()[-1] + "\n")
    assert got(desk, lambda: desk.hierarchy("zip")).rows.sum() == after.rows.sum() + 1
    assert len(calls["table"]) == 2


def test_an_error_is_told_and_tried_again():
    desk = Desk(Path("mine.toml"))
    Path("trees/zip.csv").rename("lost.csv")
    with pytest.raises(NotYetError) as needed:
        got(desk, lambda: desk.proposer) and desk.hierarchy("zip")
    job = desk.start("reading", lambda job: needed.value.args[1](), quiet=True)
    job.join()
    assert "zip.csv" in job.error
    Path("lost.csv").rename("trees/zip.csv")
    assert got(desk, lambda: desk.hierarchy("zip")).findings == ()


def test_undo_brings_back_every_text_and_takes_none_that_came_beside_the_screen():
    desk, file = Desk(Path("mine.toml")), Path("trees/zip.csv")
    got(desk, lambda: desk.hierarchy("zip"))
    texts = [file.read_text(encoding="utf-8")]
    for label in ("south", "north"):
        texts.append(texts[-1].replace("02130x" if label == "south" else "south", label))
        desk.start("saving", lambda job: desk.save("zip", texts[-1], texts[-2])).join()
        assert (desk.job.error, file.read_text(encoding="utf-8")) == ("", texts[-1])
    desk.start("undoing", lambda job: desk.undo("zip")).join()
    assert file.read_text(encoding="utf-8") == texts[1]
    file.write_text(texts[1].replace("south", "by hand"), encoding="utf-8")
    desk.start("undoing", lambda job: desk.undo("zip")).join()
    assert "has changed meanwhile" in desk.job.error
    assert "by hand" in file.read_text(encoding="utf-8")
    file.write_text(texts[1], encoding="utf-8")
    desk.start("undoing", lambda job: desk.undo("zip")).join()
    assert (desk.job.error, file.read_text(encoding="utf-8")) == ("", texts[0])


def test_the_end_of_work_is_told_once_also_on_a_page_that_was_opened_meanwhile(monkeypatch):
    screen = pytest.importorskip("pymoo_anon.app.screen", reason="needs nicegui")
    told, desk, go_on = [], Desk(Path("mine.toml")), threading.Event()
    monkeypatch.setattr(screen, "_pop_up", lambda words, kind: told.append(words))
    monkeypatch.setattr(screen.Screen, "show", lambda page: None)

    def fails(job):
        go_on.wait(10)
        raise ValueError("k must be whole")

    job = desk.start("failing", fails)
    page = screen.Screen(desk, {"a": print, "b": print}, 1)
    page._follow()
    go_on.set()
    job.join()
    for one in (page, page, screen.Screen(desk, {"a": print, "b": print}, 1)):
        one._follow()
    assert told == ["k must be whole"]


def test_warnings_of_all_kinds_for_users_are_told():
    def warns(job):
        for kind in (UserWarning, RuntimeWarning, DeprecationWarning, UserWarning):
            warnings.warn(f"a {kind.__name__}", kind, stacklevel=1)

    job = Desk(Path("mine.toml")).start("warning", warns)
    job.join()
    assert job.notes == ["a UserWarning", "a RuntimeWarning"]


def test_no_work_but_a_search_goes_on_with_another_project(folder):
    Path("other.toml").write_bytes(Path("mine.toml").read_bytes())
    desk, go_on = Desk(folder), threading.Event()

    def begins(job):
        go_on.wait(10)
        desk.open("mine.toml")

    job = desk.start("drafting", begins)
    with pytest.raises(ValueError, match="wait for the end of this work: drafting"):
        desk.open("other.toml")
    go_on.set()
    job.join()
    assert (job.error, desk.file) == ("", folder / "mine.toml")
    go_on.clear()
    job = desk.start("searching", lambda job: go_on.wait(10) and None, stops=True)
    desk.open("other.toml")
    go_on.set()
    job.join()
    assert (job.error, desk.file) == ("", folder / "other.toml")


TOKEN, PORT = "token-of-this-run", 4711
OWN = ("host", f"127.0.0.1:{PORT}")


async def _reached(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})


def answer(path, *headers, kind="http"):
    """Return the status of a request, also of the handshake of a websocket."""
    sent = []

    async def receive():
        return {"type": "websocket.connect"}

    async def send(message):
        sent.append(message)

    scope = {"type": kind, "path": path, "headers": [(name.encode(), value.encode()) for name, value in headers]}
    scope |= {"extensions": {"websocket.http.response": {}}}
    asyncio.run(Guard(_reached, TOKEN, PORT)(scope, receive, send))
    assert sent[0]["type"].removeprefix("websocket.") == "http.response.start"
    return sent[0]["status"]


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/", [OWN]),
        ("", [OWN]),
        ("/_nicegui_ws/socket.io/", [OWN]),
        (f"/{TOKEN[:-1]}/", [OWN]),
        (f"/{TOKEN}x/", [OWN]),
        (f"//{TOKEN}/", [OWN]),
        ("/tökén/", [OWN]),
        (f"/{TOKEN}/", []),
        (f"/{TOKEN}/", [OWN, OWN]),
        (f"/{TOKEN}/", [("host", "127.0.0.1")]),
        (f"/{TOKEN}/", [("host", f"attacker.example:{PORT}")]),
        (f"/{TOKEN}/", [OWN, ("origin", "https://attacker.example")]),
        (f"/{TOKEN}/", [OWN, ("origin", "null")]),
        (f"/{TOKEN}/", [OWN, ("origin", f"http://127.0.0.1:{PORT + 1}")]),
        (f"/{TOKEN}/", [OWN, ("origin", f"https://127.0.0.1:{PORT}")]),
    ],
)
def test_others_are_refused(path, headers, kind):
    assert answer(path, *headers, kind=kind) == 403


@pytest.mark.parametrize(
    "origin", [[], [("origin", f"http://127.0.0.1:{PORT}")], [("origin", f"http://localhost:{PORT}")]]
)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_the_own_page_is_served(host, origin):
    for kind in ("http", "websocket"):
        assert answer(f"/{TOKEN}/page", ("host", f"{host}:{PORT}"), *origin, kind=kind) == 200


def test_pages_load_nothing_from_elsewhere():
    headers = dict(Guard(_reached, TOKEN, PORT).headers)
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'self'; ")
    assert f"connect-src 'self' ws://127.0.0.1:{PORT} ws://localhost:{PORT}; " in policy
    assert (headers["referrer-policy"], headers["x-content-type-options"]) == ("no-referrer", "nosniff")


def test_no_path_leaves_the_folder(own_table):
    folder = own_table / "work"
    folder.mkdir()
    (folder / "my.toml").write_text((own_table / "mine.toml").read_text().replace('"mine.csv"', '"../mine.csv"'))
    (folder / "link.toml").symlink_to(own_table / "mine.toml")
    desk = Desk(folder)
    for name in ("../mine.toml", "link.toml", str(own_table / "mine.toml")):
        with pytest.raises(ValueError, match="must lie in"):
            desk.open(name)
    desk.open("my.toml")
    with pytest.raises(ValueError, match=r"mine\.csv must lie in .*; start the screen in a folder that holds it"):
        desk.project()
    with pytest.raises(ValueError, match="no project is open"):
        Desk(folder).project()


def test_the_screen_needs_a_folder_or_a_project(folder):
    Path("notes.txt").write_text("no project")
    with pytest.raises(ValueError, match=r"notes\.txt must be a folder or a project file"):
        Desk(Path("notes.txt"))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_one_piece_of_work_at_a_time_and_its_errors_are_told(folder):
    desk = Desk(folder)
    job = desk.start("waiting", lambda job: job.stop.wait(10))
    with pytest.raises(ValueError, match="wait for the end of this work: waiting"):
        desk.start("more", lambda job: None)
    desk.close()
    assert not job.is_alive()
    for error, told in (
        (ValueError("k must be whole"), "k must be whole"),
        (KeyError("k"), "k"),
        (ZeroDivisionError("no"), "a mistake of this program, which its terminal shows: ZeroDivisionError: no"),
        (KeyboardInterrupt(), "Stopped: nothing was written."),
    ):

        def fails(job, error=error):
            raise error

        desk.start("failing", fails).join()
        assert desk.job.error == told
