"""The nodes of a hierarchy: every group once, an interval in tree order."""

import pickle
import re
from datetime import datetime
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from strategies import hierarchies

from pymoo_anon.table import Hierarchy


def sets_of(hierarchy):
    """Map every group's value set to its lowest level and label."""
    found = {}
    for level, groups in enumerate(hierarchy.groups):
        for group, label in enumerate(hierarchy.labels[level]):
            found.setdefault(frozenset(np.flatnonzero(groups == group).tolist()), (level, label))
    return found


@given(hierarchies(rooted=True))
def test_the_nodes_are_the_groups_of_all_levels(hierarchy):
    expected = sets_of(hierarchy)
    names = {}
    for own, (_, label) in expected.items():
        names.setdefault(str(label), set()).add(own)
    if any(len(own) > 1 for own in names.values()):
        with pytest.raises(ValueError, match="a label must name the same values at every level"):
            _ = hierarchy.nodes
        return
    nodes = hierarchy.nodes
    sets = [
        frozenset(np.flatnonzero((nodes.order >= a) & (nodes.order < b)).tolist())
        for a, b in zip(nodes.first, nodes.stop, strict=True)
    ]
    assert len(set(sets)) == len(sets) == len(nodes)
    assert set(sets) == set(expected)
    assert [expected[own] for own in sets] == list(zip(nodes.level.tolist(), nodes.labels, strict=True))
    assert nodes.parent[0] == -1
    for x, own in enumerate(sets[1:], start=1):
        above = [other for other in sets if other > own]
        assert sets[nodes.parent[x]] == min(above, key=len)
        # A node comes directly before all nodes below it.
        below = [y for y, other in enumerate(sets) if other < own]
        assert below == list(range(x + 1, x + 1 + len(below)))
    for level, groups in enumerate(hierarchy.groups):
        for value, node in enumerate(nodes.ancestors[level]):
            assert sets[node] == frozenset(np.flatnonzero(groups == groups[value]).tolist())
    assert nodes.losses[0] == (hierarchy.n_values > 1)


def test_nodes_do_not_change_and_are_not_pickled():
    cities = Hierarchy([["Bonn", "Paris", "Cologne"], ["DE", "FR", "DE"], ["*", "*", "*"]])
    nodes = cities.nodes
    assert cities.nodes is nodes
    for array in (nodes.order, nodes.first, nodes.stop, nodes.parent, nodes.level, nodes.ancestors):
        assert not array.flags.writeable
    again = pickle.loads(pickle.dumps(cities))
    assert again == cities
    assert "nodes" not in vars(again)
    assert again.nodes.labels == nodes.labels


def test_a_domain_of_one_value_is_one_node_that_loses_nothing():
    nodes = Hierarchy.flat(["only"]).nodes
    assert (len(nodes), nodes.labels, nodes.losses.tolist()) == (1, ("only",), [0.0])


def test_a_hierarchy_without_a_root_is_refused():
    forest = Hierarchy([["a", "b", "c"], ["x", "x", "y"]])
    with pytest.raises(ValueError, match=re.escape("'a', 'b', 'c' must end in one group")):
        _ = forest.nodes
    assert forest.with_root().nodes.labels == ("*", "x", "a", "b", "c")


def test_a_label_of_two_sets_is_refused_naming_them():
    other = Hierarchy([["a", "b", "c", "d"], ["Other", "Other", "c", "d"], ["Other", "Other", "Other", "d"]])
    text = "'Other' stands for 'a', 'b' at level 1 and for 'a', 'b', 'c' at level 2; give one of them another label"
    with pytest.raises(ValueError, match=re.escape(text)):
        _ = other.with_root().nodes
    # One label for one set, at two levels, is one node.
    fine = Hierarchy([["a", "b", "c"], ["Other", "Other", "c"], ["Other", "Other", "c"]]).with_root()
    assert fine.nodes.labels == ("*", "Other", "a", "b", "c")


def test_what_is_missing_is_no_text():
    assert Hierarchy.flat(["None", "a"]).with_missing().nodes.labels == ("*", "None", "a", None)


@pytest.mark.parametrize(
    ("number", "text"), [(17, "17"), (17.0, "17"), (Decimal("17.50"), "17.5"), (datetime(2021, 3, 5), "2021-03-05")]
)
def test_a_value_and_its_text_in_a_release_read_alike(number, text):
    mixed = Hierarchy([[number, 18, 19], [text, text, "19"], ["*", "*", "*"]])
    found = f"{text!r} stands for {number!r} at level 0 and for {number!r}, 18 at level 1"
    with pytest.raises(ValueError, match=re.escape(found)):
        _ = mixed.nodes
