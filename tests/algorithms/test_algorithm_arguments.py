"""Arguments of algorithms: pymoo's are accepted, misspelt ones are refused."""

from inspect import isclass

import numpy as np
import pytest
from pymoo.core.evaluator import Evaluator
from pymoo.core.population import Population
from pymoo.optimize import minimize

from pymoo_anon.algorithms import *
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.problems import BitStringProblem, LatticeProblem

# Arguments of pymoo's genetic algorithms that Algorithm 2 or GENITOR does not take, and of other algorithms.
UNKNOWN = {
    PBGEA: ["survival", "n_offsprings", "mating", "popsize"],
    GENITOR: ["survival", "n_offsprings", "mating", "popsize"],
    PreferenceNSGA2: ["popsize", "epsilon", "advance_after_initial_infill"],
    ParetoLocalSearch: ["pop_size", "repair"],
    BitStringLocalSearch: ["pop_size", "n_start"],
    BranchAndBound: ["eps", "batch_size"],
    ExhaustiveSearch: ["pop_size", "batchsize"],
    Datafly: ["pop_size"],
    SamaratiSearch: ["pop_size"],
    TargetSweep: ["n_points"],
}

# Counts, which are whole numbers.
COUNTS = {
    PBGEA: "pop_size",
    ParetoLocalSearch: "n_offsprings",
    ExhaustiveSearch: "batch_size",
    PreferenceNSGA2: "k",
    BitStringLocalSearch: "n_starts",
    TargetSweep: "n_targets",
}


def made_of(algorithm, **arguments):
    return algorithm(**({"k": 5} if algorithm is PreferenceNSGA2 else {}), **arguments)


@pytest.mark.parametrize(("algorithm", "name"), [(own, name) for own, names in UNKNOWN.items() for name in names])
def test_unknown_arguments_are_refused(algorithm, name):
    with pytest.raises(TypeError) as caught:
        made_of(algorithm, **{name: 10})
    assert str(caught.value) == f"{algorithm.__name__} takes no argument '{name}'"


@pytest.mark.parametrize("bad", [0, -1, 2.5, "25", None, True])
@pytest.mark.parametrize("algorithm", COUNTS)
def test_counts_are_positive_whole_numbers(algorithm, bad):
    with pytest.raises(ValueError) as caught:
        algorithm(**{COUNTS[algorithm]: bad})
    assert str(caught.value) == f"{COUNTS[algorithm]} must be a positive whole number, got {bad!r}"


@pytest.mark.parametrize("algorithm", UNKNOWN)
def test_objects_share_nothing_that_changes(algorithm):
    """Create defaults per object, and none in a signature."""
    one, two = made_of(algorithm), made_of(algorithm)
    kept = {name: value for name, value in vars(one).items() if hasattr(value, "__dict__") and not isclass(value)}
    assert len(kept) > 2
    for name, value in kept.items():
        # pymoo's NSGA-II has one survival for all.
        assert value is not getattr(two, name) or name == "survival", name
    for name in ("selection", "crossover", "mutation"):
        if hasattr(one, "mating"):
            assert getattr(one.mating, name) is not getattr(two.mating, name)


@pytest.mark.parametrize("algorithm", [ExhaustiveSearch, BranchAndBound])
def test_what_evaluates_itself_refuses_to_be_asked(algorithm):
    made = algorithm()
    made.setup(LatticeProblem(make_census(50), [GeneralLossMetric(), KAnonymity()]))
    with pytest.raises(NotImplementedError) as caught:
        made.ask()
    assert str(caught.value) == (
        f"{algorithm.__name__} evaluates nodes itself; call next() or run() instead of ask and tell"
    )
    assert len(made.run().F) > 1


@pytest.mark.parametrize("algorithm", UNKNOWN)
def test_what_every_algorithm_of_pymoo_takes_is_taken(algorithm):
    given = {"termination": ("n_gen", 3), "seed": 7, "verbose": True, "save_history": True, "callback": print}
    made = made_of(algorithm, **given, return_least_infeasible=True)
    assert (made.seed, made.verbose, made.save_history, made.return_least_infeasible) == (7, True, True, True)
    assert made.callback is print


def test_a_genetic_algorithm_takes_what_is_left_to_the_caller():
    assert PBGEA(eliminate_duplicates=True).eliminate_duplicates
    assert PreferenceNSGA2(k=2, pop_size=10, n_offsprings=4).n_offsprings == 4


@pytest.mark.parametrize(
    ("algorithm", "kind"),
    [
        (PBGEA, LatticeProblem),
        (ParetoLocalSearch, LatticeProblem),
        (GENITOR, BitStringProblem),
        (BitStringLocalSearch, BitStringProblem),
    ],
)
def test_first_points_are_some_and_of_this_problem(algorithm, kind):
    problem = kind(make_census(50), [GeneralLossMetric()], constraints=[KAnonymity() >= 2])
    none = np.empty((0, problem.n_var), dtype=problem.vtype)
    with pytest.raises(ValueError, match=r"^sampling must give at least one individual, got none$"):
        minimize(problem, algorithm(sampling=none))
    other = kind(problem.table, [GeneralLossMetric(), KAnonymity()])
    pop = Population.new(X=np.zeros((3, problem.n_var), dtype=problem.vtype))
    with pytest.raises(ValueError) as caught:
        minimize(problem, algorithm(sampling=Evaluator().eval(other, pop)))
    assert str(caught.value) == (
        "sampling must hold individuals of this problem, with (1, 1, 0) values in F, G and H, got (2, 0, 0)"
    )
