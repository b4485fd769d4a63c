"""CE and RR of Dewri et al. 2010, section 7."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from moocore import is_nondominated

from pymoo_anon.fronts import ConvergenceMetric, RepresentationRatio

PF = np.array([[-100.0, 50.0], [-10.0, 20.0], [-2.0, 0.0]])

points = arrays(float, st.tuples(st.integers(1, 8), st.just(3)), elements=st.integers(-20, 20).map(float))


@given(points, points)
def test_ce_between_ideal_and_nadir_is_that_of_the_stretched_fronts(pf, F):
    span = np.ptp(pf, axis=0)
    span[span == 0] = 1
    near = [min(np.linalg.norm((f - p) / span) for p in pf) for f in F]
    assert ConvergenceMetric(pf, zero_to_one=True)(F) == pytest.approx(sum(near) / len(near))
    own = ConvergenceMetric(pf, total=True, zero_to_one=True, ideal=[-200] * 3, nadir=[200, 200, 600])
    near = [min(np.linalg.norm((f - p) / [400, 400, 800]) for p in pf) for f in F]
    assert own(F) == pytest.approx(sum(near))


def test_a_single_point_and_an_empty_front():
    assert ConvergenceMetric(PF)(PF[0]) == 0
    assert RepresentationRatio(PF)(PF[0]) == pytest.approx(1 / 3)
    assert ConvergenceMetric(PF[:1])([[-90.0, 50.0]]) == pytest.approx(0.1)
    assert RepresentationRatio(PF[:1])([[-100.5, 50.0]]) == 0
    assert RepresentationRatio(PF)(PF[:0]) == RepresentationRatio(PF)([]) == RepresentationRatio(PF)(None) == 0
    for total in (False, True):
        for nothing in (PF[:0], [], None):
            with pytest.raises(ValueError) as caught:
                ConvergenceMetric(PF, total)(nothing)
            assert str(caught.value) == "F must have at least one row, got none"


@pytest.mark.parametrize("indicator", [ConvergenceMetric(PF), RepresentationRatio(PF)], ids=["CE", "RR"])
def test_fronts_that_do_not_fit_are_refused(indicator):
    for F, shape in (([[1.0], [2.0]], "(2, 1)"), ([1.0, 2.0, 3.0], "(3,)"), (np.zeros((1, 2, 2)), "(1, 2, 2)")):
        with pytest.raises(ValueError) as caught:
            indicator(F)
        assert str(caught.value) == f"F must have 2 objectives, as pf does, got shape {shape}"
    with pytest.raises(ValueError, match=r"^F must hold numbers, got nan$"):
        indicator([[0.0, np.nan]])


@given(points, points)
def test_ce_is_the_mean_distance_to_the_nearest(pf, F):
    scale = [max(abs(value) for value in column) or 1.0 for column in pf.T]
    near = [min(np.linalg.norm((f - p) / scale) for p in pf) for f in F]
    assert ConvergenceMetric(pf)(F) == pytest.approx(sum(near) / len(near))
    assert ConvergenceMetric(pf, total=True)(F) == pytest.approx(sum(near))
    assert ConvergenceMetric(pf)(pf) == 0


@given(points, points, st.sampled_from([1.0, 2.0, 5.0]), st.lists(st.booleans(), min_size=3, max_size=3))
def test_rr_counts_the_occupied_boxes(pf, F, epsilon, maximize):
    def box(f):
        signs = np.where(maximize, -1, 1)
        return tuple(signs * np.floor(signs * f / epsilon))

    marked = np.array(sorted({box(f) for f in pf}))
    marked = {tuple(one) for one in marked[is_nondominated(marked)]}
    ratio = RepresentationRatio(pf, epsilon, maximize)
    assert ratio.boxes == marked
    assert ratio(F) == len(marked & {box(f) for f in F}) / len(marked)
    assert ratio(pf) == 1


def test_bad_arguments_are_refused():
    for pf, shape in ((np.empty((0, 2)), "(0, 2)"), (np.array([1.0, 2.0]), "(2,)"), (np.array([[np.nan]]), "(1, 1)")):
        for indicator in (ConvergenceMetric, RepresentationRatio):
            with pytest.raises(ValueError) as caught:
                indicator(pf)
            assert str(caught.value) == f"pf must be a front of finite values, an (n, n_obj) array, got shape {shape}"
    with pytest.raises(ValueError) as caught:
        RepresentationRatio(PF, epsilon=[1, 1, 1])
    assert str(caught.value) == "epsilon must be one number or one per objective: 2, got 3"
