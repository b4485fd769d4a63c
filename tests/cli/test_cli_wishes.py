"""Wishes by attribute on the command line, from search to report."""

import json
from pathlib import Path

import pytest
from command import command, front, own, record, run
from malformed_projects import RIGHT

from pymoo_anon.study.project import read_project

WISHES = RIGHT.replace('trees/zip.csv"', 'trees/zip.csv"\nlevels = [1, 1]\nweight = 3')


@pytest.fixture(autouse=True)
def wishes(own_table):
    Path("my.toml").write_text(WISHES, encoding="utf-8")


def test_wishes_reach_the_report():
    assert dict(read_project(Path("my.toml")).search) | {"level": ["zip=1..1"], "weight": ["zip=3.0"]} == dict(
        read_project(Path("my.toml")).search
    )
    run("search", "my.toml")
    assert set(front("out").zip) == {1}
    assert record("out")["objectives"] == ["KAnonymity()", "GeneralLossMetric({'zip': 3.0})"]
    lines = ["Asked of columns:", "zip: from level 1 to 1, of 0 to 2", "GLM: zip counts 3, others 1"]
    said = [line.strip() for line in run("pick", "my.toml", "--explain", "--require", "GLM<=1000").splitlines()]
    assert [line for line in said if line in lines] == lines
    run("release", "my.toml")
    content = json.loads(Path("released.csv.evidence.json").read_text(encoding="utf-8"))
    assert content["settings"]["levels"] == {"zip": [1, 1]}
    assert "weights={'zip': 3.0}" in content["settings"]["measures"][1]["repr"]
    assert run("verify", "my.toml") == "released.csv: holds.\n"
    run("report", "my.toml")
    text = Path("released.report.html").read_text(encoding="utf-8")
    assert "Asked of columns: zip: from level 1 to 1, of 0 to 2." in text
    assert "Asked of columns: GLM: zip counts 3, others 1." in text
    # Other wishes make another search.
    for old, new, key in (("weight = 3", "weight = 2", "weights"), ("[1, 1]", "[0, 1]", "levels")):
        Path("my.toml").write_text(WISHES.replace(old, new), encoding="utf-8")
        result = command("pick", "my.toml")
        assert f"changed since: {key} in [columns] of my.toml" in result.stderr
    # The command line wins.
    run("search", "my.toml", "--level", "zip=2..2", "--weight", "sex=2")
    assert set(front("out").zip) == {2}
    assert record("out")["objectives"][1] == "GeneralLossMetric({'sex': 2.0})"


def test_weights_of_shares_have_the_sum_1():
    run("search", *own()[:3], "--objectives", "k,NWP", "--weight", "zip=3")
    assert record()["objectives"][1] == "NormalizedWeightedPenalty({'zip': 0.75, 'sex': 0.25})"
