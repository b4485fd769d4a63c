"""What is to be proven over bit strings: one loss, and perhaps its trade-off with k."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.objectives.bounds.worst_class import FollowsK
from pymoo_anon.problems.partition import PartitionProblem
from pymoo_anon.table.suppression import Below

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Goal:
    """The part of a problem that bounds speak of; what else it asks of strings is seen when they are evaluated.

    Attributes:
        loss: The column of F with the loss.
        privacy: The column of F with what follows k, or None.
        k: Every feasible string keeps no class of fewer rows than this, or suppresses it.
        limit: No feasible string suppresses more rows than this; the number of rows where there is no limit.
        of_k: (n_rows,) float array, the minimised value of `privacy` for k = 1, 2, ...; it falls. Empty without it.
    """

    loss: int
    privacy: int | None
    k: int
    limit: int
    of_k: Matrix

    def next_k(self, value: float, widened: Matrix) -> int:
        """The least k that a member of the front does not stand for.

        Args:
            value: The member's value of `privacy`.
            widened: (n_rows,) float array, `of_k` within the tolerance.
        """
        return int(np.searchsorted(-widened, -value, side="right")) + 1


def goal(problem: PartitionProblem) -> Goal:
    """What is to be proven of a problem.

    Under `AtMost`, k of a string is at least K where its classes of fewer than K rows hold no more than the limit; it
    suppresses those, and perhaps larger ones while the limit allows. Under `Below` and `Violating` it suppresses
    the classes below their own k, and perhaps others that break a constraint. In all cases a string whose k is at least
    K keeps no class of fewer than K rows, suppresses no more than the limit, and has a loss that is at least the one
    where only its classes below K are suppressed. So bounds of that loss are bounds of F, and a search that evaluates
    every string that they leave finds the optimum of F at every K.

    Args:
        problem: The problem.

    Raises:
        ValueError: Its objectives are others than a loss by what classes save, alone or beside one that follows k.
    """
    follows = [_follows_k(objective) for objective in problem.objectives]
    losses = [column for column, own in enumerate(follows) if not own]
    if len(losses) != 1 or sum(follows) > 1:
        raise ValueError(
            "BranchAndBound proves one loss over bit strings, alone or beside k, got the objectives "
            f"{list(problem.objectives)}; PairLocalSearch, NSGA2 and GENITOR search without a proof"
        )
    n_rows = problem.table.n_rows
    limit = problem.suppression.limit_of(n_rows)
    k = problem.suppression.k if isinstance(problem.suppression, Below) else 1
    privacy = follows.index(True) if any(follows) else None
    of_k = np.empty(0)
    if privacy is not None:
        objective: Any = problem.objectives[privacy]
        of_k = objective.of_k(np.arange(1, n_rows + 1)) * (-1.0 if objective.maximize else 1.0)
    return Goal(losses[0], privacy, max(k, _required_k(problem)), n_rows if limit is None else limit, of_k)


def _follows_k(measure: Any) -> bool:
    return measure.bounding is not None and issubclass(measure.bounding, FollowsK)


def _required_k(problem: PartitionProblem) -> int:
    """The least k that the constraints allow."""
    n_rows = problem.table.n_rows
    required = 1
    for constraint in problem.constraints:
        if constraint.speaks_of_classes and _follows_k(constraint.objective):
            values = constraint.objective.of_k(np.arange(1, n_rows + 1))
            allowed = values >= constraint.bound if constraint.at_least else values <= constraint.bound
            required = max(required, int(np.argmax(allowed)) + 1 if allowed.any() else n_rows + 1)
    return required
