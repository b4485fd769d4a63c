"""Features of an instance: types of the front's members, and measures of difficulty."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.stats import spearmanr

from pymoo_anon.suite import Instance


def support(F: np.ndarray) -> list[str]:
    """Return the type of every member, as MOrepo defines them.

    "se" where a weighted sum has it as its only minimum, "sne" where one has it as one of several, all weights being
    positive, else "us". Two objectives are settled in whole numbers, more by linear programs.
    """
    if F.shape[1] == 2:
        return _support_of_two(F.astype(int).tolist())
    scaled = (F - F.min(axis=0)) / np.ptp(F, axis=0)
    types = []
    for i, point in enumerate(scaled):
        others = np.delete(scaled, i, axis=0) - point
        if _largest(others, margin=True) > 1e-9:
            types.append("se")
        else:
            types.append("sne" if _largest(others, margin=False) > 1e-9 else "us")
    return types


def _largest(others: np.ndarray, margin: bool) -> float:
    """Return the largest margin by which weights prefer a point, from its differences.

    Without a margin: the largest that the least weight can be while they prefer none of the others.
    """
    n, m = others.shape
    slack = np.full(n, float(margin))
    constraints = np.column_stack([-others, slack])
    if not margin:
        constraints = np.vstack([constraints, np.column_stack([-np.eye(m), np.ones(m)])])
    found = linprog(
        np.r_[np.zeros(m), -1],
        A_ub=constraints,
        b_ub=np.zeros(len(constraints)),
        A_eq=[np.r_[np.ones(m), 0]],
        b_eq=[1],
        bounds=[(0, None)] * m + [(None, None)],
    )
    return -found.fun if found.success else -np.inf


def _support_of_two(points: list[list[int]]) -> list[str]:
    """Return the lower hull of a front, corners only."""
    hull: list[int] = []

    def turn(a: int, b: int, c: int) -> int:
        (ax, ay), (bx, by), (cx, cy) = points[a], points[b], points[c]
        return (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)

    for i in range(len(points)):
        while len(hull) > 1 and turn(hull[-2], hull[-1], i) <= 0:
            hull.pop()
        hull.append(i)
    types = ["se" if i in hull else "us" for i in range(len(points))]
    for a, c in pairwise(hull):
        for b in range(a + 1, c):
            types[b] = "sne" if turn(a, b, c) == 0 else "us"
    return types


def features(instance: Instance, types: Sequence[str]) -> dict[str, Any]:
    """Measure the difficulty over 500 random points and a neighbour of each."""
    rng = np.random.default_rng(0)
    upper = instance.upper
    X = rng.integers(0, upper + 1, (500, len(upper)))
    neighbours = X.copy()
    rows, places = np.arange(len(X)), rng.integers(0, len(upper), len(X))
    up = np.where(X[rows, places] == 0, 1, np.where(X[rows, places] == upper[places], -1, rng.choice([-1, 1], len(X))))
    neighbours[rows, places] += up
    F, G = (instance.evaluate(own)[0] * instance.signs for own in (X, neighbours))
    correlation = [
        [1.0 if i == j else _rank_correlation(F[:, i], F[:, j]) for j in range(F.shape[1])] for i in range(F.shape[1])
    ]
    return {
        "unsupported": round(types.count("us") / len(types), 4),
        "plateaus": np.round((F == G).mean(axis=0), 4).tolist(),
        "correlation": correlation,
    }


def _rank_correlation(a: np.ndarray, b: np.ndarray) -> float | None:
    """Return the correlation, or None for a constant objective."""
    return None if np.ptp(a) == 0 or np.ptp(b) == 0 else round(float(spearmanr(a, b).statistic), 4)
