"""Comparators of two vectors: slow twins and properties of any vectors."""

import math
import re
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from vectors import (
    POSITIVE,
    REAL,
    SIZES,
    WHOLE,
    BetterOff,
    coverage,
    distance,
    groups,
    measured,
    minimum,
    spread,
    strongly_dominates,
    table_of,
    weakly_dominates,
)

from benchmarks.papers import dewri2009_tables as paper
from pymoo_anon.comparison import (
    Comparator,
    Coverage,
    Dominance,
    Goal,
    Hypervolume,
    Lexicographic,
    Minimum,
    PropertyVector,
    Rank,
    Spread,
    TupleLoss,
    Weighted,
)

INDICES = [Minimum(), Rank(point=100), Coverage(), Spread(), Hypervolume()]
EVERY = [Dominance(), *INDICES]


# Any vectors, against the definitions.

weighted = groups(of=st.one_of(WHOLE, REAL), maximize=None)


@given(weighted)
def test_dominance_is_that_of_the_definition(group):
    d1, d2 = group.vectors
    a, b = group.plain
    weak, strong = weakly_dominates(a, b), strongly_dominates(a, b)
    none = not weak and not weakly_dominates(b, a)
    assert Dominance().index(d1, d2) == weak
    expected = "incomparable" if none else "better" if strong else "worse" if strongly_dominates(b, a) else "equal"
    assert Dominance().compare(d1, d2) == expected


@given(weighted)
def test_indices_are_those_of_the_definitions(group):
    d1, d2 = group.vectors
    a, b = group.plain
    point = 100 if d1.maximize else -100
    assert Minimum().index(d1, d2) == minimum(a, b)
    assert Rank(abs(point) * (1 if d1.maximize else -1)).index(d1) == pytest.approx(distance(a, 100), rel=1e-13)
    assert BetterOff().index(d1, d2) == sum(x > y for x, y in zip(a, b, strict=True))
    assert Coverage().index(d1, d2) == pytest.approx(float(coverage(a, b)), rel=1e-15)
    assert Spread().index(d1, d2) == pytest.approx(float(spread(a, b)), rel=1e-12, abs=1e-12)


# Properties of every comparator.


@given(groups(of=st.one_of(POSITIVE, REAL.filter(bool))))
def test_who_strongly_dominates_is_better(group):
    d1, d2 = group.vectors
    higher = PropertyVector(np.maximum(d1.values, d2.values), d1.tuples, "drawn", True)
    assume((higher.values > d2.values).any())
    for comparator in (Dominance(), Coverage(), Spread(), Hypervolume(), BetterOff()):
        assert comparator.compare(higher, d2) == "better"
        assert comparator.compare(d2, higher) == "worse"
    assert Coverage().index(higher, d2) == 1
    assert Spread().index(d2, higher) == 0
    assert Hypervolume().index(d2, higher) == -math.inf
    # The least value need not be one of those that differ.
    assert Minimum().compare(higher, d2) in ("better", "equal")


@given(groups(of=WHOLE))
def test_who_strongly_dominates_is_nearer_to_an_ideal_above(group):
    d1, d2 = group.vectors
    higher = PropertyVector(np.maximum(d1.values, d2.values), d1.tuples, "drawn", True)
    assume((higher.values > d2.values).any())
    assert Rank(point=9).compare(higher, d2) == "better"
    assert Rank(point=9, tolerance=1000).compare(higher, d2) == "equal"


@pytest.mark.parametrize("comparator", EVERY, ids=repr)
@given(data=st.data(), group=groups(of=st.one_of(WHOLE, REAL), n=3))
def test_counts_stand_for_repeated_rows_in_any_order(comparator, data, group):
    rows = group.plain
    order = data.draw(st.permutations(range(len(rows[0]))))
    shuffled = [one[order] for one in rows]
    expected = comparator.tournament(group.vectors)
    for played in (comparator.tournament(rows), comparator.tournament(shuffled)):
        np.testing.assert_allclose(played.indices, expected.indices, rtol=4e-16)
        np.testing.assert_array_equal(played.outcomes, expected.outcomes)


def test_sums_over_counts_have_the_last_bit_of_those_over_rows():
    generator = np.random.default_rng(0)
    for _ in range(50):
        table = table_of(generator.integers(1, 500, 20))
        d1, d2 = (PropertyVector(values, table, "x", True) for values in generator.random((2, 20)))
        for comparator in (Rank(1), Spread(), Hypervolume()):
            rows = [generator.permutation(np.column_stack([d1.expand(), d2.expand()])) for _ in range(2)]
            assert {comparator.index(*pair.T) for pair in rows} == {comparator.index(d1, d2)}
        assert d1.mean() == math.fsum(d1.expand()) / d1.n_rows


def test_rows_cost_nothing():
    n = 10**9
    table = table_of([n, 3])
    d1, d2 = (PropertyVector(values, table, "x", True) for values in ([2, 5], [1, 7]))
    assert Coverage().index(d1, d2) == n / (n + 3)
    assert (Spread().index(d1, d2), Spread().index(d2, d1)) == (n, 6)
    assert Rank(0).index(d1) == math.sqrt(4 * n + 75)
    assert Hypervolume().index(d1, d2) == pytest.approx(n * math.log(2) + 3 * math.log(5))
    assert d1.mean() == (2 * n + 15) / (n + 3)


@pytest.mark.parametrize("comparator", EVERY, ids=repr)
@given(groups(of=st.one_of(WHOLE, REAL), n=4))
def test_a_tournament_is_all_of_its_pairs(comparator, group):
    vectors = group.vectors
    for one in vectors:
        one.values.flags.writeable = False
    played = comparator.tournament(vectors)
    assert played.indices.shape == played.verdicts.shape == (4, 4)
    opposite = {"better": "worse", "worse": "better", "equal": "equal", "incomparable": "incomparable"}
    for i, a in enumerate(vectors):
        for j, b in enumerate(vectors):
            assert played.indices[i, j] == comparator.index(a, b)
            assert played.verdicts[i, j] == comparator.compare(a, b)
            assert played.verdicts[j, i] == opposite[played.verdicts[i, j]]
        assert played.verdicts[i, i] == "equal"


@pytest.mark.parametrize("comparator", [Dominance(), Minimum(), Rank(0), Coverage(), Spread(), BetterOff()], ids=repr)
@given(groups(maximize=False))
def test_what_is_better_when_lower_is_compared_as_its_negative(comparator, group):
    negative = [PropertyVector(-one.values, one.tuples, "drawn", True) for one in group.vectors]
    assert comparator.index(*group.vectors) == comparator.index(*negative)
    assert comparator.compare(*group.vectors) == comparator.compare(*negative)


def test_the_comparator_of_the_page_for_contributors_runs():
    page = (Path(__file__).parents[2] / ".github" / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"\n## A comparator\n.*?```python\n(.*?)```", page, re.DOTALL)
    made = {}
    exec(textwrap.dedent(text), made)
    typical = made["Typical"]()
    assert typical.index(SIZES["T3b"], SIZES["T3a"]) == 7
    assert typical.compare(SIZES["T3b"], SIZES["T3a"]) == "better"
    assert typical.compare([3, 3, 4], [2, 7, 7]) == "worse"


# Points of interest.


def test_rank_of_the_ideal_and_of_other_points():
    raw = measured(TupleLoss(), "T3a")
    assert Rank().index(raw) == pytest.approx(distance(raw.expand(), 0))
    assert Rank().index(SIZES["T3a"]) == math.sqrt(6 * 7**2 + 4 * 6**2)
    assert Rank(SIZES["T4"]).index(SIZES["T3a"]) == math.sqrt(3 * 1 + 1 * 1 + 2 * 9 + 4 * 4)
    assert Rank([5, 4]).index([2, 0]) == 5
    assert Rank(np.float64(3)).index([3, 3]) == 0
    assert Rank(1, tolerance=1).compare([3, 1], [4, 1]) == "equal"
    assert Rank(1, tolerance=0.9).compare([3, 1], [4, 1]) == "better"


@given(weighted)
def test_who_gains_are_those_whom_the_other_does_not_cover(group):
    d1, d2 = group.vectors
    assert BetterOff().index(d1, d2) == round(d1.n_rows * (1 - Coverage().index(d2, d1)))
    assert BetterOff().compare(d1, d2) == Coverage().compare(d1, d2)


@given(groups(of=st.one_of(POSITIVE, WHOLE)))
def test_what_the_paper_says_of_its_indices_and_dominance(group):
    """Check dominance as coverage, spread and volume (sections 5.2 to 5.4)."""
    d1, d2 = group.vectors
    a, b = group.plain
    if Coverage().index(d1, d2) == 1 and Coverage().index(d2, d1) == 0:
        assert strongly_dominates(a, b)
    assert (Spread().index(d1, d2) == 0) == weakly_dominates(b, a)
    if all(a) and all(b):
        assert (Hypervolume().index(d1, d2) == -math.inf) == weakly_dominates(b, a)


def test_no_comparator_is_deep_or_of_two_kinds():
    """Allow a concrete comparator at most two base classes, in one line."""
    for one in (*EVERY, Weighted([1], Coverage()), Lexicographic([0], Coverage()), Goal([1], Coverage())):
        above = type(one).__mro__[1:-1]
        assert Comparator in above
        assert len(above) <= 2
        assert all(len(kind.__bases__) == 1 for kind in type(one).__mro__[:-1])


# Refusals.


OTHER = PropertyVector([1, 2], table_of([2, 1]), "class size", True)
LOSS = measured(TupleLoss(), "T3a")


@pytest.mark.parametrize("comparator", [*EVERY, BetterOff()], ids=repr)
@pytest.mark.parametrize(
    ("d1", "d2", "message"),
    [
        ([1, 2, 3], [1, 2], "d2 must be as long as d1, which has 3 values, got 2"),
        ([1, np.nan], [1, 2], "d1 must be finite and at most 1e+150, got nan"),
        ([1, 2], [np.inf, 2], "d2 must be finite and at most 1e+150, got inf"),
        ([], [], "d1 must be a vector of at least one number, got shape (0,)"),
        ([1, "x"], [1, 2], "d1 must be a vector of numbers, got [1, 'x']"),
        (OTHER, SIZES["T4"], "d1 and d2 must be of one table, got vectors of two Microdata objects"),
        (
            SIZES["T4"],
            LOSS,
            "d1 and d2 must be of one property, got PropertyVector('class size' of 10 tuples, higher is better) and "
            "PropertyVector('loss' of 10 tuples, lower is better)",
        ),
        (
            SIZES["T4"],
            np.ones(10),
            "d1 and d2 must both be a PropertyVector or both plain arrays, got PropertyVector('class size' of 10 "
            "tuples, higher is better) and an array of shape (10,); PropertyVector.expand() makes an array of all "
            "tuples",
        ),
    ],
)
def test_what_cannot_be_compared(comparator, d1, d2, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        comparator.compare(d1, d2)
    if not isinstance(comparator, BetterOff):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            comparator.index(d1, d2)


def test_units_must_agree():
    frame = pd.DataFrame({"q": [0, 0, 1], "s": ["a", "b", "a"]})
    table = paper.Microdata.from_frame(frame, {"q": paper.Hierarchy.flat([0, 1])}, "s")
    by_value = PropertyVector([1, 2, 3], table.tuples, "x", True, unit="s")
    by_tuple = PropertyVector([1, 2], table.tuples, "x", True)
    with pytest.raises(ValueError, match=r"^d1 and d2 must be of one property, got"):
        Coverage().compare(by_value, by_tuple)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Rank(tolerance=-1), "tolerance must be a finite number of at least 0, got -1"),
        (lambda: Rank(tolerance=np.nan), "tolerance must be a finite number of at least 0, got nan"),
        (lambda: Rank(np.inf).index([1]), "point must be finite, got inf"),
        (
            lambda: Rank().index([1]),
            "point must be given where the property has no ideal value: plain arrays have none",
        ),
        (
            lambda: Rank().index(OTHER),
            "point must be given where the property has no ideal value: 'class size' has none",
        ),
        (lambda: Rank([1, 2]).index([1]), "d2 must be as long as d1, which has 1 values, got 2"),
        (lambda: Coverage().tournament([]), "vectors must hold at least one vector, got none"),
    ],
)
def test_wrong_questions(make, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        make()


def test_what_is_no_comparator_says_so():
    class Empty(Comparator):
        name = "nothing"

    class Broken(Comparator):
        name = "broken"

        def index(self, d1, d2):
            return math.nan

    with pytest.raises(NotImplementedError, match=r"^Empty must define index$"):
        Empty().compare([1], [2])
    with pytest.raises(ValueError, match=r"^index of Broken\(\) must be a number, got nan$"):
        Broken().compare([1], [2])
