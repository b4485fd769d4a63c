"""Counts, distances, means and classifiers of a release, against rows asked, spread and recoded one by one."""

import re
import sys
from collections import Counter
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from releases import releases
from strategies import one_class_each

from pymoo_anon.comparison import CertainCounts, CountQueries, classification, means, total_variation, utility
from pymoo_anon.datasets import census_rows, load_hierarchy, make_census
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.problems import BitStringProblem, LatticeProblem, LocalRecodingProblem
from pymoo_anon.table import Below, Generalization, Hierarchy, LocalGeneralization, Microdata

SEEDS = st.integers(0, 2**32)


def wanted_values(queries):
    """Yield each query's wanted values by quasi-identifier."""
    hierarchies = list(queries.table.quasi_identifiers.items())
    for query in queries.asked:
        found = {}
        for j, own in query.items():
            name, hierarchy = hierarchies[j]
            found[name] = {hierarchy.domain[place] for place in own}
        yield found


@given(releases(), SEEDS)
def test_answers_are_what_the_rows_say(made, seed):
    queries = CountQueries(made.table.microdata, n=5, seed=seed)
    answers, errors = (own(made.classes, made.suppressed) for own in (queries.answers, queries.errors))
    names, n = list(made.table.levels), len(made.table.frame)
    for i, wanted in enumerate(wanted_values(queries)):
        answer = Fraction(0)
        for row in made.rows:
            share = Fraction(1)
            for name, values in zip(names, row, strict=True):
                if name in wanted:
                    share *= Fraction(len(wanted[name].intersection(values)), len(values))
            answer += share
        fits = [made.table.frame[name].isin(values) for name, values in wanted.items()]
        true = int(np.logical_and.reduce(fits).sum())
        assert queries.true[i] == true
        assert answers[i] == pytest.approx(float(answer))
        assert errors[i] == pytest.approx(float(abs(answer - true) / max(Fraction(true), Fraction(n, 1000))))


@given(releases().filter(lambda made: made.suppressed == "mark"), SEEDS)
def test_bounds_are_the_certain_and_the_possible_rows(made, seed):
    queries = CountQueries(made.table.microdata, n=5, seed=seed)
    bounds, names = queries.bounds(made.classes), list(made.table.levels)
    for i, wanted in enumerate(wanted_values(queries)):
        cells = [
            [(wanted[name], values) for name, values in zip(names, row, strict=True) if name in wanted]
            for row in made.rows
        ]
        certain = sum(all(own >= set(values) for own, values in row) for row in cells)
        possible = sum(all(own & set(values) for own, values in row) for row in cells)
        assert bounds[i].tolist() == [certain, possible]
        assert certain <= queries.true[i] <= possible
    widths = (bounds[:, 1] - bounds[:, 0]) / np.maximum(queries.true, len(made.table.frame) / 1000)
    assert CertainCounts(queries).evaluate(made.classes) == np.quantile(widths, 0.5, method="inverted_cdf")


def test_groups_need_not_be_neighbours():
    """Split two rows of a into one of a and one of d."""
    hierarchy = Hierarchy(["abcd", ["a|d", "b|c", "b|c", "a|d"], "****"])
    table = Microdata.from_frame(pd.DataFrame({"q": list("aab")}), {"q": hierarchy})
    nodes = hierarchy.nodes.ancestors[1][table.tuples.codes[:, 0]]
    whole = LatticeProblem(table, [KAnonymity()]).equivalence_classes([1])
    queries = CountQueries(table, n=50)
    even = {"a": 1, "b": 0.5, "c": 0.5, "d": 1}
    answers = [sum(even[value] for value in wanted["q"]) for wanted in wanted_values(queries)]
    for classes in (whole, table.equivalence_classes(LocalGeneralization({"q": hierarchy}, nodes[:, None]))):
        assert queries.answers(classes).tolist() == answers


def test_bit_strings_are_answered_too():
    problem = BitStringProblem(make_census(300), [GeneralLossMetric()])
    queries = CountQueries(problem.table, n=200)
    everything, nothing = (np.full(problem.n_var, bit) for bit in (True, False))
    found = queries.summary({"all": problem.equivalence_classes(everything), 0: problem.equivalence_classes(nothing)})
    assert found.index.tolist() == ["all", 0]
    assert found.loc["all"].tolist() == [0, 0]
    assert found.loc[0, "90 %"] > found.loc[0, "median"] > 0


def test_queries_follow_the_seed_and_the_domains_alone():
    table, other = make_census(100), make_census(300, seed=5)
    asked = [wanted_values(CountQueries(own, n=300, seed=s)) for own, s in ((table, 1), (other, 1), (table, 2))]
    first, same, others = map(list, asked)
    assert first == same
    assert first != others
    assert {len(query) for query in first} == {1, 2, 3}
    assert {name for query in first for name in query} == set(table.quasi_identifiers)
    ages = [sorted(query["age"]) for query in first if "age" in query]
    assert all(b - a == 1 for own in ages for a, b in pairwise(own))
    sizes = {name: len(hierarchy.domain) for name, hierarchy in table.quasi_identifiers.items()}
    assert all(0 < len(own) < sizes[name] for query in first for name, own in query.items())
    # Values without an order are no ranges.
    domain = list(table.quasi_identifiers["education"].domain)
    places = [sorted(map(domain.index, query["education"])) for query in first if "education" in query]
    assert not all(own[-1] - own[0] == len(own) - 1 for own in places)


def test_the_summary_says_what_half_and_nine_in_ten_do_not_exceed():
    problem = LatticeProblem(make_census(400), [KAnonymity(), GeneralLossMetric()], 0.05)
    queries, classes = CountQueries(problem.table, n=250), problem.equivalence_classes([6, 3, 3, 0, 1, 0, 3, 0])
    assert classes.n_suppressed[0] == 18
    for suppressed in ("mark", "drop"):
        errors = np.sort(queries.errors(classes, suppressed))
        found = queries.summary({"one": classes}, suppressed)
        assert found.loc["one"].tolist() == [errors[124], errors[224]]
    assert queries.summary({}).shape == (0, 2)


def test_a_query_in_words():
    frame = pd.DataFrame({"age": [12, 31], "day": ["2021-03-05", "2021-03-06"], "city": list("ab"), "one": ["x", "x"]})
    days = [f"2021-03-0{i}" for i in range(1, 10)]
    table = Microdata.from_frame(
        frame,
        {
            "age": Hierarchy.intervals(0, 40, widths=[10], step=5),
            "day": Hierarchy.flat(days[::-1]),
            "city": Hierarchy.flat("abcdef"),
            "one": Hierarchy.flat("x"),
        },
    )
    queries = CountQueries(table, n=60)
    words = " | ".join(queries.words(i) for i in range(60))
    assert re.search(r"age 5–9 to 30–34", words)
    assert re.search(r"day 2021-03-0(\d) to 2021-03-0(\d)", words)
    assert all(a <= b for a, b in re.findall(r"day 2021-03-0(\d) to 2021-03-0(\d)", words))
    assert re.search(r"city one of [45] values such as [a-f]\b", words)
    assert re.search(r"city [a-f] and one x", words)
    # A missing value is no end of a range, and is told where rows have none.
    for missing, words in (("keep", " or nothing known"), ("drop", "")):
        frame = pd.DataFrame({"n": [1, 2, None]}, dtype=object)
        table = Microdata.from_frame(frame, {"n": Hierarchy.flat([1, 2, 3, None])}, missing=missing)
        queries = CountQueries(table, n=60)
        told = {queries.words(i) for i in range(60)}
        assert {"n 1", "n 1 to 3", f"n 3{words}", f"n 2 to 3{words}"} <= told
        assert not [one for one in told if "to nothing known" in one or (" or" in one and not words)]


def shares(cells):
    """Return the share of each combination, with rows spread over their cells."""
    found = Counter()
    for row in cells:
        for combination in product(*row):
            found[combination] += Fraction(1, int(np.prod([len(values) for values in row]))) / len(cells)
    return found


@given(releases())
def test_distances_and_means_are_those_of_the_rows(made):
    table, names = made.table, list(made.table.levels)
    found = total_variation(table.microdata, made.classes, made.suppressed)
    assert found.index.tolist() == found.columns.tolist() == names
    raw = [[[value] for value in row] for row in table.frame[names].itertuples(index=False)]
    for i, j in product(range(len(names)), repeat=2):
        chosen = [i] if i == j else [i, j]
        before, after = (shares([[row[place] for place in chosen] for row in rows]) for rows in (raw, made.rows))
        apart = sum(abs(before[key] - after[key]) for key in {*before, *after}) / 2 if made.rows else 1
        assert found.iloc[i, j] == pytest.approx(float(apart))
    # The columns at even places are numbers.
    averages = means(table.microdata, made.classes, made.suppressed)
    assert averages.index.tolist() == names[::2]
    for j in range(0, len(names), 2):
        middles = [(min(row[j]) + max(row[j])) / 2 for row in made.rows] or [np.nan]
        one = averages.loc[names[j]]
        assert one["before"] == pytest.approx(table.frame[names[j]].mean())
        assert one["after"] == pytest.approx(np.mean(middles), nan_ok=True)


@given(releases(untouched=True), SEEDS)
def test_the_untouched_table_is_as_it_was(made, seed):
    queries = CountQueries(made.table.microdata, n=20, seed=seed)
    assert (queries.errors(made.classes, made.suppressed) == 0).all()
    assert (total_variation(made.table.microdata, made.classes, made.suppressed) == 0).all(axis=None)
    averages = means(made.table.microdata, made.classes, made.suppressed)
    assert (averages["before"] == averages["after"]).all()


def test_large_tables_of_two_columns_are_made_in_parts(monkeypatch):
    problem = LatticeProblem(make_census(300), [KAnonymity()])
    classes = problem.equivalence_classes([2, 1, 1, 1, 1, 0, 1, 1])
    whole = total_variation(problem.table, classes)
    for cells in (1, 50, 200):
        monkeypatch.setattr(utility, "_CELLS_AT_ONCE", cells)
        pd.testing.assert_frame_equal(total_variation(problem.table, classes), whole)


def test_what_has_numbers():
    """Count bins and groups as midpoints, and give text no mean.

    Days, postal codes and words have no mean, and neither have missing values.
    """
    frame = pd.DataFrame(
        {
            "year": [1, 17, None],
            "bin": [0.2, 0.9, 0.9],
            "text": ["3", "10", "10"],
            "day": ["2021-03-05"] * 3,
            "zip": ["02139", "10001", "10001"],
        }
    )
    numbers = {
        "year": Hierarchy.intervals(0, 20, widths=[10], step=5, closed="right"),
        "bin": Hierarchy.intervals(0.0, 1.0, widths=[], step=0.5),
        "text": Hierarchy([["3", "4", "10"], ["a", "a", "b"], ["*"] * 3]),
        "day": Hierarchy.flat(["2021-03-05", "2021-03-06"]),
        "zip": Hierarchy.flat(["02139", "10001"]),
    }
    table = Microdata.from_frame(frame, numbers, missing="keep")
    problem = LatticeProblem(table, [KAnonymity()])
    found = means(table, problem.equivalence_classes([1, 0, 1, 0, 0]))
    assert found.index.tolist() == ["year", "bin", "text"]
    # Years are 1 to 5 and 16 to 20 before, and 1 to 10 and 11 to 20 after. The row without a year does not count.
    assert found.loc["year"].tolist() == [(3 + 18) / 2, (5.5 + 15.5) / 2]
    assert found.loc["bin"].tolist() == pytest.approx([(0.25 + 0.75 + 0.75) / 3] * 2)
    assert found.loc["text"].tolist() == pytest.approx([(3 + 10 + 10) / 3, (3.5 + 10 + 10) / 3])
    assert utility.domain_numbers(table.quasi_identifiers["day"]).tolist() == [737854, 737855]
    assert utility.domain_numbers(Hierarchy.flat([None])) is None
    assert utility.domain_numbers(Hierarchy.flat(["169,0", "1.070,5", None]))[:2].tolist() == [169, 1070.5]
    # As a draft reads it, the point groups thousands.
    assert utility.domain_numbers(Hierarchy.flat(["950", "1.204"])).tolist() == [950, 1204]
    assert utility.domain_numbers(Hierarchy.flat(["7,5", "k.A."])) is None
    assert utility.domain_numbers(Hierarchy.flat(["7,5", "02,5"])) is None
    none = Generalization({"q": [0, 0]}, {"q": ["*"]})
    words = one_class_each([[1], [2]])
    assert means(words, words.equivalence_classes(none)).index.tolist() == ["q"]


def test_where_no_row_is_released_all_is_lost():
    table = one_class_each([[1, 1], [2]])
    classes = table.equivalence_classes(LocalGeneralization(table.quasi_identifiers, [[0], [0]], suppressed=True))
    assert total_variation(table, classes, "drop").to_numpy().tolist() == [[1.0]]
    assert means(table, classes, "drop")["after"].isna().all()
    assert means(table, classes, "mark")["after"].tolist() == [0.5]


class Recorder:
    """A learner that records its data and always predicts the first value."""

    def __init__(self):
        self.trained, self.values, self.tested = [], [], []

    def fit(self, X, values):
        self.trained.append(X)
        self.values.append(values)
        return self

    def predict(self, X):
        self.tested.append(X)
        return np.zeros(len(X), dtype=np.int64)


@pytest.fixture
def recorder(monkeypatch):
    found = Recorder()
    monkeypatch.setattr(utility, "_learners", lambda nominal, seed: {"recorder": found})
    return found


def check_features(X, cells):
    """Check that numbers are midpoints and equal codes are equal value sets."""
    for j, column in enumerate(X.T):
        if j % 2 == 0:
            np.testing.assert_allclose(column, [(min(row[j]) + max(row[j])) / 2 for row in cells])
        else:
            pairs = {(code, frozenset(row[j])) for code, row in zip(column, cells, strict=True)}
            assert len(pairs) == len({code for code, _ in pairs}) == len({values for _, values in pairs})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(made=releases(), seed=st.integers(0, 99))
def test_what_learners_see_is_the_release_and_recoded_originals(recorder, made, seed):
    table, names = made.table, list(made.table.levels)
    recorder.__init__()
    found = classification(table.microdata, {"it": made.classes}, "s0", made.suppressed, seed)
    tuples, values = utility._shuffled(table.microdata, "s0", seed)
    domain = table.microdata.domain_of("s0")
    rows = zip(table.tuple_of_row.tolist(), table.frame["s0"], strict=True)
    assert sorted(zip(tuples.tolist(), (domain[own] for own in values), strict=True)) == sorted(rows)
    # Equal tuples have equal cells, so that any row of a tuple stands for it.
    row_of = {own: place for place, own in enumerate(table.tuple_of_row.tolist())}
    test, train = np.split([row_of[own] for own in tuples.tolist()], [max(len(values) // 3, 1)])
    raw = [[[value] for value in row] for row in table.frame[names].itertuples(index=False)]
    released = dict(zip(made.places, made.rows, strict=True))
    left = np.array([place in released for place in train], dtype=bool)
    expected = []
    for kept, before, after in ((np.ones_like(left), dict(enumerate(raw)), raw), (left, released, made.cells)):
        own = values[len(test) :][kept]
        # A constant target needs no learner.
        if len(set(own.tolist())) > 1:
            expected.append((own, [before[place] for place in train[kept]], [after[place] for place in test]))
    assert len(expected) == len(recorder.trained)
    for (own, before, after), X, y, tested in zip(
        expected, recorder.trained, recorder.values, recorder.tested, strict=True
    ):
        assert y.tolist() == own.tolist()
        check_features(np.concatenate([X, tested]), before + after)
    if len(expected) == 2:
        rightly = (values[: len(test)] == 0).mean()
        assert found.loc[("it", "recorder"), ["release", "original"]].tolist() == [rightly, rightly]


def test_marked_rows_are_stars_and_every_star_is_one_category(recorder):
    """Check that all cities, one group, share the category of marked rows."""
    frame = pd.DataFrame({"age": [1, 1, 3, 5, 5] * 3, "city": list("ababb") * 3, "s": [0, 1, 1, 0, 1] * 3})
    hierarchies = {"age": Hierarchy.intervals(0, 10, widths=[]), "city": Hierarchy.flat("ab")}
    problem = LatticeProblem(Microdata.from_frame(frame, hierarchies, sensitive="s"), [KAnonymity()], Below(4))
    classification(problem.table, {"it": problem.equivalence_classes([0, 1])}, "s")
    (_, trained), (_, tested) = recorder.trained, recorder.tested
    assert {tuple(row) for row in trained.tolist()} == {(1, -1), (4.5, -1), (5, -1)}
    assert {tuple(row) for row in tested.tolist()} <= {(1, -1), (3, -1), (5, -1)}
    assert (3, -1) in {tuple(row) for row in tested.tolist()}


def learned(table, target, **releases):
    """Classify releases by levels or by classes."""
    problem = LatticeProblem(table, [KAnonymity()])
    classes = {name: problem.equivalence_classes(x) if isinstance(x, list) else x for name, x in releases.items()}
    return classification(table, classes, target)


def test_the_untouched_table_teaches_what_the_original_does_and_stars_teach_the_majority():
    (rows,) = census_rows(600)
    hierarchies = {name: load_hierarchy(name) for name in ("age", "education", "marital-status", "sex")}
    table = Microdata.from_frame(rows, hierarchies, label="salary-class")
    nodes = {"raw": [0] * 4, "stars": [6, 3, 3, 1]}
    found = learned(table, "salary-class", **nodes)
    assert found.index.get_level_values("learner").tolist() == ["boosted trees", "logistic regression"] * 2
    raw, stars = found.loc["raw"], found.loc["stars"]
    assert (raw["release"] == raw["original"]).all()
    assert (stars["release"] == stars["majority"]).all()
    assert (raw["original"] != raw["majority"]).all()
    pd.testing.assert_frame_equal(found, learned(table, "salary-class", **nodes))


def table_of(values, hierarchy, **columns):
    frame = pd.DataFrame({"q": values, **columns})
    return Microdata.from_frame(frame, {"q": hierarchy}, sensitive=list(columns), missing="keep")


def test_what_a_release_keeps_is_learned_and_what_it_merges_is_not():
    """Learn halves of the domain, but not parity, mixed by groups."""
    rng = np.random.default_rng(1)
    numbers = rng.integers(0, 40, 600)
    own = {"half": numbers >= 20, "odd": numbers % 2 == 1}
    words = [f"v{number:02}" for number in range(40)]
    pairs = [f"p{number // 2:02}" for number in range(40)]
    for values, hierarchy in (
        (numbers, Hierarchy.intervals(0, 40, widths=[2])),
        ([words[number] for number in numbers], Hierarchy([words, pairs, ["*"] * 40])),
    ):
        table = table_of(values, hierarchy, **own)
        half, odd = (learned(table, target, pairs=[1]).loc["pairs"] for target in ("half", "odd"))
        assert (half[["release", "original"]] == 1).all(axis=None)
        assert (odd["release"] < 0.62).all()
        assert odd.loc["boosted trees", "original"] > 0.9
        local = LocalRecodingProblem(table, [KAnonymity()])
        cells = learned(table, "half", local=local.equivalence_classes(local.x_of(20)))
        assert (cells["release"] == 1).all()


def test_many_categories_gaps_and_many_rows(monkeypatch):
    values = [f"v{number}" for number in range(300)] * 2
    found = learned(table_of(values, Hierarchy.flat(values[:300]), s=[0, 1, 1] * 200), "s", raw=[0])
    assert found["release"].between(0, 1).all()
    gaps = table_of([1, None, 3, None] * 25, Hierarchy.intervals(0, 5, widths=[]), s=[0, 1, 0, 1] * 25)
    assert learned(gaps, "s", raw=[0]).loc[("raw", "boosted trees"), "release"] == 1
    monkeypatch.setattr(utility, "_ROWS", 30)
    tuples, drawn = utility._shuffled(gaps, "s", 1)
    assert len(tuples) == len(drawn) == 30
    missing = [value is None for value in gaps.quasi_identifiers["q"].domain]
    assert [missing[gaps.tuples.codes[own, 0]] for own in tuples] == (drawn == 1).tolist()


def test_where_nothing_is_left_to_train_on_there_is_no_number():
    hierarchy = Hierarchy.flat("ab")
    table = table_of(list("abab"), hierarchy, s=[0, 1, 0, 1])
    classes = table.equivalence_classes(LocalGeneralization({"q": hierarchy}, [[0], [0]], suppressed=True))
    dropped, marked = (classification(table, {0: classes}, "s", how)["release"] for how in ("drop", "mark"))
    assert dropped.isna().all()
    assert classification(table, {}, "s").shape == (0, 3)
    assert marked.between(0, 1).all()


def test_without_scikit_learn_it_says_what_to_install(monkeypatch):
    table = table_of(list("abab"), Hierarchy.flat("ab"), s=[0, 1, 0, 1])
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    with pytest.raises(ImportError, match=r'^classification needs scikit-learn: pip install "pymoo_anon\[utility\]"'):
        classification(table, {}, "s")
