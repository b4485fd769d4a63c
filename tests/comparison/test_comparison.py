"""Tournaments of generalizations: pairs and ranks, and two releases side by side."""

import re
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import nodes, tables

from benchmarks.papers import dewri2009_tables as paper
from pymoo_anon.comparison import *
from pymoo_anon.comparison import CountQueries
from pymoo_anon.comparison.comparing import better_off, compare_sizes, compare_uses
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.table import AtMost, Below, Hierarchy, Microdata, Violating

SIZE, UTILITY = ClassSize(), TupleUtility()
EQUAL_WEIGHTS = Weighted([0.5, 0.5], Coverage())


def compared(*comparators, properties=(SIZE, UTILITY), generalizations=paper.GENERALIZATIONS, **policy):
    return compare(paper.TABLE, generalizations, properties, comparators, **policy)


def test_pairs_of_the_paper():
    found = compared(Coverage(), EQUAL_WEIGHTS)
    expected = pd.DataFrame(
        [
            ("class size", "cov", "T3a", "T3b", 0.3, 1.0, "worse"),
            ("class size", "cov", "T3a", "T4", 0.0, 1.0, "worse"),
            ("class size", "cov", "T3b", "T4", 0.7, 0.3, "better"),
            ("utility", "cov", "T3a", "T3b", 1.0, 0.3, "better"),
            ("utility", "cov", "T3a", "T4", 1.0, 0.0, "better"),
            ("utility", "cov", "T3b", "T4", 1.0, 0.0, "better"),
            ("all", "WTD", "T3a", "T3b", 0.65, 0.65, "equal"),
            ("all", "WTD", "T3a", "T4", 0.5, 0.5, "equal"),
            ("all", "WTD", "T3b", "T4", 0.85, 0.15, "better"),
        ],
        columns=["property", "comparator", "first", "second", "first_index", "second_index", "verdict"],
    )
    pd.testing.assert_frame_equal(found.pairs, expected, check_dtype=False)


def test_ranks_of_the_paper():
    found = compared(Coverage(), Dominance(), Minimum(), properties=[SIZE])
    assert found.ranking.to_dict("list") == {
        "property": ["class size"] * 9,
        "comparator": ["cov"] * 3 + ["dominance"] * 3 + ["min"] * 3,
        "generalization": ["T3a", "T3b", "T4"] * 3,
        "better": [0, 2, 1, 0, 1, 1, 0, 0, 2],
        "worse": [2, 0, 1, 2, 0, 0, 1, 1, 0],
        "equal": [0, 0, 0, 0, 0, 0, 1, 1, 0],
        "incomparable": [0, 0, 0, 0, 1, 1, 0, 0, 0],
        "rank": [3, 1, 2, 3, 1, 1, 2, 2, 1],
    }
    assert found.ranks["class size"].loc["T3b"].to_dict() == {"cov": 1, "dominance": 1, "min": 2}
    text = str(found)
    assert text.startswith("Ranks of 3 generalizations, 1 is best:\n")
    assert re.search(r"^class size cov +3 +1 +2$", text, re.MULTILINE)
    many = str(compared(Minimum(), properties=[SIZE], generalizations=list(paper.GENERALIZATIONS.values()) * 50))
    assert len(many.splitlines()) == 1 + 3 + 41
    assert re.search(r"^149 +1$", many, re.MULTILINE)


def ranking_of(names, won):
    """Rank names by the pairs won, all others being incomparable."""
    n = len(names)
    outcomes = np.full((n, n), 2, dtype=np.int8)
    np.fill_diagonal(outcomes, 0)
    for better, worse in won:
        outcomes[names.index(better), names.index(worse)] = 1
        outcomes[names.index(worse), names.index(better)] = -1
    return Comparison(tuple(names), {}, {("x", "y"): Tournament(np.zeros((n, n)), outcomes)}).ranking


def test_a_win_outweighs_all_losses():
    """Rank a first by its wins, despite losses to b, c, d."""
    found = ranking_of("abcdef", {("a", "e"), ("a", "f"), ("b", "a"), ("c", "a"), ("d", "a")})
    assert found["rank"].tolist() == [1, 2, 2, 2, 5, 5]


def test_among_as_many_wins_fewer_losses_count():
    """Rank d before b by fewer losses, and c equal to e."""
    found = ranking_of("abcde", {("a", "b"), ("a", "c"), ("b", "e"), ("a", "e"), ("d", "c")})
    assert found["rank"].tolist() == [1, 3, 4, 2, 4]
    assert found["incomparable"].tolist() == [1, 2, 2, 3, 2]


@given(data=st.data(), table=tables(max_attributes=3))
def test_every_number_is_that_of_the_two_vectors(data, table):
    some = data.draw(st.lists(nodes(table), min_size=1, max_size=4))
    generalizations = [table.generalization(node) for node in some]
    properties = [SensitiveCount("s0"), TupleLoss(), DistinctValues("s1")]
    comparators = [Rank(), Spread(), Dominance(), Goal([1, 0, 2], Coverage())]
    limit = data.draw(st.integers(0, len(table.frame) - 1))
    found = compare(table.microdata, generalizations, properties, comparators, suppression=limit)
    n = len(some)
    assert len(found.pairs) == (3 * 3 + 2) * n * (n - 1) // 2
    assert len(found.ranking) == (3 * 3 + 2) * n
    classes = [table.microdata.equivalence_classes(g, suppression=limit) for g in generalizations]
    sets = [[one.measure(own) for one in properties] for own in classes]
    by_name = {one.name: one for one in comparators}
    by_label = {one.label: i for i, one in enumerate(properties)}
    for row in found.pairs.itertuples():
        one = by_name[row.comparator]
        pair = [sets[i] if row.property == "all" else sets[i][by_label[row.property]] for i in (row.first, row.second)]
        assert (row.first_index, row.second_index) == (one.index(*pair), one.index(*pair[::-1]))
        assert row.verdict == one.compare(*pair)
    for row in found.ranking.itertuples():
        own = found.pairs[(found.pairs.property == row.property) & (found.pairs.comparator == row.comparator)]
        won = own[own["first"] == row.generalization].verdict.eq("better").sum()
        won += own[own["second"] == row.generalization].verdict.eq("worse").sum()
        assert row.better == won
        assert row.better + row.worse + row.equal + row.incomparable == n - 1


def test_names_and_vectors():
    found = compared(Rank(0), Rank(10), Minimum(), generalizations=list(paper.GENERALIZATIONS.values()))
    assert found.names == (0, 1, 2)
    assert list(found.vectors) == ["class size", "utility"]
    assert found.vectors["class size"][0].values[paper.ROWS].tolist() == [3, 3, 3, 3, 4, 4, 4, 3, 3, 4]
    assert list(found.tournaments)[:3] == [
        ("class size", "Rank(point=0, tolerance=0)"),
        ("class size", "Rank(point=10, tolerance=0)"),
        ("class size", "min"),
    ]
    for names in (["a", (1, 2)], [(1, 1, 1), (3, 1, 2)]):
        named = dict(zip(names, [paper.GENERALIZATIONS["T4"], paper.GENERALIZATIONS["T3a"]], strict=True))
        found = compared(Minimum(), properties=[SIZE], generalizations=named)
        assert found.pairs[["first", "second"]].to_numpy().tolist() == [names]
        assert found.ranks["class size", "min"].to_dict() == dict(zip(names, [1, 2], strict=True))
        assert all(str(name) in str(found) for name in names)


def test_what_breaks_a_constraint_is_suppressed():
    """Suppress T3a's classes of fewer than three kinds of marital status."""
    three_kinds = [DistinctLDiversity("marital status") >= 3]
    found = compared(Minimum(), properties=[SIZE], suppression=Violating(0.6), constraints=three_kinds)
    by_name = dict(zip(found.names, found.vectors["class size"], strict=True))
    assert by_name["T3a"].values[paper.ROWS].tolist() == [6, 6, 6, 6, 4, 4, 4, 6, 6, 4]
    assert by_name["T3b"].values[paper.ROWS].tolist() == [3, 7, 7, 3, 7, 7, 7, 3, 7, 7]
    # A generalization that loses more than the limit is compared as well.
    small = compared(Minimum(), properties=[SIZE], suppression=Violating(1), constraints=three_kinds)
    assert small.pairs.equals(found.pairs)
    four = [KAnonymity() >= 4, DistinctLDiversity("marital status") >= 2]
    by_size = compared(Minimum(), properties=[SIZE], suppression=Violating(0.6), constraints=four).vectors["class size"]
    assert by_size[0].values[paper.ROWS].tolist() == [6, 6, 6, 6, 4, 4, 4, 6, 6, 4]


def test_a_number_is_a_limit_and_constraints_are_read_by_their_rule_alone():
    limited = compared(Minimum(), properties=[SIZE], suppression=AtMost(6), constraints=[KAnonymity() >= 9])
    for one, other in zip(
        limited.vectors["class size"], compared(Minimum(), suppression=6).vectors["class size"], strict=True
    ):
        assert one.values.tolist() == other.values.tolist()


def test_one_generalization_has_no_pairs():
    found = compared(Minimum(), EQUAL_WEIGHTS, generalizations=[paper.GENERALIZATIONS["T4"]])
    assert len(found.pairs) == 0
    assert found.ranking["rank"].tolist() == [1, 1, 1]
    assert str(found).startswith("Ranks of 1 generalization, 1 is best:")


@pytest.fixture(scope="module")
def problem():
    return LatticeProblem(make_census(300), [KAnonymity(), GeneralLossMetric()], suppression=20)


def plain_rows(table, classes):
    """Return the size and the utility of every distinct tuple, and its rows."""
    (class_of,), released = classes.class_of, Counter()
    keys = [int(own) if classes.kept[own] else None for own in class_of]
    for key, n in zip(keys, table.tuples.counts.tolist(), strict=True):
        released[key] += n
    return [released[key] for key in keys], table.tuples.counts.tolist()


@pytest.mark.parametrize("levels", [([1, 1, 0, 0, 0, 0, 1, 0], [2, 1, 1, 1, 0, 1, 0, 1]), ([0] * 8, [0] * 8)])
def test_who_is_better_off_is_counted_row_by_row(problem, levels):
    first, second = map(problem.equivalence_classes, levels)
    sizes, utilities = better_off(first, second)
    (ones, counts), (others, _) = (plain_rows(problem.table, own) for own in (first, second))
    both = list(zip(ones, others, counts, strict=True))
    assert sizes.first == sum(n for a, b, n in both if a > b)
    assert sizes.second == sum(n for a, b, n in both if a < b)
    for own in (sizes, utilities):
        assert own.first + own.second + own.equal == 300
        verdicts = [["equal", "worse"], ["better", "incomparable"]]
        assert own.verdicts["dominance"] == verdicts[own.first > 0][own.second > 0]
    assert sizes.verdicts["min"] == ["equal", "better", "worse"][np.sign(min(ones) - min(others))]


def test_loss_and_errors_are_those_of_the_measures(problem):
    classes = {"a": problem.equivalence_classes([1, 1, 0, 0, 0, 0, 1, 0]), "b": problem.equivalence_classes([0] * 8)}
    found = compare_uses(CountQueries(problem.table, 50), classes)
    sums = [GeneralLossMetric().evaluate(own).item() for own in classes.values()]
    assert found["loss"].tolist() == pytest.approx([own / (300 * 8) for own in sums])
    assert list(found) == ["loss", "median", "90 %"]
    assert found.loc["b", "median"] < found.loc["a", "median"]


def test_errors_are_those_of_a_release_that_leaves_rows_out():
    problem = LatticeProblem(make_census(400), [KAnonymity(), GeneralLossMetric()], 0.05)
    queries, classes = CountQueries(problem.table, n=250), problem.equivalence_classes([6, 3, 3, 0, 1, 0, 3, 0])
    found = compare_uses(queries, {"marked": classes, "dropped": classes}, ["dropped"])[["median", "90 %"]].to_numpy()
    assert found[0].tolist() == queries.summary({0: classes}, "mark").to_numpy()[0].tolist()
    assert found[1].tolist() == queries.summary({0: classes}, "drop").to_numpy()[0].tolist()
    assert (found[0] != found[1]).any()


def test_releases_are_compared_in_persons_where_these_have_several_rows():
    frame = pd.DataFrame({"q": [*"aaabb"], "who": [1, 1, 2, 3, 3]})
    table = Microdata.from_frame(frame, {"q": Hierarchy.flat([*"ab"])}, person="who")
    problem = LatticeProblem(table, [GeneralLossMetric()], Below(3))
    fine, coarse = problem.equivalence_classes([0]), problem.equivalence_classes([1])
    # The rows of b are suppressed, and one person's.
    found = compare_uses(CountQueries(table, 5), {"marked": fine, "dropped": fine, "coarse": coarse}, ["dropped"])
    assert found["k in persons"].tolist() == [1, 2, 3]


def test_classes_of_any_table_are_counted():
    frame = pd.DataFrame({"zip": ["1*", "1*", None, None, None, "2*"], "age": [1, 1, 2, 2, 2, 2]})
    other = pd.DataFrame({"zip": ["*"] * 12, "age": [1] * 12})
    found = compare_sizes({"a": frame, "b": other}, ["zip", "age"])
    assert found.loc["a"].tolist() == [6, 3, 1, 0.5, 1, 6, 6]
    assert found.loc["b"].tolist() == [12, 1, 12, 1 / 12, 0, 0, 0]
