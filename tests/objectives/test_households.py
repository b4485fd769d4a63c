"""Risk of households, and k in households."""

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
from pymoo_anon.objectives import GeneralLossMetric, HouseholdRisk, KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.publishing import release
from pymoo_anon.study.tables import Roles, objective
from pymoo_anon.table import AtMost, Below, Hierarchy, Microdata

SEEDS = st.integers(0, 2**32 - 1)
AGES = Hierarchy([[1, 2, 3, 4], ["1-2", "1-2", "3-4", "3-4"], ["*"] * 4])
#: Two households of three, one of one.
FRAME = pd.DataFrame({"age": [1, 2, 3, 1, 3, 4, 2], "home": [*"aaabbbc"]})
TABLE = Microdata.from_frame(FRAME, {"age": AGES}, person="home")
RISK = HouseholdRisk("home")


@pytest.mark.parametrize(
    ("level", "risk", "homes"),
    [(0, 1, 1), (1, max(1 - (3 / 4) ** 2 * (2 / 3), 1 - (3 / 4) * (2 / 3) ** 2), 2), (2, 1 - (6 / 7) ** 3, 3)],
)
def test_a_household_is_found_where_some_member_is(level, risk, homes):
    problem = LatticeProblem(TABLE, [RISK, KAnonymity(person="home")])
    assert problem.natural(problem.compute(np.array([[level]])))[0] == pytest.approx([risk, homes], abs=1e-15)
    made = release(FRAME, problem, [level], anyway="it is only a test")
    assert made.claims.holds.all()
    assert list(made.frame) == ["age"]


def test_suppressed_members_add_nothing():
    problem = LatticeProblem(TABLE, [RISK], suppression=Below(2))
    # Only the oldest is alone. Of every two others one is found by chance.
    assert problem.compute(np.array([[0]])).tolist() == [[1 - (1 / 2) ** 3]]
    whole = LatticeProblem(TABLE, [RISK], suppression=Below(5))
    assert whole.compute(np.array([[0]]))[0] == pytest.approx([1 - (6 / 7) ** 3])


@promised(500, 4)
@given(SEEDS)
def test_proofs_find_the_front_of_every_node(seed):
    own, rng = case(seed), np.random.default_rng(seed)
    rule = AtMost(int(rng.integers(0, len(own.rows) // 2 + 1)))
    problem = LatticeProblem(own.table, [HouseholdRisk("who"), GeneralLossMetric()], rule)
    found = [minimize(problem.fresh_copy(), algorithm) for algorithm in (BranchAndBound(), ExhaustiveSearch())]
    assert np.unique(found[0].F, axis=0).tolist() == np.unique(found[1].F, axis=0).tolist()


def test_the_command_line_reads_the_person_column():
    assert objective("--objectives", "household-risk", Roles([], person="home")) == RISK
    with pytest.raises(ValueError, match=r"household-risk reads one person column and the table has none"):
        objective("--objectives", "household-risk", Roles([]))
