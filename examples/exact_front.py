"""How do I know that a front is complete?

Prove it. A proof that is stopped early certifies the remaining gap.
"""

from pymoo.optimize import minimize

from pymoo_anon.algorithms import PBGEA, BranchAndBound
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem

goals = [KAnonymity(), DistinctLDiversity("occupation"), GeneralLossMetric()]
problem = LatticeProblem(make_census(), goals, suppression=0.01, constraints=[KAnonymity() >= 5])

res = minimize(problem, BranchAndBound(), seed=1)
proof = res.algorithm
assert proof.certified
print(
    f"{len(res.F)} members, proven. Of {problem.n_nodes:,} nodes {proof.n_evaluated} were evaluated; bounds settled the"
)
print(f"other {proof.n_pruned:,}. The three with the least loss:")
print(problem.to_frame(res).sort_values("GLM").head(3).to_string(index=False))

# The proof names the points that a search missed.
found = minimize(problem, PBGEA(), ("n_gen", 20), seed=1)
missed = set(map(tuple, res.F)) - set(map(tuple, found.F))
print(f"\nPBG-EA, after {found.algorithm.evaluator.n_eval} evaluations, misses {len(missed)} of them.")

# Stopped early: by how much can the loss of a member still be lower, at most?
early = minimize(problem, BranchAndBound(sampling=found.X), ("n_gen", 9), seed=1)
off = (early.algorithm.gap[:, -1] / early.F[:, -1]).max()
print(f"\nStopped early, {early.algorithm.n_undecided:,} nodes are open. No loss can be lower by more than {off:.1%}.")

# Content with k and loss that are 10 % worse: fewer members, which stand for all others. That is proven, too.
rough = minimize(problem, BranchAndBound(epsilon=["10%", 0, "10%"]), seed=1)
print(f"\nWithin 10 %, {len(rough.F)} members do, after {rough.algorithm.n_evaluated} evaluations.")
