"""How do I stop a long search and go on later?

Pickle the algorithm, or keep a journal, which survives a crash, too.
"""

import pickle
from pathlib import Path
from tempfile import TemporaryDirectory

from pymoo.optimize import minimize

from pymoo_anon.algorithms import PBGEA
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import GeneralLossMetric, SquaredClassSizes
from pymoo_anon.problems import LatticeProblem, journaled

table = make_census()


def problem():
    return LatticeProblem(table, objectives=[SquaredClassSizes(), GeneralLossMetric()], suppression=0.01)


straight = minimize(problem(), PBGEA(), ("n_gen", 100), seed=1)
algorithm = PBGEA().setup(problem(), termination=("n_gen", 100), seed=1)
for _ in range(30):
    algorithm.next()

with TemporaryDirectory() as folder:
    checkpoint, journal = Path(folder, "search.pickle"), Path(folder, "search.journal")
    checkpoint.write_bytes(pickle.dumps(algorithm))  # table, memory and random state go with it
    resumed = pickle.loads(checkpoint.read_bytes())  # only unpickle files that you wrote yourself
    while resumed.has_next():
        resumed.next()
    assert (resumed.result().F == straight.F).all()
    print(f"pickled after 30 generations, resumed to 100: the same {len(straight.F)} members as without a stop")

    killed, again = problem(), problem()
    with journaled(killed, journal, settings={"seed": 1}):  # evaluated points are on the disk at once
        minimize(killed, PBGEA(), ("n_gen", 30), seed=1)
    with journaled(again, journal, settings={"seed": 1}, resume=True):
        print(f"a search was killed; {again.n_unique} nodes need not be evaluated again")
        assert (minimize(again, PBGEA(), ("n_gen", 100), seed=1).F == straight.F).all()
