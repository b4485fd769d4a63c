"""Releases: refused rows, roles of columns, requests, and claims that recounts confirm and damage breaks."""

import datetime
import math
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from persons import FRAMES
from raw_tables import raw_problem
from strategies import fewer, nodes, partitions, policies, populations, rule_of, tables
from tasks import KINDS

from pymoo_anon.objectives import *
from pymoo_anon.problems import BitStringProblem, LatticeProblem, LocalRecodingProblem
from pymoo_anon.publishing import RecountError, release
from pymoo_anon.publishing.release import recode, said_of, uniqueness_of
from pymoo_anon.publishing.verify import check_rows
from pymoo_anon.table import Hierarchy, Microdata, frames
from pymoo_anon.table.frames import in_memory, renamed

K, L = KAnonymity(), DistinctLDiversity("diagnosis")
ANYWAY = "it is only a test"


def all_measures(data, table):
    """Return measures of every kind, with arguments of any kind."""
    n = len(table.levels)
    weights = data.draw(st.lists(st.floats(0.1, 5), min_size=n, max_size=n))
    others = [TCloseness("s0", list("dabc")), GeneralLossMetric(weights), KMap(data.draw(populations(table)))]
    return [*KINDS, *others, *([ClassificationMetric("label")] if table.microdata.label == "label" else [])]


HOSPITAL = pd.DataFrame(
    {
        "name": [f"person {i}" for i in range(12)],
        "age": [21, 23, 24, 31, 33, 34, 36, 41, 42, 43, 47, 90],
        "born": [datetime.date(1990, 1, 1 + i) for i in range(12)],
        "sex": ["F", "M"] * 6,
        "diagnosis": ["flu", "cold", "asthma"] * 4,
        "weight": [60.5, 61.25, -0.0, 0.0, 70.0, 71.0, 72.5, 73.0, 74.0, 75.0, 76.0, 77.0],
        "patient": [1, 1, 2, 3, 3, 4, 5, 6, 7, 8, 9, 9],
    }
)
HIERARCHIES = {"age": Hierarchy.intervals(20, 100, [10, 40]), "sex": Hierarchy.flat(["F", "M"])}


def hospital(objectives=None, frame=HOSPITAL, **kwargs):
    table = Microdata.from_frame(frame, HIERARCHIES, "diagnosis", person="patient")
    usual = [KAnonymity(), DistinctLDiversity("diagnosis"), GeneralLossMetric()]
    return LatticeProblem(table, objectives or usual, **kwargs)


KEPT = {"born": "because nobody knows these days", "weight": None}
ROLES = {"drop": "name", "keep": KEPT}


def test_marked_rows_that_are_too_few_are_refused_and_dropping_is_named():
    problem = hospital(suppression=1)
    with pytest.raises(RecountError) as caught:
        release(HOSPITAL, problem, [1, 1], **ROLES)
    assert str(caught.value) == (
        "nothing is released: counted again, k is 1 where 3 was promised, l of diagnosis is 1 where 3 was promised; "
        'to an attacker the rows marked *, here 1, are one more class; suppressed = "drop" leaves them out'
    )
    made = release(HOSPITAL, problem, [1, 1], suppressed="drop", **ROLES)
    assert made.claims.measure.tolist() == ["k", "l of diagnosis", "GLM"]
    assert made.claims.holds.tolist() == [True, True, True]
    assert (made.n_suppressed, made.suppressed, len(made.frame)) == (1, "drop", 11)


def test_columns_and_rows_come_out_plain():
    made = release(HOSPITAL.set_index(HOSPITAL.index[::-1]), hospital(), [2, 1], anyway=ANYWAY, **ROLES).frame
    assert list(made) == ["age", "born", "sex", "diagnosis", "weight"]
    assert made.index.tolist() == list(range(12))
    assert made.age.tolist() == ["20–59"] * 11 + ["60–99"]
    assert np.signbit(made.weight.to_numpy()).sum() == 0
    assert made.weight.tolist() == [weight + 0.0 for weight in made.sort_values(["age", "born"]).weight]


@pytest.mark.parametrize("times", [1, 3], ids=["rows", "distinct rows"])
def test_dropped_columns_are_counted_all_the_same(times):
    frame = pd.concat([HOSPITAL] * times, ignore_index=True)
    problem = hospital([KAnonymity(person="patient"), DistinctLDiversity("diagnosis"), TCloseness("diagnosis")], frame)
    made = release(frame, problem, [2, 1], drop=["name", "diagnosis", "born", "weight"], anyway=ANYWAY)
    assert list(made.frame) == ["age", "sex"]
    assert made.claims.promised.tolist()[:2] == [1, 1]
    assert made.claims.holds.all()


def test_the_label_may_be_a_quasi_identifier():
    table = Microdata.from_frame(HOSPITAL, HIERARCHIES, "diagnosis", label="sex")
    problem = LatticeProblem(table, [KAnonymity(), ClassificationMetric("sex")])
    made = release(HOSPITAL, problem, [2, 0], drop=["name", "patient"], keep=KEPT, anyway=ANYWAY)
    assert made.claims.holds.tolist() == [True, None]
    assert made.verdict.startswith("What was promised holds. Not recounted: CM of sex. ")


def test_nothing_given_is_changed():
    before = HOSPITAL.copy(deep=True)
    release(HOSPITAL, hospital(), [2, 1], anyway=ANYWAY, **ROLES)
    pd.testing.assert_frame_equal(HOSPITAL, before)


def test_a_missing_value_gets_the_label_of_its_group():
    frame = pd.DataFrame({"age": [None, None, "a", "a"]})
    ways = {"age": Hierarchy([[None, "a"], ["unknown", "known"], ["*", "*"]])}
    problem = LatticeProblem(Microdata.from_frame(frame, ways, missing="keep"), [KAnonymity(), GeneralLossMetric()])
    assert release(frame, problem, [1]).frame["age"].tolist() == ["known", "known", "unknown", "unknown"]
    assert release(frame, problem, [0]).frame["age"].tolist()[:2] == ["a", "a"]


def test_rows_without_a_value_stay_left_out_though_their_hierarchy_knows_such():
    frame = pd.DataFrame({"age": [None, "b", "a", "a"]})
    ways = {"age": Hierarchy([[None, "a", "b"], ["*", "*", "*"]])}
    problem = LatticeProblem(Microdata.from_frame(frame, ways, missing="drop"), [KAnonymity(), GeneralLossMetric()])
    assert release(frame, problem, [1]).frame["age"].tolist() == ["*", "*", "*"]


def test_every_column_has_a_role_and_what_is_kept_a_reason():
    table = Microdata.from_frame(HOSPITAL, HIERARCHIES, "diagnosis", label="diagnosis")
    problem = LatticeProblem(table, [KAnonymity()])
    made = release(HOSPITAL, problem, [2, 1], drop=["name", "patient"], keep=KEPT, anyway=ANYWAY)
    assert made.columns.to_dict("list") == {
        "column": ["age", "born", "sex", "diagnosis", "weight"],
        "role": ["quasi-identifier", "keep", "quasi-identifier", "sensitive and label", "keep"],
        "reason": [None, "because nobody knows these days", None, None, None],
    }
    assert made.columns.column.tolist() == list(made.frame)


def test_rows_that_kept_columns_make_unique_are_counted_and_said():
    made = release(HOSPITAL, hospital(suppression=4), [1, 1], drop=["name", "born"], keep="weight")
    # Two of the twelve weights are zeros of both signs, which are equal; one of them is marked with *.
    assert made.uniqueness.values.tolist() == [
        ["all released columns", 12, 12],
        ["sensitive columns", 0, 12],
        ["kept columns", 10, 12],
        ["quasi-identifiers and sensitive columns", 6, 12],
        ["quasi-identifiers and kept columns", 12, 12],
    ]
    assert made.dropped == ("name", "born", "patient")
    assert made.verdict == (
        "What was promised holds. 12 of 12 rows (100.0 %) are unique by all released columns, 12 (100.0 %) by "
        "quasi-identifiers and kept columns, 10 (83.3 %) by kept columns and 6 (50.0 %) by quasi-identifiers and "
        "sensitive columns. Nothing is promised of kept columns (weight). Dropped: name, born and patient."
    )


def test_that_nobody_is_unique_is_said_of_all_released_columns_alone():
    problem = LatticeProblem(Microdata.from_frame(HOSPITAL, HIERARCHIES), [K], suppression=4)
    rest = {"drop": [name for name in HOSPITAL if name not in HIERARCHIES]}
    made = release(HOSPITAL, problem, [1, 1], **rest)
    assert made.verdict.startswith(
        "What was promised holds. None of 12 rows is unique by all released columns. Dropped: "
    )
    alone = release(HOSPITAL, LatticeProblem(problem.table, [K]), [2, 1], anyway=ANYWAY, **rest)
    assert alone.verdict.startswith(
        "What was promised holds. Released anyway, although k is 1 where at least 2 is required: it is only a test. 1 "
        "of 12 rows (8.3 %) is unique by all released columns."
    )


DAYS = [datetime.date(2024, 1, day) for day in (1, 2)]
#: Columns of rows by their name, and how many rows are unique by each.
COUNTED = {
    "text": (["a", "a", "", None, None], 1),
    "day": ([DAYS[0], DAYS[0], DAYS[1], None, None], 1),
    "share": ([0.0, -0.0, math.nan, None, 1.5], 1),
    "sure": ([True, False, None, None, True], 1),
    "whole": ([2**53, 2**53 + 1, None, None, 5], 3),
    "price": ([Decimal("0.10"), Decimal("0.20"), None, None, Decimal("0.10")], 1),
    "many": ([[1], [1], None, [], [2]], 3),
}


@pytest.mark.parametrize("engine", FRAMES)
@pytest.mark.parametrize("name", COUNTED)
def test_rows_in_memory_are_counted_as_their_engine_counts_them(name, engine):
    values, unique = COUNTED[name]
    if (name, engine) == ("whole", "pandas"):
        # A float cannot hold the first two.
        values = [1, 2, None, None, 5]
    columns = pd.DataFrame({"column": ["q", name], "role": ["quasi-identifier", "keep"], "reason": None})
    frame = renamed(FRAMES[engine](pa.table({"q": ["1", "1", "2", "2", "2"], name: values})))
    # Arrow cannot group lists.
    grouped = [] if (name, engine) == ("many", "pyarrow") else [frame.grouped()]
    for own in (frame, replace(frame, frame=in_memory(frame.frame)), *grouped):
        found = uniqueness_of(own, columns).set_index("columns")
        assert found.loc["kept columns"].tolist() == [unique, 5]


CITIZENS = pd.DataFrame(
    {
        "age": [30 + i % 3 for i in range(30)],
        "email": [f"p{i}@example.org" for i in range(30)],
        "iban": [f"DE8937040044053201{i:04}" for i in range(30)],
        "visited": [f"2024-01-{1 + i % 5:02}" for i in range(30)],
        "where": [f"POINT (7.{i % 4}5 50.{i % 3}5)" for i in range(30)],
        "height": [150.25 + i for i in range(30)],
        "of the age": ["minor", "adult", "senior"] * 10,
        "eyes": [("blue", "brown", "green")[i // 3 % 3] for i in range(30)],
    }
)


@pytest.mark.parametrize("name", [name for name in CITIZENS if name not in ("age", "eyes")])
def test_what_may_name_a_person_is_kept_only_for_a_reason(name):
    frame = CITIZENS[["age", name, "eyes"]]
    lattice = raw_problem(frame[["age"]], objectives=[K])
    for problem, x in ((lattice, [0]), (BitStringProblem(lattice.table, [K]), [True, True])):
        with pytest.raises(ValueError) as caught:
            release(frame, problem, x, keep=[name, "eyes"])
        assert str(caught.value).startswith(f"keep must say why {name!r} is released as it is: ")
        assert f"keep={{{name!r}: 'because ...'}}, or in a project" in str(caught.value)
        for value in frame[name].astype(str):
            assert value not in str(caught.value)
        made = release(frame, problem, x, keep={name: "because the ministry asks for it", "eyes": None})
        assert made.columns.reason.tolist() == [None, "because the ministry asks for it", None]
        assert len(made.claims) == 1


def test_somebody_who_is_alone_is_released_only_by_name_of_the_option():
    made = release(HOSPITAL, hospital(), [1, 1], anyway=ANYWAY, **ROLES)
    assert made.exceptions == ("k in persons of patient is 1 where at least 2 is required",)


def test_marked_rows_of_one_person_are_a_person_who_is_alone():
    frame = pd.DataFrame({"zip": [1] * 4 + [2] * 4 + [3] * 2, "patient": [1, 2, 3, 4, 5, 6, 7, 8, 9, 9]})
    options = {"person": "patient", "objectives": [GeneralLossMetric()], "suppression": 2}
    problem = raw_problem(frame, **options)
    front = problem.front([[0]])
    assert front.refusal(0) == 'its 2 suppressed rows are of one person; suppressed = "drop" leaves them out'
    assert front.refusal(0, "drop") is None
    with pytest.raises(ValueError, match="the release misses what is required: k in persons of patient is 1 where at"):
        release(frame, problem, [0])
    made = release(frame, problem, [0], anyway=ANYWAY)
    assert made.exceptions == ("k in persons of patient is 1 where at least 2 is required",)
    assert release(frame, problem, [0], suppressed="drop").exceptions == ()
    # Two persons hide each other.
    two = frame.assign(patient=[*frame.patient[:-1], 10])
    problem = raw_problem(two, **options)
    assert problem.front([[0]]).refusal(0) is None
    assert release(two, problem, [0]).exceptions == ()


def test_a_reason_to_release_anyway_is_of_no_use_where_no_promise_is_broken():
    made = release(HOSPITAL, hospital(), [1, 1], suppressed="drop", anyway=ANYWAY, **ROLES)
    again = release(
        HOSPITAL, LatticeProblem(hospital().table, [K], 1), [1, 1], suppressed="drop", anyway=ANYWAY, **ROLES
    )
    assert made.exceptions
    assert (again.anyway, again.exceptions) == (None, ())


def test_a_point_below_a_requirement_is_released_only_by_name_of_the_option():
    problem = hospital([K, L], constraints=[K >= 4, TCloseness("diagnosis") <= 0.9], suppression=1)
    made = release(HOSPITAL, problem, [1, 1], suppressed="drop", anyway=ANYWAY, **ROLES)
    assert made.exceptions == ("k is 3 where at least 4 is required",)
    assert made.claims.holds.tolist() == [True] * 3
    assert made.verdict.startswith(
        "What was promised holds. Released anyway, although k is 3 where at least 4 is required: it is only a test."
    )


def test_what_the_choice_asked_for_is_promised_and_counted_again():
    problem = hospital([K, GeneralLossMetric()], suppression=4)
    choice = problem.front([[1, 1]]).choose(require=[K >= 3, L >= 2, TCloseness("diagnosis") <= 0.9, K <= 9])
    made = release(HOSPITAL, problem, choice, **ROLES)
    assert len(made.claims) == len(problem.measured) + len(choice.requirements) == 6
    asked = ["k >= 3", "l of diagnosis >= 2", "t of diagnosis <= 0.9", "k <= 9"]
    assert made.claims.measure.tolist() == ["k", "GLM", *asked]
    assert made.claims.promised.tolist()[2:] == [3, 2, 0.9, 9]
    assert made.claims.recounted.tolist()[2:4] == [4, 3]
    assert made.claims.holds.all()


def test_a_sensitive_column_that_is_nearly_unique_is_said():
    """Mention it like a kept column, but no column with repeated values."""
    frame = pd.DataFrame({"age": [30 + i % 3 for i in range(30)], "salary": [1000 + min(i, 27) for i in range(30)]})
    frame["illness"] = ["flu", "cold"] * 15
    made = release(frame, raw_problem(frame, ["salary", "illness"]), [0])
    assert made.uniqueness.iloc[2:].values.tolist() == [["sensitive column salary", 27, 30]]
    assert made.verdict == (
        "What was promised holds. 30 of 30 rows (100.0 %) are unique by all released columns and 28 (93.3 %) by "
        "sensitive columns. One value gives a row away in salary (27): drop such a column, or make it coarser."
    )


def test_a_verdict_names_few_of_many_kept_columns():
    kept = pd.DataFrame({"column": [*"abcdefg"], "role": "keep", "reason": "asked for"})
    said = said_of(kept, pd.DataFrame([["kept columns", 9, 9]] * 2, columns=["columns", "unique", "rows"]))
    assert "(a, b, c, d, e and 2 more: asked for)" in said
    assert said.endswith("Nothing is promised of kept columns (a, b, c, d, e and 2 more).")


@st.composite
def points(draw):
    """Draw a problem of either space with all measures, its table, a point, and the labels of values there."""
    in_lattice = draw(st.booleans())
    partition = None if in_lattice else draw(partitions(rooted=True))
    table = draw(tables(rooted=True)) if in_lattice else partition.table
    measures, rule = all_measures(draw(st.data()), table), rule_of(draw(policies(table)))
    if in_lattice:
        node = draw(nodes(table))
        levels = zip(table.levels.items(), node, strict=True)
        labels = {name: {value: str(label) for value, label in own[level].items()} for (name, own), level in levels}
        return table, LatticeProblem(table.microdata, measures, rule), node, labels
    # A population has the domains of the table, and not those of orders and taxonomies.
    measures = [one for one in measures if not isinstance(one, KMap)]
    problem = BitStringProblem(table.microdata, measures, rule, **partition.arguments)
    x = problem.sample(1, np.random.default_rng(draw(st.integers(0, 2**32))))[0]
    made, hierarchies = problem.decode(x), problem.table.quasi_identifiers
    labels = {
        name: {value: str(made.labels[name][group]) for value, group in zip(own.domain, made.groups[name], strict=True)}
        for name, own in hierarchies.items()
    }
    return table, problem, x, labels


def kept_of(problem):
    roles = (*problem.table.sensitive, problem.table.label)
    return {name: "it is kept as it was drawn" for name in ("s0", "s1", "label") if name not in roles}


@fewer(2)
@given(point=points(), suppressed=st.sampled_from(["mark", "drop"]))
def test_a_release_is_what_a_loop_over_the_rows_makes_and_each_measure_is_claimed_and_counted_again(point, suppressed):
    table, problem, x, labels = point
    classes = problem.equivalence_classes(x)
    kept = classes.kept[classes.class_of[0][table.tuple_of_row]]

    def make(how):
        keep = kept_of(problem)
        return release(table.frame, problem, x, keep=keep, suppressed=how, anyway="it is only a test")

    if suppressed == "drop" and not kept.any():
        with pytest.raises(ValueError, match="x must leave a row to release"):
            make(suppressed)
        return
    try:
        made = make(suppressed)
    except RecountError:
        # Marked rows are a class of their own, which may be worse than all others.
        assert suppressed == "mark"
        assert 0 < (~kept).sum() < len(kept)
        suppressed = "drop"
        made = make(suppressed)
    others = ["s0", "s1", "label"]
    rows = [
        (*(labels[name][row[name]] if own else "*" for name in labels), *(row[name] for name in others))
        for row, own in zip(table.frame.to_dict("records"), kept, strict=True)
        if own or suppressed == "mark"
    ]
    assert list(made.frame) == [*labels, *others]
    assert list(made.frame.itertuples(index=False, name=None)) == sorted(rows)
    assert made.n_suppressed == (~kept).sum()
    assert len(made.claims) == len(problem.measured)
    whole = suppressed == "drop" or kept.all() or not kept.any()
    for row, measure in zip(made.claims.itertuples(), problem.measured, strict=True):
        assert row.measure == (measure.name if measure.column is None else f"{measure.name} of {measure.column}")
        assert math.isclose(row.promised, measure.evaluate(classes)[0], rel_tol=1e-12)
        assert row.holds is (None if measure.column in problem.table.quasi_identifiers else True)
        if row.holds and (whole or row.measure in OF_ALL_ROWS):
            assert math.isclose(row.promised, row.recounted, rel_tol=1e-9, abs_tol=1e-9), row
            # Recounted values have the type of the promise. k is a whole number.
            assert type(row.promised) is type(row.recounted)


#: Measures whose values are the same whether suppressed rows are marked or dropped.
OF_ALL_ROWS = ("S_k", "GLM", "KL", "NUE", "DM", "precision", "marketer risk")


def with_cell(frame, row, column, value):
    made = frame.copy()
    made[column] = made[column].astype(object)
    made.loc[row, column] = value
    return made


def swapped(frame, one, other, columns):
    made = frame.copy()
    made.loc[[one, other], columns] = frame.loc[[other, one], columns].to_numpy()
    return made


def first(frame):
    """Return the first kept row of another class than that of the last row."""
    return frame.index[(frame.age != "*") & (frame.age != frame.age.iloc[-1])][0]


def shown_again(frame):
    """Move one suppressed row into the last class."""
    row = frame[-1:].assign(born=HOSPITAL.born[0])
    return pd.concat([frame[(frame.age == "*").cumsum() != 1], row])


QUASI = ["age", "sex"]
#: Damages of a released table.
DAMAGES = {
    "a row is lost": lambda own: own[:-1],
    "a row stands for another": lambda own: pd.concat([own[:-1], own[:1]]),
    "no row is left": lambda own: own[:0],
    "a label of another class": lambda own: with_cell(own, own.index[-1], "age", own.age[first(own)]),
    "a more specific label": lambda own: with_cell(own, own.index[-1], "age", "43"),
    "a coarser label": lambda own: with_cell(own, own.index[-1], "age", "*"),
    "all labels are as coarse as can be": lambda own: own.assign(age="*", sex="*"),
    "no label": lambda own: with_cell(own, own.index[-1], "age", None),
    "labels of two rows are swapped": lambda own: swapped(own, first(own), own.index[-1], QUASI),
    "a suppressed row is no longer suppressed": shown_again,
    "a row more is marked": lambda own: with_cell(with_cell(own, own.index[-1], "age", "*"), own.index[-1], "sex", "*"),
    "a sensitive value of another": lambda own: with_cell(own, own.index[-1], "diagnosis", own.diagnosis[first(own)]),
    "one sensitive value throughout": lambda own: own.assign(diagnosis="flu"),
    "a sensitive value that nobody had": lambda own: with_cell(own, own.index[-1], "diagnosis", "gout"),
    "a quasi-identifier is lost": lambda own: own.drop(columns="sex"),
    "a sensitive column is lost": lambda own: own.drop(columns="diagnosis"),
    "a column more": lambda own: own.assign(name="Ms 1"),
    "a column of another name": lambda own: own.rename(columns={"weight": "name"}),
}


def by_hand(frame, extents):
    """Compute k, l and GLM of twelve rows from released rows alone."""
    classes = {}
    for age, sex, diagnosis in frame[["age", "sex", "diagnosis"]].itertuples(index=False):
        classes.setdefault((age, sex), []).append(diagnosis)
    loss = 2 * (12 - len(frame))
    for labels, own in classes.items():
        costs = [1 if labels == ("*", "*") else extent[label] for extent, label in zip(extents, labels, strict=True)]
        loss += len(own) * sum(costs)
    return min(map(len, classes.values())), min(len(set(own)) for own in classes.values()), loss


def released(space, suppressed):
    """Return an uncounted release with leading suppressed rows, and label costs."""
    table = Microdata.from_frame(HOSPITAL, HIERARCHIES, "diagnosis")
    measures = [KAnonymity(), DistinctLDiversity("diagnosis"), GeneralLossMetric()]
    problem, x, recoding = LatticeProblem(table, measures, 5), [1, 1], "local" if space == "refined" else None
    if space == "local":
        problem = LocalRecodingProblem(table, measures)
        x = problem.x_of(2)
    if space == "bit strings":
        problem = BitStringProblem(table, measures, 5)
        x = np.zeros(problem.n_var, dtype=bool)
        x[[9, 19, 29]] = True
    if space in ("local", "refined"):
        trees = ((own.nodes, own.n_values) for own in HIERARCHIES.values())
        sizes = [(nodes.labels, nodes.stop - nodes.first, n) for nodes, n in trees]
    else:
        found = problem.decode(x)
        sizes = [(found.labels[name], np.bincount(own), len(own)) for name, own in found.groups.items()]
    extents = [dict(zip(map(str, labels), (own - 1) / (n - 1), strict=True)) for labels, own, n in sizes]
    roles = {"drop": ["name", "patient"], "keep": KEPT}
    asked = {"suppressed": suppressed, "recoding": recoding, "anyway": "it is only a test", **roles}
    return recode(HOSPITAL, problem, x, **asked), extents


@pytest.mark.parametrize(
    ("space", "suppressed"),
    [*product(["lattice", "bit strings"], ["mark", "drop"]), ("local", "mark"), ("refined", "mark")],
)
def test_a_damaged_release_is_refused(space, suppressed):
    made, extents = released(space, suppressed)
    whole = made.counted_again(made.frame)
    assert whole.claims.recounted.tolist() == pytest.approx(by_hand(made.frame, extents))
    assert (made.n_suppressed > 0) == (space in ("lattice", "bit strings"))
    for name, damage in DAMAGES.items():
        if not made.n_suppressed and "suppressed row" in name:
            continue
        own = damage(made.frame).reset_index(drop=True)
        assert not own.equals(made.frame), name
        with pytest.raises((ValueError, KeyError)):
            made.counted_again(own)


@given(point=points(), suppressed=st.sampled_from(["mark", "drop"]), data=st.data())
def test_a_table_is_taken_where_a_loop_over_its_rows_finds_those_of_the_release(point, suppressed, data):
    table, problem, x, _ = point
    assume(problem.equivalence_classes(x).kept.any())
    asked = {"keep": kept_of(problem), "suppressed": suppressed, "anyway": "it is only a test"}
    made = recode(table.frame, problem, x, **asked)
    whole = made.frame
    rows, names = st.integers(0, len(whole) - 1), st.sampled_from([*whole])
    columns = data.draw(st.lists(names, min_size=1, max_size=2, unique=True))
    damaged = swapped(whole, data.draw(rows), data.draw(rows), columns)

    def check(own):
        check_rows(made._recoding, [*whole], frames.renamed(own))

    check(whole)
    if Counter(damaged.itertuples(index=False, name=None)) == Counter(whole.itertuples(index=False, name=None)):
        check(damaged)
    else:
        with pytest.raises(ValueError, match="rows are other than the recoding makes them"):
            check(damaged)


@pytest.mark.parametrize("lazy", [False, True])
def test_columns_of_lists_are_held_against_the_original(lazy):
    frame = pl.from_pandas(HOSPITAL).with_columns(doses=pl.Series([[i % 3, None] for i in range(len(HOSPITAL))]))
    frame = frame.lazy() if lazy else frame
    problem = LatticeProblem(Microdata.from_frame(HOSPITAL, HIERARCHIES, "diagnosis"), [KAnonymity()])
    asked = {"drop": ["name", "patient"], "keep": {**KEPT, "doses": "the studies go by them"}}
    made = recode(frame, problem, [2, 1], anyway="it is only a test", **asked)
    assert made.counted_again(made.frame).claims.holds.tolist() == [True]
    own = made.frame.lazy().collect()
    damaged = own.with_columns(doses=own["doses"].reverse())
    with pytest.raises(RecountError, match="rows are other than the recoding makes them"):
        made.counted_again(damaged.lazy() if lazy else damaged)


def test_a_release_of_pandas_takes_no_memory_that_it_can_do_without():
    frame = pd.DataFrame({"q": [17, 17, 18, 18] * 3, "town": "Bonn", "s": [*"abab"] * 3})
    plain = renamed(frame).frame.to_native()
    # pandas 2 copies on every renaming.
    assert pd.__version__ < "3" or np.shares_memory(plain["column 0"], frame["q"])
    assert frames.rows_of(renamed(frame).frame)[1].strides == (0,)
    towns = {"q": Hierarchy.flat([17, 18, 19]), "town": Hierarchy.flat(["Bonn"])}
    problem = LatticeProblem(Microdata.from_frame(frame, towns, "s"), [KAnonymity()])
    problem.evaluate(np.array([[0, 0]]))
    assert "grouper" in vars(problem.table)
    made = recode(frame, problem, [0, 0])
    assert "grouper" not in vars(problem.table)
    assert isinstance(made.frame.index, pd.RangeIndex)
