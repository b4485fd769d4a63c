"""Options declared once reach command line, project file and run record."""

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from typer.testing import CliRunner

from pymoo_anon.cli.app import command_of
from pymoo_anon.cli.options import VerifyRequest
from pymoo_anon.study.options import Invocation, file_keys, option, options_named, options_of, record_of

pytestmark = pytest.mark.usefixtures("own_table")


@dataclass(frozen=True, kw_only=True)
class Tried(Invocation):
    """Options of every type."""

    name: str = option(..., "A name.", argument=True)
    n: int = option(3, "A number.", least=1, in_file=True)
    share: float | None = option(None, "A share.", in_file=True)
    names: list[str] = option([], "Names.", flag="--a-name")
    fast: bool = option(False, "Soon.", in_file=True, recorded=False)
    mode: str = option("auto", "A mode.", choices=("auto", "other"), in_file=True, idle=("x",))
    folder: Path = option(Path("here"), "A folder.", in_file=True)


def asked_for(*arguments):
    app, seen = typer.Typer(), []
    app.command()(command_of(Tried, seen.append))
    result = CliRunner().invoke(app, arguments)
    return seen[0] if seen else result.output


def test_every_type_of_option():
    assert asked_for("a") == Tried(name="a", given=frozenset({"name"}))
    arguments = ["a", "--n", "4", "--share", "0.5", "--a-name", "b", "--a-name", "c", "--fast", "--folder", "there"]
    made = asked_for(*arguments)
    assert made == Tried(name="a", n=4, share=0.5, names=["b", "c"], fast=True, folder=Path("there"), given=made.given)
    assert made.given == {"name", "n", "share", "names", "fast", "folder"}
    assert "--no-fast" in asked_for("a", "--no-fast")
    assert record_of(made) == {
        **{"name": "a", "n": 4, "share": 0.5, "names": ["b", "c"], "mode": "auto", "folder": Path("there")}
    }
    assert list(file_keys(Tried)) == ["n", "share", "fast", "mode", "folder"]


OWN = [one for one in Invocation.__subclasses__() if one.__module__.startswith("pymoo_anon")]


@pytest.mark.parametrize("asked", OWN)
def test_every_option_has_help_and_every_idle_choice_is_one(asked):
    known = options_of(asked)
    assert known
    every = {choice for own in known.values() for choice in own.choices}
    every |= {"census", "adult", "a table of one's own", "a project file", "local recodings"}
    for own in known.values():
        assert own.help.endswith(".")
        assert set(own.idle) <= every


@pytest.mark.parametrize(
    ("in_file", "named"), [(["k>=five"], "my.toml: [search] require is wrong"), ([], "--require is wrong")]
)
def test_an_error_names_an_option_as_typed_or_by_its_place_in_the_file(in_file, named):
    project = SimpleNamespace(path="my.toml", search={"require": in_file})
    asked = VerifyRequest(file="my.csv", require=["k>=five"])
    with pytest.raises(ValueError, match="is wrong") as raised, options_named(asked, project):
        raise ValueError("require is wrong")
    assert str(raised.value) == named
