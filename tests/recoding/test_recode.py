"""Local recodings: valid classes, covering cells, and independence of row order."""

import subprocess
import sys
from itertools import pairwise, product
from math import exp, log
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recodings import members_of
from strategies import nested

from pymoo_anon.engine.compiled import njit
from pymoo_anon.objectives import (
    AlphaDeassociation,
    BasicBetaLikeness,
    DistinctLDiversity,
    EnhancedBetaLikeness,
    EntropyLDiversity,
    RecursiveCLDiversity,
    TCloseness,
)
from pymoo_anon.recoding import ColumnRequirement, RequirementKind, Requirements, Trees, recode
from pymoo_anon.recoding import cube as cubes
from pymoo_anon.recoding.cube import bottom_up
from pymoo_anon.recoding.moves import Classes, enter, leave, nearest_class, nearest_to_class, relocate, repair
from pymoo_anon.recoding.top_down import best_node, first_split, top_down
from pymoo_anon.recoding.trees import cells_of_classes
from pymoo_anon.table import Generalization, Hierarchy, Microdata

VALUES = "abcd"


@st.composite
def microdata(draw, max_rows=24, max_attributes=3, sizes=(1, 2, 3, 4, 5, 6)):
    """Draw a small table and a copy with permuted rows. Sizes are of domains."""
    sizes = draw(st.lists(st.sampled_from(sizes), min_size=1, max_size=max_attributes))
    n_rows = draw(st.integers(1, max_rows))
    codes = [draw(st.lists(st.integers(0, n - 1), min_size=n_rows, max_size=n_rows)) for n in sizes]
    values = [draw(st.lists(st.sampled_from(VALUES), min_size=n_rows, max_size=n_rows)) for _ in range(2)]
    order = draw(st.permutations(range(n_rows)))

    def table(rows):
        columns = {f"q{j}": [f"v{own[i]}" for i in rows] for j, own in enumerate(codes)}
        columns |= {f"s{j}": [own[i] for i in rows] for j, own in enumerate(values)}
        hierarchies = {f"q{j}": nested(n) for j, n in enumerate(sizes)}
        return Microdata.from_frame(pd.DataFrame(columns), hierarchies, sensitive=["s0", "s1"])

    return table(range(n_rows)), table(order)


#: How coarse the sensitive values are at the level between themselves and their root.
PAIRS = Hierarchy([list(VALUES), ["ab", "ab", "cd", "cd"], ["*"] * 4])


def requirement(kind, column, bound, table):
    """Return a requirement and the equivalent constraint on a measure."""
    values = table.domain_of(column)
    if kind == "distinct":
        return ColumnRequirement(RequirementKind.DISTINCT, column, bound[0]), DistinctLDiversity(column) >= bound[0]
    if kind == "entropy":
        return ColumnRequirement(RequirementKind.ENTROPY, column, bound[0]), EntropyLDiversity(column) >= bound[0]
    if kind == "recursive":
        return ColumnRequirement(RequirementKind.RECURSIVE, column, bound[0], (3, 2)), RecursiveCLDiversity(
            column, 1.5
        ) >= bound[0]
    if kind == "alpha":
        return ColumnRequirement(RequirementKind.ALPHA, column, bound[1]), AlphaDeassociation(column) <= bound[1]
    if kind == "t":
        return ColumnRequirement(RequirementKind.TREE, column, bound[1]), TCloseness(column) <= bound[1]
    if kind == "hierarchical t":
        groups = PAIRS.groups[:2, PAIRS.encode(values)]
        return ColumnRequirement(RequirementKind.TREE, column, bound[1], groups=groups), TCloseness(
            column, PAIRS
        ) <= bound[1]
    if kind == "ordered t":
        places = np.array([[VALUES.index(value) for value in values]])
        own = ColumnRequirement(RequirementKind.ORDER, column, bound[1], groups=places, n_places=4)
        return own, TCloseness(column, tuple(VALUES)) <= bound[1]
    if kind == "beta":
        return ColumnRequirement(RequirementKind.BETA, column, bound[0]), BasicBetaLikeness(column) <= bound[0]
    return ColumnRequirement(RequirementKind.ENHANCED_BETA, column, bound[0]), EnhancedBetaLikeness(column) <= bound[0]


KINDS = ["distinct", "entropy", "recursive", "alpha", "t", "hierarchical t", "ordered t", "beta", "enhanced beta"]

some_requirements = st.lists(
    st.tuples(
        st.sampled_from(KINDS),
        st.sampled_from(["s0", "s1"]),
        st.tuples(st.sampled_from([1, 1.5, 2, 2.5, 3]), st.sampled_from([0.1, 0.25, 0.5, 0.75])),
    ),
    min_size=1,
    max_size=2,
)


def setting(table):
    nodes = [hierarchy.nodes for hierarchy in table.quasi_identifiers.values()]
    return nodes, Trees.of(table.tuples, nodes)


def cells_by_tuple(table, cells):
    return {tuple(codes): tuple(own) for codes, own in zip(table.tuples.codes.tolist(), cells.tolist(), strict=True)}


def histogram(table, column, members):
    """Count each value of a column in some tuples."""
    own = table.tuples.columns[column].histogram()[members].sum(axis=0)
    return dict(zip(table.domain_of(column), own.tolist(), strict=True))


def plainly_holds(kind, column, bound, table, members):
    """Tell whether tuples meet a requirement, or None if rounding decides."""
    own, whole = histogram(table, column, members), histogram(table, column, slice(None))
    n, rows = sum(own.values()), sum(whole.values())
    ranked = sorted(own.values(), reverse=True)
    if kind == "distinct":
        return sum(count > 0 for count in ranked) >= bound[0]
    if kind == "recursive":
        rank = int(np.ceil(bound[0]))
        return rank <= 1 or ranked[0] < 1.5 * sum(ranked[rank - 1 :])
    if kind == "entropy":
        found = exp(-sum(count / n * log(count / n) for count in ranked if count))
        return None if abs(found - bound[0]) < 1e-9 else found >= bound[0]
    if kind == "alpha":
        return ranked[0] / n <= bound[1]
    if kind in ("t", "hierarchical t", "ordered t"):
        if kind == "ordered t":
            gaps = np.cumsum([own.get(value, 0) / n - whole.get(value, 0) / rows for value in VALUES])
            found = np.abs(gaps[:-1]).sum() / 3
        else:
            levels = [list(VALUES)] if kind == "t" else [list(VALUES), ["ab", "cd"]]
            extra = [
                sum(own.get(value, 0) / n - whole.get(value, 0) / rows for value in group)
                for level in levels
                for group in level
            ]
            found = sum(one for one in extra if one > 0) / len(levels)
        return None if abs(found - bound[1]) < 1e-9 else found <= bound[1]
    gains = [own[value] * rows / (n * whole[value]) - 1 for value in own if own[value]]
    logs = [-log(whole[value] / rows) for value in own if own[value]]
    if any(abs(gain - bound[0]) < 1e-9 for gain in gains):
        return None
    if kind == "enhanced beta" and any(gain > most + 1e-12 for gain, most in zip(gains, logs, strict=True)):
        return False
    return max(gains) <= bound[0]


@pytest.mark.parametrize("structure", ["sizes", "direct"])
@pytest.mark.parametrize("method", ["top-down", "bottom-up"])
@given(tables=microdata(), k=st.integers(1, 6), price=st.sampled_from([0.0, 0.7, 5.0]), asked=some_requirements)
def test_every_class_holds_what_is_required(method, structure, tables, k, price, asked):
    table, other = tables
    nodes, trees = setting(table)
    tests = Requirements(k, [requirement(*one, table)[0] for one in asked]).tests(table.tuples, trees)
    cells = recode(trees, tests, price, method, structure)
    assert cells.dtype == np.int32
    assert cells.shape == table.tuples.codes.shape
    for j, own in enumerate(nodes):
        position = own.order[table.tuples.codes[:, j]]
        assert np.all((own.first[cells[:, j]] <= position) & (position < own.stop[cells[:, j]]))
    classes = members_of(cells)
    whole = list(range(len(table.tuples)))
    if table.tuples.n_rows < k or not all(plainly_holds(*one, table, whole) for one in asked):
        if not any(plainly_holds(*one, table, whole) is None for one in asked):
            assert len(classes) == 1
    else:
        assert min(table.tuples.counts[members].sum() for members in classes) >= k
        assert not any(plainly_holds(*one, table, members) is False for one in asked for members in classes)
    # Rows in another order.
    _, again = setting(other)
    tests = Requirements(k, [requirement(*one, other)[0] for one in asked]).tests(other.tuples, again)
    assert cells_by_tuple(other, recode(again, tests, price, method, structure)) == cells_by_tuple(table, cells)


@given(tables=microdata(max_rows=12), asked=some_requirements.map(lambda asked: asked[:1]))
def test_requirements_decide_as_the_measures_do(tables, asked):
    """Compare kernels on one class with the constraint on the top node."""
    table, _ = tables
    _, trees = setting(table)
    for rows in (slice(None), slice(0, 3)):
        own, constraint = requirement(*asked[0], table)
        tests = Requirements(1, [own]).tests(table.tuples, trees)
        members = np.arange(len(trees.rows))[rows]
        kept = tests.subset(members).keeps_whole(trees.rows[members])
        expected = plainly_holds(*asked[0], table, trees.places[members])
        assert expected is None or kept == expected
    tops = {name: (h.groups[-1], h.labels[-1]) for name, h in table.quasi_identifiers.items()}
    one_class = Generalization({q: own for q, (own, _) in tops.items()}, {q: own for q, (_, own) in tops.items()})
    broken = constraint.broken(table.equivalence_classes(one_class))
    assert Requirements(1, [own]).tests(table.tuples, trees).keeps_whole(trees.rows) == (not broken[0])


@given(tables=microdata(max_rows=6, max_attributes=2, sizes=(1, 2, 3, 4)), k=st.integers(1, 4))
def test_no_recoding_beats_brute_force(tables, k):
    """Enumerate all maps from tuples to node vectors, and find nothing better."""
    table, _ = tables
    nodes, trees = setting(table)
    n = len(table.tuples)
    choices = []
    for codes in table.tuples.codes:
        above = [
            [x for x in range(len(own)) if own.first[x] <= own.order[code] < own.stop[x]]
            for own, code in zip(nodes, codes, strict=True)
        ]
        choices.append(list(product(*above)))

    def loss(cells):
        own = [sum(node.losses[x] for node, x in zip(nodes, cell, strict=True)) for cell in cells]
        return float(np.dot(own, table.tuples.counts))

    def holds(cells):
        sizes = {}
        for cell, count in zip(cells, table.tuples.counts.tolist(), strict=True):
            sizes[cell] = sizes.get(cell, 0) + count
        return min(sizes.values()) >= k

    if np.prod([len(own) for own in choices]) > 3000 or table.tuples.n_rows < k:
        return
    best = min(loss(cells) for cells in product(*choices) if holds(cells))
    for method in ("bottom-up", "top-down"):
        cells = recode(trees, Requirements(k).tests(table.tuples, trees), method=method)
        found = [tuple(own) for own in cells.tolist()]
        assert holds(found)
        assert loss(found) >= best - 1e-9
        assert n > 2 or loss(found) <= best + 1e-9


@given(tables=microdata(), k=st.integers(1, 6))
def test_the_cube_releases_cells_that_are_cheapest(tables, k):
    """Check that the first class is a cheapest cell with k rows."""
    table, _ = tables
    nodes, trees = setting(table)
    if table.tuples.n_rows < k:
        return
    class_of, _ = bottom_up(trees, k)
    assert trees.rows[class_of < 0].sum() < k
    made = np.bincount(class_of[class_of >= 0], trees.rows[class_of >= 0])
    assert made.min() >= k
    least = np.inf
    for cell in product(*(range(len(own)) for own in nodes)):
        below = np.ones(len(table.tuples), dtype=bool)
        for own, x, codes in zip(nodes, cell, table.tuples.codes.T, strict=True):
            below &= (own.first[x] <= own.order[codes]) & (own.order[codes] < own.stop[x])
        if table.tuples.counts[below].sum() >= k:
            least = min(least, sum(own.losses[x] for own, x in zip(nodes, cell, strict=True)))
    first = cells_of_classes(trees, class_of, len(made))[0]
    assert trees.costs[first].sum() == pytest.approx(least)


@given(tables=microdata(), k=st.integers(1, 6), weights=st.lists(st.sampled_from([0.1, 1.0, 3.0]), min_size=3))
def test_a_part_of_the_trees_recodes_as_a_table_of_its_own(tables, k, weights):
    table, _ = tables
    nodes, _ = setting(table)
    trees = Trees.of(table.tuples, nodes, weights[: len(nodes)])
    chosen = np.arange(0, len(trees.rows), 2)
    part = trees.subset(chosen)
    own = top_down(part, k)
    cells = part.numbers[cells_of_classes(part, own, int(own.max()) + 1)[own]]
    # The same tuples in trees that keep every node.
    again = trees._replace(positions=trees.positions[chosen], rows=trees.rows[chosen], places=trees.places[chosen])
    twin = top_down(again, k)
    assert np.array_equal(cells, again.numbers[cells_of_classes(again, twin, int(twin.max()) + 1)[twin]])


def plain_mondrian(table, rows, k, relaxed):
    """Split the widest column while allowed, by sets of values."""
    trees = [hierarchy.nodes for hierarchy in table.quasi_identifiers.values()]
    codes, counts = table.tuples.codes, table.tuples.counts

    def smallest(j, members):
        places = trees[j].order[codes[members, j]]
        return int(np.flatnonzero((trees[j].first <= places.min()) & (trees[j].stop > places.max()))[-1])

    def parts_of(j, members):
        """Return the members per child, with the undersized ones together."""
        children = {}
        for m in members:
            place, at = trees[j].order[codes[m, j]], smallest(j, members)
            held = [c for c in np.flatnonzero(trees[j].parent == at) if trees[j].first[c] <= place < trees[j].stop[c]]
            children.setdefault(held[0] if held else at, []).append(m)
        own, rest = [c for c in children.values() if counts[c].sum() >= k], []
        rest = [m for c in children.values() if counts[c].sum() < k for m in c]
        if rest and not relaxed:
            return []

        def saved(part):
            return counts[part].sum() * (trees[j].losses[smallest(j, members)] - trees[j].losses[smallest(j, part)])

        own.sort(key=lambda part: min(trees[j].order[codes[m, j]] for m in part))
        while own and 0 < counts[rest].sum() < k:
            rest += own.pop(int(np.argmin([saved(part) for part in own])))
        return [*own, rest] if own and rest else own

    best = max(range(len(trees)), key=lambda j: trees[j].losses[smallest(j, rows)] if parts_of(j, rows) else 0.0)
    parts = parts_of(best, rows) if len(rows) > 1 else []
    if not parts or trees[best].losses[smallest(best, rows)] == 0.0:
        return {tuple(codes[m]): tuple(smallest(j, rows) for j in range(len(trees))) for m in rows}
    return {key: own for part in parts for key, own in plain_mondrian(table, part, k, relaxed).items()}


@given(tables=microdata(), k=st.integers(1, 5), relaxed=st.booleans())
def test_mondrian_is_a_plain_one(tables, k, relaxed):
    table, _ = tables
    _, trees = setting(table)
    tests = Requirements(k).tests(table.tuples, trees)
    cells = recode(trees, tests, method="mondrian-relaxed" if relaxed else "mondrian")
    assert cells_by_tuple(table, cells) == plain_mondrian(table, list(range(len(table.tuples))), k, relaxed)


@given(tables=microdata(), k=st.integers(1, 6))
def test_parts_stay_apart(tables, k):
    """Release nothing coarser than any full-domain node with valid classes."""
    table, _ = tables
    nodes, _ = setting(table)
    for levels in product(*(range(h.length + 1) for h in table.quasi_identifiers.values())):
        at = np.column_stack(
            [own.ancestors[level][codes] for own, level, codes in zip(nodes, levels, table.tuples.codes.T, strict=True)]
        )
        _, parts = np.unique(at, axis=0, return_inverse=True)
        if np.bincount(parts, table.tuples.counts).min() < k:
            continue
        trees = Trees.of(table.tuples, nodes, apart=parts)
        for method in ("top-down", "bottom-up"):
            cells = recode(trees, Requirements(k).tests(table.tuples, trees), method=method)
            for own, level, cell in zip(nodes, levels, cells.T[:-1], strict=True):
                assert np.all(own.level[cell] <= level)


@njit(cache=False)
def nearest(r, trees, tests, classes):
    return nearest_class(r, np.inf, trees, tests, classes)


@njit(cache=False)
def nearest_other(c, trees, tests, classes):
    return nearest_to_class(c, np.inf, trees, tests, classes)


@njit(cache=False)
def change(r, c, trees, classes):
    leave(r, trees, classes)
    enter(r, c, trees, classes)


@pytest.mark.parametrize("seed", range(5))
def test_the_nearest_class_is_that_of_a_plain_search(seed):
    """Move tuples after the classes are sorted, and find the changes."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({f"q{j}": [f"v{v}" for v in random.integers(0, 5, 60)] for j in range(4)})
    table = Microdata.from_frame(frame, {name: nested(5) for name in frame})
    _, trees = setting(table)
    n_tuples, tests = len(trees.rows), Requirements(1).tests(table.tuples, trees)
    class_of = top_down(trees, 2)
    classes = Classes.of(trees, tests, class_of)
    classes.sort()
    n_classes = len(classes.rows)
    for r, c in zip(random.integers(0, n_tuples, 5), random.integers(0, n_classes, 5), strict=True):
        change(r, c, trees, classes)
        class_of[r] = c
    cells = cells_of_classes(trees, class_of, n_classes)
    costs = np.where(cells < 0, 0.0, trees.costs[cells]).sum(axis=1)
    rows = np.bincount(class_of, trees.rows, n_classes)
    filled = rows > 0
    assert np.array_equal(classes.cells[filled], cells[filled])
    assert np.array_equal(classes.rows, rows)
    for r in range(n_tuples):
        least = np.inf
        for c in set(class_of.tolist()) - {int(class_of[r])}:
            joined = cells_of_classes(trees, np.where(np.arange(n_tuples) == r, c, class_of), n_classes)[c]
            least = min(least, (rows[c] + trees.rows[r]) * trees.costs[joined].sum() - rows[c] * costs[c])
        found, added = nearest(r, trees, tests, classes)
        assert added == pytest.approx(least)
        assert (found < 0) == np.isinf(least)
    for c in np.flatnonzero(filled).tolist():
        least = np.inf
        for other in set(np.flatnonzero(filled).tolist()) - {c}:
            joined = cells_of_classes(trees, np.where(class_of == c, other, class_of), n_classes)[other]
            least = min(least, (rows[other] + rows[c]) * trees.costs[joined].sum() - rows[other] * costs[other])
        assert nearest_other(c, trees, tests, classes)[1] == pytest.approx(least)


@njit(cache=False)
def part_of(members, k, limit, attributes, trees):
    return best_node(members, k, limit, attributes, trees)


@given(tables=microdata(), k=st.integers(1, 4), seed=st.integers(0, 99))
def test_tuples_are_parted_by_the_best_of_all_nodes(tables, k, seed):
    _, trees = setting(tables[0])
    random = np.random.default_rng(seed)
    n = len(trees.rows)
    members = random.permutation(n)[: random.integers(1, n + 1)].astype(np.int64)
    least, limit = {}, float(random.choice([np.inf, trees.rows[members].sum() * 0.8]))
    for j, (a, b) in enumerate(pairwise(trees.offsets)):
        for node in range(a, b):
            at = trees.positions[members, j]
            parts = np.where((trees.first[node] <= at) & (at < trees.stop[node]), 0, 1)
            class_of = np.full(n, -1)
            class_of[members] = parts
            rows = np.bincount(parts, trees.rows[members], 2)
            if rows.min() >= k:
                least[j, node] = rows @ trees.costs[cells_of_classes(trees, class_of, 2)].sum(axis=1)
    j, node, _ = part_of(members, k, limit, np.arange(len(trees.offsets) - 1), trees)
    best = min(least.values(), default=np.inf)
    assert (node >= 0) == (best < limit)
    assert node < 0 or least[j, node] == pytest.approx(best)


def test_classes_that_no_tuple_can_leave_are_parted_anew():
    frame = pd.DataFrame({"q": ["v0", "v7", "v1", "v6"]})
    table = Microdata.from_frame(frame, {"q": nested(8)})
    _, trees = setting(table)
    made = relocate(trees, Requirements(2).tests(table.tuples, trees), np.array([0, 1, 1, 0]))
    assert made[0] == made[1] != made[2] == made[3]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_best_of_all_ladders_is_kept(seed):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({f"q{j}": [f"v{min(v, 8) - 1}" for v in random.geometric(0.3, 400)] for j in range(5)})
    _, trees = setting(Microdata.from_frame(frame, {name: nested(8) for name in frame}))
    losses = []
    for factors in ((1.0,), (1.4,), (1.0, 1.4), (1.4, 1.0)):
        with patch.object(cubes, "_FACTORS", factors):
            class_of, ended = bottom_up(trees, 5)
        assert ended
        made = class_of >= 0
        rows = np.bincount(class_of[made], trees.rows[made])
        costs = trees.costs[cells_of_classes(trees, class_of, len(rows))].sum(axis=1)
        # A tuple that is left over counts as the dearest.
        losses.append(rows @ costs + trees.rows[~made].sum() * costs.max())
    assert losses[2:] == pytest.approx([min(losses[:2])] * 2)
    assert losses[0] != losses[1]


def test_a_class_may_lose_rows_down_to_k():
    frame = pd.DataFrame({"q": ["v0"] * 2 + ["v6"] + ["v7"] * 2})
    table = Microdata.from_frame(frame, {"q": nested(8)})
    _, trees = setting(table)
    assert relocate(trees, Requirements(2).tests(table.tuples, trees), np.array([0, 0, 1])).tolist() == [0, 1, 1]


@pytest.mark.parametrize("price", [0.0, 5.0])
def test_no_relocation_costs_anything(price):
    random = np.random.default_rng(1)
    for _ in range(5):
        frame = pd.DataFrame({f"q{j}": [f"v{v}" for v in random.integers(0, 5, 60)] for j in range(3)})
        table = Microdata.from_frame(frame, {name: nested(5) for name in frame})
        _, trees = setting(table)
        before = random.permutation(np.arange(len(trees.rows)) // 4)
        after = relocate(trees, Requirements(2).tests(table.tuples, trees), before.copy(), price)
        costs = []
        for class_of in (before, after):
            n_classes = int(class_of.max()) + 1
            cells, rows = cells_of_classes(trees, class_of, n_classes), np.bincount(class_of, trees.rows, n_classes)
            losses = np.where(cells < 0, 0.0, trees.costs[cells]).sum(axis=1)
            costs.append(rows @ losses + price * np.count_nonzero(rows))
        assert rows[rows > 0].min() >= 2
        assert costs[1] < costs[0]


@pytest.mark.parametrize("seed", range(4))
def test_after_relocation_no_move_of_a_tuple_saves_anything(seed):
    """Compute the loss of every single move that leaves k rows."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({f"q{j}": [f"v{v}" for v in random.integers(0, 8, 80)] for j in range(3)})
    table = Microdata.from_frame(frame, {name: nested(8) for name in frame})
    _, trees = setting(table)
    before = random.permutation(np.arange(len(trees.rows)) // 5)

    def loss(class_of):
        rows = np.bincount(class_of, trees.rows)
        cells = cells_of_classes(trees, class_of, len(rows))
        return rows, rows @ np.where(cells < 0, 0.0, trees.costs[cells]).sum(axis=1)

    made = relocate(trees, Requirements(3).tests(table.tuples, trees), before)
    rows, least = loss(made)
    for r in range(len(made)):
        for c in np.flatnonzero(rows) if rows[made[r]] - trees.rows[r] >= 3 else ():
            assert loss(np.where(np.arange(len(made)) == r, c, made))[1] >= least - 1e-8


def test_persons_are_counted_and_not_rows():
    """Take four rows of two persons as a class of two."""
    frame = pd.DataFrame({"q": ["a", "a", "b", "b", "c", "d"], "who": [1, 1, 2, 2, 3, 4]})
    table = Microdata.from_frame(frame, {"q": Hierarchy.flat("abcd")}, person="who")
    _, trees = setting(table)
    tests = Requirements(1, [ColumnRequirement(RequirementKind.DISTINCT, "who", 2)]).tests(table.tuples, trees)
    for members in members_of(recode(trees, tests)):
        assert len({who for q, who in zip(frame.q, frame.who, strict=True) if "abcd".index(q) in members}) >= 2
    assert recode(trees, Requirements(1).tests(table.tuples, trees)).tolist() == [[1], [2], [3], [4]]


def test_what_is_left_over_joins_the_class_that_takes_it_at_least_loss():
    frame = pd.DataFrame({"q": ["v0"] * 4 + ["v6"] * 4 + ["v7"]})
    table = Microdata.from_frame(frame, {"q": nested(8)})
    _, trees = setting(table)
    own = repair(trees, Requirements(4).tests(table.tuples, trees), np.array([0, 1, -1]))
    assert own.tolist() == [0, 1, 1]


def test_a_search_without_local_recoding_does_not_load_it():
    """Load neither modules nor loops, which slow down the start."""
    code = (
        "import sys, pymoo_anon.algorithms, pymoo_anon.objectives, pymoo_anon.problems as problems\n"
        "from pymoo_anon.datasets import make_census\n"
        "problem = problems.LatticeProblem(make_census(50), [pymoo_anon.objectives.GeneralLossMetric()])\n"
        "problem.evaluate(problem.xl)\n"
        "print([name for name in sys.modules if name.startswith('pymoo_anon.recoding')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(1, 6))
def test_the_first_split_of_a_tree_of_one_level_is_all_of_top_down(values, k):
    table = Microdata.from_frame(pd.DataFrame({"q": values}), {"q": Hierarchy.flat(range(6))})
    trees = Trees.of(table.tuples, [own.nodes for own in table.quasi_identifiers.values()])
    gain, part_of = first_split(trees, k)
    assert (gain > 0) == (part_of >= 0).any()
    assert np.array_equal(pd.factorize(part_of)[0], pd.factorize(top_down(trees, k))[0])
    if gain > 0:
        assert pd.Series(trees.rows).groupby(part_of).sum().min() >= k
