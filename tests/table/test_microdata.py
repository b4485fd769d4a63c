"""Tables and generalizations: roles, classes, equality, copies, protection from change, and rules of suppression."""

import copy
import pickle
from datetime import datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pytest
from persons import QUASI, contents, persons
from strategies import at_levels

from pymoo_anon.objectives import SquaredClassSizes
from pymoo_anon.table import AtMost, Below, Generalization, Hierarchy, Microdata, Violating
from pymoo_anon.table.generalization import LocalGeneralization, label_texts, suppression_rule


def test_a_table_with_persons_keeps_them_when_it_is_copied_recoded_and_grouped():
    table = Microdata.from_frame(persons(patient=[1, 2, 1, 3, 2, 2]), QUASI, person="patient")
    recoded = table.recoded({"age": Hierarchy.flat([17, 30, 41, 99])})
    for one in (table, recoded, pickle.loads(pickle.dumps(table)), copy.deepcopy(table)):
        assert one.person == "patient"
        assert one.domain_of("patient") == (1, 2, 3)
        coarsest = at_levels(one.quasi_identifiers, [1, 1])
        assert one.equivalence_classes(coarsest).columns["patient"].histogram().tolist() == [[2, 3, 1]]


def test_tuples_that_a_new_hierarchy_puts_together_are_one():
    frame, bins = persons(patient=[1, 2, 1, 3, 2, 2]), Hierarchy.intervals(0, 100, widths=[50], step=25)
    single, binned = (
        Microdata.from_frame(frame, {**QUASI, "age": ages}, "diagnosis", person="patient")
        for ages in (Hierarchy.flat([30, 41, 99]), bins)
    )
    recoded = single.recoded({"age": bins})
    assert (single.n_distinct, recoded.n_distinct) == (4, 3)
    assert contents(recoded) == contents(binned)


@pytest.mark.parametrize("n", [24, 70])
def test_tables_may_have_any_number_of_quasi_identifiers(n):
    """Exceed 64 bits by the domain product, and numpy's 64 dimensions."""
    rng = np.random.default_rng(n)
    rows = rng.integers(0, 9, size=(50, n))[rng.integers(0, 50, 200)]
    frame = pd.DataFrame(rows, columns=[f"q{j}" for j in range(n)]).assign(s=rng.integers(0, 3, 200), p=range(200))
    hierarchy = Hierarchy.intervals(0, 9, widths=[3])
    table = Microdata.from_frame(frame, dict.fromkeys(frame.columns[:n], hierarchy), "s", person="p")
    values, counts = np.unique(rows, axis=0, return_counts=True)
    assert table.tuples.codes.tolist() == values.tolist()
    assert table.tuples.counts.tolist() == counts.tolist()
    recoded = table.recoded({"q0": Hierarchy.flat(range(8, -1, -1))})
    assert recoded.tuples.codes[:, 0].tolist() == (8 - values[:, 0]).tolist()
    expected = np.unique(rows // 3, axis=0, return_counts=True)[1]
    middle = at_levels(table.quasi_identifiers, [1] * n)
    assert sorted(table.equivalence_classes(middle).sizes) == sorted(expected)


def test_what_a_table_holds_cannot_be_assigned():
    table = Microdata.from_frame(persons(), QUASI, "diagnosis")
    for one in (table, pickle.loads(pickle.dumps(table)), copy.deepcopy(table), copy.copy(table)):
        with pytest.raises(TypeError, match="does not support item assignment"):
            one.quasi_identifiers["age"] = Hierarchy.flat([1])
        for name in ("quasi_identifiers", "sensitive", "label", "person", "tuples", "grouper", "n_left_out"):
            with pytest.raises(AttributeError):
                setattr(one, name, None)
    given_hierarchies = dict(QUASI)
    table = Microdata.from_frame(persons(), given_hierarchies)
    given_hierarchies["age"] = None
    assert table.quasi_identifiers == QUASI


def test_equivalence_classes_are_not_overwritten():
    table = Microdata.from_frame(persons(), QUASI, "diagnosis")
    finest, coarsest = at_levels(QUASI, [0, 0]), at_levels(QUASI, [1, 1])
    classes = table.equivalence_classes(finest)
    assert table.equivalence_classes(coarsest).sizes.tolist() == [6]
    assert sorted(classes.sizes) == [1, 1, 1, 3]


def test_a_pickled_table_is_the_same_and_a_copy_is_itself():
    table = Microdata.from_frame(persons(), QUASI, "diagnosis", label="salary")
    list(table.grouper.classes(np.array([[0, 1, 2, 3, 0, 1]]), np.array([[4, 2]]), columns=("diagnosis",)))
    again = pickle.loads(pickle.dumps(table))
    assert contents(again) == contents(table)
    assert copy.deepcopy(table) is table
    assert copy.deepcopy({"tuples": table.tuples})["tuples"] is table.tuples


@pytest.mark.parametrize("pickled", [False, True], ids=["built", "unpickled"])
def test_tables_do_not_change(pickled):
    table = Microdata.from_frame(persons(), QUASI, "diagnosis")
    tuples = pickle.loads(pickle.dumps(table)).tuples if pickled else table.tuples
    named = [(name, array) for holder in [tuples, *tuples.columns.values()] for name, array in vars(holder).items()]
    assert [name for name, array in named if isinstance(array, np.ndarray) and array.flags.writeable] == []


def test_more_rows_than_sums_of_squares_can_count_are_refused():
    hierarchies, most = {"q": Hierarchy.flat([0])}, 3_037_000_499
    tuples = np.zeros((1, 1), dtype=np.int64)
    table = Microdata(hierarchies, tuples, np.array([most]), {}, {})
    (classes,) = table.grouper.classes(np.zeros((1, 1), dtype=np.int64), np.ones((1, 1), dtype=np.int64))
    assert SquaredClassSizes().evaluate(classes).tolist() == [float(most**2)]
    with pytest.raises(ValueError, match=r"^a table must have at most 3,037,000,499 rows, got 3,037,000,500$"):
        Microdata(hierarchies, tuples, np.array([most + 1]), {}, {})


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
