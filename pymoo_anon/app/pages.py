"""The pages of the server: steps, scripts of charts, and the report."""

from __future__ import annotations

from importlib.resources import files

from fastapi.responses import FileResponse, PlainTextResponse, Response
from nicegui import app, binding, ui

from pymoo_anon.app import front, hierarchies, release, requirements, search, table
from pymoo_anon.app.desk import Desk
from pymoo_anon.app.screen import Fill, Screen
from pymoo_anon.publishing.report.cells import resource
from pymoo_anon.publishing.report.charts import script

#: The steps by title.
STEPS: dict[str, Fill] = {
    "Table": table.show_table,
    "Hierarchies": hierarchies.show_hierarchies,
    "What must hold": requirements.show_requirements,
    "Search": search.show_search,
    "Front": front.show_front,
    "Release": release.show_release_step,
}


def add_pages(desk: Desk) -> None:
    """Add the page and its files to the server."""
    # While work runs, its thread may hold the interpreter: this is no reason to warn of slow bindings.
    binding.MAX_PROPAGATION_TIME = 1

    @ui.page("/")
    def page(step: int = 1) -> None:
        Screen(desk, STEPS, table.show_beginning, step).build()

    @app.get("/vega.js")
    def vega() -> Response:
        # Inside a function: its short global names would hide those of other scripts.
        return PlainTextResponse(f"(() => {{{script()}\n}})();", media_type="text/javascript")

    @app.get("/front.js")
    def drawing() -> Response:
        own = (files("pymoo_anon.app") / "screen.js").read_text(encoding="utf-8")
        return PlainTextResponse(resource("front.js") + own, media_type="text/javascript")

    @app.get("/report")
    def report() -> Response:
        if desk.report is None or not desk.report.is_file():
            return PlainTextResponse("There is no report yet.", status_code=404)
        # Without an origin of its own it reaches nothing of the screen.
        alone = {"content-security-policy": "sandbox allow-scripts allow-modals"}
        return FileResponse(desk.inside(desk.report), media_type="text/html", headers=alone)
