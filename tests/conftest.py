"""Shared by all tests: Adult's rows, folders with a table and a project, and profiles for hypothesis.

A test of the command line stands in a folder of its own: `folder` is empty, `own_table` has a user's table with
hierarchies and a project, `right_project` has the project `RIGHT` besides. It runs commands by `command.py`, which also
writes tables and project files.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, settings
from numba.core.dispatcher import Dispatcher
from pymoo.algorithms.moo import age, age2

# Tests read the benchmarks: tables of a paper, results, the makers of the suite. Last, so that a package that is
# installed is the one that is tested.
sys.path.append(str(Path(__file__).parents[1]))

# No deadline and no check of speed: the first example of a test may wait for numba to compile.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
# Every run draws the same examples, so that a failure is met again.
settings.register_profile("fixed", max_examples=20, derandomize=True, **_COMMON)
# `pytest --hypothesis-profile=ci` draws more of them,
settings.register_profile("ci", max_examples=60, derandomize=True, **_COMMON)
# and `pytest --hypothesis-profile=deep` many, others every time.
settings.register_profile("deep", max_examples=2000, derandomize=False, **_COMMON)
settings.load_profile("fixed")

ADULT_COLUMNS = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "salary-class",
]


# These files begin, in this order: the longest first, so that two processes come to the end together. The kernels of
# each kind of proof are compiled by one of them, and not while the other process compiles the same: the examples, which
# run them all, come after these.
FIRST = (
    "test_bounds",
    "test_boxes",
    "test_string_proofs",
    "test_contracts_objectives",
    "test_examples",
    "test_release_frames",
    "test_cli_release",
    "test_population",
    "test_known",
    "test_release_report",
    "test_report_browser",
    "test_compiled",
    "test_local_release",
    "test_lower_bound",
    "test_audiences",
    "test_release",
    "test_contracts_algorithms",
    "test_project",
    "test_recode",
    "test_cli",
    "test_contracts_pymoo",
    "test_doors",
    "test_pages",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files of `FIRST` first, and keep the order otherwise."""
    places = {name: place for place, name in enumerate(FIRST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(FIRST)))


def pytest_configure() -> None:
    """Exempt all loaded objects from frequent garbage collection, and let Java optimize little, which takes most time.

    The loops of AGE-MOEA, which pymoo compiles anew in each process, are cached on disk like the package's.
    """
    gc.set_threshold(100_000, 50, 100)
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", "--driver-java-options -XX:TieredStopAtLevel=1 pyspark-shell")
    for owner in (age, age.AGEMOEASurvival, age2, age2.AGEMOEA2Survival):
        for found in vars(owner).values():
            loop = getattr(found, "__func__", found)
            if isinstance(loop, Dispatcher):
                loop.enable_caching()


@pytest.fixture(autouse=True, scope="session")
def quiet_steps() -> None:
    """Silence the lines about long steps, common on a busy machine."""
    from pymoo_anon.cli import console

    console.EVERY = 3600.0


@pytest.fixture
def unrendered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compose pictures without rendering them, which would take most time."""

    def save(figure: object, path: Path, **kwargs: object) -> None:
        Path(path).write_bytes(b"\x89PNG\r\n\x1a\n")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", save)


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """Start Spark with two workers."""
    sql = pytest.importorskip("pyspark.sql")
    if "JAVA_HOME" not in os.environ and not any(Path(folder, "java").exists() for folder in os.get_exec_path()):
        pytest.skip("Spark needs Java")
    builder = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unrendered: None) -> Path:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def own_table(folder: Path) -> Path:
    """Work in a folder with a user's table, its hierarchies and `mine.toml`."""
    import command

    command.write_own_table(folder)
    command.own()
    return folder


@pytest.fixture
def right_project(own_table: Path) -> Path:
    """Work in a folder with that table and the project `my.toml`, which names all."""
    from malformed_projects import RIGHT

    Path("my.toml").write_text(RIGHT, encoding="utf-8")
    return own_table


@pytest.fixture(scope="session")
def adult_rows() -> pd.DataFrame:
    """Adult's 30,162 rows without a '?'."""
    path = Path(os.environ.get("PYMOO_ANON_DATA", ""), "adult", "adult.data")
    if not path.is_file():
        pytest.skip("Adult's rows are not here: set PYMOO_ANON_DATA to a folder with adult/adult.data")
    rows = pd.read_csv(path, names=ADULT_COLUMNS, skipinitialspace=True, na_values="?", keep_default_na=False)
    return rows.dropna(ignore_index=True)
