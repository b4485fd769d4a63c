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
