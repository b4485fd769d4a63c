"""The command line inside a test: a search, what it refuses, and what it wrote."""

import json
from pathlib import Path

import pandas as pd
from typer.testing import CliRunner

from pymoo_anon.cli.app import app
from pymoo_anon.cli.console import COMPILING

SMALL = ["--rows", "300", "--generations", "5"]

FILES = ["front.csv", "front.png", "run.json"]

MINE = ["--data", "mine.csv", "--hierarchies", "trees", "--generations", "5"]


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
    """What a process said on standard error, without the line that comes where loops are compiled."""
    return stderr.removeprefix(f"{COMPILING}\n")


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
