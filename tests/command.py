"""The command line inside a test: a search, what it refuses, and what it wrote."""

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

#: How the project of a user's own file is searched.
MINE = ["mine.toml", "--output", "front", "--generations", "5"]


def run(*arguments, code=0):
    """What a command says that ends with an exit code: its results, or what is wrong."""
    result = CliRunner().invoke(app, [*arguments])
    assert result.exit_code == code, result.output
    return result.stdout if code == 0 else result.stderr


def search(*arguments, **kwargs):
    return CliRunner().invoke(app, ["search", *arguments], **kwargs)


def refused(*arguments):
    """What a search says that is refused before it says anything else."""
    result = search(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert not Path("front").exists()
    return result.stderr.removesuffix("\n")


def without_compiling(stderr):
    """What a process said on standard error, without the lines that come where loops are compiled or steps are long."""
    return re.sub(r"(?m)^.* \([\d,]+ s\)\n", "", stderr).removeprefix(f"{COMPILING}\n")


def front(folder="front"):
    return pd.read_csv(Path(folder, "front.csv"))


def record(folder="front"):
    return json.loads(Path(folder, "run.json").read_text(encoding="utf-8"))


def write_own_table(folder):
    """A user's own file: zip codes with leading zeros, a sensitive column, a label, and their hierarchies."""
    diagnoses, paid = ["flu", "cold", "asthma"], ["yes", "yes", "no", "no"]
    rows = [f"0213{i % 10},{'FM'[i % 2]},{diagnoses[i % 3]},{paid[i % 4]},{i}" for i in range(40)]
    (folder / "mine.csv").write_text("\n".join(["zip,sex,diagnosis,paid,note", *rows, ""]), encoding="utf-8")
    (folder / "trees").mkdir()
    lines = [f"0213{i};0213{i // 5}x;*" for i in range(10)]
    (folder / "trees" / "zip.csv").write_text("\n".join(lines), encoding="utf-8")
    (folder / "trees" / "sex.csv").write_text("F;*\nM;*\n", encoding="utf-8")


def own(missing="raise", data="mine.csv", **roles):
    """Write the project of a user's own file, with roles of other columns than zip and sex, and how it is searched."""
    lines = ["[data]", f'file = "{data}"', f'missing = "{missing}"']
    known = dict.fromkeys(("zip", "sex"), "quasi-identifier") | dict.fromkeys(("diagnosis", "paid", "note"), "drop")
    for name, role in (known | roles).items():
        lines += [f"[columns.{name}]", f'role = "{role}"']
        lines += [f'hierarchy = "trees/{name}.csv"'] if role == "quasi-identifier" else []
    Path("mine.toml").write_text("\n".join(lines), encoding="utf-8")
    return MINE


def write_persons(**others):
    """120 persons with age and sex, quasi-identifiers of texts that others name, and a diagnosis, and hierarchies."""
    rng = np.random.default_rng(1)
    columns = {"age": rng.integers(20, 60, 120), "sex": rng.choice(["F", "M"], 120)}
    columns |= {name: rng.choice(list(texts), 120) for name, texts in others.items()}
    columns["diagnosis"] = rng.choice(["flu", "cold", "gout"], 120)
    pd.DataFrame(columns).to_csv("mine.csv", index=False)
    Hierarchy.intervals(20, 60, [5, 10, 20]).to_csv("age.csv")
    Hierarchy.flat(["F", "M"]).to_csv("sex.csv")
