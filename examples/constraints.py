"""What does a demand cost? What a regulator fixes is a constraint, and its price is the loss that it adds."""

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

# What is fixed may still be an objective: here the front of k and loss, of all that keeps the demands.
problem = LatticeProblem(table, [KAnonymity(), GeneralLossMetric()], suppression=0.01, constraints=demands)
res = minimize(problem, BranchAndBound(), seed=1)
print(f"\n{problem.to_frame(res).sort_values('k').to_string(index=False)}")
