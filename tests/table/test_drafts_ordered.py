"""Drafts of ordered categories: textual intervals, months, weekdays, and steps of scales."""

import io

import pytest
from drafted import partition
from hypothesis import given
from hypothesis import strategies as st

from pymoo_anon.table import Hierarchy, draft_hierarchy


@pytest.mark.parametrize(
    ("values", "levels"),
    [
        (
            ["[50-60)", "[40-50)", "[70-80)", "[60-70)", "[10-20)"],
            [["[10-50)", "[50-70)", "[70-80)"], ["[10-70)", "[70-80)"]],
        ),
        (["18-24", "65+", "25-34", "unknown", "35-64"], [["18-34", "≥35", "unknown"]]),
        (["5 to 9", "<5", "10 to 14", "15 and over"], [["≤9", "≥10"]]),
        (["(0, 5]", "(5, 10]", "> 10"], [["(0, 10]", "> 10"]]),
        (["<10", "[10, 20[", "[20, 30["], [["<20", "[20, 30["]]),
        (["unter 18", "18 bis 29", "30 bis 49", "50 und älter"], [["≤29", "≥30"]]),
        (["$0-$9,999", "$10,000-$19,999", "$20,000+"], [["$0-$19,999", "$20,000+"]]),
        (["low", "high", "medium", "very high"], [["low–medium", "high – very high"]]),
        (["<1 year", "1-2 years", "3-5 years", ">5 years"], [["≤2", "≥3"]]),
        (["1 000-1 999", "2 000-2 999", "3 000+"], [["1 000-2 999", "3 000+"]]),
        (["10k+", "1k-9k", "500-999", "0-499"], [["0-999", "≥1k"]]),
        (["more than 10", "5-10", "0-4"], [["0-10", "more than 10"]]),
        (["XL", "S", "M", "L"], [["S–M", "L–XL"]]),
        (["strongly agree", "agree", "neutral"], [["neutral–agree", "strongly agree"]]),
        (["Jan", "Mar", "Feb", "Dec", "Apr"], [["Jan–Mar", "Apr", "Dec"], ["Jan–Apr", "Dec"]]),
        (["Januar", "Juni", "Mai", "März"], [["Januar–März", "Mai–Juni"]]),
        (["Mo", "Di", "Sa", "Fr", "So", "Mi", "Do"], [["Mo–Fr", "Sa–So"]]),
        (["Sunday", "Monday", "Saturday"], [["Monday", "Saturday–Sunday"]]),
        (["Masters", "HS-grad", "Doctorate", "11th"], [["11th – HS-grad", "Masters–Doctorate"]]),
        (["sehr niedrig", "hoch", "mittel"], [["sehr niedrig – mittel", "hoch"]]),
        (["grade 2", "grade 10", "grade 1"], [["grade 1 – grade 2", "grade 10"]]),
        (["A+", "B", "A"], [["A+–A", "B"]]),
        ([*["0-9", "10-19", "20-29"] * 20, "5-15"], [["0-19", "20-29", "5-15"]]),
        ([*["grade 1", "grade 2", "grade 3"] * 20, "stage 1"], [["grade 1 – grade 2", "grade 3", "stage 1"]]),
    ],
    ids=range(24),
)
def test_neighbors_in_their_order(values, levels):
    draft = draft_hierarchy(values)
    assert draft.kind == "ordered"
    assert [list(own) for own in draft.hierarchy.labels[1:-1]] == levels
    assert draft_hierarchy(values[::-1]) == draft
    read = Hierarchy.from_csv(io.StringIO(draft.hierarchy.to_csv(), newline=""))
    assert partition(read, values) == partition(draft.hierarchy, values)


@pytest.mark.parametrize(
    "values",
    [
        ["0-10", "5-15", "15-20"],
        ["10-5", "5-1", "20-30"],
        ["low", "high", "dog"],
        ["Jan", "Feb", "Mo"],
        ["A", "B", "C", "D"],
        ["low", "high"],
        ["yes", "no", "unknown"],
        ["2 cats", "3 dogs", "4 birds"],
    ],
    ids=range(8),
)
def test_values_without_an_order_get_none(values):
    assert draft_hierarchy(values).kind == "categories"
    with pytest.raises(
        ValueError, match=r"^ordered categories must be intervals written as text, months, weekdays or "
    ):
        draft_hierarchy(values, kind="ordered")


def test_letters_are_marks_where_the_name_says_so():
    assert draft_hierarchy(list("DACFB"), name="Grade").hierarchy.labels[1] == ("A–B", "C–D", "F")


@given(st.lists(st.integers(0, 40), min_size=3, max_size=30, unique=True), st.sampled_from([1, 5, 10]))
def test_a_label_of_intervals_holds_what_is_in_its_group(starts, width):
    """Check that a label spans its group and no other group."""
    column = [f"[{start * width}-{(start + 1) * width})" for start in starts]
    hierarchy = draft_hierarchy(column).hierarchy
    n_seen = 0
    for labels in partition(hierarchy, column)[1:-1]:
        for label in set(labels):
            low, high = map(int, label[1:-1].split("-"))
            inside = {start for start in starts if low <= start * width < high}
            assert inside == {start for start, own in zip(starts, labels, strict=True) if own == label}
            assert (low, high) == (min(inside) * width, (max(inside) + 1) * width)
            n_seen += 1
    assert n_seen > 0


def test_intervals_are_read_as_persons_write_them():
    draft = draft_hierarchy(["500-1.000", "1.000-1.500", "1.500-2.000", "2.000-2.500", "≥ 2.500"])
    assert draft.kind == "ordered"
    assert draft.hierarchy.labels[1] == ("500-1.500", "1.500-2.500", "≥ 2.500")
    draft = draft_hierarchy(["0,5-1,5", "1,5-2,5", "2,5-10", "10-12,5"])
    assert draft.hierarchy.labels[1] == ("0,5-2,5", "2,5-12,5")
    draft = draft_hierarchy(["0-1,000", "1,000-2,000", "2,000-3,000", "3,000-4,000"])
    assert draft.hierarchy.labels[1] == ("0-2,000", "2,000-4,000")
