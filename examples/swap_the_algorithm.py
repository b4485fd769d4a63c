"""How does PBG-EA compare with an algorithm that I know?

Swap one line, and measure both against the exact front.
"""

from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.indicators.igd import IGD
from pymoo.optimize import minimize

from pymoo_anon.algorithms import PBGEA
from pymoo_anon.datasets import make_census
from pymoo_anon.fronts import BoxArchive, ConvergenceMetric, RepresentationRatio
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity, TCloseness
from pymoo_anon.operators import LatticeSampling, LevelCrossover, SingleStepMutation
from pymoo_anon.problems import LatticeProblem

table = make_census(5000)
goals = [KAnonymity(), DistinctLDiversity("occupation"), TCloseness("occupation"), GeneralLossMetric()]
operators = {"sampling": LatticeSampling(), "crossover": LevelCrossover(), "mutation": SingleStepMutation()}
problem = LatticeProblem(table, goals, suppression=0.01)
exact = problem.pareto_front(max_nodes=problem.n_nodes)
grid = {"epsilon": problem.steps, "maximize": [goal.maximize for goal in goals]}


def tell(name, F):
    print(
        f"{name:24} {len(F):3} points, of {len(exact)} exact ones {RepresentationRatio(exact, **grid)(F):.0%}, "
        f"convergence error {ConvergenceMetric(exact)(F):.1e}, IGD {IGD(exact, zero_to_one=True)(F):.1e}"
    )


res = minimize(problem, PBGEA(pop_size=25), ("n_gen", 100), seed=1)
tell("PBG-EA", res.F)
res = minimize(problem, NSGA2(pop_size=25, archive=BoxArchive(**grid), **operators), ("n_gen", 100), seed=1)
tell("NSGA-II, its population", res.F)
# Four objectives have more good points than a population holds. The archive keeps them all.
tell("NSGA-II, its archive", res.archive.F)
