"""Recounts of released tables: any table, ours or not, from rows alone, up to tight bounds."""

import tracemalloc
from decimal import Decimal
from fractions import Fraction
from itertools import permutations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pymoo_anon.objectives import (
    AlphaDeassociation,
    AverageClassSize,
    DistinctLDiversity,
    EnhancedBetaLikeness,
    EntropyLDiversity,
    GeneralLossMetric,
    KAnonymity,
    KLDivergence,
    KMap,
    MarketerRisk,
    NonUniformEntropy,
    RecursiveCLDiversity,
    SquaredClassSizes,
    SquaredValueCounts,
    TCloseness,
)
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.publishing import release, verify
from pymoo_anon.publishing.verify import kept
from pymoo_anon.table import Generalization, Hierarchy, Microdata

RELEASED = pd.DataFrame(
    {
        "age": ["20–29"] * 3 + ["30–39"] * 4 + ["*"] * 2,
        "sex": ["F"] * 3 + ["*"] * 4 + ["*"] * 2,
        "diagnosis": ["flu", "flu", "cold", "flu", "cold", "asthma", "asthma", "flu", "flu"],
    }
)
QUASI = ["age", "sex"]
L = DistinctLDiversity("diagnosis")
L_OF_S = DistinctLDiversity("s")


def values(*measures, frame=RELEASED, **kwargs):
    return verify(frame, QUASI, measures, **kwargs).recounted.tolist()


def test_numbers_are_what_a_person_counts():
    # The rows of * are the smallest class, and have one diagnosis.
    assert values(KAnonymity(), L, AlphaDeassociation("diagnosis")) == [2, 1, 1.0]
    assert values(KAnonymity(), L, AlphaDeassociation("diagnosis"), frame=RELEASED[:7]) == [3, 2, 2 / 3]
    assert values(EntropyLDiversity("diagnosis"), RecursiveCLDiversity("diagnosis", 3), frame=RELEASED[:7]) == [
        pytest.approx(3 / 2 ** (2 / 3)),
        2,
    ]
    # Shares of flu, cold, asthma: 3/7, 2/7, 2/7 in the table; 2/3, 1/3, 0 in the first class.
    assert values(TCloseness("diagnosis"), frame=RELEASED[:7]) == [pytest.approx(2 / 7)]
    assert values(TCloseness("diagnosis"), frame=RELEASED[:7], original=RELEASED[:7]) == [pytest.approx(2 / 7)]


def test_the_original_is_what_classes_are_compared_with():
    original = RELEASED.assign(age=range(9), sex="F")
    p, q = np.array([2, 1, 0]) / 3, np.array([5, 2, 2]) / 9
    second = np.abs(np.array([1, 1, 2]) / 4 - q).sum() / 2
    expected = max(np.abs(p - q).sum() / 2, second)
    assert values(TCloseness("diagnosis"), frame=RELEASED[:7], original=original) == [pytest.approx(expected)]
    # Asthma gains 1/2 over 2/9, less than -ln(2/9). In the class of * flu gains 1 over 5/9, more than -ln(5/9).
    assert values(EnhancedBetaLikeness("diagnosis"), frame=RELEASED[:7], original=original) == [pytest.approx(1.25)]
    assert values(EnhancedBetaLikeness("diagnosis")) == [np.inf]


def test_constraints_are_held_against_their_bounds():
    found = verify(RELEASED, QUASI, [KAnonymity() >= 2, L >= 2, TCloseness("diagnosis") <= 0.5, KAnonymity()])
    assert found.required.tolist() == [">= 2", ">= 2", "<= 0.5", ""]
    assert found.holds.tolist() == [True, False, True, None]
    assert found.measure.tolist() == ["k", "l of diagnosis", "t of diagnosis", "k"]
    assert [type(value) for value in found.recounted] == [int, int, float, int]


def test_what_is_missing_is_a_value():
    frame = RELEASED.assign(age=[None] * 3 + [np.nan] * 4 + ["*"] * 2, diagnosis=[None, np.nan, "x"] * 3)
    assert verify(frame, "age", [KAnonymity(), L]).recounted.tolist() == [2, 2]
    assert verify(pl.from_pandas(frame), ["age"], [KAnonymity(), L]).recounted.tolist() == [2, 2]
    numbers = pl.DataFrame({"age": [1.0, float("nan"), None, 1.0]})
    assert verify(numbers, ["age"], [KAnonymity()]).recounted.tolist() == [2]


def test_a_table_of_stars_is_one_class_unless_it_is_said_to_be_suppressed():
    stars = pd.DataFrame({"q": ["*", "*"]})
    root = Generalization({"q": [0, 0, 0]}, {"q": ["*"]})
    assert verify(stars, ["q"], [GeneralLossMetric()], generalization=root).recounted.tolist() == [2.0]
    one_value = Generalization({"q": [0]}, {"q": ["*"]})
    assert verify(stars, ["q"], [GeneralLossMetric()], generalization=one_value).recounted.tolist() == [0.0]
    apart = Generalization({"q": [0, 1, 1]}, {"q": ["a", "b"]})
    assert verify(stars, ["q"], [GeneralLossMetric()], generalization=apart).recounted.tolist() == [2.0]


LETTERS = Hierarchy([list("abcd"), ["ab", "ab", "cd", "cd"], ["*"] * 4])
ABOVE = {letter: {letter, "ab" if letter in "ab" else "cd", "*"} for letter in "abcd"}


def laid_over(released, original, measures=(), **kwargs):
    """Match released rows to original rows, or return the error."""
    frames = [pd.DataFrame(rows, columns=["p", "q", "s"]) for rows in (released, original)]
    hierarchies = {"p": LETTERS, "q": LETTERS}
    try:
        verify(frames[0], ["p", "q"], [KAnonymity(), *measures], original=frames[1], hierarchies=hierarchies)
    except ValueError as error:
        return str(error)
    return True


cells = st.sampled_from("abcd")
coarser = st.sampled_from(["a", "b", "c", "d", "ab", "cd", "*"])
secrets = st.sampled_from("xy")


@given(
    st.lists(st.tuples(coarser, coarser, secrets), min_size=1, max_size=5),
    st.lists(st.tuples(cells, cells, secrets), min_size=1, max_size=5),
    st.booleans(),
)
def test_rows_are_laid_over_the_original_if_any_order_does_it(released, original, secret):
    fits = any(
        all(
            p in ABOVE[a] and q in ABOVE[b] and (s == t or not secret)
            for (p, q, s), (a, b, t) in zip(released, order, strict=True)
        )
        for order in permutations(original, len(released))
    )
    found = laid_over(released, original, [L_OF_S] if secret else [])
    assert (found is True) == fits


def test_a_row_without_an_original_is_named():
    # Both rows could be of a, and the second of nobody else.
    assert laid_over([("ab", "a", "x"), ("a", "a", "x")], [("a", "a", "x"), ("b", "a", "x")]) is True
    found = laid_over([("ab", "a", "x"), ("ab", "a", "x"), ("*", "b", "x")], [("a", "a", "x"), ("c", "a", "x")])
    words = "frame must have a row of the original behind each of its rows, one that its labels stand for, got 2 "
    assert found.startswith(words + "without one, such as p = ")
    assert "such as p = '*', q = '*', s = 'z'" in laid_over([("*", "*", "z")], [("a", "b", "x")], [L_OF_S])
    assert laid_over([("e", "a", "x")], [("a", "a", "x")]) == "must hold labels of its hierarchy, got 'e'"
    moment, later = pd.Timestamp(2020, 1, 1), pd.Timestamp(2020, 1, 2)
    assert laid_over([("ab", "a", moment)], [("b", "a", moment), ("a", "a", None)], [L_OF_S]) is True
    assert "got 1 without" in laid_over([("ab", "a", later)], [("b", "a", moment)], [L_OF_S])
    # Rows of stars are of anybody, and rows that miss a value are in no release.
    assert laid_over([("*", "*", "x")] * 2, [("a", "b", "x"), ("c", "d", "x"), (None, "d", "x")]) is True
    assert "got 1 without" in laid_over([("*", "*", "x")] * 3, [("a", "b", "x"), ("c", "d", "x"), (None, "d", "x")])


def test_rows_are_laid_over_as_a_generalization_reads_labels():
    original = pd.DataFrame({"q": list("aabb"), "who": [1, 2, 3, 4]})
    released = pd.DataFrame({"q": ["one"] * 2 + ["two"] * 2, "who": [1, 2, 3, 4]})
    made = Generalization({"q": [0, 1, 1, 1]}, {"q": ["one", "two"]})
    given = {"original": original, "hierarchies": {"q": LETTERS}, "generalization": made}
    assert verify(released, ["q"], [KAnonymity(person="who")], **given).recounted.tolist() == [2]
    with pytest.raises(ValueError, match="got 1 without one, such as q = 'one'"):
        verify(released.assign(q=["one"] * 3 + ["two"]), ["q"], [KAnonymity()], **given)
    # A column that the original lacks cannot be held against it.
    given["original"] = original[["q"]]
    assert verify(released, ["q"], [KAnonymity(person="who")], **given).recounted.tolist() == [2]


def counted(frame, *measures, **given):
    return verify(frame, ["q"], measures, **given).recounted.tolist()


@pytest.mark.parametrize(
    ("value", "bound", "higher", "holds"),
    [
        (5, 5, True, True),
        (4, 5, True, False),
        # Floats are compared up to their last digits, exact numbers fully.
        (0.3, 0.1 + 0.2, False, True),
        (0.1 + 0.2, 0.3, False, True),
        (Fraction(3, 10), 0.1 + 0.2, True, False),
        (Fraction(1, 39_999), 1 / 40_000, False, False),
        (Fraction(1, 40_000), 1 / 40_000, False, True),
        (Decimal(2).ln() / Decimal(2).ln(), 1, True, True),
        (0.995, 1.0, True, False),
        (1.005, 1.0, False, False),
        # Nothing is a share of 0.
        (1e-17, 0.0, False, False),
        (1e-3, 0.0, False, False),
        (1e9 - 0.5, 1e9, True, False),
        (np.inf, np.inf, True, True),
        (np.inf, np.inf, False, True),
        (1.0, np.inf, True, False),
        (np.inf, 1.0, False, False),
    ],
)
def test_a_bound_is_kept_but_for_rounding(value, bound, higher, holds):
    assert kept(value, bound, higher) is holds


def test_values_in_one_bin_and_missing_values_are_counted_as_in_the_search():
    frame = pd.DataFrame({"q": [1.0, 1.5, 1.5, 2, 2.5, 3], "s": pd.array([1, None, 2, 2, None, None], "Int64")})
    ways, order = {"q": Hierarchy.intervals(0, 4.0, widths=[2], step=1)}, [2, None, 1]
    table = Microdata.from_frame(frame, ways, "s", missing="keep")
    distances = "equal", order, Hierarchy([order, [1, 2, 2], ["*"] * 3])
    measures = [*(TCloseness("s", one) for one in distances), SquaredValueCounts("s"), KLDivergence()]
    problem = LatticeProblem(table, [*measures, NonUniformEntropy(), EntropyLDiversity("q")], suppression=1)
    for x in problem.nodes(0, 3):
        claims = release(frame, problem, x, suppressed="drop", anyway="it is only a test").claims
        assert claims.recounted[:6].tolist() == pytest.approx(claims.promised[:6].tolist(), rel=1e-12)
        # What reads a quasi-identifier is promised alone.
        assert claims.recounted[6] is None


@pytest.mark.parametrize("distance", ["equal", "ordered", Hierarchy.intervals(0, 700, widths=[10, 100])])
def test_thousands_of_classes_and_values_are_not_laid_out_at_once(distance, monkeypatch):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"q": rng.integers(0, 150, 1500).astype(str), "s": rng.integers(0, 700, 1500)})
    measure = TCloseness("s", distance)
    at_once = counted(frame, measure)
    monkeypatch.setattr("pymoo_anon.objectives.privacy.closeness._MOST_COUNTS", 1 << 14)
    tracemalloc.start()
    assert counted(frame, measure) == at_once
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # 105,000 counts take .8 MB, and would stand there five times.
    assert peak < 3.5e6


def test_suppressed_rows_are_one_class_marked_or_dropped():
    original = pd.DataFrame({"q": [1, 1, 2, 2, 2, 3, 4], "s": [*"abcabca"]})
    marked = original.assign(q=["1", "1", "2", "2", "2", "*", "*"])
    for released in (marked, marked[:5]):
        found = counted(released, MarketerRisk(), AverageClassSize(), SquaredClassSizes(), original=original)
        assert found == [3 / 7, 7 / 3, 4 + 9 + 4]


def test_in_a_release_of_stars_alone_all_of_the_population_is_meant():
    domain = {"q": Hierarchy.flat(["1", "2"])}
    population = Microdata.from_frame(pd.DataFrame({"q": ["1", "2", "2"]}), domain)
    known = Generalization({"q": [0, 1]}, {"q": ["1", "2"]})
    assert counted(pd.DataFrame({"q": ["*", "*"]}), KMap(population), generalization=known) == [3]
    assert counted(pd.DataFrame({"q": ["1", "2"]}), KMap(population), generalization=known) == [1]
    nobody = Microdata.from_frame(pd.DataFrame({"q": ["2", "2"]}), domain)
    assert counted(pd.DataFrame({"q": ["1", "2"]}), KMap(nobody), generalization=known) == [0]
