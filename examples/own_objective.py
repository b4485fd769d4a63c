"""How do I add my own objective?

Subclass Objective with a name, a direction and a function of arrays. Then check it.
"""

import numpy as np
from pymoo.optimize import minimize

from pymoo_anon.algorithms import PBGEA
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import GeneralLossMetric, Objective
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.testing import check_objective


class TypicalRisk(Objective):
    """Median re-identification risk: 1 / class size, not exceeded by half of the persons."""

    name = "typical risk"
    maximize = False
    step = 0.001  # the width of a box: a box of width 1 would hold all risks at once

    def evaluate_one(self, classes):
        sizes = np.sort(classes.sizes[~classes.suppressed])[::-1]
        persons = np.cumsum(sizes)
        return 1 / sizes[np.searchsorted(persons, persons[-1] / 2)] if len(sizes) else 1 / classes.n_rows


check_objective(TypicalRisk())  # raises AssertionError with one sentence where a search would go wrong
problem = LatticeProblem(make_census(5000), objectives=[TypicalRisk(), GeneralLossMetric()], suppression=0.01)
res = minimize(problem, PBGEA(), ("n_gen", 50), seed=1)
print(problem.to_frame(res).sort_values("GLM").to_string(index=False))
