"""Local recodings with levels for each cell, under every measure."""

from dataclasses import replace

import numpy as np
import pytest
from exact_cases import case
from exact_twins import LocalRelease, exact
from hypothesis import given
from hypothesis import strategies as st

from pymoo_anon.comparison import (
    ClassSize,
    Coverage,
    TupleLoss,
    TupleUtility,
    compare,
    worst_off,
)
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import DeltaPresence, LeastPresence
from pymoo_anon.table import LocalGeneralization

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
