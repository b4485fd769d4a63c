"""How do I search a lattice that is too large to store?

Require something, and a proof may still be in reach.
"""

import numpy as np
import pandas as pd
from pymoo.optimize import minimize

from pymoo_anon.algorithms import BranchAndBound, ParetoLocalSearch
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.table import Hierarchy, Microdata

# How often 3,000 people used each of twelve services, some of them common, some rare.
rng = np.random.default_rng(1)
often = [4, 2, 1, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.03, 0.02, 0.01]
visits = rng.poisson(rng.gamma(0.5, 2, (3000, 1)) * often).clip(0, 63)
frame = pd.DataFrame(visits, columns=[f"s{number}" for number in range(1, 13)])
table = Microdata.from_frame(frame, dict.fromkeys(frame, Hierarchy.intervals(0, 64, widths=[2, 4, 8, 16, 32])))


def problem(least_k):
    demand = [KAnonymity() >= least_k]
    return LatticeProblem(table, [KAnonymity(), GeneralLossMetric()], suppression=0.01, constraints=demand)


own = problem(500)
print(f"{table}\n{own.n_nodes:,} nodes. The front from k = 500 on, within 5 % of the loss:")

# Intervals of nodes are halved, and those without better nodes are cut off. Stop at any time: the gap is certified.
proof = BranchAndBound(epsilon=[0, "5%"]).setup(own, seed=1)
while proof.has_next():
    proof.next()
    if proof.n_gen % 4 == 0:
        off = (proof.gap / proof.opt.get("F"))[:, 1].max()
        print(f"{proof.n_evaluated:7,} evaluated, {len(proof.opt):3} members; no loss can be more than {off:.0%} lower")
print(f"{proof.n_evaluated:7,} evaluated, {len(proof.opt):3} members, certified: {proof.certified}")
print(own.to_frame(proof.result()).sort_values("k").head(3).to_string(index=False))

# Without a proof, local search visits the neighbours of its best points.
res = minimize(problem(5), ParetoLocalSearch(), ("n_eval", 1000), seed=1)
print(f"\nFrom k = 5 on, without a proof: {len(res.F)} members, the least loss {res.F[:, 1].min():,.0f}")
