"""Server of the screen: pages below a token, for this machine."""

from __future__ import annotations

import logging
import os
import secrets
import socket
from collections.abc import Callable
from hmac import compare_digest
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from fastapi.datastructures import Headers
from fastapi.responses import FileResponse, PlainTextResponse, Response
from nicegui import app, binding, ui
from starlette.types import ASGIApp, Receive, Scope, Send

from pymoo_anon.app import project, study
from pymoo_anon.app.desk import TOLD, Desk
from pymoo_anon.app.screen import Screen
from pymoo_anon.publishing.report.cells import resource
from pymoo_anon.publishing.report.charts import script

#: The steps by title. The first one is before there is a project.
STEPS: dict[str, Callable[[Screen], None]] = {
    "Begin": project.show_beginning,
    "Table": project.show_table,
    "Hierarchies": project.show_hierarchies,
    "What must hold": project.show_requirements,
    "Search": study.show_search,
    "Front": study.show_front,
    "Release": study.show_release_step,
}

_HOST = "127.0.0.1"

#: Seconds that open pages have to close on Ctrl-C.
_CLOSE_SECONDS = 1

# Headers of every answer. Nothing is loaded from elsewhere. NiceGUI runs texts of the server by `eval`, and Vue
# compiles the templates of its fields, tables and links by `Function`: no page works without unsafe-eval. Vega needs
# none, by its interpreter.
_HEADERS = {
    "content-security-policy": "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self' {sockets}; "
    "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


class Guard:
    """Gate before an application, which refuses all but the pages of one address.

    Every path begins with a random token. Requests of other origins, and of other names for this machine, are refused,
    so that no page of the browser reaches the screen by chance or by rebinding a name.
    """

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app, self._token = app, token.encode()
        self.hosts = [f"{name}:{port}" for name in (_HOST, "localhost")]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 403."""
        refused = PlainTextResponse("403: open the address that the command printed\n", 403)
        is_welcome = scope["type"] == "lifespan" or self._is_welcome(scope)
        await (self.app if is_welcome else refused)(scope, receive, send)

    def _is_welcome(self, scope: Scope) -> bool:
        headers = Headers(scope=scope)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        _, _, token = scope["path"].encode("utf-8", "surrogateescape").partition(b"/")
        return (
            len(hosts) == 1
            and hosts[0] in self.hosts
            and all(origin in [f"http://{host}" for host in self.hosts] for origin in origins)
            and compare_digest(token.partition(b"/")[0], self._token)
        )

    @property
    def headers(self) -> list[tuple[str, str]]:
        """The headers of every answer."""
        # Not every browser takes sockets of the same host for 'self'.
        sockets = " ".join(f"ws://{host}" for host in self.hosts)
        return [(name, value.format(sockets=sockets)) for name, value in _HEADERS.items()]


def add_pages(desk: Desk) -> None:
    """Add the page and its files to the server."""
    # While work runs, its thread may hold the interpreter: this is no reason to warn of slow bindings.
    binding.MAX_PROPAGATION_TIME = 1

    @ui.page("/")
    def page(step: int = 1) -> None:
        Screen(desk, STEPS, step).build()

    @app.get("/front.js")
    def drawing() -> Response:
        own = Path(__file__).with_name("screen.js").read_text(encoding="utf-8")
        # Vega is inside a function: its short global names would hide those of other scripts.
        made = f"(() => {{{script()}\n}})();{resource('front.js')}{own}"
        return PlainTextResponse(made, media_type="text/javascript")

    @app.get("/report")
    def report() -> Response:
        if desk.report is None or not desk.report.is_file():
            return PlainTextResponse("There is no report yet.", status_code=404)
        # Without an origin of its own it reaches nothing of the screen.
        alone = {"content-security-policy": "sandbox allow-scripts allow-modals"}
        return FileResponse(desk.inside(desk.report), media_type="text/html", headers=alone)


def serve(path: str | os.PathLike[str], show: Callable[[str], object]) -> None:
    """Serve the screen of a folder or a project until Ctrl-C.

    Args:
        path: A folder, outside which no file is opened, or a project file in it.
        show: Called with the address when it is known.

    Raises:
        ImportError: The packages of the extra `app` are not installed.
        ValueError: The path is neither a folder nor a project file.
    """
    desk, token = Desk(Path(path)), secrets.token_urlsafe(24)
    with socket.socket() as listening:
        listening.bind((_HOST, 0))
        # A browser that is quicker than the server waits.
        listening.listen()
        port = listening.getsockname()[1]
        # The page tells these, and a trace in the terminal helps nobody.
        logging.getLogger("nicegui").addFilter(lambda own: not (own.exc_info and isinstance(own.exc_info[1], TOLD)))
        outer = FastAPI(openapi_url=None)
        add_pages(desk)
        ui.run_with(outer, title="pymoo-anon", mount_path=f"/{token}", show_welcome_message=False, tailwind=False)
        guard = Guard(outer, token, port)
        quiet: dict[str, Any] = {"log_level": "error", "access_log": False}
        config = uvicorn.Config(guard, headers=guard.headers, timeout_graceful_shutdown=_CLOSE_SECONDS, **quiet)
        show(f"http://{_HOST}:{port}/{token}/")
        try:
            uvicorn.Server(config).run(sockets=[listening])
        finally:
            desk.close()
