"""The benchmark's attacks on local releases, with true counts and hand cases."""

import numpy as np
import pandas as pd
import pytest
from strategies import nested

from benchmarks.local import attacks
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LocalRecodingProblem
from pymoo_anon.table import Hierarchy, LocalGeneralization, Microdata


def test_the_cheaper_parts_of_a_class_are_those_of_enough_rows():
    """Divide a class of * into a and c, b, or c, but not into single rows."""
    rows = pd.DataFrame({"p": list("aabb"), "q": list("cccd")})
    table = Microdata.from_frame(rows, {"p": Hierarchy.flat("ab"), "q": Hierarchy.flat("cd")})
    made = LocalGeneralization(table.quasi_identifiers, [[0, 0]] * 3)
    masks = attacks.cheaper_parts(table, made, np.arange(3), 2)
    assert sorted(masks.tolist()) == [[False, True, True], [True, False, False], [True, True, False]]


def test_six_persons_in_one_class_tell_who_is_ill():
    """Reckon with two of q1 and four of q2, two ill.

    A part with two values would have been released by itself.
    """
    values, parts = np.array([[2, 0], [0, 4]]), np.eye(2, dtype=np.int64)
    told = attacks.reckoned(
        values, lambda own: ~(((parts @ own) > 0).sum(axis=2) >= 2).any(axis=1), np.random.default_rng(0)
    )
    assert told.before.tolist() == [4 / 6, 4 / 6]
    assert told.after.tolist() == [1, 1]
    assert told.right_before.tolist() == [0, 4]
    assert told.right_after.tolist() == [2, 4]
    assert attacks.reckoned(values, lambda own: np.zeros(len(own), dtype=bool), np.random.default_rng(0)) is None


def test_a_combination_that_stands_as_it_is_stands_nowhere_else():
    """Let the two rows of a rule out a for `*`.

    So the two rows of `*` are of b and c, as they are not both of one.
    """
    table = Microdata.from_frame(pd.DataFrame({"q": list("aabc")}), {"q": Hierarchy.flat("abc")})
    made = LocalGeneralization(table.quasi_identifiers, [[1], [0], [0]])
    own = attacks.program(table, made, 2, greedy=False)
    found = attacks.refined(own)
    assert (found["before"], found["after"], found["wrong"], found["broken"]) == (3, 2, 0, 0)
    assert own.greatest((own.class_of == 1) & (own.codes[:, 0] == 1)) == pytest.approx(1)
    # Rules are infeasible if one of them is false.
    impossible = own._replace(most=own.most - 2)
    assert attacks.refined(impossible) == {"rules": 3, "broken": 3, "feasible": False}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_what_is_always_true_never_excludes_the_truth(seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name: [f"v{v}" for v in rng.integers(0, 6, 24)] for name in ("p", "q")})
    table = Microdata.from_frame(frame, {"p": nested(6), "q": nested(6)})
    problem = LocalRecodingProblem(table, [KAnonymity(), GeneralLossMetric()])
    made = problem.decode(problem.x_of(2 + seed % 3))
    found = attacks.refined(attacks.program(table, made, 2, greedy=False))
    assert (found["broken"], found["wrong"], found["feasible"]) == (0, 0, True)
    assert found["after"] <= found["before"]
    made = attacks.cube_alone(table, 2)
    assert table.equivalence_classes(made).sizes.min() >= 2
    assert attacks.program(table, made, 2, greedy=False).n_broken == 0
