"""How do I show others the worth of a release?

One HTML file for the people who decide, another for those outside.
"""

import numpy as np
import pandas as pd
from pymoo.optimize import minimize

from pymoo_anon.algorithms import BranchAndBound
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.publishing import evidence, release, write_report
from pymoo_anon.table import Hierarchy, Microdata

rng = np.random.default_rng(0)
patients = pd.DataFrame(
    {
        "age": rng.integers(0, 100, 3000),
        "zip": rng.choice(["4711", "4712", "8000", "8001"], 3000),
        "diagnosis": rng.choice(["flu", "cold", "asthma"], 3000, p=[0.6, 0.3, 0.1]),
    }
)
zips = Hierarchy([["4711", "4712", "8000", "8001"], ["47**", "47**", "80**", "80**"], ["*"] * 4])
ages = Hierarchy.intervals(0, 100, widths=[5, 10, 20])
table = Microdata.from_frame(patients, {"age": ages, "zip": zips}, sensitive="diagnosis")
goals = [KAnonymity(), DistinctLDiversity("diagnosis"), GeneralLossMetric()]
problem = LatticeProblem(table, goals, constraints=[KAnonymity() >= 5], suppression=0.01)
res = minimize(problem, BranchAndBound(), seed=1)

front = problem.front(res)
choice = front.choose(risk=0.09)
made = release(patients, problem, choice, suppressed="drop")
search = {"algorithm": "BranchAndBound", "seed": 1, "certified": front.certified}
told = evidence(problem, res, choice, made, checksums={}, search=search)
about = {"owner": "the clinic", "release": "patients.csv", "recipients": "researchers", "purpose": "a study of flu"}
for name, external in (("report.html", False), ("external.html", True)):
    write_report(name, front, choice, evidence=told, external=external, population_size=50_000, **about)
    print(f"{name} tells of a release with k = {choice.values['k']:g}")
