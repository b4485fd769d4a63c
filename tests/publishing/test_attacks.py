"""Attacks with the original file, and on two releases of one table.

None finds a person better than 1 / k.

A person in a class could be any of its k rows. So nothing of a release may change when two rows of a class change
places in the original: not its order, index, types, categories, signs or anything else that travels with it. Each
attack reads one such thing, and each finds a release that was broken on purpose.
"""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from raw_tables import raw_problem
from strategies import promised, tables

from pymoo_anon.objectives import (
    BasicBetaLikeness,
    DistinctLDiversity,
    EntropyLDiversity,
    GeneralLossMetric,
    KAnonymity,
    TCloseness,
)
from pymoo_anon.objectives.knowledge import joint_classes
from pymoo_anon.objectives.privacy import identity
from pymoo_anon.problems import LatticeProblem, LocalRecodingProblem, joint, ladder
from pymoo_anon.publishing import RecountError, evidence, release, verify
from pymoo_anon.table import Hierarchy, Microdata

HIERARCHIES = {"age": Hierarchy.intervals(20, 100, [20, 40]), "town": Hierarchy.flat(["Bonn", "Köln", "Ulm"])}
ROLES = {"drop": ["name"], "keep": ["weight", "ward"]}
NODE = [2, 1]


def original(seed=0):
    rng = np.random.default_rng(seed)
    n = 60
    frame = pd.DataFrame(
        {
            "name": [f"person {i}" for i in range(n)],
            "age": rng.integers(20, 100, n),
            "town": rng.choice(["Bonn", "Köln", "Ulm"], n),
            "diagnosis": rng.choice(["flu", "cold", "asthma"], n),
            "weight": rng.choice([0.0, 0.5, 70.25], n),
            "ward": rng.choice(["a", "b"], n),
        }
    )
    # Zeros of both signs, which are equal: half of them are held by one person each.
    zeros = np.flatnonzero(frame.weight == 0)
    frame.loc[zeros[::2], "weight"] = -0.0
    frame.attrs["source"] = "person 0 comes first"
    frame.index = [f"row of {name}" for name in frame.name]
    return frame.astype({"ward": pd.CategoricalDtype(["z", "b", "a"])})


def problem(frame):
    return LatticeProblem(
        Microdata.from_frame(frame, HIERARCHIES, "diagnosis"), [KAnonymity(), DistinctLDiversity("diagnosis")]
    )


def made(frame):
    return release(frame, problem(frame), NODE, **ROLES).frame


# An attacker reads these parts of a release, each as a comparable value.
ATTACKS = {
    "row order": lambda frame: [tuple(map(str, row)) for row in frame.itertuples(index=False)],
    "index": lambda frame: (type(frame.index), frame.index.tolist(), frame.index.name),
    "column types": lambda frame: frame.dtypes.astype(str).tolist(),
    "types of cells": lambda frame: [[type(cell) for cell in frame[name].tolist()] for name in frame],
    "categories": lambda frame: [list(own.cat.categories) for _, own in frame.items() if hasattr(own, "cat")],
    "signs of zeros": lambda frame: np.signbit(frame.select_dtypes("number").to_numpy()).tolist(),
    "how a file writes it": lambda frame: frame.to_csv(),
    "attributes": lambda frame: dict(frame.attrs),
}


def changed(frame):
    """Reorder the rows, and swap persons within their classes."""
    rng = np.random.default_rng(1)
    swapped = frame.copy()
    group = (frame.age - 20) // 40
    for own in np.unique(group):
        places = np.flatnonzero(group == own)
        others = rng.permutation(places)
        # Name, age and town identify a person. Diagnosis, weight and ward stay in place.
        for column in ("name", "age", "town"):
            swapped.iloc[places, frame.columns.get_loc(column)] = frame[column].iloc[others].tolist()
    # Zeros change signs, and everything that is not in the table changes.
    swapped["weight"] = np.where(swapped.weight == 0, -1 * swapped.weight, swapped.weight)
    swapped = swapped.iloc[rng.permutation(len(swapped))]
    swapped.index = [f"other {i}" for i in range(len(swapped))]
    swapped["ward"] = swapped.ward.cat.reorder_categories(["a", "b", "z"])
    swapped.attrs = {"source": "person 7 comes first"}
    return swapped


def found_by(publish):
    """Return the attacks that see through a release."""
    one, other = publish(original()), publish(changed(original()))
    return {name for name, read in ATTACKS.items() if read(one) != read(other)}


def test_no_attack_sees_through_a_release():
    assert found_by(made) == set()
    # All that the originals differ in is seen.
    assert ATTACKS.keys() - found_by(lambda frame: frame) == {"column types", "types of cells"}


@pytest.mark.parametrize("to", [pl.from_pandas, lambda frame: pa.Table.from_pandas(frame, preserve_index=True)])
def test_other_kinds_of_frames_leave_nothing_behind_either(to):
    def publish(frame):
        roles = {**ROLES, "drop": ["name", *(["__index_level_0__"] if to is not pl.from_pandas else [])]}
        return release(to(frame), problem(frame), NODE, **roles).frame

    one, other = publish(original()), publish(changed(original()))
    assert one.equals(other)
    schemas = [getattr(frame, "schema", None) for frame in (one, other)]
    assert schemas[0] == schemas[1]
    if isinstance(one, pa.Table):
        assert one.schema.metadata == other.schema.metadata
        assert [column.num_chunks for column in one.columns] == [1] * one.num_columns
        assert not any(pa.types.is_dictionary(field.type) for field in one.schema)
    else:
        assert one.n_chunks() == 1


pytestmark = pytest.mark.filterwarnings("ignore:column .* looks the same")

GOALS = [KAnonymity(), GeneralLossMetric()]


def joint_measures():
    return [KAnonymity(joint=True), KAnonymity("s1", joint=True), *(one.jointly() for one in OF_COLUMNS)]


OF_COLUMNS = [DistinctLDiversity("s0"), EntropyLDiversity("s0"), TCloseness("s0"), BasicBetaLikeness("s0")]


@promised(300, 0.5)
@given(data=st.data(), table=tables(max_attributes=3, max_rows=20, rooted=True))
def test_joint_claims_are_counted_again_from_the_rows(data, table):
    frame = table.frame
    public = LatticeProblem(table.microdata, GOALS, data.draw(st.integers(0, len(frame) // 3)))
    local = LocalRecodingProblem(table.microdata, GOALS)
    X = public.nodes(0, public.n_nodes)[:: 1 + public.n_nodes // 10]
    earlier = [(public, X[data.draw(st.integers(0, len(X) - 1))])]
    if data.draw(st.booleans()):
        earlier.append((local, local.x_of(data.draw(st.integers(1, min(5, len(frame)))))))
    rule = data.draw(st.sampled_from([0, len(frame) // 3]))
    problem = LatticeProblem(table.microdata, [*joint_measures(), GeneralLossMetric()], rule, beside=earlier)
    front, how = problem.front(X), data.draw(st.sampled_from(["mark", "drop"]))
    free = [place for place in range(len(front)) if front.refusal(place, how) is None]
    assume(free)
    x = front.X[data.draw(st.sampled_from(free))]
    made = release(frame.sample(frac=1, random_state=1), problem, x, drop=["label"], suppressed=how)
    claims = made.claims[made.claims.measure.str.startswith("joint")]
    assert len(claims) == len(joint_measures())
    assert (claims.holds == True).all()  # noqa: E712
    if how == "drop" or not made.n_suppressed:
        np.testing.assert_allclose(claims.recounted.astype(float), claims.promised.astype(float), rtol=1e-9)


def forgotten(classes):
    """Return joint classes as if there was no earlier release."""
    return joint_classes(replace(classes, beside=np.ones_like(classes.beside)))


@pytest.mark.parametrize("measure", joint_measures(), ids=repr)
def test_a_wrong_joint_claim_is_found(measure, monkeypatch):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({name: rng.integers(0, 4, 60) for name in ("a", "b", "s0", "s1")})
    ways = {name: Hierarchy([list(range(4)), [0, 0, 1, 1], ["*"] * 4]) for name in ("a", "b")}
    table = Microdata.from_frame(frame, ways, sensitive=["s0", "s1"])
    earlier = LatticeProblem(table, GOALS), [0, 2]
    problem = LatticeProblem(table, [measure, GeneralLossMetric()], beside=[earlier])
    made = release(frame, problem, [2, 1], drop="s1")
    assert made.claims.holds.tolist() == [True, True]
    monkeypatch.setattr(identity, "joint_classes", forgotten)
    with pytest.raises(RecountError, match=f"counted again, {measure.full_name} is .* was promised"):
        release(frame, problem, [2, 1], drop="s1")


def test_a_second_release_that_leaves_somebody_alone_is_refused():
    frame = pd.DataFrame({"a": [1, 1, 2, 2], "b": [1, 2, 1, 2]})
    public = raw_problem(frame)
    problem = LatticeProblem(public.table, [KAnonymity(joint=True), *GOALS], beside=[(public, [0, 1])])
    with pytest.raises(ValueError, match="joint k is 1 where at least 2 is required"):
        release(frame, problem, [1, 0])
    front = problem.front(np.array([[1, 0], [0, 1]]))
    assert front.refusal(0) == "joint k is 1: some row stands alone in a class"
    assert front.refusal(1) is None
    made = release(frame, problem, [1, 0], anyway="both are needed by the ministry")
    assert made.exceptions == ("joint k is 1 where at least 2 is required",)
    assert made.claims[["measure", "promised", "recounted", "holds"]].to_numpy().tolist()[:2] == [
        ["joint k", 1, 1, True],
        ["k", 2, 2, True],
    ]
    with pytest.raises(ValueError, match="joint"):
        verify(made.frame, ["a", "b"], [KAnonymity(joint=True)])


def evidence_of(frame, problem, choice):
    X = problem.pareto_set() if isinstance(problem, LatticeProblem) else [choice.x]
    return evidence(problem, X, choice, release(frame, problem, choice), checksums={}, search={})


def test_evidence_names_the_releases_beside_which_one_was_made():
    frame = pd.DataFrame({"a": [*range(6)] * 4, "b": [*range(4)] * 6})
    ways = {
        name: Hierarchy([[*range(n)], [f"{i // 2}x" for i in range(n)], ["*"] * n]) for name, n in (("a", 6), ("b", 4))
    }
    table = Microdata.from_frame(frame, ways)
    tiers = ladder(LocalRecodingProblem(table, GOALS), [12, 6, 2])
    told = [evidence_of(frame, one.problem, one) for one in tiers]
    assert [[one["x"] for one in own["earlier"]] for own in told] == [
        [],
        [[*tiers[0].x]],
        [[*tiers[0].x], [*tiers[1].x]],
    ]
    again = pickle.loads(pickle.dumps(tiers[2].problem))
    assert again.decode(tiers[2].x).n_groups == tiers[2].problem.decode(tiers[2].x).n_groups
    beside = LatticeProblem(table, [KAnonymity(joint=True), GeneralLossMetric()], beside=tiers[1:])
    named = evidence_of(frame, beside, beside.front(beside.pareto_set()).choose())["earlier"]
    assert [one["point"] for one in named] == [f"k from {k}, no price, equal weights" for k in (12, 6, 2)]
    words = [one["point"] for one in told[2]["earlier"]]
    assert words == [f"k from {k}, no price, equal weights" for k in (12, 6)]
    seen = [None if own["joint"] is None else own["joint"]["k"] for own in told]
    assert seen == [None, *(KAnonymity().evaluate(joint(tiers[:n])).item() for n in (2, 3))]
    # A release that is known by its classes alone has no point, and its labels cannot be linked.
    classes = tiers[0].problem.equivalence_classes(tiers[0].x)
    problem = LatticeProblem(table, [KAnonymity(joint=True), GeneralLossMetric()], beside=[classes])
    choice = problem.front(problem.pareto_set()).choose(require=[KAnonymity(joint=True) >= 2])
    own = evidence_of(frame, problem, choice)
    assert (own["earlier"][0]["x"], own["joint"]["k"]) == (None, choice.values["joint k"])
    assert [one["recounted"] for one in own["claims"] if one["measure"] == "joint k"] == [None]
