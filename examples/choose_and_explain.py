"""Which point of the front should I take?

Choose by bounds, a risk, the knee or weights, and read the reasons.
"""

from pymoo.optimize import minimize

from pymoo_anon.algorithms import BranchAndBound
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity, MarketerRisk, TCloseness
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.publishing import explain

k, t, loss = KAnonymity(), TCloseness("occupation"), GeneralLossMetric()
problem = LatticeProblem(make_census(), [k, t, loss], suppression=0.01)
front = problem.front(minimize(problem, BranchAndBound(), seed=1))

ways = {
    "the least loss with k >= 5 and t <= 0.4": {"require": [k >= 5, t <= 0.4], "best": loss},
    "nobody is found with a chance above 9 %": {"risk": 0.09},
    "a measure that was no objective": {"require": [MarketerRisk() <= 0.01]},
    "the knee: every step on costs much": {"knee": True},
    "k and loss matter, loss twice as much": {"weights": {k: 1, loss: 2}},
}
for words, asked in ways.items():
    print(f"{words}:\n  {front.choose(**asked)}")

choice = front.choose(require=[k >= 5, t <= 0.4])
print(f"\n{explain(problem, front, choice)}\n")

try:
    front.choose(require=[k >= 5_000, loss <= 100_000])
except ValueError as error:
    print(error)  # names the nearest point
