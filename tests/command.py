"""The command line inside a test: searches, refusals and written files."""

import json
import re
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from pymoo_anon.cli.app import app
from pymoo_anon.cli.console import COMPILING
from pymoo_anon.table import Hierarchy

SMALL = ["--rows", "300", "--generations", "5"]

FILES = ["front.csv", "front.png", "run.json"]

#: Options of a search with the user's own project.
MINE = ["mine.toml", "--output", "front", "--generations", "5"]


def command(*arguments, **environment):
    """Run a command in this process, and return its `Result`. Every test starts here."""
    return CliRunner().invoke(app, [*arguments], env=environment)


def run(*arguments, code=0):
    """Return all that a command prints, or its error for an exit code of 2."""
    result = command(*arguments)
    assert result.exit_code == code, result.output
    return result.stderr if code == 2 else result.output


@contextmanager
def made_in(folders, *commands):
    """Make a new folder for a module of tests, prepare files there, and run commands that succeed."""
    folder = folders.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder
        for one in commands:
            run(*one.split())


def interrupt(*args, **kwargs):
    raise KeyboardInterrupt


def search(*arguments):
    return command("search", *arguments)


def touched():
    """Return when each file here was written."""
    return {path: path.is_file() and path.stat().st_mtime_ns for path in Path().rglob("*")}


def refused(*arguments):
    """Return the one sentence by which a command is refused. It prints nothing else and touches no file."""
    before, result = touched(), command(*arguments)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1, result.stderr
    assert touched() == before
    return result.stderr[7:-1]


def without_compiling(stderr):
    """Remove the lines about compiling and about long steps."""
    return re.sub(r"(?m)^.* \([\d,]+ s\)\n", "", stderr).removeprefix(f"{COMPILING}\n")


def edit(path, old, new):
    """Replace a text of a file, which must be there."""
    text = Path(path).read_text(encoding="utf-8")
    assert old in text
    Path(path).write_text(text.replace(old, new), encoding="utf-8")


def front(folder="front"):
    return pd.read_csv(Path(folder, "front.csv"))


def record(folder="front"):
    return json.loads(Path(folder, "run.json").read_text(encoding="utf-8"))


def write_own_table(folder):
    """Write a user's table and hierarchies, with leading zeros in zip codes."""
    diagnoses, paid = ["flu", "cold", "asthma"], ["yes", "yes", "no", "no"]
    rows = [f"0213{i % 10},{'FM'[i % 2]},{diagnoses[i % 3]},{paid[i % 4]},{i}" for i in range(40)]
    (folder / "mine.csv").write_text("\n".join(["zip,sex,diagnosis,paid,note", *rows, ""]), encoding="utf-8")
    (folder / "trees").mkdir()
    lines = [f"0213{i};0213{i // 5}x;*" for i in range(10)]
    (folder / "trees" / "zip.csv").write_text("\n".join(lines), encoding="utf-8")
    (folder / "trees" / "sex.csv").write_text("F;*\nM;*\n", encoding="utf-8")


def _column(given):
    """Return the table of a column in a project file, with its name."""
    name, what = given
    keys = {"role": "quasi-identifier", "hierarchy": what} if str(what).endswith(".csv") else {"role": what}
    return f"columns.{json.dumps(name)}", what if isinstance(what, dict) else keys


def project_of(columns, data="mine.csv", **tables):
    """Return the text of a project file.

    A column has a role, the CSV file of its hierarchy, or all its keys. `tables` are those of the file, and `more`
    keys of [data].
    """
    more = tables.pop("more", {})
    lines = []
    for name, values in {"data": {"file": data, **more}, **dict(map(_column, columns.items())), **tables}.items():
        lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
    return "\n".join([*lines, ""])


def write_project(columns, data="mine.csv", file="mine.toml", **tables):
    """Write a project file, by default of `write_own_table` or `write_persons`."""
    Path(file).write_text(project_of(columns, data, **tables), encoding="utf-8")


#: The quasi-identifiers of `write_own_table` and of `write_persons`.
OF_OWN_TABLE = {"zip": "trees/zip.csv", "sex": "trees/sex.csv"}
OF_PERSONS = {"age": "age.csv", "sex": "sex.csv"}


def own(missing="raise", data="mine.csv", **roles):
    """Write the project of a user's own table, with other columns' roles."""
    others = dict.fromkeys(("diagnosis", "paid", "note"), "drop")
    write_project({**OF_OWN_TABLE, **others, **roles}, data, more={"missing": missing})
    return MINE


def write_persons(**others):
    """Write 120 persons with the given columns, and their hierarchies."""
    rng = np.random.default_rng(1)
    columns = {"age": rng.integers(20, 60, 120), "sex": rng.choice(["F", "M"], 120)}
    columns |= {name: rng.choice(list(texts), 120) for name, texts in others.items()}
    columns["diagnosis"] = rng.choice(["flu", "cold", "gout"], 120)
    pd.DataFrame(columns).to_csv("mine.csv", index=False)
    Hierarchy.intervals(20, 60, [5, 10, 20]).to_csv("age.csv")
    Hierarchy.flat(["F", "M"]).to_csv("sex.csv")


def write_project_of_persons(release=None, require=("k>=2",), **search):
    """Write the project of `write_persons`, whose column of persons is `who`."""
    who = {"who": "person"} if "who" in Path("mine.csv").read_text(encoding="utf-8").partition("\n")[0] else {}
    tables = {"search": {"require": [*require], **search}, "release": {"file": "out.csv", **(release or {})}}
    write_project({**OF_PERSONS, "diagnosis": "sensitive", **who}, **tables)
