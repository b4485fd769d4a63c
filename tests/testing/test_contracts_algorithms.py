"""The contract of algorithms, kept by the package's and broken on purpose."""

import copy

import numpy as np
import pytest
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.core.evaluator import Evaluator
from pymoo.core.population import Population
from pymoo.problems import get_problem
from pymoo.util.archive import MultiObjectiveArchive
from tasks import nsga2

from pymoo_anon import algorithms
from pymoo_anon.algorithms import *
from pymoo_anon.objectives import KAnonymity
from pymoo_anon.problems import BitStringProblem, LatticeProblem, LocalRecodingProblem, PreferredPoint
from pymoo_anon.testing import check_algorithm, small_problems

ALL = tuple(small_problems())
SINGLE = ("one objective", "one objective, constraints")
PAIRED = ("two objectives", *SINGLE, "nothing feasible", "one variable")
TABLE = small_problems()["two objectives"].table

#: Every algorithm of the package: how it is made, and the problems of a space that it is for. It refuses all others.
MADE = [
    (PBGEA(pop_size=7), LatticeProblem, ALL),
    (PBGEA(pop_size=1), LatticeProblem, ("two objectives", "nothing feasible", "one variable")),
    (PBGEA(pop_size=6, eliminate_duplicates=True), LatticeProblem, ("two objectives", "one variable")),
    (ParetoLocalSearch(n_offsprings=3), LatticeProblem, ALL),
    (ParetoLocalSearch(n_offsprings=1, epsilon=2), LatticeProblem, ("two objectives", "constraints")),
    (ParetoLocalSearch(n_offsprings=3), BitStringProblem, ALL),
    (ExhaustiveSearch(batch_size=13), LatticeProblem, ALL),
    (BranchAndBound(), LatticeProblem, ALL),
    (BranchAndBound(epsilon=["10%", 2.0]), LatticeProblem, ("two objectives", "constraints")),
    (BranchAndBound(), BitStringProblem, tuple(name for name in ALL if name != "four objectives")),
    (BitStringLocalSearch(n_starts=3), BitStringProblem, PAIRED),
    (BitStringLocalSearch(n_starts=1), BitStringProblem, ("two objectives",)),
    (Datafly(), LatticeProblem, ALL),
    (SamaratiSearch(), LatticeProblem, ALL),
    (TargetSweep(n_targets=9), LocalRecodingProblem, ALL),
    (PBGEA(pop_size=5), LocalRecodingProblem, ("two objectives", "constraints")),
    (nsga2(6), LocalRecodingProblem, ("two objectives", "constraints")),
    (GENITOR(pop_size=5), BitStringProblem, SINGLE),
    (GENITOR(pop_size=2, eliminate_duplicates=False), BitStringProblem, SINGLE),
]


def named(value):
    return "" if isinstance(value, tuple | str) else getattr(value, "__name__", type(value).__name__)


def test_all_algorithms_are_here():
    """Require every new algorithm to join the list above."""
    ours = {type(made).__name__ for made, _, _ in MADE if type(made) is not NSGA2}
    assert ours | {"PreferenceNSGA2"} == set(algorithms.__all__)


@pytest.mark.parametrize(("algorithm", "space", "names"), MADE, ids=named)
def test_algorithms_keep_the_contract(algorithm, space, names):
    for name, problem in small_problems(space).items():
        if name in names:
            check_algorithm(algorithm, problem, n_gen=2)


@pytest.mark.parametrize("pop_size", [1, 7, 8])
def test_preferences_keep_the_contract(pop_size):
    problem = BitStringProblem(TABLE, [PreferredPoint((0.2, 1.0)), PreferredPoint((0.5, 0.1)), KAnonymity()])
    check_algorithm(PreferenceNSGA2(k=3, pop_size=pop_size), problem)


def test_algorithms_of_others_keep_the_contract():
    check_algorithm(NSGA2(pop_size=9), get_problem("zdt1", n_var=4))
    check_algorithm(NSGA2(pop_size=9), get_problem("bnh"))


class Own(PBGEA):
    """A sound algorithm, from which each broken one differs in one line."""

    def __init__(self, **kwargs):
        super().__init__(pop_size=7, **kwargs)


def finding(name, found):
    """Make an algorithm that tells something else than it found."""

    def _set_optimum(self):
        Own._set_optimum(self)
        self.opt = found(self)

    return type(name, (Own,), {"_set_optimum": _set_optimum})


def going_on(name, termination, more):
    """Make an algorithm that goes on after a termination for more generations."""

    def has_next(self):
        told = type(self.termination).__name__.startswith(termination)
        return Own.has_next(self) or (told and more(self.n_gen))

    return type(name, (Own,), {"has_next": has_next})


Dominated = finding("Dominated", lambda own: own.pop)
WrongF = finding("WrongF", lambda own: Population.new(X=own.opt.get("X"), F=own.opt.get("F") + 1, G=own.opt.get("G")))
Finds = finding("Finds", lambda own: Population.empty())
LastInfeasible = finding("LastInfeasible", lambda own: own.pop[np.argsort(-own.pop.get("CV")[:, 0])[:1]])
#: The most special node, of which the first population has one.
Infeasible = finding(
    "Infeasible", lambda own: Population.merge(own.opt[:1], own.data.setdefault("special", own.pop[1:2]))
)
Endless = going_on("Endless", "Default", lambda n_gen: n_gen < 9)
OneMore = going_on("OneMore", "MaximumGeneration", lambda n_gen: n_gen == 2)
ManyMore = going_on("ManyMore", "MaximumFunctionCall", lambda n_gen: n_gen < 9)


class OfNumpy(Own):
    def _infill(self):
        self.random_state = np.random.default_rng(np.random.randint(1 << 30))  # noqa: NPY002
        return super()._infill()


class NotByAsking(Own):
    def next(self):
        infills = self.infill()
        self.evaluator.eval(self.problem, infills, algorithm=self)
        self.advance(infills=infills[::-1][:3])


class Unasked(Own):
    def ask(self):
        raise ValueError("not me")


class SharedState(Own):
    """An algorithm with copies that share one random state."""

    def __deepcopy__(self, memo):
        made = type(self)()
        made.__dict__.update({**self.__dict__, "display": None if self.display is None else self.display})
        return made


class CopiedByHand(Own):
    """An algorithm with deep copies that lack a state."""

    def __deepcopy__(self, memo):
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return made


class Unpickled(CopiedByHand):
    def __getstate__(self):
        raise TypeError("not me")


class LosesOnPickle(CopiedByHand):
    def __getstate__(self):
        return {**self.__dict__, "random_state": np.random.default_rng(7)}


class Original(Own):
    def __deepcopy__(self, memo):
        return self


class Behind(Own):
    """An algorithm that bypasses its evaluator."""

    def _infill(self):
        self.problem.evaluate(self.problem.nodes(0, 48))
        return super()._infill()


class ByItself(Own):
    def next(self):
        infills = self.infill()
        F, G = self.problem.evaluate(infills.get("X"), return_values_of=["F", "G"])
        infills.set("F", F)
        infills.set("G", G)
        self.advance(infills=infills)


class CountsTwice(Own):
    def _advance(self, infills=None, **kwargs):
        if type(self.evaluator) is Evaluator:
            self.evaluator.n_eval += len(infills)
        super()._advance(infills, **kwargs)


class MovesParents(Own):
    def _advance(self, infills=None, **kwargs):
        if self.is_initialized:
            infills[0].X[0] = 0
        super()._advance(infills, **kwargs)


class Floats(Own):
    def _infill(self):
        pop = super()._infill()
        pop.set("X", pop.get("X").astype(float))
        return pop


class FloatsOnTheWay(Floats):
    def _set_optimum(self):
        super()._set_optimum()
        self.opt = Population.new(X=self.opt.get("X").astype(int), F=self.opt.get("F"), G=self.opt.get("G"))


class Fickle(Own):
    """An algorithm that finds points in its first run alone."""

    n_runs = 0

    def setup(self, problem, **kwargs):
        Fickle.n_runs += 1
        return super().setup(problem, **kwargs)

    def _set_optimum(self):
        super()._set_optimum()
        if self.n_runs > 1:
            self.opt = Population.empty()


class Silent(Own):
    def setup(self, problem, **kwargs):
        return super().setup(problem, **{**kwargs, "verbose": False})


class NoProgress(Own):
    def setup(self, problem, **kwargs):
        if kwargs.get("progress"):
            raise ValueError("not me")
        return super().setup(problem, **kwargs)


class Uncalled(Own):
    def _post_advance(self):
        callback, self.callback = self.callback, lambda algorithm: None
        super()._post_advance()
        self.callback = callback


class EmptyHistory(Own):
    def _post_advance(self):
        super()._post_advance()
        self.history = self.history[-2:]


class OldHistory(Own):
    def _post_advance(self):
        super()._post_advance()
        if self.history:
            self.history[-1].opt = self.history[0].opt


class Empty(MultiObjectiveArchive):
    """An archive that takes nothing."""

    members = ()

    def add(self, pop):
        return self


class NoArchive(Own):
    def setup(self, problem, **kwargs):
        given = kwargs.pop("archive", None)
        super().setup(problem, **kwargs)
        self.archive = None if given is None else Empty()
        return self


@pytest.mark.parametrize(
    ("algorithm", "space", "names"), [one for one in MADE if len(one[2]) > 1 and type(one[0]) is not NSGA2], ids=named
)
def test_an_object_serves_one_problem_after_another(algorithm, space, names):
    first, second = (small_problems(space)[name] for name in (names[-1], names[0]))
    one, other = copy.deepcopy(algorithm), copy.deepcopy(algorithm)
    one.setup(first, termination=("n_gen", 3), seed=1)
    found = []
    for own in (one, other):
        own.setup(second, termination=("n_gen", 3), seed=1)
        res = own.run()
        found.append((np.array(res.X).tolist(), np.array(res.F).tolist()))
    assert found[0] == found[1]
