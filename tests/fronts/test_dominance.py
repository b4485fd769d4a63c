"""Dominance among points and boxes: hand cases and plain twins."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pymoo_anon.fronts.archive import dominance_fitness

points = st.tuples(st.integers(0, 12), st.integers(1, 3)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(-6, 6).map(float))
)


def dominates(a, b):
    return all(x <= y for x, y in zip(a, b, strict=True)) and tuple(a) != tuple(b)


@given(points)
def test_dominance_fitness_sums_the_counts_of_the_dominators(F):
    pairs = [(a, b) for a in range(len(F)) for b in range(len(F)) if dominates(F[a], F[b])]
    dominated_by = Counter(a for a, _ in pairs)
    expected = [sum(dominated_by[a] for a, c in pairs if c == b) for b in range(len(F))]
    assert dominance_fitness(F).tolist() == expected
