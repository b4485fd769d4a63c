"""Two attributes at a time: tables of gains and best pairs of cuts, against sums over rows and all pairs of cuts."""

from itertools import combinations

import numpy as np
import pytest
from string_instances import invented

from pymoo_anon.algorithms.proofs.pairs import (
    best_pair,
    classes_without,
    completions,
    longest_cut,
    longest_path,
    pair_table,
)


def plain_table(strings, string, pair):
    """The gain of all pairs of groups: for each of them the boxes of the other attributes, row by row."""
    p, q = pair
    others = [a for a in strings.names if a not in pair]
    table = np.zeros((len(strings.spans[p]), len(strings.spans[q])))
    for i, (low, high) in enumerate(strings.spans[p]):
        for j, (first, last) in enumerate(strings.spans[q]):
            rows = {}
            for code, count in zip(strings.codes, strings.counts, strict=True):
                if low <= code[p] < high and first <= code[q] < last:
                    box = tuple(strings.group_of(a, string[a], code[a]) for a in others)
                    rows[box] = rows.get(box, 0) + count
            for box, n in rows.items():
                if n >= strings.k:
                    cost = sum(strings.weights[a][g] for a, g in zip(others, box, strict=True))
                    table[i, j] += n * (strings.rate - cost - strings.weights[p][i] - strings.weights[q][j])
    return table


def table_of(strings, string, pair):
    numbers, costs = strings.map_of(string)
    starts, spent, cells = classes_without(
        strings.codes, strings.counts, strings.offsets, numbers, costs, np.array(pair), strings.k
    )
    p, q = pair
    return pair_table(
        starts,
        strings.rate - spent,
        cells,
        strings.spans[p],
        strings.weights[p],
        strings.spans[q],
        strings.weights[q],
        strings.k,
    )


def some_string(strings, rng):
    return tuple(cuts[rng.integers(len(cuts))] for cuts in map(strings.cuts, strings.names))


@pytest.mark.parametrize("seed", range(40))
def test_tables_hold_the_gain_of_every_box(seed):
    strings, rng = invented(seed), np.random.default_rng(seed)
    string = some_string(strings, rng)
    for pair in combinations(strings.names, 2):
        table = table_of(strings, string, pair)
        np.testing.assert_allclose(table, plain_table(strings, string, pair), rtol=1e-12, atol=1e-9)
        np.testing.assert_allclose(table_of(strings, string, pair[::-1]), table.T, rtol=1e-12, atol=1e-9)
        p, q = pair
        assert table[np.ix_(string[p], string[q])].sum() == pytest.approx(strings.gain(string))


@pytest.mark.parametrize("seed", range(40))
def test_longest_paths_are_those_of_all_cuts(seed):
    strings, rng = invented(seed, sizes=(6, 5)), np.random.default_rng(seed)
    for a in strings.names:
        spans, gains = strings.spans[a], rng.normal(size=len(strings.spans[a]))
        values = {cut: gains[list(cut)].sum() for cut in strings.cuts(a)}
        best = max(values, key=values.__getitem__)
        assert longest_path(gains, spans) == pytest.approx(values[best])
        assert tuple(longest_cut(gains, spans)) == best
        rest = completions(gains, spans)
        for at in range(strings.sizes[a] + 1):
            tails = {tuple(i for i in cut if spans[i, 0] >= at) for cut in values if at in {0, *spans[list(cut), 1]}}
            assert rest[at] == pytest.approx(max(gains[list(tail)].sum() for tail in tails))


@pytest.mark.parametrize("seed", range(60))
def test_the_best_pair_is_the_best_of_all(seed):
    """Also tables that no table of tuples gives: gains of either sign."""
    strings, rng = invented(seed, sizes=(int(2 + seed % 6), 6)), np.random.default_rng(seed)
    p, q = strings.spans
    table = rng.integers(-9, 10, (len(p), len(q))).astype(float)
    values = {(one, other): table[np.ix_(one, other)].sum() for one in strings.cuts(0) for other in strings.cuts(1)}
    best = max(values.values())
    for floor in (-np.inf, best - 1, *sorted(values.values())[-2:-1]):
        if floor >= best:
            continue
        one, other, proven = best_pair(table, p, q, floor, 10**6)
        assert proven
        assert values[tuple(one), tuple(other)] == best
    one, other, proven = best_pair(table, p, q, best, 10**6)
    assert (len(one), len(other), proven) == (0, 0, True)


def test_the_bounds_leave_prefixes_and_the_limit_ends_the_search():
    """A table whose best pair the turns do not find: with no node to look at, nothing is proven."""
    rng, strings = np.random.default_rng(3), invented(0, sizes=(7, 7))
    p, q = strings.spans
    looked = []
    for _ in range(30):
        table = rng.integers(-9, 10, (len(p), len(q))).astype(float)
        best = max(table[np.ix_(a, b)].sum() for a in strings.cuts(0) for b in strings.cuts(1))
        least = next(n for n in range(10**6) if best_pair(table, p, q, -np.inf, n)[2])
        one, other, _ = best_pair(table, p, q, -np.inf, least)
        assert table[np.ix_(one, other)].sum() == best
        looked.append(least)
        one, other, proven = best_pair(table, p, q, -np.inf, 0)
        assert not proven
        assert table[np.ix_(one, other)].sum() <= best
    assert np.mean(looked) < 0.5 * sum(len(cuts) for cuts in strings.cuts(0))
