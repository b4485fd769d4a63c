"""Statistics of the comparison of algorithms, each beside its definition."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.moeas.statistics import effect, holm, interval, marked, median, p_value

SAMPLES = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0, np.inf]), min_size=1, max_size=12)


@given(SAMPLES, SAMPLES)
def test_the_effect_size_is_that_of_all_pairs(ours, theirs):
    wins = sum((a > b) + 0.5 * (a == b) for a, b in product(ours, theirs))
    assert effect(ours, theirs) == pytest.approx(wins / (len(ours) * len(theirs)))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_corrected_p_values_reject_what_the_procedure_of_holm_rejects(p):
    """Reject step by step until one p-value is too large.

    The least is compared with level / n, the next with level / (n - 1), and so on.
    """
    corrected = holm(p)
    for level in (0.01, 0.05, 0.3, 0.9):
        rejected = set()
        for step, i in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
            if p[i] * (len(p) - step) > level:
                break
            rejected.add(i)
        assert rejected == set(np.flatnonzero(corrected <= level))


def test_intervals_of_few_values_and_medians():
    assert interval([3, 1, 2]) == (1, 3)
    assert interval([7.0]) == (7, 7)
    assert (median([3, 1, np.inf]), median([4, 1, 2, 3])) == (3, 2)
    assert (interval(range(6)), interval(range(15)), interval(range(31))) == ((0, 5), (3, 11), (9, 21))


def test_p_values():
    assert p_value([1.0, 1.0], [1.0]) == 1
    assert p_value(range(20), range(20, 40)) < 1e-6
    assert p_value([0.5] * 10, [0.5] * 9 + [1.0]) > 0.1


def test_marks_tell_better_from_worse():
    ours = np.random.default_rng(1).random(31)
    others = (ours, ours + 2, ours - 2, ours + 0.01)
    assert marked([(own, ours) for own in others]) == [
        (0.5, "="), (1.0, "+"), (0.0, "−"), (pytest.approx(0.5, abs=0.1), "="),
    ]  # fmt: skip
    assert marked([([3.0] * 3, [1.0, 2.0, 2.5])]) == [(1.0, "")]
