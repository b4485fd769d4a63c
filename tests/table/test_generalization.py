"""Generalizations: checks, comparisons and protection from change. Rules of suppression."""

import copy
import pickle
from datetime import datetime, timedelta, timezone

import numpy as np
import pytest
from errors import refused

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
    twin, dropped = LocalGeneralization(ways, made.cells), LocalGeneralization(ways, made.cells, suppressed=True)
    assert (twin, hash(twin)) == (made, hash(made)) != (dropped, hash(made))
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


@pytest.mark.parametrize(
    "groups",
    [[0, 1, 2], [0, 0, 0], [0, 2, 2], [-1, 0, 1], [[0], [1]], [0.2, 1.4], [0.0, 1.0], [False, True], ["0", "1"], []],
)
def test_groups_are_numbered_without_gaps(groups):
    message = "groups of 'age' must be whole numbers from 0 to 1, each at least once, as there are 2 labels"
    assert refused(ValueError, lambda: Generalization({"age": groups}, {"age": ["young", "old"]})) == message


def test_groups_and_labels_are_of_the_same_columns():
    message = "groups and labels must name the same quasi-identifiers in the same order, got ['age', 3] and [3, 'age']"
    assert refused(ValueError, lambda: Generalization(AGES, dict(reversed(LABELS.items())))) == message


def test_midnights_of_two_zones_are_two_labels():
    """Label midnights by zone, and one without a zone by its day."""
    zones = timezone.utc, timezone(timedelta(hours=9))
    moments = [datetime(2021, 3, 5), *(datetime(2021, 3, 5, tzinfo=zone) for zone in zones)]
    texts = ["2021-03-05", "2021-03-05 00:00:00+00:00", "2021-03-05 00:00:00+09:00"]
    assert label_texts({"seen": moments}) == {"seen": texts}


SHARE = "suppression must be a share of the tuples from 0.0 to below 1.0, or a whole number of tuples from 0"


@pytest.mark.parametrize("rule", [AtMost, Violating])
@pytest.mark.parametrize("bad", [-1, -0.1, 1.0, float("nan"), True, "1", None])
def test_limits_that_are_refused(rule, bad):
    assert refused(ValueError, lambda: rule(bad)) == f"{SHARE}, got {bad!r}"


@pytest.mark.parametrize("rule", [AtMost, Violating])
def test_a_limit_is_below_the_number_of_rows(rule):
    assert rule(9).limit_of(10) == 9
    assert refused(ValueError, lambda: rule(10).limit_of(10)) == f"{SHARE} to 9, got 10"
    with pytest.raises(ValueError, match="to 9, got 10000"):
        rule(10**400).limit_of(10)


@pytest.mark.parametrize("bad", [0, -1, 2.0, True, "1"])
def test_sizes_that_are_refused(bad):
    assert refused(ValueError, lambda: Below(bad)) == f"k of Below must be a positive whole number, got {bad!r}"


def test_a_size_is_at_most_the_number_of_rows():
    assert Below(10).grouping(10) == (0, 10)
    assert refused(ValueError, lambda: Below(11).grouping(10)) == "k of Below must be at most 10, the rows, got 11"


def test_limits_are_numbers_of_tuples():
    assert AtMost(0.01).grouping(30162) == (301, 0)
    assert AtMost(0.29).grouping(100) == (29, 0)
    assert suppression_rule(np.float64(0.0)).grouping(100) == AtMost().grouping(100) == (0, 0)
    assert suppression_rule(np.int64(99)).grouping(100) == (99, 0)
    assert Below(np.int64(100)).grouping(100) == (0, 100)
    assert Below(3).limit_of(100) is None
    assert Violating(0.05).limit_of(100) == 5
    assert Violating(0.05).grouping(100) == (0, 0)


@pytest.mark.parametrize("bad", ["1", None, AtMost, [1]])
def test_what_is_no_rule_is_refused(bad):
    text = f"suppression must be a number, AtMost, Below or Violating, got {bad!r}"
    assert refused(TypeError, lambda: suppression_rule(bad)) == text
