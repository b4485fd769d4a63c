"""Operators of levels and of bit strings: examples, slow twins, distribution of draws, and use by any algorithm."""

from collections import Counter
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymoo.core.crossover import Crossover
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.optimize import minimize
from strategies import Partition, cuts, every_string, partitions
from tasks import nsga2

from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.operators import *
from pymoo_anon.problems import BitStringProblem, LatticeProblem
from pymoo_anon.table import Hierarchy, Microdata, Taxonomy


def box(lengths):
    return Problem(n_var=len(lengths), n_obj=2, xl=0, xu=np.array(lengths, dtype=float), vtype=int)


lattices = st.lists(st.integers(0, 6), min_size=1, max_size=8)
small_lattices = st.lists(st.integers(0, 4), min_size=1, max_size=4)
seeds = st.integers(0, 2**32 - 1)


@given(lattices, st.integers(1, 30), seeds)
def test_sampling_holds_both_ends_and_stays_inside(lengths, n, seed):
    X = LatticeSampling().do(box(lengths), n, random_state=np.random.default_rng(seed)).get("X")
    assert X.shape == (n, len(lengths))
    assert np.issubdtype(X.dtype, np.integer)
    assert X[0].tolist() == lengths
    assert n == 1 or X[1].tolist() == [0] * len(lengths)
    assert (X >= 0).all()
    assert (lengths >= X).all()


@given(lattices, st.integers(1, 20), seeds)
def test_crossover_swaps_all_that_follows_one_point(lengths, n, seed):
    rng = np.random.default_rng(seed)
    n_var = len(lengths)
    X = rng.integers(0, np.array(lengths) + 1, size=(2, n, n_var))
    X.flags.writeable = False
    children = LevelCrossover()._do(box(lengths), X, random_state=np.random.default_rng(seed))
    assert children.dtype == X.dtype
    for mating in range(n):
        (a, b), (c, d) = X[:, mating], children[:, mating]
        possible = [np.r_[a[:p], b[p:]].tolist() + np.r_[b[:p], a[p:]].tolist() for p in range(1, n_var)]
        assert np.r_[c, d].tolist() in (possible or [np.r_[a, b].tolist()])


@given(lattices, st.integers(1, 20), seeds)
def test_mutation_is_a_single_step_inside_the_lattice(lengths, n, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, np.array(lengths) + 1, size=(n, len(lengths)))
    X.flags.writeable = False
    mutant = SingleStepMutation(0.7)._do(box(lengths), X, random_state=rng)
    assert mutant.dtype == X.dtype
    assert (np.abs(mutant - X) <= 1).all()
    assert (mutant >= 0).all()
    assert (mutant <= lengths).all()


def lattice():
    return LatticeProblem(make_census(300), [KAnonymity(), GeneralLossMetric()], suppression=0.05)


def strings():
    return BitStringProblem(make_census(300), [KAnonymity(), GeneralLossMetric()])


def test_the_tournament_and_whole_floats_serve_other_algorithms():
    problem = lattice()
    X = LatticeSampling().do(problem, 12, random_state=np.random.default_rng(0)).get("X").astype(float)
    algorithm = nsga2(12, sampling=X, selection=DominanceCountTournament())
    res = minimize(problem, algorithm, ("n_gen", 5), seed=1)
    assert np.array_equal(problem.evaluate(res.X), res.F)


def test_surrogates_serve_any_variables():
    own = lattice()
    X = np.random.default_rng(0).integers(0, own.highest + 1, size=(2, 3, own.n_var))
    children = ReducedSurrogateCrossover()._do(own, X, random_state=np.random.default_rng(0))
    assert children.dtype == int
    assert np.array_equal(np.sort(children, axis=0), np.sort(X, axis=0))


def test_problems_that_do_not_say_what_their_variables_are_have_levels():
    own = Problem(n_var=4, xl=0, xu=2)
    assert own.vtype is None
    X = LatticeSampling().do(own, 5, random_state=np.random.default_rng(0)).get("X")
    assert X.dtype == int
    assert X[:2].tolist() == [[2] * 4, [0] * 4]


def test_of_a_string_and_an_immigrant_the_first_child_is_taken():
    class Parents(Crossover):
        def _do(self, problem, X, **kwargs):
            return X

    own = strings()
    X = ~np.eye(3, own.n_var, dtype=bool)
    stays = RandomImmigrantMutation(1.0, Parents(2, 2))._do(own, X, random_state=np.random.default_rng(0))
    assert stays.tolist() == X.tolist()


@given(small_lattices, st.integers(1, 30), seeds)
def test_corners_come_first_and_once(lengths, n, seed):
    X = CornerSampling().do(box(lengths), n, random_state=np.random.default_rng(seed)).get("X")
    low = [0] * len(lengths)
    expected = [lengths, low]
    for j in range(len(lengths)):
        expected.append([0 if i == j else length for i, length in enumerate(lengths)])
        expected.append([length if i == j else 0 for i, length in enumerate(lengths)])
    corners = [list(corner) for corner in dict.fromkeys(map(tuple, expected))][:n]
    assert X.dtype == np.int64
    assert X.shape == (n, len(lengths))
    assert X[: len(corners)].tolist() == corners
    assert ((X >= 0) & (lengths >= X)).all()


@given(small_lattices, st.data())
def test_neighbors_are_the_nodes_at_a_distance(lengths, data):
    x = data.draw(st.tuples(*(st.integers(0, length) for length in lengths)))
    every = list(product(*(range(length + 1) for length in lengths)))
    for distance in (1, 2, 3):
        X = LevelNeighborhood(reach=3).do(box(lengths), np.array(x), distance)
        expected = [y for y in every if sum(abs(a - b) for a, b in zip(x, y, strict=True)) == distance]
        assert sorted(map(tuple, X.tolist())) == expected
        assert X.dtype == np.int64


def free(*lengths, trees=None):
    """Build a problem with one attribute per given number of bits."""
    domains = {f"q{j}": [f"v{i}" for i in range(length + 1)] for j, length in enumerate(lengths)}
    frame = pd.DataFrame({name: domain[:1] for name, domain in domains.items()})
    table = Microdata.from_frame(frame, {name: Hierarchy.flat(domain) for name, domain in domains.items()})
    taxonomies = {name: Taxonomy(tree) for name, tree in (trees or {}).items()}
    return BitStringProblem(table, [KAnonymity(), GeneralLossMetric()], taxonomies=taxonomies)


WORK = {  # Lunacek et al. 2006, Figure 2, with the leaves A to H
    "name": "work class",
    "children": [
        {"name": "self", "children": [{"name": "v0"}, {"name": "v1"}]},
        {"name": "government", "children": [{"name": "v2"}, {"name": "v3"}, {"name": "v4"}]},
        {"name": "v5"},
        {"name": "without pay", "children": [{"name": "v6"}, {"name": "v7"}]},
    ],
}
WORKCLASS = free(7, trees={"q0": WORK})


def bits(text):
    return np.array([character == "1" for character in text.replace(" ", "")])


def shown(x):
    return "".join("01"[int(bit)] for bit in x)


def many(problem_, crossover, a, b, n=1, seed=0):
    """Return n pairs of children of the same two parents as texts."""
    X = np.stack([np.repeat(bits(parent)[None], n, axis=0) for parent in (a, b)])
    X.flags.writeable = False
    children = crossover._do(problem_, X, random_state=np.random.default_rng(seed))
    assert children.dtype == bool
    assert children.shape == X.shape
    return [(shown(c), shown(d)) for c, d in zip(*children, strict=True)]


def places(a, b, boundaries=()):
    """Return allowed cut places by the rule, stretch by stretch."""
    marks = []  # (place, do they agree, may it be cut here)
    for place in range(len(a) + 1):
        if place in boundaries:
            marks.append((place, True, True))
        if place < len(a):
            marks.append((place, a[place] == b[place], a[place] and b[place]))
    found, since = [], 0
    for at, (place, agree, cut) in enumerate(marks):
        if not cut or not agree:
            continue
        before = [agreed for _, agreed, _ in marks[since:at]]
        # A stretch of agreement somewhere, and a disagreement somewhere after it.
        if True in before and False in before[before.index(True) :]:
            found.append(place)
            since = at
    return found


def crossed(a, b, points):
    """Cross two parents at each of the points."""
    one, other = [], []
    for place in range(len(a)):
        mine, theirs = (a, b) if sum(point <= place for point in points) % 2 == 0 else (b, a)
        one.append(mine[place])
        other.append(theirs[place])
    return tuple(one), tuple(other)


def alike(outcomes, expected, n):
    """Check that outcomes are equally frequent, within five standard deviations."""
    counts, share = Counter(outcomes), n / len(expected)
    assert set(counts) == set(expected)
    assert np.allclose(list(counts.values()), share, atol=5 * np.sqrt(share) + 1)


def test_the_worked_example_of_the_paper():
    assert WORKCLASS.n_strings == 9
    # The paper draws its point behind the shared 1, which makes the same children as one before it.
    assert places(bits("0111110"), bits("0100111")) == [4]
    for boundaries in (False, True):
        children = many(WORKCLASS, PartitionCrossover(boundaries=boundaries), "0111110", "0100111", n=50)
        assert set(children) == {("0111111", "0100110")}
        turned = many(WORKCLASS, PartitionCrossover(boundaries=boundaries), "0100111", "0111110", n=50)
        assert set(turned) == {("0100110", "0111111")}


def valid_parents(data, n=6):
    """Draw a problem of random taxonomies and valid parents that partly agree."""
    partition: Partition = data.draw(partitions())
    own = BitStringProblem(partition.table.microdata, [KAnonymity()], **partition.arguments)
    rng = np.random.default_rng(data.draw(seeds))
    X = np.stack([own.sample(n, rng), own.sample(n, rng)])
    # Some attributes of the second parent are those of the first, so that there are stretches of agreement.
    for name in partition.domains:
        same = rng.random(n) < 0.4
        X[1, same, own.bits_of(name)] = X[0, same, own.bits_of(name)]
    X.flags.writeable = False
    return own, X, rng


@given(st.data())
def test_children_are_valid_and_those_of_the_twin(data):
    own, X, rng = valid_parents(data)
    n_points, boundaries = data.draw(st.integers(1, 3)), data.draw(st.booleans())
    before = X.copy()
    children = PartitionCrossover(n_points, boundaries)._do(own, X, random_state=rng)
    np.testing.assert_array_equal(X, before)
    assert children.dtype == bool
    assert own.is_valid(children[0]).all()
    assert own.is_valid(children[1]).all()
    np.testing.assert_array_equal(children[0] ^ children[1], X[0] ^ X[1])
    # An attribute without bits at either end of the string makes no boundary: it might as well not be there.
    edges = sorted({*own.bit_offsets.tolist()} - {0, own.n_var}) if boundaries else []
    for (a, b), (c, d) in zip(X.swapaxes(0, 1).tolist(), children.swapaxes(0, 1).tolist(), strict=True):
        where = places(a, b, edges)
        possible = [crossed(a, b, points) for points in combinations(where, min(n_points, len(where)))]
        assert (tuple(c), tuple(d)) in possible


@pytest.mark.parametrize("n_points", [1, 2, 3, 9])
@pytest.mark.parametrize("boundaries", [False, True])
def test_every_choice_of_places_is_as_likely(n_points, boundaries):
    own = free(4, 3, 5)
    a, b = "1011" "010" "10111", "1101" "001" "01101"  # fmt: skip
    where = places(bits(a), bits(b), [4, 7] if boundaries else [])
    assert where == ([3, 7, 9, 11] if boundaries else [3, 9, 11])
    chosen = list(combinations(where, min(n_points, len(where))))
    possible = [tuple(map(shown, crossed(bits(a), bits(b), points))) for points in chosen]
    assert len(set(possible)) == len(possible)
    children = many(own, PartitionCrossover(n_points, boundaries), a, b, n=2000 * len(possible))
    alike(children, possible, 2000 * len(possible))


@given(st.integers(1, 12), st.integers(1, 8), seeds)
def test_reduced_surrogates_swap_one_stretch_of_the_differences(n_bits, n, seed):
    rng = np.random.default_rng(seed)
    X = rng.random((2, n, n_bits)) < 0.5
    X.flags.writeable = False
    children = ReducedSurrogateCrossover()._do(free(n_bits), X, random_state=rng)
    assert children.dtype == bool
    for (a, b), (c, d) in zip(X.swapaxes(0, 1), children.swapaxes(0, 1), strict=True):
        where = np.flatnonzero(a != b)
        np.testing.assert_array_equal(c ^ d, a ^ b)
        if len(where) < 2:
            assert (shown(c), shown(d)) == (shown(a), shown(b))
            continue
        swapped = np.flatnonzero(c != a)
        assert 0 < len(swapped) < len(where)
        at = np.searchsorted(where, swapped)
        assert where[at].tolist() == swapped.tolist()
        assert (np.diff(at) == 1).all()
        assert shown(c) not in (shown(a), shown(b))
        assert shown(d) not in (shown(a), shown(b))


def test_every_pair_of_points_is_as_likely():
    a, b = "0101010101", "0001110111"
    where = np.flatnonzero(bits(a) != bits(b))
    assert len(where) == 3
    possible = []
    # The points stand before each difference; the ends of the string count as one point.
    for low, high in combinations(range(3), 2):
        c, d = bits(a), bits(b)
        c[where[low:high]], d[where[low:high]] = bits(b)[where[low:high]], bits(a)[where[low:high]]
        possible.append((shown(c), shown(d)))
    alike(many(free(10), ReducedSurrogateCrossover(), a, b, n=9000), possible, 9000)


def test_bits_flip_at_the_rate_of_their_attribute():
    own = free(1, 4, 0, 10)
    X = np.zeros((20_000, 15), bool)
    X.flags.writeable = False
    flips = PerAttributeBitMutation()._do(own, X, random_state=np.random.default_rng(0))
    assert flips.dtype == bool
    assert np.allclose(flips.mean(axis=0), [1] + [1 / 4] * 4 + [1 / 10] * 10, atol=0.015)
    back = PerAttributeBitMutation(0.001)._do(own, ~X, random_state=np.random.default_rng(0))
    assert (~back).mean() == pytest.approx(0.001, rel=0.2)
    # Each bit by itself.
    both = np.corrcoef(flips[:, 5:].T)
    assert np.abs(both - np.eye(10)).max() < 0.05


@given(st.data())
def test_immigrants_keep_strings_valid(data):
    own, X, rng = valid_parents(data, n=10)
    for crossover in (None, PartitionCrossover(3, boundaries=True)):
        mutant = RandomImmigrantMutation(1.0, crossover)._do(own, X[0], random_state=rng)
        assert mutant.dtype == bool
        assert mutant.shape == X[0].shape
        assert own.is_valid(mutant).all()


def test_immigrants_come_with_their_probability_and_bring_in_what_is_missing():
    own = free(6, 6)
    strings = np.tile(bits("110110" "110110"), (4000, 1))  # fmt: skip
    changed = []
    for prob in (0.0, 0.3, 1.0):
        pop = RandomImmigrantMutation(prob).do(own, Population.new(X=strings), random_state=np.random.default_rng(0))
        assert pop.get("X").dtype == bool
        changed.append((pop.get("X") != strings).any(axis=1).mean())
        assert prob == 0 or (~pop.get("X") & strings).any()
    assert changed[0] == 0
    assert changed[1] == pytest.approx(0.3 * changed[2], abs=0.03)
    assert changed[2] > 0.3
    assert len(np.unique(pop.get("X"), axis=0)) > 20


@given(st.data())
def test_repair_gives_the_closest_and_leaves_valid_strings(data):
    own, X, rng = valid_parents(data)
    wild = rng.random(X[0].shape) < 0.5
    wild.flags.writeable = False
    fixed = ClosestValidRepair()._do(own, wild, random_state=rng)
    assert fixed.dtype == bool
    assert own.is_valid(fixed).all()
    nearest = (own.closest(wild) ^ wild).sum(axis=1)
    assert (fixed ^ wild).sum(axis=1).tolist() == nearest.tolist()
    np.testing.assert_array_equal(ClosestValidRepair()._do(own, X[1], random_state=rng), X[1])


def test_repair_of_the_papers_offspring():
    """Repair 0110111 to AB-C-D-E-F-G-H or AB-CDE-F-G-H with equal probability."""
    drawn = WORKCLASS.closest(np.tile(bits("0110111"), (4000, 1)), np.random.default_rng(0))
    alike(map(shown, drawn), ["0111111", "0100111"], 4000)


@pytest.mark.parametrize("n", [1, 2, 3, 3000])
def test_sampling_holds_both_ends_and_draws_every_string_alike(n):
    X = BitStringSampling().do(WORKCLASS, n, random_state=np.random.default_rng(0)).get("X")
    assert X.shape == (n, 7)
    assert X.dtype == bool
    assert X[:2].tolist() == [[False] * 7, [True] * 7][:n]
    if n > 3:
        alike([tuple(x) for x in X[2:].tolist()], cuts(WORK), n - 2)
    drawn = BitStringSampling().do(free(3), 8002, random_state=np.random.default_rng(0)).get("X")[2:]
    alike([tuple(x) for x in drawn.tolist()], [tuple(x) for x in every_string(3).tolist()], 8000)


def test_crossovers_happen_with_their_probability():
    parents = [Population.new(X=np.array([bits("101101"), bits("110110")])) for _ in range(4000)]
    for crossover in (PartitionCrossover, ReducedSurrogateCrossover):
        for prob in (0.0, 0.8, 1.0):
            off = crossover(prob=prob).do(free(6), parents, random_state=np.random.default_rng(0)).get("X")
            assert off.dtype == bool
            assert (off[:4000] != bits("101101")).any(axis=1).mean() == pytest.approx(prob, abs=0.02)
