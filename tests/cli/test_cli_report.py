"""`pymoo-anon report`: its pages and its refusals."""

import hashlib
import json
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from command import command, made_in, refused, run
from persons_of_a_report import payload, read
from test_cli_release import EVIDENCE, RELEASE, write_data, write_project

from pymoo_anon.publishing.evidence import read_evidence
from pymoo_anon.study import Study
from pymoo_anon.study.project import read_project
from pymoo_anon.study.tables import population_of

REPORT, EXTERNAL = Path("out.report.html"), Path("out.external.html")


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """Make a folder with a released table, its project and its choice."""
    commands = "search mine.toml", "pick mine.toml --require k>=5 --least GLM", "release mine.toml"
    with made_in(tmp_path_factory, *commands) as folder:
        write_data()
        write_project()
    return folder


@pytest.fixture
def with_release(released, folder):
    return shutil.copytree(released, folder, dirs_exist_ok=True)


def test_the_report_is_that_of_the_chosen_point(with_release):
    result = command("report", "mine.toml")
    assert (result.exit_code, result.stdout) == (0, f"Written: {REPORT}, about {RELEASE}\n"), result.output
    page, data = read(REPORT.read_text(encoding="utf-8")), payload(REPORT.read_text(encoding="utf-8"))
    content = json.loads(EVIDENCE.read_text(encoding="utf-8"))
    assert data["chosen"] == json.loads(Path("front/choice.json").read_text(encoding="utf-8"))["row"]
    assert [row[0] for row in page.tables["claims"]] == [claim["measure"] for claim in content["claims"]]
    assert {row[-1] for row in page.tables["claims"]} == {"yes"}
    # The requirement of pick is shown as met, and every column of the release with its role.
    assert [row[1:] for row in page.tables["requirements"]] == [["met", "16", "pick"]]
    assert page.sentences["decision"][0] == "All requirements are met."
    assert [row[0] for row in page.tables["columns"]] == list(pd.read_csv(RELEASE))
    told = dict(map(tuple, page.tables["evidence"]))
    assert told["checksums › output › out.csv"] == content["checksums"]["output"]["out.csv"]
    assert told["search › seed"] == "1"
    assert "front is proven" in page.sentences["front"][0]
    # Rows are dropped, so that only the rows of the released file are shown.
    sizes = data["pool"][next(m for m in data["members"] if m["point"] == data["chosen"])["tables"]["sizes"]]
    assert sum(row[1] for row in sizes) == len(pd.read_csv(RELEASE))


def test_the_evidence_of_a_report_is_read_once(with_release, monkeypatch):
    read = []
    monkeypatch.setattr("pymoo_anon.study.study.read_evidence", lambda path: read.append(path) or read_evidence(path))
    Study.open("front").report(REPORT)
    assert read == [EVIDENCE]


def test_what_was_required_is_what_the_release_promised(with_release):
    """Keep the requirement of the release where its point is picked again without one."""
    run("pick", "mine.toml", "--row", str(json.loads(Path("front/choice.json").read_text(encoding="utf-8"))["row"]))
    run("report", "mine.toml")
    page = read(REPORT.read_text(encoding="utf-8"))
    assert [row[0] for row in page.tables["requirements"]] == ["k in persons ≥ 5"]


def test_outsiders_get_a_report_of_their_own(with_release):
    run("report", "mine.toml", "--external")
    assert not REPORT.exists()
    made = EXTERNAL.read_text(encoding="utf-8")
    assert "What was left out" in made
    assert "99999" not in "".join(read(made).texts)
    assert "99999" not in json.dumps({**payload(made), "charts": None})


def test_it_says_what_is_not_in_it(with_release):
    EVIDENCE.unlink()
    result = run("report", "mine.toml", "--output", "mine.html", "--threshold", "0.2")
    assert result.splitlines() == [
        "The report has no claims and no evidence: pymoo-anon release mine.toml writes them.",
        "Written: mine.html, about a choice that is not released",
    ]
    page = read(Path("mine.html").read_text(encoding="utf-8"))
    assert page.tables.get("claims") is None
    assert "a risk of 0.2, corresponds to k ≥ 5;" in " ".join(page.sentences["decision"])


def test_a_population_is_read_like_the_table(with_release):
    rows = pd.read_csv("mine.csv", dtype=str)
    pd.concat([rows] * 3).assign(more="x").to_csv("people.csv", index=False)
    run("report", "mine.toml", "--population", "people.csv")
    data = payload(REPORT.read_text(encoding="utf-8"))
    (member,) = (member for member in data["members"] if member["point"] == data["chosen"])
    journalist = data["pool"][member["tables"]["risks"]][2]
    sizes = pd.read_csv(RELEASE, dtype=str).groupby(["zip", "sex"]).size()
    assert journalist[2] == pytest.approx(1 / (3 * sizes.min()), rel=1e-5)


@pytest.mark.parametrize("own", [{"strip": True}, {"names": ("zip", "sex")}])
def test_a_population_that_is_no_csv_file_is_read_by_its_own_rules(with_release, own):
    pd.read_csv("mine.csv", dtype=str).to_parquet("people.parquet")
    project = read_project(Path("mine.toml"))
    front = Study(project).front
    odd = replace(project, reading=project.reading._replace(**own))
    assert population_of(odd, front.table, "people.parquet").n_rows == front.table.n_rows


def test_a_report_is_replaced_where_that_is_asked_for(with_release):
    REPORT.write_text("mine")
    assert "exists; --force replaces it" in refused("report", "mine.toml")
    run("report", "mine.toml", "--force")
    assert REPORT.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_the_evidence_is_that_of_what_was_released_last(with_release):
    row = json.loads(Path("front/choice.json").read_text(encoding="utf-8"))["row"]
    run("pick", "mine.toml", "--row", str(1 if row > 1 else 2))
    run("release", "mine.toml", "--output", "other.csv", "--anyway", "it is only a test")
    result = command("report", "mine.toml")
    assert (result.exit_code, result.stdout) == (0, "Written: other.report.html, about other.csv\n"), result.output
    told = dict(map(tuple, read(Path("other.report.html").read_text(encoding="utf-8")).tables["evidence"]))
    assert told["checksums › output › other.csv"] == hashlib.sha256(Path("other.csv").read_bytes()).hexdigest()
    Path("other.csv").write_text("changed")
    assert "other.csv does not hold: the file has changed" in refused("report", "mine.toml", "--force")


def changed_by_hand(key, value):
    content = json.loads(EVIDENCE.read_text(encoding="utf-8"))
    assert content["claims"][0][key] != value
    content["claims"][0][key] = value
    EVIDENCE.write_text(json.dumps(content), encoding="utf-8")


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (partial(RELEASE.write_text, "one more\n"), "does not hold: the file has changed: its checksum differs"),
        *(
            (partial(changed_by_hand, *claim), "out.csv.evidence.json differs from the search and the recount")
            for claim in (("promised", 7), ("recounted", 40), ("holds", None), ("measure", "GLM"))
        ),
    ],
)
def test_what_does_not_hold_is_verified_and_reported_by_no_command(with_release, damage, words):
    damage()
    assert words in refused("report", "mine.toml")
    assert words in run("verify", "mine.toml", code=1)


def test_a_release_that_is_missing_or_of_another_point_is_no_report(with_release):
    RELEASE.rename("elsewhere.csv")
    assert "out.csv is missing, and out.csv.evidence.json is there" in refused("report", "mine.toml")
    Path("elsewhere.csv").rename(RELEASE)
    run("pick", "mine.toml", "--row", "1")
    assert "is about another point than the chosen" in refused("report", "mine.toml")


def test_the_project_file_says_whose_data_and_for_whom(with_release):
    whole = Path("mine.toml").read_text(encoding="utf-8")
    said = '[report]\nowner = "the clinic"\nrecipients = "everybody"\npopulation-size = 5000\n'
    Path("mine.toml").write_text(f"{whole}\n{said}", encoding="utf-8")
    run("report", "mine.toml")
    page = read(REPORT.read_text(encoding="utf-8"))
    missing = "Purpose is not stated: fill in [report] of the project file, or step 6 of the screen."
    assert {"the clinic", "everybody", "mine.csv", "out.csv", missing} <= set(page.texts)
    assert page.sentences["open"][0] == missing
    assert not any("unique in the population" in words for words in page.sentences["open"])
    # An option wins over the file.
    told = refused("report", "mine.toml", "--population-size", "7", "--force")
    assert "--population-size must be a whole number from" in told
