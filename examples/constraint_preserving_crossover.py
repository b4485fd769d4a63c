"""How do I search bit strings with taxonomies?

Three ways to keep strings valid, side by side.
"""

from pymoo.optimize import minimize

from pymoo_anon.algorithms import GENITOR
from pymoo_anon.datasets import load_taxonomy, make_census
from pymoo_anon.datasets.adult import TAXONOMIES
from pymoo_anon.objectives import GeneralLossMetric
from pymoo_anon.operators import ClosestValidRepair, PerAttributeBitMutation, ReducedSurrogateCrossover
from pymoo_anon.problems import BitStringProblem
from pymoo_anon.table import Below

table = make_census(1000)
taxonomies = {name: load_taxonomy(name) for name in TAXONOMIES}


def problem():
    return BitStringProblem(table, [GeneralLossMetric()], suppression=Below(15), taxonomies=taxonomies)


print(f"{problem().n_var} bits, {problem().n_strings:,} valid strings")
ways = {
    "crossover that keeps cuts, random immigrants": GENITOR(pop_size=100),
    "crossover that keeps cuts, mutation, nearest valid string": GENITOR(
        pop_size=100, mutation=PerAttributeBitMutation(), repair=ClosestValidRepair()
    ),
    "two-point crossover, mutation, nearest valid string": GENITOR(
        pop_size=100,
        crossover=ReducedSurrogateCrossover(),
        mutation=PerAttributeBitMutation(),
        repair=ClosestValidRepair(),
    ),
}
losses = {}
for name, algorithm in ways.items():
    res = minimize(problem(), algorithm, ("n_eval", 1000), seed=1)
    losses[name] = res.F.item()
    print(f"{losses[name]:12,.1f}  {name}")
print(res.problem.decode(res.X))
