"""How much do groups gain that follow my data?

Bit strings, free or along taxonomies, beside levels, all proven.
"""

from pymoo.optimize import minimize

from pymoo_anon.algorithms import BranchAndBound, ParetoLocalSearch
from pymoo_anon.datasets import census_rows, load_taxonomy
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import BitStringProblem, LatticeProblem
from pymoo_anon.table import Below, Hierarchy, Microdata

(frame,) = census_rows(5000)
trees = {name: load_taxonomy(name) for name in ("workclass", "education", "marital-status")}
ways = {name: Hierarchy(tree.levels()) for name, tree in trees.items()}
ways["age"] = Hierarchy.intervals(15, 95, widths=[10, 20, 40], step=5)
ways["sex"] = Hierarchy.flat(["Female", "Male"])
table = Microdata.from_frame(frame, ways, sensitive="occupation")

# A level says how coarse all values of an attribute are. A bit says of two neighbors whether they stay apart: those of
# an attribute with a taxonomy stay in its branches, those of another one form any groups.
loss, rule = [GeneralLossMetric()], Below(20)
levels = LatticeProblem(table, loss, rule)
named = BitStringProblem(table, loss, rule, taxonomies=trees)
free = BitStringProblem(table, loss, rule)
print("Every class has at least 20 persons, or is suppressed. The least loss:")
for space, size, problem in (
    ("levels", levels.n_nodes, levels),
    ("bits in taxonomies", named.n_strings, named),
    ("free bits", free.n_strings, free),
):
    res = minimize(problem, BranchAndBound(), seed=1)
    print(f"{res.F.item():7,.1f} of {size:18,} {space}, proven: {res.algorithm.certified}")
    best = problem.decode(res.X)
print(f"The last one: {best}\n")

# Other objectives are searched without a proof: two groups of an attribute become one, or one becomes two.
several = BitStringProblem(table, [KAnonymity(), DistinctLDiversity("occupation"), *loss], 0.01, taxonomies=trees)
res = minimize(several, ParetoLocalSearch(), ("n_eval", 300), seed=1)
print(f"k, l and loss in taxonomies: {several.to_frame(res).sort_values('GLM').head(5).to_string(index=False)}")
