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
from pymoo.algorithms.moo.age import AGEMOEA
from pymoo.algorithms.moo.age2 import AGEMOEA2
from pymoo.algorithms.moo.cmopso import CMOPSO
from pymoo.algorithms.moo.ctaea import CTAEA
from pymoo.algorithms.moo.dnsga2 import DNSGA2
from pymoo.algorithms.moo.gde3 import GDE3, GDE3MNN, GDE3PCD, GDE32NN
from pymoo.algorithms.moo.moead import MOEAD, ParallelMOEAD
from pymoo.algorithms.moo.mopso_cd import MOPSO_CD
from pymoo.algorithms.moo.nsde import NSDE
from pymoo.algorithms.moo.nsder import NSDER
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.algorithms.moo.nsga3 import NSGA3
from pymoo.algorithms.moo.omni import OmniOptimizer
from pymoo.algorithms.moo.pinsga2 import PINSGA2, AutomatedDM
from pymoo.algorithms.moo.rnsga2 import RNSGA2
from pymoo.algorithms.moo.rnsga3 import RNSGA3
from pymoo.algorithms.moo.rvea import RVEA
from pymoo.algorithms.moo.sms import SMSEMOA
from pymoo.algorithms.moo.spea2 import SPEA2
from pymoo.algorithms.moo.unsga3 import UNSGA3
from pymoo.core.algorithm import Algorithm
from pymoo.operators.repair.rounding import RoundingRepair
from pymoo.operators.sampling.rnd import IntegerRandomSampling
from pymoo.util.ref_dirs import get_reference_directions

from pymoo_anon.operators import (
    BitStringSampling,
    LatticeSampling,
    LevelCrossover,
    PartitionCrossover,
    RandomImmigrantMutation,
    SingleStepMutation,
)
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


OPERATORS = {
    LatticeProblem: {
        "sampling": LatticeSampling(), "crossover": LevelCrossover(), "mutation": SingleStepMutation(),
    },
    BitStringProblem: {
        "sampling": BitStringSampling(), "crossover": PartitionCrossover(),
        "mutation": RandomImmigrantMutation(prob=0.5),
    },
}  # fmt: skip
DIRECTIONS = get_reference_directions("das-dennis", 2, n_partitions=11)
POINTS = np.array([[-30.0, 100.0], [-10.0, 50.0]])


def rounded(make, *given):
    """Let an algorithm search real numbers, rounded to levels."""
    return lambda **_: make(*given, sampling=IntegerRandomSampling(), repair=RoundingRepair())


MADE = {
    "NSGA2": lambda **own: NSGA2(12, **own),
    "NSGA3": lambda **own: NSGA3(DIRECTIONS, 12, **own),
    "UNSGA3": lambda **own: UNSGA3(DIRECTIONS, pop_size=12, **own),
    "RNSGA2": lambda **own: RNSGA2(POINTS, pop_size=12, **own),
    "RNSGA3": lambda **own: RNSGA3(POINTS, 6, **own),
    "SPEA2": lambda **own: SPEA2(12, **own),
    "SMSEMOA": lambda **own: SMSEMOA(12, **own),
    "AGEMOEA": lambda **own: AGEMOEA(12, **own),
    "AGEMOEA2": lambda **own: AGEMOEA2(12, **own),
    "OmniOptimizer": lambda **own: OmniOptimizer(pop_size=12, **own),
    # pymoo's waits for ever where duplicates were removed from its first population.
    "CTAEA": lambda **own: CTAEA(DIRECTIONS, eliminate_duplicates=False, **own),
    "RVEA": lambda **own: RVEA(DIRECTIONS, **own),
    "MOEAD": lambda **own: MOEAD(DIRECTIONS, n_neighbors=5, **own),
    "DNSGA2": lambda **own: DNSGA2(pop_size=12, **own),
    "ParallelMOEAD": lambda **own: ParallelMOEAD(DIRECTIONS, n_neighbors=5, **own),
    "PINSGA2": lambda **own: PINSGA2(12, automated_dm=Taker(), tau=2, vf_type="linear", vf_max_iter=3, **own),
    "CMOPSO": rounded(CMOPSO, 12),
    "MOPSO_CD": lambda **_: MOPSO_CD(12, sampling=IntegerRandomSampling()),
    "GDE3": rounded(GDE3, 12),
    "GDE3MNN": rounded(GDE3MNN, 12),
    "GDE32NN": rounded(GDE32NN, 12),
    "GDE3PCD": rounded(GDE3PCD, 12),
    "NSDE": rounded(NSDE, 12),
    "NSDER": rounded(NSDER, DIRECTIONS, 12),
}

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
#: Those that only search real numbers, so that bit strings refuse them.
OF_REALS = ("CMOPSO", "MOPSO_CD", "GDE3", "GDE3MNN", "GDE32NN", "GDE3PCD", "NSDE", "NSDER")
#: It needs scikit-learn, which pymoo does not install.
NOT_HERE = {"kgb": "sklearn"}


def test_all_algorithms_of_pymoo_are_here():
    """Require every algorithm of later versions of pymoo to join."""
    found = set()
    for module in pkgutil.iter_modules(pymoo.algorithms.moo.__path__):
        if module.name not in NOT_HERE:
            read = importlib.import_module(f"pymoo.algorithms.moo.{module.name}")
            kinds = [kind for _, kind in inspect.getmembers(read, inspect.isclass) if kind.__module__ == read.__name__]
            found |= {kind.__name__ for kind in kinds if issubclass(kind, Algorithm)}
    assert found == set(MADE)


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
    algorithm = MADE[name](**OPERATORS[space])
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
    check_algorithm(MADE[name](**OPERATORS[LatticeProblem]), small_problems()["two objectives"], n_gen=3)


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
