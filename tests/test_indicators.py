"""CE and RR of Dewri et al. 2010, section 7."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from moocore import is_nondominated

from pymoo_anon.fronts import ConvergenceError, RepresentationRatio

PF = np.array([[-100.0, 50.0], [-10.0, 20.0], [-2.0, 0.0]])

points = arrays(float, st.tuples(st.integers(1, 8), st.just(3)), elements=st.integers(-20, 20).map(float))


def test_ce_by_hand():
    # Divided by 100 and 50 the first is 0.1 from (-1, 1); the other is a member.
    F = np.array([[-90.0, 50.0], [-10.0, 20.0]])
    assert ConvergenceError(PF)(F) == pytest.approx(0.05)
    assert ConvergenceError(PF, total=True)(F) == pytest.approx(0.1)


def test_rr_by_hand():
    assert RepresentationRatio(PF)(PF) == 1
    assert RepresentationRatio(PF)(np.array([[-10.0, 20.0], [-9.0, 1.0]])) == pytest.approx(1 / 3)
    # Boxes of 50 and 100: (-2, 0), (-1, 0) and (-1, 0), of which only the first is not dominated.
    assert RepresentationRatio(PF, epsilon=[50, 100])(np.array([[-60.0, 99.0]])) == 1
    assert RepresentationRatio(PF, epsilon=[50, 100])(np.array([[-10.0, 20.0]])) == 0


def test_rr_on_the_grid_of_the_natural_values():
    # Boxes of 50 and 100 on k of 100, 10 and 2: (2, 0), (0, 0) and (0, 0); the first is the best.
    ratio = RepresentationRatio(PF, [50, 100], [True, False])
    assert ratio.boxes == {(-2, 0)}
    assert ratio(np.array([[-149.0, 99.0]])) == 1
    assert ratio(np.array([[-99.0, 0.0]])) == 0
    # In F, 99 lies in the box from -100 to -51.
    assert RepresentationRatio(PF, [50, 100])(np.array([[-99.0, 0.0]])) == 1


def test_a_single_point_and_an_empty_front():
    assert ConvergenceError(PF)(PF[0]) == 0
    assert RepresentationRatio(PF)(PF[0]) == pytest.approx(1 / 3)
    assert RepresentationRatio(PF)(PF[:0]) == 0


@given(points, points)
def test_ce_is_the_mean_distance_to_the_nearest(pf, F):
    scale = [max(abs(value) for value in column) or 1.0 for column in pf.T]
    near = [min(np.linalg.norm((f - p) / scale) for p in pf) for f in F]
    assert ConvergenceError(pf)(F) == pytest.approx(sum(near) / len(near))
    assert ConvergenceError(pf, total=True)(F) == pytest.approx(sum(near))
    assert ConvergenceError(pf)(pf) == 0


@given(points, points, st.sampled_from([1.0, 2.0, 5.0]))
def test_rr_counts_the_occupied_boxes(pf, F, epsilon):
    marked = np.unique(np.floor(pf / epsilon), axis=0)
    marked = {tuple(box) for box in marked[is_nondominated(marked)]}
    occupied = {tuple(np.floor(f / epsilon)) for f in F}
    assert RepresentationRatio(pf, epsilon)(F) == len(marked & occupied) / len(marked)
    assert RepresentationRatio(pf, epsilon)(pf) == 1


def test_bad_arguments_are_refused():
    for pf, shape in ((np.empty((0, 2)), "(0, 2)"), (np.array([1.0, 2.0]), "(2,)"), (np.array([[np.nan]]), "(1, 1)")):
        for indicator in (ConvergenceError, RepresentationRatio):
            with pytest.raises(ValueError) as caught:
                indicator(pf)
            assert str(caught.value) == f"pf must be a front of finite values, an (n, n_obj) array, got shape {shape}"
    with pytest.raises(ValueError) as caught:
        RepresentationRatio(PF, epsilon=[1, 1, 1])
    assert str(caught.value) == "epsilon must be one number or one per objective: 2, got 3"
