"""Dominance among points and boxes: hand cases and plain twins."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from strategies import unchanged

from pymoo_anon.fronts.archive import dominance_fitness, update_boxes

points = st.tuples(st.integers(0, 12), st.integers(1, 3)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(-6, 6).map(float))
)


def dominates(a, b):
    return all(x <= y for x, y in zip(a, b, strict=True)) and tuple(a) != tuple(b)


@given(F=points, data=st.data())
def test_update_boxes_is_algorithm_1(F, data):
    boxes = np.floor(F / data.draw(st.sampled_from([1.0, 2.0, 3.5])))
    n_members = data.draw(st.integers(0, len(F)))

    def box_dominates(a, b):
        return dominates(F[a], F[b]) if tuple(boxes[a]) == tuple(boxes[b]) else dominates(boxes[a], boxes[b])

    archive = list(range(n_members))
    for t in range(n_members, len(F)):
        archive = [m for m in archive if not box_dominates(t, m)]
        dominated = any(box_dominates(m, t) for m in archive)
        in_the_box = any(tuple(boxes[m]) == tuple(boxes[t]) for m in archive)
        if not dominated and not in_the_box:
            archive.append(t)
    with unchanged(F, boxes):
        assert update_boxes(F, boxes, n_members).tolist() == archive


@given(points)
def test_dominance_fitness_sums_the_counts_of_the_dominators(F):
    pairs = [(a, b) for a in range(len(F)) for b in range(len(F)) if dominates(F[a], F[b])]
    dominated_by = Counter(a for a, _ in pairs)
    expected = [sum(dominated_by[a] for a, c in pairs if c == b) for b in range(len(F))]
    assert dominance_fitness(F).tolist() == expected


def kept(*rows, n_members=0, side=10.0):
    F = np.array(rows, dtype=float)
    return update_boxes(F, np.floor(F / side), n_members).tolist()


def test_who_stays_by_hand():
    # In one box the dominating one stays, whichever came first. Of incomparable and of equal ones the first stays.
    assert kept([5, 5], [4, 4]) == [1]
    assert kept([4, 4], [5, 5]) == [0]
    assert kept([4, 5], [5, 4]) == [0]
    assert kept([4, 4], [4, 4]) == [0]
    assert kept([4, 5], [4, 4]) == [1]
    # In different boxes the boxes decide: (19, 1) is no better than (9, 2) there.
    assert kept([9, 2], [19, 1]) == [0]
    assert kept([19, 1], [9, 2]) == [1]
    assert kept([9, 12], [12, 9]) == [0, 1]
    # A candidate drives out all that it dominates, and comes last.
    assert kept([50, 50], [1, 99], [60, 45], [20, 20]) == [1, 3]
    # Members are not compared with each other.
    assert kept([5, 5], [4, 4], n_members=2) == [0, 1]
    assert kept([5, 5], [40, 4], [3, 3], n_members=2) == [2]


def test_fitness_by_hand():
    # The first dominates all, the second the last two; the third and fourth are equal.
    F = np.array([[0, 0], [1, 1], [2, 2], [2, 2], [0, 5]], dtype=float)
    assert dominance_fitness(F).tolist() == [0, 4, 6, 6, 4]
    assert dominance_fitness(F[:1]).tolist() == [0]
    assert dominance_fitness(F[:0]).tolist() == []
