"""Partition problems: bits, decoding, values, labels, memory, frames and refusals."""

import pickle
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.core.result import Result
from pymoo.optimize import minimize
from strategies import cuts, every_string, partitions

from pymoo_anon.objectives import (
    GeneralLossMetric,
    KAnonymity,
)
from pymoo_anon.operators import BitStringSampling, ClosestValidRepair, PartitionCrossover, PerAttributeBitMutation
from pymoo_anon.problems import BitStringProblem
from pymoo_anon.table import Hierarchy, Microdata, Taxonomy

WORK = {
    "name": "Any work",
    "children": [
        {"name": "Government", "children": [{"name": "Federal-gov"}, {"name": "State-gov"}, {"name": "Local-gov"}]},
        {"name": "Private"},
        {"name": "Never-worked"},
    ],
}
LEAVES = ["Federal-gov", "State-gov", "Local-gov", "Private", "Never-worked"]


def small_table(n_rows=80, seed=0):
    """Draw a table with bits: age 19, work 4, sex 1.

    No row holds Never-worked.
    """
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(0, 100, n_rows),
            "work": rng.choice(LEAVES[:4], n_rows),
            "sex": rng.choice(["Female", "Male"], n_rows),
            "diagnosis": rng.choice(["flu", "cold", "measles"], n_rows),
        }
    )
    quasi_identifiers = {
        "age": Hierarchy.intervals(0, 100, widths=[], step=5),
        "work": Hierarchy.flat(sorted(LEAVES[:4])),
        "sex": Hierarchy.flat(["Female", "Male"]),
    }
    return Microdata.from_frame(frame, quasi_identifiers, sensitive="diagnosis")


TABLE = small_table()
OBJECTIVES = [KAnonymity(), GeneralLossMetric()]


def make(objectives=OBJECTIVES, **kwargs):
    kwargs.setdefault("taxonomies", {"work": Taxonomy(WORK)})
    return BitStringProblem(TABLE, objectives, **kwargs)


def string(**bits):
    """Build one string from the positions of its ones, by attribute."""
    starts = {"age": 0, "work": 19, "sex": 23}
    x = np.zeros(24, bool)
    for name, places in bits.items():
        x[[starts[name] + place for place in places]] = True
    return x


def test_strings_are_laid_end_to_end():
    own = make()
    assert own.n_var == 24
    assert own.bit_offsets.tolist() == [0, 19, 23, 24]
    assert [own.bits_of(name) for name in ("age", "work", "sex")] == [slice(0, 19), slice(19, 23), slice(23, 24)]
    assert (own.xl.tolist(), own.xu.tolist(), own.vtype) == ([0] * 24, [1] * 24, bool)
    assert own.n_strings == 2**19 * len(cuts(WORK)) * 2


def test_the_papers_have_as_many_bits(adult_rows):
    columns = ["workclass", "education", "marital-status", "occupation", "race", "sex", "native-country"]
    values = {name: Hierarchy.flat(sorted(adult_rows[name].unique())) for name in [*columns, "salary-class"]}
    ages = {"age": Hierarchy.intervals(0, 100, widths=[], step=5)}
    own = BitStringProblem(Microdata.from_frame(adult_rows, {**ages, **values}), OBJECTIVES)
    assert np.diff(own.bit_offsets).tolist() == [19, 6, 15, 6, 13, 4, 1, 40, 1]
    assert own.n_strings == 2**105
    del values["salary-class"]
    ages = {"age": Hierarchy.intervals(0, 105, widths=[], step=15)}
    folder = files("pymoo_anon.datasets") / "taxonomies"
    trees = {name: Taxonomy.from_json(folder / f"{name}.json") for name in [*columns[:3], "native-country"]}
    own = BitStringProblem(Microdata.from_frame(adult_rows, {**ages, **values}), OBJECTIVES, taxonomies=trees)
    assert np.diff(own.bit_offsets).tolist() == [6, 7, 15, 6, 13, 4, 1, 40]
    assert (own.n_var, own.n_strings) == (92, 2**24 * 9 * 46 * 11 * 4135)


@given(data=st.data(), partition=partitions())
def test_decoding_counts_the_bits_before_a_value(data, partition):
    own = BitStringProblem(partition.table.microdata, OBJECTIVES, **partition.arguments)
    for x in own.sample(3, np.random.default_rng(data.draw(st.integers(0, 99)))):
        decoded = own.decode(x)
        for name, (labels,) in partition.labels_of(x.tolist()).items():
            assert [str(value) for value in own.table.quasi_identifiers[name].domain] == list(map(str, labels))
            assert decoded.groups[name].tolist() == list(labels.values())
        assert decoded.n_groups == tuple(x[own.bits_of(name)].sum() + 1 for name in partition.domains)


@given(data=st.data(), partition=partitions())
def test_the_whole_string_is_repaired_drawn_and_checked_as_its_parts(data, partition):
    own = BitStringProblem(partition.table.microdata, OBJECTIVES, **partition.arguments)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    X = rng.random((20, own.n_var)) < 0.5
    X.flags.writeable = False
    parts = {name: (X[:, own.bits_of(name)], tree) for name, tree in partition.arguments["taxonomies"].items()}
    valid = np.all([tree.is_valid(bits) for bits, tree in parts.values()] or [[True] * 20], axis=0)
    assert own.is_valid(X).tolist() == valid.tolist()
    plain, drawn, sampled = own.closest(X), own.closest(X, rng), own.sample(20, rng)
    for repaired in (plain, drawn, sampled):
        assert repaired.dtype == bool
        assert repaired.shape == X.shape
        assert own.is_valid(repaired).all()
    for name in partition.domains:
        bits = own.bits_of(name)
        if name in parts:
            _, tree = parts[name]
            np.testing.assert_array_equal(plain[:, bits], tree.closest(X[:, bits]))
            assert ((drawn ^ X)[:, bits].sum(axis=1) == (plain ^ X)[:, bits].sum(axis=1)).all()
        else:
            np.testing.assert_array_equal(plain[:, bits], X[:, bits])
            np.testing.assert_array_equal(drawn[:, bits], X[:, bits])
    np.testing.assert_array_equal(drawn[valid], X[valid])


@given(partition=partitions(max_attributes=2))
def test_valid_strings_are_counted(partition):
    own = BitStringProblem(partition.table.microdata, OBJECTIVES, **partition.arguments)
    assume(own.n_var <= 10)
    assert own.n_strings == own.is_valid(every_string(own.n_var)).sum()


def test_groups_have_names():
    own = make(taxonomies={})
    decoded = own.decode(string(age=[4, 6, 7, 18], work=[1])[:23])
    assert decoded.labels["age"] == ("0–24", "25–34", "35–39", "40–94", "95–99")
    assert decoded.labels["work"] == ("Federal-gov | Local-gov", "Private | State-gov")
    assert decoded.labels["sex"] == ("*",)
    assert own.decode(np.ones(23, bool)).labels["sex"] == ("Female", "Male")
    own = make()
    assert own.decode(string(work=[2, 3])).labels["work"] == ("Government", "Private", "Never-worked")
    assert own.decode(string()).labels["work"] == ("Any work",)
    assert own.decode(string()).labels["age"] == ("*",)
    own = make(taxonomies=None, orders={"work": LEAVES, "sex": ["Male", "Female"]})
    decoded = own.decode(string(work=[1, 3], sex=[0]))
    assert decoded.labels["work"] == ("Federal-gov | State-gov", "Local-gov | Private", "Never-worked")
    assert decoded.labels["sex"] == ("Male", "Female")


def test_numbers_in_an_order_have_ranges_where_they_follow_each_other():
    table = Microdata.from_frame(pd.DataFrame({"age": [17, 18, 19, 20, 21]}), {"age": Hierarchy.flat(range(17, 22))})
    x = np.array([0, 0, 1, 0], bool)
    assert BitStringProblem(table, OBJECTIVES).decode(x).labels["age"] == ("17–19", "20–21")
    turned = BitStringProblem(table, OBJECTIVES, orders={"age": [21, 19, 17, 18, 20]})
    assert turned.decode(x).labels["age"] == ("21 | 19 | 17", "18 | 20")
    binned = Microdata.from_frame(pd.DataFrame({"age": [1, 3]}), {"age": (bins := Hierarchy.intervals(1, 5, [], 2))})
    assert BitStringProblem(binned, OBJECTIVES, orders={"age": bins.domain}).table.quasi_identifiers["age"].bins


def test_leaves_that_no_row_holds_count_in_the_domain():
    alone = make([GeneralLossMetric()], taxonomies={"work": Taxonomy(WORK)})
    together = make([GeneralLossMetric()], taxonomies={}, orders={"work": LEAVES[:4]})
    ones = np.ones(24, bool)
    ones[19:23] = [0, 0, 1, 1]
    government = np.ones(23, bool)
    government[19:22] = [0, 0, 1]
    in_group = TABLE.tuples.counts[TABLE.tuples.codes[:, 1] != 2].sum()  # all but Private
    assert alone.evaluate(ones)[0] == pytest.approx(in_group * 2 / 4)
    assert together.evaluate(government)[0] == pytest.approx(in_group * 2 / 3)


def test_the_table_stays_as_it_was():
    table = small_table()
    before = pickle.dumps(table)
    taxonomy = Taxonomy(WORK)
    own = BitStringProblem(table, OBJECTIVES, taxonomies={"work": taxonomy}, orders={"sex": ["Male", "Female"]})
    own.evaluate(own.sample(20, np.random.default_rng(0)))
    assert pickle.dumps(table) == before
    assert table.quasi_identifiers["work"].domain == tuple(sorted(LEAVES[:4]))
    assert own.table.quasi_identifiers["work"].domain == tuple(LEAVES)
    assert (own.table.n_rows, own.table.sensitive) == (80, ("diagnosis",))


NSGA = {"sampling": BitStringSampling(), "crossover": PartitionCrossover(), "mutation": PerAttributeBitMutation()}


def test_to_frame_has_numbers_of_groups_and_natural_signs():
    own = make([KAnonymity(), GeneralLossMetric()], suppression=2)
    res = minimize(own, NSGA2(20, repair=ClosestValidRepair(), **NSGA), ("n_gen", 15), seed=1)
    assert res.X.dtype == bool
    assert res.pop.get("X").dtype == bool
    assert np.array_equal(own.compute(res.X), res.F)
    frame = own.to_frame(res)
    assert list(frame.columns) == ["age", "work", "sex", "k", "GLM", "suppressed"]
    assert [str(dtype) for dtype in frame.dtypes] == ["int64"] * 4 + ["float64", "int64"]
    assert frame[["age", "work", "sex"]].to_numpy().tolist() == [list(own.decode(x).n_groups) for x in res.X]
    assert np.array_equal(frame[["k", "GLM"]], res.F * [-1, 1])
    one, none = Result(), Result()
    one.X = string(age=[3], sex=[0])
    none.X = none.F = None
    assert own.to_frame(one).to_numpy().tolist() == [[2, 1, 2, *own.natural(own.evaluate(one.X)), 0]]
    assert own.to_frame(none).shape == (0, 6)
