"""Attacks by whoever has two releases of one table."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pymoo.optimize import minimize
from strategies import promised, tables

from pymoo_anon.algorithms import BranchAndBound
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem, LocalRecodingProblem, joint
from pymoo_anon.publishing import release, verify
from pymoo_anon.table import Hierarchy, Microdata, Violating

pytestmark = pytest.mark.filterwarnings("ignore:column .* looks the same")

GOALS = [KAnonymity(), GeneralLossMetric()]
ID = {"id": "attackers may link all rows of both files"}


def files_of(table, chosen, frame, keep):
    """Release each chosen point, with or without what links the rows."""
    drop = [name for name in frame if name in ("id", "s1", "label") and name not in keep]
    return [release(frame, problem, x, drop=drop, keep=keep).frame for problem, x in chosen]


def fits(table, file, person):
    """Tell which rows of a file may be those of a person with these values."""
    could = np.ones(len(file), dtype=bool)
    for name, levels in table.levels.items():
        labels = {str(level[person[name]]) for level in levels} | {"*"}
        could &= file[name].isin(labels).to_numpy()
    return could


def overlap(table, one, other):
    """Tell whether two cells of each column hold a common value."""
    for name, levels in table.levels.items():
        held = [
            {value for value in levels[0] if any(str(level[value]) == cell for level in levels) or cell == "*"}
            for cell in (one[name], other[name])
        ]
        if not held[0] & held[1]:
            return False
    return True


def second_release(data, table, first, k):
    """Make a second release that holds k with the first."""
    if data.draw(st.booleans()):
        problem = LocalRecodingProblem(table.microdata, GOALS, [KAnonymity() >= k], within=first)
        return problem, problem.x_of(k)
    measure = KAnonymity(joint=True)
    limit = data.draw(st.integers(0, len(table.frame) // 3))
    problem = LatticeProblem(
        table.microdata, [measure, GeneralLossMetric()], Violating(limit), [measure >= k], beside=[first]
    )
    front = problem.front(minimize(problem, BranchAndBound(), seed=1))
    assume(len(front) > 0)
    x = front.choose().x
    # The marked rows of one release are a class, too.
    assume(front.refusal(0) is None or not problem.equivalence_classes(np.array(x)).n_suppressed[0])
    return problem, np.array(x)


@promised(300)
@given(data=st.data(), table=tables(max_attributes=3, max_rows=20, rooted=True))
def test_who_has_both_files_finds_nobody_among_fewer(data, table):
    frame, k = table.frame.assign(id=range(len(table.frame))), data.draw(st.integers(2, 4))
    public = LatticeProblem(table.microdata, GOALS, constraints=[KAnonymity() >= k])
    coarse = public.front(public.pareto_set(max_nodes=public.n_nodes))
    assume(len(coarse) > 0)
    x = coarse.X[data.draw(st.integers(0, len(coarse) - 1))]
    first = public, x
    second = second_release(data, table, first, k)
    assert KAnonymity().evaluate(joint([first, second])) >= k
    # An attacker who links every row of one file with the same row of the other.
    keep = {**ID, "label": None} if data.draw(st.booleans()) else ID
    one, other = files_of(table, [first, second], frame, keep)
    linked = one.merge(other, on="id", suffixes=("", " of the other"))
    assert len(linked) == len(frame)
    theirs = linked[[f"{name} of the other" for name in table.levels]].set_axis(list(table.levels), axis=1)
    persons = frame[list(table.levels)].drop_duplicates().to_dict("records")
    for person in persons:
        assert (fits(table, linked, person) & fits(table, theirs, person)).sum() >= k
    # Without a common key rows are linked by equal secrets and by cells that may hold the same values.
    one, other = files_of(table, [first, second], frame, {})
    for person in persons:
        mine, yours = one[fits(table, one, person)], other[fits(table, other, person)]
        pairs = {
            i
            for i, own in mine.to_dict("index").items()
            for row in yours.to_dict("records")
            if own["s0"] == row["s0"] and overlap(table, own, row)
        }
        assert len(pairs) >= k


def two_points():
    """Return a table with two points that leave somebody alone together."""
    frame = pd.DataFrame({"a": [1, 1, 2, 2], "b": [1, 2, 1, 2]})
    table = Microdata.from_frame(frame, {name: Hierarchy.flat([1, 2]) for name in ("a", "b")})
    return frame, table, LatticeProblem(table, GOALS)


def test_a_second_release_that_leaves_somebody_alone_is_refused():
    frame, table, public = two_points()
    problem = LatticeProblem(table, [KAnonymity(joint=True), *GOALS], beside=[(public, [0, 1])])
    with pytest.raises(ValueError, match="joint k is 1 where at least 2 is required"):
        release(frame, problem, [1, 0])
    front = problem.front(np.array([[1, 0], [0, 1]]))
    assert front.refusal(0) == "joint k is 1: some row stands alone in a class"
    assert front.refusal(1) is None
    made = release(frame, problem, [1, 0], anyway="both are needed by the ministry")
    assert made.exceptions == ("joint k is 1 where at least 2 is required",)
    # A recount of one release cannot see the other.
    assert made.claims[["measure", "promised", "recounted", "holds"]].to_numpy().tolist()[:2] == [
        ["joint k", 1, None, None],
        ["k", 2, 2, True],
    ]
    with pytest.raises(ValueError, match="joint"):
        verify(made.frame, ["a", "b"], [KAnonymity(joint=True)])
