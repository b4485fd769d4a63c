"""Refusals of objectives and constraints, with their sentences."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
from pymoo.optimize import minimize
from refusals import check_refusals, refusals
from strategies import one_class_each, raw
from tasks import invented
from test_known import BOTH, EVERYWHERE, FRAME, PLACES, PRESENT, WARD, ward

from pymoo_anon.algorithms import PBGEA
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import *
from pymoo_anon.problems import BitStringProblem, LatticeProblem, LocalRecodingProblem
from pymoo_anon.publishing import verify
from pymoo_anon.study.tables import Roles, objective
from pymoo_anon.table import *

NAN, INF = float("nan"), float("inf")
K, GLM = KAnonymity(), GeneralLossMetric()
TWO, CENSUS, INVENTED = one_class_each(["ab", "bc"]), make_census(60), invented(1)
MIXED = one_class_each([[1, 2], [datetime.date(2026, 1, 1)]])
FORTY = [f"q{i}" for i in range(40)]
WIDE = Microdata.from_frame(
    pd.DataFrame({name: [0, 1] for name in FORTY}), dict.fromkeys(FORTY, Hierarchy.flat([0, 1]))
)
MIXED_LABELS = pd.DataFrame({"zip": ["47905", "4790*"], "age": ["2*", "2*"]})


def population(name="q", domain=(0, 1)):
    return KMap(Microdata.from_frame(pd.DataFrame({name: [0, 1]}), {name: Hierarchy.flat(domain)}))


def own(kind=GeneralLossMetric, **attributes):
    return type("Own", (kind,), attributes)


#: It forgets a case.
UNDEFINED = own(Objective, name="undefined", maximize=False, evaluate_one=lambda self, classes: NAN)()


def known(sets):
    return LatticeProblem(INVENTED, [KAnonymity(known=sets), GLM])


def violating(*constraints):
    return LatticeProblem(CENSUS, [GLM], Violating(0.01), constraints)


@refusals(__file__)
def test_what_is_refused(section):
    check_refusals(section, globals())
    assert Objective.registered["k"] is KAnonymity
