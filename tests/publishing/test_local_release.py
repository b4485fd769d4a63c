"""Releases and reports of local recodings, compared with released rows.

Levels of whole columns stand beside them.
"""

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from persons_of_a_report import BRACES, CHOSEN, DOTTED, SCRIPT, X, frame, hierarchies, payload, read, rows_of, table
from strategies import fewer, nodes, policies, promised, rule_of, tables

from pymoo_anon.comparison import CountQueries
from pymoo_anon.objectives import *
from pymoo_anon.problems import LatticeProblem, LocalRecodingProblem
from pymoo_anon.publishing import RecountError, codebook, evidence, explain, explaining, release, verify, write_report
from pymoo_anon.publishing.explaining import alternatives, bound_words
from pymoo_anon.publishing.release import recode
from pymoo_anon.publishing.report.cells import cell_of, one_line
from pymoo_anon.table import AtMost, Hierarchy, LocalGeneralization, Microdata

NAMES = [SCRIPT, BRACES, DOTTED]
GOALS = [KAnonymity(), GeneralLossMetric()]


def local_problem(**options):
    return LocalRecodingProblem(table(), GOALS, **options)


def written(path, own, points, row, **options):
    front = own.front(points)
    write_report(path, front, front.choose(row=row), **options)
    text = path.read_text(encoding="utf-8")
    return read(text), payload(text)


def counted_alike(made, data, external=False):
    """Compare the figures of a report with the rows of its release."""
    made = made.assign(**{name: made[name].map(one_line) for name in NAMES})
    sizes = made.groupby(NAMES)[NAMES[0]].transform("size")
    after = 1 if external else 2
    assert rows_of(data, "risks")[0][:3][after] == cell_of(1 / sizes.min())
    assert rows_of(data, "risks")[1][:3][after] == cell_of((1 / sizes).mean())
    assert sum(row[1] for row in rows_of(data, "sizes")) == len(made)
    for j, name in enumerate(NAMES):
        told = dict(map(tuple, rows_of(data, f"after{j}")))
        others = [label for label in told if label.endswith("other labels")]
        counts = made[name].value_counts().to_dict()
        assert sum(told.values()) == len(made)
        assert all(told[label] == counts[label] for label in told if label not in others)


def levels_alike(made, data):
    for name, hierarchy in hierarchies().items():
        level_of = dict(zip(map(str, hierarchy.nodes.labels), hierarchy.nodes.level.tolist(), strict=True))
        shares = made[name].map(level_of).value_counts(normalize=True).to_dict()
        told = {row[1]: row[3] for row in rows_of(data, "levels") if row[0] == one_line(name)}
        assert told == pytest.approx(shares, rel=1e-5)


@pytest.mark.parametrize("external", [False, True])
def test_a_local_release_is_told_as_its_rows_are(tmp_path, external):
    own = local_problem()
    points = [own.x_of(k) for k in (2, 5, 20)]
    made = release(frame(), own, points[1], drop=[]).frame
    page, data = written(tmp_path / "r.html", own, points, 1, external=external)
    counted_alike(made, data, external)
    book = {(row[0], row[1]) for row in page.tables["codebook"]}
    assert book == {(one_line(name), one_line(label)) for name in NAMES for label in made[name].unique()}
    assert ("beside" in page.tables) != external
    if not external:
        levels_alike(made, data)
        # The page describes the points, and does not count their labels.
        assert [row[-3] for row in page.tables["front"]] == own.words(np.array(points))


@pytest.mark.parametrize("suppressed", ["mark", "drop"])
def test_a_point_that_was_refined_is_told_as_it_was_released(tmp_path, suppressed):
    own = LatticeProblem(table(), GOALS, AtMost(20))
    made = release(frame(), own, X[CHOSEN], suppressed=suppressed, recoding="local")
    points = X[CHOSEN - 1 : CHOSEN + 1]
    front = own.front(points)
    told = evidence(own, front, front.choose(row=1), made, checksums={}, search={})
    page, data = written(tmp_path / "r.html", own, points, 1, evidence=told)
    counted_alike(made.frame, data)
    levels_alike(made.frame[(made.frame[NAMES] != "*").any(axis=1)], data)
    assert page.tables["beside"][0][0].startswith("this release")
    # A neighbour is a point of whole columns: all cells of a column stand at one level.
    other = next(one for one in data["members"] if one["point"] != data["chosen"])
    levels = data["pool"][other["tables"]["levels"]]
    assert [row[1] for row in levels] == points[0].tolist()
    assert {row[3] for row in levels} == {1}
    without, again = written(tmp_path / "s.html", own, points, 1, evidence=made)
    assert rows_of(again, "sizes") == rows_of(data, "sizes")
    assert ("claims" in without.tables, "evidence" in without.tables) == (True, False)
    (fate,) = (text for text in without.texts if text.startswith("This is the release"))
    assert fate == again["fate"] == "This is the release before each of its classes was refined."


def test_requirements_of_a_refined_point_are_those_of_its_release(tmp_path):
    own = LatticeProblem(table(), [*GOALS, MarketerRisk()])
    point = [[1, 1, 3]]
    risks = [MarketerRisk().evaluate(own.equivalence_classes(point[0]))[0]]
    made = release(frame(), own, point[0], recoding="local")
    risks.append(made.frame.groupby(NAMES).ngroups / len(made.frame))
    front = own.front(point)
    choice = front.choose(row=0, require=[MarketerRisk() <= sum(risks) / 2])
    assert risks[0] < risks[1]
    write_report(tmp_path / "r.html", front, choice, evidence=made)
    (row,) = read((tmp_path / "r.html").read_text(encoding="utf-8")).tables["requirements"]
    assert row[1] == "not met"


def test_whole_columns_beside_it_are_the_best_of_all_nodes_at_equal_k():
    own = local_problem()
    x = own.x_of(6)
    told, (here, columns, equal) = alternatives(own, x, own.equivalence_classes(x))
    lattice = LatticeProblem(table(), [*GOALS, MarketerRisk()], AtMost(6))
    nodes = np.stack(np.meshgrid(*(np.arange(n + 1) for n in lattice.lengths)), axis=-1).reshape(-1, 3)
    k, loss, risk = lattice.natural(lattice.evaluate(nodes)).T
    best = loss[k >= here.k].min()
    assert columns.loss == pytest.approx(best / (600 * 3))
    assert "the best that were found" not in told
    assert columns.mean_risk in risk[loss == best]
    assert here.loss < columns.loss
    assert equal.mean_risk <= columns.mean_risk < here.mean_risk
    assert here.loss < equal.loss
    said = explain(own, [x], own.front([x]).choose(row=0))
    assert said.local[0] == told
    assert said.local[1].startswith("k does not protect illness, and small classes share one value of it more often")
    x = own.x_of(600)
    said = explain(own, [x], own.front([x]).choose(row=0))
    assert [line.partition("; ")[2] for line in said.levels] == ["everybody has *"] * 3
    assert said.local[0].endswith(": as much.")
    asked = local_problem(constraints=[DistinctLDiversity("illness") >= 2])
    x = own.x_of(6)
    assert len(explain(asked, [x], asked.front([x]).choose(row=0)).local) == 1


@pytest.mark.parametrize("factor", [0.6, 0.8, 1.0, 1.25, 1.6])
def test_the_least_price_of_a_mean_risk_is_found_with_few_recodings(monkeypatch, factor):
    made, counts = [], []

    class Priced:
        prices = (0.0, *np.round(2 ** (np.arange(30) / 2)).tolist())

        def equivalence_classes(self, x):
            made.append(x[1])
            return 1 / (5 + factor * self.prices[x[1]])

    class Risk:
        def evaluate(self, classes):
            return [classes]

    monkeypatch.setattr(explaining, "MarketerRisk", Risk)
    own, x = Priced(), np.array([3, 0, 1])
    risks = [own.equivalence_classes([3, place]) for place in range(len(own.prices))]
    for risk in (*risks, *np.geomspace(1, 1e-6, 40)):
        made.clear()
        enough = [one for one in risks if one <= risk]
        assert explaining._of_mean_risk(own, x, risk) == (enough[0] if enough else None)
        assert len(made) == len(set(made)) <= 7
        counts.append(len(made))
    assert np.mean(counts) < 3.5
    assert x.tolist() == [3, 0, 1]


def test_whole_columns_beside_it_hold_for_every_adversary_too(tmp_path):
    known = KAnonymity(known=[NAMES[:2], NAMES[2:]]) >= 6
    own = local_problem(constraints=[known])
    x = own.x_of(3)
    told, (_, columns, *_) = alternatives(own, x, own.equivalence_classes(x))
    assert known.keeps(known.objective.evaluate(columns.classes)).all()
    page, _ = written(tmp_path / "r.html", own, [x], 0)
    assert page.sentences["beside"][0] == told


def test_counts_beside_it_are_those_of_what_becomes_of_suppressed_rows(tmp_path):
    own = local_problem()
    x = own.x_of(4)
    _, (_, way, *_) = alternatives(own, x, own.equivalence_classes(x))
    assert way.classes.n_suppressed > 0
    _, data = written(tmp_path / "r.html", own, [x], 0, suppressed="drop")
    (told,) = (row[-1] for row in rows_of(data, "beside") if row[0] == way.how)
    assert told == cell_of(CountQueries(own.table).summary({0: way.classes}, "drop")["median"][0])


def test_a_bound_is_told_where_somebody_asked_for_it(tmp_path):
    own = local_problem()
    x = own.x_of(5)
    front, made = own.front([x]), release(frame(), own, x)
    choice = front.choose(row=0)
    bound = own.lower_bound(x, ("n_iter", 5))
    for asked, words in ((None, "was not computed."), (bound, "in 5 passes.")):
        told = evidence(own, front, choice, made, checksums={}, search={"bound": asked})
        assert bound_words(told["chosen"]["local"]["bound"]).endswith(words)
        assert (told["chosen"]["local"]["bound"] or {}).get("gap") == (asked and asked.share)
    page, _ = written(tmp_path / "r.html", own, [x], 0, evidence=told)
    assert page.sentences["beside"][1].endswith("in 5 passes.")


def test_the_report_for_outsiders_depends_on_the_local_release_alone(tmp_path):
    """Write the same file for all raw values with the same release.

    All rows of a class get the raw values of one of them.
    """
    own = local_problem()
    x, rows = own.x_of(8), frame()
    made, files = own.decode(x), set()
    places = {code: place for place, code in enumerate(map(tuple, own.table.tuples.codes.tolist()))}
    encoded = [own.table.quasi_identifiers[name].encode(rows[name].tolist()).tolist() for name in NAMES]
    class_of = made.class_of[[places[code] for code in zip(*encoded, strict=True)]]
    for which in (0, -1):
        other = rows.copy()
        other[NAMES] = rows[NAMES].groupby(class_of).transform(lambda own, which=which: own.iloc[which])
        again = Given(Microdata.from_frame(other, hierarchies(), sensitive="illness"), GOALS)
        cells = dict(zip(map(tuple, own.table.tuples.codes.tolist()), made.cells.tolist(), strict=True))
        found = [cells[code] for code in map(tuple, again.table.tuples.codes.tolist())]
        again.made = LocalGeneralization(again.table.quasi_identifiers, found)
        assert not other.equals(rows)
        written(tmp_path / "r.html", again, [x], 0, external=True)
        files.add((tmp_path / "r.html").read_bytes())
    written(tmp_path / "r.html", own, [x], 0, external=True)
    assert files == {(tmp_path / "r.html").read_bytes()}


class Given(LocalRecodingProblem):
    """A problem with one given recoding for every point."""

    def decode(self, x):
        return self.made


def measures_of(population):
    """Return one measure of each kind."""
    return [
        *(KAnonymity(), ProsecutorRisk(), MarketerRisk(), AverageClassSize(), Discernibility(), KMap(population)),
        *(GeneralLossMetric(), NormalizedWeightedPenalty(), Precision(), NonUniformEntropy(), KLDivergence()),
        *(DistinctLDiversity("s0"), EntropyLDiversity("s0"), AlphaDeassociation("s0"), TCloseness("s0")),
        BasicBetaLikeness("s0"),
    ]


def released(table, problem, x, **asked):
    roles = {*table.microdata.sensitive, table.microdata.label}
    keep = {name: "it is kept as drawn" for name in ("s0", "s1", "label") if name not in roles}
    return release(table.frame, problem, x, keep=keep, anyway="it is only a test", **asked)


def check_recount(made):
    """Check that a recount of the rows finds the engine's values, which have exact twins."""
    assert made.claims.holds.tolist() == [True] * len(made.claims)
    assert made.claims.recounted.tolist() == pytest.approx(made.claims.promised.tolist(), rel=1e-9, abs=1e-9)


@st.composite
def points(draw):
    """Draw a table, a problem that makes recodings, and a point."""
    table = draw(tables(rooted=True))
    problem = LocalRecodingProblem(
        table.microdata,
        measures_of(table.microdata),
        draw(st.sampled_from([(), (KAnonymity() >= 2,), (DistinctLDiversity("s0") >= 2,)])),
        method=draw(st.sampled_from(["bottom-up", "top-down", "mondrian", "mondrian-relaxed"])),
    )
    return table, problem, [draw(st.integers(0, int(most))) for most in problem.xu]


@promised(500, 0.5)
@given(points())
def test_what_a_search_makes_is_claimed_and_counted_again_from_hierarchies_alone(drawn):
    table, problem, x = drawn
    made = released(table, problem, x)
    check_recount(made)
    assert made.n_suppressed == 0
    hierarchies = problem.table.quasi_identifiers
    # Without the recoding, a row of stars alone is taken for a suppressed one.
    stars = (made.frame[list(hierarchies)] == "*").all(axis=1)
    if not stars.any():
        again = verify(made.frame, list(hierarchies), problem.objectives, original=table.frame, hierarchies=hierarchies)
        assert again.recounted.tolist() == made.claims.recounted[: len(problem.objectives)].tolist()


@fewer(3)
@given(points(), st.integers(0, 2**32))
def test_nothing_of_the_order_of_rows_shows(drawn, seed):
    table, problem, x = drawn
    made = released(table, problem, x).frame
    names = list(made)
    assert made.equals(made.sort_values(names, ignore_index=True))
    table.frame = table.frame.sample(frac=1, random_state=seed)
    assert released(table, problem, x).frame.equals(made)


AGES = Hierarchy.intervals(20, 52, [4, 8, 16])
WARD = pd.DataFrame(
    {
        "age": [20, 21, 22, 23, 24, 27, 29, 31, 33, 38, 41, 50],
        "sex": ["F", "M", "F", "F", "M", "M", "F", "M", "F", "M", "F", "M"],
        "diagnosis": ["flu", "cold", "asthma"] * 4,
    }
)


def ward():
    """Return twelve rows in classes of two or more, not yet recounted."""
    table = Microdata.from_frame(WARD, {"age": AGES, "sex": Hierarchy.flat(["F", "M"])}, "diagnosis")
    measures = [KAnonymity(), DistinctLDiversity("diagnosis"), GeneralLossMetric(), MarketerRisk()]
    problem = LocalRecodingProblem(table, measures)
    return recode(WARD, problem, problem.x_of(2))


def test_labels_of_other_values_are_never_released():
    """Check labels against hierarchies, as the recoding accepts any."""
    made = ward()
    known = made._recoding.generalization
    cells = np.roll(known.nodes[known.class_of], 1, axis=0)
    other = made._recoding._replace(generalization=LocalGeneralization(known.quasi_identifiers, cells))
    with pytest.raises(RecountError, match="labels of 'age' do not stand for the values that they came from"):
        replace(made, _recoding=other).counted_again(made.frame)


@fewer(3)
@given(tables(rooted=True), st.data(), st.sampled_from(["mark", "drop"]))
def test_a_point_of_the_lattice_is_refined_and_loses_no_more(table, data, suppressed):
    problem = LatticeProblem(table.microdata, measures_of(table.microdata), rule_of(data.draw(policies(table))))
    x = data.draw(nodes(table))
    before = problem.equivalence_classes(x)
    assume(suppressed == "mark" or before.kept.any())
    made = None
    # Marked rows are a class of their own. A release is refused if this class is worse than all others.
    with suppress(RecountError):
        made = released(table, problem, x, recoding="local", suppressed=suppressed)
    assert made is not None or (suppressed == "mark" and before.n_suppressed[0] > 0)
    assume(made is not None)
    claims = made.claims.set_index("measure")
    assert claims.holds.tolist() == [True] * len(claims)
    assert claims.recounted["k"] >= KAnonymity().evaluate(before)[0]
    assert claims.recounted["GLM"] <= GeneralLossMetric().evaluate(before)[0] + 1e-9
    book = codebook(problem, x, suppressed=suppressed, recoding="local")
    for name in table.levels:
        shares = book[book.column == name].set_index("label")["share of rows"]
        assert shares.to_dict() == pytest.approx(made.frame[name].value_counts(normalize=True).to_dict())


@given(tables(rooted=True, max_rows=14), st.data(), st.sampled_from(["mark", "drop"]))
def test_no_released_cell_is_coarser_than_at_the_point(table, data, suppressed):
    problem = LatticeProblem(table.microdata, [KAnonymity(), GeneralLossMetric()], rule_of(data.draw(policies(table))))
    x, names = data.draw(nodes(table)), list(table.levels)
    frame = table.frame.assign(row=range(len(table.frame)))
    keep = dict.fromkeys([*{"s0", "s1", "label"} - {*problem.table.tuples.domains}, "row"], "it tells the rows apart")
    asked = {"keep": keep, "suppressed": suppressed, "anyway": "it is only a test"}
    try:
        made = [release(frame, problem, x, recoding=how, **asked).frame for how in (None, "local")]
    except ValueError:
        # Refused are a release without rows, and one with marked rows that are worse off than all others.
        assume(False)
    whole, local = (one.set_index("row") for one in made)
    assert {*whole.index} <= {*local.index}
    for name in names:
        under = {}
        for own in table.levels[name]:
            for value, label in own.items():
                under.setdefault(str(label), set()).add(value)
        under["*"] = {*table.levels[name][0]}
        for row, label in whole[name].items():
            assert under[local[name][row]] <= under[label]
            assert frame[name][row] in under[local[name][row]]
