"""Branch and bound under pymoo's options, on infeasible and large lattices."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from limits import limited
from pymoo.optimize import minimize
from tasks import sorted_rows

from pymoo_anon.algorithms import BranchAndBound
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import (
    ClassificationMetric,
    Discernibility,
    DistinctLDiversity,
    GeneralLossMetric,
    KAnonymity,
)
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.proofs.intervals import IntervalProof
from pymoo_anon.proofs.stored import StoredLatticeProof
from pymoo_anon.table import Hierarchy, Microdata

CENSUS = make_census(500, seed=2)


def problem(**asked):
    return LatticeProblem(CENSUS, [KAnonymity(), GeneralLossMetric()], suppression=0.01, **asked)


def test_of_several_infeasible_nodes_it_is_the_one_that_violates_least():
    seen = []

    class Seen:
        def add(self, pop):
            seen.extend(pop.get("CV")[:, 0])
            return self

    # No bound excludes nodes that must have a small k.
    own = LatticeProblem(wide(3), [KAnonymity(), GeneralLossMetric()], constraints=[KAnonymity() <= 0])
    res = minimize(own, BranchAndBound(archive=Seen()), return_least_infeasible=True)
    assert res.CV[0, 0] == min(seen) < max(seen)


def test_a_history_holds_no_bounds():
    own = problem()
    res = minimize(own, BranchAndBound(), save_history=True)
    assert len(res.history) == res.algorithm.n_iter - 1
    assert [one.n_evaluated for one in res.history] == sorted(one.n_evaluated for one in res.history)
    last = res.history[-1]
    assert (last.certified, last.n_undecided, last.n_pruned) == (True, 0, res.algorithm.n_pruned)
    assert not last.gap.any()
    assert np.array_equal(last.opt.get("F"), res.F)
    # An entry is copied like any other object.
    assert copy.deepcopy(last).proof.n_evaluated == last.n_evaluated
    sizes = [len(pickle.dumps(one.proof)) for one in res.history]
    assert max(sizes) < 100 * (len(res.F) + 20)
    assert own.n_nodes * 15 < len(pickle.dumps(res.algorithm.proof))


@pytest.mark.parametrize("other", [DistinctLDiversity("occupation"), ClassificationMetric("sex")], ids=repr)
def test_a_slice_may_end_at_any_node(other):
    """Check that small slices skip nothing, and bound the rest."""
    objectives = [KAnonymity(), GeneralLossMetric(), other]
    own = LatticeProblem(CENSUS, objectives, suppression=0.01)
    front = own.pareto_front(max_nodes=own.n_nodes)
    proof, n_advanced = limited(examined=7).setup(own, seed=1).proof, 0
    while not proof.certified:
        proof.advance()
        n_advanced += 1
        if n_advanced % 25 == 0:
            settled = (proof.F[np.newaxis] <= front[:, np.newaxis]).all(axis=2).any(axis=1)
            left = (proof.open_bounds()[np.newaxis] <= front[:, np.newaxis]).all(axis=2).any(axis=1)
            assert (settled | left).all()
    np.testing.assert_array_equal(sorted_rows(proof.F), sorted_rows(front))


def wide(n, levels=2):
    """Build a table of n quasi-identifiers of equal height."""
    columns = [[0, 1], *[["*", "*"]] * levels]
    hierarchies = {f"q{j}": Hierarchy(columns) for j in range(n)}
    rng = np.random.default_rng(0)
    return Microdata.from_frame(pd.DataFrame(rng.integers(0, 2, (20, n)), columns=list(hierarchies)), hierarchies)


@pytest.mark.parametrize("n", [24, 70])
def test_a_lattice_that_is_too_large_to_store_is_searched_all_the_same(n):
    own = LatticeProblem(wide(n), [KAnonymity(), Discernibility()])
    algorithm = minimize(own, BranchAndBound(), ("n_gen", 2)).algorithm
    assert isinstance(algorithm.proof, IntervalProof)
    assert algorithm.n_undecided > 0
    assert np.isfinite(algorithm.gap).all()


@pytest.mark.filterwarnings("ignore:the hierarchies of .* do not end in one group")
def test_more_attributes_than_numpy_has_dimensions():
    """Solve 70 quasi-identifiers, of which only three have levels."""
    table = wide(3)
    flat = {f"c{j}": Hierarchy([[0]]) for j in range(67)}
    frame = {name: [0] * 20 for name in flat}
    rows = pd.DataFrame({**dict.fromkeys(table.quasi_identifiers), **frame}, index=range(20))
    rng = np.random.default_rng(0)
    for name in table.quasi_identifiers:
        rows[name] = rng.integers(0, 2, 20)
    rows["s"] = rng.integers(0, 2, 20)
    own = Microdata.from_frame(rows, {**table.quasi_identifiers, **flat}, sensitive="s")
    for goals in ([KAnonymity(), GeneralLossMetric()], [KAnonymity(), ClassificationMetric("s")]):
        res = minimize(LatticeProblem(own, goals), BranchAndBound(), seed=1)
        assert res.algorithm.certified


def test_room_is_that_of_the_bounds():
    own = LatticeProblem(CENSUS, [KAnonymity(), Discernibility()], suppression=0.01)
    most = own.n_nodes * (8 * 2 + 9)
    for max_bytes, kind in ((most, StoredLatticeProof), (most - 1, IntervalProof)):
        assert isinstance(minimize(own, BranchAndBound(max_bytes=max_bytes)).algorithm.proof, kind)
    with pytest.raises(ValueError, match="max_bytes must be positive, got 0"):
        BranchAndBound(max_bytes=0)
