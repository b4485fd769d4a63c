"""Attacks on two releases of one table."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
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
