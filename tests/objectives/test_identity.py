"""Risks of households, payouts of publishers, and presence in a table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from exact_cases import case
from hypothesis import given
from hypothesis import strategies as st
from strategies import promised
from tasks import check_proofs

from pymoo_anon.objectives import *
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.publishing import release, verify
from pymoo_anon.study.tables import Roles, objective
from pymoo_anon.table import AtMost, Below, Hierarchy, Microdata, Violating

SEEDS = st.integers(0, 2**32 - 1)
AGES = Hierarchy([[1, 2, 3, 4], ["1-2", "1-2", "3-4", "3-4"], ["*"] * 4])
#: Two households of three, one of one.
HOMES = pd.DataFrame({"age": [1, 2, 3, 1, 3, 4, 2], "home": [*"aaabbbc"]})
OF_HOMES = Microdata.from_frame(HOMES, {"age": AGES}, person="home")
RISK = HouseholdRisk("home")


@pytest.mark.parametrize(
    ("level", "risk", "homes"),
    [(0, 1, 1), (1, max(1 - (3 / 4) ** 2 * (2 / 3), 1 - (3 / 4) * (2 / 3) ** 2), 2), (2, 1 - (6 / 7) ** 3, 3)],
)
def test_a_household_is_found_where_some_member_is(level, risk, homes):
    problem = LatticeProblem(OF_HOMES, [RISK, KAnonymity(person="home")])
    assert problem.natural(problem.compute(np.array([[level]])))[0] == pytest.approx([risk, homes], abs=1e-15)
    made = release(HOMES, problem, [level], anyway="it is only a test")
    assert made.claims.holds.all()
    assert list(made.frame) == ["age"]


@promised(500, 4)
@given(SEEDS)
def test_proofs_of_households_find_the_front_of_every_node(seed):
    own, rng = case(seed), np.random.default_rng(seed)
    rule = AtMost(int(rng.integers(0, len(own.rows) // 2 + 1)))
    check_proofs(LatticeProblem(own.table, [HouseholdRisk("who"), GeneralLossMetric()], rule))


def test_the_command_line_reads_the_person_column():
    assert objective("--objectives", "household-risk", Roles([], person="home")) == RISK


WAYS = {"age": AGES, "zip": Hierarchy([[*"abcd"], [*"xxyy"], ["*"] * 4])}
FRAME = pd.DataFrame({"age": [1, 1, 2, 3, 3], "zip": [*"aabcc"]})
TABLE = Microdata.from_frame(FRAME, WAYS)
REGISTER = Microdata.from_frame(pd.concat([FRAME] * 3), WAYS)


@pytest.mark.parametrize(
    ("node", "prices", "whole", "least"),
    [
        # The defaults: found with probability 1 / size, an attack pays up to 74 persons.
        ([0, 0], (), 5 * 1200 - 3 * 300, 1200 - 300),
        # Half of one of two columns is lost: a quarter of the bits.
        ([1, 0], (), 5 * 900 - 3 * 300, 900 - 300),
        ([1, 1], (), 5 * 600 - 2 * 300, 600 - 150),
        ([2, 2], (), -300, -60),
        # An attack pays on single persons alone, and then on nobody.
        ([0, 0], (6, 10, 300, 100), 5 * 100 - 300, 100 - 300),
        ([1, 1], (6, 10, 300, 100), 5 * 50, 50),
        ([0, 0], (10, 10, 300, 100), 500, 100),
        # Prices in another currency.
        ([1, 0], (4e9, 3e11, 3e11, 1.2e12), 1e9 * (5 * 900 - 3 * 300), 1e9 * (900 - 300)),
        # Who holds a register of three times as many finds a third.
        ([0, 0], (4, 300, 300, 1200, REGISTER), 5 * 1200 - 3 * 100, 1200 - 100),
    ],
)
def test_a_row_is_worth_what_it_keeps_less_what_an_attack_costs(node, prices, whole, least):
    problem = LatticeProblem(TABLE, [PublisherPayout(*prices), LeastPayout(*prices)])
    assert problem.natural(problem.compute(np.array([node])))[0].tolist() == [whole, least]
    assert release(FRAME, problem, node, anyway="it is only a test").claims.holds.all()


def test_nobody_attacks_from_gain_over_cost_on():
    """Compare with the k that the no-attack variant of the model asks for."""
    prices = (4, 10, 300, 1200)
    safe = LatticeProblem(TABLE, [GeneralLossMetric()], constraints=[KAnonymity() >= 10 / 4])
    problem = LatticeProblem(TABLE, [PublisherPayout(*prices), PublisherPayout(*prices[:2], 0, 1200)])
    X = problem.nodes(0, problem.n_nodes)
    with_loss, without = problem.compute(X).T
    assert (with_loss == without).tolist() == (safe.evaluate(X, return_values_of=["G"])[:, 0] <= 0).tolist()


def test_prices_are_shown():
    assert repr(LeastPayout(1, 2, 3, 4)) == "LeastPayout(1, 2, 3, 4)"


# A register of nine persons, of whom four are in the table.
PLACES = {
    "zip": Hierarchy([["47905", "47906", "53706"], ["4790*", "4790*", "53706"], ["*"] * 3]),
    "age": Hierarchy([[21, 27, 35, 39], ["2*", "2*", "3*", "3*"], ["*"] * 4]),
}
EVERYBODY = pd.DataFrame(
    {
        "zip": ["47905", "47905", "47906", "47906", "47905", "53706", "53706", "53706", "53706"],
        "age": [21, 27, 21, 35, 39, 21, 27, 35, 39],
    }
)
EVERYWHERE = Microdata.from_frame(EVERYBODY, PLACES)
ROWS = EVERYBODY.iloc[[0, 2, 4, 5]].reset_index(drop=True)
PRESENT = Microdata.from_frame(ROWS, PLACES)
BOTH = [DeltaPresence(EVERYWHERE), LeastPresence(EVERYWHERE)]


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
    problem = LatticeProblem(PRESENT, BOTH)
    assert problem.natural(problem.compute(np.array([node])))[0].tolist() == [greatest, least]
    made = release(ROWS, problem, node, anyway="it is only a test")
    assert made.claims.holds.all()
    again = verify(made.frame, ["zip", "age"], BOTH, hierarchies=PLACES)
    assert again.recounted.astype(float).tolist() == [greatest, least]


@promised(500, 4)
@given(SEEDS, st.sampled_from([AtMost, Below, Violating]))
def test_proofs_of_presence_find_the_front_of_every_node(seed, kind):
    """Compare branch and bound with all nodes, under limits that suppress some, many or no rows."""
    own, rng = case(seed), np.random.default_rng(seed)
    rule = kind(int(rng.integers(kind is Below, len(own.rows) + (kind is Below))))
    both = [DeltaPresence(own.population), LeastPresence(own.population)]
    bounds = [both[0] <= float(rng.choice([0.4, 0.5, 0.75, 1]))] if kind is Violating else []
    asked = [both, [both[0], GeneralLossMetric()], [both[1], GeneralLossMetric()]][int(rng.integers(0, 3))]
    check_proofs(LatticeProblem(own.table, asked, rule, bounds))
