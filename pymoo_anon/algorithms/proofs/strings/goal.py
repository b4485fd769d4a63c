"""What is to be proven over bit strings: one loss, and perhaps its trade-off with k."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.bounds.worst_class import FollowsK
from pymoo_anon.objectives.constraint import Constraint
from pymoo_anon.problems.bitstrings import BitStringProblem
from pymoo_anon.table.suppression import AtMost, Below

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

    def best(self, F: Matrix, k: int) -> int | None:
        """The place of the least loss of those whose k is at least a given one, or None.

        Args:
            F: (n, n_obj) float array of minimised values of feasible strings.
            k: The least k that counts; without `privacy` all do.
        """
        enough = np.arange(len(F))
        if self.privacy is not None:
            # No class has more rows than the table.
            most = self.of_k[k - 1] if k <= len(self.of_k) else -np.inf
            enough = enough[F[:, self.privacy] <= most]
        return int(enough[np.argmin(F[enough, self.loss])]) if len(enough) else None


def goal(problem: BitStringProblem) -> Goal:
    """What is to be proven of a problem.

    Under `AtMost`, k of a string is at least K where its classes of fewer than K rows hold no more than the limit; it
    suppresses those, and perhaps larger ones while the limit allows. Under `Below` and `Violating` it suppresses
    the classes below their own k, and perhaps others that break a constraint. In all cases a string whose k is at least
    K keeps no class of fewer than K rows, suppresses no more than the limit, and has a loss that is at least the one
    where only its classes below K are suppressed. So bounds of that loss are bounds of F, and a search that evaluates
    every string that they leave finds the optimum of F at every K.
    """
    columns = _columns(problem)
    if columns is None:
        raise ValueError(
            "BranchAndBound proves one loss over bit strings, alone or beside k, got the objectives "
            f"{list(problem.objectives)}; BitStringLocalSearch, NSGA2 and GENITOR search without a proof"
        )
    loss, privacy = columns
    n_rows = problem.table.n_rows
    limit = problem.suppression.limit_of(n_rows)
    required = [_required_k(constraint, n_rows) for constraint in problem.constraints]
    least = problem.suppression.k if isinstance(problem.suppression, Below) else 1
    k = max([least, *(own for own in required if own is not None)])
    of_k = np.empty(0)
    if privacy is not None:
        objective: Any = problem.objectives[privacy]
        of_k = objective.of_k(np.arange(1, n_rows + 1)) * (-1.0 if objective.maximize else 1.0)
    return Goal(loss, privacy, k, n_rows if limit is None else limit, of_k)


def asks_no_more(problem: BitStringProblem) -> bool:
    """Whether a problem asks for its goal and for nothing that is seen only when strings are evaluated.

    At every k of the goal, the least loss is then that of strings that suppress their classes below k and no others:
    under `AtMost` those within the limit, under `Below` and `Violating` those below the one k that is required.
    """
    columns = _columns(problem)
    if columns is None or type(problem.objectives[columns[0]]).class_gains is Objective.class_gains:
        return False
    required = [_required_k(constraint, problem.table.n_rows) for constraint in problem.constraints]
    if None in required:
        return False
    rule = problem.suppression
    if columns[1] is not None:
        # Under `Below` and `Violating` a larger k suppresses no more: what is too small is there.
        return isinstance(rule, AtMost)
    if isinstance(rule, Below):
        return rule.k == goal(problem).k
    # Without a required k, `AtMost` may suppress classes of any size.
    return len(required) > 0 or rule.limit_of(problem.table.n_rows) == 0


def _columns(problem: BitStringProblem) -> tuple[int, int | None] | None:
    """The columns of the loss and of what follows k, which may be None; None where the objectives are others."""
    follows = [_follows_k(objective) for objective in problem.objectives]
    losses = [column for column, own in enumerate(follows) if not own]
    if len(losses) != 1 or sum(follows) > 1:
        return None
    return losses[0], follows.index(True) if any(follows) else None


def _follows_k(measure: Any) -> bool:
    return measure.bounding is not None and issubclass(measure.bounding, FollowsK)


def _required_k(constraint: Constraint, n_rows: int) -> int | None:
    """The least k that a constraint allows, or None where it asks for anything else than a least k."""
    if not constraint.speaks_of_classes or not _follows_k(constraint.objective):
        return None
    measure: Any = constraint.objective
    values = measure.of_k(np.arange(1, n_rows + 1))
    broken = ~constraint.keeps(values)
    # Of a largest k, the small ones satisfy it.
    return None if broken[-1] and not broken[0] else int(np.count_nonzero(broken)) + 1
