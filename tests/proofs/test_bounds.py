"""Branch and bound with every bounded measure, as objective or constraint."""

import numpy as np
import pytest
from limits import limited
from pymoo.optimize import minimize
from tasks import KINDS, STATED, Task, found, invented, values_of

from pymoo_anon.algorithms import BranchAndBound
from pymoo_anon.objectives import (
    ClassificationMetric,
    Discernibility,
    GeneralLossMetric,
    KAnonymity,
    NormalizedWeightedPenalty,
)
from pymoo_anon.problems import LatticeProblem

pytestmark = pytest.mark.filterwarnings("ignore:the hierarchies of .* do not end in one group")

LOSS = "pymoo_anon.objectives.loss"


def planted(seed, objective, constrained):
    """Build a problem with a front that depends on an objective's bounds."""
    table, limit = invented(seed), [0, 3][seed % 2]
    partner = KAnonymity() if type(objective).__module__.startswith(LOSS) else GeneralLossMetric()
    if not constrained:
        return Task(table, [objective, partner], [], limit)
    values = values_of(table, [objective], suppression=limit)
    share = [0.25, 0.5, 0.75, 0.9, 0.97][seed % 5]
    bound = float(np.quantile(np.unique(values[np.isfinite(values)]), share))
    others = [KAnonymity(), GeneralLossMetric(), NormalizedWeightedPenalty()]
    if getattr(objective.bounding, "by_size", False):
        # k itself would be the threshold.
        others = others[1:]
    if objective.bounding.floor_rises:
        # Such floors help only if an objective has one, too.
        others = [KAnonymity(), ClassificationMetric("s0"), Discernibility()]
    chosen = [one for one in others if type(one) is not type(objective)][:2]
    return Task(table, chosen, [(objective, objective.maximize, bound)], limit)


@pytest.mark.parametrize("constrained", [False, True], ids=["objective", "constraint"])
@pytest.mark.parametrize(("objective", "method"), STATED, ids=str)
def test_a_wrong_bound_is_found_out(monkeypatch, objective, method, constrained):
    """Break each bound once, and expect an inexact front."""
    family = objective.bounding

    def is_exact(seed):
        task = planted(seed, objective, constrained)
        values = values_of(task.table, [objective], suppression=task.limit)
        worse = np.ptp(values[np.isfinite(values)]) * [0.1, 0.3, 1.0][seed % 3]
        worse = np.ceil(worse) if objective.whole else worse
        if objective.maximize and not family.has_floor:
            worse = -worse
        worse = {"values_of": -2, "reach": 2}.get(method, worse)

        def broken(self, *arguments):
            return getattr(family, method)(self, *arguments) + worse

        problem = task.problem
        with monkeypatch.context() as patch:
            patch.setattr(type(objective), "bounding", type("Broken", (family,), {method: broken}))
            # One batch would cover most nodes of a small lattice.
            res = minimize(problem, limited(batch=1), seed=seed)
        return np.array_equal(found(res, problem), task.front)

    assert not all(map(is_exact, range(60)))


def test_constraints_need_no_bounds_and_objectives_do():
    table = invented(0)
    for unbounded in (kind for kind in KINDS if kind.bounding is None):
        task = Task(table, [KAnonymity(), GeneralLossMetric()], [(unbounded, False, 1.0)], 3)
        res = minimize(task.problem, BranchAndBound())
        assert res.algorithm.certified
        np.testing.assert_array_equal(found(res, task.problem), task.front)
        for max_bytes in (2 << 30, 1):
            with pytest.raises(ValueError) as caught:
                minimize(LatticeProblem(table, [KAnonymity(), unbounded]), BranchAndBound(max_bytes=max_bytes))
            assert str(caught.value) == f"{unbounded!r} states no bounds; ExhaustiveSearch or PBGEA search without any"
