"""How much does a requirement cost?

A regulator's bound is a constraint. Its price is the additional loss.
"""

from pymoo.optimize import minimize

from pymoo_anon.algorithms import BranchAndBound
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity, TCloseness
from pymoo_anon.problems import LatticeProblem

table = make_census()
demands = [KAnonymity() >= 5, DistinctLDiversity("occupation") >= 5, TCloseness("occupation") <= 0.3]

for number in range(1, len(demands) + 1):
    problem = LatticeProblem(table, [GeneralLossMetric()], suppression=0.01, constraints=demands[:number])
    res = minimize(problem, BranchAndBound(), seed=1)
    print(f"least loss {res.F.item():9,.0f}, levels {res.X.ravel()}, for {' and '.join(map(str, demands[:number]))}")

# A constraint may be an objective, too: here the front of k and loss within the constraints.
problem = LatticeProblem(table, [KAnonymity(), GeneralLossMetric()], suppression=0.01, constraints=demands)
res = minimize(problem, BranchAndBound(), seed=1)
print(f"\n{problem.to_frame(res).sort_values('k').to_string(index=False)}")
