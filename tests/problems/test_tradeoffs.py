"""Trade-offs between points: shortfalls, next steps, and knees of a front."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from work import work_of

from pymoo_anon.problems.tradeoffs import first_of, knee_of, minimised, next_better, next_steps, shortfalls, steadiness


def test_shortfalls_count_in_logarithms_what_spans_more_than_two_decades():
    np.testing.assert_allclose(shortfalls([[1], [10], [1000]], [True])[:, 0], [1, 2 / 3, 0])
    np.testing.assert_allclose(shortfalls([[1], [50.5], [100]], [True])[:, 0], [1, 0.5, 0])
    np.testing.assert_allclose(shortfalls([[2], [101], [200]], [True])[:, 0], [1, 0.5, 0])
    np.testing.assert_allclose(shortfalls([[0], [500], [1000]], [False])[:, 0], [0, 0.5, 1])


def test_shortfalls_of_infinite_values_are_the_ends():
    np.testing.assert_array_equal(shortfalls([[np.inf], [1], [3]], [False])[:, 0], [1, 0, 1])
    np.testing.assert_array_equal(shortfalls([[np.inf], [1], [3], [-np.inf]], [True])[:, 0], [0, 1, 0, 1])
    np.testing.assert_array_equal(shortfalls([[2], [2]], [True])[:, 0], [0, 0])
    np.testing.assert_array_equal(shortfalls([[np.inf], [np.inf]], [False])[:, 0], [1, 1])


@given(st.lists(st.tuples(*[st.integers(1, 5)] * 3), min_size=1, max_size=9), st.tuples(*[st.booleans()] * 3))
def test_steadiness_is_the_least_loss_for_a_gain_over_all_steps(rows, maximize):
    values = np.array(rows, dtype=float)
    short = shortfalls(values, maximize)
    for row, found in enumerate(steadiness(values, maximize)):
        expected = np.inf
        others = next_better(minimised(values, maximize), short)[row]
        for other in others[others >= 0]:
            gain = sum(max(short[row, j] - short[other, j], 0) for j in range(3))
            loss = sum(max(short[other, j] - short[row, j], 0) for j in range(3))
            expected = min(expected, loss / gain)
        assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    ("ks", "losses", "knee"),
    [
        # A bend towards the ideal, and one in a front that bends away from it.
        ([2, 18, 20], [0, 1, 10], 1),
        ([10, 20, 60, 70, 80], [0, 40, 45, 85, 95], 2),
    ],
)
def test_from_a_knee_every_step_costs_much(ks, losses, knee):
    values = np.column_stack([ks, losses])
    assert np.argmax(steadiness(values, [True, False])[1:-1]) + 1 == knee


def test_an_end_of_a_front_is_no_knee():
    values = [[2, 1], [3, 5], [4, 6], [7, 9]]
    assert np.argmax(steadiness(values, [True, False])) == 0
    assert knee_of(values, [True, False]) == 2


def test_the_knee_of_a_long_front_is_found_by_sorting():
    """Compare no pairs of points, in a loop or at once."""
    x = np.linspace(0, 1, 100_000)
    values = np.column_stack([x, 1 - x**2, x % 0.3])
    knee, calls, peak = work_of(knee_of, values, [False] * 3)
    assert knee is not None
    assert calls < 1000
    assert peak < 20 * values.nbytes


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=1, max_size=12))
def test_the_first_of_rows(rows):
    values = np.array(rows)
    expected = min(range(len(rows)), key=lambda row: (rows[row], row))
    assert first_of(values) == expected
    assert first_of(values[:, 0], values[:, 1:]) == expected


def test_a_step_leads_to_the_point_that_costs_least():
    # The third point is best in sum, as its k is so great.
    values = [[1, 5, 10], [2, 9, 15], [2, 5000, 55], [3, 4, 100]]
    steps = next_steps(["l", "k", "GLM"], values, [True, True, False], 0)
    assert [(step.better_in, step.row) for step in steps] == [("l", 1), ("k", 1)]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=10), st.data())
def test_the_next_better_points(rows, data):
    values = np.array(rows, dtype=float)
    maximize = data.draw(st.tuples(*[st.booleans()] * 3))
    short = shortfalls(values, maximize)
    expected = np.full(values.shape, -1)
    for row, j in product(range(len(rows)), range(3)):
        sign = -1 if maximize[j] else 1
        better = [r for r in range(len(rows)) if sign * values[r, j] < sign * values[row, j]]
        if better:
            others = [i for i in range(3) if i != j]
            costs = values * np.where(maximize, -1, 1)
            expected[row, j] = min(
                better,
                key=lambda r: (-sign * values[r, j], short[r][others].sum(), *costs[r], r),
            )
    assert next_better(minimised(values, maximize), short).tolist() == expected.tolist()
