"""The codebook of a release: its labels, and their members."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import fewer

from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.problems import BitStringProblem, LatticeProblem
from pymoo_anon.publishing import release
from pymoo_anon.publishing.codebook import EVERYTHING, codebook, members_of, read_members
from pymoo_anon.table import Below, Hierarchy, Microdata

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
