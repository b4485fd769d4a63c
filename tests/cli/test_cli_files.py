"""Own files on the command line: nothing shifted, lost or overwritten."""

import os
from pathlib import Path

import pytest
from command import FILES, MINE, OF_OWN_TABLE, front, own, record, refused, run, search, write_project

from pymoo_anon.study import Study
from pymoo_anon.study.names import checksum
from pymoo_anon.study.project import read_project

pytestmark = pytest.mark.usefixtures("own_table")


def test_one_default_objective_reads_every_sensitive_column():
    for roles, objectives in (
        ({}, ["k", "GLM"]),
        ({"diagnosis": "sensitive"}, ["k", "l", "GLM"]),
        ({"diagnosis": "sensitive", "paid": "sensitive"}, ["k", "l", "GLM"]),
    ):
        run("search", *own(**roles))
        assert list(front()) == ["zip", "sex", *objectives, "suppressed"]
    assert record()["objectives"][1] == "DistinctLDiversity()"
    assert (record()["n_rows"], record()["n_distinct"], record()["n_nodes"]) == (40, 10, 6)
    run("search", *own(diagnosis="sensitive", paid="label"), "--objectives", "CM,l")
    assert list(front())[2:-1] == ["CM", "l"]


def test_missing_values_of_an_own_table():
    with Path("mine.csv").open("a", encoding="utf-8") as file:
        file.write("02130,,flu,yes,1\n02131,F,NA,no,2\n")
    message = (
        "frame must have no missing values, got 1 of 42 rows with some: 1 in 'sex'; "
        'missing = "drop" leaves these rows out, missing = "keep" makes them a value of their own'
    )
    assert refused("search", *own(diagnosis="sensitive")) == message
    assert "Warning: 1 of 42 rows left out for a missing value" in run("search", *own("drop", diagnosis="sensitive"))
    assert (record()["n_rows"], Study.open("front").table.n_left_out) == (41, 1)
    search(*own("keep", diagnosis="sensitive"))
    assert record()["n_rows"] == 42
    for missing in ("raise", "drop", "keep"):
        run("init", "mine.csv", "--missing", missing, "--output", missing)
        assert read_project(Path(missing, "mine.toml"), decided=False).missing == missing


def test_columns_that_a_release_cannot_tell_apart_are_told_before_the_search():
    text = Path("mine.csv").read_text(encoding="utf-8").replace("diagnosis", "Sex", 1)
    Path("mine.csv").write_text(text, encoding="utf-8")
    columns = {**OF_OWN_TABLE, "Sex": "sensitive", "paid": "drop", "note": "drop"}
    write_project(columns, release={"file": "out.parquet"})
    wrong = "must have columns that differ in more than case, got 'sex' twice; release to a CSV file, or rename them"
    assert f"Warning: out.parquet {wrong}" in run("search", *MINE)
    assert refused("release", "front", "--row", "1") == f"out.parquet {wrong}"
    Path("own.sqlite").touch()
    assert (
        refused("release", "front", "--row", "1", "--output", "own.sqlite", "--table", "t") == f"own.sqlite:t {wrong}"
    )
    write_project({**columns, "Sex": "drop"}, release={"file": "out.parquet"})
    assert "Warning" not in run("search", *MINE)


@pytest.mark.parametrize(
    ("required", "offered", "note"),
    [("k>=8", 8, "drop"), ("k>=8", 8, "person"), ("k>=2", 5, "drop"), ("k<=8", 5, "drop"), ("l>=2", 5, "drop")],
)
def test_the_next_command_asks_for_no_less_than_the_search(required, offered, note):
    said = run("search", *own(diagnosis="sensitive", note=note), "--require", required)
    assert said.splitlines()[-1] == f'Next: pymoo-anon pick front --require "k>={offered}"'


def test_the_next_command_asks_for_no_more_than_there_are_rows():
    for n, offered in (
        (3, 'Next: pymoo-anon pick front --require "k>=3"'),
        (1, "Nothing can be released: "),
    ):
        Path("mine.csv").write_text("".join(Path("mine.csv").read_text().splitlines(keepends=True)[: n + 1]))
        assert run("search", *own()).splitlines()[-1].startswith(offered)


def test_a_hierarchy_without_a_root_is_a_warning():
    Path("trees/sex.csv").write_text("F;women\nM;men\n", encoding="utf-8")
    result = search(*MINE)
    assert result.exit_code == 0, result.output
    assert result.stderr == (
        "Warning: the hierarchies of 'sex' do not end in one group, so that no node is wholly generalized; "
        "Hierarchy.with_root() adds a level '*'\n"
    )


@pytest.mark.parametrize("name", ["mine.csv", "mine.toml", "trees/sex.csv"])
def test_no_input_is_ever_overwritten(name):
    os.mkdir("front")
    os.link(name, "front/front.csv")
    told = "output must not replace front/front.csv, which is read; name another place"
    assert refused("search", *MINE) == told


def test_output_beside_the_data():
    run("search", *MINE, "--output", ".")
    assert sorted(os.listdir()) == sorted([*FILES, "mine.csv", "mine.toml", "search.npz", "trees"])
    inputs = ("mine.csv", "trees/sex.csv", "trees/zip.csv")
    assert record(".")["inputs"] == {"sha256": {path: checksum(Path(path)) for path in inputs}}
