"""Few classes: trees without small nodes, and classes that are filled up."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from test_recode import microdata, setting

from pymoo_anon.recoding import Requirements
from pymoo_anon.recoding.moves import Classes, fill
from pymoo_anon.recoding.trees import cells_of_classes


def numbered(trees, cells):
    """Return cells as numbers of nodes in the hierarchies, and their costs."""
    return trees.numbers[cells].tolist(), trees.costs[cells].tolist()


@given(tables=microdata(max_rows=40), k=st.integers(1, 20), seed=st.integers(0, 99))
def test_sets_of_k_rows_have_the_same_cells_in_narrowed_trees(tables, k, seed):
    table, other = tables
    _, trees = setting(table)
    narrow, group_of = trees.narrowed(k)
    assert np.bincount(group_of, trees.rows).tolist() == narrow.rows.tolist()
    chosen = np.random.default_rng(seed).random(len(narrow.rows)) < 0.5
    if narrow.rows[chosen].sum() >= k:
        own = cells_of_classes(narrow, np.where(chosen, 0, -1), 1)
        whole = cells_of_classes(trees, np.where(chosen[group_of], 0, -1), 1)
        assert numbered(narrow, own) == numbered(trees, whole)
    # No node has fewer rows but leaves that are as dear as the node above, if anything became less at all.
    for j in range(trees.positions.shape[1] if narrow is not trees else 0):
        before = np.concatenate([[0], np.cumsum(np.bincount(narrow.positions[:, j], narrow.rows, len(narrow.leaves)))])
        for node in range(narrow.offsets[j], narrow.offsets[j + 1]):
            above = narrow.parent[node]
            if before[narrow.stop[node]] - before[narrow.first[node]] < k and above >= 0:
                assert narrow.costs[node] == narrow.costs[above]
    _, again = setting(other)
    assert again.narrowed(k)[0].rows.tolist() == narrow.rows.tolist()


@given(tables=microdata(max_rows=40), n_units=st.integers(1, 12), seed=st.integers(0, 99))
def test_sets_of_units_have_the_same_cells_in_merged_trees(tables, n_units, seed):
    table, _ = tables
    _, trees = setting(table)
    rng = np.random.default_rng(seed)
    units = np.unique(rng.integers(0, n_units, len(trees.rows)), return_inverse=True)[1]
    merged, group_of = trees.merged(units)
    assert np.bincount(group_of, trees.rows).tolist() == merged.rows.tolist()
    assert all(len(set(group_of[units == unit])) == 1 for unit in units)
    chosen = rng.random(len(merged.rows)) < 0.5
    if chosen.any():
        own = cells_of_classes(merged, np.where(chosen, 0, -1), 1)
        whole = cells_of_classes(trees, np.where(chosen[group_of], 0, -1), 1)
        assert numbered(merged, own) == numbered(trees, whole)


@given(tables=microdata(max_rows=40), k=st.integers(1, 8), n_classes=st.integers(1, 3), seed=st.integers(0, 99))
def test_a_rest_is_filled_up_from_classes_that_keep_k_rows(tables, k, n_classes, seed):
    table, _ = tables
    _, trees = setting(table)
    tests = Requirements(k).tests(table.tuples, trees)
    class_of = np.random.default_rng(seed).integers(-1, n_classes, len(trees.rows))
    class_of = np.unique(class_of, return_inverse=True)[1] - (class_of.min() < 0)
    before = Classes.of(trees, tests, class_of).rows
    made = fill(trees, tests, class_of)
    classes = Classes.of(trees, tests, made, len(before) + 1)
    assert made.min() >= 0
    assert classes.rows.sum() == trees.rows.sum()
    # Whoever gives keeps k rows, and nothing else changes.
    assert all(after == own or k <= after < own for own, after in zip(before, classes.rows[: len(before)], strict=True))
    if len(before) < len(classes.rows) and (class_of < 0).any() and classes.rows[len(before)] < k:
        surplus = [
            table_rows
            for c, table_rows in zip(made, trees.rows, strict=True)
            if c < len(before) and classes.rows[c] - table_rows >= k
        ]
        assert not surplus
