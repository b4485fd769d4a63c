"""Presence in a table: δ_min and δ_max of δ-presence against a register."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from exact_twins import case
from hypothesis import given
from hypothesis import strategies as st
from pymoo.optimize import minimize
from strategies import promised

from pymoo_anon.algorithms import BranchAndBound, ExhaustiveSearch
from pymoo_anon.objectives import DeltaPresence, GeneralLossMetric, LeastPresence
from pymoo_anon.problems import LatticeProblem, LocalRecodingProblem
from pymoo_anon.publishing import release, verify
from pymoo_anon.table import AtMost, Below, Hierarchy, Microdata, Violating

SEEDS = st.integers(0, 2**32 - 1)

# A register of nine persons, of whom four are in the table.
ZIPS = Hierarchy([["47905", "47906", "53706"], ["4790*", "4790*", "53706"], ["*"] * 3])
AGES = Hierarchy([[21, 27, 35, 39], ["2*", "2*", "3*", "3*"], ["*"] * 4])
WAYS = {"zip": ZIPS, "age": AGES}
EVERYBODY = pd.DataFrame(
    {
        "zip": ["47905", "47905", "47906", "47906", "47905", "53706", "53706", "53706", "53706"],
        "age": [21, 27, 21, 35, 39, 21, 27, 35, 39],
    }
)
REGISTER = Microdata.from_frame(EVERYBODY, WAYS)
ROWS = EVERYBODY.iloc[[0, 2, 4, 5]].reset_index(drop=True)
TABLE = Microdata.from_frame(ROWS, WAYS)
BOTH = [DeltaPresence(REGISTER), LeastPresence(REGISTER)]


@pytest.mark.parametrize(
    ("node", "greatest", "least"),
    [
        # Two of three, one of two, one of two and none of two persons are in the table.
        ([1, 1], 2 / 3, 0),
        ([1, 2], 3 / 5, 1 / 4),
        ([2, 1], 3 / 5, 1 / 4),
        ([0, 0], 1, 0),
        ([2, 2], 4 / 9, 4 / 9),
    ],
)
def test_the_presence_of_a_class_is_its_share_of_the_persons_it_fits(node, greatest, least):
    problem = LatticeProblem(TABLE, BOTH)
    assert problem.natural(problem.compute(np.array([node])))[0].tolist() == [greatest, least]
    made = release(ROWS, problem, node, anyway="it is only a test")
    assert made.claims.holds.all()
    again = verify(made.frame, ["zip", "age"], BOTH, hierarchies=WAYS)
    assert again.recounted.astype(float).tolist() == [greatest, least]


def test_suppressed_rows_are_present_in_no_class():
    problem = LatticeProblem(TABLE, BOTH, suppression=Below(2))
    assert problem.natural(problem.compute(np.array([[1, 1]])))[0].tolist() == [2 / 3, 0]
    # Where all of them are, everybody is as likely to be among them.
    assert problem.natural(problem.compute(np.array([[0, 0]])))[0].tolist() == [4 / 9, 4 / 9]
    bound = LatticeProblem(TABLE, BOTH, Violating(2), [DeltaPresence(REGISTER) <= 0.5])
    assert bound.equivalence_classes([1, 1]).n_suppressed == [2]


def test_a_local_recoding_is_refused():
    problem = LocalRecodingProblem(TABLE, [DeltaPresence(REGISTER), GeneralLossMetric()])
    with pytest.raises(TypeError, match="presence takes no local recoding, where a person may fit several classes"):
        problem.compute(problem.xl[np.newaxis].astype(int))
    mixed = pd.DataFrame({"zip": ["47905", "4790*"], "age": ["2*", "2*"]})
    for measure in BOTH:
        with pytest.raises(
            ValueError, match=r"presence takes no local recoding, got labels of 'zip' that share values"
        ):
            verify(mixed, ["zip", "age"], [measure], hierarchies=WAYS)


@promised(500, 4)
@given(SEEDS, st.sampled_from([AtMost, Below, Violating]))
def test_proofs_find_the_front_of_every_node(seed, kind):
    """Compare branch and bound with all nodes, under limits that suppress some, many or no rows."""
    own, rng = case(seed), np.random.default_rng(seed)
    rule = kind(int(rng.integers(kind is Below, len(own.rows) + (kind is Below))))
    both = [DeltaPresence(own.population), LeastPresence(own.population)]
    bounds = [both[0] <= float(rng.choice([0.4, 0.5, 0.75, 1]))] if kind is Violating else []
    asked = [both, [both[0], GeneralLossMetric()], [both[1], GeneralLossMetric()]][int(rng.integers(0, 3))]
    problem = LatticeProblem(own.table, asked, rule, bounds)
    found = [minimize(problem.fresh_copy(), algorithm) for algorithm in (BranchAndBound(), ExhaustiveSearch())]
    fronts = [np.unique(res.F, axis=0).tolist() if res.F is not None else None for res in found]
    assert fronts[0] == fronts[1]
