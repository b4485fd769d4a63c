"""The project file: contents, refusals, and a search that reads it."""

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from command import FILES, command, edit, front, made_in, own, record, refused, run, search, write_own_table
from malformed import table_files
from malformed_projects import RIGHT, project_files
from strategies import times

from pymoo_anon.study import Study
from pymoo_anon.study.project import read_project
from pymoo_anon.table import Hierarchy

#: Files that are broken; more by hand.
N_BROKEN = times(100)

pytestmark = pytest.mark.usefixtures("right_project")


def written(text):
    Path("my.toml").write_text(text, encoding="utf-8")
    return read_project(Path("my.toml"))


def broken(text):
    with pytest.raises(ValueError, match=r"^my\.toml") as error:
        assert written(text).settings()
    return str(error.value).removeprefix("my.toml").removeprefix(": ")


def test_what_a_project_says(right_project):
    own = read_project(right_project / "my.toml")
    assert own.data.path == right_project / "mine.csv"
    assert own.quasi_identifiers == {"zip": right_project / "trees/zip.csv", "sex": right_project / "trees/sex.csv"}
    assert own.roles == (["diagnosis"], None, None)
    assert (own.with_role("keep"), own.with_role("drop", "identifier")) == (["paid"], ["note"])
    assert (own.missing, *own.reading[1:]) == ("raise", "duckdb", ("?",), None, False, None, ".")
    assert (own.output, own.release.path, own.suppressed) == (
        right_project / "out",
        right_project / "released.csv",
        "mark",
    )
    assert dict(own.search) == {
        "objectives": "k,GLM",
        "require": ["k>=2"],
        "suppression": "0.1",
        "algorithm": "pbgea",
        "generations": 2,
        "pop_size": 4,
        "seed": 1,
    }


def test_what_is_not_written_is_as_usual():
    own = written('[data]\nfile = "mine.csv"\n[columns.zip]\nrole = "quasi-identifier"\nhierarchy = "z.csv"\n')
    assert (own.missing, *own.reading[1:]) == ("raise", "auto", (), None, False, None, ".")
    assert (own.output, own.release.path, dict(own.search)) == (Path("my-front"), Path("my-release.csv"), {})


def test_texts_of_options_may_be_lists():
    own = written(RIGHT.replace('["k", "GLM"]', '["k", "l:a,b"]').replace("seed = 1", "epsilon = [1, 0.5]"))
    assert (own.search["objectives"], own.search["epsilon"]) == ('k,"l:a,b"', "1,0.5")
    assert written(RIGHT.replace('["k>=2"]', '"k>=2"')).search["require"] == ["k>=2"]
    Path("my.toml").write_text(RIGHT.replace("seed = 1", f'epsilon = "{"1" * 131_073}"'), encoding="utf-8")
    assert refused("search", "my.toml").endswith(
        "names must be separated by commas, as in a CSV file: field larger than field limit (131072)"
    )


BLOCKS = Path(__file__).with_name("projects.txt").read_text(encoding="utf-8").split("\n\n")[1:]


@pytest.mark.parametrize("block", BLOCKS)
def test_a_change_that_makes_a_project_wrong_is_said_in_a_sentence(block):
    *lines, sentence = block.splitlines()
    old, new = ("\n".join(line[2:] for line in lines if line.startswith(sign)) for sign in "-+")
    assert old in RIGHT
    told = broken(RIGHT.replace(old, new) if old else f"{RIGHT}\n{new}\n")
    assert re.fullmatch(re.escape(sentence).replace("…", ".*"), told), told


@pytest.fixture(scope="module")
def searched_once(tmp_path_factory):
    with made_in(tmp_path_factory, "search my.toml") as folder:
        write_own_table(folder)
        Path("my.toml").write_text(RIGHT, encoding="utf-8")
    return folder


@pytest.fixture
def searched(searched_once, folder):
    return shutil.copytree(searched_once, folder, dirs_exist_ok=True)


@pytest.mark.parametrize(
    ("path", "old", "new", "message"),
    [
        ("mine.csv", "\n02130", "\n02130,F,flu,no,41\n02130", "changed since: mine.csv"),
        ("trees/sex.csv", "M;*", "M;*\nX;*", "changed since: trees/sex.csv"),
        ("my.toml", '"raise"', '"drop"', "changed since: how my.toml reads it"),
        ("my.toml", '"keep"', '"sensitive"', "changed since: how my.toml"),
        ("my.toml", '["?"]', "[]", "changed since: how my.toml"),
        ("my.toml", '["?"]', '["?"]\nstrip = true', "changed since: how my.toml"),
        ("out/front.csv", "0", "1", r"out/front\.csv has changed since the search: its checksum in out/run\.json"),
        ("out/front.csv", None, "", r"out/front\.csv is missing; pymoo-anon search my\.toml writes it"),
    ],
)
def test_results_of_something_else_are_refused(searched, path, old, new, message):
    if old is None:
        Path(path).unlink()
    else:
        edit(path, old, new)
    with pytest.raises(ValueError, match=message) as error:
        _ = Study.open("my.toml").front
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ('["k>=2"]', '["k>=60"]', "require"),
        ('["k>=2"]', "[]", "require"),
        ('["k>=2"]', '["k>=2", "t:diagnosis<=0.5"]', "require"),
        ("suppression = 0.1", "suppression = 0.2", "suppression"),
        ("suppression = 0.1", "", "suppression"),
        ("suppression = 0.1", 'suppression = "violating:0.1"', "suppression"),
        ('["k", "GLM"]', '["k", "l", "GLM"]', "objectives"),
        ('objectives = ["k", "GLM"]', "", "objectives"),
        # These decide no front.
        ('["k>=2"]', '"k >= 2.0"', None),
        ('["k", "GLM"]', '"GLM, k"', None),
        ("suppression = 0.1", 'suppression = "0.10"', None),
        ("seed = 1", "seed = 2", None),
        ("generations = 2", "generations = 9", None),
        ('"keep"', '"drop"', None),
        ('"mark"', '"drop"', None),
    ],
)
def test_a_search_that_was_edited_since_is_noticed(searched, old, new, changed):
    edit("my.toml", old, new)
    if changed is None:
        assert len(Study.open("my.toml").front) > 0
        return
    told = f"changed since: {changed} in [search] of my.toml; search again"
    for name in ("pick", "release", "report"):
        assert told in refused(name, "my.toml")


def test_what_was_asked_for_on_the_command_line_may_stand_in_the_file_or_not():
    run("search", "my.toml", "--require", "k>=4")
    assert len(Study.open("my.toml").front) > 0
    edit("my.toml", "k>=2", "k>=4")
    assert len(Study.open("my.toml").front) > 0
    edit("my.toml", "k>=4", "k>=3")
    with pytest.raises(ValueError, match=r"changed since: require in \[search\]"):
        _ = Study.open("my.toml").front


def test_every_key_of_a_record_is_checked(searched):
    whole = json.loads(Path("out/run.json").read_text())
    keys = ("options", "front", "certified", "n_undecided", "stopped", "algorithm")
    lacking = [json.dumps({name: value for name, value in whole.items() if name != key}) for key in keys]
    for damaged in [*lacking, json.dumps({**whole, "algorithm": {}}), "[" * 100_000]:
        Path("out/run.json").write_text(damaged)
        with pytest.raises(ValueError, match="must be what pymoo-anon search wrote"):
            _ = Study.open("my.toml").front


@pytest.mark.skipif(os.name == "nt", reason="the system has no such files")
@pytest.mark.parametrize(
    ("path", "got"), [("/dev/zero", "a device or a pipe"), ("pipe", "a device or a pipe"), (".", "a folder")]
)
def test_what_never_ends_is_not_read(searched, path, got):
    os.mkfifo("pipe")
    Path("my.toml").write_text(RIGHT.replace("trees/sex.csv", path))
    assert refused("search", "my.toml") == f"{path} must be a file, got {got}; name a file"
    other = "trees" if path == "." else path
    assert refused("search", other) == f"{other} must be a file, got {got}; name a file"
    Path("my.toml").write_text(RIGHT)
    for file in ("out/front.csv", "out/run.json", "mine.csv"):
        whole = Path(file).read_bytes()
        Path(file).unlink()
        os.mkfifo(file)
        with pytest.raises(ValueError, match=re.escape(file)):
            _ = Study.open("my.toml").front
        Path(file).unlink()
        Path(file).write_bytes(whole)


def test_a_hierarchy_that_is_too_large_is_not_read(tmp_path):
    with open("trees/sex.csv", "r+b") as file:
        file.truncate(10**12)
    expected = "trees/sex.csv must be a file of at most 250,000,000 bytes, got 1,000,000,000,000; name another file"
    with pytest.raises(ValueError, match=expected):
        Hierarchy.from_csv("trees/sex.csv")


def is_one_sentence(result):
    """Tell whether a command ran or ended with one error sentence."""
    if result.exit_code == 0:
        return True
    error = result.stderr.removesuffix("\n")
    return result.exit_code == 2 and error.startswith("Error: ") and "\n" not in error and len(error) < 700


@pytest.mark.parametrize(
    ("path", "made", "n", "most"),
    [("my.toml", project_files, N_BROKEN, 0.5), ("mine.csv", table_files, N_BROKEN // 2, 0.4)],
)
def test_broken_files_end_in_one_sentence(monkeypatch, path, made, n, most):
    # The search itself is tested elsewhere.
    monkeypatch.setattr("pymoo_anon.study.search.write_front", lambda *args: None)
    monkeypatch.setattr("pymoo_anon.study.search.put_in_place", lambda *args: [])
    ran = 0
    for seed in range(n):
        Path(path).write_bytes(made(seed))
        result = search("my.toml")
        assert is_one_sentence(result), (seed, result.output, result.exception)
        ran += result.exit_code == 0
    # Some are broken in no way that matters, most are.
    assert 0.02 * N_BROKEN < ran < most * N_BROKEN


WISHES = RIGHT.replace('trees/zip.csv"', 'trees/zip.csv"\nlevels = [1, 1]\nweight = 3')


def test_wishes_reach_the_report():
    Path("my.toml").write_text(WISHES, encoding="utf-8")
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
        assert f"changed since: {key} in [columns] of my.toml" in refused("pick", "my.toml")
    # The command line wins.
    run("search", "my.toml", "--level", "zip=2..2", "--weight", "sex=2")
    assert set(front("out").zip) == {2}
    assert len(Study.open("my.toml").front) > 0
    assert record("out")["objectives"][1] == "GeneralLossMetric({'sex': 2.0})"


def test_weights_of_shares_have_the_sum_1():
    run("search", *own()[:3], "--objectives", "k,NWP", "--weight", "zip=3")
    assert record()["objectives"][1] == "NormalizedWeightedPenalty({'zip': 0.75, 'sex': 0.25})"


def test_options_win_over_the_file_and_the_last_of_them_counts():
    asked = ["--seed", "7", "--seed", "8", "--require", "k>=3", "--algorithm", "bnb", "--output", "mine"]
    run("search", "my.toml", *asked)
    options = record("mine")["options"]
    assert (options["seed"], options["require"], options["suppression"]) == (8, ["k>=3"], "0.1")
    # The file's generations are for another algorithm.
    assert (options["algorithm"], options["generations"]) == ("bnb", 100)
    assert (front("mine")["k"] >= 3).all()
    # So is its algorithm, for whole columns.
    run("search", "my.toml", "--local", "--output", "mine")
    assert record("mine")["algorithm"]["name"] == "nsga2"


@pytest.mark.skipif(os.name == "nt" or sys.platform == "darwin", reason="names of files are text there")
def test_names_of_files_that_are_no_text():
    name = os.fsdecode(b"my-\xff.toml")
    os.rename("my.toml", name)
    run("search", name, "--output", os.fsdecode(b"out-\xfe"))
    assert sorted(os.listdir(b"out-\xfe")) == [os.fsencode(file) for file in [*FILES, "search.npz"]]


@pytest.mark.parametrize("width", ["24", "40"])
def test_a_narrow_terminal_loses_no_number(width):
    result = command("search", "my.toml", COLUMNS=width, TERM="dumb")
    assert result.exit_code == 0, result.output
    for name in ("search", "pick", "release", "verify", "report", "init"):
        shown = command(name, "--help", COLUMNS=width, TERM="dumb")
        assert shown.exit_code == 0
        assert max(map(len, shown.stdout.splitlines())) <= int(width)
