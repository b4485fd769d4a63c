"""PBG-EA and exhaustive search, through every door of pymoo's loop."""

import numpy as np
import pytest
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.optimize import minimize
from pymoo.termination import get_termination

from pymoo_anon.algorithms import PBGEA
from pymoo_anon.datasets import make_census
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


def test_a_hundred_generations_by_default():
    assert minimize(problem(), PBGEA(pop_size=4), seed=1).algorithm.n_gen - 1 == 100


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


def test_it_finds_most_of_the_exact_front():
    own = LatticeProblem(CENSUS, [KAnonymity(), GeneralLossMetric()], suppression=0.02)
    res = minimize(own, PBGEA(), ("n_gen", 100), seed=1)
    exact = {tuple(f) for f in own.pareto_front()}
    assert len({tuple(f) for f in res.F} & exact) > len(exact) / 2
    assert own.n_unique < own.n_nodes / 4


def test_swapping_the_algorithm_changes_one_line(capsys):
    from pymoo_anon.operators import LevelCrossover, SingleStepMutation

    nsga2 = NSGA2(pop_size=25, sampling=LatticeSampling(), crossover=LevelCrossover(), mutation=SingleStepMutation())
    small = LatticeProblem(CENSUS, [KAnonymity(), GeneralLossMetric()])
    res = minimize(small, nsga2, ("n_gen", 2), seed=1, verbose=True)
    # pymoo's own output measures the distance to `pareto_front`.
    assert "igd" in capsys.readouterr().out
    assert np.array_equal(small.compute(res.X), res.F)
