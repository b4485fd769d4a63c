"""Facts of a local recoding: target, classes, levels, and full-domain alternatives.

At equal k a local recoding loses far less than levels of whole columns, and has far more classes: the mean risk rises.
So the two are compared twice, at equal k and at equal mean risk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pymoo.optimize import minimize

from pymoo_anon._messages import listed, number, percent, plain
from pymoo_anon.algorithms.branch_and_bound import BranchAndBound
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.objectives.constraint import Constraint
from pymoo_anon.objectives.loss import GeneralLossMetric
from pymoo_anon.objectives.privacy.identity import KAnonymity, MarketerRisk
from pymoo_anon.problems.arguments import column_name
from pymoo_anon.problems.base import AnonymizationProblem
from pymoo_anon.problems.front import Choice
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.problems.local_recoding import LocalRecodingProblem, LowerBound
from pymoo_anon.table.domain_values import Name
from pymoo_anon.table.generalization import LocalGeneralization
from pymoo_anon.table.suppression import AtMost, Suppression, Violating
from pymoo_anon.typing import Array, Floats, Ints

# A local recoding suppresses nothing. Levels of whole columns beside it may suppress this share of the rows.
_MOST_SUPPRESSED = 0.01
# Budget for the best of these levels, in nodes. On lattices of a few columns it is enough to prove them the best.
_MOST_NODES = 2000


def local_facts(
    problem: AnonymizationProblem,
    choice: Choice,
    made: LocalGeneralization,
    classes: EquivalenceClasses,
    bound: LowerBound | None,
) -> dict[str, Any]:
    """Return target, classes and levels of a local recoding."""
    told: dict[str, Any] = {"refined": True, "method": None, "structure": None, "target": None, "price": None}
    weights: tuple[float, ...] = ()
    if isinstance(problem, LocalRecodingProblem):
        target = problem.target(np.array(choice.x))
        told = {"refined": False, "method": problem.method, "structure": problem.structure}
        told |= {"target": target.k, "price": target.price}
        weights = target.weights
    shares = shares_by_level(made, np.where(classes.kept, classes.sizes, 0))
    return {
        **told,
        "weights": [float(weight) for weight in weights],
        "n_classes": int(classes.n_released[0]),
        "mean_risk": float(MarketerRisk().evaluate(classes)[0]),
        "cells": [{"name": column_name(name), "shares": own.tolist()} for name, own in shares.items()],
        "bound": None if bound is None else {"least": bound.value, "gap": bound.share, "passes": bound.n_passes},
    }


def bound_words(bound: Mapping[str, Any] | None) -> str:
    """State the certified gap of a local recoding."""
    if bound is None:
        return "The gap to the least loss of all local recodings was not computed."
    return (
        f"The loss is proven to be within {percent(bound['gap'])} of the least of all local recodings of this table "
        f"that meet the same requirements and suppress nothing, in {bound['passes']:,} passes."
    )


def shares_by_level(made: LocalGeneralization, rows: Ints) -> dict[Name, Floats]:
    """Return the share of each quasi-identifier's cells at each level."""
    shares = {}
    for (name, hierarchy), own in zip(made.quasi_identifiers.items(), made.nodes.T, strict=True):
        by_level = np.bincount(hierarchy.nodes.level[own], rows, hierarchy.length + 1)
        shares[name] = by_level / max(rows.sum(), 1)
    return shares


@dataclass(frozen=True)
class Way:
    """A way to recode a table, in figures."""

    how: str  # In words
    k: int  # The smallest class
    mean_risk: float  # The marketer's risk, from 0 to 1
    loss: float  # Loss as a share, from 0 to 1
    classes: EquivalenceClasses  # Classes of the table


@dataclass(frozen=True)
class Beside:
    """A local recoding beside levels of whole columns."""

    own: Way
    columns: Way | None  # The best levels of whole columns at equal k; None where none was found
    proven: bool  # Whether they are proven to be the best
    equal_risk: Way | None  # A local recoding of at most their mean risk; None where none is needed or found

    @property
    def ways(self) -> list[Way]:
        """All ways that are known."""
        return [way for way in (self.own, self.columns, self.equal_risk) if way is not None]

    def __str__(self) -> str:
        own, columns = self.own, self.columns
        if columns is None:
            return f"No levels of whole columns were found that meet the same requirements with k = {own.k:,}."
        least = "" if self.proven else ", the best that were found,"
        said = (
            f"At k = {own.k:,} levels of whole columns{least} lose {percent(columns.loss)}, at a mean risk of "
            f"{percent(columns.mean_risk)}. This local recoding loses {percent(own.loss)}, at a mean risk of "
            f"{percent(own.mean_risk)}: {number(round(own.mean_risk / columns.mean_risk, 1))} times as much."
        )
        if self.equal_risk is None:
            return said
        return (
            f"{said} At a mean risk of {percent(self.equal_risk.mean_risk)} a local recoding loses "
            f"{percent(self.equal_risk.loss)}, with k = {self.equal_risk.k:,}."
        )


def alternatives(problem: AnonymizationProblem, x: Array, classes: EquivalenceClasses) -> Beside:
    """Compare a local recoding with full-domain ones at equal k and mean risk.

    All keep the constraints of the problem. Levels of whole columns may suppress what the problem may, or 1 %.
    """
    loss = next((one for one in problem.objectives if isinstance(one, GeneralLossMetric)), GeneralLossMetric())
    most = loss.value_range(problem.table.tuples)[1]

    def way(how: str, found: EquivalenceClasses) -> Way:
        k, risk, lost = (float(one.evaluate(found)[0]) for one in (KAnonymity(), MarketerRisk(), loss))
        return Way(how, int(k), risk, lost / most, found)

    own = way("this release, each class with levels of its own", classes)
    required = [KAnonymity() >= own.k, *problem.constraints]
    rule: Suppression = AtMost(_MOST_SUPPRESSED)
    if isinstance(problem, LatticeProblem):
        rule = problem.suppression
    elif any(one.depends_on_kept for one in required):
        rule = Violating(_MOST_SUPPRESSED)
    whole = LatticeProblem(problem.table, [loss], rule, required)
    try:
        res = minimize(whole, BranchAndBound(), ("n_eval", _MOST_NODES), seed=1)
    except ValueError:
        # A constraint of somebody's own states no bounds.
        return Beside(own, None, False, None)
    if res.X is None:
        return Beside(own, None, False, None)
    limit = rule.limit_of(problem.table.n_rows) or 0
    columns = way(f"levels of whole columns, at most {limit:,} rows suppressed", whole.equivalence_classes(res.X))
    if not isinstance(problem, LocalRecodingProblem):
        problem = LocalRecodingProblem(problem.table, [KAnonymity(), loss], problem.constraints)
        x = problem.x_of(own.k)
    equal = _of_mean_risk(problem, x, columns.mean_risk) if own.mean_risk > columns.mean_risk else None
    told = None if equal is None else way("a local recoding of at most the same mean risk", equal)
    return Beside(own, columns, bool(res.algorithm.certified), told)


def _of_mean_risk(problem: LocalRecodingProblem, x: Array, risk: float) -> EquivalenceClasses | None:
    """Return the classes at the least price within a mean risk, or None."""
    low, high, step, found = -1, len(problem.prices), 1, None
    # Classes have about as many rows as a price has cells: merging two of them costs a row about one cell.
    place = min(int(np.searchsorted(problem.prices, 1 / risk)), high - 1)
    # The price at `low` is too low, and `found` is of that at `high`.
    while low + 1 < high:
        point = np.array(x)
        point[1] = place
        classes = problem.equivalence_classes(point)
        if MarketerRisk().evaluate(classes)[0] <= risk:
            high, found = place, classes
            place = max(high - step, (low + high) // 2)
        else:
            low = place
            place = min(low + step, (low + high) // 2)
        step *= 2
    return found


def advice(problem: AnonymizationProblem, asked: Sequence[Constraint] = ()) -> list[str]:
    """Advise constraints beside k, since small classes agree more often."""
    sensitive = problem.table.sensitive
    if not sensitive:
        return [
            "No column is sensitive, so nothing but identity is protected. Name the sensitive ones, and require l or t."
        ]
    bound = {column for one in (*problem.constraints, *asked) for column in one.reads(sensitive)}
    open_ = [plain(str(name)) for name in sensitive if name not in bound]
    if not open_:
        return []
    return [
        f"k does not protect {listed(open_)}, and small classes share one value of it more often: require l or t of "
        f"{'it' if len(open_) == 1 else 'them'}, too."
    ]
