"""Refusals of pictures, with their sentences."""

import numpy as np
from pymoo.core.result import Result
from refusals import check_refusals, refusals
from test_visualization import GLM, K, history_of, lattice_of, problem_of
from vectors import SIZES, table_of

from pymoo_anon.algorithms import PBGEA
from pymoo_anon.comparison import PropertyVector
from pymoo_anon.objectives import SquaredClassSizes
from pymoo_anon.visualization import *
from pymoo_anon.visualization.curves import convergence_picture
from pymoo_anon.visualization.fronts import front_picture, lattice_picture

NODES, PROBLEM = lattice_of(2, 1), problem_of(K, GLM)
OTHER = PropertyVector([1], table_of([1]), "class size", True)
MANY = PropertyVector([1], table_of([201]), "x", True)
HISTORIES = {"one": history_of(PROBLEM, PBGEA(4), 1)}


@refusals(__file__)
def test_what_is_refused(section):
    check_refusals(section, globals())
