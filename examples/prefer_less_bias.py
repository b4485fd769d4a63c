"""How much information does equal protection cost?

Prefer loss and bias, and get k.
"""

from pymoo.optimize import minimize

from pymoo_anon.algorithms import PreferenceNSGA2
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import KAnonymity
from pymoo_anon.problems import BitStringProblem, PreferredPoint

# At least k = 5, a loss (NWP) near 0.3, and class sizes that differ (NECD) as they like, somewhat, or little.
points = [PreferredPoint((0.3, 1.0)), PreferredPoint((0.3, 0.05)), PreferredPoint((0.3, 0.01))]
problem = BitStringProblem(make_census(5000), [*points, KAnonymity()])
res = minimize(problem, PreferenceNSGA2(k=5, pop_size=100), ("n_gen", 200), seed=1)

print(res.picks.drop(columns="row").to_string(index=False))
print("\nThe one for the least bias:")
print(problem.decode(res.X[res.picks["row"].iloc[-1]]))
