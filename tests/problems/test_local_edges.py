"""Local recodings at their edges: bad input and odd tables.

Bad input is refused in one helpful sentence, and odd tables are recoded.
"""

import numpy as np
import pandas as pd
import pytest
from pymoo.optimize import minimize
from recodings import members_of

from pymoo_anon.algorithms import TargetSweep
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity, TCloseness
from pymoo_anon.problems import LocalRecodingProblem
from pymoo_anon.publishing import release
from pymoo_anon.table import Hierarchy, LocalGeneralization, Microdata

GOALS = [KAnonymity(), GeneralLossMetric()]
LETTERS = Hierarchy([list("xyz"), ["xy", "xy", "z"], ["*"] * 3])
FRAME = pd.DataFrame({"a": list("xyxzyx"), "b": [0, 1, 2, 3, 0, 1], "s": list("uvuvuv")})
NAN = float("nan")


def table_of(a=LETTERS, frame=FRAME, **roles):
    return Microdata.from_frame(frame, {"a": a, "b": Hierarchy.intervals(0, 4, [2])}, "s", **roles)


def problem_of(*constraints, objectives=GOALS, table=None, **options):
    return LocalRecodingProblem(table or table_of(), objectives, constraints, **options)


def released(frame, *constraints):
    problem = problem_of(*constraints)
    return release(frame, problem, problem.x_of(2))


BAD = {
    "a hierarchy without root": (
        lambda: problem_of(table=table_of(Hierarchy([list("xyz"), ["xy", "xy", "z"]]))),
        "column 'a': the hierarchy of 'x', 'y', 'z' must end in one group, so that every two values have one in "
        "common; Hierarchy.with_root() adds a level '*'",
    ),
    "a label of two nodes": (
        lambda: problem_of(table=table_of(Hierarchy([list("xyz"), ["o", "o", "z"], ["o"] * 3]))),
        "column 'a': a label must name the same values at every level, 'o' stands for 'x', 'y' at level 1 and for "
        "'x', 'y', 'z' at level 2; give one of them another label",
    ),
    "k above n": (lambda: problem_of().x_of(7), "k must be from 0 to 6, got 7"),
    "a negative k": (lambda: problem_of().x_of(-1), "k must be from 0 to 6, got -1"),
    "a k that is no number": (lambda: problem_of().x_of(NAN), "k must be from 0 to 6, got nan"),
    "a price that is no number": (lambda: problem_of().x_of(2, NAN), "price must be from 0 to 6.0, got nan"),
    "a negative price": (lambda: problem_of().x_of(2, -0.5), "price must be from 0 to 6.0, got -0.5"),
    "a point that is no number": (
        lambda: problem_of().decode([NAN, 0, 0, 0]),
        "X must hold whole numbers, got others; LatticeSampling, LevelCrossover and SingleStepMutation keep them whole "
        "in any algorithm",
    ),
    "a bound that is no number": (
        lambda: problem_of(TCloseness("s") <= NAN),
        "the bound of TCloseness('s') must be finite, got nan",
    ),
    "a weight that is no number": (
        lambda: GeneralLossMetric([NAN, 1]),
        "weights must be non-negative numbers, not all 0, got [nan, 1]",
    ),
    "weights of 0": (lambda: GeneralLossMetric([0, 0]), "weights must be non-negative numbers, not all 0, got [0, 0]"),
    "a weight too few": (
        lambda: problem_of(objectives=[GeneralLossMetric([1])]),
        "weights must be one for each of the 2 quasi-identifiers, got 1",
    ),
    "improvements that are no number": (
        lambda: problem_of(n_improvements=NAN),
        "n_improvements must be a whole number from 0 on, got nan",
    ),
    "a single constraint": (
        lambda: LocalRecodingProblem(table_of(), GOALS, KAnonymity() >= 2),
        "constraints must be a list of them, got KAnonymity() >= 2; [KAnonymity() >= 2] is one",
    ),
    "a constraint as text": (lambda: problem_of("k>=2"), "constraints must be such as KAnonymity() >= 5, got 'k>=2'"),
    "a gap": (
        lambda: table_of(frame=FRAME.assign(b=[0, NAN, 2, 3, 0, 1])),
        "frame must have no missing values, got 1 of 6 rows with some: 1 in 'b'; missing='drop' leaves these rows out, "
        "missing='keep' makes them a value of their own",
    ),
    "no rows": (lambda: table_of(frame=FRAME[:0]), "frame must have at least one row, got none"),
    "nothing feasible, released": (
        lambda: released(FRAME, DistinctLDiversity("s") >= 3),
        "the point misses what is required: l of s is 2 where at least 3 is required; anyway='REASON', on the "
        "command line --anyway REASON, releases it nevertheless",
    ),
    "rows too few": (
        lambda: released(FRAME[:5]),
        "frame must be the one that the problem's table was read from, with 6 complete rows, got 5",
    ),
    "rows that the table lacks": (
        lambda: released(FRAME.assign(a=list("xyxzzz"))),
        "nothing is released: counted again, 2 rows of the original are not in the problem's table",
    ),
    "cells that are no nodes": (
        lambda: LocalGeneralization({"a": LETTERS}, [[9]]),
        "cells must be nodes of their hierarchies, which have (5,), got others",
    ),
    "cells of no class": (
        lambda: LocalGeneralization({"a": LETTERS}, [[1], [2]], suppressed=True),
        "suppressed must be False where no class has roots alone, got True",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence(case):
    made, words = BAD[case]
    with pytest.raises((ValueError, TypeError)) as caught:
        made()
    assert str(caught.value) == words


def is_recoded(problem, k, l_of_s=1):
    """Check a recoding by its rows, and return its number of classes."""
    tuples, cells = problem.table.tuples, problem.decode(problem.x_of(k)).cells
    classes = members_of(cells)
    assert min(tuples.counts[members].sum() for members in classes) >= k
    if "s" in tuples.columns:
        counts = tuples.columns["s"].histogram()
        assert min((counts[members].sum(axis=0) > 0).sum() for members in classes) >= l_of_s
    return len(classes)


@pytest.mark.parametrize("method", ["bottom-up", "top-down"])
def test_odd_tables_are_recoded(method):
    one_value = Microdata.from_frame(
        pd.DataFrame({"a": ["x"] * 4, "b": [0, 0, 3, 3]}),
        {"a": Hierarchy([["x"]]), "b": Hierarchy.intervals(0, 4, [2])},
    )
    assert is_recoded(problem_of(table=one_value, method=method), 2) == 2
    alike = Microdata.from_frame(pd.DataFrame({"a": ["x"] * 4}), {"a": LETTERS})
    assert is_recoded(problem_of(table=alike, method=method), 4) == 1
    # A value of no row lies below nodes without a row. Missing is a value, too.
    sparse = Hierarchy.intervals(0, 1000, [10, 100])
    gaps = Microdata.from_frame(pd.DataFrame({"a": [3, 7, 980, None] * 2}), {"a": sparse}, missing="keep")
    assert is_recoded(problem_of(table=gaps, method=method), 2) == 4
    # One column has weight zero, and is as coarse as the other needs.
    weighed = problem_of(objectives=[KAnonymity(), GeneralLossMetric([0, 1])], method=method)
    assert is_recoded(weighed, 2) > 1
    assert weighed.evaluate(weighed.x_of(2))[1] == pytest.approx(2 / 3)


def test_where_nothing_is_feasible_nothing_is_found():
    for constraint in (KAnonymity() >= 7, DistinctLDiversity("s") >= 3, TCloseness("s") <= -0.5):
        problem = problem_of(constraint)
        F, G = problem.evaluate(problem.x_of(2), return_values_of=["F", "G"])
        assert F.tolist() == [-6, 12]
        assert G[0] > 0
        assert minimize(problem, TargetSweep(n_targets=3), seed=1).X is None


def test_thirty_columns_end():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"c{i}": rng.integers(0, 4, 80) for i in range(30)} | {"s": rng.integers(0, 5, 80)})
    hierarchies = {f"c{i}": Hierarchy.intervals(0, 4, [2]) for i in range(30)}
    table = Microdata.from_frame(frame, hierarchies, "s")
    problem = problem_of(DistinctLDiversity("s") >= 3, table=table)
    for k in (3, 10):
        assert is_recoded(problem, k, 3) > 1
    bound = problem.lower_bound(problem.x_of(3), ("n_iter", 2))
    assert 0 < bound.value <= bound.loss < 80 * 30
    assert 1 <= len(minimize(problem, TargetSweep(n_targets=4), seed=1).F) <= 4
    assert release(frame, problem, problem.x_of(3)).claims.holds.all()


def test_a_bound_between_two_numbers_of_rows_asks_for_the_larger():
    assert problem_of(KAnonymity() >= 2.5).targets[0] == 3
