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


#: Options of CE, and what it divides distances by, where that is not zero.
SCALES = [
    ({}, lambda pf: np.abs(pf).max(axis=0)),
    ({"zero_to_one": True}, lambda pf: np.ptp(pf, axis=0)),
    ({"zero_to_one": True, "ideal": [-200] * 3, "nadir": [200, 200, 600]}, lambda pf: np.array([400, 400, 800])),
]


@given(points, points, st.sampled_from(SCALES))
def test_ce_is_the_mean_distance_to_the_nearest(pf, F, scale):
    options, divisor = scale
    by = divisor(pf)
    near = [min(np.linalg.norm((f - p) / np.where(by == 0, 1, by)) for p in pf) for f in F]
    assert ConvergenceMetric(pf, **options)(F) == pytest.approx(sum(near) / len(near))
    assert ConvergenceMetric(pf, total=True, **options)(F) == pytest.approx(sum(near))
    assert ConvergenceMetric(pf, **options)(pf) == 0


def test_a_single_point_and_an_empty_front():
    assert ConvergenceMetric(PF)(PF[0]) == 0
    assert RepresentationRatio(PF)(PF[0]) == pytest.approx(1 / 3)
    assert ConvergenceMetric(PF[:1])([[-90.0, 50.0]]) == pytest.approx(0.1)
    assert RepresentationRatio(PF[:1])([[-100.5, 50.0]]) == 0
    assert RepresentationRatio(PF)(PF[:0]) == RepresentationRatio(PF)([]) == RepresentationRatio(PF)(None) == 0


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
