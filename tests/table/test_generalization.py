"""Generalizations: checks, comparisons and protection from change. Rules of suppression."""

import copy
import pickle
from datetime import datetime, timedelta, timezone

import numpy as np
import pytest

from pymoo_anon.table import AtMost, Below, Generalization, Hierarchy, Violating
from pymoo_anon.table.generalization import LocalGeneralization, label_texts, suppression_rule

AGES = {"age": [0, 0, 1], 3: [0]}
LABELS = {"age": ["young", "old"], 3: ["*"]}


def test_a_generalization_holds_groups_and_labels():
    one = Generalization(AGES, LABELS)
    assert one.n_groups == (2, 1)
    assert {name: groups.tolist() for name, groups in one.groups.items()} == AGES
    assert dict(one.labels) == {"age": ("young", "old"), 3: ("*",)}
    assert repr(one) == "Generalization(\n  age: young; old\n  3: *\n)"
    many = Generalization({"q": range(6)}, {"q": "abcdef"})
    assert repr(many) == "Generalization(\n  q: a; b; c; d; ... 6 groups\n)"


def test_a_local_recoding_is_shown_by_its_labels():
    ways = {"age": Hierarchy.intervals(0, 4, [2]), "sex": Hierarchy.flat("FM")}
    made = LocalGeneralization(ways, [[0, 0], [1, 0], [1, 0]])
    assert made.n_groups == (2, 1)
    assert repr(made) == "LocalGeneralization(2 classes; age: 2 labels; sex: 1 label)"
    for twin in (LocalGeneralization(ways, made.cells), pickle.loads(pickle.dumps(made))):
        assert (twin, hash(twin)) == (made, hash(made))
    assert made != LocalGeneralization(ways, made.cells, suppressed=True)
    assert made != LocalGeneralization(ways, [[0, 0], [1, 1], [1, 0]])
    assert repr(LocalGeneralization(ways, [[0, 0]])) == "LocalGeneralization(1 class; age: 1 label; sex: 1 label)"


def test_equality_is_that_of_groups_and_labels():
    one = Generalization(AGES, LABELS)
    for twin in (Generalization(AGES, LABELS), pickle.loads(pickle.dumps(one)), copy.deepcopy(one), copy.copy(one)):
        assert twin == one
        assert hash(twin) == hash(one)
        assert not twin.groups["age"].flags.writeable
    assert one != Generalization({**AGES, "age": [0, 1, 1]}, LABELS)
    assert one != Generalization(AGES, {**LABELS, "age": ["old", "young"]})
    assert one != Generalization(dict(reversed(AGES.items())), dict(reversed(LABELS.items())))
    assert one != "text"
    # The order is that of a table's columns.
    assert Generalization({"a": [0], "b": [0]}, {"a": "*", "b": "*"}) != Generalization(
        {"b": [0], "a": [0]}, {"b": "*", "a": "*"}
    )


def test_instances_do_not_change():
    groups = np.array([0, 0, 1])
    one = Generalization({"age": groups}, {"age": ["young", "old"]})
    groups[0] = 1
    assert one.groups["age"].tolist() == [0, 0, 1]
    for mapping in (one.groups, one.labels):
        with pytest.raises(TypeError):
            mapping["age"] = ()
    with pytest.raises(AttributeError):
        one.groups = {}
    with pytest.raises(ValueError, match="read-only"):
        one.groups["age"][0] = 1


def test_midnights_of_two_zones_are_two_labels():
    """Label midnights by zone, and one without a zone by its day."""
    zones = timezone.utc, timezone(timedelta(hours=9))
    moments = [datetime(2021, 3, 5), *(datetime(2021, 3, 5, tzinfo=zone) for zone in zones)]
    texts = ["2021-03-05", "2021-03-05 00:00:00+00:00", "2021-03-05 00:00:00+09:00"]
    assert label_texts({"seen": moments}) == {"seen": texts}


def test_limits_are_numbers_of_tuples():
    assert AtMost(0.01).grouping(30162) == (301, 0)
    assert AtMost(0.29).grouping(100) == (29, 0)
    assert suppression_rule(np.float64(0.0)).grouping(100) == AtMost().grouping(100) == (0, 0)
    assert suppression_rule(np.int64(99)).grouping(100) == (99, 0)
    assert Below(np.int64(100)).grouping(100) == (0, 100)
    assert Below(3).limit_of(100) is None
    assert Violating(0.05).limit_of(100) == 5
    # A limit is below the number of rows, and a size at most that.
    assert AtMost(9).limit_of(10) == Violating(9).limit_of(10) == 9
    assert Below(10).grouping(10) == (0, 10)
    assert Violating(0.05).grouping(100) == (0, 0)
