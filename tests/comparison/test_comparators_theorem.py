"""Theorem 1 of Dewri et al. 2009 and its corollaries."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vectors import POSITIVE, groups

from pymoo_anon.comparison import Dominance, Minimum, Rank, gini


def witnesses(n_tuples):
    """Return the vectors of the proof, three per tuple.

    For tuple i they are (0, .., 1, .., 0), (0, .., 2, .., 0) and (3, .., 0, .., 3).
    """
    raised = np.eye(n_tuples)
    return np.vstack([raised, 2 * raised, 3 * (1 - raised)])


def mistakes(indices, vectors, strong=False):
    """Count the ordered pairs that their indices contradict.

    Args:
        indices: (n, n_vectors) array, n unary indices of every vector.
        vectors: The vectors.
        strong: Whether strong dominance is meant.
    """
    at_least = np.all(indices[:, :, None] >= indices[:, None, :], axis=0)
    more = np.any(indices[:, :, None] > indices[:, None, :], axis=0)
    played = Dominance().tournament(vectors)
    said, found = (at_least & more, played.outcomes == 1) if strong else (at_least, played.indices == 1)
    return (said != found).sum()


both = pytest.mark.parametrize("strong", [False, True])


@both
@given(groups(n=4, of=st.integers(0, 3).map(float), size=4))
def test_the_values_of_all_tuples_are_enough(strong, group):
    """Reach the bound of theorem 1 with n = N."""
    rows = np.array(group.plain)
    assert mistakes(rows.T, group.vectors, strong) == 0


@both
@given(data=st.data(), n_tuples=st.integers(2, 4))
def test_fewer_indices_than_tuples_are_wrong_somewhere(strong, data, n_tuples):
    """Contradict dominance by any n < N numbers per vector (theorem 1)."""
    vectors = list(witnesses(n_tuples))
    n = data.draw(st.integers(1, n_tuples - 1))
    given_numbers = st.lists(st.integers(-3, 3), min_size=len(vectors), max_size=len(vectors))
    indices = np.array(data.draw(st.lists(given_numbers, min_size=n, max_size=n)))
    assert mistakes(indices, vectors, strong) > 0


@both
def test_all_values_but_one_are_not_enough(strong):
    """Leave out each of the N values, the nearest case."""
    for n_tuples in (2, 3, 6):
        vectors = witnesses(n_tuples)
        for missing in range(n_tuples):
            assert mistakes(np.delete(vectors, missing, axis=1).T, list(vectors), strong) > 0
        assert mistakes(vectors.T, list(vectors), strong) == 0


@pytest.mark.parametrize("n_tuples", [5, 8])
@both
def test_unary_comparators_cannot_take_the_place_of_dominance(strong, n_tuples):
    vectors = list(witnesses(n_tuples))
    unary = [
        [Minimum().index(one) for one in vectors],
        [-Rank(3).index(one) for one in vectors],
        [np.mean(one) for one in vectors],
        [1 - gini(one) for one in vectors],
    ]
    for n in range(1, 5):
        for some in combinations(unary, n):
            assert mistakes(np.array(some), vectors, strong) > 0


def test_two_tuples_as_in_the_proof():
    """Put incomparable vectors into an order by any one number."""
    assert Dominance().compare([1, 2], [2, 1]) == "incomparable"
    assert Minimum().compare([1, 2], [2, 1]) == Rank(0).compare([1, 2], [2, 1]) == "equal"


def test_corollary_1_holds_for_sets_that_hold_the_witnesses_and_not_for_all():
    """Match dominance of class sizes by one index, by two for three tuples."""
    two, three = ([list(sizes) for sizes in sorted(class_sizes(n))] for n in (2, 3))
    assert two == [[1, 1], [2, 2]]
    assert mistakes(np.array([[Minimum().index(one) for one in two]]), two) == 0
    assert three == [[1, 1, 1], [1, 2, 2], [2, 1, 2], [2, 2, 1], [3, 3, 3]]
    assert mistakes(np.array([[0, 1, 2, 3, 4], [0, 3, 2, 1, 4]]), three) == 0
    assert mistakes(np.array([[Minimum().index(one) for one in three]]), three) > 0


def class_sizes(n_tuples):
    """Return every possible vector of class sizes."""
    found = set()
    for classes in product(range(n_tuples), repeat=n_tuples):
        found.add(tuple(classes.count(one) for one in classes))
    return found


@both
@given(st.integers(1, 3).flatmap(lambda r: st.lists(groups(n=3, of=POSITIVE, size=3), min_size=r, max_size=r)))
def test_sets_dominate_as_one_long_vector_of_all_their_values(strong, given_groups):
    """Treat r vectors of N values as one of length r N."""
    sets = [[group.plain[i] for group in given_groups] for i in range(3)]
    long = [np.concatenate(one) for one in sets]
    played = Dominance().tournament(sets)
    np.testing.assert_array_equal(played.indices, Dominance().tournament(long).indices)
    np.testing.assert_array_equal(played.outcomes, Dominance().tournament(long).outcomes)
    assert mistakes(np.array(long).T, sets, strong) == 0


@both
@given(data=st.data(), r=st.integers(1, 3), n_tuples=st.integers(1, 2))
def test_fewer_indices_than_values_of_a_set_are_wrong_somewhere(strong, data, r, n_tuples):
    """Contradict dominance by n < r N numbers per set (corollary 2)."""
    if r * n_tuples == 1:
        return
    sets = [one.reshape(r, n_tuples) for one in witnesses(r * n_tuples)]
    n = data.draw(st.integers(1, r * n_tuples - 1))
    given_numbers = st.lists(st.integers(-3, 3), min_size=len(sets), max_size=len(sets))
    indices = np.array(data.draw(st.lists(given_numbers, min_size=n, max_size=n)))
    assert mistakes(indices, sets, strong) > 0
