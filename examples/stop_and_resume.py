"""How do I stop a long search and go on later? Pickle the algorithm; table, memory and random state go with it."""

import pickle
from pathlib import Path
from tempfile import TemporaryDirectory

from pymoo.optimize import minimize

from pymoo_anon.algorithms import PBGEA
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import ClassSizeSum, GeneralLossMetric
from pymoo_anon.problems import LatticeProblem

table = make_census()


def problem():
    return LatticeProblem(table, objectives=[ClassSizeSum(), GeneralLossMetric()], suppression=0.01)


algorithm = PBGEA()
algorithm.setup(problem(), termination=("n_gen", 100), seed=1)
for _ in range(30):
    algorithm.next()

with TemporaryDirectory() as folder:
    checkpoint = Path(folder, "search.pickle")
    checkpoint.write_bytes(pickle.dumps(algorithm))
    # Only unpickle files that you wrote yourself.
    resumed = pickle.loads(checkpoint.read_bytes())
while resumed.has_next():
    resumed.next()

straight = minimize(problem(), PBGEA(), ("n_gen", 100), seed=1)
assert (resumed.result().F == straight.F).all()
print(f"stopped after 30 generations, resumed to 100: the same {len(straight.F)} members as without a stop")
