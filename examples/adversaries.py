"""How well is my table protected against different attackers?

Prosecutor, journalist and marketer know different things. Bound the risk from each.
"""

import pandas as pd
from pymoo.optimize import minimize

from pymoo_anon.algorithms import BranchAndBound
from pymoo_anon.datasets import census_rows, load_hierarchy
from pymoo_anon.objectives import GeneralLossMetric, KMap, MarketerRisk, ProsecutorRisk, TCloseness
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.table import Microdata

# A register of the whole population. One in ten persons is in the table to publish.
(everybody,) = census_rows(30_000)
known = ["age", "workclass", "marital-status", "race", "sex"]
ways = {name: load_hierarchy(name).with_numbers(int) for name in known}
register = Microdata.from_frame(everybody, ways)
table = Microdata.from_frame(everybody.sample(3000, random_state=1), ways, sensitive="occupation")

adversaries = {
    "nobody": [],
    "a prosecutor, who knows that a person is in the table": [ProsecutorRisk() <= 0.09],
    "a journalist, who finds somebody through the register": [KMap(register) >= 12],
    "a marketer, who wants to find as many as possible": [MarketerRisk() <= 0.006],
    "all three": [ProsecutorRisk() <= 0.09, KMap(register) >= 12, MarketerRisk() <= 0.006],
    "somebody who wants the occupation, and no names": [TCloseness("occupation") <= 0.3],
}
measures = [GeneralLossMetric(), ProsecutorRisk(), KMap(register), MarketerRisk(), TCloseness("occupation")]
rows = {}
for who, demands in adversaries.items():
    problem = LatticeProblem(table, [GeneralLossMetric()], suppression=0.01, constraints=demands)
    res = minimize(problem, BranchAndBound(), seed=1)
    classes = problem.equivalence_classes(res.X)
    rows[who] = {measure.name: measure.evaluate(classes)[0] for measure in measures}
print(pd.DataFrame(rows).T.round(3).to_string())
