"""The benchmark's attacks on local releases, with true counts and hand cases."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from strategies import nested

from benchmarks.local import attacks
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LocalRecodingProblem
from pymoo_anon.table import Hierarchy, LocalGeneralization, Microdata


def drawn(seed, n_rows=24):
    """Draw a table of two columns, and recode it by the package."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name: [f"v{v}" for v in rng.integers(0, 6, n_rows)] for name in ("p", "q")})
    table = Microdata.from_frame(frame, {"p": nested(6), "q": nested(6)})
    problem = LocalRecodingProblem(table, [KAnonymity(), GeneralLossMetric()])
    return table, problem.decode(problem.x_of(2 + seed % 3))


@pytest.mark.parametrize("seed", range(4))
def test_a_class_has_a_cheaper_part_if_any_of_its_subsets_does(seed):
    table, made = drawn(seed)
    nodes = [own.nodes for own in table.quasi_identifiers.values()]
    for members in attacks.members_of(made.class_of):
        masks = attacks.cheaper_parts(table, made, members, 3)
        cheaper = set()
        for size in range(1, len(members) + 1):
            for chosen in combinations(members.tolist(), size):
                below, cost = np.ones(len(members), dtype=bool), 0.0
                for j, own in enumerate(nodes):
                    places = own.order[table.tuples.codes[list(chosen), j]]
                    node = max(
                        n for n in range(len(own)) if own.first[n] <= places.min() and places.max() < own.stop[n]
                    )
                    at, cost = own.order[table.tuples.codes[members, j]], cost + own.losses[node]
                    below &= (own.first[node] <= at) & (at < own.stop[node])
                whole = sum(own.losses[n] for own, n in zip(nodes, made.cells[members[0]], strict=True))
                if cost < whole - 1e-9 and table.tuples.counts[members[below]].sum() >= 3:
                    cheaper.add(tuple(below.tolist()))
        assert {tuple(mask) for mask in masks.tolist()} == cheaper


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
    table, made = drawn(seed)
    found = attacks.refined(attacks.program(table, made, 2, greedy=False))
    assert (found["broken"], found["wrong"], found["feasible"]) == (0, 0, True)
    assert found["after"] <= found["before"]
    made = attacks.cube_alone(table, 2)
    assert table.equivalence_classes(made).sizes.min() >= 2
    assert attacks.program(table, made, 2, greedy=False).n_broken == 0
