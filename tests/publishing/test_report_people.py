"""Cells and sentences of a report, about the people from tables counted by hand."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from persons_of_a_report import subject_of
from raw_tables import raw_problem

from pymoo_anon.comparison import CertainCounts, CountQueries, population_uniques
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.publishing import release
from pymoo_anon.publishing.explaining import advice
from pymoo_anon.publishing.report.cells import cell_of, cell_text, one_line
from pymoo_anon.publishing.report.page import _facts
from pymoo_anon.publishing.report.people import bias_view, inference_view, risks_view, sizes_view, suppressed
from pymoo_anon.publishing.report.subject import checked_subject
from pymoo_anon.publishing.report.values import before_view, side_by_side
from pymoo_anon.table import Below, Hierarchy, Microdata


def front_of(columns, sensitive=(), **options):
    """Return the point of a table as it is."""
    problem = raw_problem(columns, sensitive, **options)
    return problem.front([[0] * problem.n_var])


def subject_and_member(columns, external=False, **roles):
    """Return the subject of a report on a raw table, and its only point."""
    subject = subject_of(front_of(columns, **roles), row=0, external=external)
    return subject, subject.member(0)


#: Two persons of three rows each, and four of a row each.
SIX_PERSONS = {"q": [0] * 6 + [1] * 4, "who": [1, 1, 1, 2, 2, 2, 3, 4, 5, 6]}


def sentences(view):
    return [one.replace("\N{NO-BREAK SPACE}", " ") for one in view.sentences]


def test_the_column_of_which_a_class_tells_most_is_named():
    """Take the greatest difference of guesses, not the surest guess."""
    rows = {"q": [0] * 10 + [1] * 10, "sure": [*"x" * 16, *"y" * 4], "told": [*"x" * 8, *"yy", *"xx", *"y" * 8]}
    words = sentences(inference_view(*subject_and_member(rows, sensitive=["sure", "told"])))
    assert words == [
        "told: knowing the class, the likeliest value is right for 80 % of the people, without knowing it for 50 "
        "%, the greatest difference of 2 sensitive columns.",
        "A class with a single value reveals it: sure of 10 people (50 %).",
        "The values of told in a class differ from those of all released rows by 30 % on average, the most of 2 "
        "sensitive columns, and by 30 % at most; 0 % is alike, 100 % has nothing in common.",
    ]


def test_the_likeliest_value_of_all_rows_need_not_be_that_of_a_class():
    rows = {"q": [0] * 5 + [1] * 5, "ill": [*"aabbb", *"aaccc"]}
    first, *_ = sentences(inference_view(*subject_and_member(rows, sensitive=["ill"])))
    told = "ill: knowing the class, the likeliest value is right for 60 % of the people, without knowing it for 40 %."
    assert first == told


@pytest.mark.parametrize("external", [False, True])
@pytest.mark.parametrize(("n", "named"), [(2, True), (1, False)])
def test_the_first_page_names_classes_that_give_a_value_away(n, named, external):
    """Leave out a share of one percent."""
    rows = {"q": [0] * n + [1] * 99, "ill": ["flu"] * n + [*"abc"] * 33}
    subject, member = subject_and_member(rows, sensitive="ill")
    role = {"columns": [{"column": "ill", "role": "sensitive"}]}
    subject = replace(subject, external=external, evidence=role if external else {})
    (told,) = [fact for fact in _facts(subject, member) if fact[1] == "Inference"] or [None]
    said = "A class with a single value reveals it: ill of 2 people (2\N{NO-BREAK SPACE}%)."
    assert told == (("not met", "Inference", said) if named else None)


def test_the_first_page_names_few_of_many_columns():
    """Let each of five columns give away two rows more than the one before."""
    rows = {"q": [i // 2 for i in range(20)]}
    rows |= {f"s{j}": ["x" if i < 2 * j else f"y{i % 2}" for i in range(20)] for j in range(1, 6)}
    subject, member = subject_and_member(rows, sensitive=[f"s{j}" for j in range(1, 6)])
    subject = replace(subject, evidence={**subject.evidence, "dropped": [f"d{i}" for i in range(14)]})
    told = {title: text.replace("\N{NO-BREAK SPACE}", " ") for _, title, text in _facts(subject, member)}
    own = "s5 of 10 people (50 %), s4 of 8 people (40 %), s3 of 6 people (30 %)"
    assert told["Inference"] == f"A class with a single value reveals it: {own} and 2 more."
    assert told["Dropped columns"] == "d0, d1, d2, d3, d4, d5, d6, d7, d8, d9 and 4 more"
    assert "s2 of 4 people (20 %) and s1 of 2 people (10 %)." in sentences(inference_view(subject, member))[1]


def test_a_population_is_of_persons_where_one_has_several_rows():
    front = front_of({"q": [0, 0, 1], "who": [1, 1, 2]}, person="who")
    assert checked_subject(front, front.choose(row=0), about={"population_size": 2}).about == {"population_size": 2}
    with pytest.raises(ValueError, match=r"^population_size must be a whole number from 2 on, the persons, got 1$"):
        checked_subject(front, front.choose(row=0), about={"population_size": 1})


def test_of_many_sensitive_columns_the_first_are_shown_class_by_class():
    rows = {"q": [0, 0, 1, 1], **{f"answer {i}": [*"xyxx"] for i in range(23)}}
    view = inference_view(*subject_and_member(rows, sensitive=list(rows)[1:]))
    every, *others = view.tables
    assert [row[0] for row in every.rows] == list(rows)[1:]
    assert [own.name for own in others] == [f"{name}{i}" for i in range(20) for name in ("sure", "worst")]
    assert view.sentences[-1] == "The first 20 columns are shown class by class."
    fewer = {name: rows[name] for name in list(rows)[:21]}
    view = inference_view(*subject_and_member(fewer, sensitive=list(fewer)[1:]))
    assert len(view.tables) == 41
    assert "class by class" not in view.sentences[-1]


def test_a_class_counts_in_the_row_of_sizes_that_begins_with_its_size():
    subject, member = subject_and_member({"q": np.repeat(range(5), [2, 4, 5, 11, 12])})
    (sizes,) = sizes_view(subject, member).tables
    assert sizes.rows == (("2–4", 6, 2), ("5–11", 16, 2), ("12–24", 12, 1))
    table = Microdata.from_codes({"q": Hierarchy.flat([0])}, [np.zeros(1, int)], np.array([10**6]), {}, {})
    subject = subject_of(LatticeProblem(table, [KAnonymity()]).front([[0]]), row=0)
    (sizes,) = sizes_view(subject, subject.member(0)).tables
    assert sizes.rows == (("1,000,000 or more", 10**6, 1),)


@pytest.mark.parametrize("external", [False, True])
def test_risks_are_those_of_persons(external):
    """Hide six rows of two persons, and four of as many. Nobody outside can tell."""
    subject, member = subject_and_member(SIX_PERSONS, external, person="who")
    views = [risks_view] if external else [risks_view, bias_view]
    tables = {one.name: one.rows for view in views for one in view(subject, member).tables}
    found = {enough: shares for _, *shares, enough in tables["at_risk"]}
    assert found[2] == ([None] if external else [0, 0])
    assert found[3] == ([None] if external else [0.6, 0.6])
    assert found[5] == ([None] if external else [1, 1])
    if not external:
        assert [row[4] for row in sorted(tables["groups"])] == [1 / 2, 1 / 4]
        ((mean, *_),) = (row[1:] for row in tables["quantiles"] if row[0] == "risk to be found")
        assert mean == "40\N{NO-BREAK SPACE}%"
        # Two classes, of two persons and of four.
        assert dict(side_by_side(subject, [0]).rows)["mean risk"] == "33.3\N{NO-BREAK SPACE}%"


def test_a_class_of_many_rows_and_few_persons_is_too_small():
    front = front_of({"q": [0] * 6 + [1] * 5, "who": [1, 1, 1, 2, 2, 2, 3, 4, 5, 6, 7]}, person="who")
    subject = checked_subject(front, replace(front.choose(row=0), requirements=(KAnonymity(person="who") >= 3,)))
    (sizes,) = sizes_view(subject, subject.member(0)).tables
    assert sizes.rows == (("5–11", 11, 2, "too small"),)
    everybody = replace(subject, asked=(KAnonymity() >= 3,))
    (sizes,) = sizes_view(everybody, subject.member(0)).tables
    assert sizes.rows == (("5–11", 11, 2, "large enough"),)


@pytest.mark.parametrize(("n", "has"), [(1, "1 person has"), (2, "2 people have")])
def test_outsiders_read_how_many_have_stars(n, has):
    towns = Hierarchy([["x", "y"], ["*", "west"], ["*", "*"]])
    table = Microdata.from_frame(pd.DataFrame({"q": ["x"] * n + ["y"] * 5}), {"q": towns})
    subject = subject_of(LatticeProblem(table, [KAnonymity()]).front([[1]]), row=0, external=True)
    said, *_ = sizes_view(subject, subject.member(0)).sentences
    assert said == f"{has} * throughout: suppressed rows, which are one class."


def test_who_loses_most_is_named_beside_the_average():
    told = subject_and_member({"q": [0] * 6 + [1] * 2, "r": [0] * 8}, suppression=Below(3))
    assert sentences(bias_view(*told))[0] == (
        "Most is lost where q is 1: 100 % of the information, against 25 % for all people on average."
    )
    for levels in ([0] * 4, [0, 0, 1, 1]):
        assert sentences(bias_view(*subject_and_member({"q": levels})))[0] == (
            "All people lose 0 % of their information on average."
        )


def test_rows_that_are_left_out_are_in_no_class_and_found_by_nobody():
    """Count no class of the two rows, which the release does not have."""
    told = subject_and_member({"q": [0] * 6 + [1] * 2}, suppression=Below(3))
    assert not told[1].marked
    tables = {one.name: one.rows for one in bias_view(*told).tables}
    size, loss, risk = tables["quantiles"]
    assert (size[1], size[2], size[-1]) == (6, 6, 6)
    assert (loss[1], loss[-1]) == ("25\N{NO-BREAK SPACE}%", 2)
    assert (risk[1], risk[8], risk[-1]) == ("16.7\N{NO-BREAK SPACE}%", "16.7\N{NO-BREAK SPACE}%", 6)
    assert tables["groups"] == (("q", "1", 2, 1, 0), ("q", "0", 6, 0, cell_of(1 / 6)))
    assert tables["lorenz"][10] == (0.5, 0.5, 0)
    subject, nothing = subject_and_member({"q": [0] * 6 + [1] * 2}, suppression=Below(8))
    tables = {one.name: one.rows for one in bias_view(subject, replace(nothing, marked=False)).tables}
    assert [row[0] for row in tables["quantiles"]] == ["information lost"]
    assert tables["lorenz"][10] == (0.5, "–", 0.5)


def test_classes_of_few_persons_are_the_smallest_however_many_rows_they_have():
    subject, member = subject_and_member(SIX_PERSONS, person="who")
    smallest = bias_view(subject, member).tables[-1]
    assert smallest.rows == (("0", 6, 2), ("1", 4, 4))
    assert [column.title for column in smallest.columns] == ["q", "rows", "persons"]
    assert sentences(sizes_view(subject, member))[2:4] == [
        "No row is in a class of one person.",
        "10 rows (100 %) are in a class of fewer than 5 persons.",
    ]
    outside = replace(subject, external=True)
    assert sentences(sizes_view(outside, outside.member(0)))[2:] == [
        "No row is alone in a class.",
        "4 rows (40 %) are in a class of fewer than 5.",
        "10 rows (100 %) are in a class of fewer than 12.",
    ]


def test_people_who_are_unique_in_the_population_are_estimated_as_the_measure_does():
    """Leave out the suppressed rows, which are no sample of anything."""
    subject, member = subject_and_member({"q": np.repeat(range(12), [1] * 6 + [2] * 3 + [3, 4, 9])})
    member = replace(member, classes=replace(member.classes, kept=member.classes.sizes < 9), marked=True)
    subject = replace(subject, about={"population_size": 100})
    (table,) = [one for one in risks_view(subject, member).tables if one.name == "uniques"]
    expected = population_uniques([1] * 6 + [2] * 3 + [3, 4], 100).estimates.values()
    assert [row[2] for row in table.rows] == [None if one is None else round(one) for one in expected]


@pytest.mark.parametrize("external", [False, True])
def test_the_first_page_tells_the_risk_the_exceptions_and_what_all_releases_reveal(external):
    subject, member = subject_and_member({"q": [0] * 6 + [1] * 20})
    both = {"k": 2, "l": {}, "alone": 0, "below": 3, "single_k": 6}
    said = {"anyway": "the ministry asked for it", "exceptions": ["k is 1 where at least 2 is required"]}
    subject = replace(subject, external=external, evidence={"joint": both, **said})
    told = {title: text.replace("\N{NO-BREAK SPACE}", " ") for _, title, text in _facts(subject, member)}
    assert told["Risk"].endswith("known to be in the table is found with a chance of at most 1 in 6 (16.7 %).")
    assert told.get("Released anyway") == (
        None if external else "Although k is 1 where at least 2 is required: the ministry asked for it."
    )
    assert told.get("Other releases") == (
        None
        if external
        else "Whoever has all of them and links their rows sees joint k = 2; 3 of 26 rows (11.5 %) are in joint "
        "classes below 6; no row is alone."
    )


@pytest.mark.parametrize(("asked", "open_", "them"), [([], "ill and paid", "them"), (["ill"], "paid", "it")])
def test_columns_that_k_does_not_protect_are_named(asked, open_, them):
    problem = raw_problem({"q": [0, 0], "ill": [*"ab"], "paid": [*"xy"]}, ["ill", "paid"])
    (said,) = advice(problem, [DistinctLDiversity(name) >= 2 for name in asked])
    assert said.startswith(f"k does not protect {open_}, and small classes share ")
    assert said.endswith(f": require l or t of {them}, too.")
    assert advice(problem, [DistinctLDiversity() >= 2]) == []


@pytest.mark.parametrize("external", [False, True])
def test_marked_rows_that_are_fewer_than_a_k_that_nobody_promised_are_a_class(external):
    rows = pd.DataFrame({"zip": [1] * 4 + [2] * 4 + [3] * 2, "ill": list("abcdefghij")})
    front = front_of(rows, ["ill"], suppression=2, objectives=[GeneralLossMetric()])
    made = release(rows, front.problem, front.choose(row=0))
    assert sorted(made.frame.groupby("zip").size()) == [2, 4, 4]
    for known in (made, None):
        subject = checked_subject(front, front.choose(row=0), evidence=known, external=external)
        member = subject.member(0)
        assert sorted(member.sizes) == [2, 4, 4]
        assert "* throughout" in suppressed(subject, member)
    # One row would be refused, but for a reason.
    front = front_of(rows[:-1], ["ill"], suppression=1, objectives=[GeneralLossMetric()])
    made = release(rows[:-1], front.problem, [0], anyway="because it is needed for the test")
    for known, sizes in ((made, [1, 4, 4]), (None, [4, 4])):
        subject = checked_subject(front, front.choose(row=0), evidence=known, external=external)
        assert sorted(subject.member(0).sizes) == sizes
        facts = [title for _, title, _ in _facts(subject, subject.member(0))]
        assert ("Released anyway" in facts) is (known is made and not external)


def test_marked_rows_of_as_many_persons_as_are_promised_are_a_class():
    """Compare persons with persons, not five rows with a k of eight rows."""
    rows = pd.DataFrame({"zip": [1] * 8 + [2] * 8 + [3] * 5, "who": [1, 1, 1, 2, 2, 2, 3, 3] * 2 + [4, 4, 5, 6, 6]})
    front = front_of(rows, person="who", suppression=5, objectives=[KAnonymity(person="who")])
    assert release(rows, front.problem, [0]).claims.recounted.tolist() == [3]
    subject = checked_subject(front, front.choose(row=0))
    assert sorted(subject.own.sizes) == [5, 8, 8]


def test_many_numbers_are_told_in_runs():
    subject, _ = subject_and_member({"n": [*range(250), 249]})
    (table,) = before_view(subject).tables
    assert [*map(tuple, table.rows[:2]), *map(tuple, table.rows[-1:])] == [("0 … 2", 3), ("3 … 5", 3), ("249", 2)]


@pytest.mark.parametrize(
    ("cell", "kind", "expected"),
    [
        (None, "number", "–"),
        ("∞", "number", "∞"),
        (1, "share", "100 %"),
        (13.071, "share", "1,307.1 %"),
        (0, "share", "0 %"),
        (0.0912, "share", "9.1 %"),
        (0.00123, "share", "0.12 %"),
        (0.1225, "share", "12.3 %"),
        (0.0115, "share", "1.2 %"),
        (1e-7, "share", "< 0.01 %"),
        (7212 / 7214, "share", "> 99.9 %"),
        (0.9994, "share", "99.9 %"),
        (1234567, "whole", "1,234,567"),
        (-1234.5, "number", "-1,235"),
        (0.000123456, "number", "0.0001235"),
        (12.5, "number", "12.5"),
        (100.0, "number", "100"),
    ],
)
def test_numbers_as_a_person_writes_them(cell, kind, expected):
    assert cell_text(cell, kind).replace("\N{NO-BREAK SPACE}", " ") == expected


def test_long_texts_keep_their_ends():
    assert one_line("v" * 200) == "v" * 200
    ends = {one_line("v" * 5000 + str(i)) for i in range(100)}
    assert len(ends) == 100
    assert max(map(len, ends)) == 200


def test_every_number_is_that_of_its_measure():
    problem = LatticeProblem(make_census(300), [KAnonymity(), GeneralLossMetric()], suppression=20)
    front = problem.front(np.array([[0] * 8, [1, 1, 1, 0, 1, 0, 1, 0], [2, 1, 1, 1, 1, 1, 2, 1]]))
    about = {"evidence": None, "suppressed": "mark", "threshold": 0.09, "population": None}
    subject = checked_subject(front, front.choose(row=0), **about, external=False, about={})
    table = side_by_side(subject, [0, 2])
    assert [column.title for column in table.columns] == ["", "point 1", "point 3"]
    found = {row[0]: row[1:] for row in table.rows}
    classes = [problem.equivalence_classes(front.X[place]) for place in (0, 2)]
    assert found["k"] == tuple(f"{int(KAnonymity().evaluate(own).item()):,}" for own in classes)
    queries = CountQueries(problem.table)
    widths = [CertainCounts(queries).evaluate_one(own) for own in classes]
    assert [shared(text) for text in found["certain counts: median width"]] == pytest.approx(widths, abs=1e-3)
    for j, name in enumerate(problem.table.quasi_identifiers):
        lost = [front.lost(place)[j] / 300 for place in (0, 2)]
        assert [shared(text) for text in found[f"loss of {name}"]] == pytest.approx(lost, abs=1e-3)
    sizes = [own.sizes[own.kept] for own in classes]
    n_suppressed = [int(own.n_suppressed[0]) for own in classes]
    for least in (2, 5, 12):
        small = [int(own[own < least].sum()) + n * (0 < n < least) for own, n in zip(sizes, n_suppressed, strict=True)]
        assert found[f"rows in classes below {least}"] == tuple(f"{n:,}" for n in small)


def shared(text):
    """Return the share that a text spells in percent."""
    return float(text.replace("\N{NO-BREAK SPACE}", "").strip("%<>").replace(",", "")) / 100
