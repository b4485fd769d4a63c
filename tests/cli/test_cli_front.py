"""Output of a search, whole or not at all."""

import io
import platform
import re

import numpy as np
import pandas as pd
import pytest
from pymoo.optimize import minimize
from raw_tables import K_AND_LOSS, raw_problem
from rich.console import Console

import pymoo_anon
from pymoo_anon._files import move_all, tried
from pymoo_anon.algorithms import ExhaustiveSearch
from pymoo_anon.cli import search as command
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import DistinctLDiversity, EnhancedBetaLikeness, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.problems.journal import fingerprint
from pymoo_anon.study import search as searching
from pymoo_anon.study import stored as results
from pymoo_anon.study.names import FILES
from pymoo_anon.study.options import Settings
from pymoo_anon.table import Microdata


@pytest.fixture(scope="module")
def done():
    """Make an exhaustive search of a demo, and return its result."""
    own = searching.Run(Settings(rows=2000, algorithm="exhaustive", objectives="k,l:occupation,GLM"))
    return own, own.search()


@pytest.fixture
def searched(done):
    return done[1].front


def text_of(front, width):
    console = Console(file=io.StringIO(), width=width, markup=False)
    console.print(command.front_table(front, width))
    return console.file.getvalue()


def write(front, folder, **record):
    """Write a front to an output folder, as a search does."""
    with tried(folder, FILES, own=True) as temporary:
        results.write_front(front, record, temporary)
        return move_all(temporary, folder, FILES)


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 160])
def test_the_table_shows_what_fits(searched, width):
    heading, *lines = text_of(searched, width).splitlines()
    assert max(map(len, [heading, *lines])) <= width
    # Whole headings, measures first.
    shown = ["row", "k", "l", "GLM lost", "suppressed", "levels"]
    assert re.split(r"  +", heading.strip()) == shown[: {20: 3, 40: 5}.get(width, 6)]
    assert len(lines) == 5
    numbers = [int(line.split()[0]) for line in lines]
    assert (numbers[0], numbers[-1]) == (1, len(searched))
    assert searched.knee + 1 in numbers
    assert sorted(numbers) == numbers


def test_levels_are_told_in_words_that_fit(searched):
    words = command._words(searched, 1000)
    names = list(searched.table.quasi_identifiers)
    assert words[0] == "all *"
    assert words[-1] == ", ".join(names)
    kept = dict(own.split(" ") if " " in own else (own, "") for own in words[len(words) // 2].split(", "))
    x = dict(zip(names, searched.X[len(words) // 2], strict=True))
    tops = {name: tree.length for name, tree in searched.table.quasi_identifiers.items()}
    assert kept == {name: str(level or "") for name, level in x.items() if level < tops[name]}
    assert command._words(searched, 12)[-1] == "8 kept, 0 coarser"


def test_the_record_tells_the_machine_and_the_times(done):
    own, found = done
    record = own.record(found)
    assert (record["n_front"], record["suppression"]) == (len(found.front), "AtMost(limit=0.01)")
    assert record["inputs"] == {"sha256": {}}
    assert (record["compile_seconds"], record["search_seconds"]) == (0, round(found.seconds, 3))
    packages = {"pymoo_anon": pymoo_anon.__version__, "numpy": np.__version__, "python": platform.python_version()}
    assert packages.items() <= record["versions"].items()
    assert {"pymoo", "numba", "pandas"} < set(record["versions"])
    assert record["platform"] == platform.platform()


def test_the_table_of_a_front_is_written_as_pandas_would(tmp_path):
    rows = {'we"ird, name': [0, 0, 1, 1, 2], "line\nend": [0, 1, 0, 1, 1], "s": [*"ababa"]}
    # Levels, losses with and without a fraction, and an infinite value.
    own = raw_problem(rows, "s", objectives=[*K_AND_LOSS, EnhancedBetaLikeness("s")], suppression=1)
    front = own.front(minimize(own, ExhaustiveSearch(), seed=1))
    write(front, tmp_path)
    expected = front.to_frame().to_csv(index=False, lineterminator="\n")
    assert (tmp_path / "front.csv").read_bytes() == expected.encode()


@pytest.mark.parametrize("objectives", [[KAnonymity()], [DistinctLDiversity("occupation"), GeneralLossMetric()]])
def test_what_is_compiled_for_is_the_table_of_a_frame(objectives):
    problem = LatticeProblem(make_census(200), objectives)
    tiny = searching.tiny(problem).table
    first, second = tiny.quasi_identifiers
    rows = {first: [0, 0, 1, 1], second: [0, 1, 0, 1], **{name: [0, 1, 1, 0] for name in tiny.sensitive}}
    read = Microdata.from_frame(pd.DataFrame(rows), tiny.quasi_identifiers, tiny.sensitive)
    one, other = (fingerprint(LatticeProblem(own, [KAnonymity()]), {}) for own in (tiny, read))
    assert one == other
