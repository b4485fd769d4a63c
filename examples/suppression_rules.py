"""Which rows may be suppressed?

Three rules for one requirement: k of at least 5, and 5 occupations in every class.
"""

from pymoo.optimize import minimize

from pymoo_anon.algorithms import ExhaustiveSearch
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.table import AtMost, Below, Violating

table = make_census(1000)
demands = [KAnonymity() >= 5, DistinctLDiversity("occupation") >= 5]
print(f"{table}\nDemanded: {demands}\n")

losses = {}
for rule in (AtMost(0), AtMost(0.05), Violating(0.05), Below(5)):
    problem = LatticeProblem(table, [GeneralLossMetric()], suppression=rule, constraints=demands)
    res = minimize(problem, ExhaustiveSearch(), seed=1)
    # One objective: the least loss is one node, and res.X and res.F are of it alone.
    suppressed = problem.equivalence_classes(res.X).n_suppressed[0]
    losses[str(rule)] = res.F.item()
    print(f"{rule!s:22} least loss {res.F.item():8,.0f}, suppressed {suppressed:3}, levels {res.X.ravel()}")
