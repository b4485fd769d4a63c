"""Local recoding of large tables and of many attributes: blocks, growth, the same cells for any number of threads."""

from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_recode import cells_by_tuple, members_of, microdata, nested, setting

from pymoo_anon.engine.local import Requirements, blocks, recode
from pymoo_anon.engine.local.cube import Cube, bottom_up
from pymoo_anon.engine.local.growth import grow
from pymoo_anon.engine.local.specialize import top_down
from pymoo_anon.engine.local.trees import by_first_step
from pymoo_anon.table import Microdata


def small_blocks(block, looks, grown):
    """As if so many tuples were many."""
    return patch.multiple(blocks, _BLOCK=block, _ROWS_OF_K=1, _LOOKS=looks, _GROWN=grown)


@given(
    tables=microdata(max_rows=40),
    k=st.integers(1, 4),
    price=st.sampled_from([0.0, 2.0]),
    sizes=st.tuples(st.integers(1, 12), st.sampled_from([0, 1, 4, 1000]), st.integers(1, 8)),
)
def test_blocks_hold_what_is_required_with_any_number_of_threads(tables, k, price, sizes):
    table, other = tables
    _, trees = setting(table)
    tests = Requirements(k).tests(table.tuples, trees)
    with small_blocks(*sizes):
        cells = recode(trees, tests, price, n_threads=1)
        assert np.array_equal(recode(trees, tests, price, n_threads=3), cells)
        _, again = setting(other)
        twin = recode(again, Requirements(k).tests(other.tuples, again), price, n_threads=2)
    assert cells_by_tuple(other, twin) == cells_by_tuple(table, cells)
    classes = [table.tuples.counts[members].sum() for members in members_of(cells)]
    assert min(classes) >= k or len(classes) == 1


def plain_growth(trees, k, price):
    """What `grow` does, with every tuple looked at every time."""
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

    class_of, n_classes = np.full(len(trees.rows), -1), 0
    keys = trees.positions[:, by_first_step(trees)]
    order = np.lexsort(keys.T[::-1])
    while trees.rows[class_of < 0].sum() >= k:
        left = [r for r in order if class_of[r] < 0]
        scores = [grown(r, left)[1] for r in left]
        for i in np.argsort(scores, kind="stable"):
            if class_of[left[i]] >= 0:
                continue
            own, score = grown(left[i], [r for r in left if class_of[r] < 0])
            if score <= scores[i] + 1e-12 and score < np.inf:
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
    _, trees = setting(tables[0])
    assert grow(trees, k, price).tolist() == plain_growth(trees, k, price).tolist()


@pytest.mark.parametrize(("seed", "n", "n_columns"), [(0, 40, 4), (1, 40, 4), (2, 40, 4), (3, 30, 3), (4, 30, 3)])
def test_growth_among_many_takes_what_a_plain_search_takes(seed, n, n_columns):
    """Enough tuples and attributes that most of them are skipped; some tuples are of several rows."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({f"q{j}": [f"v{v}" for v in random.integers(0, 5, n)] for j in range(n_columns)})
    _, trees = setting(Microdata.from_frame(frame, {name: nested(5) for name in frame}))
    assert grow(trees, 3).tolist() == plain_growth(trees, 3, 0.0).tolist()


@given(tables=microdata(max_rows=30), k=st.integers(1, 5), n_seeds=st.integers(1, 4))
def test_few_seeds_leave_no_class_that_could_be_made(tables, k, n_seeds):
    _, trees = setting(tables[0])
    class_of = grow(trees, k, 0.0, n_seeds)
    rows = np.bincount(class_of + 1, weights=trees.rows, minlength=1)
    assert rows[0] < k
    assert (rows[1:] >= k).all()


def test_large_classes_are_grown_from_few_seeds_and_a_single_one_from_none():
    """What growth costs is bounded beforehand: seeds times the tuples of a class."""
    table = Microdata.from_frame(pd.DataFrame({"q": [f"v{v}" for v in range(8)] * 100}), {"q": nested(8)})
    _, trees = setting(table)
    n_rows, given = table.n_rows, []

    def noted(trees, k, price, n_seeds):
        given.append(n_seeds)
        return np.zeros(len(trees.rows), dtype=np.int64)

    with patch.object(blocks, "grow", noted), patch.object(blocks, "_SEEDS", 12):
        assert blocks._grown(trees, n_rows // 2 + 1, 0.0).tolist() == [0] * 8
        assert given == []
        for k in (100, 200, 400):
            blocks._grown(trees, k, 0.0)
    # Each tuple has 100 rows.
    assert given == [12, 6, 3]


def test_blocks_are_the_parts_of_splits_from_the_top():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({f"q{j}": [f"v{v}" for v in random.integers(0, 5, 200)] for j in range(3)})
    _, trees = setting(Microdata.from_frame(frame, {name: nested(5) for name in frame}))
    for k in (2, 30):
        made = blocks._blocks(trees, k, 20)
        by_splits = top_down(trees, max(k, int(trees.rows.mean() * 20 / 4)), enough=20)
        assert len(made) > 3
        assert sorted(block.tolist() for block in made) == sorted(
            np.flatnonzero(by_splits == b).tolist() for b in set(by_splits)
        )


def test_what_grows_is_numbered_after_what_the_cube_released():
    table = Microdata.from_frame(pd.DataFrame({"q": ["v0", "v1", "v6", "v7"]}), {"q": nested(8)})
    _, trees = setting(table)
    tests = Requirements(2).tests(table.tuples, trees)
    with patch.object(blocks, "bottom_up", lambda *_, **__: (np.array([0, 0, -1, -1]), False)):
        assert blocks._recoded(trees, tests, 0.0).tolist() == [0, 0, 1, 1]


def test_cells_that_are_nobodys_best_make_room_for_others(monkeypatch):
    """With room for hardly more cells than tuples the same are released."""
    random = np.random.default_rng(1)
    frame = pd.DataFrame({f"q{j}": [f"v{v}" for v in random.integers(0, 6, 60)] for j in range(4)})
    _, trees = setting(Microdata.from_frame(frame, {name: nested(6) for name in frame}))
    (roomy, _), of, n = bottom_up(trees, 4), Cube.of, len(trees.rows) + 1

    def tight(trees):
        return of(trees)._replace(cells=np.empty((n, 4), dtype=np.int32), moved=np.empty(n, dtype=np.int64))

    monkeypatch.setattr(Cube, "of", tight)
    assert bottom_up(trees, 4)[0].tolist() == roomy.tolist()
