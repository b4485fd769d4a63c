"""Classifiers trained on a release, against rows recoded one by one."""

import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from releases import releases

from pymoo_anon.comparison import classification, utility
from pymoo_anon.datasets import census_rows, load_hierarchy
from pymoo_anon.objectives import KAnonymity
from pymoo_anon.problems import LatticeProblem, LocalRecodingProblem
from pymoo_anon.table import Below, Hierarchy, LocalGeneralization, Microdata

pytest.importorskip("sklearn")


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
