"""The contract of losses that say what every kept class saves."""

from __future__ import annotations

import numpy as np

from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.bounds.sums import ClassGains
from pymoo_anon.problems.bitstrings import BitStringProblem
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.table.suppression import AtMost, Below
from pymoo_anon.testing.telling import ContractError, called, first_difference, shown

# So many strings are looked at, beside the two ends.
_STRINGS = 8


def check_gains(objective: Objective, table: Microdata, rng: np.random.Generator) -> None:
    """Check that a loss is that of suppressing everything less what the kept classes gain, where it says so."""
    if all(hierarchy.n_values == 1 for hierarchy in table.quasi_identifiers.values()):
        return
    for rule in (AtMost(int(rng.integers(0, table.n_rows))), Below(int(rng.integers(1, table.n_rows + 1)))):
        problem = BitStringProblem(table, [objective], rule)
        X = np.concatenate([problem.sample(_STRINGS, rng), np.array([[False], [True]]).repeat(problem.n_var, axis=1)])
        F = called(f"{objective!r} must measure every generalization of a table", problem.compute, X)
        for x, (f,) in zip(X, F, strict=True):
            expected = called(
                f"class_gains of {objective!r} must tell what classes save",
                _loss,
                objective,
                problem,
                x,
            )
            if expected is not None and first_difference([expected], [f], exact=False) is not None:
                raise ContractError(
                    f"class_gains of {objective!r} must add up to the minimised value {f}, got {expected}, under "
                    f"{rule!r} at x = {shown(x)}"
                )


def _loss(objective: Objective, problem: BitStringProblem, x: np.ndarray) -> float | None:
    """The minimised loss of one string as its gains have it, or None where there are none."""
    tuples = problem.table.tuples
    (maps,), _ = problem.group_maps(x[np.newaxis])
    spans = []
    for a, b in zip(tuples.offsets[:-1], tuples.offsets[1:], strict=True):
        firsts = np.flatnonzero(np.diff(maps[a:b], prepend=-1))
        spans.append(np.stack([firsts, np.append(firsts[1:], b - a)], axis=1).astype(np.int64))
    gains: ClassGains | None = objective.class_gains(tuples, spans)
    if gains is None:
        return None
    classes = problem.equivalence_classes(x)
    groups = maps[tuples.offsets[:-1] + tuples.codes[classes.representatives]]
    mass = classes.sizes.astype(float)
    if gains.labels is not None:
        labels = np.zeros((len(mass), gains.labels.shape[1]))
        assert classes.class_of is not None
        np.add.at(labels, classes.class_of[0], gains.labels)
        mass = labels.max(axis=1)
    worths = sum(own[groups[:, a]] for a, own in enumerate(gains.worths))
    saved = mass * (gains.flat + worths) - gains.square * classes.sizes.astype(float) ** 2
    return float(gains.most - saved[classes.kept].sum())
