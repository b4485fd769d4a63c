"""The comparator of hypervolumes against exact indices, volumes and verdicts."""

import math
import re
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vectors import POSITIVE, REAL, WHOLE, groups, log_of, measured, volume

from pymoo_anon.comparison import Hypervolume, TupleLoss

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
    text = (
        "the volume must be at most 1.8e+308 to be a float, got e ** 863.469; index() gives its logarithm, and "
        "compare() needs no more"
    )
    with pytest.raises(OverflowError, match=f"^{re.escape(text)}$"):
        Hypervolume().volume([1e15] * 25, [1] * 25)


def test_a_product_of_zero_is_a_volume_of_zero():
    assert Hypervolume().index((0, 5), (1, 1)) == -math.inf
    assert Hypervolume().index((1, 1), (0, 5)) == 0
    assert Hypervolume().compare((0, 5), (1, 1)) == "worse"
    assert Hypervolume().compare((0, 5), (0, 1)) == "equal"


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


def test_hypervolume_needs_values_that_are_not_negative():
    loss = measured(TupleLoss(), "T3a")
    text = (
        "values for a hypervolume must not be negative, got PropertyVector('loss' of 10 tuples, lower is better), "
        "which is compared as its negative; take a property that is better when higher, as TupleUtility instead of "
        "TupleLoss or ClassSize instead of BreachProbability"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        Hypervolume().index(loss, loss)
    with pytest.raises(ValueError, match=r"^values for a hypervolume must not be negative, got -2\.0$"):
        Hypervolume().compare([1, 2], [-1, -2])
