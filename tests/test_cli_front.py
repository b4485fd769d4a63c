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
from pymoo_anon.cli import results, searching
from pymoo_anon.cli.names import FILES
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.table import Hierarchy, Microdata


@pytest.fixture(scope="module")
def searched():
    objectives = [KAnonymity(), DistinctLDiversity("occupation"), GeneralLossMetric()]
    problem = LatticeProblem(make_census(n_rows=2000), objectives, suppression=0.01)
    front = problem.front(minimize(problem, ExhaustiveSearch())).sorted()
    front.certified = True
    return front


def record_of(front):
    found = searching.Found(front, seconds=2.0, n_undecided=0, stopped="proof complete")
    return searching.search_record(found, {"seed": 1}, {"mine.csv": "ab12"}, ("exhaustive", "asked for"), 0.1234)


def text_of(front, width=160):
    console = Console(file=io.StringIO(), width=width)
    for table in searching.front_tables(front, width):
        console.print(table)
    return console.file.getvalue()


class Printed:
    """A front of invented columns."""

    def __init__(self, columns, n_levels):
        self.table = SimpleNamespace(quasi_identifiers=dict(columns[:n_levels]))
        self.cells = lambda: columns

    def __len__(self):
        return 1


def write(front, folder):
    """What a search does with its output folder."""
    with tried(folder, FILES, own=True) as temporary:
        results.write_front(front, record_of(front), temporary)
        return put_in_place(temporary, folder, FILES)


def test_the_front_is_sorted_from_private_to_useful_with_natural_signs(searched):
    front = searched.to_frame()
    assert list(front) == [*searched.table.quasi_identifiers, "k", "l", "GLM", "suppressed"]
    assert (np.diff(front["k"]) <= 0).all()
    assert front["k"].iloc[0] == 2000
    assert front["k"].iloc[-1] == 1
    assert front["GLM"].iloc[0] == 16_000
    assert front["GLM"].iloc[-1] == 0


def test_a_loss_that_comes_first_descends_too():
    problem = LatticeProblem(make_census(n_rows=200), [GeneralLossMetric(), KAnonymity()])
    front = problem.front(minimize(problem, ExhaustiveSearch())).sorted().to_frame()
    assert front["k"].iloc[0] == 200
    assert (np.diff(front["GLM"]) <= 0).all()


def test_rows_that_break_a_constraint_are_not_written():
    problem = LatticeProblem(make_census(n_rows=50), [KAnonymity(), GeneralLossMetric()], 0, [KAnonymity() >= 5])
    res = minimize(problem, ExhaustiveSearch())
    found = problem.front(res).sorted().to_frame()
    assert len(found) == len(res.X)
    assert list(found)[-3:] == ["k", "GLM", "suppressed"]
    # As pymoo's RVEA may do.
    res.X = np.vstack([np.zeros_like(res.X[:1]), res.X])
    again = problem.front(res).sorted().to_frame()
    assert again.reset_index(drop=True).equals(found.reset_index(drop=True))


def test_the_table_shows_every_member_with_separators(searched):
    lines = [line.split() for line in text_of(searched).splitlines()]
    best = str(int(searched.values(DistinctLDiversity("occupation")).max()))
    assert [*"63331141", "2,000", best, "16,000.0", "100.0", "%", "0"] in lines
    assert [*"00000000", "1", "1", "0.0", "0", "%", "0"] in lines
    assert sum(len(line) == 14 and line[0].isdigit() for line in lines) == len(searched)
    said = searching.directions(searched)
    assert "k: higher is better, l: higher is better, GLM: lower is better." in said
    assert said.endswith(" Lost: the share of what could be lost.")


@pytest.mark.parametrize("width", [40, 90, 100, 110, 120, 160])
def test_the_table_fits_a_terminal(searched, width):
    text = text_of(searched, width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    whole = sum(line.split()[:1] == ["row"] for line in text.splitlines()) == 0
    assert whole == (width >= 110)
    # Each block numbers all rows, and all of them together hold every number.
    numbers = [line.split() for line in text.splitlines() if line.strip()[:1].isdigit()]
    n = len(searched)
    assert len(numbers) % n == 0
    rows = [[cell for line in numbers[i::n] for cell in line[not whole :]] for i in range(n)]
    best = str(int(searched.values(DistinctLDiversity("occupation")).max()))
    assert rows[0] == [*"63331141", "2,000", best, "16,000.0", "100.0", "%", "0"]
    assert all(len(row) == 14 for row in rows)


def test_names_are_no_markup():
    frame = pd.DataFrame({"[bold]\x1b[1m\nb": [1, 2], "z": [1, 2]})
    table = Microdata.from_frame(frame, {name: Hierarchy.flat([1, 2]) for name in frame})
    problem = LatticeProblem(table, [KAnonymity(), GeneralLossMetric()])
    assert "[bold]\\x1b[1m\\nb" in text_of(problem.front(problem.nodes(0, 2)))


def test_a_name_wider_than_the_terminal_folds():
    columns = [("x" * 100, ["1"]), ("loss", ["0.5"])]
    text = text_of(Printed(columns, 1), width=50)
    assert text.count("x") == 100
    assert max(map(len, text.splitlines())) <= 50


def test_the_record(searched):
    problem, record = searched.problem, record_of(searched)
    assert record["options"] == {"seed": 1}
    assert record["objectives"] == ["KAnonymity()", "DistinctLDiversity('occupation')", "GeneralLossMetric()"]
    assert (record["n_rows"], record["n_distinct"]) == (2000, problem.table.n_distinct)
    assert (record["n_nodes"], record["n_unique"], record["n_front"]) == (17_920, 17_920, len(searched))
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
    folder = tmp_path / "front"
    paths = write(searched, folder)
    assert paths == [folder / "front.csv", folder / "front.png", folder / "run.json"]
    assert sorted(os.listdir(folder)) == ["front.csv", "front.png", "run.json"]
    assert pd.read_csv(paths[0]).to_numpy().tolist() == searched.to_frame().to_numpy().tolist()
    assert b"\r" not in paths[0].read_bytes()
    assert paths[1].read_bytes().startswith(b"\x89PNG")
    front = {"sha256": hashlib.sha256(paths[0].read_bytes()).hexdigest()}
    assert json.loads(paths[2].read_text(encoding="utf-8")) == {**record_of(searched), "front": front}


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
@pytest.mark.parametrize(
    "stage", ["cli.searching.search_record", "visualization.fronts.plot_front", "cli.results.json.dumps"]
)
@pytest.mark.parametrize("existing", [False, True])
def test_a_failure_at_any_stage_leaves_what_was_there(searched, tmp_path, monkeypatch, error, stage, existing):
    def fail(*args, **kwargs):
        raise error("stop")

    folder = tmp_path / "front"
    if existing:
        folder.mkdir()
        for name in FILES:
            (folder / name).write_text("old")
    monkeypatch.setattr(f"pymoo_anon.{stage}", fail)
    with pytest.raises(error, match="stop"):
        write(searched, folder)
    if existing:
        assert sorted(os.listdir(folder)) == sorted(FILES)
        assert all((folder / name).read_text() == "old" for name in FILES)
    else:
        assert os.listdir(tmp_path) == []


def test_one_table_as_soon_as_it_fits_and_no_line_ever_wider_than_the_terminal():
    columns = [(f"{'column'[: 1 + i % 6]}{i}", [str(10 ** (i % 5))]) for i in range(15)]
    whole = max(map(len, text_of(Printed(columns, 15), 1000).splitlines()))
    for width in range(20, whole + 5):
        text = text_of(Printed(columns, 15), width)
        assert max(map(len, text.splitlines())) <= width
        assert ("row" not in text) == (width >= whole)
        assert all(name in text for name, _ in columns)
    assert "…" not in text
