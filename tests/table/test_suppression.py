"""Rules of suppression: limits, sizes, and refusals."""

import numpy as np
import pytest

from pymoo_anon.table import AtMost, Below, Violating
from pymoo_anon.table.generalization import suppression_rule

SHARE = "suppression must be a share of the tuples from 0.0 to below 1.0, or a whole number of tuples from 0"


@pytest.mark.parametrize("rule", [AtMost, Violating])
@pytest.mark.parametrize("bad", [-1, -0.1, 1.0, float("nan"), True, "1", None])
def test_limits_that_are_refused(rule, bad):
    with pytest.raises(ValueError) as caught:
        rule(bad)
    assert str(caught.value) == f"{SHARE}, got {bad!r}"


@pytest.mark.parametrize("rule", [AtMost, Violating])
def test_a_limit_is_below_the_number_of_rows(rule):
    assert rule(9).limit_of(10) == 9
    with pytest.raises(ValueError) as caught:
        rule(10).limit_of(10)
    assert str(caught.value) == f"{SHARE} to 9, got 10"
    with pytest.raises(ValueError, match="to 9, got 10000"):
        rule(10**400).limit_of(10)


@pytest.mark.parametrize("bad", [0, -1, 2.0, True, "1"])
def test_sizes_that_are_refused(bad):
    with pytest.raises(ValueError) as caught:
        Below(bad)
    assert str(caught.value) == f"k of Below must be a positive whole number, got {bad!r}"


def test_a_size_is_at_most_the_number_of_rows():
    assert Below(10).grouping(10) == (0, 10)
    with pytest.raises(ValueError) as caught:
        Below(11).grouping(10)
    assert str(caught.value) == "k of Below must be at most 10, the rows, got 11"


def test_limits_are_numbers_of_tuples():
    assert AtMost(0.01).grouping(30162) == (301, 0)
    assert AtMost(0.29).grouping(100) == (29, 0)
    assert suppression_rule(np.float64(0.0)).grouping(100) == AtMost().grouping(100) == (0, 0)
    assert suppression_rule(np.int64(99)).grouping(100) == (99, 0)
    assert Below(np.int64(100)).grouping(100) == (0, 100)
    assert Below(3).limit_of(100) is None
    assert Violating(0.05).limit_of(100) == 5
    assert Violating(0.05).grouping(100) == (0, 0)


@pytest.mark.parametrize("bad", ["1", None, AtMost, [1]])
def test_what_is_no_rule_is_refused(bad):
    with pytest.raises(TypeError) as caught:
        suppression_rule(bad)
    assert str(caught.value) == f"suppression must be a number, AtMost, Below or Violating, got {bad!r}"
