"""Equal results for equal seeds at any stop, load and thread number."""

import json
import os
import pickle
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from processes import python
from pymoo.core.termination import NoTermination
from pymoo.optimize import minimize
from pymoo.termination import get_termination
from stopped_runs import RUNS, found
from tasks import eights, sorted_rows

from pymoo_anon import algorithms
from pymoo_anon.algorithms import BranchAndBound, ExhaustiveSearch, ParetoLocalSearch
from pymoo_anon.fronts.archive import front_order
from pymoo_anon.objectives import ClassificationMetric, DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.proofs.base import gap
from pymoo_anon.testing import small_problems

SCRIPT = Path(__file__).parents[1] / "stopped_runs.py"
ROOT = SCRIPT.parents[1]


@pytest.fixture(scope="module")
def loaded():
    """Return all results under load from other processes, with two threads."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            return told_by(2, *RUNS)
        finally:
            busy.kill()


def told_by(n_threads, *names, **environment):
    """Return the results of a separate process."""
    done = python(SCRIPT, n_threads, *names, PYTHONPATH=os.pathsep.join([str(ROOT), *sys.path]), **environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_algorithm_is_run():
    assert {type(make()).__name__ for make, _, _ in RUNS.values()} == set(algorithms.__all__)


@cache
def here(name):
    """Return the result of this process with one thread."""
    return json.loads(json.dumps(found(name, 1)))


def test_another_process_finds_the_same():
    """Use another process, in which texts have other hashes."""
    names = ("PBGEA", "GENITOR")
    assert told_by(1, *names) == {name: here(name) for name in names}


@pytest.mark.parametrize("name", ["PBGEA", "ParetoLocalSearch", "GENITOR", "merges and splits"])
def test_values_may_come_from_elsewhere(name):
    """Use ask and tell without an evaluator."""
    make, problem, _ = RUNS[name]
    own, algorithm = problem(), make()
    algorithm.setup(own, termination=("n_gen", 5), seed=1)
    while algorithm.has_next():
        asked = algorithm.ask()
        asked.set("F", own.compute(asked.get("X")))
        algorithm.tell(infills=asked)
    assert algorithm.result().X.tolist() == minimize(problem(), make(), ("n_gen", 5), seed=1).X.tolist()


ENDED = ["Datafly", "SamaratiSearch", "ExhaustiveSearch"]


@pytest.mark.parametrize(
    "name", ["PBGEA", "ParetoLocalSearch", "GENITOR", "TargetSweep", "BitStringLocalSearch", *ENDED]
)
def test_a_finished_run_goes_on_or_begins_anew(name):
    make, problem, _ = RUNS[name]
    n_gen, made = (40, small_problems()["nothing feasible"].fresh_copy) if name in ENDED else (1, problem)
    told = {"seed": 1, "return_least_infeasible": True, "copy_algorithm": False}
    first = minimize(made(), make(), ("n_gen", n_gen), **told).algorithm
    first.termination = get_termination("n_gen", n_gen + 1)
    found = [minimize(made(), one, ("n_gen", n_gen + 1), **told) for one in (first, make())]
    found.append(first.setup(made(), termination=("n_gen", n_gen + 1), seed=1).run())
    assert found[0].X.tolist() == found[1].X.tolist() == found[2].X.tolist()


EIGHTS, END = eights("abcd"), {"termination": NoTermination()}
#: Searches that end by themselves with one front.
WHOLE = {
    "exhaustive": lambda: ExhaustiveSearch(60),
    "local": lambda: ParetoLocalSearch(**END),
    "stored": BranchAndBound,
    "boxes": lambda: BranchAndBound(max_bytes=1),
}


@pytest.mark.parametrize("nth", [1, 3])
@pytest.mark.parametrize("other", [GeneralLossMetric(), ClassificationMetric("s")], ids=repr)
@pytest.mark.parametrize("name", WHOLE)
def test_ctrl_c_loses_nothing(name, other, nth, monkeypatch):
    """Go on from the search that was interrupted, and from its pickle."""
    own = LatticeProblem(EIGHTS, [KAnonymity(), other], 0.05, [DistinctLDiversity("s") >= 2])
    front, algorithm, measured, compute = own.pareto_front(), WHOLE[name](), [], LatticeProblem._measure

    def interrupted(self, X, *arguments):
        if len(measured) == nth:
            raise KeyboardInterrupt
        measured.append(len(X))
        return compute(self, X, *arguments)

    with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
        patch.setattr(LatticeProblem, "_measure", interrupted)
        minimize(own, algorithm, seed=1, copy_algorithm=False)
    assert algorithm.evaluator.n_eval == own.n_unique == sum(measured) < own.n_nodes
    for one in (pickle.loads(pickle.dumps(algorithm)), algorithm):
        one.termination = NoTermination()
        assert sorted_rows(np.atleast_2d(one.run().F)).tolist() == sorted_rows(front).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_neither_load_nor_threads_decide_what_a_stopped_search_has_found(name, loaded):
    assert here(name) == loaded[name]


@pytest.mark.parametrize("name", ["boxes", "one loss", "k and a loss"])
def test_the_proofs_are_stopped_before_their_end(name):
    """Ensure that a slice more or less would change something."""
    assert not array(here(name)["certified"])


@pytest.mark.slow
def test_a_cold_cache_decides_nothing(tmp_path):
    """Compile everything anew, which delays the first node."""
    assert told_by(1, "boxes", NUMBA_CACHE_DIR=str(tmp_path)) == {"boxes": here("boxes")}


@pytest.mark.parametrize("name", RUNS)
def test_fronts_are_in_one_order(name):
    """Sort by the objectives in turn, with the gaps of a proof."""
    F = np.atleast_2d(array(here(name)["F"]))
    assert front_order(F).tolist() == list(range(len(F)))
    if RUNS[name][0]().__class__ is BranchAndBound:
        assert array(here(name)["gap"]).shape == F.shape


def test_the_gap_of_every_member_stands_in_its_row():
    """Sort members, which reach a proof in another order than the result."""
    make, problem, _ = RUNS["boxes"]
    algorithm = minimize(problem(), make(), ("n_gen", 1), seed=1).algorithm
    of_member = dict(zip(map(tuple, algorithm.proof.F), gap(algorithm.proof.F, algorithm.open_bounds), strict=True))
    assert len(of_member) > 1
    for one, own in zip(algorithm.opt, algorithm.gap, strict=True):
        assert of_member[tuple(one.F)].tolist() == own.tolist()


def array(told):
    """Read numbers from their text."""
    dtype, shape, data = told
    return np.frombuffer(bytes.fromhex(data), dtype=dtype).reshape(shape)
