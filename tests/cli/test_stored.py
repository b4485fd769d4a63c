"""The file beside a front: replaces the table later, refused if damaged."""

import json
import os
import re
import shutil
from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import made_in, record, refused, run, write_persons, write_project_of_persons
from raw_tables import raw_problem

from pymoo_anon.objectives import KAnonymity
from pymoo_anon.problems.journal import fingerprint
from pymoo_anon.study import Study, engines
from pymoo_anon.study.names import checksum
from pymoo_anon.study.project import read_project
from pymoo_anon.study.stored import read_search, write_search

STORED = Path("mine-front", "search.npz")


@pytest.fixture(scope="module", params=[{"suppression": 0.05}, {"recoding": "local"}], ids=["whole columns", "local"])
def searched(tmp_path_factory, request):
    """Create a folder with a search of 120 rows."""
    with made_in(tmp_path_factory, "search mine.toml") as folder:
        write_persons()
        write_project_of_persons(**request.param)
    return folder


@pytest.fixture
def project(searched, folder):
    shutil.copytree(searched, folder, dirs_exist_ok=True)
    return read_project(Path("mine.toml"))


def forget():
    """Delete the stored file, as if an earlier version had searched."""
    STORED.unlink()
    path = Path("mine-front", "run.json")
    content = json.loads(path.read_text(encoding="utf-8"))
    del content["front"]["search.npz"]
    path.write_text(json.dumps(content), encoding="utf-8")


def test_what_is_read_is_what_the_table_gives(project):
    stored = Study(project).front
    decoded = [stored.problem.decode(x) for x in stored.X]
    marked = [stored.marked(one) for one in stored.problem.measured]
    lost = [stored.lost(place) for place in range(len(stored))]
    forget()
    anew = Study(project).front
    assert fingerprint(stored.problem, {}) == fingerprint(anew.problem, {})
    assert [anew.problem.decode(x) for x in anew.X] == decoded
    assert np.array_equal(stored.X, anew.X)
    assert np.array_equal(stored.F, anew.F)
    assert np.array_equal(stored.n_suppressed, anew.n_suppressed)
    assert stored.to_frame().equals(anew.to_frame())
    assert np.array_equal(lost, [anew.lost(place) for place in range(len(anew))])
    assert np.array_equal(marked, [anew.marked(one) for one in anew.problem.measured], equal_nan=True)


def told(commands):
    """Return the outputs and files of commands."""
    said = [run(*one) for one in commands]
    names = ["mine-front/choice.json", "out.csv", "out.csv.codebook.csv"]
    evidence = json.loads(Path("out.csv.evidence.json").read_text(encoding="utf-8"))
    del evidence["made"]
    page = Path("out.report.html").read_text(encoding="utf-8")
    return said, [Path(name).read_bytes() for name in names], evidence, len(page)


# One search of each kind, with the options of its releases.
SEARCHES = {
    "marked": {"suppression": 0.05},
    "dropped": {"suppression": 0.05, "release": {"suppressed": "drop"}},
    "none suppressed": {"suppression": 0},
    "l": {"suppression": 0.05, "require": ["l>=2"]},
    "local": {"recoding": "local"},
    "local, l": {"recoding": "local", "require": ["k>=3", "l>=2"]},
    "local, dropped": {"recoding": "local", "release": {"suppressed": "drop"}},
}
# With and without persons, and with and without a refinement where there is one, in turns.
CASES = [
    (kind, person, person != number % 2 and not kind.startswith("local"))
    for number, kind in enumerate(SEARCHES)
    for person in (False, True)
]


@pytest.mark.parametrize(
    ("kind", "person", "refined"),
    [pytest.param(*one, marks=[] if one == ("l", True, False) else [pytest.mark.slow], id=f"{one}") for one in CASES],
)
def test_releases_of_every_kind_are_the_same_bytes_without_it(folder, kind, person, refined):
    write_persons(**({"who": [f"P{i}" for i in range(70)]} if person else {}))
    write_project_of_persons(**{"require": (), **SEARCHES[kind]})
    run("search", "mine.toml")
    commands = [("pick", "mine.toml", "--require", "k>=3"), ("verify", "mine.toml"), ("report", "mine.toml", "--force")]
    commands.insert(1, ("release", "mine.toml", "--force", *["--local"] * refined))
    with_it = told(commands)
    forget()
    assert told(commands) == with_it


def test_a_file_of_an_earlier_search_goes_where_a_new_one_stores_nothing(project, monkeypatch):
    monkeypatch.setattr("pymoo_anon.study.stored.write_search", lambda front, path: False)
    run("search", "mine.toml")
    assert not STORED.exists()
    run("pick", "mine.toml", "--require", "k>=3")


def test_pick_opens_no_table_and_makes_no_recoding(project, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("the table is opened")

    monkeypatch.setattr(engines, "open_frame", refuse)
    front = Study(project).front
    monkeypatch.setattr(type(front.problem), "_measure", refuse)
    monkeypatch.setattr("pymoo_anon.problems.local_recoding.recode", refuse)
    front = Study(project).front
    assert front.choose(require=[KAnonymity() >= 2]).values["k"] >= 2
    assert len([front.problem.decode(x) for x in front.X]) == len(front)


def test_a_damaged_or_missing_file_is_refused_in_one_sentence(project):
    whole = STORED.read_bytes()
    for damaged in (whole[:-1], whole + b"0", b"PK", whole[: len(whole) // 2] + b"!" + whole[len(whole) // 2 + 1 :]):
        STORED.write_bytes(damaged)
        told = f"{STORED} must be what the search in mine-front wrote, got another file; search again"
        assert refused("pick", "mine.toml") == told
    STORED.unlink()
    assert "got none; search again" in refused("pick", "mine.toml")


def test_a_file_of_something_else_is_refused_though_its_checksum_is_right(project):
    arrays = dict(np.load(STORED))
    arrays["values 0"] = arrays["values 0"] + 100
    np.savez(STORED, **arrays)
    path, content = Path("mine-front", "run.json"), record("mine-front")
    content["front"]["search.npz"] = checksum(STORED)
    path.write_text(json.dumps(content), encoding="utf-8")
    assert re.search("other values than those of a column.*search again", refused("pick", "mine.toml"))


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_only_its_owner_reads_it(project):
    assert STORED.stat().st_mode & 0o777 == 0o600


def test_names_of_persons_are_not_in_it(tmp_path):
    frame = {"sex": ["F", "M", "F"], "name": ["Ada Lovelace", "Alan Turing", "Ada Lovelace"]}
    problem = raw_problem(frame, person="name", objectives=[KAnonymity(person="name")])
    assert write_search(problem.front([[0], [1]]), tmp_path / "search.npz")
    assert b"Ada" not in (tmp_path / "search.npz").read_bytes()


VALUES = [date(2020, 1, 31), Decimal("1.50"), pd.Timestamp("2020-01-31 10:00"), "1", 1, 2.5, None, True, float("inf")]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_of_every_type_come_back_as_they_were(tmp_path, value):
    problem = raw_problem({"sex": [*"FMF"], "s": pd.Series([value, "x", value], dtype=object)}, "s", missing="keep")
    path = tmp_path / "search.npz"
    assert write_search(problem.front([[0], [1]]), path)

    class Roles:
        roles = ("s",), None, None

    again = read_search(path.read_bytes(), Roles).table
    assert repr(again.domain_of("s")) == repr(problem.table.domain_of("s"))


def test_a_value_of_another_type_is_not_stored(tmp_path):
    problem = raw_problem({"sex": [*"FMF"], "s": pd.Series([(1, 2), (1, 3), (1, 2)], dtype=object)}, "s")
    assert not write_search(problem.front([[0], [1]]), tmp_path / "search.npz")
    assert not (tmp_path / "search.npz").exists()
