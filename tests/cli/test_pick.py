"""`pymoo-anon pick`: choices, messages, files and refusals."""

import hashlib
import json
import os
import re
import shlex
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from command import FILES, OF_OWN_TABLE, command, made_in, project_of, refused, run, write_own_table

from pymoo_anon.cli.options import PickRequest as Wish
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.publishing import explain
from pymoo_anon.study import Study
from pymoo_anon.study.project import read_project
from pymoo_anon.study.stored import bound_text as text_of

PROJECT = project_of(
    {**OF_OWN_TABLE, "diagnosis": "sensitive", "paid": "label", "note": "drop"},
    search={"objectives": ["k", "l", "GLM"], "suppression": 0},
)

CHOICE = Path("mine-front", "choice.json")


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    """Create a folder with table, project and front. Its points have k of 40, 20, 8 and 4."""
    with made_in(tmp_path_factory, "search mine.toml") as folder:
        write_own_table(folder)
        (folder / "mine.toml").write_text(PROJECT, encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def in_searched(searched, monkeypatch):
    monkeypatch.chdir(searched)
    CHOICE.unlink(missing_ok=True)
    return searched


pick = partial(command, "pick")


def chosen():
    return json.loads(CHOICE.read_text(encoding="utf-8"))


def test_what_it_says_and_writes():
    result = run("pick", "mine.toml", "--require", "k>=5", "--least", "GLM")
    assert result.splitlines() == [
        "Row 3 of 4: k = 8, l = 3 and GLM = 17.7778 (22.2 %).",
        "Next: pymoo-anon release mine.toml",
    ]
    result = pick("mine.toml", "--require", "k>=5", "--least", "GLM", "--explain")
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert lines[1] == "It is the least GLM of the 3 points with k >= 5, of 4."
    assert lines[2] == "Required: k >= 5: 8, met."
    front = Study.open("mine.toml").front
    own = front.choose(require=[KAnonymity() >= 5], best=GeneralLossMetric())
    # Words fold at the end of a line.
    explained = str(explain(front.problem, front, own)).split()
    assert result.stdout.split()[-len(explained) - 4 : -4] == explained
    assert chosen() == {
        "row": 3,
        "levels": {"zip": 1, "sex": 0},
        "values": {"k": 8, "l": 3, "GLM": own.values["GLM"]},
        "suppressed": 0,
        "reason": "the least GLM of the 3 points with k >= 5, of 4",
        "requirements": ["k>=5"],
        "front": {"rows": 4, "sha256": hashlib.sha256(Path("mine-front/front.csv").read_bytes()).hexdigest()},
    }
    assert sorted(os.listdir("mine-front")) == ["choice.json", *FILES, "search.npz"]


PICKS = Path(__file__).with_name("picks.txt").read_text(encoding="utf-8").splitlines()[2:]


@pytest.mark.parametrize("line", PICKS)
def test_every_way_to_choose(line):
    row, *arguments = shlex.split(line)
    result = run("pick", "mine.toml", *arguments)
    assert result.startswith(f"Row {row} of 4: ")
    assert max(map(len, result.splitlines())) <= 160
    assert chosen()["row"] == int(row)


def test_a_choice_is_read_again():
    project = read_project(Path("mine.toml"))
    front = Study(project).front
    with pytest.raises(
        ValueError, match=r"no point of mine\.toml is chosen: .*choice\.json is missing; pymoo-anon pick"
    ):
        _ = Study(project).choice
    pick("mine.toml", "--row", "2")
    choice = Study(project).choice
    assert choice == front.choose(row=1)
    assert choice.reason == json.loads(CHOICE.read_text(encoding="utf-8"))["reason"]
    written = CHOICE.read_text(encoding="utf-8")
    content = json.loads(written)
    before = {"row": 0, "levels": dict(zip(content["levels"], front.X[-1].tolist(), strict=True))}
    for wrong in ({"row": 1}, before, {"row": 9}, {"row": True}, {"levels": {"zip": 1, "sex": 0}}):
        CHOICE.write_text(json.dumps(content | wrong), encoding="utf-8")
        with pytest.raises(ValueError, match="must hold a row of the front and its levels, got row"):
            _ = Study(project).choice
    half = '{"row": 2, "front": {"sha256": ""}, "levels": 3}'
    for damaged in ("", "{}", "[]", '{"row": 2, "front": 3}', "[" * 100_000, half):
        CHOICE.write_text(damaged, encoding="utf-8")
        with pytest.raises(ValueError, match=r"choice\.json must be what pymoo-anon pick wrote"):
            _ = Study(project).choice
    CHOICE.write_text(written.replace('"sha256": "', '"sha256": "0'), encoding="utf-8")
    with pytest.raises(ValueError, match=r"was chosen from another front than .*front\.csv: pick again"):
        _ = Study(project).choice


def test_weights_of_a_column_with_a_comma():
    wish = Wish(file=Path("mine.toml"), weights='"l:a,b=c=1.5",GLM=2')
    assert wish.weighted() == {"l:a,b=c": 1.5, "GLM": 2}


def test_what_makes_no_release_is_not_offered(own_table):
    """Reject a point of k = 1 by default and by row."""
    table = pd.read_csv("mine.csv", dtype=str)
    pd.concat([table, table[:1].assign(zip=table.zip.iloc[-1])]).drop_duplicates(["zip", "sex"]).to_csv(
        "mine.csv", index=False
    )
    Path("mine.toml").write_text(PROJECT, encoding="utf-8")
    run("search", "mine.toml")
    front = Study.open("mine.toml").front
    alone = [place for place in range(len(front)) if front.values(KAnonymity())[place] == 1]
    assert alone == [len(front) - 1]
    assert front.choose().row == alone[0]
    result = run("pick", "mine.toml", "--explain")
    assert chosen()["row"] < len(front)
    assert chosen()["values"]["k"] > 1
    left_out = f"1 point cannot be released. Row {len(front)}: k is 1: some row stands alone in a class."
    assert (left_out in " ".join(result.split()), "  k = " in result, "  GLM = " in result) == (True, True, False)
    n = len(front) - 1
    assert chosen()["reason"] == f"the least GLM of all {n} points that can be released"
    told = refused("pick", "mine.toml", "--require", "k>=99")
    assert told.startswith(f"no point of the front's {n} that can be released has k >= 99; ")
    CHOICE.unlink()
    assert refused("pick", "mine.toml", "--row", str(len(front))) == (
        f"--row {len(front)} cannot be released: k is 1: some row stands alone in a class; pick another row"
    )


def test_what_is_asked_for_is_held_against_the_marked_rows(own_table):
    """Refuse to promise two diagnoses for four marked rows with one."""
    rows = [f"0213{zip_code},{sex},flu,yes,x" for zip_code, sex in ("9F", "9F", "8M", "8M")]
    with Path("mine.csv").open("a", encoding="utf-8") as file:
        file.write("\n".join([*rows, ""]))
    text = PROJECT.replace('["k", "l", "GLM"]', '["k", "GLM"]').replace("suppression = 0", "suppression = 4")
    Path("mine.toml").write_text(text, encoding="utf-8")
    run("search", "mine.toml")
    front = Study.open("mine.toml").front
    (row,) = [place + 1 for place in range(len(front)) if front.n_suppressed[place] == 4]
    run("pick", "mine.toml", "--row", str(row))
    CHOICE.unlink()
    why = f"row {row} cannot be released: its 4 suppressed rows would be a class with l = 1, not 2; "
    assert why in refused("pick", "mine.toml", "--row", str(row), "--require", "l>=2")
    told = refused("pick", "mine.toml", "--row", str(row), "--risk", "0.1")
    assert told.startswith("--row must be a point with k >= 10")


def test_a_better_point_with_too_few_marked_rows_is_told(own_table):
    """Say why the point that is asked for is not it, unless its rows are left out."""
    with Path("mine.csv").open("a", encoding="utf-8") as file:
        file.write("0213X,D,flu,yes,x\n" * 3)
    for name, line in (("zip", "0213X;none;*"), ("sex", "D;*")):
        with Path("trees", f"{name}.csv").open("a", encoding="utf-8") as file:
            file.write(f"\n{line}\n" if name == "zip" else f"{line}\n")
    Path("mine.toml").write_text(PROJECT.replace("suppression = 0", "suppression = 3"), encoding="utf-8")
    run("search", "mine.toml")
    result = run("pick", "mine.toml", "--require", "k>=4")
    assert chosen()["suppressed"] == 0
    said = re.search(r"\nRow (\d+) fits better, but its 3 suppressed rows would be a class (.*?)\n", result)
    assert said[2] == 'smaller than k; suppressed = "drop" leaves them out.'
    assert "fits better" not in run("pick", "mine.toml", "--row", str(chosen()["row"]), "--require", "k>=4")
    with Path("mine.toml").open("a", encoding="utf-8") as file:
        file.write('[release]\nsuppressed = "drop"\n')
    assert run("pick", "mine.toml", "--require", "k>=4").startswith(f"Row {said[1]} of ")


@pytest.mark.parametrize(
    ("arguments", "requirements"),
    [
        (["--require", "k>=5", "--risk", "0.2"], ["k>=5"]),
        (["--risk", "0.09"], ["k>=12"]),
        (
            ["--require", "entropy-l:diagnosis >= 1.5", "--require", "t<=0.5"],
            ["entropy-l:diagnosis>=1.5", "t:diagnosis<=0.5"],
        ),
        ([], []),
    ],
)
def test_what_was_asked_for_is_kept_and_read_again(arguments, requirements):
    result = run("pick", "mine.toml", *arguments, "--explain")
    assert chosen()["requirements"] == requirements
    project = read_project(Path("mine.toml"))
    choice = Study(project).choice
    assert len(choice.requirements) == len(requirements)
    assert choice.reason == chosen()["reason"]
    assert result.count("Required: ") == result.count(", met.") == len(requirements)
    content = chosen()
    CHOICE.write_text(json.dumps(content | {"requirements": ["k>=1000"]}), encoding="utf-8")
    with pytest.raises(ValueError, match=r"must hold what the chosen point meets, got \['k>=1000'\]"):
        _ = Study(project).choice


def test_a_requirement_keeps_all_its_digits():
    assert text_of(GeneralLossMetric() <= 1234567.25) == "GLM<=1234567.25"
    assert text_of(KAnonymity() >= 12345678) == "k>=12345678"


def test_a_front_without_a_loss_needs_a_way():
    run("search", "mine.toml", "--objectives", "k,l", "--output", "lossless")
    ways = "one of --least, --most, --row, --knee, --weights must say which point to take"
    assert refused("pick", "lossless", "--require", "k>=5") == f"{ways}, as no objective of lossless is a loss"
    assert run("pick", "lossless", "--row", "1").startswith("Row 1 of 1: ")
