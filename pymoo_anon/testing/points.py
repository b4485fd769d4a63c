"""Points of a problem: where contracts take them from, and what valid ones are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.core.sampling import Sampling
from pymoo.operators.sampling.rnd import BinaryRandomSampling, FloatRandomSampling, IntegerRandomSampling

from pymoo_anon.operators.sampling import BitStringSampling, LatticeSampling
from pymoo_anon.problems.bitstrings import BitStringProblem
from pymoo_anon.testing.telling import ContractError, called, shown

Points = NDArray[Any]


def points_of(problem: Problem, n: int, sampling: Sampling | None = None, seed: int = 0) -> Points:
    """(n, n_var) array of valid points."""
    chosen = sampling_of(problem) if sampling is None else sampling
    pop: Population = chosen(problem, n, random_state=np.random.default_rng(seed))
    X: Points = pop.get("X")
    return X


def sampling_of(problem: Problem) -> Sampling:
    """A sampling for the variables of a problem."""
    if isinstance(problem, BitStringProblem):
        return BitStringSampling()
    if problem.vtype is bool:
        return BinaryRandomSampling()
    if problem.vtype is int:
        return LatticeSampling() if problem.has_bounds() else IntegerRandomSampling()
    return FloatRandomSampling()


def check_points(duty: str, problem: Problem, X: Points) -> None:
    """Check that points are valid: of the type of the variables, between the bounds, and taken by the problem."""
    if X.ndim != 2 or X.shape[1] != problem.n_var:
        raise ContractError(f"{duty} points of {problem.n_var} variables, got shape {X.shape}")
    if X.dtype.kind not in "biuf":
        raise ContractError(f"{duty} points of numbers or truth values, got {X.dtype}")
    if problem.vtype is bool and X.dtype != bool:
        raise ContractError(f"{duty} Boolean points, got {X.dtype} such as {shown(X[0])}")
    if problem.vtype is int and X.dtype.kind not in "iu":
        raise ContractError(f"{duty} points of integers, got {X.dtype} such as {shown(X[0])}")
    if problem.has_bounds():
        low, high = problem.bounds()
        outside = ((low > X) | (high < X)).any(axis=1)
        if outside.any():
            raise ContractError(
                f"{duty} points between the bounds {shown(low)} and {shown(high)}, got "
                f"{shown(X[int(np.flatnonzero(outside)[0])])}"
            )
    called(f"{duty} points that {type(problem).__name__} takes", problem.evaluate, X)
