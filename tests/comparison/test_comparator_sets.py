"""Comparators of two sets of vectors: dominance, weights, order and goals."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vectors import (
    POSITIVE,
    WHOLE,
    check_tournament,
    coverage,
    groups,
    spread,
    strongly_dominates,
    volume,
    weakly_dominates,
)

from pymoo_anon.comparison import *

HALVES = (0.5, 0.25, 0.25)
SETS = [
    Weighted(HALVES, [Coverage(), Spread(), Rank(9)]),
    Weighted(HALVES, [Minimum(), Spread(), Hypervolume()], normalize=True),
    Lexicographic((0, 1, 0), [Coverage(), Spread(), Rank(9)]),
    Lexicographic((0, 0, 0), Hypervolume()),
    Goal((1, 5, 2), [Coverage(), Spread(), Rank(9)]),
]
every_set = pytest.mark.parametrize("comparator", [*SETS, Dominance()], ids=repr)


class MostImproved(SetComparator):
    """A custom comparator of sets, by properties with more tuples better off."""

    name = "improved"

    def index(self, d1, d2):
        return sum(Coverage().compare(a, b) == "better" for a, b in zip(d1, d2, strict=True))


@st.composite
def two_sets(draw, of=WHOLE, r=3):
    """Draw two sets of vectors, with a direction for each property."""
    properties = [draw(groups(of=of, size=4)) for _ in range(r)]
    return [[[g.vectors[i] for g in properties] for i in (0, 1)], [[g.plain[i] for g in properties] for i in (0, 1)]]


@given(two_sets(of=st.integers(0, 2).map(float), r=2))
def test_dominance_of_sets_is_that_of_table_4(given_sets):
    (d1, d2), (a, b) = given_sets
    forth = all(map(weakly_dominates, a, b))
    back = all(map(weakly_dominates, b, a))
    strong = forth and any(map(strongly_dominates, a, b))
    assert Dominance().index(d1, d2) == forth
    if any(map(strongly_dominates, a, b)) and any(map(strongly_dominates, b, a)):
        assert Dominance().compare(d1, d2) == "incomparable"
    expected = "better" if strong else "equal" if forth else "worse" if back else "incomparable"
    assert Dominance().compare(d1, d2) == expected


def test_sets_whose_vectors_are_incomparable_are_incomparable():
    assert Dominance().compare([[1, 2]], [[2, 1]]) == "incomparable"
    assert Dominance().compare(np.array([[1, 2], [3, 3]]), np.array([[2, 1], [3, 3]])) == "incomparable"


def share(mine, theirs):
    both = abs(mine) + abs(theirs)
    return mine / both if both else 0


@given(two_sets(of=POSITIVE))
def test_weighted_sums(given_sets):
    (d1, d2), (a, b) = given_sets
    plain = Weighted(HALVES, [Coverage(), Spread(), Minimum()])
    expected = 0.5 * coverage(a[0], b[0]) + 0.25 * spread(a[1], b[1]) + 0.25 * min(a[2])
    assert plain.index(d1, d2) == pytest.approx(float(expected))
    normalized = Weighted(HALVES, [Coverage(), Hypervolume(), Spread()], normalize=True)
    expected = (
        0.5 * share(coverage(a[0], b[0]), coverage(b[0], a[0]))
        + 0.25 * share(volume(a[1], b[1]), volume(b[1], a[1]))
        + 0.25 * share(spread(a[2], b[2]), spread(b[2], a[2]))
    )
    assert normalized.index(d1, d2) == pytest.approx(float(expected), abs=1e-9)


def test_indices_that_are_better_when_lower_enter_negated():
    by_rank, by_both = Weighted([1], Rank(5)), Weighted([0.5, 0.5], [Minimum(), Rank(5)], normalize=True)
    assert (by_rank.index([[1, 5]], [[5, 5]]), by_rank.compare([[1, 5]], [[5, 5]])) == (-4, "worse")
    assert by_both.index([[2, 2], [2, 5]], [[1, 1], [4, 5]]) == 0.5 * 2 / 3 - 0.5 * 3 / 4
    first = Lexicographic([0], Rank(5))
    assert (first.index([[1, 5]], [[5, 5]]), first.index([[5, 5]], [[1, 5]])) == (math.inf, 1)
    # Goals have the sign of the index.
    assert Goal([4], Rank(5)).index([[1, 5]], [[5, 5]]) == 0


def test_normalized_hypervolumes_of_any_size():
    by_volume = Weighted([1], Hypervolume(), normalize=True)
    big, bigger = [2.0] * 5000, [2.0] * 4999 + [6.0]
    assert (by_volume.index([bigger], [big]), by_volume.index([big], [bigger])) == (1, 0)
    traded = [6.0] + [2.0] * 4998 + [1.0]
    # The factors that 4998 tuples share cancel: (6 * 1 - 2 * 1) against (2 * 2 - 2 * 1).
    assert by_volume.index([traded], [big]) == pytest.approx((6 - 2) / ((6 - 2) + (4 - 2)))
    assert by_volume.index([big], [big]) == 0


def test_every_pair_of_a_tournament_is_normalized_by_itself():
    """Normalize products of 2 and 4 independently of one of 2^2000."""
    sets = [[[2.0] + [1.0] * 1999], [[4.0] + [1.0] * 1999], [[2.0] * 2000]]
    by_volume = Weighted([1], Hypervolume(), normalize=True)
    played = by_volume.tournament(sets)
    assert played.indices.tolist() == [[by_volume.index(a, b) for b in sets] for a in sets]
    assert (played.indices[1, 0], played.indices[0, 1], played.verdicts[1, 0]) == (1, 0, "better")


def test_indices_below_zero_are_normalized_by_their_size():
    least = Weighted([1], Minimum(), normalize=True)
    assert (least.index([[-3]], [[1]]), least.index([[1]], [[-3]])) == (-3 / 4, 1 / 4)
    assert (least.index([[-2]], [[2]]), least.index([[0]], [[0]])) == (-1 / 2, 0)


@given(two_sets(), st.lists(st.integers(0, 3), min_size=3, max_size=3))
def test_lexicographic_is_the_first_property_that_is_better(given_sets, tolerances):
    (d1, d2), (a, b) = given_sets
    leads = [
        coverage(a[0], b[0]) - coverage(b[0], a[0]),
        spread(a[1], b[1]) - spread(b[1], a[1]),
        min(a[2]) - min(b[2]),
    ]
    better = [i for i, (lead, e) in enumerate(zip(leads, tolerances, strict=True), 1) if lead > e]
    worse = [i for i, (lead, e) in enumerate(zip(leads, tolerances, strict=True), 1) if -lead > e]
    comparator = Lexicographic(tolerances, [Coverage(), Spread(), Minimum()])
    mine, theirs = min(better, default=math.inf), min(worse, default=math.inf)
    assert (comparator.index(d1, d2), comparator.index(d2, d1)) == (mine, theirs)
    assert comparator.compare(d1, d2) == ("equal" if mine == theirs else "better" if mine < theirs else "worse")


def test_what_a_comparator_calls_equal_is_no_difference():
    three, four = [2, 8] * 9, [4, 4] * 9
    assert Lexicographic([0, 0], [Hypervolume(), Minimum()]).index([three, [2]], [four, [1]]) == 2
    assert Lexicographic([0], Rank(0, tolerance=5)).compare([[4]], [[1]]) == "equal"


@given(two_sets(), st.lists(st.integers(-3, 3), min_size=3, max_size=3))
def test_goals(given_sets, goals):
    (d1, d2), (a, b) = given_sets
    indices = (coverage(a[0], b[0]), spread(a[1], b[1]), min(a[2]))
    expected = float(sum((index - goal) ** 2 for index, goal in zip(indices, goals, strict=True)))
    comparator = Goal(goals, [Coverage(), Spread(), Minimum()])
    assert comparator.index(d1, d2) == pytest.approx(expected)
    here, there = comparator.index(d1, d2), comparator.index(d2, d1)
    assert comparator.compare(d1, d2) == ("equal" if here == there else "better" if here < there else "worse")


@given(st.permutations([0, 1, 2]), two_sets())
def test_weights_and_goals_do_not_depend_on_the_order_of_properties(order, given_sets):
    (d1, d2), _ = given_sets
    own = [Coverage(), Spread(), Minimum()]
    for make, numbers in ((Weighted, [0.7, 0.2, 0.1]), (Goal, [1.1, 0.7, 0.3])):
        one = make(numbers, own)
        other = make([numbers[i] for i in order], [own[i] for i in order])
        assert one.index(d1, d2) == other.index([d1[i] for i in order], [d2[i] for i in order])


@every_set
@given(two_sets())
def test_a_tournament_is_all_of_its_pairs(comparator, given_sets):
    played = check_tournament(comparator, [*given_sets[0], given_sets[0][0]])
    assert played.verdicts[0, 2] == "equal"


@given(two_sets(of=POSITIVE))
def test_a_set_that_strongly_dominates_is_never_worse(given_sets):
    (d1, d2), _ = given_sets
    higher = [type(a)(np.maximum(a.values, b.values), a.tuples, a.name, True) for a, b in zip(d1, d2, strict=True)]
    if Dominance().compare(higher, d2) == "better":
        single = [Coverage(), Spread(), Hypervolume()]
        assert Weighted(HALVES, single, normalize=True).compare(higher, d2) == "better"
        assert Lexicographic([0, 0, 0], single).compare(higher, d2) == "better"


def test_one_of_ones_own():
    assert MostImproved().index([[1, 2], [3]], [[0, 1], [4]]) == 1
    assert MostImproved().compare([[1, 2], [3]], [[0, 1], [3]]) == "better"


class LeastOfAll(Comparator):
    """A custom comparator for vectors and sets of them."""

    name = "least of all"
    takes_sets = True

    def index(self, d1, d2):
        return np.min(d1)


def test_one_of_ones_own_may_compare_both():
    assert LeastOfAll().compare([1, 2], [0, 3]) == "better"
    assert LeastOfAll().compare([[1, 2], [3, 1]], [[4, 2], [3, 3]]) == "worse"


def test_they_show_what_they_are():
    assert repr(SETS[1]) == "Weighted([0.5, 0.25, 0.25], [Minimum(), Spread(), Hypervolume()], normalize=True)"
    assert repr(SETS[2]) == ("Lexicographic([0.0, 1.0, 0.0], [Coverage(), Spread(), Rank(point=9, tolerance=0)])")
    assert [one.name for one in SETS] == ["WTD", "WTD", "LEX", "LEX", "GOAL"]
    assert all(isinstance(one, Comparator) for one in SETS)
