"""The contract of objectives, kept by the package's and broken on purpose."""

import importlib.util
import re
import sys
import textwrap

import pytest
from broken_objectives import TooSure
from errors import refused
from measures import measures_of
from strategies import times
from tasks import STATED

import pymoo_anon.testing
from pymoo_anon import objectives
from pymoo_anon.algorithms import ExhaustiveSearch
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import *
from pymoo_anon.problems import PreferredPoint
from pymoo_anon.table import Hierarchy, Microdata
from pymoo_anon.testing import check_objective, small_problems

CENSUS = make_census(300)
TABLE = small_problems()["two objectives"].table

#: Every objective of the package, with a table if random ones do not suffice.
MADE = [
    *((objective, None) for objective in measures_of("diagnosis", "patient", "label")),
    (ClassificationMetric("q0"), None),
    (DistinctLDiversity(), None),
    (DistinctLDiversity(known=any_of(1)), None),
    (GeneralLossMetric([0.5, 2, 0]), TABLE),
    (HouseholdRisk("home"), None),
    (KAnonymity(), CENSUS),
    (KMap(TABLE), TABLE),
    (DeltaPresence(TABLE), TABLE),
    (LeastPresence(TABLE), TABLE),
    (LeastPayout(), None),
    (PublisherPayout(population=TABLE), TABLE),
    (MarketerRisk(TABLE), TABLE),
    (RecordsAtRisk(0.3), None),
    (RecordsAtRisk(), CENSUS),
    (NormalizedWeightedPenalty([0.5, 0.3, 0.2]), TABLE),
    (PreferredPoint((0.2, 0.8)), None),
    (RecursiveCLDiversity("diagnosis", 2), None),
    (TCloseness("t", "ordered"), TABLE),
    (TCloseness("diagnosis", Hierarchy([list("abcd"), list("xxyy"), list("****")])), None),
]


def named(value):
    return f"of {value.n_rows} rows" if isinstance(value, Microdata) else repr(value)[:40]


def test_all_objectives_are_here():
    """Require every new objective to join the list above."""
    public = {getattr(objectives, name) for name in objectives.__all__}
    kinds = {kind for kind in public if isinstance(kind, type) and issubclass(kind, Objective)}
    assert {type(objective) for objective, _ in MADE} == kinds - {Objective, ColumnObjective} | {PreferredPoint}


@pytest.mark.parametrize(("objective", "table"), MADE, ids=named)
def test_objectives_keep_the_contract(objective, table, monkeypatch):
    monkeypatch.setattr("pymoo_anon.testing.objectives._N_TABLES", times(3))
    monkeypatch.setattr("pymoo_anon.testing.support._NODES_COMPARED", times(12))
    check_objective(objective, table)


def test_the_example_of_the_room_is_a_test(tmp_path, monkeypatch):
    block = textwrap.dedent(pymoo_anon.testing.__doc__.split("::\n")[1].split("\n\nClasses")[0])
    assert len(block.strip().splitlines()) <= 15
    (tmp_path / "own_contract.py").write_text(block)
    spec = importlib.util.spec_from_file_location("own_contract", tmp_path / "own_contract.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "own_contract", module)
    spec.loader.exec_module(module)
    module.test_average_size()
    module.AverageSize.whole = True
    with pytest.raises(AssertionError, match=r"^AverageSize\(\) says that values are whole, got \d+\.\d+, at x = \["):
        module.test_average_size()


def test_the_class_that_is_named_keeps_rows_that_had_to_go():
    said = refused(AssertionError, lambda: check_objective(TooSure("s")))
    sure, kept = re.search(r"gone under .* (\d+) of the \d+ tuples of a class .*, got (\d+),", said).groups()
    assert int(kept) < int(sure)


#: Every bound that is stated; of ordered values those of a column of numbers.
STATED_HERE = [(TCloseness("t", "ordered") if "ordered" in repr(own) else own, method) for own, method in STATED]


@pytest.mark.parametrize(("objective", "method"), STATED_HERE, ids=str)
def test_a_wrong_bound_is_found_at_the_node_where_it_is_wrong(monkeypatch, objective, method):
    """Break every bound once, by one tuple or half of a unit."""
    family = objective.bounding
    less = objective.maximize and not family.has_floor
    by = {"values_of": -1, "reach": 1}.get(method, -0.5 if less else 0.5)

    def broken(self, *arguments):
        told = getattr(family, method)(self, *arguments)
        return None if told is None else told + by

    monkeypatch.setattr(type(objective), "bounding", type("Broken", (family,), {method: broken}))
    monkeypatch.setattr("pymoo_anon.testing.objectives.check_proof", lambda *_: None)
    with pytest.raises(AssertionError, match=rf"^Broken of {type(objective).__name__}\("):
        check_objective(objective, TABLE if objective.column == "t" else None)


def test_a_front_that_is_not_exact_is_found(monkeypatch):
    stopped = ExhaustiveSearch(batch_size=1, termination=("n_gen", 1))
    monkeypatch.setattr("pymoo_anon.testing.objectives.BranchAndBound", lambda: stopped)
    with pytest.raises(AssertionError, match=r"^bounds of KAnonymity\(\) must leave the front of it and GeneralLoss"):
        check_objective(KAnonymity())
