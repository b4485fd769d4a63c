"""Must a value be as coarse for everybody?

Compare local recoding with levels of whole columns, in loss and in risk.
"""

from pymoo.optimize import minimize

from pymoo_anon.algorithms import BranchAndBound, TargetSweep
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity, MarketerRisk
from pymoo_anon.problems import LatticeProblem, LocalRecodingProblem, refine

table = make_census(2000)
goals, asked = [KAnonymity(), GeneralLossMetric()], [KAnonymity() >= 5]
lattice = LatticeProblem(table, goals, 0.01)
local = LocalRecodingProblem(table, [*goals, MarketerRisk()])
levels = lattice.front(minimize(lattice, BranchAndBound(), seed=1))
cells = local.front(minimize(local, TargetSweep(), seed=1))

# At equal k every class of a local recoding has levels of its own, and so far less is lost. There are more classes,
# though, so that a person is found more easily on average.
coarse = levels.choose(require=asked)
risk = float(levels.values(MarketerRisk())[levels.place_of(coarse)])
fine = cells.choose(require=asked, best=GeneralLossMetric())
print(f"levels of whole columns: {coarse}; mean risk {risk:.3f}")
print(f"levels of each class:    {fine}")

# At equal mean risk less is lost still, by a larger k or by a price of classes.
fair = cells.choose(require=[*asked, MarketerRisk() <= risk], best=GeneralLossMetric())
print(f"at equal mean risk:      {fair}")

# The cells of one class.
recoded = local.decode(fine.x)
print(recoded)
print(recoded.labels_of(table.tuples.codes, recoded.representatives[:1]))

# A point that is chosen already can be refined: no cell is coarser than there, and k stays.
classes = table.equivalence_classes(refine(lattice, coarse.x))
print(f"refined: k = {classes.sizes.min()}, GLM = {GeneralLossMetric().evaluate(classes)[0]:,.1f}")

# Sensitive values: classes are made by their sizes, and those that have too few values are merged.
diverse = LocalRecodingProblem(table, goals, [*asked, DistinctLDiversity("occupation") >= 3])
print(diverse.front(minimize(diverse, TargetSweep(), seed=1)).choose())
