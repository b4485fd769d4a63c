"""Local recoding of large, wide tables: blocks, growth, thread independence, and the loss of Adult."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recodings import blocks, column, drawn, lost, members_of, small_blocks, trees_of
from test_recode import cells_by_tuple, microdata

from pymoo_anon.datasets import fetch_adult
from pymoo_anon.recoding import ColumnRequirement, RequirementKind, Requirements, recode
from pymoo_anon.recoding.bottom_up import Cube, Seeds, _score, grow
from pymoo_anon.recoding.moves import repair
from pymoo_anon.recoding.top_down import top_down
from pymoo_anon.recoding.trees import FORBIDDEN, by_first_step


def random_trees(seed, n, n_columns, n_values):
    return drawn(np.random.default_rng(seed), n, n_columns, n_values)


@given(
    tables=microdata(max_rows=40),
    k=st.integers(1, 4),
    price=st.sampled_from([0.0, 2.0]),
    sizes=st.tuples(st.integers(1, 12), st.sampled_from([0, 1, 4, 1000]), st.integers(1, 8)),
)
def test_blocks_hold_what_is_required_with_any_number_of_threads(tables, k, price, sizes):
    table, other = tables
    trees = trees_of(table)
    tests = Requirements.of(table.tuples, trees, k)
    with small_blocks(*sizes):
        cells = recode(trees, tests, price, n_threads=1)
        assert np.array_equal(recode(trees, tests, price, n_threads=3), cells)
        again = trees_of(other)
        twin = recode(again, Requirements.of(other.tuples, again, k), price, n_threads=2)
    assert cells_by_tuple(other, twin) == cells_by_tuple(table, cells)
    classes = [table.tuples.counts[members].sum() for members in members_of(cells)]
    assert min(classes) >= k or len(classes) == 1


def plain_growth(trees, k, price, tried=None):
    """Grow like `grow`, looking at every tuple, from given seeds if any."""
    n_attributes = trees.positions.shape[1]

    def cost_of(rows):
        total = 0.0
        for j in range(n_attributes):
            node = trees.leaves[trees.positions[rows[0], j]]
            while not all(trees.first[node] <= trees.positions[r, j] < trees.stop[node] for r in rows):
                node = trees.parent[node]
            total += trees.costs[node]
        return total

    def grown(seed, left):
        # From the seed on and round to it, as ties are told apart.
        place = left.index(seed)
        own, others = [seed], left[place + 1 :] + left[:place]
        while True:
            rows, cost = trees.rows[own].sum(), cost_of(own)
            need = max(k - rows, 1)
            if not others or (rows >= k and price == 0):
                break
            widened = [cost_of([*own, r]) for r in others]
            added = [(w - cost) / min(trees.rows[r], need) for w, r in zip(widened, others, strict=True)]
            best = int(np.argmin(added))
            after = widened[best] + price / (rows + trees.rows[others[best]])
            if rows >= k and after >= cost + price / rows:
                break
            own.append(others.pop(best))
        if rows < k:
            return own, np.inf
        own += [r for r in others if cost_of([*own, r]) == cost]
        return own, cost + price / trees.rows[own].sum()

    if k <= trees.rows.sum() < 2 * k and cost_of(range(len(trees.rows))) < FORBIDDEN:
        return np.zeros(len(trees.rows), dtype=int)
    class_of, n_classes = np.full(len(trees.rows), -1), 0
    keys = trees.positions[:, by_first_step(trees)]
    order = np.lexsort(keys.T[::-1])
    while trees.rows[class_of < 0].sum() >= k:
        left = [r for r in order if class_of[r] < 0]
        seeds = range(len(left)) if tried is None else tried.pop(0)
        scores = {i: grown(left[i], left)[1] for i in seeds}
        for i in sorted(seeds, key=lambda i: (scores[i], i)):
            if class_of[left[i]] >= 0:
                continue
            own, score = grown(left[i], left)
            if (class_of[own] < 0).all() and score < np.inf:
                class_of[own] = n_classes
                n_classes += 1
    return class_of


@given(
    # Domains of so many values have costs without rounding, so that ties are ties.
    tables=microdata(max_rows=14, sizes=(1, 2, 3, 5)),
    k=st.integers(1, 4),
    price=st.sampled_from([0.0, 0.5]),
)
def test_growth_takes_what_a_plain_search_takes(tables, k, price):
    trees = trees_of(tables[0])
    assert grow(trees, k, price).tolist() == plain_growth(trees, k, price).tolist()


@pytest.mark.parametrize(
    ("seed", "n", "n_columns", "k"),
    [(0, 40, 4, 3), (1, 40, 4, 3), (2, 40, 4, 3), (3, 30, 3, 3), (4, 30, 3, 3), (5, 30, 3, 15), (5, 30, 3, 16)],
)
def test_growth_among_many_takes_what_a_plain_search_takes(seed, n, n_columns, k):
    """Skip most tuples, some of which have several rows."""
    _, trees = random_trees(seed, n, n_columns, 5)
    assert grow(trees, k).tolist() == plain_growth(trees, k, 0.0).tolist()


@pytest.mark.parametrize(("k", "price", "looks"), [(3, 0.0, 1), (3, 0.0, 1000), (6, 0.0, 2000), (3, 0.5, 500)])
def test_a_budget_ends_the_seeds_of_a_round_and_no_more(k, price, looks):
    """Compare with a plain search from the tried seeds."""
    _, trees = random_trees(0, 40, 4, 5)
    tried = []

    def score(order, *others):
        *_, budget, _, seeds = others
        _score(order, *others)
        own = np.flatnonzero(np.isfinite(seeds.scores))
        assert own.tolist() == sorted(order[: len(own)])
        # Without its last seed, the round would not have used up its budget.
        assert seeds.tally[0] >= budget or len(own) == len(order)
        fewer = Seeds.of(trees, np.sort(seeds.order))
        _score(order[: len(own) - 1], *others[:-1], fewer)
        assert fewer.tally[0] < budget
        tried.append(own.tolist())

    with patch("pymoo_anon.recoding.bottom_up._score", score):
        made = grow(trees, k, price, budget=looks)
    assert len(tried[0]) < len(trees.rows)
    assert made.tolist() == plain_growth(trees, k, price, tried).tolist()
    assert tried == []


def test_small_blocks_try_all_seeds():
    """Share one budget per growth round among all block sizes."""
    table, trees = random_trees(5, 400, 24, 6)
    tests, budgets = Requirements.of(table.tuples, trees, 20), []

    def grown(rest, k, price, budget):
        budgets.append(budget)
        return grow(rest, k, price)

    with patch.multiple(blocks, _CUBE_LOOKS=0, _LEFT=100, grow=grown):
        blocks._recoded_block(trees, tests, 0.0)
    assert len(budgets) > 1
    assert set(budgets) == {blocks._GROWN}


@pytest.mark.parametrize("n", [1, 2, 7, 100])
def test_seeds_that_are_tried_first_are_spread_evenly(n):
    _, trees = random_trees(1, 300, 5, 6)
    orders = []
    with patch("pymoo_anon.recoding.bottom_up._score", lambda order, *_: orders.append(order)):
        grow(trees, 3, budget=1)
    (order,) = orders
    assert sorted(order) == list(range(len(trees.rows)))
    gaps = np.diff([-1, *sorted(order[:n]), len(order)])
    assert gaps.max() <= 3 * len(order) / (n + 1)


def looked_at(run):
    """Return the looks of cubes and of growth, and the rounds."""
    cubes, rounds = [], []

    def cube_of(trees, of=Cube.of):
        cubes.append(of(trees))
        return cubes[-1]

    def seeds_of(trees, left, of=Seeds.of):
        rounds.append(of(trees, left))
        return rounds[-1]

    with patch.object(Cube, "of", cube_of), patch.object(Seeds, "of", seeds_of):
        run()
    return sum(cube.tally[0] for cube in cubes), sum(seeds.tally[0] for seeds in rounds), len(rounds)


@pytest.mark.parametrize("k", [2, 5, 20, 60, 150, 299])
def test_the_work_of_a_block_has_one_bound_for_every_k(k):
    """Bound the looks of cubes and of growth rounds."""
    table, trees = random_trees(2, 600, 10, 8)
    n, tests = len(trees.rows), Requirements.of(table.tuples, trees, k)
    with patch.multiple(blocks, _CUBE_LOOKS=20, _GROWN=4000, _LEFT=100, _CLASSES=4):
        in_cubes, in_growth, n_rounds = looked_at(lambda: blocks._recoded_block(trees, tests, 0.0))
    # One cube for all and two in blocks, each of which may end a level of all attributes late.
    assert in_cubes <= 3 * (20 + 10) * n
    # As many looks again make the classes of a round. Its last seed may be of a whole block.
    largest = max(100, 4 * k)
    assert in_growth <= 2 * n_rounds * (4000 + min(k, largest) * largest)
    assert n_rounds <= 4 * n / 100 + 2 * n / k + 40


def test_blocks_of_fewer_than_two_classes_are_one_class_and_nothing_grows():
    table, trees = random_trees(3, 300, 6, 6)
    k = 200
    tests = Requirements.of(table.tuples, trees, k)
    with patch.multiple(blocks, _CUBE_LOOKS=0, _LEFT=50, _CLASSES=1):
        in_cubes, in_growth, _ = looked_at(lambda: blocks._recoded_block(trees, tests, 0.0))
    assert (in_cubes, in_growth) == (0, 0)


def test_tuples_that_must_be_apart_are_no_class_however_few_they_are():
    table, trees = random_trees(4, 30, 3, 5)
    trees = trees_of(table, apart=np.arange(len(trees.rows)) % 2)
    k = int(trees.rows.sum() * 0.45)
    made = grow(trees, k)
    parts = trees.positions[:, -1]
    assert made.max() == 1
    assert all(len(set(parts[made == c])) == 1 for c in range(2))


@pytest.mark.parametrize("k", [10, 40, 90])
@pytest.mark.parametrize("price", [0.0, 3.0])
def test_the_better_of_small_and_large_blocks_is_kept(k, price):
    table, trees = random_trees(5, 400, 8, 6)
    tests = Requirements.of(table.tuples, trees, k)

    def loss(left, classes):
        with patch.multiple(blocks, _CUBE_LOOKS=5, _LEFT=left, _CLASSES=classes):
            return lost(trees, repair(trees, tests, blocks._recoded_in_blocks(trees, tests, price)), price)[1].sum()

    small, large, both = loss(60, 0), loss(int(8 * k / trees.rows.mean()), 0), loss(60, 8)
    assert both == pytest.approx(min(small, large))


def test_blocks_are_the_parts_of_splits_from_the_top():
    _, trees = random_trees(0, 200, 3, 5)
    for k in (2, 30):
        made = blocks._blocks(trees, k, 20)
        by_splits = top_down(trees, max(k, int(trees.rows.mean() * 20 / 4)), enough=20)
        assert len(made) > 3
        assert sorted(block.tolist() for block in made) == sorted(
            np.flatnonzero(by_splits == b).tolist() for b in set(by_splits)
        )


def test_what_grows_is_numbered_after_what_the_cube_released():
    made = blocks._laid_out(5, [np.array([0, 3]), np.array([1, 2, 4])], [np.array([0, -1]), np.array([0, 1, 1])])
    assert made.tolist() == [0, 1, 2, -1, 2]
    table, trees = column(0, 1, 6, 7)
    tests = Requirements.of(table.tuples, trees, 2)
    with patch.object(blocks, "bottom_up", lambda *_, **__: (np.array([0, 0, -1, -1]), False)):
        assert blocks._recoded_block(trees, tests, 0.0).tolist() == [0, 0, 1, 1]


@pytest.fixture(scope="module")
def table(adult_rows):
    return fetch_adult(sensitive="occupation", label=None)


def loss_and_sizes(table, k, *others, **options):
    """Return the general loss metric per cell and the class sizes."""
    nodes = [hierarchy.nodes for hierarchy in table.quasi_identifiers.values()]
    trees = trees_of(table)
    cells = recode(trees, Requirements.of(table.tuples, trees, k, others), **options)
    _, class_of = np.unique(cells, axis=0, return_inverse=True)
    sizes = np.bincount(class_of.ravel(), table.tuples.counts)
    lost = sum(own.losses[cell] for own, cell in zip(nodes, cells.T, strict=True))
    return float(lost @ table.tuples.counts) / table.tuples.n_rows / len(nodes), sizes


@pytest.mark.parametrize(("k", "most"), [(2, 0.0106), (5, 0.0276), (25, 0.0697), (100, 0.1287)])
def test_k_anonymity(table, k, most):
    loss, sizes = loss_and_sizes(table, k)
    assert loss <= most
    assert sizes.min() >= k


def test_top_down(table):
    assert loss_and_sizes(table, 5, method="top-down")[0] <= 0.0377


@pytest.mark.parametrize(
    ("kind", "bound", "by_sizes", "direct"),
    [
        (RequirementKind.DISTINCT, 3, 0.0323, 0.0316),
        pytest.param(RequirementKind.ENTROPY, 5, 0.0995, 0.0880, marks=pytest.mark.slow),
        pytest.param(RequirementKind.TREE, 0.3, 0.2600, 0.2180, marks=pytest.mark.slow),
    ],
)
def test_sensitive_values(table, kind, bound, by_sizes, direct):
    required = ColumnRequirement(kind, "occupation", bound)
    assert loss_and_sizes(table, 5, required)[0] <= by_sizes
    assert loss_and_sizes(table, 5, required, structure="direct")[0] <= direct


def test_a_price_holds_down_the_mean_risk_at_less_loss_than_a_larger_k(table):
    loss, sizes = loss_and_sizes(table, 5, price=10.0)
    dearer, fewer = loss_and_sizes(table, 25)
    assert len(sizes) <= len(fewer)
    assert loss < dearer
    assert sizes.min() >= 5
