"""Kept columns, rounded, clipped, generalized or averaged, and counted as released."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from command import run
from exact_cases import case
from hypothesis import given
from hypothesis import strategies as st
from malformed_projects import RIGHT
from raw_tables import raw_problem
from strategies import more, promised

from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem, LocalRecodingProblem
from pymoo_anon.publishing import Kept, RecountError, codebook, keeping, mdav, release
from pymoo_anon.publishing.release import recode
from pymoo_anon.study.project import read_project
from pymoo_anon.table import Below, Hierarchy, Microdata

CITIES = Hierarchy([["Bonn", "Nice", "Paris"], ["DE", "FR", "FR"], ["*", "*", "*"]])
N = 40
FRAME = pd.DataFrame(
    {
        "sex": ["F", "M"] * (N // 2),
        "height": [150 + 7 * i % 41 for i in range(N)],
        "weight": [None if i == 3 else 50 + i * 1.3 for i in range(N)],
        "city": [["Bonn", "Nice", "Paris"][i % 3] for i in range(N)],
        "score": [str(i % 9) for i in range(N)],
    }
)
KEEP = {
    "height": Kept(round=10),
    "weight": Kept(round=0.5, clip=(55, 90.25), reason="because it is asked for"),
    "city": Kept(hierarchy=CITIES, level=1, reason="the city asked for it"),
    "score": Kept(clip=(2, 7)),
}
PROBLEM = raw_problem(FRAME[["sex"]])


def nearest(value, step):
    """Return the nearest multiple of a step by trying three."""
    around = [step * (value // step + i) for i in (-1, 0, 1)]
    return max(around, key=lambda one: (-abs(one - value), one))


def expected():
    rows = []
    for sex, height, weight, city, score in FRAME.itertuples(index=False):
        own = None if pd.isna(weight) else float(min(max(nearest(Fraction(str(weight)), Fraction(1, 2)), 55), 90.25))
        rows.append((sex, nearest(height, 10), own, CITIES.labels[1][city != "Bonn"], str(min(max(int(score), 2), 7))))
    return sorted(rows, key=str)


def test_the_reasons_tell_how_coarse_columns_are():
    made = release(FRAME, PROBLEM, [0], keep=KEEP)
    assert made.columns.reason.tolist() == [
        None,
        "rounded to multiples of 10",
        "rounded to multiples of 0.5, clipped to 55 and 90.25: because it is asked for",
        "level 1 of a hierarchy of 2: the city asked for it",
        "clipped to 2 and 7",
    ]


def test_columns_that_single_rows_out_together_need_a_reason():
    frame = FRAME.assign(weight=[50 + i // 4 for i in range(N)])
    rest = {"drop": ["city", "score"]}
    sentence = r"why 'height' and 'weight' are released as they are: together they are nearly unique: 40 values in 40 r"
    with pytest.raises(ValueError, match=sentence):
        release(frame, PROBLEM, [0], keep={"height": Kept(round=3), "weight": None}, **rest)
    release(frame, PROBLEM, [0], keep={"height": Kept(round=10), "weight": Kept(round=10)}, **rest)
    release(frame, PROBLEM, [0], keep={"height": "sizes of clothes are studied", "weight": None}, **rest)


@given(
    st.lists(st.decimals(-1000, 1000, places=3), min_size=1),
    st.sampled_from([0.001, 0.05, 0.3, 1, 7, 10, 250]),
    st.tuples(st.integers(-900, 900), st.integers(-900, 900)).map(sorted) | st.none(),
)
def test_numbers_are_rounded_and_clipped_as_a_person_does(values, step, clip):
    kept = Kept(round=step, clip=None if clip is None else tuple(clip))
    for value, text in zip(values, kept.texts("x", [str(value) for value in values]), strict=True):
        number = nearest(Fraction(value), Fraction(str(step)))
        assert Fraction(text) == (number if clip is None else min(max(number, clip[0]), clip[1]))
    assert kept.others("x", [Decimal(text) for text in kept.texts("x", values)]) == []


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("height", 151, "column 'height' must be rounded to multiples of 10, got 151"),
        ("weight", 1.0, "must be rounded to multiples of 0.5, clipped to 55 and 90.25, got 1.0"),
        ("city", "Bonn", "column 'city' must be level 1 of a hierarchy of 2, got 'Bonn'"),
    ],
)
def test_a_file_that_is_not_as_coarse_as_was_said_is_found_out(column, value, words):
    made = recode(FRAME, PROBLEM, [0], keep=KEEP)
    written = made.frame.copy()
    written.loc[0, column] = value
    with pytest.raises(RecountError, match="nothing is released") as raised:
        made.counted_again(written)
    assert words in str(raised.value)


def released(**keep):
    return release(FRAME, PROBLEM, [0], keep=keep, drop=[name for name in FRAME if name not in (*keep, "sex")])


def test_the_codebook_says_what_they_become():
    book = codebook(PROBLEM, [1], keep={**KEEP, "note": Kept()})
    told = book[book.column != "sex"][["column", "label", "members", "level"]].to_numpy().tolist()
    assert told == [
        ["height", "(numbers)", "rounded to multiples of 10", None],
        ["weight", "(numbers)", "rounded to multiples of 0.5, clipped to 55 and 90.25", None],
        ["city", "DE", "Bonn", 1],
        ["city", "FR", "Nice | Paris", 1],
        ["score", "(numbers)", "clipped to 2 and 7", None],
    ]


@pytest.fixture
def coarse(own_table):
    Path("trees/paid.csv").write_text("yes;paid;*\nno;not paid;*\n", encoding="utf-8")
    text = RIGHT.replace('role = "keep"', 'role = "keep"\nhierarchy = "trees/paid.csv"\nlevel = 1')
    Path("my.toml").write_text(text.replace('role = "drop"', 'role = "keep"\nround = 20\nclip = [0, 30]'))


def test_a_project_keeps_columns_as_coarse_as_it_says(coarse):
    run("search", "my.toml")
    run("release", "my.toml", "--row", "1")
    made = pd.read_csv("released.csv")
    assert set(made.note) == {0, 20, 30}
    assert set(made.paid) == {"paid", "not paid"}
    assert run("verify", "my.toml") == "released.csv: holds.\n"
    book = pd.read_csv("released.csv.codebook.csv")
    assert book[book.column == "paid"].members.tolist() == ["yes", "no"]
    told = json.loads(Path("released.csv.evidence.json").read_text(encoding="utf-8"))
    own = hashlib.sha256(Path("trees/paid.csv").read_bytes()).hexdigest()
    assert told["checksums"]["hierarchies"]["paid"] == own
    run("release", "my.toml", "--row", "1", "--output", "trees/paid.csv", "--force", code=2)
    assert own == hashlib.sha256(Path("trees/paid.csv").read_bytes()).hexdigest()
    assert [one["reason"] for one in told["columns"] if one["role"] == "keep"] == [
        "level 1 of a hierarchy of 2",
        "rounded to multiples of 20, clipped to 0 and 30",
    ]


def test_columns_whose_names_are_equal_as_text_are_kept():
    frame = pd.DataFrame({1: [1, 1, 2, 2], "1": [5.4, 6.1, 7.2, 8.3]})
    coarse = {"1": Kept(reason="because we need it so much", round=5)}
    assert release(frame, raw_problem(frame[[1]]), [0], keep=coarse).frame["1"].tolist() == [5, 5, 5, 10]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_whole_numbers_that_become_too_large_for_their_type_are_named(kind):
    columns = {"n": ("int8", [1, 127]), "m": ("uint8", [1, 9]), "large": ("uint64", [2**64 - 1, 2**64 - 6])}
    frame = pd.DataFrame({"zip": [1, 1], **{name: np.array(own, dtype) for name, (dtype, own) in columns.items()}})
    problem = raw_problem(frame[["zip"]])

    def made(name, **coarse):
        keep = {name: Kept(reason="because we need it so much", **coarse)}
        own = kind(frame.to_dict("series"))
        return nw.from_native(release(own, problem, [0], drop=[*columns.keys() - keep], keep=keep).frame)[name]

    message = "round and clip must give numbers that the type of column '{}' holds, which is {}, got {}; give"
    with pytest.raises(ValueError, match=message.format("n", "Int8", 130)):
        made("n", round=10)
    with pytest.raises(ValueError, match=message.format("m", "UInt8", -1)):
        made("m", clip=(-5, -1))
    assert made("large", round=5).to_list() == [2**64 - 6, 2**64 - 1]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_small_floats_are_rounded_and_averaged_by_their_digits(kind):
    """Read a float of 32 bits as it is written: 0.35, although it is a little less."""
    frame = pd.DataFrame({"zip": [1] * 4, "n": np.array([1.07, 0.35, 2.31, 0.2], "float32")})
    coarse = Kept(round=0.1, clip=(0.3, 2.1), reason="we need it so much"), np.float32([0.3, 0.4, 1.1, 2.1]).tolist()
    for own, numbers in (coarse, (Kept(mean=True), [0.9825] * 4)):
        made = release(kind(frame.to_dict("series")), raw_problem(frame[["zip"]]), [0], keep={"n": own}).frame
        assert nw.from_native(made)["n"].to_list() == numbers


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table, lambda own: duckdb.from_df(pd.DataFrame(own))])
def test_durations_are_kept_at_a_level(kind):
    stays = [timedelta(hours=24), timedelta(hours=20)]
    own = Kept(hierarchy=Hierarchy([stays, ["long", "short"]]), level=1, reason="because we need it so much")
    made = release(
        kind({"zip": [1] * 4, "stay": stays * 2}), raw_problem(pd.DataFrame({"zip": [1] * 4})), [0], keep={"stay": own}
    )
    assert nw.from_native(made.frame).lazy().collect()["stay"].to_list() == ["long", "long", "short", "short"]


AGES = Hierarchy.intervals(20, 40, widths=[10, 20])
PAID = pd.DataFrame(
    {"age": [21, 24, 28, 31, 33, 37, 38, 39], "pay": [10, 20, 40, 3, 4, 5, 6, 7.5], "days": [1, 2, 2, 0, 0, 1, 0, 9]}
)
TABLE = Microdata.from_frame(PAID, {"age": AGES})
OF_PAID = LatticeProblem(TABLE, [KAnonymity(), GeneralLossMetric()])
MEANS = {"pay": Kept(mean=True), "days": Kept(mean=True, reason="days off are studied here")}


@promised(60, 0.5)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_totals_stay_whatever_is_suppressed(seed, local):
    """Compare with a plain mean over the rows that look alike."""
    own, rng = case(seed), np.random.default_rng(seed)
    frame = pd.DataFrame(own.rows).drop(columns=["ill", "who"])
    frame["number"] = rng.integers(-50, 50, len(frame)) / 4
    table = Microdata.from_frame(frame, {name: tree.with_root() for name, tree in own.hierarchies.items()})
    measures = [GeneralLossMetric()]
    small = Below(int(rng.integers(1, min(4, len(frame)) + 1)))
    problem = LocalRecodingProblem(table, measures) if local else LatticeProblem(table, measures, suppression=small)
    x = rng.integers(problem.xl, problem.xu + 1)
    asked = {"drop": (), "anyway": "it is only a test"}
    made = release(frame, problem, x, keep={"number": Kept(mean=True, reason="it is only a test")}, **asked).frame
    assert made.number.sum() == pytest.approx(frame.number.sum(), abs=1e-9)
    plain = release(frame, problem, x, keep={"number": "it is only a test"}, **asked).frame
    names = [*table.quasi_identifiers]
    plain["number"] = plain.groupby(names).number.transform("mean")
    order = [*names, "number"]
    both = (one[order].sort_values(order).reset_index(drop=True) for one in (made, plain))
    pd.testing.assert_frame_equal(*both)


def test_means_read_each_number_and_count_the_classes_once_and_hold_no_dropped_column(monkeypatch):
    read, grouped, held = [], [], []
    for owner, name, noted in (
        (Kept, "numbers", lambda own, name, values: read.extend(values)),
        (keeping, "combinations_of", lambda frame, names: grouped.append(names)),
        (keeping, "held", lambda frame: held.extend(frame.columns)),
    ):
        done = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *given, noted=noted, done=done: noted(*given) or done(*given))
    made = release(PAID.assign(name="x"), OF_PAID, [0], keep=MEANS, drop="name", anyway="it is only a test")
    assert made.frame.days.tolist() == [*PAID.days]
    assert sorted(read) == sorted([*PAID.pay, *set(PAID.days)])
    assert grouped.count(["age"]) == 1
    assert "column 3" not in held


def test_a_file_with_other_means_is_found_out():
    made = recode(PAID, OF_PAID, [1], keep=MEANS)
    frame = made.frame
    wrong = frame.assign(pay=frame.pay.where(frame.index > 0, 20.0))
    words = r"column 'pay' must be replaced by the mean of the class, got 3 means of 2 classes$"
    with pytest.raises(RecountError, match=words):
        made.counted_again(wrong)
    with pytest.raises(RecountError, match=r"5 rows are other than the recoding makes them$"):
        made.counted_again(frame.assign(pay=frame.pay.where(frame.pay > 6, 5.0)))
    with pytest.raises(RecountError, match=r" 1 row is other than the recoding makes it$"):
        made.counted_again(
            frame.assign(age=["30–39", *frame.age[1:]], pay=[5.1, *frame.pay[1:]], days=[2.0, *frame.days[1:]])
        )


def test_suppressed_rows_are_one_class_or_left_out():
    problem = LatticeProblem(TABLE, [GeneralLossMetric()], suppression=Below(4))
    marked = release(PAID, problem, [1], keep=MEANS).frame
    assert marked[marked.age == "*"].pay.unique().tolist() == [float(Fraction(70, 3))]
    assert release(PAID, problem, [1], keep=MEANS, suppressed="drop").frame.pay.unique().tolist() == [5.1]


def test_a_project_asks_for_means(own_table):
    Path("my.toml").write_text(RIGHT.replace('role = "drop"', 'role = "keep"\nmean = true'), encoding="utf-8")
    assert read_project(Path("my.toml")).kept == {"paid": Kept(), "note": Kept(mean=True)}


def plain_mdav(rows, k):
    """Group rows by MDAV-generic, as lists of fractions."""
    rows = [[Fraction(one) for one in row] for row in rows]
    left, groups = list(range(len(rows))), []

    def distance(one, other):
        return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))

    def take(center):
        group = sorted(left, key=lambda i: (distance(rows[i], center), i))[:k]
        groups.append(group)
        left[:] = [i for i in left if i not in group]

    while len(left) >= 2 * k:
        mean = [sum(rows[i][j] for i in left) / len(left) for j in range(len(rows[0]))]
        r = max(left, key=lambda i: (distance(rows[i], mean), -i))
        s = max(left, key=lambda i: (distance(rows[i], rows[r]), -i))
        both = len(left) >= 3 * k
        take(rows[r])
        if both:
            take(rows[s])
    return [*groups, left]


@more(8)
@given(st.integers(1, 4), st.integers(1, 30), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_groups_are_those_of_the_plain_algorithm(k, n, m, seed):
    # Multiples of a prime that is larger than any sum of rows: means are exact enough, and ties rare.
    rows = np.random.default_rng(seed).integers(0, 10**4, (max(n, k), m))
    found = mdav(rows, k)
    groups = plain_mdav(rows.tolist(), k)
    assert found.dtype == np.int64
    assert [sorted(np.flatnonzero(found == i).tolist()) for i in range(len(groups))] == [sorted(own) for own in groups]
    assert np.bincount(found).min() >= k
    assert np.bincount(found).max() < 2 * k or len(rows) < 2 * k
