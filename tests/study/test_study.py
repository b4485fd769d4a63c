"""A study: the folder of a search as one object, equal to the commands."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
from command import front, made_in, own, run, write_own_table

from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import Front, joint, refine
from pymoo_anon.publishing import read_evidence
from pymoo_anon.study import Study, engines
from pymoo_anon.study.stored import read_search
from pymoo_anon.study.study import all_together
from pymoo_anon.table import Microdata


@pytest.fixture(scope="module")
def searched_once(tmp_path_factory):
    with made_in(tmp_path_factory, "search mine.toml") as folder:
        write_own_table(folder)
        own(diagnosis="sensitive")
    return folder


@pytest.fixture
def searched(searched_once, folder):
    """Search a project with a sensitive column, and return its file."""
    shutil.copytree(searched_once, folder, dirs_exist_ok=True)
    return "mine.toml"


def folder_of(project):
    return Study.open(project).folder


def test_a_folder_and_its_project_file_open_the_same_search(searched):
    by_file, by_folder = Study.open(searched), Study.open(folder_of(searched))
    pd.testing.assert_frame_equal(by_file.front.to_frame(), by_folder.front.to_frame())
    assert len(by_file.front) == len(front(by_file.folder)) == len(by_file.recodings)
    assert by_file.problem.table is by_file.table
    assert by_folder.project.path.samefile(searched)


def test_python_and_the_commands_make_the_same_release(searched):
    study = Study.open(folder_of(searched))
    picked = study.pick([KAnonymity() >= 3], best=GeneralLossMetric())
    made = study.release("python.csv")
    pd.testing.assert_frame_equal(made.frame.df(), pd.read_csv("python.csv", dtype=str), check_dtype=False)
    assert study.verify() == {Path("python.csv"): []}
    assert Study.open(searched).choice == study.choice == picked
    run("release", searched, "--output", "command.csv")
    assert Path("python.csv").read_bytes() == Path("command.csv").read_bytes()
    assert made.claims.holds.tolist() == [True] * len(made.claims)
    assert [one.file for one in Study.open(searched).releases] == ["python.csv", "command.csv"]


def test_what_python_picks_is_checked_first(searched):
    study, own = Study.open(searched), KAnonymity() >= 3
    for wrong in (own, "k>=3", ["k>=3"]):
        with pytest.raises(TypeError, match="constraints must be"):
            study.pick(wrong)
    for row in ("1", 1.5, 99, True):
        with pytest.raises(ValueError, match="row must be from 1 to"):
            study.pick(row=row)
        with pytest.raises(ValueError, match=rf", got {row!r}$"):
            study.point(row)


def test_a_point_that_can_be_released_was_not_passed_over(searched, monkeypatch):
    """Refuse the most private point, without which other points are the knee and the best by weights."""
    monkeypatch.setattr(Front, "refusal", lambda front, place, *given: None if place else "it is not to be")
    study, told = Study.open(searched), set()
    for weight in (1, 2, 3, 9):
        ways = {"weights": {KAnonymity(): weight, GeneralLossMetric(): 2}}
        told.add(study.passed_over(study.pick([KAnonymity() >= 2], **ways), **ways))
    assert told == {"", "Row 1 fits better, but it is not to be."}


def test_nothing_is_read_before_it_is_needed_nor_twice(searched, monkeypatch):
    study, opened, read = Study.open(searched), [], []
    monkeypatch.setattr(engines, "open_frame", lambda *args: opened.append(args))
    monkeypatch.setattr("pymoo_anon.study.folder.read_search", lambda *args: read.append(args) or read_search(*args))
    study.pick([KAnonymity() >= 3], best=GeneralLossMetric())
    assert (len(opened), len(read)) == (0, 1)
    assert isinstance(study.table, Microdata)
    assert len(read) == 1


def test_a_folder_whose_project_is_gone_is_refused(searched, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(folder_of(searched) / "run.json", other)
    Path(searched).rename("moved.toml")
    with pytest.raises(ValueError, match=r"must be the project file of the search in .*other, got none"):
        Study.open(other)


def test_a_second_release_tells_the_joint_classes(searched):
    study, other = Study.open(searched), Study.open(searched)
    assert study.releases == other.releases == []
    rows = [row for row, k in enumerate(study.front.values(KAnonymity()), start=1) if k > 1]
    pairs = {(a, b): joint([study.point(a), study.point(b)]) for a in rows for b in rows if a < b}
    least = {pair: KAnonymity().evaluate(both).item() for pair, both in pairs.items()}
    safe = next(pair for pair in pairs if least[pair] > 1)
    study.release("first.csv", row=safe[0], suppressed="drop")
    seen = f"joint k = {least[safe]:g} and joint l of diagnosis = "
    with pytest.warns(UserWarning, match=f"first.csv is another release of this table. .* sees {seen}"):
        other.release("second.csv", row=safe[1], suppressed="drop")
    assert [one.file for one in study.releases] == ["first.csv", "second.csv"]
    told = read_evidence("second.csv.evidence.json")["joint"]
    both = pairs[safe]
    assert told["l"] == {"diagnosis": DistinctLDiversity("diagnosis").evaluate(both).item()}
    assert (told["k"], told["alone"]) == (least[safe], 0)
    n, together = all_together(Study.open(searched))
    assert (n, together.as_record()) == (2, told)
    with pytest.warns(UserWarning, match=r"first\.csv was another release of this table until now.*no row is alone$"):
        study.release("first.csv", row=safe[1], suppressed="drop")
    assert all_together(study) == (1, None)


def test_a_refined_release_is_counted_by_its_own_classes(searched):
    study = Study.open(searched)
    study.pick([KAnonymity() >= 3], best=GeneralLossMetric())
    study.release("first.csv")
    with pytest.warns(UserWarning, match="joint k = "):
        study.release("second.csv", local=True)
    (_, together), choice = all_together(study), study.choice
    both = joint([choice, study.table.equivalence_classes(refine(study.problem, choice))])
    assert together.k == KAnonymity().evaluate(both).item() > 1
    # Records of another search cannot be counted.
    records = study.folder / "releases.json"
    records.write_text(json.dumps([{**one, "x": [9]} for one in json.loads(records.read_text())]))
    assert all_together(study)[1] is None
