"""The contract of problems, kept by the package's and broken on purpose."""

import threading
import time

import numpy as np
import pytest
from pymoo.core.problem import ElementwiseProblem, Problem
from pymoo.operators.sampling.rnd import FloatRandomSampling
from pymoo.problems import get_problem

from pymoo_anon import problems
from pymoo_anon.objectives import KAnonymity
from pymoo_anon.problems import (
    AnonymizationProblem,
    BitStringProblem,
    LatticeProblem,
    LocalRecodingProblem,
    PreferredPoint,
)
from pymoo_anon.testing import check_problem, small_problems


def preferences():
    table = small_problems()["two objectives"].table
    return BitStringProblem(table, [PreferredPoint((0.2, 1.0)), PreferredPoint((0.5, 0.1)), KAnonymity()])


PROBLEMS = {
    **{f"LatticeProblem, {name}": own for name, own in small_problems(LatticeProblem).items()},
    **{f"BitStringProblem, {name}": own for name, own in small_problems(BitStringProblem).items()},
    **{f"LocalRecodingProblem, {name}": own for name, own in small_problems(LocalRecodingProblem).items()},
    "BitStringProblem, preferences": preferences(),
    # Typical of users' own problems.
    "ZDT1": get_problem("zdt1"),
    "BNH": get_problem("bnh"),
}


def test_all_problems_are_here():
    """Require every new problem to join the list above."""
    public = {getattr(problems, name) for name in problems.__all__}
    kinds = {kind for kind in public if isinstance(kind, type) and issubclass(kind, Problem)}
    ours = {type(own) for own in PROBLEMS.values() if isinstance(own, AnonymizationProblem)}
    assert ours == kinds - {AnonymizationProblem}


@pytest.mark.parametrize("name", PROBLEMS)
def test_problems_keep_the_contract(name, monkeypatch):
    monkeypatch.setattr("pymoo_anon.testing.problems._N_POINTS", 8)
    check_problem(PROBLEMS[name])


def test_problems_in_threads_and_one_by_one_keep_the_contract():
    problem = small_problems()["constraints"]
    problem.n_threads = 2
    check_problem(problem)
    looped = LatticeProblem(problem.table, problem.objectives, elementwise_runner=lambda f, X: [f(x) for x in X])
    with pytest.raises(AssertionError, match=r"^LatticeProblem must be pickled, got .*lambda"):
        check_problem(looped)


def test_small_problems_are_new_at_every_call():
    first, second = small_problems(), small_problems()
    assert all(first[name] is not second[name] for name in first)


class Sphere(Problem):
    """A sound problem, from which each broken one differs in one line."""

    def __init__(self, **kwargs):
        super().__init__(**{"n_var": 3, "n_obj": 2, "n_ieq_constr": 1, "xl": -1.0, "xu": 1.0, **kwargs})

    def _evaluate(self, x, out, *args, **kwargs):
        out["F"] = np.stack([(x**2).sum(axis=-1), ((x - 1) ** 2).sum(axis=-1)], axis=-1)
        out["G"] = x[..., :1]
        self.spoil(x, out)

    def spoil(self, x, out):
        """Change the evaluated values, in broken problems."""


def spoiled(name, spoil):
    """Make a problem that spoils the values at x."""
    return type(name, (Sphere,), {"spoil": lambda self, x, out: spoil(x, out)})


NoConstraints = spoiled("NoConstraints", lambda x, out: out.pop("G"))
Misshapen = spoiled("Misshapen", lambda x, out: out.update(F=out["F"][:, :1]))
Relative = spoiled("Relative", lambda x, out: out.update(F=out["F"] - out["F"].min(axis=0)))
Noisy = spoiled("Noisy", lambda x, out: out.update(F=out["F"] + np.random.random()))  # noqa: NPY002
#: Repeated points are worth more.
Doubling = spoiled("Doubling", lambda x, out: out.update(F=out["F"] + (len(np.unique(x, axis=0)) < len(x))))


class Unnumbered(Sphere):
    def spoil(self, x, out):
        with np.errstate(invalid="ignore"):
            out["F"] = out["F"] + np.sqrt(x[..., :1])


class Texted(Sphere):
    def evaluate(self, X, **kwargs):
        out = super().evaluate(X, **kwargs)
        return {**out, "F": out["F"].astype(np.float32)}


class Numbered(Sphere):
    """A problem with values that depend on the row of a point."""

    def spoil(self, x, out):
        if len(x) == 24:
            out["F"] = out["F"] + np.arange(24)[:, np.newaxis]


class Rounding(Sphere):
    def _evaluate(self, x, out, *args, **kwargs):
        x[:] = np.round(x)
        super()._evaluate(x, out)


class Meeting(Sphere):
    """A problem that works in an attribute shared by threads."""

    def _evaluate(self, x, out, *args, **kwargs):
        self.own = x
        time.sleep(0.002)
        super()._evaluate(self.own, out)


class Locked(Sphere):
    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()


class Forgetful(Sphere):
    shift = 0.0

    def __init__(self):
        super().__init__()
        self.shift = 1.0

    def __getstate__(self):
        return {**self.__dict__, "shift": 0.0}

    def __deepcopy__(self, memo):
        return self

    def spoil(self, x, out):
        out["F"] = out["F"] + self.shift


class WorseCopy(Forgetful):
    def __getstate__(self):
        return self.__dict__

    def __deepcopy__(self, memo):
        made = type(self)()
        made.shift = 0.0
        return made


def with_front(name, front):
    """Make a problem with a wrong front."""
    return type(name, (Sphere,), {"_calc_pareto_front": lambda self, *args, **kwargs: np.array(front)})


FarFront = with_front("FarFront", [[1e9, 1e9]])
FlatFront = with_front("FlatFront", [1e9, 1e9, 1e9])


class NoFront(Sphere):
    def _calc_pareto_front(self, *args, **kwargs):
        raise ValueError("no time")


class OneByOne(ElementwiseProblem, Sphere):
    def spoil(self, x, out):
        del out["F"]


def test_sound_problems_of_ones_own_keep_the_contract():
    check_problem(Sphere())
    check_problem(Sphere(), sampling=FloatRandomSampling(), seed=3)


class OtherGroups(LatticeProblem):
    def decode(self, x):
        return super().decode(np.minimum(np.asarray(x) + 1, self.lengths))


class OtherSign(LatticeProblem):
    def natural(self, F):
        return np.asarray(F) * 1.0


class HalfFront(LatticeProblem):
    def pareto_front(self, **kwargs):
        return super().pareto_front(**kwargs)[:1]


class OtherBound(LatticeProblem):
    def minimised(self, values):
        F, G = super().minimised(values)
        return F, G - 1
