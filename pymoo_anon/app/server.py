"""Server of the screen: one address with a token, for this machine."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from hmac import compare_digest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pymoo_anon.app.desk import Desk

_HOST = "127.0.0.1"

#: Seconds that open pages have to close on Ctrl-C.
_CLOSE_SECONDS = 1

# Nothing is loaded from elsewhere. The libraries of the page make functions of texts.
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self' ws://{host}; object-src 'none'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)

Message = MutableMapping[str, Any]


class Guard:
    """Gate before an application, which refuses all but the pages of one address.

    Every path begins with a random token. Requests of other origins, and of other names for this machine, are refused,
    so that no page of the browser reaches the screen by chance or by rebinding a name.
    """

    def __init__(self, app: Any, token: str, port: int) -> None:
        self.app, self._token = app, token.encode()
        self._hosts = [f"{name}:{port}" for name in (_HOST, "localhost")]

    async def __call__(
        self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
    ) -> None:
        """Pass a request on, or answer 403."""
        if scope["type"] == "lifespan" or self._is_welcome(scope):
            await self.app(scope, receive, self._sender(scope, send))
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            await send({"type": "http.response.start", "status": 403, "headers": [(b"content-type", b"text/plain")]})
            await send({"type": "http.response.body", "body": b"403: open the address that the command printed\n"})

    def _is_welcome(self, scope: Message) -> bool:
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        hosts, origins = (
            [value.decode("latin-1") for name, value in headers if name == key] for key in (b"host", b"origin")
        )
        _, _, token = scope["path"].encode("utf-8", "surrogateescape").partition(b"/")
        return (
            len(hosts) == 1
            and hosts[0] in self._hosts
            and all(origin in [f"http://{host}" for host in self._hosts] for origin in origins)
            and compare_digest(token.partition(b"/")[0], self._token)
        )

    def _sender(
        self, scope: Message, send: Callable[[Message], Awaitable[None]]
    ) -> Callable[[Message], Awaitable[None]]:
        policy = _POLICY.format(host=dict(scope.get("headers", ())).get(b"host", b"").decode("latin-1"))
        told = {
            "content-security-policy": policy,
            "referrer-policy": "no-referrer",
            "x-content-type-options": "nosniff",
        }
        more = [(name.encode(), value.encode()) for name, value in told.items()]

        async def sender(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *more]
            await send(message)

        return sender


def serve(path: str | os.PathLike[str], show: Callable[[str], object]) -> None:
    """Serve the screen of a folder or a project until Ctrl-C.

    Args:
        path: A folder, outside which no file is opened, or a project file in it.
        show: Called with the address when it is known.

    Raises:
        ImportError: The packages of the extra `app` are not installed.
        ValueError: The path is neither a folder nor a project file.
    """
    desk = Desk(Path(path))
    token = secrets.token_urlsafe(24)
    with TemporaryDirectory() as scratch, socket.socket() as listening:
        # NiceGUI would keep its storage in the current folder.
        os.environ["NICEGUI_STORAGE_PATH"] = scratch
        import uvicorn
        from fastapi import FastAPI
        from nicegui import ui

        from pymoo_anon.app.pages import add_pages

        listening.bind((_HOST, 0))
        # A browser that is quicker than the server waits.
        listening.listen()
        port = listening.getsockname()[1]
        outer = FastAPI(openapi_url=None)
        add_pages(desk)
        ui.run_with(outer, title="pymoo-anon", mount_path=f"/{token}", show_welcome_message=False, tailwind=False)
        config = uvicorn.Config(
            Guard(outer, token, port), log_level="error", access_log=False, timeout_graceful_shutdown=_CLOSE_SECONDS
        )
        show(f"http://{_HOST}:{port}/{token}/")
        try:
            uvicorn.Server(config).run(sockets=[listening])
        finally:
            desk.close()
