"""The report of a release: its numbers against plain counts of the rows, and the file as a file."""

import json
import math
import os

import numpy as np
import pandas as pd
import pytest
from persons_of_a_report import (
    BRACES,
    CHOSEN,
    DOTTED,
    SCRIPT,
    X,
    frame,
    hierarchies,
    payload,
    problem,
    read,
    report,
    rows_of,
    table,
)

from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity, ProsecutorRisk
from pymoo_anon.problems import BitStringProblem, LatticeProblem
from pymoo_anon.publishing import Findings, write_report
from pymoo_anon.publishing.report.cells import number, shown, text
from pymoo_anon.publishing.report.subject import MOST_MEMBERS
from pymoo_anon.table import Below, Hierarchy, Microdata

NAMES = [SCRIPT, BRACES, DOTTED]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return report(tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture(scope="module")
def data(made):
    return payload(made)


def released(x, rows=None, k=5, suppressed="mark"):
    """The release of a node, row by row: labels of the hierarchies, rows of classes below k as * or dropped."""
    rows = frame() if rows is None else rows
    made = pd.DataFrame(index=rows.index)
    for name, level in zip(NAMES, x, strict=True):
        hierarchy = hierarchies()[name]
        labels = {
            value: text(hierarchy.labels[level][group])
            for value, group in zip(hierarchy.domain, hierarchy.groups[level], strict=True)
        }
        made[name] = [labels[value] for value in rows[name]]
    sizes = made.groupby(NAMES)[NAMES[0]].transform("size")
    if suppressed == "drop" or 0 < (sizes < k).sum() < sizes[sizes >= k].min():
        return made[sizes >= k], int((sizes < k).sum())
    made.loc[sizes < k, NAMES] = "(suppressed)"
    return made, int((sizes < k).sum())


def class_sizes(made):
    return made.groupby(NAMES)[NAMES[0]].transform("size")


@pytest.mark.parametrize("row", range(len(X)))
def test_the_decision_is_that_of_the_released_rows(data, row):
    made, _ = released(X[row])
    raw = frame().groupby(NAMES)[NAMES[0]].transform("size")
    sizes = class_sizes(made)
    assert rows_of(data, "risks", row) == [
        ["prosecutor, highest", number(1 / raw.min()), number(1 / sizes.min()), 0.09,
         "pass" if 1 / sizes.min() <= 0.09 else "fail"],
        ["marketer", number((1 / raw).mean()), number((1 / sizes).mean()), 0.09,
         "pass" if (1 / sizes).mean() <= 0.09 else "fail"],
    ]  # fmt: skip


@pytest.mark.parametrize("row", range(len(X)))
def test_class_sizes_are_those_of_the_released_rows(data, row):
    made, n_suppressed = released(X[row])
    sizes = class_sizes(made)
    (words,) = (member["words"]["sizes"] for member in data["members"] if member["point"] == row + 1)
    assert f"{sizes.min():,}" in words[1]
    assert words[0].startswith("No row" if n_suppressed == 0 else f"{n_suppressed} people")
    for bound, sentence in zip((2, 5, 12), words[2:], strict=True):
        n = int((sizes < bound).sum())
        assert sentence.startswith("Nobody is" if n == 0 else "1 person" if n == 1 else f"{n} people")
    shown_rows = rows_of(data, "sizes", row)
    assert sum(people for _, people, *_ in shown_rows) == len(made)
    assert sum(n for *_, n in shown_rows) == made.drop_duplicates().shape[0]
    for name, people, kind, _ in shown_rows:
        low, high = ([int(part.replace(",", "")) for part in name.split("–")] * 2)[:2]
        assert people == int(((sizes >= low) & (sizes <= high)).sum())
        assert kind == ("too small" if high < 12 else "large enough")


@pytest.mark.parametrize("row", range(len(X)))
def test_distributions_are_those_of_the_rows(data, row):
    made, _ = released(X[row])
    for j, name in enumerate(NAMES):
        counts = made[name].value_counts().to_dict()
        marked = counts.pop("(suppressed)", 0)
        rows = dict(map(tuple, rows_of(data, f"after{j}", row)))
        assert rows.pop("* (suppressed rows)", 0) == marked
        assert rows == counts
        raw = frame()[name].map(lambda value: text(value)).value_counts().to_dict()
        assert dict(map(tuple, rows_of(data, f"before{j}"))) == raw
    assert [value for value, _ in rows_of(data, "before2")] == sorted(map(str, range(40)), key=int)


@pytest.mark.parametrize("row", range(len(X)))
def test_the_ladder_stands_where_the_levels_are(data, row):
    rows = rows_of(data, "ladder", row)
    own = hierarchies()
    for name, level in zip(NAMES, X[row], strict=True):
        (here,) = (cells for cells in rows if cells[0] == text(name) and cells[5])
        assert here[1] == level
        assert here[2] == pytest.approx(level / own[name].length, abs=1e-3)
        assert here[3] == own[name].n_groups[level]
    assert len(rows) == sum(hierarchy.length + 1 for hierarchy in own.values())


@pytest.mark.parametrize("row", [1, 2, 4])
def test_who_pays_is_counted_over_people(data, row):
    rows, own = frame(), hierarchies()
    sizes_of_groups = []
    for name, level in zip(NAMES, X[row], strict=True):
        groups = own[name].groups[level][own[name].encode(rows[name].tolist())]
        domain = own[name].groups[level]
        sizes_of_groups.append((np.bincount(domain)[groups] - 1) / (len(domain) - 1))
    loss = np.mean(sizes_of_groups, axis=0)
    keys = released(X[row], suppressed="mark")[0]
    labelled, _ = released(X[row], k=0)
    kept = labelled.groupby(NAMES)[NAMES[0]].transform("size") >= 5
    loss[~kept] = 1
    found = rows_of(data, "groups", row)
    assert [cells[3] for cells in found] == sorted((cells[3] for cells in found), reverse=True)
    people = {(text(name), text(value)): (rows[name] == value) for name in (SCRIPT, BRACES) for value in rows[name]}
    people |= {("illness", value): rows["illness"] == value for value in rows["illness"].unique()}
    checked = 0
    for attribute, group, n, share, _ in found:
        if (attribute, group) in people:
            own_rows = people[attribute, group]
            assert n == own_rows.sum()
            assert share == pytest.approx(loss[own_rows].mean(), rel=1e-5)
            checked += 1
    assert checked == 8 + 2 + 3
    curve = rows_of(data, "lorenz", row)
    ordered = np.concatenate([[0], np.cumsum(np.sort(loss))])
    for share, _, held in curve:
        expected = np.interp(share * len(loss), np.arange(len(loss) + 1), ordered) / ordered[-1]
        assert held == pytest.approx(expected, abs=2e-3)
    assert len(keys) > 0


def test_the_front_is_the_frame_of_the_problem(data):
    own = problem()
    for row in rows_of(data, "front"):
        classes = own.equivalence_classes(X[row[0] - 1])
        values = [measure.evaluate(classes)[0] for measure in own.objectives]
        assert row[1:4] == [number(value) for value in values]
        assert row[4] == classes.n_suppressed[0]
        assert row[6] == ("chosen" if row[0] == CHOSEN + 1 else "")
    assert [row[0] for row in rows_of(data, "front")] == list(range(1, len(X) + 1))


def test_page_and_script_show_the_same(made, data):
    page = read(made)
    kinds = data["kinds"]
    for name in ("risks", "sizes", "ladder", "groups", "lorenz", "after0", "before2", "quantiles"):
        if name in data["members"][0]["tables"] or name in data["fixed"]:
            expected = [[shown(cell, kind) for cell, kind in zip(row, kinds[name], strict=True)] for row in
                        rows_of(data, name)]  # fmt: skip
            assert page.tables[name] == expected
    (member,) = (member for member in data["members"] if member["point"] == CHOSEN + 1)
    for view, sentences in member["words"].items():
        assert page.sentences[view] == sentences


def test_every_chart_has_its_table(made, data):
    page = read(made)
    drawn = [value for name, value in page.attributes if name == "data-of"]
    assert set(drawn) <= set(page.tables)
    assert {"front", "risks", "sizes", "ladder", "groups", "lorenz", "after0", "before0"} <= set(drawn)
    assert {value for name, value in page.attributes if name == "data-chart"} == set(data["charts"])
    for name in drawn:
        assert rows_of(data, name)


def test_no_chart_sorts_by_the_order_in_which_its_data_came(data):
    """The rows of another point would stand where they were first seen."""
    scales = [(kind, scale) for kind, spec in data["charts"].items() for scale in spec["scales"]]
    named = [(kind, scale["domain"]) for kind, scale in scales if scale["type"] in ("band", "point", "ordinal")]
    assert {"sizes", "ladder", "risks", "groups", "bars", "columns"} <= {kind for kind, _ in named}
    for _, domain in named:
        assert domain["sort"] == {"op": "min", "field": "place"}


def test_claims_and_evidence_are_shown(made):
    tables = read(made).tables
    assert tables["claims"] == [
        ["k", "12", "12", "yes"],
        ["GLM", "1,001", "1,001", "no"],
        ["own", "3", "–", "–"],
    ]
    assert dict(tables["evidence"]) == {
        "software › pymoo_anon": "0.1.0",
        "software › <b>": "</script>",
        "seed": "4711",
        "settings › require": "k>=5, l>=2",
        "reproduce": "pymoo-anon search " + "x" * 400,
        "settings › nothing": "–",
        "settings › yes": "yes",
        "front": "30 parts, which the file of the evidence has",
        "neighbours › 1 › k": "2",
        "neighbours › 1 › suppressed": "3",
    }


@pytest.mark.parametrize(
    ("findings", "kind", "told"),
    [
        (Findings(certified=True), "proven", "The front is proven"),
        (Findings(certified=False, gap={"GLM": 12.5}), "not proven, gap known", "GLM by 12.5"),
        (Findings(), "not proven", "Nobody has proven"),
    ],
)
def test_the_badge_says_how_far_the_front_is_proven(tmp_path, findings, kind, told):
    page = read(report(tmp_path / "r.html", findings=findings))
    assert kind in [piece.strip() for piece in page.texts]
    assert told in page.sentences["front"][0]


@pytest.mark.parametrize(("threshold", "enough"), [(0.09, 12), (0.2, 5), (0.1, 10), (0.05, 20), (1, 1)])
def test_the_threshold_asks_for_a_class_size(tmp_path, threshold, enough):
    made = report(tmp_path / "r.html", threshold=threshold)
    page, data = read(made), payload(made)
    k = class_sizes(released(X[CHOSEN])[0]).min()
    assert f"classes of at least {enough:,} people" in page.sentences["decision"][0]
    assert page.sentences["decision"][0].startswith("Pass" if k >= enough else "Fail")
    assert rows_of(data, "risks")[0][3:] == [number(threshold), "pass" if k >= enough else "fail"]


def test_the_journalist_counts_in_the_population(tmp_path):
    rows = frame()
    many = pd.concat([rows, frame(3000, seed=9)], ignore_index=True)
    data = payload(report(tmp_path / "r.html", population=table(many)))
    for row in (CHOSEN, 1):
        labels, _ = released(X[row], k=0)
        kept = labels[labels.groupby(NAMES)[NAMES[0]].transform("size") >= 5].drop_duplicates()
        outside, _ = released(X[row], many, k=0)
        found = kept.merge(outside.groupby(NAMES).size().reset_index(name="persons"), on=NAMES)
        assert rows_of(data, "risks", row)[2][2] == number(1 / found["persons"].min())
        assert rows_of(data, "risks", row)[2][0] == "journalist, highest"


def test_a_population_that_lacks_people_of_the_table_is_no_answer(tmp_path):
    few = frame().iloc[:3]
    data = payload(report(tmp_path / "r.html", population=table(few)))
    assert rows_of(data, "risks", 0)[2][2:] == [None, 0.09, "not known"]


def test_dropped_rows_are_in_no_class(tmp_path):
    data = payload(report(tmp_path / "r.html", findings=Findings(suppressed="drop")))
    made, n_suppressed = released(X[1], suppressed="drop")
    assert n_suppressed > 0
    assert sum(people for _, people, *_ in rows_of(data, "sizes", 1)) == len(made)
    assert sum(people for _, people in rows_of(data, "after0", 1)) == len(made)
    assert rows_of(data, "risks", 1)[1][2] == number((1 / class_sizes(made)).mean())


def test_a_release_of_nothing_can_be_told(tmp_path):
    own = problem(suppression=Below(599))
    for external in (False, True):
        made = report(tmp_path / "r.html", own, findings=Findings(suppressed="drop"), external=external)
        page = read(made)
        assert page.sentences["decision"][0].startswith("Every row is suppressed")
        assert page.tables["sizes"] == []


def test_bit_strings_have_rungs_too(tmp_path):
    own = BitStringProblem(table(), [KAnonymity(), GeneralLossMetric()])
    points = np.zeros((2, own.n_var), dtype=bool)
    points[1, ::3] = True
    data = payload(report(tmp_path / "r.html", own, points, 1))
    here = [row for row in rows_of(data, "ladder", 1) if row[5]]
    assert [row[3] for row in here] == list(own.decode(points[1]).n_groups)
    assert "read" not in payload(report(tmp_path / "r.html", own, points, 1, external=True))["fixed"]


def test_measures_without_a_higher_one_have_axes(tmp_path):
    own = LatticeProblem(table(), [ProsecutorRisk(), GeneralLossMetric()], suppression=Below(5))
    assert payload(report(tmp_path / "r.html", own))["axes"] == ["c1", "c2"]
    single = LatticeProblem(table(), [GeneralLossMetric()], suppression=Below(5))
    assert payload(report(tmp_path / "r.html", single))["axes"] == ["c1", "c1"]


def test_many_members_are_thinned_and_the_chosen_one_stays(tmp_path):
    own = LatticeProblem(make_census(300), [KAnonymity(), GeneralLossMetric()])
    points = np.random.default_rng(0).integers(0, own.lengths + 1, (200, own.n_var))
    for chosen in (117,):
        made = report(tmp_path / "r.html", own, points, chosen)
        data = payload(made)
        rows = [member["point"] - 1 for member in data["members"]]
        assert chosen in rows
        assert MOST_MEMBERS - 2 <= len(rows) <= MOST_MEMBERS
        assert f"{len(rows)} of the 200 members" in read(made).sentences["front"][1]
        assert [row[0] - 1 for row in data["fixed"]["front"]] == rows
        assert len(made.encode()) <= 1_500_000


def test_a_file_that_would_be_too_large_holds_fewer_members(tmp_path, monkeypatch):
    whole = report(tmp_path / "r.html")
    page = "pymoo_anon.publishing.report.page.MOST_CHARACTERS"
    monkeypatch.setattr(page, len(whole) - 1)
    smaller = report(tmp_path / "r.html")
    rows = [member["point"] - 1 for member in payload(smaller)["members"]]
    assert CHOSEN in rows
    assert 1 < len(rows) < len(X)
    assert f"{len(rows)} of the {len(X)} members" in read(smaller).sentences["front"][1]
    assert [row[0] - 1 for row in rows_of(payload(smaller), "front")] == rows
    monkeypatch.setattr(page, 1000)
    with pytest.raises(ValueError, match="the report must be of at most 1,000 characters"):
        report(tmp_path / "r.html")


def test_equal_arguments_give_equal_files(tmp_path, made):
    assert report(tmp_path / "again.html") == made


def test_the_file_appears_whole_or_not_at_all(tmp_path, monkeypatch):
    target = tmp_path / "report.html"
    target.write_text("old")

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        with pytest.raises(OSError, match="No space"):
            report(target)
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["report.html"]
    with pytest.raises(OSError, match=r"No such file"):
        write_report(tmp_path / "no folder" / "r.html", problem(), X, 0)
    assert len(report(target)) > 1000
    assert os.listdir(tmp_path) == ["report.html"]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"chosen": 6}, ValueError, "chosen must be a row of X, from 0 to 5, got 6"),
        ({"chosen": -1}, ValueError, "chosen must be a row of X"),
        ({"chosen": True}, ValueError, "chosen must be a row of X"),
        ({"threshold": 0}, ValueError, "threshold must be a risk above 0 and at most 1, got 0"),
        ({"threshold": math.nan}, ValueError, "threshold must be a risk"),
        ({"threshold": "0.1"}, ValueError, "threshold must be a risk"),
        ({"findings": {}}, TypeError, "findings must be Findings, got dict"),
        ({"population": 3}, TypeError, "population must be a Microdata"),
        ({"points": [[0, 0]]}, ValueError, "X must be nodes of 3 levels"),
        ({"own": "problem"}, TypeError, "problem must be a LatticeProblem or a BitStringProblem, got str"),
    ],
)
def test_bad_arguments_are_named(tmp_path, change, error, message):
    given_ = {"own": None, "points": X, "chosen": CHOSEN, **change}
    with pytest.raises(error, match=message):
        report(tmp_path / "r.html", **given_)
    assert os.listdir(tmp_path) == []


def test_another_population_is_refused(tmp_path):
    other = Microdata.from_frame(frame(), {BRACES: Hierarchy.flat(["yes", "no"])})
    with pytest.raises(ValueError, match="population must have the table's quasi-identifiers"):
        report(tmp_path / "r.html", population=other)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"claims": {}}, TypeError, "claims must be a pandas frame, got dict"),
        ({"claims": pd.DataFrame({"measure": []})}, ValueError, "claims must have the columns measure, promised"),
        ({"evidence": []}, TypeError, "evidence must be a dict, got list"),
        ({"gap": 3}, TypeError, "gap must be a dict, got int"),
        ({"suppressed": "hide"}, ValueError, "suppressed must be 'mark' or 'drop', got 'hide'"),
    ],
)
def test_bad_findings_are_named(change, error, message):
    with pytest.raises(error, match=message):
        Findings(**change)


def test_the_data_are_plain_json(data):
    json.dumps(data, allow_nan=False)
