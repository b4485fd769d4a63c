"""Where the suite's files are. The folder `data` is laid out as a contribution to MOrepo."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

#: What MOrepo's names begin with.
CONTRIBUTION = "PymooAnon26"


def data() -> Traversable:
    """The folder of the suite's files."""
    return files("pymoo_anon.suite") / "data"


def read(*parts: str) -> str:
    """The text of one of the suite's files."""
    return data().joinpath(*parts).read_text(encoding="utf-8")


def instance_file(name: str) -> tuple[str, str, str]:
    """The folders and the name of the file that holds an instance."""
    return "instances", "json", f"{CONTRIBUTION}_{name}.json"


def front_file(name: str) -> tuple[str, str]:
    """The folder and the name of the file that holds the front of an instance."""
    return "fronts", f"{name}.csv"


def certificate_file(name: str) -> tuple[str, str]:
    """The folder and the name of the file that says how the front is proven."""
    return "certificates", f"{name}.json"


def result_file(name: str) -> tuple[str, str]:
    """The folder and the name of the file that holds the front in MOrepo's format."""
    return "results", f"{CONTRIBUTION}_{name}_result.json"
