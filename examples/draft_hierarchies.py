"""How do I get hierarchies?

Draft them from the data, read the draft, edit the files, and check them.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from pymoo.optimize import minimize

from pymoo_anon.algorithms import BranchAndBound
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.table import Hierarchy, Microdata, check_hierarchy, draft_hierarchy

rng = np.random.default_rng(1)
visits = pd.DataFrame(
    {
        "born": pd.to_datetime(rng.integers(-10_000, 15_000, 2000), unit="D"),
        "zip": rng.choice(["02138", "02139", "02141", "02215", "02216", None], 2000),
        "illness": rng.choice(["E11.9", "E11.8", "I10.0", "I10.1", "J45.9"], 2000),
        "weight": rng.normal(75, 12, 2000).round(1),
    }
)
with tempfile.TemporaryDirectory() as folder:
    files = {name: Path(folder, f"{name}.csv") for name in visits}
    for name, path in files.items():
        draft = draft_hierarchy(visits[name])
        draft.hierarchy.to_csv(path)  # in ARX's layout, to be read and edited
        print(f"{name}: {draft.kind}. {draft.reason}\n  {draft.hierarchy}")

    # An edited file may lack a value, or hold it twice. All that is wrong is said at once.
    files["illness"].write_text("E11.9;E11;*\nE11.8;E11;*\nI10.0;I10;*\ni10.0;I10;*\nJ45.9;J45;*\n")
    for finding in check_hierarchy(files["illness"], visits["illness"]):
        print(f"illness.csv: {finding}")
    hierarchies = {name: Hierarchy.from_csv(files[name]) for name in ("born", "zip", "weight")}

table = Microdata.from_frame(visits, hierarchies, missing="keep")
problem = LatticeProblem(table, [KAnonymity(), GeneralLossMetric()], suppression=0.01)
print(problem.to_frame(minimize(problem, BranchAndBound(), seed=1)).to_string(index=False))
