"""The study of operators: settings, wording, agreement of page and figures."""

import json

import pytest

from benchmarks import record
from benchmarks.moeas import operators as study
from pymoo_anon import operators
from pymoo_anon.operators import Neighborhood


@pytest.fixture(scope="module")
def problems():
    """Make a small problem of every part."""
    return {name: next(iter(own.quick.values()))() for name, own in study.PARTS.items()}


def parts_of(algorithm):
    """Return the operator types of an algorithm, including operators of an operator."""
    mating = getattr(algorithm, "mating", None)
    found = [
        getattr(getattr(algorithm, "initialization", None), "sampling", None),
        getattr(algorithm, "_given", {}).get("neighborhood"),
        *(getattr(mating, name, None) for name in ("selection", "crossover", "mutation", "repair")),
    ]
    return {type(one) for one in found}


def test_every_operator_of_the_package_is_studied(problems):
    settings = [(problems[part], make) for part, own in study.PARTS.items() for _, _, make in own.settings]
    made = {operator for problem, make in settings for operator in parts_of(make(problem))}
    assert {getattr(operators, name) for name in operators.__all__} - {Neighborhood} <= made


@pytest.mark.parametrize("part", study.PARTS)
def test_one_thing_is_changed(part, problems):
    """Compare the settings of a group with the first of the part."""
    _, *others = study.PARTS[part].settings
    assert len({(group, name) for group, name, _ in others}) == len(others)
    ours = study.PARTS[part].settings[0][2](problems[part])
    for group, name, make in others:
        if group in ("crossover", "mutation", "selection"):
            algorithm = make(problems[part])
            for kept in {"crossover", "mutation", "selection"} - {group}:
                own, before = (getattr(one.mating, kept) for one in (algorithm, ours))
                assert (type(own), own.name) == (type(before), before.name), name


def test_rates_of_pbgea_are_told_in_variables(problems):
    own = study.pbgea(problems["pbgea"], mutation=2.0, crossover=0.4)
    assert own.mating.mutation.prob_var.value == 2 / 8
    assert own.mating.crossover.prob.value == 0.4


@pytest.mark.slow
def test_quick_runs(monkeypatch, capsys):
    monkeypatch.setattr(record, "RESULTS", record.RESULTS)
    study.main(["--quick", "--seeds", "1"])
    assert "operators-quick" in str(record.RESULTS)
    found = json.loads((record.RESULTS / "operators.json").read_text(encoding="utf-8"))
    assert list(found) == list(study.PARTS)
    for name, part in study.PARTS.items():
        (problem,) = found[name]["problems"].values()
        assert [row["name"] for row in problem["rows"]] == [own for _, own, _ in part.settings]
        for row in problem["rows"]:
            # Points seen at one budget are also seen at the next.
            assert row["RR"]["50"][0] <= row["RR"]["100"][0] <= 1
            assert row["HV"]["50"][0] <= row["HV"]["100"][0] <= 1 + 1e-9
    assert "| ours " in capsys.readouterr().out


def test_the_stored_page_is_that_of_the_stored_figures():
    found = json.loads((record.RESULTS / "operators.json").read_text(encoding="utf-8"))
    assert list(found) == [part for part in study.PARTS if part in found]
    assert {one["seeds"] for own in found.values() for one in own["problems"].values()} == {study.SEEDS}
    assert (record.RESULTS / "operators.md").read_text(encoding="utf-8") == study.page(found) + "\n"
