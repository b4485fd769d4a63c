"""Refusals of problems, their fronts and joint releases, with their sentences."""

import numpy as np
import pandas as pd
from pymoo.core.result import Result
from pymoo.core.termination import NoTermination
from refusals import check_refusals, refusals
from tasks import eights, invented
from test_bitstrings import LEAVES, WORK, make, string
from test_local_recoding import FRAME, LETTERS, problem_of, released, table_of
from test_problems import small_table, wide

from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import *
from pymoo_anon.problems import *
from pymoo_anon.problems.journal import journaled
from pymoo_anon.publishing import RecountError
from pymoo_anon.table import *

NAN = float("nan")
CENSUS, TABLE = make_census(200), invented(1)
K, GLM = GOALS = [KAnonymity(), GeneralLossMetric()]
STRING = BitStringProblem(eights("abc"), [K])
LATTICE, LOCAL = LatticeProblem(CENSUS, GOALS), LocalRecodingProblem(CENSUS, GOALS)
SMALL, STRINGS = LatticeProblem(small_table(), GOALS), make()
LEVELED = LatticeProblem(CENSUS, GOALS, levels={"age": (2, 3)})
PAIR = LatticeProblem(TABLE, GOALS), [0, 0, 0, 0]
COARSE, FINE = (LATTICE, LATTICE.xu.astype(int)), (LATTICE, LATTICE.xl.astype(int))
RAGGED = np.empty(2, dtype=object)
RAGGED[:] = [[1, 2], [1, 2, 3]]


def lattice(table=SMALL.table, objectives=GOALS, **options):
    return LatticeProblem(table, objectives, **options)


@refusals(__file__)
def test_what_is_refused(section):
    check_refusals(section, globals())
    # What is refused is not evaluated.
    assert SMALL.n_unique == STRINGS.n_unique == 0
    assert SMALL.n_threads == 1
