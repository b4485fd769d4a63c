"""Properties, their distributions over tuples, tournaments of generalizations, and two releases side by side."""

import dataclasses
import pickle
import re
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import at_levels, nodes, policies, rule_of, tables, unchanged
from vectors import REAL, WHOLE, groups

from benchmarks.papers import dewri2009_tables as paper
from pymoo_anon.comparison import *
from pymoo_anon.comparison import CountQueries
from pymoo_anon.comparison.comparing import better_off, compare_sizes, compare_uses
from pymoo_anon.comparison.properties import sums_of_shares
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.table import AtMost, Below, Generalization, Hierarchy, Microdata, Violating

SIZE, UTILITY = ClassSize(), TupleUtility()
EQUAL_WEIGHTS = Weighted([0.5, 0.5], Coverage())


def compared(*comparators, properties=(SIZE, UTILITY), generalizations=paper.GENERALIZATIONS, **policy):
    return compare(policy.pop("table", paper.TABLE), generalizations, properties, comparators, **policy)


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
    alone = str(compared(Minimum(), properties=[SIZE], generalizations=[paper.GENERALIZATIONS["T4"]]))
    assert alone.startswith("Ranks of 1 generalization, 1 is best:\n")
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


SAME_VALUE = "tuples of the class with the same value"
#: Name, label, words, whether higher is better. A further property joins by a line here and one in `by_rows`.
PROPERTIES = {
    ClassSize(): ("ClassSize()", "class size", "class size", True),
    BreachProbability(): ("BreachProbability()", "breach probability", "probability of a privacy breach", False),
    SensitiveCount("s0"): ("SensitiveCount('s0')", "sensitive count of s0", f"{SAME_VALUE} of s0", True),
    DistinctValues("s0"): ("DistinctValues('s0')", "distinct values of s0", "distinct values of s0", True),
    TupleLoss(): ("TupleLoss()", "loss", "general loss of a tuple", False),
    TupleUtility(): ("TupleUtility()", "utility", "utility of a tuple", True),
}
every_property = pytest.mark.parametrize("prop", PROPERTIES, ids=repr)


def drawn(data, table):
    """Draw classes of one node and each row's class, or -1."""
    node, policy = data.draw(nodes(table)), data.draw(policies(table))
    classes = table.microdata.equivalence_classes(table.generalization(node), rule_of(policy))
    measured = table.plain.measure(node, **policy)
    everything = measured.n_suppressed == len(table.frame)
    suppressed = (measured.size_of < measured.k) | everything
    return classes, node, measured.class_of.where(~suppressed, -1)


def by_rows(prop, table, node, class_of):
    """Compute the value of each row by the definition."""
    frame, plain = table.frame, table.plain
    own = class_of.groupby(class_of)
    sizes = own.transform("size")
    if isinstance(prop, ClassSize):
        return sizes
    if isinstance(prop, BreachProbability):
        return 1 / sizes
    if isinstance(prop, SensitiveCount):
        return class_of.groupby([class_of, frame[prop.column]]).transform("size")
    if isinstance(prop, DistinctValues):
        return frame[prop.column].groupby(class_of).transform("nunique")
    kept = class_of >= 0
    total = 0
    for choice in zip(plain.columns, node, strict=True):
        n_values = len(table.levels[choice[0]][0])
        loss = plain.costs[choice]
        if isinstance(prop, TupleLoss):
            total = total + loss.where(kept, 1.0)
        else:
            total = total + (1 - (loss * (n_values - 1) + 1) / n_values).where(kept, 0.0)
    return total


def of_rows(vector, table):
    """Read the value of each row from the vector by its unit."""
    tuple_of_row = table.tuple_of_row
    if vector.unit is None:
        return vector.values[tuple_of_row]
    column = table.microdata.tuples.columns[vector.unit]
    codes = [table.microdata.domain_of(vector.unit)[code] for code in column.values]
    place = {key: e for e, key in enumerate(zip(vector.distinct_tuples.tolist(), codes, strict=True))}
    own = zip(tuple_of_row.tolist(), table.frame[vector.unit], strict=True)
    return vector.values[[place[key] for key in own]]


@given(data=st.data(), table=tables(max_attributes=3, max_rows=15))
def test_values_are_those_of_the_rows(data, table):
    classes, node, class_of = drawn(data, table)
    for prop in PROPERTIES:
        vector = prop.measure(classes)
        expected = by_rows(prop, table, node, class_of)
        np.testing.assert_allclose(of_rows(vector, table), expected, rtol=1e-12, atol=1e-12, err_msg=repr(prop))
        ideal = vector.ideal if vector.maximize else -vector.ideal
        assert (vector.oriented <= ideal + 1e-12).all()


@every_property
@given(data=st.data(), table=tables(max_attributes=2))
def test_the_contract_of_every_property(prop, data, table):
    classes, _, _ = drawn(data, table)
    columns = [classes.tuples.columns[name] for name in ("s0", "q0")]
    holders = [classes, classes.tuples, *columns]
    arrays = [value for holder in holders for value in vars(holder).values() if isinstance(value, np.ndarray)]
    with unchanged(*arrays):
        vector = prop.measure(classes)
    assert (repr(prop), prop.label, vector.words, prop.maximize) == PROPERTIES[prop]
    assert (vector.name, vector.maximize, vector.unit) == (prop.label, prop.maximize, prop.unit)
    assert vector.tuples is table.microdata.tuples
    assert (vector.values.dtype, vector.counts.dtype) == (np.float64, np.int64)
    assert vector.counts.sum() == vector.n_rows == len(table.frame) == len(vector.expand())
    assert not vector.values.flags.writeable
    with pytest.raises(dataclasses.FrozenInstanceError):
        vector.values = vector.values


@given(tables())
def test_the_ideal_is_what_no_generalization_or_one_class_gives(table):
    raw, top = (
        table.microdata.equivalence_classes(table.generalization(node), suppression=Below(below))
        for node, below in (([0] * len(table.top), 1), (table.top, len(table.frame)))
    )
    for prop in (TupleLoss(), TupleUtility()):
        vector = prop.measure(raw)
        assert (vector.values == vector.ideal).all()
    for prop in (ClassSize(), BreachProbability(), SensitiveCount("s0"), DistinctValues("s0")):
        vector = prop.measure(top)
        assert vector.oriented.max() == (vector.ideal if vector.maximize else -vector.ideal)


@given(st.lists(st.integers(1, 200), min_size=1, max_size=25), st.integers(0, 10**6))
def test_sums_of_shares_are_in_the_order_of_exact_ones(half, seed):
    wholes = np.array([*half, *half[::-1]])
    rows = np.random.default_rng(seed).integers(0, wholes + 1, (9, len(wholes)))
    # A row backwards has the same sum.
    rows = np.concatenate([rows, rows[:, ::-1]])
    exact = [sum(map(Fraction, row, wholes.tolist())) for row in rows.tolist()]
    found = sums_of_shares(rows, wholes)
    np.testing.assert_allclose(found, [float(one) for one in exact], rtol=1e-15)
    for (a, x), (b, y) in pairwise(sorted(zip(exact, found, strict=True))):
        assert x == y if a == b else x <= y


def test_nobody_is_better_off_by_a_rounding():
    rows = pd.DataFrame({"a": [0, 0, 5], "b": [0, 0, 5], "c": [1, 1, 10]})
    table = Microdata.from_frame(rows, {name: Hierarchy.flat(list(range(11))) for name in rows})

    def classes(*sizes):
        """Group the first values of each column."""
        groups = {name: [0] * n + list(range(1, 12 - n)) for name, n in zip("abc", sizes, strict=True)}
        labels = {name: list(map(str, range(12 - n))) for name, n in zip("abc", sizes, strict=True)}
        return table.equivalence_classes(Generalization(groups, labels))

    first, second = classes(2, 3, 1), classes(4, 1, 1)
    assert Dominance().compare(TupleLoss().measure(first), TupleLoss().measure(second)) == "equal"
    assert [own.equal for own in better_off(classes(1, 1, 3), classes(1, 2, 2))] == [3, 3]


EXPECTED = {
    "T3a": ([3, 3, 3, 3, 4, 4, 4, 3, 3, 4], [2, 2, 1, 2, 2, 1, 2, 1, 2, 1]),
    "T3b": ([3, 7, 7, 3, 7, 7, 7, 3, 7, 7], [2, 3, 1, 2, 2, 1, 2, 1, 3, 3]),
    "T4": ([4, 6, 4, 4, 6, 6, 6, 4, 6, 6], [2, 3, 1, 2, 2, 1, 2, 1, 3, 3]),
}
UTILITIES = {
    "T3a": [2.03, 1.7, 1.7, 2.03, 1.6, 1.6, 1.6, 2.03, 1.7, 1.6],
    "T3b": [2.03, 0.97, 0.97, 2.03, 0.97, 0.97, 0.97, 2.03, 0.97, 0.97],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_vectors_of_the_paper(name):
    classes = paper.TABLE.equivalence_classes(paper.GENERALIZATIONS[name])
    sizes, counts = EXPECTED[name]
    assert ClassSize().measure(classes).values[paper.ROWS].tolist() == sizes
    assert SensitiveCount("marital status").measure(classes).values[paper.ROWS].tolist() == counts
    if name in UTILITIES:
        assert TupleUtility().measure(classes).values[paper.ROWS].round(2).tolist() == UTILITIES[name]


@given(data=st.data(), drawn_group=groups(n=1))
def test_counts_stand_for_repeated_rows(data, drawn_group):
    (vector,) = drawn_group.vectors
    rows = vector.expand()
    assert vector.mean() == pytest.approx(rows.mean(), rel=1e-14, abs=1e-300)
    shares = data.draw(st.lists(st.floats(0, 1), min_size=1, max_size=5))
    np.testing.assert_allclose(vector.quantiles(shares), np.quantile(rows, shares), rtol=1e-9, atol=1e-9)
    assert vector.quantiles([0, 1]).tolist() == [rows.min(), rows.max()]


class Distance(Property):
    """A property of one's own."""

    name = "steps to the largest class"
    maximize = False

    def of_tuples(self, classes):
        class_of, sizes = released(classes)
        return (sizes.max() - sizes)[class_of]


def test_a_property_of_ones_own_is_one_method():
    classes = paper.TABLE.equivalence_classes(paper.GENERALIZATIONS["T3b"])
    vector = Distance().measure(classes)
    assert vector.values[paper.ROWS].tolist() == [4, 0, 0, 4, 0, 0, 0, 4, 0, 0]
    assert (vector.oriented == -vector.values).all()
    assert (vector.words, vector.ideal, repr(Distance())) == (Distance.name, None, "Distance()")


def test_vectors_survive_a_pickle():
    classes = paper.TABLE.equivalence_classes(paper.GENERALIZATIONS["T3b"])
    vector = ClassSize().measure(classes)
    again = pickle.loads(pickle.dumps(vector))
    assert not again.values.flags.writeable
    np.testing.assert_array_equal(again.values, vector.values)
    assert repr(again) == repr(vector) == "PropertyVector('class size' of 10 tuples, higher is better)"


def plain_gini(rows):
    """Return half the mean difference of two tuples, relative to the mean."""
    rows = np.asarray(rows)
    return np.abs(rows[:, None] - rows).mean() / 2 / rows.mean() if rows.any() else 0


@given(groups(of=st.one_of(WHOLE, REAL), n=1))
def test_gini_is_half_the_relative_mean_difference(group):
    (vector,) = group.vectors
    assert gini(vector) == pytest.approx(plain_gini(vector.expand()), abs=1e-12)
    assert gini(vector) == pytest.approx(gini(vector.expand()), abs=1e-15)


@given(groups(of=WHOLE, n=1))
def test_the_lorenz_curve_is_that_of_the_rows(group):
    (vector,) = group.vectors
    rows = np.sort(vector.expand())
    curve = lorenz_curve(vector)
    assert curve[0].tolist() == [0, 0]
    assert curve[-1].tolist() == [1, 1]
    if rows.any():
        share = np.arange(len(rows) + 1) / len(rows)
        held = np.concatenate([[0], np.cumsum(rows)]) / rows.sum()
        np.testing.assert_allclose(np.interp(share, *curve.T), held, atol=1e-12)
    else:
        np.testing.assert_array_equal(curve[:, 0], curve[:, 1])
    assert len(curve) == len(np.unique(rows)) + 1


def test_known_inequality():
    assert gini([1, 1, 1]) == 0
    assert gini([0, 0, 0, 8]) == 0.75
    assert gini([0, 0]) == 0
    assert gini([1e150] * 3) == 0
    # Rounded, the area under this curve is above that under the diagonal.
    assert gini([1.0] * 9 + [np.nextafter(1, 2)] * 29) == 0
    assert gini([1e-200, 3e-200]) == gini([1, 3]) == 0.25
    assert lorenz_curve([3, 1, 1]).tolist() == [[0, 0], [2 / 3, 0.4], [1, 1]]


@given(groups(of=st.one_of(WHOLE, REAL), n=3, maximize=None))
def test_distributions_are_those_of_the_rows(group):
    vectors = dict(zip("abc", group.vectors, strict=True))
    found = distribution(vectors)
    assert list(found.index) == list("abc")
    for name, vector in vectors.items():
        rows = vector.expand()
        shares = [0, 0.05, 0.25, 0.5, 0.75, 0.95, 1]
        worst = rows.min() if vector.maximize else rows.max()
        expected = [rows.mean(), *np.quantile(rows, shares), plain_gini(rows), (rows == worst).sum()]
        np.testing.assert_allclose(found.loc[name].to_numpy(float), expected, rtol=1e-9, atol=1e-9)


def test_distributions_of_arrays_and_of_negative_values():
    found = distribution({("a", 1): [-1, 2], "b": [0, 2]})
    assert list(found) == ["mean", "minimum", "5 %", "25 %", "median", "75 %", "95 %", "maximum", "Gini", "worst off"]
    assert found.dtypes["worst off"] == np.int64
    assert list(found.index) == [("a", 1), "b"]
    assert np.isnan(found["Gini"].iloc[0])
    assert found["Gini"].iloc[1] == 0.5


@given(data=st.data(), table=tables(max_attributes=3, max_rows=15))
def test_who_is_worst_off(data, table):
    prop = data.draw(st.sampled_from([ClassSize(), BreachProbability(), SensitiveCount("s0"), TupleLoss()]))
    node = data.draw(nodes(table))
    below = data.draw(st.integers(1, len(table.frame)))
    generalization = table.generalization(node)
    found = worst_off(table.microdata, generalization, prop, suppression=Below(below))
    classes = table.microdata.equivalence_classes(generalization, suppression=Below(below))
    vector = prop.measure(classes)
    released = classes.class_of[0][table.tuple_of_row]
    suppressed = classes.suppressed[released]
    values = of_rows(vector, table)
    worst = values == (values.min() if prop.maximize else values.max())
    rows = {}
    for i in range(len(table.frame)):
        key = tuple(
            "*" if suppressed[i] else table.levels[name][level][table.frame[name][i]]
            for name, level in zip(table.levels, node, strict=True)
        )
        size, members = rows.get((key, suppressed[i]), (0, 0))
        rows[key, suppressed[i]] = size + 1, members + worst[i]
    expected = {(key, *counts) for (key, _), counts in rows.items() if counts[1]}
    keys = [key if isinstance(key, tuple) else (key,) for key in found.index]
    assert set(zip(keys, found["size"], found["tuples"], strict=True)) == expected
    assert len(found) == len(expected)
    assert found["size"].is_monotonic_increasing
    assert (found[prop.label] == values[worst][0]).all()
    assert list(found.index.names) == list(table.levels)


def test_who_is_worst_off_where_classes_that_break_a_constraint_are_suppressed():
    three_kinds = [DistinctLDiversity("marital status") >= 3]
    found = worst_off(paper.TABLE, paper.GENERALIZATIONS["T3a"], TupleLoss(), Violating(0.6), three_kinds)
    assert (list(found), found.index.tolist()) == (["size", "tuples", "loss"], [("*", "*", "*")])
    assert found.to_numpy().tolist() == [[6, 6, 3.0]]
    kept = worst_off(paper.TABLE, paper.GENERALIZATIONS["T3a"], ClassSize(), Violating(0.6), three_kinds)
    assert kept.index.tolist() == [("1325*", "(45,55]", "Not Married")]
    assert kept.to_numpy().tolist() == [[4, 4, 4]]


@given(data=st.data(), table=tables(max_attributes=3, max_rows=15))
def test_gains_are_those_of_the_rows(data, table):
    prop = data.draw(st.sampled_from([ClassSize(), SensitiveCount("s0"), DistinctValues("s1"), TupleLoss()]))
    column = data.draw(st.sampled_from([*table.levels, "s0"]))
    level = data.draw(st.integers(0, len(table.levels[column]) - 1)) if column != "s0" else 0
    one, two = (drawn(data, table) for _ in range(2))
    d1, d2 = prop.measure(one[0]), prop.measure(two[0])
    found = gains(table.microdata, d1, d2, column, level)
    a, b = of_rows(d1, table), of_rows(d2, table)
    np.testing.assert_allclose(a, by_rows(prop, table, one[1], one[2]))
    sign = 1 if prop.maximize else -1
    own = table.frame[column] if column == "s0" else table.frame[column].map(table.levels[column][level])
    frame = pd.DataFrame({"of": own, "better": sign * a > sign * b, "worse": sign * a < sign * b, "difference": a - b})
    expected = frame.groupby("of").agg(
        tuples=("better", "size"), better=("better", "sum"), worse=("worse", "sum"), difference=("difference", "mean")
    )
    pd.testing.assert_frame_equal(
        found.loc[expected.index], expected, check_names=False, check_index_type=False, check_dtype=False, atol=1e-9
    )
    assert len(found) == len(expected)
    assert found.index.name == column


def told(q, r, s):
    """Return the names and parts of a comparison of small tables with such columns."""
    frame = pd.DataFrame([(0, "x", "a"), (0, "x", "b"), (1, "y", "a"), (2, "y", "b")])
    frame.columns = pd.Index([q, r, s], tupleize_cols=False)
    hierarchies = {q: Hierarchy([[0, 1, 2], ["0-1", "0-1", "2"]]), r: Hierarchy.flat(["x", "y"])}
    table = Microdata.from_frame(frame, hierarchies, [s])
    raw, half = (at_levels(hierarchies, levels) for levels in ([0, 0], [1, 1]))
    d1, d2 = (SensitiveCount(s).measure(table.equivalence_classes(one)) for one in (half, raw))
    found = [gains(table, d1, d2, s), gains(table, d1, d2, q, level=1), worst_off(table, half, DistinctValues(s))]
    return [one.to_numpy().tolist() for one in found], [[*one.index.names] for one in found], [*found[-1]][-1], d1.unit


@pytest.mark.parametrize(("q", "r", "s"), [(0, 1, 2), (("q", 1), ("r", 2), ("s", 3)), (2, ("a",), 1.5)])
def test_names_of_columns_need_not_be_text(q, r, s):
    (values, *_), (own, *names) = told("q", "r", "s"), told(q, r, s)
    assert own == values
    assert names == [[[s], [q], [q, r]], f"distinct values of {s}", s]
    assert repr(SensitiveCount(s)) == f"SensitiveCount({s!r})"


def test_nobody_knows_who_of_equal_tuples_has_which_value_of_another_column():
    frame = pd.DataFrame({"q": [0, 0, 1], "s": ["a", "b", "a"], "t": ["x", "y", "y"]})
    table = Microdata.from_frame(frame, {"q": Hierarchy.flat([0, 1])}, ["s", "t"])
    vector = PropertyVector([1, 2, 3], table.tuples, "x", True, unit="s")
    assert gains(table, vector, vector, "q")["tuples"].tolist() == [2, 1]
