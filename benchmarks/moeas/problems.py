"""Problems of the comparison by part, and its algorithms with one setting each."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from pymoo.algorithms.moo.age2 import AGEMOEA2
from pymoo.algorithms.moo.ctaea import CTAEA
from pymoo.algorithms.moo.moead import MOEAD
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.algorithms.moo.nsga3 import NSGA3
from pymoo.algorithms.moo.rnsga2 import RNSGA2
from pymoo.algorithms.moo.sms import SMSEMOA
from pymoo.algorithms.moo.spea2 import SPEA2, SPEA2Survival
from pymoo.algorithms.soo.nonconvex.random_search import RandomSearch
from pymoo.core.algorithm import Algorithm
from pymoo.core.population import Population
from pymoo.optimize import minimize
from pymoo.util.ref_dirs import get_reference_directions

from benchmarks.moeas.runs import Budgets
from benchmarks.tables import SETS, cm, crossover_problem, glm, k, l, large_table, operators_of, s_k
from pymoo_anon.algorithms import PBGEA, BranchAndBound, ParetoLocalSearch
from pymoo_anon.datasets import fetch_adult, make_census
from pymoo_anon.objectives import BasicBetaLikeness, TCloseness
from pymoo_anon.problems import AnonymizationProblem, BitStringProblem, LatticeProblem
from pymoo_anon.table import Violating

t, beta = TCloseness("occupation"), BasicBetaLikeness("occupation")

#: Sizes of populations: that of Dewri et al. 2010, and one for four objectives and more.
POPULATION, LARGE_POPULATION = 25, 100


class Task(NamedTuple):
    """One problem of the comparison."""

    make: Callable[[], AnonymizationProblem]
    budgets: Budgets  # Where its runs are looked at
    main: tuple[str, str]  # The budgets that tables show
    proof: str  # How its front is proven: "visit" of all nodes, "branch and bound", or "" where it is not


STORED = Budgets((50, 75, 100, 150, 200, 300, 400, 600, 800, 1000), (50, 100, 250, 500, 1000, 1500, 2500), 5000)
LARGER = Budgets((100, 200, 400, 600, 800, 1200, 1600), (100, 250, 500, 1000, 1500, 2500), 5000)
# A million million times as many points as a lattice has: after 2,500 evaluations no population has begun to converge.
STRINGS = Budgets((250, 500, 1000, 2000, 4000, 8000), (250, 500, 1000, 2500, 5000, 10000), 12000)
QUICK = Budgets((100, 150, 200), (100, 250, 400), 400), ("distinct 200", "total 400")

#: Where the runs of a part are looked at, and the budgets that its tables show.
BUDGETS: Mapping[str, tuple[Budgets, tuple[str, str]]] = {
    "lattice": (STORED, ("distinct 800", "total 2500")),
    "large": (LARGER, ("distinct 1600", "total 2500")),
    "constrained": (STORED, ("distinct 800", "total 2500")),
    "strings": (STRINGS, ("distinct 8000", "total 10000")),
    "many": (LARGER, ("distinct 1600", "total 2500")),
}


def _adult(objectives: list[Any], **others: Any) -> LatticeProblem:
    label = "salary-class" if cm in objectives else None
    return LatticeProblem(fetch_adult(label=label), objectives, **{"suppression": 301, **others})


def _invented(objectives: list[Any], **others: Any) -> LatticeProblem:
    return LatticeProblem(make_census(500), objectives, **{"suppression": 5, **others})


Wanted = Mapping[str, tuple[Callable[[], AnonymizationProblem], str]]

#: By part and name how a problem is made, and how its front is proven.
WANTED: Mapping[str, Wanted] = {
    "lattice": {name: (partial(_adult, own[0]), "visit") for name, own in SETS.items()},
    "large": {"k, GLM, 12 attributes": (lambda: LatticeProblem(large_table(), [k, glm], 301), "branch and bound")},
    "constrained": {
        "S_k, GLM, k ≥ 10, l ≥ 3": (partial(_adult, [s_k, glm], constraints=[k >= 10, l >= 3]), "visit"),
        "k, GLM, CM, k ≥ 5, l ≥ 3, violating": (
            partial(_adult, [k, glm, cm], constraints=[k >= 5, l >= 3], suppression=Violating(301)),
            "visit",
        ),
    },
    "strings": {
        "k, GLM, free": (lambda: BitStringProblem(fetch_adult(), [k, glm], 301), ""),
        "k, l, GLM, free": (lambda: BitStringProblem(fetch_adult(), [k, l, glm], 301), ""),
        "k, GLM, taxonomies": (lambda: crossover_problem([k, glm], 0, None), "branch and bound"),
        "k, GLM, CM, taxonomies": (lambda: crossover_problem([k, glm, cm], 301, None, label="salary-class"), ""),
    },
    "many": {
        "k, l, t, GLM": (partial(_adult, [k, l, t, glm]), "visit"),
        "k, l, t, beta, GLM": (partial(_adult, [k, l, t, beta, glm]), "visit"),
    },
}
#: A small problem of every part, on invented rows.
QUICK_WANTED: Mapping[str, Wanted] = {
    "lattice": {"k, GLM": (partial(_invented, [k, glm]), "branch and bound")},
    "large": {"k, l, GLM": (partial(_invented, [k, l, glm]), "branch and bound")},
    "constrained": {"k, GLM, k ≥ 2": (partial(_invented, [k, glm], constraints=[k >= 2]), "branch and bound")},
    "strings": {"k, l, GLM, free": (lambda: BitStringProblem(make_census(500), [k, l, glm], 5), "")},
    "many": {"k, l, t, GLM": (partial(_invented, [k, l, t, glm]), "")},
}
TASKS, QUICK_TASKS = (
    {
        part: {name: Task(make, *budgets[part], proof) for name, (make, proof) in own.items()}
        for part, own in wanted.items()
    }
    for wanted, budgets in ((WANTED, BUDGETS), (QUICK_WANTED, dict.fromkeys(BUDGETS, QUICK)))
)


class UniformSearch(RandomSearch):  # type: ignore[misc]
    """Uniform random search, in batches of the population's size after the two ends."""

    def _initialize_infill(self) -> Population:
        return self.sampling.do(self.problem, self.n_points_per_iteration, random_state=self.random_state)

    def _infill(self) -> Population:
        if isinstance(self.problem, BitStringProblem):
            return Population.new(X=self.problem.sample(self.n_points_per_iteration, self.random_state))
        shape = (self.n_points_per_iteration, self.problem.n_var)
        return Population.new(X=self.random_state.integers(0, self.problem.lengths + 1, shape))


def population_of(problem: AnonymizationProblem) -> int:
    return POPULATION if problem.n_obj < 4 else LARGE_POPULATION


@cache
def directions(n_obj: int, n: int) -> np.ndarray:
    """(n, n_obj) array: as many reference directions as a population has members."""
    if n_obj == 2:
        return get_reference_directions("das-dennis", 2, n_partitions=n - 1)
    return get_reference_directions("energy", n_obj, n, seed=1)


def aspirations(problem: AnonymizationProblem) -> np.ndarray:
    """(5, n_obj) array of equidistant points between the ends, for R-NSGA-II."""
    ends = problem.compute(problem.checked(np.stack([problem.xl, problem.xu]).astype(problem.vtype)))
    return np.linspace(ends[0], ends[1], 5)


def _random_search(problem: AnonymizationProblem) -> Algorithm:
    return UniformSearch(population_of(problem), operators_of(problem)["sampling"])


def _of_pymoo(kind: Callable[..., Algorithm], **options: Any) -> Callable[[AnonymizationProblem], Algorithm]:
    """Return a factory from a population size and our operators."""

    def make(problem: AnonymizationProblem) -> Algorithm:
        own = {name: option() for name, option in options.items()}
        return kind(pop_size=population_of(problem), **operators_of(problem), **own)

    return make


def _by_directions(kind: Callable[..., Algorithm], **options: Any) -> Callable[[AnonymizationProblem], Algorithm]:
    """Return a factory from a number of reference directions."""

    def make(problem: AnonymizationProblem) -> Algorithm:
        return kind(directions(problem.n_obj, population_of(problem)), **operators_of(problem), **options)

    return make


#: How every algorithm is made for a problem. PBG-EA comes first: all others are compared with it.
ALGORITHMS: Mapping[str, Callable[[AnonymizationProblem], Algorithm]] = {
    "PBG-EA": _of_pymoo(PBGEA),
    "local search": lambda problem: ParetoLocalSearch(),
    "NSGA-II": _of_pymoo(NSGA2),
    "NSGA-III": _by_directions(NSGA3),
    # One object of survival serves all SPEA2 of a process by default, and keeps the ideal point of the run before.
    "SPEA2": _of_pymoo(SPEA2, survival=lambda: SPEA2Survival(normalize=True)),
    "SMS-EMOA": _of_pymoo(SMSEMOA),
    "AGE-MOEA2": _of_pymoo(AGEMOEA2),
    "MOEA/D": _by_directions(MOEAD, n_neighbors=5),
    # pymoo's waits for ever where duplicates were removed from its first population.
    "C-TAEA": _by_directions(CTAEA, eliminate_duplicates=False),
    "R-NSGA-II": lambda problem: RNSGA2(aspirations(problem), pop_size=population_of(problem), **operators_of(problem)),
    "random search": _random_search,
    "branch and bound": lambda problem: BranchAndBound(),
}


def refusal(algorithm: str, problem: AnonymizationProblem) -> str | None:
    """Why an algorithm is left out on a problem, or None."""
    if algorithm == "MOEA/D" and problem.n_ieq_constr:
        return "pymoo's refuses constraints"
    if isinstance(problem, BitStringProblem):
        # Our problems of two objectives are those of k and a loss.
        if algorithm == "branch and bound" and problem.n_obj > 2:
            return "on bit strings it proves k and a loss alone"
        if algorithm == "branch and bound" and problem.n_obj == 2:
            return "on bit strings, with k and a loss, it works on tables of groups, and evaluations do not measure it"
    return None


def task_of(part: str, name: str, quick: bool) -> Task:
    return (QUICK_TASKS if quick else TASKS)[part][name]


@cache
def problem_of(part: str, name: str, quick: bool) -> AnonymizationProblem:
    """Return the problem of a task, made once per process."""
    return task_of(part, name, quick).make()


def proven(task: Task, problem: AnonymizationProblem) -> np.ndarray | None:
    """(n, n_obj) float array of the proven front, or None."""
    if task.proof == "visit":
        return problem.pareto_front(max_nodes=problem.n_nodes)
    return by_branch_and_bound(problem) if task.proof == "branch and bound" else None


def by_branch_and_bound(problem: AnonymizationProblem) -> np.ndarray:
    """(n, n_obj) float array of the whole front, by exhaustive search in a fresh copy.

    Raises:
        RuntimeError: The proof did not end.
    """
    own = problem.fresh_copy()
    own.n_threads = 2
    res = minimize(own, BranchAndBound(), seed=1)
    if not res.algorithm.certified:
        raise RuntimeError(f"the front of {problem!r} must be proven, got {res.algorithm.n_undecided} nodes undecided")
    return res.F
