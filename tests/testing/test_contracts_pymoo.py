"""Every multi-objective algorithm of pymoo searches both spaces or is refused.

Those that break the contract do so by a defect of pymoo, listed here with its error message.
"""

import importlib
import inspect
import pkgutil
import re
from itertools import product
from pathlib import Path

import numpy as np
import pymoo.algorithms.moo
import pytest
from pymoo.algorithms.moo.pinsga2 import AutomatedDM
from pymoo.core.algorithm import Algorithm
from pymoo.operators.repair.rounding import RoundingRepair
from pymoo.operators.sampling.rnd import IntegerRandomSampling
from pymoo.util.ref_dirs import get_reference_directions
from tasks import LEVELS

from pymoo_anon.operators import *
from pymoo_anon.problems import BitStringProblem, LatticeProblem
from pymoo_anon.testing import check_algorithm, small_problems
from pymoo_anon.testing.algorithms import COPIES

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*encountered in"),
    # Those of PINSGA2, which fits a function to very few choices.
    pytest.mark.filterwarnings("ignore:delta_grad == 0.0"),
    pytest.mark.filterwarnings("ignore:.where. used without .out."),
]


class Taker(AutomatedDM):
    """A decision maker that takes the first point."""

    def makeDecision(self, F):
        return "a"


STRINGS = {"sampling": BitStringSampling(), "crossover": PartitionCrossover(), "mutation": RandomImmigrantMutation(0.5)}
OPERATORS = {LatticeProblem: LEVELS, BitStringProblem: STRINGS}
DIRECTIONS = get_reference_directions("das-dennis", 2, n_partitions=11)
POINTS = np.array([[-30.0, 100.0], [-10.0, 50.0]])


#: It needs scikit-learn, which pymoo does not install.
NOT_HERE = {"kgb": "sklearn"}


def algorithms_of_pymoo():
    """Return the classes of all multi-objective algorithms by name."""
    found = {}
    for module in pkgutil.iter_modules(pymoo.algorithms.moo.__path__):
        if module.name not in NOT_HERE:
            read = importlib.import_module(f"pymoo.algorithms.moo.{module.name}")
            kinds = [kind for _, kind in inspect.getmembers(read, inspect.isclass) if kind.__module__ == read.__name__]
            found |= {kind.__name__: kind for kind in kinds if issubclass(kind, Algorithm)}
    return found


ALGORITHMS, SMALL = algorithms_of_pymoo(), {"pop_size": 12}
MADE = {
    "NSGA2": SMALL,
    "NSGA3": {"ref_dirs": DIRECTIONS, **SMALL},
    "UNSGA3": {"ref_dirs": DIRECTIONS, **SMALL},
    "RNSGA2": {"ref_points": POINTS, **SMALL},
    "RNSGA3": {"ref_points": POINTS, "pop_per_ref_point": 6},
    "SPEA2": SMALL,
    "SMSEMOA": SMALL,
    "AGEMOEA": SMALL,
    "AGEMOEA2": SMALL,
    "OmniOptimizer": SMALL,
    # pymoo's waits for ever where duplicates were removed from its first population.
    "CTAEA": {"ref_dirs": DIRECTIONS, "eliminate_duplicates": False},
    "RVEA": {"ref_dirs": DIRECTIONS},
    "MOEAD": {"ref_dirs": DIRECTIONS, "n_neighbors": 5},
    "DNSGA2": SMALL,
    "ParallelMOEAD": {"ref_dirs": DIRECTIONS, "n_neighbors": 5},
    "PINSGA2": {"automated_dm": Taker(), "tau": 2, "vf_type": "linear", "vf_max_iter": 3, **SMALL},
}
#: Those that only search real numbers, rounded to levels, so that bit strings refuse them.
OF_REALS = ("CMOPSO", "MOPSO_CD", "GDE3", "GDE3MNN", "GDE32NN", "GDE3PCD", "NSDE", "NSDER")
MADE |= dict.fromkeys(OF_REALS, SMALL) | {"NSDER": {"ref_dirs": DIRECTIONS, **SMALL}}


def made(name, space):
    own = OPERATORS[space]
    if name in OF_REALS:
        own = {"sampling": IntegerRandomSampling()} | ({} if name == "MOPSO_CD" else {"repair": RoundingRepair()})
    return ALGORITHMS[name](**MADE[name], **own)


#: pymoo's survivals hold a function that Python cannot pickle; each Python has its own words for that.
PICKLE = "must go on from a pickle before the first generation, got "
#: The seed is ignored where individuals are equal and infeasible.
SEED = "must find the same "
#: The broken rule, or the refusal of the problem: without constraints, and with some.
FOUND = {
    "NSGA3": ([PICKLE], [PICKLE, SEED]),
    "UNSGA3": ([PICKLE], [PICKLE, SEED]),
    "RNSGA3": ([PICKLE], [PICKLE, SEED]),
    "SMSEMOA": ([PICKLE], [PICKLE]),
    # It returns infeasible points if its archive for convergence has nothing else.
    "CTAEA": ([PICKLE], [PICKLE, "must find rows that satisfy all constraints, got G = ["]),
    # It returns its last population.
    "RVEA": (
        ["must find rows that do not dominate each other, got F = ["],
        ["must find rows that satisfy all constraints, got G = ["],
    ),
    # It gives an archive single individuals.
    "MOEAD": (
        ["must run with an archive, got TypeError: 'Individual' object is not iterable"],
        ["must search SPACE, got AssertionError: This implementation of MOEAD does not support any constraints."],
    ),
    "ParallelMOEAD": (
        [],
        ["must search SPACE, got AssertionError: This implementation of MOEAD does not support any constraints."],
    ),
    # Its evaluations for a change of the problem are not shown to an archive.
    "DNSGA2": (
        ["", "must show all that is evaluated to the archive, got none of x = ["],
        ["must search SPACE, got AssertionError: DNSGA2 only works for unconstrained problems."],
    ),
    # Its crowding distance needs two individuals at least.
    "GDE32NN": (["", "*, got ValueError: kth(="],) * 2,
    # Its fit begins with uninitialized memory.
    "PINSGA2": (["", SEED],) * 2,
    # Its archive does not survive pickling.
    "CMOPSO": (
        ["must go on from a pickle before the first generation, got AttributeError: 'MultiObjectiveArchive' object"],
    )
    * 2,
    # It has no repair, and its particles stand at real numbers.
    "MOPSO_CD": (["must search SPACE, got ValueError: X must hold whole generalization levels, got others; Latt"],) * 2,
}


def test_all_algorithms_of_pymoo_are_here():
    """Require every algorithm of later versions of pymoo to join."""
    assert set(ALGORITHMS) == set(MADE)


def is_told(told, sentence):
    """Return whether an error matches a sentence, with a star as wildcard."""
    begin, _, then = sentence.partition("*")
    return told.startswith(begin) and then in told if sentence else not told


def cases():
    """Cross algorithms, spaces and constraints; of strings one algorithm is enough where time counts."""
    for name in MADE:
        for space, constrained in product((LatticeProblem, BitStringProblem), (False, True)):
            slow = [pytest.mark.slow] if space is BitStringProblem and name != "NSGA2" else []
            told = "levels" if space is LatticeProblem else "strings"
            yield pytest.param(name, space, constrained, marks=slow, id=f"{name}-{told}{', constrained' * constrained}")


@pytest.mark.parametrize(("name", "space", "constrained"), list(cases()))
def test_algorithms_of_pymoo_keep_the_contract_or_say_why_not(name, space, constrained):
    problem = small_problems(space)["constraints" if constrained else "two objectives"]
    algorithm = made(name, space)
    expected = FOUND.get(name, ([], []))[constrained] or [""]
    if space is BitStringProblem and name in OF_REALS:
        expected = ["must search SPACE, got TypeError: X must be Boolean strings, got "]
    told = ""
    try:
        check_algorithm(algorithm, problem, n_gen=2)
    except AssertionError as error:
        told = str(error)
    sentences = [one.replace("SPACE", space.__name__) for one in expected]
    assert any(is_told(told, f"{name} {one}" if one else "") for one in sentences), told


@pytest.mark.parametrize("name", [name for name, (free, _) in FOUND.items() if PICKLE in free])
def test_what_cannot_be_pickled_keeps_the_rest(name, monkeypatch):
    monkeypatch.setattr("pymoo_anon.testing.algorithms.COPIES", {"a deep copy": COPIES["a deep copy"]})
    check_algorithm(made(name, LatticeProblem), small_problems()["two objectives"], n_gen=3)


def test_the_guide_tells_what_pymoo_s_algorithms_make_of_constraints():
    """Compare the guide with what is found: constraints are kept, broken in some rows, or refused."""
    guide = (Path(__file__).parents[2] / "examples" / "guide" / "algorithms.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| works?\b.* \| (.*) \|$", guide, re.M)
    told = {name: verdict for names, verdict in rows for name in re.findall(r"\w+", names)}
    assert set(told) == set(MADE) - {*OF_REALS, "ParallelMOEAD", "PINSGA2"}
    for name, verdict in told.items():
        broken = " ".join(FOUND.get(name, ([], []))[True])
        refused, kept = "AssertionError" in broken, "satisfy all constraints" not in broken
        assert (verdict == "refused by pymoo", verdict == "kept") == (refused, kept and not refused), name
