"""How does PBG-EA compare with an algorithm that I know? Swap one line, and measure both against the exact front."""

from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.indicators.igd import IGD
from pymoo.optimize import minimize

from pymoo_anon.algorithms import PBGEA
from pymoo_anon.datasets import make_census
from pymoo_anon.fronts import ConvergenceError, RepresentationRatio
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.operators import LatticeSampling, LevelCrossover, SingleStepMutation
from pymoo_anon.problems import LatticeProblem

table = make_census()
operators = {"sampling": LatticeSampling(), "crossover": LevelCrossover(), "mutation": SingleStepMutation()}
for name, algorithm in {"PBG-EA": PBGEA(pop_size=25), "NSGA-II": NSGA2(pop_size=25, **operators)}.items():
    problem = LatticeProblem(table, [KAnonymity(), GeneralLossMetric()], suppression=0.01)
    res = minimize(problem, algorithm, ("n_gen", 100), seed=1)
    exact = problem.pareto_front()
    print(
        f"{name:8} {problem.n_unique:5} of {problem.n_nodes} nodes, {len(res.F):3} members, "
        f"representation ratio {RepresentationRatio(exact)(res.F):.2f}, "
        f"convergence error {ConvergenceError(exact)(res.F):.1e}, IGD {IGD(exact, zero_to_one=True)(res.F):.1e}"
    )
