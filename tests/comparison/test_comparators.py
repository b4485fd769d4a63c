"""Comparators of vectors and of sets of them: slow twins, exact volumes, and worked numbers of Dewri et al. 2009."""

import math
import re
import sys
import textwrap
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vectors import POSITIVE, REAL, SIZES, WHOLE, Binary, groups, measured, table_of

from pymoo_anon.comparison import *


def weakly_dominates(a, b):
    return all(x >= y for x, y in zip(a, b, strict=True))


def strongly_dominates(a, b):
    return weakly_dominates(a, b) and any(x > y for x, y in zip(a, b, strict=True))


def minimum(a, b):
    return min(a)


def distance(a, point):
    return math.sqrt(sum((Fraction(x) - Fraction(point)) ** 2 for x in a))


def coverage(a, b):
    return Fraction(sum(x >= y for x, y in zip(a, b, strict=True)), len(a))


def spread(a, b):
    return sum((max(Fraction(x) - Fraction(y), Fraction(0)) for x, y in zip(a, b, strict=True)), Fraction(0))


def volume(a, b):
    smaller = [min(Fraction(x), Fraction(y)) for x, y in zip(a, b, strict=True)]
    return math.prod(map(Fraction, a)) - math.prod(smaller)


def log_of(number):
    """Compute the natural logarithm of an exact number of any size."""
    if number == 0:
        return -math.inf
    return math.log(number.numerator) - math.log(number.denominator)


def check_tournament(comparator, given):
    """Check that a tournament is all of its pairs, and return it."""
    played = comparator.tournament(given)
    opposite = {"better": "worse", "worse": "better", "equal": "equal", "incomparable": "incomparable"}
    for i, a in enumerate(given):
        for j, b in enumerate(given):
            assert played.indices[i, j] == comparator.index(a, b)
            assert played.verdicts[i, j] == comparator.compare(a, b) == opposite[played.verdicts[j, i]]
        assert played.verdicts[i, i] == "equal"
    return played


INDICES = [Minimum(), Rank(point=0), Coverage(), Spread(), Hypervolume()]
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
    assert Binary().index(d1, d2) == sum(x > y for x, y in zip(a, b, strict=True))
    assert Coverage().index(d1, d2) == pytest.approx(float(coverage(a, b)), rel=1e-15)
    assert Spread().index(d1, d2) == pytest.approx(float(spread(a, b)), rel=1e-12, abs=1e-12)


@given(st.lists(st.integers(0, 30), min_size=1), st.sampled_from([3, 7, 10, 11]), st.randoms())
def test_equal_gains_are_equal_whatever_rounding_did(numerators, denominator, rng):
    others = rng.sample(numerators, len(numerators))
    if len(others) > 1:
        others[:2] = others[0] + 1, others[1] - 1
    d1, d2 = (np.array(own) / denominator for own in (numerators, others))
    assert Spread().compare(d1, d2) == "equal"
    d2[0] -= 1e-9
    assert Spread().compare(d1, d2) == "better"


# Properties of every comparator.


@pytest.mark.parametrize("comparator", EVERY, ids=repr)
@given(data=st.data(), group=groups(of=st.one_of(WHOLE, REAL), n=3))
def test_counts_stand_for_repeated_rows_in_any_order_and_direction(comparator, data, group):
    rows = group.plain
    order = data.draw(st.permutations(range(len(rows[0]))))
    shuffled = [one[order] for one in rows]
    lower = [PropertyVector(-one.values, one.tuples, one.name, maximize=False) for one in group.vectors]
    expected = comparator.tournament(group.vectors)
    for played in map(comparator.tournament, (rows, shuffled, lower)):
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
    played = check_tournament(comparator, vectors)
    assert played.indices.shape == played.verdicts.shape == (4, 4)


def test_the_comparator_of_the_page_for_contributors_runs():
    page = (Path(__file__).parents[2] / ".github" / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"\n## A comparator\n.*?```python\n(.*?)```", page, re.DOTALL)
    made = {}
    exec(textwrap.dedent(text), made)
    typical = made["Typical"]()
    assert typical.index(SIZES["T3b"], SIZES["T3a"]) == 7
    assert typical.compare(SIZES["T3b"], SIZES["T3a"]) == "better"
    assert typical.compare([3, 3, 4], [2, 7, 7]) == "worse"
    assert typical.compare(measured(TupleLoss(), "T3b"), measured(TupleLoss(), "T3a")) == "worse"


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


def test_no_comparator_is_deep_or_of_two_kinds():
    """Allow a concrete comparator at most two base classes, in one line."""
    for one in (*EVERY, Weighted([1], Coverage()), Lexicographic([0], Coverage()), Goal([1], Coverage())):
        above = type(one).__mro__[1:-1]
        assert Comparator in above
        assert len(above) <= 2
        assert all(len(kind.__bases__) == 1 for kind in type(one).__mro__[:-1])


positive = groups(of=st.one_of(POSITIVE, REAL.filter(bool), st.floats(1e-150, 1e150)))


@given(st.one_of(positive, groups(of=st.one_of(WHOLE, REAL))))
def test_hypervolume_is_that_of_exact_numbers(group):
    d1, d2 = group.vectors
    a, b = group.plain
    exact = volume(a, b)
    log = Hypervolume().index(d1, d2)
    if exact == 0:
        assert log == -math.inf
    else:
        assert log == pytest.approx(log_of(exact), rel=1e-12, abs=1e-9)
    difference = exact - volume(b, a)
    verdict = Hypervolume().compare(d1, d2)
    if difference == 0:
        assert verdict == "equal"
    elif abs(difference) > max(exact, volume(b, a)) / 10**9:
        assert verdict == ("better" if difference > 0 else "worse")
    else:
        assert verdict in ("equal", "better" if difference > 0 else "worse")


@given(st.one_of(positive, groups(of=st.one_of(WHOLE, REAL))))
def test_a_volume_is_that_of_exact_numbers(group):
    exact = volume(*group.plain)
    if exact < sys.float_info.max:
        found = Hypervolume().volume(*group.vectors)
        assert found == pytest.approx(float(exact), rel=1e-9, abs=0)
        if exact == int(exact) and all((one.values % 1 == 0).all() for one in group.vectors) and exact < 10**12:
            assert found == exact


def test_a_small_volume_beside_a_large_product_keeps_its_digits():
    higher, lower = [1.1] * 100, [*[1.1] * 99, math.nextafter(1.1, 0)]
    assert Hypervolume().volume(higher, lower) == pytest.approx(float(volume(higher, lower)), rel=1e-12, abs=0)


@given(st.data(), st.lists(st.integers(1, 60), min_size=1, max_size=12))
def test_equal_products_are_equal_however_they_are_written(data, factors):
    """Move factors between tuples, which leaves the product equal."""
    moved = data.draw(st.permutations(range(len(factors))))
    split = [math.gcd(factor, data.draw(st.integers(1, 60))) for factor in factors]
    a = [float(factor) for factor in factors]
    b = [factors[i] / split[i] * split[moved[i]] for i in range(len(factors))]
    assert Hypervolume().compare(a * 50, b * 50) == "equal"
    assert Hypervolume().compare(b * 50, a * 50) == "equal"


def test_volumes_are_numbers_where_they_are_finite():
    assert Hypervolume().volume((2, 3), (3, 1)) == 4
    assert Hypervolume().volume((2, 0), (3, 1)) == 0
    assert Hypervolume().volume((1e100, 1e150, 1e-150), (1e99, 1e150, 1e-150)) == pytest.approx(9e99)
    assert Hypervolume().volume((1e150, 1e150, 1e150, 1e-150), (1, 1, 1, 1)) == pytest.approx(1e300)


def test_no_verdict_on_nearly_equal_products_is_wrong():
    """Compare products that differ in the last bits of their logarithms."""
    generator = np.random.default_rng(0)
    decided = 0
    for _ in range(150):
        n = generator.integers(1, 40)
        a = generator.choice([0.5, 1.0, 3.0, 7.1, 1e3, 1e100, 1e-100], n)
        # The same factors in another order, most of them off by some last bits.
        b = generator.permutation(a) * (
            1 + generator.integers(-2, 3, n) * generator.choice([1, 30, 900, 20_000]) * 2.0**-52
        )
        difference = volume(a, b) - volume(b, a)
        verdict = Hypervolume().compare(a, b)
        assert verdict in ("equal", "better" if difference > 0 else "worse" if difference < 0 else "equal")
        decided += verdict != "equal"
    assert 10 < decided < 140, decided


def test_the_smallest_difference_of_one_tuple_is_a_volume():
    for value in np.linspace(1, 1e6, 100):
        higher, lower = [np.nextafter(value, math.inf), *[7.0] * 1000], [value, *[7.0] * 1000]
        assert Hypervolume().compare(higher, lower) == "better"
        assert Hypervolume().index(higher, lower) > -math.inf == Hypervolume().index(lower, higher)


def test_section_3():
    s, t = SIZES["T3a"], SIZES["T3b"]
    assert Minimum().index(s) == 3
    assert s.mean() == 3.4
    assert Minimum().index(measured(SensitiveCount("marital status"), "T3a")) == 1
    # P_binary is N (1 - P_cov), the other way round.
    assert (10 * (1 - Coverage().index(t, s)), 10 * (1 - Coverage().index(s, t))) == (0, 7)
    assert (Coverage().compare(s, t), Coverage().compare(t, s)) == ("worse", "better")


def test_section_5_3():
    d1, d2 = (2, 2, 3, 4, 5), (3, 2, 4, 2, 3)
    assert Coverage().index(d1, d2) == Coverage().index(d2, d1) == 3 / 5
    assert (Spread().index(d1, d2), Spread().index(d2, d1)) == (4, 2)
    assert (Coverage().compare(d1, d2), Spread().compare(d1, d2)) == ("equal", "better")


TWO_ANONYMOUS = (2, 2, 6, 6, 6, 6, 6, 6, 3, 3, 3, 4, 4, 4, 4)


# As printed, and as the text says: P_spr is 2 and 8.
@pytest.mark.parametrize(("eighth", "lost_and_won"), [(3, (2, 10)), (5, (2, 8))])
def test_section_5_3_has_a_misprint(eighth, lost_and_won):
    three_anonymous = [3, 3, 3, 5, 5, 5, 5, eighth, 3, 3, 3, 4, 4, 4, 4]
    spreads = Spread().index(three_anonymous, TWO_ANONYMOUS), Spread().index(TWO_ANONYMOUS, three_anonymous)
    assert spreads == lost_and_won
    gained = {i + 1 for i, (a, b) in enumerate(zip(TWO_ANONYMOUS, three_anonymous, strict=True)) if a > b}
    assert gained == {3, 4, 5, 6, 7, 8}
    assert Spread().compare(TWO_ANONYMOUS, three_anonymous) == "better"
    assert Coverage().compare(TWO_ANONYMOUS, three_anonymous) == "better"
    assert Minimum().compare(TWO_ANONYMOUS, three_anonymous) == "worse"


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
def test_a_tournament_of_sets_is_all_of_its_pairs(comparator, given_sets):
    played = check_tournament(comparator, [*given_sets[0], given_sets[0][0]])
    assert played.verdicts[0, 2] == "equal"


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
