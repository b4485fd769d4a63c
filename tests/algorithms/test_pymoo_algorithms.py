"""pymoo's multi-objective algorithms with our operators, with and without constraints."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pymoo.algorithms.moo.age import AGEMOEA
from pymoo.algorithms.moo.age2 import AGEMOEA2
from pymoo.algorithms.moo.ctaea import CTAEA
from pymoo.algorithms.moo.dnsga2 import DNSGA2
from pymoo.algorithms.moo.moead import MOEAD
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.algorithms.moo.nsga3 import NSGA3
from pymoo.algorithms.moo.omni import OmniOptimizer
from pymoo.algorithms.moo.rnsga2 import RNSGA2
from pymoo.algorithms.moo.rnsga3 import RNSGA3
from pymoo.algorithms.moo.rvea import RVEA
from pymoo.algorithms.moo.sms import SMSEMOA
from pymoo.algorithms.moo.spea2 import SPEA2
from pymoo.algorithms.moo.unsga3 import UNSGA3
from pymoo.optimize import minimize
from pymoo.util.ref_dirs import get_reference_directions

from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.operators import (
    BitStringSampling,
    LatticeSampling,
    LevelCrossover,
    PartitionCrossover,
    PerAttributeBitMutation,
    SingleStepMutation,
)
from pymoo_anon.problems import BitStringProblem, LatticeProblem
from pymoo_anon.table import Hierarchy, Microdata

RNG = np.random.default_rng(0)
LEVELS = [[value >> level for value in range(8)] for level in range(4)]
FRAME = pd.DataFrame(RNG.integers(0, 8, (120, 4)), columns=list("abcd")).assign(s=RNG.integers(0, 4, 120))
TABLE = Microdata.from_frame(FRAME, {name: Hierarchy(LEVELS) for name in "abcd"}, sensitive="s")

OPERATORS = {
    LatticeProblem: {
        "sampling": LatticeSampling(), "crossover": LevelCrossover(), "mutation": SingleStepMutation(),
    },
    BitStringProblem: {
        "sampling": BitStringSampling(), "crossover": PartitionCrossover(), "mutation": PerAttributeBitMutation(),
    },
}  # fmt: skip

DIRECTIONS = get_reference_directions("das-dennis", 2, n_partitions=11)
POINTS = np.array([[-30.0, 100.0], [-10.0, 50.0]])
#: How each is made, and whether it takes constraints and returns only rows that satisfy them.
ALGORITHMS = {
    "NSGA2": (lambda **own: NSGA2(12, **own), True),
    "NSGA3": (lambda **own: NSGA3(DIRECTIONS, 12, **own), True),
    "UNSGA3": (lambda **own: UNSGA3(DIRECTIONS, pop_size=12, **own), True),
    "RNSGA2": (lambda **own: RNSGA2(POINTS, pop_size=12, **own), True),
    "RNSGA3": (lambda **own: RNSGA3(POINTS, 6, **own), True),
    "SPEA2": (lambda **own: SPEA2(12, **own), True),
    "SMSEMOA": (lambda **own: SMSEMOA(12, **own), True),
    "AGEMOEA": (lambda **own: AGEMOEA(12, **own), True),
    "AGEMOEA2": (lambda **own: AGEMOEA2(12, **own), True),
    "OmniOptimizer": (lambda **own: OmniOptimizer(pop_size=12, **own), True),
    # pymoo's waits for ever where duplicates were removed from its first population.
    "CTAEA": (lambda **own: CTAEA(DIRECTIONS, eliminate_duplicates=False, **own), False),
    "RVEA": (lambda **own: RVEA(DIRECTIONS, **own), False),
    "MOEAD": (lambda **own: MOEAD(DIRECTIONS, n_neighbors=5, **own), None),
    "DNSGA2": (lambda **own: DNSGA2(pop_size=12, **own), None),
}


@pytest.mark.filterwarnings("ignore:.*encountered in divide")
@pytest.mark.parametrize("name", ALGORITHMS)
def test_algorithms_of_pymoo_search_bit_strings(name):
    """Search strings, as the contract has levels."""
    make, of_constraints = ALGORITHMS[name]
    for constraints in ([], [KAnonymity() >= 3, DistinctLDiversity("s") >= 2]):
        own = BitStringProblem(TABLE, [KAnonymity(), GeneralLossMetric()], suppression=0.02, constraints=constraints)
        algorithm = make(**OPERATORS[BitStringProblem])
        if constraints and of_constraints is None:
            with pytest.raises(AssertionError, match="constrain"):
                minimize(own, algorithm, ("n_gen", 4), seed=1)
            continue
        res = minimize(own, algorithm, ("n_gen", 4), seed=1)
        X = np.atleast_2d(res.X)
        assert X.dtype == bool
        assert np.array_equal(own.compute(X), np.atleast_2d(res.F))
        frame = own.to_frame(res)
        if constraints and of_constraints:
            assert frame["feasible"].all()
        elif constraints:
            assert frame["feasible"].tolist() == (res.G <= 0).all(axis=1).tolist()


def test_the_guide_tells_what_pymoo_s_algorithms_make_of_constraints():
    """Compare the guide with the verdicts in the tests of these algorithms.

    Constraints are kept, broken in some rows, or refused.
    """
    guide = (Path(__file__).parents[2] / "examples" / "guide" / "algorithms.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| works?\b.* \| (.*) \|$", guide, re.M)
    verdicts = {"kept": True, "refused by pymoo": None}
    told = {name: verdicts.get(verdict, False) for names, verdict in rows for name in re.findall(r"\w+", names)}
    assert told == {name: verdict for name, (_, verdict) in ALGORITHMS.items()}
