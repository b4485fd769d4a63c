"""What a search writes: whole or not at all."""

import hashlib
import io
import json
import os
import platform
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from pymoo.optimize import minimize
from rich.console import Console

import pymoo_anon
from pymoo_anon._files import put_in_place, tried
from pymoo_anon.algorithms import ExhaustiveSearch
from pymoo_anon.cli import report
from pymoo_anon.cli.names import FILES
from pymoo_anon.cli.searching import Found
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem


@pytest.fixture(scope="module")
def searched():
    objectives = [KAnonymity(), DistinctLDiversity("occupation"), GeneralLossMetric()]
    problem = LatticeProblem(make_census(n_rows=2000), objectives, suppression=0.01)
    return problem, minimize(problem, ExhaustiveSearch())


def record_of(problem, res):
    found = Found(res, seconds=2.0, certified=True, n_undecided=0, stopped="proof complete")
    inputs, algorithm = {"mine.csv": "ab12"}, ("exhaustive", "asked for")
    return report.run_record(problem, found, {"seed": 1}, inputs, algorithm=algorithm, compile_seconds=0.1234)


def text_of(problem, front, width=160):
    console = Console(file=io.StringIO(), width=width)
    for table in report.front_tables(problem, front, width):
        console.print(table)
    return console.file.getvalue()


def write(problem, res, folder):
    """What a search does with its output folder."""
    with tried(folder, FILES) as temporary:
        front = report.sorted_front(problem, res)
        report.write_report(problem, res, front, record_of(problem, res), temporary)
        return put_in_place(temporary, folder, FILES)


def test_the_front_is_sorted_from_private_to_useful_with_natural_signs(searched):
    problem, res = searched
    front = report.sorted_front(problem, res)
    assert list(front) == [*problem.table.quasi_identifiers, "k", "l", "GLM", "suppressed"]
    assert (np.diff(front["k"]) <= 0).all()
    assert front["k"].iloc[0] == 2000
    assert front["k"].iloc[-1] == 1
    assert front["GLM"].iloc[0] == 16_000
    assert front["GLM"].iloc[-1] == 0
    assert sorted(map(tuple, front.to_numpy())) == sorted(map(tuple, problem.to_frame(res).to_numpy()))


def test_a_loss_that_comes_first_descends_too():
    problem = LatticeProblem(make_census(n_rows=200), [GeneralLossMetric(), KAnonymity()])
    front = report.sorted_front(problem, minimize(problem, ExhaustiveSearch()))
    assert front["k"].iloc[0] == 200
    assert (np.diff(front["GLM"]) <= 0).all()


def test_the_suppressed_tuples_of_each_member(searched):
    problem, res = searched
    front = report.sorted_front(problem, res)
    for row in front.head(5).itertuples(index=False):
        classes = problem.equivalence_classes(np.array(row[: problem.n_var]))
        assert classes.sizes[~classes.kept].sum() == row[-1]
        assert classes.sizes[classes.kept].min() == row[problem.n_var]
    assert 0 < front["suppressed"].max() <= 20


def test_rows_that_break_a_constraint_are_not_written():
    problem = LatticeProblem(make_census(n_rows=50), [KAnonymity(), GeneralLossMetric()], 0, [KAnonymity() >= 5])
    res = minimize(problem, ExhaustiveSearch())
    found = report.sorted_front(problem, res)
    assert len(found) == len(res.X)
    assert list(found)[-3:] == ["k", "GLM", "suppressed"]
    # As pymoo's RVEA may do.
    res.X = np.vstack([np.zeros_like(res.X[:1]), res.X])
    pd.testing.assert_frame_equal(report.sorted_front(problem, res), found)


def test_the_table_shows_every_member_with_separators(searched):
    problem, res = searched
    front = report.sorted_front(problem, res)
    lines = [line.split() for line in text_of(problem, front).splitlines()]
    assert [*"63331141", "2,000", str(front["l"].max()), "16,000.0", "0"] in lines
    assert [*"00000000", "1", "1", "0.0", "0"] in lines
    assert sum(len(line) == 12 and line[0].isdigit() for line in lines) == len(front)
    assert "k: higher is better, l: higher is better, GLM: lower is better." in report.legend(problem)


@pytest.mark.parametrize("width", [40, 90, 100, 110, 160])
def test_the_table_fits_a_terminal(searched, width):
    problem, res = searched
    front = report.sorted_front(problem, res)
    text = text_of(problem, front, width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    whole = sum(line.split()[:1] == ["row"] for line in text.splitlines()) == 0
    assert whole == (width >= 100)
    # Each block numbers all rows, and all of them together hold every number.
    numbers = [line.split() for line in text.splitlines() if line.strip()[:1].isdigit()]
    assert len(numbers) % len(front) == 0
    n = len(front)
    rows = [[cell for line in numbers[i::n] for cell in line[not whole :]] for i in range(n)]
    assert rows[0] == [*"63331141", "2,000", str(front["l"].max()), "16,000.0", "0"]
    assert all(len(row) == 12 for row in rows)


def test_names_are_no_markup():
    frame = pd.DataFrame({"[bold]\x1b[1m\nb": [1234567], "loss": [0.5]})
    problem = SimpleNamespace(
        table=SimpleNamespace(quasi_identifiers={"[bold]\x1b[1m\nb": None}),
        objective_names=["loss"],
        objectives=[SimpleNamespace(maximize=False)],
    )
    text = text_of(problem, frame)
    assert "[bold]\\x1b[1m\\nb" in text
    assert "1,234,567" in text
    assert "0.5000" in text


def test_a_name_wider_than_the_terminal_folds():
    frame = pd.DataFrame({"x" * 100: [1], "loss": [0.5]})
    problem = SimpleNamespace(table=SimpleNamespace(quasi_identifiers={"x" * 100: None}))
    text = text_of(problem, frame, width=50)
    assert text.count("x") == 100
    assert max(map(len, text.splitlines())) <= 50


def test_the_record(searched):
    problem, res = searched
    record = record_of(problem, res)
    assert record["options"] == {"seed": 1}
    assert record["objectives"] == ["KAnonymity()", "DistinctLDiversity('occupation')", "GeneralLossMetric()"]
    assert (record["n_rows"], record["n_distinct"]) == (2000, problem.table.n_distinct)
    assert (record["n_nodes"], record["n_unique"], record["n_front"]) == (17_920, 17_920, len(res.F))
    assert record["suppression"] == "AtMost(limit=0.01)"
    assert record["inputs"] == {"sha256": {"mine.csv": "ab12"}}
    assert record["algorithm"] == {"name": "exhaustive", "why": "asked for"}
    assert (record["certified"], record["n_undecided"], record["stopped"]) == (True, 0, "proof complete")
    assert (record["compile_seconds"], record["search_seconds"]) == (0.123, 2.0)
    assert record["versions"]["pymoo_anon"] == pymoo_anon.__version__
    assert record["versions"]["numpy"] == np.__version__
    assert record["versions"]["python"] == platform.python_version()
    assert {"pymoo", "numba", "pandas"} < set(record["versions"])
    assert record["platform"] == platform.platform()


def test_the_files(searched, tmp_path):
    problem, res = searched
    folder = tmp_path / "made" / "front"
    paths = write(problem, res, folder)
    assert paths == [folder / "front.csv", folder / "front.png", folder / "run.json"]
    assert sorted(os.listdir(folder)) == ["front.csv", "front.png", "run.json"]
    pd.testing.assert_frame_equal(pd.read_csv(paths[0]), report.sorted_front(problem, res), check_column_type=False)
    assert b"\r" not in paths[0].read_bytes()
    assert paths[1].read_bytes().startswith(b"\x89PNG")
    front = {"sha256": hashlib.sha256(paths[0].read_bytes()).hexdigest()}
    assert json.loads(paths[2].read_text(encoding="utf-8")) == {**record_of(problem, res), "front": front}


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
@pytest.mark.parametrize("stage", ["sorted_front", "plot_front", "json.dumps"])
@pytest.mark.parametrize("existing", [False, True])
def test_a_failure_at_any_stage_leaves_what_was_there(searched, tmp_path, monkeypatch, error, stage, existing):
    def fail(*args, **kwargs):
        raise error("stop")

    problem, res = searched
    folder = tmp_path / "made" / "front"
    if existing:
        folder.mkdir(parents=True)
        for name in FILES:
            (folder / name).write_text("old")
    monkeypatch.setattr(f"pymoo_anon.cli.report.{stage}", fail)
    with pytest.raises(error, match="stop"):
        write(problem, res, folder)
    if existing:
        assert sorted(os.listdir(folder)) == sorted(FILES)
        assert all((folder / name).read_text() == "old" for name in FILES)
    else:
        assert os.listdir(tmp_path) == []


def test_one_table_as_soon_as_it_fits_and_no_line_ever_wider_than_the_terminal():
    frame = pd.DataFrame({f"{'column'[: 1 + i % 6]}{i}": [10 ** (i % 5)] for i in range(15)})
    problem = SimpleNamespace(table=SimpleNamespace(quasi_identifiers=dict.fromkeys(frame)))
    whole = max(map(len, text_of(problem, frame, 1000).splitlines()))
    for width in range(20, whole + 5):
        text = text_of(problem, frame, width)
        assert max(map(len, text.splitlines())) <= width
        assert ("row" not in text) == (width >= whole)
        assert all(name in text for name in frame)
    assert "…" not in text
