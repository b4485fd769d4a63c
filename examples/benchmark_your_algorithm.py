"""How good is my own algorithm?

Run it on a frozen instance with a proven front, and read its rank.
"""

import numpy as np
from pymoo.algorithms.moo.sms import SMSEMOA
from pymoo.operators.crossover.ux import UX
from pymoo.operators.mutation.pm import PM
from pymoo.operators.repair.rounding import RoundingRepair
from pymoo.operators.sampling.rnd import IntegerRandomSampling
from pymoo.optimize import minimize

from pymoo_anon import suite

mutation = PM(eta=3, vtype=float, repair=RoundingRepair())
for name in ("patients-k-l-GLM-v1", "trips-k-GLM-s60-v1"):
    problem = suite.load(name)
    fronts = []
    for seed in range(1, 4):
        mine = SMSEMOA(pop_size=30, sampling=IntegerRandomSampling(), crossover=UX(), mutation=mutation)
        fronts.append(minimize(problem, mine, ("n_eval", problem.budgets[0]), seed=seed).F)
    most = np.max([len(F) for F in fronts])
    print(f"{name}: at most {most} points of {len(problem.pareto_front())} after {problem.budgets[0]} evaluations")
    print(suite.standings(problem, "mine", fronts).round(3), end="\n\n")
