"""Which of two releases is better for the people in the table? Compare what each person has, not only the smallest."""

from pymoo.optimize import minimize

from pymoo_anon.algorithms import BranchAndBound
from pymoo_anon.comparison import (
    ClassSize,
    Comparator,
    Coverage,
    Hypervolume,
    Minimum,
    Spread,
    StrongDominance,
    TupleUtility,
    Weighted,
    compare,
    distribution,
    gains,
    worst_off,
)
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem


class Typical(Comparator):
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

found = compare(
    table,
    releases,
    properties=[ClassSize(), TupleUtility()],
    comparators=[StrongDominance(), Minimum(), Typical(), Coverage(), Spread(), Weighted([0.5, 0.5], Coverage())],
    suppression=0.01,
)
print(f"\n{found.pairs.to_string(index=False)}\n\n{found}")

first, second = sizes = found.vectors["class size"]
print(f"\nClass sizes of the people:\n{distribution(dict(zip(releases, sizes, strict=True))).round(2).to_string()}")
print(f"\nWho is better off with the first:\n{gains(table, first, second, 'marital-status', level=1)}")
worst = worst_off(table, next(iter(releases.values())), ClassSize(), suppression=0.01)
print(f"\nWho is worst off with it:\n{worst.to_string()}")
print(f"\nBy volume the first is {Hypervolume().compare(first, second)}.")
