"""How do I write my own operator?

As in pymoo: one method, random numbers from the given state alone. Then check it.
"""

import numpy as np
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.core.mutation import Mutation
from pymoo.optimize import minimize

from pymoo_anon.datasets import make_census
from pymoo_anon.fronts import RepresentationRatio
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.operators import LatticeSampling, LevelCrossover, SingleStepMutation
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.testing import check_operator, small_problems


class TradeMutation(Mutation):
    """Mutation that raises one attribute by a level and lowers another."""

    def _do(self, problem, X, *args, random_state, **kwargs):
        attributes = np.tile(np.arange(problem.n_var), (len(X), 1))
        up, down = random_state.permuted(attributes, axis=1).T[[0, -1]]
        rows, made = np.arange(len(X)), X.copy()  # the input must not change
        made[rows, up] += 1
        made[rows, down] -= 1
        return np.clip(made, problem.xl, problem.xu).astype(X.dtype)


for own in small_problems().values():
    check_operator(TradeMutation(), own)  # raises AssertionError with one sentence where an algorithm would go wrong

problem = LatticeProblem(make_census(3000), [KAnonymity(), GeneralLossMetric()], suppression=0.01)
share = RepresentationRatio(problem.pareto_front(max_nodes=problem.n_nodes))
for mutation in (SingleStepMutation(), TradeMutation(prob=0.5)):
    algorithm = NSGA2(pop_size=50, sampling=LatticeSampling(), crossover=LevelCrossover(), mutation=mutation)
    found = [share(minimize(problem, algorithm, ("n_gen", 40), seed=seed).F) for seed in range(3)]
    print(f"{type(mutation).__name__:20} finds {np.mean(found):.0%} of the front")
