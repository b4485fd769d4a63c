"""Codebooks, and counts, sums and means that a release guarantees with them."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import fewer

from pymoo_anon.comparison import CertainCounts, CountQueries
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.problems import BitStringProblem, LatticeProblem, LocalRecodingProblem
from pymoo_anon.publishing import codebook, guaranteed_counts, guaranteed_means, guaranteed_sums, release
from pymoo_anon.publishing.codebook import EVERYTHING, members_of, read_members
from pymoo_anon.table import Below, Hierarchy, Microdata

QUASI_IDENTIFIERS = {
    "age": Hierarchy.intervals(0, 60, widths=[5, 20]),
    "height": Hierarchy.intervals(1.0, 2.0, widths=[0.25, 0.5], step=0.125),
    # Values that a codebook has to quote, a missing one, and numbers that are codes.
    "city": Hierarchy([["a | b", "a", "b", "17–59", None, "(missing)", "", "007"], ["A"] * 3 + ["B"] * 5, ["*"] * 8]),
    "children": Hierarchy([list(range(-2, 6)), ["few"] * 4 + ["many"] * 4, ["*"] * 8]),
    "born": Hierarchy([["2001-02-03", "2001-05-01", "2003-01-01"], ["2001", "2001", "2003"], ["*"] * 3]),
}


def drawn(seed: int, n: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    columns = {
        "age": rng.integers(0, 60, n).tolist(),
        # Some are the ends of bins and of conditions.
        "height": (1 + rng.integers(0, 32, n) / 32).tolist(),
        **{
            name: [QUASI_IDENTIFIERS[name].domain[i] for i in rng.integers(0, QUASI_IDENTIFIERS[name].n_values, n)]
            for name in ("city", "children", "born")
        },
        "income": rng.integers(-50, 50, n).tolist(),
    }
    return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})


def released(frame: pd.DataFrame, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a random release that marks suppressed rows, and its codebook."""
    table, rng = (
        Microdata.from_frame(frame, QUASI_IDENTIFIERS, sensitive="income", missing="keep"),
        np.random.default_rng(seed),
    )
    measures = [KAnonymity(), GeneralLossMetric(), CertainCounts(CountQueries(table, n=20))]
    if seed % 2:
        problem = LocalRecodingProblem(table, measures)
        x = problem.x_of(int(rng.integers(2, 9)))
    else:
        problem = LatticeProblem(table, measures, suppression=int(rng.integers(0, 15)))
        x = rng.integers(0, problem.lengths, endpoint=False)
    made = release(frame, problem, x, anyway="These rows are invented for a test.")
    (claim,) = made.claims[made.claims.measure == "certain counts"].to_dict("records")
    assert claim["recounted"] == pytest.approx(claim["promised"])
    assert claim["holds"]
    return made.frame, codebook(problem, x)


def as_text(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame as its CSV file is read."""
    return pd.read_csv(io.StringIO(frame.to_csv(index=False)), dtype=str, keep_default_na=False)


def condition(name: str, frame: pd.DataFrame, rng: np.random.Generator):
    """Return a random condition, and the rows that meet it."""
    values = frame[name]
    if name == "born":
        days = ["2001-01-01", "2001-02-03", "2001-05-01", "2002-01-01", "2003-02-01"]
        low, high = sorted(rng.choice(days, 2).tolist())
        return pd.Interval(pd.Timestamp(low), pd.Timestamp(high), closed="both"), (values >= low) & (values <= high)
    if name in ("city", "children") and rng.random() < 0.6:
        domain = QUASI_IDENTIFIERS[name].domain
        wanted = [domain[i] for i in rng.choice(len(domain), rng.integers(1, len(domain)), replace=False)]
        return wanted, values.isin([one for one in wanted if one is not None]) | (values.isna() & (None in wanted))
    if name == "city":
        return "17–59", values == "17–59"
    whole = name in ("age", "children", "income")
    of_bins = 5 * rng.integers(0, 13, 2) - rng.choice([0, 0.5, 1], 2)
    ends = rng.integers(8, 17, 2) / 8 if not whole else of_bins if rng.random() < 0.5 else rng.integers(-6, 120, 2) / 2
    low, high = np.sort(ends)
    closed = str(rng.choice(["left", "right", "both", "neither"])) if low < high else "both"
    numbers = values.astype(float)
    above = numbers >= low if closed in ("left", "both") else numbers > low
    return pd.Interval(low, high, closed=closed), above & (
        numbers <= high if closed in ("right", "both") else numbers < high
    )


def inside(guarantee, true: float) -> bool:
    slack = 1e-9 * max(abs(true), 1)
    return guarantee.least - slack <= true <= guarantee.most + slack


@pytest.mark.parametrize(
    ("seed", "n_queries"),
    [*((seed, 20) for seed in range(4)), *(pytest.param(seed, 60, marks=pytest.mark.slow) for seed in range(4, 24))],
)
def test_the_true_answer_lies_between_least_and_most(seed, n_queries):
    frame = drawn(seed)
    made, book = released(frame, seed)
    # In CSV a missing value and an empty text are one.
    ways = [(made, QUASI_IDENTIFIERS), (made, book), (as_text(made), as_text(book))]
    rng = np.random.default_rng(seed)
    for _ in range(n_queries):
        names = rng.choice(list(frame.columns), rng.integers(1, 4), replace=False).tolist()
        drawn_conditions = {name: condition(name, frame, rng) for name in names}
        where = {name: own for name, (own, _) in drawn_conditions.items()}
        rows = np.logical_and.reduce([met for _, met in drawn_conditions.values()])
        column = str(rng.choice(["age", "children", "income", "height"]))
        numbers = frame[column][rows].astype(float)
        shown, meanings = ways[rng.integers(3)]
        count = guaranteed_counts(shown, meanings, where)
        assert inside(count, rows.sum()), (where, count, rows.sum())
        assert count.least <= count.estimate <= count.most
        if rng.random() < 0.7:
            continue
        total = guaranteed_sums(shown, meanings, column, where)
        assert inside(total, numbers.sum()), (where, column, total, numbers.sum())
        if len(numbers):
            mean = guaranteed_means(shown, meanings, column, where)
            assert inside(mean, numbers.mean()), (where, column, mean, numbers.mean())


MEANINGS = {"age": Hierarchy.intervals(0, 40, widths=[10, 20]), "sex": Hierarchy.flat(["Female", "Male"])}
TOLD = pd.DataFrame(
    {"age": ["0–9", "10–19", "10–19", "*"], "sex": ["Female", "Female", "*", "*"], "cost": [10.0, None, -4.0, 8.0]}
)


def test_answers_of_four_rows():
    young = pd.Interval(0, 15, closed="left")
    assert guaranteed_counts(TOLD, MEANINGS) == (4, 4, 4)
    assert guaranteed_counts(TOLD, MEANINGS, {"age": young}) == (1, 4, 1 + 0.5 + 0.5 + 15 / 40)
    assert guaranteed_counts(TOLD, MEANINGS, {"age": young, "sex": "Female"}) == (1, 4, 1 + 0.5 + 0.25 + 15 / 80)
    assert guaranteed_sums(TOLD, MEANINGS, "cost", {"sex": "Female"}) == (10 - 4, 10 + 8, 10 - 2 + 4)
    assert guaranteed_means(TOLD, MEANINGS, "cost", {"sex": "Female"}) == ((10 - 4) / 2, 10, 12 / 2)
    assert guaranteed_sums(TOLD, MEANINGS, "age", {"sex": "Male"}) == (0, 19 + 39, 14.5 / 2 + 19.5 / 2)
    # A column without any value has no texts either.
    assert guaranteed_sums(TOLD.assign(cost=None), MEANINGS, "cost") == (0, 0, 0)
    none = guaranteed_means(TOLD, MEANINGS, "age", {"cost": 99})
    assert np.isnan(none).all()


def test_conditions_that_no_row_is_sure_to_meet():
    assert guaranteed_counts(TOLD, MEANINGS, {"sex": pd.Interval(0, 1)})[:2] == (0, 0)
    assert guaranteed_counts(TOLD, MEANINGS, {"age": 7})[:2] == (0, 2)
    assert guaranteed_counts(TOLD, MEANINGS, {"age": pd.Interval(8.5, 9.5, closed="neither")})[:2] == (0, 2)
    right, bins = pd.DataFrame({"n": ["(0.0, 0.5]"]}), {"n": Hierarchy.intervals(0.0, 1.0, [0.5], 0.25, "right")}
    for closed, certain in (("right", 1), ("neither", 0)):
        assert guaranteed_counts(right, bins, {"n": pd.Interval(0, 0.5, closed=closed)})[:2] == (certain, 1)
    heights = pd.DataFrame({"height": ["[1.0, 1.25)", "[1.25, 1.5)"]})
    assert guaranteed_counts(heights, QUASI_IDENTIFIERS, {"height": 1.25})[:2] == (0, 1)


@pytest.mark.parametrize(("name", "values"), [("cost", ["02139", "1000"]), ("zip", [8, 9]), ("sex", ["1", "2"])])
def test_the_sum_of_codes_gives_a_warning(name, values):
    frame = pd.DataFrame({name: values})
    with pytest.warns(UserWarning, match=f"^column '{name}' looks like a code: its sum and its mean tell nothing$"):
        assert guaranteed_sums(frame, {}, name).least == sum(map(int, values))
    guaranteed_counts(frame, {}, {name: pd.Interval(0, 9)})


def test_a_number_is_found_in_another_spelling_unless_its_own_is_there():
    frame = pd.DataFrame({"n": ["170.0", "1.50", "1.5", "0170", "2"], "age": ["0–9", "10–19", "10–19", "*", "*"]})
    for asked, n in ((170, 1), (170.0, 1), ("170", 1), ("0170", 1), ("1.5", 1), ("1.50", 1), ("2.0", 1), ("02", 0)):
        assert guaranteed_counts(frame, {}, {"n": asked})[:2] == (n, n), asked
    assert guaranteed_counts(frame, MEANINGS, {"age": "12.0"})[:2] == (0, 4)
    days = ["2021-03-05 00:00:00", "2021-03-05T12:00"]
    truths = ((["true", "false"], True), (["TRUE", "FALSE"], "true"), ([True, False], "true"))
    for told, asked in (*truths, (days, "2021-03-05"), (days, pd.Timestamp("2021-03-05 12:00"))):
        assert guaranteed_counts(pd.DataFrame({"smokes": told}), {}, {"smokes": asked}) == (1, 1, 1), told
    for told, asked, n in ((["", "x"], None, (0, 1, 0.5)), (["", None], None, (1, 1, 1)), (["", None], "", (1, 1, 1))):
        assert guaranteed_counts(pd.DataFrame({"told": told}), {}, {"told": asked}) == n


@pytest.mark.parametrize("kind", [list, set, np.array, pd.Series, dict.fromkeys, iter])
def test_any_collection_of_values_is_one(kind):
    rows, ages = pd.DataFrame({"age": ["1", "2", "3", "*"]}), {"age": Hierarchy.flat([1, 2, 3])}
    assert guaranteed_counts(rows, ages, {"age": kind([1, 3, 5])}) == guaranteed_counts(rows, ages, {"age": (1, 3)})


TOWNS = ["Bonn", "Cologne", "Paris", "a, b"]
HIERARCHIES = {
    "age": Hierarchy.intervals(0, 20, widths=[5, 10]),
    "weight": Hierarchy.intervals(40, 60, widths=[10], step=5),
    "code": Hierarchy([["007", "8", "9", "10"], ["low", "high", "high", "high"], ["*"] * 4]),
    "town": Hierarchy([TOWNS, ["DE", "DE", "FR", "FR"], ["*"] * 4]),
}


def frame(n, seed):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(0, 20, n),
            "weight": rng.integers(40, 60, n),
            "code": rng.choice(["007", "8", "9", "10"], n),
            "town": rng.choice(TOWNS, n),
        }
    )


def problem(rows, k=3):
    return LatticeProblem(Microdata.from_frame(rows, HIERARCHIES), [KAnonymity(), GeneralLossMetric()], Below(k))


@fewer(2)
@given(
    st.integers(0, 40),
    st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)),
    st.sampled_from(["mark", "drop"]),
)
def test_labels_and_shares_are_those_of_the_released_rows(seed, x, suppressed):
    rows = frame(60, seed)
    own = problem(rows)
    classes = own.equivalence_classes(np.array(x))
    n_suppressed, k = int(classes.n_suppressed[0]), KAnonymity().evaluate(classes)[0]
    book = codebook(own, x, suppressed=suppressed)
    assume(n_suppressed < 60 if suppressed == "drop" else n_suppressed == 0 or n_suppressed >= k)
    made = release(rows, own, x, suppressed=suppressed).frame
    assert list(book.columns) == ["column", "label", "members", "level", "share of rows"]
    assert list(dict.fromkeys(book.column)) == list(HIERARCHIES)
    for name, part in book.groupby("column"):
        assert dict(zip(part.label, part["share of rows"], strict=True)) == pytest.approx(
            made[name].value_counts(normalize=True).to_dict()
        )


def test_members_are_ranges_of_whole_numbers_and_lists_of_others():
    rows = frame(400, 0)
    book = codebook(problem(rows, 1), (1, 1, 1, 1)).set_index(["column", "label"])
    assert book.members["age"].to_dict() == {"0–4": "0–4", "5–9": "5–9", "10–14": "10–14", "15–19": "15–19"}
    assert book.members["weight"].to_dict() == {"40–49": "40–49", "50–59": "50–59"}
    assert book.members["code"].to_dict() == {"low": "007", "high": "8–10"}
    assert book.members["town"].to_dict() == {"DE": "Bonn | Cologne", "FR": "Paris | a, b"}
    assert book.level.tolist() == [1] * len(book)


def test_marked_rows_are_told_apart_where_no_label_is_the_root():
    rows = frame(60, 1)
    book = codebook(problem(rows, 3), (1, 2, 1, 1))
    own = book[(book.column == "age") & (book.label == "*")].iloc[0]
    assert (own.members, own.level) == (f"0–19 | {EVERYTHING}", None)
    assert own["share of rows"] > 0
    # All ages have the root already, so that suppressed rows share it.
    whole = book[book.column == "weight"]
    assert whole.label.tolist() == ["*"]
    assert whole["share of rows"].tolist() == [1.0]


@pytest.mark.parametrize("counts", [{"x": 8, "y": 6}, {"x": 4, "y": 6, "z": 4}])
def test_a_star_of_some_values_may_be_that_of_a_suppressed_row(counts):
    towns = Hierarchy([["x", "y", "z"], ["*", "west", "east"], ["*"] * 3])
    rows = pd.DataFrame({"town": [town for town, n in counts.items() for _ in range(n)]})
    own = LatticeProblem(Microdata.from_frame(rows, {"town": towns}), [KAnonymity()], Below(5))
    book = codebook(own, [1]).set_index("label")
    assert book.members.to_dict() == {"*": f"x | {EVERYTHING}", "west": "y"}
    assert book["share of rows"].to_dict() == {"*": 8 / 14, "west": 6 / 14}


def test_what_is_missing_is_a_member():
    ages = Hierarchy.intervals(0, 10, widths=[5])
    rows = pd.DataFrame({"age": [1, 7, None, 3]})
    table = Microdata.from_frame(rows, {"age": ages.with_missing()}, missing="keep")
    own = LatticeProblem(table, [KAnonymity()])
    assert "(missing)" in " ".join(codebook(own, own.xu.astype(int)).members)


def test_bit_strings_have_no_levels():
    own = BitStringProblem(Microdata.from_frame(frame(60, 0), HIERARCHIES), [KAnonymity(), GeneralLossMetric()])
    book = codebook(own, np.zeros(own.n_var, dtype=bool))
    assert set(book.level) == {None}
    assert book[book.column == "age"].members.tolist() == ["0–19"]


@given(st.lists(st.text(' |a"', max_size=4) | st.sampled_from(["(missing)", "(empty)", "[1, 2)", "1–2"]), unique=True))
def test_members_are_read_as_they_were_written(values):
    hierarchy = Hierarchy.flat([*values, "last"])
    assert read_members(members_of(hierarchy, range(hierarchy.n_values))) == [*values, "last"]
