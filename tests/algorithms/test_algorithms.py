"""PBG-EA and exhaustive search, through every door of pymoo's loop."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from alive_progress import config_handler
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.core.population import Population
from pymoo.optimize import minimize
from pymoo.termination import get_termination

from pymoo_anon.algorithms import PBGEA, ExhaustiveSearch
from pymoo_anon.datasets import make_census
from pymoo_anon.fronts import BoxArchive
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.operators import LatticeSampling
from pymoo_anon.problems import LatticeProblem

CENSUS = make_census(300, seed=5)


def problem():
    return LatticeProblem(
        CENSUS, [KAnonymity(), DistinctLDiversity("occupation"), GeneralLossMetric()], suppression=0.02
    )


def outcome(res):
    return res.X.tolist(), res.F.tolist()


def finished(algorithm):
    while algorithm.has_next():
        algorithm.next()
    return algorithm


def test_the_result_is_the_archive_of_all_that_was_seen():
    own = problem()
    res = minimize(own, PBGEA(epsilon=[2, 1, 50]), ("n_gen", 12), seed=1, save_history=True)
    assert [entry.n_gen for entry in res.history] == list(range(1, 13))
    expected = BoxArchive([2, 1, 50], [True, True, False])
    for entry in res.history:
        expected.add(entry.off)
    assert sorted(res.F.tolist()) == sorted(expected.F.tolist())
    assert res.opt.get("F").tolist() == res.F.tolist()
    assert np.array_equal(own.compute(res.X), res.F)


def test_children_replace_the_population():
    res = minimize(problem(), PBGEA(pop_size=13), ("n_gen", 6), seed=1, save_history=True)
    for entry in res.history:
        assert entry.pop.get("X").tolist() == entry.off.get("X").tolist()
        assert len(entry.pop) == 13
    assert res.algorithm.evaluator.n_eval == 6 * 13


def test_a_hundred_generations_by_default():
    assert minimize(problem(), PBGEA(pop_size=4), seed=1).algorithm.n_gen - 1 == 100


@pytest.mark.parametrize("generation", [1, 2, 7, 14])
@pytest.mark.parametrize("copied", ["pickled", pytest.param("in another process", marks=pytest.mark.slow)])
def test_same_result_after_resuming_at_any_generation(generation, copied, tmp_path):
    straight = minimize(problem(), PBGEA(), ("n_gen", 15), seed=1)
    algorithm = PBGEA()
    algorithm.setup(problem(), termination=("n_gen", 15), seed=1)
    for _ in range(generation):
        algorithm.next()
    stored = pickle.dumps(algorithm)
    if copied == "pickled":
        resumed = finished(pickle.loads(stored)).result()
        assert resumed.problem.n_unique == straight.problem.n_unique
        assert outcome(resumed) == outcome(straight)
    else:
        (tmp_path / "checkpoint").write_bytes(stored)
        code = (
            "import pickle, sys; a = pickle.load(open(sys.argv[1], 'rb'));\n"
            "while a.has_next(): a.next()\n"
            "r = a.result(); print((r.X.tolist(), r.F.tolist()))"
        )
        shown = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "checkpoint")], capture_output=True, text=True, check=True
        ).stdout
        assert shown.strip() == str(outcome(straight))


def test_a_finished_run_goes_on():
    straight = minimize(problem(), PBGEA(), ("n_gen", 15), seed=1)
    first = minimize(problem(), PBGEA(), ("n_gen", 6), seed=1).algorithm
    first.termination = get_termination("n_gen", 15)
    assert outcome(minimize(problem(), first, copy_algorithm=False)) == outcome(straight)


def test_epsilon_is_checked_before_anything_is_evaluated():
    own = problem()
    with pytest.raises(ValueError) as caught:
        minimize(own, PBGEA(epsilon=[1, 1]), seed=1)
    assert str(caught.value) == "epsilon must be one number or one per objective: 3, got 2"
    assert own.n_unique == 0


def test_a_history_shares_table_and_memory():
    res = minimize(problem(), PBGEA(), ("n_gen", 5), seed=1, save_history=True)
    assert all(entry.problem.table is CENSUS for entry in res.history)
    assert {id(entry.problem._memory) for entry in res.history} == {id(res.problem._memory)}


def test_verbose_has_columns_of_its_own(capsys):
    own = problem()
    res = minimize(own, PBGEA(), ("n_gen", 3), seed=1, verbose=True)
    lines = capsys.readouterr().out.splitlines()
    heads = [head.strip() for head in lines[1].split("|")]
    assert heads == ["n_gen", "n_eval", "archive", "distinct", "best k", "best l", "lowest GLM"]
    last = [cell.strip() for cell in lines[-1].split("|")]
    k, l, loss = own.natural(res.F).T  # noqa: E741
    assert last == [
        "3", "75", str(len(res.F)), str(own.n_unique), f"{k.max():,.0f}", f"{l.max():,.0f}", f"{loss.min():,.2f}"
    ]  # fmt: skip


def test_progress_bars_run(capsys):
    # They keep the standard output of their first import, which may be that of an earlier test.
    config_handler.set_global(file=sys.stdout)
    try:
        minimize(problem(), PBGEA(), ("n_gen", 3), seed=1, progress=True)
        minimize(problem(), ExhaustiveSearch(batch_size=4000), progress=True)
    finally:
        config_handler.reset()
    assert "100%" in capsys.readouterr().out


def test_an_archive_of_the_users_own_is_filled_beside():
    res = minimize(problem(), PBGEA(archive=BoxArchive([10, 1, 100])), ("n_gen", 10), seed=1)
    assert 0 < len(res.archive) <= len(res.opt)


def test_a_first_population_may_be_given():
    X = np.array([[0] * 8, [1] * 8, [1, 1, 1, 1, 0, 0, 0, 0]])
    res = minimize(problem(), PBGEA(pop_size=3, sampling=X), ("n_gen", 1), seed=1)
    assert res.pop.get("X").tolist() == X.tolist()


def test_it_finds_most_of_the_exact_front():
    own = LatticeProblem(CENSUS, [KAnonymity(), GeneralLossMetric()], suppression=0.02)
    res = minimize(own, PBGEA(), ("n_gen", 100), seed=1)
    exact = {tuple(f) for f in own.pareto_front()}
    assert len({tuple(f) for f in res.F} & exact) > len(exact) / 2
    assert own.n_unique < own.n_nodes / 4


def test_exhaustive_search_gives_the_exact_front_and_ends_by_itself():
    own = problem()
    res = minimize(own, ExhaustiveSearch(batch_size=1000))
    assert own.n_unique == own.n_nodes == res.algorithm.evaluator.n_eval == 17_920
    assert res.algorithm.n_gen - 1 == 18
    assert {tuple(f) for f in res.F} == {tuple(f) for f in own.pareto_front()}
    assert len(res.F) == len(own.pareto_front())
    assert np.issubdtype(res.X.dtype, np.integer)
    assert np.array_equal(own.compute(res.X), res.F)


def test_exhaustive_search_can_be_stopped_and_resumed():
    whole = minimize(problem(), ExhaustiveSearch())
    for termination in (("n_eval", 2000), ("n_gen", 2)):
        part = minimize(problem(), ExhaustiveSearch(batch_size=1024), termination)
        assert part.problem.n_unique == 2048
        seen = part.problem.compute(part.problem.nodes(0, 2048))
        assert {tuple(f) for f in part.F} == {tuple(f) for f in BoxArchive(1e-9).add(evaluated(seen)).F}
    algorithm = pickle.loads(pickle.dumps(part.algorithm))
    algorithm.termination = get_termination("n_gen", 10_000)
    assert outcome(finished(algorithm).result()) == outcome(whole)


def evaluated(F):
    return Population.new(X=np.arange(len(F))[:, None], F=F)


def test_exhaustive_search_shows_what_it_has_seen(capsys):
    res = minimize(problem(), ExhaustiveSearch(batch_size=9000), verbose=True)
    lines = capsys.readouterr().out.splitlines()
    assert [head.strip() for head in lines[1].split("|")] == ["n_gen", "n_eval", "visited", "front"]
    assert [line.split("|")[2].strip() for line in lines[3:]] == ["50.2%", "100.0%"]
    assert lines[-1].split("|")[3].strip() == str(len(res.F))


def test_swapping_the_algorithm_changes_one_line(capsys):
    from pymoo_anon.operators import LevelCrossover, SingleStepMutation

    nsga2 = NSGA2(pop_size=25, sampling=LatticeSampling(), crossover=LevelCrossover(), mutation=SingleStepMutation())
    small = LatticeProblem(CENSUS, [KAnonymity(), GeneralLossMetric()])
    res = minimize(small, nsga2, ("n_gen", 2), seed=1, verbose=True)
    # pymoo's own output measures the distance to `pareto_front`.
    assert "igd" in capsys.readouterr().out
    assert np.array_equal(small.compute(res.X), res.F)
