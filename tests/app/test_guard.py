"""The gate before the screen: one token, one origin, one host, and one folder."""

import asyncio
from pathlib import Path

import pytest

from pymoo_anon.app.desk import Desk
from pymoo_anon.app.server import Guard

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


def test_one_piece_of_work_at_a_time_and_its_errors_are_told(folder):
    desk = Desk(folder)
    job = desk.start("waiting", lambda job: job.stop.wait(10))
    with pytest.raises(ValueError, match="wait for the end of this work: waiting"):
        desk.start("more", lambda job: None)
    desk.close()
    assert not job.is_alive()
    for error, told in (
        (ValueError("k must be whole"), "k must be whole"),
        (KeyboardInterrupt(), "Stopped: nothing was written."),
    ):

        def fails(job, error=error):
            raise error

        desk.start("failing", fails).join()
        assert desk.job.error == told
    desk.start("working", lambda job: {"found": 1}).join()
    assert (desk.job.error, desk.found) == ("", {"found": 1})
