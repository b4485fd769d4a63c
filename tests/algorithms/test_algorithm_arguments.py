"""Arguments of algorithms: pymoo's are accepted, misspelt ones are refused."""

from inspect import isclass

import pytest

from pymoo_anon.algorithms import *

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


def made_of(algorithm, **arguments):
    return algorithm(**({"k": 5} if algorithm is PreferenceNSGA2 else {}), **arguments)


@pytest.mark.parametrize(("algorithm", "name"), [(own, name) for own, names in UNKNOWN.items() for name in names])
def test_unknown_arguments_are_refused(algorithm, name):
    with pytest.raises(TypeError) as caught:
        made_of(algorithm, **{name: 10})
    assert str(caught.value) == f"{algorithm.__name__} takes no argument '{name}'"


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


@pytest.mark.parametrize("algorithm", UNKNOWN)
def test_what_every_algorithm_of_pymoo_takes_is_taken(algorithm):
    given = {"termination": ("n_gen", 3), "seed": 7, "verbose": True, "save_history": True, "callback": print}
    made = made_of(algorithm, **given, return_least_infeasible=True)
    assert (made.seed, made.verbose, made.save_history, made.return_least_infeasible) == (7, True, True, True)
    assert made.callback is print


def test_a_genetic_algorithm_takes_what_is_left_to_the_caller():
    assert PBGEA(eliminate_duplicates=True).eliminate_duplicates
    assert PreferenceNSGA2(k=2, pop_size=10, n_offsprings=4).n_offsprings == 4
