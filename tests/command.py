"""The command line inside a test: searches, refusals and written files."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from pymoo_anon.cli.app import app
from pymoo_anon.cli.console import COMPILING
from pymoo_anon.table import Hierarchy

SMALL = ["--rows", "300", "--generations", "5"]

FILES = ["front.csv", "front.png", "run.json"]

#: Options of a search with the user's own project.
MINE = ["mine.toml", "--output", "front", "--generations", "5"]


def run(*arguments, code=0):
    """Return a command's output, or its error for another exit code."""
    result = CliRunner().invoke(app, [*arguments])
    assert result.exit_code == code, result.output
    return result.stdout if code == 0 else result.stderr


def search(*arguments, **kwargs):
    return CliRunner().invoke(app, ["search", *arguments], **kwargs)


def refused(*arguments):
    """Return the error of a search that is refused before any output."""
    result = search(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert not Path("front").exists()
    return result.stderr.removesuffix("\n")


def without_compiling(stderr):
    """Remove the lines about compiling and about long steps."""
    return re.sub(r"(?m)^.* \([\d,]+ s\)\n", "", stderr).removeprefix(f"{COMPILING}\n")


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


def own(missing="raise", data="mine.csv", **roles):
    """Write the project of a user's own table, with other columns' roles."""
    lines = ["[data]", f'file = "{data}"', f'missing = "{missing}"']
    known = dict.fromkeys(("zip", "sex"), "quasi-identifier") | dict.fromkeys(("diagnosis", "paid", "note"), "drop")
    for name, role in (known | roles).items():
        lines += [f"[columns.{name}]", f'role = "{role}"']
        lines += [f'hierarchy = "trees/{name}.csv"'] if role == "quasi-identifier" else []
    Path("mine.toml").write_text("\n".join(lines), encoding="utf-8")
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
