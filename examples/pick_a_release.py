"""Which release should I take?

Search the whole trade-off first, then choose with all of it in view.
"""

from pymoo.optimize import minimize

from pymoo_anon.algorithms import PBGEA
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem

goals = [KAnonymity(), DistinctLDiversity("occupation"), GeneralLossMetric()]
problem = LatticeProblem(make_census(), goals, suppression=0.01)
res = minimize(problem, PBGEA(), ("n_gen", 100), seed=1)
front = problem.front(res)
print(f"{front}\n\nNone of them is better than another in all of k, l and GLM.")

# The least loss among those with k >= 10 and l >= 4.
choice = front.choose(require=[goals[0] >= 10, goals[1] >= 4])
classes = problem.equivalence_classes(choice.x)
print(f"\n{choice}\n{len(classes.sizes)} classes and {choice.n_suppressed} suppressed tuples:")
print(problem.decode(choice.x))
