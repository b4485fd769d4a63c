"""Advice against loss: local recoding, a smaller k, or fewer quasi-identifiers."""

from __future__ import annotations

import numpy as np

from pymoo_anon._messages import number
from pymoo_anon.objectives.loss import GeneralLossMetric, attribute_losses
from pymoo_anon.objectives.privacy.identity import KAnonymity
from pymoo_anon.problems.arguments import column_name
from pymoo_anon.problems.front import Choice, Front
from pymoo_anon.problems.lattice import LatticeProblem

# A choice that loses a smaller share of the detail needs no advice, and a way that saves less than a tenth is none.
_MUCH, _LESS = 0.4, 0.9

# Tables of more cells are not refined for a figure alone: a million take about a second.
_MOST_REFINED = 1_000_000


def less_lost(front: Front, choice: Choice, suppressed: str) -> str:
    """Return a line of advice if a choice loses much, else nothing."""
    n_rows, names = front.table.n_rows, list(front.table.quasi_identifiers)
    by_column = front.lost(front.place_of(choice)) / (n_rows * len(names))
    lost, costly = float(by_column.sum()), int(by_column.argmax())
    if lost < _MUCH:
        return ""
    ways = [*_refined(front, choice, lost), *_smaller_k(front, choice, suppressed, lost)]
    ways.append(f"without {column_name(names[costly])} (-{by_column[costly]:.0%})")
    return f"{lost:.0%} lost. Less: {', '.join(ways)}.".replace("%", " %")


def _refined(front: Front, choice: Choice, lost: float) -> list[str]:
    cells = front.table.tuples.codes.size
    if cells > _MOST_REFINED or not isinstance(front.problem, LatticeProblem):
        return ["release --local"] * isinstance(front.problem, LatticeProblem)
    # Loaded late: no other advice needs it.
    from pymoo_anon.problems.refining import refine

    try:
        made = front.table.equivalence_classes(refine(front.problem, choice))
    except (TypeError, ValueError):
        return []
    share = attribute_losses(made).sum() / (made.n_rows * front.table.tuples.codes.shape[1])
    return [f"release --local ({share:.0%})"] if share < _LESS * lost else []


def _smaller_k(front: Front, choice: Choice, suppressed: str, lost: float) -> list[str]:
    k = next((one for one in front.problem.measured if isinstance(one, KAnonymity)), None)
    loss = GeneralLossMetric()
    if k is None or loss not in front.problem.measured:
        return []
    place = front.place_of(choice)
    values, rows = front.values(k), front.rows + 1
    shares = front.values(loss) / front.table.tuples.codes.shape[1] / front.table.n_rows
    kept = [one for one in choice.requirements if not isinstance(one.objective, KAnonymity)]
    required = max((one.bound for one in choice.requirements if one not in kept and one.at_least), default=0)
    fits = (shares < _LESS * lost) & (values < values[place])
    fits &= np.all([fits, *(one.keeps(front.values(one.objective)) for one in kept)], axis=0)
    places = sorted(np.flatnonzero(fits).tolist(), key=lambda place: -values[place])
    found = next((place for place in places if front.refusal(place, suppressed, kept) is None), None)
    if found is None:
        return []
    missed = f" in place of the required {number(required)}" if values[found] < required else ""
    return [f"k = {values[found]:,.0f}{missed} (row {rows[found]}, {shares[found]:.0%})"]
