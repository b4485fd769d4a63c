"""Measures as the floats next to their exact values.

Limits as people write them are kept exactly.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from exact_cases import case
from exact_twins import TWINS, Exact, entropy_of, exact
from hypothesis import given
from hypothesis import strategies as st
from pymoo.optimize import minimize
from strategies import fewer, nested, one_class_each

from pymoo_anon import objectives as measures
from pymoo_anon.algorithms import BranchAndBound, ExhaustiveSearch
from pymoo_anon.engine.compiled import njit
from pymoo_anon.engine.sums import exp_pair, log_of_one_and, log_pair, logs_up_to, own_logs
from pymoo_anon.fronts.archive import boxes
from pymoo_anon.objectives import *
from pymoo_anon.objectives.loss.cells import _over_one_denominator
from pymoo_anon.objectives.privacy.diversity import _exp_of_entropy
from pymoo_anon.problems import BitStringProblem, LatticeProblem
from pymoo_anon.publishing import release
from pymoo_anon.table import AtMost, Below, Hierarchy, Microdata, Violating
from pymoo_anon.table.domain_values import meant

SEEDS = st.integers(0, 2**32 - 1)


def rules(rng, n_rows):
    """Return a suppression rule of each kind that needs no constraint."""
    return [AtMost(0), AtMost(int(rng.integers(0, n_rows))), Below(int(rng.integers(1, n_rows + 1)))]


def measured(problem, X):
    """Return an (n, n_measures) float array with natural signs."""
    return problem.compute(X) * np.where([one.maximize for one in problem.objectives], -1.0, 1.0)


def assert_exact(own, problem, X):
    """Map equal values to equal floats, and keep their order."""
    for x, found in zip(X, measured(problem, X), strict=True):
        release = own.release(problem.decode(x), problem.suppression)
        expected = {repr(one): float(exact(release, one)) for one in problem.objectives}
        assert dict(zip(expected, found.tolist(), strict=True)) == expected


def every_node(problem):
    return problem.nodes(0, problem.n_nodes)


def test_every_measure_has_an_exact_twin():
    public = {getattr(measures, name) for name in measures.__all__ if isinstance(getattr(measures, name), type)}
    assert {one for one in public if issubclass(one, Objective) and hasattr(one, "maximize")} == set(TWINS)


@given(SEEDS)
def test_every_value_is_the_float_next_to_the_exact_one(seed):
    own, rng = case(seed), np.random.default_rng(seed)
    for rule in rules(rng, len(own.rows)):
        problem = LatticeProblem(own.table, own.objectives(), rule)
        assert_exact(own, problem, rng.permutation(every_node(problem))[:6])
    if any(hierarchy.n_values > 1 for hierarchy in own.hierarchies.values()):
        problem = BitStringProblem(own.table, own.objectives(), rng.choice(rules(rng, len(own.rows))))
        assert_exact(own, problem, rng.random((6, problem.n_var)) < 0.5)


@given(SEEDS)
def test_a_limit_that_is_attained_is_kept_and_its_neighbours_are_not(seed):
    own, rng = case(seed), np.random.default_rng(seed)
    asked = own.objectives()
    rule = rules(rng, len(own.rows))[int(rng.integers(0, 3))]
    plain = LatticeProblem(own.table, asked, rule)
    x = every_node(plain)[int(rng.integers(0, plain.n_nodes))]
    release = own.release(plain.decode(x), rule)
    for one in asked:
        value = float(exact(release, one))
        if not np.isfinite(value):
            continue
        for bound in (value, np.nextafter(value, -np.inf), np.nextafter(value, np.inf)):
            for constraint, kept in ((one >= bound, value >= bound), (one <= bound, value <= bound)):
                problem = LatticeProblem(own.table, [KAnonymity()], rule, [constraint])
                (g,) = problem.evaluate(x[np.newaxis], return_values_of=["G"])[0]
                assert (g <= 0) == kept, constraint


@given(SEEDS)
def test_classes_on_a_limit_are_kept_under_violating(seed):
    """Suppress the classes that break one of two limits, and measure the rest."""
    own, rng = case(seed), np.random.default_rng(seed)
    worst = [one for one in own.objectives() if one.worst_class]
    plain = LatticeProblem(own.table, worst)
    x = every_node(plain)[int(rng.integers(0, plain.n_nodes))]
    classes = own.release(plain.decode(x), AtMost(0)).alone()
    rule = Violating(len(own.rows) - 1)
    for place, one in enumerate(worst):
        # Some class attains each of these values, and so keeps it as a limit.
        limits = [
            (measure, exact(classes[int(rng.integers(0, len(classes)))], measure))
            for measure in (one, worst[place - 1])
        ]
        if not all(np.isfinite(float(bound)) for _, bound in limits):
            continue

        def broken(only, limits=limits):
            return any(exact(only, o) < bound if o.maximize else exact(only, o) > bound for o, bound in limits)

        constraints = [o >= float(bound) if o.maximize else o <= float(bound) for o, bound in limits]
        problem = LatticeProblem(own.table, [GeneralLossMetric(), *worst], rule, constraints)
        release = own.release(plain.decode(x), rule, broken)
        assert problem.equivalence_classes(x).n_suppressed.tolist() == [release.n_suppressed]
        F, G = problem.evaluate(x[np.newaxis], return_values_of=["F", "G"])
        assert G[0, -1] == release.n_suppressed - rule.limit
        if any(release.kept):
            assert problem.natural(F)[0].tolist() == [float(exact(release, o)) for o in problem.objectives]
            assert (G[0, :-1] <= 0).all()


@pytest.mark.slow
def test_frozen_arrays_will_do():
    """Compile loops once more, for arrays that cannot be written."""
    own = case(3)
    problem = LatticeProblem(own.table, own.objectives())
    classes = problem.equivalence_classes(problem.xl)
    expected = [one.evaluate(classes).tolist() for one in problem.measured]
    frozen = classes.copy()
    for holder in (frozen, frozen.tuples, *frozen.columns.values(), *frozen.tuples.columns.values()):
        for value in vars(holder).values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
    assert [one.evaluate(frozen).tolist() for one in problem.measured] == expected


def exact_front(values, maximize):
    """Return the distinct nondominated points of exact numbers."""

    def as_good(one, other):
        return all(a >= b if up else a <= b for a, b, up in zip(one, other, maximize, strict=True))

    return [one for one in values if not any(as_good(other, one) and not as_good(one, other) for other in values)]


@given(SEEDS)
def test_certified_fronts_hold_no_dominated_twins(seed):
    own, rng = case(seed, n_rows=10), np.random.default_rng(seed)
    rule = AtMost(int(rng.integers(0, min(3, len(own.rows)))))
    losses = [one for one in own.objectives() if one.bounding is not None and one != KAnonymity()]
    for place in rng.permutation(len(losses))[:5]:
        asked = [KAnonymity(), losses[place]]
        problem = LatticeProblem(own.table, asked, rule)
        releases = [own.release(problem.decode(x), rule) for x in every_node(problem)]
        front = exact_front([[exact(one, o) for o in asked] for one in releases], [o.maximize for o in asked])
        expected = {tuple(float(v) for v in point) for point in front}
        signs = np.where([one.maximize for one in asked], -1.0, 1.0)
        for algorithm in (BranchAndBound(), ExhaustiveSearch()):
            res = minimize(problem, algorithm, seed=1)
            assert sorted(map(tuple, (res.F * signs).tolist())) == sorted(expected)


@njit()
def in_pairs(number, small, counts, logs):
    """Compute logarithms and an exponential in a compiled loop."""
    return log_pair(number, logs), log_of_one_and(small), exp_pair(number, logs), own_logs(counts, logs)


def assert_26_digits(pair, expected):
    """Assert that a pair is the number within one part in 10^26."""
    assert abs(sum(map(Decimal, pair)) - expected) <= abs(expected) * Decimal("1e-26")


def test_logarithms_and_exponentials_are_right_to_26_digits():
    logs, rng = logs_up_to(1 << 16), np.random.default_rng(0)
    assert logs.shape == (1 << 16, 4)
    with localcontext() as context:
        context.prec = 50
        near_powers = [1, 2, 3, 5, 7, 1023, 1024, 1025, 2047, 2048, 2049, 65_535]
        for whole in [*near_powers, *rng.integers(2, 1 << 16, 300).tolist()]:
            assert_26_digits(logs[whole, :2], Decimal(whole).ln())
            assert_26_digits(logs[whole, 2:], Decimal(whole).ln() * whole)
        for exponent in rng.uniform(-60, 5, 300).tolist():
            high = 2.0**exponent * (1 + rng.uniform())
            # The second part is below the last digit of the first.
            low = high * rng.uniform(-1, 1) * 2.0**-54
            small, less = high / 2.0**16, low / 2.0**16
            log, log_of_one, power, _ = in_pairs((high, low), (small, less), np.array([1]), logs)
            number = Decimal(high) + Decimal(low)
            if abs(number.ln()) > 0.01:
                assert_26_digits(log, number.ln())
            assert_26_digits(log_of_one, (1 + Decimal(small) + Decimal(less)).ln())
            # The error of the product with log 2 becomes an error of the power.
            assert abs(sum(map(Decimal, power)) - number.exp()) <= number.exp() * Decimal("4e-25")


def test_own_logarithms_of_many_counts_and_of_large_ones():
    logs, counts = logs_up_to(100), np.array([0, 1, 5_000, 10**6, 10**9, *range(1, 3_000)])
    with localcontext() as context:
        context.prec = 50
        expected = sum(Decimal(c) * Decimal(c).ln() for c in counts.tolist() if c > 0)
        assert_26_digits(in_pairs((1.0, 0.0), (0.0, 0.0), counts, logs)[3], expected)


def counts_up_to(total, most):
    """Yield all descending counts up to `most` of at most `total` rows."""
    yield []
    for first in range(1, min(total, most) + 1):
        for rest in counts_up_to(total - first, first):
            yield [first, *rest]


def test_of_all_counts_of_at_most_32_rows_those_of_a_whole_entropy_l_are_whole():
    logs, whole, unequal = logs_up_to(32), 0, 0
    for counts in counts_up_to(32, 32):
        if not counts:
            continue
        n = sum(counts)
        found = _exp_of_entropy(np.array(counts), n, logs)
        nearest = round(found)
        if abs(found - nearest) < 1e-6:
            value = n**n, nearest**n * math.prod(c**c for c in counts)
            assert (found >= nearest) == (value[0] >= value[1])
            assert (found <= nearest) == (value[0] <= value[1])
            whole += value[0] == value[1]
            unequal += value[0] == value[1] and len(set(counts)) > 1
    assert unequal > 20
    assert whole > unequal


@pytest.mark.parametrize(
    ("counts", "value"), [([4, 1, 1, 1, 1], 4), ([4, 2, 1, 1, 1, 1], 5), ([8, 2, 1, 1, 1], Fraction(13, 4))]
)
def test_entropy_l_of_unequal_counts_can_be_a_fraction(counts, value):
    assert entropy_of(counts) == Exact(Fraction(value) ** sum(counts), sum(counts), "root")
    assert _exp_of_entropy(np.array(counts), sum(counts), logs_up_to(64)) == float(value)


def test_entropy_l_of_different_counts_is_equal_where_it_is():
    """Split values of entropy l 4 into two thirds and one third: 4, 1, 1, 1, 1 rows, or four equal numbers."""
    counts = [8, 2, 2, 2, 2, 4, 1, 1, 1, 1], [2, 2, 2, 2, 1, 1, 1, 1]
    assert entropy_of(counts[0]) == entropy_of(counts[1])
    one, other = (_exp_of_entropy(np.array(own), sum(own), logs_up_to(64)) for own in counts)
    assert one == other


def table_of(classes):
    """Return a table with one class for each list of counts of values."""
    return one_class_each([np.repeat(range(len(counts)), counts).tolist() for counts in classes])


@pytest.mark.parametrize("counts", [[4, 2, 1, 1, 1, 1], [8, 4, 2, 2, 2, 2]])
def test_a_class_of_entropy_l_5_need_not_be_suppressed_or_generalized(counts):
    """Keep a class with counts 4, 2, 1, 1, 1, 1.

    Its entropy l is 5: 10^10 = 5^10 4^4 2^2.
    """
    table = table_of([counts, [1, 1, 1, 1, 1], [3, 3, 3, 3, 3]])
    required = [KAnonymity() >= 2, EntropyLDiversity("s") >= 5]
    for rule in (Violating(0.05), AtMost(0)):
        problem = LatticeProblem(table, [GeneralLossMetric()], rule, required)
        for algorithm in (ExhaustiveSearch(), BranchAndBound()):
            res = minimize(problem, algorithm, seed=1)
            assert res.F.tolist() == [0]
            assert problem.equivalence_classes(res.X).n_suppressed.tolist() == [0]


def spread(n_attributes):
    """Return one row per value of four, under hierarchies of pairs."""
    names = [f"q{j}" for j in range(n_attributes)]
    frame = pd.DataFrame(dict.fromkeys(names, ("v0", "v1", "v2", "v3")))
    return Microdata.from_frame(frame, dict.fromkeys(names, nested(4)))


@pytest.mark.parametrize(
    ("objective", "limit", "chosen"),
    [
        (Precision(), 0.2, [[2, 2, 2, 2, 0]]),
        (NormalizedWeightedPenalty(), 0.6, [[2, 2, 2, 0, 0], [2, 0, 2, 2, 0]]),
        (NormalizedWeightedPenalty([0.1, 0.2, 0.3, 0.2, 0.2]), 0.6, [[2, 2, 2, 0, 0], [2, 0, 2, 2, 0]]),
    ],
)
def test_fifths_are_attained_with_so_many_of_five_columns_at_the_top(objective, limit, chosen):
    constraint = objective >= limit if objective.maximize else objective <= limit
    problem = LatticeProblem(spread(5), [objective], constraints=[constraint])
    F, G = problem.evaluate(np.array(chosen), return_values_of=["F", "G"])
    assert problem.natural(F).tolist() == [[limit]] * len(chosen)
    assert (G == 0).all()


def test_thirds_as_weights_are_thirds():
    equal, thirds = NormalizedWeightedPenalty(), NormalizedWeightedPenalty([1 / 3, 1 / 3, 1 / 3])
    problem = LatticeProblem(spread(3), [equal, thirds])
    F = problem.compute(every_node(problem))
    np.testing.assert_array_equal(F[:, 0], F[:, 1])


#: Domains whose sizes, less one, have no common divisor.
WIDE = {
    n: Hierarchy([[f"{i}" for i in range(n)], [f"h{i % 2}" for i in range(n)], ["*"] * n])
    for n in (102, 104, 108, 110, 114, 128, 132, 138, 140)
}


def test_values_over_a_large_denominator_are_rounded_once():
    """Use Python's integers for denominators beyond 2^53."""
    frame = pd.DataFrame({s: [f"{i % s}" for i in range(300)] for s in WIDE})
    problem = LatticeProblem(Microdata.from_frame(frame, WIDE), [GeneralLossMetric(), NormalizedWeightedPenalty()])
    rng = np.random.default_rng(0)
    for x in rng.integers(0, 3, (20, len(WIDE))):
        loss = Fraction(0)
        for (s, hierarchy), level in zip(WIDE.items(), x.tolist(), strict=True):
            groups = hierarchy.groups[level].tolist()
            loss += sum(Fraction(groups.count(groups[i % s]) - 1, s - 1) for i in range(300))
        expected = [float(loss), float(loss / (300 * len(WIDE)))]
        assert problem.compute(x[np.newaxis]).tolist() == [expected]


def test_divergence_over_a_domain_beyond_all_whole_floats_is_that_of_its_definition():
    """Compute divergence over a domain of 10^18 cells.

    Ratios of rows and of cells are no longer ratios of whole floats.
    """
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({s: [f"{i}" for i in rng.integers(0, 6, 60)] for s in WIDE})
    problem = LatticeProblem(Microdata.from_frame(frame, WIDE), [KLDivergence()], AtMost(30))
    n_suppressed = set()
    for _ in range(5):
        x = np.array([*rng.integers(1, 3, len(WIDE) - 2), 2, 2])
        n_suppressed.add(int(problem.equivalence_classes(x).n_suppressed[0]))
        made = release(frame, problem, x, suppressed="drop", anyway="it is only a test")
        assert made.claims.recounted.tolist() == made.claims.promised.tolist()
    assert len(n_suppressed) > 2


def test_delta_of_a_half_more_is_that_of_a_third_less():
    """Compare shares above and below one third, the share of every value.

    A class has 1/2 and 1/4 of them in the first table, and 2/9 and 7/18 in the other.
    """
    for classes in ([[2, 1, 1], [1, 2, 1], [1, 1, 2]], [[4, 7, 7], [7, 4, 7], [7, 7, 4]]):
        problem = LatticeProblem(table_of(classes), [DeltaDisclosure("s")])
        assert problem.compute(np.array([[0]])).tolist() == [[math.log2(3 / 2)]]


def test_a_table_of_one_distinct_tuple_is_proven_over_bit_strings():
    frame = pd.DataFrame({"q": ["a", "a"], "r": ["c", "c"]})
    table = Microdata.from_frame(frame, {"q": Hierarchy.flat(["a", "b"]), "r": Hierarchy.flat(["c", "d"])})
    for asked in ([NonUniformEntropy()], [KAnonymity(), NonUniformEntropy()]):
        res = minimize(BitStringProblem(table, asked), BranchAndBound(), seed=1)
        assert res.algorithm.certified
        assert np.atleast_2d(res.F)[:, -1].tolist() == [0]


@pytest.mark.parametrize(
    ("share", "n_rows", "limit"),
    [
        (1 / 3, 30_162, 10_054),
        (0.29, 100, 29),
        (np.int64(29), 100, 29),
        (2 / 3, 3, 2),
        (0.01, 30_162, 301),
        (1 / 7, 7, 1),
        (0.1 + 0.2, 10, 3),
    ],
)
def test_a_share_is_read_as_it_was_meant(share, n_rows, limit):
    # The last share is 0.1 + 0.2, which is a little more than 3 of 10.
    assert AtMost(share).limit_of(n_rows) == Violating(share).limit_of(n_rows) == limit


@given(st.integers(-(10**6), 10**6), st.integers(1, 1000))
def test_fractions_and_decimals_are_found_again(numerator, denominator):
    assert meant(numerator / denominator) == Fraction(numerator, denominator)
    assert meant(numerator / 10**4) == Fraction(numerator, 10**4)


@given(st.integers(1, 10**7))
def test_risks_of_one_in_so_many_are_found_again(k):
    assert meant(1 / k) == Fraction(1, k)


@given(st.integers(0, 10**4), st.sampled_from([0.1, 0.2, 0.3, 0.01, 0.05, 0.7, 1 / 3, 2.5, 7, 100]))
def test_a_value_on_a_line_of_the_grid_is_in_the_box_above_it(line, side):
    value = float(line * meant(side))
    assert boxes([[value], [-value]], side, [True]).ravel().tolist() == [line, -line]
    assert boxes([[value], [-value]], side).ravel().tolist() == [line, -line]


def test_risk_and_k_agree_on_what_is_enough():
    for k in (11, 39_999, 40_000):
        table = table_of([[k], [k + 1]])
        for bound in (39_999, 40_000):
            problem = LatticeProblem(
                table, [GeneralLossMetric()], constraints=[KAnonymity() >= bound, ProsecutorRisk() <= 1 / bound]
            )
            G = problem.evaluate(np.array([[0]]), return_values_of=["G"])
            assert (G <= 0).ravel().tolist() == [k >= bound] * 2


@fewer(2)
@given(SEEDS)
def test_what_is_counted_again_is_what_was_promised_to_the_last_bit(seed):
    """Compare the engine's loops with pandas and exact numbers.

    Pandas counts with whole numbers, fractions and decimals.
    """
    own, rng = case(seed), np.random.default_rng(seed)
    rule = rules(rng, len(own.rows))[int(rng.integers(0, 3))]
    problem = LatticeProblem(own.table, own.objectives(), rule)
    x = every_node(problem)[int(rng.integers(0, problem.n_nodes))]
    if not problem.equivalence_classes(x).kept.any():
        return
    made = release(pd.DataFrame(own.rows), problem, x, suppressed="drop", anyway="it is only a test")
    assert len(made.claims) == len(problem.measured)
    assert made.claims.recounted.tolist() == made.claims.promised.tolist()


def test_a_quotient_is_exact_where_no_float_holds_the_denominator():
    for more in range(1, 60, 2):
        (found,) = _over_one_denominator(np.array([[3]]), [1], 2**53 + more)
        assert found == float(Fraction(3, 2**53 + more))
