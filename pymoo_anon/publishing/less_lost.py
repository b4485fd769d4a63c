"""What loses less than a choice: a local release, a point with a smaller k, a table with fewer quasi-identifiers."""

from __future__ import annotations

from itertools import islice

import numpy as np

from pymoo_anon.engine.arrays import Values
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.objectives.loss import GeneralLossMetric, attribute_losses
from pymoo_anon.objectives.privacy.identity import KAnonymity
from pymoo_anon.problems.arguments import column_name
from pymoo_anon.problems.front import Choice, Front
from pymoo_anon.problems.lattice import LatticeProblem

# What loses a smaller share of the detail needs no advice.
_MUCH = 0.4

# A point that loses less saves at least this share of the loss.
_LESS = 0.9

# Tables of more cells are not refined for a figure alone: a million take less than a second.
_CELLS = 3_000_000


def less_lost(front: Front, choice: Choice, suppressed: str) -> str:
    """Return in one line what loses less than a choice that loses much; nothing of others.

    Args:
        front: The front.
        choice: The choice.
        suppressed: What becomes of suppressed rows, as of `release`.

    >>> from pymoo_anon.datasets import make_census
    >>> problem = LatticeProblem(make_census(200), [KAnonymity(), GeneralLossMetric()])
    >>> front = problem.front(problem.pareto_set()).sorted()
    >>> less_lost(front, front.choose(require=[KAnonymity() >= 30]), "mark")
    '88 % lost. Less: k = 8 (row 5, 78 %), no age (-12 %).'
    """
    rates = _rates(front.problem.equivalence_classes(np.array(choice.x)))
    lost = rates.mean()
    if lost < _MUCH:
        return ""
    ways = [*_refined(front, choice, lost), *_smaller_k(front, choice, suppressed, lost)]
    costly = int(rates.argmax())
    name = column_name(list(front.table.quasi_identifiers)[costly])
    ways.append(f"no {name} (-{_percent(rates[costly] / len(rates))})")
    return f"{_percent(lost)} lost. Less: {', '.join(ways)}."


def _rates(classes: EquivalenceClasses) -> Values:
    """Return the share of its detail that each quasi-identifier loses."""
    rates: Values = attribute_losses(classes)[0] / classes.n_rows
    return rates


def _refined(front: Front, choice: Choice, lost: float) -> list[str]:
    if not isinstance(front.problem, LatticeProblem):
        return []
    if front.table.tuples.codes.size > _CELLS:
        return ["release --local"]
    # No other advice needs what recodes locally.
    from pymoo_anon.problems.refining import refine

    try:
        # It is quicker than what a release makes, and loses a little more.
        made = refine(front.problem, np.array(choice.x), "top-down")
    except ValueError:
        return []
    share = _rates(front.table.equivalence_classes(made)).mean()
    return [f"release --local ({_percent(share)})"] if share < _LESS * lost else []


def _smaller_k(front: Front, choice: Choice, suppressed: str, lost: float) -> list[str]:
    k = next((one for one in front.problem.measured if isinstance(one, KAnonymity)), None)
    loss = GeneralLossMetric()
    if k is None or loss not in front.problem.measured:
        return []
    values, shares = front.values(k), front.values(loss) / (front.table.n_rows * len(front.table.quasi_identifiers))
    kept = [one for one in choice.requirements if not isinstance(one.objective, KAnonymity)]
    fits = np.all([np.ones(len(front)), *(one.keeps(front.values(one.objective)) for one in kept)], axis=0)
    fits &= (shares < _LESS * lost) & (values < values[front.place_of(choice)])
    places = sorted(np.flatnonzero(fits).tolist(), key=lambda place: -values[place])
    found = (place for place in places if front.refusal(place, suppressed, kept) is None)
    return [f"k = {values[place]:,.0f} (row {place + 1}, {_percent(shares[place])})" for place in islice(found, 1)]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
