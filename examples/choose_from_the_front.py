"""Which point of the front should I take? Weights, knees, and what the people in the table would say."""

import numpy as np
import pandas as pd
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
problem = LatticeProblem(
    table,
    objectives=[KAnonymity(), TCloseness("occupation"), GeneralLossMetric()],
    constraints=[KAnonymity() >= 5],
    suppression=0.01,
)
res = minimize(problem, BranchAndBound(), seed=1)
front = problem.to_frame(res)
goals = list(problem.objective_names)
print(f"{len(front)} generalizations with k >= 5, proven to be all that matter.\n")

# k spans four decades, so that a step from 5 to 10 counts as much as one from 500 to 1000 only in logarithms.
F = res.F.copy()
F[:, 0] = -np.log(-F[:, 0])
# pymoo's methods minimise; the ends of the front are 0, the best of an objective, and 1, the worst.
F = (F - F.min(axis=0)) / np.ptp(F, axis=0)
weights = np.array([0.4, 0.2, 0.4])

picks = {}
# The point whose own strengths are shared out like the weights.
picks["pseudo-weights"], shares = PseudoWeights(weights).do(F, return_pseudo_weights=True)
# The point that falls short of the ideal by least where it hurts most: the weights divide the shortfalls.
picks["achievement"] = ASF().do(F, 1 / weights).argmin()
# Knees: to gain anything elsewhere, one has to give up much.
for number, row in enumerate(np.atleast_1d(HighTradeoffPoints().do(F)), start=1):
    picks[f"knee {number}"] = row

chosen = front.loc[list(picks.values()), goals].set_axis(list(picks))
print(chosen.to_string())
print("\nHow the pseudo-weights see each of them, as shares of k, t and GLM:")
print(pd.DataFrame(shares[list(picks.values())], index=list(picks), columns=goals).round(2).to_string())

# k and t tell of the worst class only. By coverage, every tuple has a vote: first on its class, then on its values.
by_people = compare(
    table,
    {name: problem.decode(res.X[row]) for name, row in picks.items()},
    properties=[ClassSize(), TupleUtility()],
    comparators=[Coverage(), Weighted([0.5, 0.5], Coverage())],
    suppression=0.01,
)
print(f"\n{by_people}")
