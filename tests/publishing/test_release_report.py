"""The release report: its numbers against plain counts, and the file itself, made once."""

from functools import partial

import numpy as np
import pandas as pd
import pooch
import pytest
import vl_convert
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
from raw_tables import raw_problem

from pymoo_anon.comparison import CertainCounts, CountQueries, inference, population_uniques
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity, TCloseness
from pymoo_anon.problems import BitStringProblem, LatticeProblem
from pymoo_anon.publishing.report import subject
from pymoo_anon.publishing.report.cells import cell_of, cell_text, one_line
from pymoo_anon.publishing.report.subject import MOST_DETAILED
from pymoo_anon.table import Below

NAMES = [SCRIPT, BRACES, DOTTED]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return report(tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture(scope="module")
def data(made):
    return payload(made)


def released(x, rows=None, k=5, suppressed="mark"):
    """Build the release of a node row by row, with small classes suppressed."""
    rows = frame() if rows is None else rows
    made = pd.DataFrame(index=rows.index)
    for name, level in zip(NAMES, x, strict=True):
        hierarchy = hierarchies()[name]
        labels = {
            value: one_line(hierarchy.labels[level][group])
            for value, group in zip(hierarchy.domain, hierarchy.groups[level], strict=True)
        }
        made[name] = [labels[value] for value in rows[name]]
    sizes = class_sizes(made)
    if suppressed == "drop" or 0 < (sizes < k).sum() < sizes[sizes >= k].min():
        return made[sizes >= k]
    made.loc[sizes < k, NAMES] = "(suppressed)"
    return made


def class_sizes(made):
    return made.groupby(NAMES)[NAMES[0]].transform("size")


@pytest.mark.parametrize("row", range(len(X)))
def test_the_decision_is_that_of_the_released_rows(data, row):
    made = released(X[row])
    raw, sizes = class_sizes(frame()), class_sizes(made)
    assert rows_of(data, "risks", row) == [
        ["prosecutor, highest", cell_of(1 / raw.min()), cell_of(1 / sizes.min()), 0.09],
        ["marketer", cell_of((1 / raw).mean()), cell_of((1 / sizes).mean()), 0.09],
    ]


@pytest.mark.parametrize("row", range(len(X)))
def test_class_sizes_are_those_of_the_released_rows(data, row):
    made = released(X[row])
    n_suppressed = len(frame()) - (made[NAMES] != "(suppressed)").any(axis=1).sum()
    sizes = class_sizes(made)
    (words,) = (member["words"]["sizes"] for member in data["members"] if member["point"] == row + 1)
    assert f"{sizes.min():,}" in words[1]
    # All people stand in a row by the size of their class: that of the one in the middle.
    assert f"half of them are in a class of at least {np.sort(sizes)[(len(sizes) - 1) // 2]:,}." in words[1]
    assert words[0].startswith("No row" if n_suppressed == 0 else f"{n_suppressed} people")
    for bound, sentence in zip((2, 5, 12), words[2:], strict=True):
        n = int((sizes < bound).sum())
        assert sentence.startswith("Nobody is" if n == 0 else "1 person" if n == 1 else f"{n} people")
    shown_rows = rows_of(data, "sizes", row)
    assert sum(people for _, people, *_ in shown_rows) == len(made)
    assert sum(n for *_, n in shown_rows) == made.drop_duplicates().shape[0]
    for name, people, _ in shown_rows:
        low, high = ([int(part.replace(",", "")) for part in name.split("–")] * 2)[:2]
        assert people == int(((sizes >= low) & (sizes <= high)).sum())


@pytest.mark.parametrize("row", range(len(X)))
def test_distributions_are_those_of_the_rows(data, row):
    made = released(X[row])
    for j, name in enumerate(NAMES):
        counts = made[name].value_counts().to_dict()
        marked = counts.pop("(suppressed)", 0)
        rows = dict(map(tuple, rows_of(data, f"after{j}", row)))
        # Marked rows come last, and without any there is no such bar.
        assert ("* (suppressed)" in rows) == (marked > 0)
        assert list(rows)[-1] == "* (suppressed)" or marked == 0
        assert rows.pop("* (suppressed)", 0) == marked
        assert rows == counts
        raw = frame()[name].map(lambda value: one_line(value)).value_counts().to_dict()
        assert dict(map(tuple, rows_of(data, f"before{j}"))) == raw
    assert [value for value, _ in rows_of(data, "before2")] == sorted(map(str, range(40)), key=int)


@pytest.mark.parametrize("row", range(len(X)))
def test_the_ladder_stands_where_the_levels_are(data, row):
    rows = rows_of(data, "ladder", row)
    own = hierarchies()
    for name, level in zip(NAMES, X[row], strict=True):
        (here,) = (cells for cells in rows if cells[0] == one_line(name) and cells[5])
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
    sizes = class_sizes(released(X[row], k=0)).to_numpy()
    loss[sizes < 5] = 1
    # Suppressed rows are one class where they may be marked, and else left out.
    gone = (sizes < 5).sum()
    risk = np.where(sizes < 5, 1 / gone if gone >= sizes[sizes >= 5].min() else 0, 1 / sizes)
    found = rows_of(data, "groups", row)
    assert [cells[3] for cells in found] == sorted((cells[3] for cells in found), reverse=True)
    people = {
        (one_line(name), one_line(value)): (rows[name] == value) for name in (SCRIPT, BRACES) for value in rows[name]
    }
    people |= {("illness", value): rows["illness"] == value for value in rows["illness"].unique()}
    checked = 0
    for attribute, group, n, share, chance in found:
        if (attribute, group) in people:
            own_rows = people[attribute, group]
            assert n == own_rows.sum()
            assert share == pytest.approx(loss[own_rows].mean(), rel=1e-5)
            assert chance == pytest.approx(risk[own_rows].mean(), rel=1e-5)
            checked += 1
    assert checked == 8 + 2 + 3
    curve = rows_of(data, "lorenz", row)
    ordered = np.concatenate([[0], np.cumsum(np.sort(loss))])
    for share, _, held in curve:
        expected = np.interp(share * len(loss), np.arange(len(loss) + 1), ordered) / ordered[-1]
        assert held == pytest.approx(expected, abs=2e-3)


def test_the_front_is_the_frame_of_the_problem(data):
    own = problem()
    for row in rows_of(data, "front"):
        classes = own.equivalence_classes(X[row[0] - 1])
        values = [measure.evaluate(classes)[0] for measure in own.objectives]
        assert row[1:4] == [cell_of(value) for value in values]
        # The share refers to the greatest possible loss of all rows.
        assert row[4] == cell_of(values[2] / (600 * 3))
        assert row[5] == classes.n_suppressed[0]
        assert row[7] == "yes"
        assert row[8] == ("chosen" if row[0] == CHOSEN + 1 else "")
    assert [row[0] for row in rows_of(data, "front")] == list(range(1, len(X) + 1))


def test_page_and_script_show_the_same(made, data):
    page = read(made)
    kinds = data["kinds"]
    for name in ("risks", "sizes", "ladder", "groups", "lorenz", "after0", "before2", "quantiles"):
        if name in data["members"][0]["tables"] or name in data["fixed"]:
            expected = [[cell_text(cell, kind) for cell, kind in zip(row, kinds[name], strict=True)] for row in
                        rows_of(data, name)]  # fmt: skip
            assert page.tables[name] == expected
    (member,) = (member for member in data["members"] if member["point"] == CHOSEN + 1)
    for view, sentences in member["words"].items():
        assert page.sentences[view] == sentences
    # The measures are told in words.
    assert any(text.startswith("The fewest rows of a class") for text in page.texts)


def test_every_chart_has_its_table(made, data):
    page = read(made)
    drawn = [value for name, value in page.attributes if name == "data-of"]
    assert set(drawn) <= set(page.tables)
    assert {"front", "risks", "sizes", "ladder", "groups", "lorenz", "after0", "before0"} <= set(drawn)
    assert all(rows_of(data, name) for name in drawn)
    # Text hashes differ between processes, so none may decide the order.
    assert list(data["charts"]) == sorted({value for name, value in page.attributes if name == "data-chart"})


def test_no_chart_sorts_by_the_order_in_which_its_data_came(data):
    """Prevent the rows of another point from keeping their first order."""
    scales = [(kind, scale) for kind, spec in data["charts"].items() for scale in spec.get("scales", ())]
    named = [(kind, scale["domain"]) for kind, scale in scales if scale["type"] in ("band", "point", "ordinal")]
    assert {"sizes", "ladder", "risks", "groups", "bars", "columns"} <= {kind for kind, _ in named}
    for _, domain in named:
        assert domain["sort"] == {"op": "min", "field": "place"}


def test_claims_and_evidence_are_shown(made):
    tables = read(made).tables
    assert tables["claims"] == [
        ["k", "12", "12", "yes"],
        ["GLM", "1,001 (55.6 %)", "1,001 (55.6 %)", "no"],
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
        "neighbours › 1 › k": "2",
        "neighbours › 1 › suppressed": "3",
        "suppressed › how": "mark",
    }
    (said, *_) = read(made).sentences["evidence"]
    assert said.startswith("All other promises were recounted from the released table alone, by ")
    assert said.endswith("GLM does not hold. Not recounted: own.")


@pytest.mark.parametrize("external", [False, True])
def test_the_report_opens_with_every_column_and_the_rows_that_are_unique(tmp_path, external):
    page = read(report(tmp_path / "r.html", external=external))
    assert page.tables["columns"] == [
        [SCRIPT, "quasi-identifier", "–"],
        ["illness", "sensitive", "–"],
        ["<b>ssn", "keep", "because <i> is what we need"],
    ]
    assert page.tables["unique"] == [
        ["all released columns", "7", "1.2\N{NO-BREAK SPACE}%", "600"],
        ["kept columns", "1", "0.17\N{NO-BREAK SPACE}%", "600"],
    ]
    assert next(iter(page.sentences)) == "columns"
    assert page.sentences["columns"][1:] == [
        "7 of 600 rows (1.2 %) are unique by all released columns and 1 (0.2 %) by kept columns (<b>ssn: because <i> "
        "is what we need). Nothing is promised of kept columns (<b>ssn).",
        # Outsiders are not told which columns the raw table had.
        *([] if external else ["Dropped: name and <i>phone."]),
    ]
    assert ("name and <i>phone" in page.texts) == (not external)
    assert "What this does not protect against" in page.sentences["columns"][0]


def test_the_report_holds_the_codebook(made):
    book = read(made).tables["codebook"]
    assert [row[1] for row in book] == ["<i>front</i>", "back & forth", "*", "0–19", "20–39"]
    assert book[3][2:4] == ["0–19", "2"]
    counts = released(X[CHOSEN])[DOTTED].value_counts(normalize=True)
    assert [row[4] for row in book[3:]] == [cell_text(cell_of(counts[label]), "share") for label in ("0–19", "20–39")]


def test_a_name_may_be_a_tuple(tmp_path):
    own = pd.DataFrame({0: [1979, 1979, 1980, 1980]}).set_axis(
        pd.Index([("a", 1)], tupleize_cols=False), axis="columns"
    )
    page = read(report(tmp_path / "r.html", raw_problem(own), [[0], [1]], 0, evidence=None))
    assert page.tables["left"] == [["('a', 1)", "0\N{NO-BREAK SPACE}%", "1980", "1980"]]


def test_the_rarest_of_many_labels_are_counted_together(tmp_path):
    letters = list("abcdefghijklmnopqrst")
    own = raw_problem({"letter": np.repeat(letters, range(1, 21))})
    data = payload(report(tmp_path / "r.html", own, [[0], [1]], 0, evidence=None))
    shown = [[letters[n - 1], n] for n in range(20, 7, -1)]
    assert rows_of(data, "after0", 0) == [*shown, ["7 other labels", 28]]


def test_a_codebook_of_very_many_labels_is_shown_in_part(tmp_path):
    """Shorten 20,000 labels, for which a report has no room."""
    own = raw_problem({"n": np.repeat(range(4000), 2)})
    page = read(report(tmp_path / "r.html", own, [[0], [1]], 0, evidence=None))
    assert len(page.tables["codebook"]) == 3000
    assert page.sentences["codebook"] == ["There are 1,000 labels more: the codebook of the release has all."]


@pytest.mark.parametrize(
    ("known", "kind", "told"),
    [
        ({"certified": True}, "proven", "The front is proven"),
        ({"certified": False, "gap": np.full((6, 3), 12.341)}, "not proven, gap known", "GLM by 12.341"),
        ({}, "not proven", "better points may exist"),
    ],
)
def test_the_badge_says_how_far_the_front_is_proven(tmp_path, known, kind, told):
    page = read(report(tmp_path / "r.html", **known))
    assert kind in [piece.strip() for piece in page.texts]
    assert told in page.sentences["front"][0]


@pytest.mark.parametrize(
    ("threshold", "enough"), [(0.09, 12), (0.2, 5), (1 / 12, 12), (0.05, 20), (0.005, 200), (1, 1)]
)
def test_a_threshold_is_told_for_comparison_and_decides_nothing(tmp_path, threshold, enough):
    made = report(tmp_path / "r.html", threshold=threshold)
    page, data = read(made), payload(made)
    k = class_sizes(released(X[CHOSEN])).min()
    sentences = page.sentences["decision"]
    assert sentences[0] == "Nothing was required: neither search nor pick sets a bound."
    assert f"at most 1 in {k} " in sentences[1]
    assert sentences[2] == "That does not count the kept columns (<b>ssn), which may identify a person."
    assert sentences[3].startswith("For comparison, and no requirement")
    assert sentences[3].endswith(f"corresponds to k ≥ {enough:,}; here k = {k:,}.")
    assert ("European Medicines Agency" in sentences[3]) == (threshold == 0.09)
    assert {member["verdict"] for member in data["members"]} == {"nothing required"}
    assert rows_of(data, "risks")[0][3:] == [cell_of(threshold)]


def test_what_was_required_decides_what_is_met(tmp_path):
    """Meet a required k of 5, and miss one of 60."""
    own = problem(constraints=[KAnonymity() >= 5])
    made = report(tmp_path / "r.html", own, chosen=1, require=[DistinctLDiversity("illness") >= 2], threshold=0.001)
    page, data = read(made), payload(made)
    assert page.tables["requirements"] == [["k ≥ 5", "met", "5", "search"], ["l ≥ 2", "met", "2", "pick"]]
    assert page.sentences["decision"][0] == "All requirements are met."
    assert {member["verdict"] for member in data["members"]} == {"met"}
    made = report(tmp_path / "r.html", own, require=[KAnonymity() >= 60])
    data = payload(made)
    ks = {row[0]: row[1] for row in rows_of(data, "front")}
    for member in data["members"]:
        assert member["verdict"] == ("met" if ks[member["point"]] >= 60 else "not met")
        if member["verdict"] == "not met":
            assert member["words"]["decision"][0] == f"Not met: k >= 60 (it has {ks[member['point']]:,})."
    assert {"met", "not met"} == {member["verdict"] for member in data["members"]}


def test_the_journalist_counts_in_the_population(tmp_path):
    rows = frame()
    many = pd.concat([rows, frame(3000, seed=9)], ignore_index=True)
    data = payload(report(tmp_path / "r.html", population=table(many)))
    for row in (CHOSEN, 1):
        labels = released(X[row], k=0)
        kept = labels[class_sizes(labels) >= 5].drop_duplicates()
        outside = released(X[row], many, k=0)
        found = kept.merge(outside.groupby(NAMES).size().reset_index(name="persons"), on=NAMES)
        assert rows_of(data, "risks", row)[2][2] == cell_of(1 / found["persons"].min())
        assert rows_of(data, "risks", row)[2][0] == "journalist, highest"
    # A population that lacks people of the table is no answer.
    data = payload(report(tmp_path / "r.html", population=table(frame().iloc[:3])))
    assert rows_of(data, "risks", 0)[2][2:] == [None, 0.09]


def test_a_release_of_nothing_can_be_told(tmp_path):
    own = problem(suppression=Below(599))
    page = read(report(tmp_path / "r.html", own, suppressed="drop"))
    assert page.sentences["decision"][1].startswith("Every row is suppressed")
    assert page.tables["sizes"] == []
    with pytest.raises(ValueError, match="choice must leave a row to release"):
        report(tmp_path / "r.html", own, suppressed="drop", external=True)


def persons():
    """Return 40 visits of 20 persons, two each with equal values."""
    rows = {"age": np.repeat([1, 1, 2, 3], 10), "person": np.repeat(np.arange(20), 2), "x": "a"}
    return raw_problem(rows, "x", "person", [KAnonymity(person="person"), GeneralLossMetric()])


def test_persons_are_found_among_persons_and_not_among_their_rows(tmp_path):
    data = payload(report(tmp_path / "r.html", persons(), [[0], [1]], 0))
    assert rows_of(data, "risks", 0)[0][1:3] == [0.2, 0.2]
    assert "at most 1 in 5 " in data["members"][0]["words"]["decision"][1]
    assert "The smallest class is of 10 rows" in data["members"][0]["words"]["sizes"][1]
    # All else is counted in rows, and says so.
    words = payload(report(tmp_path / "r.html", persons(), [[0], [1]], 0, evidence=None))["members"][0]["words"]
    assert "\N{NO-BREAK SPACE}% of the rows, without knowing it" in words["inference"][0]
    assert words["bias"][0].startswith("All rows lose ")
    assert "such as that of rows with age" in words["utility"][1]
    # The person is not in the release: nobody can tell the rows of one from those of two.
    page = read(report(tmp_path / "r.html", persons(), [[0], [1]], 0, external=True))
    assert page.tables["risks"] == [["prosecutor, highest", "–", "9 %"], ["marketer", "–", "9 %"]]
    assert "does not tell how many persons a class holds" in page.sentences["decision"][0]


def test_bit_strings_have_rungs_too(tmp_path):
    own = BitStringProblem(table(), [KAnonymity(), GeneralLossMetric()])
    points = np.zeros((2, own.n_var), dtype=bool)
    points[1, ::3] = True
    data = payload(report(tmp_path / "r.html", own, points, 1))
    here = [row for row in rows_of(data, "ladder", 1) if row[5]]
    assert [row[3] for row in here] == list(own.decode(points[1]).n_groups)


def first(data):
    """Return the initial x axis, y axis and colour of the front."""
    return [None if place is None else data["axes"][place]["name"] for place in data["first"]]


def test_the_front_is_privacy_against_loss(tmp_path):
    four = [KAnonymity(), DistinctLDiversity("illness"), TCloseness("illness"), GeneralLossMetric()]
    data = payload(report(tmp_path / "r.html", LatticeProblem(table(), four, Below(5))))
    assert first(data) == ["GLM", "k", "l"]
    # The loss is drawn as its share of the greatest possible loss.
    loss = data["axes"][3]
    assert loss["column"] == "c5"
    assert loss["place"]["axis"]["format"] == "~%"
    assert data["kinds"]["front"][4:6] == ["number", "share"]
    own = LatticeProblem(table(), [GeneralLossMetric()], Below(5))
    assert first(payload(report(tmp_path / "r.html", own))) == ["GLM", "GLM", None]


def test_scales_are_logarithmic_where_values_span_decades(tmp_path):
    own = LatticeProblem(make_census(3000), [KAnonymity(), GeneralLossMetric()])
    points = np.vstack([own.xl, own.xu, own.xu - [1, 0, 0, 0, 0, 0, 0, 0]]).astype(int)
    data = payload(report(tmp_path / "r.html", own, points, 1))
    k, loss = data["axes"]
    for kind in ("place", "colour"):
        assert (k[kind]["scale"]["type"], loss[kind]["scale"]["type"]) == ("log", "linear")


def test_bounds_on_an_axis_are_what_was_required_and_one_for_comparison(tmp_path):
    own = problem(constraints=[KAnonymity() >= 5])
    data = payload(report(tmp_path / "r.html", own, require=[GeneralLossMetric() <= 900, KAnonymity() >= 12]))
    k, _, loss = data["axes"]
    # The requirement at 12 is not drawn a second time for comparison.
    assert [(one["at"], one["required"]) for one in k["bounds"]] == [(5, True), (12, True)]
    assert [(one["at"], one["required"]) for one in loss["bounds"]] == [(0.5, True)]
    (other,) = payload(report(tmp_path / "r.html"))["axes"][0]["bounds"]
    assert other == {"at": 12, "words": "risk 0.09, for comparison", "required": False}


@pytest.mark.parametrize("chosen", [0, 117])
def test_all_points_are_in_the_file_and_details_of_the_neighbours(tmp_path, chosen):
    own = LatticeProblem(make_census(300), [KAnonymity(), DistinctLDiversity("occupation"), GeneralLossMetric()])
    points = np.random.default_rng(0).integers(0, own.lengths + 1, (400, own.n_var))
    made = report(tmp_path / "r.html", own, points, chosen)
    data = payload(made)
    assert [row[0] for row in data["fixed"]["front"]] == list(range(1, 401))
    assert [row[0].strip() for row in read(made).tables["front"]] == [str(n) for n in range(1, 401)]
    detailed = [member["point"] for member in data["members"]]
    assert len(detailed) == MOST_DETAILED
    front = own.front(points)
    assert {chosen + 1, *(step.row + 1 for step in front.steps(chosen))} <= set(detailed)
    assert [row[0] for row in data["fixed"]["front"] if row[-2] == "yes"] == detailed
    assert len(made.encode()) <= 1_500_000


def test_a_file_that_would_be_too_large_holds_fewer_details(tmp_path, monkeypatch):
    whole = report(tmp_path / "r.html")
    page = "pymoo_anon.publishing.report.page.MOST_CHARACTERS"
    monkeypatch.setattr(page, len(whole) - 1)
    smaller = payload(report(tmp_path / "r.html"))
    detailed = [member["point"] for member in smaller["members"]]
    assert CHOSEN + 1 in detailed
    assert 1 <= len(detailed) < len(X)
    assert [row[0] for row in rows_of(smaller, "front")] == list(range(1, len(X) + 1))
    monkeypatch.setattr(page, 1000)
    with pytest.raises(ValueError, match="the report must be of at most 1,000 characters"):
        report(tmp_path / "r.html")


def test_the_folder_is_tried_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr("pymoo_anon.publishing.report.page._page", None)
    with pytest.raises(OSError, match=r"No such file"):
        report(tmp_path / "no folder" / "r.html")


@pytest.mark.parametrize("row", [1, 4])
@pytest.mark.parametrize("external", [False, True])
def test_records_at_risk_and_what_can_be_inferred_are_counted_in_the_released_rows(tmp_path, row, external):
    made = released(X[row])
    made["ill"] = frame()["illness"].map(one_line)
    data = payload(report(tmp_path / "r.html", chosen=row, external=external, population_size=4000))
    at, shown_row = (1, 0) if external else (2, row)
    sizes = class_sizes(made)
    assert [enough for *_, enough in rows_of(data, "at_risk", shown_row)] == [2, 3, 5, 10, 12, 20, 50, 100]
    for _, *shares, enough in rows_of(data, "at_risk", shown_row):
        assert shares[at - 1] == cell_of((sizes < enough).mean())
    found = inference(made, NAMES, "ill")
    rows = found["size"] / len(made)
    raw = frame().assign(ill=frame()["illness"].map(one_line))
    before = inference(raw, NAMES, "ill")
    shares = before["size"] / len(raw)
    expected = {
        "sensitive column": "illness",
        "correct guesses knowing the class": cell_of((rows * found["share"]).sum()),
        "correct guesses knowing the class: raw table": cell_of((shares * before["share"]).sum()),
        "correct guesses without knowing the class": cell_of(made["ill"].value_counts(normalize=True).max()),
        "rows in classes of one value": cell_of(rows[found["share"] == 1].sum()),
        "rows in classes of one value: raw table": cell_of(shares[before["share"] == 1].sum()),
        "mean distance": cell_of((rows * found["distance"]).sum()),
        "greatest distance": cell_of(found["distance"].max()),
    }
    assert rows_of(data, "inferred", shown_row) == [
        [cell for words, cell in expected.items() if not (external and "raw" in words)]
    ]
    assert sum(one[at] for one in rows_of(data, "sure0", shown_row)) == pytest.approx(1, abs=1e-5)
    uniques = population_uniques(sizes.groupby([made[name] for name in NAMES]).first(), 4000)
    assert {name: values[at - 1] for name, *values in rows_of(data, "uniques", shown_row)} == {
        name: None if one is None else round(one) for name, one in uniques.estimates.items()
    }
    if not external:
        worst = rows_of(data, "worst0", row)
        assert [cells[3:6] for cells in worst] == [
            [int(own["size"]), own["likeliest"], cell_of(own["share"])] for _, own in found.head(10).iterrows()
        ]


def test_counts_in_the_release_stand_beside_those_of_its_neighbours(data):
    own, queries = problem(), CountQueries(problem().table)
    rows = rows_of(data, "queries")
    assert [row[0] for row in rows] == [f"point {n}" for n in range(1, len(X) + 1)]
    # The chart tells the release apart by the last column.
    assert f"datum.c{len(rows[0]) - 1} == '●'" in str(data["charts"]["queries"])
    for (_, half, most, width, loss, here), x in zip(rows, X, strict=True):
        classes = own.equivalence_classes(x)
        n, k = classes.n_suppressed[0], KAnonymity().evaluate(classes)[0]
        errors = queries.summary({0: classes}, "mark" if n == 0 or n >= k else "drop").loc[0]
        assert [half, most] == [cell_of(error) for error in errors]
        assert width == cell_of(CertainCounts(queries).evaluate(classes)[0])
        assert loss == cell_of(GeneralLossMetric().evaluate(classes)[0] / 1800)
        assert bool(here) == (x == X[CHOSEN]).all()


def test_class_sizes_are_not_held_against_a_k_of_who_knows_less(tmp_path):
    known = KAnonymity(known=[[SCRIPT, BRACES], [BRACES, DOTTED]])
    own = LatticeProblem(table(), [known, GeneralLossMetric()], constraints=[known >= 5])
    made = report(tmp_path / "r.html", own, [[1, 1, 1], [2, 1, 2]], 0, evidence=None)
    assert payload(made)["kinds"]["sizes"] == ["text", "whole", "whole"]


def test_a_report_says_what_was_not_looked_at(tmp_path):
    sentences = read(report(tmp_path / "r.html")).sentences["open"]
    assert sentences[0] == (
        "Owner, data file, released file, recipients and purpose are not stated: fill in [report] of the project file, "
        "or step 6 of the screen."
    )
    assert any("the kept <b>ssn" in words for words in sentences)
    known = {"owner": "a", "data": "b", "release": "c", "recipients": "d", "purpose": "e", "population_size": 600}
    more = read(report(tmp_path / "r.html", certified=True, population=table(), **known)).sentences["open"]
    assert len(more) == len(sentences) - 4


@pytest.fixture
def calls(monkeypatch, tmp_path):
    """Count the calls of vl_convert, with a cache of one's own."""
    asked = []
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / name)

    def counted(name, own, *given):
        asked.append(name)
        return own(*given)

    for name in ("javascript_bundle", "vegalite_to_vega"):
        monkeypatch.setattr(vl_convert, name, partial(counted, name, getattr(vl_convert, name)))
    return asked


def test_script_and_charts_are_made_once_and_anew_where_their_files_are_damaged(calls, tmp_path):
    first, files = report(tmp_path / "first.html"), sorted((tmp_path / "pymoo_anon").iterdir())
    assert calls.count("javascript_bundle") == 1
    assert "vegalite_to_vega" in calls
    calls.clear()
    assert report(tmp_path / "second.html") == first
    assert calls == []
    whole = [path.read_bytes() for path in files]
    for i, (path, data) in enumerate(zip(files, whole, strict=True)):
        path.write_bytes(data[:-9] if i % 2 else data[:99] + data[100:])
    assert report(tmp_path / "third.html") == first
    assert calls.count("javascript_bundle") == 1
    assert [path.read_bytes() for path in files] == whole


@pytest.mark.slow
def test_without_a_folder_for_the_cache_the_report_is_the_same(calls, tmp_path, monkeypatch):
    first = report(tmp_path / "first.html")
    (tmp_path / "file").touch()
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "file")
    assert report(tmp_path / "second.html") == first


def test_each_release_is_inferred_from_once_and_so_is_the_table(tmp_path, monkeypatch):
    asked, by_class = [], subject.by_class
    monkeypatch.setattr(subject, "by_class", lambda counted: asked.append(counted) or by_class(counted))
    report(tmp_path / "report.html")
    n_sensitive = 1
    assert len(asked) == n_sensitive * (len(X) + 1)
