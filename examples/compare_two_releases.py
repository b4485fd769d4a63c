"""Which of two releases is better for the people in the table?

Compare a property of every person, not only the smallest.
"""

from pymoo.optimize import minimize

from pymoo_anon import comparison
from pymoo_anon.algorithms import BranchAndBound
from pymoo_anon.comparison import ClassSize, Coverage, Dominance, Minimum, Spread, TupleUtility, Weighted
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem


class Typical(comparison.Comparator):
    """A comparator of one's own: the value that half of the people reach."""

    name = "median"

    def index(self, d1, d2):
        return d1.quantiles(0.5)[0]


table = make_census()
problem = LatticeProblem(table, objectives=[KAnonymity(), GeneralLossMetric()], suppression=0.01)
res = minimize(problem, BranchAndBound(), seed=1)
front = problem.to_frame(res)
chosen = front[front.k >= 50].sort_values("GLM").head(2)
releases = {f"k = {front.k[row]}": problem.decode(res.X[row]) for row in chosen.index}
print(chosen.to_string())

comparators = [Dominance(), Minimum(), Typical(), Coverage(), Spread(), Weighted([0.5, 0.5], Coverage())]
found = comparison.compare(table, releases, [ClassSize(), TupleUtility()], comparators, suppression=0.01)
print(f"\n{found.pairs.to_string(index=False)}\n\n{found}")

sizes = dict(zip(releases, found.vectors["class size"], strict=True))
print(f"\nClass sizes of the people:\n{comparison.distribution(sizes).round(2).to_string()}")
gains = comparison.gains(table, *sizes.values(), "marital-status", level=1)
print(f"\nWho is better off with the first:\n{gains.to_string()}")
worst = comparison.worst_off(table, next(iter(releases.values())), ClassSize(), suppression=0.01)
print(f"\nWho is worst off with it:\n{worst.to_string()}")
