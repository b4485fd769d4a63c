"""Refusals of comparators, properties and estimates, with their sentences."""

import dataclasses

import numpy as np
import pandas as pd
from errors import refused
from refusals import check_refusals, refusals
from strategies import one_class_each
from test_comparators import EVERY, SETS, LeastOfAll, MostImproved
from test_comparison import EQUAL_WEIGHTS, SIZE, compared
from test_population import LIMIT, ROWS, WAYS
from vectors import SIZES, Binary, measured, table_of

from benchmarks.papers import dewri2009_tables as paper
from pymoo_anon.comparison import *
from pymoo_anon.comparison.uniques import special_uniques, uniqueness
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import *
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.study.tables import Roles, constraint
from pymoo_anon.table import *

NAN, INF = float("nan"), float("inf")
T3B = paper.TABLE.equivalence_classes(paper.GENERALIZATIONS["T3b"])
T4 = paper.GENERALIZATIONS["T4"]
OTHER = PropertyVector([1, 2], table_of([2, 1]), "class size", True)
LOSS = measured(TupleLoss(), "T3a")
FRAME = pd.DataFrame({"q": [0, 0, 1], "s": ["a", "b", "a"], "t": ["x", "y", "y"]})
TABLE = Microdata.from_frame(FRAME, {"q": Hierarchy.flat([0, 1])}, ["s", "t"])
VECTOR = PropertyVector([1, 2, 3], TABLE.tuples, "x", True, unit="s")
BY_TUPLE = PropertyVector([1, 2], TABLE.tuples, "x", True)
AGES = pd.DataFrame({"age": ["a", "b"], "w": [2.0, 3.0], "ill": ["flu", "flu"]})
PAIRS = one_class_each([[1, 1], [2]])
ONE_CLASS = PAIRS.equivalence_classes(LocalGeneralization(PAIRS.quasi_identifiers, [[0], [0]]))
RELEASED = {0: TABLE.equivalence_classes(LatticeProblem(TABLE, [KAnonymity()]).decode([0]))}
CENSUS = make_census(50)
CENSUS_PROBLEM = LatticeProblem(CENSUS, [KAnonymity()])
COUNTED = SensitiveCount("occupation").measure(CENSUS_PROBLEM.equivalence_classes([0] * 8))


def vector(values, table=None, **unit):
    return PropertyVector(values, table or table_of([1, 2, 3]), "x", True, **unit)


def batch(problem=CENSUS_PROBLEM, n=2):
    """Return the classes of several generalizations."""
    (classes,) = problem.table.grouper.classes(*problem.group_maps(np.ones((n, problem.n_var), dtype=np.int64)))
    return classes


def own(kind=Comparator, name="own", **attributes):
    return type("Own", (kind,), {"name": name, **attributes})()


def all_refuse(ask, *comparators):
    """Raise the error that all comparators raise, in one sentence."""
    (sentence,) = {refused(ValueError, lambda one=one: ask(one)) for one in comparators}
    raise ValueError(sentence)


def compare(d1, d2):
    all_refuse(lambda one: one.compare(d1, d2), *EVERY, Binary())


def index(d1, d2):
    all_refuse(lambda one: one.index(d1, d2), *EVERY)


def tournament(sets):
    all_refuse(lambda one: one.tournament(sets), *SETS)


@refusals(__file__)
def test_what_is_refused(section):
    check_refusals(section, globals())
