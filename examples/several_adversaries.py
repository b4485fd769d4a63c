"""How do I protect against people with partial knowledge?

A neighbour and a colleague know some columns each. Hold k against both, and lose less.
"""

import pandas as pd
from pymoo.optimize import minimize

from pymoo_anon.algorithms import BranchAndBound
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity, any_of
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.table import Violating

table = make_census(1500)
neighbour = ["age", "sex", "marital-status", "race", "native-country"]
colleague = ["sex", "education", "workclass", "salary-class"]
adversaries = {
    "somebody who knows all columns": None,
    "the neighbour and the colleague": [neighbour, colleague],
    "anybody who knows three columns": any_of(3),
    "anybody who knows two columns": any_of(2),
}
together, rows = KAnonymity(), {}
for who, known in adversaries.items():
    demands = [KAnonymity(known=known) >= 5]
    problem = LatticeProblem(table, [GeneralLossMetric()], suppression=Violating(0.02), constraints=demands)
    res = minimize(problem, BranchAndBound(), seed=1)
    classes = problem.equivalence_classes(res.X)
    rows[who] = {
        "proven": res.algorithm.certified,
        "loss": res.F[0] / (table.n_rows * len(table.quasi_identifiers)),
        "k of them": demands[0].objective.evaluate(classes)[0],
        "k of all that they know together": together.evaluate(classes)[0],
        "suppressed": classes.n_suppressed[0],
    }
print(pd.DataFrame(rows).T.to_string())
