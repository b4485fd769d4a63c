"""The commands `risk`, `compare` and `count`: any table before and after."""

import re
from pathlib import Path

import pandas as pd
import pytest
from command import own, refused, run, search, write_project
from rich.console import Console

from pymoo_anon.cli.files import run_compare, run_risk
from pymoo_anon.cli.options import CompareRequest, RiskRequest
from pymoo_anon.datasets import census_rows
from pymoo_anon.study import Study

pytestmark = pytest.mark.usefixtures("own_table")


def printed(run_it, request, path="out.txt"):
    """Return the lines that a command prints on a terminal of 80 columns."""
    with Path(path).open("w", encoding="utf-8") as file:
        run_it(request, Console(file=file, width=80, highlight=False, markup=False, soft_wrap=True))
    return Path(path).read_text(encoding="utf-8").splitlines()


def test_the_risk_of_any_table_fits_a_terminal():
    (frame,) = census_rows(2000)
    columns = list(frame)[:-1]
    frame.assign(**{"a" * 200: range(len(frame))}).to_csv("people.csv", index=False)
    lines = printed(run_risk, RiskRequest(data="people.csv", column=columns))
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80
    assert lines[0] == f"people.csv: {len(frame):,} rows."
    (unique,) = (line.split()[2] for line in lines if line.startswith("by all "))
    assert unique == f"{(~frame.duplicated(columns, keep=False)).sum():,}"


def test_the_next_command_can_be_typed_as_it_is_printed():
    Path("mine.csv").rename("my table.csv")
    assert run("risk", "my table.csv").endswith("Next: pymoo-anon init 'my table.csv'\n")
    with Path("a b.toml").open("w", encoding="utf-8") as file:
        file.write(Path("mine.toml").read_text(encoding="utf-8").replace("mine.csv", "my table.csv"))
    assert "Next: pymoo-anon pick 'a b.toml' --require" in search("a b.toml").output
    assert run("pick", "a b.toml", "--require", "k>=3").endswith("Next: pymoo-anon release 'a b.toml'\n")


def test_the_columns_are_guessed_named_or_those_of_the_project():
    # In this table the zip code decides the sex.
    assert "Quasi-identifiers, guessed (1): zip\n" in run("risk", "mine.csv")
    assert "Quasi-identifiers, of the project (2): zip, sex" in run("risk", "mine.toml")
    told = run("risk", "mine.csv", "--column", "zip", "--column", "note")
    assert "Quasi-identifiers, asked for (2): zip, note" in told
    assert re.search(r"by all +40 +100\.0 % +40 +40\n", told)
    assert "Rows with a minimal set that singles them out: 40 by 1 column and 0 by 2 columns.\n  40 by note\n" in told


def test_two_files_are_compared_by_their_classes():
    Path("a.csv").write_text("zip,sex\n1*,F\n1*,F\n2*,M\n")
    Path("b.csv").write_text("zip,sex\n*,F\n*,F\n*,F\n")
    lines = [line.split() for line in run("compare", "a.csv", "b.csv", "--quasi-identifier", "zip").splitlines()]
    assert " ".join(lines[0]).startswith("Rows are counted, in classes by zip. Higher is better for k, lower for risk,")
    assert lines[1:5] == [["a.csv", "b.csv"], ["rows", "3", "3"], ["classes", "2", "1"], ["k", "1", "3"]]
    assert lines[5:7] == [["mean", "risk", "66.7", "%", "33.3", "%"], ["rows", "in", "classes", "below", "2", "1", "0"]]


def test_two_releases_of_a_project_are_compared_by_their_people():
    own(diagnosis="sensitive")
    search("mine.toml")
    study = Study.open("mine.toml")
    rows = [row for row, k in enumerate(study.front.values(study.front.objectives[0]), start=1) if k > 1]
    study.release("a.csv", row=rows[0], suppressed="drop")
    with pytest.warns(UserWarning, match="a.csv is another release of this table"):
        study.release("b.csv", row=rows[-1], suppressed="drop")
    lines = printed(run_compare, CompareRequest(first="a.csv", second="b.csv", project=Path("mine.toml")))
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80
    told = " ".join(lines)
    assert "detail lost" in told
    assert "half of counts off by" in told
    assert "spr how much the better off gain" in told
    better = re.findall(
        r"By (?:class size|utility) (\d+) rows are better off with a.csv, (\d+) with b.csv, (\d+)", told
    )
    assert [sum(map(int, own)) for own in better] == [40, 40]
    told = refused("compare", "a.csv", "mine.csv", "--project", "mine.toml")
    assert "mine.csv must be a release of mine.toml, got another file" in told
    Path("a.csv").write_text(Path("a.csv").read_text() + "\n")
    assert "a.csv has changed since its release" in refused("compare", "a.csv", "b.csv", "--project", "mine.toml")


BOOK = pd.DataFrame(
    {
        "column": ["age", "age", "age", "zip", "zip"],
        "label": ["20–39", "40–59", "*", "0213*", ""],
        "members": ["20–39", "40–59", "20–59 | any value: the row is suppressed", "02130 | 02131", "(missing)"],
    }
)


def test_a_name_is_found_where_its_blanks_alone_differ():
    text = Path("mine.csv").read_text().replace("diagnosis", "net\u00a0income", 1)
    Path("mine.csv").write_text(text, encoding="utf-8")
    Path("mine.csv.codebook.csv").write_text("column,label,members\n")
    named, known = ("mine.csv", "--quasi-identifier", "zip", "--quasi-identifier"), r"net\xa0income"
    assert f"asked for (1): {known}\n" in run("risk", "mine.csv", "--column", "net income")
    assert f"zip and {known}." in run("compare", *named[:1], "trees/../mine.csv", *named[1:], "net income")
    assert f"{known}  " in run("hierarchy", "draft", "mine.csv", "--column", "net income")
    assert f"l of {known} " in run("verify", *named[:3], "--sensitive", "net income")
    assert f"l of {known} " in run("verify", *named[:3], "--require", "l:net income>=1")
    assert run("count", "mine.csv", "--where", "net income=flu").split()[-3:] == ["14", "14", "14"]
    assert "to be summed" in refused("count", "mine.csv", "--of", "net income")
    write_project(
        {"zip": "trees/zip.csv", "net\u00a0income": "sensitive", **dict.fromkeys(("sex", "paid", "note"), "drop")}
    )
    assert " l  " in run("search", "mine.toml", "--require", "l:net income>=1", "--objectives", "k,GLM")
    run("search", "mine.toml", "--require", "k>=2", "--objectives", "k,GLM")
    run("pick", "mine.toml", "--require", "l:net income>=1")
    run("release", "mine.toml")
    write_project({"net\u00a0income": "trees/flat.csv", **dict.fromkeys(("zip", "sex", "paid", "note"), "drop")})
    Path("trees/flat.csv").write_text("flu;*\ncold;*\nasthma;*\n")
    asked = ("--level", "net income=1..1", "--weight", "net income=2", "--require", "k[net income]>=2")
    assert "1 point, " in run("search", "mine.toml", "--suppression", "0", *asked)


TABLE = pd.DataFrame(
    {"age": ["20–39", "20–39", "40–59", "*"], "zip": ["0213*", "", "0213*", "0213*"], "cost=eur": ["1", "2.5", "", "4"]}
)


@pytest.fixture
def received(folder):
    """Write a release and its codebook, and nothing else."""
    TABLE.to_csv("out.csv", index=False)
    BOOK.to_csv("out.csv.codebook.csv", index=False)


def lines(*arguments):
    return [line.split() for line in run("count", *arguments).splitlines()]


def test_rows_are_counted_from_the_table_and_its_codebook(received):
    assert lines("out.csv") == [["least", "most", "estimate"], ["rows", "4", "4", "4"]]
    assert lines("out.csv", "--where", "age=20..29")[1] == ["rows", "0", "3", "1.25"]
    assert lines("out.csv", "--where", "age=20..39", "--where", "zip=02130|02131")[1] == ["rows", "1", "2", "1.5"]
    assert lines("out.csv", "--where", "zip=", "--where", "cost=eur=2.5")[1:] == [["rows", "1", "1", "1"]]
    assert run("count", "out.csv", "--where", "zip=9").endswith(
        "0\nNo row can meet that. out.csv.codebook.csv has the values behind each label.\n"
    )
    Path("out.csv").write_text(Path("out.csv").read_text().replace(",1\n", ",1111.11\n"))
    _, rows, total, mean = lines("out.csv", "--where", "age=20..39", "--of", "cost=eur")
    assert rows[1:] == ["2", "3", "2.5"]
    # Bounds are rounded outward.
    assert total == ["sum", "of", "cost=eur", "1,113.6", "1,117.7", "1,115.6"]
    assert mean == ["mean", "of", "cost=eur", "372.536", "556.805", "446.244"]
    Path("out.csv.codebook.csv").rename("book.csv")
    assert lines("out.csv", "--codebook", "book.csv")[1:] == [["rows", "4", "4", "4"]]
