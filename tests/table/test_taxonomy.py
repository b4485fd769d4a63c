"""Taxonomies: cuts counted, checked, repaired and drawn, against every cut written out."""

import copy
import json
import pickle
from functools import cache
from importlib.resources import files
from itertools import pairwise

import numpy as np
import pytest
from errors import refused
from hypothesis import given
from hypothesis import strategies as st
from strategies import cuts, every_string, grown, trees

from pymoo_anon.table import Hierarchy, Taxonomy
from pymoo_anon.table.taxonomy import closest_cuts

PACKAGED = {"workclass": (8, 9), "education": (16, 46), "marital-status": (7, 11), "native-country": (41, 4135)}


@cache
def packaged(name):
    return json.loads((files("pymoo_anon.datasets") / "taxonomies" / f"{name}.json").read_text(encoding="utf-8"))


def flat(n, name="root"):
    return {"name": name, "children": [{"name": f"{name}{i}"} for i in range(n)]}


WORK = packaged("workclass")
WORKCLASS = Taxonomy(WORK)
CHAIN = grown(lambda low, high: low, 12)  # one leaf, and the rest as the other child, eleven times
PAIRS = {"name": "root", "children": [flat(2, f"pair{i}") for i in range(6)]}


def nodes(tree, first=0):
    """Return name, depth, leaf range and kind of every node in preorder."""
    found, at = [], first
    for child in tree.get("children", []):
        below = nodes(child, at)
        found += [(name, depth + 1, *rest) for name, depth, *rest in below]
        at = below[0][3]
    return [(tree["name"], 0, first, max(at, first + 1), not tree.get("children")), *found]


def n_tilings(tree):
    """Count the node sequences that cover all leaves, from left to right."""
    spans = [(first, last) for _, _, first, last, _ in nodes(tree)]
    ways = {0: 1}
    for end in range(1, spans[0][1] + 1):
        ways[end] = sum(ways[first] for first, last in spans if last == end)
    return ways[spans[0][1]]


def nearest(tree, strings):
    """Return all cuts, and a mask of those nearest to each string."""
    every = np.array(cuts(tree), dtype=bool)
    distances = (strings[:, None] != every).sum(axis=2)
    return every, distances == distances.min(axis=1, keepdims=True)


def assert_alike(counts, n_kinds):
    """Check that chi-square stays far below its one-in-a-million quantile."""
    assert len(counts) == n_kinds
    counts = np.array(list(counts))
    mean = counts.sum() / n_kinds
    df = n_kinds - 1
    assert ((counts - mean) ** 2 / mean).sum() < df + 6 * np.sqrt(2 * df) + 12


@given(trees(max_leaves=9))
def test_cuts_are_counted_checked_and_found_as_by_hand(tree):
    taxonomy, every = Taxonomy(tree), cuts(tree)
    assert taxonomy.n_cuts == len(every) == len(set(every)) == n_tilings(tree)
    strings = every_string(taxonomy.n_bits)
    valid = taxonomy.is_valid(strings)
    assert valid.dtype == bool
    assert [tuple(bits) for bits in strings[valid]] == sorted(every, key=lambda cut: cut[::-1])
    for bits in (strings[0], strings[-1]):
        assert taxonomy.is_valid(bits) is True
    assert all(taxonomy.is_valid(bits) == ok for bits, ok in zip(strings[:32], valid[:32], strict=True))


@pytest.mark.parametrize("name", PACKAGED)
def test_the_packaged_trees_have_their_cuts(name):
    tree = packaged(name)
    taxonomy = Taxonomy(tree)
    n_leaves, n_cuts = PACKAGED[name]
    assert taxonomy.n_cuts == n_cuts == n_tilings(tree) == len(set(cuts(tree)))
    assert (len(taxonomy.leaves), taxonomy.n_bits) == (n_leaves, n_leaves - 1)
    assert taxonomy.is_valid(np.array(cuts(tree))).all()
    assert repr(taxonomy) == f"Taxonomy({tree['name']!r}, {n_leaves} leaves, {n_cuts} cuts)"
    if n_leaves <= 16:
        assert taxonomy.is_valid(every_string(n_leaves - 1)).sum() == n_cuts


def test_the_number_of_cuts_is_exact_however_large():
    pairs = {"name": "root", "children": [flat(2, f"pair {i}:") for i in range(400)]}
    taxonomy = Taxonomy(pairs)
    assert taxonomy.n_cuts == 2**400 + 1
    drawn = taxonomy.sample(50, np.random.default_rng(0))
    assert taxonomy.is_valid(drawn).all()
    # Pairs that stay together: half of them, and the root never.
    assert drawn[:, ::2].mean() == pytest.approx(0.5, abs=0.02)
    assert taxonomy.is_valid(taxonomy.closest(~drawn, np.random.default_rng(0))).all()


def assert_nearest(tree):
    taxonomy = Taxonomy(tree)
    strings = every_string(taxonomy.n_bits)
    every, best = nearest(tree, strings)
    plain, drawn = taxonomy.closest(strings), taxonomy.closest(strings, np.random.default_rng(0))
    for found in (plain, drawn):
        assert found.dtype == bool
        chosen = (found[:, None] == every).all(axis=2)
        assert ((chosen & best).sum(axis=1) == 1).all()
    # Without a random state it is the most general one. It splits only where all nearest ones split.
    common = np.array([every[row].all(axis=0) for row in best])
    np.testing.assert_array_equal(plain, common)
    valid = taxonomy.is_valid(strings)
    np.testing.assert_array_equal(drawn[valid], strings[valid])


def test_the_closest_cut_is_the_most_general_of_however_many():
    """Tie 2^1101 cuts that split the root with the root itself."""
    n = 1101
    taxonomy = Taxonomy({"name": "root", "children": [flat(3, f"n{i}:") for i in range(n)]})
    # Each group of three is as near to being split as to being one, and the root, too.
    bits = np.tile([False, True, False], n)[:-1]
    bits[2::6] = True
    assert not taxonomy.closest(bits).any()
    drawn = taxonomy.closest(np.repeat(bits[None], 20, axis=0), np.random.default_rng(0))
    assert drawn[:, 2::3].all()
    assert drawn[:, ::3].mean() == pytest.approx(0.5, abs=0.02)


@given(trees(max_leaves=9))
def test_the_closest_cut_is_that_of_all_distances(tree):
    assert_nearest(tree)


@pytest.mark.parametrize("tree", [WORK, packaged("marital-status"), CHAIN, PAIRS, flat(12)], ids=lambda t: t["name"])
def test_the_closest_cut_is_exact_on_every_string_of_known_trees(tree):
    assert_nearest(tree)


@pytest.mark.parametrize("tree", [WORK, CHAIN, PAIRS, flat(5)], ids=lambda tree: tree["name"])
def test_all_nearest_cuts_are_equally_likely(tree):
    taxonomy = Taxonomy(tree)
    rng = np.random.default_rng(1)
    strings = every_string(taxonomy.n_bits)
    every, best = nearest(tree, strings)
    # Those with the most nearest cuts.
    for row in np.argsort(-best.sum(axis=1), kind="stable")[:12]:
        drawn = taxonomy.closest(np.repeat(strings[[row]], 3000, axis=0), rng)
        counts = (drawn[:, None] == every[best[row]]).all(axis=2).sum(axis=0)
        assert counts.sum() == 3000
        assert_alike(counts, best[row].sum())


def test_closest_draws_only_from_the_random_state():
    strings = np.random.default_rng(3).random((200, 7)) < 0.5
    one, two, other = (WORKCLASS.closest(strings, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)
    assert np.array_equal(WORKCLASS.closest(strings), WORKCLASS.closest(strings))


@given(trees(min_leaves=2), st.integers(0, 2**32 - 1))
def test_one_string_or_many(tree, seed):
    taxonomy = Taxonomy(tree)
    strings = np.random.default_rng(seed).random((5, taxonomy.n_bits)) < 0.5
    strings.flags.writeable = False
    before = strings.copy()
    many = taxonomy.closest(strings)
    assert many.shape == strings.shape
    for bits, cut in zip(strings, many, strict=True):
        one = taxonomy.closest(bits)
        assert one.shape == bits.shape
        np.testing.assert_array_equal(one, cut)
        assert taxonomy.is_valid(bits) is bool(taxonomy.is_valid(bits[None])[0])
    np.testing.assert_array_equal(strings, before)
    np.testing.assert_array_equal(taxonomy.closest(strings[:, ::-1][:, ::-1]), many)
    np.testing.assert_array_equal(taxonomy.closest(np.asfortranarray(strings)), many)
    assert taxonomy.closest(strings[:0]).shape == (0, taxonomy.n_bits)
    assert taxonomy.is_valid(strings[:0]).shape == (0,)
    assert taxonomy.is_valid(before[0].tolist()) is taxonomy.is_valid(before[0])
    # Loops are compiled once for all kinds of arrays.
    assert len(closest_cuts.signatures) == 1


@pytest.mark.parametrize("tree", [WORK, CHAIN, PAIRS, packaged("education")], ids=lambda tree: tree["name"])
def test_every_cut_is_drawn_alike(tree):
    taxonomy = Taxonomy(tree)
    drawn = taxonomy.sample(20_000, np.random.default_rng(0))
    assert drawn.shape == (20_000, taxonomy.n_bits)
    assert drawn.dtype == bool
    found, counts = np.unique(drawn, axis=0, return_counts=True)
    assert {tuple(cut) for cut in found.tolist()} == set(cuts(tree))
    assert_alike(counts, taxonomy.n_cuts)
    np.testing.assert_array_equal(drawn, taxonomy.sample(20_000, np.random.default_rng(0)))


def test_labels_are_the_nodes():
    assert WORKCLASS.labels(np.zeros(7, bool)) == ("Any work class",)
    assert WORKCLASS.labels(np.ones(7, bool)) == WORKCLASS.leaves
    cut = np.array([0, 1, 0, 0, 1, 1, 1], bool)
    labels = ("Self-employed", "Public employer", "Private", "Without-pay", "Never-worked")
    assert WORKCLASS.labels(cut) == WORKCLASS.labels(cut.tolist()) == labels
    with pytest.raises(ValueError) as caught:
        WORKCLASS.labels(np.array([0, 1, 0, 1, 1, 1, 1], bool))
    assert str(caught.value) == "bits must be a cut of 'Any work class', got [0, 1, 0, 1, 1, 1, 1]"


@given(trees())
def test_labels_name_the_leaves_below_them(tree):
    taxonomy = Taxonomy(tree)
    spans = {name: (first, last) for name, _, first, last, _ in nodes(tree)}
    for cut in cuts(tree)[:50]:
        edges = [0, *(i + 1 for i, bit in enumerate(cut) if bit), len(taxonomy.leaves)]
        assert [spans[label] for label in taxonomy.labels(np.array(cut, bool))] == list(pairwise(edges))


@given(trees())
def test_a_hierarchy_has_the_nodes_as_its_groups(tree):
    taxonomy = Taxonomy(tree)
    hierarchy = Hierarchy(taxonomy.levels())
    every = nodes(tree)
    assert hierarchy.domain == taxonomy.leaves == tuple(name for name, *_, leaf in every if leaf)
    assert hierarchy.length == max(depth for _, depth, *_ in every)
    assert hierarchy.labels[-1] == (tree["name"],)
    for level, (groups, labels) in enumerate(zip(hierarchy.groups, hierarchy.labels, strict=True)):
        # Each leaf's ancestor at that depth; itself where it is nearer to the root.
        depth = hierarchy.length - level
        for leaf, group in enumerate(groups):
            path = [node for node in every if node[2] <= leaf < node[3]]
            assert labels[group] == path[min(depth, len(path) - 1)][0]
        assert taxonomy.is_valid(np.diff(groups) != 0)
        assert taxonomy.labels(np.diff(groups) != 0) == labels


def test_a_single_leaf_has_one_cut():
    taxonomy = Taxonomy({"name": "only", "children": []})
    assert (taxonomy.leaves, taxonomy.n_bits, taxonomy.n_cuts) == (("only",), 0, 1)
    none = np.zeros((3, 0), bool)
    assert taxonomy.is_valid(none).tolist() == [True] * 3
    assert taxonomy.closest(none).shape == taxonomy.sample(3, np.random.default_rng(0)).shape == (3, 0)
    assert taxonomy.labels(none[0]) == ("only",)
    assert Hierarchy(taxonomy.levels()).domain == ("only",)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_are_the_same(copied):
    strings = every_string(7)
    for original in (WORKCLASS, Taxonomy(WORK)):
        twin = copied(original)
        assert twin.levels() == original.levels()
        assert twin.n_cuts == 9
        rngs = np.random.default_rng(0), np.random.default_rng(0)
        np.testing.assert_array_equal(
            *(one.closest(strings, rng) for one, rng in zip((twin, original), rngs, strict=True))
        )


def test_instances_do_not_change():
    for name in ("leaves", "n_bits", "name", "spans", "n_cuts"):
        with pytest.raises(AttributeError):
            setattr(WORKCLASS, name, None)


@pytest.mark.parametrize("method", ["is_valid", "closest", "labels"])
def test_bad_strings_are_refused(method):
    act = getattr(WORKCLASS, method)
    for bits in (np.zeros(7, int), [0, 1, 0, 0, 1, 1, 1], np.ones((2, 7)), "0100111", ["0"] * 7, None):
        assert refused(TypeError, lambda bits=bits: act(bits)) == f"bits must be Boolean, got {np.asarray(bits).dtype}"
    for shape in ((6,), (8,), (2, 8), (7, 2), (1, 1, 7), ()):
        assert refused(ValueError, lambda shape=shape: act(np.zeros(shape, bool))) == (
            f"bits must be one string of 7 bits or an (n, 7) array, got shape {shape}"
        )
