"""Release notes besides claims: column roles, unique persons, requests."""

import datetime
import math
from dataclasses import replace
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest
from persons import FRAMES
from raw_tables import raw_problem
from test_release import HIERARCHIES, HOSPITAL, KEPT, ROLES, hospital

from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity, TCloseness
from pymoo_anon.problems import BitStringProblem, LatticeProblem
from pymoo_anon.publishing import release
from pymoo_anon.publishing.release import uniqueness_of
from pymoo_anon.table import Microdata
from pymoo_anon.table.frames import in_memory, renamed

ANYWAY = "it is only a test"

K = KAnonymity()


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
        "eyes": ["blue", "brown", "green"] * 10,
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
    message = (
        "the point misses what is required: k in persons of patient is 1 where at least 2 is required; "
        "anyway='REASON', on the command line --anyway REASON, releases it nevertheless"
    )
    with pytest.raises(ValueError, match=f"^{message}$"):
        release(HOSPITAL, hospital(), [1, 1], **ROLES)
    made = release(HOSPITAL, hospital(), [1, 1], anyway=ANYWAY, **ROLES)
    assert made.exceptions == ("k in persons of patient is 1 where at least 2 is required",)
    # Two rows of one person are one person.
    twice = HOSPITAL.assign(patient=[1, 1, 1, *HOSPITAL.patient[3:]])
    problem = LatticeProblem(
        Microdata.from_frame(twice, HIERARCHIES, "diagnosis", person="patient"), [GeneralLossMetric()], 1
    )
    with pytest.raises(ValueError, match=message):
        release(twice, problem, [1, 1], suppressed="drop", **ROLES)


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


L = DistinctLDiversity("diagnosis")


def test_a_point_below_a_requirement_is_released_only_by_name_of_the_option():
    problem = hospital([K, L], constraints=[K >= 4, TCloseness("diagnosis") <= 0.9], suppression=1)
    with pytest.raises(ValueError, match="misses what is required: k is 3 where at least 4 is required; anyway="):
        release(HOSPITAL, problem, [1, 1], suppressed="drop", **ROLES)
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
        "What was promised holds. 30 of 30 rows (100.0 %) are unique by all released columns, 28 (93.3 %) by sensitive "
        "columns and 27 (90.0 %) by sensitive column salary."
    )
