"""Which release should I take? Search the whole trade-off first, then choose with all of it in view."""

from pymoo.optimize import minimize

from pymoo_anon.algorithms import PBGEA
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem

goals = [KAnonymity(), DistinctLDiversity("occupation"), GeneralLossMetric()]
problem = LatticeProblem(make_census(), goals, suppression=0.01)
res = minimize(problem, PBGEA(), ("n_gen", 100), seed=1)
front = problem.to_frame(res)
print(f"{len(front)} generalizations, none of them better than another in all of k, l and GLM:")
print(front.sort_values("k").to_string(index=False))

# The least loss among those with k >= 10 and l >= 4. Rows of the frame are rows of res.X.
choice = front[(front.k >= 10) & (front.l >= 4)].GLM.idxmin()
classes = problem.equivalence_classes(res.X[choice])
print(f"\nThe choice, with {len(classes.sizes)} classes and {classes.n_suppressed[0]} suppressed tuples:")
print(problem.decode(res.X[choice]))
