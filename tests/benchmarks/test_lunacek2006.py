"""The study of Lunacek et al. 2006: missing runs and reported runs."""

import json
import re
import sys

import numpy as np
import pytest

from benchmarks import record
from benchmarks.papers import lunacek2006
from benchmarks.papers.lunacek2006_optimum import beside, curve, second_half


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Make results of two trials, and a study of two parts."""
    monkeypatch.setattr(record, "RESULTS", tmp_path)
    runs = [{"task": ["trial", "TRAD", 200, seed, 30_000], "loss": 10.0 + seed} for seed in (1, 2)]
    (tmp_path / "lunacek2006.json").write_text(json.dumps({"runs": runs, "minutes": 3}))
    parts = {"trials": [["trial", "TRAD", 200, seed, 30_000] for seed in (1, 2, 3)], "proof": [["proof"]]}
    monkeypatch.setattr(lunacek2006, "PARTS", parts)
    return tmp_path


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], [["trial", "TRAD", 200, 3, 30_000], ["proof"]]),
        (["--parts", "proof"], [["proof"]]),
        (["--parts"], []),
    ],
)
def test_only_what_is_missing_is_run(results, monkeypatch, options, expected):
    ran = []
    monkeypatch.setattr(lunacek2006, "run", lambda task: ran.append(task) or {"task": task, "loss": 7.0})
    monkeypatch.setattr(lunacek2006, "report", lambda found: None)
    monkeypatch.setattr(sys, "argv", ["lunacek2006.py", *options])
    lunacek2006.main()
    assert ran == expected
    kept = record.stored("lunacek2006")
    tasks = [one["task"] for one in kept["runs"]] + [one["task"] for one in kept.get("proof", [])]
    assert tasks == [*lunacek2006.PARTS["trials"][:2], *expected]
    assert [one["loss"] for one in kept["runs"]][:2] == [11.0, 12.0]


def test_a_run_takes_the_place_of_an_earlier_one(results):
    for seed in (2, 3, 1):
        lunacek2006.keep("trials", {"task": ["trial", "TRAD", 200, seed, 30_000], "loss": float(seed)})
    assert [one["loss"] for one in record.stored("lunacek2006")["runs"]] == [1.0, 2.0, 3.0]


def test_rows_count_runs_that_end_in_the_optimum():
    losses = [100.0, 100.0 + 1e-9, 110.0, 130.0]
    runs = [{"loss": loss, "seconds": float(i)} for i, loss in enumerate(losses, start=1)]
    row = beside(["TRAD", "200"], runs, 100.0, 1000)
    assert row == ["TRAD", "200", "2 of 4", "5.00%", "10.00%", "30.00%", "2,000", "5.0"]
    assert beside(["TRAD"], runs, 99.0, 1000)[1] == "0 of 4"
    assert beside(["TRAD"], runs, 99.0, 1000)[-2:] == ["–", "–"]


def test_a_curve_is_the_least_loss_of_what_has_so_large_a_k():
    points = [[2.0, 5.0], [4.0, 3.0], [9.0, 8.0]]
    assert [curve(points, k) for k in (1, 4, 5, 9)] == [3.0, 3.0, 8.0, 8.0]
    assert curve(points, 10) == np.inf


def test_the_second_half_of_the_stored_page_is_that_of_the_stored_figures():
    page = (record.RESULTS / "lunacek2006.md").read_text(encoding="utf-8")
    told = second_half(record.stored("lunacek2006"), list(lunacek2006.COLOURS)) + "\n"
    # Tables may be stored with other widths.
    stored, now = (re.sub("[ -]+", " ", text) for text in (page, told))
    assert stored.endswith(now)
