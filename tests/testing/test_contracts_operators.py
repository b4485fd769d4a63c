"""The contract of operators, kept by the package's and broken on purpose."""

import numpy as np
import pytest
from errors import refused
from pymoo.algorithms.moo.nsga2 import binary_tournament
from pymoo.core.mutation import Mutation
from pymoo.core.population import Population
from pymoo.core.repair import Repair
from pymoo.core.sampling import Sampling
from pymoo.core.selection import Selection
from pymoo.operators.crossover.sbx import SBX
from pymoo.operators.mutation.pm import PM
from pymoo.operators.repair.rounding import RoundingRepair
from pymoo.operators.sampling.rnd import IntegerRandomSampling
from pymoo.operators.selection.tournament import TournamentSelection
from pymoo.problems import get_problem

from pymoo_anon import operators
from pymoo_anon.operators import *
from pymoo_anon.problems import BitStringProblem, LatticeProblem
from pymoo_anon.testing import check_operator, small_problems

#: Every operator of the package, with the space that it is for, and the repair that its children need.
MADE = [
    (ClosestValidRepair(), BitStringProblem, None),
    (CornerSampling(), LatticeProblem, None),
    (DominanceCountTournament(), LatticeProblem, None),
    (DominanceCountTournament(), BitStringProblem, None),
    (LatticeSampling(), LatticeProblem, None),
    (LevelCrossover(), LatticeProblem, None),
    (LevelNeighborhood(reach=3), LatticeProblem, None),
    (PartitionCrossover(), BitStringProblem, None),
    (PartitionCrossover(n_points=2, boundaries=True, prob=0.5), BitStringProblem, None),
    (PerAttributeBitMutation(), BitStringProblem, ClosestValidRepair()),
    (RandomImmigrantMutation(prob=0.5), BitStringProblem, None),
    (ReducedSurrogateCrossover(), BitStringProblem, ClosestValidRepair()),
    (ReducedSurrogateCrossover(), LatticeProblem, None),
    (SingleStepMutation(), LatticeProblem, None),
    (SingleStepMutation(prob_var=0.9), LatticeProblem, None),
    (BitStringNeighborhood(), BitStringProblem, None),
    (BitStringSampling(), BitStringProblem, None),
    # Typical of users' own operators.
    (IntegerRandomSampling(), LatticeProblem, None),
    (SBX(vtype=float, repair=RoundingRepair()), LatticeProblem, None),
    (PM(vtype=float, repair=RoundingRepair()), LatticeProblem, None),
    (TournamentSelection(func_comp=binary_tournament), LatticeProblem, None),
]


def named(value):
    return value if isinstance(value, str) else getattr(value, "__name__", type(value).__name__)


def test_all_operators_are_here():
    """Require every new operator to join the list above."""
    public = {getattr(operators, name) for name in operators.__all__}
    ours = {type(made) for made, _, _ in MADE if type(made).__module__.startswith("pymoo_anon")}
    assert ours == public - {Neighborhood}


@pytest.mark.parametrize(("operator", "space", "repair"), MADE, ids=named)
def test_operators_keep_the_contract(operator, space, repair):
    for problem in small_problems(space).values():
        check_operator(operator, problem, repair=repair)


#: Refusals of a problem of the other space.
REFUSALS = {
    LatticeProblem: "problem must have whole numbers as variables, as the levels of a LatticeProblem, got "
    "BitStringProblem; for a BitStringProblem there are BitStringSampling, PartitionCrossover and "
    "RandomImmigrantMutation",
    BitStringProblem: "problem must be a BitStringProblem, got LatticeProblem; for a LatticeProblem there are "
    "LatticeSampling, LevelCrossover and SingleStepMutation",
}
OF_ONE_SPACE = [
    (own, space)
    for own, space, _ in MADE
    if type(own).__module__.startswith("pymoo_anon")
    and not isinstance(own, DominanceCountTournament | ReducedSurrogateCrossover)
]


@pytest.mark.parametrize(("operator", "space"), OF_ONE_SPACE, ids=named)
def test_operators_refuse_the_variables_of_another_space(operator, space):
    (other,) = {LatticeProblem, BitStringProblem} - {space}
    said = refused(AssertionError, lambda: check_operator(operator, small_problems(other)["two objectives"]))
    assert said.endswith(f" individuals, got TypeError: {REFUSALS[space]}")
    if space is LatticeProblem:
        assert "got ZDT1;" in refused(AssertionError, lambda: check_operator(operator, get_problem("zdt1")))


def changed(name, kind, change):
    """Make an operator that changes what a sound one makes."""
    return type(name, (kind,), {"_do": lambda self, *args, **kwargs: change(kind._do(self, *args, **kwargs))})


def doing(name, kind, make):
    """Make an operator of a kind from a function of the problem and what is given."""
    return type(name, (kind,), {"_do": lambda self, problem, given, *args, **kwargs: make(problem, given)})


TooFew = changed("TooFew", LatticeSampling, lambda X: X[1:])
Outside = changed("Outside", LatticeSampling, lambda X: X + 1)
Texts = changed("Texts", LatticeSampling, lambda X: X.astype(str))
Halving = changed("Halving", LevelCrossover, lambda X: X[:1])
Flat = doing("Flat", Sampling, lambda problem, n: [np.zeros(problem.n_var + 1, dtype=int) for _ in range(n)])
Losing = doing("Losing", Mutation, lambda problem, X: X[:, :1])
NeverDone = doing("NeverDone", Repair, lambda problem, X: np.where(problem.xl < X, X - 1, X).astype(int))
DoesNothing = doing("DoesNothing", Repair, lambda problem, X: X)
FarAway = doing("FarAway", LevelNeighborhood, lambda problem, x: x[np.newaxis] + 6)
OneNeighbor = doing("OneNeighbor", LevelNeighborhood, lambda problem, x: x.copy())


class OfNumpy(LatticeSampling):
    def _do(self, problem, n_samples, *args, **kwargs):
        return super()._do(problem, n_samples, random_state=np.random.default_rng(np.random.randint(1 << 30)))  # noqa: NPY002


class Counting(LatticeSampling):
    calls = 0

    def _do(self, problem, n_samples, *args, random_state, **kwargs):
        self.calls += 1
        return super()._do(problem, n_samples, random_state=np.random.default_rng(self.calls))


class Widening(LatticeSampling):
    def _do(self, problem, n_samples, *args, **kwargs):
        problem.xu[:] = problem.xl
        return super()._do(problem, n_samples, *args, **kwargs)


class Uncopied(LatticeSampling):
    def __deepcopy__(self, memo):
        raise TypeError("not me")


class Unpickled(LatticeSampling):
    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        raise TypeError("not me")


class Swapping(LevelCrossover):
    """An operator that changes the individuals, since pymoo copies the parents."""

    def do(self, problem, pop, parents=None, *args, **kwargs):
        made = super().do(problem, pop, parents, *args, **kwargs)
        for one in pop:
            one.X[:] = 0
        return made


class InPlace(SingleStepMutation):
    def _do(self, problem, X, *args, **kwargs):
        X[:] = super()._do(problem, X, *args, **kwargs)
        return X


class RepairsAgain(Repair):
    """A repair that changes points every time, even valid ones."""

    def _do(self, problem, X, random_state=None, **kwargs):
        return random_state.integers(problem.xl.astype(int), problem.xu.astype(int) + 1, size=X.shape)


class RepairsInPlace(Repair):
    def _do(self, problem, X, **kwargs):
        X[:] = problem.xl
        return X


class OnePair(Selection):
    def _do(self, problem, pop, n_select, n_parents, **kwargs):
        return np.zeros((1, n_parents), dtype=int)


class Stranger(Selection):
    def _do(self, problem, pop, n_select, n_parents, **kwargs):
        others = Population.new(X=pop.get("X"), number=np.arange(len(pop)))
        return others[np.zeros((n_select, n_parents), dtype=int)]


class ChangesChosen(Selection):
    def _do(self, problem, pop, n_select, n_parents, **kwargs):
        pop.set("X", pop.get("X") * 0)
        return np.zeros((n_select, n_parents), dtype=int)


class MovesAlong(LevelNeighborhood):
    def _do(self, problem, x, distance, *args, **kwargs):
        found = super()._do(problem, x, distance, *args, **kwargs)
        x[0] = 0
        return found


class Vanishing(LevelNeighborhood):
    """A neighborhood that is empty from its second use on."""

    most = None

    def _do(self, *args, **kwargs):
        most, self.most = self.most, 0
        return super()._do(*args, **kwargs)[:most]
