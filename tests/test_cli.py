"""The command line: what it writes, what it says, and what it refuses."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from pymoo_anon.cli.app import app
from pymoo_anon.cli.options import OBJECTIVES

SMALL = ["--rows", "300", "--generations", "5"]

FILES = ["front.csv", "front.png", "run.json"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def own_table(folder):
    """A user's own file: zip codes with leading zeros, a sensitive column, a label, and their hierarchies."""
    diagnoses, paid = ["flu", "cold", "asthma"], ["yes", "yes", "no", "no"]
    rows = [f"0213{i % 10},{'FM'[i % 2]},{diagnoses[i % 3]},{paid[i % 4]},{i}" for i in range(40)]
    (folder / "mine.csv").write_text("\n".join(["zip,sex,diagnosis,paid,note", *rows, ""]), encoding="utf-8")
    (folder / "trees").mkdir()
    lines = [f"0213{i};0213{i // 5}x;*" for i in range(10)]
    (folder / "trees" / "zip.csv").write_text("\n".join(lines), encoding="utf-8")
    (folder / "trees" / "sex.csv").write_text("F;*\nM;*\n", encoding="utf-8")
    return ["--data", "mine.csv", "--hierarchies", "trees", "--generations", "5"]


def search(*arguments):
    return CliRunner().invoke(app, ["search", *arguments])


def refused(*arguments):
    result = search(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert not Path("front").exists()
    return result.stderr.removesuffix("\n")


def front():
    return pd.read_csv("front/front.csv")


def record():
    return json.loads(Path("front/run.json").read_text(encoding="utf-8"))


def test_a_search_prints_and_writes_the_front():
    result = search(*SMALL)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert sorted(os.listdir("front")) == FILES
    assert list(front())[-3:] == ["k", "l", "GLM"]
    assert "Table: 300 rows, " in result.stdout
    assert "8 quasi-identifiers, a lattice of 17,920 nodes.\n" in result.stdout
    assert re.search(r"^Compiled or loaded in \d+\.\d s; what is compiled stays on disk", result.stdout, re.MULTILINE)
    counts = rf"Members of the front: {len(front())}, found in \d+\.\d s from {record()['n_unique']} distinct nodes \("
    assert re.search(counts, result.stdout)
    assert result.stdout.endswith(f"Written: {', '.join(str(Path('front', name)) for name in FILES)}\n")
    shown = [line.split() for line in result.stdout.splitlines()]
    assert sum(len(line) == 11 and line[0].isdigit() for line in shown) == len(front())


def test_the_record_holds_every_option():
    search(*SMALL, "--seed", "7", "--output", "front")
    options = record()["options"]
    assert (options["seed"], options["rows"], options["generations"], options["output"]) == (7, 300, 5, "front")
    assert set(options) == {
        *("data", "rows", "hierarchies", "sensitive", "label", "missing", "objectives", "suppression"),
        *("suppress_below", "algorithm", "generations", "pop_size", "epsilon", "seed", "output", "verbose"),
        "require",
    }
    assert record()["suppression_limit"] == 3


@pytest.mark.parametrize("algorithm", ["pbgea", "nsga2"])
def test_same_seed_same_front(algorithm):
    for folder, seed in [("a", "1"), ("b", "1"), ("c", "2")]:
        search(*SMALL, "--algorithm", algorithm, "--seed", seed, "--output", folder)
    first, again, other = (Path(folder, "front.csv").read_bytes() for folder in "abc")
    assert first == again
    assert first != other


@pytest.mark.parametrize("algorithm", ["pbgea", "nsga2", "bnb", "exhaustive"])
def test_every_generalization_keeps_what_is_required(algorithm):
    bounds = ["--require", "k>=10", "--require", "t <= 0.6", "--require", "precision>=0.1"]
    result = search("--rows", "300", "--objectives", "k,GLM", "--algorithm", algorithm, *bounds)
    assert result.exit_code == 0, result.output
    found = front()
    assert list(found)[-4:] == ["k", "GLM", "t", "precision"]
    assert len(found) > 1
    assert found.k.min() >= 10
    assert found.t.max() <= 0.6
    assert found.precision.min() >= 0.1
    assert record()["constraints"] == [
        "KAnonymity() >= 10",
        "TCloseness('occupation') <= 0.6",
        "Precision() >= 0.1",
    ]


@pytest.mark.parametrize("algorithm", ["pbgea", "bnb", "exhaustive"])
def test_what_no_generalization_keeps_is_an_error(algorithm):
    arguments = ["--rows", "300", "--algorithm", algorithm, "--objectives", "k,GLM", "--require", "k>=301"]
    result = search(*arguments)
    assert result.exit_code == 2
    among = r"the \d+ that were visited" if algorithm == "pbgea" else "the lattice"
    message = f"Error: no generalization of {among} keeps k>=301; ask for less, or allow more suppression"
    assert re.fullmatch(message, result.stderr.strip())
    assert os.listdir() == []


def test_every_objective_has_a_short_name_that_works():
    names = ",".join(f"{name}:sex" if name == "CM" else name for name in OBJECTIVES)
    result = search("--rows", "60", "--generations", "3", "--objectives", names)
    assert result.exit_code == 0, result.output
    assert len(record()["objectives"]) == len(OBJECTIVES)


def test_exhaustive_search():
    result = search("--rows", "300", "--algorithm", "exhaustive", "--objectives", "k,GLM")
    assert result.exit_code == 0, result.output
    assert "17,920 distinct nodes (100.0% of the lattice)" in result.stdout
    assert list(front())[-2:] == ["k", "GLM"]


@pytest.mark.parametrize("algorithm", ["pbgea", "nsga2", "bnb", "exhaustive"])
def test_verbose_shows_the_table_of_pymoo(algorithm):
    result = search("--rows", "50", "--verbose", "--algorithm", algorithm, "--objectives", "k,GLM", "--seed", "3")
    assert result.exit_code == 0, result.output
    assert "n_gen" in result.stdout


def test_all_objectives():
    result = search(*SMALL, "--objectives", "k, l, S_k, S_l, GLM, CM:salary-class, l:sex")
    assert result.exit_code == 0, result.output
    assert list(front())[-7:] == ["k", "l of occupation", "S_k", "S_l", "GLM", "CM", "l of sex"]


@pytest.mark.parametrize(
    ("arguments", "limit", "below"),
    [
        ([], 3, 0),
        (["--suppression", "0.1"], 30, 0),
        (["--suppression", "5"], 5, 0),
        (["--suppression", "0"], 0, 0),
        (["--suppress-below", "4"], 0, 4),
    ],
)
def test_suppression(arguments, limit, below):
    search(*SMALL, *arguments)
    assert (record()["suppression_limit"], record()["suppress_below"]) == (limit, below)


def test_larger_boxes_hold_fewer_members():
    search(*SMALL)
    fine = len(front())
    search(*SMALL, "--epsilon", "10,5,1000")
    assert len(front()) < fine


def test_own_table(own_table):
    result = search(*own_table, "--sensitive", "diagnosis", "--label", "paid", "--objectives", "k,l,CM,GLM")
    assert result.exit_code == 0, result.output
    assert list(front()) == ["sex", "zip", "k", "l", "CM", "GLM"]
    assert (record()["n_rows"], record()["n_distinct"], record()["n_nodes"]) == (40, 10, 6)
    assert record()["options"]["sensitive"] == ["diagnosis"]


def test_default_objectives_read_every_sensitive_column(own_table):
    search(*own_table)
    assert list(front())[2:] == ["k", "GLM"]
    search(*own_table, "--sensitive", "diagnosis")
    assert list(front())[2:] == ["k", "l", "GLM"]
    search(*own_table, "--sensitive", "diagnosis", "--sensitive", "paid")
    assert list(front())[2:] == ["k", "l of diagnosis", "l of paid", "GLM"]


def test_missing_values_of_an_own_table(own_table):
    with Path("mine.csv").open("a", encoding="utf-8") as file:
        file.write("02130,,flu,yes,1\n02131,F,NA,no,2\n")
    message = (
        "Error: frame must have no missing values, got 1 of 42 rows with some: 1 in 'sex'; missing='drop' leaves these "
        "rows out, missing='keep' makes them a value of their own"
    )
    assert refused(*own_table, "--sensitive", "diagnosis") == message
    search(*own_table, "--sensitive", "diagnosis", "--missing", "drop")
    assert record()["n_rows"] == 41
    search(*own_table, "--sensitive", "diagnosis", "--missing", "keep")
    assert record()["n_rows"] == 42


def test_a_hierarchy_without_a_root_is_a_warning(own_table):
    Path("trees/sex.csv").write_text("F;women\nM;men\n", encoding="utf-8")
    result = search(*own_table)
    assert result.exit_code == 0, result.output
    assert result.stderr == (
        "Warning: the hierarchies of 'sex' do not end in one group, so that no node is wholly generalized; "
        "Hierarchy.with_root() adds a level '*'\n"
    )


@pytest.mark.usefixtures("adult_rows")
def test_adult():
    result = search("--data", "adult", "--generations", "3")
    assert result.exit_code == 0, result.output
    assert "30,162 rows, 12,458 distinct tuples of 8 quasi-identifiers, a lattice of 17,920 nodes" in result.stdout


@pytest.mark.usefixtures("adult_rows")
def test_the_label_of_adult_is_no_quasi_identifier():
    result = search("--data", "adult", "--generations", "3", "--objectives", "k,GLM,CM")
    assert result.exit_code == 0, result.output
    assert record()["n_nodes"] == 8960
    assert "salary-class" not in front()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "adlt"], "data must be census, adult or a CSV file, got 'adlt', which is no file"),
        (["--algorithm", "pbg"], "algorithm must be one of pbgea, nsga2, bnb, exhaustive, got 'pbg'"),
        (["--objectives", "k,glm"], f"objectives must be one of {', '.join(OBJECTIVES)}, got 'glm'"),
        (["--objectives", ""], f"objectives must be one of {', '.join(OBJECTIVES)}, got ''"),
        (["--require", "K>=5"], f"require must be one of {', '.join(OBJECTIVES)}, got 'K'"),
        (["--require", "k=5"], "require must be a bound such as 'k>=5' or 't<=0.3', got 'k=5'"),
        (["--require", "k>=five"], "require must be a number, got 'five'"),
        (["--require", "k>=inf"], "the bound of KAnonymity() must be finite, got inf"),
        (["--objectives", "k:age"], "objectives: k reads no column, got 'k:age'"),
        (["--objectives", "k,k"], "objectives must differ, given more than once: KAnonymity()"),
        (
            ["--objectives", "CM"],
            "objectives: CM reads one label column and the table has none; CM:NAME names a column",
        ),
        (
            ["--objectives", "l:disease"],
            "DistinctLDiversity('disease') reads column 'disease', which has no role in the table; columns with a "
            "role: 'age', 'workclass', 'education', 'marital-status', 'race' and 4 more",
        ),
        (["--suppression", "much"], "suppression must be a number, got 'much'"),
        (
            ["--rows", "300", "--suppression", "1.5"],
            "suppression must be a share of the tuples from 0.0 to below 1.0, or a whole number of tuples from 0 to "
            "299, got 1.5",
        ),
        (
            ["--suppression", "0.01", "--suppress-below", "5"],
            "suppression and suppress_below must not both be given",
        ),
        (["--epsilon", "1,x"], "epsilon must be a number, got 'x'"),
        (["--sensitive", "sex"], "--sensitive means nothing with census"),
        (["--data", "adult", "--rows", "300"], "--rows means nothing with adult"),
        (["--algorithm", "nsga2", "--epsilon", "2"], "--epsilon means nothing with nsga2"),
        (["--algorithm", "exhaustive", "--pop-size", "9"], "--pop-size means nothing with exhaustive"),
    ],
)
def test_error_messages(arguments, message):
    assert refused(*arguments) == f"Error: {message}"


def test_an_epsilon_for_each_objective():
    result = search(*SMALL, "--epsilon", "1,2")
    assert result.exit_code == 2
    assert result.stderr == "Error: epsilon must be one number or one per objective: 3, got 2\n"
    assert not Path("front").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--data", "mine.csv"],
            "hierarchies must be a folder with a file NAME.csv for each quasi-identifier of mine.csv, got none",
        ),
        (
            ["--data", "mine.csv", "--hierarchies", "none"],
            "hierarchies must be a folder with a file NAME.csv for each "
            "quasi-identifier of mine.csv, got 'none', which has no such file",
        ),
        (["--data", "mine.csv", "--hierarchies", "trees", "--rows", "3"], "--rows means nothing with mine.csv"),
        (
            ["--data", "mine.csv", "--hierarchies", "trees", "--sensitive", "age"],
            "frame must have the columns 'age', got columns 'zip', 'sex', 'diagnosis', 'paid', 'note'",
        ),
        (
            ["--data", "mine.csv", "--hierarchies", "trees", "--missing", "no"],
            "missing must be 'raise', 'drop' or 'keep', got 'no'",
        ),
        (
            ["--data", "mine.csv", "--hierarchies", "trees", "--objectives", "l"],
            "objectives: l reads one sensitive column and the table has none; l:NAME names a column",
        ),
        (
            [
                "--data",
                "mine.csv",
                "--hierarchies",
                "trees",
                "--sensitive",
                "note",
                "--sensitive",
                "paid",
                "--objectives",
                "l",
            ],
            "objectives: l reads one sensitive column and the table has 'note', 'paid'; l:NAME names a column",
        ),
    ],
)
def test_error_messages_of_an_own_table(own_table, arguments, message):
    assert refused(*arguments) == f"Error: {message}"


def test_a_value_without_a_row_in_its_hierarchy(own_table):
    Path("trees/sex.csv").write_text("F;*\n", encoding="utf-8")
    assert refused(*own_table) == (
        "Error: column 'sex' must hold values of its hierarchy only, got without a row there: 'M'"
    )


def test_files_that_are_no_csv(own_table):
    Path("mine.csv").write_bytes(b"")
    assert refused(*own_table) == (
        "Error: mine.csv must be a CSV file in UTF-8 with a header: No columns to parse from file"
    )
    Path("mine.csv").write_bytes(b"zip,sex\n\xff,F\n")
    assert refused(*own_table).startswith("Error: mine.csv must be a CSV file in UTF-8 with a header: 'utf-8' codec")


def test_an_output_that_cannot_be_written():
    Path("file").write_text("")
    result = search(*SMALL, "--output", "file/front")
    assert result.exit_code == 2
    assert result.stderr == f"Error: {Path('file/front')}: Not a directory\n"
    assert search(*SMALL, "--output", "file").exit_code == 2
    assert os.listdir() == ["file"]


@pytest.mark.parametrize(
    "stage",
    ["cli.make_census", "cli.minimize", "report.sorted_front", "report.plot_front", "report.json.dumps"],
)
def test_an_interrupted_search_leaves_no_file(monkeypatch, stage):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"pymoo_anon.{stage}", interrupt)
    result = search(*SMALL)
    assert result.exit_code == 130
    assert result.stderr == "Interrupted: nothing was written.\n"
    assert os.listdir() == []


def test_a_search_interrupted_while_it_runs_leaves_no_file(monkeypatch):
    from pymoo_anon import cli

    def interrupt(problem, *args, **kwargs):
        if problem.table.n_rows == 300:
            raise KeyboardInterrupt
        return minimize(problem, *args, **kwargs)

    minimize = cli.minimize
    monkeypatch.setattr(cli, "minimize", interrupt)
    result = search(*SMALL)
    assert result.exit_code == 130
    assert os.listdir() == []


def test_help_names_every_choice():
    result = CliRunner().invoke(app, ["search", "--help"], env={"COLUMNS": "120", "TERM": "dumb"})
    assert result.exit_code == 0
    # Without the frame, so that a list that goes on in the next line is one.
    text = " ".join(result.stdout.replace("│", " ").split())
    for word in ["census|adult|FILE.csv", ", ".join(OBJECTIVES), "pbgea|nsga2|bnb|exhaustive", "front.csv"]:
        assert word in text


def test_as_a_module():
    command = [sys.executable, "-m", "pymoo_anon", "search", *SMALL]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stderr == ""
    assert sorted(os.listdir("front")) == FILES
