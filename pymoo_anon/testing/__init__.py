"""Contracts for your own objectives, operators, problems and algorithms.

Call one in a test. It returns where all is well, and otherwise raises AssertionError with one sentence: what must be,
what came instead, and where. Here a file of tests::

    from pymoo_anon.objectives import Objective
    from pymoo_anon.testing import check_objective

    class AverageSize(Objective):
        name = "average size"
        maximize = True

        def evaluate_one(self, classes):
            kept = classes.sizes[classes.kept]
            return kept.mean() if len(kept) else classes.n_rows  # all may be suppressed

    def test_average_size():
        check_objective(AverageSize())

Classes stand in a module, and not in a function: a search that is resumed pickles them.
"""

from pymoo_anon.testing.algorithms import check_algorithm
from pymoo_anon.testing.objectives import check_objective
from pymoo_anon.testing.problems import check_operator, check_problem
from pymoo_anon.testing.support import small_problems

__all__ = ["check_algorithm", "check_objective", "check_operator", "check_problem", "small_problems"]
