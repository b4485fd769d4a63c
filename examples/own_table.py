"""How do I anonymize my own table?

Give the quasi-identifiers hierarchies, name the sensitive columns, search, and release.
"""

import pandas as pd
from pymoo.optimize import minimize

from pymoo_anon.algorithms import ExhaustiveSearch
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.publishing import release
from pymoo_anon.table import Hierarchy, Microdata

patients = pd.DataFrame(
    {
        "name": ["Ada", "Ben", "Cem", "Dora", "Eli", "Fay", "Gil", "Hana"],
        "age": [28, 26, 41, 39, 55, 51, 31, 47],
        "zip": ["13053", "13053", "13268", "13268", "13253", "13253", "13052", "13269"],
        "sex": ["f", "m", "m", "f", "m", "f", "m", "f"],
        "diagnosis": ["flu", "angina", "flu", "asthma", "asthma", "angina", "flu", "asthma"],
    }
)
zips = sorted(set(patients["zip"]))
ways = {
    "age": Hierarchy.intervals(20, 60, widths=[5, 10, 20]),
    # A file in ARX's layout does as well: Hierarchy.from_csv("zip.csv").
    "zip": Hierarchy([zips, [z[:4] + "*" for z in zips], [z[:3] + "**" for z in zips], ["*"] * len(zips)]),
    "sex": Hierarchy.flat(["f", "m"]),
}
table = Microdata.from_frame(patients, quasi_identifiers=ways, sensitive="diagnosis")
problem = LatticeProblem(table, objectives=[KAnonymity(), DistinctLDiversity("diagnosis"), GeneralLossMetric()])
res = minimize(problem, ExhaustiveSearch())
front = problem.to_frame(res)
print(f"{table}\n{front.to_string(index=False)}\n")

# The released table: counted again before it is given out, its rows in an order that says nothing.
choice = problem.front(res).choose(require=[KAnonymity() >= 2], best=GeneralLossMetric())
made = release(patients, problem, choice, drop="name")
print(made.frame.to_string(index=False), made.claims.to_string(index=False), sep="\n\n")
