"""Runs of an algorithm: in one go, by ask and tell, from a copy of any generation, with what a user may give it."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

import numpy as np
from alive_progress import config_handler
from numpy.typing import NDArray
from pymoo.core.algorithm import Algorithm
from pymoo.core.callback import Callback
from pymoo.core.evaluator import Evaluator
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.core.result import Result
from pymoo.core.termination import Termination
from pymoo.optimize import minimize

from pymoo_anon.testing.telling import ContractError, first_difference, pickled, shown

Matrix = NDArray[Any]

#: What changes an algorithm between two generations into one that has to go on as if nothing had been.
COPIES: dict[str, Callable[[Algorithm], Algorithm]] = {
    "a deep copy": copy.deepcopy,
    "a pickle": pickled,
}


@dataclass
class Trial:
    """An algorithm on a problem, as often as one likes.

    Attributes:
        algorithm: The algorithm, which is never set up itself.
        problem: The problem.
        n_gen: How many generations a run has, unless the algorithm ends it.
        seed: Of every run.
    """

    algorithm: Algorithm
    problem: Problem
    n_gen: int
    seed: int

    @property
    def name(self) -> str:
        """The name of the algorithm, for a sentence."""
        return type(self.algorithm).__name__

    def run(self, termination: Termination | tuple[Any, ...] | None = None, **options: Any) -> Result:
        """One run by `minimize`; None ends it after `n_gen` generations."""
        termination = ("n_gen", self.n_gen) if termination is None else termination
        return minimize(self.problem, self.algorithm, termination, **{"seed": self.seed, **options})

    def started(self, **options: Any) -> Algorithm:
        """A copy of the algorithm that is set up and has done nothing."""
        algorithm = copy.deepcopy(self.algorithm)
        algorithm.setup(self.problem, termination=("n_gen", self.n_gen), **{"seed": self.seed, **options})
        return algorithm

    def by_ask_and_tell(self) -> Result | None:
        """One run by ask and tell, evaluated outside; None where the algorithm says that it does not do this."""
        algorithm = self.started()
        while algorithm.has_next():
            try:
                infills = algorithm.ask()
            except NotImplementedError:
                return None
            if infills is None:
                algorithm.tell()
                continue
            Evaluator().eval(self.problem, infills)
            algorithm.tell(infills=infills)
        return algorithm.result()

    def copied_after(self, n_gen: int, made: Callable[[Algorithm], Algorithm]) -> Result:
        """One run that goes on from a copy after so many generations; the original goes on beside it for one more."""
        algorithm = self.started()
        while algorithm.has_next() and (algorithm.n_gen or 1) <= n_gen:
            algorithm.next()
        other = made(algorithm)
        if algorithm.has_next():
            # What the original does must not reach its copy.
            algorithm.next()
        return finished(other)

    def same(self, expected: Result, found: Result, way: str) -> None:
        """Check that two runs found the same."""
        for key in ("X", "F"):
            ours, theirs = getattr(expected, key), getattr(found, key)
            if ours is None or theirs is None:
                if ours is not theirs:
                    raise ContractError(
                        f"{self.name} must find the same {way}, got {key} = {_short(theirs)} and not {_short(ours)}"
                    )
                continue
            ours, theirs = np.atleast_2d(ours), np.atleast_2d(theirs)
            row = first_difference(ours, theirs) if ours.shape == theirs.shape else 0
            if row is not None:
                raise ContractError(
                    f"{self.name} must find the same {way}, got {len(theirs)} rows with {key}[{row}] = "
                    f"{shown(theirs[row])} and not {len(ours)} with {shown(ours[row])}"
                )


def _short(values: Any) -> str:
    return "None" if values is None else f"{len(np.atleast_2d(values))} rows"


def finished(algorithm: Algorithm) -> Result:
    """The result of an algorithm that goes on to its end."""
    while algorithm.has_next():
        algorithm.next()
    return algorithm.result()


def printed(run: Callable[[], Result]) -> tuple[Result, str]:
    """A result, and what its run printed."""
    text = StringIO()
    with redirect_stdout(text):
        # pymoo's progress bars keep the standard output that was there when they were first imported.
        config_handler.set_global(file=text)
        try:
            res = run()
        finally:
            config_handler.set_global(file=sys.__stdout__ or sys.stdout)
    return res, text.getvalue()


class Watching(Evaluator):  # type: ignore[misc]
    """An evaluator that notes all that it evaluates.

    Attributes:
        seen: Individuals, with X and F as they were when they were evaluated.
        rows: Their X, an array for each call.
    """

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[Any, Matrix, Matrix]] = []
        self.rows: list[Matrix] = []

    def _eval(self, problem: Problem, pop: Population, *args: Any, **kwargs: Any) -> None:
        before = pop.get("X").copy()
        super()._eval(problem, pop, *args, **kwargs)
        self.rows.append(before)
        self.seen += [(one, x, np.copy(one.F)) for one, x in zip(pop, before, strict=True)]


class Counting(Callback):  # type: ignore[misc]
    """A callback that notes the generation of every call, and whether there was something to look at."""

    def __init__(self) -> None:
        super().__init__()
        self.generations: list[int] = []
        self.empty: list[int] = []

    def notify(self, algorithm: Algorithm) -> None:
        """Note a generation."""
        self.generations.append(int(algorithm.n_gen))
        if algorithm.pop is None or algorithm.opt is None or not len(algorithm.opt):
            self.empty.append(int(algorithm.n_gen))


@dataclass
class Everything:
    """An archive that keeps all that it is given."""

    members: list[Any] = field(default_factory=list)

    def add(self, pop: Population) -> Everything:
        """Itself, with a population more."""
        self.members += list(pop)
        return self
