"""Findings of contracts in parts that are broken on purpose, and their refusals."""

import broken_objectives as objectives
import pandas as pd
import test_contracts_algorithms as algorithms
import test_contracts_operators as operators
import test_contracts_problems as problems
from pymoo.core.duplicate import NoDuplicateElimination
from pymoo.operators.mutation.pm import PM
from pymoo.operators.sampling.rnd import FloatRandomSampling, IntegerRandomSampling
from pymoo.problems import get_problem
from refusals import check_refusals, refusals

from pymoo_anon.algorithms import *
from pymoo_anon.objectives import *
from pymoo_anon.operators import *
from pymoo_anon.problems import BitStringProblem, LatticeProblem
from pymoo_anon.testing import *

PROBLEM, ZDT1 = small_problems()["two objectives"], get_problem("zdt1")


def algorithm(made, name="two objectives", of=LatticeProblem):
    check_algorithm(made, small_problems(of)[name])


def operator(made, of=LatticeProblem):
    check_operator(made, small_problems(of)["two objectives"])


def space(kind):
    own = small_problems()["constraints"]
    check_problem(kind(own.table, own.objectives, own.suppression, own.constraints))


@refusals(__file__)
def test_what_is_found_and_refused(section):
    check_refusals(section, globals())
