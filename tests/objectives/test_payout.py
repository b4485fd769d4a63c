"""Payout of a publisher, attacked where it pays."""

import numpy as np
import pandas as pd
import pytest

from pymoo_anon.objectives import GeneralLossMetric, KAnonymity, LeastPayout, PublisherPayout
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.publishing import release
from pymoo_anon.table import Hierarchy, Microdata, Violating

WAYS = {
    "age": Hierarchy([[1, 2, 3, 4], ["1-2", "1-2", "3-4", "3-4"], ["*"] * 4]),
    "zip": Hierarchy([[*"abcd"], [*"xxyy"], ["*"] * 4]),
}
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
        # Who holds a register of three times as many finds a third.
        ([0, 0], (4, 300, 300, 1200, REGISTER), 5 * 1200 - 3 * 100, 1200 - 100),
    ],
)
def test_a_row_is_worth_what_it_keeps_less_what_an_attack_costs(node, prices, whole, least):
    problem = LatticeProblem(TABLE, [PublisherPayout(*prices), LeastPayout(*prices)])
    assert problem.natural(problem.compute(np.array([node])))[0].tolist() == [whole, least]
    assert release(FRAME, problem, node, anyway="it is only a test").claims.holds.all()


def test_rows_that_do_not_pay_are_suppressed():
    limit = LeastPayout(6, 10, 300, 100) >= 0
    problem = LatticeProblem(TABLE, [PublisherPayout(6, 10, 300, 100)], Violating(1), [limit])
    assert problem.equivalence_classes([0, 0]).n_suppressed == [1]
    assert problem.natural(problem.compute(np.array([[0, 0]]))).tolist() == [[400]]


def test_nobody_attacks_from_gain_over_cost_on():
    """Compare with the k that the no-attack variant of the model asks for."""
    prices = (4, 10, 300, 1200)
    safe = LatticeProblem(TABLE, [GeneralLossMetric()], constraints=[KAnonymity() >= 10 / 4])
    problem = LatticeProblem(TABLE, [PublisherPayout(*prices), PublisherPayout(*prices[:2], 0, 1200)])
    X = problem.nodes(0, problem.n_nodes)
    with_loss, without = problem.compute(X).T
    assert (with_loss == without).tolist() == (safe.evaluate(X, return_values_of=["G"])[:, 0] <= 0).tolist()


def test_what_is_no_price():
    with pytest.raises(ValueError, match=r"^cost must be a price from 0 on, got -1$"):
        PublisherPayout(-1)
    with pytest.raises(TypeError, match=r"^benefit must be a number, got 'much'$"):
        LeastPayout(benefit="much")
    with pytest.raises(TypeError, match=r"^population must be a Microdata, got DataFrame$"):
        LeastPayout(population=FRAME)
    assert repr(LeastPayout(1, 2, 3, 4)) == "LeastPayout(1, 2, 3, 4)"
