"""Which point of the front should I take? Weights, knees, and what the people in the table would say."""

import numpy as np
from pymoo.decomposition.asf import ASF
from pymoo.mcdm.high_tradeoff import HighTradeoffPoints
from pymoo.mcdm.pseudo_weights import PseudoWeights
from pymoo.optimize import minimize

from pymoo_anon.algorithms import BranchAndBound
from pymoo_anon.comparison import ClassSize, Coverage, TupleUtility, Weighted, compare
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity, TCloseness
from pymoo_anon.problems import LatticeProblem

table = make_census()
goals = [KAnonymity(), TCloseness("occupation"), GeneralLossMetric()]
problem = LatticeProblem(table, goals, constraints=[KAnonymity() >= 5], suppression=0.01)
res = minimize(problem, BranchAndBound(), seed=1)
print(f"{len(res.F)} generalizations with k >= 5, proven to be all that matter.\n")

# k spans four decades: in logarithms a step from 5 to 10 counts as much as one from 500 to 1000.
F = res.F.copy()
F[:, 0] = -np.log(-F[:, 0])
# pymoo's methods minimise; the ends of the front are 0, the best of an objective, and 1, the worst.
F = (F - F.min(axis=0)) / np.ptp(F, axis=0)
weights = np.array([0.4, 0.2, 0.4])  # how much k, t and GLM matter

# The point whose own strengths are shared out like the weights, and the one that falls short of the ideal by least.
picks = {"pseudo-weights": PseudoWeights(weights).do(F), "achievement": ASF().do(F, 1 / weights).argmin()}
# Knees: to gain anything elsewhere, one has to give up much.
picks |= {f"knee {number}": row for number, row in enumerate(np.atleast_1d(HighTradeoffPoints().do(F)), start=1)}
print(problem.to_frame(res).loc[list(picks.values()), list(problem.objective_names)].set_axis(list(picks)).to_string())

# k and t tell of the worst class only. By coverage every person has a vote: on the own class, and on the own values.
releases = {name: problem.decode(res.X[row]) for name, row in picks.items()}
comparators = [Coverage(), Weighted([0.5, 0.5], Coverage())]
print(f"\n{compare(table, releases, [ClassSize(), TupleUtility()], comparators, suppression=0.01)}")
