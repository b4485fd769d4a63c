"""Local recodings: valid classes, covering cells, independence of row order, and every measure of them."""

from dataclasses import replace
from itertools import pairwise, product
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from exact_cases import case
from exact_twins import LocalRelease, Release, exact
from hypothesis import given
from hypothesis import strategies as st
from loops import leave_uncompiled
from processes import python
from recodings import column, drawn, lost, members_of, trees_of
from strategies import at_levels, fewer, nested, times
from tasks import constraint_of

from pymoo_anon.comparison import ClassSize, Coverage, TupleLoss, TupleUtility, compare, worst_off
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import *
from pymoo_anon.problems.requirements import requirements_of
from pymoo_anon.recoding import ColumnRequirement, RequirementKind, Requirements, moves, recode
from pymoo_anon.recoding import top_down as splits
from pymoo_anon.recoding import trees as trees_and_tests
from pymoo_anon.recoding.bottom_up import bottom_up
from pymoo_anon.recoding.moves import Classes, fill, relocate, repair
from pymoo_anon.recoding.top_down import first_split, top_down
from pymoo_anon.recoding.trees import cells_of_classes
from pymoo_anon.table import Hierarchy, LocalGeneralization, Microdata

VALUES = "abcd"


@st.composite
def microdata(draw, max_rows=24, max_attributes=3, sizes=(1, 2, 3, 4, 5, 6)):
    """Draw a small table and a copy with permuted rows. Sizes are of domains."""
    sizes = draw(st.lists(st.sampled_from(sizes), min_size=1, max_size=max_attributes))
    n_rows = draw(st.integers(1, max_rows))
    # Rows that hypothesis draws one by one are mostly equal.
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    codes = [rng.integers(0, n, n_rows) for n in sizes]
    values = [rng.choice([*VALUES], n_rows) for _ in range(2)]
    order = rng.permutation(n_rows)

    def table(rows):
        columns = {f"q{j}": [f"v{own[i]}" for i in rows] for j, own in enumerate(codes)}
        columns |= {f"s{j}": [own[i] for i in rows] for j, own in enumerate(values)}
        hierarchies = {f"q{j}": nested(n) for j, n in enumerate(sizes)}
        return Microdata.from_frame(pd.DataFrame(columns), hierarchies, sensitive=["s0", "s1"])

    return table(range(n_rows)), table(order)


PAIRS = Hierarchy([list(VALUES), ["ab", "ab", "cd", "cd"], ["*"] * 4])
LEAST, MOST = st.sampled_from([1, 1.5, 2, 2.5, 3]), st.sampled_from([0.1, 0.25, 0.5, 0.75])
#: A measure of each kind of test, with bounds for it.
KINDS = [
    (DistinctLDiversity, LEAST),
    (EntropyLDiversity, LEAST),
    (lambda of: RecursiveCLDiversity(of, 1.5), LEAST),
    (AlphaDeassociation, MOST),
    (TCloseness, MOST),
    (lambda of: TCloseness(of, PAIRS), MOST),
    (lambda of: TCloseness(of, tuple(VALUES)), MOST),
    (BasicBetaLikeness, LEAST),
    (EnhancedBetaLikeness, LEAST),
]


@st.composite
def constraints(draw, kinds=KINDS):
    make, bounds = draw(st.sampled_from(kinds))
    return constraint_of(make(draw(st.sampled_from(["s0", "s1"]))), draw(bounds))


def required(table, k, asked):
    """Return the tests of k and some constraints."""
    return Requirements.of(table.tuples, trees_of(table), k, requirements_of(asked, table.tuples))


def nodes_of(table):
    return [hierarchy.nodes for hierarchy in table.quasi_identifiers.values()]


def cells_by_tuple(table, cells):
    return {tuple(codes): tuple(own) for codes, own in zip(table.tuples.codes.tolist(), cells.tolist(), strict=True)}


def plainly_holds(constraint, table, members):
    """Tell whether tuples keep a constraint, or None if rounding decides."""
    measure, of = constraint.objective, table.tuples.columns[constraint.objective.column]
    is_member = np.isin(np.arange(len(table.tuples)), members)
    kept = np.repeat(np.repeat(is_member, np.diff(of.starts)), of.counts)
    rows = [{measure.column: table.domain_of(measure.column)[code]} for code in np.repeat(of.values, of.counts)]
    more = float(exact(Release(rows, {}, {}, kept.tolist()), measure)) - constraint.bound
    if abs(more) < 1e-9:
        return True if isinstance(measure, DistinctLDiversity | RecursiveCLDiversity | AlphaDeassociation) else None
    return (more > 0) == measure.maximize


@pytest.mark.parametrize("structure", ["sizes", "direct"])
@pytest.mark.parametrize("method", ["top-down", "bottom-up"])
@given(
    tables=microdata(),
    k=st.integers(1, 6),
    price=st.sampled_from([0.0, 0.7, 5.0]),
    asked=st.lists(constraints(), min_size=1, max_size=2),
    n=st.sampled_from([0, 0, 30]),
)
def test_every_class_holds_what_is_required(method, structure, tables, k, price, asked, n):
    table, other = tables
    ways = {"price": price, "method": method, "structure": structure, "n_improvements": n}
    nodes, trees = nodes_of(table), trees_of(table)
    cells = recode(trees, required(table, k, asked), **ways)
    assert cells.dtype == np.int32
    assert cells.shape == table.tuples.codes.shape
    for j, own in enumerate(nodes):
        position = own.order[table.tuples.codes[:, j]]
        assert np.all((own.first[cells[:, j]] <= position) & (position < own.stop[cells[:, j]]))
    classes = members_of(cells)
    whole = list(range(len(table.tuples)))
    if table.tuples.n_rows < k or not all(plainly_holds(one, table, whole) for one in asked):
        if not any(plainly_holds(one, table, whole) is None for one in asked):
            assert len(classes) == 1
    else:
        assert min(table.tuples.counts[members].sum() for members in classes) >= k
        assert not any(plainly_holds(one, table, members) is False for one in asked for members in classes)
    # Rows in another order.
    again = recode(trees_of(other), required(other, k, asked), **ways)
    assert cells_by_tuple(other, again) == cells_by_tuple(table, cells)


@pytest.mark.parametrize("kind", range(len(KINDS)))
@fewer(2)
@given(tables=microdata(max_rows=12), data=st.data())
def test_requirements_decide_as_the_measures_do(kind, tables, data):
    """Compare kernels on one class with the constraint on the top node."""
    (table, _), asked = tables, data.draw(constraints([KINDS[kind]]))
    trees, tests = trees_of(table), required(table, 1, [asked])
    for rows in (slice(None), slice(0, 3)):
        members = np.arange(len(trees.rows))[rows]
        kept = tests.subset(members).keeps_whole(trees.rows[members])
        expected = plainly_holds(asked, table, trees.places[members])
        assert expected is None or kept == expected
    hierarchies = table.quasi_identifiers
    one_class = at_levels(hierarchies, [hierarchy.length for hierarchy in hierarchies.values()])
    assert tests.keeps_whole(trees.rows) == (not asked.broken(table.equivalence_classes(one_class))[0])


@given(tables=microdata(), k=st.integers(1, 6))
def test_the_cube_releases_cells_that_are_cheapest(tables, k):
    """Check that the first class is a cheapest cell with k rows."""
    table, _ = tables
    nodes, trees = nodes_of(table), trees_of(table)
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
    trees = trees_of(tables[0], weights[: len(tables[0].quasi_identifiers)])
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
    trees = trees_of(table)
    tests = Requirements.of(table.tuples, trees, k)
    cells = recode(trees, tests, method="mondrian-relaxed" if relaxed else "mondrian")
    assert cells_by_tuple(table, cells) == plain_mondrian(table, list(range(len(table.tuples))), k, relaxed)


@given(tables=microdata(), k=st.integers(1, 6))
def test_parts_stay_apart(tables, k):
    """Release nothing coarser than any full-domain node with valid classes."""
    table, _ = tables
    nodes = nodes_of(table)
    for levels in product(*(range(h.length + 1) for h in table.quasi_identifiers.values())):
        at = np.column_stack(
            [own.ancestors[level][codes] for own, level, codes in zip(nodes, levels, table.tuples.codes.T, strict=True)]
        )
        _, parts = np.unique(at, axis=0, return_inverse=True)
        if np.bincount(parts, table.tuples.counts).min() < k:
            continue
        trees = trees_of(table, apart=parts)
        for method in ("top-down", "bottom-up"):
            cells = recode(trees, Requirements.of(table.tuples, trees, k), method=method)
            for own, level, cell in zip(nodes, levels, cells.T[:-1], strict=True):
                assert np.all(own.level[cell] <= level)


@pytest.mark.parametrize("seed", range(times(3)))
def test_the_nearest_class_is_that_of_a_plain_search(seed, monkeypatch):
    """Move tuples after the classes are sorted, and find the changes."""
    leave_uncompiled(monkeypatch, moves, trees_and_tests)
    random = np.random.default_rng(seed)
    table, trees = drawn(random, 60, 4, 5)
    n_tuples, asked = len(trees.rows), [ColumnRequirement(RequirementKind.ALPHA, "q0", 0.7)]
    tests = Requirements.of(table.tuples, trees, 1, asked[: seed % 2])
    class_of = top_down(trees, 2)
    classes = Classes.of(trees, tests, class_of)
    classes.sort()
    n_classes = len(classes.rows)
    for r, c in zip(random.integers(0, n_tuples, 5), random.integers(0, n_classes, 5), strict=True):
        moves.leave(r, trees, classes)
        moves.enter(r, c, trees, classes)
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
            union = np.flatnonzero((class_of == c) | (np.arange(n_tuples) == r))
            if not tests.subset(union).keeps_whole(trees.rows[union]):
                continue
            joined = cells_of_classes(trees, np.where(np.arange(n_tuples) == r, c, class_of), n_classes)[c]
            least = min(least, (rows[c] + trees.rows[r]) * trees.costs[joined].sum() - rows[c] * costs[c])
        others = np.flatnonzero((class_of == class_of[r]) & (np.arange(n_tuples) != r))
        held = moves.class_holds(class_of[r], -1, r, trees.rows[others].sum(), tests, classes)
        assert held == tests.subset(others).keeps_whole(trees.rows[others])
        found, added = moves.nearest_class(r, np.inf, trees, tests, classes)
        assert added == pytest.approx(least)
        assert (found < 0) == np.isinf(least)
    for c in np.flatnonzero(filled).tolist():
        least = np.inf
        for other in set(np.flatnonzero(filled).tolist()) - {c}:
            joined = cells_of_classes(trees, np.where(class_of == c, other, class_of), n_classes)[other]
            least = min(least, (rows[other] + rows[c]) * trees.costs[joined].sum() - rows[other] * costs[other])
        assert moves.nearest_to_class(c, np.inf, trees, tests, classes)[1] == pytest.approx(least)


@given(tables=microdata(), k=st.integers(1, 4), seed=st.integers(0, 99))
def test_tuples_are_parted_by_the_best_of_all_nodes(tables, k, seed):
    trees = trees_of(tables[0])
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
    with pytest.MonkeyPatch.context() as patch:
        leave_uncompiled(patch, splits)
        j, node, _ = splits.best_node(members, k, limit, np.arange(len(trees.offsets) - 1), trees)
    best = min(least.values(), default=np.inf)
    assert (node >= 0) == (best < limit)
    assert node < 0 or least[j, node] == pytest.approx(best)


def test_classes_that_no_tuple_can_leave_are_parted_anew():
    table, trees = column(0, 7, 1, 6)
    made = relocate(trees, Requirements.of(table.tuples, trees, 2), np.array([0, 1, 1, 0]))
    assert made[0] == made[1] != made[2] == made[3]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_best_of_all_ladders_is_kept(seed):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({f"q{j}": [f"v{min(v, 8) - 1}" for v in random.geometric(0.3, 400)] for j in range(5)})
    trees = trees_of(Microdata.from_frame(frame, {name: nested(8) for name in frame}))
    losses = []
    for factors in ((1.0,), (1.4,), (1.0, 1.4), (1.4, 1.0)):
        with patch("pymoo_anon.recoding.bottom_up._FACTORS", factors):
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
    table, trees = column(0, 0, 6, 7, 7)
    assert relocate(trees, Requirements.of(table.tuples, trees, 2), np.array([0, 0, 1])).tolist() == [0, 1, 1]


# In the last one, classes change before others are sorted.
DRAWN = [*product([(80, 3, 8)], range(4), (0.0, 5.0)), ((150, 4, 6), 5, 0.0)]


@pytest.mark.parametrize(("size", "seed", "price"), DRAWN)
def test_relocation_saves_until_no_move_of_a_tuple_saves_more(size, seed, price):
    """Compute the loss of every single move that leaves k rows."""
    random = np.random.default_rng(seed)
    table, trees = drawn(random, *size)
    before = random.permutation(np.arange(len(trees.rows)) // 5)
    made = relocate(trees, Requirements.of(table.tuples, trees, 3), before.copy(), price)
    rows, losses = lost(trees, made, price)
    assert rows[rows > 0].min() >= 3
    assert Classes.of(trees, Requirements.of(table.tuples, trees, 3), made).loss(price) == pytest.approx(losses.sum())
    assert losses.sum() < lost(trees, before, price)[1].sum()
    for r in range(len(made)):
        for c in np.flatnonzero(rows) if rows[made[r]] - trees.rows[r] >= 3 else ():
            moved = np.where(np.arange(len(made)) == r, c, made)
            assert lost(trees, moved, price)[1].sum() >= losses.sum() - 1e-8


def test_what_is_left_over_joins_the_class_that_takes_it_at_least_loss():
    table, trees = column(*[0] * 4, *[6] * 4, 7)
    own = repair(trees, Requirements.of(table.tuples, trees, 4), np.array([0, 1, -1]))
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
    done = python("-c", code)
    assert done.stdout.strip() == "[]", done.stderr


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(1, 6))
def test_the_first_split_of_a_tree_of_one_level_is_all_of_top_down(values, k):
    table = Microdata.from_frame(pd.DataFrame({"q": values}), {"q": Hierarchy.flat(range(6))})
    trees = trees_of(table)
    gain, part_of = first_split(trees, k)
    assert (gain > 0) == (part_of >= 0).any()
    assert np.array_equal(pd.factorize(part_of)[0], pd.factorize(top_down(trees, k))[0])
    if gain > 0:
        assert pd.Series(trees.rows).groupby(part_of).sum().min() >= k


def numbered(trees, cells):
    """Return cells as numbers of nodes in the hierarchies, and their costs."""
    return trees.numbers[cells].tolist(), trees.costs[cells].tolist()


@given(tables=microdata(max_rows=40), k=st.integers(1, 20), seed=st.integers(0, 99))
def test_sets_have_the_same_cells_in_narrowed_and_in_merged_trees(tables, k, seed):
    """Take random sets, and those below each node."""
    trees, rng = trees_of(tables[0]), np.random.default_rng(seed)
    units = np.unique(rng.integers(0, k, len(trees.rows)), return_inverse=True)[1]
    (narrow, _), (_, of_units) = made = trees.narrowed(k), trees.merged(units)
    at, nodes = trees.positions, zip(trees.first, trees.stop, strict=True)
    below = [((first <= at) & (at < stop)).any(axis=1) for first, stop in nodes]
    for (moved, group_of), least in zip(made, (k, 1), strict=True):
        assert np.bincount(group_of, trees.rows).tolist() == moved.rows.tolist()
        n = len(moved.rows)
        for chosen in [rng.random(n) < 0.5, *(np.bincount(group_of[own], minlength=n) > 0 for own in below)]:
            if moved.rows[chosen].sum() >= least:
                own = cells_of_classes(moved, np.where(chosen, 0, -1), 1)
                whole = cells_of_classes(trees, np.where(chosen[group_of], 0, -1), 1)
                assert numbered(moved, own) == numbered(trees, whole)
    assert all(len(set(of_units[units == unit])) == 1 for unit in units)
    # No node has fewer rows but leaves that are as dear as the node above, if anything became less at all.
    for j in range(trees.positions.shape[1] if narrow is not trees else 0):
        before = np.concatenate([[0], np.cumsum(np.bincount(narrow.positions[:, j], narrow.rows, len(narrow.leaves)))])
        for node in range(narrow.offsets[j], narrow.offsets[j + 1]):
            above = narrow.parent[node]
            if before[narrow.stop[node]] - before[narrow.first[node]] < k and above >= 0:
                assert narrow.costs[node] == narrow.costs[above]
    assert trees_of(tables[1]).narrowed(k)[0].rows.tolist() == narrow.rows.tolist()
    # Parts stay apart, however few rows they have.
    apart = trees_of(tables[0], apart=units)
    narrow, group_of = apart.narrowed(k)
    assert np.array_equal(narrow.parts[group_of], apart.parts)


@given(tables=microdata(max_rows=40), k=st.integers(1, 8), n_classes=st.integers(1, 3), seed=st.integers(0, 99))
def test_a_rest_is_filled_up_from_classes_that_keep_k_rows(tables, k, n_classes, seed):
    trees = trees_of(tables[0])
    tests = Requirements.of(tables[0].tuples, trees, k)
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
        assert not any(c < len(before) and classes.rows[c] - own >= k for c, own in zip(made, trees.rows, strict=True))


SEEDS = st.integers(0, 2**32 - 1)


def rooted(own):
    """Return the case with hierarchies that all end in one group."""
    hierarchies = {name: hierarchy.with_root() for name, hierarchy in own.hierarchies.items()}
    tables = own.table.recoded(hierarchies), own.population.recoded(hierarchies)
    return replace(own, hierarchies=hierarchies, table=tables[0], population=tables[1])


def measures(own):
    """Return every measure but the two for which a person fits one class."""
    return [one for one in own.objectives() if not isinstance(one, DeltaPresence | LeastPresence)]


def some_levels(rng, table):
    """Draw a level for each cell of each distinct tuple.

    Many tuples share their levels with another, so that classes are large.
    """
    lengths = [hierarchy.length for hierarchy in table.quasi_identifiers.values()]
    drawn = np.column_stack([rng.integers(0, length + 1, table.n_distinct) for length in lengths])
    return drawn[rng.integers(0, 1 + rng.integers(0, table.n_distinct), table.n_distinct)]


def recoded(table, levels):
    """Return the local generalization with these levels of cells."""
    nodes = [
        hierarchy.nodes.ancestors[levels[:, j], table.tuples.codes[:, j]]
        for j, hierarchy in enumerate(table.quasi_identifiers.values())
    ]
    return LocalGeneralization(table.quasi_identifiers, np.column_stack(nodes))


def released(own, levels):
    """Return the same recoding as rows."""
    domains = [hierarchy.domain for hierarchy in own.hierarchies.values()]
    tuples = [tuple(d[c] for d, c in zip(domains, code, strict=True)) for code in own.table.tuples.codes.tolist()]
    level_of = dict(zip(tuples, map(tuple, levels.tolist()), strict=True))
    return LocalRelease(own.rows, own.hierarchies, {}, [True] * len(own.rows), level_of)


def own_row(own):
    """Return a function from a distinct tuple to its original values."""
    codes = own.table.tuples.codes

    def row_of(place):
        return {
            name: hierarchy.domain[code]
            for (name, hierarchy), code in zip(own.hierarchies.items(), codes[place].tolist(), strict=True)
        }

    return row_of


@given(SEEDS, st.sampled_from([1.0, 0.6]))
def test_every_measure_is_the_float_next_to_what_the_rows_say(seed, share):
    """Keep all classes, or some."""
    own, rng = rooted(case(seed)), np.random.default_rng(seed)
    levels = some_levels(rng, own.table)
    release, asked = released(own, levels), measures(own)
    classes = own.table.local_classes(recoded(own.table, levels), ("ill", "who", *own.hierarchies))
    classes = replace(classes, kept=rng.random(len(classes.sizes)) < share)
    kept_of = dict(zip(map(release.cell, map(own_row(own), classes.representatives)), classes.kept, strict=True))
    release.kept = [bool(kept_of[release.cell(row)]) for row in own.rows]
    found = {repr(one): float(one.evaluate(classes)[0]) for one in asked}
    assert found == {repr(one): float(exact(release, one)) for one in asked}
    assert len(asked) == 36


@given(SEEDS)
def test_losses_of_tuples_are_those_of_their_own_cells(seed):
    own, rng = rooted(case(seed)), np.random.default_rng(seed)
    levels = some_levels(rng, own.table)
    release, classes = released(own, levels), own.table.equivalence_classes(recoded(own.table, levels))
    row_of = own_row(own)
    for place in range(own.table.n_distinct):
        row, loss, utility = row_of(place), 0.0, 0.0
        for name, hierarchy in own.hierarchies.items():
            loss += (release.extent(name, row) - 1) / max(hierarchy.n_values - 1, 1)
            utility += 1 - release.extent(name, row) / hierarchy.n_values
        assert TupleLoss().of_tuples(classes)[place] == pytest.approx(loss, abs=1e-12)
        assert TupleUtility().of_tuples(classes)[place] == pytest.approx(utility, abs=1e-12)


def small_table():
    return make_census(300)


def test_equal_cells_are_one_class_whatever_leaf_they_come_from():
    table = small_table()
    top = LocalGeneralization(table.quasi_identifiers, np.zeros((table.n_distinct, 8), dtype=np.int32))
    classes = table.equivalence_classes(top)
    assert classes.sizes.tolist() == [300]
    assert top.n_groups == (1,) * 8
    assert top.labels_of(table.tuples.codes, top.representatives) == {name: ["*"] for name in table.quasi_identifiers}
    assert worst_off(table, top, ClassSize()).index.tolist() == [("*",) * 8]


def test_recodings_are_compared_as_generalizations_are():
    table, rng = small_table(), np.random.default_rng(0)
    fine, coarse = (recoded(table, np.minimum(some_levels(rng, table), most)) for most in (1, 9))
    found = compare(table, {"fine": fine, "coarse": coarse}, [ClassSize(), TupleLoss()], [Coverage()])
    assert set(found.ranks.index) == {"fine", "coarse"}
